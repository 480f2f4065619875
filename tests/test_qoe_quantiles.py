"""Median, mean and percentiles, as results print them."""

from __future__ import annotations

import numpy as np
import pytest
from sojourn.qoe.quantiles import statistics


def test_percentiles_interpolate_between_the_values() -> None:
    found = statistics(np.arange(101.0), 4)
    assert found == {"median": 50, "mean": 50, "p5": 5, "p25": 25, "p75": 75, "p95": 95}
    assert list(found) == ["median", "mean", "p5", "p25", "p75", "p95"]
    assert statistics(np.array([0.0, 1.0]), 4)["p95"] == 0.95


def test_what_is_not_known_does_not_count() -> None:
    found = statistics(np.array([1.0, np.nan, 2.0, 6.0]), 2)
    assert (found["mean"], found["median"]) == (3.0, 2.0)
    assert set(statistics(np.array([np.nan]), 2).values()) == {None}
    assert set(statistics(np.array([]), 2).values()) == {None}


def test_values_are_rounded() -> None:
    assert statistics(np.array([1.23456]), 2)["mean"] == 1.23


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 100, 127, 128, 129, 136, 1000, 4097])
def test_they_are_those_of_numpy_to_the_last_bit(count: int) -> None:
    values = np.random.default_rng(count).lognormal(0.0, 3.0, count)
    found = statistics(np.append(values, np.nan), 17)
    # So many digits show the order in which NumPy adds.
    assert found["mean"] == round(float(values.mean()), 17)
    for name, q in {"median": 50, "p5": 5, "p25": 25, "p75": 75, "p95": 95}.items():
        assert found[name] == round(float(np.percentile(values, q)), 17)
