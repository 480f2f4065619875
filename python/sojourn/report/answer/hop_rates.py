"""Rates of hops that a study sweeps: they may be a shaper's, while the answer chooses queues."""

from collections.abc import Mapping

from sojourn.report.answer.cells import Cells
from sojourn.report.answer.verdicts import YES, Verdict, Verdicts
from sojourn.study import label_text


def kept_by_rate(cells: Cells, verdicts: Verdicts, choice: str) -> dict[str, dict[str, tuple[int, int]]]:
    """Return, by axis and rate, in how many conditions a choice keeps all goals, and of how many.

    Kept for certain; where every cell was run once, and nothing is certain, kept in that run.
    """
    found = {}
    for axis in (axis for axis in cells.given if axis.startswith("path.hop.") and axis.endswith(".rate")):
        here: dict[str, list[Verdict]] = {}
        for condition in cells.conditions:
            if verdict := verdicts.get((condition, choice)):
                rate = label_text(cells.at(condition, choice)[0]["point"][axis])
                here.setdefault(rate, []).append(verdict)
        if len(here) > 1:
            once = run_once(verdicts)
            found[axis] = {
                rate: (sum(one.good if once else one.word == YES for one in judged), len(judged))
                for rate, judged in here.items()
            }
    return found


def run_once(verdicts: Verdicts) -> bool:
    """Tell whether every cell was run once."""
    return all(verdict.weakest.replications < 2 for verdict in verdicts.values())


def kept_most(by_rate: Mapping[str, tuple[int, int]]) -> str | None:
    """Return the rate with which goals are kept most often, None where it is not one alone."""
    shares = {rate: kept / judged for rate, (kept, judged) in by_rate.items()}
    most = max(shares.values())
    first, *others = (rate for rate, share in shares.items() if share == most)
    return None if others else first
