"""`sojourn.controller` and Linux's CUBIC, HyStart and DCTCP: published vectors."""

import math

import numpy as np
import pytest
import sojourn
from test_controller import MS, ack, one

# Linux's CUBIC: the scripts of google/packetdrill, gtests/net/tcp/cubic/*.pkt, their times and windows.


def bulk(acks, written=10**6):
    """ACKs of two segments each 100 ms, of a sender that starts with ten and sends four for each."""
    sent = [0] * 10
    events = []
    for number in range(1, acks + 1):
        at = 100 * number
        acked = 2 * number
        events.append(ack(at, 2, at - sent[acked - 1], left_in_flight=len(sent) - acked))
        sent += [at] * min(4, written - len(sent))
    return events


def test_linux_cubic_in_packetdrill():
    """cubic-bulk-166k.pkt: HyStart ends slow start at 48; from 120 acknowledged on, each ACK adds one."""
    got = sojourn.controller("cubic", bulk(200), cwnd=10, hystart="linux")
    acked = dict(zip(range(2, 402, 2), got.cwnd, strict=True))
    assert [acked[n] for n in (10, 20, 30, 38, 60, 80, 100, 120)] == [20, 30, 40, 48, 49, 50, 52, 58]
    assert all(acked[n] == 58 + (n - 120) / 2 for n in range(122, 402, 2))
    assert math.isinf(got.ssthresh[18]) and got.ssthresh[19] == 48


@pytest.mark.parametrize("empty", [2, 7, 12])
def test_linux_cubic_after_idleness_in_packetdrill(empty):
    """cubic-bulk-166k-idle-restart.pkt: 4 s without data earn nothing. How soon the paced sender fills its
    window again the script does not say; from two to twelve ACKs give the windows that it demands."""
    events = bulk(20, written=40)
    start = events[-1]["at"] / MS + 4000
    for number in range(1, 41):
        more = {"left_in_flight": 48, "app_limited": number <= empty}
        events.append(ack(start + 100 * number, 2, 100 * number, **more))
    got = sojourn.controller("cubic", events, cwnd=10, hystart="linux")
    acked = dict(zip(range(2, 122, 2), got.cwnd, strict=True))
    assert [acked[n] for n in (10, 20, 30, 38, 60, 80, 100, 120)] == [20, 30, 40, 48, 48, 49, 52, 58]


def test_linux_cubic_after_a_timeout_in_packetdrill():
    """cubic-rto-ss-ca-cwnd-bump.pkt: from 10, ssthresh 7; 2, … 7, which stays, and 8 with ACK 23001."""
    gaps = [*(100, 100, 2, 98, 2, 2), *(2, 98, 2, 2, 2, 2, 2, 2), *(98, 3, 2, 2, 2, 2, 2, 98)]
    events = [{"event": "timeout", "at": "600ms"}]
    events += [ack(600 + sum(gaps[: n + 1]), 1) for n in range(len(gaps))]
    got = sojourn.controller("cubic", events, cwnd=10)
    assert got.ssthresh[0] == 7
    assert list(got.cwnd) == [1, 2, 3, 4, 5, 6, 7, *[7] * 15, 8], "ACKs 2001 to 23001"


def test_linux_hystart_in_packetdrill():
    """cubic-hystart-delay-rtt-jumps-upward.pkt: the ninth sample of 240 ms ends slow start, at 36."""
    events = [ack(400, 10, 200)] + [ack(640 + i, 2, 240 + i) for i in range(10)]
    got = sojourn.controller("cubic", events, cwnd=10, hystart="linux")
    assert list(got.cwnd) == [20, *range(22, 38, 2), 36, 36]
    assert list(np.flatnonzero(np.isfinite(got.ssthresh))) == [9, 10] and got.ssthresh[9] == 36


def test_linux_hystart_takes_a_new_smallest_round_trip_in_packetdrill():
    """cubic-hystart-delay-min-rtt-jumps-downward.pkt: 200 to 208 ms, then 29: slow start goes on."""
    events = [ack(400, 10, 200)] + [ack(600 + i, 2, 200 + i) for i in range(9)] + [ack(609, 2, 29)]
    got = sojourn.controller("cubic", events, cwnd=10, hystart="linux")
    assert list(got.cwnd) == list(range(20, 42, 2)) and np.isinf(got.ssthresh).all()


def test_dctcp_of_linux():
    shares = [(10, 10), (5, 10), (0, 10), (0, 10), (1, 10), (10, 10)]
    acks = [ack(100 * i, all_, marked=ce, round=True, recovering=True) for i, (ce, all_) in enumerate(shares)]
    got = sojourn.controller("dctcp", acks, cwnd=100)
    alphas = list(got.state["alpha"])
    assert alphas == [1024, 992, 930, 872, 824, 837]
    windows = [one("dctcp", {"event": "mark", "at": 0}, cwnd=100, alpha=alpha)[0] for alpha in alphas]
    assert windows == [50, 52, 55, 58, 60, 60]
    for alpha, want in [(16, 15), (15, 0)]:
        assert one("dctcp", ack(0, 10, round=True), cwnd=100, alpha=alpha)[1]["alpha"] == want
