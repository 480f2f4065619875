"""Links that let no packet go: how long theirs wait is in no number."""

from collections.abc import Iterable, Mapping
from typing import Any

from sojourn.study.links import called


def said(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say from which links no packet left though some came; nothing if from none.

    >>> came = {"arrived_pkts": 9, "departed_pkts": 3}
    >>> stuck = {"links": {"up": came, "down": {"arrived_pkts": 9, "departed_pkts": 0}}}
    >>> said([stuck, {"links": {"up": came}}])[0][:68]
    'No packet left the downlink after the warm-up in 1 of 2 runs, though'
    """
    still = [
        {
            link
            for link, found in (result.get("links") or {}).items()
            if found.get("arrived_pkts") and found.get("departed_pkts") == 0
        }
        for result in results
    ]
    if not (links := set().union(*still)):
        return []
    names = " and ".join(f"the {called(link)}" for link in sorted(links))
    runs = sum(map(bool, still))
    where = f" in {runs} of {len(still)} runs" if runs < len(still) else ""
    return [
        f"No packet left {names} after the warm-up{where}, though some came: how long they wait there is not "
        "known, and in no number."
    ]
