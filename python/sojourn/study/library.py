"""The studies that ship, found by their names: `sojourn run quickstart` works in an empty folder."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from sojourn.errors import SojournError

SHIPPED = Path(__file__).parent / "shipped"
"""The shipped study files, and the published tables below it; in a checkout a link to `studies`."""


def names() -> list[str]:
    """Return the names of the studies that ship."""
    return sorted(file.stem for file in SHIPPED.glob("*.toml"))


def locate(study: str | os.PathLike[str]) -> Path:
    """Return the file of a study: the path itself, or where a shipped study of this name lies.

    A file in the working directory goes before a shipped study of the same name. Cases of suites have a name
    with folders, as ``suites/rfc7928/5.1.1``.
    """
    path = Path(study)
    if path.parts[:1] == ("suites",) and len(path.parts) == 3 and not path.exists():
        # Names of cases are sections, whose last part is no suffix.
        case = SHIPPED / path.parent / f"{path.name}.toml"
        return case if case.is_file() else path
    if path.name == str(study) and not path.suffix and not path.exists() and path.name in names():
        return SHIPPED / f"{path.name}.toml"
    return path


def beside(study: Path, name: str) -> Path:
    """Return the file that a study names: relative to its own, or else a shipped study of this name.

    The name of a shipped study may be written with its suffix or without.
    """
    path = study.parent / name
    shipped = SHIPPED / f"{name.removesuffix('.toml')}.toml"
    try:
        return path if path.exists() or shipped.stem not in names() else shipped
    except (OSError, ValueError):
        return path


def table(name: str, folders: Iterable[Path] = ()) -> Path:
    """Return the file of a published table: in a folder given, or where they ship."""
    places = [Path(name)] if Path(name).is_absolute() else []
    places += [folder / name for folder in folders]
    for place in [*places, SHIPPED / "published" / Path(name).name]:
        if place.is_file():
            return place
    shipped = [file.name for file in SHIPPED.glob("published/*.csv")]
    near = get_close_matches(Path(name).name, shipped, n=1)
    meant = f"; did you mean published/{near[0]}?" if near else ""
    raise SojournError(f"the published table {name} is not there; expected it beside the study file{meant}")
