"""Whether a cell keeps its goals: yes, no, or not certain, and what would settle it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.errors import counted
from sojourn.report.answer.cells import Cell, Cells
from sojourn.report.answer.goals import Goal
from sojourn.results.bounded import awaited, lower_bounds
from sojourn.results.interval import MOST_REPLICATIONS, Interval, Sample, half_width

_HARDLY = 100
"""More replications than this hardly anybody runs: a choice."""

YES, NO, CLOSE = "yes", "no", "close"


@dataclass(frozen=True)
class Finding:
    """One goal in one cell.

    Attributes
    ----------
    goal : Goal
    mean : float
        Over replications.
    interval : Interval or None
        Of the mean; None for one replication.
    word : str
        "yes" or "no" where the interval lies on one side of the limit, else "close".
    replications : int
    settled_by : int or None
        Replications that would settle it; None where that is more than 1000, or not known.
    at_least : bool
        The mean is a lower bound: what it is of had not ended when the run did.
    lacking : int
        Replications that have no number, as where nobody had finished.
    """

    goal: Goal
    mean: float
    interval: Interval | None
    word: str
    replications: int
    settled_by: int | None
    at_least: bool = False
    lacking: int = 0

    @property
    def of_length(self) -> bool:
        """Whether longer runs would tell, and not more of them."""
        return self.at_least or self.of_others

    @property
    def of_others(self) -> bool:
        """Whether the goal is kept for certain but for the replications that have no number."""
        return self.lacking > 0 and self.interval is not None and all(map(self.goal.good, self.interval))

    @property
    def score(self) -> float:
        """The mean on the scale of the goal."""
        return self.goal.score(self.mean)

    @property
    def good(self) -> bool:
        """Whether the mean is on the good side; a lower bound says that of no time."""
        return self.goal.good(self.mean) and not self.at_least

    @property
    def text(self) -> str:
        """Whom it is about, the mean and the interval."""
        words = f"{self.goal.name} {'at least ' * self.at_least}"
        if self.interval is None or len(set(map(self.goal.text, self.interval))) == 1:
            return words + self.goal.text(self.mean)
        return words + "{} ({})".format(*self.numbers)

    @property
    def numbers(self) -> tuple[str, str]:
        """The mean and the interval; a dash where there is none."""
        if self.interval is None:
            return self.goal.text(self.mean), "–"
        return self.goal.with_interval(self.mean, *self.interval)

    @property
    def more(self) -> str:
        """What would settle it, in words; nothing where it is settled."""
        return self.settles("it")

    def settles(self, what: str) -> str:
        """Say what would settle this, which is called so."""
        if self.word != CLOSE:
            return ""
        if self.at_least:
            few = awaited([self.goal.path])
            return f"too few {few} had ended when the run did, so a longer run would tell"
        if self.of_others or (self.lacking and self.interval is None):
            of = self.replications + self.lacking
            return f"{self.lacking} of {of} replications have no number, so a longer run may tell"
        if self.replications < 2:
            return "one replication shows no spread"
        hardly = f"more replications will hardly settle {what}: it would take"
        if self.settled_by is None:
            return f"{hardly} more than {MOST_REPLICATIONS}"
        left = self.settled_by - self.replications
        if left > _HARDLY:
            return f"{hardly} about {float(f'{left:.2g}'):.0f}"
        return f"about {counted(left, 'more replication')} would settle {what}"


@dataclass(frozen=True)
class Verdict:
    """All goals of one cell together.

    Attributes
    ----------
    findings : tuple of Finding
        Of the goals that have a number; at least one.
    lacking : tuple of Goal
        Those that have none here, though another choice has one in the same condition.
    """

    findings: tuple[Finding, ...]
    lacking: tuple[Goal, ...] = ()

    @property
    def word(self) -> str:
        """ "no" where a goal is missed for certain, "yes" where all are kept for certain, else "close"."""
        words = {finding.word for finding in self.findings}
        return NO if NO in words else CLOSE if CLOSE in words or self.lacking else YES

    @property
    def says(self) -> str:
        """The verdict as a reader sees it."""
        return "not certain" if self.word == CLOSE else self.word

    @property
    def weakest(self) -> Finding:
        """The goal that is missed furthest, or comes closest to its limit; of a doubt, a doubtful one."""
        those = [finding for finding in self.findings if finding.word == self.word]
        return min(those or self.findings, key=lambda finding: finding.score)

    @property
    def of_scores(self) -> bool:
        """Whether it hangs on nothing but opinion scores of callers."""
        those = [found for found in self.findings if found.word == self.word]
        paths = [found.goal.path.split(".") for found in those if not found.of_others]
        return not self.lacking and all(path[0] == "voice" and "mos" in path for path in paths)

    @property
    def of_length(self) -> bool:
        """Whether it hangs on nothing but what longer runs would tell, and not more of them."""
        return all(found.of_length for found in self.findings if found.word == self.word)

    @property
    def good(self) -> bool:
        """Whether all means are on the good side; a goal without a number says that of no cell."""
        return not self.lacking and all(finding.good for finding in self.findings)

    @property
    def more(self) -> str:
        """What would settle it, in words: the weakest goal tells only where no other asks more."""
        open_ones = [finding for finding in self.findings if finding.word == CLOSE]
        if self.word == CLOSE and not open_ones:
            more = f" and {len(self.lacking) - 1} more" if len(self.lacking) > 1 else ""
            have = "have" if more else "has"
            return f"“{self.lacking[0].name}”{more} {have} no number, so a longer run may tell"
        if self.word != CLOSE or all(finding.more == self.weakest.more for finding in open_ones):
            return self.weakest.more
        if any(finding.of_length or finding.lacking for finding in open_ones):
            return "for some goals it takes a longer run to tell"
        hardest = max(open_ones, key=lambda finding: finding.settled_by or MOST_REPLICATIONS + 1)
        return hardest.settles("all goals")

    @property
    def settled_by(self) -> int | None:
        """Replications that would settle the verdict; None where that is not known, or too many."""
        open_ones = [finding for finding in self.findings if finding.word == CLOSE]
        needs = [finding.settled_by for finding in open_ones]
        return max((need for need in needs if need is not None), default=None) if None not in needs else None


def find(goal: Goal, sample: Sample, confidence: float, at_least: bool = False, lacking: int = 0) -> Finding:
    """Judge one goal by a sample, whose mean may be a lower bound; `lacking` replications have no number."""
    interval = sample.interval(confidence)
    if interval is None:
        word = CLOSE
    elif goal.good(interval.low) and goal.good(interval.high):
        word = YES
    else:
        word = CLOSE if goal.good(interval.low) or goal.good(interval.high) else NO
    asked = word == CLOSE and not at_least
    settled = sample.settled_by(goal.limit, confidence) if asked else None
    if word == YES and (at_least or lacking):
        word = CLOSE
    return Finding(goal, sample.mean, interval, word, len(sample.values), settled, at_least, lacking)


Verdicts = Mapping[tuple[str, str], Verdict]
"""By condition and choice."""


def judge(cells: Cells, goals: Sequence[Goal], looks: int = 1) -> dict[tuple[str, str], Verdict]:
    """Judge every cell that has numbers.

    Parameters
    ----------
    cells, goals
    looks
        How often verdicts may be looked at before a run stops; the doubt that is allowed is shared among the
        looks (Bonferroni), so that stopping at the first certain one does not make certainty cheap.
    """
    found = {}
    for condition in cells.conditions:
        best = {goal: cells.best(goal, condition) for goal in goals}
        here = {choice: cells.at(condition, choice) for choice in cells.choices}
        each = {choice: [goal.sample(cell, best[goal]) for goal in goals] for choice, cell in here.items()}
        known_here = [any(found) for found in zip(*each.values(), strict=True)]
        for choice, cell in here.items():
            samples = list(zip(goals, each[choice], strict=True))
            lacking = tuple(
                goal
                for (goal, sample), known in zip(samples, known_here, strict=True)
                if known and not sample
            )
            bounded = set().union(*map(lower_bounds, cell))
            findings = tuple(
                find(
                    goal,
                    sample,
                    1 - (1 - goal.confidence) / looks,
                    goal.path in bounded,
                    goal.lacking(cell),
                )
                for goal, sample in samples
                if sample is not None
            )
            if findings:
                found[condition, choice] = Verdict(findings, lacking)
    return found


def known(cell: Cell, precision: float) -> bool:
    """Say whether the replications of a cell tell the callers' mean opinion scores that well."""
    from sojourn.qoe.voice import DIRECTIONS  # slow to import

    for direction in DIRECTIONS:
        heard = [scores["mos"]["mean"] for run in cell if (scores := (run.get("voice") or {}).get(direction))]
        values = [score for score in heard if score is not None]
        half = half_width(values)
        if values and (half is None or half > precision):
            return False
    return True
