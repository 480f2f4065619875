"""Asks dash.js, Shaka and hls.js what they would have fetched in viewings of ours, and how fast they play.

    npm install shaka-player@5.2.12 hls.js@1.7.4
    python -m tools.players DASHJS node_modules/shaka-player node_modules/hls.js

DASHJS is a checkout of Dash-Industry-Forum/dash.js in which `npm install --omit=dev --ignore-scripts` ran.
Writes `tests/data/players_today.json`: for each library, clip and trace the levels that the library chooses
when it sees what our player saw. The test plays again and compares. And `asked.json` beside our rules of the
playback rate of live streams: cases drawn by lot, and the rate that each library sets. ``--live`` asks for
these only.
"""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import sojourn
from sojourn import _core

FILE = Path(__file__).parents[2] / "tests/data/players_today.json"
LIVE = Path(__file__).parents[2] / "crates/sojourn-sim/src/player/live/asked.json"
LIBRARIES = ("dash.js", "shaka", "hls.js")
CASES = 120
CLIPS = ("bbb-x264-4s", "envivio-4s", "bbb-3s")
TRACES: dict[str, list[tuple[float, float]]] = {
    "810 kb/s": [(60, 810)],
    "3 Mb/s": [(60, 3000)],
    "20 Mb/s": [(60, 20000)],
    "steps": [(30, 4500), (30, 900)],
    "outage": [(60, 6000), (40, 300), (60, 2000)],
    "saw": [(4, 500), (4, 1500), (4, 5000), (4, 2500)],
    "rise": [(20, 400), (20, 800), (20, 1600), (20, 3200), (20, 6400), (20, 12800)],
    "spikes": [(10, 8000), (3, 200), (12, 6000), (5, 100)],
}
"""Seconds and kb/s, which start over."""


def viewing(library: str, clip: str, trace: str) -> list[Any]:
    """Play a clip with our player of this name; its own targets say how much is in the buffer."""
    return sojourn.play(library, clip, TRACES[trace], 600)


def decisions(library: str, where: Path, clip: str, trace: str) -> list[int]:
    """Return the levels that a library chooses where our player has chosen its own."""
    segment_s, rates, _ = _core.clip(clip)
    played = viewing(library, clip, trace)
    names = ("level", "bytes", "request_s", "first_byte_s", "arrive_s", "buffer_before_s", "buffer_after_s")
    seen = {
        "rates_kbps": rates,
        "segment_s": segment_s,
        "length_s": segment_s * len(played),
        "segments": [{name: getattr(segment, name) for name in names} for segment in played],
    }
    command = ["node", str(Path(__file__).with_name("library.mjs")), library, str(where.absolute())]
    ran = subprocess.run(command, input=json.dumps(seen), capture_output=True, text=True, check=True)
    return list(json.loads(ran.stdout.splitlines()[-1]))


def case(lot: random.Random) -> dict[str, float]:
    """Draw one situation of a live viewer: most of them near the target, where rules differ."""
    target_s = lot.choice((1.0, 2.0, 3.0, 6.0))
    segment_s = lot.choice((1.0, 2.0, 4.0))
    latency_s = max(target_s + lot.choice((0.1, 0.7, 2.0, 6.0)) * lot.uniform(-1, 1), 0.3)
    return {
        "latency_s": round(latency_s, 4),
        "target_s": target_s,
        "buffer_s": round(lot.uniform(0, 2.5), 3),
        "segment_s": segment_s,
        "chunk_s": round(segment_s / lot.choice((2, 4, 8)), 3),
        "stalls": lot.choice((0, 0, 1, 3)),
        "rate": lot.choice((1.0, 1.05, 1.2, 0.95)),
        "slowest": lot.choice((0.5, 0.95)),
        "fastest": lot.choice((1.1, 1.5)),
    }


def rates(library: str, where: Path) -> list[dict[str, float]]:
    """Return cases with the rate that a library sets in each."""
    lot = random.Random(library)
    cases = [case(lot) for _ in range(CASES)]
    command = ["node", str(Path(__file__).with_name("catch_up.mjs")), library, str(where.absolute())]
    ran = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=True)
    return [{**told, "sets": sets} for told, sets in zip(cases, json.loads(ran.stdout), strict=True)]


def main() -> None:
    """Write the files."""
    folders = [argument for argument in sys.argv[1:] if argument != "--live"]
    if len(folders) != len(LIBRARIES):
        sys.exit(__doc__)
    where = dict(zip(LIBRARIES, map(Path, folders), strict=True))
    asked = {library: rates(library, folder) for library, folder in where.items()}
    lines = [
        f"{json.dumps(library)}: [\n" + ",\n".join(map(json.dumps, cases)) + "\n]"
        for library, cases in asked.items()
    ]
    LIVE.write_text('{"rates": {\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
    if "--live" in sys.argv:
        return
    found: dict[str, Any] = {}
    for library, folder in where.items():
        for clip in CLIPS:
            for trace in TRACES:
                theirs = decisions(library, folder, clip, trace)
                ours = [segment.level for segment in viewing(library, clip, trace)]
                differ = sum(a != b for a, b in zip(ours, theirs, strict=True))
                print(f"{library}, {clip}, {trace}: {differ} of {len(ours)} differ")
                found[f"{library}, {clip}, {trace}"] = theirs
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(levels)}" for name, levels in found.items())
    FILE.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
