"""Links that let no packet go: how long theirs wait is in no number."""

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.results.on_links import on_links


def said(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say from which links no packet left though some came; nothing if from none.

    >>> came = {"arrived_pkts": 9, "departed_pkts": 3}
    >>> stuck = {"links": {"up": came, "down": {"arrived_pkts": 9, "departed_pkts": 0}}}
    >>> said([stuck, {"links": {"up": came}}])[0][:68]
    'No packet left the downlink after the warm-up in 1 of 2 runs, though'
    """
    found = on_links(results, lambda link: link.get("arrived_pkts") and link.get("departed_pkts") == 0)
    if not found:
        return []
    names, where = found
    return [
        f"No packet left {names} after the warm-up{where}, though some came: how long they wait there is not "
        "known, and in no number."
    ]
