"""What this machine can hold: a transfer through the emulator at each of a few rates."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.study.units import percent
from sojourn.sweep.emulation.options import Options, point_of
from sojourn.sweep.emulation.session import run

RATES = ("10Mbit", "100Mbit", "250Mbit", "1000Mbit")
"""Rates that are tried, until one is not held."""

LEAST_USED = 0.5
"""Share of a rate, over a whole trial with its start, below which the rate itself was hardly tried."""

BUSY_PCT = 50.0
"""At the lowest rate, whose trial is little work, processors that are busier than this have other work."""

_SECONDS = 0.3
_SERVER = """
import socket
peer = socket.create_server(("", 5001)).accept()[0]
while peer.recv(1 << 18):
    pass
"""
_CLIENT = f"""
import os, socket, time
peer = socket.create_connection((os.environ["SOJOURN_SERVER"], 5001))
end = time.monotonic() + {_SECONDS}
peer.settimeout({_SECONDS})
try:
    while time.monotonic() < end:
        peer.send(bytes(1 << 17))
except TimeoutError:
    pass
"""


def trials(rates: Sequence[str] = RATES) -> Iterator[dict[str, Any]]:
    """Try one rate after another, one way, until one is not held.

    Yields
    ------
    dict
        ``rate``, ``held``, ``reasons``, ``p99_us`` (how late packets left), ``used`` (share of the rate),
        ``without`` (what could not be had), ``steal_pct``, ``busy_pct``.

    Raises
    ------
    BedError
        There can be no bed at all.
    """
    for rate in rates:
        path = {"down": rate, "up": rate, "rtt": "4ms", "queue": "fifo", "limit": "20ms"}
        server = f"exec {sys.executable} -c '{_SERVER}'"
        options = Options(
            command=(sys.executable, "-c", _CLIENT), server=server, probes=3, duration_s=5, congestion="reno"
        )
        came = run(point_of(None, path, [], {}), options)
        late = came["lateness_us"]["up"]
        failed = ["the transfer failed"] if came["command"]["exit"] else []
        held = came["verdict"]["held"] and not failed
        yield {
            "rate": rate,
            "held": held,
            "reasons": [*failed, *came["verdict"]["reasons"]],
            "p99_us": late and late["p99"],
            "used": came["links"]["up"]["utilisation"],
            "without": came["engine"]["without"],
            **came["engine"]["processors"],
        }
        if not held:
            return


def sentence(tried: Sequence[Mapping[str, Any]]) -> str:
    """Return what the trials come to."""
    held = [trial for trial in tried if trial["held"]]
    if not held:
        text = f"this machine holds not even {tried[0]['rate']} now: {'; '.join(tried[0]['reasons'])}"
        return text + _meanwhile(tried[0], tried[0])
    best = held[-1]
    text = (
        f"this machine holds {best['rate']} one way now: 99 % of the packets left at most "
        f"{best['p99_us'] / 1e3:.2f} ms late"
    )
    if best["used"] < LEAST_USED:
        text += f", but the transfer filled only {percent(best['used'], 0)} of it, so that more is not known"
    if len(held) < len(tried):
        text += f"; not {tried[-1]['rate']}: {'; '.join(tried[-1]['reasons'])}"
    return text + _meanwhile(tried[0], best)


def _meanwhile(first: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    """Say what else the processors did; the first trial has hardly any work of its own."""
    text = ""
    if (busy := first.get("busy_pct", 0.0)) > BUSY_PCT:
        text += (
            f"; the processors are {busy:.0f} % busy, with other work: programs behind the queues wait for "
            "it, which no lateness of packets shows"
        )
    if best["steal_pct"] >= 1:
        text += f" (the hypervisor took {best['steal_pct']:g} % of the processors' time)"
    return text
