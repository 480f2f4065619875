"""What every key of flows and users is on the testbed: programs and settings, or a refusal, word for word.

The file `data/words/testbed.txt` is to be read when it changes. It is written anew by

    python tests/test_testbed_keys.py
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sojourn import _core
from sojourn.study import Study
from sojourn.sweep.testbed import dash, tcp, webrtc
from sojourn.sweep.testbed.certificate import Certificate
from sojourn.sweep.testbed.dash import library, media
from sojourn.sweep.testbed.kinds import page, utp
from sojourn.sweep.testbed.plan import plan, refused, variables
from sojourn.sweep.testbed.programs import chromium, https
from test_keys_count import COUNTS, FIFO, SCENES

FILE = Path(__file__).parent / "data" / "words" / "testbed.txt"
SHOWN = ("path", "hops", "access", "sessions", "cbr", "poisson", "packmime", "video", "chirp", "heartbeat",
         "on-off", "voice", "opus", "talk", "playout", "web", "browser", "adaptive", "call",
         "gaming", "cloud-gaming", "page")  # fmt: skip
SHORT = (("duration", "4s"), ("warmup", "1s"))
ALONE = {"web": (("users.0.object-restart", "false"),)}
MORE = {
    "browser": (("connections", "7"), ("response-header", "60B"), ("hystart", "linux")),
    "call": (("start-rate", "200kbit"), ("height", "1080"), ("height", "3000"), ("direction", "down")),
    "page": (("certificate", "900B"), ("response-header", "199B"), ("response-header", "200B"),
             ("http", '"3"'), ("transport", "bbr")),
}  # fmt: skip
"""Values on the other side of what is refused, and that only the testbed tells apart."""


def with_all(patch: pytest.MonkeyPatch) -> None:
    """Make this a machine that has all that programs need; what is drawn or coded is the same each time."""
    patch.setattr(tcp, "available", lambda: ("reno", "cubic", "bbr", "dctcp"))
    patch.setattr(chromium, "missing", lambda: None)
    patch.setattr(https, "missing", lambda: None)
    patch.setattr(https, "found", lambda: "server")
    patch.setattr(page, "find_spec", lambda _: True)
    patch.setattr(utp, "find_spec", lambda _: True)
    patch.setattr(page, "certificate", lambda size: Certificate(bytes(size), b"key", "spki"))
    patch.setattr(webrtc, "camera", lambda height, fps: f"{height} {fps}".encode())
    patch.setattr(dash, "missing", lambda: None)
    patch.setattr(library.Library, "missing", lambda _: None)
    patch.setattr(library.Library, "script", lambda _: webrtc.PAGE)
    patch.setattr(media, "coded", lambda length_s: (b"beginning", b"fragment", length_s * 1000))


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with_all(monkeypatch)


def cases() -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Yield scenes as they are, and with another value of each key of a flow, a source or a user."""
    for scene in SHOWN:
        yield scene, "", ALONE.get(scene, ())
    for (scene, _, place), keys in COUNTS.items():
        if scene in SHOWN and place.partition(".")[0] in ("flows", "users"):
            for key, other in keys.items():
                value, *first = other if isinstance(other, tuple) else (other,)
                text = value if isinstance(value, str) else json.dumps(value)
                sets = (*((name.format(place), given) for name, given in first), (f"{place}.{key}", text))
                yield scene, f"{key} {text}".replace(FIFO, "FIFO"), (*ALONE.get(scene, ()), *sets)
        for key, text in MORE.get(scene, ()):
            yield scene, f"{key} {text}", (*ALONE.get(scene, ()), (f"users.0.{key}", text))


def told(scene: str, sets: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the programs of a point with what they are told, or why there are none."""
    document = _core.parse(SCENES[scene], "x.toml", [*SHORT, *sets], [])
    (point,) = Study(document, "x.toml", (), Path()).points
    if why := refused(point):
        return [why.replace(os.uname().release, "RELEASE")]
    entries, lines = plan(point), []
    for entry in entries:
        for number, program in enumerate(entry.programs):
            pair = program.pair(number)
            lines.append(f"{program.name} {program.key} {program.settings.options} {json.dumps(pair)}")
            for end in ("client", "server"):
                text = json.dumps(getattr(program, end), sort_keys=True)
                lines.append(f"  {end} {text if len(text) < 300 else digest(text.encode())}")
            files = sorted((name, held) for name, held in program.files.items() if name != "point.json")
            lines += [f"  {name} {len(held)} {digest(held)}" for name, held in files]
    return [*lines, f"  {json.dumps(variables(entries))}"]


def digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()[:16]


def of_scene(wanted: str) -> Iterator[str]:
    usual: list[str] = []
    for scene, about, sets in cases():
        if scene == wanted:
            lines = told(scene, sets)
            # Of another value only what is other.
            yield f"== {scene}, {about or 'as it is'}"
            yield from (line for line in lines if line not in usual)
            usual = usual or lines


@pytest.mark.parametrize("scene", SHOWN)
def test_every_key_is_told_to_the_programs_or_refused(scene: str) -> None:
    kept: dict[str, list[str]] = {}
    for part in FILE.read_text(encoding="utf-8").split("== ")[1:]:
        kept.setdefault(part.split(",")[0], []).extend(f"== {part}".splitlines())
    assert list(of_scene(scene)) == kept[scene]


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        with_all(patch)
        lines = [line for scene in SHOWN for line in of_scene(scene)]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
