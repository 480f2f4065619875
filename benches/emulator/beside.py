"""The table of `benches.emulator.compare`: emulated, kernel and simulated beside one another.

Its rules, written before a run was seen, are those of the validation page: utilisation within 1 point, mean
queueing delay within 7 %, loss within 25 %. What an emulated figure is too far from is in bold.
"""

import statistics
from collections.abc import Mapping, Sequence

from sojourn.study.grouped import grouped

from tools.validation.kernel import QUANTITIES

PATHS = ("emulated", "kernel", "simulated")
COMPARED = ("utilisation", "delay", "loss")
QUANTITY = {"delay_mean_ms": "delay"}
"""Of a queue's figures, where the name differs."""
_FACTORS = {"utilisation": 100, "delay": 1, "loss": 100}
_HEAD = ("scenario", "window, s", "utilisation, %", "mean delay, ms", "loss, %", "runs of tries")

Rows = Sequence[Mapping[str, str]]


def _means(rows: Rows) -> dict[str, dict[str, float]]:
    """Return the mean of each quantity on each path, of one scenario."""
    return {
        on: {name: statistics.fmean(float(row[name]) for row in rows if row["on"] == on) for name in COMPARED}
        for on in {row["on"] for row in rows}
    }


def _by_scenario(rows: Rows) -> dict[str, list[Mapping[str, str]]]:
    """Return what was run of each scenario, of those that were run on all paths."""
    found = grouped((row["scenario"], row) for row in rows)
    return {name: each for name, each in found.items() if {row["on"] for row in each} == set(PATHS)}


def outside(rows: Rows) -> list[tuple[str, str, str]]:
    """Return scenario, path and quantity where the emulated figure is not as that path's."""
    found = []
    for name, each in _by_scenario(rows).items():
        means = _means(each)
        for other in PATHS[1:]:
            for quantity in COMPARED:
                if not QUANTITIES[quantity][2].holds(means["emulated"][quantity], [means[other][quantity]]):
                    found.append((name, other, quantity))
    return found


def text(rows: Rows) -> str:
    """Return the table in Markdown, and how many figures are as they should be."""
    far = set(outside(rows))
    scenarios = _by_scenario(rows)
    if not scenarios:
        return "No scenario was run on all three paths."
    lines = [f"| {' | '.join(_HEAD)} |", f"|{' --- |' * len(_HEAD)}"]
    for name, each in scenarios.items():
        means = _means(each)
        cells = [
            " · ".join(_cell(means[on][quantity], quantity, (name, on, quantity) in far) for on in PATHS)
            for quantity in COMPARED
        ]
        tries = ", ".join(_tries(each, on) for on in PATHS[:2])
        lines.append(f"| {name} | {each[0]['window_s']} | {' | '.join(cells)} | {tries} |")
    of = len(scenarios) * len(COMPARED)
    said = [
        f"{of - sum(on == other for _, other, _ in far)} of {of} figures are as the {on} ones"
        for on in PATHS[1:]
    ]
    return "\n".join(lines) + "\n\n" + "; ".join(said) + "."


def _tries(rows: Rows, on: str) -> str:
    """Return how many runs, and in how many tries; a star if a bed did not hold."""
    these = [row for row in rows if row["on"] == on]
    star = "*" if any(row["not_held"] for row in these) else ""
    return f"{len(these)} of {sum(int(row['tries']) for row in these)}{star}"


def _cell(value: float, quantity: str, far: bool) -> str:
    number = (
        f"{value * _FACTORS[quantity]:.1f}"
        if quantity == "utilisation"
        else f"{value * _FACTORS[quantity]:.3g}"
    )
    return f"**{number}**" if far else number
