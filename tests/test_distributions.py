"""Random sizes and times have the mean, the median and the least value that a study gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sojourn import _core


def drawn(of: str, about: dict[str, Any], count: int = 20_000) -> np.ndarray:
    stream, text = _core.Stream(1, 0, "x"), json.dumps(about)
    draw = stream.size if of == "size" else stream.time
    return np.array([draw(text) for _ in range(count)], dtype=float)


@pytest.mark.parametrize(
    ("about", "tolerance"),
    [
        ({"kind": "exponential"}, 0.03),
        ({"kind": "weibull", "shape": 0.7}, 0.04),
        ({"kind": "log-normal", "sigma": 0.8}, 0.03),
        ({"kind": "pareto", "shape": 3.0}, 0.03),
    ],
)
def test_a_distribution_given_by_its_mean_has_it(about: dict[str, Any], tolerance: float) -> None:
    # The standard error of the mean of 20 000 is 0.7 to 1 % of it here.
    assert drawn("size", {**about, "mean": "90kB"}).mean() == pytest.approx(90_000, rel=tolerance)
    assert drawn("time", {**about, "mean": "20ms"}).mean() == pytest.approx(20e6, rel=tolerance)


def test_a_distribution_given_by_its_scale_has_it() -> None:
    def of(**about: Any) -> np.ndarray:
        return drawn("size", about)

    assert np.median(of(kind="log-normal", sigma=0.8, median="90kB")) == pytest.approx(90_000, rel=0.03)
    pareto = of(kind="pareto", shape=1.5, scale="9kB")
    # The least is the scale; half are above it by 2^(1/1.5).
    assert pareto.min() == pytest.approx(9000, rel=0.001)
    assert np.median(pareto) == pytest.approx(9000 * 2 ** (1 / 1.5), rel=0.03)
    # Of a Weibull distribution 1 - 1/e are below λ.
    assert (of(kind="weibull", shape=0.7, scale="9kB") < 9000).mean() == pytest.approx(
        1 - np.exp(-1), abs=0.015
    )
    uniform = of(kind="uniform", low="2kB", high="4kB")
    assert 2000 <= uniform.min() < 2010 and 3990 < uniform.max() <= 4000
    assert uniform.mean() == pytest.approx(3000, rel=0.01)
    assert set(of(kind="fixed", value="7kB")) == {7000.0}
