"""The points of a study between real programs, over the emulator: ``sojourn run STUDY --on testbed``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import SojournError
from sojourn.study.identity import engine

if TYPE_CHECKING:
    from sojourn.study import Point, Study
    from sojourn.sweep.simulation import Done, Failed

__all__ = ["FORMAT", "default_folder", "identity", "named", "notes", "refuse", "run_point"]

FORMAT = 1
"""Version of what the testbed does that its sources do not show."""


def default_folder(study: Study) -> Path:
    """Return where results go by default: not among the simulated ones."""
    return Path("results") / f"{study.name}-testbed"


def refuse(points: Iterable[Point], file: str) -> None:
    """Raise SojournError with one sentence if a point has what is not to be had between real programs."""
    from sojourn.sweep.testbed.plan import refused

    for point in points:
        if reason := refused(point):
            raise SojournError(f"{file} cannot be run on the testbed: {reason}")


def notes(point: Point) -> list[str]:
    """Return what is otherwise on the testbed than in a simulation of a point, in sentences."""
    from sojourn.sweep.testbed.plan import notes

    return notes(point)


def run_point(point: Point, out: str, log: bool, build: str) -> Done | Failed:
    """Run one point on the testbed and store its result; parameters as of ``simulate_point``."""
    from sojourn.sweep.testbed.point import run_point

    return run_point(point, out, log, build)


def named(point: Point) -> Point:
    """Return a point under the hash of its result on this testbed.

    It covers what decides the simulated result, the sources of the testbed, and the kernel: whose TCP it is.
    """
    return point.on_testbed(identity())


@cache
def identity() -> dict[str, str | int]:
    """Return what names this testbed: its format, its sources, the kernel's release."""
    hashed = hashlib.sha256()
    here = Path(__file__).parent
    for file in sorted(here.rglob("*.py")):
        hashed.update(file.relative_to(here).as_posix().encode() + b"\0")
        hashed.update(file.read_bytes().replace(b"\r", b"") + b"\0")
    uname = os.uname()
    return {
        "format": FORMAT,
        "sources": hashed.hexdigest()[:16],
        "engine": engine(),
        "kernel": f"{uname.sysname} {uname.release}",
    }
