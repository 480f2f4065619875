"""Small rules of the emulator: which path it has, what it cannot be told, its log, its words."""

from __future__ import annotations

import io
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import HANGS_S
from sojourn.errors import SojournError
from sojourn.sweep.emulation import log, session
from sojourn.sweep.emulation.options import Options, point_of
from sojourn.sweep.emulation.words import said


def test_a_written_path_has_a_buffer_of_its_own_where_none_is_given() -> None:
    way = {"down": "10Mbit", "up": "1Mbit", "rtt": "40ms"}

    def queues(**more: str) -> list[Any]:
        path = point_of(None, {**way, **more}, [], {}).document["path"]
        return [path[name]["queue"] for name in ("down", "up")]

    assert [(queue["kind"], queue["limit"]) for queue in queues()] == [("fifo", "1BDP")] * 2
    assert [queue["limit"] for queue in queues(limit="7pkt")] == ["7pkt"] * 2
    assert [queue["kind"] for queue in queues(queue="codel")] == ["codel"] * 2
    with pytest.raises(SojournError, match="a path needs --up, --rtt, or a study file"):
        point_of(None, {"down": "1Mbit"}, [], {})


def test_what_the_emulator_cannot_be_told_is_refused() -> None:
    for fine in (
        {"mtu": 576},
        {"mtu": 65_535},
        {"duration_s": 0.1},
        {"variables": (("net.x", "1"),)},
        {"access": "10Gbit"},
        {"congestion": "cubic"},
    ):
        Options(("true",), **fine).check()  # type: ignore[arg-type]
    for wrong, why in (
        ({"mtu": 575}, "--mtu is 575; expected 576 to 65535"),
        ({"mtu": 65_536}, "--mtu is 65536"),
        *(
            ({"access": no}, f"--access-rate is '{no}'; expected a rate")
            for no in ("10", "0bit", "9Mbps", "xMbit")
        ),
        ({"congestion": "x\udcff"}, r"--congestion is 'x\\udcff'; expected one that the kernel has"),
        ({"duration_s": 0.0}, "--duration is 0 s; expected a time above zero"),
        ({"variables": (("kernel.x", "1"),)}, "--sysctl kernel.x: only variables under net."),
    ):
        with pytest.raises(SojournError, match=why):
            Options(("true",), **wrong).check()  # type: ignore[arg-type]


def test_what_ends_a_run_before_there_is_an_emulator_ends_it_all_the_same() -> None:
    with session._signals_handed_on() as begun:
        signal.raise_signal(signal.SIGTERM)
        child = subprocess.Popen(["sleep", "60"])
        begun(child)
        assert child.wait(timeout=HANGS_S) == -signal.SIGTERM


def test_what_the_emulator_wrote_is_a_table(tmp_path: Path) -> None:
    rows = np.zeros(2, log._ROW)
    rows["arrive_ns"], rows["depart_ns"], rows["size_bytes"] = [10, 20], [30, -1], [1500, 40]
    rows["link"], rows["drop_cause"], rows["packet"] = [1, 0], [255, 0], [7, 8]
    assert log._ROW.itemsize == 52
    with (tmp_path / "p").open("wb") as file:
        assert log.write(io.BytesIO(b"".join([rows.tobytes()])), file, ("down", "up")) == 2
    table = pl.read_parquet(tmp_path / "p")
    assert table["link"].to_list() == ["up", "down"] and table["depart_ns"].to_list() == [30, None]
    assert table["packet"].to_list() == [7, 8] and table["size_bytes"].to_list() == [1500, 40]


def test_what_disturbed_an_emulation_is_said_and_no_more() -> None:
    delay = {"mean": 1.25, "p95": 3.5}
    link = {
        "rate_bps": 8e6, "queue_delay_ms": delay, "arrived_pkts": 10, "departed_pkts": 9, "dropped_pkts": 1,
        "utilisation": 0.5, "drops_by_cause": {"full": 1, "forced": 0}, "marked_pkts": 2,
    }  # fmt: skip
    engine = {
        "without": [], "processors": {"steal_pct": 0.9}, "late_wakes": 0, "clamped_pkts": 0,
        "replay": {"down": {"decisions": 9}},
    }  # fmt: skip
    late = {"p50": 5.0, "p99": 20.0, "p999": 30.5, "max": 100.0}
    came = {
        "links": {"down": link, "up": {**link, "arrived_pkts": 0}}, "lateness_us": {"down": late, "up": None},
        "engine": engine, "verdict": {"held": True},
    }  # fmt: skip
    assert said(came) == [
        "down: 50.0 % of 8 Mbit/s used, waited 1.2 ms on average, 3.5 at p95, 1 of 10 packets dropped "
        "(1 queue full), 2 marked",
        "up: no packet",
        "late: down p50 5, p99 20, p99.9 30.5, most 100 µs; up no packet left",
        "held: all that was measured is within its limit, and the simulator decides alike about all 9 "
        "packets",
    ]
    more = {
        "without": ["stamps"], "processors": {"steal_pct": 1.0}, "late_wakes": 2, "latest_wake_us": 7500,
        "clamped_pkts": 3, "clamped_us": 40.4, "replay": {"down": {"decisions": 0}},
    }  # fmt: skip
    none_left = {**link, "departed_pkts": 0, "rate_bps": None, "marked_pkts": 0, "drops_by_cause": {}}
    lines = said({**came, "links": {"down": none_left}, "engine": more})
    assert lines[0] == "down: no limit of rate, none left, 1 of 10 packets dropped"
    assert lines[2] == "note: without stamps" and lines[3].startswith("note: the hypervisor took 1 % of")
    assert lines[4] == "note: the emulator was held up for more than 5 ms 2 times, at most 7.5 ms"
    assert lines[5].endswith("they count as up to 40 µs later")
    assert lines[6] == "nothing can be said of the path: no packet crossed it"
    broken = {**came, "verdict": {"held": False, "reasons": ["a", "b"]}}
    assert said(broken)[-1] == "not held: a; b"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("os.kill(os.getpid(), 9)", r"ended before the command did \(signal SIGKILL\)"),
        ("os.kill(os.getpid(), 15)", r"^it was told to end \(SIGTERM\) before the command was started"),
        ("os._exit(1)", r"ended before the command did \(exit code 1\)"),
        ('os.write(int(sys.argv[3]), b\'{"trouble": "no TUN"}\')', "^no TUN$"),
    ],
)
def test_an_emulator_that_ends_early_has_a_signal_a_code_or_a_reason(
    ends: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_PROGRAM", f"import os, sys; {ends}")
    point = point_of(None, {"down": "10Mbit", "up": "1Mbit", "rtt": "40ms"}, [], {})
    with pytest.raises(session.BedError, match=said):
        session.run(point, Options(("true",)))
