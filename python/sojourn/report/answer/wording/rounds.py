"""What came of ``repeat = "auto"``: how certain all is after how many replications."""

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.report.answer.cells import Cell
from sojourn.report.answer.verdicts import CLOSE, Verdicts, known
from sojourn.results.bounded import awaited
from sojourn.study.replications import most, precision


def reached(document: Mapping[str, Any], verdicts: Verdicts, callers: Sequence[Cell]) -> str:
    """Say what came of running until all verdicts are certain."""
    if document.get("repeat") != "auto":
        return ""
    open_ones = [verdict for verdict in verdicts.values() if verdict.word == CLOSE]
    counts = [finding.replications for verdict in verdicts.values() for finding in verdict.findings]
    few, many = min(counts), max(counts)
    ran = f"{few}" if few == many else f"{few} to {many}"
    if not open_ones:
        return f'With repeat = "auto" every verdict is certain after {ran} replications.'
    left = f"{len(open_ones)} of {len(verdicts)} verdicts are" if len(open_ones) > 1 else "one verdict is"
    if many >= most(document):
        ran += " replications, the most that the study allows"
        return f'With repeat = "auto" {left} not certain after {ran}.'
    if all(verdict.of_length for verdict in open_ones):
        findings = [finding for verdict in open_ones for finding in verdict.findings]
        few = awaited(found.goal.path for found in findings if found.at_least) or "loads"
        found = f"too few {few} had ended when the runs did"
        if any(finding.of_others for finding in findings) or any(one.lacking for one in open_ones):
            found = f"some runs have no number, or too few {few} that had ended"
        why = f"{found}, which longer runs tell, and not more of them"
        return f'With repeat = "auto" {left} not certain after {ran} replications: {why}.'
    asked = precision(document)
    left_so = asked is not None and all(known(cell, asked) for cell in callers)
    if left_so and all(verdict.of_scores for verdict in open_ones):
        why = "what is in doubt are opinion scores alone, of which only the mean is asked"
        return f'With repeat = "auto" {left} not certain after {ran} replications: {why}, to ±{asked:g} MOS.'
    return (
        f'With repeat = "auto" {left} not certain yet after {ran} replications; run the study again to go on.'
    )


def scores_known(document: Mapping[str, Any], callers: Sequence[Cell]) -> str:
    """Say in how many of the cells with callers their scores are known as well as was asked."""
    asked = precision(document)
    if asked is None or not callers:
        return ""
    open_ones = sum(not known(cell, asked) for cell in callers)
    where = f"{len(callers) - open_ones} of {len(callers)} cells" if open_ones else "every cell"
    return f" Callers' mean opinion scores are known to ±{asked:g} MOS in {where}."
