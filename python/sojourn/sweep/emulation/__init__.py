"""A path between real programs: the queues of a study under the wall clock."""

from sojourn.sweep.emulation.options import Options, point_of, probes_of
from sojourn.sweep.emulation.session import BedError, RecordsError, run

__all__ = ["BedError", "Options", "RecordsError", "point_of", "probes_of", "run"]
