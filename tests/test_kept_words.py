"""What is said of each key of a study, word for word: how values are refused, and what routers are told.

The files in `data/words` are to be read when they change: somebody acts on each line. Written anew by

    python tests/test_kept_words.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sojourn import _core
from sojourn.report.configure import links_of, routers
from sojourn.report.configure.tc import lines
from test_keys_count import COUNTS, SCENES
from test_keys_edges import EDGES

WORDS = Path(__file__).parent / "data" / "words"
BASES = {
    "fifo": {"limit": "64pkt"}, "codel": {}, "fq-codel": {}, "cobalt": {"limit": "200pkt"}, "cake": {},
    "sfq-codel": {"limit": "200pkt"}, "sfq": {}, "pie": {}, "fq-pie": {}, "dualpi2": {},
    "red": {"limit": "400pkt"}, "netem": {"delay": "10ms"},
}  # fmt: skip
LIMITS = ("1pkt", "96kB", "10ms", "0.5BDP", "unlimited")


def refusals() -> Iterator[str]:
    """Yield what is said of every value that is just beyond an edge."""
    for (scene, place), keys in EDGES.items():
        for key, (_, refused) in keys.items():
            for value in refused:
                text = value if isinstance(value, str) else json.dumps(value)
                with pytest.raises(_core.StudyError) as error:
                    _core.parse(SCENES[scene], "x.toml", [(f"{place}.{key}", text)], [])
                yield f"{scene}: {error.value}"


def queues() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every kind of queue that routers have: as it is, with each limit, with a value of each key."""
    for kind, base in BASES.items():
        yield kind, {"kind": kind, **base}
        for limit in LIMITS:
            yield f"{kind} of {limit}", {"kind": kind, **base, "limit": limit}
    for (scene, of, place), keys in COUNTS.items():
        if place == "path.queue" and scene in BASES:
            for key, other in keys.items():
                value, *first = other if isinstance(other, tuple) else (other,)
                more = {name.rpartition(".")[2]: given for name, given in first if name.startswith("{}")}
                read = {
                    k: json.loads(v) if v in ("true", "false") or v.isdigit() else v for k, v in more.items()
                }
                kind = of.partition(" ")[2]
                yield f"{kind}, {key} {value}", {"kind": kind, **BASES[kind], **read, key: value}


def links() -> Iterator[tuple[str, Any, Any]]:
    for name, queue in queues():
        both = {way: {"rate": rate, "queue": queue, "overhead": "18B"} for way, rate in
                (("down", "10Mbit"), ("up", "1500kbit"))}  # fmt: skip
        try:
            yield name, *links_of({"rtt": "40ms", **both})
        except _core.StudyError as error:
            yield name, None, str(error)


def told() -> Iterator[str]:
    """Yield the line of `tc` that names the queue, and what is noted."""
    for name, found, notes in links():
        if found is None:
            yield f"{name}: {notes}"
        else:
            yield f"{name}: {lines(found['down'])[0][-1].partition('dev IFACE ')[2]}"
            yield from (f"  {note}" for note in notes["down"])


def sections() -> Iterator[str]:
    """Yield what other routers are told of each kind of queue."""
    for name, found, _ in links():
        if name in BASES and found is not None:
            down, up = found["down"], found["up"]
            yield f"== {name}: {routers.size(down)} down, {routers.size(up)} up"
            for write in (routers.linux, routers.openwrt, routers.plain):
                yield from write(down, up).splitlines()


MADE: dict[str, Callable[[], Iterator[str]]] = {"refusals": refusals, "routers": told, "sections": sections}


@pytest.mark.parametrize("name", MADE)
def test_what_is_said_of_every_key_is_what_was_said(name: str) -> None:
    assert list(MADE[name]()) == (WORDS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    WORDS.mkdir(exist_ok=True)
    for name, made in MADE.items():
        (WORDS / f"{name}.txt").write_text("\n".join(made()) + "\n", encoding="utf-8")
