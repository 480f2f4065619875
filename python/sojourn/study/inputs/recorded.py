"""Workloads that a study replays: files that `sojourn workload` took from captures.

A source of the kind ``recorded`` names a file, relative to the study's. When a point is made, the path is
made absolute and the file's SHA-256 put beside it; the digest, and not the path, is part of what names the
result. When the point is run, the connections are put beside that as text, a line for each, and the file must
still have the digest.
"""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError

_MOST_BYTES = 1_000_000_000
_WINDOWS = ("a_bytes", "b_bytes", "a_initial_window", "b_initial_window")
"""Workloads of before have no initial windows."""
_COLUMNS = ("tcp", "client_opens", "concurrent", "start_ns", "rtt_ns", "length_ns", "turns")


def settle(document: dict[str, Any], folder: Path) -> None:
    """Find the workloads of a scenario, check them, and write down where they are and what they hold.

    Raises
    ------
    SojournError
        One sentence: the file, what was found, what was expected.
    """
    for source in _sources(document):
        file = (folder / source["file"]).absolute()
        source["sha256"] = _checked(str(file), _changed(file))
        source["file"] = str(file)


def identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario with the digests of its workloads, but not their places; nothing if it has none."""
    if not any(_sources(document)):
        return {}
    document = copy.deepcopy(dict(document))
    for source in _sources(document):
        del source["file"]
    return {"document": document}


def fill(document: dict[str, Any]) -> dict[str, Any]:
    """Return a settled scenario with its workloads as text, for the engine to run.

    Raises
    ------
    SojournError
        A workload has changed since the scenario was settled.
    """
    if not any(_sources(document)):
        return document
    document = copy.deepcopy(document)
    for source in _sources(document):
        file = Path(source["file"])
        if _digest(_bytes(file)) != source.get("sha256"):
            raise SojournError(f"{file} has changed since the study was read; run the study again")
        source["content"] = text_of(file)
    return document


def text_of(file: Path) -> str:
    """Return a workload as the engine reads it.

    Raises
    ------
    SojournError
        It is no workload.
    """
    import polars as pl  # slow to import, and most studies have no workload

    try:
        there = pl.read_parquet_schema(file)
        windows = _WINDOWS if set(_WINDOWS) <= set(there) else ()
        table = pl.read_parquet(file, columns=[*_COLUMNS, *windows])
    except (pl.exceptions.PolarsError, OSError):
        raise SojournError(f"{file} is no workload; expected a file that `sojourn workload` wrote") from None
    # The end that sends more.
    sends = pl.when(pl.col("a_bytes") > pl.col("b_bytes"))
    window = sends.then(pl.col("a_initial_window")).otherwise(pl.col("b_initial_window"))
    slash = pl.format("/{}", window).fill_null("") if windows else pl.lit("")
    table = table.filter(pl.col("turns").list.len() > 0)
    turn = pl.concat_str(
        pl.when(pl.element().struct.field("accepted")).then(pl.lit("b")).otherwise(pl.lit("a")),
        pl.element().struct.field("bytes").cast(pl.String),
        pl.lit("+"),
        pl.element().struct.field("wait_ns").cast(pl.String),
    )
    lines = table.sort("start_ns", maintain_order=True).select(
        pl.concat_str(
            pl.when(~pl.col("tcp"))
            .then(pl.lit("u"))
            .when(pl.col("concurrent"))
            .then(pl.lit("c"))
            .otherwise(pl.lit("s")),
            pl.when(pl.col("client_opens")).then(pl.lit("c")).otherwise(pl.lit("s")),
            pl.col("start_ns").cast(pl.String),
            pl.concat_str(pl.col("rtt_ns").cast(pl.String).fill_null("-"), slash),
            pl.col("turns").list.eval(turn).list.join(" "),
            separator=" ",
        )
    )
    length = table["length_ns"].max() or 0
    return "\n".join([f"length {length}", *lines.to_series().to_list()])


def length_s(file: Path) -> float:
    """Return how long the captures of a workload are, in seconds.

    Raises
    ------
    SojournError
        It is no workload.
    """
    import polars as pl  # slow to import

    _checked(str(file.absolute()), _changed(file))
    return (pl.read_parquet(file, columns=["length_ns"])["length_ns"].max() or 0) / 1e9


def _sources(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for flows in document.get("flows") or ():
        source = flows.get("source")
        if isinstance(source, dict) and source.get("kind") == "recorded":
            yield source


@lru_cache(maxsize=64)
def _checked(file: str, changed: int) -> str:
    """Check a file and return its digest; `changed` is here so that a file that changes is read again."""
    content = _bytes(Path(file))
    try:
        _core.check_trace("recorded", text_of(Path(file)))
    except _core.StudyError as error:
        raise SojournError(f"{file} is damaged: {error}") from None
    return _digest(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _changed(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _bytes(file: Path) -> bytes:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise SojournError(f"{file} is larger than {_MOST_BYTES // 1_000_000} MB; expected a workload")
        return file.read_bytes()
    except FileNotFoundError:
        raise SojournError(
            f"{file}: there is no such workload; it is looked for beside the study file"
        ) from None
    except OSError as error:
        raise SojournError(f"{file} cannot be read: {error.strerror}") from None
