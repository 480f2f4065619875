"""Live streaming with low latency, through the engine: what is there when, latency, what players measure."""

import json

import numpy as np
import pytest
import sojourn
from sojourn import _core
from sojourn.qoe.live import course, score_live
from sojourn.study import Point
from sojourn.sweep.simulation import simulate

STUDY = """
name = "live"
duration = "60s"
warmup = "10s"

[path]
rtt  = "20ms"
down = { rate = "10Mbit", queue = { kind = "fifo", limit = "2BDP" } }
up   = { rate = "10Mbit", queue = { kind = "fifo", limit = "1000pkt" } }

[[users]]
kind      = "adaptive"
algorithm = "ALGORITHM"
clips     = [{ segment-s = 2, rates-kbps = RATES, sizes = [SIZES] }]
start-within = "0s"
live      = { latency = "3s", chunk = "500ms" KEYS }
"""


def study(algorithm="dash.js", rates=(1000,), keys=""):
    sizes = json.dumps([250 * rate for rate in rates])
    text = STUDY.replace("ALGORITHM", algorithm).replace("RATES", json.dumps(list(rates)))
    return text.replace("SIZES", sizes).replace("KEYS", keys)


def run(text):
    (point,) = _core.points(_core.parse(text, "live.toml", []))
    return simulate(Point.settle(json.loads(point)))[0]["adaptive"]


def test_alone_it_keeps_its_latency_and_asks_when_the_first_chunk_is_there():
    found = run(study())
    live, (client,) = found["live"], found["clients"]
    assert live["latency_s"]["mean"] == pytest.approx(3, abs=0.02)
    assert live["latency_s"]["p95"] < 3.03
    assert (found["stalls"], live["jumps"], live["rate_deviation"] < 0.02) == (0, 0, True)
    # The handshake takes a round trip, 20 ms. From then on 3 s behind: 2.98 s before the run, in the segment
    # that began at -4 s and is whole, as is the next. Then each is asked for at its first chunk.
    asked = client["segments"]["request_s"]
    assert asked[0] == pytest.approx(0.02, abs=0.001)
    assert asked[2:6] == pytest.approx([0.5, 2.5, 4.5, 6.5], abs=0.001)
    # The last chunk is made 1.5 s after the first; half a round trip each way, and 44 packets of 1.2 ms.
    took = np.subtract(client["segments"]["arrive_s"][2:6], asked[2:6])
    assert took == pytest.approx(1.5 + 0.01 + 0.0525, abs=0.012)


def test_dash_js_finds_the_line_and_others_the_encoder():
    rates = (500, 1000, 2000, 4000, 6000)
    ours, shaka = run(study(rates=rates)), run(study("shaka", rates))
    # 10 Mbit/s; a chunk of 500 kbit/s is 22 packets, within a window, at the line's rate.
    assert ours["clients"][0]["segments"]["rate_kbps"][-1] == 6000
    assert max(shaka["clients"][0]["segments"]["rate_kbps"][5:]) < 4000
    assert ours["average_rate_kbps"] > 2 * shaka["average_rate_kbps"]
    assert ours["live"]["latency_s"]["mean"] == pytest.approx(3, abs=0.05)


def test_an_outage_makes_it_late_and_is_caught_up():
    # Down for 4.5 s from 30 s on. At the target 2.5 s are in the buffer: it is empty at 32.5 s, and the first
    # chunk is whole 0.1 s after the line is back. Who does not catch up is 0.2 s further behind all the time.
    broken = study().replace(
        'rate = "10Mbit", queue = { kind = "fifo", limit = "2BDP" }',
        'rate = { steps = [["0s", "10Mbit"], ["30s", "1kbit"], ["34.5s", "10Mbit"]] }, '
        'queue = { kind = "fifo", limit = "50pkt" }',
    )
    caught, stayed = run(broken), run(broken.replace("chunk =", 'catch-up = "none", chunk ='))
    for found in (caught, stayed):
        assert found["stalls"] == 1
    assert (caught["stall_s"], stayed["stall_s"]) == pytest.approx((2.1, 1.89), abs=0.02)
    seen = {
        round(at): late
        for at, late in zip(
            *(caught["clients"][0]["live"]["course"][k] for k in ("time_s", "latency_s")), strict=True
        )
    }
    assert seen[25] == pytest.approx(3, abs=0.03)
    assert max(seen.values()) > 4.5, "read once a second"
    assert seen[55] == pytest.approx(3, abs=0.03)
    assert stayed["clients"][0]["live"]["course"]["latency_s"][-1] == pytest.approx(5.1, abs=0.03)
    assert caught["live"]["rate"]["p95"] > 1.3


def looks(**columns):
    rows = {"time_ns": [0, 1, 2, 3], "latency_s": [9, 3, 5, 4], "rate": [1, 1.5, 0, 0.5], "buffer_s": [1] * 4}
    return {name: np.array(of, dtype=float) for name, of in (rows | {"jumped_s": [0] * 4} | columns).items()}


def test_looks_in_a_stall_have_a_latency_and_no_rate():
    found = score_live(looks(time_ns=[0, 1e9, 2e9, 3e9]), 1.0)
    assert (found["latency_s"]["mean"], found["latency_s"]["median"]) == (4, 4)
    assert (found["rate"]["mean"], found["rate_deviation"]) == (1, 0.5)
    assert score_live(looks(jumped_s=[1, 0, 2, 0.5]), 0.0)["jumped_s"] == 3.5
    assert score_live(looks(jumped_s=[1, 0, 2, 0.5]), 0.0)["jumps"] == 3
    assert score_live(looks(), 9.0) == {}
    assert score_live(looks(rate=[0, 0, 0, 0]), 0.0)["rate_deviation"] is None
    assert course(looks())["latency_s"] == [9]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (", rates = [0.4, 1.5]", "live.rates"),
        (", rates = [1.5, 0.5]", "slowest and fastest"),
        (', seek = "0s"', "live.seek"),
        (', catch-up = "lolp"', "unknown variant `lolp`"),
        (", latency-s = 3", "unknown field `latency-s`"),
    ],
)
def test_what_cannot_be_live_is_said(keys, says):
    with pytest.raises(sojourn.StudyError, match=says):
        _core.parse(study(keys=keys), "live.toml", [])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('chunk = "500ms"', 'chunk = "3s"', "longer than a segment"),
        ('chunk = "500ms"', 'chunk = "1ms"', "live.chunk"),
        ('latency = "3s"', 'latency = "400ms"', "less than a chunk"),
        ('start-within = "0s"', "give-up = true", "not given up"),
        ('start-within = "0s"', 'initial = "2s"', "with the first chunk"),
        ('start-within = "0s"', 'resume = "2s"', "resume"),
    ],
)
def test_keys_that_do_not_go_together_are_said(old, new, says):
    with pytest.raises(sojourn.StudyError, match=says):
        _core.parse(study().replace(old, new), "live.toml", [])
