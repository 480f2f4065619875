"""Players: ticks that come too late, streamed games by G.1072, and thresholds that operators quote."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from conftest import user
from sojourn import _core
from sojourn.qoe import games, gaming
from sojourn.qoe.score import score

MS = 1_000_000


def table(down: list[float], up: list[float], per_second: float = 50.0) -> dict[str, np.ndarray]:
    """Delays in ms (None-like −1 = lost) of what is sent each way."""
    count = len(down) + len(up)
    sent = np.concatenate([np.arange(len(side)) * 1e9 / per_second for side in (down, up)]).astype(np.int64)
    delay = np.array([d if d < 0 else d * MS for d in [*down, *up]], dtype=np.int64)
    way = np.repeat([1, 0], [len(down), len(up)])
    return {"user": np.zeros(count, dtype=int), "direction": way, "sent_ns": sent, "delay_ns": delay}


def test_a_tick_is_late_against_the_median_of_its_window() -> None:
    entry = user("gaming", **{"tick-rate": 50, "interpolation": 2})
    down = [100.0] * 96 + [139.0, 141.0, 500.0, -1]
    window = games.windows(table(down, [5.0] * 100), entry)[0]
    assert window.late == pytest.approx(0.03), "139 ms is within two ticks of 20 ms"
    assert window.lost == pytest.approx(0.01)
    assert (window.late_up, window.rtt_ms) == (0.0, 105.0)
    assert np.isnan(window.mos), "no opinion score has a source"
    assert "mos" not in games.summary("gaming", [window])


def test_a_streamed_game_is_scored_by_g1072() -> None:
    entry = user("cloud-gaming", rate="20Mbit")
    clear = games.windows(table([20.0] * 500, [20.0] * 500), entry)[0]
    assert clear.mos == pytest.approx(gaming.mos(gaming.Stream(20, 60, 1920 * 1080, 40.0)))
    assert clear.mos == pytest.approx(4.314, abs=5e-4)
    damaged = games.windows(table([20.0] * 495 + [90.0] * 5, [20.0] * 500), entry)[0]
    assert damaged.mos == pytest.approx(2.879, abs=5e-4), "1 % late is 1 % lost"
    dead = games.windows(table([-1] * 500, [20.0] * 500), entry)[0]
    assert dead.mos < clear.mos - 2
    found = games.summary("cloud-gaming", [clear, dead])
    assert gaming.REMEMBERED in found["note"]
    assert found["beyond"] == 0.5
    assert games.summary("gaming", []) == {}


def run(kind: str, queue: dict[str, Any], load: str | None, **keys: Any) -> dict[str, Any]:
    study = {
        "name": "x",
        "duration": "25s",
        "warmup": "5s",
        "path": {"rtt": "20ms", "queue": queue, "down": {"rate": "50Mbit"}, "up": {"rate": "10Mbit"}},
        "users": [{"kind": kind, **keys}],
    }
    point = _core.points(json.dumps(study | ({"workload": load} if load else {})))[0]
    result = _core.run(point)
    tables = {name: table for name, table in result.items() if name != "summary"}
    return score(json.loads(point)["document"], tables, json.loads(result["summary"])["links"])[kind]


@pytest.mark.parametrize("kind", games.KINDS)
def test_a_quiet_path_is_good_and_a_shared_queue_is_worse(kind: str) -> None:
    quiet = run(kind, {"kind": "fifo", "limit": "1000pkt"}, None)
    assert quiet["late"]["mean"] == quiet["lost"] == 0
    assert 20.0 <= quiet["rtt_ms"]["median"] < 26.0, "a picture of 44 packets takes 9 ms on this line"
    assert quiet["windows"] == 2
    # A stream does not adapt: above its fair share it would wait for itself.
    keys = {"rate": "4Mbit"} if kind == "cloud-gaming" else {}
    shared = run(kind, {"kind": "fifo", "limit": "200pkt"}, "software-update", **keys)
    alone = run(kind, {"kind": "fq-codel"}, "software-update", **keys)
    assert shared["rtt_ms"]["median"] > alone["rtt_ms"]["median"] + 10
    if kind == "cloud-gaming":
        assert quiet["mos"]["median"] > 4.3
        assert shared["mos"]["median"] < alone["mos"]["median"] - 0.3


def test_packets_are_as_many_as_the_pace_says() -> None:
    link = {"rate": "50Mbit", "queue": {"kind": "fifo", "limit": "1000pkt"}}
    study = {"name": "x", "duration": "11s", "path": {"rtt": "20ms", "down": link, "up": link}}
    users = [{"kind": "gaming", "tick-rate": 128, "start-within": "0s"}]
    found = _core.run(_core.points(json.dumps(study | {"users": users}))[0])["game"]
    for way in (0, 1):
        assert np.count_nonzero((found["direction"] == way) & (found["sent_ns"] < 10**10)) == 1280
