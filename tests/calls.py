"""Calls of the package's functions as text: their arguments, arguments near them, and what comes of a call.

Everything that JSON has stands for itself, but for dicts; all else is a dict of one entry, named by its kind.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import enum
import functools
import hashlib
import importlib
import inspect
import io
import json
import math
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path, PurePath
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType
from typing import Any

import drawings
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = str(Path(__file__).resolve().parent.parent)
"""Where the sources are, which is written as `<root>`."""
FILES = "files"
"""The folder, in the one that a call is made in, of the files that are given to it; written as `<files>`."""
LONGEST = 8000
"""Characters of the arguments of a call that is kept."""
ROWS, ELEMENTS, LARGEST = 60, 400, 6000
"""Rows of a table, elements of an array and bytes of a file that are given: the first ones of more rows."""
STARS = ("*", "**")
"""Names of the arguments that are given without one, and of those that are given by any name."""
WORDS = (
    *("path.down.queue.limit", "path.up.queue.kind", "path.rtt", "flows.0.transport", "users.voice.count"),
    *("links.down.loss", "links.up.queue_delay_ms.mean", "voice.mos.median", "workload", "repeat", "down"),
    *("64pkt", "1.5Mbit", "30ms", "2s", "20kB", "1 bdp", "fifo", "codel", "cubic", "5", "0.25", "<&>", "ü"),
)
"""What a text may be instead."""


class NotText(Exception):
    """There is no text for a value."""


def written(value: Any, given: bool = False) -> Any:
    """Return a value as JSON has it, if it is one that is given to a call or what comes of one."""
    each_of = functools.partial(written, given=given)
    match value:
        case None | bool():
            return value
        case enum.Enum():
            return {"enum": [_name(type(value)), value.name]}
        case np.generic():
            return {"numpy": [value.dtype.str, written(value.item())]}
        case float() if not math.isfinite(value):
            return {"float": repr(value)}
        case str() if type(value) is str:
            return value.replace(ROOT, "<root>").replace(str(Path(FILES).absolute()), "<files>")
        case int() | float() if type(value) in (int, float):
            return value
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case tuple() if not hasattr(value, "_fields"):
            return {"tuple": [each_of(each) for each in value]}
        case list():
            return [each_of(each) for each in value]
        case set() | frozenset():
            return {type(value).__name__: sorted(map(each_of, value), key=json.dumps)}
        case dict() | MappingProxyType():
            return {"dict": [[each_of(key), each_of(each)] for key, each in value.items()]}
        case range():
            return {"range": [value.start, value.stop, value.step]}
        case PurePath() if given and str(value).startswith(tempfile.gettempdir()):
            return {"file": [value.name, _contents(Path(value))]}
        case PurePath():
            return {"path": written(str(value))}
        case np.ndarray() if value.dtype.kind in "biufU" and (given or value.size <= ELEMENTS):
            value = value[:ELEMENTS] if value.ndim == 1 and given else value
            if value.size > ELEMENTS:
                raise NotText
            return {"array": [value.dtype.str, list(value.shape), written(value.ravel().tolist())]}
        case pl.DataFrame() | pl.Series() if given or len(value) <= 100 * ROWS:
            value = value.head(ROWS) if given else value
            frame, out = value if isinstance(value, pl.DataFrame) else value.to_frame(), io.BytesIO()
            frame.write_ipc(out)
            kind = "frame" if frame is value else "series"
            return {kind: [base64.b64encode(out.getvalue()).decode(), 60]}
        case pl.LazyFrame():
            return {"lazy": each_of(value.collect())}
        case np.random.Generator():
            return {"random": each_of(value.bit_generator.state)}
        case Axes() | Figure():
            figure = value.figure if isinstance(value, Axes) else value
            return {
                "axes" if isinstance(value, Axes) else "figure": [] if given else drawings.described(figure)
            }
        case type():
            return {"class": _name(value)}
        case FunctionType() if "<" not in value.__qualname__ and value.__module__.startswith("sojourn."):
            return {"function": _name(value)}
        case BuiltinFunctionType() if inspect.ismodule(value.__self__):
            return {"function": _name(value)}
        case MethodType() if "<" not in value.__name__:
            return {"method": [each_of(value.__self__), value.__name__]}
        case functools.partial():
            return {"partial": each_of([value.func, [*value.args], value.keywords])}
    if not type(value).__module__.startswith("sojourn.") or isinstance(value, BaseException):
        raise NotText
    if isinstance(value, tuple):
        return {"object": [_name(type(value)), [[None, each_of(list(value))]]]}
    names = (
        [field.name for field in dataclasses.fields(value)]
        if dataclasses.is_dataclass(value)
        else list(vars(value))
    )
    return {"object": [_name(type(value)), [[name, each_of(getattr(value, name))] for name in names]]}


def _contents(file: Path) -> Any:
    """Return the text or the bytes of a file, the files of a folder, or nothing if there is none."""
    if file.is_dir():
        return {"dict": [[each.name, _contents(each)] for each in sorted(file.iterdir())]}
    if not file.exists():
        return None
    if not file.is_file() or file.stat().st_size > LARGEST:
        raise NotText
    try:
        return written(file.read_text(encoding="utf-8").replace(str(file.parent), "<files>"))
    except UnicodeDecodeError:
        return written(file.read_bytes())


def _lay(file: Path, contents: Any) -> Path:
    """Lay down the file, or the folder, that is given to a call."""
    file.parent.mkdir(parents=True, exist_ok=True)
    match contents:
        case Mapping():
            file.mkdir(exist_ok=True)
            for name, each in contents.items():
                _lay(file / name, each)
        case str():
            file.write_text(contents, encoding="utf-8")
        case bytes():
            file.write_bytes(contents)
    return file


def _left() -> list[Any]:
    """Return the files that are there after a call: names, and what those of text say."""
    left, image = [], re.compile(r"<svg.*?</svg>|data:[^\"')]*", re.DOTALL)
    for file in sorted(Path(FILES).rglob("*")):
        text = written(file.read_bytes().decode(errors="replace")) if file.is_file() else ""
        binary = "\0" in text or "\ufffd" in text
        left.append([str(file), "" if binary else digest(image.sub("", text))])
    return left


def _name(of: Any) -> str:
    if "<" in of.__qualname__:
        raise NotText
    return f"{of.__module__}:{of.__qualname__}"


def named(name: str) -> Any:
    """Return the class or function of a name."""
    module, _, names = name.partition(":")
    return functools.reduce(inspect.getattr_static, names.split("."), importlib.import_module(module))


def read(text: Any) -> Any:
    """Return the value of what was written."""
    if isinstance(text, list):
        return [read(each) for each in text]
    if isinstance(text, str):
        return text.replace("<root>", ROOT).replace("<files>", str(Path(FILES).absolute()))
    if not isinstance(text, dict):
        return text
    [(kind, of)] = text.items()
    match kind:
        case "enum":
            return named(of[0])[of[1]]
        case "numpy":
            return np.dtype(of[0]).type(read(of[1]))
        case "float":
            return float(of)
        case "bytes":
            return base64.b64decode(of)
        case "tuple":
            return tuple(map(read, of))
        case "set":
            return set(map(read, of))
        case "frozenset":
            return frozenset(map(read, of))
        case "dict":
            return {read(key): read(each) for key, each in of}
        case "range":
            return range(*of)
        case "path":
            return Path(read(of))
        case "file":
            return _lay(Path(FILES).absolute() / of[0], read(of[1]))
        case "lazy":
            return read(of).lazy()
        case "random":
            drawn = np.random.Generator(getattr(np.random, read(of)["bit_generator"])())
            drawn.bit_generator.state = read(of)
            return drawn
        case "axes":
            return Figure().add_subplot()
        case "figure":
            return Figure()
        case "method":
            return getattr(read(of[0]), of[1])
        case "partial":
            call, first, named_so = read(of)
            return functools.partial(call, *first, **named_so)
        case "array":
            return np.array(read(of[2]), np.dtype(of[0])).reshape(of[1])
        case "frame" | "series":
            frame = pl.read_ipc(io.BytesIO(base64.b64decode(of[0]))).head(of[1])
            for column, row, cell in of[2:]:
                cells = [*frame[column][:row], read(cell), *frame[column][row + 1 :]]
                frame = frame.with_columns(pl.Series(column, cells, frame[column].dtype))
            return frame if kind == "frame" else frame.to_series()
        case "class" | "function":
            return named(of)
    made = named(of[0])
    if issubclass(made, tuple):
        return made(*read(of[1][0][1]))
    value, given = object.__new__(made), {name: read(each) for name, each in of[1]}
    # A field that came later has its default.
    for field in dataclasses.fields(made) if dataclasses.is_dataclass(made) else ():
        if field.default is not dataclasses.MISSING:
            given.setdefault(field.name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            given.setdefault(field.name, field.default_factory())
    for name, each in given.items():
        object.__setattr__(value, name, each)
    return value


def _places(text: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where something could be otherwise."""
    if isinstance(text, list):
        yield path
        for k, each in enumerate(text):
            yield from _places(each, (*path, k))
    elif isinstance(text, dict):
        [(kind, of)] = text.items()
        if kind in ("tuple", "set", "frozenset"):
            for k, each in enumerate(of):
                yield from _places(each, (*path, kind, k))
        elif kind in ("dict", "object"):
            yield from [(*path, kind)] if kind == "dict" and of else []
            at = (*path, kind) if kind == "dict" else (*path, kind, 1)
            for k, (_, each) in enumerate(of if kind == "dict" else of[1]):
                yield from _places(each, (*at, k, 1))
        elif kind == "array":
            for k in range(min(len(of[2]), 20)):
                yield (*path, kind, 2, k)
        elif kind in ("frame", "series"):
            yield (*path, kind, 1)
        elif kind == "lazy":
            yield from _places(of, (*path, kind))
        elif kind == "file" and of[1] is not None:
            yield (*path, kind, 1)
            yield from _places(of[1], (*path, kind, 1)) if isinstance(of[1], dict) else ()
    elif text is not None:
        yield path


def near(arguments: Mapping[str, Any], seed: str) -> dict[str, Any]:
    """Return other arguments: one or two values in them are others, or something is missing."""
    draw = random.Random(seed)
    changed = json.loads(json.dumps(arguments))
    for _ in range(draw.choice([1, 1, 2]) if changed else 0):
        name = draw.choice(sorted(changed))
        places = list(_places(changed[name], (name,)))
        if places:
            path = draw.choice(places)
            *way, last = path
            holder = functools.reduce(lambda found, key: found[key], way, changed)
            holder[last] = _other(holder[last], draw, path)
    return changed


def changed(arguments: Mapping[str, Any], changes: list[Any]) -> dict[str, Any]:
    """Return other arguments: at each of the places is the value beside it, after all others if it is new."""
    other = json.loads(json.dumps(arguments))
    for (*way, last), value in changes:
        holder = functools.reduce(lambda found, key: found[key], way, other)
        if isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value
    return other


def _other(value: Any, draw: random.Random, path: tuple[Any, ...]) -> Any:
    if isinstance(value, bool):
        return not value
    if path[-2:-1] in (("frame",), ("series",)):
        return draw.choice([0, 1, 2])
    if path[-2:-1] == ("file",) and isinstance(value, str):
        lines = value.splitlines(keepends=True) or [""]
        k = draw.randrange(len(lines))
        figures = list(re.finditer(r"[0-9.]+", lines[k]))
        more = [lines[k][: found.start()] + figure + lines[k][found.end() :]
                for found in figures for figure in ("0", "1", f"2{found[0]}", "x")]  # fmt: skip
        anew = draw.choice([[], [lines[k]] * 2, *([each] for each in more)])
        return draw.choice(
            ["", value[: len(value) // 2], *["".join([*lines[:k], *anew, *lines[k + 1 :]])] * 6]
        )
    if isinstance(value, dict):
        return None
    if isinstance(value, int):
        return draw.choice([0, 1, -value, value + 1, value - 1, 2 * value, 100 * value])
    if isinstance(value, float):
        return draw.choice([0.0, -value, value + 1, 2 * value, value / 3, 100 * value])
    if isinstance(value, str):
        near_it = ["", value + "x", value.swapcase(), value[:-1], f"{value}.{value}", f"2{value}"]
        return draw.choice([*near_it, *draw.sample(WORDS, 6)])
    if isinstance(value, list):
        return draw.choice([[], value[:1], value[1:], value[:-1], value[::-1], [*value, *value[:1]]])
    return value


def target(name: str) -> Callable[..., Any]:
    """Return what a name calls: a function, or a method with its object or class as the first argument."""
    found = named(name)
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, functools.cached_property):
        found = found.func
    return getattr(found, "__wrapped__", found)


def takes(call: Callable[..., Any], names: Set[str]) -> bool:
    """Return whether a function takes arguments of these names; those that have a default may be left out, as
    one that came later is. A class takes none that are kept."""
    if isinstance(call, type):
        return not names
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    taken = {stars.get(each.kind, each.name): each for each in inspect.signature(call).parameters.values()}
    needed = {name for name, each in taken.items() if each.kind in stars or each.default is each.empty}
    return needed <= names <= taken.keys()


def outcome(call: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Return what comes of a call, as text: its result, what it prints, draws and writes, or its refusal."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            given = {name: read(text) for name, text in arguments.items()}
            drawn = [each for each in given.values() if isinstance(each, Axes | Figure)]
            first = (
                [given.pop(name) for name in list(given)[: list(given).index("*")]] if "*" in given else []
            )
            found = call(*first, *given.pop("*", ()), **given.pop("**", {}), **given)
            found = _rounded(written(list(found) if inspect.isgenerator(found) else found))
            if drawn:
                found = {"drawn": [found, *map(written, drawn)]}
            if Path(FILES).exists():
                found = {"left": [found, _left()]}
        return {"printed": [written(said.getvalue()), found]} if said.getvalue() else found
    except NotText:
        raise
    except Exception as error:
        mine = type(error).__module__.startswith("sojourn")
        return {"raises": [type(error).__name__, written(str(error)) if mine else ""]}
    finally:
        if Path(FILES).exists():
            shutil.rmtree(FILES)


def _rounded(text: Any) -> Any:
    """Numbers count to nine digits; what a frame holds, and not how it is stored."""
    if isinstance(text, float):
        return float(f"{text:.9g}")
    if isinstance(text, list):
        return [_rounded(each) for each in text]
    if isinstance(text, Mapping):
        [(kind, of)] = text.items()
        if kind in ("frame", "series"):
            frame = read(text)
            frame = frame if kind == "frame" else frame.to_frame()
            return {kind: [str(frame.schema), _rounded(written(frame.rows()))]}
        return {kind: of if kind == "random" else _rounded(of)}
    return text


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:8]
