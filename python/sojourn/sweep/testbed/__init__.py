"""The points of a study between real programs, over the emulator: ``sojourn run STUDY --on testbed``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import SojournError
from sojourn.sweep.testbed.naming import identity

if TYPE_CHECKING:
    from sojourn.study import Point, Study
    from sojourn.sweep.simulation import Done, Failed

__all__ = ["default_folder", "identity", "named", "notes", "refuse", "require", "run_point"]

TUN = "/dev/net/tun"


def default_folder(study: Study) -> Path:
    """Return where results go by default: not among the simulated ones."""
    return Path("results") / f"{study.name}-testbed"


def refuse(points: Iterable[Point], file: str) -> None:
    """Raise SojournError with one sentence if a point has what is not to be had between real programs."""
    from sojourn.sweep.testbed.plan import refused

    for point in points:
        if reason := refused(point):
            raise SojournError(f"{file} cannot be run on the testbed: {reason}")


def require() -> None:
    """Raise SojournError with one sentence if no bed can be made on this machine."""
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise SojournError(
            f"{TUN} cannot be used: it must be there, readable and writable to whoever calls (or run as root)"
        )


def notes(point: Point) -> list[str]:
    """Return what is otherwise on the testbed than in a simulation of a point, in sentences."""
    from sojourn.sweep.testbed.plan import notes

    return notes(point)


def run_point(point: Point, out: str, log: bool, build: str, offload: bool = True) -> Done | Failed:
    """Run one point on the testbed and store its result; parameters as of ``simulate_point``."""
    from sojourn.sweep.testbed.point import run_point

    return run_point(point, out, log, build, offload)


def named(point: Point, offload: bool = True) -> Point:
    """Return a point under the hash of its result on this testbed.

    It covers what decides the simulated result, the sources of the testbed, and the kernel: whose TCP it is;
    and that cards neither cut nor join packets, where they do not.
    """
    return point.on_testbed(identity(offload))
