"""`sojourn losses` on captures of a real queue whose drops are known, and on the same captures damaged."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import Command
from sojourn.errors import SojournError
from sojourn.losses.captures import MisfitError, compare, sentences, store
from sojourn.results import Results, open_results
from sojourn.results.show import describe

DATA = Path(__file__).parent / "data" / "loss_small_pfifo"
DROPPED = [int(line) for line in (DATA / "dropped.txt").read_text().split()]
BURSTS = {1: 624, 2: 95, 3: 17, 4: 7, 5: 5, 6: 14, 7: 14, 8: 10, 9: 16, 10: 23, 11: 7, 12: 2, 20: 2}
STITCHED = {1: 230, 2: 72, 3: 44, 4: 11, 5: 14, 6: 19, 7: 17, 8: 14, 9: 16, 10: 18}

Frame = tuple[int, bytes, int]


def frames(name: str) -> list[Frame]:
    data = gzip.decompress((DATA / f"{name}.pcap.gz").read_bytes())
    found, at = [], 24
    while at < len(data):
        seconds, part, kept, length = struct.unpack_from("<IIII", data, at)
        found.append((seconds * 10**9 + part, data[at + 16 : at + 16 + kept], length))
        at += 16 + kept
    return found


@pytest.fixture(scope="module")
def both() -> tuple[list[Frame], list[Frame]]:
    return frames("ingress"), frames("egress")


def write(file: Path, found: list[Frame]) -> Path:
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for time, data, length in found:
        parts += [struct.pack("<IIII", time // 10**9, time % 10**9, len(data), length), data]
    file.write_bytes(b"".join(parts))
    return file


def lost_in(tmp_path: Path, ingress: Path, egress: Path) -> tuple[dict, list[int]]:
    log = tmp_path / "packets.parquet"
    with log.open("wb") as file:
        found = compare(ingress, egress, file, rate_bps=8e6, rtt_ns=40_000_000)
    rows = pl.read_parquet(log)
    assert rows["arrive_ns"].is_sorted() and rows["packet"].to_list() == list(range(rows.height))
    assert rows.height == found["ingress_pkts"]
    return found, rows.filter(pl.col("drop_cause").is_not_null())["packet"].to_list()


def is_forward(data: bytes) -> bool:
    return data[12:14] == b"\x08\x00" and data[26:30] == bytes([10, 1, 1, 2]) and data[30] < 224


def test_exactly_the_dropped_packets(tmp_path: Path) -> None:
    found, lost = lost_in(tmp_path, DATA / "ingress.pcap.gz", DATA / "egress.pcap.gz")
    assert lost == DROPPED
    assert (found["ingress_pkts"], found["egress_pkts"], found["lost_pkts"]) == (23690, 21995, 1695)
    assert found["by_protocol"]["tcp"] == {"packets": 22190, "lost": 1633, "loss": 1633 / 22190}
    assert found["by_protocol"]["udp"] == {"packets": 1500, "lost": 62, "loss": 62 / 1500}
    assert len(found["flows"]) == 226 and sum(flow["lost"] > 0 for flow in found["flows"]) == 171
    assert {int(length): count for length, count in found["bursts"]["lengths"].items()} == BURSTS
    stitched = {int(length): count for length, count in found["bursts"]["stitched_lengths"].items()}
    assert STITCHED.items() <= stitched.items()
    assert sum(flow["packets"] for flow in found["flows"]) == 23690
    assert {flow["packets"] for flow in found["flows"] if flow["protocol"] == "udp"} == {1500}
    # The stream of datagrams begins first; all others are TCP.
    assert (found["flows"][0]["protocol"], found["flows"][0]["packets"]) == ("udp", 1500)
    assert Counter(flow["protocol"] for flow in found["flows"]) == {"tcp": 225, "udp": 1}
    # Every drop finds the 32 packets of the queue, which is how its limit shows.
    rows = pl.read_parquet(tmp_path / "packets.parquet")
    dropped = rows.filter(pl.col("drop_cause").is_not_null())
    assert dropped["backlog_pkts"].unique().to_list() == [32]
    # Captures do not say why a packet was dropped.
    assert dropped["drop_cause"].cast(pl.String).value_counts().rows() == [("unknown", 1695)]
    assert 0.8 < found["utilisation"]["mean"] <= 1.0
    assert sentences(found["capture"]) == []


Change = Callable[[list[Frame], list[Frame]], tuple[list[Frame], list[Frame]]]


def shifted(ns: int) -> Change:
    return lambda ingress, egress: (ingress, [(time + ns, data, length) for time, data, length in egress])


def cut(snap: int) -> Change:
    return lambda ingress, egress: (ingress, [(time, data[:snap], length) for time, data, length in egress])


def without_checksums(ingress: list[Frame], egress: list[Frame]) -> tuple[list[Frame], list[Frame]]:
    """Another transport checksum in front, as where network cards fill it in."""
    at = {6: 50, 17: 40}
    changed = [
        (time, data[: at[data[23]]] + b"\xab\xcd" + data[at[data[23]] + 2 :], length)
        if data[12:14] == b"\x08\x00" and data[23] in at
        else (time, data, length)
        for time, data, length in ingress
    ]
    return changed, egress


def same_hops(found: list[Frame]) -> list[Frame]:
    """No router between the captures: the hop limit stays."""
    return [
        (t, data[:22] + b"\x3f" + data[23:], n) if data[12:14] == b"\x08\x00" else (t, data, n)
        for t, data, n in found
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(shifted(3_600 * 10**9 + 12_345), id="clock-an-hour-ahead"),
        pytest.param(shifted(-7 * 10**9), id="clock-behind"),
        pytest.param(cut(74), id="another-snap-length"),
        pytest.param(without_checksums, id="other-checksums"),
        pytest.param(lambda a, b: (same_hops(a), same_hops(b)), id="bridge"),
    ],
)
def test_the_same_packets_whatever_the_captures_are_like(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]], change: Change
) -> None:
    ingress, egress = change(*both)
    found, lost = lost_in(tmp_path, write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", egress))
    assert lost == DROPPED
    assert found["egress_pkts"] == 21995


def test_the_offset_of_the_clocks_is_found(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    for ns in (-250_000_000, 5_000_000_000):
        a, b = shifted(ns)(*both)
        found, _ = lost_in(tmp_path, write(tmp_path / "a.pcap", a), write(tmp_path / "b.pcap", b))
        assert abs(found["capture"]["clock_offset_ns"] - ns) < 10_000


def test_what_the_captures_drop_is_said_and_not_lost(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    choose = random.Random(4)
    ingress, egress = both
    tcp = [
        i for i, (_, data, length) in enumerate(egress) if is_forward(data) and data[23] == 6 and length > 200
    ]
    missing = set(choose.sample(tcp, 40))
    thinned = [frame for i, frame in enumerate(egress) if i not in missing]
    found, lost = lost_in(tmp_path, write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", thinned))
    assert found["capture"]["missed_behind_pkts"] >= 38  # what is never acknowledged cannot be told
    assert set(lost) >= set(DROPPED) and len(lost) <= len(DROPPED) + 2
    assert any("captured behind the queue" in sentence for sentence in sentences(found["capture"]))

    forward = [i for i, (_, data, _) in enumerate(ingress) if is_forward(data)]
    delivered = [i for place, i in enumerate(forward) if place not in set(DROPPED)]
    missing = set(choose.sample(delivered, 30))
    thinned = [frame for i, frame in enumerate(ingress) if i not in missing]
    found, lost = lost_in(tmp_path, write(tmp_path / "a.pcap", thinned), write(tmp_path / "b.pcap", egress))
    assert found["capture"]["missed_in_front_pkts"] == 30 and found["lost_pkts"] == 1695
    assert any("in front" in sentence for sentence in sentences(found["capture"]))


def test_a_capture_that_begins_late_and_ends_early(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = both
    begin, end = egress[0][0] + 5 * 10**9, egress[0][0] + 20 * 10**9
    part = [frame for frame in egress if begin <= frame[0] < end]
    found, _ = lost_in(tmp_path, write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", part))
    times = [time for time, data, _ in ingress if is_forward(data)]
    wanted = sum(begin <= times[place] < end - 60_000_000 for place in DROPPED)
    assert wanted <= found["lost_pkts"] <= wanted + 40
    assert found["capture"]["outside_pkts"] > 5000
    assert found["capture"]["missed_behind_pkts"] == 0, "the capture did not run: it has dropped nothing"
    assert "left out" in " ".join(sentences(found["capture"]))


def test_drops_at_the_very_end(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    """Captures that stop with the last packet that left: what found the queue full was dropped."""
    ingress, egress = both
    forward = [frame for frame in ingress if is_forward(frame[1])]
    drop = DROPPED[900]
    ingress = [frame for frame in ingress if frame[0] <= forward[drop][0]]
    kept = {data[18:20] for _, data, _ in ingress if is_forward(data)}
    end = max(
        time
        for time, data, _ in egress
        if is_forward(data) and data[18:20] in kept and time < ingress[-1][0] + 60_000_000
    )
    egress = [frame for frame in egress if frame[0] <= end]
    for reverse in (True, False):
        a = [frame for frame in ingress if reverse or is_forward(frame[1])]
        b = [frame for frame in egress if reverse or is_forward(frame[1])]
        _, lost = lost_in(tmp_path, write(tmp_path / "a.pcap", a), write(tmp_path / "b.pcap", b))
        assert lost == [place for place in DROPPED if place <= drop]


def as_ipv6(found: list[Frame]) -> list[Frame]:
    """The same packets with an IPv6 header, which has no identification."""
    made = []
    for time, data, length in found:
        if data[12:14] != b"\x08\x00":
            continue
        header = (data[14] & 15) * 4
        size = int.from_bytes(data[16:18]) - header
        source, target = (b"\x20\x01\x0d\xb8" + bytes(8) + data[at : at + 4] for at in (26, 30))
        ip = b"\x60\0\0\0" + struct.pack(">HBB", size, data[23], data[22]) + source + target
        made.append((time, (data[:12] + b"\x86\xdd" + ip + data[14 + header :])[:96], length + 40 - header))
    return made


def test_ipv6_where_nothing_but_the_timestamp_tells_retransmissions_apart(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = map(as_ipv6, both)
    found, lost = lost_in(tmp_path, write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", egress))
    assert found["lost_pkts"] == 1695 and found["capture"]["missed_behind_pkts"] == 0
    assert lost == DROPPED


def test_datagrams_that_all_look_the_same(tmp_path: Path) -> None:
    """Order and waiting time alone tell which of identical packets were lost."""
    choose = random.Random(8)

    def packet(source: int, number: int, ttl: int) -> bytes:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 60, number, 0x4000, ttl, 17, 0) + bytes(
            [10, 0, 0, source, 10, 0, 1, 1]
        )
        return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 4000 + source, 5000, 40, 0) + bytes(32)

    ingress, egress, lost, place = [], [], [], 0
    for k in range(4000):
        time = 10**18 + k * 1_000_000
        wait = 100_000 + (k % 50) * 10_000
        for source in (1, 2):  # the first is numbered, the second sends the same bytes each time
            number = k if source == 1 else 0
            at = time + source * 1000
            ingress.append((at, packet(source, number, 64), 74))
            if choose.random() < 0.1 and k < 3990:
                lost.append(place)
            else:
                egress.append((at + wait, packet(source, number, 63), 74))
            place += 1
    found, seen = lost_in(tmp_path, write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", egress))
    assert found["lost_pkts"] == len(lost)
    assert seen == lost


def test_captures_that_have_nothing_in_common(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    ingress, egress = both
    a, b = write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", egress)
    with pytest.raises(SojournError, match="no packet goes from"), (tmp_path / "log").open("wb") as log:
        compare(a, write(tmp_path / "c.pcap", egress[:3]), log)
    (tmp_path / "d.pcap").write_bytes(b"hello, world")
    with pytest.raises(SojournError, match="is no capture"), (tmp_path / "log").open("wb") as log:
        compare(a, tmp_path / "d.pcap", log)
    del b


def refused(tmp_path: Path, ingress: list[Frame], egress: list[Frame]) -> str:
    a, b = write(tmp_path / "a.pcap", ingress), write(tmp_path / "b.pcap", egress)
    with pytest.raises(MisfitError) as error, (tmp_path / "log").open("wb") as log:
        compare(a, b, log)
    return str(error.value)


def test_captures_of_different_traffic_are_told(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    """Two runs between the same hosts, of which few packets happen to look the same."""
    ingress, egress = both
    choose = random.Random(5)
    other = [
        (time, data[:18] + choose.randbytes(2) + data[20:], length)
        if is_forward(data) and choose.random() < 0.9
        else (time, data, length)
        for time, data, length in egress
    ]
    said = refused(tmp_path, ingress, other)
    assert "do not belong together" in said and "TSO or GRO" in said
    assert "hold the same packets at the same times" in refused(tmp_path, ingress, ingress)


def test_a_queue_that_loses_most_of_its_packets_is_not_refused(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = both
    choose = random.Random(6)
    for share in (0.5, 0.9):
        thinned = [frame for frame in egress if not is_forward(frame[1]) or choose.random() > share]
        one_way = [[frame for frame in found if is_forward(frame[1])] for found in (ingress, thinned)]
        found, _ = lost_in(
            tmp_path, write(tmp_path / "a.pcap", one_way[0]), write(tmp_path / "b.pcap", one_way[1])
        )
        assert found["loss"] > share


def test_a_second_capture_that_ran_only_for_a_while_is_not_refused(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = both
    begin = ingress[0][0]
    for first, second in (((0, 30), (20, 26)), ((12, 18), (0, 30)), ((0, 16), (14, 30))):
        a, b = (
            [frame for frame in found if span[0] * 10**9 <= frame[0] - begin < span[1] * 10**9]
            for found, span in ((ingress, first), (egress, second))
        )
        found, _ = lost_in(tmp_path, write(tmp_path / "a.pcap", a), write(tmp_path / "b.pcap", b))
        assert 0.02 < found["loss"] < 0.3, (first, second)


def test_captures_without_any_loss_make_a_page_that_says_so(
    sojourn: Command, tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = both
    numbers = {data[18:20] for _, data, _ in egress if is_forward(data)}
    kept = [frame for frame in ingress if is_forward(frame[1]) and frame[1][18:20] in numbers][:4000]
    left = {(data[18:20], data[34:44]) for _, data, _ in kept}
    behind = [frame for frame in egress if (frame[1][18:20], frame[1][34:44]) in left]
    numbers = {(data[18:20], data[34:44]) for _, data, _ in behind}
    kept = [frame for frame in kept if (frame[1][18:20], frame[1][34:44]) in numbers]
    a, b = write(tmp_path / "a.pcap", kept), write(tmp_path / "b.pcap", behind)
    done = sojourn("losses", a, b, "--out", tmp_path / "gateway", svg_only=True)
    assert done.stdout.startswith("0 of ")
    page = (tmp_path / "gateway" / "report.html").read_text()
    assert "No packet was lost" in page


def test_the_command_refuses_what_does_not_belong_together(sojourn: Command) -> None:
    done = sojourn("losses", DATA / "egress.pcap.gz", DATA / "ingress.pcap.gz", code=1)
    assert done.stdout == "" and done.stderr.count("\n") == 1


def test_the_command(sojourn: Command, tmp_path: Path) -> None:
    a, b = DATA / "ingress.pcap.gz", DATA / "egress.pcap.gz"
    words = ("--json", "--rate", "8Mbit", "--rtt", "40ms", "--out", tmp_path / "gateway")
    done = sojourn("losses", a, b, *words, svg_only=True)
    found = json.loads(done.stdout)
    assert {
        "ingress_pkts",
        "egress_pkts",
        "lost_pkts",
        "loss",
        "by_protocol",
        "flows",
        "bursts",
    } <= found.keys()
    assert {"packets", "lost", "bytes"} <= found["flows"][0].keys()
    page = (tmp_path / "gateway" / "report.html").read_text()
    assert "Loss bursts" in page and "sojourn losses" in page
    assert (tmp_path / "gateway" / "packets" / "captured.parquet").is_file()
    # No engine made them, and the command that did is one that works.
    shown = open_results(tmp_path / "gateway")
    lines = describe(shown, "captured").splitlines()
    assert lines[lines.index("to compute it again") + 1].endswith(f"--out {tmp_path / 'gateway'}")
    assert not {"engine", "scenario"} & set(lines)
    assert "not the rate" not in done.stderr
    plain = sojourn("losses", a, b, "--rate", "1Mbit")
    said = (
        "came out of the queue, more than the 1 Mbit/s that were given as its rate: that is not the rate of"
    )
    assert said in plain.stderr
    assert plain.stdout.startswith("1695 of 23690 packets lost (7.15 %)")


def test_bad_input_of_the_command(sojourn: Command, tmp_path: Path) -> None:
    for words in (
        (tmp_path / "no.pcap", DATA / "egress.pcap.gz"),
        (DATA / "README.md", DATA / "egress.pcap.gz"),
    ):
        done = sojourn("losses", *words, "--out", tmp_path / "out", code=2)
        assert done.stderr.count("\n") == 1, done.stderr
        assert not (tmp_path / "out").exists()
    done = sojourn("losses", DATA / "ingress.pcap.gz", DATA / "egress.pcap.gz", "--rtt", "fast", code=2)
    assert "'fast' is not a time" in done.stderr


def test_the_series_count_what_left_the_queue(tmp_path: Path) -> None:
    log = tmp_path / "packets.parquet"
    with log.open("wb") as file:
        found = compare(DATA / "ingress.pcap.gz", DATA / "egress.pcap.gz", file, rate_bps=8e6)
    path = store(found, log, tmp_path / "gateway", "sojourn losses", 8e6)
    [point] = [json.loads(file.read_text()) for file in (path / "points").glob("*.json")]
    arrived_s = pl.read_parquet(log)["arrive_ns"].max() / 1e9
    assert point["engine"]["simulated_s"] == round(arrived_s, 6)
    told = Results(path).record["document"]
    assert told["duration"] == f"{arrived_s:.6g}s" and told["description"].endswith(
        "matched packet by packet."
    )
    link = point["links"]["down"]
    series = link["series"]
    whole = len(series["utilisation"]) * series["bin_s"]
    assert len({len(series[name]) for name in ("utilisation", "queue_delay_ms", "dropped_pkts")}) == 1
    rows = pl.read_parquet(log).filter(pl.col("arrive_ns") < int(whole * 1e9))
    left = rows.filter(pl.col("depart_ns").is_not_null())
    # A packet that was lost used no part of the link.
    used = left["size_bytes"].sum() * 8 / whole / 8e6
    assert sum(series["utilisation"]) / len(series["utilisation"]) == pytest.approx(used, rel=1e-12)
    assert used == pytest.approx(found["utilisation"]["mean"], rel=0.02)
    # Bins are by arrival: one may hold the 32 packets of the queue more than the link forwards in it.
    assert max(series["utilisation"]) < 1 + 32 * 1500 * 8 / 8e6
    assert sum(series["dropped_pkts"]) == rows.height - left.height > 0
    data = pl.col("kind").cast(pl.String).is_in(["data", "datagram"])
    every = pl.read_parquet(log)
    assert link["departed_data_pkts"] == every.filter(data, pl.col("depart_ns").is_not_null()).height
    waits = (pl.col("depart_ns") - pl.col("arrive_ns").cast(pl.Int64)) / 1e6
    assert link["queue_delay_ms"]["mean"] == pytest.approx(every.select(waits.mean()).item())
    assert (link["arrived_pkts"], link["dropped_pkts"]) == (23690, 1695)


def test_captures_have_to_be_files(sojourn: Command, tmp_path: Path) -> None:
    front, behind, pipe = DATA / "ingress.pcap.gz", DATA / "egress.pcap.gz", tmp_path / "pipe"
    os.mkfifo(pipe)
    for words in ((pipe, behind), (front, pipe)):
        done = sojourn("losses", *words, code=2)
        assert f"{pipe} is no regular file: both captures are read three times" in done.stderr
    done = sojourn("losses", front, behind, "--out", os.fsdecode(b"\xff"), code=2)
    assert "expected a name that is text" in done.stderr
