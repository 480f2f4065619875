"""Losses over hours and years: what a series of nearly empty bins says is what the full array says."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import polars as pl
import pytest
from sojourn.losses import Period, analyse, sparse
from sojourn.losses.independence import independence
from sojourn.losses.scaling import scaling
from sojourn.losses.utilisation import utilisation
from sojourn.results.packet_log import schema


def events(bins: int, count: int, seed: int) -> np.ndarray:
    """Return places of losses: bursts of a few bins."""
    random = np.random.default_rng(seed)
    return (random.integers(0, bins - 9, count)[:, None] + random.integers(0, 9, (count, 4))).ravel()


def close(one: object, other: object, place: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key in one:
            close(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), place
        for at, pair in enumerate(zip(one, other, strict=True)):
            close(*pair, f"{place}[{at}]")
    elif one is None or other is None:
        assert one is other, place
    else:
        assert one == pytest.approx(other, rel=1e-8, abs=1e-10), place


@pytest.mark.parametrize("bins", [300_001, 262_144])
def test_a_sparse_series_says_what_the_full_one_says(monkeypatch: pytest.MonkeyPatch, bins: int) -> None:
    places = events(bins, 300, 5)
    full = sparse.counted(places, bins)
    monkeypatch.setattr(sparse, "LONGEST", 20_000)
    few = sparse.counted(places, bins)
    assert isinstance(full, np.ndarray) and isinstance(few, sparse.Sparse)
    assert np.array_equal(few[1000:90_000], full[1000:90_000])
    one, other = scaling(full, 40_000_000), scaling(few, 40_000_000)
    listed = one["over_time"]["start_s"]
    kept = [at for at, start in enumerate(listed) if full[int(start * 1000) :][:60_000].any()]
    assert kept, "windows with losses are compared"
    for key in ("start_s", "log2_energy"):
        one["over_time"][key] = [one["over_time"][key][at] for at in kept]
    close(one, other)
    # Long lags reach over several blocks.
    close(independence(full, 30_000, 60_000), independence(few, 30_000, 60_000))


def log_of(places_ns: list[int], lost: list[bool]) -> pl.LazyFrame:
    rows = len(places_ns)
    return pl.DataFrame(
        {
            "link": ["down"] * rows,
            "packet": range(rows),
            "flow": [0] * rows,
            "kind": ["data"] * rows,
            "size_bytes": [1500] * rows,
            "arrive_ns": places_ns,
            "depart_ns": [None if gone else at for at, gone in zip(places_ns, lost, strict=True)],
            "drop_cause": ["unknown" if gone else None for gone in lost],
            "backlog_pkts": [0] * rows,
            "backlog_bytes": [0] * rows,
            "seq": range(rows),
        },
        schema=schema(),
    ).lazy()


@pytest.mark.parametrize("seconds", [34 * 3600, 55 * 365 * 86_400], ids=["34-hours", "55-years"])
def test_memory_follows_the_packets_and_not_the_calendar(seconds: int) -> None:
    step = seconds * 10**9 // 4
    log = log_of([step * k for k in range(5)], [False, True, False, True, False])
    tracemalloc.start()
    found = analyse(log, Period(0, 4 * step + 1), link="down", rate_bps=1e6, rtt_ns=40_000_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 400e6
    assert (found["packets"], found["lost_pkts"]) == (5, 2)
    assert found["utilisation"]["bins"] == seconds
    # The packet that leaves in the very last nanosecond begins no whole second.
    assert found["utilisation"]["throughput_bps"] == pytest.approx(2 * 12_000 / seconds)
    assert found["scaling"]["independence"]["windows"] == 2


def test_utilisation_of_seconds_nearly_all_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [int(second * 1e9) for second in np.random.default_rng(3).uniform(0, 900, 600)]
    log, period = log_of(sorted(at), [False] * 600), Period(0, 900 * 10**9)
    full = utilisation(log, period, 1e5)
    monkeypatch.setattr(sys.modules[utilisation.__module__], "LONGEST", 100)
    few = utilisation(log, period, 1e5)
    assert full["quantiles"]["p95"] > 0
    close(full, few)
