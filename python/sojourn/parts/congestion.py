"""One congestion controller by itself: events in, windows and variables out."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.parts.arguments import ArgumentError, as_json, mapping, number, shown, whole


@dataclass(frozen=True)
class Windows:
    """What a controller says after each of `n` events; all arrays have shape `(n,)`."""

    at: np.ndarray
    """Time of the event, nanoseconds (int64)."""
    cwnd: np.ndarray
    """The algorithm's congestion window, segments of `mss` bytes, with its fraction (float64)."""
    ssthresh: np.ndarray
    """Slow-start threshold, segments (float64); `inf` before the first loss and where there is none."""
    window: np.ndarray
    """Bytes that a sender may have in flight (int64): `cwnd` cut to whole ones; for Compound with `dwnd`."""
    pacing: np.ndarray
    """Rate at which packets leave, bit/s (float64); `nan` if they are not paced."""
    state: dict[str, np.ndarray] = field(default_factory=dict)
    """The algorithm's other variables by name (float64 each); `nan` while one has no value."""


def controller(
    kind: str,
    events: Iterable[Mapping[str, Any]],
    *,
    mss: int | str = 1448,
    cwnd: float | str = 10,
    hystart: str = "none",
    target: int | str | None = None,
    seed: int = 1,
    **state: float,
) -> Windows:
    """Drive one congestion controller by a list of events and return what it says after each.

    The controller is the one that simulations use. There is no network and no sender: what an event says is
    all that it hears.

    Parameters
    ----------
    kind
        A transport of study files: ``reno``, ``newreno``, ``bic``, ``cubic`` (as Linux), ``cubic-rfc9438``,
        ``cubic-ns2``, ``compound``, ``compound-ns2``, ``ledbat``, ``ledbat++``, ``ledbat-ns2``, ``utp``,
        ``bbr``, ``bbr3``, ``dctcp``, ``prague``. What each implements, and after whom, is in docs/models.
    events
        Dicts in order of time. ``at`` is always there, and ``event`` is one of

        - ``"ack"``: ``delivered`` (amount; required), ``marked``, ``lost`` (amounts; default 0), ``rtt``,
          ``one_way`` (times measured by it; default none), ``in_flight`` (amount before it; default the
          window), ``left_in_flight`` (amount after it; default ``in_flight`` − ``delivered`` − ``lost``),
          ``srtt`` (time; default 7/8 of the last and 1/8 of ``rtt``), ``min_rtt`` (time; default the
          smallest so far), ``rate`` (delivery-rate sample such as ``"8Mbit"`` or bit/s; default what was
          delivered in the last ``rtt``, by ``rtt``), ``round`` (does it end a round trip? default: when all
          that was in flight at the round's beginning has been delivered), ``app_limited`` (the window was not
          filled; default false), ``recovering`` (a loss is being repaired; default false);
        - ``"loss"``, ``"mark"`` (told once for each window of data), ``"timeout"``: ``in_flight`` (amount;
          default the window);
        - ``"recovered"``: the repair of losses is over;
        - ``"idle"``: ``restart`` (amount; required): nothing was sent for a retransmission timeout.

        A time is a whole number of nanoseconds or text with a unit (``"20ms"``); an amount is a number of
        segments or text in bytes (``"2892B"``).
    mss
        Bytes of a segment.
    cwnd
        First window (amount).
    hystart
        How the slow start of ``cubic`` and ``cubic-rfc9438`` ends: ``"none"``, ``"linux"`` or ``"rfc9406"``.
    target
        Queueing delay that ``ledbat``, ``ledbat-ns2`` (100 ms) and ``ledbat++`` (60 ms) aim at (time).
    seed
        What ``bbr`` and ``bbr3`` draw from.
    **state
        Variables set before the first event, in the units in which they are told: ``ssthresh``, ``w_max``,
        ``base_delay``, ``alpha``, ``dwnd``, ``min_rtt`` …; see docs/controller.md for those of each kind.

    Returns
    -------
    Windows
        One entry for each event.

    Raises
    ------
    ValueError
        One sentence: the kind, a variable or an event is not as above; of events it gives the index, from 0.

    Example
    -------
    >>> import sojourn
    >>> acks = [{"event": "ack", "at": f"{100 * i}ms", "delivered": 10, "rtt": "100ms"} for i in range(1, 4)]
    >>> sojourn.controller("reno", acks, cwnd=10, ssthresh=10).cwnd.tolist()
    [11.0, 11.0, 12.0]
    """
    if isinstance(events, Mapping) or not isinstance(events, Iterable):
        raise ArgumentError(f"events is {shown(events)}; expected a list of dicts")
    example = '{"event": "recovered", "at": 0}'
    told = [mapping(event, f"event {index}", example) for index, event in enumerate(events)]
    setup = {
        "kind": kind,
        "mss": mss,
        "cwnd": cwnd,
        "hystart": hystart,
        "target": target,
        "seed": whole(seed, "seed"),
        "state": {name: number(value, name) for name, value in state.items()},
    }
    rows = json.loads(_core.controller(as_json(setup, "an option"), as_json(told, "an event")))
    names = sorted({name for row in rows for name in row["state"]})
    return Windows(
        at=_column(rows, "at", np.int64),
        cwnd=_column(rows, "cwnd", np.float64),
        ssthresh=_column(rows, "ssthresh", np.float64, math.inf),
        window=_column(rows, "window", np.int64),
        pacing=_column(rows, "pacing", np.float64, math.nan),
        state={name: _column([row["state"] for row in rows], name, np.float64, math.nan) for name in names},
    )


def _column(rows: list[dict[str, Any]], name: str, dtype: type, absent: float = 0) -> np.ndarray:
    values = (row.get(name) for row in rows)
    return np.array([absent if value is None else value for value in values], dtype=dtype)
