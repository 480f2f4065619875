"""Every command that reads a capture, on every capture of folders, and on damaged copies of them.

python -m benches.passive.corpus DIR… [--mutations 0] [--seed 1] [--jobs 1] [--keep DIR] [--json FILE]

Captures are found by their first bytes (pcap, pcapng, gzip of them), whatever their names are. Commands run
in processes that have loaded their libraries (:mod:`benches.passive.forked`), which are some 130 MB of the
memory that is said of each.

The rule, for each run: it ends by itself, within 60 s of processor time, with an exit code that the command
has; no traceback, no panic; all it says on standard error are lines of its own; an error is one sentence
and leaves no file and prints nothing; nothing is left in the folder of temporary files; at most 500 MB of
memory. `measure` gives the same bytes on one thread and on two, rows of JSON that are numbers, and quantiles
in order. `sojourn run --dry-run` takes a study that `workload --study` wrote. Exit code 1 says that something
is wrong.
"""

import argparse
import gc
import json
import math
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benches.passive.forked import Forked, Program, Ran
from benches.passive.mutations import behind, is_capture, mutated

MOST_KB = 500_000
_LONGEST_SOURCE = 300_000
_QUANTILES = ("p50_ms", "p95_ms", "p99_ms", "max_ms")

_LOADED = (
    *("cyclopts", "jinja2", "numpy", "polars", "scipy.special"),
    *("matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg"),
    *(f"sojourn.cli.{verb}" for verb in ("losses", "measure", "run", "workload")),
    *(f"sojourn.capture.{part}" for part in ("page", "workload", "workload_study")),
    *("sojourn.losses.captures", "sojourn.sweep.calibrate"),
)


def program(words: Sequence[str]) -> object:
    """Run the command line in this process."""
    from sojourn.cli import call

    sys.exit(call(words))


@dataclass
class Found:
    """What was found of one capture."""

    capture: str
    runs: int = 0
    cpu_s: float = 0.0
    kb: int = 0
    wrong: list[dict[str, str]] = field(default_factory=list)


def faults(one: Ran, codes: Sequence[int], left: Sequence[str]) -> Iterator[str]:
    """Tell what is wrong with a run that may end with these codes, and left these files."""
    if one.late:
        yield "hangs"
        return
    if one.code not in codes:
        yield f"ended with {one.code}"
    if one.kb > MOST_KB:
        yield f"memory: {one.kb // 1000} MB"
    lines = one.err.splitlines()
    if re.search(r"^Traceback|panicked at", one.err, re.MULTILINE):
        yield "panic"
    elif foreign := [line for line in lines if not line.startswith("sojourn: ")]:
        yield f"said by something else: {foreign[0]}"
    errors = [line for line in lines if not line.startswith("sojourn: note: ")]
    refused = one.code == 2 or (one.code == 1 and one.words[0] == "losses")
    if refused and len(errors) != 1:
        yield f"an error of {len(errors)} lines"
    if any(_sentences(error) > 1 for error in errors):
        yield "an error of several sentences"
    if refused and (one.out or set(left) - {"tmp"}):
        yield "an error, and something written"
    if "tmp/" in left:
        yield "temporary files left"


def _sentences(error: str) -> int:
    """Count sentences; names of files may look like any."""
    return len(re.findall(r"[.!?] +[A-Z]", re.sub(r"\S*/\S*", "FILE", error))) + 1


def _rows(text: str) -> Iterator[str]:
    """Tell what is wrong with rows of JSON."""

    def no_number(word: str) -> float:
        raise ValueError(word)

    for line in text.splitlines():
        try:
            row = json.loads(line, parse_constant=no_number)
        except ValueError as error:
            yield f"no JSON: {error}"
            return
        for way in (row, row.get("to_remote")):
            if isinstance(way, dict) and way.get("samples"):
                told = [way.get(name) for name in _QUANTILES]
                if None not in told and not (
                    told[0] >= 0 and sorted(told) == told and math.isfinite(told[-1])
                ):
                    yield f"quantiles out of order: {told}"


def look(capture: Path, beside: Path, run: Forked, pages: bool, scratch: Path) -> Found:
    """Run every command on a capture; `beside` is another one, which may have no packet of it."""
    found, name = Found(str(capture)), str(capture)

    def go(*words: str, codes: Sequence[int], stdin: Path | None = None, keep: bool = False) -> Ran:
        folder = scratch / "run"
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        before = {path.name for path in folder.iterdir()}
        one = run(words, folder, stdin)
        left = sorted({path.name for path in folder.iterdir()} - before)
        left += ["tmp/"] if any((folder / "tmp").iterdir()) else []
        found.runs += 1
        found.cpu_s, found.kb = max(found.cpu_s, one.cpu_s), max(found.kb, one.kb)
        say(one, *faults(one, codes, left))
        return one

    def say(one: Ran, *wrong: str) -> None:
        end = one.err.strip()[-600:]
        found.wrong += [{"command": " ".join(one.words), "wrong": of, "said": end} for of in wrong]

    def samples() -> bytes | None:
        path = scratch / "run" / "samples.csv"
        return path.read_bytes() if path.exists() else None

    asked = ("measure", name, "--json", "--min-samples", "1", "--samples", "samples.csv")
    first = go(*asked, "--jobs", "1", codes=(0, 1, 2))
    rows = samples()
    say(first, *_rows(first.out))
    second = go(*asked, "--jobs", "2", codes=(0, 1, 2))
    if (first.code, first.out, first.err, rows) != (second.code, second.out, second.err, samples()):
        say(second, "one thread and two differ")
    part = ("--flows", "--filter", "tcp or udp", "--from", "0", "--to", "1e6", "--uncertainty")
    go("measure", "-", *part, codes=(0, 1, 2), stdin=capture)
    study = go("workload", name, "-o", "w.parquet", "--study", "w.toml", "--json", codes=(0, 2))
    if study.code == 0:
        go("run", "w.toml", "--dry-run", codes=(0,), keep=True)
    if study.code == 2:
        go("workload", name, "-o", "workload.parquet", codes=(0, 2))
    egress = scratch / "behind.pcap"
    egress.write_bytes(behind(capture.read_bytes()))
    matched = go("losses", name, str(egress), "--json", codes=(0, 1, 2))
    if pages:
        go("losses", name, str(beside), "--json", codes=(0, 1, 2))
        page = ("--report", "page.html", "--estimator", "reported")
        go("measure", name, "--min-samples", "1", *page, codes=(0, 1, 2))
        if matched.code == 0:
            page = ("--rate", "8Mbit", "--rtt", "40ms", "--out", "losses")
            go("losses", name, str(egress), *page, codes=(0,))
    return found


@dataclass(frozen=True)
class Task:
    """A capture to look at, or the number of a damaged one to make of it."""

    capture: Path
    beside: Path
    mutation: int | None
    pages: bool


_RUN: list[Forked] = []
"""That of this process of the pool."""


def _prepare(run: Program) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _RUN[:] = [Forked(run)]


@dataclass(frozen=True)
class Look:
    """How tasks are done."""

    seed: int
    keep: Path | None = None

    def __call__(self, task: Task) -> Found:
        """Do a task."""
        with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
            scratch, capture, names = Path(folder), task.capture, ""
            if task.mutation is not None:
                of = random.Random(f"{self.seed}-{task.mutation}")
                made, kinds = mutated(capture.read_bytes(), of)
                names = f", mutation {task.mutation} of seed {self.seed}: {', '.join(kinds)}"
                capture = scratch / f"mutation-{self.seed}-{task.mutation}.pcap"
                capture.write_bytes(made)
            found = look(capture, task.beside, _RUN[0], task.pages, scratch)
            found.capture = f"{task.capture}{names}"
            if found.wrong and self.keep and names:
                self.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(capture, self.keep)
            return found


def captures(folders: Sequence[Path]) -> list[Path]:
    """Find captures below folders, by their first bytes."""
    found = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if is_capture(file.read(4096)):
                found.append(path.resolve())
    return found


def tasks(found: Sequence[Path], mutations: int, seed: int, pages_every: int) -> list[Task]:
    """Make the tasks: all captures as they are, and damaged ones of those that are not long.

    They are shuffled, so that what was done until an interrupt stands for all.
    """
    made = list(_in_order(found, mutations, seed, pages_every))
    random.Random(seed).shuffle(made)
    return made


def _in_order(found: Sequence[Path], mutations: int, seed: int, pages_every: int) -> Iterator[Task]:
    for place, capture in enumerate(found):
        yield Task(capture, found[place - 1], None, place % pages_every == 0)
    short = [capture for capture in found if capture.stat().st_size <= _LONGEST_SOURCE]
    of = random.Random(seed)
    for number in range(mutations if short else 0):
        source = of.choice(short)
        yield Task(source, source, number, number % pages_every == 0)


def load() -> None:
    """Load what commands import, so that no run has to; it may be forked, as nothing of it has run."""
    for name in _LOADED:
        import_module(name)
    gc.freeze()


def table(all_: Sequence[Found]) -> str:
    """Write what went wrong, what was slowest, and what took most memory."""
    wrong = [(found, one) for found in all_ for one in found.wrong]
    lines = [f"{len(all_)} captures, {sum(found.runs for found in all_)} runs, {len(wrong)} faults"]
    for found, one in wrong:
        lines += [f"  {one['wrong']}", f"    {found.capture}", f"    {one['command']}"]
        lines += [f"      {line}" for line in one["said"].splitlines()[-6:]]
    for key, unit, by in (("cpu_s", "s", 1), ("kb", "MB", 1000)):
        for found in sorted(all_, key=lambda one: -getattr(one, key))[:3]:
            lines.append(f"  {getattr(found, key) / by:8.2f} {unit:2}  {found.capture}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, run: Program = program) -> int:
    """Look at all captures; an interrupt ends it with what was found until then."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("folders", nargs="+", type=Path)
    words.add_argument("--mutations", type=int, default=0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--jobs", type=int, default=1)
    words.add_argument(
        "--pages-every",
        type=int,
        default=20,
        help="of every so many also pages, and `losses` beside another",
    )
    words.add_argument("--keep", type=Path, help="folder for damaged captures that something is wrong with")
    words.add_argument("--json", type=Path)
    given = words.parse_args(arguments)
    found = captures(given.folders)
    todo = tasks(found, given.mutations, given.seed, given.pages_every)
    load()
    done: list[Found] = []
    with get_context("fork").Pool(given.jobs, _prepare, (run,)) as pool:
        try:
            for one in pool.imap_unordered(Look(given.seed, given.keep), todo):
                done.append(one)
                for of in one.wrong:
                    print(f"{of['wrong']}: {one.capture}: {of['command']}", file=sys.stderr, flush=True)
                if len(done) % 100 == 0:
                    print(f"{len(done)} of {len(todo)}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            print(f"interrupted after {len(done)} of {len(todo)}", file=sys.stderr)
    print(table(done))
    if given.json:
        given.json.write_text(json.dumps([_plain(one) for one in done], indent=1) + "\n")
    return int(not done or any(one.wrong for one in done))


def _plain(one: Found) -> dict[str, Any]:
    return {"capture": one.capture, "runs": one.runs, "cpu_s": one.cpu_s, "kb": one.kb, "wrong": one.wrong}


if __name__ == "__main__":
    # A shell has background jobs ignore SIGINT.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    sys.exit(main())
