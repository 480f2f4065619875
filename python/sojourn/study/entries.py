"""Keys of a study count the entries of lists from 0, as `--set` does; errors add the place from 1."""

import re

_KEY = re.compile(r"(?<=: )(?:flows|users|goals|figures|tie|path|record|sweep|workload)(?:\.[^\s.:]+)+(?=: )")
_ONE_ENTRY = re.compile(r"\bhas the entries 0 to 0, not\b")


def counted_from_one(message: str) -> str:
    """Return a message about a study's text, with the place of each list entry that its keys name.

    >>> counted_from_one("x.toml:9:8: goals.0.name: is empty")
    'x.toml:9:8: goals.0.name (entry 1 of goals): is empty'
    >>> counted_from_one("x.toml: --set users.1.objects=[]: users.1.objects.2: is empty")
    'x.toml: --set users.1.objects=[]: users.1.objects.2 (entry 2 of users, entry 3 of its objects): is empty'
    >>> counted_from_one("x.toml:9:8: sweep.flows.0.mss.1: is too small")
    'x.toml:9:8: sweep.flows.0.mss.1 (value 2 of the axis): is too small'
    """
    first, *excerpt = message.split("\n")
    first = _KEY.sub(lambda found: found[0] + _place(found[0].split(".")), first)
    return "\n".join([_ONE_ENTRY.sub("has only the entry 0, not", first), *excerpt])


def _place(names: list[str]) -> str:
    at = [place for place, name in enumerate(names) if name.isdigit()]
    last = len(names) - 1
    if names[0] == "sweep":  # The axis itself may have an entry's number in its name.
        return f" (value {int(names[-1]) + 1} of the axis)" if at[-1:] == [last] else ""
    if not at:
        return ""
    told = [f"entry {int(names[at[0]]) + 1} of {'.'.join(names[: at[0]])}"]
    if at[1:] == [last]:
        told.append(f"entry {int(names[last]) + 1} of its {'.'.join(names[at[0] + 1 : last])}")
    return f" ({', '.join(told)})"
