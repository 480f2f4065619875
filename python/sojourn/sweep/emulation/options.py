"""What is emulated: a study's path, or one that is written on the command line."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, quoted
from sojourn.results.duration import duration
from sojourn.study import Point, Study, axes_of, listed, whole_first
from sojourn.study.links import SIMULATED_HOSTS, base_rtt_ns, links
from sojourn.study.missing import explained
from sojourn.study.units import FULL_PACKET_BYTES, bits_per_second

_HOURS = "24h"
"""Time over which rates that are drawn at random are drawn: the command may take so long."""
_LONGEST_S = 12
"""A packet that takes longer would hold up whoever waits for the path, without a word."""


_KEYS = {
    "down": ("path.down.rate",),
    "up": ("path.up.rate",),
    "rtt": ("path.rtt",),
    "queue": ("path.down.queue.kind", "path.up.queue.kind"),
    "limit": ("path.down.queue.limit", "path.up.queue.limit"),
}
"""By option, the keys of a study that it replaces."""
_SWEPT = {"queue": ("path.queue", "path.queue.kind"), "limit": ("path.queue.limit",)}
"""By option, the axes whose label would say something else of the queues than the option did."""
_PATIENCE_NS = 10 * 10**9
"""The command begins when idle round trips are measured: longer ones would hold it up without a word."""


@dataclass(frozen=True)
class Options:
    """How a path is emulated.

    Attributes
    ----------
    command : tuple of str
        What runs at the client's end.
    server : str or None
        What runs at the server's end, for a shell.
    host : bool
        The server's end is the network of this machine.
    mtu : int
        Largest packet at IP, in bytes.
    offload : bool
        Hosts hand over super-packets, which are cut at the rate of their network cards.
    access : str or None
        That rate, as ``1Gbit``; by default 1 Gbit/s, or four times the path's where that is more.
    congestion : str or None
        TCP's congestion control at both ends.
    variables : tuple of (str, str)
        Variables of the kernel at both ends.
    duration_s : float or None
        Time after which the command is ended.
    probes : int
        Idle round trips that are measured before.
    pairs : tuple of dict
        Further pairs of addresses, with routes and distances of their own: see ``Pair`` in the emulator's
        `setup.rs`.
    measured_s : (float, float) or None
        The part of the run that its numbers are of.
    """

    command: tuple[str, ...]
    server: str | None = None
    host: bool = False
    mtu: int = 1500
    offload: bool = True
    access: str | None = None
    congestion: str | None = None
    variables: tuple[tuple[str, str], ...] = field(default=())
    duration_s: float | None = None
    probes: int = 10
    pairs: tuple[dict[str, Any], ...] = ()
    measured_s: tuple[float, float] | None = None

    def check(self) -> None:
        """Raise SojournError with a sentence if these cannot be."""
        if not 576 <= self.mtu <= 65_535:
            raise SojournError(f"--mtu is {self.mtu}; expected 576 to 65535 bytes")
        if self.access is not None and not _is_rate(self.access):
            raise SojournError(
                f"--access-rate is {quoted(self.access)}; expected a rate above zero, as 1Gbit"
            )
        if self.congestion is not None and not self.congestion.isascii():
            raise SojournError(
                f"--congestion is {quoted(self.congestion)}; expected one that the kernel has, as cubic"
            )
        if self.duration_s is not None and self.duration_s <= 0:
            raise SojournError(f"--duration is {self.duration_s:g} s; expected a time above zero")
        for name, _ in self.variables:
            if not name.startswith("net."):
                raise SojournError(
                    f"--sysctl {name}: only variables under net. belong to a network; "
                    "expected one such as net.ipv4.tcp_ecn"
                )


def point_of(
    study: Path | None,
    written: Mapping[str, str],
    sets: Sequence[tuple[str, str]],
    only: Mapping[str, Sequence[str]],
) -> Point:
    """Return the point whose path is emulated.

    Parameters
    ----------
    study
        A study file, or None if the path is written on the command line.
    written
        What is: any of ``down``, ``up`` (rates), ``rtt``, ``queue`` and ``limit``.
    sets
        Keys of the study to replace.
    only
        Labels that choose among the points of a study, by axis.

    Raises
    ------
    SojournError
        One sentence: what is missing, or does not go together.
    """
    if study is None:
        if missing := [name for name in ("down", "up", "rtt") if name not in written]:
            raise SojournError(
                f"a path needs {listed(f'--{name}' for name in missing)}, or a study file that has one; "
                "see `sojourn emulate --help`"
            )
        document = _toml(_written(written))
        try:
            text = _core.parse(document, "the options", whole_first(sets), [])
        except _core.StudyError as error:
            said = explained(str(error), document, sets)
            raise SojournError(_of_options(said, document, written)) from None
        found = Study(text, "the options", tuple(sets), Path())
    else:
        given = [(key, value) for name, value in written.items() for key in _KEYS[name]]
        try:
            found = Study.load(study, [*given, *sets])
        except _core.StudyError as error:
            raise SojournError(_of_sets(str(error), written)) from None
        _check_axes(found, written)
    points = [point for point in found.select(only) if point.replication == 0]
    if len(points) > 1:
        axes = {axis: None for point in points for axis in axes_of(point) if axis != "replication"}
        raise SojournError(
            f"{found.file} has {len(points)} points, and one path is emulated; "
            f"choose with --only AXIS=VALUE, the axes being {listed(axes)}"
        )
    for key, does in SIMULATED_HOSTS.items():
        if key in points[0].document["path"]:
            raise SojournError(f"path.{key} is how simulated hosts {does}: real ones need none, leave it out")
    for link, spec in links(points[0].document):
        _check_rate(link, spec["rate"])
    return points[0]


def probes_of(document: Mapping[str, Any]) -> int:
    """Return how many idle round trips are measured before the command begins: none of long ones."""
    return Options.probes if base_rtt_ns(document) <= _PATIENCE_NS else 0


def _of_options(message: str, document: str, written: Mapping[str, str]) -> str:
    """Say what is wrong with a path that options write, at the option: nobody has seen that document."""
    found = re.match(r"the options:(\d+):\d+: (.*)", message)
    if found is None:
        return message
    key, what = document.splitlines()[int(found[1]) - 1].partition(" = ")[0], found[2]
    name = {"path.rtt": "rtt", "path.down.rate": "down", "path.up.rate": "up"}.get(key, "queue")
    # What is wrong in a table is said where the table begins.
    if "limit" in written and (name not in written or f"{json.dumps(written['limit'])} is not a" in what):
        name = "limit"
    if "missing field `limit`" in what:
        what += ": give --limit" if what.endswith("`") else "; give --limit"
    return f"--{name} {quoted(written[name])}: {what}" if name in written else f"the options: {what}"


def _of_sets(message: str, written: Mapping[str, str]) -> str:
    """Name options as they were given where a message names the keys that they stand for."""
    for name, value in written.items():
        for key in _KEYS[name]:
            message = message.replace(f"--set {key}={value}: ", f"--{name} {quoted(value)}: ")
    return message


def _check_axes(study: Study, written: Mapping[str, str]) -> None:
    """Raise SojournError if a study sweeps both queues at once and an option says otherwise."""
    axes = study.points[0].labels
    for name, keys in _SWEPT.items():
        for key in keys:
            if name in written and key in axes:
                raise SojournError(
                    f"--{name} {quoted(written[name])}: {study.file} sweeps {key}, and its points are named "
                    f"by it; choose one with --only {key}=VALUE, or set sweep.{key}"
                )


def _is_rate(text: str) -> bool:
    try:
        return bits_per_second(text) > 0
    except ValueError:
        return False


def _check_rate(link: str, rate: Any) -> None:
    """Raise SojournError if a full packet takes too long to wait for; steps and traces may stand still."""
    if not isinstance(rate, str) or rate == "unlimited":
        return
    takes_s = 8 * FULL_PACKET_BYTES / bits_per_second(rate)
    if takes_s > _LONGEST_S:
        raise SojournError(
            f"{link}: at {rate} a packet of {FULL_PACKET_BYTES} bytes takes {duration(takes_s)}; "
            f"expected at most {_LONGEST_S:g} s, from {8 * FULL_PACKET_BYTES / _LONGEST_S / 1e3:g}kbit on"
        )


def _written(written: Mapping[str, str]) -> dict[str, Any]:
    queue = {"kind": written.get("queue", "fifo")}
    if "limit" in written:
        queue["limit"] = written["limit"]
    elif queue["kind"] == "fifo":
        queue["limit"] = "1BDP"
    return {
        "name": "emulate",
        "duration": _HOURS,
        "path": {
            "rtt": written["rtt"],
            "queue": queue,
            "down": {"rate": written["down"]},
            "up": {"rate": written["up"]},
        },
    }


def _toml(document: Mapping[str, Any]) -> str:
    """Return a document of texts and tables as TOML; JSON's texts are TOML's."""
    plain = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    for key, table in document.items():
        if isinstance(table, Mapping):
            lines += [f"{key}.{line}" for line in _toml(table).splitlines()]
    return "\n".join(lines) + "\n"
