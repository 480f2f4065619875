"""`sojourn measure`: the queueing delay of remote hosts, from captures or from an interface."""

from __future__ import annotations

import json as _json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sojourn.cli.exit import Exit, complain
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError


def measure(
    *captures: Path,
    samples: Path | None = None,
    json: Flag = False,
    min_samples: int = 50,
    report: Path | None = None,
    estimator: Literal["auto", "observer", "reported"] = "auto",
    local: Annotated[list[str] | None, Parameter(negative=())] = None,
    uncertainty: Flag = False,
    live: str | None = None,
    prometheus: int | None = None,
    every: float = 2.0,
    duration: float | None = None,
) -> int:
    """Measure the queueing delay of remote hosts from a capture made near the other end.

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
    live
        Follow an interface instead of reading captures (Linux); until interrupted. Needs root or CAP_NET_RAW,
        and gives both up once the interface is open: root becomes the user who called sudo, else `nobody`.
    prometheus
        Export metrics on this TCP port of localhost, with `--live`.
    every
        Seconds between two looks, with `--live`; 0.01 or more.
    duration
        Seconds after which to stop, with `--live`.
    """
    if not 1 <= min_samples < 2**32:
        raise SojournError(f"--min-samples is {min_samples}; expected a number from 1 to {2**32 - 1}")
    options = {"estimator": estimator, "local": local or [], "min_samples": min_samples}
    if live is not None:
        if captures or samples or report:
            raise SojournError("--live follows an interface: it takes no captures, --samples or --report")
        from sojourn.capture.live import follow

        follow(live, options, json=json, port=prometheus, every_s=every, duration_s=duration)
        return Exit.DONE
    if not captures:
        raise SojournError("no capture was named; expected files, `-` (standard input) or --live INTERFACE")
    if prometheus is not None or duration is not None:
        raise SojournError("--prometheus and --duration go with --live")
    if report is not None and (report.suffix != ".html" or report.is_dir()):
        raise SojournError(f"--report is {str(report)!r}; expected a file that ends in .html")
    from sojourn.capture import measure as run
    from sojourn.results.progress import share

    with share("captures read") as progress:
        summary = run(captures, samples=samples, uncertainty=uncertainty, progress=progress, **options)
    _complain(summary, min_samples)
    if report is not None:
        from sojourn.capture.output import printable
        from sojourn.capture.page import write_page

        write_page(summary, [printable(capture) for capture in captures], report, min_samples)
    if json:
        for host in summary["hosts"]:
            print(_json.dumps(host))
    else:
        _table(summary["hosts"], min_samples)
        if report is not None:
            print(report)
    return Exit.FAILED if any(not damage["cut_short"] for damage in summary["damage"]) else Exit.DONE


def _complain(summary: Mapping[str, Any], min_samples: int) -> None:
    for damage in summary["damage"]:
        complain(f"note: {damage['sentence']}" if damage["cut_short"] else damage["sentence"])
    for reason, count in summary["skipped"].items():
        complain(f"note: {count} of {summary['packets']} frames skipped: {reason.replace('_', ' ')}")
    few = summary["hosts_below_min_samples"]
    if few:
        complain(f"note: {few} hosts with fewer than {min_samples} samples left out")
    for host in summary["hosts"]:
        if host["samples"] == 0 and host["protocol"] != "quic":
            why = ", ".join(
                f"{count} {reason.replace('_', ' ')}" for reason, count in host["discarded"].items()
            )
            who = f"{host['remote']} ({host['protocol']})"
            complain(f"note: {who}: no delay of its {host['packets']} packets can be had ({why})")


def _table(hosts: list[Mapping[str, Any]], min_samples: int) -> None:
    shown = [host for host in hosts if host["samples"]]
    if not shown:
        print(f"no remote host gave {min_samples} samples")
        return
    heads = ("remote", "protocol", "samples", "mean ms", "p50 ms", "p95 ms", "max ms", "clock")
    rows = [
        (
            host["remote"],
            host["protocol"],
            str(host["samples"]),
            *(f"{host[name]:.1f}" for name in ("mean_ms", "p50_ms", "p95_ms", "max_ms")),
            host["estimator"].replace("_", " "),
        )
        for host in shown
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = (
            cell.ljust(width) if place in (0, 1, 7) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
