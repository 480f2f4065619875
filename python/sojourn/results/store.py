"""The results directory: one file for each point, written whole or not at all.

=====================  ==============================================================================
``study.json``         the study, its seed, the version and command that ran it, the list of points
``points/H.json``      the result of the point with hash H; the same bytes whoever computed it. It names H
                       first, and ends with the SHA-256 of what stands before (see :func:`sealed`)
``packets/H.parquet``  its packet log, where one was asked for
``flows/H.parquet``    its table of connections, likewise
``media/H.ts``         the worst video stream of a point as it arrived, where that was asked for
``timings.jsonl``      how long each point took; differs between runs, so it is kept apart
=====================  ==============================================================================

The files are the only state. What is not on disk is still to do; what is there is never computed
again. A process killed at any moment leaves at most a temporary file, which the next run removes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sojourn.errors import StoreError
from sojourn.results.atomic import opened, probe, remove_abandoned, write, writing

if TYPE_CHECKING:
    import polars as pl


_SEAL = b',"sha256":"'
_ELSEWHERE = "; put that right, or choose another directory with --out"
_COMPUTE_AGAIN = "delete it and run the study again to compute it anew"


class DamagedFile(StoreError):
    """A stored file that is not as it was written: `found` says how."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(f"{found}; {remedy}")
        self.found = found


class Store:
    """A results directory.

    Parameters
    ----------
    path
        The directory. It is made by :meth:`prepare`, never by reading.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.points = self.path / "points"
        self.packets = self.path / "packets"
        self.flows = self.path / "flows"
        self.series = self.path / "series"
        self.media = self.path / "media"
        self.timings = self.path / "timings.jsonl"
        self.study = self.path / "study.json"

    def prepare(self, *, packets: bool = False) -> None:
        """Make the directories, prove that they can be written, remove what a killed run left."""
        for directory in (self.points, self.packets) if packets else (self.points,):
            with writing(self.path, _ELSEWHERE):
                directory.mkdir(parents=True, exist_ok=True)
                probe(directory)
        self.tidy()

    def tidy(self) -> None:
        """Remove what processes have left half written that are no more."""
        for directory in (self.path, self.points, self.packets, self.flows, self.series, self.media):
            remove_abandoned(directory)

    def has(self, point: str, *, packets: bool = False) -> bool:
        """Say whether a point is on disk (and its packet log, if that is wanted too)."""
        return self.point_file(point).is_file() and (not packets or self.packet_file(point).is_file())

    def hashes(self) -> list[str]:
        """Return the hashes of all points on disk."""
        try:
            return sorted(file.stem for file in self.points.glob("*.json") if not file.name.startswith("."))
        except OSError:
            return []

    def point_file(self, point: str) -> Path:
        """Return where the result of a point is kept."""
        return self.points / f"{point}.json"

    def packet_file(self, point: str) -> Path:
        """Return where the packet log of a point is kept."""
        return self.packets / f"{point}.parquet"

    def read_point(self, point: str) -> dict[str, Any]:
        """Return the result of a point as it was stored, without its hash and checksum.

        A result without a checksum is one of an engine before there were any.

        Raises
        ------
        DamagedFile
            The file was changed after it was written, or is another point's.
        StoreError
            It cannot be read.
        """
        file = self.point_file(point)
        data, result = _read_object(
            file, ("study", "point", "replication", "links", "engine"), _COMPUTE_AGAIN
        )
        seal, named = result.pop("sha256", None), result.pop("hash", None)
        if seal is None and named is None and isinstance(result["engine"], dict):
            return result
        if data != sealed(data[: data.rfind(_SEAL)]):
            raise DamagedFile(f"{file} is damaged: its checksum is another", _COMPUTE_AGAIN)
        if named != point:
            raise DamagedFile(f"{file} is damaged: it holds the result of the point {named}", _COMPUTE_AGAIN)
        return result

    def build_of(self, point: str) -> str | None:
        """Return the build of the engine that made a stored result, None if that is not known."""
        try:
            return self.read_point(point)["engine"].get("build")
        except StoreError:
            return None

    def write_point(self, point: str, result: dict[str, Any]) -> None:
        """Store the result of a point, without its wall time."""
        data = sealed(result_text({"hash": point, **result}).removesuffix("}\n").encode())
        self._replace(self.point_file(point), lambda file: file.write(data))

    def remove_point(self, point: str) -> None:
        """Remove the result of a point, if there is one."""
        with writing(self.path, _ELSEWHERE):
            self.point_file(point).unlink(missing_ok=True)

    @contextlib.contextmanager
    def packets_written(self, point: str, *, keep: bool) -> Iterator[BinaryIO]:
        """Open the file for a packet log; it gets its name, if it is kept, when all went well."""
        target = self.packet_file(point)
        with writing(target, _ELSEWHERE), opened(target, keep=keep, tidied=True) as file:
            yield file

    def flow_file(self, point: str) -> Path:
        """Return where the table of connections of a point is kept."""
        return self.flows / f"{point}.parquet"

    def write_flows(self, point: str, flows: pl.DataFrame) -> None:
        """Store the table of connections of a point."""
        with writing(self.path, _ELSEWHERE):
            self.flows.mkdir(exist_ok=True)
        self._replace(self.flow_file(point), lambda file: flows.write_parquet(file, compression="zstd"))

    def series_file(self, point: str, what: str) -> Path:
        """Return where a point's samples over time are kept, of ``flows`` or of ``queues``."""
        return self.series / f"{point}.{what}.parquet"

    def write_series(self, point: str, what: str, samples: pl.DataFrame) -> None:
        """Store a point's samples over time, of ``flows`` or of ``queues``."""
        with writing(self.path, _ELSEWHERE):
            self.series.mkdir(exist_ok=True)
        target = self.series_file(point, what)
        self._replace(target, lambda file: samples.write_parquet(file, compression="zstd"))

    def write_media(self, point: str, stream: bytes) -> Path:
        """Store a point's video stream as it arrived; return the file."""
        target = self.media / f"{point}.ts"
        with writing(self.path, _ELSEWHERE):
            self.media.mkdir(exist_ok=True)
        self._replace(target, lambda file: file.write(stream))
        return target

    def read_study(self) -> dict[str, Any] | None:
        """Return what `study.json` holds, or None when there is none yet."""
        if not self.study.exists():
            return None
        remedy = "delete it and run the study again, which keeps the points that are done"
        return _read_object(self.study, ("study", "document", "points"), remedy)[1]

    def write_study(self, study: dict[str, Any]) -> None:
        """Store the study, in place of the one before."""
        text = json.dumps(study, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        self._replace(self.study, lambda file: file.write(text.encode()))

    def record_time(self, point: str, wall_s: float) -> None:
        """Note how long a point took."""
        row = {"hash": point, "wall_s": wall_s, "host": socket.gethostname()}
        with writing(self.timings, _ELSEWHERE), self.timings.open("ab", buffering=0) as file:
            file.write((json.dumps(row) + "\n").encode())

    def times(self) -> dict[str, float]:
        """Return the wall time of every point that has one, the last where there are several."""
        times: dict[str, float] = {}
        try:
            rows = self.timings.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return times
        for row in rows:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                entry = json.loads(row)
                times[entry["hash"]] = float(entry["wall_s"])
        return times

    def _replace(self, target: Path, writer: Callable[[BinaryIO], object]) -> None:
        with writing(target, _ELSEWHERE):
            write(target, writer, tidied=True)


def sealed(text: bytes) -> bytes:
    """Return a JSON object, given up to its closing brace, with the SHA-256 of that text as its last key."""
    return text + _SEAL + hashlib.sha256(text).hexdigest().encode() + b'"}\n'


def result_text(result: dict[str, Any]) -> str:
    """Return the bytes-stable text of a result: fixed key order, shortest floats, no wall time."""
    engine = {key: value for key, value in result["engine"].items() if key != "wall_s"}
    plain = plain_json({**result, "engine": engine})
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def plain_json(value: Any) -> Any:
    """Return a value with only JSON's types in it; numbers that do not exist become null."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if hasattr(value, "tolist"):
        return plain_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _read_object(file: Path, needed: tuple[str, ...], remedy: str) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a file and the object in it, which has the keys that are needed."""
    try:
        data = file.read_bytes()
        value = json.loads(data)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        where = ""
        if isinstance(error, json.JSONDecodeError):
            where = f" ({error.msg.removesuffix(' at')} at line {error.lineno})"
        what = f"it is not valid JSON{where}" if data.strip() else "it is empty"
        raise DamagedFile(f"{file} is damaged: {what}", remedy) from None
    if not isinstance(value, dict) or any(key not in value for key in needed):
        found = (
            f"an object without {next(key for key in needed if key not in value)!r}"
            if isinstance(value, dict)
            else f"a {type(value).__name__}"
        )
        raise DamagedFile(f"{file} is damaged: it holds {found}", remedy)
    return data, value
