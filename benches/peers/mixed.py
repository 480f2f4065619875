"""Run the scene of the AQM study on ns-2 and ns-3 and write what they give, a row for each run.

The scene is in ``mixed.tcl`` and ``mixed.cc``; the table is what ``tools.validation.aqm`` holds ours
against::

    python -m benches.peers.mixed tools/validation/data/aqm-peers.csv

The package of ns-2 has no PIE. Its authors' code of 2013 (without DOCSIS), built as an extension of ns-2.35,
is loaded if its path is given with ``--ns2-pie``; without one, those rows are left out.
"""

import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.peers.driver import HERE, Unavailable, ns3_binary, object_printed
from benches.tables import write_rows
from tools.program import program
from tools.validation.aqm_peers import HALF_OF_WINDOW, PACKETS_OF_500, WINDOWS_OF_32

TARGETS_MS = (2, 5, 10, 20, 35, 50)
LIMITS = (100, 200, 400)
FRAMES, FRAMES_PER_S, VIDEO_BPS, PAYLOAD, HEADERS = 1065, 24, 450e3, 1024, 40
PICTURES = {"I": 4, "P": 2, "B": 1}
GROUP = "IBBPBBPBBPBB"


@dataclass(frozen=True)
class Run:
    """One run of the scene; a target of 0 for DropTail."""

    peer: str
    queue: str
    target_ms: int
    limit: int = 100
    delayed_acks: int = 0
    variant: str = ""
    """What is done otherwise."""
    seed: int = 1


def runs(seeds: int, ns2_pie: bool) -> Iterator[Run]:
    """Yield every run of the table."""
    calibrated = {"red": 10, "pie": 10, "codel": 35}
    for seed in range(1, seeds + 1):
        for limit in LIMITS:
            yield from (Run(peer, "fifo", 0, limit, seed=seed) for peer in ("ns2", "ns3"))
        yield Run("ns2", "fifo", 0, 400, variant=WINDOWS_OF_32, seed=seed)
        for target in TARGETS_MS:
            yield Run("ns2", "red", target, seed=seed)
            yield Run("ns3", "pie", target, seed=seed)
            if target in (2, 10, 50):
                yield Run("ns3", "red", target, seed=seed)
            if target in (2, 35, 50):
                yield Run("ns3", "codel", target, seed=seed)
            if ns2_pie:
                yield Run("ns2", "pie", target, seed=seed)
                if target in (2, 10, 50):
                    yield Run("ns2", "pie", target, variant=PACKETS_OF_500, seed=seed)
        for peer in ("ns2", "ns3"):
            yield Run(peer, "fifo", 0, delayed_acks=1, seed=seed)
            for queue, target in calibrated.items():
                if peer == "ns3" or queue == "red" or (queue == "pie" and ns2_pie):
                    yield Run(peer, queue, target, delayed_acks=1, seed=seed)
        for acks in (0, 1):
            yield Run("ns3", "pie", 10, delayed_acks=acks, variant=HALF_OF_WINDOW, seed=seed)


def video(path: Path, seed: int) -> None:
    """Write the packets of a clip: groups of pictures as 4 : 2 : 1, scattered log-normally, of exact rate."""
    draw = random.Random(seed)
    scatter, sizes = draw.gauss(0, 1), []
    for frame in range(FRAMES):
        scatter = 0.95 * scatter + math.sqrt(1 - 0.95**2) * draw.gauss(0, 1)
        sizes.append(PICTURES[GROUP[frame % len(GROUP)]] * math.exp(0.35 * scatter))
    scale = VIDEO_BPS / 8 * FRAMES / FRAMES_PER_S / sum(sizes)
    with path.open("wb") as file:
        for size in sizes:
            left, pause_us = round(size * scale), round(1e6 / FRAMES_PER_S)
            while left > 0:
                payload = min(left, PAYLOAD)
                file.write(struct.pack("!II", pause_us, payload + HEADERS))
                left, pause_us = left - payload, 0


def of_ns2(run: Run, clip: Path, pie: Path | None) -> list[str]:
    """Return the command of a run on ns-2."""
    queue = {"fifo": "DropTail", "red": "RED", "pie": "PIE"}[run.queue]
    # ns-2's DropTail keeps one packet less than its limit.
    options: dict[str, Any] = {"queue": queue, "limit": run.limit + (run.queue == "fifo"), "seed": run.seed}
    options |= {"target": run.target_ms / 1e3, "delack": run.delayed_acks, "video": clip}
    if run.queue == "pie":
        options |= {"module": pie}
    if run.variant == PACKETS_OF_500:
        options |= {"pie-bytes": 0, "pie-mean": 500}
    if run.variant == WINDOWS_OF_32:
        options |= {"window": 32}
    return ["ns", str(HERE / "mixed.tcl"), *(str(word) for pair in options.items() for word in pair)]


def of_ns3(run: Run, clip: Path, binary: Path) -> list[str]:
    """Return the command of a run on ns-3."""
    options = {"queue": run.queue, "limit": run.limit, "target": run.target_ms / 1e3, "seed": run.seed}
    options |= {"ack-every": 1 + run.delayed_acks, "video": clip}
    options |= {"half-of-window": int(run.variant == HALF_OF_WINDOW)}
    return [str(binary), *(f"--{key}={value}" for key, value in options.items())]


def main(table: Path, /, *, seeds: int = 3, jobs: int = 2, ns2_pie: Path | None = None) -> None:
    """Write the table, with ns-2's PIE if an extension of ns-2 has Queue/PIE."""
    pie = ns2_pie and ns2_pie.resolve()
    try:
        binary = ns3_binary("mixed")
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
            started: list[tuple[Run, Future[dict[str, Any]]]] = []
            for run in runs(seeds, pie is not None):
                clip = Path(folder) / f"{run.seed}.video"
                if not clip.exists():
                    video(clip, run.seed)
                command = of_ns2(run, clip, pie) if run.peer == "ns2" else of_ns3(run, clip, binary)
                started.append((run, pool.submit(object_printed, command)))
            rows = [_row(run, result.result()["down"]) for run, result in started]
    except (Unavailable, subprocess.SubprocessError) as reason:
        sys.exit(f"mixed.py: {reason}")
    order = ("peer", "delayed_acks", "queue", "variant", "limit", "target_ms", "seed")
    rows.sort(key=lambda row: [row[key] for key in order])
    write_rows(table, rows)


def _row(run: Run, down: dict[str, Any]) -> dict[str, Any]:
    row = asdict(run) | {key: down[key] for key in ("delay_ms", "loss", "utilisation")}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


if __name__ == "__main__":
    program(__doc__, main)
