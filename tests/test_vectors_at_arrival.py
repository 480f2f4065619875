"""Published vectors of RED and PIE, by packet and by variable, through `sojourn.replay`.

Times are milliseconds here and nanoseconds in the interface.
"""

import numpy as np
import pytest
import sojourn
from replaying import after, ns, replay

# RED

SMALL = {"min": 5.0, "max": 15.0, "weight": 0.1, "max-p": 0.1, "mean-packet": "1000B", "rate": "2Mbit"}


@pytest.mark.parametrize(("wait", "gaps"), [(True, range(20, 40)), (False, range(1, 20))])
def test_red1_gaps_between_drops_are_uniform(wait, gaps):
    # The average stands at 10 and nothing leaves, so that p_b is 0.05; 400 000 arrivals.
    keys = {"limit": "unlimited", "min": 5.0, "max": 15.0, "weight": 0.0, "max-p": 0.1, "wait": wait}
    packets = {"time": np.full(400_000, 5), "size": 1000}
    queue = {"kind": "red", "rate": "2Mbit", **keys}
    found = sojourn.replay(queue, packets, [], state={"avg": 10.0, "idle_since": float("nan")}, trace=False)
    lengths = np.diff(found.dropped.astype(int))
    assert set(lengths) == set(gaps)
    shares = np.array([np.mean(lengths == gap) for gap in gaps])
    deviation = np.sqrt(shares.mean() / len(lengths))
    assert np.abs(shares - 1 / len(gaps)).max() < 4 * deviation


@pytest.mark.parametrize(
    ("rate", "mean", "target", "weights", "low", "high"),
    [
        ("0.5Mbit", 1000, "10ms", (0.015872680, 0.014705615, 0.147856211), 5, 15),
        ("2Mbit", 1000, "10ms", (0.003992011, 0.003992011, 0.039210561), 5, 15),
        ("2Mbit", 1000, "50ms", (0.003992011, 0.003992011, 0.039210561), 6.25, 18.75),
        ("2Mbit", 500, "5ms", (0.001998001, 0.001998001, 0.019801327), 5, 15),
        ("1.5Mbit", 500, "5ms", (0.002663114, 0.002663114, 0.026314251), 5, 15),
        ("155Mbit", 1000, "5ms", (0.000051612, 0.000051612, 0.000515996), 48.4375, 145.3125),
    ],
)
def test_red2_automatic_settings(rate, mean, target, weights, low, high):
    for averaging, weight in zip(("one-second", "ten-rtts", "tenth-of-second"), weights, strict=True):
        keys = {"averaging": averaging, "mean-packet": f"{mean}B", "target": target, "link-delay": "20ms"}
        found = replay("red", [0], rate, **keys)
        assert found.trace["weight"][0] == pytest.approx(weight, abs=6e-10)
        assert (found.trace["min"][0], found.trace["max"][0]) == (low, high)


def levels(steps, start=1000):
    """Return packets and departures that put so many bytes into the queue before each time."""
    packets, departures, held, waiting = [], [], 0, []
    for at, level in steps:
        while held > level:
            departures.append(at - 1)
            held -= waiting.pop(0)
        while held < level:
            size = min(100, level - held)
            packets.append((at - 0.5, size, 0, "ect0"))
            waiting.append(size)
            held += size
        packets.append((at, 100, 0, "ect0"))
        waiting.append(100)
        held += 100
    return packets, departures


def test_red3_max_p_moves_at_arrivals():
    # With a weight of 1 and counting bytes, the average is what an arrival finds.
    steps = [
        (200, 12, 0.1), (500, 12, 0.1), (510, 12, 0.11), (900, 12, 0.11), (1020, 12, 0.12), (1600,
        10.9, 0.12),
        (2200, 8.9, 0.108), (2800, 8.9, 0.0972), (3400, 11.1, None), (4000, 4, None),
    ]  # fmt: skip
    packets, departures = levels([(at, round(level * 1000)) for at, level, _ in steps])
    keys = {**SMALL, "weight": 1.0, "in-bytes": True, "adaptive": True, "ecn": True, "mark-p": 1.0}
    found = replay("red", packets, departures, limit="unlimited", **keys)
    rows, times = found.rows("arrival"), ns([at for at, _, _ in steps])
    for at, (_, level, max_p) in zip(times, steps, strict=True):
        row = rows[found.trace["time"][rows] == at][-1]
        assert found.trace["avg"][row] == pytest.approx(level * 1000)
        if max_p is not None:
            assert found.trace["max_p"][row] == pytest.approx(max_p)


@pytest.mark.parametrize(
    ("at", "average", "start", "expected"),
    [(3400, 11.1, 0.0972, 0.1072), (4000, 4, 0.1072, 0.09648), (1600, 10.9, 0.12, 0.12)],
)
def test_red3_single_steps(at, average, start, expected):
    # To fill the queue up to 11.1 takes arrivals, which would move max_p on the way: from a given state.
    state = {"avg": average, "max_p": start, "idle_since": float("nan")}
    found = replay("red", [at], [], state=state, **{**SMALL, "weight": 0.0}, adaptive=True)
    assert found.trace["max_p"][0] == pytest.approx(expected)


RAMP = [2 * k for k in range(40)]
RAMP_OUT = [4.5 + 6 * k for k in range(13)]
RAMP_DRAWS = {"by_packet": [(0.07, 0.9, 0.5, 0.02, 0.3)[k % 5] for k in range(40)]}


def test_red4_decisions_with_wait():
    found = replay("red", RAMP, RAMP_OUT, limit="100pkt", draws=RAMP_DRAWS, **SMALL)
    assert [RAMP[k] for k in found.dropped] == [56, 70, 78]
    assert set(found.cause[found.dropped]) == {"early"}
    average, p_b, p_a, count = (after(found, "arrival", name) for name in ("avg", "p_b", "p_a", "count"))
    assert average[:6] == pytest.approx([0, 0.1, 0.29, 0.461, 0.7149, 1.04341])
    assert average[14] < 5
    assert (average[15], count[15]) == (pytest.approx(5.490282, abs=1e-6), 1)
    expected = {
        28: (13.286137, 0.082861, 0.098651), 35: (17.310487, 0.238629, 0.724007), 39: (19.384211,
        0.363053, 0.662759),
    }  # fmt: skip
    for k, values in expected.items():
        assert (average[k], p_b[k], p_a[k]) == pytest.approx(values, abs=1e-6)
    assert [count[k - 1] + 1 for k in expected] == [14, 7, 4]
    assert p_a[34] == pytest.approx(0.252196, abs=1e-6)


def test_red4_decisions_without_wait():
    found = replay("red", RAMP, RAMP_OUT, limit="100pkt", draws=RAMP_DRAWS, wait=False, **SMALL)
    assert [RAMP[k] for k in found.dropped] == [36, 46, 56, 60, 66, 70, 76]
    p_a = after(found, "arrival", "p_a")
    assert (p_a[18], p_a[38]) == pytest.approx((0.023804, 0.360473), abs=1e-6)


def test_red5_max_p_rises_above_the_band_and_falls_below_it():
    keys = {**SMALL, "min": 100.0, "max": 200.0, "weight": 1.0, "adaptive": True, "ecn": True, "mark-p": 1.0}
    packets = [(0, 1000, 0, "ect0")] * 180 + [(600, 1000, 0, "ect0"), (1200, 1000, 0, "ect0")]
    found = replay("red", packets, [1100] * 61, **keys)
    assert list(after(found, "arrival", "avg")[-2:]) == [180, 120]
    assert after(found, "arrival", "max_p")[-3:] == pytest.approx([0.1, 0.11, 0.099])


# PIE

RISE_AND_FALL = [0, 5, 20, 40, 60, 60, 50, 30, 15]
HIGH = [20, 60, 60, 20, 0, 0]
PIE = {"burst": "0s", "limit": "unlimited", "delay": "timestamps", "target": "15ms", "draws": 0.999}


def probabilities(delays, update=40.0, **keys):
    """Return p after updates at which the oldest packet has waited `delays` ms (0: nothing waits)."""
    times = [update * (i + 1) for i in range(len(delays))]
    packets = [(time - delay, 1000) for time, delay in zip(times, delays, strict=True) if delay]
    departures = [time + 0.001 for time, delay in zip(times, delays, strict=True) if delay]
    end = [(times[-1] + 1, 1000)]
    found = replay("pie", packets + end, departures, update=f"{update}ms", **keys)
    return after(found, "timer", "p")[: len(delays)]


def test_pie1_rfc8033():
    expected = [
        0, 2.44140625e-6, 4.0283203125e-5, 2.60009765625e-4, 1.217041015625e-3, 1.920166015625e-3,
        9.04541015625e-4, 1.8188476562e-4, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    assert probabilities([*RISE_AND_FALL, 10, 5, 0, 0], **PIE) == pytest.approx(expected, rel=1e-9)


def test_pie2_rfc8033_from_high():
    found = probabilities(HIGH, state={"p": 0.15}, **PIE)
    assert found == pytest.approx([0.17, 0.19, 0.195625, 0.14625, 0.119375, 0.11515], rel=1e-9)


AUTHORS = {**PIE, "target": "20ms", "variant": "ns2_authors"}


def test_pie3_the_authors():
    expected = [
        0, 1.3671875e-4, 7.2265625e-4, 1.58203125e-3, 5.33203125e-3, 5.95703125e-3, 4.86328125e-3,
        1.89453125e-3, 0,
    ]  # fmt: skip
    assert probabilities(RISE_AND_FALL, **AUTHORS) == pytest.approx(expected, rel=1e-9)


def test_pie4_the_authors_from_high():
    found = probabilities(HIGH, state={"p": 0.15}, **AUTHORS)
    assert found == pytest.approx([0.17, 0.19, 0.20, 0.10, 0.045, 0.042875], rel=1e-9)


def test_pie5_linux():
    # The delay is that of the packet that left last, if others wait: one leaves 1 ms before each update.
    packets, departures, out = [], [], None
    for i, delay in enumerate(RISE_AND_FALL[1:]):
        last, out = out, 519 + 20 * i
        if last is not None and out - delay > last:
            packets.append((last, 1000))
            departures.append(out)
        packets.append((out - delay, 1000))
        departures.append(out)
    packets += [(out, 1000), (out + 10, 1000)]
    found = replay("pie", packets, departures, variant="linux", update="20ms", **PIE)
    expected = [
        0, 2.4414075e-6, 4.02832032e-5, 2.600097611e-4, 1.2170410057e-3, 1.9201660054e-3,
        9.045410059e-4, 1.818847547e-4, 0,
    ]  # fmt: skip
    assert found.trace["time"][found.rows("timer")][0] == ns(500)
    assert after(found, "timer", "p") == pytest.approx(expected, rel=2e-8)


def test_pie6_a_long_delay():
    (p,) = probabilities([100_000], update=100_000.0, state={"delay_old": int(ns(50_000))}, **PIE)
    assert p == pytest.approx(0.036620178, rel=1e-8)


def test_pie7_the_burst_allowance_is_spent_by_the_timer():
    found = replay("pie", [(0, 1000)] * 30 + [(160, 1000)], [], limit="1000pkt")
    left = after(found, "timer", "burst") / 1e6
    assert left[:10] == pytest.approx([135 - 15 * i for i in range(10)])


@pytest.mark.parametrize(("variant", "untested"), [("rfc8033", 3), ("linux", 4)])
def test_pie8_derandomisation(variant, untested):
    # The first packets find hardly any others and are let in without a test.
    def dropped(u, count):
        state = {"p": 0.1, "burst": 0, "delay": int(ns(100))}
        packets = [(0, 1000)] * (untested + count)
        found = replay("pie", packets, [], variant=variant, draws=u, state=state, limit="unlimited")
        return [int(n) + 1 - untested for n in found.dropped]

    assert dropped(0.05, 40) == [9, 18, 27, 36]
    assert dropped(0.99, 40) == []
    assert dropped(0.99, 100) in ([85], [86])


def test_pie9_departure_rates():
    for threshold, weight, packets, lengths, rates in (
        (10_000, 0.5, 10, (41.6, 20.8, 41.6), (250_000, 375_000, 312_500)),
        (16_384, 0.25, 16, (66.56, 33.28, 66.56), (250_000, 312_500, 296_875)),
    ):
        departures, now = [1.0], 1.0
        for i, length in enumerate(lengths):
            departures += [now] * (packets - 1 - (i == 0))
            now += length
            departures.append(now)
        keys = {
            "delay": "rate",
            "rate-threshold": f"{threshold}B",
            "rate-weight": weight,
            "variant": "ns2_authors",
        }
        found = replay("pie", [(0, 1040)] * 200, departures, **keys, limit="unlimited", update="100s")
        rate = after(found, "departure", "rate")
        assert list(dict.fromkeys(rate[rate > 0])) == pytest.approx(rates)
