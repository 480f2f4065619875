"""Callers with a camera: two Chromiums hold each call with their own WebRTC, and say what was shown.

The tables are the simulation's. A picture's delay runs from the encoder's output at one end to its drawing at
the other, both by the clock of this machine. Freezes and their lengths are those of `getStats`, which tells
of them 200 ms apart; the last picture drawn before it does is said to end them. Bytes are those of RTP and
SRTP by `getStats`, and 28 of IP and UDP for each packet.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.study.units import bits_per_second
from sojourn.sweep.testbed import webrtc
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.program import Left, Program, Settings
from sojourn.sweep.testbed.programs import chromium

START_RATE = 300_000
"""libwebrtc's first target."""

_MOST = (
    (180, 300_000),
    (270, 500_000),
    (360, 800_000),
    (540, 1_500_000),
    (720, 2_500_000),
    (1080, 5_000_000),
)
"""Lines, and the most that the simulated call gives to pictures of as many, bit/s."""

_WAYS = ((0, "sends", "client", "server"), (1, "receives", "server", "client"))
_BIN_NS = 200_000_000
_TAIL_NS = 1_000_000_000
"""Pictures that were taken so late in a run may not have been drawn any more, as in the simulation."""
_IP_UDP = 28
_TAG = {"SHA1_80": 10, "SHA1_32": 4}
"""Bytes that SRTP adds to a packet, by how its cipher ends; others add 16 (RFC 7714)."""


class Call:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if (reason := chromium.missing()) is not None:
            return f"kind: calls are held by browsers on the testbed, and {reason}"
        if bits_per_second(entry["start-rate"]) != START_RATE:
            return (
                f"start-rate: a browser begins at {START_RATE // 1000} kbit/s, not at {entry['start-rate']}"
            )
        return None

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all callers of the entry."""
        entry = place.entry
        height = entry["height"]
        told = {
            "calls": [place.start_ns(k) for k in range(entry["count"])],
            "width": webrtc.width_of(height),
            "height": height,
            "fps": entry["fps"],
            "most": most_rate(entry),
            "audio": bits_per_second(entry["audio"]),
        }
        ways = {"up": (True, False), "down": (False, True), "both": (True, True)}[entry["direction"]]
        ends = {
            "client": told | {"sends": ways[0], "receives": ways[1], "offers": True},
            "server": told | {"sends": ways[1], "receives": ways[0], "offers": False},
        }
        files = {"call.html": webrtc.PAGE.read_bytes(), "camera.y4m": webrtc.camera(height, entry["fps"])}
        return [Program("call", place.key, **ends, settings=Settings(delay_ns=place.delay_ns), files=files)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return the frames and the rates of each call."""
        (found,) = left
        frames: list[dict[str, NDArray[Any]]] = []
        rates: list[dict[str, NDArray[Any]]] = []
        facts: dict[str, Any] = {"browser": f"Chromium {found.client['browser']} without a window"}
        notes: list[str] = []
        ends = {"client": found.client, "server": found.server}
        for direction, name, *way in _WAYS:
            if place.entry["direction"] not in ("both", ("up", "down")[direction]):
                continue
            told = []
            for k in range(place.entry["count"]):
                pages = [(ends[end]["calls"][k], ends[end]["ahead_ns"]) for end in way]
                if any(page["began"] is None for page, _ in pages):
                    notes.append(f"call {k} had not begun by the end of the run, and is not in the results")
                    continue
                if pages[1][0]["state"] != "connected":
                    notes.append(f"call {k} was {pages[1][0]['state']} at its end")
                call = Heard(*pages)
                who = {"user": place.first_user + k, "direction": direction}
                frames.append(call.frames(who, place.warmup_ns, place.duration_ns))
                rates.append(call.rates(who, place.duration_ns))
                told.append(call.facts(place.warmup_ns))
            facts[name] = told
            notes += [
                f"{name}: for {one['limited_s']['cpu']:.1f} s the encoder was short of processor time"
                for one in told
                if one["limited_s"].get("cpu", 0) > 0
            ]
        # Of both ways of a call the same may be said.
        notes = list(dict.fromkeys(notes))
        if not rates:
            return Gathered(notes=notes, facts=facts)
        tables = {
            name: {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}
            for name, parts in (("call", frames), ("call_rates", rates))
        }
        return Gathered(tables=tables, notes=notes, facts=facts)


def most_rate(entry: Mapping[str, Any]) -> int:
    """Return the most that video takes, bit/s, as the simulated call has it."""
    if (most := entry.get("max-rate")) is not None:
        return bits_per_second(most)
    return next((rate for lines, rate in _MOST if lines >= entry["height"]), _MOST[-1][1])


class Heard:
    """One direction of a call: what the pages at its two ends have noted.

    Parameters
    ----------
    sender, receiver
        What a page left, and what the machine's clock was ahead of the study's time, ns.
    """

    def __init__(self, sender: tuple[Any, int], receiver: tuple[Any, int]) -> None:
        self._sent, self._sent_ahead = sender
        self._came, self._came_ahead = receiver

    def frames(self, who: Mapping[str, int], warmup_ns: int, end_ns: int) -> dict[str, NDArray[Any]]:
        """Return a row for each picture that was encoded in the measured period."""
        encoded = self._sent["encoded"]
        captured = np.array([_ns(row[1], self._sent_ahead) for row in encoded], dtype=np.int64)
        at = {stamp: _ns(ms, self._came_ahead) for stamp, ms in self._came["drawn"]}
        shown = np.array([at.get(row[0], -1) for row in encoded], dtype=np.int64)
        order = np.flatnonzero(shown >= 0)[np.argsort(shown[shown >= 0], kind="stable")]
        gap = np.full(len(encoded), -1, dtype=np.int64)
        gap[order[1:]] = np.diff(shown[order])
        frozen = np.zeros(len(encoded), dtype=bool)
        for told_ns, length_ns in self._freezes():
            ends = np.searchsorted(shown[order], told_ns, side="right") - 1
            if ends >= 0:
                frozen[order[ends]], gap[order[ends]] = True, length_ns
        kept = (captured >= warmup_ns) & ((shown >= 0) | (captured + _TAIL_NS <= end_ns))
        columns = {
            "user": np.full(len(encoded), who["user"], dtype=np.uint32),
            "direction": np.full(len(encoded), who["direction"], dtype=np.uint8),
            "frame": np.arange(len(encoded), dtype=np.uint32),
            "captured_ns": np.maximum(captured, 0).astype(np.uint64),
            "delay_ns": np.where(shown >= 0, np.maximum(shown - captured, 0), -1),
            "bytes": np.array([row[2] for row in encoded], dtype=np.uint32),
            "height": np.array([row[4] or 0 for row in encoded], dtype=np.uint16),
            "key": np.array([row[3] for row in encoded], dtype=bool),
            "gap_ns": gap,
            "frozen": frozen,
        }
        return {name: column[kept] for name, column in columns.items()}

    def rates(self, who: Mapping[str, int], end_ns: int) -> dict[str, NDArray[Any]]:
        """Return a row for each 200 ms since the call began."""
        began = max(_ns(self._came["began"], self._came_ahead), 0)
        grid = np.arange(began, end_ns + 1, _BIN_NS)
        sent = self._bytes(self._sent, self._sent_ahead, "outbound-rtp", "Sent", grid)
        received = self._bytes(self._came, self._came_ahead, "inbound-rtp", "Received", grid)
        looks = [(at, of["targetBitrate"]) for at, of in self._video("outbound-rtp") if "targetBitrate" in of]
        times, targets = ([one[k] for one in looks] or [0] for k in (0, 1))
        count = len(grid) - 1
        return {
            "user": np.full(count, who["user"], dtype=np.uint32),
            "direction": np.full(count, who["direction"], dtype=np.uint8),
            "time_ns": grid[1:].astype(np.uint64),
            "target_bps": np.interp(grid[1:], times, targets),
            "sent_bytes": np.diff(sent).astype(np.uint64),
            "received_bytes": np.diff(received).astype(np.uint64),
        }

    def facts(self, warmup_ns: int) -> dict[str, Any]:
        """Return what `getStats` says besides, of the measured period."""
        came, sent = (
            [(at, of) for at, of in self._video(kind) if at >= warmup_ns]
            for kind in ("inbound-rtp", "outbound-rtp")
        )
        path = [of for at, of in self._of("candidate-pair", self._sent, self._sent_ahead) if at >= warmup_ns]
        codecs = {of.get("mimeType") for _, of in self._of("codec", self._sent, self._sent_ahead)}
        limits = [of.get("qualityLimitationDurations", {}) for _, of in (*sent[:1], *sent[-1:])]
        return {
            "codecs": sorted(filter(None, codecs)),
            "encoder": sent[-1][1].get("encoderImplementation") if sent else None,
            "freezes": _grown(came, "freezeCount"),
            "frozen_s": round(_grown(came, "totalFreezesDuration"), 3),
            "frames_encoded": _grown(sent, "framesEncoded"),
            "frames_decoded": _grown(came, "framesDecoded"),
            "frames_drawn": sum(_ns(ms, self._came_ahead) >= warmup_ns for _, ms in self._came["drawn"]),
            "quantiser": _share(sent, "qpSum", "framesEncoded"),
            "jitter_buffer_ms": _share(came, "jitterBufferDelay", "jitterBufferEmittedCount", 1e3),
            "jitter_target_ms": _share(came, "jitterBufferTargetDelay", "jitterBufferEmittedCount", 1e3),
            "target_kbps": _median([of["targetBitrate"] / 1e3 for _, of in sent if "targetBitrate" in of]),
            "rtt_ms": _median(
                [1e3 * of["currentRoundTripTime"] for of in path if "currentRoundTripTime" in of]
            ),
            "available_kbps": _median(
                [of["availableOutgoingBitrate"] / 1e3 for of in path if "availableOutgoingBitrate" in of]
            ),
            "nacks": _grown(came, "nackCount"),
            "key_frames_asked": _grown(came, "pliCount"),
            "rtp_header_bytes": _share(sent, "headerBytesSent", "packetsSent"),
            "repairs_bytes": _grown(sent, "retransmittedBytesSent"),
            "fec_packets": _grown(came, "fecPacketsReceived"),
            "limited_s": {
                name: round(length - limits[0].get(name, 0), 1)
                for name, length in (limits[-1] if limits else {}).items()
            },
        }

    def _video(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        page = (self._came, self._came_ahead) if kind == "inbound-rtp" else (self._sent, self._sent_ahead)
        return [(at, of) for at, of in self._of(kind, *page) if of["kind"] == "video"]

    @staticmethod
    def _of(kind: str, page: Mapping[str, Any], ahead_ns: int) -> list[tuple[int, dict[str, Any]]]:
        return [
            (_ns(of["at"], ahead_ns), of)
            for look in page["looks"]
            for of in look["streams"]
            if of["type"] == kind
        ]

    def _freezes(self) -> list[tuple[int, int]]:
        """Return when freezes were first told, and how long each was, ns."""
        found, count, length = [], 0, 0.0
        for at, of in self._video("inbound-rtp"):
            more = of.get("freezeCount", 0) - count
            if more > 0:
                # Of several in 200 ms the sum is known: one of this length has the same share of time.
                found.append((at, round((of["totalFreezesDuration"] - length) * 1e9)))
            count, length = count + more, of.get("totalFreezesDuration", 0.0)
        return found

    @staticmethod
    def _bytes(
        page: Mapping[str, Any], ahead_ns: int, kind: str, verb: str, grid: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the bytes at IP of all streams of a kind by the times of a grid."""
        times, totals = [0], [0.0]
        for look in page["looks"]:
            cipher = next((of["srtpCipher"] for of in look["streams"] if of.get("srtpCipher")), None)
            around = _IP_UDP + _TAG.get((cipher or "")[-7:], 16)
            mine = [of for of in look["streams"] if of["type"] == kind]
            total = sum(
                of.get(f"bytes{verb}", 0)
                + of.get(f"headerBytes{verb}", 0)
                + around * of.get(f"packets{verb}", 0)
                for of in mine
            )
            times.append(_ns(look["at"], ahead_ns))
            totals.append(max(float(total), totals[-1]))
        return np.rint(np.interp(grid, times, totals))


def _ns(ms: float, ahead_ns: int) -> int:
    return round(ms * 1e6) - ahead_ns


def _grown(looks: Sequence[tuple[int, Mapping[str, Any]]], name: str) -> Any:
    """Return how much a count has grown over looks."""
    values = [of[name] for _, of in looks if name in of]
    return values[-1] - values[0] if values else 0


def _share(
    looks: Sequence[tuple[int, Mapping[str, Any]]], part: str, whole: str, unit: float = 1
) -> float | None:
    """Return how much one count has grown for each of another."""
    count = _grown(looks, whole)
    return round(unit * _grown(looks, part) / count, 1) if count else None


def _median(values: Sequence[float]) -> float | None:
    return round(float(np.median(values)), 2) if values else None
