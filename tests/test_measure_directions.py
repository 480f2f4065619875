"""Both directions' queues from one capture: against the truth, and what is said where it cannot be known."""

from __future__ import annotations

import ctypes.util
import gzip
import json
import struct
from pathlib import Path

import polars as pl
import pytest
from conftest import Command, sentence

DATA = Path(__file__).parent / "data" / "directions"
A, B = "10.1.3.2", "10.1.1.2"
SETS = {"up4_at_A": (B, "up"), "up4_at_B": (A, "down"), "both2_at_B": (A, "down")}
"""By capture: the remote host, and what the way from it is called in the truth."""


def capture(name: str) -> Path:
    return DATA / f"{name}.pcap.gz"


def truth(name: str) -> pl.DataFrame:
    rows = pl.read_csv(gzip.decompress((DATA / f"{name}.truth.csv.gz").read_bytes()))
    return rows.with_columns(true_ms=pl.col("queue_delay_us") / 1000)


def records(plain: bytes) -> list[bytes]:
    found, at = [], 24
    while at < len(plain):
        end = at + 16 + struct.unpack_from("<I", plain, at + 8)[0]
        found.append(plain[at:end])
        at = end
    return found


@pytest.mark.parametrize("name", SETS)
def test_each_direction_is_told_from_either_side(sojourn: Command, name: str) -> None:
    remote, from_remote = SETS[name]
    [host] = sojourn.json("measure", capture(name), "--samples", "s.csv")
    local = B if remote == A else A
    assert (host["remote"], host["direction"]) == (remote, f"{remote} → {local}")
    assert host["to_remote"]["direction"] == f"{local} → {remote}"
    rows = pl.read_csv(sojourn.cwd / "s.csv").join(truth(name), on="frame", how="inner")
    for way, found in (("from-remote", host), ("to-remote", host["to_remote"])):
        of_way = rows.filter(pl.col("direction") == way)
        assert set(of_way["direction_right"]) == {
            from_remote if way == "from-remote" else {"up": "down", "down": "up"}[from_remote]
        }
        true = truth(name).filter(pl.col("direction") == of_way["direction_right"][0])["true_ms"].mean()
        assert found["mean_ms"] == pytest.approx(true, rel=0.10, abs=2.0), way
        off = (of_way["queue_delay_ms"] - of_way["true_ms"]).abs()
        allowed = of_way["true_ms"] * 0.05
        assert (off / pl.select(pl.max_horizontal(allowed, pl.lit(1.0))).to_series()).median() <= 1.0, way
        assert of_way.height == found["samples"] > 500
        assert found["lower_bound"] is False, way


def test_a_queue_that_never_empties_is_said_to_be_a_lower_bound(sojourn: Command) -> None:
    """Five seconds of the middle: no handshake, and a queue that stands all the while."""
    plain = gzip.decompress(capture("up4_at_A").read_bytes())
    middle = records(plain)[1500:2400]
    (sojourn.cwd / "middle.pcap").write_bytes(plain[:24] + b"".join(middle))
    [host] = sojourn.json("measure", "middle.pcap")
    assert host["lower_bound"] is True
    assert host["certainty"] == "lower bound"
    assert "at least" in sojourn("measure", "middle.pcap").stdout
    flows = sojourn.json("measure", "middle.pcap", "--flows", "--min-samples", "5")
    assert flows and all(flow["lower_bound"] for flow in flows if flow["direction"] == "from-remote")
    assert "at least" in sojourn("measure", "middle.pcap", "--flows").stdout
    sojourn("measure", "middle.pcap", "--report", "page.html")
    page = (sojourn.cwd / "page.html").read_text()
    assert "waited at least" in page and "at least these" in page


def test_what_one_flow_met_often_is_no_empty_queue_if_another_met_less(sojourn: Command) -> None:
    """Nobody met less than 221.35 ms on the way to the remote host: what exceeds it can be told.

    Packets waited 331.6 ms there, and 321.0, on average.
    """
    plain = gzip.decompress(capture("both2_at_B").read_bytes())
    (sojourn.cwd / "middle.pcap").write_bytes(plain[:24] + b"".join(records(plain)[:1500]))
    for part, most in ((("--from", "1"), 110.2), (("--from", "0.5", "--to", "1.5"), 99.7)):
        [host] = sojourn.json("measure", "middle.pcap", *part)
        # Within the 2 ms of every mean.
        assert 50 < host["to_remote"]["mean_ms"] < most + 2
        assert host["to_remote"]["certainty"] == "lower bound"


def test_one_of_a_kind_is_named_as_one(sojourn: Command) -> None:
    plain = gzip.decompress(capture("up4_at_B").read_bytes())
    (sojourn.cwd / "all.pcap").write_bytes(plain)
    said = sojourn("measure", "all.pcap", "--min-samples", "1000000", code=1).stderr
    assert "1 host with fewer than 1 000 000 samples left out" in said
    (sojourn.cwd / "one.pcap").write_bytes(plain[:24] + b"".join(records(plain)[:1]))
    assert "(1 read)" in sojourn("measure", "one.pcap", code=1).stderr


def test_a_few_packets_do_not_stand_for_a_direction(sojourn: Command) -> None:
    [host] = sojourn.json("measure", capture("up4_at_B"))
    enough = host["to_remote"]["samples"]
    assert enough < host["samples"]
    [host] = sojourn.json("measure", capture("up4_at_B"), "--min-samples", str(enough + 1))
    assert host["to_remote"]["lower_bound"] is True
    assert host["to_remote"]["certainty"] == "only a few packets could be timed"
    assert host["lower_bound"] is False


def test_a_part_can_be_chosen(sojourn: Command) -> None:
    plain = gzip.decompress(capture("up4_at_B").read_bytes())
    (sojourn.cwd / "all.pcap").write_bytes(plain)
    rows = sojourn.json("measure", "all.pcap", "--flows")
    assert {row["direction"] for row in rows} == {"from-remote", "to-remote"}
    assert len({row["flow"] for row in rows}) == 8
    [host] = sojourn.json("measure", "all.pcap")
    assert sum(row["samples"] for row in rows if row["direction"] == "from-remote") == host["samples"]
    [part] = sojourn.json("measure", "all.pcap", "--from", "5", "--to", "12")
    assert 0 < part["samples"] < host["samples"]
    assert "empty" in sentence(sojourn("measure", "all.pcap", "--from", "5", "--to", "5", code=2).stderr)
    if "libpcap" in sojourn("measure", "all.pcap", "--filter", "nonsense (", code=2).stderr:
        pytest.skip("libpcap is not installed")
    port = rows[0]["flow"].split(">")[0].rsplit(":", 1)[1]
    port = port if port != "5001" else rows[0]["flow"].rsplit(":", 1)[1]
    chosen = sojourn.json("measure", "all.pcap", "--flows", "--filter", f"tcp port {port}")
    assert len({row["flow"] for row in chosen}) == 2


def neighbours(out: Path) -> None:
    """Two hosts 0.3 ms apart, seen beside the one that answers after 20 µs, through a queue."""
    frames = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]

    def frame(
        ns: int, up: bool, seq: int, ack: int, size: int, stamps: tuple[int, int], flags: int = 16
    ) -> None:
        ends = (bytes([10, 9, 0, 2]), bytes([10, 9, 0, 1]))
        source, to = ends if up else ends[::-1]
        ports = (5000, 80) if up else (80, 5000)
        tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 8 << 4, flags, 999, 0, 0)
        tcp += struct.pack(">BBBBII", 1, 1, 8, 10, *stamps)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 52 + size, seq & 0xFFFF, 0, 64, 6, 0, source, to)
        data = b"\0" * 12 + b"\x08\x00" + ip + tcp
        time = 1_700_000_000_000_000_000 + ns
        frames.append(struct.pack("<IIII", *divmod(time, 10**9), len(data), len(data) + size) + data)

    def ms(ns: int) -> int:
        return ns // 1_000_000 + 77

    frame(0, True, 0, 0, 0, (ms(-150_000), 0), 2)
    frame(20_000, False, 0, 1, 0, (ms(20_000), ms(-150_000)), 18)
    frame(320_000, True, 1, 1, 0, (ms(170_000), ms(20_000)))
    for n in range(600):
        wait = (n % 60) * 200_000
        sent = 5_000_000 + n * 12_000_000
        at = sent + 150_000 + wait
        frame(at, True, 1 + n * 1000, 1, 1000, (ms(sent), ms(20_000)))
        frame(at + 20_000, False, 1, 1 + (n + 1) * 1000, 0, (ms(at + 20_000), ms(sent)))
    out.write_bytes(b"".join(frames))


def test_neighbours_are_measured_without_being_named(sojourn: Command) -> None:
    neighbours(sojourn.cwd / "lan.pcap")
    [host] = sojourn.json("measure", "lan.pcap")
    assert (host["remote"], host["local"]) == ("10.9.0.2", "10.9.0.1")
    assert host["mean_ms"] == pytest.approx(5.9, abs=0.6)
    done = sojourn("measure", "lan.pcap", "--local", "10.9.0.0/24", code=1)
    assert "--local" in done.stderr and "no remote host" in done.stdout


def test_an_export_is_measured_as_it_was_run(sojourn: Command) -> None:
    """The time on a slow link is no queue: what the run says of each packet is what is found."""
    (sojourn.cwd / "slow.toml").write_text(
        """
name = "slow"
duration = "40s"
[path]
rtt = "60ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "60pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "20pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "up"
count = 2
"""
    )
    for at in ("servers", "clients"):
        sojourn("export", "slow.toml", "run.pcapng", "--truth", "truth.csv", "--at", at)
        [host] = sojourn.json("measure", "run.pcapng")
        true = json.loads(sojourn("run", "slow.toml", "--json").stdout.splitlines()[0])["links"]
        ways = (host, host["to_remote"]) if at == "servers" else (host["to_remote"], host)
        assert ways[0]["mean_ms"] == pytest.approx(true["up"]["queue_delay_ms"]["mean"], rel=0.1)
        assert ways[1]["mean_ms"] == pytest.approx(true["down"]["queue_delay_ms"]["mean"], abs=2.0)


MESSAGES = """
name = "messages"
duration = "20s"

[path]
rtt = "40ms"
down = { rate = "500kbit", queue = { kind = "fifo", limit = "50pkt" } }
up = { rate = "500kbit", queue = { kind = "fifo", limit = "50pkt" } }

[[flows]]
source = { kind = "heartbeat", size = "1000B", every = "100ms" }
transport = "cubic"
direction = "down"
"""


def test_what_messages_take_by_themselves_is_no_certain_wait(sojourn: Command) -> None:
    (sojourn.cwd / "messages.toml").write_text(MESSAGES)
    sojourn("export", "messages.toml", "run.pcapng", "--tick", "1us")
    [host] = sojourn.json("measure", "run.pcapng")
    assert (host["mean_ms"], host["lower_bound"]) == (pytest.approx(0.0, abs=0.1), True)
    # A thousand bytes and 52 of headers, and fourteen of the link's: so much longer than a SYN's.
    assert host["missing_at_most_ms"] == pytest.approx(15.87, abs=0.05)
    assert "at least, up to 15.9 more" in sojourn("measure", "run.pcapng").stdout


@pytest.mark.parametrize("chosen", [(), ("--filter", "tcp")])
def test_the_number_of_threads_changes_no_byte(
    sojourn: Command, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    if chosen and not ctypes.util.find_library("pcap"):
        pytest.skip("libpcap is not installed")
    captures = [str(capture(name)) for name in SETS]
    seen = []
    for jobs in (1, 2):
        samples = tmp_path / f"{jobs}.csv"
        options = ["--json", "--jobs", str(jobs), "--samples", str(samples), "--uncertainty"]
        result = sojourn("measure", *captures, *options, *chosen)
        assert result.returncode == 0
        seen.append((result.stdout, samples.read_bytes()))
    assert seen[0] == seen[1]
    assert seen[0][1].count(b"\n") > 1000
    assert "--jobs is -1" in sentence(sojourn("measure", captures[0], "--jobs", "-1", code=2).stderr)
