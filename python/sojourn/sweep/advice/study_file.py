"""The studies of an advice as study files that a person can read, change and run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.study.toml import toml_key, toml_value
from sojourn.sweep.advice.candidates import Candidate
from sojourn.sweep.advice.line import Line, Times
from sojourn.sweep.advice.loads import IDLE, NONE
from sojourn.sweep.advice.question import FIRST, Question


def sizes_study(asked: Question, sizes: tuple[Sequence[int], Sequence[int]]) -> str:
    """Return the study of a FIFO's sizes: every size down with every size up, under every load."""
    down, up = ([f"{packets}pkt" for packets in found] for found in sizes)
    swept = [("path.down.queue.limit", down), ("path.up.queue.limit", up)]
    lead = "Sizes of a FIFO, each direction for itself. This is all of it; the advice runs a part."
    queues = Candidate({"kind": "fifo", "limit": down[0]}, {"kind": "fifo", "limit": up[0]})
    return _study(asked, names(asked.line)[0], lead, queues, swept, [])


def queues_study(asked: Question, candidates: Sequence[Candidate]) -> str:
    """Return the study of the disciplines, beside the best FIFO."""
    down, up = [one.down for one in candidates], [one.up for one in candidates]
    lead = "Disciplines, the same both ways, beside the FIFO whose sizes were best."
    tie = [("path.down.queue", "path.up.queue", up)]
    return _study(asked, names(asked.line)[1], lead, candidates[0], [("path.down.queue", down)], tie)


def name(line: Line) -> str:
    """Name the advice on a line."""
    return f"advice-{line.down}-{line.up}-{line.rtt}"


def names(line: Line) -> tuple[str, str]:
    """Name the studies of the advice on a line: of sizes, of disciplines."""
    return f"{name(line)}-sizes", name(line)


def _study(
    asked: Question,
    title: str,
    lead: str,
    queues: Candidate,
    swept: Sequence[tuple[str, Sequence[Any]]],
    ties: Sequence[tuple[str, str, Sequence[Any]]],
) -> str:
    line, times = asked.line, asked.times
    said = [
        f"# {lead}",
        f"# The line: {line.words}.",
        "",
        f"name     = {toml_value(title)}",
        "seed     = 1",
        f"repeat   = {FIRST}",
        f'duration = "{times.warmup_s + times.measured_s}s"',
        f'warmup   = "{times.warmup_s}s"',
        "",
        "[path]",
        f'rtt  = "{line.rtt}"',
        f"down = {toml_value({'rate': line.down, 'queue': queues.down})}",
        f"up   = {toml_value({'rate': line.up, 'queue': queues.up})}",
        "",
    ]
    for kind, count in asked.users.items():
        said += ["[[users]]", *_lines({"kind": kind, "count": count, **_of_kind(kind, times)}), ""]
    for goal in asked.goals:
        limit = {"value": goal.path, "at-least" if goal.above else "at-most": goal.limit}
        said += ["[[goals]]", *_lines(limit), ""]
    for load, flows in asked.loads.items():
        for entry in flows:
            said += [f"[[workload.{json.dumps(load)}]]", *_lines(entry), ""]
    axes = [("workload", [NONE if load == IDLE else load for load in asked.loads]), *swept]
    said += ["[sweep]", *(f"{toml_key(axis)} = {_array(values)}" for axis, values in axes)]
    for axis, tied, values in ties:
        said += [
            "",
            "[[tie]]",
            f"with = {toml_value(axis)}",
            "[tie.set]",
            f"{toml_key(tied)} = {_array(values)}",
        ]
    return "\n".join(said) + "\n"


def _of_kind(kind: str, times: Times) -> dict[str, Any]:
    """Return what an entry of users has besides its number: one call or page after another."""
    if kind == "voice":
        return {"codec": "g711a", "call": f"{times.call_s}s", "gap": "0s", "start-within": "1s"}
    if kind == "browser":
        # With the usual reading times, half a minute on average, many a run would have no page.
        return {"dwell-bounds": ["1s", "2s"]}
    return {"pause": "1s"} if kind == "web" else {}


def _lines(entry: Mapping[str, Any]) -> list[str]:
    width = max(map(len, entry))
    return [f"{key:{width}} = {toml_value(value)}" for key, value in entry.items()]


def _array(values: Sequence[Any]) -> str:
    if all(isinstance(value, str) for value in values):
        return toml_value(list(values))
    return "[\n" + "".join(f"  {toml_value(value)},\n" for value in values) + "]"
