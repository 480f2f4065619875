"""What is said beside a figure: how to read it, and what good looks like."""

from __future__ import annotations

from sojourn.report.figures import KINDS, Plot
from sojourn.report.figures.values import Value, axis_name, lower

_GOOD = {
    "delay": (
        "Good is A, below 150 ms: with everything else on the way, a conversation still feels immediate."
    ),
    "mos": "Good is 3.6 and above (A to C) in every cell that users will meet.",
    "ssim": "Good is 0.95 and above (A and B), where damage is hardly seen.",
    "loss": (
        "Good is below 1 % (A and B); transfers that probe for capacity always cause some, "
        "since losses are how they learn the rate."
    ),
    "utilisation": (
        "Good is close to 100 % under transfers without end, with as little delay as possible; "
        "a buffer that is too small shows as unused capacity."
    ),
    "seconds": "Good is short: past a few seconds users lose patience.",
}
_ROWS = {
    "delay": " A row that gets worse to one side is a load that keeps the buffer full.",
    "mos": " A row that gets darker to one side is a load for which the size of the buffer matters.",
    "seconds": " A row says what the same load costs at another size of the buffer.",
}
_OCCUPANCY = (
    " Occupancy counts packets as if all were full-sized, so where small acknowledgements fill the queue "
    "it reads much higher than the wait of any packet."
)


def how_to_read(plot: Plot) -> str:
    """Return one sentence on what the marks of a figure are."""
    rest = "; one panel for each of the other settings" if len(plot.panels) > 1 else ""
    rest += "".join(
        f"; {lower(axis_name(axis))} {', '.join(labels)}" for axis, labels in plot.spec.only.items()
    )
    return f"{KINDS[plot.spec.kind].explain(plot)}{rest}."


def what_is_good(plot: Plot) -> str:
    """Return a sentence on which way is better, and how far; for a heatmap, what a row says."""
    shown: Value = plot.value
    sentence = _GOOD.get(shown.kind)
    if sentence is None:
        way = {"low": "low", "high": "high"}.get(shown.better)
        sentence = (
            f"Good is {way}, and alike from cell to cell."
            if way
            else "Neither high nor low is good in itself: it says which regime a cell is in."
        )
    if plot.spec.kind == "heatmap":
        sentence += _ROWS.get(shown.kind, "")
    return sentence + (_OCCUPANCY if shown.path.endswith("occupancy_delay_ms") else "")
