"""Results read back: iterate over them, look one up, or take them as a table."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.errors import SojournError, StoreError, counted
from sojourn.results.path import flatten

if TYPE_CHECKING:
    import polars as pl


BEFORE_BUILDS = "of before results named their engine"
CAPTURED = "captured"
"""In the place of a hash: the one result of two captures, which was measured and not simulated."""


class Results:
    """The results of a study, in study order.

    Iterating gives the objects that ``sojourn run --json`` prints. Points that are not on disk yet are
    left out; :attr:`missing` counts them. A file that is damaged raises StoreError where it is read.

    Parameters
    ----------
    path
        A results directory.

    Raises
    ------
    StoreError
        One sentence: the directory is not there, or is not one of results.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Here, so that what only needs a module beside this one does not wait for it.
        from sojourn.results.store import Store

        self.store = Store(path)
        if self.store.path.is_file():
            raise StoreError(f"{path} is a file; expected a directory of results, as `sojourn run` makes it")
        if not self.store.path.is_dir():
            raise StoreError(f"{path}: there is no such results directory")
        study = self.store.read_study()
        if study is None:
            lacks = f"{path} is not a results directory: it has no study.json"
            if self.store.hashes():
                lacks += f"; it has points, so run their study with --out {path}"
            raise StoreError(lacks)
        self.record: dict[str, Any] = study
        self._times = self.store.times()
        self._plan = [entry for entry in study["points"] if self.store.has(entry["hash"])]

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.record["study"]

    @property
    def document(self) -> dict[str, Any]:
        """The study document: the study file as plain JSON, with nothing filled in."""
        return self.record["document"]

    @property
    def captured(self) -> bool:
        """Whether this was measured between two captures, not simulated."""
        return [entry["hash"] for entry in self.record["points"]] == [CAPTURED]

    @property
    def planned(self) -> list[tuple[dict[str, Any], int, str]]:
        """Labels, replication and hash of each of the study's points, on disk or not."""
        return [(entry["point"], entry["replication"], entry["hash"]) for entry in self.record["points"]]

    @property
    def missing(self) -> int:
        """Number of the study's points that are not on disk."""
        return len(self.record["points"]) - len(self._plan)

    @property
    def foreign(self) -> int:
        """Number of points on disk that belong to other versions of the study, or other engines."""
        return len(self._foreign())

    def _foreign(self) -> list[str]:
        return sorted(set(self.store.hashes()) - {entry["hash"] for entry in self._plan})

    def left_out(self) -> list[str]:
        """Return what the points on disk that are not part of the study belong to, one clause for each."""
        builds = Counter(map(self.store.build_of, self._foreign()))
        same = builds.pop(self.record.get("engine"), 0)
        left = [f"{_on_disk(same)} of another version of the study"] if same else []
        return left + [
            f"{_on_disk(count)} of another engine ({build or BEFORE_BUILDS})"
            for build, count in sorted(builds.items(), key=str)
        ]

    def __len__(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (result for _, result in self.items())

    def items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Iterate over pairs of hash and result."""
        for entry in self._plan:
            stored = self.store.read_point(entry["hash"])
            wall_s = self._times.get(entry["hash"])
            yield entry["hash"], labelled(stored, self.name, entry["point"], entry["replication"], wall_s)

    def find(self, prefix: str) -> str:
        """Return the one hash that begins with `prefix`; SojournError if there is none, or more than one."""
        found = sorted({entry["hash"] for entry in self._plan if entry["hash"].startswith(prefix)})
        if len(found) == 1:
            return found[0]
        if found:
            raise SojournError(
                f"{prefix!r} is the beginning of {len(found)} points of {self.store.path}; "
                "give more digits of the hash"
            )
        raise SojournError(
            f"{self.store.path} has no point {prefix!r}; `sojourn show {self.store.path}` lists them"
        )

    def __getitem__(self, prefix: str) -> dict[str, Any]:
        """Return the result whose hash begins with `prefix`; errors as of :meth:`find`."""
        wanted = self.find(prefix)
        return next(result for point, result in self.items() if point == wanted)

    def packets(self, prefix: str) -> pl.LazyFrame:
        """Return the packet log of a point.

        Parameters
        ----------
        prefix
            The beginning of the point's hash.

        Returns
        -------
        polars.LazyFrame
            A row for each packet; :mod:`sojourn.results.packet_log` has its columns.

        Raises
        ------
        SojournError
            There is no such point, or it has no packet log.
        """
        import polars as pl

        absent = "packet log; run the study again with --log"
        file, _ = self._read(prefix, self.store.packet_file, absent, pl.read_parquet_schema)
        return pl.scan_parquet(file)

    def flows(self, prefix: str) -> pl.DataFrame:
        """Return the table of connections of a point.

        Parameters
        ----------
        prefix
            The beginning of the point's hash.

        Returns
        -------
        polars.DataFrame
            A row for each connection, with its bytes, packets, losses, times in ns and windows in packets.

        Raises
        ------
        SojournError
            There is no such point, or its study keeps no such table.
        """
        absent = "table of connections: set record.flows in its study"
        return self._frame(prefix, self.store.flow_file, absent)

    def series(self, prefix: str) -> pl.DataFrame:
        """Return the flows of a point over time.

        Parameters
        ----------
        prefix
            The beginning of the point's hash.

        Returns
        -------
        polars.DataFrame
            A row for each flow at each instant: window, round-trip time, rates. :mod:`sojourn.results.series`
            has its columns.

        Raises
        ------
        SojournError
            There is no such point, or its study keeps no series.
        """
        return self._samples(prefix, "flows")

    def queues(self, prefix: str) -> pl.DataFrame:
        """Return the queues of a point over time, as :meth:`series` does of its flows; errors as of it."""
        return self._samples(prefix, "queues")

    def _samples(self, prefix: str, what: str) -> pl.DataFrame:
        absent = "series: set record.series in its study"
        return self._frame(prefix, lambda point: self.store.series_file(point, what), absent)

    def _frame(self, prefix: str, file_of: Callable[[str], Path], absent: str) -> pl.DataFrame:
        import polars as pl

        return self._read(prefix, file_of, absent, pl.read_parquet)[1]

    def _read(
        self, prefix: str, file_of: Callable[[str], Path], absent: str, read: Callable[[Path], Any]
    ) -> tuple[Path, Any]:
        """The file that a point has beside its result, and what `read` makes of it."""
        import polars as pl

        point = self.find(prefix)
        file = _present(file_of(point), absent)
        try:
            return file, read(file)
        except OSError as error:  # it may be whole: nothing is to be deleted
            raise StoreError(f"{file} cannot be read: {str(error).partition(':')[0]}") from None
        except pl.exceptions.PolarsError:
            # Whether a point is done is told by its result alone.
            again = f"delete {self.store.point_file(point)} and run the study again to compute both anew"
            raise StoreError(f"{file} is damaged; {again}") from None

    def table(self) -> pl.DataFrame:
        """Return one row per result.

        Returns
        -------
        polars.DataFrame
            Columns ``hash``, ``study``, the axes, ``replication``, and every number of the result under
            its dotted path, as ``links.down.queue_delay_ms.mean``. Lists (series) are left out. Limits of
            queues that differ stand beside the axes as numbers, too: ``path.down.queue.limit_pkts`` (full
            packets), ``…_bytes`` and ``…_ms`` (at the link's rate).
        """
        import polars as pl

        from sojourn.results.limits import cell_of, columns, held

        limits = columns(held(self.record))
        rows = [
            {"hash": point[:12], "study": result["study"], **result["point"]}
            | limits.get(cell_of(result["point"]), {})
            | {"replication": result["replication"]}
            | flatten({k: v for k, v in result.items() if k not in ("study", "point", "replication")})
            for point, result in self.items()
        ]
        names: dict[str, None] = {}
        for row in rows:
            names.update(dict.fromkeys(row))
        return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in names])

    def __repr__(self) -> str:
        return f"<Results of {self.name!r} in {self.store.path}: {len(self)} points, {self.missing} missing>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def open_results(path: str | os.PathLike[str]) -> Results:
    """Open a results directory.

    Parameters
    ----------
    path
        The directory that ``sojourn run`` wrote, the `study.json` in it, or the name of a directory below
        ``results``.

    Returns
    -------
    Results

    Raises
    ------
    SojournError
        The directory is not there, is not one of results, or holds a damaged file.
    """
    path = Path(path)
    if path.name == "study.json" and path.parent != Path():
        path = path.parent
    if not path.exists() and path.name == str(path) != "":
        there = sorted(file.parent.name for file in Path("results").glob("*/study.json"))
        if path.name in there:
            return Results("results" / path)
        near = get_close_matches(path.name, there, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        found = f"{hint}results has {', '.join(there)}" if there else "run its study first"
        raise StoreError(f"{path}: there is no such results directory; {found}")
    return Results(path)


def labelled(
    stored: dict[str, Any], study: str, point: dict[str, Any], replication: int, wall_s: float | None
) -> dict[str, Any]:
    """Return a stored result as ``run --json`` prints it: labelled as in this study, with its wall time."""
    engine = {"wall_s": 0.0 if wall_s is None else wall_s, **stored["engine"]}
    return {**stored, "study": study, "point": point, "replication": replication, "engine": engine}


def engines(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the engines that made some results."""
    return sorted({engine_name(result["engine"]) for result in results})


def engine_name(made: Mapping[str, Any]) -> str:
    """Return the name of the engine in a result's `engine`."""
    if "build" not in made:
        return f"sojourn, {BEFORE_BUILDS}"
    return f"sojourn {made['version']}, build {made['build']}"


def _on_disk(count: int) -> str:
    return f"{counted(count, 'point')} on disk {'is' if count == 1 else 'are'}"


def _present(file: Path, absent: str) -> Path:
    if not file.is_file():
        raise SojournError(f"{file}: this point has no {absent}")
    return file


def _column(name: str, values: list[Any]) -> pl.Series:
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, values)
