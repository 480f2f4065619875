"""Files and folders of which a command takes several: what is named twice would count twice."""

from collections.abc import Sequence
from pathlib import Path

from sojourn.errors import SojournError


def once(paths: Sequence[Path], option: str = "") -> None:
    """Refuse the same file or folder in two places, also under another name.

    Raises
    ------
    SojournError
        One of them is named twice; `option` is where they are named, for the error.
    """
    seen: dict[Path, Path] = {}
    for path in paths:
        if (first := seen.setdefault(path.resolve(), path)) is not path:
            what = f"{path} is named twice" if first == path else f"{first} and {path} are the same"
            where = f"{option}: " if option else ""
            raise SojournError(f"{where}{what}; expected each once")
