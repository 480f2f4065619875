"""The points of a study between real programs, over the emulator: ``sojourn run STUDY --on testbed``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import SojournError
from sojourn.study.identity import canonical, engine
from sojourn.sweep.testbed import plan
from sojourn.sweep.testbed.plan import notes

if TYPE_CHECKING:
    from sojourn.study import Point, Study

__all__ = ["FORMAT", "default_folder", "identity", "named", "notes", "refuse"]

FORMAT = 1
"""Version of what the testbed does that its sources do not show."""


def default_folder(study: Study) -> Path:
    """Return where results go by default: not among the simulated ones."""
    return Path("results") / f"{study.name}-testbed"


def refuse(points: Iterable[Point], file: str) -> None:
    """Raise SojournError with one sentence if a point has what is not to be had between real programs."""
    for point in points:
        if reason := plan.refused(point):
            raise SojournError(f"{file} cannot be run on the testbed: {reason}")


def named(point: Point) -> Point:
    """Return a point under the hash of its result on this testbed.

    It covers what decides the simulated result, the sources of the testbed, and the kernel: whose TCP it is.
    """
    told = {"simulated": point.hash, "testbed": identity()}
    return replace(point, hash=hashlib.sha256(canonical(told).encode()).hexdigest()[:32])


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
