"""Every controller and every queue alone, to the last bit: by lists of events, and with each variable set.

Each variable that can be set is set once. Numbers count to nine digits. Written anew:

    python tests/test_fingerprints_parts.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import sojourn
from test_fingerprints_whole import DATA, TRANSPORTS, digest
from test_replay import QUEUES

FILE = DATA / "fingerprints_parts.json"
MS = 1_000_000


def acks(count: int, at: int, rtt: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"event": "ack", "at": (at + k * rtt // 8) * MS, "delivered": 2, "rtt": f"{rtt + k % 7}ms", **more}
        for k in range(count)
    ]


def story(*parts: Any) -> list[dict[str, Any]]:
    """Put events after one another: lists as they are, words half a second after what came before."""
    found: list[dict[str, Any]] = []
    for part in parts:
        last = found[-1]["at"] if found else 0
        if isinstance(part, list):
            found += [{**event, "at": event["at"] + last} for event in part]
        else:
            found.append({"at": last + 500 * MS, **part})
    return found


LOSS, MARK, TIMEOUT = ({"event": name} for name in ("loss", "mark", "timeout"))
RECOVERED, IDLE = {"event": "recovered"}, {"event": "idle", "restart": 4}
STORIES = {
    "growth": story(acks(60, 0, 20)),
    "losses": story(acks(40, 0, 20), LOSS, acks(20, 1, 40), RECOVERED, acks(60, 1, 30), LOSS, RECOVERED,
                    acks(40, 1, 20)),
    "timeouts": story(acks(30, 0, 50), TIMEOUT, acks(10, 1, 90), TIMEOUT, RECOVERED, acks(60, 1, 50)),
    "marks": story(acks(40, 0, 10, marked=1), MARK, acks(40, 1, 12, marked=2), MARK, acks(80, 1, 10)),
    "a full queue": story(acks(40, 0, 20, one_way="10ms"), acks(80, 1, 160, one_way="150ms"),
                          acks(60, 1, 22, one_way="11ms")),
    "little to send": story(acks(30, 0, 30, app_limited=True), IDLE, acks(30, 1, 30), IDLE,
                            acks(30, 1, 30, app_limited=True, in_flight=1)),
    "rates that are told": story(acks(40, 0, 20, rate="8Mbit", lost=1), acks(80, 1, 25, rate="2Mbit")),
}  # fmt: skip
LONG = story(acks(40, 0, 20, one_way="10ms"), LOSS, RECOVERED, acks(40, 1, 60, marked=1, one_way="55ms"),
             MARK, acks(40, 1, 20), TIMEOUT, acks(60, 1, 25))  # fmt: skip


def of_controller(kind: str, events: list[dict[str, Any]], **options: Any) -> str:
    found = sojourn.controller(kind, events, **options)
    rows = [found.at, found.window]
    rows += [[float(x) for x in each] for each in (found.cwnd, found.ssthresh, found.pacing)]
    return digest(rows, {name: [float(x) for x in values] for name, values in found.state.items()})


def variables(kind: str) -> list[str]:
    return ["ssthresh", *sojourn.controller(kind, LONG).state]


def of_variable(kind: str, name: str) -> str:
    """Digest what follows when a variable is set; what is only told is refused by its name."""
    try:
        return of_controller(kind, LONG, cwnd=20, **{name: 7.0})
    except ValueError as error:
        return str(error).partition(";")[0]


TIMES = np.cumsum([(37 * k) % 11 * 100_000 + (3 * MS if k % 50 == 49 else 0) for k in range(400)])
PACKETS = {
    "all alike": {"time": TIMES},
    "marked and not": {"time": TIMES, "ecn": np.arange(400) % 4, "flow": np.arange(400) % 5},
    "of all sizes": {
        "time": TIMES,
        "size": 40 + (np.arange(400) * 97) % 1461,
        "flow": (np.arange(400) // 9) % 3,
    },
}
LEAVING: dict[str, Any] = {"by a link": "9Mbit", "by times": (TIMES[::2] + 400_000).tolist()}


def of_queue(queue: dict[str, Any], packets: str, leaving: str, **options: Any) -> str:
    """Digest every fate and every variable; what is refused is a sentence."""
    try:
        found = sojourn.replay(queue, PACKETS[packets], LEAVING[leaving], **options)
    except ValueError as error:
        return str(error)
    trace = {name: np.asarray(values).tolist() for name, values in found.trace.items()}
    return digest(found.fate.tolist(), found.cause.tolist(), found.left.tolist(), trace)


EVERY: dict[str, Callable[[], str]] = {
    **{f"{kind}: {name}": partial(of_controller, kind, events)
       for kind in TRANSPORTS for name, events in STORIES.items()},
    **{f"{kind}: {how}, from 40": partial(of_controller, kind, LONG, cwnd=40, hystart=how)
       for kind in ("cubic", "cubic-rfc9438") for how in ("linux", "rfc9406")},
    **{f"{kind}, {name} = 7": partial(of_variable, kind, name)
       for kind in TRANSPORTS for name in variables(kind)},
    **{f"{json.dumps(queue)}: {packets} {leaving}": partial(of_queue, queue, packets, leaving)
       for queue in QUEUES for packets in PACKETS for leaving in LEAVING},
    **{f"{json.dumps(queue)}: every draw {draw}": partial(
        of_queue, queue, "marked and not", "by a link", draws=draw)
       for queue in QUEUES for draw in (0.0, 0.01, 0.999)},
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_part_does_what_it_did(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what comes of {name} has changed"


def test_every_part_that_is_kept_is_there() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(EVERY)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
