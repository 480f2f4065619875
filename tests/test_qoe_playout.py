"""Playout buffers: one outcome per frame, and what jitter, ramps and full queues do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sojourn.qoe.media import playout

MS = 1_000_000
SENT = np.arange(400) * 20 * MS


def jitter(mean_ms: float, seed: int = 0) -> np.ndarray:
    return ((30 + np.random.default_rng(seed).exponential(mean_ms, 400)) * MS).astype(np.int64)


def test_fixed_by_hand() -> None:
    delay = np.array([50, 110, 111, -1, 10]) * MS
    got = playout.fixed(SENT[:5], delay, 60 * MS)
    assert got.played.tolist() == [True, True, False, False, True]
    assert got.late.tolist() == [False, False, True, False, False]
    assert got.lost.tolist() == [False, False, False, True, False]
    assert got.wait_ns == pytest.approx((60 + 0 + 100) / 3 * MS)


def test_the_anchor_is_what_arrives_first() -> None:
    delay = np.array([-1, 100, 20, 20]) * MS
    got = playout.fixed(SENT[:4], delay, 60 * MS)
    assert got.late.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("mean_ms", "wait_ms", "late"),
    [(20, 20, 0.142), (20, 40, 0.012), (20, 60, 0.001), (20, 100, 0.0), (40, 60, 0.067), (40, 100, 0.003),
     (80, 100, 0.080), (80, 200, 0.006)],
)  # fmt: skip
def test_late_share_under_jitter(mean_ms: float, wait_ms: int, late: float) -> None:
    # The table was measured with another kind of jitter of the same mean: compare the order of things only.
    shares = [playout.fixed(SENT, jitter(mean_ms, s), wait_ms * MS).late.mean() for s in range(40)]
    more = [playout.fixed(SENT, jitter(mean_ms, s), 2 * wait_ms * MS).late.mean() for s in range(40)]
    expected = np.exp(-wait_ms / mean_ms)
    assert late <= np.mean(shares) <= max(1.2 * expected, 0.01)
    assert np.mean(more) <= np.mean(shares)


def test_after_a_ramp_everything_is_late_for_fixed_but_not_for_adaptive() -> None:
    delay = (30 + np.clip(np.arange(400) - 100, 0, 200) * 3) * MS  # 150 ms per second, up to 600 ms
    stiff, supple = playout.fixed(SENT, delay), playout.adaptive(SENT, delay)
    assert stiff.late[121:].all()
    assert not stiff.late[:120].any()
    assert supple.late.mean() < 0.1
    assert not supple.late[320:].any()


def test_a_call_that_begins_while_the_queue_is_full_keeps_its_delay() -> None:
    delay = (np.clip(900 - 5 * np.arange(400), 30, None)) * MS
    stiff, supple = playout.fixed(SENT, delay), playout.adaptive(SENT, delay)
    assert stiff.played.all()
    assert stiff.wait_ns + delay.mean() == pytest.approx(960 * MS)
    assert supple.wait_ns < 400 * MS
    assert supple.late.mean() < 0.15


def test_a_step_costs_an_adaptive_buffer_one_frame() -> None:
    delay = np.where(np.arange(400) < 207, 30, 430) * MS
    assert playout.adaptive(SENT, delay).late.sum() == 1


def test_nothing_arrives() -> None:
    for buffer in (playout.fixed, playout.adaptive):
        got = buffer(SENT, np.full(400, -1))
        assert got.lost.all()
        assert got.wait_ns == 60 * MS


def test_wrong_shapes_are_said() -> None:
    with pytest.raises(ValueError, match="do not agree"):
        playout.fixed(SENT, SENT[:3])
    with pytest.raises(ValueError, match="at least 0"):
        playout.fixed(SENT, SENT, -1)
    with pytest.raises(ValueError, match="talk"):
        playout.adaptive(SENT, SENT, talk=np.ones(3, bool))


@given(
    st.lists(st.integers(-1, 5_000), max_size=120),
    st.integers(0, 500),
    st.sampled_from([playout.fixed, playout.adaptive]),
)
def test_every_frame_has_one_outcome(delays: list[int], wait_ms: int, buffer: object) -> None:
    delay = np.array(delays, dtype=np.int64)
    delay = np.where(delay >= 0, delay * MS, -1)
    got = buffer(SENT[: delay.size], delay, wait_ms * MS)  # type: ignore[operator]
    assert got.played.shape == delay.shape
    assert (got.played.astype(int) + got.late + got.lost == 1).all()
    assert (got.lost == (delay < 0)).all()
    assert (got.erased == ~got.played).all()
    assert got.wait_ns >= 0


@given(st.lists(st.integers(-1, 2_000), min_size=1, max_size=60), st.integers(0, 300), st.integers(0, 300))
def test_a_longer_fixed_wait_loses_no_more(delays: list[int], a: int, b: int) -> None:
    delay = np.array([d * MS if d >= 0 else -1 for d in delays])
    short = playout.fixed(SENT[: delay.size], delay, min(a, b) * MS)
    long = playout.fixed(SENT[: delay.size], delay, max(a, b) * MS)
    assert (short.played <= long.played).all()


def test_adaptive_never_plays_two_frames_at_once_in_speech() -> None:
    talk = np.ones(400, bool)
    delay = (np.clip(900 - 5 * np.arange(400), 30, None)) * MS
    got = playout.adaptive(SENT, delay, talk=talk)
    assert got.played.sum() > 300


def test_without_a_buffer_only_the_network_s_losses_are_missed():
    delay = np.array([10, 500, -1, 20], dtype=np.int64) * MS
    delay[2] = playout.LOST
    got = playout.unbuffered(SENT[:4], delay)
    assert got.lost.tolist() == [False, False, True, False]
    assert not got.late.any()
    assert got.played.tolist() == [True, True, False, True]
    assert got.wait_ns == 0.0
