"""Who loses in a router buffer: the findings, in a shortened study and with another initial window.

Each finding is stated with its numbers, whether it holds or not; where it does not, the same runs with an
initial window of three segments in the place of ten say how much of the difference the host's own bursts
make.
"""

from __future__ import annotations

import os
from pathlib import Path

from sojourn.losses.findings import LOADS, Cells, look_for
from sojourn.results import Results
from sojourn.study import Study
from sojourn.sweep import run

STUDY = "flows-pareto15.toml"
SHORT = (("duration", "60s"), ("warmup", "10s"))
BUFFERS = ("16pkt", "32pkt", "128pkt", "256pkt")
VARIANTS = {
    "initial window 10": (),
    "initial window 3": tuple((f"workload.{load}.0.initial-window", "3") for load in LOADS),
}

TEXT = """## Who loses in a router buffer

`studies/{study}`, shortened to {duration} of which {warmup} are left out, one run a cell, with initial
windows of ten and of three segments; every run is in `{where}/`. The bounds by which a finding holds are
in `sojourn/losses/findings.py`.

Hosts here send as fast as they like: there is no access link that would stretch a window's burst. The tail of
the loss bursts follows the initial window. With 32 packets at low load losses cluster within a few
milliseconds, and the diagram is nearly flat from octave 4 (16 ms) up to the round-trip time: flat, as
published, but not from the first octave on. Why the published probes lost more than TCP at low load with
large buffers, and why its bursts were longer there, is unexplained: neither initial window shows it.
"""


def section(root: str | os.PathLike[str], studies: Path, jobs: int | None = None) -> list[str]:
    """Run what is missing and return the paragraphs of the page."""
    file = studies / STUDY
    tables = []
    for title, sets in VARIANTS.items():
        out = Path(root) / title.replace(" ", "-")
        run(Study.load(file, [*SHORT, *sets]), out=out, only={"path.down.queue.limit": BUFFERS}, jobs=jobs)
        rows = [
            f"| {found.statement} | {found.here} | {verdict(found.holds)} |"
            for found in look_for(Cells(Results(out)))
        ]
        tables.append("\n".join([f"| finding | here, {title} | |", "| --- | --- | --- |", *rows]) + "\n")
    text = TEXT.format(study=STUDY, duration=SHORT[0][1], warmup=SHORT[1][1], where=Path(root).as_posix())
    return [text, *tables]


def verdict(holds: bool | None) -> str:
    """Say whether a finding holds."""
    return "cannot be said" if holds is None else "holds" if holds else "**does not hold**"
