"""What a report draws of a study that asks for no figures: every user's score, delay, utilisation and loss.

The axes of the sweep decide how. Over an axis of numbers there are lines with intervals, over one of names
points; a second axis has one line for each of its labels, or makes a heatmap where there is no number to run
over; any other axis has a panel for each of its labels. What has the same unit shares its axes in small
multiples: the two directions of a call, both links. Without any axis there are the distributions, and the
table of the points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import polars as pl

from sojourn.errors import SojournError
from sojourn.losses.default_figures import CAPTURED
from sojourn.report.figures.gather import MOST_PANELS, gather
from sojourn.report.figures.kinds import responsiveness
from sojourn.report.figures.plot import Plot, Spec
from sojourn.report.figures.values import numbers_of, upper
from sojourn.results.path import look_up

Places = Callable[[str], tuple[dict[str, float], str] | None]
"""Where the labels of an axis stand if their own numbers do not say, and in which unit."""

MOST_LINES = 8


@dataclass(frozen=True)
class Shown:
    """Numbers that share a picture: what they are together, what one of them is of, and their paths."""

    title: str
    each: str
    paths: tuple[str, ...]


SCORES = (
    Shown("Voice: median MOS", "each direction", ("voice.talks.mos.median", "voice.listens.mos.median")),
    Shown("Web pages: median MOS", "", ("web.mos.median",)),
    Shown("Median page load time", "each kind of user", ("web.plt_s.median", "browser.plt_s.median")),
    Shown("Video: median SSIM", "", ("video.ssim.median",)),
    Shown("Page of today: largest paint, 75th percentile", "", ("page.largest_paint_s.p75",)),
    Shown("Page of today: median load time", "", ("page.load_s.median",)),
    Shown("Video call: rate", "each direction", ("call.sends.picture_kbps", "call.receives.picture_kbps")),
    Shown("Video call: time frozen", "each direction", ("call.sends.frozen", "call.receives.frozen")),
    Shown(
        "Video call: delay of pictures, 95th percentile",
        "each direction",
        ("call.sends.delay_ms.p95", "call.receives.delay_ms.p95"),
    ),
    Shown(
        "Video call: median SSIM", "each direction", ("call.sends.ssim.median", "call.receives.ssim.median")
    ),
    Shown("Adaptive video: average rate", "", ("adaptive.average_rate_kbps",)),
    Shown("Adaptive video: clients that stalled", "", ("adaptive.clients_stalled_pct",)),
    Shown("Adaptive video: median wait for the first picture", "", ("adaptive.startup_delay_ms.median",)),
    Shown("Adaptive video: instability", "", ("adaptive.instability",)),
    Shown("Live video: latency, 95th percentile", "", ("adaptive.live.latency_s.p95",)),
    Shown("Pages abandoned", "", ("browser.abandoned",)),
    Shown(
        "Responsiveness",
        "each kind of probe",
        ("responsiveness.rpm.median", "responsiveness.foreign_rpm.median", "responsiveness.self_rpm.median"),
    ),
    Shown("Online game: ticks too late", "", ("gaming.late.mean",)),
    Shown("Streamed game: median MOS", "", ("cloud-gaming.mos.median",)),
)
"""Every user's score."""


def links_of(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the links, in the order of the first result."""
    return list(dict.fromkeys(link for result in results for link in result.get("links") or ()))


def score_paths(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths of the users' scores that the results have."""
    return [path for shown in SCORES for path in shown.paths if _there(results, path)]


def default_figures(
    results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]], places: Places | None = None
) -> tuple[list[Plot], list[str]]:
    """Gather the tables of the figures that a study has by default.

    Parameters
    ----------
    results
        The results of the study.
    axes
        Its axes, with their labels.
    places
        Where the labels of an axis stand that are numbers of different units.

    Returns
    -------
    tuple
        The tables, and a clause for each figure that could not be made.
    """
    places = places or (lambda _: None)
    several = {axis: labels for axis, labels in axes.items() if len(labels) > 1}
    plots: list[Plot] = []
    left_out: list[str] = []
    x, y = _axes(several, places)
    each = "each link"
    by_link = [
        Shown("Utilisation", each, tuple(f"links.{link}.utilisation" for link in links_of(results))),
        Shown("Loss", each, tuple(f"links.{link}.loss" for link in links_of(results))),
        Shown(
            "Queueing delay, 95th percentile",
            each,
            tuple(f"links.{link}.queue_delay_ms.p95" for link in links_of(results)),
        ),
    ]
    goodput = [Shown("Background connections: goodput", "", ("flows.goodput_bps",))]
    goodput = goodput if any(look_up(result, "flows.goodput_bps") for result in results) else []
    for shown in (*SCORES, *by_link, *goodput) if several else ():
        there = [path for path in shown.paths if _there(results, path)]
        if shown.paths[0] == responsiveness.SCORE:  # a kind of its own, which has the halves too
            specs = [Spec(responsiveness.Responsiveness.name, path, x=x or None) for path in there[:1]]
        else:
            specs = [_spec(path, several, places) for path in there]
        _add(plots, left_out, shown, specs, results, axes, places)
    cdfs = [f"links.{link}.queue_delay_cdf" for link in links_of(results)]
    # A link that carried nothing has no curve.
    carried = [path for path in cdfs if any(look_up(result, f"{path}.ms") for result in results)]
    curves = [Spec("curves", path, y=x or y or None) for path in carried]
    _add(
        plots, left_out, Shown("Distribution of the queueing delay", each, ()), curves, results, axes, places
    )
    for entry in CAPTURED:
        if _there(results, entry["value"]):
            _add(plots, left_out, Shown(entry["title"], "", ()), [Spec.read(entry)], results, axes, places)
    return plots, left_out


def together(plots: Sequence[Plot], shown: Shown) -> Plot:
    """Put figures of one unit into one, with a panel for each: small multiples that share their axes."""
    first = plots[0]
    common = _common([plot.value.path.split(".") for plot in plots])
    called = [plot.value.name.partition(":")[0] for plot in plots]
    frames = [
        plot.frame.with_columns(panel=pl.lit(f"{who}, ") + pl.col("panel")).with_columns(
            pl.col("panel").str.strip_suffix(", ")
        )
        for who, plot in zip(called, plots, strict=True)
    ]
    # What is to be compared stands side by side: both links under one load, both directions of a call.
    order = dict.fromkeys(panel for plot in plots for panel in plot.panels)
    panels = [
        f"{who}, {panel}".removesuffix(", ")
        for panel in order
        for who, plot in zip(called, plots, strict=True)
        if panel in plot.panels
    ]
    name = first.value.name.partition(": ")[2]
    shared = replace(first.value, path=common, name=upper(name), phrase=name)
    others = any(panel for plot in plots for panel in plot.panels)
    return replace(
        first,
        spec=replace(first.spec, title=shown.title),
        value=shared,
        panels=panels,
        frame=pl.concat(frames, how="vertical_relaxed"),
        points={},
        panels_are=shown.each + (" and each of the other settings" if others else ""),
    )


def _common(paths: Sequence[Sequence[str]]) -> str:
    """Return what paths have in common, with a star for what they have not."""
    if len(set(map(len, paths))) == 1:
        return ".".join(parts[0] if len(set(parts)) == 1 else "*" for parts in zip(*paths, strict=True))
    # Names of access links have a dot more than those of the path.
    before, after = (
        [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*ways, strict=False))]
        for ways in (paths, [path[::-1] for path in paths])
    )
    return ".".join([*before, "*", *after[::-1]])


def _add(
    plots: list[Plot],
    left_out: list[str],
    shown: Shown,
    specs: Sequence[Spec],
    results: Sequence[Mapping[str, Any]],
    axes: Mapping[str, list[str]],
    places: Places,
) -> None:
    """Gather the parts of a figure; one that cannot be made costs only itself."""
    found = []
    for spec in specs:
        try:
            plot = gather(spec, results, axes)
        except SojournError as error:
            left_out.append(f"“{shown.title}” is not drawn: {error}")
            continue
        stand = None if numbers_of(plot.x_labels) is not None else places(plot.x)
        found.append(replace(plot, x_at=stand[0], x_unit=stand[1]) if stand else plot)
    if len(found) > 1 and sum(len(plot.panels) for plot in found) <= MOST_PANELS:
        found = [together(found, shown)]
    elif len(found) == 1:
        found = [replace(found[0], spec=replace(found[0].spec, title=shown.title))]
    else:
        titles = [f"{shown.title}, {plot.value.name.partition(':')[0].lower()}" for plot in found]
        found = [
            replace(plot, spec=replace(plot.spec, title=title))
            for plot, title in zip(found, titles, strict=True)
        ]
    plots += found


def _spec(path: str, several: Mapping[str, list[str]], places: Places) -> Spec:
    x, y = _axes(several, places)
    numeric = _numeric(x, several, places)
    lines = not y or (numeric and len(several[y]) <= MOST_LINES)
    return Spec("lines" if lines else "heatmap", path, x=x, y=y or None)


def _axes(several: Mapping[str, list[str]], places: Places) -> tuple[str, str]:
    """Return the axis across, of numbers if there is one, a buffer before others, and the one beside it."""
    order = sorted(
        several,
        key=lambda axis: (
            _numeric(axis, several, places),
            axis.endswith("queue.limit"),
            len(several[axis]),
        ),
        reverse=True,
    )
    x = order[0] if order else ""
    # The more lines a panel has, as long as they can be told apart, the fewer panels there are.
    fits = [axis for axis in order[1:] if len(several[axis]) <= MOST_LINES]
    rest = sorted(fits or order[1:], key=lambda axis: len(several[axis]), reverse=True)
    return x, rest[0] if rest else ""


def _numeric(axis: str, several: Mapping[str, list[str]], places: Places) -> bool:
    return bool(axis) and (numbers_of(several[axis]) is not None or places(axis) is not None)


def _there(results: Sequence[Mapping[str, Any]], path: str) -> bool:
    return any(look_up(result, path) is not None for result in results)
