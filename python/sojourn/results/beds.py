"""What is said of results that were not simulated: that real programs made them, and whether the bed held."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST = 3
_NAMES = ("browser", "player", "server", "transport")
"""What of `engine.programs` names a program."""
BUSY_PCT = 90.0
"""From where on programs are taken to have waited for a processor, which no row of the verdict sees."""


def is_real(result: Mapping[str, Any]) -> bool:
    """Say whether a result was measured between real programs."""
    return result.get("engine", {}).get("clock") == "wall"


def held(result: Mapping[str, Any]) -> bool:
    """Say whether a result is the queues' doing alone: simulated, or of a bed that held."""
    return not is_real(result) or bool(result["engine"]["verdict"]["held"])


def doubts(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence if there are runs between real programs whose bed did not hold; else none."""
    real = [result for result in results if is_real(result)]
    broken = sum(not held(result) for result in real)
    if not broken:
        return []
    runs = "the one run" if len(real) == 1 else f"{broken} of {len(real)} runs"
    return [
        f"In {runs} the bed did not hold, nor in a second attempt: "
        "such numbers are not the queues' doing alone."
    ]


def said(results: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return sentences about the results that real programs made; none if there are none.

    >>> result = {"point": {}, "engine": {"clock": "wall", "kernel": "Linux 6.18", "verdict": {"held": True}}}
    >>> said([result])[1]
    'The bed held in the one run.'
    """
    real = [result for result in results if is_real(result)]
    if not real:
        return []
    kernels = ", ".join(sorted({result["engine"].get("kernel", "an unknown kernel") for result in real}))
    out = [f"Run between real programs on the testbed, in real time ({kernels})."]
    broken = [result for result in real if not held(result)]
    if not broken:
        out.append(f"The bed held in {'the one run' if len(real) == 1 else f'all {len(real)} runs'}.")
    else:
        out += doubts(real)
        out += _cut([f"Not held: {_place(one)}: {_reasons(one)}." for one in broken])
    out += _busy(real)
    out += [f"Programs of {entry}: {', '.join(names)}." for entry, names in _programs(real).items()]
    notes = list(dict.fromkeys(note for result in real for note in result["engine"].get("notes", ())))
    told = [f"Of the programs: {note}." for note in notes]
    return out + (_cut(told) if len(real) > 1 else told)


def _cut(sentences: list[str]) -> list[str]:
    """Return the first of many sentences, how many more there are, and where all are to be seen."""
    if len(sentences) <= _MOST:
        return sentences
    return [
        *sentences[:_MOST],
        f"And {len(sentences) - _MOST} more such: `sojourn show RESULTS POINT` says all of a point.",
    ]


def _busy(real: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence if the machine's processors had next to nothing left in some runs."""
    loads = [one["engine"].get("bed", {}).get("processors", {}).get("busy_pct") or 0 for one in real]
    busy = sum(load >= BUSY_PCT for load in loads)
    if not busy:
        return []
    runs = "the one run" if len(real) == 1 else f"{busy} of {len(real)} runs"
    return [
        f"In {runs} the processors were busy for {BUSY_PCT:.0f} % of the time or more. Programs that "
        "compute much, as browsers, may have waited for them: that is in their numbers, and in no row of "
        "the verdict."
    ]


def _programs(real: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return for each entry of the study the names of its programs, each once, in the order of the runs."""
    found: dict[str, dict[str, None]] = {}
    for result in real:
        for entry, facts in result["engine"].get("programs", {}).items():
            names = {facts[key]: None for key in _NAMES if isinstance(facts.get(key), str)}
            found.setdefault(entry, {}).update(names)
    return {entry: list(names) for entry, names in found.items() if names}


def _place(result: Mapping[str, Any]) -> str:
    labels = [label if isinstance(label, str) else str(label) for label in result["point"].values()]
    return ", ".join([*labels, f"replication {result.get('replication', 0)}"])


def _reasons(result: Mapping[str, Any]) -> str:
    return "; ".join(result["engine"]["verdict"].get("reasons") or ["no reason given"])
