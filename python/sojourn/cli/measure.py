"""`sojourn measure`: the queueing delay from remote hosts and to them, from captures or from an interface."""

from __future__ import annotations

import json as _json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sojourn.cli.exit import Exit, warn
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError, spaced

_MIN_SAMPLES = 50
_EVERY = "2s"


def measure(
    *captures: Path,
    samples: Path | None = None,
    json: Flag = False,
    min_samples: int = _MIN_SAMPLES,
    report: Path | None = None,
    estimator: Literal["auto", "observer", "reported"] = "auto",
    local: list[str] | None = None,
    uncertainty: Flag = False,
    filter: str | None = None,
    from_: float | None = None,
    to: float | None = None,
    flows: Flag = False,
    jobs: int = 0,
    live: str | None = None,
    prometheus: int | None = None,
    every: str = _EVERY,
    duration: str | None = None,
) -> int:
    """Measure the queueing delay in both directions, from one capture made near either end.

    Each direction is named by who sends to whom. Where no packet ever met an empty queue, the delay is said
    to be a lower bound: what stood all the while cannot be told from the path.

    TCP with timestamps and uTP are read; nothing has to be synchronised and nothing is sent. Captures are
    pcap or pcapng, plain, gzip or zstd, and are read as one stream in the order given; `-` is standard input.

    **Example**

    ```
    sojourn measure trace.pcap.gz --samples delay.csv --report report.html
    ```

    Parameters
    ----------
    captures
        Captures.
    samples
        File for one row a sample: `.csv` or `.parquet`.
    json
        Print one JSON object for each remote host and protocol.
    min_samples
        Leave out hosts with fewer samples.
    report
        Make a page (`.html`) with figures; they are also written beside it.
    estimator
        `observer`: the capture's own clock. `reported`: what the receiver reports (the method as published).
        `auto`: the observer's clock where the receiver is near, the reports elsewhere.
    local
        Addresses or prefixes near the observer, where they are not to be found out. Repeatable.
    uncertainty
        Add the column `uncertainty_ms` to the samples.
    filter
        Take only frames that this expression of tcpdump's language wants, such as "tcp port 443".
        Needs libpcap.
    from_
        Take only frames from this time on: seconds since the first frame, or since 1970.
    to
        Take only frames before this time.
    flows
        List flows instead of hosts, a line for each direction; with `--json`, an object.
    jobs
        Threads; 0: as many as there are cores. The output is the same, byte for byte.
    live
        Follow an interface instead of reading captures (Linux); until interrupted. Needs root or CAP_NET_RAW,
        and gives both up once the interface is open: root becomes the user who called sudo, else `nobody`.
    prometheus
        Export metrics on this TCP port of localhost, with `--live`.
    every
        Time between two looks, with `--live`: `500ms`, or a number of seconds; 10 ms or more.
    duration
        Time after which to stop, with `--live`: `5min`, or a number of seconds.
    """
    if not 1 <= min_samples < 2**32:
        raise SojournError(f"--min-samples is {min_samples}; expected a number from 1 to {2**32 - 1}")
    if not 0 <= jobs < 2**16:
        raise SojournError(f"--jobs is {jobs}; expected a number of threads, or 0 for one a core")
    options = {"estimator": estimator, "local": local or [], "min_samples": min_samples}
    if live is not None:
        if captures or samples or report or flows or jobs or (from_, to) != (None, None):
            raise SojournError(
                "--live follows an interface: it takes no captures, --samples, --report, --from, --to, "
                "--flows or --jobs"
            )
        _follow(live, options, every, duration, json=json, port=prometheus, filter=filter)
        return Exit.DONE
    if not captures:
        raise SojournError("no capture was named; expected files, `-` (standard input) or --live INTERFACE")
    if prometheus is not None or duration is not None or every != _EVERY:
        raise SojournError("--prometheus, --every and --duration go with --live")
    if report is not None and (report.suffix != ".html" or report.is_dir()):
        raise SojournError(f"--report is {str(report)!r}; expected a file that ends in .html")
    from sojourn.capture import measure as run
    from sojourn.cli.progress import share

    with share("captures read") as progress:
        chosen = {"filter": filter, "from_s": from_, "to_s": to, "flows": flows, "jobs": jobs}
        # Where nothing else is asked of hosts, their lines pass as they are.
        chosen["as_lines"] = as_lines = json and report is None and not flows
        summary = run(
            captures, samples=samples, uncertainty=uncertainty, progress=progress, **chosen, **options
        )
    _notes(summary, min_samples)
    if report is not None:
        asked = {"local": local, "filter": filter, "from_": from_, "to": to}
        _page(summary, captures, report, min_samples, estimator, asked)
    _print(summary, min_samples, json=json, flows=flows, as_lines=as_lines)
    if report is not None and not json:
        print(report)
    nothing = len(_not_measured(summary)) == len(summary["hosts"])
    damaged = any(not damage["cut_short"] for damage in summary["damage"])
    return Exit.FAILED if damaged or nothing else Exit.DONE


def _follow(
    interface: str, options: Mapping[str, Any], every: str, duration: str | None, **asked: Any
) -> None:
    from sojourn.capture.live import follow
    from sojourn.study.units import seconds_if_bare

    duration_s = None if duration is None else seconds_if_bare(duration, "--duration")
    follow(interface, options, every_s=seconds_if_bare(every, "--every"), duration_s=duration_s, **asked)


def _print(summary: Mapping[str, Any], min_samples: int, *, json: bool, flows: bool, as_lines: bool) -> None:
    """Print what was measured: a line of JSON for each host or flow, or a table."""
    hosts = summary["hosts"]
    if json:
        lines = hosts if as_lines else map(_json.dumps, summary["flows"] if flows else hosts)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        _table(_flow_rows(summary["flows"]) if flows else _rows(hosts), min_samples)


def _page(
    summary: Mapping[str, Any],
    captures: Sequence[str],
    report: Path,
    min_samples: int,
    estimator: str,
    asked: Mapping[str, Any],
) -> None:
    """Write the page, with the command that makes it again."""
    from sojourn.capture.output import printable
    from sojourn.capture.page import write_page
    from sojourn.cli.again import again

    chosen = {
        "min_samples": min_samples if min_samples != _MIN_SAMPLES else None,
        "estimator": estimator if estimator != "auto" else None,
    }
    command = again("measure", *captures, **chosen, **asked, report=report)
    write_page(summary, [printable(capture) for capture in captures], report, min_samples, command)


def _notes(summary: Mapping[str, Any], min_samples: int) -> None:
    for damage in summary["damage"]:
        warn(f"note: {damage['sentence']}" if damage["cut_short"] else damage["sentence"])
    for sentence in summary.get("out_of_order", ()):
        warn(f"note: {sentence}")
    from sojourn.capture.unmeasured import many, whole

    packets = spaced(summary["packets"])
    for reason, count in summary["skipped"].items():
        warn(f"note: {spaced(count)} of {packets} frames skipped: {reason.replace('_', ' ')}")
    if left_out := summary["left_out_by_request"]:
        every = "" if summary["packets"] else "all "
        warn(f"note: {every}{many(left_out, 'frame')} left out by --filter, --from or --to")
    for sentence in whole(summary, min_samples):
        warn(f"note: {sentence}")
    not_measured = _not_measured(summary)
    if quic := sum(host["protocol"] == "quic" for host in not_measured):
        warn(f"note: no round trip of {many(quic, 'host')} with QUIC can be had: no spin bit changed")
    for host in not_measured:
        if host["protocol"] != "quic":
            counts = host["discarded"].items()
            why = (
                ", ".join(f"{spaced(count)} {reason.replace('_', ' ')}" for reason, count in counts)
                or host["from_remote"]
            )
            who = f"{host['remote']} ({host['protocol']})"
            its = many(host["packets"], "packet")
            warn(f"note: {who}: no delay of its {its} can be had ({why})")


def _not_measured(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the hosts of which nothing was told; of lines, the engine says which."""
    if "not_measured" in summary:
        return summary["not_measured"]
    return [host for host in summary["hosts"] if not _measured(host)]


def _measured(host: Mapping[str, Any]) -> bool:
    shown = host["protocol"] == "quic" and host["rtt_ms"]
    return bool(host["samples"] or isinstance(host["to_remote"], Mapping) or shown)


def _rows(hosts: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each direction of each host, and for round trips where there is nothing else."""
    rows = []
    for host in hosts:
        ways = [(f"{host['remote']} → {host['local']}", host, host["estimator"].replace("_", " "))]
        if isinstance(host["to_remote"], Mapping):
            ways.append((f"{host['local']} → {host['remote']}", host["to_remote"], ""))
        for name, way, clock in ways:
            if way["samples"]:
                rows.append((name, host["protocol"], *_numbers(way), _known(way), clock))
        if host["protocol"] == "quic" and (rtt := host["rtt_ms"]):
            delays = ("–", f"{rtt['p50']:.1f}", f"{rtt['p95']:.1f}", "–", "–")
            rows.append(
                (f"{host['remote']}, round trip", "quic", str(rtt["samples"]), *delays, "", "spin bit")
            )
    return rows


def _flow_rows(flows: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (flow["flow"].replace(">", " → "), flow["protocol"], *_numbers(flow), _known(flow), "")
        for flow in flows
    ]


def _numbers(way: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")
    return (str(way["samples"]), *(f"{way[name]:.1f}" for name in names))


def _known(way: Mapping[str, Any]) -> str:
    if not way["lower_bound"]:
        return "yes"
    missing = way["missing_at_most_ms"]
    return "at least" if missing is None else f"at least, up to {missing:.1f} more"


def _table(rows: Sequence[tuple[str, ...]], min_samples: int) -> None:
    if not rows:
        from sojourn.capture.unmeasured import many

        print(f"no remote host gave {many(min_samples, 'sample')}")
        return
    delays = ("mean ms", "p50 ms", "p95 ms", "p99 ms", "max ms")
    heads = ("direction", "protocol", "samples", *delays, "empty queue seen", "clock")
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = (
            cell.ljust(width) if place in (0, 1, 8, 9) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
