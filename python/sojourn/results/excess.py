"""Losses of more than all: what is dropped in the measured time may have come before it."""

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.results.on_links import on_links

WHY = (
    "packets were dropped while they waited that had come before the warm-up was over, and are not among "
    "those that came."
)


def said(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say of which links more than 100 % were lost, and how that can be; nothing if of none.

    >>> said([{"links": {"up": {"loss": 1.3}, "down": {"loss": 1.0}}}])[0][:45]
    'The loss of the uplink is more than 100 %: pa'
    """
    found = on_links(results, lambda link: (link.get("loss") or 0) > 1)
    if not found:
        return []
    names, where = found
    return [f"The loss of {names} is more than 100 %{where}: {WHY}"]
