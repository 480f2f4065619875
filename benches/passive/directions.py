"""`sojourn measure` against exact truth: studies drawn at random, seen from both sides.

python -m benches.passive.directions [--studies 24] [--seed 1] [--real] [--folder DIR] [--json]

Each study has 1 to 16 bulk flows, up, down or both ways, of Reno, CUBIC and BBR, at times with short
sessions and calls beside them; 1 to 100 Mbit/s each way; a round trip of 5 to 200 ms; buffers of 0.1 to 8
bandwidth-delay products; FIFO, sometimes CoDel, FQ-CoDel or PIE. It is simulated, or, with `--real`, runs for
20 s between Linux's TCP over the emulator (needs what `sojourn emulate` needs, root, and tcpdump).

The rule: a direction's mean is within 2 ms or 10 % of the true mean of all packets that came, and half of its
samples are within 1 ms or 5 % of their packets' truth. Said with certainty, anything else is wrong. A lower
bound is not to be above the true mean by more than 2 ms or 10 %; one that would be right is needless.
Exit code 1 says that something is wrong.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benches.command import sojourn
from benches.passive.both_ends import SIDES, Run, emulated, simulated
from tools.program import program

VERDICTS = {
    "outside": "outside with certainty",
    "high": "lower bounds too high",
    "right": "right with certainty",
    "bound": "lower bounds",
    "needless": "needless lower bounds",
    "untold": "said not to be seen",
}
WRONG = ("outside", "high")
_MOST_PACKETS = 300_000
_REAL_S = 20.0


@dataclass(frozen=True)
class Drawn:
    """A study: what `sojourn emulate` calls its path, and its connections."""

    rates_kbit: tuple[int, int]
    rtt_ms: float
    queues: tuple[str, str]
    limits: tuple[int, int]
    groups: list[dict[str, Any]]
    sessions: str | None
    call: bool

    @property
    def seconds(self) -> float:
        """Return how long it is simulated: as long as its packets are few."""
        per_s = sum(self.rates_kbit) * 1000 / 8 / 1500 * 2
        return round(min(30.0, max(8.0, _MOST_PACKETS / per_s)), 1)

    def toml(self, seed: int) -> str:
        """Return the study as a file."""
        ways = (("down", 0), ("up", 1))
        rows = [
            f'name = "drawn"\nseed = {seed}\nduration = "{self.seconds}s"\n[path]\nrtt = "{self.rtt_ms}ms"',
            *(
                f'{way} = {{ rate = "{self.rates_kbit[i]}kbit", '
                f'queue = {{ kind = "{self.queues[i]}", limit = "{self.limits[i]}pkt" }} }}'
                for way, i in ways
            ),
        ]
        linux = 'stack = "linux"\nstart-within = "2s"'
        rows += [
            f'[[flows]]\nsource = {{ kind = "bulk" }}\ntransport = "{one["control"]}"\n'
            f'direction = "{one["way"]}"\ncount = {one["count"]}\n{linux}'
            for one in self.groups
        ]
        if self.sessions:
            rows.append(
                '[[flows]]\nsource = { kind = "sessions", closed-loop = true, '
                'sizes = { kind = "exponential", mean = "40kB" }, '
                'interconnection = { kind = "exponential", mean = "1s" } }\n'
                f'transport = "cubic"\ndirection = "{self.sessions}"\ncount = 2\n{linux}'
            )
        if self.call:
            rows += [
                '[[flows]]\nsource = { kind = "cbr", rate = "80kbit", size = "200B" }\ntransport = "udp"\n'
                f'direction = "{way}"'
                for way, _ in ways
            ]
        return "\n".join(rows) + "\n"

    def path(self) -> list[str]:
        """Return the path as options of `sojourn emulate`."""
        words = ["--down", f"{self.rates_kbit[0]}kbit", "--up", f"{self.rates_kbit[1]}kbit"]
        words += ["--rtt", f"{self.rtt_ms}ms"]
        for way, queue, limit in zip(("down", "up"), self.queues, self.limits, strict=True):
            for key, value in (("kind", queue), ("limit", f"{limit}pkt")):
                words += ["--set", f"path.{way}.queue.{key}={value}"]
        return words

    def plan(self, of: random.Random) -> list[dict[str, Any]]:
        """Return the connections of a run between real hosts."""
        rows = [
            {"up": one["way"] == "up", "control": one["control"], "pattern": "backlogged"}
            for one in self.groups
            for _ in range(one["count"])
        ]
        if self.sessions:
            rows.append({"up": False, "control": "cubic", "pattern": "heartbeat"})
        return [row | {"start_s": round(of.uniform(0.1, 2.0), 3)} for row in rows]


def drawn(of: random.Random) -> Drawn:
    """Draw a study."""

    def log_uniform(least: float, most: float) -> float:
        return least * (most / least) ** of.random()

    rates = round(log_uniform(1e3, 1e5)), round(log_uniform(1e3, 1e5))
    rtt_ms = round(log_uniform(5, 200), 1)
    queues = of.choices(("fifo", "codel", "fq-codel", "pie"), (7, 1, 1, 1), k=2)
    limits = [
        max(4, round(log_uniform(0.1, 8) * rate * rtt_ms / 8 / 1514))
        if queue == "fifo" else 1000
        for rate, queue in zip(rates, queues, strict=True)
    ]  # fmt: skip
    left, groups = round(log_uniform(1, 16)), []
    ways = of.choice((("up",), ("down",), ("up", "down")))
    while left:
        count = of.randint(1, left)
        control = of.choice(("reno", "cubic", "bbr"))
        groups.append({"way": ways[len(groups) % len(ways)], "control": control, "count": count})
        left -= count
    sessions = of.choice(("up", "down")) if of.random() < 0.4 else None
    return Drawn(rates, rtt_ms, tuple(queues), tuple(limits), groups, sessions, of.random() < 0.3)


def within(value: float, true: float, least: float, share: float) -> bool:
    """Say whether a value is within so much, or within such a share, of the truth."""
    return abs(value - true) <= max(least, share * true)


def verdict(
    told_ms: float, lower_bound: bool, true_ms: float, samples: Sequence[float], truths: Sequence[float]
) -> str:
    """Judge what is said of a direction; the rule is this file's.

    >>> verdict(103.0, False, 100.0, [50.0], [51.0])
    'right'
    >>> verdict(113.0, True, 100.0, [50.0], [51.0])
    'high'
    """
    found, true = np.asarray(samples, float), np.asarray(truths, float)
    right = within(told_ms, true_ms, 2.0, 0.10)
    if len(found):
        right &= bool(np.median(np.abs(found - true) / np.maximum(1.0, 0.05 * true)) <= 1.0)
    if not lower_bound:
        return "right" if right else "outside"
    if told_ms > true_ms and not within(told_ms, true_ms, 2.0, 0.10):
        return "high"
    return "needless" if right else "bound"


def judged(run: Run, folder: Path) -> list[dict[str, Any]]:
    """Measure the captures of both sides, and judge each direction of each of their hosts."""
    rows = []
    for side in SIDES:
        samples = folder / f"{side}.samples.csv"
        told = sojourn("measure", str(run.captures[side]), "--json", "--samples", str(samples), seconds=600)
        table = pl.read_csv(samples) if samples.stat().st_size else pl.DataFrame()
        for host in map(loads, told.splitlines()):
            if host["protocol"] != "tcp":
                continue
            ways = {"from-remote": (host["remote"], host["local"])}
            ways["to-remote"] = ways["from-remote"][::-1]
            for direction, way in ways.items():
                object_ = host if direction == "from-remote" else host["to_remote"]
                if not (waited := run.waited(side, way)):
                    continue
                mine = table.filter(
                    (pl.col("remote") == host["remote"])
                    & (pl.col("local") == host["local"])
                    & (pl.col("protocol") == "tcp")
                    & (pl.col("direction") == direction)
                )
                rows.append({"at": side, "from": way[0]} | _of(run, side, waited, object_, mine))
    return rows


def _of(run: Run, side: str, waited: list[float], told: Any, samples: pl.DataFrame) -> dict[str, Any]:
    true_ms = float(np.mean(waited))
    row: dict[str, Any] = {"true_ms": round(true_ms, 3), "packets": len(waited)}
    if isinstance(told, str):
        return row | {"verdict": "untold", "said": told}
    found, truth = [], []
    for frame, delay_ms in zip(samples["frame"], samples["queue_delay_ms"], strict=True):
        seen = run.frames[side][frame - 1]
        wait_ms = run.wait.get(seen.key) if seen else None
        if wait_ms is not None:
            found.append(delay_ms)
            truth.append(wait_ms)
    off = np.abs(np.subtract(found, truth))
    return row | {
        "told_ms": round(told["mean_ms"], 3),
        "samples": told["samples"],
        "found_again": len(found),
        "off_ms": {f"p{q}": round(float(np.percentile(off, q)), 3) for q in (50, 95)} if len(off) else None,
        "said": told["certainty"],
        "verdict": verdict(told["mean_ms"], told["lower_bound"], true_ms, found, truth),
    }


def sentence(row: dict[str, Any]) -> str:
    """Return a direction as a line of the table."""
    told = f"{row['told_ms']:9.2f}" if "told_ms" in row else f"{'-':>9}"
    off = row.get("off_ms") or {}
    errors = f"{off['p50']:8.2f} {off['p95']:8.2f}" if off else f"{'-':>8} {'-':>8}"
    return (
        f"{row['study']:>5} {row['at']:>7} {row['from']:>10} {row['packets']:7d} {row['true_ms']:9.2f} "
        f"{told} {errors}  {row['verdict']:<8} {row['said']}"
    )


def totals(rows: Sequence[dict[str, Any]]) -> str:
    """Return how many directions were judged how."""
    count = Counter(row["verdict"] for row in rows)
    return f"{len(rows)} directions: " + ", ".join(f"{count[name]} {said}" for name, said in VERDICTS.items())


def main(
    *,
    studies: int = 24,
    seed: int = 1,
    only: int | None = None,
    real: bool = False,
    folder: Path | None = None,
    json: bool = False,
) -> int:
    """Draw and judge studies; 1 if a direction is wrong. ``only`` has the number of a study."""
    judgements: list[dict[str, Any]] = []
    if not json:
        print(f"study      at       from packets   true_ms   told_ms   off_p50  off_p95  {'verdict':<8} said")
    with tempfile.TemporaryDirectory(prefix="sojourn-directions-") as made:
        for number in range(studies) if only is None else [only]:
            of = random.Random(f"{seed} {number}")
            study = drawn(of)
            place = (folder or Path(made)) / f"{seed}-{number}{'-real' if real else ''}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "drawn.json").write_text(dumps(asdict(study)))
            if real:
                run = emulated(study.path(), study.plan(of), _REAL_S, place)
            else:
                (place / "study.toml").write_text(study.toml(seed))
                run = simulated(place / "study.toml", place)
            for note in run.notes:
                print(f"{number}: the bed: {note}", file=sys.stderr)
            for row in judged(run, place):
                judgements.append({"study": number} | row)
                print(dumps(judgements[-1]) if json else sentence(judgements[-1]), flush=True)
    print(dumps(Counter(row["verdict"] for row in judgements)) if json else totals(judgements))
    return int(any(row["verdict"] in WRONG for row in judgements))


if __name__ == "__main__":
    program(__doc__, main)
