"""JSON of iperf3 (``iperf3 -c HOST -J``, or ``--json-stream``) as measurements.

``intervals`` hold what passed in each: ``sum``, and with ``--bidir`` ``sum_bidir_reverse``. What the client
sends is ``up``, what it receives (``-R``, the reverse half of ``--bidir``) is ``down``. Round trips are the
smoothed ones of the kernel (``rtt``, in µs), the mean over the streams that this end sends; a receiver knows
none. Intervals that the tool itself leaves out (``-O``) are left out. The mean throughput is the tool's own:
what the receiver counted, else the sender. A server's file (``iperf3 -s -J``) is read the other way round. A
run that ended early counts as far as it went. Versions 3.7 to 3.10 name both halves of ``--bidir`` alike: the
second is the reverse one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.errors import SojournError, counted
from sojourn.report.measured.measurement import Measurement, is_number, series
from sojourn.study.units import percent

_SUMS = ("sum", "sum_bidir_reverse")


def is_iperf3(content: Mapping[str, Any]) -> bool:
    """Whether parsed JSON is of iperf3."""
    return isinstance(content.get("start"), dict) and isinstance(content.get("intervals"), list)


def named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a second ``sum…``, of the reverse half, has the name of later versions."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        again = key in found and key.startswith("sum")
        found[f"{key}_bidir_reverse" if again else key] = value
    return found


def runs(objects: list[Any]) -> list[Any]:
    """Return the runs, each as the one object of ``-J``, which events of ``--json-stream`` are made."""
    found: list[Any] = []
    for each in objects:
        event = each.get("event") if isinstance(each, dict) else None
        if not isinstance(event, str):
            found.append(each)
            continue
        if event == "start" or not found:
            found.append({"intervals": []})
        if event == "interval":
            found[-1]["intervals"].append(each.get("data"))
        else:
            found[-1][event] = each.get("data")
    return found


def measurement(content: Mapping[str, Any], name: str) -> Measurement:
    """Return what iperf3 measured.

    Raises
    ------
    SojournError
        The run failed, or no interval has a number.
    """
    failed = content.get("error")
    why = (failed.strip().splitlines() or ["no reason given"])[0] if isinstance(failed, str) else ""
    if why and not is_iperf3(content):
        raise SojournError(f"{name}: iperf3 failed: {why}")
    sends = "down" if "accepted_connection" in content["start"] else "up"
    reverse = bool(_test(content).get("reverse"))
    rates, trips = _over_time(content, reverse, sends)
    throughput = {link: found for link, pair in rates.items() if (found := series(*pair))}
    if not throughput and why:
        raise SojournError(f"{name}: iperf3 failed: {why}")
    if not throughput:
        raise SojournError(f"{name}: no interval of iperf3 has a throughput")
    end = content.get("end") if isinstance(content.get("end"), dict) else {}
    means, received, again = _summed(end, reverse)
    lost = {} if why else _lost(end, reverse)
    if sends == "down":
        lost.pop(sends, None)  # a server writes 0 of what it sends itself: no client told it
    if sends in lost and sends in throughput and sends not in means:
        # Some versions sum datagrams up in `sum` alone: what was sent, and what share of it was lost.
        means[sends] = throughput[sends].mean * (1 - lost[sends])
        received.add(sends)
    rtt = series(*trips)
    return Measurement(
        name,
        ", ".join(_words(content, why, lost)),
        throughput,
        rtt,
        "the sender's smoothed one" if rtt else "",
        again,
        {link: mean for link, mean in means.items() if link in throughput},
        sends if sends in throughput else "",
        sends in received,
    )


def _test(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how the test was set up."""
    test = content["start"].get("test_start")
    return test if isinstance(test, dict) else {}


def _over_time(
    content: Mapping[str, Any], reverse: bool, sends: str
) -> tuple[dict[str, tuple[list[Any], list[Any]]], tuple[list[Any], list[Any]]]:
    """Return the throughput of each direction (times in s, Mbit/s) and the round trips (times in s, ms)."""
    rates: dict[str, tuple[list[Any], list[Any]]] = {}
    trips: tuple[list[Any], list[Any]] = ([], [])
    for interval in _dicts(content["intervals"]):
        for key in _SUMS:
            if isinstance(found := interval.get(key), dict) and not found.get("omitted"):
                link = _link(found, reverse != (key != "sum"), sends)
                rate = found.get("bits_per_second")
                times, values = rates.setdefault(link, ([], []))
                times.append(_middle(found))
                values.append(rate / 1e6 if is_number(rate) else None)
        streams = [one for one in _dicts(interval.get("streams")) if not one.get("omitted")]
        known = [one["rtt"] / 1e3 for one in streams if is_number(one.get("rtt")) and one["rtt"] > 0]
        if known:
            trips[0].append(_middle(streams[0]))
            trips[1].append(sum(known) / len(known))
    return rates, trips


def _words(content: Mapping[str, Any], why: str, lost: Mapping[str, float]) -> list[str]:
    """Return what ran: the version, the protocol, streams, and `why` it ended early or what was lost."""
    version = content["start"].get("version")
    words = [version if isinstance(version, str) else "iperf3"]
    test = _test(content)
    if isinstance(protocol := test.get("protocol"), str):
        words.append(protocol)
    if isinstance(count := test.get("num_streams"), int):
        words.append(counted(count, "stream"))
    if why:
        # What a receiver would have told at the end is then 0, as if nothing were lost.
        words.append(f"ended early ({why})")
    else:
        words += [f"{percent(share)} of the datagrams sent {way} lost" for way, share in lost.items()]
    return words


def _lost(end: Mapping[str, Any], reverse: bool) -> dict[str, float]:
    """Return the share of the datagrams that did not arrive, by direction; nothing of TCP."""
    shares = {}
    for tail, turned in (("", False), ("_bidir_reverse", True)):
        found = end.get(f"sum{tail}")
        if isinstance(found, dict) and is_number(lost := found.get("lost_percent")) and 0 <= lost <= 100:
            shares["down" if reverse != turned else "up"] = lost / 100
    return shares


def _summed(end: Mapping[str, Any], reverse: bool) -> tuple[dict[str, float], set[str], dict[str, float]]:
    """Return by direction mean Mbit/s, where receivers counted them, and segments sent again a second."""
    means: dict[str, float] = {}
    received = set()
    again: dict[str, float] = {}
    for tail, turned in (("", False), ("_bidir_reverse", True)):
        link = "down" if reverse != turned else "up"
        for key in (f"sum_received{tail}", f"sum_sent{tail}"):
            found = end.get(key)
            if not isinstance(found, dict):
                continue
            if is_number(rate := found.get("bits_per_second")) and rate > 0:
                means.setdefault(link, rate / 1e6)
                if key.startswith("sum_received"):
                    received.add(link)
            seconds = found.get("seconds")
            if is_number(count := found.get("retransmits")) and is_number(seconds) and seconds > 0 <= count:
                again[link] = count / seconds
    return means, received, again


def _link(found: Mapping[str, Any], reverse: bool, sends: str) -> str:
    if isinstance(sender := found.get("sender"), bool):
        return "up" if sender == (sends == "up") else "down"
    return "down" if reverse else "up"


def _middle(found: Mapping[str, Any]) -> float | None:
    start, end = found.get("start"), found.get("end")
    return (start + end) / 2 if is_number(start) and is_number(end) else None


def _dicts(found: Any) -> Iterator[dict[str, Any]]:
    return (one for one in found if isinstance(one, dict)) if isinstance(found, list) else iter(())
