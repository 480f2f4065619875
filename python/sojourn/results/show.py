"""Results as text: a table of the points, or all there is to know about one."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, counted
from sojourn.results import Results, beds, bounded, engine_name, engines, excess, stuck
from sojourn.results.beds import is_real
from sojourn.results.duration import duration
from sojourn.results.groups import COLUMNS, group_rows
from sojourn.results.path import flatten, look_up
from sojourn.results.sizes import ms_text, sizes
from sojourn.study import Point, expand, label_text
from sojourn.study.identity import engine
from sojourn.study.units import percent

_OF_LINK = (
    ("util", "utilisation", "percent"),
    ("loss", "loss", "percent"),
    ("queue ms", "queue_delay_ms.mean", "number"),
)
_BUSY = 0.5
"""Of a path with hops the table shows links that are used more than this, or lose packets, in some point."""
_COLUMNS = (
    ("talks MOS", "voice.talks.mos.median", "score"),
    ("listens MOS", "voice.listens.mos.median", "score"),
    ("SSIM", "video.ssim.median", "score"),
    ("PLT s", "web.plt_s.median", "score"),
    ("page load s", "page.load_s.median", "score"),
    ("largest paint s", "page.largest_paint_s.p75", "score"),
    ("call sends kb/s", "call.sends.rate_kbps.mean", "number"),
    ("call receives kb/s", "call.receives.rate_kbps.mean", "number"),
    ("receives frozen", "call.receives.frozen", "percent"),
    ("browser PLT s", "browser.plt_s.median", "score"),
    ("video kb/s", "adaptive.average_rate_kbps", "number"),
    ("instability", "adaptive.instability", "score"),
    ("stalls", "adaptive.stalls", "number"),
    ("first picture ms", "adaptive.startup_delay_ms.median", "number"),
    ("live latency s", "adaptive.live.latency_s.mean", "score"),
    ("game late", "gaming.late.mean", "percent"),
    ("streamed game MOS", "cloud-gaming.mos.median", "score"),
    ("RPM", "responsiveness.rpm.median", "number"),
)
_LEAST = 0.001
"""Smaller numbers of a table are told by this: nobody cares for the rest."""


def number_text(number: float) -> str:
    """Write a number of the table with four digits, from 1000 on as a whole one; never with an exponent.

    >>> number_text(0.0), number_text(8.8e-8), number_text(98.534), number_text(41_234.5)
    ('0', '< 0.001', '98.53', '41 234')
    """
    return f"< {_LEAST}" if 0 < number < _LEAST else ms_text(number)


_FORMATS = {"percent": percent, "number": number_text, "score": "{:.2f}".format}


def print_table(results: Results) -> None:
    """Print a row for each point: its labels and the numbers that matter most."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    rows = [(digest, result, flatten(result)) for digest, result in results.items()]
    tail = f"{results.name}: {counted(len(results), 'point')}"
    tail += f", {results.missing} not there yet" if results.missing else ""
    if not rows:
        print("; ".join([tail, *results.left_out()]))
        return
    axes = list(dict.fromkeys(axis for _, result, _ in rows for axis in result["point"]))
    links, quiet = _busy_links([flat for *_, flat in rows], [result for _, result, _ in rows])
    of_links = [
        (f"{link} {title}", f"links.{link}.{path}", kind) for link in links for title, path, kind in _OF_LINK
    ]
    columns = [*of_links, *_COLUMNS]
    shown = [column for column in columns if any(look_up(r, column[1]) is not None for _, r, _ in rows)]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("hash", *axes, "rep"):
        table.add_column(name, no_wrap=name == "hash")
    numbers = [[_number(look_up(result, path), kind) for _, path, kind in shown] for _, result, _ in rows]
    for (title, _, _), column in zip(shown, zip(*numbers, strict=True), strict=True):
        table.add_column(title, justify="right", min_width=max(map(len, column)))  # a number and its unit
    for (digest, result, _), here in zip(rows, numbers, strict=True):
        labels = (label_text(result["point"].get(axis, "")) for axis in axes)
        table.add_row(digest[:10], *labels, str(result["replication"]), *here)
    width = None if sys.stdout.isatty() else 40 + 14 * (len(axes) + len(shown))
    Console(width=width, highlight=False, markup=False).print(table)
    print_groups([result for _, result, _ in rows])
    print("; ".join([tail, *results.left_out()]))
    if quiet:
        print(f"not shown, since at most {percent(_BUSY, 0)} used and without loss: {', '.join(quiet)}")
    for label, size in _sizes([result for _, result, _ in rows], axes):
        print(f"{label}: {size}")
    said = beds.said(result for _, result, _ in rows)
    said += bounded.said([result for _, result, _ in rows], {path: title for title, path, _ in shown})
    said += [*excess.said([result for _, result, _ in rows]), *stuck.said([result for _, result, _ in rows])]
    for sentence in [*said, *_unscored(results.document, [result for _, result, _ in rows])]:
        print(sentence)
    if results.captured:
        return
    made = engines(result for _, result, _ in rows)
    print(f"made by {len(made)} engines: " if len(made) > 1 else "engine: ", "; ".join(made), sep="")


def _unscored(document: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which kinds of users, of those that a study names one by one, are in no result."""
    kinds = dict.fromkeys(user["kind"] for user in document.get("users") or () if "kind" in user)
    absent = [kind for kind in kinds if kind != "household" and not any(kind in result for result in results)]
    return (
        [f"There are no scores of users of kind {', '.join(absent)}; a longer run may have some."]
        if absent
        else []
    )


def _busy_links(flats: list[dict[str, Any]], results: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the links that a table of the points shows, and those that it leaves out."""
    links = list(dict.fromkeys(link for result in results for link in result.get("links") or ()))
    if set(links) <= {"down", "up"}:
        return links, []
    busy = [
        link
        for link in links
        if any(
            (flat.get(f"links.{link}.utilisation") or 0) > _BUSY or flat.get(f"links.{link}.loss")
            for flat in flats
        )
    ]
    return busy, [link for link in links if link not in busy]


def print_groups(results: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each group of flows in each cell, with means over replications."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    groups = list(group_rows(results))
    if not groups:
        return
    axes = list(dict.fromkeys(axis for result in results for axis in result["point"]))
    shown = [column for column in COLUMNS if any(row.numbers[column[0]] for row in groups)]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title="groups of flows", title_justify="left")
    for name in (*axes, "group", "transport", "direction"):
        table.add_column(name)
    for name in ("base RTT (ms)", "count", *(head for _, head, _ in shown)):
        table.add_column(name, justify="right")
    for row in groups:
        numbers = (row.text(path, factor) for path, _, factor in shown)
        what = (row.name, row.transport, row.direction, f"{row.base_rtt_ms:g}", str(row.flows))
        table.add_row(*row.labels, *what, *numbers)
    width = None if sys.stdout.isatty() else 100 + 16 * (len(axes) + len(shown))
    Console(width=width, highlight=False, markup=False).print(table)


def describe(results: Results, digest: str) -> str:
    """Return everything about one point: labels, command, result, scenario."""
    result = results[digest]
    point = _point(results, digest)
    lines = [f"point {digest} of {results.name}"]
    lines += [f"  {axis} = {label_text(label)}" for axis, label in result["point"].items()]
    lines += [f"  replication {result['replication']}"]
    lines += ["", "file", f"  {results.store.point_file(digest)}"]
    if results.store.packet_file(digest).is_file():
        lines += [f"  {results.store.packet_file(digest)}"]
    if not results.captured:
        lines += ["", "engine", f"  {engine_name(result['engine'])}"]
    wall_s = result["engine"].get("wall_s")
    if wall_s:
        lines += [f"  {'run' if is_real(result) else 'simulated'} in {duration(wall_s)}"]
    lines += [
        f"  {sentence}" for sentence in (*beds.said([result]), *excess.said([result]), *stuck.said([result]))
    ]
    lines += ["", "to compute it again", f"  {reproduce(results, result)}"]
    lines += limit_lines(result)
    lines += ["", "result"]
    skipped = ("study", "point", "replication")
    flat = flatten({key: value for key, value in result.items() if key not in skipped})
    width = max(map(len, flat))
    lines += [f"  {name:{width}}  {_plain(value)}" for name, value in flat.items()]
    if results.captured:
        return "\n".join(lines)
    lines += ["", "scenario"]
    if point is None:
        lines += [
            f"  not known to this engine ({engine()}) with the files that the study names as they are now"
        ]
    else:
        lines += [f"  seed = {point.seed}"]
        scenario = json.dumps(point.document, indent=2, ensure_ascii=False)
        lines += ["  " + line for line in scenario.splitlines()]
    return "\n".join(lines)


def limit_lines(result: dict[str, Any]) -> list[str]:
    """Return what the queues of a result hold at most, in every unit."""
    said = [f"  {size.link}: {size.text}" for size in sizes([result])]
    return ["", "queues hold at most", *said] if said else []


def _sizes(results: list[dict[str, Any]], axes: list[str]) -> list[tuple[str, str]]:
    """Return what buffers come to that are not written in packets: by label, in the study's order."""
    said = []
    for axis in (axis for axis in axes if axis.endswith("limit")):
        for label in dict.fromkeys(label_text(result["point"].get(axis, "")) for result in results):
            here = [result for result in results if label_text(result["point"].get(axis, "")) == label]
            if not label.endswith("pkt") and (found := sizes(here)):
                said.append((label, "; ".join(f"{size.link} {size.text}" for size in found)))
    return said


def reproduce(results: Results, result: dict[str, Any]) -> str:
    """Return the command that computes one point again, in a directory of its own; captures have one."""
    if results.captured:
        return str(results.record["command"])
    only = [*result["point"].items(), ("replication", result["replication"])]
    words = [word for axis, label in only for word in ("--only", f"{axis}={label_text(label)}")]
    return f"{results.record['command']} {shlex.join(words)} --out reproduced"


def _point(results: Results, digest: str) -> Point | None:
    folder, testbed = Path(results.record.get("folder", ".")), results.record.get("testbed")
    try:
        for auto in ("pesq", "emodel"):
            for each in expand(_replicated(results), results.name):
                point = Point.settle(each, auto=auto, folder=folder)
                if testbed is not None:
                    point = point.on_testbed(testbed)
                if point.hash == digest:
                    return point
    except (_core.StudyError, SojournError, RuntimeError):
        pass
    return None


def _replicated(results: Results) -> dict[str, Any]:
    """Return the study with as many replications as there are; those of "auto" are known only now."""
    most = max((entry["replication"] for entry in results.record["points"]), default=0)
    return {**results.document, "repeat": most + 1}


def _number(value: Any, kind: str) -> str:
    return "–" if value is None else _FORMATS[kind](value)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
