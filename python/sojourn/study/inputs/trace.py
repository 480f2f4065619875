"""Files that a study names: traces of links (mahimahi) and of video frames (EvalVid senders).

They are named by tables with the key ``trace``; see :mod:`sojourn.study.inputs.named`.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.study.inputs.named import Files
from sojourn.study.links import access_links, links


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the tables that name a file, each with what the file is: a link's or video's."""
    for table in chain((link for _, link in links(document)), access_links(document)):
        rate = table.get("rate")
        if isinstance(rate, dict) and "trace" in rate:
            yield "link", rate
    for flows in document.get("flows") or ():
        source = flows.get("source")
        if isinstance(source, dict) and "trace" in source:
            yield "video", source


def _text(file: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError as error:
        raise SojournError(f"{file} is not text (byte {error.start}); expected a trace") from None


_FILES = Files("trace", "trace", 200_000_000, _tables, _text)
settle, identity, fill = _FILES.settle, _FILES.identity, _FILES.fill
