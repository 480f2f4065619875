"""Why packets were dropped, in words that a reader understands; results and logs keep the names."""

from collections.abc import Mapping

CAUSES = {
    "full": "queue full",
    "early": "early, before it was full",
    "sojourn": "waited too long",
    "path": "lost on the path",
    "forced": "average queue too long",
    "blue": "at random after overflows",
    "overload": "overload",
    "unknown": "cause unknown",
    "policed": "over the policer's rate",
}


def told(drops: Mapping[str, int]) -> str:
    """Say how many packets were dropped for which cause; nothing where none was.

    >>> told({"full": 3, "early": 0, "sojourn": 1})
    '3 queue full, 1 waited too long'
    """
    return ", ".join(f"{count} {CAUSES.get(cause, cause)}" for cause, count in drops.items() if count)
