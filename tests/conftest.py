"""How tests call the command: as a user does, in a process of its own.

A command that ends by itself, in the surroundings of the tests, is a fork of a process that has loaded the
libraries (`preloaded.py`): loading them takes most of a short command's time. All others start from nothing.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FAKE_ENGINE = ROOT / "tests" / "fake_engine"

HANGS_S = 300
"""What takes longer hangs: no machine is as busy."""


class Preloaded:
    """The process that has loaded the libraries; the first command starts it."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None

    def run(
        self, words: list[str], cwd: Path, env: dict[str, str], timeout: float, svg_only: bool
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        if self._server is None:
            script = [sys.executable, str(ROOT / "tests" / "preloaded.py")]
            pipe = subprocess.PIPE
            self._server = subprocess.Popen(script, stdin=pipe, stdout=pipe, start_new_session=True)
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            out.touch()
            err.touch()
            request = {"argv": words, "cwd": str(cwd), "env": env, "out": str(out), "err": str(err)}
            request["svg_only"] = svg_only
            self._server.stdin.write(json.dumps(request).encode() + b"\n")
            self._server.stdin.flush()
            process = int(self._server.stdout.readline())
            late = not select.select([self._server.stdout], [], [], timeout)[0]
            if late:
                os.kill(process, signal.SIGKILL)
            code = int(self._server.stdout.readline())
            said = (out.read_text(), err.read_text())
            if late:
                raise subprocess.TimeoutExpired(words, timeout, *said)
            return subprocess.CompletedProcess(words, code, *said)

    def close(self) -> None:
        """End the process, if there is one: it does when there is nothing more to read."""
        if self._server is not None:
            self._server.communicate()
            self._server = None


PRELOADED = Preloaded()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in real time come first, so that of several workers one has them all and runs one at a time."""
    items.sort(key=lambda item: item.get_closest_marker("real_time") is None)


def pytest_sessionfinish() -> None:
    PRELOADED.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A worker that comes to tests that only compute gives way to those in real time from then on."""
    computes = item.get_closest_marker("real_time") is None
    if computes and "PYTEST_XDIST_WORKER" in os.environ and os.nice(0) == 0:
        os.nice(5)


@dataclass
class Command:
    """`sojourn`, run in a directory of its own."""

    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def argv(self, *words: object) -> list[str]:
        return [sys.executable, "-m", "sojourn", *map(str, words)]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "COLUMNS": "100", **self.env}

    def __call__(
        self, *words: object, code: int = 0, timeout: float = HANGS_S, svg_only: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end; `svg_only`: as `svg_only` below."""
        if set(self.env) - {"PYTHONPATH"}:
            done = subprocess.run(
                self.argv(*words),
                cwd=self.cwd,
                env=self.environment(),
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        else:
            done = PRELOADED.run([*map(str, words)], self.cwd, self.environment(), timeout, svg_only)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, *words: object) -> subprocess.Popen[str]:
        """Start it in a process group of its own."""
        return subprocess.Popen(
            self.argv(*words),
            cwd=self.cwd,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # Who started the tests may ignore hang-ups (`nohup`).
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )

    def json(self, *words: object, **how: Any) -> list[dict[str, Any]]:
        """Return the objects that it prints with --json."""
        return [json.loads(line) for line in self(*words, "--json", **how).stdout.splitlines()]

    def script(self, text: str) -> str:
        """Run a Python script in the same surroundings and return what it prints."""
        file = self.cwd / "script.py"
        file.write_text(text)
        done = subprocess.run(
            [sys.executable, str(file)],
            cwd=self.cwd,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=HANGS_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def between_real_programs(
    point: Callable[[str], Any], durations: Sequence[str], enough: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Run a point on the testbed, in this process; the test is left out where there is no bed.

    Programs that wait for a busy machine get less done in the time of a study: it is made longer until they
    have done enough. Nor does such a machine hold the bed, which is not asked.
    """
    from sojourn.sweep.emulation import BedError
    from sojourn.sweep.testbed.point import measure

    real: dict[str, Any] = {}
    try:
        for duration in durations:
            real = measure(point(duration))[0]
            if enough(real):
                break
    except BedError as error:
        if "namespace" in str(error) or "/dev/net/tun" in str(error):
            pytest.skip(str(error))
        raise
    return real


@pytest.fixture
def svg_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have their figures as SVG alone: PNG and PDF besides are two thirds of the time of a page.

    That every kind of figure can be written in all formats, and that a page has them, is asked where figures
    and pages are tested.
    """
    from sojourn.report.figures import style

    monkeypatch.setattr(style, "_METADATA", {})


@pytest.fixture
def sojourn(tmp_path: Path) -> Command:
    """The command with the real engine."""
    return Command(tmp_path)


@pytest.fixture
def faked(tmp_path: Path) -> Command:
    """The command with an engine that fails, dies or takes long on demand."""
    places = [str(FAKE_ENGINE), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    return Command(tmp_path, {"PYTHONPATH": os.pathsep.join(filter(None, places))})


def user(kind: str, **keys: Any) -> dict[str, Any]:
    """Return an entry of a scenario's users, checked and filled in by the engine; keys with - for _."""
    from sojourn import _core

    entry = {"kind": kind, **{key.replace("_", "-"): value for key, value in keys.items()}}
    link = {"rate": "1Mbit", "queue": {"kind": "fifo", "limit": "9pkt"}}
    study = {
        "name": "x",
        "duration": "10s",
        "path": {"rtt": "40ms", "down": link, "up": link},
        "users": [entry],
    }
    return json.loads(_core.points(json.dumps(study))[0])["document"]["users"][0]


def stored(results: Path) -> dict[str, bytes]:
    """Return the bytes of every point on disk."""
    return {file.name: file.read_bytes() for file in sorted((results / "points").iterdir())}


def sentence(stderr: str) -> str:
    """Return the one complaint on standard error."""
    lines = [line for line in stderr.splitlines() if line.startswith("sojourn: ") and "note:" not in line]
    assert lines, stderr
    return stderr[stderr.index(lines[-1]) + len("sojourn: ") :].strip()
