"""The loss process of a real bottleneck: captures in front of its queue and behind it, matched."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.losses import Period, analyse
from sojourn.losses.period import LOST
from sojourn.results.packet_log import write_while
from sojourn.results.store import Store
from sojourn.study.identity import RESULT_FORMAT
from sojourn.study.units import bit_rate

LINK = "down"
"""Name of the one link between two captures."""

MOST_BINS = 512
_SURELY = 1.05
"""Times a rate that is more than bursts and the ends of captures make of it (a choice)."""


class MisfitError(SojournError):
    """Two captures that do not belong together, or were given in the wrong order."""


def compare(
    ingress: str | os.PathLike[str],
    egress: str | os.PathLike[str],
    packets: BinaryIO,
    *,
    rate_bps: float | None = None,
    rtt_ns: int | None = None,
    as_given: bool = False,
) -> dict[str, Any]:
    """Match two captures and analyse the losses between them.

    Parameters
    ----------
    ingress, egress
        Captures in front of the queue and behind it (pcap or pcapng, plain, gzip or zstd).
    packets
        File that takes the packet log (Parquet).
    rate_bps
        Rate of the link, for its utilisation.
    rtt_ns
        Base round-trip time, for the time scales below it.
    as_given
        Do not refuse captures that only seem to be swapped.

    Returns
    -------
    dict
        ``ingress_pkts``, ``egress_pkts``, ``lost_pkts``, ``loss``, ``by_protocol``, ``flows``,
        ``bursts``, ``capture`` (clocks, and what the captures missed) and the other analyses.

    Raises
    ------
    MisfitError
        One sentence: the two do not belong together, or are swapped.
    SojournError
        One sentence: a capture cannot be read.
    """
    try:
        text = write_while(lambda take: _core.match_captures(ingress, egress, as_given, take), packets)
    except _core.MisfitError as error:
        raise MisfitError(str(error)) from None
    except _core.CaptureError as error:
        raise SojournError(str(error)) from None
    packets.flush()
    matched = json.loads(text)
    log = pl.scan_parquet(packets.name)
    period = Period(0, 1 + (log.select(pl.col("arrive_ns").max()).collect().item() or 0))
    analysed = analyse(log, period, link=LINK, rate_bps=rate_bps, rtt_ns=rtt_ns)
    found = {key: matched[key] for key in ("ingress_pkts", "egress_pkts", "lost_pkts", "loss", "by_protocol")}
    others = {key: value for key, value in analysed.items() if key not in (*found, "packets")}
    return {**found, "flows": matched["flows"], **others, "capture": matched["capture"]}


def sentences(capture: Mapping[str, Any]) -> list[str]:
    """Say what the captures themselves have missed, and whose clock was set while it ran."""
    said = list(capture["damage"])
    for key, which in (("clock_steps_in_front", "in front of"), ("clock_steps_behind", "behind")):
        for step in capture.get(key, ()):
            way = "forward" if step["by_ns"] > 0 else "back"
            at = datetime.fromtimestamp(step["at_ns"] / 1e9, UTC)
            said.append(
                f"the clock of the capture {which} the queue was put {way} by about "
                f"{abs(step['by_ns']) / 1e9:.3g} s while it ran, at {at:%Y-%m-%d %H:%M:%S} UTC by its own "
                "time; times after that were put right by as much"
            )
    if count := capture["missed_in_front_pkts"]:
        said.append(
            f"{_were(count)} captured behind the queue but not in front of it: the capture in "
            "front has dropped them, and perhaps others that the queue dropped too"
        )
    if count := capture.get("outside_front_pkts"):
        said.append(
            f"{_were(count)} captured behind the queue while the capture in front did not run; "
            f"{'they are' if count > 1 else 'it is'} left out"
        )
    if count := capture["missed_behind_pkts"]:
        them, dropped = ("they were", "them; they are") if count > 1 else ("it was", "it; it is")
        said.append(
            f"{_were(count)} acknowledged though {them} not captured behind the queue: that capture has "
            f"dropped {dropped} not counted as lost, but packets of UDP that it dropped are"
        )
    if count := capture["outside_pkts"]:
        said.append(
            f"{count} packet{'s' if count > 1 else ''} came while the capture behind the queue did not run; "
            f"{'they are' if count > 1 else 'it is'} left out"
        )
    return said


def _were(count: int) -> str:
    return "1 packet was" if count == 1 else f"{count} packets were"


def faster(found: Mapping[str, Any], rate_bps: float | None) -> list[str]:
    """Say that more came out of the queue than a link of the rate that was given carries."""
    carried = found["utilisation"]["throughput_bps"]
    if rate_bps is None or carried is None or carried <= rate_bps * _SURELY:
        return []
    return [
        f"{bit_rate(carried, 4)} came out of the queue, more than the {bit_rate(rate_bps, 4)} that "
        "were given as its rate: that is not the rate of this link, and its utilisation means nothing"
    ]


def store(found: Mapping[str, Any], packets: Path, out: Path, command: str, rate_bps: float | None) -> Path:
    """Write a comparison as a results directory, so that it is reported as a simulated point is.

    Returns
    -------
    Path
        The directory.
    """
    from sojourn.losses.default_figures import CAPTURED as FIGURES
    from sojourn.losses.default_figures import OF_LOSSES
    from sojourn.results import CAPTURED

    place = Store(out)
    place.prepare(packets=True)
    digest = CAPTURED  # names the only point
    with place.packets_written(digest, keep=True) as file, packets.open("rb") as source:
        while piece := source.read(1 << 20):
            file.write(piece)
    link = _link(pl.scan_parquet(packets), found, rate_bps)
    flows = {"completed": len(found["flows"])}
    engine = {"packets": found["ingress_pkts"], "events": 0, "simulated_s": round(link.pop("seconds"), 6)}
    names = {"study": out.name, "point": {}, "replication": 0}
    shares = {key: value for key, value in found.items() if key != "flows"}
    place.write_point(
        digest, {**names, "links": {LINK: link}, "flows": flows, "losses": {LINK: shares}, "engine": engine}
    )
    duration = f"{engine['simulated_s']:.6g}s"
    description = "Two captures of one queue, matched packet by packet."
    if not found["lost_pkts"]:
        description += f" No packet was lost, of {found['ingress_pkts']}."
    document = {"name": out.name, "description": description, "duration": duration}
    document["figures"] = (
        FIGURES if found["lost_pkts"] else [f for f in FIGURES if f["value"] not in OF_LOSSES]
    )
    place.write_study(
        {
            "format": RESULT_FORMAT,
            "sojourn": _core.version(),
            "study": out.name,
            "seed": None,
            "command": command,
            "document": document,
            "points": [{"hash": digest, "point": {}, "replication": 0}],
        }
    )
    return place.path


def _link(log: pl.LazyFrame, found: Mapping[str, Any], rate_bps: float | None) -> dict[str, Any]:
    """Return the summary of the link, as far as captures tell it, in the shape of the engine's."""
    wait_ms = (pl.col("depart_ns") - pl.col("arrive_ns").cast(pl.Int64)) / 1e6
    quantiles = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    row = (
        log.select(
            (pl.col("arrive_ns").max() / 1e9).alias("seconds"),
            (pl.col("depart_ns").is_not_null() & (pl.col("kind").cast(pl.String).is_in(["data", "datagram"])))
            .sum()
            .alias("data"),
            wait_ms.mean().alias("mean"),
            *(wait_ms.quantile(share, "nearest").alias(name) for name, share in quantiles.items()),
            wait_ms.max().alias("max"),
            pl.col("backlog_pkts").mean().alias("backlog"),
        )
        .collect()
        .row(0, named=True)
    )
    seconds = row["seconds"] or 0.0
    bin_s = max(1, -(-int(seconds) // MOST_BINS))
    width = bin_s * 10**9
    bins = (
        log.group_by((pl.col("arrive_ns") // width).alias("bin"))
        .agg(
            wait_ms.mean().alias("wait"),
            LOST.sum().alias("lost"),
            pl.col("size_bytes").filter(pl.col("depart_ns").is_not_null()).sum().alias("bytes"),
        )
        .sort("bin")
        .collect()
    )
    by_bin = {place: (wait, lost, size) for place, wait, lost, size in bins.iter_rows()}
    empty = (None, 0, 0)
    # A last bin that the capture does not fill is left out, unless it is the only one.
    whole = max(1, int(seconds) // bin_s) if by_bin else 0
    every = [by_bin.get(place, empty) for place in range(whole)]
    return {
        "rate_bps": rate_bps,
        "arrived_pkts": found["ingress_pkts"],
        "dropped_pkts": found["lost_pkts"],
        "departed_pkts": found["egress_pkts"],
        "departed_data_pkts": row["data"],
        "loss": found["loss"],
        "utilisation": found["utilisation"]["mean"],
        "queue_delay_ms": {name: row[name] for name in ("mean", *quantiles, "max")},
        "series": {
            "bin_s": float(bin_s),
            "utilisation": [size * 8 / bin_s / rate_bps if rate_bps else None for _, _, size in every],
            "queue_delay_ms": [wait for wait, _, _ in every],
            "dropped_pkts": [lost for _, lost, _ in every],
        },
        "seconds": seconds,
    }
