"""What is asked: the line, its users and loads, the candidates, and how sure the answer must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.report.answer.goals import Goal
from sojourn.study.inputs.recorded import length_s
from sojourn.sweep.advice.candidates import read_candidates
from sojourn.sweep.advice.goals import read_goal
from sojourn.sweep.advice.line import Line, Times, read_users
from sojourn.sweep.advice.loads import IDLE, NONE, Flows, read_loads, recorded

FIRST, MOST, MOST_OF_FIFO = 4, 16, 4
"""Replications of the first round, the most that a candidate gets, and a size of a FIFO among its like."""


@dataclass(frozen=True)
class Question:
    """What `sojourn recommend` is asked.

    Attributes
    ----------
    line : Line
    users : dict
        How many there are of each kind.
    loads : dict
        By name, the background traffic.
    kinds : list of str
        Disciplines among which to choose.
    precision : float
        Candidates need not be told apart where half the interval of their difference is less, in MOS.
    goals : list of Goal
        What the user is to be owed; empty where the worst user's score decides.
    longest_s : float
        Length of the recorded traffic, in seconds.
    """

    line: Line
    users: dict[str, int]
    loads: dict[str, Flows]
    kinds: list[str]
    precision: float = 0.1
    goals: list[Goal] = field(default_factory=list)
    longest_s: float = inf

    @property
    def times(self) -> Times:
        """How long a point lasts."""
        return Times.of(self.line, self.longest_s, self.users)

    @classmethod
    def read(
        cls,
        down: str,
        up: str,
        rtt: str,
        users: str = "voice=1,web=2",
        *,
        load: Sequence[str] = (),
        workload: Path | None = None,
        candidates: str | None = None,
        precision: float = 0.1,
        goals: Sequence[str] = (),
    ) -> Question:
        """Read the options of the command.

        Raises
        ------
        SojournError
            One sentence: which option, what was found, what was expected.
        """
        if not isfinite(precision) or not 0.01 <= precision <= 1:
            raise SojournError(f"--precision {precision:g} is no precision in MOS; expected 0.01 to 1")
        if workload is not None and load:
            raise SojournError(
                "--load and --workload exclude one another: the traffic is the workload's, or named"
            )
        line, who = Line.read(down, up, rtt), read_users(users)
        loads, longest = read_loads(load), inf
        if workload is not None:
            longest = length_s(workload)
            name = "recorded" if workload.stem in (IDLE, NONE) else workload.stem
            loads = {IDLE: [], name: recorded(workload)}
        owed = [goal for text in goals for goal in read_goal(text, who)]
        return cls(line, who, loads, read_candidates(candidates), precision, owed, longest)
