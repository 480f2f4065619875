"""One run of a plan over the emulator."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, BinaryIO

from sojourn.errors import SojournError
from sojourn.study import Point
from sojourn.study.units import nanoseconds
from sojourn.sweep.emulation import Options, session
from sojourn.sweep.testbed.host import GRACE_S
from sojourn.sweep.testbed.plan import Entry, variables
from sojourn.sweep.testbed.program import FIRST_PAIR, Left, Program

AGENT = Path(__file__).with_name("host.py")
"""The script that runs a plan's programs at one end."""
_STARTING_S = 60.0
"""How long all programs together may take until they are ready."""
_ENDING_S = 5 * GRACE_S
"""How long they may take until all have left: who does not is killed, and the other end is waited for."""
_LEEWAY_S = 1.0
"""By how much less than the time that it had a command may seem to have run: two clocks begin."""
_REMOVES = 'read _; for _ in 0 1 2 3 4 5 6 7 8 9; do rm -rf -- "$0"; sleep 0.2; [ -e "$0" ] || exit; done'
"""For the shell: its input ends with the process that it is of. What is being ended writes for a moment."""


class ProgramFailed(SojournError):
    """A program of the testbed failed: which, where, and why."""


@dataclass(frozen=True)
class Ran:
    """What a run of a plan came to.

    Attributes
    ----------
    report : dict
        The emulator's.
    left : list of list of Left
        What the programs of each entry left. Their folders exist as long as the run is held.
    entry_of_flow : list of int
        The place in the plan of the entry whose programs sent each flow of the packet log, -1 for none.
    """

    report: dict[str, Any]
    left: list[list[Left]]
    entry_of_flow: list[int]


@contextmanager
def running(
    point: Point,
    entries: list[Entry],
    log: BinaryIO | None = None,
    offload: bool = True,
    agent: Path = AGENT,
) -> Iterator[Ran]:
    """Run the programs of a point over its path, and hold what they left.

    Parameters
    ----------
    point
        The point.
    entries
        Its plan.
    log
        Takes the rows of the packet log.
    offload
        Hosts have cards that cut and join packets.
    agent
        A script in place of that which runs a plan's programs: it has to run them.

    Raises
    ------
    ProgramFailed
        A program failed, or was not ready in time.
    BedError
        There is no bed on this machine.
    """
    duration_ns, warmup_ns = (nanoseconds(point.document[key]) for key in ("duration", "warmup"))
    programs = [program for entry in entries for program in entry.programs]
    with ExitStack() as stack:
        folder = stack.enter_context(_scratch())
        sockets = [*socket.socketpair(), *socket.socketpair()]
        for each in sockets:
            stack.enter_context(each)
        begin, begins, at_client, at_server = (each.fileno() for each in sockets)
        plan = folder / "plan.json"
        told = {
            "duration_ns": duration_ns,
            "warmup_ns": warmup_ns,
            "programs": [_told(program, number, folder) for number, program in enumerate(programs)],
            "begin": begins,
            "peers": {"client": at_client, "server": at_server},
        }
        plan.write_text(json.dumps(told))
        _give_away(folder)
        limit_s = _STARTING_S + duration_ns * 1e-9 + _ENDING_S
        words = [sys.executable, "-I", str(agent), str(plan)]
        options = Options(
            command=(*words, "client"),
            server=shlex.join([*words, "server"]),
            variables=tuple(variables(entries).items()),
            duration_s=limit_s,
            pairs=tuple(program.pair(number) for number, program in enumerate(programs)),
            measured_s=(warmup_ns * 1e-9, duration_ns * 1e-9),
            offload=offload,
        )
        said = stack.enter_context(TemporaryFile())
        report = session.run(
            point,
            options,
            log=log,
            begin=begin,
            inherited=(begins, at_client, at_server),
            stdout=said.fileno(),
            stderr=said.fileno(),
        )
        _check(folder, programs, report, said, limit_s)
        left = iter([_left(folder / program.key, report, number) for number, program in enumerate(programs)])
        by_entry = [[next(left) for _ in entry.programs] for entry in entries]
        places = [place for place, entry in enumerate(entries) for _ in entry.programs]
        of_pair = dict(enumerate(places, FIRST_PAIR))
        pairs = report["engine"].get("pair_of_flow", [])
        yield Ran(report, by_entry, [of_pair.get(pair, -1) for pair in pairs])


def _told(program: Program, number: int, folder: Path) -> dict[str, Any]:
    """Make the room of a program, with its files; return what both ends are told of it."""
    room = folder / program.key
    room.mkdir(parents=True)
    for name, content in program.files.items():
        (room / name).write_bytes(content)
    return {
        "name": program.name,
        "key": program.key,
        "pair": FIRST_PAIR + number,
        "folder": str(room),
        "client": program.client,
        "server": program.server,
        "congestion": program.settings.congestion,
        "options": program.settings.options,
    }


@contextmanager
def _scratch() -> Iterator[Path]:
    """Hold a folder that is removed with this process, also if it is killed."""
    with (
        TemporaryDirectory(prefix="sojourn-testbed-") as folder,
        subprocess.Popen(["/bin/sh", "-c", _REMOVES, folder], stdin=subprocess.PIPE, start_new_session=True),
    ):
        yield Path(folder)


def _give_away(folder: Path) -> None:
    """Let the programs write here: with sudo they run as who called it."""
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        uid, gid = int(os.environ["SUDO_UID"]), int(os.environ.get("SUDO_GID", -1))
        for place in (folder, *folder.rglob("*")):
            os.chown(place, uid, gid)


def _left(folder: Path, report: dict[str, Any], number: int) -> Left:
    found = {end: _read(folder / f"{end}.json").get("left", {}) for end in ("client", "server")}
    counts = (
        report["engine"].get("pairs", {}).get(str(FIRST_PAIR + number), {"sent": [0, 0], "dropped": [0, 0]})
    )
    return Left(found["client"], found["server"], folder, tuple(counts["sent"]), tuple(counts["dropped"]))


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text()) if file.is_file() else {}


def _check(
    folder: Path, programs: list[Program], report: dict[str, Any], words: BinaryIO, limit_s: float
) -> None:
    files = [
        (folder / program.key / f"{end}.json", program, end)
        for program in programs
        for end in ("client", "server")
    ]
    for file, program, end in files:
        if failed := _read(file).get("failed"):
            raise ProgramFailed(f"the program {program.name} of {program.key} failed at the {end}: {failed}")
    if (code := report["command"]["exit"]) == 0:
        for file, program, end in files:
            if not file.is_file():
                raise ProgramFailed(f"the program {program.name} of {program.key} did not end at the {end}")
        return
    if code in (143, 129, 130):
        if report["command"]["wall_s"] >= limit_s - _LEEWAY_S:
            # The emulator gives them this time until they are ready, and once more until they have ended.
            for file, program, end in files:
                if not file.with_suffix(".ready").exists():
                    at = f"{program.name} of {program.key} was not ready at the {end}"
                    raise ProgramFailed(f"the program {at} within {limit_s:.0f} s")
            raise ProgramFailed(f"the testbed's programs had not ended {limit_s:.0f} s after they began")
        raise ProgramFailed("the testbed was told to end")
    words.seek(0, os.SEEK_END)
    words.seek(max(0, words.tell() - 2000))
    last = words.read().decode(errors="replace").strip().splitlines()
    raise ProgramFailed(f"the testbed's programs ended with {code}" + (f": {last[-1]}" if last else ""))
