"""What each group of flows and users did at a link: goodput, queueing delay, drops, transfer times, by phase.

The quantities are those of RFC 7928 §2, read from the packet log of one link:

=======================  ============================================================================
goodput                  payload whose first copy left the queue, by time (§2.5); retransmissions of bytes
                         that had left count nothing. It is taken at the bottleneck, not at the receiver
queueing delay           from arrival to start of transmission of every packet that left (§2.6)
drop interval            time between the arrivals of two packets in a row that were dropped (§2.3)
flow completion time     from the opening of a connection to the arrival of its last byte (§2.1)
delay variation          of those delays, RFC 5481 (PDV): the rest of the path is constant
loss synchronisation     share of the flows that lose in one loss event, an event being the drops that begin
                         within one base round trip (§2.4)
coefficient of variation s.d. over mean of the goodput samples (RFC 5166 §2.2, oscillation)
smoothness, convergence  of long TCP flows, see :mod:`sojourn.losses.response` (RFC 5166)
=======================  ============================================================================

Differences: a discipline that drops at the head drops later than the packet arrived; the log has no time of
the drop, so intervals are of arrivals.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sojourn import _core
from sojourn.losses import response
from sojourn.losses.period import LOST, Period
from sojourn.qoe import delay_variation
from sojourn.study.links import WAYS, base_rtt_ns, way_of
from sojourn.study.units import nanoseconds

STEPS = 50
"""Distributions are kept as steps of equal probability: the minimum, 49 quantiles, the maximum."""

_SAMPLE_RTTS = 10
_IP_TCP, _TIMESTAMPS, _IP_UDP = 40, 12, 28


def of_point(
    file: str,
    origins: NDArray[Any],
    flows: pl.DataFrame | None,
    document: Mapping[str, Any],
    summary: Mapping[str, Any],
) -> dict[str, Any]:
    """Analyse the links that a scenario names in ``record.traffic``, over its measured period.

    Parameters
    ----------
    file
        Packet log (Parquet).
    origins
        For each flow number the place of its group: first the groups of flows, then every user; -1 for none.
    flows
        Table of connections, if it was kept; without it there are no completion times.
    document
        The point's scenario, defaults filled in.
    summary
        The engine's summary: its `links` give rates, its `groups` names.

    Returns
    -------
    dict
        By link ``sample_s``; ``all`` and, by name, ``groups``: what :func:`_numbers` returns; ``phases``;
        ``convergence`` where one of two long flows comes in the period.
    """
    asked = document["record"]["traffic"]
    period = Period(nanoseconds(document.get("warmup") or "0s"), nanoseconds(document["duration"]))
    rtt_ns = base_rtt_ns(document)
    sample_ns = nanoseconds(asked["sample"]) if asked.get("sample") else _SAMPLE_RTTS * max(rtt_ns, 1)
    names, place, header = _groups(document, list(summary.get("groups") or ()))
    group_of = np.array([place[o] if 0 <= o < len(place) else -1 for o in origins.tolist()], dtype=np.int32)
    log = pl.scan_parquet(file)
    found = {}
    for link in asked["links"]:
        rows = _rows(log.filter(pl.col("link") == link), group_of, np.array(header))
        times = _completion(
            rows, flows, document, names, (link, summary["links"][link].get("rate_bps")), period
        )
        long = response.long_groups(document.get("flows") or (), way_of(link), rtt_ns)
        found[link] = {
            "sample_s": sample_ns / 1e9,
            "all": _numbers(rows, period, sample_ns) | _synchronised(rows, period, rtt_ns),
            "groups": {
                name: _numbers(rows.filter(pl.col("group") == i), period, sample_ns)
                | times.get(name, {})
                | (_response(rows, i, document["flows"][i], long[i], period) if i in long else {})
                for i, name in enumerate(names)
            },
        }
        if newcomer := response.of_newcomer(rows, long, period, sample_ns):
            found[link]["convergence"] = newcomer
        if asked.get("phases"):
            found[link]["phases"] = {
                phase["name"]: _phase(rows, names, list(_times(phase, period))) for phase in asked["phases"]
            }
    return found


def _groups(document: Mapping[str, Any], named: Sequence[str]) -> tuple[list[str], list[int], list[int]]:
    """Return the names of groups, the group of each origin, and the bytes of header of each group."""
    names, place, header = list(named), list(range(len(named))), []
    for group in document.get("flows") or ():
        header.append(_header(group, group["transport"] == "udp"))
    for i, users in enumerate(document.get("users") or ()):
        place += [len(names)] * users["count"]
        names.append(users.get("name") or f"users-{i}")
        header.append(_header(users, users["kind"] in ("voice", "video")))
    return names, place, header


def _header(group: Mapping[str, Any], udp: bool) -> int:
    return _IP_UDP if udp else _IP_TCP + _TIMESTAMPS * bool(group.get("timestamps", True))


def _rows(log: pl.LazyFrame, group_of: NDArray[Any], header: NDArray[Any]) -> pl.DataFrame:
    """Return the packets of a link with the place of their ``group`` and their ``new_bytes`` of payload."""
    rows = log.select("flow", "kind", "size_bytes", "arrive_ns", "depart_ns", "drop_cause", "seq").collect()
    kind = rows["kind"].cast(pl.String)
    data, udp = (kind == "data").to_numpy(), kind.is_in(_core.udp_kinds()).to_numpy()
    flow = rows["flow"].to_numpy()
    group = np.where(flow < len(group_of), group_of[np.minimum(flow, len(group_of) - 1)], -1)
    payload = np.maximum(rows["size_bytes"].to_numpy().astype(np.int64) - header[group], 0)
    rows = rows.with_columns(
        pl.Series("group", group),
        pl.Series("payload", np.where(data | udp, payload, 0)),
        pl.Series("data", data),
        LOST.alias("lost"),
    )
    # Datagrams number their packets anew in every call; only TCP sends a byte again.
    sent = pl.col("depart_ns").is_not_null()
    again = sent & pl.col("data") & ~pl.struct("flow", "seq", sent).is_first_distinct()
    return rows.with_columns(
        pl.when(sent & ~again).then(pl.col("payload")).otherwise(0).alias("new_bytes")
    ).drop("payload")


def _response(
    rows: pl.DataFrame, place: int, group: Mapping[str, Any], rtt_ns: int, period: Period
) -> dict[str, Any]:
    """Return smoothness and aggressiveness of a group of long flows, while all of them are there."""
    start, late = nanoseconds(group.get("start") or "0s"), nanoseconds(group.get("start-within") or "0s")
    stop = nanoseconds(group["stop"]) if group.get("stop") else period.end_ns
    mine = rows.filter(pl.col("group") == place, pl.col("data"))
    return response.of_group(mine, rtt_ns, max(period.start_ns, start + late), min(period.end_ns, stop))


def _numbers(rows: pl.DataFrame, period: Period, sample_ns: int) -> dict[str, Any]:
    """Return the numbers of some packets over the measured period, with distributions."""
    found = _means(rows, [(period.start_ns, period.end_ns)])
    here = rows.filter(pl.col("arrive_ns") >= period.start_ns, pl.col("arrive_ns") < period.end_ns)
    delay = ((here["depart_ns"].cast(pl.Int64) - here["arrive_ns"].cast(pl.Int64)) / 1e6).drop_nulls()
    dropped = here.filter(pl.col("lost"))["arrive_ns"].to_numpy().astype(np.int64)
    samples = _samples(rows, period, sample_ns)
    mean = float(samples.mean()) if len(samples) else 0.0
    found |= {
        "queue_delay_ms_cdf": _quantiles(delay.to_numpy()),
        "pdv_ms": delay_variation.summary(delay.to_numpy()),
        "goodput_bps_cdf": _quantiles(samples),
        "goodput_cov": _tidy(float(samples.std(ddof=1)) / mean) if mean > 0 and len(samples) > 1 else None,
        "drop_interval_ms_cdf": _quantiles(np.diff(np.sort(dropped)) / 1e6),
        "by_kind": {
            kind: {"arrived_pkts": arrived, "dropped_pkts": lost}
            for kind, arrived, lost in here.group_by("kind", maintain_order=True)
            .agg(pl.len(), pl.col("lost").sum().alias("dropped"))
            .sort(pl.col("kind").cast(pl.String))
            .iter_rows()
        },
    }
    return found


def _means(rows: pl.DataFrame, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return goodput, mean delay and drops of some packets in some spans of time."""
    length = sum(end - start for start, end in spans)
    at = rows["arrive_ns"].to_numpy().astype(np.int64)
    left = rows["depart_ns"].fill_null(-1).to_numpy().astype(np.int64)
    came, went = (np.zeros(len(rows), bool) for _ in range(2))
    for start, end in spans:
        came |= (at >= start) & (at < end)
        went |= (left >= start) & (left < end)
    sent = came & (left >= 0)
    lost = rows["lost"].to_numpy() & came
    waits = (left - at)[sent]
    arrived = int(came.sum())
    return {
        "seconds": length / 1e9,
        "goodput_bps": _tidy(float(rows["new_bytes"].to_numpy()[went].sum()) * 8e9 / length),
        "queue_delay_ms": _tidy(float(waits.mean()) / 1e6) if len(waits) else None,
        "arrived_pkts": arrived,
        "dropped_pkts": int(lost.sum()),
        "loss": _tidy(float(lost.sum()) / arrived) if arrived else None,
    }


def _samples(rows: pl.DataFrame, period: Period, sample_ns: int) -> NDArray[Any]:
    """Return goodput over each whole sample of the period, those without any included."""
    count = period.length_ns // sample_ns
    left = rows["depart_ns"].fill_null(-1).to_numpy().astype(np.int64)
    place = (left - period.start_ns) // sample_ns
    inside = (left >= period.start_ns) & (place < count)
    weights = rows["new_bytes"].to_numpy()[inside].astype(float)
    return np.bincount(place[inside], weights, minlength=count)[:count] * 8e9 / sample_ns


def _phase(rows: pl.DataFrame, names: Sequence[str], spans: list[tuple[int, int]]) -> dict[str, Any]:
    """Return the means of one phase, of all and of each group; nothing where it lies outside the period."""
    if not spans:
        return {}
    return {
        "all": _means(rows, spans),
        "groups": {name: _means(rows.filter(pl.col("group") == i), spans) for i, name in enumerate(names)},
    }


def _times(phase: Mapping[str, Any], period: Period) -> Iterator[tuple[int, int]]:
    """Iterate over the spans of a phase inside the measured period."""
    start, end = nanoseconds(phase["from"]), nanoseconds(phase["to"])
    every = nanoseconds(phase["every"]) if phase.get("every") else period.end_ns + 1
    while start < period.end_ns:
        inside = max(start, period.start_ns), min(end, period.end_ns)
        if inside[0] < inside[1]:
            yield inside
        start, end = start + every, end + every


def _synchronised(rows: pl.DataFrame, period: Period, rtt_ns: int) -> dict[str, Any]:
    """Return how many loss events there were, and which share of the flows lost in one on average."""
    here = rows.filter(
        pl.col("arrive_ns") >= period.start_ns, pl.col("arrive_ns") < period.end_ns, pl.col("data")
    )
    flows = here["flow"].n_unique()
    lost = here.filter(pl.col("lost")).sort("arrive_ns")
    events: list[set[int]] = []
    began = -(2**62)
    for flow, at in lost.select("flow", "arrive_ns").iter_rows():
        if at - began >= rtt_ns:
            began = at
            events.append(set())
        events[-1].add(flow)
    share = sum(map(len, events)) / len(events) / flows if events else None
    return {"flows": flows, "loss_events": len(events), "synchronisation": share and _tidy(share)}


def _completion(
    rows: pl.DataFrame,
    flows: pl.DataFrame | None,
    document: Mapping[str, Any],
    names: Sequence[str],
    link: tuple[str, float | None],
    period: Period,
) -> dict[str, dict[str, Any]]:
    """Return by group the completion times of the connections that began in the period and ended.

    Times of the log are those at the link: hosts act at once and hear after twice their distance. So a
    transfer takes from the opening to the last departure, and the distances of opener and receiver.
    """
    if flows is None or link[0] not in WAYS:
        return {}
    distance = {
        "up": nanoseconds(document["path"]["server-delay"]),
        "down": nanoseconds(document["path"]["client-delay"]),
    }[way_of(link[0])]
    opened = {
        i: sum(nanoseconds(document["path"][key]) for key in ("client-delay", "server-delay")) - distance
        if group["source"]["kind"] == "bulk"
        else distance
        for i, group in enumerate(document.get("flows") or ())
        if group["direction"] == link[0] and not group.get("rtt")
    }
    last = (
        rows.filter(pl.col("data"), pl.col("depart_ns").is_not_null())
        .group_by("flow", "group")
        .agg(pl.col("depart_ns").max())
    )
    ended = flows.filter(pl.col("end_ns").is_not_null(), pl.col("start_ns") >= period.start_ns)
    found: dict[str, dict[str, Any]] = {}
    for (group,), table in last.join(ended, on="flow").sort("flow").group_by("group", maintain_order=True):
        if group not in opened:
            continue
        seconds = (
            (table["depart_ns"] - table["start_ns"].cast(pl.Int64)).to_numpy() + distance + opened[group]
        )
        found[names[group]] = {
            "completed": len(seconds),
            "completion_s": _tidy(float(seconds.mean()) / 1e9),
            "completion_s_cdf": _quantiles(seconds / 1e9),
        }
    return found


def _quantiles(values: NDArray[Any]) -> list[float]:
    """Return the minimum, equally spaced quantiles and the maximum; nothing without values."""
    if not len(values):
        return []
    return [_tidy(float(x)) for x in np.quantile(values, np.linspace(0, 1, STEPS + 1))]


def _tidy(value: float) -> float:
    """Round to nine significant digits: what adding in another order can change is cut off."""
    return float(f"{value:.9g}")
