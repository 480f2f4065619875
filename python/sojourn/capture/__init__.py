"""Passive measurement: the queueing delay of remote hosts, from captures.

>>> from sojourn.capture import measure                     # doctest: +SKIP
>>> summary = measure(["observer.pcap"], samples="delay.csv")  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn.capture.samples import sample_file
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
    progress
        Is called now and then with the share that has been read, or None where the size is not known.

    Returns
    -------
    dict
        ``hosts`` (one for each remote host and protocol), ``packets``, ``skipped``, ``discarded``, ``damage``
        and others.

    Raises
    ------
    CaptureError
        A file cannot be read or is no capture.
    StoreError
        The samples cannot be written.
    """
    from sojourn import _core

    options = json.dumps({"estimator": estimator, "local": list(local), "min_samples": min_samples})
    paths = [os.fspath(capture) for capture in captures]
    try:
        if samples is None:
            return json.loads(_core.measure(paths, options, None, progress))
        with sample_file(Path(samples), uncertainty=uncertainty) as write:
            return json.loads(_core.measure(paths, options, write, progress))
    except _core.CaptureError as error:
        raise CaptureError(str(error)) from None
