"""One run of the emulator, in a process of its own that must have one thread when it begins."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study import Point
from sojourn.study.inputs import trace
from sojourn.sweep.emulation.options import Options

_PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from sojourn import _core
with os.fdopen(int(sys.argv[2])) as file:
    setup = file.read()
with os.fdopen(os.dup(int(sys.argv[3])), "w") as result:
    os.set_inheritable(result.fileno(), False)
    os.close(int(sys.argv[3]))
    try:
        result.write(_core.emulate(setup))
    except Exception as error:
        result.write(json.dumps({"trouble": str(error)}))
"""


_NUMBERS = re.compile(rb" \(os error \d+\)")
"""What Rust adds to the system's words, which say it themselves."""


_INTERRUPTS = (signal.SIGINT, signal.SIGQUIT)


class BedError(SojournError):
    """There can be no bed for the command on this machine: one sentence."""


class RecordsError(BedError):
    """The records of a run could not be kept, though the command has run; `came` is what the run came to."""

    def __init__(self, why: str, came: dict[str, Any]) -> None:
        exit_code = came["command"]["exit"]
        super().__init__(
            f"the records cannot be written: {why}; the command itself has run, and ended with {exit_code}"
        )
        self.came = came


def run(
    point: Point,
    options: Options,
    *,
    log: BinaryIO | None = None,
    capture: BinaryIO | None = None,
    look: Callable[[dict[str, Any]], None] | None = None,
    every_s: float = 0.5,
    stdout: int | None = None,
    stderr: int | None = None,
    begin: int | None = None,
    inherited: Sequence[int] = (),
) -> dict[str, Any]:
    """Run a command behind the path of a point.

    Parameters
    ----------
    point
        Its path is emulated; its flows and users are not started.
    options
        What runs, and how.
    log
        A file that takes the rows of the packet log, see :mod:`sojourn.sweep.emulation.log`.
    capture
        A file that takes a capture (pcapng).
    look
        Is given a look at the queues every `every_s` seconds, on a thread of its own.
    stdout, stderr
        Descriptors that the command writes to, if not those of this process.
    begin
        A descriptor of this process: the run begins when a byte can be read from it, and is told then what
        `CLOCK_MONOTONIC` showed at its beginning (eight bytes).
    inherited
        Descriptors of this process that the command and the server have, under the same numbers.

    Returns
    -------
    dict
        What the run came to: ``links``, ``lateness_us``, ``command``, ``verdict``, ``engine``.

    Raises
    ------
    BedError
        There can be no bed: what the system does not allow, and what would help.
    RecordsError
        The log or the capture could not be kept whole.
    """
    options.check()
    with ExitStack() as stack:
        setup_file = stack.enter_context(TemporaryFile())
        held, parent = os.pipe()
        told, result = os.pipe()
        closing = {held, parent, told, result}
        stack.callback(lambda: [os.close(fd) for fd in closing])
        looks = None
        descriptors: dict[str, int | None] = {
            "parent": held,
            "live": None,
            "log": log.fileno() if log else None,
            "capture": capture.fileno() if capture else None,
            "begin": begin,
        }
        if look is not None:
            looks, descriptors["live"] = os.pipe()
            closing.add(descriptors["live"])
        setup = _setup(point, options)
        setup_file.write(json.dumps({**setup, "every_s": every_s, "descriptors": descriptors}).encode())
        setup_file.seek(0)
        passed = [setup_file.fileno(), result, *(fd for fd in descriptors.values() if fd is not None)]
        passed += inherited
        words = (_PROGRAM, str(Path(__file__).parents[3]), str(setup_file.fileno()), str(result))
        with _signals_handed_on() as begun:
            emulator = subprocess.Popen(
                [sys.executable, "-I", "-c", *words], pass_fds=passed, stdout=stdout, stderr=stderr
            )
            begun(emulator)
            for fd in (held, result, descriptors["live"]):
                if fd is not None:
                    os.close(fd)
                    closing.remove(fd)
            watcher = None
            if looks is not None and look is not None:
                watcher = threading.Thread(target=_watch, args=(looks, look), daemon=True)
                watcher.start()
            closing.remove(told)
            with os.fdopen(told, "rb") as said:
                text = said.read()
            emulator.wait()
            if watcher is not None:
                watcher.join(timeout=1)
    return _came(text, emulator.returncode)


def _setup(point: Point, options: Options) -> dict[str, Any]:
    """Return what the emulator is told, but for the descriptors."""
    return {
        "document": trace.fill(point.document),
        "seed": point.seed,
        "replication": point.replication,
        **vars(options),
        "command": [list(os.fsencode(word)) for word in options.command],
        "server": None if options.server is None else list(os.fsencode(options.server)),
        "user": _user(),
        "caller": [os.getuid(), os.getgid()],
    }


def _came(text: bytes, code: int) -> dict[str, Any]:
    """Return what the emulator said, which ended with this code; raise BedError if there was no bed."""
    if not text:
        # Once it has begun it sums up when it is ended; before, it dies of the signal.
        if -code in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            raise BedError(
                f"it was told to end ({signal.Signals(-code).name}) before the command was started"
            )
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise BedError(f"the emulator ended before the command did ({how})")
    came = json.loads(_NUMBERS.sub(b"", text))
    if trouble := came.get("trouble"):
        raise BedError(trouble)
    if why := came.pop("records_refused", None):
        raise RecordsError(why, came)
    return came


def _user() -> dict[str, Any] | None:
    """Return who called sudo, if this is root on somebody's behalf."""
    from sojourn.capture.privilege import ordinary_user

    if os.geteuid() != 0 or "SUDO_UID" not in os.environ or os.environ["SUDO_UID"] == "0":
        return None
    uid, gid, groups = ordinary_user(os.environ)
    return {"uid": uid, "gid": gid, "groups": groups}


def _watch(looks: int, look: Callable[[dict[str, Any]], None]) -> None:
    with os.fdopen(looks) as lines:
        for line in lines:
            look(json.loads(line))


@contextmanager
def _signals_handed_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Hand on what ends this process to the emulator, which ends the command and sums up.

    What comes before there is an emulator is handed on when there is: the block says when it has begun. An
    interrupt of the terminal reaches the command by itself, which decides; one that a process sends ends it
    as TERM does. What is ignored (`nohup`) stays so.
    """
    children: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def hand_on(number: int, _: object) -> None:
        for child in children:
            child.send_signal(number)
        if not children:
            early.append(number)

    def begun(child: subprocess.Popen[bytes]) -> None:
        children.append(child)
        for number in early:
            child.send_signal(number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        _core.end_on_interrupt(child.pid)

    if threading.current_thread() is not threading.main_thread():
        yield children.append
        return
    ends = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in ends}
    before |= {number: signal.signal(number, signal.SIG_IGN) for number in _INTERRUPTS}
    _core.end_on_interrupt()
    # The emulator begins with them blocked, and reads them when it can.
    signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield begun
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        for number, handler in before.items():
            signal.signal(number, handler)
