"""A pair of queues as routers are told of it: OpenWrt's SQM, and routers that have nothing but a FIFO.

Source: sqm-scripts of OpenWrt (`run-openwrt.sh` for the names of its options, `simplest.qos` and
`piece_of_cake.qos` for what becomes of them); `ip-link(8)`; the manuals of Cisco IOS (`hold-queue`) and of
MikroTik RouterOS (`/queue type`).

Differences: SQM takes whole kilobits, and shapes what comes in on a device of its own. Routers that count
packets count small ones like full ones, as a study's limit in packets does.
"""

from itertools import pairwise
from typing import Any

from sojourn.errors import counted
from sojourn.report.configure.tc import Link, lines
from sojourn.results.sizes import ms_text

_SCRIPTS = {"cake": "piece_of_cake.qos", "cobalt": "piece_of_cake.qos"}
_TARGETED = ("codel", "fq_codel", "pie", "fq_pie")


def linux(down: Link, up: Link) -> str:
    """Return the lines of `tc` for both directions, each where it leaves the router."""
    said = ["# up: where packets leave towards the network", *lines(up, "WAN")[0]]
    return "\n".join([*said, "# down: where packets leave towards the users", *lines(down, "LAN")[0]])


def openwrt(down: Link, up: Link) -> str:
    """Return a section of `/etc/config/sqm` for both directions."""
    qdisc = _words(up)[0]
    options = {
        "enabled": "1",
        "interface": "wan",
        "download": _kbit(down),
        "upload": _kbit(up),
        "qdisc": qdisc,
        "script": _SCRIPTS.get(up.queue["kind"], "simplest.qos"),
        "linklayer": "none",
        "qdisc_advanced": "1",
        "ingress_ecn": _ecn(down),
        "egress_ecn": _ecn(up),
        "qdisc_really_really_advanced": "1",
    }
    for way, link in (("i", down), ("e", up)):
        words = _words(link)
        given = dict(pairwise(words))
        if qdisc == "cake":
            options[f"{way}qdisc_opts"] = (
                f"rtt {given['rtt']} {'flowblind' if 'flowblind' in words else 'flows'}"
            )
            continue
        if "limit" in given:
            options[f"{way}limit"] = given["limit"]
        if qdisc in _TARGETED:
            options[f"{way}target"] = given["target"]
    rates = {"download": down.rate_bps, "upload": up.rate_bps}
    slow = [way for way, rate in rates.items() if rate is not None and rate < 1000]
    said = [f"# SQM keeps no {way} below 1 kbit/s" for way in slow]
    return "\n".join(
        [*said, "config queue", *(f"\toption {key} '{value}'" for key, value in options.items())]
    )


def plain(down: Link, up: Link) -> str:
    """Return what a router without queue management is told: the length of its FIFO, in each direction."""
    said = []
    for way, device, link in (("up", "WAN", up), ("down", "LAN", down)):
        packets, size, ms = (link.limit.get(f"limit_{unit}") for unit in ("pkts", "bytes", "ms"))
        if packets is None:
            continue
        held = f"{counted(packets, 'packet')}, {size} bytes" + (
            f", {ms_text(ms)} ms" if ms is not None else ""
        )
        said += [
            f"# {way}: a FIFO of {held}",
            f"tc qdisc replace dev {device} root pfifo limit {packets}",
            f"ip link set dev {device} txqueuelen {packets}",
            f"# Cisco IOS, on the interface: hold-queue {packets} out",
            f"# RouterOS: /queue type add name=fifo-{way} kind=pfifo pfifo-limit={packets}; "
            f"/queue interface set {device} queue=fifo-{way}",
        ]
    return "\n".join(said)


def size(link: Link) -> dict[str, Any]:
    """Return what a queue holds at most, in packets, bytes and milliseconds."""
    return {
        unit: link.limit.get(f"limit_{name}")
        for unit, name in (("packets", "pkts"), ("bytes", "bytes"), ("ms", "ms"))
    }


def _words(link: Link) -> list[str]:
    """Return the words of the line of `tc` that names the discipline; a FIFO counts packets here."""
    if link.queue["kind"] == "fifo" and link.limit.get("limit_pkts") is not None:
        return ["pfifo", "limit", str(max(link.limit["limit_pkts"], 1))]
    line = lines(link)[0][-1].split()
    start = line.index("root" if "root" in line else "10:") + 1
    return line[start:]


def _kbit(link: Link) -> str:
    return "0" if link.rate_bps is None else str(max(link.rate_bps // 1000, 1))


def _ecn(link: Link) -> str:
    return "ECN" if link.queue.get("ecn") else "NOECN"
