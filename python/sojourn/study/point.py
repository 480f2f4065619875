"""One simulation to do: a complete scenario, with its inputs settled and its hash known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sojourn.study.identity import point_hash, testbed_hash
from sojourn.study.inputs import adaptive, recorded, trace, video, voice


@dataclass(frozen=True)
class Point:
    """One replication of one scenario of a study; made by :meth:`settle`.

    Attributes
    ----------
    hash : str
        Names its result.
    study : str
        Name of the study.
    labels : dict
        By axis of the sweep, the label of this point.
    replication : int
        From 0.
    seed : int
        The study's seed.
    document : dict
        The complete scenario: defaults filled in, inputs settled.
    note : str or None
        What the user should know about how it is scored.
    """

    hash: str
    study: str
    labels: dict[str, Any]
    replication: int
    seed: int
    document: dict[str, Any] = field(repr=False)
    note: str | None = None

    @classmethod
    def settle(cls, expanded: Mapping[str, Any], *, auto: str | None = None, folder: Path = Path()) -> Point:
        """Settle the inputs of a point, and find its hash. No module of a player is imported.

        Parameters
        ----------
        expanded
            The point as the engine lists it; its document is changed in place.
        auto
            What an automatic choice of a voice score comes to; by default what this machine can do.
        folder
            Where the study file lies, beside which its traces are looked for.

        Raises
        ------
        SojournError
            One sentence: what the scenario names cannot be had, or is not what it should be.
        """
        document, seed, replication = expanded["document"], expanded["seed"], expanded["replication"]
        notes = [
            voice.settle(document, auto),
            video.settle(document),
            trace.settle(document, folder),
            recorded.settle(document, folder),
            adaptive.settle(document),
        ]
        return cls(
            hash=point_hash(document, seed, replication),
            study=expanded["study"],
            labels=expanded["point"],
            replication=replication,
            seed=seed,
            document=document,
            note="; ".join(filter(None, notes)) or None,
        )

    def on_testbed(self, testbed: Mapping[str, Any]) -> Point:
        """Return this point under the hash of its result on a testbed, which `testbed` names."""
        return replace(self, hash=testbed_hash(self.hash, testbed))

    @property
    def names(self) -> dict[str, Any]:
        """What the study calls it, as its result begins."""
        return {"study": self.study, "point": self.labels, "replication": self.replication}

    @property
    def recorded(self) -> dict[str, Any]:
        """What the scenario asks to be kept or analysed besides the summary."""
        return self.document.get("record") or {}

    @property
    def text(self) -> str:
        """The point as JSON for the engine, with the texts of the files that its scenario names."""
        document = recorded.fill(trace.fill(self.document))
        return json.dumps({**self.names, "seed": self.seed, "document": document}, ensure_ascii=False)

    def __str__(self) -> str:
        axes = ", ".join(f"{axis}={label_text(label)}" for axis, label in self.labels.items())
        return f"{self.hash[:10]} ({axes + ', ' if axes else ''}replication {self.replication})"


def label_text(value: Any) -> str:
    """Return an axis label as it is written on the command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def axes_of(point: Point) -> dict[str, str]:
    """Return a point's labels as text, its replication with them."""
    return {axis: label_text(label) for axis, label in point.labels.items()} | {
        "replication": str(point.replication)
    }
