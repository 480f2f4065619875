"""What of a study ships by a name, and where it comes from: loads, households, thresholds.

What nobody publishes, or is told from memory, is said on the page, so that no verdict rests on it silently.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.report.answer.goals import HOUSEHOLD
from sojourn.study.thresholds import thresholds

_PEOPLE = {
    "voice": ("caller", "callers"),
    "call": ("video call", "video calls"),
    "web": ("reader of web pages", "readers of web pages"),
    "gaming": ("player", "players"),
    "cloud-gaming": ("player of a streamed game", "players of streamed games"),
    "adaptive": ("viewer of films", "viewers of films"),
}


@dataclass(frozen=True)
class Shipped:
    """Something that a study names and does not declare.

    Attributes
    ----------
    name : str
    about, source : str
        What it is, and where its numbers come from.
    remembered : str or None
        What of it has no source that was read.
    """

    name: str
    about: str
    source: str
    remembered: str | None = None


def shipped(document: Mapping[str, Any]) -> list[Shipped]:
    """Return what a study names of what ships, in its order; what a load is made of follows it."""
    own = document.get("workload") or {}
    labels = (document.get("sweep") or {}).get("workload") or ()
    loads = [own] if isinstance(own, str) else [name for name in labels if name not in own]
    households = [user for user in document.get("users") or () if user.get("kind") == "household"]
    names = dict.fromkeys([*(["household"] if households else []), *loads])
    known = json.loads(_core.provenance())
    if any(key in user for user in households for key in (*_PEOPLE, "count")) or len(households) > 1:
        known["household"]["about"] = f"people of a house today: {_people(households)}"
    goals = dict.fromkeys(goal["threshold"] for goal in document.get("goals") or () if "threshold" in goal)
    quoted = [thresholds()[name] for name in goals]
    loads_of = dict.fromkeys(each for name in names if name in known for each in (name, *_parts(name, known)))
    return [Shipped(name, **known[name]) for name in loads_of] + [
        Shipped(each.name, each.about, each.source, each.remembered) for each in quoted
    ]


def _parts(name: str, known: Mapping[str, Any]) -> list[str]:
    """Return the loads that a load is made of: its source says to see them."""
    source = known[name]["source"]
    return [part for part in known if part in source] if source.startswith("see ") else []


def _people(households: Sequence[Mapping[str, Any]]) -> str:
    """Say how many of each are in households, where a study says so itself."""
    counts = {
        kind: sum(user.get(kind, HOUSEHOLD[kind]) * user.get("count", 1) for user in households)
        for kind in _PEOPLE
    }
    those = [f"{counts[kind]} {names[counts[kind] > 1]}" for kind, names in _PEOPLE.items() if counts[kind]]
    return ", ".join(those) or "nobody"
