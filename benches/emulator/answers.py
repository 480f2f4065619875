"""How soon hosts answer and how packets cluster, by packet logs (docs/testbed.md, "Data both ways").

python -m benches.emulator.answers [--skip 5] RESULTS …

RESULTS are folders that `sojourn run … --log` wrote, of long transfers both ways over one queue each way. For
each point a row for each sender: how long after the last acknowledgement its data left (the first of each
burst) and how long after the last data its acknowledgement did, in µs, 10th, 50th, 75th and 90th percentile;
and the mean number of packets of data that left the queue with no acknowledgement between them, and the same
weighted by packets. The first seconds are left out. A simulated log's times are at the queue, so that of
simulations only the clusters are told.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tools.program import program

HEADS = ("results", "cell", "sender", "data after an ack, µs", "ack after data, µs", "clusters of data")
PERCENTILES = (10, 50, 75, 90)
BURST_NS = 30_000
"""Data that follow data by less are the same burst."""
SENDERS = (("client", "down", "up"), ("server", "up", "down"))
"""Who sends, the link from where packets reach it, and the one to which its own go."""
Times = NDArray[np.float64]


def after(causes: Times, effects: Times) -> Times:
    """Return how long after the last cause each effect came, of those that have one.

    >>> after(np.array([1.0, 5.0]), np.array([0.5, 2.0, 9.0])).tolist()
    [1.0, 4.0]
    """
    causes = np.sort(causes)
    last = np.searchsorted(causes, effects, side="right") - 1
    return (effects - causes[np.maximum(last, 0)])[last >= 0]


def bursts(times: Times) -> Times:
    """Return the first time of each burst.

    >>> bursts(np.array([0.0, 12_000.0, 90_000.0])).tolist()
    [0.0, 90000.0]
    """
    return times[np.diff(times, prepend=-np.inf) > BURST_NS]


def clusters(is_data: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the mean length of runs of data, and that of the run in which a packet of data is.

    >>> clusters(np.array([True, False, True, True, True, False]))
    (2.0, 2.5)
    """
    ends = np.flatnonzero(np.diff(is_data, append=~is_data[-1:]))
    lengths = np.diff(ends, prepend=-1)[is_data[ends]]
    return float(lengths.mean()), float(np.average(lengths, weights=lengths))


def answers(log: pl.DataFrame, rates: dict[str, float], delay_ns: float, sender: str) -> dict[str, Times]:
    """Return, in ns, how long after what had come a host's packets left."""
    ((came, left),) = ((came, left) for name, came, left in SENDERS if name == sender)
    reached = log.filter((pl.col("link") == came) & (pl.col("depart_ns") >= 0))
    times = reached["depart_ns"].to_numpy() + reached["size_bytes"].to_numpy() * 8e9 / rates[came] + delay_ns
    own = log.filter(pl.col("link") == left)
    sent = own["arrive_ns"].to_numpy().astype(np.float64)
    of = {kind: (reached["kind"] == kind, own["kind"] == kind) for kind in ("data", "ack")}
    return {
        "data": after(times[of["ack"][0].to_numpy()], bursts(sent[of["data"][1].to_numpy()])),
        "ack": after(times[of["data"][0].to_numpy()], sent[of["ack"][1].to_numpy()]),
    }


def delay_ms(result: dict[str, Any]) -> float | None:
    """Return a testbed's delay of one way, None of a simulation."""
    rows = result["engine"].get("verdict", {}).get("rows", ())
    return next((row["set"] / 2 for row in rows if row["what"].startswith("base round trip")), None)


def rows(folder: Path, skip_s: float) -> list[tuple[str, ...]]:
    """Return the rows of a folder."""
    found = []
    for place in sorted((folder / "packets").glob("*.parquet")):
        result = json.loads((folder / "points" / f"{place.stem}.json").read_text(encoding="utf-8"))
        log = pl.read_parquet(place).with_columns(pl.col("kind").cast(pl.String))
        log = log.filter(pl.col("arrive_ns") >= int(skip_s * 1e9))
        rates = {link: told["rate_bps"] for link, told in result["links"].items()}
        delay = delay_ms(result)
        cell = ", ".join(str(each) for each in result["point"].values())
        for sender, _, left in SENDERS:
            gone = log.filter((pl.col("link") == left) & (pl.col("depart_ns") >= 0)).sort("depart_ns")
            told = dict.fromkeys(("data", "ack"), "")
            if delay is not None:
                for kind, took in answers(log, rates, delay * 1e6, sender).items():
                    told[kind] = ", ".join(f"{each / 1e3:.0f}" for each in np.percentile(took, PERCENTILES))
            runs = "{:.2f}, {:.2f}".format(*clusters((gone["kind"] == "data").to_numpy()))
            found.append((str(folder), cell, sender, told["data"], told["ack"], runs))
    return found


def main(*results: Path, skip: float = 5.0) -> None:
    """Print the table.

    Parameters
    ----------
    skip
        Seconds at the beginning of which nothing is counted.
    """
    print(f"| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
    for folder in results:
        for row in rows(folder, skip):
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    program(__doc__, main)
