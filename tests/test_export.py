"""`sojourn export`: what passive measurement infers from a simulated capture is what the simulator knows."""

from __future__ import annotations

import json
import os

import polars as pl
import pytest
from conftest import HANGS_S, sentence
from sojourn.cli import call
from sojourn.cli.exit import Exit

STUDY = """
name = "export"
duration = "30s"
[path]
rtt = "50ms"
down = {{ rate = "10Mbit", queue = {{ kind = "fifo", limit = "100pkt" }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
[[flows]]
source    = {{ kind = "bulk" }}
transport = "{transport}"
direction = "{direction}"
count     = {count}
[[users]]
kind  = "voice"
codec = "g711a"
"""
PACKET_MS = {"up": 1500 * 8 / 2e6 * 1e3, "down": 1500 * 8 / 10e6 * 1e3}


@pytest.mark.parametrize(
    ("transport", "direction", "count", "tick", "protocol"),
    [
        ("newreno", "up", 3, "1us", "tcp"),
        ("cubic", "down", 3, "1us", "tcp"),
        ("cubic", "up", 1, "1ms", "tcp"),
        ("utp", "up", 1, "1ms", "utp"),
    ],
)
def test_measured_delay_is_the_engines_own(sojourn, tmp_path, transport, direction, count, tick, protocol):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(transport=transport, direction=direction, count=count))
    at = "servers" if direction == "up" else "clients"
    sojourn("export", study, "run.pcapng", "--at", at, "--tick", tick, "--truth", "truth.csv")
    sojourn("measure", "run.pcapng", "--samples", "samples.csv")
    truth = pl.read_csv(tmp_path / "truth.csv")
    samples = pl.read_csv(tmp_path / "samples.csv").filter(pl.col("protocol") == protocol)
    both = samples.join(truth, on="frame", suffix="_true")
    # Reported differences are one per acknowledgement, so for every second packet.
    assert both.height > 0.45 * truth.filter(pl.col("kind") == "data").height
    error = (both["queue_delay_ms"] - both["queue_delay_ms_true"]).abs()
    # The base is a SYN's, which has next to no transmission time of its own. Flows that begin in a standing
    # queue have a base taken over from their neighbours, which are up to one more packet away.
    packets = 1 if count == 1 else 2
    assert error.max() <= packets * PACKET_MS[direction] + (1 if tick == "1ms" else 0.002)
    assert both["queue_delay_ms_true"].max() > 10 * PACKET_MS[direction]


def test_of_several_replications_and_of_nobody_it_is_said(sojourn, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.partition("[[flows]]")[0].format().replace("30s", "2s"))
    told = sojourn("export", study, tmp_path / "run.pcapng", "--set", "repeat=3").stderr
    assert "note: this is replication 0 of 3; --only replication=N chooses another\n" in told
    assert "note: no packet is sent in any cell" in told
    told = sojourn(
        "export", study, tmp_path / "run.pcapng", "--set", "repeat=3", "--only", "replication=2"
    ).stderr
    assert "replication" not in told


@pytest.mark.parametrize("at", ["clients", "servers"])
def test_a_slow_link_is_no_queue_and_who_answers_every_other_packet_is_near(sojourn, tmp_path, at):
    """Of uTP: a full packet takes 12 ms longer than the SYN, and the answer to one waits for the next."""
    study = tmp_path / "study.toml"
    link = '{ rate = "1Mbit", queue = { kind = "fifo", limit = "64pkt" } }'
    flow = '[[flows]]\nsource = { kind = "bulk" }\ntransport = "utp"\n'
    study.write_text(
        f'name = "slow"\nduration = "30s"\n[path]\nrtt = "60ms"\ndown = {link}\nup = {link}\n'
        f'{flow}direction = "down"\n{flow}direction = "up"\nstart = "10s"\n'
    )
    sojourn("export", study, "run.pcapng", "--at", at, "--truth", "truth.csv")
    hosts = {
        host["remote"]: host for host in sojourn.json("measure", "run.pcapng", "--samples", "samples.csv")
    }
    remote, near = ("10.2.0.0", "10.1.0.0") if at == "clients" else ("10.1.0.1", "10.2.0.1")
    assert remote in hosts and near not in hosts, "of the flow whose data come here"
    both = pl.read_csv(tmp_path / "samples.csv").join(
        pl.read_csv(tmp_path / "truth.csv"), "frame", suffix="_true"
    )
    both = both.filter((pl.col("remote") == remote) & (pl.col("kind") == "data"))
    assert both.height > 400 and both["queue_delay_ms_true"].mean() > 50
    assert (both["queue_delay_ms"] - both["queue_delay_ms_true"]).abs().median() < 0.1


def test_the_true_delays_are_those_of_the_packet_log(sojourn, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(transport="newreno", direction="up", count=2))
    sojourn("export", study, "run.pcapng", "--at", "servers", "--truth", "truth.csv")
    sojourn("run", study, "--log", "--out", "out")
    log = pl.read_parquet(next((tmp_path / "out" / "packets").glob("*.parquet")))
    left = log.filter((pl.col("link") == "up") & pl.col("depart_ns").is_not_null())
    waits = ((left["depart_ns"] - left["arrive_ns"].cast(pl.Int64)) / 1e6).sort()
    truth = pl.read_csv(tmp_path / "truth.csv")["queue_delay_ms"].sort()
    # Those last in the queue had not arrived when the run ended.
    assert len(waits) - 40 < len(truth) <= len(waits)
    assert truth.quantile(0.5) == pytest.approx(waits.quantile(0.5), rel=0.01)


@pytest.mark.parametrize(("transport", "count"), [("cubic", 2), ("bbr", 1)])
def test_both_sides_see_the_same_queue(sojourn, tmp_path, transport, count):
    """Holes are reported: the data's sender knows the delays during them, and counts them for no more."""
    study = tmp_path / "study.toml"
    short = STUDY.replace("30s", "15s").replace("64pkt", "24pkt")
    study.write_text(short.format(transport=transport, direction="up", count=count))
    delay = {}
    for at in ("clients", "servers"):
        sojourn("export", study, f"{at}.pcapng", "--at", at)
        [host] = [host for host in sojourn.json("measure", f"{at}.pcapng") if host["protocol"] == "tcp"]
        delay[at] = host["to_remote"] if at == "clients" else host
    # Selective acknowledgements.
    assert (tmp_path / "clients.pcapng").read_bytes().count(b"\x01\x01\x05") > 20
    assert delay["clients"]["mean_ms"] == pytest.approx(delay["servers"]["mean_ms"], rel=0.1)
    assert delay["clients"]["max_ms"] == pytest.approx(delay["servers"]["max_ms"], rel=0.1)


def test_the_way_of_acknowledgements_is_told_by_the_stamps_that_data_echo(sojourn, tmp_path):
    study = tmp_path / "study.toml"
    upload = '[[flows]]\nname = "upload"\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "up"\n'
    both = STUDY.format(transport="cubic", direction="down", count=1).partition("[[users]]")[0] + upload
    study.write_text(both.replace("30s", "20s"))
    sojourn("export", study, "servers.pcapng", "--at", "servers", "--truth", "truth.csv")
    sojourn("export", study, "clients.pcapng", "--at", "clients")
    truth = pl.read_csv(tmp_path / "truth.csv").filter(pl.col("kind") == "ack")["queue_delay_ms"].mean()
    found = {host["remote"]: host["to_remote"] for host in sojourn.json("measure", "clients.pcapng")}
    download = found["10.2.0.0"]
    assert download["samples"] > 1000
    assert (download["lower_bound"], truth > 20) == (False, True)
    assert download["mean_ms"] == pytest.approx(truth, rel=0.1, abs=2)


def test_several_points_and_bad_places_get_a_sentence(sojourn, tmp_path):
    study = tmp_path / "study.toml"
    text = STUDY.format(transport="newreno", direction="up", count=1)
    study.write_text(text + '[sweep]\n"path.up.queue.limit" = ["8pkt", "64pkt"]\nwarmup = ["0s", "1s"]\n')
    done = sojourn("export", study, "run.pcapng", code=2)
    assert "has 4 points; name one with --only: path.up.queue.limit, warmup" in done.stderr
    done = sojourn("export", study, "run.pcapng", "--only", "warmup=1s", code=2)
    assert "has 2 points; name one with --only: path.up.queue.limit\n" in done.stderr
    assert not (tmp_path / "run.pcapng").exists()
    done = sojourn(
        "export", study, "no/run.pcapng", "--only", "path.up.queue.limit=8pkt", "--only", "warmup=1s", code=2
    )
    assert "cannot be written" in done.stderr


def test_places_that_cannot_be_written_get_a_sentence(tmp_path, monkeypatch, capsys):
    study = tmp_path / "study.toml"
    monkeypatch.chdir(tmp_path)

    def refused(*words: str) -> str:
        assert call(["export", str(study), *words]) == Exit.INPUT
        return sentence(capsys.readouterr().err)

    study.write_text(STUDY.format(transport="newreno", direction="up", count=1))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for place in ("folder", "no/truth.csv", "file/truth.csv", "", "."):
        for words in (("run.pcapng", "--truth", place), (place.removesuffix(".csv"),)):
            complaint = refused(*words)
            assert f"{words[-1] or '.'} cannot be written: " in complaint
            assert not (tmp_path / "run.pcapng").exists(), "told before the simulation"
    for place in ("run.flnt", "run.csv", "run.pcapng.gz", "run.gz"):
        assert ".flent.gz or .flent" in (complaint := refused(place)) and place in complaint
    assert "the capture itself" in refused("run.pcapng", "--truth", "run.pcapng")
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


def test_a_fifo_gets_the_truth_and_stays(sojourn, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(transport="newreno", direction="up", count=1))
    os.mkfifo(tmp_path / "truth")
    process = sojourn.start("export", study, "run.pcapng", "--truth", "truth")
    with (tmp_path / "truth").open("rb") as reader:
        rows = pl.read_csv(reader.read())
    out, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 0, err
    assert f"{rows.height} packets arrived" in out
    assert (tmp_path / "truth").is_fifo()


BOTH = """name = "both"
duration = "15s"
[path]
rtt = "50ms"
down = {{ rate = "8Mbit", queue = {{ kind = {queue} }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
{flows}
"""


@pytest.mark.parametrize(("queue", "transport", "count"), [("red", "reno", 6), ("fq-codel", "cubic", 4)])
def test_what_still_waits_at_the_end_is_not_lost(sojourn, tmp_path, queue, transport, count):
    flows = "".join(
        f'[[flows]]\nsource = {{ kind = "bulk" }}\ntransport = "{transport}"\ndirection = "down"\n'
        f'rtt = "{20 + 30 * i}ms"\n'
        for i in range(count)
    )
    study = tmp_path / "study.toml"
    study.write_text(BOTH.format(queue=f'"{queue}", limit = "120pkt"', flows=flows))
    sojourn("run", study, "--out", "out")
    [ran] = [json.loads(file.read_text()) for file in (tmp_path / "out" / "points").glob("*.json")]
    for side in ("servers", "clients"):
        sojourn("export", study, f"{side}.pcapng", "--at", side)
    [found] = sojourn.json("losses", "servers.pcapng", "clients.pcapng")
    dropped = ran["links"]["down"]["dropped_pkts"]
    assert dropped > 20 and abs(found["lost_pkts"] - dropped) <= 1 + dropped / 100


@pytest.mark.parametrize("hop", [False, True])
def test_a_packet_of_utp_is_the_same_wherever_it_is_seen(sojourn, tmp_path, hop):
    """Data and reports of both ends: nothing is lost, and each is found behind the queue."""
    flows = "".join(
        f'[[flows]]\nsource = {{ kind = "bulk" }}\ntransport = "utp"\ndirection = "{way}"\n'
        for way in ("down", "up")
    )
    text = BOTH.format(queue='"fifo", limit = "400pkt"', flows=flows).replace('"64pkt"', '"400pkt"')
    if hop:
        text = text.replace(
            'rtt = "50ms"\n', 'client-delay = "10ms"\nserver-delay = "15ms"\n[[path.hop]]\nname = "a"\n'
        )
    study = tmp_path / "study.toml"
    study.write_text(text)
    front = "a" if hop else "clients"
    for place in ("servers", front):
        sojourn("export", study, f"{place}.pcapng", "--at", place)
    for ways in ((front, "servers"), ("servers", front)):
        [found] = sojourn.json("losses", *(f"{place}.pcapng" for place in ways))
        assert found["lost_pkts"] == 0 and found["egress_pkts"] > 2000
