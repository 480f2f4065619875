"""How tests of the queue disciplines call `sojourn.replay`: in milliseconds."""

import numpy as np
import sojourn


def ns(ms):
    return np.round(np.asarray(ms, dtype=float) * 1e6).astype(np.int64)


def replay(kind, packets, departures, *, draws=None, state=None, **keys):
    """Replay with times in ms; `packets` are (ms, size, flow, ecn), the last left out, or just ms."""
    rows = [row if isinstance(row, tuple) else (row, 1000) for row in packets]
    rows = [(int(ns(row[0])), *row[1:]) for row in rows]
    departures = departures if isinstance(departures, str) else ns(departures)
    queue = {"limit": "1000pkt", **keys, "kind": kind}
    return sojourn.replay(queue, rows, departures, draws=draws, state=state)


def after(found, event, name):
    return found.trace[name][found.rows(event)]
