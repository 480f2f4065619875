"""A run beside the replay of its own capture: `export`, `workload`, `run`; and `export` twice, `losses`.

python -m benches.passive.replayed [CASE …] [--drawn 0] [--seed 1] [--seconds 40] [--runs 5] [--json]

Each case is run over so many links and round trips, 0.1 % apart, as a run differs from the same a moment
later, too. Each run is captured at its servers and at its clients, and what `sojourn workload` takes from
either is replayed over the path of that run. Means are compared, and how far single runs and replays lie
apart (s.d. in % of the mean) stands beside. Sizes are exact if each connection that ended in a run has its
bytes in its workload. `losses` has both captures of the first run, and is held against what the engine's
queue counted. `--drawn N` has N loads that are drawn at random in place of the cases (`loads.py`), and each
run a seed of its own.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import polars as pl
from sojourn import _core
from sojourn.study import Study

from benches.command import sojourn
from benches.passive.loads import CASES, Load, drawn, flows

SIDES = ("servers", "clients")
BOUND = 0.1
TOO_SMALL = {"delay_ms": 0.3, "loss": 0.002, "carried_bps": 0.0}
"""Differences that matter to nobody, whatever their share is."""


def moved(load: Load, step: int) -> list[tuple[str, str]]:
    """Return the link and the round trip of a run, the first of which are the load's own."""
    part = (-1) ** step * ((step + 1) // 2) / 1000
    return [
        ("path.down.rate", f"{round(load.down_kbit * (1 + part))}kbit"),
        ("path.rtt", f"{round(load.rtt_us * (1 + part))}us"),
        *([("seed", str(step + 1))] if load.seeded else ()),
    ]


def run(study: Path, load: Load, step: int) -> dict[str, Any]:
    """Run a study over the path of a run."""
    [point] = Study.load(study, [("record.flows", "true"), *moved(load, step)]).points
    ran = _core.run(point.text)
    return {**json.loads(ran["summary"]), "table": pl.DataFrame(ran["flows"])}


def numbers(ran: dict[str, Any], link: str) -> dict[str, float]:
    """Return delay, loss and what a link carried (of users the engine adds up no goodput)."""
    found = ran["links"][link]
    return {
        "delay_ms": found["queue_delay_ms"]["mean"],
        "loss": found["loss"],
        "carried_bps": found["utilisation"] * found["rate_bps"],
    }


def replay(
    study: Path, load: Load, side: str, step: int, ran: dict[str, Any], seconds: int
) -> tuple[dict[str, Any], bool]:
    """Replay what a side captures of a run. Returns it, and whether all that ended has its size."""
    capture, workload = (
        study.with_name(f"{study.stem}-{side}-{step}.{end}") for end in ("pcapng", "parquet")
    )
    sets = [word for key, value in moved(load, step) for word in ("--set", f"{key}={value}")]
    sojourn("export", str(study), str(capture), "--at", side, *sets)
    sojourn("workload", str(capture), "-o", str(workload))
    sizes = pl.read_parquet(workload).filter("tcp").select(pl.max_horizontal("a_bytes", "b_bytes"))
    ended = Counter(ran["table"].filter(pl.col("end_ns") >= 0)["bytes"].to_list())
    again = workload.with_suffix(".toml")
    source = f'{{ kind = "recorded", file = "{workload.name}" }}'
    again.write_text(load.path(seconds) + flows(source, "down", **load.group))
    return run(again, load, step), not ended - Counter(sizes.to_series().to_list())


def beside(study: Path, load: Load, seconds: int, count: int) -> Iterator[dict[str, Any]]:
    """Run a study, replay what either side captures, and compare: a row for each side, link and number."""
    one = [run(study, load, step) for step in range(count)]
    for side in SIDES:
        replays = [replay(study, load, side, step, ran, seconds) for step, ran in enumerate(one)]
        for link in ("down", "up"):
            for name, small in TOO_SMALL.items():
                first = [numbers(ran, link)[name] for ran in one]
                second = [numbers(ran, link)[name] for ran, _ in replays]
                mean, replayed = fmean(first), fmean(second)
                if (name == "carried_bps" and link == "up") or (
                    link == "up" and max(mean, replayed) <= small
                ):
                    continue
                yield {
                    "case": study.stem, "at": side, "link": link, "number": name,
                    "run": mean, "replay": replayed, "sizes": all(exact for _, exact in replays),
                    "spread": stdev(first) / mean if count > 1 and mean else None,
                    "spread_replay": stdev(second) / replayed if count > 1 and replayed else None,
                    "held": abs(replayed - mean) <= max(BOUND * mean, small),
                }  # fmt: skip


def lost(study: Path, ran: dict[str, Any]) -> dict[str, Any]:
    """Compare the captures of both sides, and what was lost between them with what the queue counted."""
    captures = [str(study.with_name(f"{study.stem}-{side}-0.pcapng")) for side in SIDES]
    found = json.loads(sojourn("losses", *captures, "--json"))
    return {"case": study.stem, "run": ran["links"]["down"]["loss"], "losses": found["loss"],
            "ingress_pkts": found["ingress_pkts"], "lost_pkts": found["lost_pkts"]}  # fmt: skip


def main() -> None:
    """Run the cases that are named, or all."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("cases", nargs="*", choices=[*CASES, []])
    words.add_argument("--drawn", type=int, default=0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--seconds", type=int, default=40)
    words.add_argument("--runs", type=int, default=5)
    words.add_argument("--folder", type=Path)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        loads = CASES
        if given.drawn:
            loads = {f"drawn-{seed}": drawn(seed) for seed in range(given.seed, given.seed + given.drawn)}
        for case, load in loads.items():
            if given.cases and case not in given.cases:
                continue
            if not given.json:
                print(f"{case}: {load.what}", flush=True)
            study = folder / f"{case}.toml"
            study.write_text(load.path(given.seconds) + load.traffic)
            for row in beside(study, load, given.seconds, given.runs):
                print(json.dumps(row) if given.json else shown(row), flush=True)
            if not given.drawn:
                found = lost(study, run(study, load, 0))
                print(json.dumps(found) if given.json else found, flush=True)


def shown(row: dict[str, Any]) -> str:
    """Return a row as text."""
    ratio = row["replay"] / row["run"] - 1 if row["run"] else float("nan")
    spreads = "/".join("-" if of is None else f"{of:.1%}" for of in (row["spread"], row["spread_replay"]))
    said = "" if row["held"] else "  OUTSIDE"
    name = f"{row['case']:18} {row['at']:7} {row['link']:4} {row['number']:11}"
    sizes = "" if row["sizes"] else "  SIZES"
    return f"{name} {row['run']:12.5g} {row['replay']:12.5g} {ratio:+7.1%}  (s.d. {spreads}){said}{sizes}"


if __name__ == "__main__":
    main()
