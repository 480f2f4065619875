"""The tables of a suite's case: what was run, numbers, response of senders, harm, completion, phases."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10
from statistics import fmean
from typing import Any

import polars as pl

from sojourn.errors import counted
from sojourn.report.sections import Table
from sojourn.report.suite.checks import Check
from sojourn.report.suite.rows import setting_of
from sojourn.report.suite.view import View
from sojourn.results.excess import WHY
from sojourn.results.interval import half_width
from sojourn.study.point import Point
from sojourn.study.suites import Scheme
from sojourn.study.units import written


def parameters(view: View) -> Table:
    """Return what was run, as a table of two columns."""
    expanded, document = view.expanded, view.document
    points = expanded.study.points
    case, link = expanded.case, expanded.study.points[0].document["path"]
    wanted = [point for point in points if not view.label or str(point.labels[case.each]) == view.label]
    seeds = max(point.replication for point in points) + 1
    buffer = counted(expanded.buffer_pkts, "packet")
    rows = [
        ["Case", f"{view.name}, {view.title} ({case.weight})"],
        ["Topology", _topology(link)],
        ["Link", f"{expanded.link.name}: rate and base round trip of the suite"],
        ["Buffer", f"{buffer}, the same for all schemes without a limit of their own"],
        ["Runs", f"{len(view.results)} of {len(wanted)}"],
        ["Seeds", f"{seeds} of each cell: seed {points[0].seed}, {_replications(seeds)}"],
        ["Duration", f"{document['duration']}, of which {document['warmup']} are left out"],
    ]
    queues = {}
    for point in points:
        label = expanded.scheme_of[point.labels[case.queues[0].key]]
        queues.setdefault(label, _at(point.document, case.queues[0].key))
    for scheme in expanded.schemes:
        rows.append([f"Scheme {scheme.name}", _queue(scheme, queues[scheme.name])])
    if expanded.sets:
        rows.append(["Changed by --set", ", ".join(f"{key}={value}" for key, value in expanded.sets)])
    rows += _traffic(view, wanted)
    return Table(["What", "Value"], rows, 2)


def _traffic(view: View, points: Sequence[Point]) -> Iterator[list[str]]:
    """Iterate over the rows of flows and users; where settings differ, a row for each kind that there is."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    every = dict.fromkeys(setting_of(view.expanded, point.labels) for point in points)
    for point in points:
        setting = setting_of(view.expanded, point.labels)
        for name, words in _groups(point.document):
            found.setdefault(name, {}).setdefault(words, {})[setting] = None
    for name, kinds in found.items():
        if len(kinds) > _MOST_KINDS:
            yield [
                name,
                f"{next(iter(kinds))}; so in {next(iter(next(iter(kinds.values()))))}, others differ",
            ]
            continue
        for words, settings in kinds.items():
            yield [name, words + (f" (in {', '.join(settings)})" if len(settings) < len(every) else "")]


_MOST_KINDS = 6


def _groups(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Iterate over the flows and users of a scenario: what they are called, and what they are."""
    for group in document.get("flows") or ():
        tcp = () if group["transport"] == "udp" else ("initial-window", "mss", "rtt")
        own = {key: group[key] for key in ("count", "transport", *tcp, "start", "stop") if key in group}
        own |= {"source": ", ".join(f"{key} {_plain(value)}" for key, value in group["source"].items())}
        yield f"Flows {group.get('name', '')}", ", ".join(f"{key} {value}" for key, value in own.items())
    for users in document.get("users") or ():
        yield f"Users {users.get('name', '')}", f"{users['kind']}, {users['count']}"


_COLUMNS = {
    "Goodput (Mbit/s)": ("goodput_bps", 1e-6),
    "Queueing delay (ms)": ("queue_delay_ms", 1.0),
    "95th percentile (ms)": ("queue_delay_p95_ms", 1.0),
    "Loss (%)": ("loss", 100.0),
    "Oscillation (CoV of goodput)": ("goodput_cov", 1.0),
    "Largest cut in a round trip (%)": ("largest_cut", 100.0),
    "Largest rise (Mbit/s)": ("largest_rise_bps", 1e-6),
    "Flows that lose in a loss event (%)": ("synchronisation", 100.0),
    "Harm to goodput": ("harm_goodput", 1.0),
    "Harm to queueing delay": ("harm_delay", 1.0),
}
"""The column of the rows that each head is about, and what makes its unit of the column's."""


def _intervals(cell: pl.DataFrame, heads: Sequence[str]) -> list[str]:
    """Return what stands under some heads in the row of a cell."""
    return [with_interval(cell[column], scale) for column, scale in map(_COLUMNS.__getitem__, heads)]


def numbers(view: View) -> Table:
    """Return goodput, delay and loss of every class and scheme, with intervals over runs."""
    heads = ["Goodput (Mbit/s)", "Queueing delay (ms)", "95th percentile (ms)", "Loss (%)"]
    keys, cells = _cells(view)
    rows = [[*named, str(cell.height), *_intervals(cell, heads)] for named, cell in cells]
    return Table([*keys, "Runs", *heads], rows, len(keys))


def read_loss(table: pl.DataFrame) -> str:
    """Return what has to be said of losses; mostly nothing."""
    return f"More than 100 %: {WHY}" if table.filter(pl.col("loss") > 1).height else ""


def response(view: View) -> Table | None:
    """Return oscillation, smoothness, aggressiveness, loss synchronisation, convergence, if there are any."""
    heads = ["Oscillation (CoV of goodput)", "Largest cut in a round trip (%)", "Largest rise (Mbit/s)"]
    heads += ["Flows that lose in a loss event (%)"]
    keys, cells = _cells(view, *(_COLUMNS[head][0] for head in heads), "watched_s")
    if not cells:
        return None
    rows = [[*named, *_intervals(cell, heads)] for named, cell in cells]
    if view.table["watched_s"].is_not_null().any():
        heads.append("δ-fair convergence (s)")
        rows = [[*row, converged(cell)] for row, (_, cell) in zip(rows, cells, strict=True)]
    return Table([*keys, *heads], rows, len(keys))


def converged(cell: pl.DataFrame) -> str:
    """Return the mean time to a fair share, and in how many runs it was reached; others took longer."""
    tried = cell.filter(pl.col("watched_s").is_not_null())
    times = tried["delta_fair_s"].drop_nulls()
    if not tried.height:
        return "–"
    watched = f"{_short(float(tried['watched_s'].min()))} s"  # type: ignore[arg-type]
    if len(times) == tried.height:
        return with_interval(times)
    if not len(times):
        return f"not within {watched} in {tried.height} {_runs(tried.height)}"
    missed = tried.height - len(times)
    return f"{_short(fmean(times))} in {len(times)} {_runs(len(times))}, not within {watched} in {missed}"


def harm(view: View) -> Table | None:
    """Return the harm to the first class, against the setting in which it is alone."""
    if not view.expanded.case.solo:
        return None
    heads = ["Harm to goodput", "Harm to queueing delay"]
    keys, cells = _cells(view, "harm_goodput", "harm_delay")
    rows = [[*named, *_intervals(cell, heads)] for named, cell in cells]
    return Table([*keys, *heads], rows, len(keys)) if rows else None


def phases(view: View) -> Table | None:
    """Return the numbers of every phase and scheme, if the case has phases."""
    found = view.table.filter(pl.col("phase") != "")
    if not found.height:
        return None
    heads = ["Goodput (Mbit/s)", "Queueing delay (ms)", "Loss (%)"]
    rows = [
        [*map(str, key), *_intervals(cell, heads)]
        for key, cell in sorted(
            found.group_by("phase", "scheme", maintain_order=True),
            key=lambda item: found["phase"].unique(maintain_order=True).to_list().index(item[0][0]),
        )
    ]
    return Table(["Phase", "Scheme", *heads], rows, 2)


def completion(view: View) -> Table | None:
    """Return flow completion and page load times, if the case has any."""
    keys, cells = _cells(view, "completion_s", "plt_median_s")
    rows = []
    for named, cell in cells:
        pages = cell["plt_median_s"].is_not_null().any()
        counted = "" if pages else str(cell["completed"].sum())
        column = "plt_median_s" if pages else "completion_s"
        what = "median page load" if pages else "mean flow completion"
        rows.append([*named, what, counted, with_interval(cell[column])])
    return Table([*keys, "What", "Flows, all runs", "Time (s)"], rows, len(keys) + 1) if rows else None


def check_table(found: Sequence[Check]) -> Table | None:
    """Return checks as a table; none where there are none."""
    if not found:
        return None
    heads = ["Case", "Link", "Scheme", "What must hold", "Expected", "Found", "Verdict"]
    rows = [
        [each.case, each.link, each.scheme, each.what, each.expected, each.found, each.verdict]
        for each in found
    ]
    return Table(heads, rows, 7)


def with_interval(values: pl.Series, scale: float = 1.0) -> str:
    """Return a mean and half its 95 % interval over runs (Student's t), as far as there are any."""
    found = [float(value) * scale for value in values.drop_nulls()]
    if not found:
        return "–"
    half = half_width(found)
    middle = fmean(found)
    if half is None:
        return _short(middle)
    # As many decimals as the interval gives sense to: two figures of it, three to five of the mean.
    decimals = min(max(_decimals(half, 2), _decimals(middle, 3)), _decimals(middle, 5))
    both = (written(number, f".{decimals}f") for number in (middle, half))
    return " ± ".join(both) if half else f"{_short(middle)} ± 0"


def _cells(view: View, *any_of: str) -> tuple[list[str], list[tuple[list[str], pl.DataFrame]]]:
    """Return the heads of the columns that tell cells apart, and each cell with what stands in them.

    Of columns that are named, every row has a value in one or the other.
    """
    table = view.table.filter(pl.col("phase") == "")
    if any_of:
        table = table.filter(pl.any_horizontal(pl.col(column).is_not_null() for column in any_of))
    columns = {"setting": "Setting", "at": "At", "class": "Class", "scheme": "Scheme"}
    told = [name for name in columns if name in ("class", "scheme") or view.table[name].n_unique() > 1]
    cells = [(list(map(str, key)), cell) for key, cell in table.group_by(told, maintain_order=True)]
    return [columns[name] for name in told], cells


def _queue(scheme: Scheme, queue: Mapping[str, Any]) -> str:
    """Return the discipline with what was given first, then all other keys as they counted."""
    given = [key for key in scheme.queue if key != "kind" and key in queue]
    rest = [key for key in queue if key not in ("kind", *given)]
    words = [f"{key} {_plain(queue[key])}" for key in (*given, *rest)]
    return f"{queue['kind']}: {', '.join(words)}" if words else str(queue["kind"])


def _topology(path: Mapping[str, Any]) -> str:
    hops = path.get("hop")
    if hops:
        row = ", ".join(f"{hop['name']} {hop['down']['rate']}" for hop in hops)
        return f"several bottlenecks in a row, from the clients: {row}"
    up, down = path["up"], path["down"]
    queue = up["queue"]
    rates = f"{_rate(down)} towards the receivers, {_rate(up)} back"
    return f"dumbbell, {rates}, where the queue is {queue['kind']} of {queue.get('limit', 'no limit')}"


def _rate(link: Mapping[str, Any]) -> str:
    rate = link.get("rate")
    return rate if isinstance(rate, str) else "a rate that varies"


def _at(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return what stands under a dotted key; a part of it may be the name of a hop."""
    found: Any = document
    for part in key.split("."):
        found = (
            next(each for each in found if each.get("name") == part)
            if isinstance(found, list)
            else found[part]
        )
    return found


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            _plain(each) if key == "kind" else f"{key} {_plain(each)}" for key, each in value.items()
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _replications(count: int) -> str:
    return "replication 0" if count == 1 else f"replications 0 to {count - 1}"


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"


def _decimals(value: float, figures: int) -> int:
    """Return after how many decimals a number has so many significant figures."""
    return max(figures - 1 - floor(log10(abs(value))), 0) if value else 0


def _short(value: float) -> str:
    if value == 0:
        return "0"
    return written(value, ".3g" if abs(value) < 1000 else ".0f")
