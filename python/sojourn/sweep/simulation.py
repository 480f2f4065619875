"""One point simulated, scored and stored: what workers do."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sojourn import _core
from sojourn.errors import SojournError, StoreError
from sojourn.results.store import Store
from sojourn.study.identity import engine
from sojourn.study.inputs import video, voice
from sojourn.study.point import Point

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Done:
    """What a worker hands back: the result as stored, and the time that the simulation took."""

    result: dict[str, Any]
    wall_s: float


@dataclass(frozen=True)
class Failed:
    """Why a worker has no result; `fatal` when no other point can fare better."""

    reason: str
    fatal: bool = False


class Measured(NamedTuple):
    """What one run came to.

    Attributes
    ----------
    result : dict
        As it is stored, without wall time.
    tables : dict of str to DataFrame
        Those that the study keeps: ``flows`` (connections), ``series`` and ``queues`` (samples over time).
    wall_s : float
        The time that it took.
    """

    result: dict[str, Any]
    tables: dict[str, pl.DataFrame]
    wall_s: float


def simulate_point(point: Point, out: str, log: bool, build: str) -> Done | Failed:
    """Simulate one point and store its result.

    Parameters
    ----------
    point
        The point.
    out
        Directory of results.
    log
        Keep its packet log.
    build
        The engine that named the point; a worker with another one refuses.
    """
    if build != engine():
        return Failed(f"a worker has another engine ({engine()}) than this machine ({build})", fatal=True)
    try:
        store = Store(out)
        logged = log or bool(point.recorded.get("losses") or point.recorded.get("traffic"))
        try:
            store.points.mkdir(parents=True, exist_ok=True)
            if logged:
                store.packets.mkdir(exist_ok=True)
        except OSError as error:
            return Failed(f"{store.path} cannot be written by a worker: {error.strerror}", fatal=True)
        if logged:
            with store.packets_written(point.hash, keep=log) as file:
                result, tables, wall_s = simulate(point, file)
        else:
            result, tables, wall_s = simulate(point)
        if "flows" in tables:
            store.write_flows(point.hash, tables["flows"])
        if "series" in tables:
            store.write_series(point.hash, "flows", tables["series"])
            store.write_series(point.hash, "queues", tables["queues"])
        store.record_time(point.hash, wall_s)
        store.write_point(point.hash, result)
        return Done(result, wall_s)
    except StoreError as error:
        return Failed(str(error), fatal=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is not an Exception, and cannot be pickled
        return Failed(reason(error))


def simulate(point: Point, packets: BinaryIO | None = None) -> Measured:
    """Simulate and score one point.

    Parameters
    ----------
    point
        The point.
    packets
        A file that takes the packet log, if one is kept or analysed.
    """
    clips = video.packets(point.document) | voice.packets(point.document)
    started = time.perf_counter()
    if packets is None:
        ran = _core.run(point.text, clips=clips)
    else:
        from sojourn.results.packet_log import run_into

        ran = run_into(point.text, packets, clips)
    wall_s = round(time.perf_counter() - started, 6)
    summary = json.loads(ran.pop("summary"))
    origins = ran.pop("origins", None)
    tables = {"flows": flow_table(ran.pop("flows"))} if "flows" in ran else {}
    if "series" in ran:
        from sojourn.results.series import flow_series, queue_series

        tables["series"] = flow_series(ran.pop("series"), list(summary.get("groups", {})))
        tables["queues"] = queue_series(ran.pop("queues"), _core.links(point.text))
    counts = {key: value for key, value in summary.pop("engine").items() if key != "wall_s"}
    scores = {}
    if point.document.get("users"):
        from sojourn.qoe.score import score

        scores = score(point.document, ran, summary.get("links"))
    if packets is not None:
        scores |= analyses(point, packets, tables.get("flows"), summary, origins)
    made = {"version": _core.version(), "build": engine(), **counts}
    return Measured({**point.names, **summary, **scores, "engine": made}, tables, wall_s)


def analyses(
    point: Point, packets: BinaryIO, flows: pl.DataFrame | None, summary: Mapping[str, Any], origins: Any
) -> dict[str, Any]:
    """Return what a packet log tells of losses and of groups of traffic, as far as the point asks for it."""
    found = {}
    packets.flush()
    if links := point.recorded.get("losses"):
        from sojourn.losses import of_point

        rates = {link: summary["links"][link]["rate_bps"] for link in links}
        found["losses"] = of_point(packets.name, flows, point.document, rates)
    if point.recorded.get("traffic"):
        from sojourn.losses import traffic

        found["traffic"] = traffic.of_point(packets.name, origins, flows, point.document, summary)
    return found


def flow_table(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return the engine's table of connections as a data frame, with nulls where nothing was measured."""
    import polars as pl

    return pl.DataFrame(dict(columns)).with_columns(
        pl.Series("link", ["down", "up"], dtype=pl.Enum(["down", "up"])).gather(pl.Series(columns["link"])),
        pl.when(pl.col("end_ns") >= 0).then(pl.col("end_ns")).alias("end_ns"),
        pl.col("mean_cwnd_pkts", "initial_ssthresh_pkts").fill_nan(None),
        pl.when(pl.col("mean_rtt_ns") > 0).then(pl.col("mean_rtt_ns")).alias("mean_rtt_ns"),
    )


def reason(error: BaseException) -> str:
    """Return why a point has no result, in one line."""
    text = next(iter(str(error).splitlines()), "no reason given")
    if isinstance(error, SojournError | _core.StudyError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {text}{place}"
