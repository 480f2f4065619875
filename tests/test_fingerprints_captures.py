"""What is measured in captures, to the last byte: with each option, and of captures that are damaged.

Frames are left out, doubled, exchanged, cut short and damaged, and times go back. Written anew:

    python tests/test_fingerprints_captures.py
"""

from __future__ import annotations

import gzip
import json
import struct
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sojourn.capture import measure
from sojourn.capture.workload import read as read_workload
from sojourn.errors import SojournError
from sojourn.losses import captures
from test_fingerprints_whole import DATA, digest

FILE = DATA / "fingerprints_captures.json"
TAKEN = ("directions/up4_at_A", "directions/both2_at_B", "passive/tcp_loss", "passive/derived_tick4ms")
Frames = list[tuple[int, int, int, bytes]]
"""Seconds, parts of a second, length and bytes of each frame."""


@cache
def whole(name: str) -> tuple[bytes, Frames]:
    """Return the header of a capture, and its frames."""
    text = gzip.decompress((DATA / f"{name}.pcap.gz").read_bytes())
    frames, at = [], 24
    while at < len(text):
        seconds, part, here, length = struct.unpack_from("<IIII", text, at)
        frames.append((seconds, part, length, text[at + 16 : at + 16 + here]))
        at += 16 + here
    return text[:24], frames


def taken(name: str) -> tuple[bytes, Frames]:
    """Return the header of a capture, and its first frames."""
    head, frames = whole(name)
    return head, frames[:1500]


def made(head: bytes, frames: Frames) -> bytes:
    return head + b"".join(struct.pack("<IIII", s, part, len(b), n) + b for s, part, n, b in frames)


def exchanged(frames: Frames) -> Frames:
    return [frames[n ^ 1] if n ^ 1 < len(frames) else frames[n] for n in range(len(frames))]


def flipped(frames: Frames, place: int) -> Frames:
    """Damage a byte of every fifth frame."""

    def damaged(b: bytes) -> bytes:
        return b[:place] + bytes([b[place] ^ 0x41]) + b[place + 1 :] if len(b) > place else b

    return [(s, part, n, damaged(b) if k % 5 == 0 else b) for k, (s, part, n, b) in enumerate(frames)]


DAMAGED: dict[str, Callable[[Frames], Frames]] = {
    "every seventh is missing": lambda frames: [f for k, f in enumerate(frames) if k % 7],
    "a long piece is missing": lambda frames: frames[:400] + frames[900:],
    "begins in the middle": lambda frames: frames[len(frames) // 2 :],
    "every third is doubled": lambda frames: [
        f for k, f in enumerate(frames) for _ in range(1 + (k % 3 == 0))],
    "pairs are exchanged": exchanged,
    "headers alone": lambda frames: [(s, part, n, b[:60]) for s, part, n, b in frames],
    "hardly a header": lambda frames: [(s, part, n, b[:36]) for s, part, n, b in frames],
    "a clock that jumps back": lambda frames: [
        (s - 2 if k > 700 else s, part, n, b) for k, (s, part, n, b) in enumerate(frames)],
    "a clock that jumps ahead": lambda frames: [
        (s + 3600 if k > 700 else s, part, n, b) for k, (s, part, n, b) in enumerate(frames)],
    "one frame": lambda frames: frames[:1],
    "two frames": lambda frames: frames[:2],
    "none": lambda frames: [],
    **{f"damage at {place}": partial(flipped, place=place) for place in (
        12, 14, 17, 20, 23, 26, 34, 38, 46, 47, 50)},
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "observer": {"estimator": "observer"}, "reported": {"estimator": "reported"},
    "from": {"from_s": 1.0}, "to": {"to_s": 2.0}, "between": {"from_s": 0.5, "to_s": 1.5},
    "few": {"min_samples": 400}, "one thread": {"jobs": 1}, "two threads": {"jobs": 2},
    "local": {"local": ["10.0.0.0/8"]}, "one local": {"local": ["10.0.0.1"]},
}  # fmt: skip


def of(name: str, change: Callable[[Frames], Frames], **options: Any) -> str:
    """Digest what is measured and what is replayed of a capture; what is refused is a sentence."""
    head, frames = taken(name)
    with tempfile.TemporaryDirectory() as folder:
        capture, samples = Path(folder) / "c.pcap", Path(folder) / "s.csv"
        capture.write_bytes(made(head, change(frames)))
        asked = {"uncertainty": True, "min_samples": 1, "flows": True, **options}
        try:
            found: list[Any] = [measure([capture], samples=samples, **asked), samples.read_text()]
        except SojournError as error:
            found = [str(error).replace(folder, "FOLDER")]
        if not options:
            try:
                replayed = read_workload([capture])
                found += [
                    replayed.connections.write_json(),
                    replayed.notes,
                    replayed.busy,
                    replayed.length_ns,
                ]
            except SojournError as error:
                found.append(str(error).replace(folder, "FOLDER"))
        return digest(found)


@cache
def of_queue(end: str) -> tuple[bytes, Frames]:
    """Return the header of the capture at one end of a queue, and its frames up to a packet of both."""
    head, frames = whole(f"loss_small_pfifo/{end}")
    return head, frames[: {"ingress": 2500, "egress": 2400}[end]]


def shifted(frames: Frames, by_ns: int, per_million: int = 0) -> Frames:
    """Return the frames by a clock that is ahead, and runs fast."""
    begin = frames[0][0] * 1_000_000_000
    moved = []
    for s, part, n, b in frames:
        at = s * 1_000_000_000 + part
        moved.append((*divmod(at + by_ns + (at - begin) * per_million // 1_000_000, 1_000_000_000), n, b))
    return moved


def of_pair(ingress: Callable[[Frames], Frames] = list, egress: Callable[[Frames], Frames] = list) -> str:
    """Digest what two captures of one queue tell of losses, packet by packet; a refusal is a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{end}.pcap" for end in ("ingress", "egress")]
        for file, change in zip(files, (ingress, egress), strict=True):
            head, frames = of_queue(file.stem)
            file.write_bytes(made(head, change(frames)))
        with (Path(folder) / "packets").open("wb") as packets:
            try:
                found = captures.compare(*files, packets, rate_bps=10e6, rtt_ns=40_000_000)
            except SojournError as error:
                return digest(str(error).replace(folder, "FOLDER"))
        rows = pl.read_parquet(packets.name).write_csv()
        return digest(found, captures.sentences(found["capture"]), rows)


CHANGED: dict[str, Callable[[Frames], Frames]] = {
    **DAMAGED,
    "a clock an hour ahead": partial(shifted, by_ns=3_600_000_000_000),
    "a clock 3 ms behind that runs fast": partial(shifted, by_ns=-3_000_000, per_million=50),
    "ends before the other": lambda frames: frames[: len(frames) // 2],
    "other packets, too": lambda frames: sorted(frames + shifted(taken(TAKEN[0])[1][:300], 10**9)),
    "other packets only": lambda _: taken(TAKEN[0])[1],
}
PAIRS: dict[str, Callable[[], str]] = {
    "both captures": of_pair,
    **{f"ingress, {what}": partial(of_pair, change) for what, change in CHANGED.items()},
    **{f"egress, {what}": partial(of_pair, egress=change) for what, change in CHANGED.items()},
    "the same capture twice": partial(of_pair, egress=lambda _: of_queue("ingress")[1]),
    "exchanged captures": partial(of_pair, lambda _: of_queue("egress")[1], lambda _: of_queue("ingress")[1]),
}
EVERY: dict[str, Callable[[], str]] = {
    **PAIRS,
    **{
        f"{name}, {what}": partial(of, name, list, **given)
        for name in TAKEN
        for what, given in OPTIONS.items()
    },
    **{f"{name}, {what}": partial(of, name, change) for name in TAKEN for what, change in DAMAGED.items()},
}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_measured_is_the_same_bytes(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what comes of {name} has changed"


def test_every_capture_that_is_kept_is_measured() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(EVERY)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
