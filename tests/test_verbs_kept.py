"""What every verb prints, and its exit code, with each of its options: one small study from run to report.

The file `data/words/verbs.txt` is to be read when it changes. It is written anew by

    python tests/test_verbs_kept.py
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sojourn.cli import VERBS, call
from sojourn.report import files
from sojourn.study.identity import engine

FILE = Path(__file__).parent / "data" / "words" / "verbs.txt"
LOSSY = Path(__file__).parent / "data" / "loss_small_pfifo"
LINES = 60
"""Lines of a long answer that are kept; the rest is digested."""
STUDY = """
name = "small"
seed = 3
duration = "4s"
warmup = "1s"
repeat = 2
[path]
rtt = "20ms"
down = { rate = "4Mbit", queue = { kind = "fifo", limit = "20pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "20pkt" } }
[[flows]]
name = "downloads"
source = { kind = "sessions", sizes = "90kB", interconnection = "300ms" }
transport = "cubic"
direction = "down"
count = 3
[[users]]
kind = "voice"
codec = "g711a"
call = "1s"
score = "emodel"
[[users]]
kind = "web"
[sweep]
"path.down.queue.limit" = ["5pkt", "20pkt"]
[[figures]]
kind = "lines"
value = "links.down.queue_delay_ms.mean"
[[goals]]
value = "links.down.loss"
at-most = 0.01
"""
TABLE = "min_rtt_ms,max_rtt_ms,rtt_samples,kind\n" + "".join(
    f"{5 + n % 90},{9 + 4 * n},{n},{'dsl' if n % 3 else 'fibre'}\n" for n in range(60)
)
STORY = f"""
run small.toml --dry-run
run small.toml --dry-run --json --only replication=0
run small.toml --jobs 1
run small.toml --jobs 1
run small.toml --dry-run
run small.toml --jobs 1 --only path.down.queue.limit=5pkt --json
run other.toml --jobs 1 --set seed=4 --out other --log
run small.toml --jobs 1 --set repeat=1 --keep-media --out third
run small.toml small.toml
run small.toml --only x=1
run small.toml --set seed
run small.toml --on testbed --jobs 2
show results/small
show results/small --json
show other
show other zz
show nowhere
report results/small
report results/small --json
report results/small other --out both
report results/small --style paper --out thin
compare results/small third
compare results/small third --json
compare results/small third --value links.down.loss --out apart
explore results/small --json
explore results/small -o page.html
export other.toml c.pcapng --only path.down.queue.limit=9pkt --only replication=0
export third.toml s.pcapng --at servers --json --tick 1us
export small.toml s.pcapng
measure c.pcapng --min-samples 1
measure c.pcapng --min-samples 1 --json --uncertainty
measure c.pcapng --min-samples 1 --flows --from 1 --to 3
measure c.pcapng --min-samples 100000
measure c.pcapng --estimator observer --samples s.csv --report m/page.html
measure c.pcapng --min-samples 0
measure c.pcapng --local 10.0.0.0/8
workload c.pcapng -o w.parquet --study w.toml
workload c.pcapng -o w.parquet --json
workload c.pcapng -o w.csv
losses {LOSSY}/ingress.pcap.gz {LOSSY}/egress.pcap.gz --rate 10Mbit --rtt 40ms
losses {LOSSY}/ingress.pcap.gz {LOSSY}/egress.pcap.gz --json
losses {LOSSY}/egress.pcap.gz {LOSSY}/ingress.pcap.gz
wild t.csv --near 20ms --min-samples 5
wild t.csv --column access=kind --json --save saved.parquet
wild t.csv --near 0ms
calibrate small.toml --load 20% --replications 2 --jobs 1
calibrate small.toml --load 20% --replications 2 --jobs 1 --duration 3s --direction up --json
suite rfc7928 --aqm fifo,codel --case 5.4 --seeds 2 --dry-run
suite rfc7928 --aqm fifo,codel --case 5.4 --link 10Mbit/40ms --preset ns3-suite --dry-run --json
suite rfc7928 --aqm fifo --case 77
recommend --down 4Mbit --up 1Mbit --rtt 20ms --users nobody=1
recommend --down 4 --up 1Mbit --rtt 20ms
emulate --down 1Mbit --up 1Mbit --rtt 20ms
emulate small.toml --shell -- true
""".strip().splitlines()


def plain(text: str, folder: Path) -> str:
    """Return an answer without what differs from run to run, between engines, places and machines."""
    for own, name in ((str(folder), "FOLDER"), (str(LOSSY), "LOSSY"), (engine(), "ENGINE")):
        text = text.replace(own, name)
    text = re.sub(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{10}(?= \()|(?m:^ ?[0-9a-f]{10}(?= ))", "HASH", text)
    text = re.sub(r'"(wall_s|bytes|live)": \w+(\.\d+(e-\d+)?)?', r'"\1": SOME', text)
    text = re.sub(r"(?m)^\d+ of \d+ points done, about .*$\n?", "", text)  # Where a run takes long.
    text = re.sub(r"\b(simulated in|about) (?:less than )?[\d.]+ ?\w+( \d+ s\b)?", r"\1 TIME", text)
    # The last digits of what numpy sums differ between processors.
    return re.sub(r"\d+\.\d{9,}(e-\d+)?", lambda number: f"{float(number[0]):.9g}", text)


def told(words: list[str], folder: Path) -> list[str]:
    """Run a command in this process; return its answer, line by line."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["sojourn", *words])
        patch.setattr(files, "save", lambda figure, place: "<svg></svg>")
        patch.setenv("COLUMNS", "100")
        patch.chdir(folder)
        code = call(words)
    lines = [f"$ sojourn {shlex.join(words)}", f"exit {code}"]
    # An explorer says where it was built without the engine for browsers.
    said = (out,) if words[0] == "explore" else (out, err)
    lines += [line for text in said for line in text.getvalue().splitlines()]
    found = [line.rstrip() for line in plain("\n".join(lines), folder).splitlines()]
    shown = [short(line) for line in found[:LINES]]
    return shown if len(found) <= LINES else [*shown, f"… {digest(found)}"]


def short(line: str) -> str:
    return line if len(line) <= 600 else f"{line[:500]} … {digest([line])}"


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def story() -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        (folder / "small.toml").write_text(STUDY)
        (folder / "other.toml").write_text(STUDY.replace('"5pkt", "20pkt"', '"20pkt", "9pkt"'))
        (folder / "third.toml").write_text(STUDY.split("[sweep]")[0])
        (folder / "t.csv").write_text(TABLE)
        for line in STORY:
            yield told(shlex.split(line), folder)


def every() -> list[str]:
    found = [line for answer in story() for line in answer]
    for verb in ("", *VERBS):
        found += told([*filter(None, [verb]), "--help"], Path.cwd())
    return found


def test_every_verb_says_what_it_said() -> None:
    assert every() == FILE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    FILE.write_text("\n".join(every()) + "\n", encoding="utf-8")
