"""A run beside the replay of its own capture: `export`, `workload`, `run`; and `export` twice, `losses`.

python -m benches.passive.replayed [CASE …] [--seconds 40] [--runs 5] [--json]

Each case is run over so many links and round trips, 0.1 % apart, as a run differs from the same a moment
later, too. Each run is captured at its servers and at its clients, and what `sojourn workload` takes from
either is replayed over the path of that run. Means are compared, and how far single runs and replays lie
apart (s.d. in % of the mean) stands beside. Sizes are exact if each connection that ended in a run has its
bytes in its workload. `losses` has both captures of the first run, and is held against what the engine's
queue counted.
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

SIDES = ("servers", "clients")
_SESSIONS = '{ kind = "sessions", preset = "imc14" }'
_BULK = '{ kind = "bulk" }'


def _flows(source: str, direction: str, count: int = 1) -> str:
    return f'[[flows]]\nsource = {source}\ntransport = "cubic"\ndirection = "{direction}"\ncount = {count}\n'


_VOICE = """[[flows]]
source = { kind = "cbr", rate = "4Mbit", size = "200B" }
transport = "udp"
direction = "down"
"""


def _users(kind: str, count: int) -> str:
    return f'[[users]]\nkind = "{kind}"\ncount = {count}\n'


CASES: dict[str, tuple[int | str, str]] = {
    "bulk-2": (50, _flows(_BULK, "down", 2)),
    "bulk-12": (50, _flows(_BULK, "down", 12)),
    "bulk-4-small": (12, _flows(_BULK, "down", 4)),
    "bulk-4-large": (250, _flows(_BULK, "down", 4)),
    "bulk-both-ways": (50, _flows(_BULK, "down", 3) + _flows(_BULK, "up", 2)),
    "bulk-voice": (50, _flows(_BULK, "down", 2) + _VOICE),
    "sessions-light": (50, _flows(_SESSIONS, "down", 5)),
    "sessions": (50, _flows(_SESSIONS, "down", 12)),
    "sessions-large": (250, _flows(_SESSIONS, "down", 12)),
    "sessions-both-ways": (50, _flows(_SESSIONS, "down", 10) + _flows(_SESSIONS, "up", 3)),
    "packmime": (50, _flows('{ kind = "packmime", rate = 80 }', "down")),
    "packmime-large": (250, _flows('{ kind = "packmime", rate = 110 }', "down")),
    "web": (50, _users("web", 12)),
    "web-fair": ("fq-codel", _users("web", 15)),
    "page": (100, _users("page", 3)),
    "page-quic": (100, _users("page", 3) + 'http = "3"\n'),
    "page-quic-bulk": (100, _users("page", 2) + 'http = "3"\n' + _flows(_BULK, "down")),
    "players": (50, _users("adaptive", 4)),
    "players-bulk": (100, _users("adaptive", 2) + _users("web", 3) + _flows(_BULK, "down")),
}
"""Buffer of the link down in packets, or its queue, and what crosses the path."""
BOUND = 0.1
TOO_SMALL = {"delay_ms": 0.3, "loss": 0.002, "carried_bps": 0.0}
"""Differences that matter to nobody, whatever their share is."""


def path(queue: int | str, seconds: int) -> str:
    """Return the path of a case."""
    kind = f'kind = "{queue}"' if isinstance(queue, str) else f'kind = "fifo", limit = "{queue}pkt"'
    return f"""name = "lab"
duration = "{seconds}s"
[path]
rtt = "50ms"
down = {{ rate = "8Mbit", queue = {{ {kind} }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
"""


def moved(step: int) -> list[tuple[str, str]]:
    """Return the link and the round trip of a run, the first of which are the case's own."""
    off = (-1) ** step * ((step + 1) // 2)
    return [("path.down.rate", f"{8000 + 8 * off}kbit"), ("path.rtt", f"{50_000 + 50 * off}us")]


def run(study: Path, step: int) -> dict[str, Any]:
    """Run a study over the path of a run."""
    [point] = Study.load(study, [("record.flows", "true"), *moved(step)]).points
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
    study: Path, side: str, step: int, ran: dict[str, Any], seconds: int
) -> tuple[dict[str, Any], bool]:
    """Replay what a side captures of a run. Returns it, and whether all that ended has its size."""
    capture, workload = (
        study.with_name(f"{study.stem}-{side}-{step}.{end}") for end in ("pcapng", "parquet")
    )
    sets = [word for key, value in moved(step) for word in ("--set", f"{key}={value}")]
    sojourn("export", str(study), str(capture), "--at", side, *sets)
    sojourn("workload", str(capture), "-o", str(workload))
    sizes = pl.read_parquet(workload).filter("tcp").select(pl.max_horizontal("a_bytes", "b_bytes"))
    ended = Counter(ran["table"].filter(pl.col("end_ns") >= 0)["bytes"].to_list())
    again = workload.with_suffix(".toml")
    source = f'{{ kind = "recorded", file = "{workload.name}" }}'
    again.write_text(path(CASES[study.stem][0], seconds) + _flows(source, "down"))
    return run(again, step), not ended - Counter(sizes.to_series().to_list())


def beside(study: Path, seconds: int, count: int) -> Iterator[dict[str, Any]]:
    """Run a study, replay what either side captures, and compare: a row for each side, link and number."""
    one = [run(study, step) for step in range(count)]
    for side in SIDES:
        replays = [replay(study, side, step, ran, seconds) for step, ran in enumerate(one)]
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
    words.add_argument("--seconds", type=int, default=40)
    words.add_argument("--runs", type=int, default=5)
    words.add_argument("--folder", type=Path)
    words.add_argument("--json", action="store_true")
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        for case in given.cases or CASES:
            study = folder / f"{case}.toml"
            study.write_text(path(CASES[case][0], given.seconds) + CASES[case][1])
            for row in beside(study, given.seconds, given.runs):
                print(json.dumps(row) if given.json else shown(row), flush=True)
            found = lost(study, run(study, 0))
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
