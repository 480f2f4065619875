"""Flows that start when the run is over carry nothing, and `sojourn run` says so."""

from __future__ import annotations

from typing import Any

from conftest import Command
from sojourn.study.starts import too_late


def scenario(start: str | None, duration: str = "60s") -> dict[str, Any]:
    late = {"name": "late"} | ({} if start is None else {"start": start})
    return {"duration": duration, "flows": [{"name": "early", "start": "59999ms"}, late]}


def test_flows_that_start_when_the_run_is_over_are_told_once() -> None:
    assert too_late([scenario(None), {"duration": "1s"}, scenario("59.9s")]) == []
    said = "start is 60000ms, but the run ends after 60s; they carry nothing"
    assert too_late([scenario("60000ms")]) == [f"flows late, every cell: {said}"]
    assert too_late([scenario("60000ms"), scenario("1s")]) == [f"flows late, 1 of 2 cells: {said}"]


def test_run_says_so(sojourn: Command) -> None:
    text = (
        'name = "late"\nduration = "2s"\n[path]\nrtt = "50ms"\nqueue = { kind = "fifo", limit = "9pkt" }\n'
        'down.rate = "2mbit"\nup.rate = "2mbit"\n'
        '[[flows]]\nname = "never"\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
    )
    (sojourn.cwd / "late.toml").write_text(text + 'start = "2s"\n')
    assert "note: flows never, every cell: start is 2s, but" in sojourn("run", "late.toml").stderr
    on_time = sojourn("run", "late.toml", "--out", "on-time", "--set", "flows.0.start=1s")
    assert "carry nothing" not in on_time.stderr
