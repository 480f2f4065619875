"""What names a testbed: results of another one are other results."""

import hashlib
import os
from functools import cache
from pathlib import Path

from sojourn.study.identity import engine

FORMAT = 1
"""Version of what the testbed does that its sources do not show."""


@cache
def identity(offload: bool = True) -> dict[str, str | int]:
    """Return what names this testbed: its format, its sources, the kernel's release, what cards do not do."""
    hashed = hashlib.sha256()
    here = Path(__file__).parent
    for file in sorted(file for file in here.rglob("*.*") if file.suffix in (".py", ".html")):
        hashed.update(file.relative_to(here).as_posix().encode() + b"\0")
        hashed.update(file.read_bytes().replace(b"\r", b"") + b"\0")
    uname = os.uname()
    return {
        "format": FORMAT,
        "sources": hashed.hexdigest()[:16],
        "engine": engine(),
        "kernel": f"{uname.sysname} {uname.release}",
        **({} if offload else {"offload": "off"}),
    }
