"""What a report says beside its figures: what was run or read, its limits, how to make it again."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.errors import counted, spaced
from sojourn.report.figures.values import axis_name, lower
from sojourn.report.provenance import shipped
from sojourn.report.published import cited
from sojourn.results import Results, engines
from sojourn.results.beds import is_real
from sojourn.results.limits import by_cell
from sojourn.results.path import look_up
from sojourn.study import label_text
from sojourn.study.links import way_of
from sojourn.study.replications import AUTO, most
from sojourn.study.schema import study_schema


def study_folders(found: Results) -> list[Path]:
    """Return where published tables are looked for: beside the results, and beside the study file."""
    try:
        words = shlex.split(found.record.get("command") or "")
    except ValueError:
        words = []
    return [found.store.path, *(Path(word).parent for word in words if word.endswith(".toml"))]


def facts(
    found: Results, results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]]
) -> list[tuple[str, str]]:
    """Return terms and what is to be known of them."""
    document = found.document
    version = ("Version", f"sojourn {found.record.get('sojourn', 'unknown')}")
    command = ("Command", found.record.get("command") or "not recorded")
    if found.captured:
        packets = look_up(results[0], "engine.packets") or 0
        read = f"{spaced(packets)} {'packet' if packets == 1 else 'packets'} in front of the queue"
        named = (
            "“down” in the names of numbers, and downlink in headings: the way of the packets is not known"
        )
        return [
            ("Captures", read),
            ("Their queue", named),
            ("They last", document.get("duration") or "not known"),
            version,
            command,
        ]
    counts = [len(runs) for runs in by_cell(results).values()]
    what = "run" if any(map(is_real, results)) else "simulation"
    runs = f"{counted(len(results), what)}: {counted(len(counts), 'cell')}"
    repeat = sorted(set(counts))
    runs += f" × {repeat[0]}" if len(repeat) == 1 else f" × {repeat[0]} to {repeat[-1]}"
    runs += " replication" if repeat == [1] else " replications"
    if document.get("repeat") == AUTO:
        runs += f" (as many as the verdicts need, at most {most(document)})"
    runs += f"; {found.missing} not there yet" if found.missing else ""
    packets = sum(look_up(result, "engine.packets") or 0 for result in results)
    simulated = sum(look_up(result, "engine.simulated_s") or 0 for result in results)
    warmup = document.get("warmup")
    said = [
        ("Study", found.name),
        ("Points", runs),
        ("Swept", "; ".join(f"{axis}: {', '.join(labels)}" for axis, labels in axes.items()) or "nothing"),
        (
            "Each lasts",
            (document.get("duration") or "the default")
            + (f", of which {warmup} warm-up are not counted" if warmup else ""),
        ),
        _ran(results, packets, simulated),
        ("Seed", "see the axis seed" if "seed" in axes else _seed(found)),
        version,
        command,
    ]
    for entry in reversed(shipped(document)):
        said.insert(3, (f"“{entry.name}”", f"{entry.about}; source: {entry.source}"))
    if tag := document.get("reproduces"):
        said.insert(1, ("Reproduces", cited(tag, study_folders(found))))
    return said


def together(document: Mapping[str, Any], axes: Mapping[str, list[str]]) -> list[str]:
    """Say what changes with each axis though its labels do not name it: the ties of the study."""
    said = []
    for axis, labels in axes.items():
        swept = [_short(value) for value in (document.get("sweep") or {}).get(axis, [])]
        keys = [entry["set"] for entry in document.get("tie") or () if entry["with"] == axis]
        with_it = []
        for key, values in (pair for each in keys for pair in each.items()):
            # Points may be of some labels alone, as by --only.
            there = dict(zip(swept, map(_short, values), strict=False))
            having: dict[str, list[str]] = {}
            for label in labels:
                having.setdefault(there.get(label, "–"), []).append(label)
            if len(having) > 1:
                same = all(text == label for text, of in having.items() for label in of)
                each = ", ".join(f"{text} with {' and '.join(of)}" for text, of in having.items())
                with_it.append(f"{lower(axis_name(key))} is {'the same' if same else each}")
        if with_it:
            said.append(
                f"Along {lower(axis_name(axis))} more changes than its labels say: {'; '.join(with_it)}."
            )
    return said


def _short(value: Any) -> str:
    """Write a value of a sweep as its label: a queue by its kind."""
    return value["kind"] if isinstance(value, Mapping) and "kind" in value else label_text(value)


def limits(found: Results, results: Sequence[Mapping[str, Any]], sections: Sequence[Any]) -> list[str]:
    """Return what a reader must not take the page for, one sentence each."""
    said = _of_captures(found, results[0]) if found.captured else _of_simulations(results)
    # A time without another digit than 0 is zero, whatever its unit.
    if not found.captured and not re.search("[1-9]", "".join(map(str, _warmups(found.document)))):
        said.append("There was no warm-up: numbers have the start of the run in them, when queues are empty.")
    if any(section.picture and "mos" in str(section.picture.slug) for section in sections):
        said.append(
            "Opinion scores are models of what an average listener or reader says, not what anyone said."
        )
    if any(section.citation for section in sections):
        said.append(
            "Published numbers are medians or means as printed, mostly without spread; where ours differ, "
            "the difference is shown as it is."
        )
    if found.missing:
        are = "is" if found.missing == 1 else "are"
        said.append(
            f"{counted(found.missing, 'point')} of the study {are} missing; in a map a cell without any "
            "result is hatched, and one with fewer replications looks like any other."
        )
    for entry in shipped(found.document):
        if entry.remembered:
            said.append(f"Of “{entry.name}”, this is a choice or from memory: {entry.remembered}.")
    if len(made := engines(results)) > 1:
        said.append(f"The results were made by {len(made)} engines: {'; '.join(made)}.")
    return said + [f"{left}, and left out." for left in found.left_out()]


def _warmups(document: Mapping[str, Any]) -> list[Any]:
    """Return the warm-up of a study, or those of its axis."""
    return (document.get("sweep") or {}).get("warmup") or [document.get("warmup", "0s")]


def reproduce(found: Results, results: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Return what is the same when it is made again, and the commands, for the folder where it was run."""
    if found.captured:
        command = found.record.get("command") or "sojourn losses INGRESS EGRESS"
        version = found.record.get("sojourn", "unknown")
        says = f"The same captures and the same version (sojourn {version}) give the same numbers."
        return says, [command]
    command = found.record.get("command") or f"sojourn run {shlex.quote(found.name + '.toml')}"
    usual = (Path("results") / found.name).as_posix()
    out = found.record.get("out") or usual
    words = [command] if Path(out) == Path(usual) else [command, "--out", shlex.quote(out)]
    says = (
        "The same study and seed give the same draws; what real programs make of them never comes twice."
        if any(map(is_real, results))
        else f"The same study, seed and engine ({'; '.join(engines(results))}) give the same bytes of "
        "results on any machine."
    )
    return says, [" ".join(words), f"sojourn report {shlex.quote(out)}"]


def _of_simulations(results: Sequence[Mapping[str, Any]]) -> list[str]:
    counts = [len(runs) for runs in by_cell(results).values()]
    once = sum(count == 1 for count in counts)
    path = f"{_what_was_simulated(results)}, radio links whose rate changes"
    said = [
        f"These are runs between programs of one machine, over {path}, and hosts of their own."
        if any(map(is_real, results))
        else f"These are simulations of {path}, and hosts that take time.",
        "A verdict holds for the loads, rates and round-trip times that were run, and for no others.",
    ]
    if once == len(counts):
        what = "The one cell" if len(counts) == 1 else "Every cell"
        return [
            *said,
            f"{what} was run once, so that chance cannot be told from effect: set `repeat` to 3 or more, "
            'or to "auto", for intervals.',
        ]
    if once:
        were, have = ("was", "has") if once == 1 else ("were", "have")
        said.append(f"{once} of {len(counts)} cells {were} run once and {have} no intervals.")
    return [
        *said,
        f"{_replicated([count for count in counts if count > 1], once)} Intervals in figures are 95 % of "
        "Student's t for the mean; those of verdicts are cut to what the quantity can be, and for shares of "
        "users and counts of events no narrower than Wilson's and Garwood's. None of them knows of errors "
        "that all replications share.",
    ]


def _replicated(counts: Sequence[int], once: int) -> str:
    """Say how many replications the cells have that were not run once."""
    few, many = min(counts), max(counts)
    number = f"{few} to {many}" if few < many else f"{few}"
    if once:
        return f"The other{'s have' if len(counts) > 1 else ' has'} {number} replications."
    if len(counts) == 1:
        return f"The one cell has {number} replications."
    return f"{'Each cell has' if few == many else 'Cells have'} {number} replications."


def _what_was_simulated(results: Sequence[Mapping[str, Any]]) -> str:
    """Say what was simulated of a path, and begin to say what real ones have besides."""
    links = {link for result in results for link in result.get("links") or ()}
    if links <= {"down", "up"}:
        return "one bottleneck in each direction. Real paths have more than one queue"
    queues = sum(way_of(link) != "access" for link in links)
    return f"a path with {queues} queues. Real ones have others"


def _of_captures(found: Results, result: Mapping[str, Any]) -> list[str]:
    said = [
        "One queue was watched, for as long as the captures last: other hours and other loads may differ.",
        "The shortest wait is taken for none: a queue that never emptied looks shorter than it was.",
        "What the captures themselves have dropped is told from losses only as far as acknowledgements "
        "prove it.",
    ]
    if not any(about.get("rate_bps") for about in result["links"].values()):
        said.append("The rate of the link was not given (`--rate`), so nothing is said of its utilisation.")
    return said


def _ran(results: Sequence[Mapping[str, Any]], packets: int, seconds: float) -> tuple[str, str]:
    """Say how much was run, in which time."""
    time = spaced(seconds) if seconds >= 10 else f"{seconds:.3g}"
    much = f"{spaced(packets)} {'packet' if packets == 1 else 'packets'} in {time} s"
    if any(map(is_real, results)):
        return "Run", f"{much} between real programs, on the testbed"
    return "Simulated", f"{much} of simulated time"


def _seed(found: Results) -> str:
    """Return the seed that was used, also where the study names none."""
    seed = found.document.get("seed")
    if seed is not None:
        return str(seed)
    recorded = found.record.get("seed")
    usual = study_schema().get("properties", {}).get("seed", {}).get("default", 1)
    return f"{usual if recorded is None else recorded} (the default)"
