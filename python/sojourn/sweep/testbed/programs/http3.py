"""Where the server of HTTP/3 is: a program of its own, built from the repository (`make http3`)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

__all__ = ["found", "missing"]

_NAME = "sojourn-http3"


def missing() -> str | None:
    """Say what is missing to serve HTTP/3, in one sentence; None if nothing is."""
    if found() is None:
        how = "build it with `make http3`, or `cargo install --path crates/sojourn-http3`"
        return f"{_NAME}, which serves HTTP/3, is not installed ({how}, in the repository)"
    return None


def found() -> str | None:
    """Return the program: beside this Python's, or on the path; None if there is none."""
    beside = str(Path(sys.executable).parent)
    return shutil.which(_NAME, path=os.pathsep.join((beside, os.environ.get("PATH", os.defpath))))
