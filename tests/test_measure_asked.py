"""Which frames are measured, and what a follower tells of the same frames: beside the samples themselves."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from sojourn import _core
from sojourn.capture import CaptureError, measure
from test_fingerprints_captures import Frames, made, taken

CAPTURE = "directions/both2_at_B"
LOCAL = {"local": ["10.1.3.2"]}
WAYS = {"recent": "from-remote", "recent_to_remote": "to-remote"}
NONE, ALL = [(6, 0, 0, 0)], [(6, 0, 0, 65_535)]
"""Programs of a filter that want no frame, and every frame."""


def times_ns(frames: Frames) -> list[int]:
    """Return when each frame was captured; the stamps of the capture are in microseconds or nanoseconds."""
    unit = 1 if taken(CAPTURE)[0][:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
    return [s * 1_000_000_000 + part * unit for s, part, _, _ in frames]


def rows_of(samples: pl.DataFrame, way: str) -> dict[tuple[str, str], tuple[int, float, float]]:
    """Return number, mean and maximum of the delays of a direction, by host and protocol."""
    delay = pl.col("queue_delay_ms")
    found = (
        samples.filter(pl.col("direction") == way)
        .group_by("remote", "protocol")
        .agg(delay.len().alias("count"), delay.mean().alias("mean"), delay.max().alias("max"))
    )
    return {(remote, protocol): tuple(numbers) for remote, protocol, *numbers in found.iter_rows()}


@pytest.mark.parametrize("edge", ["from_s", "to_s"])
@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_time_that_is_no_time_is_refused(edge: str, time: float) -> None:
    with pytest.raises(
        CaptureError, match=rf"^--{edge.removesuffix('_s')} is {time}; expected seconds since"
    ):
        measure(["none.pcap"], **{edge: time})  # type: ignore[arg-type]


def test_a_look_tells_number_mean_and_maximum_of_the_samples_since_the_last(tmp_path: Path) -> None:
    head, frames = taken(CAPTURE)
    (tmp_path / "all.pcap").write_bytes(made(head, frames))
    found = measure([tmp_path / "all.pcap"], samples=tmp_path / "s.csv", min_samples=10, **LOCAL)
    samples = pl.read_csv(tmp_path / "s.csv")

    follower = _core.Follower(1, json.dumps({**LOCAL, "min_samples": 10}))
    follower.feed([(at, f[2], f[3]) for at, f in zip(times_ns(frames), frames, strict=True)])
    text, lines = follower.settle()
    looked = json.loads(text)
    for key, way in WAYS.items():
        rows = {(remote, protocol): tuple(numbers) for remote, protocol, *numbers in looked[key]}
        known = rows_of(samples, way)
        assert rows.keys() == known.keys() and known
        for who, (count, mean, most) in known.items():
            assert rows[who] == (count, pytest.approx(mean, abs=1e-6), pytest.approx(most, abs=1e-6)), way
            assert mean < most and count > 10
    assert [json.loads(line) for line in lines] == found["hosts"]
    # Nothing came since, and nothing is forgotten.
    text, again = follower.settle()
    assert [json.loads(text)[key] for key in WAYS] == [[], []] and again == lines


def left_out(capture: Path, **asked: Any) -> int:
    return int(json.loads(_core.measure([str(capture)], json.dumps(asked))[0])["left_out_by_request"])


def test_times_are_since_the_first_frame_or_since_1970_from_the_first_up_to_the_last(tmp_path: Path) -> None:
    head, frames = taken(CAPTURE)
    capture = tmp_path / "all.pcap"
    capture.write_bytes(made(head, frames))
    times = times_ns(frames)
    since = [(at - times[0]) / 1e9 for at in times]
    tenth, last = since[10], since[700]
    assert since[9] < tenth < since[11] and since[699] < last < since[701]
    # The frame at which a period begins is in it, that at which it ends is not.
    assert left_out(capture, from_s=tenth) == 10
    assert left_out(capture, to_s=last) == len(frames) - 700
    assert left_out(capture, from_s=tenth, to_s=last) == len(frames) - 690
    whole = times[0] // 1_000_000_000 + 2
    before = sum(at < whole * 1_000_000_000 for at in times)
    assert 0 < before < len(frames)
    assert left_out(capture, from_s=whole) == before
    assert left_out(capture, to_s=whole) == len(frames) - before
    assert left_out(capture, from_s=tenth, to_s=whole) == 10 + len(frames) - before
    # 10⁸ s on is since 1970, what is less since the first frame.
    assert (left_out(capture, from_s=1e8), left_out(capture, from_s=1e8 - 1)) == (0, len(frames))


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def test_each_kind_of_link_has_a_filter_of_its_own(tmp_path: Path) -> None:
    """Frames of two interfaces in one file: with Ethernet's headers, and without any."""
    _, frames = taken(CAPTURE)
    some = frames[:60]
    text = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    text += b"".join(block(1, struct.pack("<HHI", link, 0, 65_535)) for link in (1, 101))
    for number, (at, (_, _, length, data)) in enumerate(zip(times_ns(some), some, strict=True)):
        bare = number % 3 == 0
        here, skipped = data[14 if bare else 0 :], 14 if bare else 0
        told = struct.pack("<IIIII", int(bare), *divmod(at // 1000, 1 << 32), len(here), length - skipped)
        text += block(6, told + here)
    capture = tmp_path / "two.pcapng"
    capture.write_bytes(text)

    def measured(program: dict[int, list[Any]]) -> tuple[int, list[int]]:
        asked: list[int] = []

        def compiled(link: int) -> list[Any]:
            asked.append(link)
            return program[link]

        summary = json.loads(_core.measure([str(capture)], "{}", None, None, compiled)[0])
        return summary["left_out_by_request"], asked

    assert measured({1: ALL, 101: ALL}) == (0, [101, 1])
    assert measured({1: NONE, 101: ALL}) == (40, [101, 1])
    assert measured({1: ALL, 101: NONE}) == (20, [101, 1])


@pytest.mark.parametrize("words", [(), ("--json",), ("--flows",)])
def test_why_nothing_is_told_without_timestamps_is_said(sojourn: Command, words: tuple[str, ...]) -> None:
    flows = (
        '[[flows]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\ntimestamps = false\n'
    )
    (sojourn.cwd / "s.toml").write_text(
        f'name = "s"\nduration = "3s"\n[path]\nrtt = "20ms"\ndown = {{ rate = "4Mbit" }}\n'
        f'up = {{ rate = "1Mbit" }}\nqueue = {{ kind = "fifo", limit = "20pkt" }}\n{flows}'
    )
    sojourn("export", "s.toml", "c.pcapng")
    # Round trips by sequence numbers are in its object; they are no delays.
    done = sojourn("measure", "c.pcapng", *words, code=1)
    assert "no delay of its" in done.stderr and " no timestamps" in done.stderr


def test_that_all_was_left_out_or_that_there_was_nothing_is_said_on_the_page_too(sojourn: Command) -> None:
    head, frames = taken(CAPTURE)
    (sojourn.cwd / "all.pcap").write_bytes(made(head, frames[:9]))
    (sojourn.cwd / "none.pcap").write_bytes(head)
    for name, words, said, beside in (
        (
            "all",
            ("--from", "1e6"),
            "all 9 frames left out by --filter, --from or --to",
            "9 frames: left out by",
        ),
        ("none", (), "the captures hold no frame", "the captures hold no frame"),
    ):
        done = sojourn("measure", f"{name}.pcap", *words, "--report", f"{name}.html", code=1)
        assert f"note: {said}\n" in done.stderr
        assert beside in (sojourn.cwd / f"{name}.html").read_text()


def test_a_capture_that_is_named_twice_is_refused_and_nothing_written(
    sojourn: Command, tmp_path: Path
) -> None:
    (tmp_path / "1.pcap").write_bytes(made(*taken(CAPTURE)))
    (tmp_path / "link.pcap").symlink_to("1.pcap")
    for again in ("1.pcap", f"../{tmp_path.name}/1.pcap", "link.pcap"):
        for verb, *words in (("workload", "-o", "w.parquet"), ("measure", "--samples", "s.csv")):
            done = sojourn(verb, "1.pcap", again, *words, code=2)
            assert done.stderr.startswith(f"sojourn: {again} is named twice; captures are read as one stream")
    assert {file.name for file in tmp_path.iterdir()} == {"1.pcap", "link.pcap"}
