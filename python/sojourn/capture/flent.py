"""A simulated run as a data file of Flent.

What is written is Flent's file format 4 (JSON, gzip): ``metadata``, ``x_values``, ``results`` and
``raw_values``, under the names of the Flent test that fits: ``tcp_ndown`` and ``tcp_nup`` for one direction,
``rrul_be_nflows`` for both. A series ``TCP download::N`` is what flow N brought to the clients in each step
(payload that left the bottleneck, in Mbit/s); ``Ping (ms) ICMP`` is the base round trip and the mean wait, in
each step, of the packets in all queues: what a ping would have met. A queue without packets in a step adds
nothing to it; where none of those that came has left, as at the end of a run, there is no value.
"""

import datetime
import gzip
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.capture.export import refuse_video
from sojourn.errors import SojournError
from sojourn.results.packet_log import table
from sojourn.study import Point
from sojourn.study.links import WAYS, base_rtt_ns
from sojourn.study.units import nanoseconds

FORMAT = 4
STEP_S = 0.2
_MOST_STEPS = 20_000
_MOST_FLOWS = 256
_HEADERS = 52


def flent(point: Point, step_s: float = STEP_S) -> dict[str, Any]:
    """Simulate a point and return it as a Flent data file.

    Raises
    ------
    SojournError
        The run carries no TCP data that Flent could draw, or has video users.
    """
    refuse_video(point)
    document = point.document
    names = tuple(_core.links(point.text)) if document["path"].get("hop") else WAYS
    log = table(_core.run(point.text, log=True)["packets"], names)
    # In the order in which the clients see them: of several hops, the first is theirs.
    links = {word: [name for name in names if name.split(".")[-1] == word] for word in WAYS}
    duration = nanoseconds(document["duration"]) / 1e9
    steps = math.ceil(round(duration / step_s, 9))
    if steps > _MOST_STEPS:
        raise SojournError(
            f"a run of {duration:g} s has {steps} steps of {step_s:g} s; expected {_MOST_STEPS}"
        )
    arrived = {"down": _last(log, links["down"]), "up": _last(log, links["up"][::-1])}
    streams = {word: _throughput(rows, word, steps, step_s) for word, rows in arrived.items()}
    name, labels = _test(streams)
    base_ms = base_rtt_ns(document) / 1e6
    waits = [_waits_ms(log, name, steps, step_s) for way in links.values() for name in way]
    results: dict[str, list[float | None]] = {
        "Ping (ms) ICMP": [
            None if None in each else round(sum(filter(None, each), base_ms), 6)
            for each in zip(*waits, strict=True)
        ]
    }
    for link, word in (("down", "download"), ("up", "upload")):
        if streams[link]:
            results |= _series(streams[link], labels[link], word)
    if name == "rrul_be_nflows":
        sums = zip(results["TCP download sum"], results["TCP upload sum"], strict=True)
        results["TCP totals"] = [round(down + up, 6) for down, up in sums]
        results["Ping (ms) avg"] = results["Ping (ms) ICMP"]
    times = [round((step + 0.5) * step_s, 9) for step in range(steps)]
    measured = [series for series in results if "::" in series or series == "Ping (ms) ICMP"]
    return {
        "version": FORMAT,
        "metadata": _metadata(point, name, duration, step_s, results, streams),
        "x_values": times,
        "results": results,
        # What a tool of Flent's printed, with the time at which it did: the same values here.
        "raw_values": {
            series: [
                {"t": at, "val": value}
                for at, value in zip(times, results[series], strict=True)
                if value is not None
            ]
            for series in measured
        },
    }


def write(point: Point, file: BinaryIO, *, packed: bool = True) -> dict[str, Any]:
    """Simulate a point and write it as a Flent data file, always the same bytes; return its content.

    Flent goes by the file's name: what ends in ``.flent`` alone is not `packed`.
    """
    made = flent(point)
    text = json.dumps(made, sort_keys=True, allow_nan=False).encode()
    if not packed:
        file.write(text)
        return made
    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as stream:
        stream.write(text)
    return made


def _last(log: pl.DataFrame, links: list[str]) -> pl.DataFrame:
    """Return what each flow sent over the last of these links that it crosses, named by direction."""
    place = pl.col("link").cast(pl.String).replace_strict(links, range(len(links)), default=None)
    there = log.with_columns(place.alias("place")).drop_nulls("place")
    last = there.filter(pl.col("place") == pl.col("place").min().over("flow"))
    return last.with_columns(pl.lit(links[0].split(".")[-1]).alias("link")).drop("place")


def _throughput(log: pl.DataFrame, link: str, steps: int, step_s: float) -> list[np.ndarray]:
    """Return for each TCP flow with data over a link its payload that left, in Mbit/s, in each step."""
    data = log.filter(
        pl.col("link") == link, pl.col("kind").cast(pl.String) == "data", pl.col("depart_ns").is_not_null()
    )
    sums = (
        data.group_by("flow", (pl.col("depart_ns") / (step_s * 1e9)).cast(pl.Int64).alias("step"))
        .agg((pl.col("size_bytes").cast(pl.Int64) - _HEADERS).clip(0).sum().alias("bytes"))
        .filter(pl.col("step") < steps)
        .sort("flow", "step")
    )
    found: dict[int, np.ndarray] = {}
    for flow, step, size in sums.iter_rows():
        found.setdefault(flow, np.zeros(steps))[step] = size * 8 / step_s / 1e6
    flows = list(found.values())
    # Flent draws a line for each: many short flows are one.
    return flows if len(flows) <= _MOST_FLOWS else [np.sum(flows, axis=0)]


def _waits_ms(log: pl.DataFrame, link: str, steps: int, step_s: float) -> list[float | None]:
    """Return the mean wait of each step's packets; None where some came and none left."""
    wait = (pl.col("depart_ns") - pl.col("arrive_ns").cast(pl.Int64)) / 1e6
    means = (
        log.filter(pl.col("link") == link)
        .group_by((pl.col("arrive_ns") / (step_s * 1e9)).cast(pl.Int64).alias("step"))
        .agg(wait.mean())
    )
    found = dict(means.iter_rows())
    return [found.get(step, 0.0) for step in range(steps)]


def _test(streams: Mapping[str, list[np.ndarray]]) -> tuple[str, dict[str, str]]:
    """Return the Flent test that has such streams, and how it names them."""
    match bool(streams["down"]), bool(streams["up"]):
        case True, True:
            return "rrul_be_nflows", {"down": "TCP download BE::{}", "up": "TCP upload BE::{}"}
        case True, False:
            return "tcp_ndown", {"down": "TCP download::{}"}
        case False, True:
            return "tcp_nup", {"up": "TCP upload::{}"}
        case _:
            raise SojournError("the run carries no data of TCP, which is what Flent's tests draw")


def _series(flows: list[np.ndarray], label: str, word: str) -> dict[str, list[float | None]]:
    """Return the series of each flow of a direction, and of all together: sum, mean, Jain's fairness."""
    found = {label.format(number): np.round(flow, 6).tolist() for number, flow in enumerate(flows, 1)}
    whole = np.sum(flows, axis=0)
    squares = np.sum(np.square(flows), axis=0)
    fair = [
        None if square == 0 else round(float(total**2 / (len(flows) * square)), 6)
        for total, square in zip(whole, squares, strict=True)
    ]
    return found | {
        f"TCP {word} sum": np.round(whole, 6).tolist(),
        f"TCP {word} avg": np.round(whole / len(flows), 6).tolist(),
        f"TCP {word} fairness": fair,
    }


def _metadata(
    point: Point,
    name: str,
    duration: float,
    step_s: float,
    results: Mapping[str, Any],
    streams: Mapping[str, Any],
) -> dict[str, Any]:
    counts = {"download_streams": len(streams["down"]), "upload_streams": len(streams["up"])}
    labels = ", ".join(f"{axis}={label}" for axis, label in point.labels.items())
    # Flent's legends show titles alone, which would be the same for all replications.
    which = f"replication {point.replication}" if point.replication else ""
    # Flent's plots and summaries are of all of a run; results here leave the warm-up out.
    warmup_s = nanoseconds(point.document["warmup"]) / 1e9
    warmup = f"the first {warmup_s:g} s are warm-up" if warmup_s else ""
    # A run has no date: the same file each time.
    time = datetime.datetime.fromtimestamp(0, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    mbit = {series: "Mbits/s" for series in results if series.startswith("TCP") and "fairness" not in series}
    ping = {series: "ms" for series in results if series.startswith("Ping")}
    return {
        "NAME": name,
        "TITLE": ", ".join(filter(None, (point.study, labels, which, warmup))),
        "NOTE": f"sojourn {_core.version()}, point {point.hash}, replication {point.replication}",
        "TIME": time,
        "T0": time,
        "LENGTH": duration,
        "TOTAL_LENGTH": duration,
        "STEP_SIZE": step_s,
        "DELAY": 0,
        "HOST": "simulated",
        "LOCAL_HOST": "simulated",
        "HOSTS": ["simulated"],
        "IP_VERSION": 4,
        "DATA_FILENAME": f"{point.study}.flent.gz",
        "TEST_PARAMETERS": {key: count for key, count in counts.items() if count},
        "SERIES_META": {series: {"UNITS": unit} for series, unit in {**mbit, **ping}.items()},
    }


def is_flent(path: Path) -> bool:
    """Say whether a name is that of a Flent data file."""
    return path.name.endswith((".flent", ".flent.gz"))
