"""What viewers of adaptive video bring from files: clips and players, read before anything runs.

Both are part of what a point is: the sizes of a clip are put into its document, and the source of a player
in Python is hashed with it.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import lru_cache
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.parts.clips import ENDINGS, read_clip


def read_clips(document: dict[str, Any]) -> None:
    """Put the sizes of every clip that names a file into a scenario, which is changed in place.

    Raises
    ------
    SojournError
        A file is not there, or not a table of sizes.
    """
    for user in document.get("users") or ():
        if user.get("kind") == "adaptive":
            user["clips"] = [_read(clip) for clip in user.get("clips") or ()]


def own_players(document: dict[str, Any]) -> list[str]:
    """Return the digests of the sources of the players in Python that a scenario names."""
    algorithms = [user.get("algorithm") or {} for user in document.get("users") or ()]
    names = {found["class"] for found in algorithms if found.get("kind") == "python"}
    return [_source(name) for name in sorted(names)]


def _read(clip: Any) -> Any:
    if isinstance(clip, str) and clip.lower().endswith(ENDINGS):
        return _read_file(clip, Path(clip).stat().st_mtime_ns if Path(clip).exists() else 0)
    return clip


@lru_cache(maxsize=64)
def _read_file(path: str, changed_ns: int) -> dict[str, Any]:
    found = read_clip(path)
    return {**found.in_study(), "name": Path(path).name}


@lru_cache
def _source(name: str) -> str:
    from sojourn.parts.player import find_player

    made = find_player(name)
    try:
        file = inspect.getsourcefile(made)
        text = Path(file).read_bytes() if file else b""
    except (OSError, TypeError):
        raise SojournError(f"the player {name}: its source file cannot be read") from None
    return hashlib.sha256(text).hexdigest()
