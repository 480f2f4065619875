"""What is said beside a figure: how to read it, and what good looks like."""

from __future__ import annotations

from sojourn.report.figures.gather import Plot
from sojourn.report.figures.values import Value, axis_name, value

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
    across = _lower(axis_name(plot.x)) if plot.x else ""
    down = _lower(axis_name(plot.y)) if plot.y else ""
    what = plot.value.phrase
    unit = f" in {plot.value.unit}" if plot.value.unit else ""
    rest = "; one panel for each of the other settings" if len(plot.panels) > 1 else ""
    rest += "".join(
        f"; {_lower(axis_name(axis))} {', '.join(labels)}" for axis, labels in plot.spec.only.items()
    )
    if plot.spec.kind == "heatmap":
        letter = ""
        if plot.scale.letters:
            source = f" of {plot.scale.source}" if plot.scale.source else ""
            if plot.scale.name == "mos" and not plot.value.path.startswith("voice."):
                source += ", a scale made for voice"
            letter = f", and the letter below it is its class{source}"
        return f"Across runs the {across}, down the {down}; each number is the {what}{unit}{letter}{rest}."
    if plot.spec.kind == "box":
        by = f", one for each {down}" if down else ""
        return (
            f"A box spans the middle half of all time bins of a cell, the line in it is the median, "
            f"and the whiskers reach from 5 to 95 %{by}{rest}."
        )
    if plot.spec.kind == "lines":
        line = f", one line for each {down}" if down else ""
        return f"The {what}{unit} over the {across}{line}; bars are 95 % intervals over replications{rest}."
    if plot.spec.kind == "clients":
        return f"The {what}{unit} over the {across}, one line for each; bars are 95 % intervals{rest}."
    if plot.spec.kind == "cdf":
        curve = f", one curve for each {down}" if down else ""
        return f"A curve is the share of observations whose {what} is at most that below it{curve}{rest}."
    if plot.spec.kind == "curves":
        curve = f", one curve for each {down}" if down else ""
        return f"{what[:1].upper()}{what[1:]}{curve}; shaded bands and dotted lines are intervals{rest}."
    if plot.spec.kind == "flow-boxes":
        return (
            "Flows are put together by octaves of size. A box spans the middle half of the unhappy ones, "
            "those that lost packets, its whiskers 5 to 95 %; the bar below is the share of happy flows, "
            f"which lost nothing, and the line the mean over both{rest}."
        )
    if plot.spec.kind == "surface":
        return (
            "Across run the octaves (octave j is a scale of 2^j ms), back the time; height is the energy of "
            f"the losses at that scale in a window of 60 s{rest}."
        )
    if plot.spec.kind == "scatter":
        mark = f", its shape the {down}" if down else ""
        across = _lower(_name(plot.spec.x))
        return f"Each mark is one cell{mark}; {across} runs across and {what} up{rest}."
    return f"Rows are the {down or 'study'}, columns the {across}; each number is the {what}{unit}{rest}."


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


def _name(path: str | None) -> str:
    found = value(path or "")
    return found.phrase if "." in found.path or found.kind != "plain" else axis_name(found.path)


def _lower(words: str) -> str:
    return words if words[:2].isupper() else words[:1].lower() + words[1:]
