"""The page of a measurement: figures, a table of hosts, what was not seen and why."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn import _core
from sojourn.errors import counted
from sojourn.report import html
from sojourn.report.figures.passive import MARKED, delay_cdf, delay_over_time, tcp_against_utp
from sojourn.report.files import Files
from sojourn.report.sections import Section
from sojourn.results.atomic import writing
from sojourn.results.path import flatten
from sojourn.results.sizes import spaced

_MOST_ROWS = 600
_MOST_PANELS = 4
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
            sentences=_sentences(hosts, min_samples),
            facts=_facts(summary, hosts, min_samples),
            made=made,
            figures=figures,
            rows=[
                row
                for host in summary["hosts"]
                if host["protocol"] != "quic" or host["rtt_ms"]
                for row in _rows(host)
            ],
            most=_MOST_ROWS,
            unseen=_unseen(summary),
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
    chosen = [
        (
            "delay-cdf",
            "Mean queueing delay of hosts",
            "How many hosts have a mean delay of at most so much, by the protocol that it was read from."
            + _ARROWS * (bounds and len(hosts) <= MARKED),
            lambda: delay_cdf(hosts),
        ),
        (
            "delay-over-time",
            "Queueing delay over time",
            "Mean of each interval (line) and its maximum (shade)"
            + (f", for the {_MOST_PANELS} hosts with most samples." if len(hosts) > _MOST_PANELS else "."),
            lambda: delay_over_time(longest),
        ),
    ]
    if both:
        chosen.append(
            (
                "tcp-against-utp",
                "The same host under TCP and under uTP",
                "Below the diagonal, uTP met less delay than TCP did. uTP backs off at its target; "
                "TCP fills the buffer." + _ARROWS * bounds,
                lambda: tcp_against_utp(hosts),
            )
        )
    return [
        Section(title, made.picture(draw(), slug, f"{title}. {read}"), read)
        for slug, title, read, draw in chosen
    ]


def _sentences(hosts: Sequence[Mapping[str, Any]], min_samples: int) -> list[str]:
    if not hosts:
        return [f"No remote host gave {counted(min_samples, 'sample')} of queueing delay."]
    worst = max(hosts, key=lambda host: host["p95_ms"])
    over = [host for host in hosts if host["mean_ms"] > 100]
    least = "at least " if worst["lower_bound"] else ""
    first = (
        f"{len(over)} of {len(hosts)} mean delays, one for each host and protocol, "
        f"{'is' if len(over) == 1 else 'are'} above 100 ms."
        if len(hosts) > 1
        else f"Packets from {worst['remote']} waited {least}{worst['mean_ms']:.1f} ms on average."
    )
    return [
        first,
        (
            f"The longest queue is that of {worst['remote']} ({worst['protocol']}): "
            if len(hosts) > 1
            else "Waits: "
        )
        + f"median {worst['p50_ms']:.1f} ms, 95th percentile {worst['p95_ms']:.1f} ms, "
        f"maximum {worst['max_ms']:.1f} ms" + (", at least these." if least else "."),
        *_bounds(hosts),
    ]


def _bounds(hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what a mean that is a lower bound means."""
    if not (bounds := sum(bool(host["lower_bound"]) for host in hosts)):
        return []
    if len(hosts) == 1:
        which = "It is a lower bound"
    else:
        kind = "is a lower bound" if bounds == 1 else "are lower bounds"
        which = f"Of the {len(hosts)} mean delays, {bounds} {kind}"
    return [f"{which}: the wait may have been longer."]


def _facts(
    summary: Mapping[str, Any], hosts: Sequence[Mapping[str, Any]], min_samples: int
) -> list[tuple[str, str]]:
    samples = sum(host["samples"] for host in hosts)
    left_out = summary["hosts_below_min_samples"]
    return [
        ("Packets", spaced(summary["packets"])),
        ("Samples", spaced(samples)),
        (
            "Remote hosts",
            f"{len({host['remote'] for host in hosts})}, each with {counted(min_samples, 'sample')} or more",
        ),
        ("Left out", f"{left_out} with fewer samples"),
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
        f"{host['samples']}",
        *(number(host[key]) for key in ("mean_ms", "p50_ms", "p95_ms", "max_ms")),
        number(host["uncertainty_ms"], 2),
        {None: "–", True: "at least", False: "known"}[host["lower_bound"]],
        number(rtt["min"] if rtt else None),
        number(host["tick_ms"], 3),
        number(host["base_drift_ppm"]),
        host["estimator"].replace("_", " "),
    ]


def _unseen(summary: Mapping[str, Any]) -> list[str]:
    """Return a line for everything that was not measured, with its reason and count."""
    lines = [damage["sentence"] for damage in summary["damage"]]
    lines += summary.get("out_of_order", ())
    if left_out := summary.get("left_out_by_request"):
        lines.append(f"{counted(left_out, 'frame')}: left out by --filter, --from or --to")
    lines += [
        f"{counted(count, 'frame')}: {reason.replace('_', ' ')}"
        for reason, count in summary["skipped"].items()
    ]
    lines += [
        f"{counted(count, 'packet')}: {reason.replace('_', ' ')}"
        for reason, count in summary["discarded"].items()
    ]
    for host in summary["hosts"]:
        who = f"{host['remote']} ({host['protocol']})"
        for reason, count in host["discarded"].items():
            lines.append(f"{who}: {counted(count, 'packet')} gave no sample: {reason.replace('_', ' ')}")
        if host["from_remote"].startswith("not seen"):
            lines.append(f"{who}: the way from it was {host['from_remote']}")
        if isinstance(host["to_remote"], str):
            lines.append(f"{who}: the way to it was {host['to_remote']}")
    return lines
