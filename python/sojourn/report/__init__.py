"""The report of a study: one page that stands by itself, and its figures as files."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.losses.findings import judge
from sojourn.report import html
from sojourn.report.answer import answer
from sojourn.report.figures import Plot, labels_of
from sojourn.report.files import Files
from sojourn.report.film_strip import film_sections
from sojourn.report.listening import SECONDS, Listening, listen
from sojourn.report.published import cited
from sojourn.report.sections import gather_all, inside, points_table, scalar_paths, section, viewing
from sojourn.results import Results, engines, open_results
from sojourn.results.atomic import writing
from sojourn.results.path import look_up
from sojourn.study import label_text

__all__ = ["write_report"]

_MOST_ROWS = 600


def write_report(results_dir: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write ``report.html`` and ``figures/`` from results.

    The same results give the same bytes. Nothing is written when a figure cannot be drawn.

    Parameters
    ----------
    results_dir
        A results directory.
    out
        The directory to write to, in place of the results directory itself.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    SojournError
        The directory holds no study or no results, or a figure names a number that no result has (of a study
        that is not finished, such figures are left out).
    """
    found = open_results(results_dir)
    results = list(found)
    if not results:
        raise SojournError(f"{found.store.path} holds no finished points yet; run its study first")
    axes = labels_of(entry["point"] for entry in found.record["points"])
    entries = found.document.get("figures") or []
    plots, left_out = gather_all(entries, results, axes, unfinished=found.missing > 0)
    target = Path(out) if out is not None else found.store.path
    worst, link = _worst(results, plots)
    where = ", ".join(label_text(label) for label in worst["point"].values()) or "the one point"
    findings, not_judged = judge(found.document, results)
    with writing(target):
        files = Files(target / "figures")
        folders = _study_folders(found)
        sections = [section(plot, number, files, folders) for number, plot in enumerate(plots, start=1)]
        files.csv(found.table().drop("engine.wall_s", "hash", strict=False), "points")
        heard = listen(results)
        insides = inside(worst, link, where, files), viewing(worst, where, files)
        return html.write(
            target / "report.html",
            "report/page.html.jinja",
            name=found.name,
            made=files,
            description=found.document.get("description", ""),
            answer=answer(results, axes),
            facts=_facts(found, results, axes),
            sections=sections,
            findings=findings,
            not_judged=not_judged,
            inside=[part for part in insides if part],
            films=film_sections(results, files),
            listening=heard,
            seconds=SECONDS,
            points=points_table(results, axes, scalar_paths(plots)),
            most=_MOST_ROWS,
            limits=[*left_out, *_limits(found, results, sections), *_unheard(heard)],
            command=found.record.get("command") or f"sojourn run {found.name}.toml",
            report_command=f"sojourn report {shlex.quote(found.store.path.name or '.')}",
            engines=engines(results),
            document=found.document,
        )


def _study_folders(found: Results) -> list[Path]:
    """Return where published tables are looked for: beside the results, and beside the study file."""
    try:
        words = shlex.split(found.record.get("command") or "")
    except ValueError:
        words = []
    return [found.store.path, *(Path(word).parent for word in words if word.endswith(".toml"))]


def _facts(
    found: Results, results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]]
) -> list[tuple[str, str]]:
    document = found.document
    counts = _replications(results)
    runs = f"{len(results)} simulations: {len(counts)} cells"
    repeat = sorted(set(counts))
    runs += f" × {repeat[0]}" if len(repeat) == 1 else f" × {repeat[0]} to {repeat[-1]}"
    runs += " replication" if repeat == [1] else " replications"
    runs += f"; {found.missing} not there yet" if found.missing else ""
    packets = sum(look_up(result, "engine.packets") or 0 for result in results)
    simulated = sum(look_up(result, "engine.simulated_s") or 0 for result in results)
    lasts = document.get("duration")
    warmup = document.get("warmup")
    facts = [
        ("Study", found.name),
        ("Points", runs),
        ("Swept", "; ".join(f"{axis}: {', '.join(labels)}" for axis, labels in axes.items()) or "nothing"),
        (
            "Each lasts",
            (lasts or "the default") + (f", of which {warmup} warm-up are not counted" if warmup else ""),
        ),
        ("Simulated", f"{packets:,} packets in {simulated:,.0f} s of simulated time".replace(",", " ")),
        ("Seed", str(found.record.get("seed", document.get("seed", "the default")))),
        ("Version", f"sojourn {found.record.get('sojourn', 'unknown')}"),
        ("Command", found.record.get("command") or "not recorded"),
    ]
    if tag := document.get("reproduces"):
        facts.insert(1, ("Reproduces", cited(tag, _study_folders(found))))
    return facts


def _replications(results: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the number of replications of every cell."""
    return list(Counter(tuple(map(label_text, result["point"].values())) for result in results).values())


def _limits(found: Results, results: Sequence[Mapping[str, Any]], sections: Sequence[Any]) -> list[str]:
    repeat = min(_replications(results))
    limits = [
        "These are simulations of one bottleneck in each direction. Real paths have more than one queue, "
        "radio links whose rate changes, and hosts that take time.",
        "A verdict holds for the loads, rates and round-trip times that were run, and for no others.",
    ]
    if repeat == 1:
        limits.append(
            "Every cell was run once, so that chance cannot be told from effect: set `repeat` to 3 or more "
            "for intervals."
        )
    else:
        limits.append(
            f"Cells have {repeat} replications or more; intervals are 95 % of Student's t for their mean, "
            "and say nothing of errors that all replications share."
        )
    if any("mos" in str(section.picture.slug) for section in sections):
        limits.append(
            "Opinion scores are models of what an average listener or reader says, not what anyone said."
        )
    if any(section.citation for section in sections):
        limits.append(
            "Published numbers are medians or means as printed, mostly without spread; where ours differ, "
            "the difference is shown as it is."
        )
    if found.missing:
        limits.append(f"{found.missing} points of the study are missing; their cells are hatched.")
    if len(made := engines(results)) > 1:
        limits.append(f"The results were made by {len(made)} engines: {'; '.join(made)}.")
    limits += [f"{left}, and left out." for left in found.left_out()]
    return limits


def _unheard(heard: Listening) -> list[str]:
    """Return why no call can be heard, where there are calls and none can."""
    return [heard.note] if heard.note and not heard.sounds else []


def _worst(results: Sequence[Mapping[str, Any]], plots: Sequence[Plot]) -> tuple[Mapping[str, Any], str]:
    """Return the result that is worst by the first figure that knows what is good, and its link."""
    for plot in plots:
        better = plot.value.better
        scored = [
            (float(number), -place)
            for place, result in enumerate(results)
            if isinstance(number := look_up(result, plot.value.path), int | float)
        ]
        if better and scored:
            _, place = max(scored) if better == "low" else max((-number, place) for number, place in scored)
            worst = results[-place]
            parts = plot.value.path.split(".")
            return worst, parts[1] if parts[0] == "links" else _slower(worst)
    worst = max(
        results, key=lambda result: look_up(result, f"links.{_slower(result)}.queue_delay_ms.mean") or 0
    )
    return worst, _slower(worst)


def _slower(result: Mapping[str, Any]) -> str:
    """Return the link whose packets wait longest."""
    links = result.get("links") or {"down": {}}
    return max(sorted(links), key=lambda link: look_up(result, f"links.{link}.queue_delay_ms.mean") or 0)
