"""Losses of more than all: what is dropped in the measured time may have come before it."""

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.study.links import called

WHY = (
    "packets were dropped while they waited that had come before the warm-up was over, and are not among "
    "those that came."
)


def said(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say of which links more than 100 % were lost, and how that can be; nothing if of none.

    >>> said([{"links": {"up": {"loss": 1.3}, "down": {"loss": 1.0}}}])[0][:45]
    'The loss of the uplink is more than 100 %: pa'
    """
    over = [
        {link for link, found in (result.get("links") or {}).items() if (found.get("loss") or 0) > 1}
        for result in results
    ]
    if not (links := set().union(*over)):
        return []
    names = " and ".join(f"the {called(link)}" for link in sorted(links))
    runs = sum(map(bool, over))
    where = f" in {runs} of {len(over)} runs" if runs < len(over) else ""
    return [f"The loss of {names} is more than 100 %{where}: {WHY}"]
