"""The schemes that a suite compares: queues as in a study file, by name or with their parameters."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError, quoted

Queue = dict[str, Any]

_SHORT: dict[str, Queue] = {
    # Thresholds follow from the link's rate (Floyd, Gummadi, Shenker 2001); the mean packet is a full one.
    "ared": {"kind": "red", "adaptive": True, "mean-packet": "1500B"},
    "red": {"kind": "red", "mean-packet": "1500B"},
}
"""Names that stand for a queue with some parameters."""
_TARGETS = ("1ms", "2ms", "5ms", "10ms", "20ms", "50ms")
"""Target delays of ``--knobs`` (RFC 7928 §4.3.1)."""
_BUFFERS = (0.25, 0.5, 1.0, 2.0, 4.0)
_TARGET_OF = {
    "codel": "5ms", "fq-codel": "5ms", "cobalt": "5ms", "cake": "5ms", "sfq-codel": "5ms",
    "pie": "15ms", "fq-pie": "15ms", "dualpi2": "15ms", "red": "5ms",
}  # fmt: skip
"""Disciplines with a target delay, and its default."""
_MARKS = ("codel", "fq-codel", "cobalt", "cake", "pie", "fq-pie", "red")
"""Disciplines with the key `ecn`."""


@dataclass(frozen=True)
class Scheme:
    """A discipline with its parameters.

    Attributes
    ----------
    name : str
        As pages call it.
    queue : dict
        Its table in a study file; without a limit unless one was given.
    """

    name: str
    queue: Queue

    @property
    def own_limit(self) -> bool:
        """Whether it came with a limit of its own."""
        return "limit" in self.queue

    def table(self, packets: int, *, ecn: bool = False) -> Queue:
        """Return its table with a limit in packets, unless it has its own; with ECN where it can mark."""
        marks = {"ecn": True} if ecn and self.queue["kind"] in _MARKS else {}
        return {**self.queue, **marks, "limit": self.queue.get("limit", f"{max(1, packets)}pkt")}

    def other_values(self, packets: int) -> Queue:
        """Return it with other values: twice the target delay, or twice the buffer (RFC 7928 §10)."""
        found = self.table(packets)
        usual = _TARGET_OF.get(found["kind"])
        if usual is None:
            return {**found, "limit": f"{2 * packets}pkt"}
        return {**found, "target": _doubled(found.get("target", usual))}


def read(words: Iterable[str]) -> list[Scheme]:
    """Read schemes: names and queues as in a study file (inline TOML), with commas between.

    >>> [scheme.name for scheme in read(['droptail,fq_codel,{ kind = "pie", target = "5ms" }'])]
    ['fifo', 'fq-codel', 'pie target=5ms']

    Raises
    ------
    SojournError
        One sentence: what was found is no queue, or is there twice.
    """
    schemes: dict[str, Scheme] = {}
    for queue in [queue for word in words for queue in _tables(word)]:
        settled = _settled(queue)
        name = _name(settled)
        if name in schemes:
            raise SojournError(f"--aqm: {name} is there twice; every scheme is compared once")
        schemes[name] = Scheme(name, settled)
    if not schemes:
        raise SojournError(
            '--aqm names no queue; expected names such as fifo,codel, or a table such as { kind = "codel" }'
        )
    return list(schemes.values())


def with_baseline(schemes: list[Scheme]) -> list[Scheme]:
    """Put drop-tail with the common buffer first, unless it is among them (RFC 7928 §4.1)."""
    plain = Scheme("fifo", {"kind": "fifo"})
    return schemes if plain in schemes else [plain, *schemes]


def knobs(schemes: Iterable[Scheme], packets: int) -> list[Scheme]:
    """Return each scheme at several settings of its knob: target delay or buffer (RFC 7928 §4.3.1)."""
    found: dict[str, Scheme] = {}
    for scheme in schemes:
        kind = scheme.queue["kind"]
        if kind in _TARGET_OF:
            several = [{**scheme.queue, "target": target} for target in _TARGETS]
        elif kind in ("fifo", "sfq"):
            several = [{**scheme.queue, "limit": f"{max(1, round(packets * part))}pkt"} for part in _BUFFERS]
        else:
            several = [scheme.queue]
        for queue in several:
            found.setdefault(_name(queue), Scheme(_name(queue), queue))
    return list(found.values())


def _tables(word: str) -> list[Queue]:
    """Split a word of the command line into queues: names and tables with commas between."""
    found: list[Queue] = []
    for part in _parts(word):
        if not part:
            raise SojournError(f"--aqm {quoted(word)}: a name is empty; expected names with commas between")
        found += _table(part) if part.startswith(("{", "[")) else [{"kind": part}]
    return found


def _parts(word: str) -> list[str]:
    """Split at the commas that are not inside a table, a list or quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in word:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _table(word: str) -> list[Queue]:
    """Read a queue as in a study file, or a list of names and such queues."""
    try:
        value = tomllib.loads(f"queue = {word}")["queue"]
    except tomllib.TOMLDecodeError as error:
        raise SojournError(
            f"--aqm {quoted(word)} is not a table in TOML ({error}); "
            'expected a queue as in a study file, { kind = "codel", target = "5ms" }'
        ) from None
    values = value if isinstance(value, list) else [value]
    found = []
    for value in values:
        if isinstance(value, str):
            value = {"kind": value}
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            raise SojournError(f'--aqm {quoted(word)}: a queue has a kind, as {{ kind = "codel" }}')
        found.append(value)
    return found


def _settled(queue: Queue) -> Queue:
    """Return a queue under the name that results have for it, checked with all its keys."""
    kind = str(queue["kind"]).lower().replace("_", "-")
    queue = {**_SHORT.get(kind, {}), **{key: value for key, value in queue.items() if key != "kind"}} | {
        "kind": _SHORT.get(kind, queue)["kind"]
    }
    try:
        parsed = json.loads(_core.points(_PROBE % json.dumps({"limit": "64pkt", **queue}))[0])
    except _core.StudyError as error:
        reason = str(error).replace("path.down.", "").removeprefix("study: ")
        if f"unknown variant `{queue['kind']}`" in reason:
            own = "".join(f"`{name}`, " for name in _SHORT if f"`{name}`" not in reason)
            reason = reason.replace("expected one of ", f"expected one of {own}", 1)
        raise SojournError(f"--aqm {quoted(str(queue['kind']))}: {reason}") from None
    return {**queue, "kind": parsed["document"]["path"]["down"]["queue"]["kind"]}


_PROBE = (
    '{"name": "study", "duration": "1s", "path": {"rtt": "40ms", "down": {"rate": "10Mbit", "queue": %s}, '
    '"up": {"rate": "10Mbit", "queue": {"kind": "fifo", "limit": "64pkt"}}}}'
)


def _name(queue: Mapping[str, Any]) -> str:
    """Name a scheme by its kind and the parameters that were given."""
    given = {key: value for key, value in queue.items() if key != "kind"}
    kind = queue["kind"]
    if kind == "red" and given.get("adaptive"):
        kind = "ared"
        del given["adaptive"]
    if given.get("mean-packet") == "1500B":
        del given["mean-packet"]
    return " ".join([kind, *(f"{key}={_text(value)}" for key, value in given.items())])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _doubled(time: str) -> str:
    from sojourn.study.suites.link import time_text
    from sojourn.study.units import nanoseconds

    return time_text(2 * nanoseconds(time))
