"""Distributions of the error as a figure, as the passive study has them: one curve for each case."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray
from sojourn.report.figures.style import MUTED, look, save, settle, styled

_TITLES = {"utp": "µTP", "tcp": "TCP timestamps"}
_RANGE_MS = (1e-3, 10.0)


def draw(
    errors_ms: Mapping[str, Sequence[tuple[str, NDArray[np.float64]]]],
    bounds_ms: Mapping[str, float],
    stem: Path,
) -> None:
    """Draw a panel for each protocol: the share of samples over their error, and the bound of the median.

    Parameters
    ----------
    errors_ms
        By protocol (`tcp`, `utp`) cases and their absolute errors.
    bounds_ms
        By protocol, what the median is to stay below.
    stem
        The file to write, without its suffix.
    """
    shown = [protocol for protocol in _TITLES if errors_ms.get(protocol)]
    with styled():
        figure = Figure(figsize=(4.5 * len(shown), 5.2), layout="constrained")
        panels = figure.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        most = max(_RANGE_MS[1], *(2 * np.max(errors) for of in errors_ms.values() for _, errors in of))
        for axes, protocol in zip(panels, shown, strict=True):
            for index, (case, errors) in enumerate(errors_ms[protocol]):
                across = np.sort(np.maximum(errors, _RANGE_MS[0]))
                share = np.arange(1, len(across) + 1) / len(across)
                style = look(index) | {
                    "markevery": max(1, len(across) // 6),
                    "markersize": 4,
                    "linewidth": 1.3,
                }
                axes.step(across, share, where="post", label=f"{case} ({len(across)})", **style)
            bound = bounds_ms[protocol]
            axes.plot([bound, bound], [0, 0.5], color=MUTED, linewidth=1)
            axes.annotate(
                f"bound of the median, {bound:g} ms",
                (bound, 0.02),
                xytext=(3, 0),
                textcoords="offset points",
                rotation=90,
                fontsize=8,
                color=MUTED,
            )
            axes.set(xscale="log", xlim=(_RANGE_MS[0], most), ylim=(0, 1), title=_TITLES[protocol])
            axes.set_xlabel("error of the queueing delay (ms)")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            settle(axes, grid="both")
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=8, frameon=False)
        panels[0].set_ylabel("share of samples")
        save(figure, stem)
