"""What the advice says of the user's own goals."""

from collections.abc import Sequence

from sojourn.report.advice.names import About, article, named, under
from sojourn.report.answer.cells import listed


def goals(about: About) -> list[str]:
    """Say which of the user's own goals are kept, once for all of which the same is to be said."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for goal in about["goals"]:
        alike.setdefault(tuple(_of_goal(about, goal)), []).append(f"“{goal['goal']}”")
    said = []
    for clauses, names in alike.items():
        one = len(names) == 1
        words = {
            "is": "is" if one else "are", "has": "has" if one else "have", "it": "it" if one else "they",
            "its": "Its" if one else "Their", "this": "it" if one else "them",
            "any": "it" if one else "any of them", "each": "it" if one else "each of them",
        }  # fmt: skip
        first, *more = (clause.format_map(words) for clause in clauses)
        said += [f"The goal{'' if one else 's'} {listed(names)} {first}", *more]
    return said


def _of_goal(about: About, goal: About) -> list[str]:
    """Say whether a goal is kept, without its name, and with {is} for “is”: there may be more goals."""
    missed, doubt, unknown = _not_kept(about, goal)
    if not goal["by_load"]:
        said = ["{has} no numbers, so {it} {is} not judged."]
    elif not missed and not doubt and not unknown:
        said = [f"{{is}} kept {_everywhere(about)}, for certain."]
    else:
        kept = [] if missed or doubt else list(goal["by_load"])
        ways = (
            ("kept for certain", kept),
            ("missed", missed),
            ("in doubt", doubt),
            ("without numbers", unknown),
        )
        parts = [f"{how}{_under_all(loads)}" for how, loads in ways if loads]
        said = [f"{{is}} {listed(parts)}{_instead(goal) if missed else ''}."]
    if lacking := [load for load, found in goal["by_load"].items() if found.get("without_number")]:
        said.append(
            f"Some runs{_under_all(lacking)} have no number for {{this}}: they count as furthest from "
            "{this}, and means are of the others alone."
        )
    if bounds := [load for load, found in goal["by_load"].items() if found.get("at_least")]:
        said.append(f"{{its}} numbers{_under_all(bounds)} are lower bounds: a longer run would tell.")
    return said


def _everywhere(about: About) -> str:
    loads = list(about.get("by_load", ()))
    return under(loads[0]).strip() if len(loads) == 1 else "under every load"


def _under_all(loads: Sequence[str]) -> str:
    return " on the idle line" if list(loads) == ["idle"] else f" under {listed(loads)}"


def _not_kept(about: About, goal: About) -> tuple[list[str], list[str], list[str]]:
    """Return the loads under which the advice misses a goal, is in doubt about it, or has no number."""
    words = {load: found["verdict"] for load, found in goal["by_load"].items()}
    missed = [load for load, word in words.items() if word == "no"]
    doubt = [load for load, word in words.items() if word == "not certain"]
    return missed, doubt, [load for load in about.get("by_load", ()) if load not in words]


def all_kept(about: About) -> bool:
    """Tell whether the advice keeps every goal under every load, for certain."""
    return not any(loads for goal in about["goals"] for loads in _not_kept(about, goal))


def _instead(goal: About) -> str:
    """Say which queue keeps a goal that the advice misses: goals may contradict each other."""
    if "kept_by" not in goal:
        # An answer of an earlier version.
        return ""
    names = list(dict.fromkeys(named(queues) for queues in goal["kept_by"]))
    if not names:
        return "; no queue that was tried keeps {any} for certain"
    more = len(names) - 2
    also = [article(names[0]), *map(article, names[1:2]), *([f"{more} more"] if more > 0 else [])]
    return f"; {listed(also)} keep{'s' if len(names) == 1 else ''} {{each}} for certain"
