"""A page of today as files: HTML, style sheets, scripts, fonts and pictures of the study's sizes.

What names other objects does so at its end, so that they are known when it is here in full, as in the
simulation: the document names style sheets, blocking scripts, scripts and pictures; a script may name
another, which it adds when it runs; a style sheet names the fonts, which the browser asks for when it lays
out text that has them. Scripts and style sheets are filled up with blanks, pictures with a chunk that is not
looked at. Fonts are blanks, which no browser takes for a font: the text is shown in another one.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

TYPES = {
    "document": "text/html",
    "style": "text/css",
    "script": "text/javascript",
    "font": "font/woff2",
    "hero": "image/png",
    "picture": "image/png",
}
"""Content types by the kind of an object."""

_HERO, _PICTURE = (800, 600), (64, 64)
"""Width and height. The hero is what is largest in the window; the others are small, so that they are not
taken for what matters (Chromium raises the first five that have 10 000 pixels), and below it."""
_BELOW = "<div style='height:3000px'></div>"


@dataclass(frozen=True)
class Object:
    """An object of a page, as the engine has it."""

    kind: str
    host: int
    bytes: int
    urgency: int
    after: int | None
    blocks: bool


def content(objects: Sequence[Object], urls: Sequence[str], number: int) -> bytes:
    """Return an object's content: of its size, or longer if what it names needs more.

    Parameters
    ----------
    objects, urls
        The page, its document first, and where each object is.
    number
        Which.
    """
    this = objects[number]
    named = [(urls[k], other) for k, other in enumerate(objects) if other.after == number]
    match this.kind:
        case "document":
            return _document(this.bytes, named, sum(each.kind == "font" for each in objects))
        case "style":
            faces = "".join(
                f"@font-face{{font-family:f{k};src:url({url})}}" for k, (url, _) in enumerate(named)
            )
            return faces.encode().rjust(this.bytes)
        case "script":
            adds = "".join(
                f"document.head.append(Object.assign(document.createElement('script'),{{src:'{url}'}}));"
                for url, _ in named
            )
            return adds.encode().rjust(this.bytes)
        case "font":
            return bytes(this.bytes)
        case kind:
            return _picture(this.bytes, *(_HERO if kind == "hero" else _PICTURE))


def _document(size: int, named: Sequence[tuple[str, Object]], fonts: int) -> bytes:
    head, body = "<link rel=icon href=data:,>", "<h1>text</h1>"
    # Fonts are another's to name, but text must ask for them.
    body += "".join(f"<p style='font-family:f{k}'>text</p>" for k in range(fonts))
    rest = ""
    for url, each in named:
        match each.kind:
            case "style":
                head += f"<link rel=stylesheet href={url}>"
            case "script":
                head += f"<script {'' if each.blocks else 'async '}src={url}></script>"
            case "hero":
                body += f"<img id=hero width={_HERO[0]} height={_HERO[1]} src={url}>"
            case "picture":
                rest += f"<img width={_PICTURE[0]} height={_PICTURE[1]} src={url}>"
    start, end = b"<!doctype html><html><head><title>page</title>", f"{head}</head><body>{body}{_BELOW}{rest}"
    return start + end.encode().rjust(size - len(start))


def _picture(size: int, width: int, height: int) -> bytes:
    """Return a white picture (PNG, a bit a pixel) of so many bytes, filled up before its pixels."""
    rows = (b"\0" + b"\xff" * (-(-width // 8))) * height
    begin = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    end = _chunk(b"IDAT", zlib.compress(rows, 9)) + _chunk(b"IEND", b"")
    return begin + _chunk(b"fiLl", bytes(max(0, size - len(begin) - len(end) - 12))) + end


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", len(data), name) + data + struct.pack(">I", zlib.crc32(name + data))
