"""The kinds of figures that a study may ask for.

To add one: a file here with a class that follows :class:`~sojourn.report.figures.kinds.kind.Kind` (what it
gathers, draws and explains), its name in the list below, and the same name in ``FigureKind`` of
``crates/sojourn-sim/src/study/figure.rs``, which checks study files.
"""

from sojourn.report.figures.kinds.box import Box
from sojourn.report.figures.kinds.cdf import Cdf
from sojourn.report.figures.kinds.curves import Curves
from sojourn.report.figures.kinds.flow_boxes import FlowBoxes
from sojourn.report.figures.kinds.heatmap import Heatmap
from sojourn.report.figures.kinds.kind import Kind
from sojourn.report.figures.kinds.lines import Clients, Lines
from sojourn.report.figures.kinds.matrix import Matrix
from sojourn.report.figures.kinds.responsiveness import Responsiveness
from sojourn.report.figures.kinds.sawtooth import Sawtooth
from sojourn.report.figures.kinds.scatter import Scatter
from sojourn.report.figures.kinds.surface import Surface
from sojourn.report.figures.kinds.table import Table

KINDS: dict[str, Kind] = {
    kind.name: kind()
    for kind in (
        Heatmap,
        Box,
        Lines,
        Clients,
        Cdf,
        Scatter,
        Table,
        Curves,
        FlowBoxes,
        Surface,
        Matrix,
        Sawtooth,
        Responsiveness,
    )
}
