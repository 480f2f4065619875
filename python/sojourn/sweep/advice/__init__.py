"""The advice: which queues suit a line and its users, found by simulation.

Two studies are written and run, the sizes of a FIFO and the disciplines beside the best FIFO; candidates
that are worse for certain drop out (:mod:`.elimination`). Their results lie in one store, so that the same
question is answered from disk, and an interrupted one goes on.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results.atomic import write, writing
from sojourn.results.store import Store
from sojourn.study import Study, quantities
from sojourn.study.links import WAYS
from sojourn.sweep.advice import study_file
from sojourn.sweep.advice.candidates import Candidate, Rule, discipline, fifo, rules, sizes
from sojourn.sweep.advice.elimination import Standing
from sojourn.sweep.advice.loads import flows_down_up
from sojourn.sweep.advice.question import MOST, MOST_OF_FIFO, Question
from sojourn.sweep.advice.search import Findings, Rounds, pair_of
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.workers import Workers

__all__ = ["Found", "Question", "Search"]


@dataclass(frozen=True)
class Found:
    """What the search came to.

    Attributes
    ----------
    asked : Question
    findings : Findings
    candidates : dict
        By name, everything that was tried.
    race : list of str
        Those among which the advice was chosen.
    fifos : list of str
        All FIFOs, the rules of thumb among them.
    rules : list of Rule
    best_fifo, chosen : str
        Names of candidates: the best FIFO, and the advice.
    decided : str
        By what the advice was chosen, see :func:`.elimination.choose`.
    standing : Standing
        Where those of the race stand.
    """

    asked: Question
    findings: Findings
    candidates: dict[str, Candidate]
    race: list[str]
    fifos: list[str]
    rules: list[Rule]
    best_fifo: str
    chosen: str
    decided: str
    standing: Standing


class Search:
    """A search for the best queues, with its folder.

    Parameters
    ----------
    asked
        The question.
    out
        The folder; by default ``results/advice-DOWN-UP-RTT``.
    """

    def __init__(self, asked: Question, out: str | os.PathLike[str] | None = None) -> None:
        self.asked = asked
        self.out = Path(out) if out is not None else Path("results") / study_file.name(asked.line)
        self.rules = rules(asked.line, flows_down_up(asked.loads))
        self._sizes = tuple(
            sorted({*sizes(asked.line, way), *(rule.limits[place] for rule in self.rules)})
            for place, way in enumerate(WAYS)
        )
        self._diagonal = list(zip(*(sizes(asked.line, way) for way in WAYS), strict=True))
        self.disciplines = {kind: discipline(kind, asked.line) for kind in asked.kinds if kind != "fifo"}
        self.findings = Findings(asked)
        self.notes: list[str] = []
        self._refuse_others()

    def _refuse_others(self) -> None:
        """Refuse a folder that is not this line's: its page would be written over.

        Raises
        ------
        SojournError
            The folder is that of another study, or of the advice on another line.
        """
        before = Store(self.out).read_study()
        if before is not None and before["study"] not in study_file.names(self.asked.line):
            raise SojournError(
                f"--out {self.out} holds results of {before['study']!r}; expected a folder of its own for "
                f"{study_file.name(self.asked.line)!r}"
            )

    def run(self, workers: Workers) -> Iterator[tuple[int, int]]:
        """Run what is not on disk yet; yield how many points are done and planned, and keep the findings.

        Raises
        ------
        SojournError
            A point failed.
        """
        for planned, campaign in self._campaigns():
            yield len(campaign.done) + planned, campaign.planned + planned
            for outcome in campaign.execute(workers):
                if outcome.error is not None:
                    raise SojournError(f"point {outcome.point} failed: {outcome.error}")
                yield len(campaign.done) + planned, campaign.planned + planned

    def _campaigns(self) -> Iterator[tuple[int, Campaign]]:
        """Yield the two studies' campaigns, prepared, each with the number of points before it."""
        named = {
            tuple(f"{packets}pkt" for packets in limits): name_of(fifo(limits)) for limits in self._pairs()
        }
        self._fifos = {name_of(fifo(limits)): fifo(limits) for limits in self._pairs()}
        first = [name_of(fifo(limits)) for limits in (*self._diagonal, *(rule.limits for rule in self.rules))]
        text = study_file.sizes_study(self.asked, self._sizes)
        most = MOST_OF_FIFO if self.disciplines else MOST
        campaign = self._campaign("sizes", text, named, first, self._around, most)
        yield 0, campaign
        before = campaign.planned
        self.best_fifo = self.findings.choose(self._fifos)[0]
        beside = ""
        # The best of few replications may be so by chance: then the next best has as many as it.
        while self.disciplines and self.best_fifo != beside:
            beside = self.best_fifo
            candidates = [self._fifos[self.best_fifo], *self.disciplines.values()]
            text = study_file.queues_study(self.asked, candidates)
            names = [self.best_fifo, *self.disciplines]
            campaign = self._campaign("queues", text, names, names)
            yield before, campaign
            before += campaign.planned
            self.best_fifo = self.findings.choose(self._fifos)[0]

    def _pairs(self) -> list[tuple[int, int]]:
        return [(down, up) for down in self._sizes[0] for up in self._sizes[1]]

    def _around(self, findings: Findings) -> list[str]:
        """Return the neighbours of the best FIFO: the next smaller and larger size, one direction at a time.

        So the search ends where no neighbour is better.
        """
        best = self._fifos[findings.choose(self._fifos)[0]]
        found = []
        for place, way in enumerate(WAYS):
            own, ladder = _count(best.limits[place]), sizes(self.asked.line, way)
            below, above = [size for size in ladder if size < own], [size for size in ladder if size > own]
            for size in (*below[-1:], *above[:1]):
                limits = [_count(limit) for limit in best.limits]
                limits[place] = size
                found.append(name_of(fifo(limits)))
        return found

    def _campaign(
        self,
        what: str,
        text: str,
        names: Mapping[tuple[str, ...], str] | Sequence[str],
        first: Sequence[str],
        more: Callable[[Findings], list[str]] | None = None,
        most: int = MOST,
    ) -> Campaign:
        file = self.out / f"{what}.toml"
        try:
            study = Study(_core.parse(text, str(file), [], []), str(file), (), self.out)
            unknown = quantities.unknown(study.document, [point.document for point in study.points[:1]])
        except _core.StudyError as error:
            raise SojournError(str(error)) from None
        if unknown:
            raise SojournError(f"--goal: {unknown[0]}")
        if not isinstance(names, Mapping):
            names = dict(zip(dict.fromkeys(map(pair_of, study.points)), names, strict=True))
        campaign = Campaign(study, self.out, policy=Rounds(self.findings, names, first, more, most))
        # That the folder has the results of the other study is meant.
        about = [note for note in campaign.notes if not note.startswith(str(self.out))]
        self.notes += [note for note in about if note not in self.notes]
        campaign.prepare()
        with writing(file):
            if what == "sizes" and file.exists() and file.read_bytes() != text.encode():
                self.notes.append(
                    f"{self.out} held the advice for other users, loads or goals, or of another version, on "
                    "this line; its page is written anew, and the earlier points stay on disk"
                )
            write(file, lambda opened: opened.write(text.encode()))
        return campaign

    def found(self) -> Found:
        """Return what the search came to, after :meth:`run`."""
        in_race = (
            [self.best_fifo, *self.disciplines] if "fifo" in self.asked.kinds else list(self.disciplines)
        )
        if not self.disciplines:
            in_race = list(self._fifos)
        chosen, decided, standing = self.findings.choose(in_race)
        return Found(
            asked=self.asked,
            findings=self.findings,
            candidates={**self._fifos, **self.disciplines},
            race=[name for name in in_race if name in self.findings.runs],
            fifos=[name for name in self._fifos if name in self.findings.runs],
            rules=self.rules,
            best_fifo=self.best_fifo,
            chosen=chosen,
            decided=decided,
            standing=standing,
        )


def name_of(candidate: Candidate) -> str:
    """Name a candidate: its discipline, and the limits of a FIFO, down/up."""
    return f"fifo {'/'.join(candidate.limits)}" if candidate.kind == "fifo" else candidate.kind


def _count(limit: str) -> int:
    return int(limit.removesuffix("pkt"))
