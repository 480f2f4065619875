"""What ends `sojourn emulate`, and what is left of it then: nothing."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import HANGS_S, Command
from test_emulate import PATH, bed, serving

from benches.emulator.endings import below

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures(bed.__name__)]


@pytest.mark.parametrize("how", ["term", "kill parent", "kill helper", "kill command", "hangup"])
def test_nothing_is_left_behind_whatever_ends_it(sojourn: Command, how: str) -> None:
    marker = f"SOJOURN_TEST={os.getpid()}-{how.replace(' ', '-')}"
    sojourn.env.update([marker.split("=")])
    devices = sorted(Path("/sys/class/net").iterdir())
    # A grandchild that hides from signals and from its parent.
    hides = 'trap "" TERM HUP INT; setsid sh -c "trap : TERM; while :; do sleep 1; done" & echo up; sleep 100'
    running = sojourn.start("emulate", *PATH, "--server", serving(), "--", "sh", "-c", hides)
    assert running.stdout is not None and running.stdout.readline() == "up\n"
    helpers = [int(pid) for pid in children(running.pid)]
    assert len(helpers) == 1 and len(below(marker)) >= 4
    if how == "term":
        running.terminate()
    elif how == "kill parent":
        running.kill()
    elif how == "kill helper":
        os.kill(helpers[0], signal.SIGKILL)
    elif how == "hangup":
        os.killpg(running.pid, signal.SIGHUP)
    else:
        os.kill(int(children(helpers[0])[0]), signal.SIGKILL)
    _, said = running.communicate(timeout=HANGS_S)
    codes = {"term": 137, "kill parent": -9, "kill helper": 125, "kill command": 137, "hangup": 137}
    assert running.returncode == codes[how], said
    until = time.monotonic() + HANGS_S
    while below(marker) and time.monotonic() < until:
        time.sleep(0.02)
    assert below(marker) == []
    assert sorted(Path("/sys/class/net").iterdir()) == devices
    assert list(sojourn.cwd.iterdir()) == []


def test_who_is_told_to_end_before_the_command_is_started_does_not_start_it(sojourn: Command) -> None:
    for _ in range(5):
        running = sojourn.start("emulate", *PATH, "--server", "exec sleep 60", "--", "echo", "started")
        until = time.monotonic() + HANGS_S
        while time.monotonic() < until and not any(map(children, map(int, children(running.pid)))):
            time.sleep(0.01)
        running.terminate()
        out, said = running.communicate(timeout=HANGS_S)
        # A server that does not listen is waited for three seconds; on a busy machine they may be over first.
        if not out:
            break
    assert (running.returncode, out) == (125, "")
    assert said == "sojourn: it was told to end (SIGTERM) before the command was started\n"


def test_an_interrupt_that_a_process_sends_ends_it_and_one_of_the_terminal_is_the_commands(
    sojourn: Command,
) -> None:
    deciding = "trap 'echo mine; exit 5' INT; echo up; while :; do sleep 0.1; done"
    words = ("emulate", *PATH, "--server", serving(), "--quiet", "--", "sh", "-c", deciding)
    with sojourn.start(*words) as running:
        assert running.stdout is not None and running.stdout.readline() == "up\n"
        running.send_signal(signal.SIGINT)
        assert (running.wait(timeout=HANGS_S), running.stdout.read()) == (143, "")
    terminal, end = pty.openpty()
    running = subprocess.Popen(
        # A session of its own, whose terminal it is.
        ["setsid", "--ctty", "--wait", *sojourn.argv(*words)],
        stdin=end, stdout=end, stderr=end, env=sojourn.env, cwd=sojourn.cwd,
    )  # fmt: skip
    os.close(end)
    said = b""
    with suppress(OSError):
        while more := os.read(terminal, 4096):
            said += more
            if said == b"up\r\n":
                os.write(terminal, b"\x03")
    os.close(terminal)
    assert running.wait(timeout=HANGS_S) == 5, said
    assert b"mine" in said


def test_hang_ups_that_its_caller_ignores_end_nothing(sojourn: Command) -> None:
    words = ("emulate", *PATH, "--server", serving(), "--quiet", "--", "sh", "-c", "echo up; sleep 1; exit 5")
    shell = ["sh", "-c", 'trap "" HUP; exec "$0" "$@"', *sojourn.argv(*words)]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, start_new_session=True, cwd=sojourn.cwd) as running:
        assert running.stdout is not None and running.stdout.readline() == b"up\n"
        os.killpg(running.pid, signal.SIGHUP)
        assert running.wait(timeout=HANGS_S) == 5


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
