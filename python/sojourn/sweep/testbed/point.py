"""One point run on the testbed, scored and stored: what the worker does."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.errors import StoreError
from sojourn.qoe.score import score
from sojourn.results.store import Store
from sojourn.study import Point
from sojourn.study.identity import engine
from sojourn.study.links import links
from sojourn.study.units import nanoseconds, seconds
from sojourn.sweep.emulation import BedError
from sojourn.sweep.emulation import log as packet_log
from sojourn.sweep.simulation import Done, Failed, Measured, analyses, reason
from sojourn.sweep.testbed import result, series
from sojourn.sweep.testbed.bed import AGENT, running
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.naming import identity
from sojourn.sweep.testbed.plan import plan

ATTEMPTS = 2
"""A point whose bed did not hold is run once more; then it stays as it is, and says so."""


def run_point(point: Point, out: str, log: bool, build: str, offload: bool = True) -> Done | Failed:
    """Run one point on the testbed and store its result.

    Parameters as of ``simulate_point``, and ``offload`` as of ``Campaign``.
    """
    if build != engine():
        return Failed(f"a worker has another engine ({engine()}) than this machine ({build})", fatal=True)
    try:
        store = Store(out)
        store.points.mkdir(parents=True, exist_ok=True)
        tried: list[str] = []
        for attempt in range(ATTEMPTS):
            with ExitStack() as stack:
                file = None
                if log or any(point.recorded.get(key) for key in ("losses", "traffic", "series")):
                    store.packets.mkdir(exist_ok=True)
                    file = stack.enter_context(store.packets_written(point.hash, keep=log))
                came, tables, wall_s = measure(point, file, offload)
            engine_of = came["engine"]
            engine_of["attempts"] = attempt + 1
            if tried:
                engine_of["earlier"] = tried
            if engine_of["verdict"]["held"]:
                break
            tried = [*tried, "; ".join(engine_of["verdict"]["reasons"])]
        for what, table in tables.items():
            store.write_series(point.hash, what, table)
        store.record_time(point.hash, wall_s)
        store.write_point(point.hash, came)
        return Done(came, wall_s)
    except (StoreError, BedError) as error:
        return Failed(str(error), fatal=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Failed(reason(error))


def measure(
    point: Point, packets: BinaryIO | None = None, offload: bool = True, agent: Path = AGENT
) -> Measured:
    """Run one point on the testbed and score it.

    Parameters
    ----------
    point
        The point.
    packets
        A file that takes the packet log, if one is kept or analysed.
    offload
        Hosts have cards that cut and join packets.
    agent
        As of ``running``.
    """
    started = time.perf_counter()
    entries = plan(point)
    tables: dict[str, pl.DataFrame] = {}
    with ExitStack() as stack:
        rows = stack.enter_context(TemporaryFile()) if packets is not None else None
        ran = stack.enter_context(running(point, entries, rows, offload, agent))
        names = tuple(name for name, _ in links(point.document))
        if rows is not None and packets is not None:
            carries = [_carries(entries[of].place) if of >= 0 else None for of in ran.entry_of_flow]
            packet_log.write(rows, packets, names, carries)
            packets.flush()
        gathered = [
            (entry.place, left, entry.kind.gather(entry.place, left))
            for entry, left in zip(entries, ran.left, strict=True)
        ]
        report = ran.report
        numbers = result.summary(point, gathered)
        scores = score(point.document, result.tables(gathered), report["links"])
        if packets is not None:
            origins = [_origin(gathered[entry][0]) if entry >= 0 else -1 for entry in ran.entry_of_flow]
            summary = {**numbers, "links": report["links"]}
            # Its flows are those of the log, since the kernel's connections have no table of windows.
            scores |= analyses(point, packets, None, summary, np.array(origins))
        if packets is not None and (step := series.step_ns(point.document)):
            found = [(place, each) for place, _, each in gathered]
            tables["flows"] = series.flows(step, list(numbers.get("groups", {})), found)
            length = nanoseconds(point.document["duration"])
            tables["queues"] = series.queues(step, length, packets.name, names)
    wall_s = round(time.perf_counter() - started, 6)
    made = _made(point, report, [(place, found) for place, _, found in gathered])
    return Measured(
        {**point.names, "links": report["links"], **numbers, **scores, "engine": made}, tables, wall_s
    )


def _made(point: Point, report: dict[str, Any], gathered: Sequence[tuple[Place, Gathered]]) -> dict[str, Any]:
    """Return how the result came about: the emulator, the kernel, and what the programs say of themselves."""
    notes = [f"{place.key}: {note}" for place, found in gathered for note in found.notes]
    facts = {place.key: found.facts for place, found in gathered if found.facts}
    bed = report["engine"]
    return {
        "version": _core.version(),
        "build": engine(),
        "clock": "wall",
        "packets": sum(link["departed_pkts"] for link in report["links"].values()),
        "simulated_s": seconds(point.document["duration"]),
        "kernel": identity()["kernel"],
        "verdict": report["verdict"],
        "lateness_us": report["lateness_us"],
        "bed": {
            key: bed[key] for key in ("stamps", "scheduling", "rights", "without", "offload", "processors")
        },
        **({"notes": notes} if notes else {}),
        **({"programs": facts} if facts else {}),
    }


_CARRIED = {"voice": "voice", **dict.fromkeys(("video", "gaming", "cloud-gaming"), "video")}
"""By kind of source or user: what the packet log calls their datagrams, as that of a simulation does."""


def _carries(place: Place) -> str | None:
    """Return what the datagrams of an entry are, as the packet log calls it, if not just datagrams."""
    kind = (place.entry["source"] if place.part == "flows" else place.entry)["kind"]
    return _CARRIED.get(kind)


def _origin(place: Place) -> int:
    """Return what the engine numbers an entry's flows' origin by: groups first, then users."""
    groups = len(place.point.document.get("flows") or ())
    return place.number if place.part == "flows" else groups + place.first_user
