"""What a suite writes and prints of its checks and numbers, from tables that are given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from sojourn.report import suite
from sojourn.report.suite import pages, write_suite
from sojourn.report.suite.checks import Check
from sojourn.study.suites import Preset, Suite
from test_suite_tables import SUITE, expanded, rows

ABOUT = "l 5.4 fifo: w: f, expected e"
HELD = {
    True: f"holds          {ABOUT}",
    False: f"DOES NOT HOLD  {ABOUT}",
    None: f"cannot be said {ABOUT}",
}


@pytest.mark.parametrize(
    ("verdicts", "broken"),
    [([], False), ([True], False), ([None], False), ([True, None], False), ([True, False, None], True)],
)
def test_only_a_check_that_does_not_hold_breaks_a_suite(
    verdicts: list[bool | None], broken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [Check("5.4", "l", "w", "fifo", "e", "f", holds) for holds in verdicts]
    two = rows({"goodput_bps": 1e6}, {"goodput_bps": 3e6, "replication": 1})
    monkeypatch.setattr(suite, "rows", lambda *_: two)
    monkeypatch.setattr(suite, "checks", lambda *_: made)
    monkeypatch.setattr(suite, "Results", lambda *_: None)
    monkeypatch.setattr(pages, "write_pages", lambda *_: tmp_path / "index.html")
    each = expanded("5.4")
    written = write_suite(SUITE, Preset(), [each], "sojourn suite", tmp_path)
    assert written.broken is broken
    assert list(written.lines[: len(made)]) == [HELD[holds] for holds in verdicts]
    assert written.lines[-1].startswith(f"pages: {tmp_path}/index.html; numbers: {tmp_path}/suite.parquet, ")
    kept = json.loads((tmp_path / "suite.json").read_text())
    assert {**kept, "page": str(tmp_path / "index.html")} == dict(written.told)
    assert [check["holds"] for check in kept["checks"]] == verdicts and kept["preset"] is None
    # Two runs of one cell are one row, with their mean.
    [row] = kept["numbers"]
    assert (row["runs"], row["goodput_bps"], row["delta_fair_runs"]) == (2, 2e6, 0)
    [case] = kept["cases"]
    assert (case["case"], case["runs"]) == ("5.4", 2) and list(case["schemes"]) == ["fifo", "codel"]
    assert pl.read_parquet(tmp_path / "suite.parquet").height == 2


def test_the_help_of_the_suites_names_their_defaults(sojourn: Command) -> None:
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", sojourn("suite", "--help").stdout).split())
    suites = {name: Suite.load(name) for name in ("rfc7928", "rfc5166", "tcp")}
    for name in ("rfc7928", "rfc5166"):
        own = suites[name]
        assert f"By default {','.join(own.aqm)};" in told and f"by default {own.seeds};" in told
        assert f"by default {own.link};" in told
    tcp = suites["tcp"]
    assert list(tcp.aqm) == ["fifo"] and not tcp.link and f"of tcp {tcp.seeds}." in told
