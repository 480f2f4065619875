"""Viewers of adaptive video: the simulator's players over HTTP, or those of the web in a browser.

`dynamicdash` and `dash.js` are what dash.js does, so that dash.js itself does it here; and so with `hls.js`
and `shaka`. Every other algorithm is the simulated one, behind a real client and a real server.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.study.units import bytes_of, seconds
from sojourn.sweep.testbed import dash, tcp
from sojourn.sweep.testbed.dash import library
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds.browser import unset
from sojourn.sweep.testbed.kinds.web import short_header
from sojourn.sweep.testbed.program import Left, Program
from sojourn.sweep.testbed.programs import chromium

LIBRARIES = {
    "dynamicdash": library.DASH_JS,
    "dash.js": library.DASH_JS,
    "hls.js": library.HLS_JS,
    "shaka": library.SHAKA,
}
"""Algorithms that are a library's own."""

_TIMES = ("request", "first_byte", "arrive")


class Adaptive:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if entry.get("live"):
            return "live: streams with low latency are simulated only; the testbed has recorded ones"
        if (player := _library(entry)) is not None:
            for reason in (chromium.missing(), player.missing(), dash.missing()):
                if reason is not None:
                    kind = entry["algorithm"]["kind"]
                    return f"algorithm: {kind} is {player.name} in a browser on the testbed, and {reason}"
        return short_header(entry) or tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all viewers of the entry."""
        entry = place.entry
        client = {"entry": place.number, "request": bytes_of(entry["request"])}
        server = {"entry": place.number, "header": bytes_of(entry["response-header"])}
        settings, files = tcp.settings(entry, place.delay_ns), {"point.json": place.point.text.encode()}
        player = _library(entry)
        if player is None:
            return [Program("adaptive", place.key, client, server, settings, files)]
        from sojourn.sweep.testbed.dash.media import coded

        lengths, timescales = {viewing.clip()[0] for viewing in _viewings(place)}, {}
        for segment_s in lengths:
            name = f"{segment_s:g}"
            files[f"{name}.beginning"], files[f"{name}.fragment"], timescales[name] = coded(segment_s)
        files["player.js"] = player.script().read_bytes()
        files["player.html"] = (Path(dash.__file__).parent / "player.html").read_bytes()
        client |= {
            "player": entry["algorithm"]["kind"],
            # Of the buffer's length, a segment is to find room.
            "buffer_s": seconds(entry["buffer"]) - max(lengths, default=0.0),
            "initial_s": seconds(entry["initial"]),
            "give_up": entry.get("give-up", False),
        }
        return [Program("dash", place.key, client, server | {"timescales": timescales}, settings, files)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return what the viewers saw."""
        (found,) = left
        viewers = found.client["viewers"]
        if (player := _library(place.entry)) is None:
            return Gathered(tables=tables(viewers))
        heard = [f"{player.name}: {what}" for viewer in viewers for what in viewer["heard"]]
        notes = [*unset(place.entry), *heard[:5]]
        return Gathered(
            tables=tables(viewers), notes=notes, facts={"player": f"{player.name} {player.version}"}
        )


def _library(entry: Mapping[str, Any]) -> library.Library | None:
    return LIBRARIES.get(entry["algorithm"]["kind"])


def _viewings(place: Place) -> list[Any]:
    return [one for one in _core.viewings(place.point.text) if one.entry == place.number]


def tables(viewers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the tables of viewers as the simulation has them, from what the program left.

    Parameters
    ----------
    viewers
        For each its `user`, `begun_ns` (None if its session never began), `opened_ns` if its connection was
        asked for before, `played_s`, `stalls`, `segments`, `segment_s` and columns in `rows`, with times in
        seconds since its session began.
    """
    if not viewers:
        return {}

    def at(viewer: Mapping[str, Any], time_s: float | None) -> int:
        never = viewer["begun_ns"] is None or time_s is None or np.isinf(time_s)
        return -1 if never else int(viewer["begun_ns"] + time_s * 1e9 + 0.5)

    rows = [
        (viewer, {name: column[k] for name, column in viewer["rows"].items()}, k)
        for viewer in viewers
        for k in range(len(viewer["rows"].get("level", ())))
    ]
    segments = {
        "user": np.array([viewer["user"] for viewer, _, _ in rows], dtype=np.uint32),
        "segment": np.array([row.get("segment", k + 1) for _, row, k in rows], dtype=np.uint32),
        "level": np.array([row["level"] for _, row, _ in rows], dtype=np.uint16),
        "bytes": np.array([row["bytes"] for _, row, _ in rows], dtype=np.uint64),
        "given_up": np.array([row["given_up"] for _, row, _ in rows], dtype=np.uint32),
    }
    for name in ("rate_kbps", "before_s", "after_s", "estimate_kbps"):
        segments[name] = np.array([row[name] for _, row, _ in rows], dtype=np.float64)
    for name in _TIMES:
        times = [at(viewer, row[f"{name}_s"]) for viewer, row, _ in rows]
        segments[f"{name}_ns"] = np.array(times, dtype=np.int64)
    ends = [_end_s(viewer) for viewer in viewers]
    watched = {
        "user": np.array([viewer["user"] for viewer in viewers], dtype=np.uint32),
        "opened_ns": np.array(
            [viewer.get("opened_ns", viewer["begun_ns"]) for viewer in viewers], dtype=np.int64
        ),
        "start_ns": np.array([at(viewer, 0.0) for viewer in viewers], dtype=np.int64),
        "play_ns": np.array([at(viewer, viewer["played_s"]) for viewer in viewers], dtype=np.int64),
        "end_ns": np.array(
            [at(viewer, end) for viewer, end in zip(viewers, ends, strict=True)], dtype=np.int64
        ),
        "segments": np.array([viewer["segments"] for viewer in viewers], dtype=np.uint32),
        "segment_s": np.array([viewer["segment_s"] for viewer in viewers], dtype=np.float64),
    }
    stalls = [(viewer, stall) for viewer in viewers for stall in viewer["stalls"]]
    stalled = {
        "user": np.array([viewer["user"] for viewer, _ in stalls], dtype=np.uint32),
        "from_ns": np.array([at(viewer, stall[0]) for viewer, stall in stalls], dtype=np.int64),
        "to_ns": np.array([at(viewer, stall[1]) for viewer, stall in stalls], dtype=np.int64),
    }
    return {"adaptive": segments, "viewers": watched, "stalls": stalled}


def _end_s(viewer: Mapping[str, Any]) -> float | None:
    """Return when the last segment of the clip came; None if it did not."""
    rows = viewer["rows"]
    numbers = rows.get("segment", range(1, len(rows.get("level", ())) + 1))
    return next(
        (
            time
            for number, time in zip(numbers, rows.get("arrive_s", ()), strict=True)
            if number == viewer["segments"]
        ),
        None,
    )
