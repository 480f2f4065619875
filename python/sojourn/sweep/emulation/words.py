"""What is said of a run of the emulator, in words."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sojourn.results import causes
from sojourn.results.beds import BUSY_PCT
from sojourn.study.units import bit_rate, percent


def said(came: Mapping[str, Any], changing: Collection[str] = ()) -> list[str]:
    """Return what a run came to: a line for each link, how good the emulator was, and the verdict.

    `changing` are links whose rate is none for ever: what is said of them is of the mean rate.
    """
    engine = came["engine"]
    lines = [_link(name, link, name in changing) for name, link in came["links"].items()]
    lines.append("late: " + "; ".join(_late(way, late) for way, late in came["lateness_us"].items()))
    lines += notes(engine)
    busy = engine["processors"].get("busy_pct", 0.0)
    if busy >= BUSY_PCT and not came["verdict"]["held"]:
        lines.append(f"note: the processors were {busy:.0f} % busy, the emulated programs among their work")
    lines.append(verdict(came))
    return lines


def holds(came: Mapping[str, Any]) -> bool:
    """Return whether the path was held to, as far as packets tell: with none, nothing does."""
    return came["verdict"]["held"] and _decided(came) > 0


def heading(came: Mapping[str, Any]) -> str:
    """Return the verdict as the heading of a page."""
    if came["verdict"]["held"] and not _decided(came):
        return "No packet crossed the path"
    return "The path was held to" if holds(came) else "The path was not held to"


def verdict(came: Mapping[str, Any]) -> str:
    """Return the verdict as a sentence."""
    found = came["verdict"]
    if not found["held"]:
        return "not held: " + "; ".join(found["reasons"])
    if not (decided := _decided(came)):
        return "nothing can be said of the path: no packet crossed it"
    alike = f"about all {decided} packets" if decided > 1 else "about the one packet"
    return f"held: all that was measured is within its limit, and the simulator decides alike {alike}"


def _decided(came: Mapping[str, Any]) -> int:
    return sum(each["decisions"] for each in came["engine"]["replay"].values())


def of_rate(link: Mapping[str, Any], changes: bool) -> str:
    """Write the rate of a link: of one that changes, that it is the mean, in four digits."""
    rate = link["rate_bps"]
    return f"{bit_rate(rate, 4)} in the mean" if changes else bit_rate(rate)


def _link(name: str, link: Mapping[str, Any], changes: bool = False) -> str:
    rate = link["rate_bps"]
    delay = link["queue_delay_ms"]
    if not link["arrived_pkts"]:
        return f"{name}: no packet"
    used = "no limit of rate"
    if rate:
        used = f"{percent(link['utilisation'])} of {of_rate(link, changes)} used"
    drops = causes.told(link["drops_by_cause"])
    lost = f"{link['dropped_pkts']} of {link['arrived_pkts']} packets dropped"
    waited = (
        f"waited {delay['mean']:.1f} ms on average, {delay['p95']:.1f} at p95"
        if link["departed_pkts"]
        else "none left"
    )
    marked = f", {link['marked_pkts']} marked" if link.get("marked_pkts") else ""
    return f"{name}: {used}, {waited}, {lost}" + (f" ({drops})" if drops else "") + marked


def _late(way: str, late: Mapping[str, Any] | None) -> str:
    if late is None:
        return f"{way} no packet left"
    p50, p99, p999, most = (microseconds(late[key]) for key in ("p50", "p99", "p999", "max"))
    return f"{way} p50 {p50}, p99 {p99}, p99.9 {p999}, most {most} µs"


def microseconds(number: float) -> str:
    """Return a number of microseconds: in full also if it is a million and more."""
    return f"{number:g}" if number < 1e6 else f"{number:.0f}"


def notes(engine: Mapping[str, Any]) -> Iterator[str]:
    """Iterate over what disturbed a run, and what could not be had."""
    for what in engine["without"]:
        yield f"note: without {what}"
    shares = engine["processors"]
    if shares["steal_pct"] >= 1:
        yield (
            f"note: the hypervisor took {shares['steal_pct']:g} % of the processors' time; "
            "no lateness can be below the length of such a slice"
        )
    if engine["late_wakes"]:
        times = "once" if engine["late_wakes"] == 1 else f"{engine['late_wakes']} times"
        yield (
            f"note: the emulator was held up for more than 5 ms {times}, "
            f"at most {engine['latest_wake_us'] / 1e3:.1f} ms"
        )
    if engine["clamped_pkts"]:
        one = engine["clamped_pkts"] == 1
        seen = "packet was seen after its" if one else "packets were seen after their"
        yield (
            f"note: {engine['clamped_pkts']} {seen} queue had gone on; "
            f"{'it counts' if one else 'they count'} as up to {engine['clamped_us']:.0f} µs later"
        )
