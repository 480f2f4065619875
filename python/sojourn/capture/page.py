"""The page of a measurement: figures, a table of hosts, what was not seen and why."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from sojourn import _core
from sojourn.capture import unmeasured
from sojourn.capture.unmeasured import many
from sojourn.errors import spaced
from sojourn.report import html
from sojourn.report.figures.passive import MARKED, delay_cdf, delay_over_time, tcp_against_utp
from sojourn.report.figures.values import upper
from sojourn.report.files import Files
from sojourn.report.sections import Section
from sojourn.results.atomic import writing
from sojourn.results.path import flatten

_MOST_PANELS = 4
_FROM = " Shown are packets from the hosts; the table has those to them, too."
_ARROWS = " A hollow mark with an arrow is a lower bound."


def write_page(
    summary: Mapping[str, Any], captures: Sequence[str], page: Path, min_samples: int, command: str
) -> None:
    """Write the page and, in ``figures/`` beside it, its figures.

    Parameters
    ----------
    summary
        What :func:`sojourn.capture.measure` returned.
    captures
        Names of the captures, for the page.
    page
        File to write.
    min_samples
        The least number of samples of a host.
    command
        What makes the page again.

    Raises
    ------
    StoreError
        The page cannot be written.
    """
    hosts = [host for host in summary["hosts"] if host["samples"]]
    ways = list(_ways(summary["hosts"]))
    with writing(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        made = Files(page.parent / "figures")
        figures = _figures(hosts, made)
        if summary["hosts"]:
            made.csv(_table(summary["hosts"]), "hosts")
        html.write(
            page,
            "capture/page.html.jinja",
            captures=captures,
            sentences=_sentences(ways, min_samples),
            facts=_facts(summary, ways, min_samples),
            made=made,
            figures=figures,
            rows=[
                row
                for host in summary["hosts"]
                if host["protocol"] != "quic" or host["rtt_ms"]
                for row in _rows(host)
            ],
            unseen=_unseen(summary, min_samples),
            command=command,
            version=_core.version(),
        )


def _table(hosts: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return every number of every host, one row each."""
    return pl.DataFrame([flatten(host) for host in hosts], infer_schema_length=None)


def _figures(hosts: Sequence[Mapping[str, Any]], made: Files) -> list[Section]:
    if not hosts:
        return []
    longest = sorted(hosts, key=lambda host: -host["samples"])[:_MOST_PANELS]
    seen = {(host["remote"], host["protocol"]) for host in hosts}
    both = [name for name, protocol in sorted(seen) if protocol == "tcp" and (name, "utp") in seen]
    bounds = any(host["lower_bound"] for host in hosts)
    way = _FROM * any(isinstance(host["to_remote"], Mapping) for host in hosts)
    chosen = [
        (
            "delay-cdf",
            "Mean queueing delay of hosts",
            "How many hosts have a mean delay of at most so much, by the protocol that it was read from."
            + _ARROWS * (bounds and len(hosts) <= MARKED)
            + way,
            lambda: delay_cdf(hosts),
        ),
        (
            "delay-over-time",
            "Queueing delay over time",
            "Mean of each interval (line) and its maximum (shade)"
            + (f", for the {_MOST_PANELS} hosts with most samples." if len(hosts) > _MOST_PANELS else ".")
            + way,
            lambda: delay_over_time(longest),
        ),
    ]
    if both:
        chosen.append(
            (
                "tcp-against-utp",
                "The same host under TCP and under uTP",
                "Below the diagonal, uTP met less delay than TCP did. uTP backs off at its target; "
                "TCP fills the buffer." + _ARROWS * bounds + way,
                lambda: tcp_against_utp(hosts),
            )
        )
    return [
        Section(title, made.picture(draw(), slug, f"{title}. {read}"), read)
        for slug, title, read, draw in chosen
    ]


class Way(NamedTuple):
    """One direction of a host of which delays are known."""

    remote: str
    protocol: str
    packets: str
    """Which packets: from the host, or to it."""
    delays: Mapping[str, Any]

    @property
    def mean(self) -> str:
        """The mean delay in words."""
        return f"{'at least ' if self.delays['lower_bound'] else ''}{self.delays['mean_ms']:.1f} ms"


def _ways(hosts: Sequence[Mapping[str, Any]]) -> Iterator[Way]:
    """Yield the directions of hosts of which delays are known."""
    for host in hosts:
        for word, delays in (("from", host), ("to", host["to_remote"])):
            if isinstance(delays, Mapping) and delays["samples"]:
                yield Way(host["remote"], host["protocol"], f"packets {word} {host['remote']}", delays)


def _sentences(ways: Sequence[Way], min_samples: int) -> list[str]:
    """Say how long packets waited, whichever way; the longest wait decides, not who is remote."""
    if not ways:
        return [f"No remote host gave {many(min_samples, 'sample')} of queueing delay."]
    worst = max(ways, key=lambda way: way.delays["p95_ms"])
    if len({way[:2] for way in ways}) == 1:
        first = upper(", ".join(f"{way.packets} waited {way.mean} on average" for way in ways)) + "."
        longest = "Waits" if len(ways) == 1 else f"The longer queue is that of {worst.packets}"
    else:
        over = sum(way.delays["mean_ms"] > 100 for way in ways)
        both = "direction, " if any(way.packets.startswith("packets to") for way in ways) else ""
        first = (
            f"{over} of {len(ways)} mean delays, one for each {both}host and protocol, "
            f"{'is' if over == 1 else 'are'} above 100 ms."
        )
        longest = f"The longest queue is that of {worst.packets} ({worst.protocol})"
    delays = worst.delays
    return [
        first,
        f"{longest}: median {delays['p50_ms']:.1f} ms, 95th percentile {delays['p95_ms']:.1f} ms, maximum "
        f"{delays['max_ms']:.1f} ms" + (", at least these." if delays["lower_bound"] else "."),
        *_bounds(ways),
    ]


def _bounds(ways: Sequence[Way]) -> list[str]:
    """Say what a mean that is a lower bound means."""
    if not (bounds := sum(bool(way.delays["lower_bound"]) for way in ways)):
        return []
    if len(ways) == 1:
        which = "It is a lower bound"
    else:
        kind = "is a lower bound" if bounds == 1 else "are lower bounds"
        which = f"Of the {len(ways)} mean delays, {bounds} {kind}"
    return [f"{which}: the wait may have been longer."]


def _facts(summary: Mapping[str, Any], ways: Sequence[Way], min_samples: int) -> list[tuple[str, str]]:
    samples = sum(way.delays["samples"] for way in ways)
    left_out = summary["hosts_below_min_samples"]
    return [
        ("Packets", spaced(summary["packets"])),
        ("Samples", spaced(samples)),
        (
            "Remote hosts",
            f"{spaced(len({way.remote for way in ways}))}, each with {many(min_samples, 'sample')} or more",
        ),
        ("Left out", f"{spaced(left_out)} with fewer samples"),
    ]


def _rows(host: Mapping[str, Any]) -> list[list[str]]:
    """Return the row of the way from a host and, if it was seen, that of the way to it."""
    rows = [_row(host)]
    if isinstance(host["to_remote"], Mapping):
        nothing = {"rtt_ms": None, "tick_ms": None, "base_drift_ppm": None, "estimator": ""}
        rows.append(_row({**host, **nothing, **host["to_remote"]}))
    return rows


def _row(host: Mapping[str, Any]) -> list[str]:
    def number(value: float | None, digits: int = 1) -> str:
        return "–" if value is None else f"{value:.{digits}f}"

    rtt = host["rtt_ms"]
    return [
        host["direction"],
        host["protocol"],
        spaced(host["samples"]),
        *(number(host[key]) for key in ("mean_ms", "p50_ms", "p95_ms", "max_ms")),
        number(host["uncertainty_ms"], 2),
        {None: "–", True: "at least", False: "known"}[host["lower_bound"]],
        number(rtt["min"] if rtt else None),
        number(host["tick_ms"], 3),
        number(host["base_drift_ppm"]),
        host["estimator"].replace("_", " "),
    ]


def _unseen(summary: Mapping[str, Any], min_samples: int) -> list[str]:
    """Return a line for everything that was not measured, with its reason and count."""
    lines = [damage["sentence"] for damage in summary["damage"]]
    lines += summary.get("out_of_order", ())
    lines += unmeasured.whole(summary, min_samples)
    if left_out := summary.get("left_out_by_request"):
        lines.append(f"{many(left_out, 'frame')}: left out by --filter, --from or --to")
    lines += [
        f"{many(count, 'frame')}: {reason.replace('_', ' ')}" for reason, count in summary["skipped"].items()
    ]
    lines += [
        f"{many(count, 'packet')}: {reason.replace('_', ' ')}"
        for reason, count in summary["discarded"].items()
    ]
    for host in summary["hosts"]:
        who = f"{host['remote']} ({host['protocol']})"
        to_remote = host["to_remote"] if isinstance(host["to_remote"], Mapping) else {}
        for way, delays in (("", host), (" to it", to_remote)):
            for reason, count in delays.get("discarded", {}).items():
                packets = f"{many(count, 'packet')}{way}"
                lines.append(f"{who}: {packets} gave no sample: {reason.replace('_', ' ')}")
        if host["from_remote"].startswith("not seen"):
            lines.append(f"{who}: the way from it was {host['from_remote']}")
        if isinstance(host["to_remote"], str):
            lines.append(f"{who}: the way to it was {host['to_remote']}")
    return lines
