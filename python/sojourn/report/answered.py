"""What a folder of results answers, and what of its study the answer is not of yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.errors import counted
from sojourn.report.answer import Answer, answer
from sojourn.report.answer.cells import cell_name
from sojourn.report.captured import Captured, captured
from sojourn.results import Results

_MOST_NAMED = 3


def answered(
    found: Results, results: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[str]]
) -> Answer | Captured:
    """Return what results answer; of a study that is not complete, the second sentence says so."""
    if found.captured:
        return captured(results[0], found)
    about = answer(results, axes, found.document)
    if found.missing:
        about.sentences.insert(1, incomplete(found))
    return about


def incomplete(found: Results) -> str:
    """Say how much of a study is not there yet: cells without a result, cells with fewer than planned."""
    cells: dict[str, list[bool]] = {}
    for labels, _, digest in found.planned:
        cells.setdefault(cell_name({"point": labels}, "the one cell"), []).append(found.store.has(digest))
    empty = [name for name, there in cells.items() if not any(there)]
    fewer = sum(any(there) and not all(there) for there in cells.values())
    are = "is" if found.missing == 1 else "are"
    named = f" ({'; '.join(empty)})" if len(empty) <= _MOST_NAMED else ""
    said = [
        f"{number} of {counted(len(cells), 'cell')} {'has' if number == 1 else 'have'} {what}"
        for number, what in ((len(empty), f"no result{named}"), (fewer, "fewer replications"))
        if number
    ]
    return (
        f"{found.missing} of the study's {counted(len(found.planned), 'point')} {are} not there yet, and all "
        f"that is said here is of the others alone: {', '.join(said)}."
    )
