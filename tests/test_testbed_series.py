"""Series of the testbed: queues read off a packet log, windows from what senders left. By hand."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from sojourn.results.packet_log import schema
from sojourn.sweep.testbed import point as testbed_point
from sojourn.sweep.testbed import series
from sojourn.sweep.testbed.kind import Gathered, Place

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
    asked = [(place(0, transport="cubic", pacing=True), Gathered(series=[samples]))]
    assert series.flows(50 * MS, ["a"], asked)["pacing_bps"].to_list() == [7, 8]
    assert series.flows(50 * MS, ["a"], []).is_empty()


@pytest.mark.parametrize(
    ("record", "duration", "step"),
    [({}, "10s", None), ({"series": True}, "10s", 50), ({"series": True}, "1200s", 100),
     ({"series": True}, "601s", 51), ({"series": True, "series-step": "10ms"}, "10s", 10)],
)  # fmt: skip
def test_steps_are_the_simulators(record: dict[str, Any], duration: str, step: int | None) -> None:
    found = series.step_ns({"record": record, "duration": duration})
    assert found == (None if step is None else step * MS)


def test_what_a_point_comes_to_is_told_of_every_entry_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = {"transport": "udp", "source": {"kind": "cbr"}, "direction": "down"}
    document = {
        "flows": [flow, {**flow, "source": {"kind": "video"}}],
        "users": [{"kind": "web"}, {"kind": "voice"}],
        "duration": "9s",
    }
    point = SimpleNamespace(document=document, names={"hash": "h"}, recorded={})
    places = [Place(point, "flows", 0), Place(point, "flows", 1), Place(point, "users", 1, 3)]  # type: ignore[arg-type]
    seen: dict[str, Any] = {}

    def kind(number: int) -> Any:
        notes, facts = [[], ["one", "two"], ["three"]][number], [{}, {"a": 1}, {}][number]
        return SimpleNamespace(
            gather=lambda place, left: Gathered(delivered=[len(left)], notes=notes, facts=facts)
        )

    entries = [SimpleNamespace(place=place, kind=kind(k)) for k, place in enumerate(places)]
    bed = dict.fromkeys(("stamps", "scheduling", "rights", "without", "offload", "processors", "more"), 1)
    links = {"down": {"departed_pkts": 5}, "up": {"departed_pkts": 7}}
    report = {"links": links, "engine": bed, "verdict": {"held": True}, "lateness_us": {}}
    left = [["x"], ["x", "y"], []]
    ran = SimpleNamespace(report=report, left=left, entry_of_flow=[0, 2, -1, 1, 0])
    patched = {
        "plan": lambda _: entries,
        "running": lambda *_: nullcontext(ran),
        "links": lambda _: [("down", None), ("up", None)],
        "score": lambda *_: {"voice": {"mos": 4}},
        "engine": lambda: "build",
        "identity": lambda: {"kernel": "6.1"},
        "analyses": lambda *given: seen.update(origins=given[4].tolist(), summary=given[3]) or {"losses": 1},
    }
    for name, value in patched.items():
        monkeypatch.setattr(testbed_point, name, value)
    monkeypatch.setattr(
        testbed_point.packet_log, "write", lambda *given: seen.update(names=given[2], carries=given[3])
    )
    monkeypatch.setattr(testbed_point.result, "summary", lambda _, gathered: {"groups": {"g": len(gathered)}})
    monkeypatch.setattr(testbed_point.result, "tables", lambda _: {})
    with (tmp_path / "packets").open("wb") as packets:
        found, tables, _ = testbed_point.measure(point, packets)  # type: ignore[arg-type]
    # Groups come first, then users by their first number; no programs sent the third flow.
    assert seen["origins"] == [0, 2 + 3, -1, 1, 0]
    assert seen["carries"] == [None, "voice", None, "video", None] and seen["names"] == ("down", "up")
    assert seen["summary"] == {"groups": {"g": 3}, "links": links} and tables == {}
    assert (found["hash"], found["links"], found["voice"], found["losses"]) == ("h", links, {"mos": 4}, 1)
    told = found["engine"]
    assert (told["packets"], told["simulated_s"], told["kernel"], told["clock"]) == (12, 9.0, "6.1", "wall")
    assert told["notes"] == ["flows.1: one", "flows.1: two", "users.1: three"]
    assert told["programs"] == {"flows.1": {"a": 1}} and "more" not in told["bed"] and len(told["bed"]) == 6
    # Without a log nothing is looked for in it.
    seen.clear()
    found, _, _ = testbed_point.measure(point)  # type: ignore[arg-type]
    assert seen == {} and "losses" not in found
