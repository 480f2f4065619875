"""The engine: study files in, simulations out. Everything here is deterministic and reads no file."""

from collections.abc import Callable
from typing import Any

class StudyError(ValueError):
    """One clear sentence: file, line or key, what was found, what was expected."""

def parse(text: str, name: str, sets: list[tuple[str, str]]) -> str:
    """Read a study file (TOML) and return the study document (JSON); `name` is used in errors."""

def points(document: str) -> list[str]:
    """Expand a study document into its points, every replication of each, in study order."""

def run(
    point: str,
    log: bool = False,
    progress: Callable[[float], object] | None = None,
    packets: Callable[[dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Simulate one point: `summary` (JSON text) and tables of NumPy columns. Releases the GIL.

    With `packets`, the packet log is handed to it in pieces while the simulation runs, and is not returned.
    """

def packet_kinds() -> list[str]:
    """Return the names of the kinds of packets, in the order of their codes in the packet log."""

def drop_causes() -> list[str]:
    """Return the names of the causes of drops, in the order of their codes in the packet log (255: none)."""

def schema() -> str:
    """Return the JSON Schema of study files."""

def version() -> str:
    """Return the version of the engine."""

def match_captures(ingress: str, egress: str, packets: Callable[[dict[str, Any]], object]) -> str:
    """Compare captures in front of a queue and behind it; hand out the packet log, return the summary (JSON).

    Raises CaptureError if a capture cannot be read, or the two have nothing in common.
    """
