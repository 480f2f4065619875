"""Data files of Flent as measurements.

Flent's file format (versions 1 to 4, JSON, mostly gzip): ``x_values`` are seconds, ``results`` a list for
each series, null where nothing was measured. Throughput is ``TCP download sum`` (or ``upload``)
where the test has it, else the sum of its streams (``TCP download::1``, ``TCP upload BE`` …); statistics of
the kernel beside a stream (``…::tcp_rtt``) are no throughput. The round trip is ``Ping (ms) ICMP``, else
``Ping (ms) avg``, else the mean of all series of ping. Most tests ping for some seconds before the first
stream and after the last; as in Flent's own distributions of pings (``cutoff``), those are left out.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.errors import SojournError
from sojourn.report.measured.measurement import Measurement, Series, is_number, series, total

_LINKS = {"download": "down", "upload": "up"}
_DERIVED = (" sum", " avg", " fairness", " totals")
_PINGS = ("Ping (ms) ICMP", "Ping (ms) avg")


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
    throughput = {
        link: found
        for word, link in _LINKS.items()
        if (found := _throughput(results, word, times)) is not None
    }
    rtt, of = _round_trip(results, times)
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
    return _of_the_load(whole, rtt) if throughput and rtt else whole


def _of_the_load(whole: Measurement, rtt: Series) -> Measurement:
    """Leave out the pings of an idle path; times count from the first stream's beginning."""
    begins = min(float(each.time_s[0]) for each in whole.throughput.values())
    ends = max(float(each.time_s[-1]) for each in whole.throughput.values())
    under = (rtt.time_s >= begins) & (rtt.time_s <= ends)
    idle = int((~under).sum())
    if not idle or idle == len(under):
        return whole
    throughput = {link: Series(each.time_s - begins, each.values) for link, each in whole.throughput.items()}
    return replace(
        whole,
        throughput=throughput,
        rtt_ms=Series(rtt.time_s[under] - begins, rtt.values[under]),
        idle=f"{idle} of {len(under)}",
    )


def _throughput(results: Mapping[str, list[Any]], word: str, times: list[Any]) -> Series | None:
    start = f"TCP {word}"
    if f"{start} sum" in results:
        return series(times, results[f"{start} sum"])
    streams = [
        values
        for key, values in results.items()
        if key.startswith(start) and not key.endswith(_DERIVED) and not _is_kernels(key)
    ]
    return series(times, total(streams, len(times))) if streams else None


def _is_kernels(key: str) -> bool:
    """Whether a series tells of a socket: ``TCP upload::1::tcp_cwnd``."""
    return key.rpartition("::")[2].startswith(("tcp_", "rtt", "cwnd", "pacing", "delivery"))


def _round_trip(results: Mapping[str, list[Any]], times: list[Any]) -> tuple[Series | None, str]:
    for key in _PINGS:
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
