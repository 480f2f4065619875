"""Data files of Flent as measurements.

Flent's file format (versions 1 to 4, JSON, mostly gzip): ``x_values`` are seconds, ``results`` a list for
each series, null where nothing was measured, and ``raw_values`` what the tools printed.

Throughput is that of all streams (``TCP download::1``, ``TCP upload BE`` …); those that name no direction
(``TCP cubic 2``) are uploads, in all of Flent's tests. Netperf says of each reading how long it took: a
stream carried its rate for so long. Flent's own sums (``TCP download sum``) have gaps where a reading took
longer than five steps, and add up the streams that happen to have a value: of a slow uplink's twelve streams
an eighth of the throughput was left. They stand in where readings have no duration. Statistics of the kernel
beside a stream (``…::tcp_rtt``) are no throughput.

The round trip is that of each ``Ping (ms) ICMP``, else ``Ping (ms) avg``, else the mean of all series of
ping. Most tests ping for some seconds before the first stream and after the last; as in Flent's own
distributions of pings (``cutoff``), those are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sojourn.errors import SojournError
from sojourn.report.measured.measurement import Measurement, Series, is_number, series, total

_LINKS = {"download": "down", "upload": "up"}
_DERIVED = (" sum", " avg", " fairness", " total", " totals")
_ICMP = "Ping (ms) ICMP"


def is_flent(content: Mapping[str, Any]) -> bool:
    """Whether parsed JSON is a data file of Flent."""
    return isinstance(content.get("results"), dict) and isinstance(content.get("x_values"), list)


def measurement(content: Mapping[str, Any], name: str) -> Measurement:
    """Return what a data file of Flent holds.

    Raises
    ------
    SojournError
        It has neither throughput of TCP nor round trips.
    """
    times = content["x_values"]
    results = {key: values for key, values in content["results"].items() if isinstance(values, list)}
    raw = _readings(content.get("raw_values"))
    throughput = {
        link: found
        for word, link in _LINKS.items()
        if (found := _carried(raw, link, len(times)) or _throughput(results, word, times)) is not None
    }
    rtt, of = _round_trip(raw, results, times)
    if not throughput and rtt is None:
        known = [key for key in results if key.startswith(("TCP ", "Ping (ms)"))]
        raise SojournError(
            f"{name}: the Flent data has no value in {', '.join(sorted(map(repr, known))[:6])}"
            if known
            else f"{name}: the Flent data has neither throughput of TCP nor round trips; its series are "
            f"{', '.join(sorted(map(repr, results))[:6]) or 'none'}"
        )
    about = content.get("metadata")
    test = about.get("NAME") if isinstance(about, dict) else None
    tool = f"Flent, test {test}" if isinstance(test, str) else "Flent"
    whole = Measurement(name, tool, throughput, rtt, of)
    return _of_the_load(whole) if throughput else whole


def _of_the_load(whole: Measurement) -> Measurement:
    """Leave out the pings of an idle path; times count from the first stream's beginning."""
    begins = min(float(each.time_s[0]) for each in whole.throughput.values())
    ends = max(float(each.time_s[-1]) for each in whole.throughput.values())
    throughput = {link: Series(each.time_s - begins, each.values) for link, each in whole.throughput.items()}
    if (rtt := whole.rtt_ms) is None:
        return replace(whole, throughput=throughput)
    under = (rtt.time_s >= begins) & (rtt.time_s <= ends)
    idle = int((~under).sum())
    if idle == len(under):
        return whole
    return replace(
        whole,
        throughput=throughput,
        rtt_ms=Series(rtt.time_s[under] - begins, rtt.values[under]),
        idle=f"{idle} of {len(under)}" if idle else "",
    )


def _readings(raw: Any) -> dict[str, list[dict[str, Any]]]:
    """Return what tools printed, by series; times in s since the first of all."""
    if not isinstance(raw, dict):
        return {}
    known = {key: list(_numbers(values)) for key, values in raw.items() if isinstance(values, list)}
    zero = min((each["t"] for values in known.values() for each in values), default=0.0)
    return {
        key: [{**each, "t": each["t"] - zero} for each in values] for key, values in known.items() if values
    }


def _numbers(values: list[Any]) -> Iterator[dict[str, Any]]:
    for each in values:
        if isinstance(each, dict) and is_number(each.get("t")) and is_number(each.get("val")):
            yield each


def _carried(raw: Mapping[str, list[dict[str, Any]]], link: str, most: int) -> Series | None:
    """Return the rate of all streams of a direction in equal steps; None if not all readings say how long."""
    streams = [values for key, values in raw.items() if _is_stream(key) and _way(key) == link]
    lasted = [[each.get("dur") for each in values] for values in streams]
    if not streams or not all(is_number(each) and each > 0 for values in lasted for each in values):
        return None
    begins = min(values[0]["t"] - values[0]["dur"] for values in streams)
    ends = max(values[-1]["t"] for values in streams)
    if not ends > begins:
        return None
    every = max(each["t"] for values in raw.values() for each in values) / max(most, 1)
    edges = np.linspace(begins, ends, int(np.clip((ends - begins) / (every or 1), 1, most)) + 1)
    bits = np.zeros(len(edges))
    for values in streams:
        until = [(each["t"] - each["dur"], each["t"]) for each in values]
        sizes = np.array([each["val"] * each["dur"] for each in values]).repeat(2)
        sizes[::2] = 0  # nothing is added between readings
        at = np.maximum.accumulate(np.array(until).ravel())
        bits += np.interp(edges, at, np.cumsum(sizes))
    return Series((edges[1:] + edges[:-1]) / 2, np.diff(bits) / np.diff(edges))


def _way(key: str) -> str:
    return "down" if key.startswith("TCP download") else "up"


def _throughput(results: Mapping[str, list[Any]], word: str, times: list[Any]) -> Series | None:
    if found := series(times, results.get(f"TCP {word} sum", [])):
        return found
    streams = [values for key, values in results.items() if _is_stream(key) and _way(key) == _LINKS[word]]
    return series(times, total(streams, len(times))) if streams else None


def _is_stream(key: str) -> bool:
    return key.startswith("TCP ") and not key.endswith(_DERIVED) and not _is_kernels(key)


def _is_kernels(key: str) -> bool:
    """Whether a series tells of a socket: ``TCP upload::1::tcp_cwnd``."""
    return key.rpartition("::")[2].startswith(("tcp_", "rtt", "cwnd", "pacing", "delivery"))


def _round_trip(
    raw: Mapping[str, list[dict[str, Any]]], results: Mapping[str, list[Any]], times: list[Any]
) -> tuple[Series | None, str]:
    if each := raw.get(_ICMP):
        return series([ping["t"] for ping in each], [ping["val"] for ping in each]), _ICMP
    for key in (_ICMP, "Ping (ms) avg"):
        if key in results and (found := series(times, results[key])):
            return found, key
    pings = {key: values for key, values in results.items() if key.startswith("Ping (ms)")}
    if not pings:
        return None, ""
    means = []
    for step in range(len(times)):
        there = [values[step] for values in pings.values() if step < len(values) and is_number(values[step])]
        means.append(sum(there) / len(there) if there else None)
    return series(times, means), next(iter(pings)) if len(pings) == 1 else f"mean of {len(pings)} pings"
