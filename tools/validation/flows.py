"""Who loses in a router buffer: the findings, in a shortened study with and without access links.

Each finding is stated with its numbers, whether it holds or not; where it does not, the same runs with an
initial window of three segments in the place of ten, and with an access link before each sender, say how much
of the difference the host's own bursts make.
"""

from collections.abc import Iterator
from pathlib import Path

from sojourn.losses.findings import LOADS, Cells, Finding, look_for
from sojourn.study import Study

from tools.validation.runs import Runs

STUDY = "flows-pareto15.toml"
SHORT = (("duration", "60s"), ("warmup", "10s"))
BUFFERS = ("16pkt", "32pkt", "128pkt", "256pkt")
ACCESS = "flows-access.toml"
_THREE = tuple((f"workload.{load}.0.initial-window", "3") for load in LOADS)
VARIANTS = {
    "initial window 10": (STUDY, ()),
    "initial window 3": (STUDY, _THREE),
    "access links, initial window 10": (ACCESS, ()),
    "access links, initial window 3": (ACCESS, _THREE),
}
"""The study of each variant, and what is set in it."""

TEXT = """## Who loses in a router buffer

`studies/{study}`, shortened to {duration} with a warm-up of {warmup}, one run a cell, with initial windows of
ten and of three segments, and the same behind access links
(`studies/{access}`). The bounds by which a finding holds were set before its studies were run;
afterwards the tests were completed, so that each of them tests every load and buffer that its statement
speaks of.

In the first two hosts send at any rate: no access link spreads a window's burst. There the tail of the loss
bursts follows the initial window. With 32 packets at low load losses cluster within a few milliseconds, and
the diagram is nearly flat from octave 4 (16 ms) up to the round-trip time: flat, as published, but not from
the first octave on. *Unexplained:* the published probes lost more than TCP at low load with large buffers,
and the bursts were longer there; neither initial window shows it. Nor do the kernel's own flows between real
programs (docs/testbed.md): their bursts are longer than simulated ones, but the probes lose less than TCP.
"""


def findings(runs: Runs, studies: Path) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the findings of each variant."""
    for title, (file, sets) in VARIANTS.items():
        study = Study.load(studies / file, [*SHORT, *sets])
        name = title.replace(",", "").replace(" ", "-")
        found = runs.of_study(study, name, {"path.down.queue.limit": BUFFERS})
        yield title, list(look_for(Cells(found)))


def section_text() -> str:
    """Return the section's first words."""
    return TEXT.format(study=STUDY, access=ACCESS, duration=SHORT[0][1], warmup=SHORT[1][1])
