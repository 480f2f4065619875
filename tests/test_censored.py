"""Turns that the end of a capture cut get the sizes that others of their side tell."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sojourn.study.inputs.censored import completed, sizes_of


def test_a_turn_that_was_cut_gets_the_size_of_one_that_ended_beyond_what_was_seen_of_it() -> None:
    ended = np.array([1, 2, 10, 20, 30, 40])
    # Of four beyond 5 bytes a quarter each; the quantiles are 0.618, 0.236, 0.854, 0.472.
    assert sizes_of(np.array([5, 5, 5, 5]), np.array([10, 20, 30, 40])).tolist() == [30, 10, 40, 20]
    assert sizes_of(np.array([40]), ended).tolist() == [0], "none that was larger ended"
    assert sizes_of(np.array([39]), ended).tolist() == [40]
    assert sizes_of(np.array([7]), np.array([], dtype=np.int64)).tolist() == [0]
    assert sizes_of(np.array([], dtype=np.int64), ended).tolist() == []


def test_where_the_largest_were_cut_most_of_the_rest_is_not_known() -> None:
    # One in nine that were larger than 5 ended, at 10; nothing is known beyond.
    found = sizes_of(np.array([5] * 8 + [50] * 8), np.array([10]))
    assert found[8:].tolist() == [0] * 8 and sorted(set(found[:8].tolist())) in ([0], [0, 10])
    assert np.count_nonzero(found) <= 1


@given(st.lists(st.integers(1, 60), max_size=30), st.lists(st.integers(1, 60), max_size=30))
def test_sizes_are_those_of_turns_that_ended_and_more_than_was_seen(cut: list[int], ended: list[int]) -> None:
    found = sizes_of(np.array(cut, dtype=np.int64), np.array(ended, dtype=np.int64))
    for seen, size in zip(cut, found.tolist(), strict=True):
        assert size == 0 or (size > seen and size in ended)


def test_together_the_sizes_are_as_the_distribution_has_them() -> None:
    draw = np.random.default_rng(1)
    size, seen = draw.weibull(0.6, 4000) * 1e5 + 1, draw.exponential(2e5, 4000) + 1
    whole = size.astype(np.int64)
    found = sizes_of(np.minimum(whole, seen.astype(np.int64))[seen < size], whole[seen >= size])
    was = whole[seen < size][found > 0]
    assert len(was) > 0.8 * len(found)
    # Those whose size is told are the smaller ones: beyond the largest that ended nothing is known.
    known = was <= found.max()
    assert found[found > 0][known].mean() == pytest.approx(was[known].mean(), rel=0.15)


ROW = {
    "tcp": True, "quic": False, "client_opens": True, "cut": False, "a_goes_on": False, "b_goes_on": False,
    "turns": [],
}  # fmt: skip


def _turn(accepted: bool, size: int) -> dict[str, bool | int]:
    return {"accepted": accepted, "bytes": size, "wait_ns": 7, "heard": 0, "writes": 1}


def _completed(*others: dict[str, object]) -> dict[str, object]:
    """Return what becomes of a connection whose answer of 500 bytes goes on, beside others."""
    cut = {"cut": True, "b_goes_on": True, "turns": [_turn(True, 9), _turn(False, 30), _turn(True, 500)]}
    return completed(pl.DataFrame([{**ROW, **row} for row in (cut, *others)])).row(0, named=True)


def test_the_last_turn_of_an_end_that_goes_on_is_as_long_as_another_and_then_over() -> None:
    found = _completed({"turns": [_turn(False, 40), _turn(True, 800)]})
    assert [turn["bytes"] for turn in found["turns"]] == [9, 30, 800]  # type: ignore[attr-defined]
    assert not found["b_goes_on"] and found["cut"]


@pytest.mark.parametrize(
    "other",
    [
        {"turns": [_turn(True, 500)]},  # is no larger
        {"turns": [_turn(False, 800)]},  # the clients sent it
        {"client_opens": False, "turns": [_turn(True, 800)]},  # so did they here
        {"tcp": False, "turns": [_turn(True, 800)]},  # a datagram
        {"cut": True, "turns": [_turn(True, 800)]},  # nothing says that it was over
    ],
)
def test_nothing_is_told_of_a_turn_by_what_is_no_larger_one_that_ended(other: dict[str, object]) -> None:
    found = _completed(other)
    assert [turn["bytes"] for turn in found["turns"]] == [9, 30, 500]  # type: ignore[attr-defined]
    assert found["b_goes_on"]


def test_servers_that_open_connections_tell_of_what_they_send_and_quic_of_tcp() -> None:
    by_server = {"client_opens": False, "turns": [_turn(False, 800)]}
    by_quic = {"tcp": False, "quic": True, "turns": [_turn(True, 800)]}
    assert not any(_completed(other)["b_goes_on"] for other in (by_server, by_quic))
