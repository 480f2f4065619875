"""Players of games: ticks, pictures and inputs on time, scored by when they came, as simulated ones are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sojourn.study.units import bytes_of
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds import datagrams
from sojourn.sweep.testbed.program import Left, Program

SETTLED_NS = 1_000_000_000
"""What was sent so shortly before the end is left out: it may have been under way."""


class Gaming:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run: its ticks have no room for the number that tells them apart."""
        for key in ("down", "up"):
            if key in entry and bytes_of(entry[key]) < datagrams.LEAST:
                return f"{key}: ticks of {entry[key]} cannot be told apart; write {datagrams.LEAST}B or more"
        return None

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all players of the entry."""
        return [datagrams.program(place, place.rehearse())]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return the table of what was sent from the warm-up on until a second before the end."""
        (found,) = left
        rehearsal = place.rehearse()
        table = {name: np.array(column) for name, column in rehearsal.tables["game"].items()}
        due = table["sent_ns"].astype(np.int64)
        datagrams.measure(table, rehearsal, found)
        table["user"] += place.first_user
        kept = (due >= place.warmup_ns) & (due < place.duration_ns - SETTLED_NS)
        return Gathered(
            tables={"game": {name: column[kept] for name, column in table.items()}},
            notes=datagrams.notes(left),
        )
