"""Vectors of CoDel, flow queueing, COBALT and DualPI2 through `sojourn.replay`, by packet and variable.

Times are milliseconds here and nanoseconds in the interface. The vectors of CoDel number packets from 1.
"""

import numpy as np
import pytest
from replaying import after, ns, replay

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
        65535, 32769, 36864, 31968, 28935, 26481, 24588, 23037, 21746, 20647, 19699, 18869, 18136,
        17481, 16893,
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
SECOND = [
    295, 302, 308, 314, 320, 326, 332, 338, 343, 349, 354, 360, 365, 370, 376, 381, 386, 391, 396,
    401, 406, 411, 415,
]  # fmt: skip
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
NS2_2013 = [
    276, 283, 290, 296, 302, 308, 314, 320, 326, 332, 337, 343, 348, 354, 359, 364, 370, 375, 380,
    385, 390, 395, 400, 405, 409, 414,
]  # fmt: skip
ACMQ = [
    58, 84, 103, 119, 132, 144, 155, 166, 176, 185, 194, 203, 211, 219, 226, 234, 241, 248, 255,
    318, 344, 363, 379, 392, 404, 415,
]  # fmt: skip
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
