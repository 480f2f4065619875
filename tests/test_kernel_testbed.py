"""The testbed of benches/kernel: names, figures from two captures, and a run of three seconds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benches.kernel import bed, captures, measure
from benches.kernel.scenarios import scenario

SENDER, RECEIVER = b"\x0a\x07\x01\x02", b"\x0a\x07\x03\x02"


def test_a_name_says_what_is_measured_and_for_how_long():
    one_way = scenario("reno-8f-16m-50ms-b267")
    assert (one_way.controller, one_way.up_flows, one_way.down_flows) == ("reno", 8, 0)
    assert (one_way.up_mbps, one_way.down_mbps, one_way.buffer_pkts) == (16, None, 267)
    assert (one_way.begin_s, one_way.end_s, one_way.burst_bytes) == (30, 140, 1600)
    both = scenario("cubic-1up8down-1m16m-50ms-b64-burst100")
    assert (both.up_flows, both.down_flows, both.up_mbps, both.down_mbps) == (1, 8, 1, 16)
    assert both.shortest_queue_ms() == pytest.approx(64 * 1514 * 8 / 16e3)
    assert both.longest_queue_s() == pytest.approx(64 * 1514 * 8 / 1e6)
    assert (both.begin_s, both.end_s, both.burst_bytes) == (30, 120, 100)
    with pytest.raises(ValueError, match="expected a name like"):
        scenario("reno-16m")


def write_capture(path: Path, packets: list[tuple[int, int]]) -> list[captures.Packet]:
    """Write packets (microsecond, IP identification) from a sender, and read them back."""
    text = struct.pack("<IHHiIII", captures.NANOSECONDS, 2, 4, 0, 0, 94, 1)
    for at_us, number in packets:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 1500, number, 0, 64, 6, 0) + SENDER + RECEIVER
        tcp = struct.pack(">HHII", 1000, 5001, 1448 * number, 1) + bytes(8)
        frame = bytes(captures.ETHERNET) + ip + tcp
        text += struct.pack("<IIII", at_us // 1_000_000, 1000 * (at_us % 1_000_000), len(frame), 1514) + frame
    path.write_bytes(text)
    return captures.packets(path, SENDER)


def test_delay_loss_and_load_are_those_of_the_packets_that_arrived_in_the_window(tmp_path):
    arrivals = write_capture(
        tmp_path / "before", [(900_000, 1), (1_000_000, 2), (1_100_000, 3), (1_900_000, 4)]
    )
    departures = write_capture(tmp_path / "behind", [(901_000, 1), (1_001_000, 2), (2_100_000, 4)])
    assert captures.dropped(captures.match(arrivals, departures)) == 1
    assert captures.dropped(captures.match(arrivals, departures[:2])) == 0, "the others may still wait"
    assert captures.packets(tmp_path / "before", RECEIVER) == []
    passages = captures.match(arrivals, departures)
    found = captures.figures(passages, (1_000_000_000, 2_000_000_000), 50_000_000, 1e6)
    assert found["delay_mean_ms"] == pytest.approx((1 + 200) / 2)
    assert (found["dropped_pkts"], found["loss_episodes"]) == (1, 1)
    assert found["loss"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["utilisation"] == pytest.approx(1514 * 8 / 1e6, abs=1e-5)
    assert found["occupancy_pkts"] == pytest.approx(0.101, abs=1e-3)


def test_a_queue_that_stood_still_was_not_served():
    on_time = [(0, 0, 1000), (0, 1_000_000, 1000), (0, 2_000_000, 1000), (9_000_000, 9_000_000, 1000)]
    assert captures.service(on_time, (0, 10_000_000), 8e6) == 1
    late = [(arrived, left + (left > 0) * 500_000, length) for arrived, left, length in on_time]
    assert captures.service(late, (0, 10_000_000), 8e6) == 0.8


@pytest.mark.real_time
def test_a_queue_of_the_kernel_fills_as_it_should():
    if lacking := bed.missing():
        pytest.skip(lacking)
    asked = scenario("reno-4f-16m-20ms-b27", (0, 3))
    for seed in range(1, 1 + measure.ATTEMPTS):
        with bed.Bed("test", asked) as path:
            [row], told = path.measure(seed)
        if not measure.disturbed(asked, told):
            # Slow start overshoots; then four flows keep the link busy.
            assert 0.5 < row["utilisation"] < 1.02
            assert row["occupancy_pkts"] > 5
            assert 5 < row["delay_p95_ms"] < 1.05 * 27 * 1514 * 8 / 16e3
            assert 0 < row["loss"] < 0.1
            assert told["counters"][0]["window"]["RetransSegs"] > 0
            break
    # However it was served, no more than 27 packets wait.
    assert 0 < row["occupancy_pkts"] <= 28
    assert measure.disturbed(asked, told | {"capture_drops": 1}) == "captures missed 1 packets"
