"""Commands run one after another in a process that has loaded their libraries, each told of by itself.

To start Python and load libraries takes a hundred times as long as a command of a small capture. So a process
is forked from one that has loaded them, and runs a number of commands; its peak of memory is set back before
each (`/proc/PID/clear_refs`). One that dies or hangs is that command's fault, and another takes its place.
"""

import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

CPU_S = 60
WALL_S = 900
"""Far above need: a busy machine may let a run wait."""
_RUNS = 300
"""After so many the process is replaced: what earlier commands left in it counts as memory of later ones."""

Program = Callable[[Sequence[str]], object]


@dataclass(frozen=True)
class Ran:
    """A run: how it ended (below 0: the signal that ended it), what it said and took."""

    words: list[str]
    code: int
    out: str
    err: str
    cpu_s: float
    kb: int
    late: bool


class Forked:
    """A process that runs commands."""

    def __init__(self, run: Program) -> None:
        """Begin without one."""
        self._run, self._process, self._left = run, 0, 0

    def __call__(self, words: Sequence[str], folder: Path, stdin: Path | None = None) -> Ran:
        """Run a command in a folder; what it says is kept beside that, temporary files in its `tmp`."""
        (folder / "tmp").mkdir(exist_ok=True)
        out, err = (folder.parent / f"{folder.name}.{name}" for name in ("out", "err"))
        if not self._left:
            self._begin()
        self._left -= 1
        files = [str(stdin or os.devnull), str(out), str(err)]
        self._asks.write(json.dumps({"files": files, "folder": str(folder), "words": list(words)}) + "\n")
        self._asks.flush()
        answer, late = self._answer()
        code, cpu_s, kb = json.loads(answer) if answer else (self._died(), 0.0, 0)
        said = [path.read_text(errors="replace") if path.exists() else "" for path in (out, err)]
        return Ran(list(words), code, *said, cpu_s, kb, late)

    def end(self) -> None:
        """Let the process go."""
        if self._process:
            self._died()

    def _answer(self) -> tuple[str, bool]:
        begun, spent = time.monotonic(), _cpu_s(self._process)
        while time.monotonic() < begun + WALL_S and _cpu_s(self._process) < spent + CPU_S:
            if select.select([self._answers], [], [], 1.0)[0]:
                return self._answers.readline(), False
        os.kill(self._process, signal.SIGKILL)
        return "", True

    def _begin(self) -> None:
        self.end()
        (asked, asks), (answers, answered) = os.pipe(), os.pipe()
        self._process = os.fork()
        if not self._process:
            os.close(asks)
            os.close(answers)
            _serve(self._run, asked, answered)
        os.close(asked)
        os.close(answered)
        self._asks, self._answers = os.fdopen(asks, "w"), os.fdopen(answers)
        self._left = _RUNS

    def _died(self) -> int:
        self._asks.close()
        _, status = os.waitpid(self._process, 0)
        self._answers.close()
        self._process = self._left = 0
        return os.waitstatus_to_exitcode(status)


def _cpu_s(process: int) -> float:
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except ProcessLookupError:
        return 0.0
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _serve(run: Program, asked: int, answered: int) -> NoReturn:
    """Run what is asked for until nothing more is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(asked) as asks, os.fdopen(answered, "w") as answers:
        for line in asks:
            answers.write(json.dumps(_one(run, **json.loads(line))) + "\n")
            answers.flush()
    os._exit(0)


def _one(run: Program, files: list[str], folder: str, words: list[str]) -> tuple[int, float, int]:
    """Run a command. Returns its exit code, its processor time and its peak of memory in kB."""
    for number, path in enumerate(files):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = f"{folder}/tmp"
    Path("/proc/self/clear_refs").write_text("5")
    began, code = sum(os.times()[:2]), 0
    with open(1, "w", closefd=False) as sys.stdout, open(2, "w", closefd=False) as sys.stderr:
        try:
            run(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            # As Python ends where nobody catches it.
            traceback.print_exc()
            code = 1
    [peak] = [row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith("VmHWM")]
    return code, sum(os.times()[:2]) - began, int(peak.split()[1])
