"""`sojourn.controller`: what every kind does after a rest and in trouble, whatever its own law."""

from __future__ import annotations

import itertools

import pytest
import sojourn

OF_LOSS = (
    *("reno", "newreno", "bic", "cubic", "cubic-rfc9438", "cubic-ns2", "compound", "compound-ns2"),
    *("ledbat", "ledbat++", "ledbat-ns2", "utp", "dctcp", "prague"),
)


@pytest.mark.parametrize("kind", OF_LOSS)
@pytest.mark.parametrize(("restart", "left"), [(5, 5.0), (12, 12.0), (20, 12.0)])
def test_a_rest_leaves_the_restart_window_and_never_a_larger_one(
    kind: str, restart: int, left: float
) -> None:
    # RFC 5681, 4.1: RW = min(IW, cwnd).
    found = sojourn.controller(kind, [{"event": "idle", "at": "9s", "restart": restart}], cwnd=12)
    assert found.cwnd.tolist() == [left]


@pytest.mark.parametrize("kind", ["bbr", "bbr3"])
def test_a_model_of_the_path_outlives_a_rest(kind: str) -> None:
    found = sojourn.controller(kind, [{"event": "idle", "at": "9s", "restart": 5}], cwnd=12)
    assert found.cwnd.tolist() == [12.0]


@pytest.mark.parametrize("kind", [*OF_LOSS, "bbr", "bbr3"])
def test_no_trouble_raises_the_window_and_none_leaves_nothing(kind: str) -> None:
    for cwnd in (1, 2, 3, 7, 100):
        for trouble in ("loss", "mark", "timeout"):
            events = [{"event": trouble, "at": f"{k}s", "in_flight": cwnd} for k in range(1, 9)]
            found = sojourn.controller(kind, events, cwnd=cwnd)
            steps = itertools.pairwise([cwnd, *found.cwnd.tolist()])
            # RFC 5681 keeps two segments.
            assert all(0 < after <= max(before, 2) for before, after in steps), (cwnd, trouble)
