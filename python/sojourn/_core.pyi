"""The engine: study files in, simulations out. Everything here is deterministic and reads no file."""

from collections.abc import Callable
from typing import Any

class StudyError(ValueError):
    """One clear sentence: file, line or key, what was found, what was expected."""

def clip(name: str) -> tuple[float, list[float], list[list[int]]]:
    """Return a clip that ships: seconds of a segment, rates in kb/s, and bytes by segment and level."""

def clips() -> list[str]:
    """Return the names of the clips that ship."""

def play(
    algorithm: Any,
    clip: tuple[float, list[float], list[list[int]]],
    periods: list[tuple[float, float, float]],
    buffer: float,
    initial: float | None = None,
    resume: float | None = None,
    draws: list[float] | None = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Play a clip over an ideal link; columns with a row for each segment. See `sojourn.players.play`."""

def parse(text: str, name: str, sets: list[tuple[str, str]]) -> str:
    """Read a study file (TOML) and return the study document (JSON); `name` is used in errors."""

def points(document: str) -> list[str]:
    """Expand a study document into its points, every replication of each, in study order."""

def run(point: str, log: bool = False, progress: Callable[[float], object] | None = None) -> dict[str, Any]:
    """Simulate one point: `summary` (JSON text) and tables of NumPy columns. Releases the GIL."""

def schema() -> str:
    """Return the JSON Schema of study files."""

def version() -> str:
    """Return the version of the engine."""
