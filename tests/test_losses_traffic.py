"""What groups of flows did at a link (`record.traffic`), on packet logs that can be checked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.losses import response
from sojourn.losses.period import Period
from sojourn.losses.traffic import (
    _completion,
    _groups,
    _means,
    _numbers,
    _phase,
    _quantiles,
    _rows,
    _samples,
    _synchronised,
    _times,
    of_point,
)
from sojourn.results.packet_log import schema

MS, SECOND = 10**6, 10**9


def log_of(
    *packets: tuple[int, str, int, int | None, int], size: int = 1052, link: str = "down"
) -> pl.LazyFrame:
    """A log of packets: flow, kind, arrival and departure in ms (None: dropped), place of their bytes."""
    flow, kind, came, left, seq = (list(column) for column in zip(*packets, strict=True))
    columns = {
        "link": [link] * len(packets),
        "packet": range(len(packets)),
        "flow": flow,
        "kind": kind,
        "size_bytes": [size] * len(packets),
        "arrive_ns": [at * MS for at in came],
        "depart_ns": [None if at is None else at * MS for at in left],
        "drop_cause": ["full" if at is None else None for at in left],
        "backlog_pkts": [0] * len(packets),
        "backlog_bytes": [0] * len(packets),
        "seq": seq,
    }
    return pl.LazyFrame(columns, schema=schema())


def rows_of(*packets: tuple[int, str, int, int | None, int], header: int = 52) -> pl.DataFrame:
    return _rows(log_of(*packets), np.array([0, 1]), np.array([header, 28]))


def test_groups_have_the_headers_of_their_transport_and_users_come_after_flows() -> None:
    flows = [{"transport": "cubic"}, {"transport": "cubic", "timestamps": False}, {"transport": "udp"}]
    users = [
        {"kind": "voice", "count": 2}, {"kind": "web", "count": 1, "name": "people"},
        {"kind": "video", "count": 1},
    ]  # fmt: skip
    names, place, header = _groups({"flows": flows, "users": users}, ["a", "b", "c"])
    assert names == ["a", "b", "c", "users-0", "people", "users-2"]
    assert place == [0, 1, 2, 3, 3, 4, 5] and header == [52, 40, 28, 28, 52, 28]


def test_payload_counts_once_and_only_what_left() -> None:
    rows = rows_of(
        (0, "data", 0, 1, 7), (0, "data", 2, None, 8), (0, "data", 3, 4, 8), (0, "data", 5, 6, 7),
        (0, "ack", 7, 8, 0), (1, "datagram", 9, 10, 3), (1, "datagram", 11, 12, 3), (9, "data", 13, 14, 1),
    )  # fmt: skip
    # A copy of bytes that had left is nothing new; datagrams are all new; acknowledgements carry nothing.
    assert rows["new_bytes"].to_list()[:7] == [1000, 0, 1000, 0, 0, 1024, 1024]
    assert rows["group"].to_list() == [0] * 5 + [1, 1, -1]
    assert rows_of((0, "data", 0, 1, 7), header=2000)["new_bytes"].to_list() == [0]


def test_means_are_of_packets_that_came_and_bytes_that_left_in_a_span() -> None:
    rows = rows_of(
        (0, "data", 90, 110, 1), (0, "data", 100, 130, 2), (0, "data", 199, None, 3),
        (0, "data", 199, 210, 4), (0, "data", 200, 205, 5), (0, "data", 150, None, 6),
    )  # fmt: skip
    found = _means(rows, [(100 * MS, 200 * MS)])
    assert (found["arrived_pkts"], found["dropped_pkts"], found["loss"]) == (4, 2, 0.5)
    assert found["queue_delay_ms"] == pytest.approx((30 + 11) / 2) and found["seconds"] == 0.1
    # The first came before and left inside, the fourth the other way around.
    assert found["goodput_bps"] == 2000 * 8 / 0.1
    both = _means(rows, [(100 * MS, 200 * MS), (200 * MS, 300 * MS)])
    assert both["arrived_pkts"] == 5 and both["goodput_bps"] == 4000 * 8 / 0.2
    empty = _means(rows, [(300 * MS, 400 * MS)])
    assert (empty["queue_delay_ms"], empty["loss"], empty["goodput_bps"]) == (None, None, 0.0)


def test_samples_are_whole_ones_and_empty_ones_count() -> None:
    rows = rows_of(
        (0, "data", 0, 99, 0), (0, "data", 100, 100, 1), (0, "data", 100, 149, 2), (0, "data", 150, 249, 3),
        (0, "data", 250, 260, 4),
    )  # fmt: skip
    period = Period(100 * MS, 270 * MS)
    assert _samples(rows, period, 50 * MS).tolist() == [2000 * 160, 0, 1000 * 160]
    found = _numbers(rows, period, 50 * MS)
    assert found["goodput_cov"] == pytest.approx(np.std([2, 0, 1], ddof=1))
    assert found["goodput_bps_cdf"][0] == 0 and found["goodput_bps_cdf"][-1] == 320_000
    assert found["queue_delay_ms_cdf"][-1] == 99 and found["pdv_ms"]["max"] == 99
    assert found["by_kind"] == {"data": {"arrived_pkts": 4, "dropped_pkts": 0}}
    assert _numbers(rows, Period(100 * MS, 149 * MS), 50 * MS)["goodput_cov"] is None


def test_intervals_of_drops_and_quantiles_are_in_order() -> None:
    rows = rows_of((0, "data", 9, None, 1), (0, "data", 2, None, 2), (1, "datagram", 4, None, 1))
    found = _numbers(rows, Period(0, 10 * MS), MS)
    assert (found["drop_interval_ms_cdf"][0], found["drop_interval_ms_cdf"][-1]) == (2, 5)
    assert found["by_kind"]["datagram"] == {"arrived_pkts": 1, "dropped_pkts": 1} and found["loss"] == 1
    assert found["queue_delay_ms_cdf"] == [] and len(found["goodput_bps_cdf"]) == 51
    assert _quantiles(np.arange(101.0))[1:3] == [2, 4]


def test_a_loss_event_lasts_a_round_trip_from_its_first_drop() -> None:
    rows = rows_of(
        (0, "data", 10, None, 1), (1, "data", 19, None, 1), (0, "data", 20, None, 2),
        (0, "data", 29, None, 3), (0, "data", 40, None, 4), (1, "data", 50, 51, 2),
        (1, "datagram", 50, None, 2),
        (0, "data", 99, None, 9),
    )  # fmt: skip
    found = _synchronised(rows, Period(0, 99 * MS), 10 * MS)
    # 10 and 19; 20 and 29; 40: two of two flows, one, one.
    assert found == {"flows": 2, "loss_events": 3, "synchronisation": pytest.approx(4 / 3 / 2)}
    none = _synchronised(rows, Period(50 * MS, 60 * MS), 10 * MS)
    assert none == {"flows": 1, "loss_events": 0, "synchronisation": None}


def test_phases_repeat_inside_the_measured_period() -> None:
    phase = {"from": "1s", "to": "3s", "every": "4s"}
    period = Period(2 * SECOND, 10 * SECOND)
    spans = [(start * SECOND, end * SECOND) for start, end in ((2, 3), (5, 7), (9, 10))]
    assert list(_times(phase, period)) == spans
    assert list(_times({"from": "1s", "to": "2s"}, period)) == []
    once = list(_times({"from": "0s", "to": "30s"}, period))
    assert once == [(2 * SECOND, 10 * SECOND)] and _phase(pl.DataFrame(), [], []) == {}
    rows = rows_of((0, "data", 1, 2, 1), (1, "data", 1, 2, 1))
    found = _phase(rows, ["a", "b"], [(0, 10 * MS)])
    assert found["all"]["arrived_pkts"] == 2 and found["groups"]["b"]["arrived_pkts"] == 1


def test_a_transfer_takes_from_its_opening_to_its_last_byte() -> None:
    bulk, turns = {"kind": "bulk"}, {"kind": "sessions"}
    document: dict[str, Any] = {
        "path": {"client-delay": "1ms", "server-delay": "9ms"},
        "flows": [{"source": bulk, "direction": "down"}, {"source": turns, "direction": "down"}],
    }
    rows = rows_of(
        (0, "data", 10, 20, 1), (0, "data", 20, 50, 2), (1, "data", 10, 40, 1), (0, "ack", 60, 70, 0)
    )
    flows = pl.DataFrame(
        {"flow": [0, 1, 2], "start_ns": [5 * MS, 5 * MS, 0], "end_ns": [60 * MS, 60 * MS, None]},
        schema={"flow": pl.UInt32, "start_ns": pl.UInt64, "end_ns": pl.Int64},
    )

    def took(link: str, start: int = 0) -> Any:
        found = _completion(rows, flows, document, ["a", "b"], (link, None), Period(start, SECOND))
        return {name: (about["completed"], about["completion_s"]) for name, about in found.items()}

    # Servers open bulk transfers, 9 ms away; clients sessions, 1 ms; 1 ms after the link it is at a client.
    assert took("down") == {"a": (1, 0.055), "b": (1, 0.037)}
    assert took("down", 6 * MS) == {} == took("x.down")
    for flow in document["flows"]:
        flow["direction"] = "up"
    assert took("up") == {"a": (1, pytest.approx(0.055)), "b": (1, pytest.approx(0.053))}
    document["flows"][0]["rtt"] = "9ms"
    assert list(took("up")) == ["b"] and _completion(rows, None, document, [], ("up", 1), Period(0, 1)) == {}


def test_a_point_has_its_links_groups_and_phases(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    packets = [(0, "data", 100 * at, 100 * at + 5, at) for at in range(20)] + [(1, "voice", 1500, 1502, 0)]
    log_of(*packets).collect().write_parquet(file)
    bulk = {"transport": "cubic", "source": {"kind": "bulk"}, "direction": "down"}
    phase = {"name": "late", "from": "1500ms", "to": "2s"}
    document = {
        "path": {"client-delay": "1ms", "server-delay": "4ms"},
        "duration": "2s", "warmup": "1s", "flows": [bulk], "users": [{"kind": "voice", "count": 1}],
        "record": {"traffic": {"links": ["down"], "phases": [phase]}},
    }  # fmt: skip
    summary = {"links": {"down": {"rate_bps": 1e6}}, "groups": {"long": {}}}
    found = of_point(str(file), np.array([0, 1]), None, document, summary)["down"]
    assert found["sample_s"] == 0.1 and list(found["groups"]) == ["long", "users-0"]
    assert (found["all"]["arrived_pkts"], found["groups"]["long"]["arrived_pkts"]) == (11, 10)
    assert found["groups"]["users-0"]["goodput_bps"] == 1024 * 8 and found["all"]["loss_events"] == 0
    assert found["phases"]["late"]["groups"]["long"]["arrived_pkts"] == 5
    document["record"]["traffic"] = {"links": ["down"], "sample": "250ms"}
    again = of_point(str(file), np.array([0, 1]), None, document, summary)["down"]
    assert again["sample_s"] == 0.25 and "phases" not in again
    # Packets of no entry of the study, as probes of a testbed are, belong to no group.
    alone = of_point(str(file), np.array([0, -1]), None, document, summary)["down"]
    assert alone["all"]["arrived_pkts"] == 11 and alone["groups"]["users-0"]["arrived_pkts"] == 0


def test_long_groups_are_looked_at_by_their_own_round_trip_and_while_all_their_flows_are_there(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.parquet"
    # Ten packets every 10 ms, then half as many; ms.
    at = [*range(0, 1000, 10), *range(1000, 3000, 20)]
    log_of(*[(0, "data", ms, ms + 1, k) for k, ms in enumerate(at)]).collect().write_parquet(file)
    bulk: dict[str, Any] = {"transport": "cubic", "source": {"kind": "bulk"}, "direction": "down"}
    document: dict[str, Any] = {
        "path": {"client-delay": "50ms", "server-delay": "50ms"}, "duration": "3s", "warmup": "100ms",
        "flows": [bulk], "users": [], "record": {"traffic": {"links": ["down"]}},
    }  # fmt: skip
    summary = {"links": {"down": {"rate_bps": 1e6}}, "groups": {"long": {}}}

    def cut(**keys: str) -> float | None:
        bulk.update(keys)
        found = of_point(str(file), np.array([0]), None, document, summary)["down"]["groups"]["long"]
        return found["largest_cut"]

    # Whatever the round trip, the rate falls by half; of a shorter one fewer packets stand for it.
    assert cut() == pytest.approx(0.5, abs=0.06)
    rows = pl.read_parquet(file)
    own = response.of_group(rows, 45_000_000, 100_000_000, 3_000_000_000)["largest_cut"]
    assert own != cut() and cut(rtt="45ms") == own
    # All of them are there from the latest start on, and until they stop.
    del bulk["rtt"]
    assert cut(start="600ms", **{"start-within": "600ms"}) == pytest.approx(0.0, abs=0.1)
    assert cut(start="0s", **{"start-within": "0s"}, stop="900ms") == pytest.approx(0.0, abs=0.1)
