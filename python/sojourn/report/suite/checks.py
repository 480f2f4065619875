"""What must hold whatever the scheme: checks of a suite that no choice of parameters can bend.

==============  =========================================================================================
``overload``    RFC 7928 §5.3.1: an unresponsive flow above the capacity leaves no choice. The link is full,
                goodput is the capacity's payload (within 0.5 %), and the share dropped is 1 − C/rate
                (within 0.01), for every scheme
``loss-law``    RFC 7928 §8.2: drop-tail with the suite's buffer loses 0.1, 0.5 or 1 %, within a factor of 2.
                Nothing can be said on a link so small that no whole number of flows comes to it: where the
                RFC's law, 0.76 N²/S², is itself farther off for the N that there is
``equal-rtt``   RFC 7928 §6: two flows of the same round trip have a ratio of goodput of 1. It holds if 1 is
                in the 95 % interval over runs (Student's t, of the logarithm of the ratio), so narrow a one
                that a ratio of 2 is not in it; it does not hold if 1 is not even in the 99.9 % interval.
                Between the two nothing can be said: few runs, or chance, which puts 1 outside the 95 %
                interval of one fair scheme in twenty, and of one in a thousand outside that of 99.9 %
==============  =========================================================================================
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import fmean

import polars as pl

from sojourn.errors import counted
from sojourn.results.interval import half_width
from sojourn.study.suites import Expanded
from sojourn.study.suites.link import rate_bps
from sojourn.study.units import bit_rate, percent

OF_CAPACITY, OF_DROPS, FACTOR = 0.005, 0.01, 2.0
LAW = 0.76
"""Of the loss of N flows that share S packets: 0.76 N²/S² (RFC 7928 §8.2.1)."""
SURE = 0.999
"""Confidence with which a ratio must differ from 1 to break the check."""


@dataclass(frozen=True)
class Check:
    """One check and what came of it: `holds` is None where nothing can be said, and `why` says why."""

    case: str
    link: str
    what: str
    scheme: str
    expected: str
    found: str
    holds: bool | None
    why: str = ""

    @property
    def verdict(self) -> str:
        """What came of it, in words."""
        words = {True: "holds", False: "does not hold", None: "cannot be said"}[self.holds]
        return f"{words}: {self.why}" if self.why else words


def checks(expanded: Expanded, table: pl.DataFrame) -> list[Check]:
    """Return the checks of a case on a link, one for each scheme that they are about."""
    made: list[Check] = []
    for name in expanded.case.checks:
        made += _MADE[name](expanded, table)
    return made


def told(found: Sequence[Check], everything: Sequence[Expanded]) -> str:
    """Return how many checks hold, do not, and cannot be said."""
    if not found:
        asked = any(each.case.checks for each in everything)
        return "none of the checks of these cases could be made" if asked else "these cases have no checks"
    count = {holds: sum(check.holds is holds for check in found) for holds in (True, False, None)}
    words = [f"{count[True]} of {len(found)} checks {'holds' if count[True] == 1 else 'hold'}"]
    words += [f"{count[False]} {'does' if count[False] == 1 else 'do'} not"] if count[False] else []
    words += [f"of {count[None]} nothing can be said"] if count[None] else []
    return ", ".join(words)


def _overload(expanded: Expanded, table: pl.DataFrame) -> Iterator[Check]:
    link, case = expanded.link.name, expanded.case.name
    group = expanded.study.points[0].document["flows"][0]
    offered, size = rate_bps(group["source"]["rate"]), float(group["source"]["size"].removesuffix("B"))
    capacity = rate_bps(expanded.study.points[0].document["path"]["down"]["rate"])
    wanted, share = capacity * (size - 28) / size, 1 - capacity / offered
    for scheme, rows in _by_scheme(table.filter(pl.col("class") == "udp")):
        goodput, loss = _mean(rows, "goodput_bps"), _mean(rows, "loss")
        holds = abs(goodput / wanted - 1) <= OF_CAPACITY
        yield Check(
            case, link, "goodput is the capacity", scheme,
            f"{bit_rate(wanted, 4)} ± {percent(OF_CAPACITY)}", bit_rate(goodput, 4), holds,
        )  # fmt: skip
        yield Check(
            case, link, "drops are 1 − C/rate", scheme,
            f"{share:.3f} ± {OF_DROPS}", f"{loss:.4f}", abs(loss - share) <= OF_DROPS,
        )  # fmt: skip


def _loss_law(expanded: Expanded, table: pl.DataFrame) -> Iterator[Check]:
    wanted = expanded.case.loss or 0.0
    limit = f"{expanded.buffer_pkts}pkt"
    plain = ({"kind": "fifo"}, {"kind": "fifo", "limit": limit})
    names = [scheme.name for scheme in expanded.schemes if scheme.queue in plain]
    for scheme, rows in _by_scheme(table.filter(pl.col("class") == "bulk", pl.col("scheme").is_in(names))):
        loss = _mean(rows, "loss")
        count = expanded.study.points[0].document["flows"][0]["count"]
        flows = counted(count, "flow")
        law = LAW * (count / expanded.size_pkts) ** 2
        why = ""
        if not wanted / FACTOR <= law <= wanted * FACTOR:
            why = f"the link is too small: of {flows} the law of RFC 7928 §8.2.1 has {percent(law, 2)}"
        holds = None if why else wanted / FACTOR <= loss <= wanted * FACTOR
        yield Check(
            expanded.case.name, expanded.link.name, f"loss of {flows} through drop-tail", scheme,
            f"{percent(wanted, 2)}, within a factor of {FACTOR:g}", percent(loss, 3), holds, why,
        )  # fmt: skip


def _equal_rtt(expanded: Expanded, table: pl.DataFrame) -> Iterator[Check]:
    equal = table.filter(pl.col("setting") == "rtt=100ms", pl.col("class").is_in(expanded.case.classes))
    for scheme, rows in _by_scheme(equal):
        by_run = rows.pivot("class", index="replication", values="goodput_bps")
        first, second = expanded.case.classes
        if not {first, second} <= set(by_run.columns):
            continue
        logs = [log(b / a) for a, b in by_run.select(first, second).iter_rows() if a and b]
        holds, why, found = even(logs)
        yield Check(
            expanded.case.name, expanded.link.name, "ratio of goodput II/I at equal round trips", scheme,
            "1 in the 95 % interval, 2 and 1/2 not", found, holds, why,
        )  # fmt: skip


def even(logs: Sequence[float]) -> tuple[bool | None, str, str]:
    """Return whether ratios are 1, from their logarithms run by run, why, and what was found."""
    if not logs:
        return None, "no run has goodput in both classes", "no goodput"
    middle, half, sure = fmean(logs), half_width(logs), half_width(logs, SURE)
    if half is None or sure is None:
        return None, "one run has no interval", f"{exp(middle):.3g}"
    found = f"{exp(middle):.3g} ({exp(middle - half):.3g} to {exp(middle + half):.3g})"
    if abs(middle) > sure:
        return False, "1 is outside the 99.9 % interval", found
    if abs(middle) > half:
        return (
            None,
            "1 is outside the 95 % interval, as for one fair scheme in twenty; more seeds tell",
            found,
        )
    if abs(middle) + half >= log(FACTOR):
        return None, "the interval is so wide that a ratio of 2 is in it; more seeds narrow it", found
    return True, "", found


_MADE = {"overload": _overload, "loss-law": _loss_law, "equal-rtt": _equal_rtt}


def _by_scheme(table: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (scheme,), rows in table.filter(pl.col("phase") == "").group_by("scheme", maintain_order=True):
        yield str(scheme), rows


def _mean(rows: pl.DataFrame, column: str) -> float:
    return float(rows[column].mean() or 0.0)  # type: ignore[arg-type]
