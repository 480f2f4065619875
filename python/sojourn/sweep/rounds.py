"""Replications in rounds: with ``repeat = "auto"``, the cells that are not known well enough are run again.

Which points a round has follows from the results of the rounds before it alone, whoever computed them and
in what order. So a study that was interrupted goes on where it was, and any number of processes runs the
same points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sojourn.results import Results
from sojourn.study import Point, Study, label_text
from sojourn.study.replications import AUTO, after, most

Key = tuple[str, ...]


def next_round(study: Study, points: Sequence[Point], results: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return the points of the round after those that were run, none when there is nothing left to settle.

    Parameters
    ----------
    study
        A study with ``repeat = "auto"``.
    points
        What was run of it.
    results
        Their results.
    """
    document = study.document
    if document.get("repeat") != AUTO:
        return []
    from sojourn.report.answer import cells, goals, verdicts  # draws nothing, but is slow to import
    from sojourn.report.figures.plot import labels_of
    from sojourn.study.replications import looks, precision

    sorted_cells = cells.sort(results, labels_of(point.labels for point in points))
    judged = verdicts.judge(sorted_cells, goals.goals_of(document, results), looks(document))
    asked = precision(document)
    wanted: dict[Key, range] = {}
    for place, cell in sorted_cells.cells.items():
        have, verdict = len(cell), judged.get(place)
        doubt = verdict is not None and verdict.word == verdicts.CLOSE and not verdict.of_length
        if asked is not None:
            doubt = not verdicts.known(cell, asked) or (doubt and not verdict.of_scores)
        if doubt and have < most(document):
            wanted[_key(cell[0]["point"])] = range(have, after(have, document))
    return study.replicated(wanted, _key)


def in_order(entries: Sequence[dict[str, Any]], first: Sequence[Point]) -> list[dict[str, Any]]:
    """Return entries of a plan in study order: that of the cells of the first round, then by replication."""
    places = {key: place for place, key in enumerate(dict.fromkeys(_key(point.labels) for point in first))}
    return sorted(entries, key=lambda entry: (places[_key(entry["point"])], entry["replication"]))


def further(
    before: Sequence[dict[str, Any]], planned: set[str], has: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """Return what later rounds ran in an earlier plan, of cells whose first results still hold."""
    same = {_key(entry["point"]) for entry in before if entry["hash"] in planned}
    return [
        entry
        for entry in before
        if entry["hash"] not in planned and _key(entry["point"]) in same and has(entry["hash"])
    ]


def said(results: Results) -> str:
    """Say what came of ``repeat = "auto"``, nothing for other studies or without results."""
    if results.document.get("repeat") != AUTO or not len(results):
        return ""
    from sojourn.report.answer import answer
    from sojourn.report.figures.plot import labels_of

    axes = labels_of(entry["point"] for entry in results.record["points"])
    return answer(list(results), axes, results.document).rounds


def _key(labels: Mapping[str, Any]) -> Key:
    return tuple(map(label_text, labels.values()))
