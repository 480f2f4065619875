"""What `measure`, `export` and `wild` make of rows whose numbers are known."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.capture import flent, page, samples, tcpdump
from sojourn.capture.flows import Flows
from sojourn.capture.tcp_stats import ndt, open_table, survey
from sojourn.errors import SojournError

FLOWS = [("far", "near", "far:1-near:2"), ("away", "near", "away:1-near:2")]
MISSING = [0.0] * len(FLOWS)


def batch(*rows: tuple[int, int, int, float]) -> dict[str, Any]:
    """Samples of (flow, whether towards the remote, time in s, delay in ms)."""
    flow, toward, time, delay = (list(column) for column in zip(*rows, strict=True))
    return {
        "frame": list(range(1, len(rows) + 1)),
        "flow": flow,
        "toward": toward,
        "protocol": [flow % 2 for flow in flow],
        "time_ns": [at * 10**9 for at in time],
        "queue_delay_ns": [ms * 1e6 for ms in delay],
        "uncertainty_ns": [500_000] * len(rows),
        "flows": FLOWS,
        "missing_ns": MISSING,
        "protocols": ["tcp", "utp", "quic"],
    }


def test_samples_of_a_flow_are_counted_over_all_batches() -> None:
    found = Flows()
    assert found.rows(0) == []
    found.add(batch(*((0, 0, 5 + n, 1.0 + n) for n in range(50))))
    found.add(batch(*((0, 0, 55 + n, 51.0 + n) for n in range(50)), (1, 1, 3, 0.0), (0, 1, 4, 2.0)))
    rows = found.rows(1)
    assert [(row["remote"], row["protocol"], row["direction"], row["samples"]) for row in rows] == [
        ("away", "utp", "to-remote", 1), ("far", "tcp", "to-remote", 1), ("far", "tcp", "from-remote", 100),
    ]  # fmt: skip
    last = rows[-1]
    assert (last["mean_ms"], last["max_ms"], last["start_s"], last["end_s"]) == (50.5, 100.0, 5.0, 104.0)
    quantiles = (last["p50_ms"], last["p95_ms"], last["p99_ms"])
    assert quantiles == pytest.approx((50, 95, 99), rel=0.003)
    # No delay at all is zero, and no quantile is above the largest.
    assert (rows[0]["p50_ms"], rows[0]["max_ms"]) == (0.0, 0.0) and rows[1]["p99_ms"] <= 2.0
    assert [row["samples"] for row in found.rows(2)] == [100] == [row["samples"] for row in found.rows(100)]
    assert found.rows(101) == []


def test_delays_of_a_flow_may_lack_something() -> None:
    found = Flows()
    found.add({**batch(*((0, 0, n, 1.0) for n in range(95)), (1, 1, 3, 0.0)), "missing_ns": [0.0, 2e6, 0.0]})
    assert {row["lower_bound"] for row in found.rows(50)} == {False}
    found.add({**batch(*((0, 0, n, 1.0) for n in range(6))), "missing_ns": [3e6, 0.0, 0.0]})
    by_way = {row["direction"]: row for row in found.rows(2)}
    one = by_way["from-remote"]
    assert (one["samples"], one["lower_bound"], one["missing_at_most_ms"]) == (101, True, 3.0)
    [other] = [row for row in found.rows(1) if row["samples"] == 1]
    assert (other["lower_bound"], other["missing_at_most_ms"]) == (True, 2.0)
    # A third batch is added as the second was; what may be missing of one packet is none of another's.
    for missing_ns, most in ((1e6, 3.0), (float("inf"), None)):
        found.add({**batch((0, 0, 200, 1.0)), "missing_ns": [missing_ns, 0.0, 0.0]})
        assert [row["missing_at_most_ms"] for row in found.rows(50) if row["lower_bound"]] == [most]


def test_what_nothing_tells_of_makes_every_flow_to_that_host_a_bound() -> None:
    found = Flows()
    found.add(batch(*((1, 1, n, 1.0) for n in range(50))))
    for certainty, bound in (("lower bound", False), ("nothing tells what many packets waited", True)):
        way = {"samples": 50, "certainty": certainty}
        host = {"remote": "away", "protocol": "utp", "to_remote": way}
        assert [row["lower_bound"] for row in found.rows(50, [host])] == [bound]
        assert [row["lower_bound"] for row in found.rows(50, [{**host, "to_remote": "not seen"}])] == [False]


def test_files_of_samples_begin_and_end(tmp_path: Path) -> None:
    kept = []
    for uncertainty in (False, True):
        with samples.sample_file(tmp_path / "s.parquet", uncertainty=uncertainty) as (take, schema):
            kept.append(schema)
            take(b"rows")
        assert (tmp_path / "s.parquet").read_bytes() == b"rows"
    assert [b"uncertainty_ms" in base64.b64decode(schema) for schema in kept] == [False, True]
    with samples.sample_file(tmp_path / "s.csv") as (take, schema):
        assert schema is None
        take(b"1,2\n")
    assert (tmp_path / "s.csv").read_text() == ",".join(samples.COLUMNS) + "\n1,2\n"
    with pytest.raises(
        SojournError, match=r"s\.json: samples are written as \.csv or \.parquet, not as \.json"
    ):
        samples.sample_file(tmp_path / "s.json").__enter__()
    with pytest.raises(KeyError), samples.sample_file(tmp_path / "t.parquet"):
        raise KeyError
    assert not (tmp_path / "t.parquet").exists()


HOST = {
    "remote": "h", "protocol": "tcp", "direction": "from-remote", "samples": 20, "mean_ms": 100.0,
    "p50_ms": 9.0, "p95_ms": 11.0, "max_ms": 12.0, "uncertainty_ms": 0.126, "lower_bound": True,
    "rtt_ms": {"min": 5.0}, "tick_ms": 1.0, "base_drift_ppm": None, "estimator": "tcp_report",
    "to_remote": "not seen: no reports", "from_remote": "seen", "discarded": {"no_base": 3},
}  # fmt: skip


def test_the_page_of_a_measurement_says_who_waits_longest() -> None:
    def said(*hosts: dict[str, object]) -> list[str]:
        return page._sentences(list(page._ways(hosts)), 10)

    assert said() == ["No remote host gave 10 samples of queueing delay."]
    known = HOST | {"lower_bound": False}
    one, waits = said(known)
    assert one == "Packets from h waited 100.0 ms on average."
    assert waits == "Waits: median 9.0 ms, 95th percentile 11.0 ms, maximum 12.0 ms."
    one, waits, bound = said(HOST)
    assert one == "Packets from h waited at least 100.0 ms on average."
    assert waits.endswith("maximum 12.0 ms, at least these.")
    assert bound == "It is a lower bound: the wait may have been longer."
    bounds = [said(*hosts, known)[-1] for hosts in ([HOST], [HOST, HOST])]
    assert bounds == [
        f"Of the {many} mean delays, {how}: the wait may have been longer."
        for many, how in ((2, "1 is a lower bound"), (3, "2 are lower bounds"))
    ]
    # A mean of 100 ms is not above 100 ms; the longest queue is by the 95th percentile.
    other = HOST | {"remote": "i", "mean_ms": 100.1, "p95_ms": 10.0, "max_ms": 99.0}
    first, longest, _ = said(HOST, other)
    assert first.startswith("1 of 2 mean delays")
    assert longest.startswith("The longest queue is that of packets from h (tcp): median 9.0 ms")
    summary = {"packets": 1234567, "hosts_below_min_samples": 4}
    assert page._facts(summary, list(page._ways([HOST, HOST, other])), 10) == [
        ("Packets", "1 234 567"),
        ("Samples", "60"),
        ("Remote hosts", "2, each with 10 samples or more"),
        ("Left out", "4 with fewer samples"),
    ]


def test_the_page_of_a_measurement_hears_of_both_ways() -> None:
    to = {
        "samples": 7,
        "mean_ms": 300.0,
        "p50_ms": 290.0,
        "p95_ms": 400.0,
        "max_ms": 410.0,
        "lower_bound": True,
    }
    both = HOST | {"lower_bound": False, "to_remote": to}
    first, longer, bound = page._sentences(list(page._ways([both])), 10)
    assert first == (
        "Packets from h waited 100.0 ms on average, packets to h waited at least 300.0 ms on average."
    )
    assert longer == (
        "The longer queue is that of packets to h: median 290.0 ms, 95th percentile 400.0 ms, maximum "
        "410.0 ms, at least these."
    )
    assert bound.startswith("Of the 2 mean delays, 1 is a lower bound")
    first, longest, _ = page._sentences(list(page._ways([both, HOST | {"remote": "i"}])), 10)
    assert first.startswith("1 of 3 mean delays, one for each direction, host and protocol, is above 100 ms")
    assert longest.startswith("The longest queue is that of packets to h (tcp)")
    alone = HOST | {"samples": 0, "to_remote": to}
    assert page._sentences(list(page._ways([alone])), 10)[0].startswith("Packets to h waited at least 300.0")
    assert (
        page._facts({"packets": 9, "hosts_below_min_samples": 0}, list(page._ways([both])), 10)[1][1] == "27"
    )


def test_rows_of_hosts_have_both_ways_and_what_was_not_seen() -> None:
    row = [
        "from-remote",
        "tcp",
        "20",
        "100.0",
        "9.0",
        "11.0",
        "12.0",
        "0.13",
        "at least",
        "5.0",
        "1.000",
        "–",
    ]
    assert page._rows(HOST) == [[*row, "tcp report"]]
    way = {"direction": "to-remote", "samples": 7, "mean_ms": 1.0, "lower_bound": False, "max_ms": 3.0}
    both = page._rows(HOST | {"to_remote": way})
    assert both[1] == [
        "to-remote", "tcp", "7", "1.0", "9.0", "11.0", "3.0", "0.13", "known", "–", "–", "–", "",
    ]  # fmt: skip
    assert page._row(HOST | {"lower_bound": None})[8] == "–"
    about = {"damage": [{"sentence": "cut"}], "skipped": {"not_ip": 2}, "discarded": {"no_tcp": 1}}
    about |= {"packets": 9, "left_out_by_request": 0, "packets_between_local_hosts": 0}
    about |= {"hosts_below_min_samples": 2}
    assert page._unseen({**about, "hosts": [HOST]}, 10) == [
        "cut",
        "2 hosts with fewer than 10 samples left out",
        "2 frames: not ip",
        "1 packet: no tcp",
        "h (tcp): 3 packets gave no sample: no base",
        "h (tcp): the way to it was not seen: no reports",
    ]
    late = way | {"discarded": {"echoed_after_a_pause": 1}}
    unseen = HOST | {"to_remote": late, "from_remote": "not seen: no data", "discarded": {}}
    assert page._unseen({**about, "hosts": [unseen]}, 10)[4:] == [
        "h (tcp): 1 packet to it gave no sample: echoed after a pause",
        "h (tcp): the way from it was not seen: no data",
    ]
    nothing = {
        **about,
        "damage": [],
        "skipped": {},
        "discarded": {},
        "hosts": [],
        "hosts_below_min_samples": 0,
    }
    (why,) = page._unseen(nothing, 10)
    assert why.startswith("none of the packets tells a delay (9 read); those of TCP with timestamps")
    # TCP with timestamps was there: then it is said why that did not do.
    why, of_all = page._unseen({**nothing, "discarded": {"tick_unknown": 4}}, 10)
    assert why.startswith("none of the packets tells a delay (9 read; 4 tick unknown); those of TCP with")
    assert why.endswith(", where there are enough of them") and of_all == "4 packets: tick unknown"


def test_series_of_flent_are_what_left_in_a_step_and_what_a_ping_would_have_met() -> None:
    rows = [
        # flow, kind, size, arrives and leaves in ms
        (7, "data", 1052, 10, 20), (7, "data", 1052, 190, 200), (9, "data", 552, 10, 399),
        (9, "data", 52, 10, 11), (7, "ack", 52, 10, 11), (7, "data", 1052, 50, None),
        (7, "data", 1052, 1, 401),
    ]  # fmt: skip
    flow, kind, size, came, left = zip(*rows, strict=True)
    log = pl.DataFrame(
        {
            "link": ["down"] * len(rows), "flow": flow, "kind": kind, "size_bytes": size,
            "arrive_ns": [at * 10**6 for at in came],
            "depart_ns": [None if at is None else at * 10**6 for at in left],
        },
        schema_overrides={"depart_ns": pl.Int64, "size_bytes": pl.UInt32, "arrive_ns": pl.UInt64},
    )  # fmt: skip
    first, second = flent._throughput(log, "down", 2, 0.2)
    assert first == pytest.approx([0.04, 0.04]) and second == pytest.approx([0.0, 0.02])
    assert flent._throughput(log, "up", 2, 0.2) == []
    waits = flent._waits_ms(log, "down", 2, 0.2)
    assert waits == pytest.approx([(10 + 10 + 389 + 1 + 1 + 400) / 6, 0.0])


def test_tables_of_connections_are_read_whatever_their_kind(tmp_path: Path) -> None:
    text = (
        "ESTAB 0 0 10.0.0.1:443 10.0.0.7:5001 cubic rtt:12/3\nESTAB 0 0 10.0.0.1:443 10.0.0.7:5001 rtt:15/3\n"
    )
    (tmp_path / "ss").write_text(text * 2)
    [row] = open_table([tmp_path / "ss"]).collect().to_dicts()
    assert (row["avg_rtt_ms"], row["rtt_samples"]) == (13.5, 4)
    shots = [{"TCPInfo": {"RTT": time}} for time in (0, 4000, "5", 8000)]
    up = {
        "ClientIP": "a",
        "Upload": {"ServerMeasurements": shots},
        "Download": {"ServerMeasurements": shots[1:2]},
    }
    (tmp_path / "n.json.gz").write_bytes(gzip.compress(json.dumps(up).encode()))
    found = ndt.read([tmp_path / "n.json.gz"]).collect().rows()
    assert found == [(4.0, 4.0, 4.0, 1, "a"), (4.0, 6.0, 8.0, 2, "a")]
    (tmp_path / "l.jsonl").write_text(json.dumps(up) + "\n{\n")
    with pytest.raises(SojournError, match=r"l\.jsonl, line 2: expected one JSON object per line"):
        ndt.read([tmp_path / "l.jsonl"])
    (tmp_path / "t.csv").write_text("min_rtt_ns,max_rtt_us,rtt_samples,host\n2000000,5000,10,h\n")
    assert open_table([tmp_path / "t.csv"]).collect().rows() == [(2.0, None, 5.0, 10.0, "h")]
    with pytest.raises(SojournError, match=r"several kinds \(csv, ss\)"):
        open_table([tmp_path / "t.csv", tmp_path / "ss"])
    with pytest.raises(SojournError, match="rtt is no column of this study"):
        open_table([tmp_path / "t.csv"], {"rtt": "host"})
    with pytest.raises(SojournError, match="has no column x; it has min_rtt_ns"):
        open_table([tmp_path / "t.csv"], {"host": "x"})


def test_a_survey_counts_by_class_and_leaves_out_those_far_away(tmp_path: Path) -> None:
    columns = {"min_rtt_ms": [100.0, 100.1, 5.0, 5.0], "max_rtt_ms": [200.0, 1200.1, 105.0, 5.0]}
    (tmp_path / "t").mkdir()
    more = {"avg_rtt_ms": [150.0, 150.0, 50.0, None], "rtt_samples": [10] * 4, "access": ["a", "b", "b", "b"]}
    file = tmp_path / "t" / "t.parquet"
    pl.DataFrame(columns | more).write_parquet(file)
    found = survey(open_table([file]), pl.col("access"))
    assert found.classes == ["b", "a"]
    # A wait of exactly 100 ms is not above it, and 100 ms away is near.
    assert found.shares()["above_100ms"] == 0.25 and found.shares("a") == found.shares("a", near=True)
    assert found.shares("b")["connections"] == 3 and found.shares("b", near=True)["connections"] == 2
    assert found.shares("b", near=True)["p50_ms"] == 0.0 and found.shares("c") == {"connections": 0}
    middles, density = found.density("avg", "b")
    assert len(middles) == 13 and density[1] == density[-2] == pytest.approx(10)
    assert density[0] == density[-1] == 0  # so that one bin alone is a line, too
    edges, _, counts = found.grid()
    assert counts.sum() == 4 and counts.shape == (len(edges) - 1,) * 2
    low, high = (int(np.searchsorted(edges, np.log10(each), "right")) - 1 for each in (5.0, 105.0))
    assert counts[low, high] == 1 and counts[low, low] == 1 and counts[high, low] == 0


def test_raw_ip_is_compiled_by_libpcap_s_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that knows one filter, of one instruction, and keeps what it was asked."""
    asked: list[Any] = []

    class Library:
        def __init__(self, refuses: bool = False) -> None:
            def compiled(handle: int, program: Any, text: bytes, optimise: int, mask: int) -> int:
                asked.append((text, optimise, mask))
                room = (tcpdump._Instruction * 1)(tcpdump._Instruction(6, 1, 2, 9))
                program._obj.length, program._obj.instructions = 1, room
                return int(refuses)

            self.pcap_compile = function(compiled)
            self.pcap_open_dead = function(lambda link, snap: asked.append((link, snap)) or 5)
            self.pcap_geterr = function(lambda _: b"syntax error")
            self.pcap_close, self.pcap_freecode = function(asked.append), function(lambda _: None)

    def function(does: Any) -> Any:
        class Function:
            restype = argtypes = None

            def __call__(self, *told: Any) -> Any:
                return does(*told)

        return Function()

    monkeypatch.setattr(tcpdump.ctypes, "CDLL", lambda _: Library())
    compiled = tcpdump.compiler("tcp")
    assert asked == [(1, 262_144), (b"tcp", 1, 0xFFFFFFFF), 5], "nearly every capture is of Ethernet"
    assert compiled(101) == compiled(113) == [(6, 1, 2, 9)]
    assert [told[0] for told in asked if isinstance(told, tuple) and told[1] == 262_144] == [1, 12, 113]
    monkeypatch.setattr(tcpdump.ctypes, "CDLL", lambda _: Library(refuses=True))
    with pytest.raises(SojournError, match="--filter 'tcp' is not understood: syntax error"):
        tcpdump.compiler("tcp")
    with pytest.raises(SojournError, match="has a NUL character"):
        tcpdump.compiler("a\0b")
