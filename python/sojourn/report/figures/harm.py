"""Harm: how much worse a flow fares beside a competitor than alone.

Source: R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry, "Beyond Jain's Fairness Index: Setting the Bar For
The Deployment of Congestion Control Algorithms", HotNets 2019: (solo − with) / solo for what is better when
it is high, as goodput, (with − solo) / with for what is better when it is low, as delay and loss. 0 is no
harm, 1 is all that could be done; below 0 the flow fares better in company.

Difference: a run is set against the solo run of the same replication: both have the same random streams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sojourn.errors import SojournError
from sojourn.report.figures.values import Value, lower
from sojourn.results.path import look_up
from sojourn.study import label_text


def harm(value: Value, alone: float, beside: float) -> float | None:
    """Return the harm to a number that is `alone` by itself and `beside` with a competitor.

    None where it is not defined: there was nothing alone that could be lost.
    """
    before, whole = (alone, alone) if value.better == "high" else (beside, beside)
    lost = alone - beside if value.better == "high" else beside - alone
    if whole == 0:
        return 0.0 if before == 0 and lost == 0 and value.better == "low" else None
    return lost / whole


def harmed(
    value: Value, results: Sequence[Mapping[str, Any]], solo: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the results in company with the harm in place of the value, where both are known.

    Parameters
    ----------
    value
        What is harmed.
    results
        All results, solo runs among them.
    solo
        For an axis, the label under which the sufferer is alone.

    Raises
    ------
    SojournError
        Neither high nor low is good, or there is no solo run with this number.
    """
    if value.better not in ("low", "high"):
        raise SojournError(f"figure {value.path!r}: harm needs a number of which more is better, or less")

    def labels(result: Mapping[str, Any]) -> dict[str, str]:
        return {axis: label_text(label) for axis, label in result["point"].items()}

    def key(point: Mapping[str, str], result: Mapping[str, Any]) -> tuple[Any, ...]:
        return (*sorted(point.items()), result["replication"])

    alone = {
        key(labels(result), result): number
        for result in results
        if solo.items() <= labels(result).items()
        and isinstance(number := look_up(result, value.path), int | float)
    }
    if not alone:
        where = ", ".join(f"{axis} = {label}" for axis, label in solo.items())
        raise SojournError(
            f"figure {value.path!r}: no run with {where} has this number to set others against"
        )
    found = []
    for result in results:
        point = labels(result)
        before, number = alone.get(key({**point, **solo}, result)), look_up(result, value.path)
        if solo.items() <= point.items() or before is None or not isinstance(number, int | float):
            continue
        kept = {name: result[name] for name in ("point", "replication")}
        found.append({**kept, **_nested(value.path, harm(value, before, number))})
    return found


def harm_value(value: Value) -> Value:
    """Return how harm to a number is shown."""
    name, phrase = f"Harm to {lower(value.name)}", f"harm to {value.phrase}"
    return replace(value, name=name, phrase=phrase, unit="%", kind="harm", better="low")


def _nested(path: str, number: float | None) -> dict[str, Any]:
    first, *rest = path.split(".")
    return {first: _nested(".".join(rest), number) if rest else number}
