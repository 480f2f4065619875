"""The page of one case on one link: its figures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import polars as pl

from sojourn.report.files import Picture
from sojourn.report.sections import Table
from sojourn.report.suite import drawn
from sojourn.report.suite.rows import ALL, setting_of
from sojourn.results import Results
from sojourn.results.interval import half_width
from sojourn.sweep.suites import Expanded

_MOST_SETTINGS = 4


def pictures(expanded: Expanded, table: pl.DataFrame, results: Results) -> Iterator[tuple[Picture, str]]:
    """Iterate over the figures of a case, with how to read each."""
    prefix = f"case-{expanded.case.name.replace('.', '-')}"
    settings = table["setting"].unique(maintain_order=True).to_list()
    whole = table.filter(pl.col("phase") == "")
    if len(settings) <= _MOST_SETTINGS:
        for setting in settings:
            here = whole.filter(pl.col("setting") == setting)
            named = f" ({setting})" if setting else ""
            panels = _points(here)
            if panels:
                title = f"Goodput and queueing delay{named}"
                figure = drawn.ellipses(panels, title)
                yield (
                    drawn.picture(figure, f"{prefix}-ellipses-{settings.index(setting)}", title),
                    _READ_ELLIPSES,
                )
    else:
        yield from _over_settings(expanded, whole, settings, prefix)
    found = _distributions(expanded, results)
    if found:
        title = "Distributions" + ("" if len(settings) == 1 else ", all settings together")
        figure = drawn.distributions(
            found, ["Queueing delay (ms)", "Goodput of samples (Mbit/s)", "Drop interval (ms)"], title
        )
        yield drawn.picture(figure, f"{prefix}-distributions", title), _READ_DISTRIBUTIONS


_READ_ELLIPSES = (
    "A small mark is a run. The line is the one-sigma contour of the maximum-likelihood Gaussian of the "
    "runs of a scheme, the ring stands at their medians; fewer than three runs have no contour. "
    "Up and left is better."
)
_READ_DISTRIBUTIONS = (
    "All traffic at the bottleneck: queueing delay by packet, goodput by sample of ten base round trips, and "
    "the time between drops. Each quantile is the mean of that quantile over the runs."
)


def _points(table: pl.DataFrame) -> dict[str, dict[str, drawn.Points]]:
    """Return delays and goodputs by class and scheme; all traffic where a case has no classes."""
    classes = [name for name in table["class"].unique(maintain_order=True).to_list() if name != ALL] or [ALL]
    links = table["at"].unique(maintain_order=True).to_list()
    found: dict[str, dict[str, drawn.Points]] = {}
    for name in classes:
        for link in links:
            here = table.filter(pl.col("class") == name, pl.col("at") == link).drop_nulls("queue_delay_ms")
            if not here.height or (len(links) == 2 and {"down", "up"} == set(links) and name != link):
                continue
            panel = name if len(links) == 1 or name == link else f"{name} at {link}"
            found[panel] = {
                scheme: (
                    rows["queue_delay_ms"].to_list(),
                    (rows["goodput_bps"] / 1e6).to_list(),
                )
                for (scheme,), rows in here.group_by("scheme", maintain_order=True)
            }
    return found


def _over_settings(
    expanded: Expanded, table: pl.DataFrame, settings: Sequence[str], prefix: str
) -> Iterator[tuple[Picture, str]]:
    """Draw the ratio of goodputs, and goodput and loss of each class, over the axis of the case."""
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

    if len(expanded.case.classes) == 2:
        first, second = expanded.case.classes
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
        yield (
            drawn.picture(figure, f"{prefix}-ratio", title),
            (
                "Cumulative mean goodput over the measured time, means over runs. A ratio of 1 is equal "
                "shares; the RFC names no other target."
            ),
        )


def _mean(table: pl.DataFrame, scheme: str, setting: str, name: str, column: str) -> float | None:
    here = table.filter(pl.col("scheme") == scheme, pl.col("setting") == setting, pl.col("class") == name)[
        column
    ].drop_nulls()
    return float(here.mean()) if len(here) else None  # type: ignore[arg-type]


def _distributions(expanded: Expanded, results: Results) -> dict[str, dict[str, list[float]]]:
    """Return the quantile functions of all traffic by scheme, mean over runs."""
    axis, scheme_of = expanded.case.queues[0].key, expanded.scheme_of
    kinds = {
        "Queueing delay": ("queue_delay_ms_cdf", 1.0),
        "Goodput": ("goodput_bps_cdf", 1e-6),
        "Drop intervals": ("drop_interval_ms_cdf", 1.0),
    }
    taken: dict[str, dict[str, list[list[float]]]] = {name: {} for name in kinds}
    for result in results:
        traffic = next(iter(result["traffic"].values()))["all"]
        for name, (key, scale) in kinds.items():
            if traffic[key]:
                runs = taken[name].setdefault(scheme_of[result["point"][axis]], [])
                runs.append([value * scale for value in traffic[key]])
    return {
        name: {scheme: [fmean(step) for step in zip(*runs, strict=True)] for scheme, runs in schemes.items()}
        for name, schemes in taken.items()
        if schemes
    }


def numbers(table: pl.DataFrame) -> Table:
    """Return goodput, delay, loss and variation of every class and scheme, with intervals over runs."""
    heads = [
        "Setting",
        "At",
        "Class",
        "Scheme",
        "Runs",
        "Goodput (Mbit/s)",
        "Queueing delay (ms)",
        "95th percentile (ms)",
    ]
    heads += ["Loss (%)", "Variation of goodput"]
    rows = []
    keys = ["setting", "at", "class", "scheme"]
    for key, cell in table.filter(pl.col("phase") == "").group_by(keys, maintain_order=True):
        rows.append(
            [
                *map(str, key),
                str(cell.height),
                with_interval(cell["goodput_bps"], 1e-6),
                with_interval(cell["queue_delay_ms"]),
                with_interval(cell["queue_delay_p95_ms"]),
                with_interval(cell["loss"], 100),
                with_interval(cell["goodput_cov"]),
            ]
        )
    if not any(row[0] for row in rows):
        return Table(heads[1:], [row[1:] for row in rows], 3)
    return Table(heads, rows, 4)


def phases(table: pl.DataFrame) -> Table | None:
    """Return the numbers of every phase and scheme, if the case has phases."""
    found = table.filter(pl.col("phase") != "")
    if not found.height:
        return None
    rows = [
        [
            *map(str, key),
            with_interval(cell["goodput_bps"], 1e-6),
            with_interval(cell["queue_delay_ms"]),
            with_interval(cell["loss"], 100),
        ]
        for key, cell in found.group_by("phase", "scheme", maintain_order=True)
    ]
    return Table(["Phase", "Scheme", "Goodput (Mbit/s)", "Queueing delay (ms)", "Loss (%)"], rows, 2)


def completion(table: pl.DataFrame) -> Table | None:
    """Return flow completion and page load times, if the case has any."""
    found = table.filter(
        pl.col("phase") == "", pl.col("completion_s").is_not_null() | pl.col("plt_median_s").is_not_null()
    )
    if not found.height:
        return None
    rows = []
    for key, cell in found.group_by("setting", "class", "scheme", maintain_order=True):
        pages = cell["plt_median_s"].is_not_null().any()
        counted = "" if pages else str(cell["completed"].sum())
        column = "plt_median_s" if pages else "completion_s"
        what = "median page load" if pages else "mean completion"
        rows.append([*map(str, key), what, counted, with_interval(cell[column])])
    return Table(["Setting", "Class", "Scheme", "What", "Flows", "Time (s)"], rows, 4)


def parameters(expanded: Expanded, results: Results) -> Table:
    """Return what was run, as a table of two columns."""
    points = expanded.study.points
    document = points[0].document
    rows = [
        ["Case", f"{expanded.case.name}, {expanded.case.title} ({expanded.case.weight})"],
        ["Link", expanded.link.name],
        ["Buffer", f"{expanded.buffer_pkts} packets"],
        ["Runs", f"{len(list(results))} of {len(points)}"],
        ["Seeds", f"seed {points[0].seed}, replications 0 to {max(point.replication for point in points)}"],
        ["Duration", f"{document['duration']}, of which {document['warmup']} are left out"],
    ]
    for scheme in expanded.schemes:
        given = ", ".join(f"{key} = {value}" for key, value in scheme.queue.items() if key != "kind")
        rows.append([f"Scheme {scheme.name}", f"{scheme.queue['kind']}{', ' + given if given else ''}"])
    for group in document.get("flows") or ():
        tcp = () if group["transport"] == "udp" else ("initial-window", "mss", "rtt")
        own = {key: group[key] for key in ("count", "transport", *tcp, "start", "stop") if key in group}
        own |= {"source": ", ".join(f"{key} {value}" for key, value in group["source"].items())}
        words = ", ".join(f"{key} {value}" for key, value in own.items())
        rows.append([f"Flows {group.get('name', '')}", words])
    for users in document.get("users") or ():
        rows.append([f"Users {users.get('name', '')}", f"{users['kind']}, {users['count']}"])
    return Table(["What", "Value"], rows, 2)


def with_interval(values: pl.Series, scale: float = 1.0) -> str:
    """Return a mean and half its 95 % interval over runs (Student's t), as far as there are any."""
    found = [float(value) * scale for value in values.drop_nulls()]
    if not found:
        return "–"
    half = half_width(found)
    middle = fmean(found)
    return f"{_short(middle)} ± {_short(half)}" if half is not None else _short(middle)


def _short(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def setting_names(expanded: Expanded) -> list[str]:
    """Return the settings of a case in the order of its study."""
    return list(dict.fromkeys(setting_of(expanded, point.labels) for point in expanded.study.points))


def told(found: Mapping[str, Any]) -> str:
    """Return plain values as words."""
    return ", ".join(f"{key} {value}" for key, value in found.items())
