"""The runs that a section of the page is made from: stored or simulated, and by which engine."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.results import Results
from sojourn.study import Study, label_text
from sojourn.study.identity import engine as this_engine
from sojourn.sweep.run import run

from tools.validation import documents

UNNAMED = "an engine that left no name"


class NotStored(SojournError):
    """Runs that a section needs are not stored, and may not be simulated."""


def engine_of(result: Mapping[str, Any]) -> str:
    """Return the name of the engine that made a result."""
    return str(result.get("engine", {}).get("build") or UNNAMED)


class Runs:
    """Results under one folder, and the engines of those that were handed out.

    Parameters
    ----------
    root
        The folder; each study has its own in it.
    executor
        Where they are simulated, and which is left running; by default on every core.
    simulate
        Whether what is missing is simulated. If not, :class:`NotStored` is raised.
    """

    def __init__(
        self, root: str | os.PathLike[str], executor: Executor | None = None, *, simulate: bool = True
    ) -> None:
        self.root = Path(root)
        self.executor = executor
        self.simulate = simulate
        self.engines: Counter[str] = Counter()

    def of(self, document: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the replications' results of a study document, in study order."""
        study = documents.study(document)
        return self.of_study(study, study.name)

    def of_study(
        self, study: Study, name: str, only: Mapping[str, Iterable[str]] | None = None
    ) -> list[dict[str, Any]]:
        """Return the results of a study, or of those of its points that have the labels of `only`."""
        out = self.root / name
        if self.simulate:
            run(study, out=out, executor=self.executor, only=only)
        stored = self.stored(name)
        chosen = {axis: set(labels) for axis, labels in (only or {}).items()}
        results = [
            result
            for result in stored
            if all(label_text(result["point"].get(axis)) in labels for axis, labels in chosen.items())
        ]
        if stored.document != study.document:
            raise NotStored(f"{out} holds another version of this study")
        if missing := len(study.select(chosen)) - len(results):
            raise NotStored(f"{out}: {missing} of {missing + len(results)} runs are missing")
        self.engines.update(map(engine_of, results))
        return results

    def stored(self, name: str) -> Results:
        """Return a folder of results as it is."""
        folder = self.root / name
        if not (folder / "study.json").is_file():
            raise NotStored(f"{folder}: nothing is stored")
        return Results(folder)

    def all_of(self, name: str) -> Iterator[dict[str, Any]]:
        """Iterate over all results that are stored of a study."""
        for result in self.stored(name):
            self.engines[engine_of(result)] += 1
            yield result


def at_link(result: Mapping[str, Any], way: str, quantity: str) -> float:
    """Return what a link's queue did: utilisation, loss, or mean (`delay`) and `p95` of its delay in ms."""
    link = result["links"][way]
    statistic = {"delay": "mean", "p95": "p95"}.get(quantity)
    return link["queue_delay_ms"][statistic] if statistic else link[quantity]


def named(engine: str) -> str:
    """Write the name of an engine."""
    return engine if engine == UNNAMED else f"engine `{engine}`"


def made_by(engines: Mapping[str, int]) -> str:
    """Say which engines made some results, and whether the one at hand is among them."""
    if not engines:
        return "no run is stored"
    text = " and ".join(map(named, sorted(engines)))
    if len(engines) > 1:
        return f"**made by different engines**: {text}"
    return f"made by {text}" + ("" if set(engines) == {this_engine()} else ", **not by this engine**")
