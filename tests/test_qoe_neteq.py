"""Playout after NetEq: the target from the delays, and what is played by it."""

from __future__ import annotations

import numpy as np
import pytest
from sojourn.qoe.media.neteq import Target, neteq

MS = 1_000_000
SENT = np.arange(500) * 20 * MS


def after(*relative_ms: int) -> float:
    """The target in ms after the longest relative delays of so many half seconds."""
    target, at = Target(), 0
    for each in relative_ms:
        for _ in range(26):
            target.update(at, each * MS)
            at += 20 * MS
    target.update(at, 0)
    return target.ns / MS


def test_the_target_is_one_bucket_more_than_the_percentile() -> None:
    assert Target().ns == 80 * MS
    assert after(0) == 20.0
    assert after(45) == 60.0
    # The first two count alone; of two equal samples 45 ms is more than 5 %.
    assert after(0, 0, 45, 0) == 60.0
    # One in forty is less than 5 %: forgotten.
    assert after(45, *([0] * 60)) == 20.0


def test_what_cannot_be_registered_leaves_the_target_alone() -> None:
    assert after(0, 2500) == after(0)


def test_a_quiet_path_waits_for_one_frame_and_loses_none() -> None:
    heard = neteq(SENT, np.full(SENT.size, 30 * MS))
    assert heard.played.all()
    # Playing begins at once and is drawn out towards 80 ms; then 20 ms would do, up to 40 are let be.
    assert 20.0 < heard.wait_ns / MS < 45.0


def test_jitter_below_the_target_makes_nothing_late_and_beyond_it_little() -> None:
    rng = np.random.default_rng(7)
    small = neteq(SENT, 30 * MS + rng.integers(0, 18 * MS, SENT.size))
    assert small.late.sum() == 0
    large = neteq(SENT, 30 * MS + rng.integers(0, 90 * MS, SENT.size))
    assert large.late.mean() < 0.02
    # From sending to playing: mean delays of 75 and 39 ms, and the wait.
    assert large.wait_ns + 75 * MS > small.wait_ns + 39 * MS + 20 * MS


def test_a_growing_queue_is_followed_up_and_an_emptying_one_down() -> None:
    ramp = np.linspace(30, 430, SENT.size) * MS
    up, down = neteq(SENT, ramp.astype(np.int64)), neteq(SENT, ramp[::-1].astype(np.int64))
    assert up.late.mean() < 0.02
    assert down.late.sum() == 0
    assert down.wait_ns < 200 * MS, "what was waited for when the queue was full is caught up"


def test_losses_are_losses_and_nobody_waits_for_them() -> None:
    delay = np.full(SENT.size, 30 * MS)
    delay[[0, 100, 101]] = -1
    heard = neteq(SENT, delay)
    assert np.flatnonzero(heard.erased).tolist() == [0, 100, 101]
    assert heard.late.sum() == 0
    assert not neteq(SENT, np.full(SENT.size, -1)).played.any()
    with pytest.raises(ValueError, match="do not agree"):
        neteq(SENT, delay[1:])
