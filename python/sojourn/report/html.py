"""Pages of HTML that stand by themselves, from the templates beside the code that fills them.

A page holds everything that it shows: the style sheet and the script of `assets`, its figures, and its
numbers as links of the scheme `data:`. It can be mailed.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from sojourn.results import atomic
from sojourn.results.sizes import ms_brief

_MOST_ROWS = 600
"""Rows of a table that a page shows; what stands beside the page has all of them."""


@dataclass
class Heading:
    """A heading of the page: where a link to it leads, its words, and the headings below it."""

    id: str
    words: str
    below: list[Heading] = field(default_factory=list)


@dataclass(frozen=True)
class Outline:
    """The body of a page, every heading with an id, and its table of contents."""

    body: Markup
    contents: list[Heading]


def write(page: Path, template: str, **values: Any) -> Path:
    """Fill a template and write the page, whole or not at all.

    Parameters
    ----------
    page
        File to write; its directory is there.
    template
        Where the template lies in this package, as ``report/page.html.jinja``.
    **values
        What the template names; one that it names and that is not here is an error.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    OSError
        The page cannot be written.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"outlined": outlined, "asset": _asset, "embedded": _embedded}
    environment.filters["milliseconds"] = ms_brief
    environment.globals["most_rows"] = _MOST_ROWS
    html = keys_as_code(whole_numbers(environment.get_template(template).render(**values)))
    atomic.write(page, lambda file: file.write(html.encode()))
    return page


_HEADING = re.compile(r"<h(?P<level>[1-6])(?P<attributes>[^>]*)>(?P<inner>.*?)</h(?P=level)>", re.DOTALL)
_TABLE = re.compile(r"<table[^>]*>(?!\s*<caption)")
_MARKS = re.compile(f"{_HEADING.pattern}|{_TABLE.pattern}", re.DOTALL)


_LITERAL = r"<(?P<name>script|style|svg|pre|code)\b.*?</(?P=name)>|<[^>]*>"
_UNIT = r"(?:%|[nµm]?s|min|dB|[kMG]?(?:bit|b)/s|[kMG]B|bytes?|packets?|RPM)(?![\w/])"
_JOINED = re.compile(rf"(?P<kept>{_LITERAL})|(?<=\d) (?=\d{{3}}(?!\d)|{_UNIT})", re.DOTALL)
_QUOTED = re.compile(rf"(?P<kept>{_LITERAL})|`(?P<key>[^`<>\n]+)`", re.DOTALL)


def whole_numbers(html: str) -> str:
    """Keep a number and its unit on one line: no space in them breaks, but in code and figures.

    >>> whole_numbers("<p title='12 345'>12 345 of <code>limit 1 000</code>").replace("\\xa0", "_")
    "<p title='12 345'>12_345 of <code>limit 1 000</code>"
    >>> whole_numbers("24 000 bytes, 7 seconds, 0.1–1 % of 16 Mbit/s").replace("\\xa0", "_")
    '24_000_bytes, 7 seconds, 0.1–1_% of 16_Mbit/s'
    """
    return _JOINED.sub(lambda found: found["kept"] or "\u00a0", html)


def keys_as_code(html: str) -> str:
    """Show as code what a sentence, which stands in terminals too, has between backticks.

    >>> keys_as_code("<p>set `repeat` to 3; <code>`as it is`</code></p>")
    '<p>set <code>repeat</code> to 3; <code>`as it is`</code></p>'
    """
    return _QUOTED.sub(lambda found: found["kept"] or f"<code>{found['key']}</code>", html)


def outlined(body: str) -> Outline:
    """Put the headings of a body in order and list them, with an id each, down to the third level.

    No level is left out: a heading is one level below the heading that it belongs to. A table without a
    caption is named, for those who cannot see where it stands, by the heading above it.

    >>> outlined("<h1>A</h1><h2>All points</h2><h3 id='a'>One &amp; all</h3>").contents[0].id
    'all-points'
    """
    taken = set(re.findall(r"""\bid=["']([^"']+)""", body))
    contents: list[Heading] = []
    above: list[tuple[int, int]] = []
    last = "Table"

    def marked(found: re.Match[str]) -> str:
        nonlocal last
        if not found["level"]:
            return f'{found[0]}<caption class="sr">{last}</caption>'
        level, attributes, inner = int(found["level"]), found["attributes"], found["inner"]
        while above and above[-1][0] >= level:
            above.pop()
        stands = above[-1][1] + 1 if above else level
        above.append((level, stands))
        words = Markup(inner).striptags()
        last = str(escape(words))
        known = re.search(r"""\bid=["']([^"']+)""", attributes)
        name = known[1] if known else _free(words, taken)
        taken.add(name)
        if stands in (2, 3):
            among = contents[-1].below if stands == 3 and contents else contents
            among.append(Heading(name, words))
        named = attributes if known else f' id="{name}"{attributes}'
        return f"<h{stands}{named}>{inner}</h{stands}>"

    return Outline(Markup(_MARKS.sub(marked, body)), contents)


def slug_of(words: str) -> str:
    """Write words as an id or a file's name can have them."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _free(words: str, taken: set[str]) -> str:
    """Make an id of words that no element has yet."""
    name = slug_of(words) or "part"
    name, number = f"at-{name}" if name[0].isdigit() else name, 1
    while (free := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return free


@cache
def _asset(name: str) -> Markup:
    """Return a file of `assets` as it is put into a page."""
    text = files("sojourn.report").joinpath("assets", name).read_text(encoding="utf-8")
    assert "</s" not in text, f"{name} would end the element that it stands in"
    return Markup(text)


def _embedded(value: Any) -> Markup:
    """Return a value as JSON that may stand in a `script` element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def data_link(content: bytes, kind: str) -> str:
    """Return content as a link of the scheme `data:`, which needs no file beside the page.

    >>> data_link(b"a,b", "text/csv")
    'data:text/csv;base64,YSxi'
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
