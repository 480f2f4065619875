"""What a suite writes and prints of its checks and numbers, from tables that are given."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from sojourn.report import suite
from sojourn.report.suite import pages, write_suite
from sojourn.report.suite.checks import Check
from sojourn.sweep.suites import Preset
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
