"""What came of ``repeat = "auto"``: how certain all is after how many replications."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sojourn.report.answer.cells import Cell
from sojourn.report.answer.verdicts import CLOSE, Verdict, Verdicts, known
from sojourn.results.bounded import awaited
from sojourn.study.replications import most, precision


def reached(document: Mapping[str, Any], verdicts: Verdicts, callers: Sequence[Cell]) -> str:
    """Say what came of running until all verdicts are certain."""
    if document.get("repeat") != "auto":
        return ""
    open_ones = [verdict for verdict in verdicts.values() if verdict.word == CLOSE]
    if not open_ones:
        return f'With repeat = "auto" every verdict is certain after {_ran(verdicts.values())} replications.'
    left = f"{len(open_ones)} of {len(verdicts)} verdicts are" if len(open_ones) > 1 else "one verdict is"
    said, allowed = f'With repeat = "auto" {left} not certain', most(document)
    ran = f"after {_ran(open_ones)} replications"
    going_on = [verdict for verdict in open_ones if _replications(verdict) < allowed]
    if not going_on:
        return f"{said} {ran}, the most that the study allows."
    if len(going_on) < len(open_ones):
        ran += f", of which {allowed} are the most that the study allows"
    if all(verdict.of_length for verdict in going_on):
        findings = [finding for verdict in going_on for finding in verdict.findings]
        few = awaited(found.goal.path for found in findings if found.at_least) or "loads"
        found = f"too few {few} had ended when the runs did"
        if any(finding.of_others for finding in findings) or any(one.lacking for one in going_on):
            found = f"some runs have no number, or too few {few} that had ended"
        return f"{said} {ran}: {found}, which longer runs tell, and not more of them."
    asked = precision(document)
    left_so = asked is not None and all(known(cell, asked) for cell in callers)
    if left_so and all(verdict.of_scores for verdict in going_on):
        why = "what is in doubt are opinion scores alone, of which only the mean is asked"
        return f"{said} {ran}: {why}, to ±{asked:g} MOS."
    return f"{said} yet {ran}; run the study again to go on."


def _replications(verdict: Verdict) -> int:
    """Return how many replications a verdict is of, those without a number with them."""
    return max(found.replications + found.lacking for found in verdict.findings)


def _ran(verdicts: Iterable[Verdict]) -> str:
    """Return the replications of some verdicts, from the fewest to the most."""
    counts = [_replications(verdict) for verdict in verdicts]
    few, many = min(counts), max(counts)
    return f"{few}" if few == many else f"{few} to {many}"


def scores_known(document: Mapping[str, Any], callers: Sequence[Cell]) -> str:
    """Say in how many of the cells with callers their scores are known as well as was asked."""
    asked = precision(document)
    if asked is None or not callers:
        return ""
    open_ones = sum(not known(cell, asked) for cell in callers)
    where = f"{len(callers) - open_ones} of {len(callers)} cells" if open_ones else "every cell"
    return f" Callers' mean opinion scores are known to ±{asked:g} MOS in {where}."
