"""The report of a study: one page that stands by itself, and its figures as files."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.losses.findings import judge
from sojourn.report import html
from sojourn.report.answer import Answer
from sojourn.report.answer.cells import cell_name
from sojourn.report.answer.hop_rates import kept_by_rate, kept_most
from sojourn.report.answer.verdicts import NO
from sojourn.report.answered import answered
from sojourn.report.captured import Captured
from sojourn.report.configure import configured
from sojourn.report.facts import facts, limits, reproduce, study_folders, together
from sojourn.report.figures import Plot, labels_of
from sojourn.report.figures.default import default_figures, score_paths
from sojourn.report.figures.values import axis_name, lower, value
from sojourn.report.files import Files
from sojourn.report.film_strip import film_sections
from sojourn.report.groups import group_table, replays
from sojourn.report.listening import SECONDS, listen
from sojourn.report.measured import Measurement, beside
from sojourn.report.points import points_table
from sojourn.report.sawtooth import lost_series, with_sawtooth, with_series
from sojourn.report.sections import Section, gather_all, inside, scalar_paths, section, viewing
from sojourn.results import Results, beds, bounded, excess, open_results
from sojourn.results.atomic import writing
from sojourn.results.limits import columns, held, places
from sojourn.results.path import link_of, look_up
from sojourn.study import idle
from sojourn.study.buffers import starved

__all__ = ["answer_of", "write_report"]


def write_report(
    results_dir: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    measurements: Sequence[Measurement] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write ``report.html`` and ``figures/`` from results.

    The same results give the same bytes. A figure that cannot be drawn costs itself only: a sentence
    stands in its place.

    Parameters
    ----------
    results_dir
        A results directory.
    out
        The directory to write to, in place of the results directory itself.
    measurements
        What tools measured, to stand beside the study (see :func:`sojourn.report.measured.read`).
    tell
        Is told what stands in the place of a figure, or beside it, because something of it could not be made.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    SojournError
        The directory holds no study or no results.
    """
    found, results = _results(results_dir)
    axes = labels_of(entry["point"] for entry in found.record["points"])
    cells = held(found.record)
    plots, left_out = _plots(found, results, axes, partial(places, cells))
    drawn = [plot for plot in plots if isinstance(plot, Plot)]
    target = Path(out) if out is not None else found.store.path
    about = answered(found, results, axes)
    worst, link, looked_at = _worst(results, axes, about)
    where = "the captures" if found.captured else cell_name(worst, "the one point")
    shown = dict.fromkeys([*score_paths(results), *scalar_paths(drawn)])
    findings, not_judged = judge(found.document, results)
    with writing(target):
        files = Files(target / "figures")
        folders = study_folders(found)
        sections = [
            section(plot, number, files, folders) if isinstance(plot, Plot) else plot
            for number, plot in enumerate(plots, start=1)
        ]
        for made in sections:
            if made.note:
                tell(f"{made.title}: {made.note}")
        files.csv(found.table().drop("engine.wall_s", "hash", strict=False), "points")
        insides = inside(worst, link, where, files, captured=found.captured), viewing(worst, where, files)
        heard = listen(results)
        html.write(
            target / "report.html",
            "report/page.html.jinja",
            name=found.name,
            made=files,
            description=found.document.get("description", ""),
            answer=about,
            together=[] if found.captured else together(found.document, axes),
            captured=found.captured,
            **_configuration(found, about, axes),
            facts=facts(found, results, axes),
            sections=sections,
            measured=beside(found, measurements, files),
            findings=findings,
            not_judged=not_judged,
            inside=[part for part in insides if part],
            inside_title=looked_at,
            films=film_sections(results, files),
            listening=heard,
            seconds=SECONDS,
            groups=group_table(results, axes, recorded=replays(found.document)),
            points=points_table(
                results, axes, columns(cells), scalar_paths(drawn), partial(places, cells), not found.captured
            ),
            limits=[
                *left_out,
                *_to_know(found, results, shown, sections),
                *(f"{clause}." for clause in [*idle.unread(axes, found.document), *starved(cells.values())]),
                *([heard.note] if heard.note and not heard.sounds else []),
            ],
            reproduce=reproduce(found, results),
            document=found.document,
        )
    return target / "report.html"


def _to_know(
    found: Results, results: Sequence[Mapping[str, Any]], shown: Iterable[str], sections: Sequence[Section]
) -> list[str]:
    """Return what is to be known of the results: what is gone, how they were made, what bounds them."""
    return [
        *lost_series(found),
        *beds.said(results),
        *bounded.said(results, {path: lower(value(path).name) for path in shown}),
        *excess.said(results),
        *limits(found, results, sections),
        *(f"{clause}." for clause in idle.said(found.planned)),
    ]


def _configuration(found: Results, about: Answer | Captured, axes: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return what the page says of how a router is set to the choice."""
    answered = isinstance(about, Answer)
    chosen = about.chosen_labels() if answered else {}
    given = _given(about, axes)
    lines = []
    if answered and chosen is not None:
        lines = configured(found.record, chosen | {axis: rate for axis, (rate, _) in given.items()})
    return {
        "configure": lines,
        "configure_where": "; ".join(f"{axis_name(axis)}: {label}" for axis, label in (chosen or {}).items()),
        "configure_given": "; ".join(
            f"{lower(axis_name(axis))} {label}, {why}" for axis, (label, why) in given.items()
        ),
        "configure_others": answered and len(about.ranking.chosen) > 1,
    }


def _given(about: Answer | Captured, axes: Mapping[str, list[str]]) -> dict[str, tuple[str, str]]:
    """Return by axis of which rate or time of the path a configuration speaks, where they are conditions.

    Of the rates of a hop, which may be a shaper's, it is the one with which most goals are kept.
    """
    if isinstance(about, Captured):
        return {}
    cells, chosen = about.cells, about.ranking.chosen[:1]
    rates = kept_by_rate(cells, about.verdicts, chosen[0]) if chosen else {}
    best = {axis: rate for axis, found in rates.items() if (rate := kept_most(found)) is not None}
    return {
        axis: (best[axis], f"that of {len(axes[axis])} with which all goals are kept most often")
        if axis in best
        else (axes[axis][0], f"the first of {len(axes[axis])}")
        for axis in cells.given
        if axis.startswith("path")
    }


def answer_of(results_dir: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the answer of a results directory as plain JSON: what was chosen, regrets, verdicts, sizes.

    Raises
    ------
    SojournError
        The directory holds no study or no results.
    """
    found, results = _results(results_dir)
    axes = labels_of(entry["point"] for entry in found.record["points"])
    about = answered(found, results, axes)
    return about.as_json()


def _results(results_dir: str | os.PathLike[str]) -> tuple[Results, list[dict[str, Any]]]:
    found = open_results(results_dir)
    results = with_series(found)
    if not results:
        raise SojournError(f"{found.store.path} holds no finished points yet; run its study first")
    return found, results


def _plots(
    found: Results, results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]], stand: Any
) -> tuple[Sequence[Plot | Section], list[str]]:
    """Return the figures that the study asks for or has by default, and the sawtooth that nobody asks for."""
    asked = found.document.get("figures") or []
    plots: list[Plot | Section] = []
    left_out: list[str] = []
    if not asked:
        by_default, left_out = default_figures(results, axes, stand)
        plots += by_default
    entries = with_sawtooth(asked, results, axes)
    return [*plots, *gather_all(entries, results, axes, unfinished=found.missing > 0)], left_out


def _worst(
    results: Sequence[Mapping[str, Any]], axes: Mapping[str, list[str]], about: Answer | Captured
) -> tuple[Mapping[str, Any], str, str]:
    """Return the result that is looked into, the link of it, and what it is called in honesty.

    It is the cell whose weakest goal is furthest from its limit, and of that the worst replication.
    """
    if isinstance(about, Captured):
        return results[0], _slower(results[0]), "Over time"
    place = about.worst
    if place is None:
        worst = max(
            results, key=lambda result: look_up(result, f"links.{_slower(result)}.queue_delay_ms.mean") or 0
        )
        return worst, _slower(worst), "Inside the cell with the longest queue"
    verdict = about.verdicts[place]
    finding = min(verdict.findings, key=lambda found: found.score)
    cell = about.cells.at(*place)
    numbers = {at: finding.goal.score(number) for at, number in finding.goal.numbers(cell).items()}
    replication = min(numbers, key=lambda at: numbers[at])
    worst = next(result for result in cell if result["replication"] == replication)
    link = link_of(finding.goal.path)
    link = link if link in worst["links"] else _slower(worst)
    if len(about.verdicts) == 1:
        judged = "" if len(about.cells.cells) == 1 else " that could be judged"
        return worst, link, f"Inside the one cell{judged}"
    if about.all_alike:
        return worst, link, "Inside one of the cells"
    return worst, link, "Inside the worst cell" if verdict.word == NO else "Inside the least good cell"


def _slower(result: Mapping[str, Any]) -> str:
    """Return the link whose packets wait longest."""
    links = result.get("links") or {"down": {}}
    return max(sorted(links), key=lambda link: look_up(result, f"links.{link}.queue_delay_ms.mean") or 0)
