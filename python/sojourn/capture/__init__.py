"""Passive measurement: the queueing delay of remote hosts, from captures.

>>> from sojourn.capture import measure                     # doctest: +SKIP
>>> summary = measure(["observer.pcap"], samples="delay.csv")  # doctest: +SKIP
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError

__all__ = ["CaptureError", "measure"]


class CaptureError(SojournError):
    """A capture cannot be read, or an interface not be followed."""


def measure(
    captures: Sequence[str | os.PathLike[str]],
    *,
    samples: str | os.PathLike[str] | None = None,
    uncertainty: bool = False,
    estimator: str = "auto",
    local: Sequence[str] = (),
    min_samples: int = 50,
    filter: str | None = None,
    from_s: float | None = None,
    to_s: float | None = None,
    flows: bool = False,
    jobs: int = 0,
    as_lines: bool = False,
    progress: Callable[[float | None], object] | None = None,
) -> dict[str, Any]:
    """Measure captures, read as one stream in the order given.

    Memory does not grow with the captures; samples go to their file in batches.

    Parameters
    ----------
    captures
        Files: pcap or pcapng, plain, gzip or zstd; ``-`` is standard input.
    samples
        File for one row a sample, ``.csv`` or ``.parquet``. It is there whole or not at all.
    uncertainty
        Add the column ``uncertainty_ms`` to it.
    estimator
        ``observer`` (the capture's own clock), ``reported`` (what the receiver reports: the method as
        published) or ``auto``.
    local
        Addresses or prefixes of the hosts near the observer, where they are not to be found out.
    min_samples
        Hosts with fewer samples are left out of the summary.
    filter
        Take only frames that this expression of tcpdump's language wants; needs libpcap.
    from_s, to_s
        Take only frames from this capture time on, and before that one: seconds since the first frame, or
        since 1970 from 10⁸ on.
    flows
        Add ``flows``: one object for each flow and direction.
    jobs
        Threads: with two or more, one reads and decodes ahead of the other. 0: as many as there are cores.
        The result is the same.
    as_lines
        Leave ``hosts`` the lines of JSON that the engine writes. ``not_measured`` then has the objects of
        those of which nothing was told.
    progress
        Is called now and then with the share that has been read, or None where the size is not known.

    Returns
    -------
    dict
        What ``measure --json`` prints: ``hosts`` (one for each remote host and protocol; delays in ms),
        ``packets``, ``skipped``, ``discarded``, ``damage`` and others. docs/measure.md says what each means.

    Raises
    ------
    CaptureError
        One sentence: a file cannot be read or is no capture, or an argument is not as above.
    StoreError
        The samples cannot be written.
    SojournError
        The filter is not understood, or cannot be compiled here; the file of samples has another ending.
    """
    from sojourn import _core

    _check_range(from_s, to_s)
    asked = {"estimator": estimator, "local": list(local), "min_samples": min_samples}
    asked |= {"from_s": from_s, "to_s": to_s, "jobs": jobs, "uncertainty": uncertainty}
    program = None
    if filter is not None:
        from sojourn.capture.tcpdump import compiler

        program = compiler(filter)
    paths = [os.fspath(capture) for capture in captures]
    try:
        with ExitStack() as stack:
            table = rows = None
            if flows:
                from sojourn.capture.flows import Flows

                table = Flows()
            if samples is not None:
                from sojourn.capture.samples import sample_file

                opened = sample_file(Path(samples), uncertainty=uncertainty)
                rows, asked["arrow"] = stack.enter_context(opened)
            take = None if table is None else table.add
            text, lines = _core.measure(paths, json.dumps(asked), take, progress, program, rows)
        summary = json.loads(text)
        not_measured = summary.pop("not_measured")
        if as_lines:
            summary |= {"hosts": lines, "not_measured": [json.loads(lines[place]) for place in not_measured]}
        else:
            summary["hosts"] = [json.loads(line) for line in lines]
        if table is None:
            return summary
        disordered = bool(summary.get("out_of_order"))
        flows = table.rows(min_samples, summary["hosts"], out_of_order=disordered)
        return {**summary, "flows": flows}
    except _core.CaptureError as error:
        raise CaptureError(str(error)) from None


def _check_range(from_s: float | None, to_s: float | None) -> None:
    """Refuse what is no range of times; one since 1970 and one of the capture are not compared."""
    for option, given in (("from", from_s), ("to", to_s)):
        if given is not None and not isfinite(given):
            raise CaptureError(
                f"--{option} is {given:g}; expected seconds since the first frame, or since 1970"
            )
    if from_s is not None and to_s is not None and (from_s < 1e8) == (to_s < 1e8) and from_s >= to_s:
        raise CaptureError(
            f"the time range is empty: from {from_s:g} to {to_s:g}; expected an end after its start"
        )
