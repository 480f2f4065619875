"""How benches/passive/directions.py judges: its rule, its studies, and how packets are found again."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from conftest import Command

from benches.passive.both_ends import Run, packet, packets, simulated
from benches.passive.directions import drawn, judged, totals, verdict


@pytest.mark.parametrize(
    ("told", "lower", "samples", "judgement"),
    [
        (109.0, False, 100.0, "right"),
        (111.0, False, 100.0, "outside"),
        (89.0, False, 100.0, "outside"),
        (100.0, False, 106.0, "outside"),
        (100.0, False, 104.0, "right"),
        (80.0, True, 80.0, "bound"),
        (100.0, True, 94.0, "bound"),
        (100.0, True, 100.0, "needless"),
        (109.0, True, 94.0, "bound"),
        (111.0, True, 100.0, "high"),
    ],
)
def test_each_verdict(told: float, lower: bool, samples: float, judgement: str) -> None:
    assert verdict(told, lower, 100.0, [samples] * 3, [100.0] * 3) == judgement


def test_short_waits_have_a_bound_in_milliseconds() -> None:
    assert verdict(1.9, False, 0.0, [0.9], [0.0]) == "right"
    assert verdict(1.9, False, 0.0, [1.1], [0.0]) == "outside"
    assert verdict(2.1, False, 0.0, [0.0], [0.0]) == "outside"
    assert verdict(2.1, True, 0.0, [0.0], [0.0]) == "high"
    # Nothing found again: the mean alone counts.
    assert verdict(1.9, False, 0.0, [], []) == "right"


def test_a_packet_is_found_again_behind_routers() -> None:
    def made(hop_limit: int, ecn: int, checksum: int, seq: int = 7) -> bytes:
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, ecn, 40, 5, 0, hop_limit, 6, checksum, b"\n\0\0\1", b"\n\0\0\2"
        )
        return ip + struct.pack(">HHIIBBHHH", 1, 2, seq, 9, 5 << 4, 16, 99, checksum, 0)

    sent, came, other = packet(made(64, 2, 1)), packet(made(63, 3, 2)), packet(made(64, 2, 1, seq=8))
    assert sent == came != other
    assert sent is not None and sent.way == ("10.0.0.1", "10.0.0.2")
    datagram = bytearray(made(64, 0, 0))
    datagram[9] = 17
    assert packet(bytes(datagram)) is None
    head = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    frame = made(64, 0, 0)
    assert list(packets(head + struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)) == [frame]


STUDY = """
name = "both"
duration = "12s"
[path]
rtt = "30ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "40pkt" } }
up = { rate = "2Mbit", queue = { kind = "fifo", limit = "20pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
stack = "linux"
direction = "down"
"""


def test_a_simulated_run_is_judged_from_both_sides(tmp_path: Path, sojourn: Command) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    run = simulated(tmp_path / "study.toml", tmp_path)
    assert isinstance(run, Run)
    # What the run itself says of each queue is the mean of the packets that came.
    true = sojourn.json("run", tmp_path / "study.toml")[0]["links"]
    for way, link in ((("10.2.0.0", "10.1.0.0"), "down"), (("10.1.0.0", "10.2.0.0"), "up")):
        waited = run.waited("servers", way)
        assert sum(waited) / len(waited) == pytest.approx(
            true[link]["queue_delay_ms"]["mean"], rel=0.02, abs=0.02
        )
    # A capture that ends early is judged by the packets that it has.
    way = ("10.2.0.0", "10.1.0.0")
    first = {side: packets[: len(packets) // 2] for side, packets in run.frames.items()}
    half = Run(**{**vars(run), "frames": first}).waited("clients", way)
    assert 0.4 < len(half) / len(run.waited("clients", way)) < 0.6
    rows = judged(run, tmp_path)
    assert [(row["at"], row["from"]) for row in rows] == [
        ("clients", "10.2.0.0"), ("clients", "10.1.0.0"), ("servers", "10.1.0.0"), ("servers", "10.2.0.0"),
    ]  # fmt: skip
    assert {row["verdict"] for row in rows} <= {"right", "needless", "bound"}
    # Nearly every sample's packet is found again at the other side.
    assert all(row["found_again"] > 0.9 * row["samples"] > 0 for row in rows)
    # Told too much by a tenth and a bit, none is right any more.
    longer = {way: [(key, wait * 0.8 - 3) for key, wait in waits] for way, waits in run.waits.items()}
    assert {row["verdict"] for row in judged(Run(**{**vars(run), "waits": longer}), tmp_path)} <= {
        "outside",
        "high",
    }
    assert totals(rows).startswith("4 directions: 0 outside with certainty, 0 lower bounds too high, ")


def test_what_is_drawn_can_be_simulated_and_emulated(tmp_path: Path, sojourn: Command) -> None:
    for number in range(40):
        of = random.Random(number)
        study = drawn(of)
        assert 1 <= sum(group["count"] for group in study.groups) <= 16
        assert all(1000 <= rate <= 100_000 for rate in study.rates_kbit)
        assert 5 <= study.rtt_ms <= 200 and 8 <= study.seconds <= 30
        plan = study.plan(of)
        assert sum(row["pattern"] == "backlogged" for row in plan) == sum(g["count"] for g in study.groups)
        assert f"path.up.queue.limit={study.limits[1]}pkt" in study.path()
        if number < 8:
            (tmp_path / "study.toml").write_text(study.toml(number))
            sojourn("run", tmp_path / "study.toml", "--dry-run")
