"""The engine end to end: the same bytes however a study is run, and the shape of what is printed."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
from conftest import HANGS_S, Command, stored

STUDY = """name = "small"
seed = 3
repeat = 2
duration = "6s"
warmup = "1s"

[path]
client-delay = "5ms"
server-delay = "20ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "32pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "32pkt" } }

[[workload.few]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
count = 2
start-within = "1s"

[[users]]
kind = "web"

[sweep]
workload = ["none", "few"]
"path.down.queue.limit" = ["8pkt", "64pkt"]
"""

LINK = {
    "rate_bps": int,
    "arrived_pkts": int,
    "dropped_pkts": int,
    "departed_pkts": int,
    "departed_data_pkts": int,
    "loss": float,
    "utilisation": float,
    "utilisation_sd_1s": float,
    "queue_delay_ms": {"mean": float, "p50": float, "p95": float, "p99": float, "max": float},
    "occupancy_delay_ms": float,
    "occupancy_pkts": float,
    "drops_by_cause": {},
}
SHAPE = {
    "study": str,
    "point": {"workload": str, "path.down.queue.limit": str},
    "replication": int,
    "links": {"down": LINK, "up": LINK},
    "flows": {
        "completed": int,
        "mean_concurrent": float,
        "goodput_bps": float,
        "retransmits": int,
        "timeouts": int,
        "timeout_wait_s": float,
    },
    "web": {
        "plt_s": {"median": float},
        "mos": {"median": float},
        "rtt_dominated": float,
        "loss_dominated": float,
    },
    "engine": {"wall_s": float, "packets": int, "events": int, "simulated_s": float},
}


@pytest.fixture
def small(sojourn: Command) -> Command:
    (sojourn.cwd / "small.toml").write_text(STUDY)
    return sojourn


def lacks(shape: dict[str, Any], value: dict[str, Any], at: str = "") -> list[str]:
    """Return what of a shape is not in a value."""
    found = []
    for key, kind in shape.items():
        if key not in value:
            found.append(f"{at}{key} is absent")
        elif isinstance(kind, dict):
            found += lacks(kind, value[key], f"{at}{key}.")
        elif not isinstance(value[key], (int, float) if kind is float else kind):
            found.append(f"{at}{key} is {value[key]!r}")
    return found


def test_the_shape_of_results(small: Command) -> None:
    printed = small.json("run", "small.toml")
    assert len(printed) == 8
    for result in printed:
        assert lacks(SHAPE, result) == []
        assert not {"voice", "video", "browser", "adaptive"} & result.keys(), "not asked for"
        for link in result["links"].values():
            assert sum(link["drops_by_cause"].values()) == link["dropped_pkts"]
            assert link["loss"] == pytest.approx(link["dropped_pkts"] / max(link["arrived_pkts"], 1))
    busy = [each for each in printed if each["point"]["workload"] == "few"]
    assert all(each["links"]["down"]["utilisation"] > 0.5 for each in busy)


def test_the_same_bytes_with_one_process_and_with_two(small: Command) -> None:
    small("run", "small.toml", "--out", "one", "--jobs", "1")
    small("run", "small.toml", "--out", "two", "--jobs", "2", "--only", "workload=few")
    small("run", "small.toml", "--out", "two", "--jobs", "2")
    one = stored(small.cwd / "one")
    assert len(one) == 8
    assert one == stored(small.cwd / "two")


def test_the_same_bytes_after_kill_9(small: Command) -> None:
    words = ["run", "small.toml", "--set", "duration=40s"]
    process = small.start(*words, "--out", "killed", "--jobs", "2")
    points = small.cwd / "killed" / "points"
    deadline = time.monotonic() + HANGS_S
    while not list(points.glob("[!.]*.json")):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=HANGS_S)
    small(*words, "--out", "killed")
    small(*words, "--out", "whole")
    assert stored(small.cwd / "killed") == stored(small.cwd / "whole")


def test_replications_differ_and_seeds_decide(small: Command) -> None:
    only = ["--only", "workload=few", "--only", "path.down.queue.limit=8pkt"]
    first, second = small.json("run", "small.toml", "--out", "one", *only)
    other, _ = small.json("run", "small.toml", "--out", "other", "--set", "seed=4", *only)
    assert first["links"] != second["links"]
    assert first["links"] != other["links"]


def test_calibration_finds_a_load(small: Command) -> None:
    sessions = '{ kind = "sessions", preset = "imc14" }'
    (small.cwd / "small.toml").write_text(STUDY.replace('{ kind = "bulk" }', sessions))
    words = ["--workload", "few", "--load", "40%", "--duration", "20s", "--replications", "2"]
    (found,) = small.json("calibrate", "small.toml", *words)
    # A session offers 2 files of 50 kB a second, a tenth of the link: 4 come nearest to the wanted load.
    assert found["count"] == 4
    assert found["load"] == pytest.approx(0.4, abs=0.05)
    nearest = min(found["trials"], key=lambda trial: abs(trial["load"] - 0.4))
    assert (nearest["count"], nearest["load"]) == (found["count"], found["load"])
    # One replication has no interval, so none of no width is printed.
    done = small("calibrate", "small.toml", *words[:-1], "1").stdout.splitlines()
    assert all(line.endswith("%  – (one replication)") for line in done[1:-1]) and len(done) > 2
