"""Tables of the validation page: checks, findings and plain cells as Markdown."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn.losses.findings import Finding
from sojourn.study.grouped import grouped

from tools.validation.checks import Check, verdict


@dataclass(frozen=True)
class Table:
    """A table of plain cells under a heading of its own."""

    title: str
    head: Sequence[str]
    rows: Iterable[Sequence[str]]
    text: str = ""

    def __str__(self) -> str:
        return "\n".join(filter(None, (f"### {self.title}\n", self.text, table(self.head, self.rows))))


def number(value: float, quantity: str = "") -> str:
    """Write a number with as many digits as it is worth."""
    if not math.isfinite(value):
        return "–"
    if quantity == "utilisation":
        return f"{value:.3f}"
    if quantity == "loss":
        return f"{100 * value:.2g} %" if value < 0.0995 else f"{100 * value:.1f} %"
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def of(check: Check, value: float) -> str:
    """Write a number of a check; where the check names a unit, the number is in it."""
    return number(value, "" if check.unit else kind_of(check))


def ours(check: Check) -> str:
    """Write our number of a check, in bold where it is outside."""
    return of(check, check.ours) if check.ok else f"**{of(check, check.ours)}**"


def spread(check: Check) -> str:
    """Write the ends of a check's spread."""
    return " – ".join(of(check, end) for end in check.spread)


def against(check: Check) -> str:
    """Write what a check is held against."""
    return ", ".join(f"{name} {of(check, value)}" for name, value in check.references)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of plain cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_rows(checks: Sequence[Check], between: str = "least – greatest") -> str:
    """Write one row for each check, with its rule."""
    rows = []
    for check in checks:
        what = check.quantity + (f" ({check.unit})" if check.unit else "")
        numbers = [ours(check), spread(check), against(check)]
        rows.append([check.key.split("/", 1)[1], what, *numbers, check.rule, check.verdict])
    return table(["row", "quantity", "sojourn", between, "against", "rule", "verdict"], rows)


_LINK_COLUMNS = {
    "delay": "delay, ms",
    "p95": "95th percentile, ms",
    "utilisation": "utilisation",
    "loss": "loss",
}


def of_links(checks: Sequence[Check]) -> str:
    """Write one row for each scenario and link, with a cell for each quantity."""
    links = grouped((tuple(check.key.split("/")[1:3]), check) for check in checks)
    names = list(dict.fromkeys(name for check in checks for name, _ in check.references))
    several = len({name.split(" ")[0] for name in names}) > 1
    others = " ".join(names) if several else names[0].split(" ")[0]
    rows = []
    for (scenario, way), found in links.items():
        row = [scenario, way]
        for check in sorted(found, key=lambda check: list(_LINK_COLUMNS).index(kind_of(check))):
            row += [ours(check), spread(check), _in_column(check, names)]
        rows.append([*row, "ok" if all(check.ok for check in found) else "outside"])
    head = ["scenario", "link"]
    kinds = {kind_of(check) for check in checks}
    for title in (title for kind, title in _LINK_COLUMNS.items() if kind in kinds):
        head += [title, "least – greatest", others]
    return table([*head, "verdict"], rows)


def _in_column(check: Check, names: Sequence[str]) -> str:
    """Write the references in the order of the column's head, which names them unless some are not there."""
    several = len({name.split(" ")[0] for name in names}) > len(check.references)
    return against(check) if several else ", ".join(of(check, value) for _, value in check.references)


def of_findings(found: Iterable[Finding], here: str = "here") -> str:
    """Write one row for each finding."""
    rows = ([each.statement, each.reading, each.here, verdict(each.holds)] for each in found)
    return table(["finding", "tested as", here, ""], rows)


def kind_of(check: Check) -> str:
    """Return the last part of a check's key: loss, delay, …"""
    return check.key.rsplit("/", 1)[1]
