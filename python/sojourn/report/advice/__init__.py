"""The page of an advice: what to set, what it gives, and what every other choice costs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sojourn.errors import spaced
from sojourn.report import html
from sojourn.report.advice import names, sentences
from sojourn.report.advice.front import front
from sojourn.report.configure import NAMES
from sojourn.report.figures.values import upper
from sojourn.report.files import Files
from sojourn.report.sections import Table
from sojourn.results.atomic import write, writing
from sojourn.results.sizes import ms_text
from sojourn.study.units import percent

__all__ = ["write_advice"]


def write_advice(about: Mapping[str, Any], out: Path, command: str, notes: Sequence[str] = ()) -> Path:
    """Write ``advice.html``, ``advice.json`` and ``figures/`` into a directory; return the page.

    Parameters
    ----------
    about
        The advice, as ``recommend --json`` prints it.
    out
        The directory.
    command
        What computes it again.
    notes
        What the user should know about the scores.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        files = Files(out / "figures")
        files.csv(pl.DataFrame([_flat(one) for one in about["tried"]]), "advice")
        trade = sentences.read_front(about["pareto"], about["recommended"])
        drawn = files.picture(front(about), "front", f"Worst score against utilisation. {trade}")
        text = json.dumps(about, ensure_ascii=False, indent=1) + "\n"
        write(out / "advice.json", lambda file: file.write(text.encode()))
        return html.write(
            out / "advice.html",
            "report/advice/page.html.jinja",
            made=files,
            title=sentences.title(about),
            users=", ".join(f"{count} {kind}" for kind, count in about["users"].items()),
            sentences=[sentence for sentence in sentences.answer(about) if sentence],
            sizes=_sizes(about),
            configure=about["configure"],
            notes=[*about["differs"], *notes],
            by_user=_by_user(about),
            read_by_user=sentences.read_by_user(about),
            by_load=_by_load(about),
            loads_differ=len(about["by_load"]) > 1,
            disciplines=any(one["down"]["kind"] != "fifo" for one in about["tried"]),
            no_better=sentences.no_better(about),
            rules=Table(
                ["Rule of thumb", "Sizes", "Worst score", "Loses", "Who, under which load"],
                [sentences.rule_row(one) for one in about["rules_of_thumb"]],
            ),
            fifo=sentences.fifo_only(about),
            floor=sentences.at_the_floor(about),
            drawn=drawn,
            read_front=trade,
            tried=_tried(about),
            points=about["points"],
            command=command,
        )


def _sizes(about: Mapping[str, Any]) -> Table:
    rows = []
    for way, name in (("up", "Uplink"), ("down", "Downlink")):
        queue, size = about["recommended"][way], about["size"][way]
        keys = [f"{key} {value}" for key, value in queue.items() if key not in ("kind", "limit")]
        forms = {"packets": spaced, "bytes": spaced, "ms": ms_text}
        amounts = ["–" if size[unit] is None else form(size[unit]) for unit, form in forms.items()]
        rows.append([name, ", ".join([NAMES.get(queue["kind"], queue["kind"]), *keys]), *amounts])
    return Table(["Link", "Queue", "Packets", "Bytes", "ms at the rate"], rows, 2)


def _by_user(about: Mapping[str, Any]) -> Table:
    """Return what each user gets under each load."""
    loads = about["by_load"]
    users = list(dict.fromkeys(user for one in loads.values() for user in one["users"]))
    rows = [
        [upper(names.who(user)), *(_score(one["users"].get(user)) for one in loads.values())]
        for user in users
    ]
    return Table(["User", *loads], rows)


def _by_load(about: Mapping[str, Any]) -> Table:
    rows = [
        [
            load,
            "the same" if one["same"] else names.named(one["recommended"]),
            _score(one["with_advice"]),
            _score(one["worst"]),
        ]
        for load, one in about["by_load"].items()
    ]
    return Table(["Load", "Best for it alone", "With the advice", "With that"], rows, 2)


def _tried(about: Mapping[str, Any]) -> Table:
    rows = [
        [
            names.named(one),
            _score(one["worst"]) + names.between(one["interval"]),
            _score(one["loss_mos"]),
            f"{names.who(one['user'])}, {one['load']}",
            percent(one["utilisation"]),
            str(one["replications"]),
        ]
        for one in sorted(about["tried"], key=lambda one: -one["worst"])
    ]
    return Table(["Candidate", "Worst score", "Loses", "Who, load", "Utilisation", "Replications"], rows)


def _score(number: float | None) -> str:
    return "–" if number is None else names.number(number)


def _flat(one: Mapping[str, Any]) -> dict[str, Any]:
    low, high = one["interval"] or (None, None)
    return {
        "candidate": names.named(one),
        "down": json.dumps(one["down"]),
        "up": json.dumps(one["up"]),
        "worst": one["worst"],
        "low": low,
        "high": high,
        **{key: one[key] for key in ("loss_mos", "loss_within", "user", "load", "utilisation")},
        "replications": one["replications"],
    }
