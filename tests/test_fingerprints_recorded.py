"""All that a replay of recorded connections gives, to the last byte, for recordings written by hand.

They have what no capture of the tests has: connections that both ends go on with as they like, datagrams of
both sides, waits of every kind, ends that close before the other or go on, and distances and windows of
their own.
Written anew:

    python tests/test_fingerprints_recorded.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sojourn import _core
from sojourn.qoe.score import score
from sojourn.study import Study
from test_fingerprints_whole import DATA, digest

FILE = DATA / "fingerprints_recorded.json"
PATH = """
name = "x"
duration = "6s"
warmup = "500ms"
[path]
client-delay = "3ms"
server-delay = "17ms"
down = { rate = "4Mbit" }
up = { rate = "1Mbit" }
queue = { kind = "fifo", limit = "20pkt" }
"""
GROUP = """
[[flows]]
name = "r"
source = { kind = "bulk" }
transport = "%s"
direction = "%s"
%s
[record]
packets = true
flows = true
series = true
"""
MS = 10**6
RECORDINGS: dict[str, list[str]] = {
    "by turns": [
        f"s c 0 {20 * MS} a300+0 b50000+{30 * MS} a200+{500 * MS} b900+0",
        f"s c {200 * MS} {80 * MS} a300+{100 * MS} b40000+0 b10+{700 * MS} a20+0",
        f"s s {300 * MS} - a70000+0 a900+{200 * MS} b1+{10 * MS}",
        f"s s {300 * MS} {300 * MS} b5000+{40 * MS} a1+0",
        f"s c {900 * MS} {40 * MS}/3 b90000+0",
    ],
    "both as they like": [
        f"c c 0 {20 * MS} a30000+0 b50000+{30 * MS} a20000+{90 * MS} b900+0 a1+0 a2+{300 * MS}",
        f"c s {100 * MS} {80 * MS} b300+{100 * MS} a40000+0 b10+{700 * MS} b20000+0",
        f"c c {150 * MS} - a100+{1000 * MS} a70000+0",
        f"c s {150 * MS} {120 * MS} b100+{400 * MS} b30000+{20 * MS}",
    ],
    "more to send": [
        f"s cb 0 {20 * MS} a300+0 b5000+{30 * MS}",
        f"c sab {200 * MS} {80 * MS} a9000+0 b700+{50 * MS} b300+{400 * MS}",
    ],
    "datagrams": [
        f"u c 0 - a172+{5 * MS} " + " ".join(f"a172+{20 * MS} b800+{3 * MS}" for _ in range(60)),
        f"u s {40 * MS} {30 * MS} " + " ".join(f"b1200+{10 * MS} a1+0" for _ in range(90)),
        "u c 0 - a65507+0 b65000+0",
    ],
    "initial windows": [
        f"s c {k * 150 * MS} {40 * MS}{window} a200+0 b60000+0"
        for k, window in enumerate(["/1", "/2", "/10", "/100", "", "/4"])
    ],
    "bbr": [
        f"s c {k * 150 * MS} {40 * MS}{whose} a200+0 b{300_000 if k == 2 else 70_000}+0"
        for k, whose in enumerate(["/3&bbr", "", "&bbr", "&bbr!ab", "/4"])
    ],
    "distances": [
        f"s {'cs'[k % 2]} {k * 90 * MS} {int(4e6 * 1.13**k)} a400+0 b{9000 + k * 700}+{k * MS}"
        for k in range(40)
    ],
}
RECORDINGS["all together"] = [line for lines in RECORDINGS.values() for line in lines]
RECORDINGS["as they hear"] = [
    f"c c 0 {20 * MS} a600+0 b3000+0<600 a380*2+0<3000 b22362+{3 * MS}<980 a4200*14+0<25362 b90000+0<1280",
    f"c s {90 * MS} {80 * MS}/3 b900*3+{200 * MS} a30000+0<900 b10+{40 * MS}<20000 a5+0<9999 b7*7+{300 * MS}",
    f"s c {100 * MS} {40 * MS} a1280*4+0 b40000+0 a600*2+{50 * MS} b10+0",
]
RECORDINGS["by their clocks"] = [
    f"s c 0 {20 * MS} a300+0 b300+{30 * MS} b90~{20 * MS} b1~0 b40000*9~{250 * MS} a7+0 a9~{15 * MS} b5+{MS}",
    f"s s {90 * MS} {80 * MS}/3 a400+0 " + " ".join(f"a400~{24 * MS}" for _ in range(70)),
    f"c c {100 * MS} {40 * MS} a600+0 b3000+0<600 a300~{5 * MS} b20000~{40 * MS} b900+0<900 a10~{300 * MS}",
    f"s cb {150 * MS} - b9~{20 * MS} a4+0 b1000~{10 * MS} b70~{10 * MS}",
]
Way = tuple[dict[str, Any], str, str, str]
FIFO = '{ kind = "fifo", limit = "50pkt" }'
WAYS: dict[str, Way] = {
    # Keys of the source; transport; direction; keys of the group.
    "as recorded": ({}, "cubic", "down", ""),
    "the other way": ({}, "newreno", "up", ""),
    "twice and a half": ({"scale": 2.5}, "cubic", "down", ""),
    "a third": ({"scale": 0.34}, "cubic", "down", ""),
    "the group's window": ({"initial-window": "group"}, "cubic", "down", "initial-window = 4"),
    "the group's transport": ({"transport": "group"}, "cubic", "down", ""),
    "the group's distance": ({}, "cubic", "down", 'rtt = "60ms"'),
    "hosts with access links": (
        {},
        "bbr",
        "down",
        f'access = {{ rate = "20Mbit", queue = {FIFO} }}',
    ),
    "Linux": ({}, "cubic", "down", 'stack = "linux"'),
}


def of(lines: list[str], way: Way) -> str:
    """Digest a run with a recording of a second and a half."""
    document = _core.parse(PATH + GROUP % way[1:], "x.toml", [], [])
    (point,) = Study(document, "x.toml", (), Path()).points
    text: dict[str, Any] = json.loads(point.text)
    content = "\n".join([f"length {1500 * MS}", *sorted(lines, key=lambda line: int(line.split()[2]))])
    text["document"]["flows"][0]["source"] = {"kind": "recorded", "file": "x", "content": content, **way[0]}
    ran = _core.run(json.dumps(text), log=True)
    summary = json.loads(ran.pop("summary"))
    summary.pop("engine")
    tables = {name: dict(table) if isinstance(table, Mapping) else table for name, table in ran.items()}
    return digest(summary, tables, score(point.document, ran, summary["links"]))


EVERY: dict[str, Callable[[], str]] = {
    **{f"{name}, as recorded": partial(of, lines, WAYS["as recorded"]) for name, lines in RECORDINGS.items()},
    **{f"all together, {what}": partial(of, RECORDINGS["all together"], way) for what, way in WAYS.items()},
}


@pytest.mark.parametrize("name", EVERY)
def test_everything_is_the_same_bytes_of_what_was_recorded(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what comes of {name} has changed"


def test_every_recording_that_is_kept_is_replayed() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(known) == set(EVERY) and len(set(known.values())) == len(known), (
        "each says something of its own"
    )


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
