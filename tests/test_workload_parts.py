"""The study of a capture, of known connections, bytes and waits: rates, buffers, and what was measured."""

from __future__ import annotations

import csv
import io
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command
from sojourn.capture import CaptureError, workload_study
from sojourn.capture.workload import Stood, Workload, _notes, _table
from sojourn.capture.workload_measured import measured
from sojourn.capture.workload_study import (
    Written,
    _carried_bps,
    _hosts,
    _rate,
    _waits,
    initial_window,
    study_of,
)
from sojourn.errors import SojournError

S = 1_000_000_000
TURN = {"accepted": True, "bytes": 5, "wait_ns": 0}
ENDS: dict[str, Any] = {"after": None,
    "opener": "10.0.0.1", "acceptor": "192.0.2.1", "tcp": True, "quic": False, "client_opens": True,
    "duration_ns": 2 * S,
    "a_bytes": 1000, "b_bytes": 50_000, "a_data_pkts": 60, "b_data_pkts": 300, "a_again_pkts": 3,
    "b_again_pkts": 20, "a_vain_pkts": 0, "b_vain_pkts": 0, "a_missing_pkts": 0, "b_missing_pkts": 0,
    "began_before": False, "cut": False,
    "rtt_ns": 40_000_000, "a_mss": 1212, "b_mss": 1400, "a_initial_window": None, "b_initial_window": 10,
    "a_bbr": False, "b_bbr": False, "turns": [TURN],
}  # fmt: skip
NOTHING = np.zeros(100, dtype=np.int64)


def connections(*changes: dict[str, Any]) -> pl.DataFrame:
    types = {name: pl.Int64 for name in ("a_initial_window", "b_initial_window", "rtt_ns", "a_mss", "after")}
    return pl.DataFrame([{**ENDS, **change} for change in changes or ({},)], schema_overrides=types)


def busy(**series: Any) -> dict[str, np.ndarray]:
    """Return bytes in each tenth of a second, nothing where none are given."""
    long = max((len(each) for each in series.values()), default=100)
    zero = np.zeros(long, dtype=np.int64)
    return {"bin": np.arange(long), **{name: np.asarray(series.get(name, zero)) for name in
                                       ("down", "up", "acknowledged", "datagrams")}}  # fmt: skip


def found(**changes: Any) -> Workload:
    told = {"connections": connections(), "length_ns": 10 * S, "notes": [], "sides_by_ttl": True}
    return Workload(**{**told, "near_are_clients": True, "busy": busy(), **changes})


def study(
    of: Workload, monkeypatch: pytest.MonkeyPatch, **waits: dict[str, float]
) -> tuple[Any, Any, Written]:
    """Return the study, its table and all that was written, where links have these waits."""
    monkeypatch.setattr(workload_study, "_waits", lambda *_: waits)
    written = study_of(of, [Path("c.pcap")], Path("here/w.parquet"), Path("here/office.toml"))
    text = {path.name: text for path, text in written.files.items()}
    assert list(written.files) == [Path("here/office-measured.csv"), Path("here/office.toml")]
    rows = list(csv.reader(io.StringIO(text["office-measured.csv"])))
    return tomllib.loads(text["office.toml"]), rows, written


def test_a_link_that_was_filled_has_its_rate_and_its_longest_wait_is_its_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 1 Mbit/s down, in all seconds alike; up a tenth of it in the first second, and then nothing.
    of = found(busy=busy(down=np.full(100, 12_500), up=np.where(np.arange(100) < 10, 1250, 0)))
    made, rows, written = study(of, monkeypatch, down={"max_ms": 250.0, "mean_ms": 50.0}, up={"max_ms": 0.2})
    assert made["path"] == {
        "rtt": "40000us",
        "down": {"rate": "1000000bit", "queue": {"kind": "fifo", "limit": "31250B"}},
        "up": {"rate": "1000000bit", "queue": {"kind": "fifo", "limit": "5000B"}},
    }
    assert made["sweep"] == {"path.down.queue.limit": ["7812B", "31250B", "125000B"]}
    assert (made["name"], made["measured"], made["duration"]) == ("office", "office-measured.csv", "10000ms")
    [flow] = made["flows"]
    assert flow == {
        "source": {"kind": "recorded", "file": "w.parquet"}, "transport": "cubic", "stack": "linux",
        "direction": "down", "mss": "1200B", "initial-window": 10,
    }  # fmt: skip
    assert made["record"] == {"flows": True}
    assert written.notes == [
        "the link up: it was never seen filled; 100 kbit/s came to it in the densest second, and it may have "
        "carried less; the study has 1 Mbit/s, as the link down",
        "no waiting could be seen on the link up: its buffer is one bandwidth-delay product",
    ]
    assert rows[:2] == [["value", "measured", "how"], ["path.down.queue.limit", "31250B", ""]]
    assert {row[0]: row[1] for row in rows[2:]} == {
        "flows.goodput_bps": "40800",
        "links.down.utilisation": "1",
        "links.down.queue_delay_ms.mean": "50",
        "links.down.queue_delay_ms.max": "250",
        "links.up.queue_delay_ms.max": "0.2",
        "links.down.loss": f"{20 / 320:.9g}",
        "connections.duration_s.p50": "2",
        "connections.duration_s.p95": "2",
    }


def test_a_capture_beside_servers_sweeps_the_uplink_and_names_what_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lone = connections({"rtt_ns": None, "a_mss": None, "b_initial_window": None})
    of = found(connections=lone, near_are_clients=False, busy=busy(up=np.full(100, 250)), length_ns=S // 3)
    made, rows, written = study(of, monkeypatch)
    # 20 kbit/s: a bandwidth-delay product of 50 ms is less than two packets, which a buffer has at least.
    assert made["path"]["up"] == {"rate": "20000bit", "queue": {"kind": "fifo", "limit": "3000B"}}
    assert made["path"]["rtt"] == "50000us" and made["duration"] == "333ms"
    assert made["sweep"] == {"path.up.queue.limit": ["3000B", "12000B"]}, "a quarter is as small as one"
    assert made["flows"][0]["mss"] == "1448B" and "initial-window" not in made["flows"][0]
    assert written.notes[0].startswith("the link down: nothing was seen on it; the study has 20 kbit/s")
    assert written.notes[1].startswith("the link up: taken for filled at 20 kbit/s, as its seconds are alike")
    assert written.notes[2] == "no round trip was seen: the path's is 50 ms, a choice"
    assert [row[0] for row in rows][1] == "path.up.queue.limit"
    # A workload that lies elsewhere is named in full.
    elsewhere = study_of(of, [Path("c.pcap")], Path("/else/w.parquet"), Path("here/o.toml"))
    assert 'file = "/else/w.parquet"' in elsewhere.files[Path("here/o.toml")]
    with pytest.raises(SojournError, match="hop limits do not tell which packets crossed the link"):
        study_of(replace(of, sides_by_ttl=False), [], Path("w.parquet"), Path("o.toml"))


def test_what_hardly_came_is_not_said_to_have_come_at_the_least_rate_of_a_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 25 bytes in a second are 200 bit/s; a study has 10 kbit/s at least.
    few = np.where(np.arange(100) < 1, 25, 0)
    _, _, written = study(found(busy=busy(down=few, up=few)), monkeypatch)
    assert [note.partition("; the study")[0] for note in written.notes[:2]] == [
        "the link down: it was never seen filled; at most 10 kbit/s came over it in the densest second, and "
        "it may carry more",
        "the link up: it was never seen filled; at most 10 kbit/s came to it in the densest second, and it "
        "may have carried less",
    ]


@pytest.mark.parametrize(
    ("waited_ms", "said"),
    [
        # Two full packets at 1 Mbit/s take 24 ms: where none waited so long, what came was what senders sent.
        (23.9, ["it was never seen filled and carries at least 1 Mbit/s, as in the densest second"]),
        (24.0, []),
        (None, []),
    ],
)
def test_seconds_that_are_alike_fill_a_link_only_if_packets_waited(
    waited_ms: float | None, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {} if waited_ms is None else {"down": {"max_ms": waited_ms}}
    of = found(busy=busy(down=np.full(100, 12_500), up=np.full(100, 25_000)))
    made, _, written = study(of, monkeypatch, **waits)
    assert [note for note in written.notes if note.startswith("the link down: it")] == [
        f"the link down: {each}; the study has 2 Mbit/s, as the link up" for each in said
    ]
    assert made["path"]["down"]["rate"] == ("2000000bit" if said else "1000000bit")
    slower = replace(of, busy={**of.busy, "up": np.full(100, 2500)})
    assert study(slower, monkeypatch, **waits)[0]["path"]["down"]["rate"] == "1000000bit"


def test_without_waits_the_buffers_of_the_link_that_carried_more_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A caller who talks, captured beside the clients: nothing came down.
    of = found(busy=busy(up=np.full(100, 1010)))
    assert list(study(of, monkeypatch)[0]["sweep"]) == ["path.up.queue.limit"]
    more = replace(of, busy=busy(down=np.full(100, 2020), up=np.full(100, 1010)))
    assert list(study(more, monkeypatch)[0]["sweep"]) == ["path.down.queue.limit"]
    assert list(study(more, monkeypatch, up={"max_ms": 1.0})[0]["sweep"]) == ["path.up.queue.limit"]


def test_captures_that_last_no_time_give_no_study_and_short_ones_say_how_long_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = found(busy=busy(down=[7570], up=[330]), length_ns=5_000_000)
    notes = study(one, monkeypatch)[2].notes
    assert "at least 606 kbit/s, as in the 0.1 s that hold the capture;" in notes[0]
    assert "that were captured" in study(replace(one, length_ns=S // 10), monkeypatch)[2].notes[0]
    with pytest.raises(SojournError, match="all frames of the captures have the same time"):
        study_of(replace(one, length_ns=0), [], Path("w.parquet"), Path("o.toml"))


def test_a_rate_is_that_of_the_densest_second_wherever_it_begins() -> None:
    sizes = np.concatenate([np.full(5, 10), np.full(10, 5000), np.full(5, 10)])
    assert _rate(sizes, np.arange(20)) == (400_000, False, 1.0)
    # Five whole seconds within 3 % of the densest are a link that was filled; four are not.
    for alike, filled in ((5, True), (4, False)):
        seconds = np.concatenate([np.full(10, 5000), *[np.full(10, 4851)] * (alike - 1), np.full(20, 4840)])
        assert _rate(seconds, np.arange(seconds.size)) == (400_000, filled, 1.0)
    assert _rate(np.array([500, 700, 300]), np.arange(3)) == (40_000, False, 0.3)
    assert _rate(np.array([1]), np.array([0])) == (10_000, False, 0.1), "a link carries 10 kbit/s at least"
    assert _rate(np.array([]), np.array([])) == (10_000, False, 1.0)


def test_a_link_away_from_the_capture_has_the_rate_of_what_was_acknowledged() -> None:
    acknowledged = np.repeat([5, 9, 10, 10, 10, 10, 10, 10, 10, 10], 10) * 1200
    of = found(busy=busy(up=acknowledged + 100, acknowledged=acknowledged))
    # An acknowledged segment of 1200 bytes was a packet of 1252.
    assert _carried_bps(of, "up") == 10 * 10 * 1252 * 8
    assert _carried_bps(replace(of, busy={**of.busy, "up": acknowledged * 2}), "up") is None, (
        "others shared it"
    )
    assert _carried_bps(found(busy=busy(up=acknowledged[:90], acknowledged=acknowledged[:90])), "up") is None
    uneven = np.repeat([10, 10, 10, 10, 10, 10, 10, 10, 12, 14], 10) * 1200
    assert _carried_bps(found(busy=busy(up=uneven, acknowledged=uneven)), "up") is None
    # Nobody acknowledges datagrams: as much of them is carried as of the rest, here nine tenths.
    datagrams = np.full(100, 30_000)
    tcp = acknowledged * (1252 / 1200)
    mixed = busy(up=datagrams + tcp / 0.9, acknowledged=acknowledged, datagrams=datagrams)
    assert _carried_bps(found(busy=mixed), "up") == (10 * 10 * 1252 + 10 * 27_000) * 8
    lone = busy(up=datagrams, datagrams=datagrams)
    assert _carried_bps(found(busy=lone), "up") is None, "of datagrams alone nothing says what came of them"
    few = found(busy=busy(up=acknowledged // 1200, acknowledged=acknowledged // 1200))
    assert _carried_bps(few, "up") is None, "less than any link carries"


def test_the_initial_window_is_that_of_the_senders_of_most_bytes() -> None:
    rows = [
        {"a_bytes": 30, "a_initial_window": 4, "b_bytes": 60, "b_initial_window": 10},
        {"a_bytes": 40, "a_initial_window": 4, "b_bytes": 5, "b_initial_window": 10},
        {"a_bytes": 90, "a_initial_window": None, "b_bytes": 0, "b_initial_window": None},
    ]
    assert initial_window(connections(*rows)) == 4
    assert initial_window(connections({"b_initial_window": None})) is None


def test_waits_are_of_the_far_host_with_most_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    both = connections({}, {"opener": "192.0.2.2", "acceptor": "10.0.0.1", "client_opens": False})
    assert _hosts(found(connections=both)) == {"192.0.2.1", "192.0.2.2"}
    assert _hosts(found(connections=both, near_are_clients=False)) == {"10.0.0.1"}
    hosts = [
        {"remote": "192.0.2.1", "samples": 5, "to_remote": {"samples": 7}},
        {"remote": "192.0.2.2", "samples": 9, "to_remote": {"samples": 6}},
        {"remote": "192.0.2.1", "samples": 0, "to_remote": "not seen"},
        {"remote": "10.0.0.9", "samples": 99, "to_remote": {"samples": 99}},
    ]
    monkeypatch.setattr(workload_study, "measure", lambda captures: {"hosts": hosts, "of": captures})
    of = found(connections=both)
    assert _waits([Path("a")], of, "down", "up") == {"down": hosts[1], "up": {"samples": 7}}

    def unread(_: Any) -> Any:
        raise CaptureError("x")

    monkeypatch.setattr(workload_study, "measure", unread)
    assert _waits([Path("a")], of, "down", "up") == {}


def test_what_is_lost_is_counted_by_where_the_capture_is() -> None:
    rows = [{}, {"client_opens": False, "cut": True, "duration_ns": 9 * S},
            {"turns": [], "duration_ns": 8 * S}, {"began_before": True, "duration_ns": 7 * S},
            {"tcp": False, "b_bytes": 7}]  # fmt: skip
    of = found(connections=connections(*rows), busy=busy(down=np.full(100, 500), up=np.full(100, 100)))
    seen = {path: number for path, number, _ in measured(of, "down", 80_000, {"up": {"p99_ms": 3.0}})}
    # Down go 300 segments of three connections and 60 of one that a server opened; up the others.
    assert seen["links.down.loss"] == pytest.approx(63 / (960 + 63))
    assert seen["links.up.loss"] == pytest.approx(29 / 480)
    assert seen["flows.goodput_bps"] == 4 * 51_000 * 8 / 10
    assert seen["links.down.utilisation"] == pytest.approx(0.5) and "links.up.utilisation" not in seen
    assert seen["links.up.queue_delay_ms.p99"] == 3.0
    assert (seen["connections.duration_s.p50"], seen["connections.duration_s.p95"]) == (2, 2)
    datagrams = found(connections=connections({"tcp": False}), busy=of.busy)
    assert [path for path, _, _ in measured(datagrams, "down", 80_000, {})] == ["links.down.utilisation"]
    near_up = {path: number for path, number, _ in measured(of, "up", 80_000, {})}
    assert near_up["links.up.loss"] == pytest.approx(29 / (480 + 29))
    assert near_up["links.down.loss"] == pytest.approx(63 / 960)
    assert near_up["links.up.utilisation"] == pytest.approx(0.1)
    # What had come was no loss, and no less than nothing was lost.
    for vain, lost in ((5, 15), (20, 0), (21, 0)):
        known = found(connections=connections({"b_vain_pkts": vain}))
        of_vain = {path: number for path, number, _ in measured(known, "down", 80_000, {})}
        assert of_vain["links.down.loss"] == pytest.approx(lost / (300 + lost))
    for pkts, told in ((99, False), (100, True)):
        one = found(connections=connections({"b_data_pkts": pkts, "cut": True}))
        paths = [path for path, _, _ in measured(one, "down", 8.0, {})]
        assert ("links.down.loss" in paths) == told and not any("duration" in path for path in paths)
    assert next(path for path, _, _ in measured(replace(of, length_ns=0), "down", 1, {})) == "links.down.loss"


def test_where_datagrams_share_a_link_its_loss_is_not_that_of_its_segments() -> None:
    up, down = "links.up.loss", "links.down.loss"
    lost = {up: 3 / 360, down: 20 / 320}
    for count, opens, shared in ((33, True, None), (34, True, down), (41, False, up)):
        flow = {"tcp": False, "turns": [TURN] * count, "client_opens": opens}
        of = found(connections=connections({"a_data_pkts": 360}, flow))
        seen = {path: number for path, number, _ in measured(of, "down", 80_000, {})}
        again = {"flows.retransmits": 23} if shared else {}
        told = {path: share for path, share in lost.items() if path != shared} | again
        assert {path: seen.get(path) for path in told} == pytest.approx(told)
        assert not seen.keys() & ({*lost, "flows.retransmits"} - told.keys())


def test_what_is_not_known_of_a_connection_is_null_and_turns_are_cut_to_4_gb() -> None:
    unknown = {f"{end}_{what}": np.array([-1, 0]) for end in "ab"
               for what in ("part_ns", "mss", "initial_window", "window")}  # fmt: skip
    columns = {
        "start_ns": np.array([3, 4]),
        "rtt_ns": np.array([-1, 5]),
        **unknown,
        **{f"after{what}": np.array([-1, 0]) for what in ("", "_bytes", "_ns")},
        "turns": np.array([0, 2]),
    }
    turns = {"accepted": np.array([True, False]), "bytes": np.array([2**33, 0]), "wait_ns": np.array([1, 2]),
             "heard": np.array([0, 9]), "writes": np.array([1, 3])}  # fmt: skip
    table = _table({"connections": columns, "turns": turns, "length_ns": 77})
    assert table["rtt_ns"].to_list() == [None, 5] and table["b_mss"].to_list() == [None, 0]
    assert table["after"].to_list() == [None, 0] == table["after_ns"].to_list()
    assert table["length_ns"].to_list() == [77, 77] and table.columns[-1] == "turns"
    assert table["turns"].to_list() == [[], [
        {"accepted": True, "bytes": 2**32 - 1, "wait_ns": 1, "heard": 0, "writes": 1},
        {"accepted": False, "bytes": 0, "wait_ns": 2, "heard": 9, "writes": 3},
    ]]  # fmt: skip


def test_what_captures_did_not_show_is_counted() -> None:
    seen = {"a_seen": True, "b_seen": True}
    rows = [{"cut": True, **seen}, {"cut": True, "began_before": True, "rtt_ns": None, **seen},
            {"a_seen": False, "b_seen": True, "cut": True},
            {"tcp": False, "rtt_ns": None, **seen}]  # fmt: skip
    told = {"damage": ["x"], "sides_by_ttl": False, "beyond_bound": 4,
            "turns": {"bytes": np.array([1, 2**32])}}  # fmt: skip
    assert [said.split(" ")[0] for said in _notes(told, connections(*rows))] == [
        "x", "1", "3", "1", "1", "25", "hop", "4", "turns",
    ]  # fmt: skip
    fine = {
        **told,
        "damage": [],
        "sides_by_ttl": True,
        "beyond_bound": 0,
        "turns": {"bytes": np.array([2**32 - 1])},
    }
    assert _notes(fine, connections(seen)) == []
    few = {"tcp": False, "a_bytes": 0, "b_bytes": 9, **seen}
    one, more = (_notes(fine, connections(seen, {**few, "b_missing_pkts": n}))[-1] for n in (1, 20))
    assert one.endswith("did not come to the captures, as its number tells: a replay sends it, too")
    assert more.startswith("20 datagrams of RTP") and more.endswith(
        "their numbers tell: a replay sends them, too"
    )


INGRESS = Path(__file__).parent / "data" / "loss_small_pfifo" / "ingress.pcap.gz"


@pytest.mark.parametrize("option", ["-o", "--out", "--output"])
def test_the_file_to_write_is_named_as_other_commands_name_it(sojourn: Command, option: str) -> None:
    sojourn("workload", INGRESS, option, "w.parquet")
    assert (sojourn.cwd / "w.parquet").is_file()


def test_packets_that_stood_in_a_queue_tell_its_rate_and_what_it_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A second of 1 Mbit/s came down, and packets stood for a half; of what went up 5 % were lost.
    came = busy(down=np.where(np.arange(100) < 10, 12_500, 0))
    stood = {"down": Stood(400, S // 2, 125_000, 80_000_000), "up": Stood(400, S // 2, 62_500, 0)}
    of = found(busy=came, stood=stood)
    waits = {"down": {"max_ms": 120.0}, "up": {"max_ms": 40.0}}
    made, _, written = study(of, monkeypatch, **waits)
    rates = [made["path"][link]["rate"] for link in ("down", "up")]
    assert rates == ["2000000bit", f"{1_000_000 * (1 - 3 / 60):.0f}bit"]
    # 80 ms that two in a row waited; the 120 of one alone are nobody's queue. Upwards no two did.
    assert [made["path"][link]["queue"]["limit"] for link in ("down", "up")] == ["20000B", "4750B"]
    assert written.notes == [
        f"the link {link}: it was not always filled; it carried {rate} in the 0.5 s in which packets "
        "stood in its queue"
        for link, rate in (("down", "2 Mbit/s"), ("up", "950 kbit/s"))
    ]
    # For less than that they tell nothing; nor do they where more came than the queue would let through.
    for told in (Stood(400, S // 11, 125_000, 0), Stood(400, S // 2, 50_000, 0)):
        made, *_ = study(replace(of, stood={"down": told}), monkeypatch, **waits)
        assert made["path"]["down"]["rate"] == "1000000bit", told


def test_a_queue_that_lost_nothing_holds_a_round_trip_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    for again, limit in ((0, "40000B"), (1, "5000B")):
        of = found(
            connections=connections({"b_again_pkts": again}),
            stood={"down": Stood(400, S, 1_000_000, 5_000_000)},
        )
        made, _, written = study(of, monkeypatch, down={"max_ms": 5.0})
        assert made["path"]["down"]["queue"]["limit"] == limit
        assert (
            "nothing was lost on the link down, so its buffer holds more than the 5000 bytes that waited at "
            "most: it is one bandwidth-delay product" in written.notes
        ) == (not again)


def test_a_queue_in_which_few_packets_hardly_stood_holds_a_round_trip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A download's acknowledgements, of which nobody knows how many were lost: 2 ms are no buffer."""
    cases = ((99, 0, S // 11, True), (100, 1, S // 11, False), (99, 0, S // 10, False))
    for seen, again, stood_ns, hardly in cases:
        of = found(
            connections=connections({"a_data_pkts": seen, "a_again_pkts": again}),
            stood={"up": Stood(400, stood_ns, 125 * stood_ns // 1_000_000, 6_000_000)},
            busy=busy(up=np.full(100, 12_500)),
        )
        made, _, written = study(of, monkeypatch, up={"max_ms": 6.0})
        assert (made["path"]["up"]["queue"]["limit"] == "5000B") == hardly
        assert any("hardly stood in the queue of the link up" in note for note in written.notes) == hardly


def test_a_queue_that_drops_though_it_is_seldom_long_may_be_no_fifo(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(again: int, p95_ms: float) -> bool:
        of = found(connections=connections({"b_again_pkts": again}))
        *_, written = study(of, monkeypatch, down={"max_ms": 80.0, "p95_ms": p95_ms})
        return any("may drop before it is full" in note for note in written.notes)

    assert [said(10, 39.0), said(10, 40.0), said(9, 39.0)] == [True, False, False]
