"""Tables of the validation page: checks and plain cells as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tools.validation.checks import Check


def number(value: float, quantity: str = "") -> str:
    """Write a number with as many digits as it is worth."""
    if not math.isfinite(value):
        return "–"
    if quantity == "utilisation":
        return f"{value:.3f}"
    if quantity == "loss":
        return f"{100 * value:.2g} %" if value < 0.0995 else f"{100 * value:.1f} %"
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of plain cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def of_rows(checks: Sequence[Check], spread: str = "99 % interval", others: str = "theory") -> str:
    """Write one row for each check."""
    rows = []
    for check in checks:
        ours = number(check.ours) if check.ok else f"**{number(check.ours)}**"
        low, high = check.spread
        expected = ", ".join(number(value) for _, value in check.references)
        name = check.key.split("/", 1)[1]
        unit = f" ({check.unit})" if check.unit else ""
        interval = f"{number(low)} to {number(high)}"
        rows.append([name, check.quantity + unit, ours, interval, expected, check.verdict])
    return table(["row", "quantity", "sojourn", spread, others, "verdict"], rows)


def against_study(checks: Sequence[Check]) -> str:
    """Write one row for each check, with its rule."""
    rows = []
    for check in checks:
        kind = kind_of(check)
        ours = number(check.ours, kind) if check.ok else f"**{number(check.ours, kind)}**"
        spread = " – ".join(number(end, kind) for end in check.spread)
        others = ", ".join(f"{name} {number(value, kind)}" for name, value in check.references)
        name = check.key.split("/", 1)[1]
        rows.append([name, ours, spread, others, check.rule, check.verdict])
    return table(["row (delay in ms)", "sojourn", "least – greatest", "against", "rule", "verdict"], rows)


_LINK_COLUMNS = {
    "delay": "delay, ms",
    "p95": "95th percentile, ms",
    "utilisation": "utilisation",
    "loss": "loss",
}


def of_links(checks: Sequence[Check]) -> str:
    """Write one row for each scenario and link, with a cell for each quantity."""
    links: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        _, scenario, way, _ = check.key.split("/")
        links.setdefault((scenario, way), []).append(check)
    names = list(dict.fromkeys(name for check in checks for name, _ in check.references))
    several = len({name.split(" ")[0] for name in names}) > 1
    others = " ".join(names) if several else names[0].split(" ")[0]
    rows = []
    for (scenario, way), found in links.items():
        row = [scenario, way]
        for check in sorted(found, key=lambda check: list(_LINK_COLUMNS).index(kind_of(check))):
            kind = kind_of(check)
            ours = number(check.ours, kind) if check.ok else f"**{number(check.ours, kind)}**"
            row += [ours, " – ".join(number(end, kind) for end in check.spread)]
            row += [", ".join(number(value, kind) for _, value in check.references)]
        rows.append([*row, "ok" if all(check.ok for check in found) else "outside"])
    head = ["scenario", "link"]
    kinds = {kind_of(check) for check in checks}
    for title in (title for kind, title in _LINK_COLUMNS.items() if kind in kinds):
        head += [title, "least – greatest", others]
    return table([*head, "verdict"], rows)


def kind_of(check: Check) -> str:
    """Return the last part of a check's key: loss, delay, …"""
    return check.key.rsplit("/", 1)[1]
