"""A colour scale as the scripts of a page read it."""

from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex

from sojourn.report.figures.scales import scale_for, source_of
from sojourn.report.figures.values import Value

_STOPS = 9


def described(shown: Value) -> dict[str, Any]:
    """Return the scale of a value: edges and bounds in the unit shown, colours of classes or along a ramp."""
    scale = scale_for(shown)
    stops = (0.04 + 0.86 * i / (_STOPS - 1) for i in range(_STOPS))
    colours = scale.colours or [to_hex(colormaps[scale.ramp](stop)) for stop in stops]
    return {
        "edges": [edge * shown.factor for edge in scale.edges],
        "colours": list(colours),
        "letters": list(scale.letters),
        "meanings": list(scale.meanings),
        "source": source_of(scale, shown),
        "bounds": [None if bound is None else bound * shown.factor for bound in scale.bounds],
    }
