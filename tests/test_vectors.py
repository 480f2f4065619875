"""Published vectors of the queue disciplines, by packet and by variable, through `sojourn.replay`.

Times are milliseconds here and nanoseconds in the interface. The vectors' packets are numbered from 1 where
they say so.
"""

import numpy as np
import pytest
import sojourn


def ns(ms):
    return np.round(np.asarray(ms, dtype=float) * 1e6).astype(np.int64)


def replay(kind, packets, departures, *, draws=None, state=None, **keys):
    """Replay with times in ms; `packets` are (ms, size, flow, ecn) with the last left out, or a list of ms."""
    rows = [row if isinstance(row, tuple) else (row, 1000) for row in packets]
    rows = [(int(ns(row[0])), *row[1:]) for row in rows]
    departures = departures if isinstance(departures, str) else ns(departures)
    queue = {"limit": "1000pkt", **keys, "kind": kind}
    return sojourn.replay(queue, rows, departures, draws=draws, state=state)


def after(found, event, name):
    return found.trace[name][found.rows(event)]


# CoDel

EXACT = ("rfc8289", "ns2_2012", "ns2_2013", "acmq2012")
FIXED = ("linux", "ns3")


BUSY = {"packets": [0] * 900, "departures": range(10, 810)}
"""A queue that is asked for a packet every ms and never gets short: the first drop is at 110 ms."""


def test_cd1_gaps_shrink_with_the_square_root():
    sums = [100, 170.711, 228.446, 278.446, 323.167, 363.992, 401.788, 437.144, 470.477, 502.1]
    for variant in ("rfc8289", "ns2_2012"):
        found = replay("codel", **BUSY, variant=variant)
        plan = np.unique(after(found, "departure", "drop_next"))
        assert plan[1:11] / 1e6 - 110 == pytest.approx(sums, abs=1e-3)


def test_cd2_newton_steps_of_linux():
    found = replay("codel", **BUSY, variant="linux")
    count, inverse, plan = (
        after(found, "departure", name) for name in ("count", "rec_inv_sqrt", "drop_next")
    )
    expected = [
        65535, 32769, 36864, 31968, 28935, 26481, 24588, 23037, 21746, 20647, 19699, 18869, 18136, 17481, 16893,
        16360,
    ]  # fmt: skip
    assert [inverse[count == n][0] for n in range(1, 17)] == expected
    sums = [99.998, 150.0, 206.25, 255.029, 299.181, 339.587, 377.106, 412.257, 445.439, 476.944]
    first = min(found.time[found.dropped])
    found_sums = [(plan[count == n][0] - first) / 1e6 for n in range(1, 11)]
    # Time is counted in 1.024 µs, and each gap is cut to a whole number of these.
    assert found_sums == pytest.approx(sums, abs=0.013)


@pytest.mark.parametrize("variant", EXACT + FIXED)
def test_cd3_the_late_packet_goes_and_the_next_one_leaves(variant):
    found = replay("codel", [0] * 20, [10, 210, 210, 420], variant=variant)
    exact = variant in EXACT
    assert list(found.left + 1) == [1, 3, 4, 7 if exact else 8]
    assert list(found.dropped + 1) == ([2, 5, 6] if exact else [2, 5, 6, 7])
    assert set(found.cause[found.dropped]) == {"sojourn"}
    assert list(after(found, "departure", "count"))[1:] == [1, 1, 3 if exact else 4]
    plan = after(found, "departure", "drop_next") / 1e6
    assert plan[1:] == pytest.approx([310, 310, 438.446 if exact else 465.03], abs=5e-3)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        *[(variant, [15, 1, 130, 1, 1]) for variant in ("rfc8289", "linux", "ns3")],
        ("ns2_2013", [18, 1, 147, 1, 1]),
        ("ns2_2012", [19, 1, 149, 9, 1]),
        ("sfq-codel", [18, 1, 148, 1, 1]),
        ("acmq2012", [1] * 5),
    ],
)
def test_cd4_dropping_resumes_with_this_count(variant, expected):
    inputs = [(20, 5, 500), (2, 1, 50), (150, 20, 300), (10, 9, 1000), (30, 1, 1700)]
    for (count, last, since), wanted in zip(inputs, expected, strict=True):
        state = {"count": count, "last_count": last, "drop_next": int(ns(5000)), "first_above": int(ns(4000))}
        keys = {"kind": "sfq-codel", "bins": 1} if variant == "sfq-codel" else {"variant": variant}
        kind = keys.pop("kind", "codel")
        found = replay(kind, [4000] * 9, [5000 + since], state=state, **keys)
        assert list(found.dropped) == [0]
        assert float(np.ravel(after(found, "departure", "count"))[-1]) == wanted


FIRST = [
    35,
    61,
    80,
    96,
    109,
    121,
    132,
    143,
    153,
    162,
    171,
    180,
    188,
    196,
    203,
    211,
    218,
    225,
    232,
    239,
    245,
    252,
    258,
]
SECOND = [295, 302, 308, 314, 320, 326, 332, 338, 343, 349, 354, 360, 365, 370, 376, 381, 386, 391, 396, 401, 406, 411, 415]  # fmt: skip
LINUX = [
    36,
    62,
    76,
    91,
    104,
    116,
    127,
    138,
    148,
    157,
    166,
    174,
    182,
    190,
    198,
    205,
    213,
    220,
    227,
    233,
    240,
    246,
    253,
]
NS2_2013 = [276, 283, 290, 296, 302, 308, 314, 320, 326, 332, 337, 343, 348, 354, 359, 364, 370, 375, 380, 385, 390, 395, 400, 405, 409, 414]  # fmt: skip
ACMQ = [58, 84, 103, 119, 132, 144, 155, 166, 176, 185, 194, 203, 211, 219, 226, 234, 241, 248, 255, 318, 344, 363, 379, 392, 404, 415]  # fmt: skip
LATE = [71, 97, 116, 132, 145, 157, 168, 179, 189, 198, 207, 216, 224, 232, 239, 247, 254]
LATE_RFC = [331, 339, 346, 353, 359, 366, 372, 379, 385, 391, 397, 403, 409, 415]
LATE_NS2 = [313, 321, 328, 335, 342, 349, 355, 362, 368, 374, 381, 387, 392, 398, 404, 410, 415]


@pytest.mark.parametrize(
    ("variant", "target", "expected"),
    [
        ("rfc8289", "5ms", FIRST + SECOND),
        ("ns2_2012", "5ms", FIRST + SECOND),
        ("linux", "5ms", LINUX + SECOND),
        ("ns3", "5ms", LINUX + SECOND),
        ("ns2_2013", "5ms", FIRST + NS2_2013),
        ("acmq2012", "5ms", ACMQ),
        ("rfc8289", "35ms", LATE + LATE_RFC),
        ("ns2_2013", "35ms", LATE + LATE_NS2),
    ],
)
def test_cd5_a_server_loses_these_packets(variant, target, expected):
    times = [3.2137 * k for k in range(260)] + [1400 + 3.2137 * k for k in range(160)]
    found = replay("codel", times, "2Mbit", variant=variant, target=target)
    assert list(found.dropped + 1) == expected
    assert (found.fate != "waiting").all()


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
        (200, 12, 0.1), (500, 12, 0.1), (510, 12, 0.11), (900, 12, 0.11), (1020, 12, 0.12), (1600, 10.9, 0.12),
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
    expected = {28: (13.286137, 0.082861, 0.098651), 35: (17.310487, 0.238629, 0.724007), 39: (19.384211, 0.363053, 0.662759)}  # fmt: skip
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
    expected = [0, 2.44140625e-6, 4.0283203125e-5, 2.60009765625e-4, 1.217041015625e-3, 1.920166015625e-3, 9.04541015625e-4, 1.8188476562e-4, 0, 0, 0, 0, 0]  # fmt: skip
    assert probabilities([*RISE_AND_FALL, 10, 5, 0, 0], **PIE) == pytest.approx(expected, rel=1e-9)


def test_pie2_rfc8033_from_high():
    found = probabilities(HIGH, state={"p": 0.15}, **PIE)
    assert found == pytest.approx([0.17, 0.19, 0.195625, 0.14625, 0.119375, 0.11515], rel=1e-9)


AUTHORS = {**PIE, "target": "20ms", "variant": "ns2_authors"}


def test_pie3_the_authors():
    expected = [0, 1.3671875e-4, 7.2265625e-4, 1.58203125e-3, 5.33203125e-3, 5.95703125e-3, 4.86328125e-3, 1.89453125e-3, 0]  # fmt: skip
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
    expected = [0, 2.4414075e-6, 4.02832032e-5, 2.600097611e-4, 1.2170410057e-3, 1.9201660054e-3, 9.045410059e-4, 1.818847547e-4, 0]  # fmt: skip
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


# Flow queueing


@pytest.mark.parametrize("kind", ["fq-codel", "fq-pie"])
def test_fq1_deficits_of_two_flows(kind):
    packets = [(0, 120, 0), *[(2, 120, 0)] * 2, *[(2, 120, 1)] * 2]
    found = replay(kind, packets, [1, 3, 4, 5, 6, 7], quantum="90B", hash="plain")
    deficits = found.trace["deficit"]
    assert deficits[0, 0] == 90
    rows = found.rows("departure")
    assert list(found.trace["packet"][rows]) == [0, 3, 1, 4, 2, -1]
    assert deficits[rows].tolist()[1:] == [[60, -30], [-60, 60], [30, -60], [-90, 30], [90, 30]]
    assert found.trace["active"][rows[-1]].tolist() == [0, 0]
    assert deficits[rows[0], 0] == -30


@pytest.mark.parametrize("kind", ["fq-codel", "fq-pie", "cake"])
def test_fq2_order_of_three_flows(kind):
    packets = [*[(0, 500, 0)] * 3, *[(0, 100, 1)] * 4, (0, 1000, 2)]
    found = replay(kind, packets, range(1, 10), quantum="300B", hash="plain")
    assert list(found.left) == [0, 3, 4, 5, 7, 1, 6, 2]
    if kind != "cake":
        assert found.trace["deficit"][found.rows("departure")].tolist()[:8] == [
            [-200, 300, 300], [100, 200, 300], [100, 100, 300], [100, 0, 300],
            [100, 300, -700], [-400, 300, -400], [-100, 200, -400], [-300, 200, 200],
        ]  # fmt: skip


def test_fq3_overflow_takes_from_the_head_of_the_fattest():
    packets = [*[(0, 120, 0)] * 3, *[(0, 120, 1)] * 2]
    found = replay("fq-codel", packets, [], limit="4pkt", hash="plain")
    assert list(found.dropped) == [0, 1]
    assert set(found.cause[found.dropped]) == {"full"}
    assert found.trace["line_pkts"][-1].tolist() == [1, 2]
    assert found.trace["count"][-1].tolist() == [2, 0]


# COBALT


def test_cob1_counts_up_while_it_drops_and_down_afterwards():
    steps = [
        (0, 0, False, 0, 100), (100, 6, False, 1, 200), (150, 6, False, 1, 200), (201, 6, True, 2, 270.711),
        (272, 7, True, 3, 328.446), (300, 7, False, 3, 328.446), (330, 8, True, 4, 378.446),
        (390, 8, True, 5, 423.167), (395, 2, False, 5, 423.167), (440, 2, False, 4, 473.167),
        (500, 9, True, 5, 594.721), (560, 9, False, 5, 594.721),
    ]  # fmt: skip
    # Marks stand for drops, so that the queue does not run empty where one is due.
    packets = [(now - waited, 1000, 0, "ect0") for now, waited, *_ in steps]
    found = replay("cobalt", packets, [now for now, *_ in steps], ecn=True)
    assert found.marked.tolist() == [hit for *_, hit, _, _ in steps]
    assert after(found, "departure", "count").tolist() == [count for *_, count, _ in steps]
    assert after(found, "departure", "drop_next") / 1e6 == pytest.approx([at for *_, at in steps], abs=1e-3)


def test_cob2_a_long_wait_raises_blue_once_per_dequeue():
    packets = [(0, 1500, 0, "ect0")] * 200
    found = replay("cobalt", packets, range(10, 1010, 10), **{"blue-threshold": "400ms"})
    assert after(found, "departure", "p_blue")[-1] == 60 / 256 == 0.234375
    assert {"blue", "sojourn"} == set(found.cause[found.dropped])


# DualPI2


def test_dq1_the_coupled_controller():
    delays = [0, 10, 20, 30, 30, 20, 15, 15, 10, 0]
    times = [16 * (i + 1) for i in range(len(delays))]
    packets = [(time - delay, 1000) for time, delay in zip(times, delays, strict=True) if delay]
    departures = [time + 0.001 for time, delay in zip(times, delays, strict=True) if delay]
    found = replay("dualpi2", [*packets, (times[-1] + 1, 1000)], departures, draws=0.999)
    p = [0, 0.0312, 0.064, 0.0984, 0.1008, 0.0696, 0.0536, 0.0536, 0.0368, 0.0024]
    assert after(found, "timer", "p") == pytest.approx(p, abs=1e-12)
    assert after(found, "timer", "p_classic") == pytest.approx(np.square(p), abs=1e-12)
    assert after(found, "timer", "p_classic")[3] == pytest.approx(0.00968256)
    assert after(found, "timer", "p_l4s") == pytest.approx(2 * np.array(p), abs=1e-12)
