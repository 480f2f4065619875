"""What viewers of adaptive video bring from files: clips and players.

The sizes of a clip are put into the scenario. A player in Python is part of what a point is by the text of
its module and of the modules beside it that this imports. They are read and not imported, so that listing a
stranger's study runs none of its code; :func:`import_players` imports them when the study is run.
"""

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.parts.clips import ENDINGS, read_clip


def settle(document: dict[str, Any]) -> None:
    """Put the sizes of every clip that names a file into a scenario, which is changed in place.

    Raises
    ------
    SojournError
        A file is not there, or not a table of sizes.
    """
    for user in document.get("users") or ():
        if user.get("kind") == "adaptive":
            user["clips"] = [_read(clip) for clip in user.get("clips") or ()]


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the digests of the sources of the players in Python that a scenario names."""
    players = sorted(_players(document))
    return {"players": [_digest(name, str(Path.cwd())) for name in players]} if players else {}


def import_players(documents: Iterable[Mapping[str, Any]]) -> None:
    """Import the players that scenarios name, to learn of errors before anything runs.

    Raises
    ------
    SojournError
        A module cannot be imported, or has no such class.
    """
    for name in sorted({name for document in documents for name in _players(document)}):
        from sojourn.parts.player import find_player

        find_player(name)


def _players(document: Mapping[str, Any]) -> set[str]:
    algorithms = [user.get("algorithm") or {} for user in document.get("users") or ()]
    return {found["class"] for found in algorithms if found.get("kind") == "python"}


def _read(clip: Any) -> Any:
    if isinstance(clip, str) and clip.lower().endswith(ENDINGS):
        return _read_file(clip, Path(clip).stat().st_mtime_ns if Path(clip).exists() else 0)
    return clip


@lru_cache(maxsize=64)
def _read_file(path: str, changed_ns: int) -> dict[str, Any]:
    found = read_clip(path)
    return {**found.in_study(), "name": Path(path).name}


@lru_cache
def _digest(player: str, folder: str) -> str:
    """Return the digest of a player's sources; modules of the working directory `folder` are found too."""
    from sojourn.parts.player import module_of

    module = module_of(player)
    hashed = hashlib.sha256()
    try:
        for name, source in sorted(sources(module, folder).items()):
            hashed.update(name.encode() + b"\0" + source + b"\0")
    except ModuleNotFoundError as error:
        raise SojournError(f"the player {player}: {error}") from None
    except OSError:
        raise SojournError(f"the player {player}: its source file cannot be read") from None
    return hashed.hexdigest()


def sources(module: str, folder: str) -> dict[str, bytes]:
    """Return the sources of a module and of those that it imports from the same place, by name.

    Nothing is imported. Of an installed module, only it and its packages are read.

    Raises
    ------
    ModuleNotFoundError
        There is no such module.
    OSError
        A source cannot be read.
    """
    top = module.partition(".")[0]
    found: dict[str, bytes] = {}
    spec = PathFinder.find_spec(top, [*sys.path, folder])
    places = list(spec.submodule_search_locations or ()) if spec else []
    root = str(Path(places[0] if places else (spec and spec.origin) or folder).absolute().parent)
    installed = root in sysconfig.get_paths().values()
    waiting = [module]
    while waiting:
        wanted = waiting.pop()
        for name, spec in _chain(wanted, root):
            if name in found or spec.origin is None:  # seen, or a folder without __init__.py
                continue
            source = found[name] = Path(spec.origin).read_bytes()
            package = name if spec.submodule_search_locations else name.rpartition(".")[0]
            imported = _imports(source, package) if spec.origin.endswith(".py") else ()
            waiting += () if installed else imported
        if wanted == module and module not in found:
            raise ModuleNotFoundError(f"No module named {module!r}")
    return found


def _chain(module: str, root: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Iterate over the packages of a module below a directory, and the module, as far as they are there."""
    places, name = [root], ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(part, places)  # by its last name: a full one asks for imported packages
        if spec is None:
            return
        yield name, spec
        places = list(spec.submodule_search_locations or ())


def _imports(source: bytes, package: str) -> Iterator[str]:
    """Iterate over the names of the modules that a source in a package may import."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return  # whoever imports it is told
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            outer = package.rsplit(".", node.level - 1)[0] if node.level else ""
            name = ".".join(filter(None, (outer, node.module)))
            yield from (f"{name}.{alias.name}" if name else alias.name for alias in node.names)
