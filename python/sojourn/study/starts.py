"""Who starts when the run is over, and links too slow for it: no result would say why nothing is carried."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from typing import Any

from sojourn.study.links import links
from sojourn.study.units import FULL_PACKET_BYTES, bits_per_second, nanoseconds, percent

NOBODY = (
    "the study has neither users nor traffic; give it some, as "
    'users = [{ kind = "household" }] or workload = "household-evening"'
)
_OF_THEIR_OWN = "recorded"
"""Sources whose starts are those of a recording."""
_SD_OF_UNIFORM = 1 / sqrt(12)


def too_late(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a clause for each group that starts, or may start, when its scenario has ended.

    >>> flows = [{"name": "late", "start": "70s"}, {"name": "early", "start": "5s"}, {"name": "usual"}]
    >>> too_late([{"duration": "60s", "flows": flows}])
    ['flows late, every cell: start is 70s, but the run ends after 60s; they carry nothing']
    >>> [told] = too_late([{"duration": "60s", "users": [{"kind": "voice", "start-within": "120s"}]}])
    >>> told.partition("; ")[2]
    'each has a chance of 50 % never to start'
    """
    scenarios = list(scenarios)
    where = Counter(clause for scenario in scenarios for clause in dict.fromkeys(_of_scenario(scenario)))
    return [
        f"{who}, {'every cell' if count == len(scenarios) else f'{count} of {len(scenarios)} cells'}: {what}"
        for (who, what), count in where.items()
    ]


def silent(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say if nobody sends anything in any cell.

    >>> silent([{"flows": []}, {"users": []}])[0][:50]
    'no packet is sent in any cell: the study has neith'
    >>> silent([{"flows": []}, {"users": [{"kind": "voice"}]}])
    []
    """
    if any(scenario.get(who) for scenario in scenarios for who in ("users", "flows")):
        return []
    return [f"no packet is sent in any cell: {NOBODY}"]


def too_slow(scenarios: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a clause for each link at whose rate a full packet takes longer than the run.

    >>> path = {"down": {"rate": "1kbit"}, "up": {"rate": "unlimited"}}
    >>> too_slow([{"duration": "9s", "path": path}])
    ['down: at 1kbit a packet of 1500 bytes takes 12 s, but the run ends after 9s; few packets get through']
    >>> too_slow([{"duration": "12s", "path": path}])
    []
    """
    told: dict[str, None] = {}
    for scenario in scenarios:
        for link, spec in links(scenario):
            rate = spec.get("rate")
            # Steps and traces may stand still.
            if not isinstance(rate, str) or rate == "unlimited":
                continue
            takes_s = 8 * FULL_PACKET_BYTES / bits_per_second(rate)
            if takes_s * 1e9 > nanoseconds(scenario["duration"]):
                told[
                    f"{link}: at {rate} a packet of {FULL_PACKET_BYTES} bytes takes {takes_s:.6g} s, "
                    f"but the run ends after {scenario['duration']}; few packets get through"
                ] = None
    return list(told)


def _of_scenario(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield whom it is about, and what is said of them."""
    end = scenario.get("duration", "")
    for group in scenario.get("flows") or ():
        who = f"flows {group['name']}"
        if "start" in group and nanoseconds(group["start"]) >= nanoseconds(end):
            yield who, f"start is {group['start']}, but the run ends after {end}; they carry nothing"
        elif (group.get("source") or {}).get("kind") != _OF_THEIR_OWN:
            yield from _spread(who, group, end)
    viewers = [
        user for user in scenario.get("users") or () if "start-within" in user and user["kind"] == "adaptive"
    ]
    for user in scenario.get("users") or ():
        if user["kind"] != "adaptive":
            yield from _spread(f"users {user.get('name') or user['kind']}", user, end)
    yield from _in_turn(viewers, end)


def _spread(who: str, group: Mapping[str, Any], end: str) -> Iterator[tuple[str, str]]:
    """Starts that are uniform over a time."""
    first, within = nanoseconds(group.get("start", "0s")), nanoseconds(group.get("start-within", "0s"))
    if within and (late := first + within - nanoseconds(end)) > 0:
        after = f" from {group['start']} on" if first else ""
        told = f"starts are spread over {group['start-within']}{after}, but the run ends after {end}"
        yield who, f"{told}; each has a chance of {_percent(late / within)} never to start"


def _in_turn(viewers: Iterable[Mapping[str, Any]], end: str) -> Iterator[tuple[str, str]]:
    """Viewers start after one another, each by a uniform time: when the last does is a sum of those."""
    waits = [nanoseconds(user["start-within"]) for user in viewers for _ in range(user["count"])]
    mean, sd = sum(waits) / 2, _SD_OF_UNIFORM * sqrt(sum(wait**2 for wait in waits))
    if waits and min(mean + 2 * sd, sum(waits)) > nanoseconds(end):
        told = f"they start after one another, the last of {len(waits)} after {mean / 1e9:.3g} s on average"
        yield "viewers of adaptive video", f"{told}, but the run ends after {end}; some may never start"


def _percent(share: float) -> str:
    return percent(share, 0) if share >= 0.01 else "less than 1 %"
