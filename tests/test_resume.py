"""Killed, interrupted, extended: what is on disk is whole, and is not computed again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest
from conftest import HANGS_S, Command, stored
from sojourn.sweep.workers import Processes

STUDY = 'name = "long"\nseed = 2\n[sweep]\na = [{}]\n[fake]\nsleep = 0.05\n'


@pytest.fixture
def long(faked: Command) -> Command:
    (faked.cwd / "long.toml").write_text(STUDY.format(", ".join(map(str, range(16)))))
    return faked


def begun(long: Command, out: str, *words: object) -> subprocess.Popen[str]:
    """Start the study and return when some points are done, and one is under way that does not end."""
    long.env["FAKE_HELD"] = "a=1"
    process = long.start("run", "long.toml", "--out", out, "--jobs", "2", *words)
    del long.env["FAKE_HELD"]
    deadline = time.monotonic() + HANGS_S
    while points_done(long.cwd / out) < 3:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.02)
    return process


def points_done(directory: Path) -> int:
    return len(list(directory.glob("points/*.json")))


@pytest.mark.parametrize("victim", ["parent", "all"])
def test_kill_9_then_the_same_bytes(long: Command, victim: str) -> None:
    process = begun(long, "killed")
    os.kill(process.pid, signal.SIGKILL) if victim == "parent" else os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=HANGS_S)  # the pipes close when the last worker is gone
    before = stored(long.cwd / "killed")
    done = {name: text for name, text in before.items() if name.endswith(".json") and name[0] != "."}
    assert 3 <= len(done) < 16
    (long.cwd / "killed" / "points" / ".ab.json.0a1b2c3d.tmp").write_text('{"study"')
    resumed = long("run", "long.toml", "--out", "killed")
    assert f"{16 - len(done)} simulated" in resumed.stdout
    long("run", "long.toml", "--out", "whole")
    assert stored(long.cwd / "killed") == stored(long.cwd / "whole")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_and_resumable(long: Command, stop: signal.Signals) -> None:
    process = begun(long, "out", "--json")
    (long.cwd / "out" / "points" / ".ab.json.0a1b2c3d.tmp").write_text("as of a worker that is ended")
    os.killpg(process.pid, stop)
    _, stderr = process.communicate(timeout=HANGS_S)  # the point that is under way would take longer
    assert process.returncode == 130
    assert "run the same command again" in stderr and "Traceback" not in stderr
    assert not list((long.cwd / "out").rglob("*.tmp"))
    assert f"interrupted: {points_done(long.cwd / 'out')} of 16 points are done and on disk" in stderr
    assert len(long.json("run", "long.toml", "--out", "out")) == 16


def test_stopped_while_it_loads_the_command_says_nothing(faked: Command) -> None:
    stopped = """
import importlib.abc, os, runpy, signal, sys
class Stop(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *rest):
        if name == "sojourn.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
runpy.run_module("sojourn", run_name="__main__", alter_sys=True)
"""
    done = subprocess.run([sys.executable, "-c", stopped, "run"], capture_output=True, cwd=faked.cwd)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_an_extended_study_runs_only_what_is_new(long: Command) -> None:
    long("run", "long.toml", "--out", "out")
    before = stored(long.cwd / "out")
    (long.cwd / "long.toml").write_text("repeat = 2\n" + STUDY.format(", ".join(map(str, range(17)))))
    assert "18 simulated" in long("run", "long.toml", "--out", "out").stdout
    after = stored(long.cwd / "out")
    assert len(after) == 34 and before.items() <= after.items()


def test_two_runs_at_once_into_one_directory(long: Command) -> None:
    both = [long.start("run", "long.toml", "--out", "out", "--jobs", "2") for _ in range(2)]
    for process in both:
        _, stderr = process.communicate(timeout=HANGS_S)
        assert process.returncode == 0, stderr
    long("run", "long.toml", "--out", "alone")
    assert stored(long.cwd / "out") == stored(long.cwd / "alone")


def test_another_study_in_the_same_directory_is_said(long: Command) -> None:
    (long.cwd / "other.toml").write_text('name = "other"\n')
    long("run", "long.toml", "--out", "out", "--only", "a=1")
    done = long("run", "other.toml", "--out", "out")
    assert "holds results of the study 'long'" in done.stderr
    assert points_done(long.cwd / "out") == 2


def test_no_worker_meets_an_interrupt_before_it_leaves_it_to_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    masks, start = [], SpawnProcess.start

    def starts(process: SpawnProcess) -> None:
        masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        start(process)

    monkeypatch.setattr(SpawnProcess, "start", starts)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with Processes(1) as workers:
        kept = workers.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
        ignores = workers.submit(signal.getsignal, signal.SIGINT).result()
    assert len(masks) == 1 and signal.SIGINT in masks[0]
    assert signal.SIGINT not in kept and ignores == signal.SIG_IGN
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
