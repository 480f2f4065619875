"""What the queues of a scenario hold, in packets, bytes and milliseconds, whatever unit the study writes."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sojourn import _core
from sojourn.study.inputs import trace

UNITS = ("pkts", "bytes", "ms")
_MOST = 6
"""Different sentences that are told at once."""


def buffers(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the queue of every link holds.

    Parameters
    ----------
    document
        The scenario of a point; its traces, if it names any, have been settled.

    Returns
    -------
    dict
        By link: `limit_pkts` (full packets of 1500 bytes), `limit_bytes` and `limit_ms` (at the link's mean
        rate), each None where there is no limit or no rate to tell it by; `starved`, a sentence, where the
        limit keeps the discipline from acting.
    """
    return json.loads(_core.buffers(json.dumps(trace.fill(document), ensure_ascii=False)))


def starved(held: Iterable[Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """Return what is to be said about limits that starve their discipline: a clause for each, once.

    Parameters
    ----------
    held
        What the queues of each scenario of a study hold, as :func:`buffers` gives it.
    """
    held = list(held)
    where = Counter(
        (link, why)
        for scenario in held
        for link, buffer in scenario.items()
        if (why := buffer.get("starved"))
    )
    told = [
        f"{_link(link)}, {'every cell' if count == len(held) else f'{count} of {len(held)} cells'}: {why}"
        for (link, why), count in where.items()
    ]
    more = len(told) - _MOST
    return told[:_MOST] + ([f"{more} more limits starve their discipline"] if more > 0 else [])


def _link(name: str) -> str:
    return f"{name}link" if "." not in name else name
