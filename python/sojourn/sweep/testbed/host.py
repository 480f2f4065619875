"""The agent at one end of the testbed: starts the programs of a plan together, and ends them in time.

Run as a script, ``python -I host.py PLAN client|server``, in a network of its own; two of them, one at each
end, make a testbed. It imports nothing of the package, so that it starts at once. Every program is a process
of its own, forked before time zero. When all at both ends are ready, the client's agent tells the emulator,
which begins its records and says what `CLOCK_MONOTONIC` showed at that moment: this is the study's time zero
for everybody.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NETWORKS = {"client": 18, "server": 19}
"""Second byte of the addresses of each end, 198.18.x.y and 198.19.x.y."""

GRACE_S = 20.0
"""How long a program may take to leave once the time is over: a browser closes slowly on a busy machine."""

_SPIN_NS = 60_000


class Over(BaseException):
    """The study's time is over: raised in every program that still runs, once."""


class Host:
    """What a program finds at its end.

    Attributes
    ----------
    end : "client" or "server"
        Where it runs.
    own, other : str
        Its address, and that of its other part. No other program has them, so that every port is free.
    port : int
        One to begin with.
    arguments : dict
        What it was told.
    folder : Path
        Its own folder, which both parts see.
    duration_ns, warmup_ns : int
        When the study's time is over, and since when it is measured.
    congestion : str or None
        TCP's congestion control of its addresses.
    """

    def __init__(self, plan: Mapping[str, Any], program: Mapping[str, Any], end: str, bell: _Bell) -> None:
        high, low = divmod(program["pair"], 256)
        addresses = {name: f"198.{network}.{high}.{low}" for name, network in NETWORKS.items()}
        self.end = end
        self.own = addresses.pop(end)
        self.other = next(iter(addresses.values()))
        self.port = 7000
        self.arguments: dict[str, Any] = program[end]
        self.folder = Path(program["folder"])
        self.duration_ns: int = plan["duration_ns"]
        self.warmup_ns: int = plan["warmup_ns"]
        self.congestion: str | None = program["congestion"]
        self._options: list[tuple[int, int, int]] = program["options"]
        self.left: dict[str, Any] = {}
        self._bell = bell

    def ready(self) -> None:
        """Say that this part is set up, as every part must; time zero comes when all are."""
        (self.folder / f"{self.end}.ready").touch()
        self._bell.ready()

    def begin(self) -> None:
        """Say that this part is set up, and wait for time zero."""
        self.ready()
        self._bell.wait()

    def now(self) -> int:
        """Return the study's time in nanoseconds, once it has begun."""
        return time.monotonic_ns() - self._bell.epoch

    def wall_ahead(self) -> int:
        """Return by how many nanoseconds the time of day is ahead of the study's.

        It is that of the quickest of some looks: who is held up between two clocks is off by as much.
        """
        looks = []
        for _ in range(8):
            before, of_day = self.now(), time.time_ns()
            looks.append((self.now() - before, of_day - before))
        return min(looks)[1]

    def sleep_until(self, at_ns: int) -> None:
        """Sleep until the study's time is this; late by some ten microseconds."""
        while (left := at_ns - self.now()) > 0:
            if left > _SPIN_NS:
                time.sleep((left - _SPIN_NS) * 1e-9)

    def tcp(self) -> socket.socket:
        """Return a TCP socket as the study asks for it, bound to nothing yet.

        What routes cannot say is set here: segment size, receive window, pacing. The rest holds for any
        socket between the program's two addresses.
        """
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for level, name, value in self._options:
            made.setsockopt(level, name, value)
        return made

    def leave(self, **found: Any) -> None:
        """Hand something back, as JSON; what was handed back under the same name before is replaced."""
        self.left |= found


class _Bell:
    """How programs say that they are ready, and learn of time zero."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._ready = os.pipe()
        self._go = os.pipe()
        self._said = False

    @property
    def epoch(self) -> int:
        return int(struct.unpack_from("q", self._page)[0])

    def ready(self) -> None:
        if not self._said:
            self._said = True
            os.close(self._go[1])
            os.write(self._ready[1], b"r")

    def wait(self) -> None:
        os.read(self._go[0], 1)

    def await_all(self, count: int) -> bool:
        """Wait until so many programs are ready; False if one has ended instead."""
        os.close(self._ready[1])
        while count:
            if select.select([self._ready[0]], [], [], 0.1)[0]:
                got = os.read(self._ready[0], count)
                if not got:
                    return False
                count -= len(got)
            elif os.waitpid(-1, os.WNOHANG)[0]:
                return False
        return True

    def ring(self, epoch: int) -> None:
        struct.pack_into("q", self._page, 0, epoch)
        os.close(self._go[1])


def _run(plan: Mapping[str, Any], program: Mapping[str, Any], end: str, bell: _Bell) -> int:
    """Run one part of a program, in a process of its own; return its exit code."""
    host = Host(plan, program, end, bell)
    try:
        with _ends_at_terminate():
            getattr(importlib.import_module(f"programs.{program['name']}"), end)(host)
        failed = None
    except Over:
        failed = None
    except BaseException as error:
        traceback.print_exc()
        failed = f"{type(error).__name__}: {error}"
    _write(host.folder / f"{end}.json", {"left": host.left, "failed": failed})
    return int(failed is not None)


@contextmanager
def _ends_at_terminate() -> Iterator[None]:
    def over(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Over

    signal.signal(signal.SIGTERM, over)
    try:
        yield
    finally:
        with suppress(Over):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _write(file: Path, value: Any) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(value))
    draft.rename(file)


def _start(plan: Mapping[str, Any], end: str, bell: _Bell) -> dict[int, str]:
    children = {}
    for program in plan["programs"]:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.set_inheritable(1, False)
                code = _run(plan, program, end, bell)
            finally:
                os._exit(code)
        children[child] = program["key"]
    return children


def _time_zero(begin: int, peer: socket.socket, end: str) -> int | None:
    """Say that this end is ready; return what the clock shows at time zero, when both are."""
    if end == "server":
        os.close(begin)
        peer.send(b"r")
        told = peer.recv(8)
    else:
        if peer.recv(1) != b"r":
            return None
        os.write(begin, b"r")
        told = os.read(begin, 8)
        peer.send(told)
    return struct.unpack("Q", told)[0] if len(told) == 8 else None


def _reap(children: dict[int, str], until_s: float) -> None:
    """Take in what has ended, until nothing is left or the time is over."""
    while children and time.monotonic() < until_s:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            children.pop(pid, None)
        else:
            time.sleep(0.005)


def main(plan_file: str, end: str) -> int:
    """Run all programs at one end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Timers are punctual: PR_SET_TIMERSLACK, 1 ns.
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
    plan = json.loads(Path(plan_file).read_text())
    # Browsers that are killed leave their profiles there, and it goes with the run.
    os.environ["TMPDIR"] = str(Path(plan_file).parent)
    # Who waits for this end to listen need not wait for its programs.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listens:
        listens.bind(("0.0.0.0", 1))
        peer = socket.socket(fileno=plan["peers"][end])
        os.close(plan["peers"]["server" if end == "client" else "client"])
        with told_when_over(peer):
            return _run_all(plan, end, peer)


@contextmanager
def told_when_over(peer: socket.socket) -> Iterator[None]:
    """Tell the other end when this one is over: closing alone does not, while the emulator holds a copy."""
    try:
        yield
    finally:
        with suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)


def _run_all(plan: Mapping[str, Any], end: str, peer: socket.socket) -> int:
    bell = _Bell()
    children = _start(plan, end, bell)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    if not bell.await_all(len(children)):
        return 1
    epoch = _time_zero(plan["begin"], peer, end)
    if epoch is None:
        return 1
    bell.ring(epoch)
    end_s = (epoch + plan["duration_ns"]) * 1e-9
    # What has ended earlier has nothing more to do, as a web user who has seen the page.
    _reap(children, end_s)
    time.sleep(max(0.0, end_s - time.monotonic()))
    for number in (signal.SIGTERM, signal.SIGKILL):
        for child in children:
            os.kill(child, number)
        _reap(children, time.monotonic() + GRACE_S)
    if end == "client":
        peer.settimeout(2 * GRACE_S)
        with suppress(OSError):
            peer.recv(1)
    return 0


if __name__ == "__main__":
    room = Path(__file__).parent
    sys.path[:0] = [str(room), str(room.parents[2])]
    sys.exit(main(*sys.argv[1:]))
