"""Series of the testbed: queues read off a packet log, windows from what senders left. By hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from sojourn.results.packet_log import schema
from sojourn.sweep.testbed import series
from sojourn.sweep.testbed.kind import Gathered

MS = 1_000_000


def log(folder: Path, rows: list[tuple[int, int | None, int, int, int, str | None]]) -> str:
    """Write a log of arrivals and departures (ms), sizes, and what waited at each arrival."""
    columns = {
        "link": ["down"] * len(rows),
        "packet": list(range(len(rows))),
        "flow": [0] * len(rows),
        "kind": ["data"] * len(rows),
        "size_bytes": [row[2] for row in rows],
        "arrive_ns": [row[0] * MS for row in rows],
        "depart_ns": [None if row[1] is None else row[1] * MS for row in rows],
        "drop_cause": [row[5] for row in rows],
        "backlog_pkts": [row[3] for row in rows],
        "backlog_bytes": [row[4] for row in rows],
        "seq": [0] * len(rows),
    }
    pl.DataFrame(columns, schema()).write_parquet(folder / "log.parquet")
    return str(folder / "log.parquet")


def test_a_queue_holds_what_the_last_arrival_found_with_it_less_what_has_left_since(tmp_path: Path) -> None:
    file = log(
        tmp_path,
        [(10, 10, 1500, 0, 0, None), (11, 22, 1500, 0, 0, None), (12, 34, 500, 1, 1500, None),
         (13, None, 1500, 2, 2000, "full"), (50, 50, 100, 0, 0, None), (95, None, 100, 0, 0, None)],
    )  # fmt: skip
    found = series.queues(10 * MS, 100 * MS, file, ("down", "up"))
    assert found.schema["link"] == pl.Enum(["down", "up"])
    assert found.filter(link="up")["backlog_pkts"].to_list() == [0] * 10, "nothing came there"
    down = found.filter(link="down")
    assert down["time_ns"].to_list() == [10 * MS * k for k in range(1, 11)]
    # At 10 ms the first leaves as it comes; at 20 two wait, the dropped one does not; the last never leaves.
    assert down["backlog_pkts"].to_list() == [0, 2, 1, 0, 0, 0, 0, 0, 0, 1]
    assert down["backlog_bytes"].to_list() == [0, 2000, 500, 0, 0, 0, 0, 0, 0, 100]


def test_a_packet_dropped_inside_a_queue_is_gone_when_the_next_one_comes(tmp_path: Path) -> None:
    # Two wait; the second is dropped by the discipline , and the third finds one.
    rows = [(1, 30, 1000, 0, 0, None), (2, None, 1000, 1, 1000, "sojourn"), (15, 40, 1000, 1, 1000, None)]
    found = series.queues(10 * MS, 20 * MS, log(tmp_path, rows), ("down",))
    assert found["backlog_pkts"].to_list() == [1, 2]


def place(number: int, **entry: Any) -> Any:
    return SimpleNamespace(part="flows", number=number, entry=entry)


def test_rates_are_what_was_delivered_since_and_paces_those_of_senders_that_pace() -> None:
    samples = [[50 * MS, 10, 0, 14_480, 7], [100 * MS, 20, 30 * MS, 43_440, 8]]
    found = [
        (place(0, transport="cubic"), Gathered(series=[samples, samples[1:]])),
        (place(1, transport="bbr"), Gathered(series=[samples])),
    ]
    table = series.flows(50 * MS, ["a", "b"], found)
    assert table["time_ns"].is_sorted()
    first = table.filter(group="a", number=0)
    assert first["rate_bps"].to_list() == [14_480 * 160, 28_960 * 160]
    assert first["srtt_ns"].to_list() == [None, 30 * MS] and first["cwnd_pkts"].to_list() == [10, 20]
    assert table.filter(group="a")["pacing_bps"].to_list() == [None] * 3
    assert table.filter(group="b")["pacing_bps"].to_list() == [7, 8]
    assert series.flows(50 * MS, ["a"], []).is_empty()


@pytest.mark.parametrize(
    ("record", "duration", "step"),
    [({}, "10s", None), ({"series": True}, "10s", 50), ({"series": True}, "1200s", 100),
     ({"series": True}, "601s", 51), ({"series": True, "series-step": "10ms"}, "10s", 10)],
)  # fmt: skip
def test_steps_are_the_simulators(record: dict[str, Any], duration: str, step: int | None) -> None:
    found = series.step_ns({"record": record, "duration": duration})
    assert found == (None if step is None else step * MS)
