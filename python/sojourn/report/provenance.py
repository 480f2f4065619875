"""What of a study ships by a name, and where it comes from: loads, households, thresholds.

What nobody publishes, or is told from memory, is said on the page, so that no verdict rests on it silently.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.study.thresholds import thresholds


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
    """Return what a study names of what ships, in the order of the study."""
    own = document.get("workload") or {}
    labels = (document.get("sweep") or {}).get("workload") or ()
    loads = [own] if isinstance(own, str) else [name for name in labels if name not in own]
    households = [user for user in document.get("users") or () if user.get("kind") == "household"]
    names = dict.fromkeys([*(["household"] if households else []), *loads])
    known = json.loads(_core.provenance())
    goals = dict.fromkeys(goal["threshold"] for goal in document.get("goals") or () if "threshold" in goal)
    quoted = [thresholds()[name] for name in goals]
    return [Shipped(name, **known[name]) for name in names if name in known] + [
        Shipped(each.name, each.about, each.source, each.remembered) for each in quoted
    ]
