"""Colour scales: classes with a letter each, or a plain ramp.

Every scale gets darker towards one end, so that it reads in greyscale and to eyes that do not tell red from
green; classes carry a letter besides.
"""

from bisect import bisect_right
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.colors import to_rgb

from sojourn.report.figures.values import Value

INK, PAPER = "#16181d", "#ffffff"


@dataclass(frozen=True)
class Scale:
    """From a number to the colour and letter of its cell.

    `edges` are in stored units, rising; class ``i`` holds numbers from ``edges[i-1]`` up to, but not
    including, ``edges[i]``. Without edges the scale is a ramp over the range of the numbers.
    """

    name: str
    edges: tuple[float, ...] = ()
    letters: tuple[str, ...] = ()
    meanings: tuple[str, ...] = ()
    colours: tuple[str, ...] = ()
    ramp: str = ""
    bounds: tuple[float | None, float | None] = (None, None)
    source: str = ""

    def rank(self, number: float) -> int:
        """Return the index of the class that a number falls in."""
        return bisect_right(self.edges, number + 1e-9)

    def letter(self, number: float) -> str:
        """Return the letter of a number's class, nothing on a ramp."""
        return self.letters[self.rank(number)] if self.letters else ""

    def colour(self, number: float, low: float, high: float) -> tuple[float, float, float]:
        """Return the colour of a number, where `low` and `high` span the numbers of the figure."""
        if self.edges:
            return to_rgb(self.colours[self.rank(number)])
        low = low if self.bounds[0] is None else self.bounds[0]
        high = high if self.bounds[1] is None else self.bounds[1]
        share = 0.0 if high <= low else min(max((number - low) / (high - low), 0.0), 1.0)
        start, end = (0.1, 0.9) if self.name == "difference" else (0.04, 0.9)
        return colormaps[self.ramp](start + (end - start) * share)[:3]


def ink(colour: tuple[float, float, float]) -> str:
    """Return the text colour that can be read on a background."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return INK if luminance > 0.21 else PAPER


_THREE = ("#bfe3d2", "#eda93a", "#9c2424")
_SIX = ("#e2f4eb", "#acdcc6", "#e3b03a", "#e58f3c", "#c4532f", "#75182a")
_FIVE = (*_SIX[:4], _SIX[5])

SCALES = {
    "g114": Scale(
        "g114",
        (150.0, 400.0),
        ("A", "B", "C"),
        ("below 150 ms: hardly noticed", "150–400 ms: tolerable", "400 ms and above: conversation suffers"),
        _THREE,
        source="ITU-T G.114",
    ),
    "mos": Scale(
        "mos",
        (2.6, 3.1, 3.6, 4.0, 4.3),
        ("F", "E", "D", "C", "B", "A"),
        (
            "below 2.6: not recommended",
            "2.6–3.1: nearly all dissatisfied",
            "3.1–3.6: many dissatisfied",
            "3.6–4.0: some dissatisfied",
            "4.0–4.3: satisfied",
            "4.3 and above: very satisfied",
        ),
        _SIX[::-1],
        source="ITU-T G.107 Annex B",
    ),
    "ssim": Scale(
        "ssim",
        (0.5, 0.88, 0.95, 0.99),
        ("E", "D", "C", "B", "A"),
        (
            "below 0.50: bad",
            "0.50–0.88: poor",
            "0.88–0.95: fair",
            "0.95–0.99: good",
            "0.99 and above: excellent",
        ),
        _FIVE[::-1],
        source="Zinner et al. 2010",
    ),
    "loss": Scale(
        "loss",
        (0.001, 0.01, 0.03, 0.1),
        ("A", "B", "C", "D", "E"),
        ("below 0.1 %", "0.1–1 %", "1–3 %", "3–10 %", "10 % and above"),
        _FIVE,
    ),
    "utilisation": Scale("utilisation", ramp="Blues", bounds=(0.0, 1.0)),
    "plain": Scale("plain", ramp="YlGnBu"),
    "harm": Scale("harm", ramp="Oranges", bounds=(0.0, 1.0)),
    "difference": Scale("difference", ramp="PuOr_r"),
}


def source_of(scale: Scale, value: Value) -> str:
    """Return who made a scale; of one for speech that stands beside another score, that it is one."""
    borrowed = scale.name == "mos" and not value.path.startswith("voice.")
    return f"{scale.source}, a scale made for voice" if borrowed else scale.source


def scale_for(value: Value, name: str | None = None) -> Scale:
    """Return the scale that a figure asks for, or the one that suits its value."""
    if name is None:
        same = ("mos", "loss", "utilisation", "ssim", "harm")
        return SCALES["g114" if value.kind == "delay" else value.kind if value.kind in same else "plain"]
    return SCALES["plain" if name == "none" else name]
