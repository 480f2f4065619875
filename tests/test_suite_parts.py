"""Small rules of suites: schemes, presets, and how cases are chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn.errors import SojournError
from sojourn.study.suites.catalogue import Case, Suite
from sojourn.study.suites.link import Link
from sojourn.study.suites.presets import Preset
from sojourn.study.suites.schemes import read as read_schemes


def test_schemes_have_the_case_s_buffer_and_marks_where_they_can() -> None:
    fifo, codel, own = read_schemes(['fifo,codel,{ kind = "pie", limit = "9pkt" }'])
    assert fifo.table(40, ecn=True) == {"kind": "fifo", "limit": "40pkt"} and fifo.table(0)["limit"] == "1pkt"
    assert codel.table(40, ecn=True) == {"kind": "codel", "ecn": True, "limit": "40pkt"}
    assert codel.table(40) == {"kind": "codel", "limit": "40pkt"} and not codel.own_limit
    assert own.own_limit and own.table(40)["limit"] == "9pkt"
    # Other values: twice the target delay of those that have one, twice the buffer of others.
    assert fifo.other_values(40)["limit"] == "80pkt"
    assert codel.other_values(40) == {"kind": "codel", "limit": "40pkt", "target": "10ms"}
    assert own.other_values(40)["target"] == "30ms"
    assert read_schemes(['{ kind = "codel", target = "7ms" }'])[0].other_values(9)["target"] == "14ms"


def test_a_preset_s_own_case_goes_before_its_link_and_keys() -> None:
    suite = Suite.load("rfc7928")
    case, other = suite.cases[:2]
    link = Link.read("10Mbit/40ms")
    assert Preset().of(case, link) == link
    about = {case.name: {"rtt": "7ms", "rate": "2Mbit", "buffer": 9, "set": {"a": 2, "flows.*.mss": "1kB"}}}
    preset = Preset(packet_bytes=1000, buffer_pkts=50, set={"a": 1, "b": 1}, case=about)
    mine, theirs = preset.of(case, link), preset.of(other, link)
    assert (mine.rtt_ns, mine.rate_bps, mine.buffer_pkts, mine.packet_bytes) == (
        7_000_000,
        2_000_000,
        9,
        1000,
    )
    assert (theirs.rtt_ns, theirs.rate_bps, theirs.buffer_pkts) == (link.rtt_ns, link.rate_bps, 50)
    document = {"flows": [{"name": "x", "transport": "cubic"}, {"transport": "udp"}, {"transport": "reno"}]}
    assert list(preset.keys(case, document)) == [
        ("a", "2"), ("b", "1"), ("flows.x.mss", "1kB"), ("flows.2.mss", "1kB"),
    ]  # fmt: skip
    assert list(preset.keys(other, document)) == [("a", "1"), ("b", "1")]
    with pytest.raises(SojournError, match="has no such preset; it has "):
        Preset.load(suite, "none")


def test_cases_are_chosen_by_name_or_by_the_section_they_are_in() -> None:
    suite = Suite.load("rfc7928")
    cases = tuple(Case(name, Path(), "", "") for name in ("8.2", "8.2.1", "8.2-a", "8.20", "9"))
    chosen = object.__new__(Suite)
    chosen.__dict__.update({**suite.__dict__, "cases": cases})
    assert [case.name for case in chosen.choose(["9", "8.2"])] == ["8.2", "8.2.1", "8.2-a", "9"]
    assert chosen.choose(None) == cases == chosen.choose([])
    with pytest.raises(SojournError, match=r"has no such case; it has 8\.2, 8\.2\.1"):
        chosen.choose(["7"])
