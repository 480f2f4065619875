"""Distribution functions: the share of observations that are at most so large."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sojourn.report.figures.kinds.kind import Kind, is_number, one_for_each
from sojourn.report.figures.panels import layout
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.style import look, settle


class Cdf(Kind):
    """The distribution of a value, or of the entries of one that is a list, over points and replications."""

    name = "cdf"
    pooled = True

    def rows(self, spec: Spec, found: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Yield a row for each observation."""
        numbers = [n for item in found for n in (item if isinstance(item, list) else [item]) if is_number(n)]
        yield from ({"value": float(number)} for number in sorted(numbers))

    def draw(self, plot: Plot) -> Figure:
        """Draw one step curve for each label of y."""
        with layout(plot, x_title=plot.value.title, y_title="Share of observations (%)", panels=[""]) as (
            figure,
            panels,
        ):
            axes, _ = panels[0]
            for index, y in enumerate(plot.y_labels):
                numbers = np.sort(plot.frame.filter(pl.col("y") == y)["value"].to_numpy()) * plot.value.factor
                if not numbers.size:
                    continue
                share = np.arange(1, numbers.size + 1) / numbers.size * 100
                style = look(index)
                axes.step(
                    np.concatenate([numbers[:1], numbers]),
                    np.concatenate([[0.0], share]),
                    where="post",
                    label=f"{y} (n = {numbers.size})" if y else None,
                    color=style["color"],
                    linestyle=style["linestyle"],
                )
            axes.set_ylim(0, 101)
            settle(axes, grid="both")
        return figure

    def explain(self, plot: Plot) -> str:
        """Say what a curve is."""
        curve = one_for_each(plot.down, "curve")
        return (
            f"A curve is the share of observations whose {plot.value.phrase} is at most that below it{curve}"
        )
