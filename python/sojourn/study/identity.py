"""What decides a point's result, and so its hash: the name under which the result is stored and found again.

The hash covers, as one canonical JSON text:

=================  ===================================================================================
``document``       the complete scenario, defaults filled in; files it names stand as their SHA-256
``seed``           the study's seed, and ``replication``: together they name every random stream
``format``         the version of the results format
``engine``         the sources that simulate and score, see :func:`engine`
``recordings``     content of the user's own speech, where PESQ scores with it
``clips``          encodings of the clips that are shown, and what measures their VMAF
``players``        sources of the players in Python
=================  ===================================================================================

Labels, the study's name and the places of files do not enter: the same scenario has the same result.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.study.inputs import adaptive, recorded, trace, video, voice

RESULT_FORMAT = 2
"""Version of the results format. 2: results name their engine, and carry their hash and a checksum."""

_SCORING = ("losses", "qoe", "sweep/simulation.py")
"""What of this package makes numbers of a result, besides the extension module."""


def point_hash(document: Mapping[str, Any], seed: int, replication: int) -> str:
    """Return the hash of a point whose inputs are settled: 32 hexadecimal digits.

    Raises
    ------
    SojournError
        One sentence: a file that decides the result cannot be read.
    """
    identity = {
        "document": document,
        "seed": seed,
        "replication": replication,
        "format": RESULT_FORMAT,
        "engine": engine(),
    }
    for source in (trace, voice, video, adaptive):
        identity |= source.identity(document)
    identity |= recorded.identity(identity["document"])
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:32]


def testbed_hash(simulated: str, testbed: Mapping[str, Any]) -> str:
    """Return the hash of a result on a testbed: by that of the simulated one and what names the testbed."""
    told = {"simulated": simulated, "testbed": testbed}
    return hashlib.sha256(canonical(told).encode()).hexdigest()[:32]


@cache
def engine() -> str:
    """Return the name of this engine's build: 16 hexadecimal digits, the same for the same sources.

    It covers the sources of the extension module, hashed when that was built, and the Python sources that
    score, hashed now: those may change without a build.
    """
    hashed = hashlib.sha256(_core.engine().encode())
    package = Path(__file__).parents[1]
    for place in _SCORING:
        folder = package / place
        for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            hashed.update(file.relative_to(package).as_posix().encode() + b"\0")
            hashed.update(file.read_bytes().replace(b"\r", b"") + b"\0")
    return hashed.hexdigest()[:16]


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, shortest floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
