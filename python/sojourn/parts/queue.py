"""A queue by itself: packets at given times in, what became of each and the discipline's variables out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.parts.arguments import ArgumentError, as_json, mapping, number, shown, whole

ECN = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
"""The two ECN bits of the IP header by their names."""

EVENTS = ("arrival", "departure", "timer")
"""What a row of a trace comes after, by its number in `Decisions.trace["event"]`."""

_KEYS = ("time", "size", "flow", "ecn")
_DEFAULTS = {"size": 1500, "flow": 0, "ecn": 0}


@dataclass(frozen=True)
class Decisions:
    """What became of the packets. Arrays are NumPy's; a packet is named by its place in the list, from 0.

    With `n` packets, `r` events and `f` different flows among the packets:
    """

    time: np.ndarray
    """int64, shape (n,): when the packet left the queue or was dropped, in ns; −1 if it is still waiting. On
    a link, leaving is the start of transmission."""
    fate: np.ndarray
    """str, shape (n,): ``"dequeued"``, ``"dropped"`` or ``"waiting"``."""
    cause: np.ndarray
    """str, shape (n,): why it was dropped (``full``, ``early``, ``sojourn``, ``forced``, ``blue``,
    ``overload``); empty if it was not."""
    marked: np.ndarray
    """bool, shape (n,): whether it was marked Congestion Experienced."""
    left: np.ndarray
    """uint32: the packets that left, in the order in which they did."""
    dropped: np.ndarray
    """uint32: the packets that were dropped, in the order in which they were."""
    trace: dict[str, np.ndarray] = field(default_factory=dict)
    """The state after each event: `time` (uint64, ns), `event` (uint8, see `EVENTS`), `packet` (int64: the
    packet that arrived or left, −1 if none), `backlog_pkts`, `backlog_bytes`, all of shape (r,); `flows`
    (uint32, shape (f,)); and the discipline's variables as float64, of shape (r,), or (r, f) where each flow
    has a line of its own: there, column j is the line of ``trace["flows"][j]``. Not a number where the
    discipline did not have the variable. Empty if no trace was asked for."""

    def of(self, flow: int) -> int:
        """Return the column of a flow in the trace's variables of shape (r, f); ValueError if it has none."""
        found = np.flatnonzero(self.trace.get("flows", ()) == flow)
        if not len(found):
            raise ArgumentError(f"no packet of flow {flow} was replayed")
        return int(found[0])

    def rows(self, event: str) -> np.ndarray:
        """Return the rows of the trace (indices) that follow an event of this kind."""
        if event not in EVENTS:
            raise ArgumentError(f'"{event}" is no event; write one of {", ".join(EVENTS)}')
        if not self.trace:
            raise ArgumentError("there is no trace: the replay was asked for none")
        return np.flatnonzero(self.trace["event"] == EVENTS.index(event))


def replay(
    queue: Mapping[str, Any],
    packets: Mapping[str, Any] | Sequence[Any],
    departures: str | Sequence[int],
    *,
    seed: int = 1,
    draws: float | Sequence[float] | Mapping[str, Sequence[float]] | None = None,
    state: Mapping[str, Any] | None = None,
    trace: bool = True,
) -> Decisions:
    """Send packets through one queue and return what became of each.

    Parameters
    ----------
    queue
        The queue as in a study file, with the same keys, units and checks: ``{"kind": "codel", "variant":
        "linux", "target": "5ms", "limit": "100pkt"}``.
    packets
        Either a mapping of columns ``time`` (ns; required), ``size`` (1 … 65535 bytes; 1500 if absent),
        ``flow`` (0 … 2³² − 1; 0) and ``ecn`` (``"not-ect"``, ``"ect0"``, ``"ect1"``, ``"ce"``, or the two
        bits as a number 0 … 3; not-ECT), each an array or list of n values or one value for all packets; or
        a list of tuples in that order, in which trailing fields may be left out. In order of time, which
        begins at 0 and may repeat.
    departures
        The rate of a link, ``"2Mbit"``: it takes a packet whenever it is idle, works until the queue is
        empty, and (as in a simulation) asks disciplines that mind it once more when they ran empty and
        another packet comes later. Or times (ns, in order, may repeat) at which the queue is asked for a
        packet; packets that arrive at the same time come first, and what is left stays waiting. Limits in
        time, and automatic settings of RED, need a rate.
    seed
        Chooses the queue's random stream.
    draws
        Random numbers in [0, 1) instead of the stream: one number that every draw gives; a sequence taken in
        the order of the draws; or ``{"by_packet": numbers}``, n of them, of which packet k's gives whatever
        is drawn while it arrives. A number below (RED, PIE: or at) a probability is a hit. RED and PIE draw
        only where the outcome is open: not at a probability of 0, or while PIE's accumulated probability
        decides. The salt of a hash is always the seed's; ``hash = "plain"`` does without one.
    state
        Variables to set before the first packet, by their names in the trace: a number, or (variables of
        flows) ``{flow: number}``. A flow's line is known before its first packet only with ``hash = "plain"``
        or a single line.
    trace
        Keep the variables after every event.

    Returns
    -------
    Decisions
        One entry for each packet; times in ns.

    Raises
    ------
    StudyError
        (a ValueError) with one sentence: a queue that a study file could not have, packets or times out of
        order, a limit that needs what is not there, a variable that does not exist, numbers that run out.
    ValueError
        with one sentence: columns of different lengths, values out of range, a trace of more than 20
        million numbers.

    Example
    -------
    >>> found = replay({"kind": "fifo", "limit": "1pkt"}, {"time": [0, 0, 0]}, [10, 20])
    >>> found.fate.tolist(), found.cause.tolist(), found.left.tolist()
    (['dequeued', 'dropped', 'dropped'], ['', 'full', 'full'], [0])
    """
    mapping(queue, "queue", '{"kind": "fifo", "limit": "64pkt"}')
    columns = _columns(packets)
    rate, times = (departures, []) if isinstance(departures, str) else (None, departures)
    if _dimensions(times) != 1:
        raise ArgumentError(
            f'departures {shown(departures)} are neither a rate such as "2Mbit" nor a list of times'
        )
    numbers, drawn = _draws(draws)
    asked = _whole("departures", times, np.uint64)
    _check_order("packet", columns[0])
    _check_order("departure", asked)
    given = as_json(queue, "the queue")
    started, settings = whole(seed, "seed"), _settings({} if state is None else state)
    try:
        found = _core.replay(given, *columns, rate, asked, started, numbers, drawn, settings, bool(trace))
    except _core.StudyError as error:
        from sojourn.study.missing import explained_of_queue

        raise _core.StudyError(explained_of_queue(str(error), queue)) from None
    causes = np.array([*found["causes"], ""])
    cause = causes[found["cause"]]
    fate = np.where(cause != "", "dropped", np.where(found["time"] >= 0, "dequeued", "waiting"))
    return Decisions(
        time=found["time"],
        fate=fate,
        cause=cause,
        marked=found["marked"],
        left=found["left"],
        dropped=found["dropped"],
        trace=found.get("trace", {}),
    )


def _dimensions(values: Any) -> int | None:
    """Return how many dimensions a list or array has; None if its rows differ in length."""
    try:
        return np.ndim(values)
    except ValueError:
        return None


def _columns(packets: Mapping[str, Any] | Sequence[Any]) -> list[np.ndarray]:
    """Return time, size, flow and ECN bits, each of n values."""
    if isinstance(packets, str) or not isinstance(packets, Iterable) or getattr(packets, "ndim", 1) == 0:
        raise ArgumentError(f"packets are {shown(packets)}; write columns (a mapping) or a list of tuples")
    if not isinstance(packets, Mapping):
        rows = [tuple(row) if isinstance(row, Sequence | np.ndarray) else (row,) for row in packets]
        if wrong := [row for row in rows if not 1 <= len(row) <= len(_KEYS)]:
            raise ArgumentError(
                f"{wrong[0]} is not a packet; write (time, size, flow, ecn), the last may be left out"
            )
        packets = {
            key: [row[i] if i < len(row) else _DEFAULTS.get(key) for row in rows]
            for i, key in enumerate(_KEYS)
        }
    if unknown := [key for key in packets if key not in _KEYS]:
        raise ArgumentError(f'packets have no "{unknown[0]}"; they have {", ".join(_KEYS)}')
    if "time" not in packets:
        raise ArgumentError("packets need a time")
    bits = packets.get("ecn", 0)
    bits = _bits(bits) if _dimensions(bits) == 0 else [_bits(value) for value in bits]
    time = _whole("time", packets["time"], np.uint64)
    columns = [
        time,
        _whole("size", packets.get("size", _DEFAULTS["size"]), np.uint32, least=1, most=65_535),
        _whole("flow", packets.get("flow", _DEFAULTS["flow"]), np.uint32),
        _whole("ecn", bits, np.uint8, most=3),
    ]
    for key, column in zip(_KEYS, columns, strict=True):
        if column.shape not in ((), time.shape) or time.ndim != 1:
            raise ArgumentError(f"{key} has the shape {column.shape}; give one value, or one for each packet")
    return [np.ascontiguousarray(np.broadcast_to(column, time.shape)) for column in columns]


def _check_order(what: str, times: np.ndarray) -> None:
    """Refuse times (ns) that go back, with the first that does."""
    back = np.flatnonzero(times[1:] < times[:-1])
    if len(back):
        at = int(back[0])
        raise _core.StudyError(
            f"{what} {at + 1} is at {times[at + 1]} ns, before {what} {at} at {times[at]} ns; "
            "expected them in order of time"
        )


def _bits(value: Any) -> int:
    if isinstance(value, str):
        if value not in ECN:
            raise ArgumentError(f'"{value}" is no ECN codepoint; write one of {", ".join(ECN)}')
        return ECN[value]
    return value


def _whole(
    name: str, values: Any, dtype: type[np.unsignedinteger[Any]], *, least: int = 0, most: int | None = None
) -> np.ndarray:
    """Return values as an array of whole numbers within a range."""
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "iuf":
            given = np.asarray(values, dtype=np.float64) if given.size else np.zeros(0, dtype)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be whole numbers") from None
    most = min(np.iinfo(dtype).max, 2**63 - 1) if most is None else most
    with np.errstate(invalid="ignore"):
        wrong = (
            given[~((given >= least) & (given <= most) & (given == np.floor(given)))] if given.size else given
        )
    if wrong.size:
        raise ArgumentError(f"{name} {wrong.flat[0]} is not a whole number from {least} to {most}")
    return given.astype(dtype)


def _draws(draws: Any) -> tuple[np.ndarray | None, str]:
    """Return the numbers and how they are drawn."""
    if draws is None:
        return None, ""
    drawn = "in order"
    if isinstance(draws, Mapping):
        if list(draws) != ["by_packet"]:
            raise ArgumentError('draws are a number, a sequence, or {"by_packet": sequence}')
        draws, drawn = draws["by_packet"], "by arrival"
    elif np.ndim(draws) == 0:
        draws, drawn = [draws], "always"
    try:
        return np.array(draws, dtype=np.float64).reshape(-1), drawn
    except (TypeError, ValueError):
        raise ArgumentError("draws must be numbers from 0 to below 1") from None


def _settings(state: Mapping[str, Any]) -> list[tuple[str, int | None, float]]:
    """Return (variable, flow or None, value) for each variable to set."""
    settings: list[tuple[str, int | None, float]] = []
    for name, value in mapping(state, "state", '{"p": 0.1}').items():
        of_flows = value.items() if isinstance(value, Mapping) else [(None, value)]
        for flow, given in of_flows:
            known = flow if flow is None else whole(flow, f"{name}: flow", 2**32 - 1)
            wanted = number(given, name)
            if math.isnan(wanted) and name != "idle_since":
                raise ArgumentError(f"{name} is nan; expected a number, as every variable but idle_since has")
            settings.append((str(name), known, wanted))
    return settings
