"""Video streams: clips sent as RTP over UDP, and scored by what arrived of them."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.study.inputs import video as inputs
from sojourn.study.units import nanoseconds
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.program import Left, Program, Settings
from sojourn.sweep.testbed.programs.video import ssrc

SETTLED_NS = 3_000_000_000
"""A packet that has not come so long after it was sent is lost."""


class Video:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        return None

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all viewers of the entry."""
        from sojourn.qoe import video
        from sojourn.qoe.media.video.coding import encoded

        entry = place.entry
        how = video.coding(entry["resolution"], entry["profile"])
        sent = inputs.packets(place.point.document)[place.number]
        files: dict[str, bytes] = {}
        for number, (name, (due_ns, size)) in enumerate(zip(entry["clips"], sent, strict=True)):
            files[f"{number}.due"] = np.ascontiguousarray(due_ns, dtype=np.uint64).tobytes()
            files[f"{number}.size"] = np.ascontiguousarray(size, dtype=np.uint16).tobytes()
            files[f"{number}.ts"] = encoded(name, how).ts

        server = {
            "clips": len(entry["clips"]),
            "starts_ns": [place.start_ns(k) for k in range(entry["count"])],
            "gap_ns": nanoseconds(entry["gap"]),
        }
        settings = Settings(delay_ns=place.delay_ns)
        return [Program("video", place.key, {}, server, settings, files=files)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return a row for each packet of the showings that were over when the run was."""
        (found,) = left
        sent = _columns(found.folder, "sent", ("user", "showing", "clip", "seq", "sent_ns"))
        came = _columns(found.folder, "came", ("ssrc", "seq", "at_ns"))
        arrived = {
            (source, seq): at
            for source, seq, at in zip(
                *(came[name].tolist() for name in ("ssrc", "seq", "at_ns")), strict=True
            )
        }
        sources = [ssrc(*pair) for pair in zip(sent["user"].tolist(), sent["showing"].tolist(), strict=True)]
        at = [arrived.get(key, -1) for key in zip(sources, sent["seq"].tolist(), strict=True)]
        delay = np.where(np.array(at) < 0, -1, np.array(at) - sent["sent_ns"]).astype(np.int64)
        lengths = [len(size) for _, size in inputs.packets(place.point.document)[place.number]]
        kept = np.zeros(len(delay), dtype=bool)
        order = np.lexsort((sent["seq"], sent["showing"], sent["user"]))
        groups = np.array(sources)[order]
        bounds = [*np.flatnonzero(np.diff(groups, prepend=-1)).tolist(), len(order)]
        for first, end in pairwise(bounds):
            rows = order[first:end]
            over = delay[rows] >= 0
            over |= sent["sent_ns"][rows] + SETTLED_NS <= place.duration_ns
            whole = len(rows) == lengths[int(sent["clip"][rows[0]])]
            kept[rows] = whole and over.all() and sent["sent_ns"][rows[0]] >= place.warmup_ns
        order = order[kept[order]]
        if not order.size:
            return Gathered(notes=["no showing was over when the run was"])
        table = {
            "user": (sent["user"][order] + place.first_user).astype(np.uint32),
            "showing": sent["showing"][order].astype(np.uint32),
            "clip": sent["clip"][order].astype(np.uint8),
            "seq": sent["seq"][order].astype(np.uint32),
            "sent_ns": sent["sent_ns"][order].astype(np.uint64),
            "delay_ns": delay[order],
        }
        return Gathered(tables={"video": table})


def _columns(folder: Path, kind: str, names: tuple[str, ...]) -> dict[str, NDArray[np.int64]]:
    return {name: np.frombuffer((folder / f"{kind}.{name}").read_bytes(), dtype=np.int64) for name in names}
