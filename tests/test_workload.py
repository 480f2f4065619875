"""`sojourn workload`: from a run to its capture, from that to a workload, and back to a run."""

from __future__ import annotations

import gzip
import ipaddress
import json
import struct
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from sojourn import _core
from sojourn.capture.workload import read
from sojourn.cli.workload import workload
from sojourn.errors import SojournError
from sojourn.study import Study

DATA = Path(__file__).parent / "data" / "loss_small_pfifo"

PATH = """
name = "lab"
duration = "40s"
[path]
rtt = "50ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "50pkt" } }
up   = { rate = "2Mbit", queue = { kind = "fifo", limit = "64pkt" } }
"""
LOADS = {
    "bulk": """
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
count = 3
""",
    "sessions": """
[[flows]]
source = { kind = "sessions", preset = "imc14" }
transport = "cubic"
direction = "down"
count = 9
""",
    "packmime": """
[[flows]]
source = { kind = "packmime", rate = 60 }
transport = "cubic"
direction = "down"
""",
    "web": """
[[users]]
kind = "web"
count = 12
""",
    "voice-and-bulk": """
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
count = 2
[[flows]]
source = { kind = "cbr", rate = "400kbit", size = "200B" }
transport = "udp"
direction = "down"
""",
    "heartbeats": """
[[flows]]
source = { kind = "heartbeat", size = "1000B", every = "500ms" }
transport = "newreno"
direction = "up"
count = 4
""",
}
REPLAY = """
[[flows]]
source = { kind = "recorded", file = "lab.parquet" }
transport = "cubic"
direction = "down"
"""


ROUND_TRIPS = ("49.6ms", "49.8ms", "50ms", "50.2ms", "50.4ms")
"""A run differs from the same a moment later by 6 % in its losses (s.d.): means of several are compared."""


def ran(file: Path, rtt: str = "50ms") -> dict:
    [point] = Study.load(file, [("record.flows", "true"), ("path.rtt", rtt)]).points
    done = _core.run(point.text)
    return {**json.loads(done["summary"]), "table": pl.DataFrame(done["flows"])}


@pytest.mark.parametrize("load", LOADS)
def test_a_run_comes_back_from_its_own_capture(sojourn, tmp_path, load):
    study, replay = tmp_path / "lab.toml", tmp_path / "replay.toml"
    study.write_text(PATH + LOADS[load])
    # Beside the senders: what datagrams were lost behind it is in it.
    sojourn("export", study, "lab.pcapng", "--at", "servers" if "up" not in LOADS[load] else "clients")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    replay.write_text(PATH + REPLAY)
    one, other = ran(study), ran(replay)
    # Sizes: every connection's bytes, both ways, as the engine's own table has them.
    found = (
        pl.read_parquet(tmp_path / "lab.parquet")
        .filter("tcp")
        .with_columns(pl.max_horizontal("a_bytes", "b_bytes").alias("bytes"))
    )
    whole = one["table"].filter(pl.col("end_ns") >= 0)
    # Some have ended in the capture, but not yet at both ends of the run.
    assert Counter(whole["bytes"].to_list()) <= Counter(found["bytes"].to_list())
    assert found.filter(~pl.col("cut")).height - whole.height in range(10)
    # A replay that had time to end carries the same bytes.
    link = "up" if load == "heartbeats" else "down"
    carried, again = (run["links"][link]["departed_bytes"] for run in (one, other))
    assert again == pytest.approx(carried, rel=0.02 if load == "web" else 0.1)
    runs = [[ran(file, rtt)["links"][link] for rtt in ROUND_TRIPS] for file in (study, replay)]
    wait, again = (fmean(each["queue_delay_ms"]["mean"] for each in some) for some in runs)
    assert again == pytest.approx(wait, rel=0.1, abs=0.3)
    lost, again = (fmean(each["loss"] for each in some) for some in runs)
    assert again == pytest.approx(lost, rel=0.1, abs=0.002)


TURN = {"accepted": False, "bytes": 900, "wait_ns": 300_000_000, "heard": 0, "writes": 3}
ANSWER = {"accepted": True, "bytes": 5000, "wait_ns": 0, "heard": 900, "writes": 1}


def test_ends_that_send_at_once_wait_for_what_they_hear_and_write_as_they_did(tmp_path):
    """Also one that heard of more than comes goes on; a workload of before has neither."""
    late, begins = {**TURN, "bytes": 7, "wait_ns": 0, "heard": 9999, "writes": 1}, []
    for old in (False, True):
        turns = pl.Series([[TURN, ANSWER, late]])
        if old:
            turns = turns.list.eval(pl.struct(pl.element().struct.field("accepted", "bytes", "wait_ns")))
        row = {"opener": "10.0.0.1", "tcp": True, "client_opens": True, "concurrent": True,
               "start_ns": 0, "rtt_ns": 50_000_000, "length_ns": 10**9}  # fmt: skip
        pl.DataFrame([row]).with_columns(turns.alias("turns")).write_parquet(tmp_path / "lab.parquet")
        (tmp_path / "replay.toml").write_text(PATH + REPLAY + "[record]\nflows = true\n")
        done = _core.run(Study.load(tmp_path / "replay.toml").points[0].text, log=True)
        log = pl.DataFrame(done["packets"]).filter(pl.col("kind") == _core.packet_kinds().index("data"))
        down, up = (log.filter(pl.col("link") == link) for link in (0, 1))
        begins.append(down["arrive_ns"].min())
        assert sorted(up["size_bytes"]) == ([59, 952] if old else [59, 352, 352, 352])
        assert pl.DataFrame(done["flows"])["end_ns"].min() > 0
    heard, free = begins
    assert free < 100_000_000 and 350_000_000 < heard < 450_000_000


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_a_page_is_asked_for_step_by_step(sojourn, tmp_path, at):
    (tmp_path / "lab.toml").write_text(PATH + '[[users]]\nkind = "page"\n')
    sojourn("export", "lab.toml", "lab.pcapng", "--at", at, "--set", "duration=9s")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    turns = found.filter("concurrent").sort("b_bytes", descending=True)["turns"][0].to_list()
    # TLS, the document, and what that names: each piece after all that it needs.
    assert [(each["bytes"], each["heard"], each["writes"]) for each in turns[:5]] == [
        (600, 0, 1), (3000, 600, 1), (380, 3000, 2), (22_362, 980, 1), (4200, 25_362, 14),
    ]  # fmt: skip


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_who_was_sending_when_the_capture_ended_sends_for_as_long(sojourn, tmp_path, at):
    study, replay = tmp_path / "lab.toml", tmp_path / "replay.toml"
    study.write_text(PATH + LOADS["bulk"])
    sojourn("export", study, "lab.pcapng", "--at", at, "--set", "duration=10s")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    assert found["cut"].all() and (found["a_goes_on"] | found["b_goes_on"]).all()
    # Over a link twice as fast all are done with what was seen after half the time, and over it until then.
    fast = PATH.replace("8Mbit", "16Mbit").replace("40s", "20s")
    replay.write_text(fast + REPLAY + "[record]\nseries = true\n")
    series = ran(replay)["links"]["down"]["series"]
    busy = [(at * series["bin_s"], share) for at, share in enumerate(series["utilisation"])]
    assert fmean(share for at, share in busy if 7 <= at < 9.5) > 0.9
    assert all(share == 0 for at, share in busy if at > 10.5)


@pytest.mark.parametrize("load", ["sessions", "packmime"])
def test_captures_on_either_side_of_a_full_queue_tell_the_same(sojourn, tmp_path, load):
    """The queue stands and loses: starts and waits are exact of the end beside a capture, and tell others."""
    study = tmp_path / "lab.toml"
    study.write_text(PATH.replace("50pkt", "150pkt") + LOADS[load].replace("rate = 60", "rate = 110"))
    waited, rows = {}, []
    for at in ("clients", "servers"):
        sojourn("export", study, f"{at}.pcapng", "--at", at, "--set", "duration=20s")
        sojourn("workload", f"{at}.pcapng", "-o", "w.parquet")
        table = pl.read_parquet(tmp_path / "w.parquet").filter("client_opens", pl.col("a_bytes") > 0)
        turns = table.explode("turns").unnest("turns")
        waited[at] = turns.group_by("accepted").agg(pl.col("wait_ns").mean() / 1e6)
        rows.append(table.select("opener", "opener_port", "start_ns", "b_initial_window"))
    means = {at: dict(some.iter_rows()) for at, some in waited.items()}
    assert means["clients"][True] == pytest.approx(means["servers"][True], rel=0.1, abs=1)
    # They are none: one in twelve of packmime's is taken for 5 ms or more, up to 165.
    assert means["servers"][False] == pytest.approx(means["clients"][False], rel=0.1, abs=5)
    both = rows[0].join(rows[1], on=("opener", "opener_port"))
    assert (
        both["b_initial_window"].unique().to_list()
        == both["b_initial_window_right"].unique().to_list()
        == [10]
    )
    late_ms = (both["start_ns_right"].cast(pl.Int64) - both["start_ns"].cast(pl.Int64)) / 1e6
    # SYNs that were lost on their way were seen a second later.
    assert both.height > 300 and late_ms.filter(late_ms < 900).abs().quantile(0.9) < 5


def test_real_captures_of_a_gateway(tmp_path, capsys):
    workload(DATA / "ingress.pcap.gz", output=tmp_path / "w.parquet", json=True)
    told = json.loads(capsys.readouterr().out)
    found = pl.read_parquet(tmp_path / "w.parquet")
    # Also the one flow of datagrams.
    assert told["bytes"] == found["a_bytes"].sum() + found["b_bytes"].sum()
    assert told["connections"] == 225 and told["udp_flows"] == 1
    assert found.filter("tcp").height == 225 and found.filter(~pl.col("tcp")).height == 1
    [udp] = found.filter(~pl.col("tcp"))["turns"].to_list()
    assert len(udp) == 1500 and {turn["bytes"] for turn in udp} == {172}
    bulk = found.filter("tcp").sort("a_bytes", descending=True)
    assert bulk["b_bytes"].max() == 0
    assert (bulk["a_bytes"] == bulk["turns"].list.eval(pl.element().struct.field("bytes")).list.sum()).all()
    # 20 ms one way behind the queue.
    assert 40e6 <= bulk["rtt_ns"].median() < 60e6


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_the_initial_window_is_in_the_capture(sojourn, tmp_path, at):
    study = tmp_path / "lab.toml"
    study.write_text(PATH + '[[users]]\nkind = "web"\ncount = 3\ninitial-window = 4\n')
    sojourn("export", study, "lab.pcapng", "--at", at, "--set", "duration=6s")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet", "--study", "office.toml")
    found = pl.read_parquet(tmp_path / "lab.parquet")
    # Requests of one segment do not show that of the clients.
    assert found["b_initial_window"].to_list() == [4] * found.height
    assert found["a_initial_window"].null_count() == found.height
    [flows] = tomllib.loads((tmp_path / "office.toml").read_text())["flows"]
    assert flows["initial-window"] == 4


def datagram(source: str, destination: str) -> bytes:
    """Return a datagram of 4 bytes at IP, of either version."""
    ends = [ipaddress.ip_address(end) for end in (source, destination)]
    both = b"".join(end.packed for end in ends)
    head = (
        struct.pack(">BBHHHBBH", 0x45, 0, 32, 7, 0, 64, 17, 0)
        if ends[0].version == 4
        else struct.pack(">IHBB", 6 << 28, 12, 17, 64)
    )
    return head + both + struct.pack(">HHHH4s", 5000, 6000, 12, 0, b"....")


@pytest.mark.parametrize(
    ("clients", "server", "lengths"),
    [
        ("10.129.64.37", "192.0.2.9", (0, 1, 8, 15, 24, 25, 31, 32)),
        ("2001:db8:8000::25", "2001:db8:1::9", (0, 1, 33, 34, 64, 127, 128)),
    ],
)
def test_clients_are_whom_the_prefix_holds_bit_by_bit(tmp_path, clients, server, lengths):
    own = ipaddress.ip_address(clients)
    # One bit of the address differs, each in turn; and none.
    openers = [own, *(type(own)(int(own) ^ 1 << bit) for bit in range(own.max_prefixlen))]
    packets = [datagram(str(opener), server) for opener in openers]
    frames = [
        struct.pack("<IIII", 1_700_000_000, 1000 * k, len(bytes_), len(bytes_)) + bytes_
        for k, bytes_ in enumerate(packets)
    ]
    capture = tmp_path / "raw.pcap"
    capture.write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 101) + b"".join(frames))
    for length in lengths:
        network = ipaddress.ip_network(f"{own}/{length}", strict=False)
        found = read([capture], [str(network)]).connections
        opens = dict(zip(found["opener"], found["client_opens"], strict=True))
        assert len(opens) == len(openers)
        assert opens == {str(opener): opener in network for opener in openers}, network
    for other in ("198.51.100.0/24", "2001:db8:ffff::1"):  # a slip would turn every direction round
        with pytest.raises(SojournError, match=f"--clients {other}: no host of the captures"):
            read([capture], [other])


def test_scale_is_exact_and_only_adds(sojourn, tmp_path):
    study = tmp_path / "lab.toml"
    study.write_text(PATH + LOADS["packmime"])
    sojourn("export", study, "lab.pcapng", "--at", "servers", "--set", "duration=10s")
    [said] = sojourn.json("workload", "lab.pcapng", "-o", "lab.parquet")
    replay = tmp_path / "replay.toml"
    counts = {}
    for scale in (0.5, 1, 1.2, 3):
        replay.write_text(PATH + REPLAY.replace('"lab.parquet"', f'"lab.parquet", scale = {scale}'))
        counts[scale] = ran(replay)["table"].height
    useful = pl.read_parquet(tmp_path / "lab.parquet").filter("tcp", pl.col("turns").list.len() > 0).height
    assert useful <= said["connections"]
    assert all(abs(count - scale * useful) <= 1 for scale, count in counts.items()), counts


def test_the_file_is_part_of_what_names_a_result(sojourn, tmp_path):
    study = tmp_path / "lab.toml"
    study.write_text(PATH + LOADS["packmime"])
    sojourn("export", study, "lab.pcapng", "--set", "duration=3s")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet")
    replay = tmp_path / "replay.toml"
    replay.write_text(PATH + REPLAY)
    [first] = Study.load(replay).points
    (tmp_path / "other").mkdir()
    (tmp_path / "lab.parquet").rename(tmp_path / "other" / "lab.parquet")
    replay.write_text(PATH + REPLAY.replace("lab.parquet", "other/lab.parquet"))
    [moved] = Study.load(replay).points
    assert moved.hash == first.hash
    sojourn("export", study, "lab.pcapng", "--set", "duration=4s")
    sojourn("workload", "lab.pcapng", "-o", "other/lab.parquet")
    [changed] = Study.load(replay).points
    assert changed.hash != first.hash
    with pytest.raises(SojournError, match="has changed since the study was read"):
        _ = moved.text


def test_the_whole_study(sojourn, tmp_path):
    study = tmp_path / "lab.toml"
    study.write_text(PATH.replace("50pkt", "75000B") + LOADS["voice-and-bulk"])
    sojourn("export", study, "lab.pcapng", "--at", "clients")
    sojourn("workload", "lab.pcapng", "-o", "lab.parquet", "--study", "office.toml")
    text = (tmp_path / "office.toml").read_text()
    assert "# Rates are of IP packets." in text and "is a choice: Linux's CUBIC, but BBR" in text
    found = tomllib.loads(text)
    rate = int(found["path"]["down"]["rate"].removesuffix("bit"))
    # Frames of the capture have 14 bytes more than packets of the engine: 1.4 % of this traffic.
    assert rate == pytest.approx(8e6, rel=0.005)
    limit = int(found["path"]["down"]["queue"]["limit"].removesuffix("B"))
    assert limit == pytest.approx(50 * 1500, rel=0.1)
    sojourn("run", "office.toml", "--out", "office")
    sojourn("report", "office", svg_only=True)
    assert "measured" in (tmp_path / "office" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no capture is named"),
        (("a.pcap",), "-o is missing"),
        (("a.pcap", "-o", "a.csv"), "ends in .parquet"),
        (("no.pcap", "-o", "a.parquet"), "no.pcap"),
        (("bad.pcap", "-o", "a.parquet"), "is no capture"),
        (("bad.pcap", "-o", "a.parquet", "--clients", "x"), "expected an address or a prefix"),
    ],
)
def test_bad_input_gets_a_sentence(sojourn, tmp_path, words, said):
    (tmp_path / "bad.pcap").write_text("hello, world")
    done = sojourn("workload", *words, code=2)
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "a.parquet").exists()


def test_a_study_whose_file_is_no_workload_gets_a_sentence(sojourn, tmp_path):
    (tmp_path / "lab.parquet").write_text("hello")
    (tmp_path / "replay.toml").write_text(PATH + REPLAY)
    assert "is no workload" in sojourn("run", "replay.toml", "--out", "out", code=2).stderr
    (tmp_path / "lab.parquet").unlink()
    assert "there is no such workload" in sojourn("run", "replay.toml", "--out", "out", code=2).stderr


UPLOAD = """name = "up"
duration = "5s"
[path]
rtt  = "40ms"
down = { rate = "10Mbit", queue = { kind = "fifo", limit = "50pkt" } }
up   = { rate = "2Mbit", queue = { kind = "fifo", limit = "50pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "up"
"""


def test_an_upload_beside_its_sender_gives_a_study_of_the_uplink_that_runs(sojourn, tmp_path):
    (tmp_path / "lab.toml").write_text(UPLOAD)
    sojourn("export", "lab.toml", "lab.pcapng", "--at", "clients")
    done = sojourn("workload", "lab.pcapng", "-o", "w.parquet", "--study", "w.toml")
    assert "the link up: it was not always filled; it carried 1.99 Mbit/s in the " in done.stderr
    assert "no waiting could be seen on the link up" not in done.stderr
    found = tomllib.loads((tmp_path / "w.toml").read_text())
    (limits,) = found["sweep"].values()
    assert list(found["sweep"]) == ["path.up.queue.limit"] and len(set(limits)) == 3
    waited = dict(row.split(",")[:2] for row in (tmp_path / "w-measured.csv").read_text().splitlines())
    assert float(waited["links.up.queue_delay_ms.max"]) == pytest.approx(300, rel=0.05)
    assert float(waited["links.down.queue_delay_ms.max"]) < 1


def test_a_link_that_nothing_was_seen_on_gets_no_densest_second(sojourn, tmp_path):
    frames = [datagram("10.0.0.1", "10.9.0.1")] * 300
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    rows = (struct.pack("<IIII", 1, 1000 * at, len(one), len(one)) + one for at, one in enumerate(frames))
    (tmp_path / "one.pcap").write_bytes(header + b"".join(rows))
    done = sojourn("workload", "one.pcap", "-o", "w.parquet", "--study", "w.toml")
    assert "nothing was seen on it" in done.stderr and "the 0.3 s that were captured" in done.stderr
    assert "no round trip was seen: the path's is 50 ms, a choice" in done.stderr
    sojourn("run", "w.toml", "--dry-run")  # sizes that are alike are one
    assert len(tomllib.loads((tmp_path / "w.toml").read_text())["sweep"].popitem()[1]) == 2


def test_captures_come_from_a_pipe_but_not_for_a_study(sojourn, tmp_path):
    """A study measures the captures, too: what reads them twice finds nothing in a pipe the second time."""
    plain = gzip.decompress((DATA / "ingress.pcap.gz").read_bytes())
    (tmp_path / "all.pcap").write_bytes(plain)
    for words, code in ((("-o", "x.parquet"), 0), (("-o", "y.parquet", "--study", "y.toml"), 2)):
        command = [sys.executable, "-m", "sojourn", "workload", "-", *words]
        with (tmp_path / "all.pcap").open("rb") as pipe:
            done = subprocess.run(
                command, stdin=pipe, cwd=tmp_path, capture_output=True, text=True, check=False
            )
        assert done.returncode == code, done.stderr
    assert "/dev/stdin is no regular file; with --study captures are read twice" in done.stderr
    assert not list(tmp_path.glob("y*"))
    sojourn("workload", "all.pcap", "-o", "all.parquet")
    assert pl.read_parquet(tmp_path / "x.parquet").equals(pl.read_parquet(tmp_path / "all.parquet"))


def test_captures_in_another_order_or_copied_are_told(sojourn, tmp_path):
    plain = gzip.decompress((DATA / "ingress.pcap.gz").read_bytes())
    at = 24
    for _ in range(1000):
        at += 16 + struct.unpack_from("<I", plain, at + 8)[0]
    (tmp_path / "1.pcap").write_bytes(plain[:at])
    (tmp_path / "2.pcap").write_bytes(plain[:24] + plain[at:])
    (tmp_path / "1b.pcap").write_bytes(plain[:at])
    for files, told in ((("1.pcap", "2.pcap"), 0), (("2.pcap", "1.pcap"), 1), (("1.pcap", "1b.pcap"), 1)):
        for words in (("workload", "-o", "w.parquet"), ("measure", "--min-samples", "1")):
            said = sojourn(words[0], *files, *words[1:]).stderr
            assert said.count(f"note: {files[1]} begins no later than {files[0]}, which was read") == told, (
                said
            )
