"""Telephone calls over RTP: real packets on time, their fates given to the study's playout and score."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds import datagrams
from sojourn.sweep.testbed.program import Left, Program

_PAYLOADS = {"g711a": 8, "g729a": 18, "g722": 9}
"""Payload types of RFC 3551; others are dynamic."""


class Voice:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run: a rehearsal's samples would not be those that are scored."""
        dtx = (entry.get("opus") or {}).get("dtx")
        return "opus.dtx: calls that do not send their pauses are simulated only" if dtx else None

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all callers of the entry."""
        payload = _PAYLOADS.get(place.entry["codec"], 96)
        return [datagrams.program(place, place.rehearse(), payload)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return the table of calls with the delays that were measured.

        A call is in it if it began after the warm-up and ended 1 s before the end, by when its last packet
        had arrived or was lost: a simulation, which knows what was lost, needs no such time.
        """
        (found,) = left
        rehearsal = place.rehearse()
        if "voice" not in rehearsal.tables:  # no call was over when the run ended
            return Gathered(notes=datagrams.notes(left))
        table = {name: np.array(column) for name, column in rehearsal.tables["voice"].items()}
        datagrams.measure(table, rehearsal, found)
        table["user"] += place.first_user
        kept = _complete(table, place.warmup_ns, place.duration_ns)
        return Gathered(
            tables={"voice": {name: column[kept] for name, column in table.items()}},
            notes=datagrams.notes(left),
        )


def _complete(table: Mapping[str, NDArray[Any]], warmup_ns: int, duration_ns: int) -> NDArray[np.bool_]:
    """Say which rows are of calls that count."""
    sent = table["sent_ns"].astype(np.int64)
    keys = table["user"].astype(np.int64) << 32 | table["call"].astype(np.int64)
    _, call = np.unique(keys, return_inverse=True)
    begins = np.full(call.max(initial=-1) + 1, np.iinfo(np.int64).max)
    ends = np.zeros_like(begins)
    np.minimum.at(begins, call, sent)
    np.maximum.at(ends, call, sent)
    good = (begins >= warmup_ns) & (ends <= duration_ns - 1_000_000_000)
    return good[call]
