"""ns-3's own tests of its queue disciplines, as scenarios for ours: `python -m tools.validation.scenarios`.

The scenarios are those of ns-3's unit tests (src/traffic-control/test and src/test/ns3tc; ns-3-dev after
3.48), rebuilt from what they do and demand, and run through `sojourn.replay`. ns-3 draws other random
numbers, so that its counts of random drops are not ours; what it demands of them (some, none, fewer than) is
tested.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tools.validation.scenarios.at_arrival import ared, pie, red
from tools.validation.scenarios.by_sojourn import cobalt, codel, fifo, fq_codel, sets
from tools.validation.scenarios.row import Row

PAGE = Path("docs/ns3-scenarios.md")

HEAD = """# ns-3's scenarios

Written by `python -m tools.validation.scenarios`; no figure is typed by hand. The scenarios are ns-3's own
unit tests of its queue disciplines, rebuilt and run through `sojourn.replay` (see [replay.md](replay.md)).
*ns-3 demands* is what its test asserts. Where ours differs, the last column says why.

CoDel and FQ-CoDel are taken in the `ns3` variant. PIE is `rfc8033`, without derandomisation unless said;
ns-3's PIE keeps p at 0 while a burst allowance lasts and takes the delay of the packet that left last, so
its counts are others than ours.

Not repeated here: tests that need what a discipline by itself does not have (packets that no filter matches,
five-tuples, the classes of `prio`, `tbf` and `mq`, full stacks).
"""


SUITES: tuple[Callable[[], Iterator[Row]], ...] = (fifo, codel, fq_codel, sets, red, ared, pie, cobalt)


def rows() -> list[Row]:
    """Run every scenario."""
    return [row for suite in SUITES for row in suite()]


def table(found: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    lines = ["| discipline | scenario | ns-3 demands | here | | note |", "| --- " * 6 + "|"]
    for row in found:
        verdict = "holds" if row.ok else "**differs**"
        cells = (row.suite, row.scenario, row.demand, row.found, verdict, row.note)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def page(found: Sequence[Row]) -> str:
    """Return the whole page."""
    held = sum(row.ok for row in found)
    return f"{HEAD}\n{len(found)} demands: {held} hold, {len(found) - held} differ.\n\n{table(found)}"
