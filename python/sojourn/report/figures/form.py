"""What figures are drawn for: a screen, or the column of a paper with its letters at the paper's size.

A figure for a paper is laid out no wider than its column allows and then made smaller as a whole, lines and
marks with it, so that the letters of its axes have the size stated. A figure that needs more room, as a
heatmap of many cells, is made smaller still to fit; its letters then are smaller too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from matplotlib.collections import Collection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.offsetbox import PackerBase
from matplotlib.patches import Patch
from matplotlib.text import Text

_DRAWN_PT = 10.0
"""Size of the letters that figures are drawn with."""


@dataclass(frozen=True)
class Form:
    """A place for figures: its width in inches, none where there is no end to it, and the size of letters."""

    width_in: float | None = None
    letters_pt: float = _DRAWN_PT
    font_type: int = 3
    """How PDF holds letters: as drawings (3), or as TrueType (42), which publishers ask for."""

    @property
    def scale(self) -> float:
        """How much smaller figures are than they were laid out."""
        return self.letters_pt / _DRAWN_PT


FORMS = {
    "screen": Form(),
    "paper": Form(6.0, 9.0, 42),
    "ieee-column": Form(3.5, 8.0, 42),
    "ieee-page": Form(7.16, 8.0, 42),
}

_FORM: ContextVar[Form] = ContextVar("form", default=FORMS["screen"])


@contextmanager
def drawn_for(name: str) -> Iterator[None]:
    """Draw and write figures for a form, named as in `FORMS`."""
    token = _FORM.set(FORMS[name])
    try:
        yield
    finally:
        _FORM.reset(token)


def form() -> Form:
    """Return what figures are drawn for now."""
    return _FORM.get()


def room(width: float) -> float:
    """Return the width in inches to lay out a figure that would like `width`."""
    here = form()
    return width if here.width_in is None else min(width, here.width_in / here.scale)


def fit(figure: Figure) -> None:
    """Make a figure as small as the form asks, with all that is drawn in it; once for each figure."""
    here = form()
    if here.width_in is None:
        return
    by = min(here.scale, here.width_in / figure.get_figwidth())
    sizes = {}
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ticks = axis.get_major_ticks()
            if ticks:
                sizes[axis] = ticks[0].label1.get_fontsize() * by, ticks[0].get_pad() * by
            axis.labelpad *= by
    for text in figure.findobj(Text):
        text.set_fontsize(text.get_fontsize() * by)
    for line in figure.findobj(Line2D):
        line.set_linewidth(line.get_linewidth() * by)
        line.set_markersize(line.get_markersize() * by)
    for patch in figure.findobj(Patch):
        patch.set_linewidth(patch.get_linewidth() * by)
    for drawn in figure.findobj(Collection):
        drawn.set_linewidth([width * by for width in drawn.get_linewidth()])
        if isinstance(drawn, PathCollection):
            drawn.set_sizes(drawn.get_sizes() * by * by)
    for box in figure.findobj(PackerBase):
        # The rows of a legend.
        box.pad, box.sep = (None if gap is None else gap * by for gap in (box.pad, box.sep))
    for axis, (size, pad) in sizes.items():
        # Ticks that are made when the figure is drawn take these from here.
        axis.set_tick_params(labelsize=size, pad=pad)
    figure.set_size_inches(figure.get_size_inches() * by)
