"""`sojourn.controller`: the published vectors of congestion controllers, and what wrong input says."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import sojourn

MS = 1_000_000
KINDS = [
    *("reno", "newreno", "bic", "cubic", "cubic-rfc9438", "cubic-ns2", "compound", "compound-ns2"),
    *("ledbat", "ledbat++", "ledbat-ns2", "utp", "bbr", "bbr3", "dctcp", "prague"),
]


def ack(at_ms, delivered, rtt_ms=100, **keys):
    return {
        "event": "ack",
        "at": round(at_ms * MS),
        "delivered": delivered,
        "rtt": round(rtt_ms * MS),
        **keys,
    }


def one(kind, event, **options):
    """What a controller says after one event."""
    windows = sojourn.controller(kind, [event], **options)
    return windows.cwnd[0], {name: values[0] for name, values in windows.state.items()}


# Reno and NewReno: RFC 5681.


def test_slow_start_counts_bytes_or_acks():
    """From 2 segments, 7 acknowledged with an ACK for each: 9 (ns-3); with one for two, 9 or 2 + 4."""
    for kind, per_ack, want in [("reno", 1, 9), ("newreno", 1, 9), ("reno", 2, 8), ("newreno", 2, 5)]:
        acks = [ack(100, per_ack) for _ in range(7 // per_ack)]
        assert sojourn.controller(kind, acks, cwnd=2).cwnd[-1] == want


def test_congestion_avoidance_adds_a_segment_a_window():
    acks = [ack(100, 1) for _ in range(21)]
    assert list(sojourn.controller("reno", acks, cwnd=10, ssthresh=10).cwnd[[8, 9, 19, 20]]) == [
        10,
        11,
        11,
        12,
    ]


def test_congestion_halves_and_a_timeout_leaves_one_segment():
    trouble = [{"event": "loss", "at": "1s"}, {"event": "mark", "at": "2s"}, {"event": "timeout", "at": "3s"}]
    windows = sojourn.controller("reno", trouble, cwnd=40, mss=1000)
    assert list(windows.cwnd) == [20, 10, 1]
    assert list(windows.ssthresh) == [20, 10, 5]
    assert list(windows.window) == [20_000, 10_000, 1000]


@pytest.mark.parametrize(
    ("kind", "samples"),
    [
        # Linux looks from a window of 16 segments on, which the sixth acknowledgement reaches.
        ("linux", [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]),
        # The first round is the ten segments of the first window.
        ("rfc9406", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]),
    ],
)
def test_hystart_counts_the_samples_of_a_round_from_one(kind, samples):
    acks = [ack(100 + k, 1) for k in range(12)]
    windows = sojourn.controller("cubic", acks, cwnd=10, hystart=kind)
    assert windows.state["round_samples"].tolist() == samples


# BIC, in the form of Linux.


@pytest.mark.parametrize(
    ("cwnd", "w_max", "cost"),
    [
        *[(10, 0, 10), (18, 90, 1), (18, 24, 90), (19, 83, 1), (15, 13, 75), (65, 16, 4), (100, 100, 500)],
        *[(100, 200, 6), (150, 160, 75), (161, 160, 805), (170, 160, 51), (300, 160, 18)],
    ],
)
def test_bic_asks_so_many_segments_for_one_more(cwnd, w_max, cost):
    _, state = one("bic", ack(0, 0), cwnd=cwnd, ssthresh=1, w_max=w_max)
    assert state["cost"] == cost
    acks = [ack(0, 1) for _ in range(cost)]
    assert list(sojourn.controller("bic", acks, cwnd=cwnd, ssthresh=1, w_max=w_max).cwnd[-2:]) == (
        [cwnd, cwnd + 1] if cost > 1 else [cwnd + 1]
    )


@pytest.mark.parametrize(
    ("cwnd", "w_max", "new_max", "ssthresh"),
    [(5, 10, 4, 2), (14, 0, 14, 7), (15, 10, 15, 11), (100, 0, 100, 79), (100, 120, 89, 79)],
)
def test_bic_after_a_loss(cwnd, w_max, new_max, ssthresh):
    got, state = one("bic", {"event": "loss", "at": 0}, cwnd=cwnd, w_max=w_max)
    assert (got, state["w_max"]) == (ssthresh, new_max)


# CUBIC: RFC 9438.


def test_cubic_of_s2n_quic():
    acks = [ack(at, 1) for at in (0, 10_000, 15_000)]
    windows = sojourn.controller("cubic-rfc9438", acks, cwnd=1612.8, ssthresh=1612, w_max=2304)
    assert windows.state["k"][0] == pytest.approx(12, abs=1e-9)
    assert windows.state["w_cubic"] == pytest.approx([1612.8, 2300.8, 2314.8], abs=1e-6)
    got, state = one("cubic-rfc9438", {"event": "loss", "at": 0}, cwnd=80, w_max=100)
    assert state["w_max"] == pytest.approx(68)
    assert got == 56
    # W_est after 6 s at 300 ms: twenty windows, each as large as it is by then.
    acks, cwnd = [], 70.0
    for i in range(1, 21):
        acks.append(ack(300 * i, cwnd, 300))
        got = sojourn.controller("cubic-rfc9438", acks, mss=100_000, cwnd=70, ssthresh=70, w_max=100)
        cwnd = got.cwnd[-1]
    assert got.state["w_est"][-1] == pytest.approx(80.588, abs=1e-3)


@pytest.mark.parametrize(
    ("w_max", "k", "windows"),
    [
        (20, 2.466212, [14, 18.7392, 19.9595, 26.5068, 191.041]),
        (100, 4.217163, [70, 86.6808, 95.6403, 100.1919, 177.354]),
        (1000, 9.085603, [700, 788.5551, 857.7047, 972.721, 1000.3058]),
        (10000, 19.574338, [7000, 7436.6965, 7828.8145, 8761.6982, 9648.936]),
    ],
)
def test_the_cubic_function(w_max, k, windows):
    acks = [ack(1000 * s, 1) for s in (0, 1, 2, 5, 10)]
    got = sojourn.controller("cubic-rfc9438", acks, cwnd=0.7 * w_max, ssthresh=1, w_max=w_max)
    assert got.state["k"] == pytest.approx([k] * 5, abs=1e-6)
    assert got.state["w_cubic"] == pytest.approx(windows, abs=1e-3)


def test_cubic_follows_its_function_where_it_leads():
    """One ACK a segment, W_max 100, round trips of 100 ms."""
    events, at = [], 0.0
    while at < 2000:
        events.append(ack(at, 1))
        at += 100 / max(70, 95.6403 - 25.6403 * (1 - at / 2000) ** 2)
    got = sojourn.controller("cubic-rfc9438", events, cwnd=70, ssthresh=70, w_max=100)
    assert got.cwnd[-1] == pytest.approx(95.64, abs=0.5)


def test_cubic_is_reno_friendly_where_round_trips_are_short():
    """W_max 30, 20 ms: W_est rules from the first round on, by 0.53 a round, by 1 above the old window."""
    rounds, cwnd, events = [], 21.0, []
    for number in range(1, 26):
        for _ in range(int(cwnd)):
            events.append(ack(20 * number, 1, 20))
        cwnd = sojourn.controller("cubic-rfc9438", events, cwnd=21, ssthresh=21, w_max=30).cwnd[-1]
        rounds.append(cwnd)
    assert rounds[:3] == pytest.approx([21.5, 22.0, 22.6], abs=0.1)
    assert rounds[16] == pytest.approx(29.8, abs=0.3)
    assert rounds[-1] - rounds[-2] == pytest.approx(1, abs=0.05)


# CUBIC of ns-2.


def test_ns2_cubic():
    got = sojourn.controller("cubic-ns2", [ack(100, 2) for _ in range(150)], cwnd=3, ssthresh=100)
    assert (got.ssthresh[0], got.cwnd[97], got.cwnd[98], got.cwnd[-1]) == (100, 101, 101, 103)
    cwnd, state = one("cubic-ns2", {"event": "loss", "at": 0}, cwnd=79, w_max=100)
    assert (cwnd, state["w_max"]) == (63, 71)


# HyStart++ (RFC 9406).


def rounds(rtts_ms, samples=10):
    """Rounds of ten ACKs with these round-trip times."""
    events = []
    for number, rtt in enumerate(rtts_ms, 1):
        for i in range(samples):
            events.append(ack(100 * number, 1, rtt, round=i == 0))
    return events


def test_hystart_plus_plus_ends_slow_start_in_five_rounds():
    got = sojourn.controller("cubic", rounds([40, 40, 45, 47, 46, 46, 46, 46]), cwnd=20, hystart="rfc9406")
    css = got.state["css"]
    assert list(np.flatnonzero(np.diff(css)))[:1] == [26], "the eighth sample of round 3"
    assert list(np.flatnonzero(np.isfinite(got.ssthresh)))[:1] == [70], "the first ACK after round 7"


def test_hystart_plus_plus_resumes():
    css = sojourn.controller("cubic", rounds([40, 46, 44]), cwnd=20, hystart="rfc9406").state["css"]
    assert list(np.flatnonzero(np.diff(css))) == [16, 26], (
        "on at sample 8 of round 2, off at sample 8 of round 3"
    )


# Compound.


@pytest.mark.parametrize(
    ("cwnd", "dwnd", "rtt_ms", "want_dwnd", "diff"),
    [
        (20, 0, 100, 0.182177, 0),
        (30, 5, 150, 5.79871, 35 / 3),
        (60, 30, 150, 0, 30),
        (100, 60, 130, 23.0769, 36.9231),
    ],
)
def test_compound_in_a_round(cwnd, dwnd, rtt_ms, want_dwnd, diff):
    acks = [ack(0, 1, rtt_ms, min_rtt="100ms", round=False) for _ in range(cwnd + dwnd - 1)]
    end = ack(0, 1, rtt_ms, min_rtt="100ms", round=True)
    got = sojourn.controller("compound", [*acks, end], cwnd=cwnd, ssthresh=cwnd, dwnd=dwnd)
    assert got.cwnd[-1] == cwnd + 1
    assert got.state["dwnd"][-1] == pytest.approx(want_dwnd, abs=1e-4)
    assert got.state["diff"][-1] == pytest.approx(diff, abs=1e-4)


def test_compound_after_a_loss():
    got, state = one("compound", {"event": "loss", "at": 0}, cwnd=60, dwnd=40, ssthresh=60)
    assert (got, state["dwnd"]) == (30, 20)


# LEDBAT and its kin.


@pytest.mark.parametrize(
    ("target", "cwnd", "acked", "queueing_ms", "want"),
    [
        *[
            ("100ms", 6, 2, 40, 6.2),
            ("100ms", 6, 2, 120, 5.9333),
            ("100ms", 10, 1, 100, 10),
            ("100ms", 10, 1, 300, 9.8),
        ],
        *[
            ("100ms", 2, 1, 400, 2),
            ("25ms", 10, 1, 0, 10.1),
            ("25ms", 10, 1, 12.5, 10.05),
            ("25ms", 10, 1, 25, 10),
        ],
        ("25ms", 10, 1, 50, 9.9),
    ],
)
def test_ledbat_moves_in_proportion(target, cwnd, acked, queueing_ms, want):
    event = ack(0, acked, 500, one_way=round((20 + queueing_ms) * MS), in_flight=cwnd)
    got, state = one("ledbat", event, cwnd=cwnd, target=target, base_delay=0.02)
    assert got == pytest.approx(want, abs=1e-4)
    assert state["queueing"] == pytest.approx(queueing_ms / 1000)


@pytest.mark.parametrize(
    ("cwnd", "one_way", "in_flight", "want"),
    [
        (8676, "60ms", "8676B", 8965),
        (8676, "140ms", "8676B", 8579),
        (8676, "60ms", "4338B", 5784),
        (2892, "320ms", "2892B", 2892),
    ],
)
def test_ledbat_of_ns3(cwnd, one_way, in_flight, want):
    event = {"event": "ack", "at": 0, "delivered": "2892B", "one_way": one_way, "in_flight": in_flight}
    got = sojourn.controller("ledbat", [event], mss=1446, cwnd=f"{cwnd}B", base_delay=0.02)
    assert got.window[0] == want


def test_ns2_ledbat_counts_acks():
    acks = [ack(10 * i, 1, one_way="20ms") for i in range(10)]
    got = sojourn.controller("ledbat-ns2", acks, cwnd=10, target="25ms", base_delay=0.02)
    assert list(got.cwnd) == [10] * 9 + [11]
    assert list(got.state["counter"]) == [*range(25, 250, 25), 0]


def test_utp_moves_by_3000_bytes_a_round_trip():
    for one_way, want in [("20ms", 23_000), ("70ms", 21_500), ("120ms", 20_000), ("170ms", 18_500)]:
        event = ack(0, 20, 500, one_way=one_way)
        got = sojourn.controller("utp", [event], mss=1000, cwnd=20, slow_start=0, base_delay=0.02)
        assert got.window[0] == want


# DCTCP and Prague.


def test_prague_gives_up_half_of_alpha():
    got, _ = one("prague", {"event": "mark", "at": 0}, cwnd=100, ssthresh=100, alpha=2**20 / 10)
    assert got == pytest.approx(95, abs=1e-3)
    got, _ = one("prague", {"event": "loss", "at": 0}, cwnd=100, ssthresh=100, alpha=0)
    assert got == pytest.approx(50, abs=1e-3)


# BBR.


@pytest.mark.parametrize(("kind", "gain"), [("bbr", 739 / 256), ("bbr3", 709 / 256)])
def test_bbr_starts_fast_and_stops_when_the_pipe_is_full(kind, gain):
    acks = [ack(100 * i, 10, 100, rate="8Mbit", round=True) for i in range(1, 8)]
    got = sojourn.controller(kind, acks, mss=1000, cwnd=10)
    assert got.state["bw"] == pytest.approx(np.full(7, 8e6), rel=1e-6)
    assert got.state["min_rtt"] == pytest.approx(np.full(7, 0.1))
    assert list(got.state["mode"][:3]) == [0, 0, 0] and got.state["mode"][3] > 0, (
        "three rounds without growth"
    )
    assert got.pacing[0] == pytest.approx(0.99 * gain * 8e6, rel=1e-3)


# The interface.


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_takes_every_event_and_keeps_the_shapes(kind):
    events = [
        ack(100, 2, one_way="50ms", marked=1, in_flight=10),
        {"event": "mark", "at": "110ms"},
        {"event": "loss", "at": "200ms", "in_flight": "9kB"},
        ack(250, np.float64(1.5), lost=np.int64(1), recovering=True, left_in_flight=5),
        {"event": "recovered", "at": "300ms"},
        {"event": "timeout", "at": "1s"},
        {"event": "idle", "at": "3s", "restart": 10},
    ]
    got = sojourn.controller(kind, events, cwnd=20)
    arrays = [got.at, got.cwnd, got.ssthresh, got.window, got.pacing, *got.state.values()]
    assert {array.shape for array in arrays} == {(7,)}
    assert got.at[-1] == 3_000_000_000 and (got.window > 0).all() and np.isfinite(got.cwnd).all()
    empty = sojourn.controller(kind, [])
    assert empty.cwnd.shape == (0,) and empty.state == {}


@pytest.mark.parametrize(
    ("kind", "events", "options", "words"),
    [
        ("vegas", [], {}, '"vegas" is not a congestion controller; write one of reno, newreno, .*prague$'),
        ("udp", [], {}, "udp has no congestion controller"),
        (3, [], {}, "invalid type: integer `3`, expected a string"),
        ("reno", 3, {}, "events is 3; expected a list of dicts"),
        ("reno", ack(5, 1), {}, "events is .*; expected a list of dicts"),
        ("reno", [3], {}, "event 0 is 3; expected a mapping"),
        ("reno", [{"at": 0}], {}, "event 0: missing field `event`"),
        ("reno", [{"event": "nack", "at": 0}], {}, "event 0: unknown variant `nack`, expected one of `ack`"),
        ("reno", [{"event": "loss"}], {}, "event 0: missing field `at`"),
        ("reno", [{"event": "loss", "at": 0.5}], {}, "event 0: .*0.5.* a time: whole nanoseconds"),
        ("reno", [{"event": "loss", "at": -5}], {}, "event 0: .*-5.* a time: whole nanoseconds"),
        ("reno", [ack(5, 1), ack(4, 1)], {}, "event 1: .* events must be in order"),
        ("reno", [ack(5, -1)], {}, "event 0: -1 is not a number of segments|event 0: .*-1.* an amount"),
        ("reno", [ack(5, math.nan)], {}, "an event holds something other than finite numbers"),
        ("reno", [ack(5, 1, mark=3)], {}, "event 0: unknown field `mark`"),
        ("reno", [ack(5, 1, marked=3)], {}, r"^event 0: 4344 bytes are marked of 1448 delivered; write"),
        ("reno", [], {"w_max": 5}, "reno has no variable w_max that can be set; it has cwnd, ssthresh"),
        ("reno", [], {"ssthresh": "far"}, "ssthresh is 'far'; expected a number"),
        ("reno", [], {"ssthresh": -1}, "ssthresh = -1: a variable must be 0 to 1e12"),
        ("reno", [], {"mss": 0}, "0B is not a segment size"),
        ("reno", [], {"cwnd": "large"}, '"large" is not a size'),
        ("reno", [], {"seed": -1}, "seed -1 is not a whole number"),
        ("cubic", [], {"hystart": "always"}, "unknown variant `always`, expected one of `none`"),
        ("ledbat", [], {"target": 0}, "a target of 0s is too short"),
    ],
)
def test_wrong_input_is_one_sentence(kind, events, options, words):
    with pytest.raises(ValueError, match=words) as error:
        sojourn.controller(kind, events, **options)
    assert "\n" not in str(error.value)


def test_the_documented_examples_print_what_the_page_says():
    page = Path(__file__).parents[1] / "docs" / "controller.md"
    examples = re.findall(r"```python\n(.*?)```\s+```text\n(.*?)```", page.read_text(), re.S)
    assert len(examples) == 2
    names = {}
    for code, output in examples:
        printed = []
        names["print"] = lambda *items, printed=printed: printed.append(" ".join(map(str, items)))
        exec(code, names)
        assert "\n".join(printed) == output.strip()
