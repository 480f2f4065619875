"""Passive measurement: accuracy against ground truth, damaged files, what is printed and written."""

from __future__ import annotations

import gzip
import json
import struct
import subprocess
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Command, sentence
from sojourn.capture import measure

DATA = Path(__file__).parent / "data" / "passive"

# What a plain script after the published equations reached, with either clock: the better of the two medians
# and 95th percentiles of the absolute error (ms), and the number of samples. The rewritten captures: what was
# reached on such captures.
REACHED = {
    "utp_backlogged": (0.043, 0.102, 7336),
    "utp_loss": (0.069, 0.163, 4823),
    "tcp_backlogged": (0.249, 0.476, 7042),
    "tcp_chirp": (0.275, 0.548, 2764),
    "tcp_heartbeat_hidden_chirp": (0.0085, 0.627, 435),
    "tcp_loss": (0.349, 0.806, 4839),
    "tcp_pcapng_ns": (0.178, 0.587, 1412),
    "tcp_cooked_any": (0.259, 0.834, 4865),
    "derived_tick4ms": (0.474, 2.628, 2764),
    "derived_utp_drift": (0.031, 0.09, 7336),
    "snaplen96_ipv6": (0.252, 0.588, 4876),
    "rewritten_tick10": (5.0, 10.1, 7042),
    "rewritten_usec": (0.067, 0.09, 7042),
    "rewritten_wrap": (0.249, 0.476, 7042),
    "rewritten_drift100": (0.69, 1.6, 7042),
}
# The same for the receiver's clock: the method as published.
PUBLISHED = {
    "utp_backlogged": (0.043, 0.102),
    "utp_loss": (0.088, 0.226),
    "tcp_backlogged": (0.2645, 0.861),
    "tcp_chirp": (0.3205, 0.8735),
    "tcp_loss": (0.3805, 0.81),
    "tcp_pcapng_ns": (0.2025, 0.7715),
    "derived_tick4ms": (0.7385, 2.851),
    "derived_utp_drift": (0.031, 0.09),
}


def capture(name: str) -> Path:
    return next(DATA.glob(f"{name}.pcap*.gz"))


def errors(name: str, samples: Path) -> np.ndarray:
    """Return estimate minus truth (ms) of every sample; each must be of a packet that the queue held."""
    rows = pl.read_csv(samples).filter(pl.col("direction") == "from-remote")
    truth = pl.read_csv(gzip.decompress((DATA / f"{name}.truth.csv.gz").read_bytes()))
    both = rows.join(truth, on="frame", how="left")
    assert both["queue_delay_us"].null_count() == 0
    assert set(rows["remote"]) <= {"10.1.1.2", "fd01:1::2"}
    return (both["queue_delay_ms"] - both["queue_delay_us"] / 1000).to_numpy()


@pytest.mark.parametrize("name", REACHED)
def test_is_at_least_as_accurate_as_the_plain_script(sojourn: Command, name: str) -> None:
    median, p95, least = REACHED[name]
    [host] = sojourn.json("measure", capture(name), "--samples", "s.csv")
    off = np.abs(errors(name, sojourn.cwd / "s.csv"))
    assert np.median(off) <= median
    assert np.percentile(off, 95) <= p95
    assert host["samples"] == len(off) >= least
    assert host["estimator"] == "observer_clock"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_method_gives_what_the_plain_script_gave(sojourn: Command, name: str) -> None:
    [host] = sojourn.json("measure", capture(name), "--samples", "s.csv", "--estimator", "reported")
    off = np.abs(errors(name, sojourn.cwd / "s.csv"))
    assert np.median(off) <= PUBLISHED[name][0]
    assert np.percentile(off, 95) <= PUBLISHED[name][1]
    assert host["estimator"] == "receiver_reports"


@pytest.mark.parametrize(
    ("name", "tick_ms", "drift_ppm", "within"),
    [
        ("derived_tick4ms", 4.0, None, 0),
        ("rewritten_tick10", 10.0, 0, 15),
        ("rewritten_usec", 0.001, 0, 1),
        ("rewritten_drift100", 1.0, 100, 3),
        ("derived_utp_drift", 0.001, -150, 1),
    ],
)
def test_finds_ticks_and_drifts(
    sojourn: Command, name: str, tick_ms: float, drift_ppm: float | None, within: float
) -> None:
    [host] = sojourn.json("measure", capture(name))
    assert host["tick_ms"] == tick_ms
    if drift_ppm is None:
        # Bursts answer nothing at once.
        assert host["base_drift_ppm"] is None
    else:
        assert abs(host["base_drift_ppm"] - drift_ppm) <= within


def test_what_is_printed_and_written_is_the_contract(sojourn: Command) -> None:
    [host] = sojourn.json("measure", capture("tcp_pcapng_ns"), "--samples", "s.csv")
    for key in ("samples", "mean_ms", "p50_ms", "p95_ms", "max_ms", "base_drift_ppm", "tick_ms", "discarded"):
        assert key in host
    assert (host["remote"], host["protocol"]) == ("10.1.1.2", "tcp")
    rows = pl.read_csv(sojourn.cwd / "s.csv", schema_overrides={"time_s": pl.String})
    columns = ["frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction"]
    assert rows.columns == columns
    everything = rows["queue_delay_ms"]
    delay = rows.filter(pl.col("direction") == "from-remote")["queue_delay_ms"]
    assert host["mean_ms"] == pytest.approx(delay.mean(), rel=1e-6)
    assert host["max_ms"] == pytest.approx(delay.max(), rel=1e-6)
    for share, key in ((0.5, "p50_ms"), (0.95, "p95_ms"), (0.99, "p99_ms")):
        assert host[key] == pytest.approx(delay.quantile(share, "lower"), rel=0.01)
    # Nanoseconds survive.
    assert len({time[-3:] for time in rows["time_s"]}) > 100
    sojourn("measure", capture("tcp_pcapng_ns"), "--samples", "s.parquet", "--uncertainty")
    parquet = pl.read_parquet(sojourn.cwd / "s.parquet")
    assert parquet["queue_delay_ms"].to_list() == everything.to_list()
    assert (parquet["uncertainty_ms"] >= 0).all()
    assert parquet.columns == [*columns, "uncertainty_ms"]
    for name in ("frame", "remote", "local", "protocol", "flow", "direction"):
        assert parquet[name].cast(pl.String).to_list() == rows[name].cast(pl.String).to_list(), name


def test_a_parquet_file_has_what_polars_would_write(sojourn: Command) -> None:
    """Of no row and of more rows than a row group has: same types, same numbers as in text."""
    plain = gzip.decompress(capture("tcp_loss").read_bytes())
    (sojourn.cwd / "empty.pcap").write_bytes(plain[:24])
    names = {"protocol": pl.Enum(["tcp", "utp", "quic"]), "direction": pl.Enum(["from-remote", "to-remote"])}
    names |= dict.fromkeys(("remote", "local", "flow"), pl.Categorical)
    columns = ["frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction"]
    for more in ([], ["--uncertainty"]):
        expected = {name: names.get(name, pl.Float64) for name in columns} | {"frame": pl.UInt64}
        expected |= {"uncertainty_ms": pl.Float64} if more else {}
        sojourn("measure", "empty.pcap", "--samples", "s.parquet", *more, code=1)
        none = pl.read_parquet(sojourn.cwd / "s.parquet")
        assert (none.height, dict(none.schema)) == (0, expected)
        again = BytesIO()
        none.write_parquet(again)
        files = (sojourn.cwd / "s.parquet", BytesIO(again.getvalue()))
        kept = [pl.read_parquet_metadata(file)["ARROW:schema"] for file in files]
        assert kept[0] == kept[1], "Polars writes another schema: samples_arrow.json has to be written anew"
    # A file is not to be named twice.
    captures = [sojourn.cwd / f"{number}.pcap" for number in range(20)]
    for each in captures:
        each.write_bytes(plain)
    sojourn("measure", *captures, "--samples", "s.parquet")
    sojourn("measure", *captures, "--samples", "s.csv", "--jobs", "1")
    many, text = (pl.read_parquet(sojourn.cwd / "s.parquet"), pl.read_csv(sojourn.cwd / "s.csv"))
    assert many.height > 1 << 17
    assert many["frame"].to_list() == text["frame"].to_list()
    assert many["queue_delay_ms"].to_list() == text["queue_delay_ms"].to_list()
    assert (many["time_s"] - text["time_s"]).abs().max() < 1e-6
    for name in names:
        assert many[name].cast(pl.String).to_list() == text[name].to_list(), name


def test_ways_of_reading_agree(sojourn: Command) -> None:
    name = "tcp_loss"
    plain = gzip.decompress(capture(name).read_bytes())
    first = sojourn("measure", capture(name), "--json").stdout
    (sojourn.cwd / "plain.pcap").write_bytes(plain)
    assert sojourn("measure", "plain.pcap", "--json").stdout == first
    piped = subprocess.run(
        sojourn.argv("measure", "-", "--json"),
        input=plain,
        capture_output=True,
        env=sojourn.environment(),
        check=True,
    )
    assert piped.stdout.decode() == first
    # Cut between two records, the parts are one stream.
    at = 24
    for _ in range(4000):
        at += 16 + struct.unpack_from("<I", plain, at + 8)[0]
    (sojourn.cwd / "a.pcap").write_bytes(plain[:at])
    (sojourn.cwd / "b.pcap").write_bytes(plain[:24] + plain[at:])
    assert sojourn("measure", "a.pcap", "b.pcap", "--json").stdout == first
    # In the other byte order.
    swapped = bytearray(struct.pack(">IHHIIII", *struct.unpack("<IHHIIII", plain[:24])))
    at = 24
    while at < len(plain):
        record = struct.unpack_from("<IIII", plain, at)
        swapped += struct.pack(">IIII", *record) + plain[at + 16 : at + 16 + record[2]]
        at += 16 + record[2]
    (sojourn.cwd / "big.pcap").write_bytes(swapped)
    assert sojourn("measure", "big.pcap", "--json").stdout == first


def test_frames_within_vlans_read_the_same(sojourn: Command) -> None:
    plain = gzip.decompress(capture("tcp_loss").read_bytes())
    tagged, at = bytearray(plain[:24]), 24
    while at < len(plain):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", plain, at)
        frame = plain[at + 16 : at + 16 + kept]
        frame = frame[:12] + bytes.fromhex("88a8000a 8100000b") + frame[12:]
        tagged += struct.pack("<IIII", seconds, fraction, kept + 8, length + 8) + frame
        at += 16 + kept
    (sojourn.cwd / "tagged.pcap").write_bytes(tagged)
    expected = sojourn("measure", capture("tcp_loss"), "--json").stdout
    assert sojourn("measure", "tagged.pcap", "--json").stdout == expected


def test_damaged_files_give_a_sentence(sojourn: Command) -> None:
    plain = gzip.decompress(capture("tcp_loss").read_bytes())
    (sojourn.cwd / "empty.pcap").write_bytes(b"")
    done = sojourn("measure", "empty.pcap", "--samples", "s.csv", code=2)
    assert "is no capture" in sentence(done.stderr)
    assert not (sojourn.cwd / "s.csv").exists()
    (sojourn.cwd / "head.pcap").write_bytes(plain[:24])
    done = sojourn("measure", "head.pcap", code=1)
    assert "no remote host" in done.stdout
    assert done.stderr == "sojourn: note: the captures hold no frame\n"
    first = 24 + 16 + struct.unpack_from("<I", plain, 32)[0]
    (sojourn.cwd / "one.pcap").write_bytes(plain[:first])
    done = sojourn("measure", "one.pcap", code=1)
    assert "note: none of the packets tells a delay (1 read); those of TCP with timestamps" in done.stderr
    (sojourn.cwd / "tail.pcap").write_bytes(plain[:300_001])
    assert "into its data" in sojourn("measure", "tail.pcap").stderr
    at = 24
    for _ in range(2000):
        at += 16 + struct.unpack_from("<I", plain, at + 8)[0]
    damaged = plain[: at + 8] + struct.pack("<I", 2**31 - 1) + plain[at + 12 :]
    (sojourn.cwd / "length.pcap").write_bytes(damaged)
    assert "record 2001" in sentence(sojourn("measure", "length.pcap", code=1).stderr)
    (sojourn.cwd / "text.pcap").write_text("this is no capture")
    assert "74 68 69 73" in sentence(sojourn("measure", "text.pcap", code=2).stderr)
    assert "No such file" in sentence(sojourn("measure", "nowhere.pcap", code=2).stderr)
    (sojourn.cwd / "cut.pcap.gz").write_bytes(capture("tcp_loss").read_bytes()[:50_000])
    said = sojourn("measure", "cut.pcap.gz").stderr
    assert "of cut.pcap.gz is not there: the compressed file ends before it; the " in said
    (sojourn.cwd / "head.pcap.gz").write_bytes(capture("tcp_loss").read_bytes()[:12])
    assert "ends within its compression" in sentence(sojourn("measure", "head.pcap.gz", code=2).stderr)


def test_options_that_make_no_sense_are_refused(sojourn: Command) -> None:
    sojourn("measure", code=2)
    assert ".csv or .parquet" in sentence(
        sojourn("measure", capture("tcp_loss"), "--samples", "s.txt", code=2).stderr
    )
    assert "prefix" in sentence(sojourn("measure", capture("tcp_loss"), "--local", "10.0/8x", code=2).stderr)


def test_the_small_log_is_settled_again_and_again(sojourn: Command) -> None:
    """What bounds the memory must not spoil the delays: a log of 1000 packets instead of four million."""
    script = f"""
import json
from sojourn import _core
options = {{"log_packets": 1000}}
_, hosts = _core.measure([{str(capture("tcp_backlogged"))!r}], json.dumps(options))
print(json.dumps([json.loads(host) for host in hosts]))
"""
    [small] = json.loads(sojourn.script(script))
    [whole] = sojourn.json("measure", capture("tcp_backlogged"))
    assert small["samples"] == whole["samples"]
    assert small["p50_ms"] == pytest.approx(whole["p50_ms"], abs=1.0)
    assert small["p95_ms"] == pytest.approx(whole["p95_ms"], abs=1.0)


def test_what_is_printed_of_hosts_is_json_of_what_is_measured(sojourn: Command) -> None:
    for name, more in (("tcp_loss", []), ("utp_loss", []), ("utp_loss", ["--report", "r.html"])):
        hosts = measure([capture(name)])["hosts"]
        assert any(len(host["series"]["rows"]) > 1 for host in hosts)
        printed = sojourn("measure", capture(name), "--json", *more).stdout.splitlines()
        assert printed == [json.dumps(host) for host in hosts]


def test_the_local_side_can_be_named(sojourn: Command) -> None:
    hosts = sojourn.json("measure", capture("tcp_loss"), "--local", "10.1.3.0/24")
    assert [host["remote"] for host in hosts] == ["10.1.1.2"]
    [host] = sojourn.json("measure", capture("tcp_loss"), "--local", "10.1.1.2")
    assert host["remote"] == "10.1.3.2"
    assert "named by --local" not in sojourn("measure", capture("tcp_loss"), "--local", "10.1.1.2").stderr
    done = sojourn("measure", capture("tcp_loss"), "--local", "192.0.2.7")  # a slip
    assert "note: no host of the captures is named by --local" in done.stderr


@pytest.mark.parametrize(
    ("name", "protocol", "p50_ms"), [("utp_backlogged", "utp", 105.0), ("tcp_backlogged", "tcp", 2467.0)]
)
def test_the_way_to_a_host_is_seen_by_its_reports(
    sojourn: Command, name: str, protocol: str, p50_ms: float
) -> None:
    """Taken for a capture near the sender, the receiver's reports tell the queue on the way to it."""
    [host] = sojourn.json("measure", capture(name), "--local", "10.1.1.2")
    assert (host["remote"], host["protocol"]) == ("10.1.3.2", protocol)
    assert host["to_remote"]["samples"] > 3000
    assert host["to_remote"]["p50_ms"] == pytest.approx(p50_ms, abs=2.0)
    assert host["p95_ms"] < 1.0


def test_the_page_stands_by_itself(sojourn: Command) -> None:
    files = [capture(name) for name in ("utp_loss", "tcp_loss", "snaplen96_ipv6")]
    sojourn("measure", *files, "--report", "out/delay.html")
    page = (sojourn.cwd / "out" / "delay.html").read_text()
    assert page.count("<svg") == 3
    assert "fd01:1::2" in page and "not ip" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for name in ("delay-cdf", "delay-over-time", "tcp-against-utp"):
        assert (sojourn.cwd / "out" / "figures" / f"{name}.png").stat().st_size > 10_000
