"""What is said beside a figure: how to read it, and what good looks like."""

from sojourn.report.figures import KINDS, Plot
from sojourn.report.figures.values import Value, axis_name, lower
from sojourn.results.bounded import awaited
from sojourn.results.excess import WHY

_GOOD = {
    "delay": ("Class A (below 150 ms) is good: enough of the delay budget is left for an interactive call."),
    "mos": "Good is 3.6 and above (classes A to C) in every cell that users will meet.",
    "ssim": "Good is 0.95 and above (classes A and B), where damage is hardly visible.",
    "loss": (
        "Good is below 1 % (classes A and B). Loss-based congestion control always causes some loss: "
        "it learns the rate that way."
    ),
    "utilisation": (
        "Good is close to 100 % under bulk transfers, with as little delay as possible. "
        "A buffer that is too small leaves capacity unused."
    ),
    "harm": (
        "0 % is no harm: as good as alone. 100 % is all that could be lost; below 0 % the flow fares better "
        "in company. Two equal flows that share a link evenly do each other's goodput 50 % of harm."
    ),
    "seconds": "Good is short: after a few seconds users lose patience.",
}
_VIEWERS = "Good is high: what viewers leave unused, better pictures could have been made of."
_TICKS = (
    "Good is low: a tick that is lost or too late is a jump on the screen; the usual limit, a choice, is 5 %."
)
_WEB = "Good is 3 and above: fair, in the words of ITU-T G.1030."
_ROWS = {
    "delay": " A row that gets worse towards one side is one where the {x} decides how long packets wait.",
    "mos": " A row that gets darker towards one side is one where the {x} matters.",
    "seconds": " Along a row only the {x} changes.",
}
_OCCUPANCY = (
    " Occupancy counts every packet as full-sized: a queue of small acknowledgements reads much higher than "
    "any packet's wait."
)


def how_to_read(plot: Plot) -> str:
    """Return one sentence on what the marks of a figure are."""
    rest = f"; one panel for {plot.panels_are}" if len(plot.panels) > 1 else ""
    rest += "".join(
        f"; {lower(axis_name(axis))} {', '.join(labels)}" for axis, labels in plot.spec.only.items()
    )
    few = ""
    if plot.at_least or plot.across_at_least:
        paths = [plot.value.path] * bool(plot.at_least) + [plot.spec.x or ""] * bool(plot.across_at_least)
        mark, waits = KINDS[plot.spec.kind].bound, awaited(paths)
        which = f"where it is a lower bound ({mark})," if mark else "some are lower bounds, where"
        few = f"; {which} too few {waits} had ended when the run did"
    return f"{KINDS[plot.spec.kind].explain(plot)}{few}{rest}."


def what_is_good(plot: Plot) -> str:
    """Return a sentence on which way is better, and how far; for a heatmap, what a row says."""
    shown: Value = plot.value
    sentence = _WEB if shown.path.startswith("web.") and shown.kind == "mos" else _GOOD.get(shown.kind)
    if shown.path.startswith("adaptive.") and shown.kind == "utilisation":
        sentence = _VIEWERS
    if shown.path.startswith("gaming.late."):
        sentence = _TICKS
    if sentence is None:
        way = {"low": "low", "high": "high"}.get(shown.better)
        sentence = (
            f"Good is {way}."
            if way
            else "Neither high nor low is good in itself: it shows the regime of the queue."
        )
    if plot.spec.kind == "heatmap" and len(plot.x_labels) > 1:
        sentence += _ROWS.get(shown.kind, "").format(x=lower(axis_name(plot.x)))
    if shown.path.startswith("links.") and shown.path.endswith(".loss") and _above(plot, 1.0):
        sentence += f" More than 100 %: {WHY}"
    return sentence + (_OCCUPANCY if shown.path.endswith("occupancy_delay_ms") else "")


def _above(plot: Plot, most: float) -> bool:
    numbers = plot.frame["value"].drop_nulls() if "value" in plot.frame.columns else ()
    return any(number > most for number in numbers)
