"""The figures of a suite's case: ellipses, distributions, numbers over an axis, shares after a start."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from sojourn.report.files import Picture
from sojourn.report.suite import drawn
from sojourn.report.suite.rows import ALL
from sojourn.report.suite.view import View

_MOST_SETTINGS = 4

READ_ELLIPSES = (
    "A small mark is a run. The line is the one-sigma contour of the maximum-likelihood Gaussian of the "
    "runs of a scheme, the ring stands at their medians; fewer than three runs have no contour, and that of "
    "runs which hardly differ is as small as its ring. Up and left is better."
)
_READ_DISTRIBUTIONS = (
    "All traffic at the bottleneck: queueing delay by packet, goodput by sample of ten base round trips, and "
    "the time between drops; completion times of the class that is named. Each quantile is the mean of that "
    "quantile over the runs. A scheme that is missing from a panel had nothing to count there."
)
_READ_RATIO = (
    "Cumulative mean goodput over the measured time, means over runs. A ratio of 1 is equal "
    "shares; the RFC names no other target."
)
_READ_SHARES = (
    "The second flow's share of the goodput of the two, over a window of ten base round trips, mean over "
    "runs. Shares are fair inside the band, 0.45 to 0.55. A flow in slow start may pass through it and "
    "leave it again, so read the time of convergence with this figure."
)


def pictures(view: View) -> Iterator[tuple[Picture, str]]:
    """Iterate over the figures of a page, with how to read each."""
    prefix = f"case-{view.name.replace('.', '-')}"
    whole = view.table.filter(pl.col("phase") == "")
    settings = view.settings
    if len(settings) <= _MOST_SETTINGS:
        for number, setting in enumerate(settings):
            panels = _points(whole.filter(pl.col("setting") == setting), _classes(whole))
            if panels:
                named = f" ({setting})" if len(settings) > 1 else ""
                title = f"Goodput and queueing delay{named}"
                yield _ellipses(panels, f"{prefix}-ellipses-{number}", title)
    else:
        yield from _over_settings(view, whole, prefix)
    yield from _by_phase(view, prefix)
    found = _distributions(view)
    if found:
        title = "Distributions" + ("" if len(settings) == 1 else ", all settings together")
        yield (
            drawn.picture(drawn.distributions(found, title), f"{prefix}-distributions", title),
            _READ_DISTRIBUTIONS,
        )
    shares, step = _shares(view)
    if shares:
        title = "Share of the flow that came later"
        yield drawn.picture(drawn.shares(shares, step, title), f"{prefix}-shares", title), _READ_SHARES


_READ_MANY = (
    " So many schemes cannot be told apart by their looks: the settings of one discipline share one, each "
    "says its knob, and a line joins them in the order of the knob."
)


def _ellipses(panels: Mapping[str, Mapping[str, drawn.Points]], slug: str, title: str) -> tuple[Picture, str]:
    many = len({scheme for panel in panels.values() for scheme in panel}) > drawn.MOST_LOOKS
    figure = drawn.ellipses(panels, title)
    return drawn.picture(figure, slug, title), READ_ELLIPSES + (_READ_MANY if many else "")


def _classes(table: pl.DataFrame) -> list[str]:
    """Return the classes that have an ellipse each; all traffic where a case has none."""
    return [name for name in table["class"].unique(maintain_order=True).to_list() if name != ALL] or [ALL]


def _points(table: pl.DataFrame, classes: Sequence[str]) -> dict[str, dict[str, drawn.Points]]:
    """Return delays and goodputs by class and scheme."""
    links = table["at"].unique(maintain_order=True).to_list()
    found: dict[str, dict[str, drawn.Points]] = {}
    for name in classes:
        for link in links:
            here = table.filter(pl.col("class") == name, pl.col("at") == link)
            if len(links) == 2 and {"down", "up"} == set(links) and name != link:
                continue
            points = _by_scheme(here)
            if points:
                found[name if len(links) == 1 or name == link else f"{name} at {link}"] = points
    return found


def _by_scheme(table: pl.DataFrame) -> dict[str, drawn.Points]:
    return {
        str(scheme): (rows["queue_delay_ms"].to_list(), (rows["goodput_bps"] / 1e6).to_list())
        for (scheme,), rows in table.drop_nulls("queue_delay_ms").group_by("scheme", maintain_order=True)
    }


def _by_phase(view: View, prefix: str) -> Iterator[tuple[Picture, str]]:
    """Draw the ellipses of all traffic in each phase, where a case has phases."""
    found = view.table.filter(pl.col("phase") != "")
    panels = {
        str(phase): points
        for (phase,), rows in found.group_by("phase", maintain_order=True)
        if (points := _by_scheme(rows))
    }
    if panels:
        yield _ellipses(panels, f"{prefix}-phases", "Goodput and queueing delay by phase, all traffic")


def _over_settings(view: View, table: pl.DataFrame, prefix: str) -> Iterator[tuple[Picture, str]]:
    """Draw the ratio of goodputs, goodput and loss over the axis of the case, and ellipses of each class."""
    classes, settings = view.expanded.case.classes, view.settings
    schemes = table["scheme"].unique(maintain_order=True).to_list()
    labels = [setting.rpartition("=")[2] for setting in settings]

    def means(name: str, column: str, scale: float) -> dict[str, list[float | None]]:
        return {
            scheme: [
                None if (found := _mean(table, scheme, setting, name, column)) is None else found * scale
                for setting in settings
            ]
            for scheme in schemes
        }

    if len(classes) == 2:
        first, second = classes
        a, b = means(first, "goodput_bps", 1e-6), means(second, "goodput_bps", 1e-6)
        ratios = {
            scheme: [y / x if x and y else None for x, y in zip(a[scheme], b[scheme], strict=True)]
            for scheme in schemes
        }
        panels = {
            "Ratio of mean goodput, II/I": ratios,
            "Goodput of I": a,
            "Goodput of II": b,
            "Loss of II": means(second, "loss", 100),
        }
        title = "Goodput over the round trip of category II"
        figure = drawn.over_axis(
            panels, labels, "Round trip of II", ["Ratio", "Mbit/s", "Mbit/s", "Loss (%)"], title, level=1.0
        )
        yield drawn.picture(figure, f"{prefix}-ratio", title), _READ_RATIO
    # The least, the equal and the largest round trip: all others have a page of their own.
    shown = dict.fromkeys((0, len(settings) // 2, len(settings) - 1))
    panels = {
        f"{name} at {labels[place]}": points
        for place in shown
        for name, points in _points(table.filter(pl.col("setting") == settings[place]), classes).items()
    }
    if panels:
        title = "Goodput and queueing delay at the least, the middle and the largest round trip"
        yield _ellipses(panels, f"{prefix}-ellipses", title)


def _mean(table: pl.DataFrame, scheme: str, setting: str, name: str, column: str) -> float | None:
    here = table.filter(pl.col("scheme") == scheme, pl.col("setting") == setting, pl.col("class") == name)[
        column
    ].drop_nulls()
    return float(here.mean()) if len(here) else None  # type: ignore[arg-type]


def _distributions(view: View) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return quantile functions by name, axis and scheme, mean over runs."""
    kinds = {
        ("Queueing delay", "Queueing delay (ms)"): (ALL, "queue_delay_ms_cdf", 1.0),
        ("Goodput", "Goodput of samples (Mbit/s)"): (ALL, "goodput_bps_cdf", 1e-6),
        ("Drop intervals", "Drop interval (ms)"): (ALL, "drop_interval_ms_cdf", 1.0),
    }
    for name in view.expanded.case.classes:
        kinds[f"Completion times: {name}", "Flow completion time (s)"] = (name, "completion_s_cdf", 1.0)
    taken: dict[tuple[str, str], dict[str, list[list[float]]]] = {}
    for scheme, traffic in _traffic(view):
        for panel, (of, key, scale) in kinds.items():
            numbers = traffic["all"] if of == ALL else traffic["groups"].get(of, {})
            if numbers.get(key):
                runs = taken.setdefault(panel, {}).setdefault(scheme, [])
                runs.append([value * scale for value in numbers[key]])
    return {
        panel: {scheme: _steps(taken[panel][scheme]) for scheme in _order(view, taken[panel])}
        for panel in kinds
        if panel in taken
    }


def _shares(view: View) -> tuple[dict[str, list[float]], float]:
    """Return the newcomer's share over time by scheme, mean over runs, and the time between two of them."""
    taken: dict[str, list[list[float]]] = {}
    step = 0.0
    for scheme, traffic in _traffic(view) if len(view.settings) == 1 else ():
        if found := traffic.get("convergence"):
            taken.setdefault(scheme, []).append(found["share"])
            step = found["step_s"]
    return {scheme: _steps(taken[scheme]) for scheme in _order(view, taken)}, step


def _traffic(view: View) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the results: the scheme, and the traffic at the first link that the case looks at."""
    axis, scheme_of = view.expanded.case.queues[0].key, view.expanded.scheme_of
    for result in view.results:
        yield scheme_of[result["point"][axis]], next(iter(result["traffic"].values()))


def _order(view: View, found: Mapping[str, Any]) -> list[str]:
    """Return schemes in the order in which every figure has them."""
    return [scheme.name for scheme in view.expanded.schemes if scheme.name in found]


def _steps(runs: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over runs, entry by entry; runs may differ in length by the last few."""
    return [fmean(step) for step in zip(*runs, strict=False)]
