"""The engine: study files in, simulations out. Everything here is deterministic and reads no file."""

from collections.abc import Callable
from typing import Any

class StudyError(ValueError):
    """One clear sentence: file, line or key, what was found, what was expected."""

def controller(setup: str, events: str) -> str:
    """Drive one congestion controller by events (JSON); return what it says after each (JSON list)."""

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
