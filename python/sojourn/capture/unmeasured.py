"""Why a measurement has nothing to tell of packets or hosts: for the command and for the page alike."""

from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.errors import counted, spaced


def many(count: int, noun: str) -> str:
    """Write a number of things, with a space between thousands."""
    return counted(count, noun, spaced)


def whole(summary: Mapping[str, Any], min_samples: int) -> Iterator[str]:
    """Yield what is to be said of the captures as a whole, in sentences."""
    packets, few = summary["packets"], summary["hosts_below_min_samples"]
    if not packets and not summary["left_out_by_request"]:
        yield "the captures hold no frame"
    if local := summary["packets_between_local_hosts"]:
        yield (f"{many(local, 'packet')} between two hosts that --local names left out: expected one of them")
    if summary.get("nobody_local"):
        yield "no host of the captures is named by --local, so both ends of a flow count as remote"
    if pairs := summary.get("amid", ()):
        one, other = pairs[0]
        more = f", nor of {many(len(pairs) - 1, 'other pair')} of hosts" if pairs[1:] else ""
        yield (
            f"neither {one} nor {other} is seen to be near{more}: what packets from either waited is told up "
            "to the place of the capture alone; --local names the near one"
        )
    if packets and not (few or local or summary["hosts"]):
        counts = (summary.get("discarded") or {}).items()
        why = "".join(f"; {spaced(count)} {reason.replace('_', ' ')}" for reason, count in counts)
        yield (
            f"none of the packets tells a delay ({spaced(packets)} read{why}); those of TCP with timestamps "
            "and of uTP do, in the order in which they came, where there are enough of them"
        )
    if few:
        yield f"{many(few, 'host')} with fewer than {many(min_samples, 'sample')} left out"
