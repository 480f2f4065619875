"""`sojourn wild`: what the survey counts, and every way to hand it a table."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn.capture.tcp_stats import open_table, survey
from sojourn.capture.tcp_stats.access import Prefixes, by_name
from sojourn.errors import SojournError


def _table(tmp_path, **columns):
    file = tmp_path / "table.parquet"
    pl.DataFrame(columns).write_parquet(file)
    return file


def test_shares_are_exact_and_quantiles_nearly_so(tmp_path):
    rng = np.random.default_rng(1)
    low = 10 ** rng.normal(1.4, 0.4, 50_000)
    wait = 10 ** rng.normal(1.5, 0.8, 50_000)
    file = _table(tmp_path, min_rtt_ms=low, max_rtt_ms=low + wait, rtt_samples=rng.integers(1, 40, 50_000))
    kept = pl.read_parquet(file).filter(pl.col("rtt_samples") >= 10)
    true = (kept["max_rtt_ms"] - kept["min_rtt_ms"]).to_numpy()
    found = survey(open_table([file]))
    shares = found.shares()
    assert shares["connections"] == len(true)
    assert shares["above_100ms"] == np.mean(true > 100)
    assert shares["above_1000ms"] == np.mean(true > 1000)
    assert shares["mean_ms"] == pytest.approx(true.mean(), rel=1e-4)
    for quantile in (50, 80, 95, 99):
        assert shares[f"p{quantile}_ms"] == pytest.approx(np.percentile(true, quantile), rel=0.004)
    near = true[kept["min_rtt_ms"].to_numpy() <= 100]
    assert found.shares(near=True)["above_500ms"] == np.mean(near > 500)


def test_a_quantile_of_few_is_within_half_a_bin(tmp_path):
    file = _table(tmp_path, min_rtt_ms=[5.0, 20, 20], max_rtt_ms=[26.7, 90, 3000], rtt_samples=[10, 11, 12])
    shares = survey(open_table([file])).shares()
    assert shares["p50_ms"] == pytest.approx(70) and shares["p99_ms"] == pytest.approx(2980)
    file = _table(tmp_path, min_rtt_ms=[5.0] * 3, max_rtt_ms=[75.0, 75.1, 75.2], rtt_samples=[10] * 3)
    assert survey(open_table([file])).shares()["p50_ms"] == pytest.approx(70.1, rel=0.0117)


def test_round_trips_of_more_than_a_quarter_of_an_hour_are_no_times(tmp_path):
    file = _table(tmp_path, min_rtt_ms=[5.0, 5.0, 1e9], max_rtt_ms=[9e5, 5e6, 5e9], rtt_samples=[10] * 3)
    found = survey(open_table([file]))
    assert found.discarded["no sane times"] == 2 and found.shares()["mean_ms"] == 899_995


def test_a_time_that_one_bin_holds_is_a_peak_and_no_point(tmp_path):
    file = _table(tmp_path, min_rtt_ms=[5.0], max_rtt_ms=[75.0], rtt_samples=[10])
    middles, density = survey(open_table([file])).density("queueing")
    assert density == pytest.approx([0, 20, 0]) and middles[1] == pytest.approx(1.825)


@pytest.mark.parametrize("which", ["min", "max", "queueing"])
def test_a_density_integrates_to_one(tmp_path, which):
    file = _table(tmp_path, min_rtt_ms=[5.0, 20, 20], max_rtt_ms=[5.0, 90, 3000], rtt_samples=[10, 11, 12])
    middles, density = survey(open_table([file])).density(which)
    assert density.sum() * 0.05 == pytest.approx(1)
    assert middles[np.flatnonzero(density)[-1]] == pytest.approx(
        {"min": 1.3, "max": 3.475, "queueing": 3.475}[which], abs=0.051
    )


def test_units_other_names_and_bad_rows(tmp_path):
    file = _table(
        tmp_path,
        low=[10_000, 10_000, None, 30_000, 10_000],
        max_rtt_s=[0.25, 0.02, 0.1, 0.02, float("nan")],
        n=[10, 9, 50, 50, 50],
    )
    found = survey(open_table([file], {"min_rtt_us": "low", "rtt_samples": "n"}))
    assert found.rows == 5
    assert found.discarded == {"no sane times": 3, "fewer than 10 samples": 1}
    assert found.shares()["mean_ms"] == pytest.approx(240)
    # Of two units of one time the first that is known is taken: ms, s, us, ns.
    both = _table(
        tmp_path, min_rtt_s=[9.0], min_rtt_ms=[10.0], max_rtt_ns=[1e6], max_rtt_us=[5e4], rtt_samples=[10]
    )
    assert survey(open_table([both])).shares()["mean_ms"] == pytest.approx(40)


def test_classes_by_name_and_by_longest_prefix(tmp_path):
    hosts = ["p1.dip.vdsl.example.net", "cable-77.example.org", "x.ftth.example", "host.example", None]
    frame = pl.DataFrame({"host": hosts}).select(by_name())
    assert frame.to_series().to_list() == ["adsl", "cable", "ftth", "unknown", "unknown"]
    prefixes = tmp_path / "prefixes.csv"
    prefixes.write_text(
        "prefix,access\n10.0.0.0/8,ADSL\n10.1.0.0/16,cable\n10.1.2.3/32,ftth\n2001:db8::/32,ftth\n"
    )
    clients = [
        "10.2.3.4",
        "10.1.9.9",
        "10.1.2.3",
        "10.1.2.4",
        "11.0.0.1",
        "2001:db8::7",
        "2001:db9::",
        "",
        None,
    ]
    found = Prefixes(prefixes).classify(pl.Series("client", clients)).to_list()
    expected = ["adsl", "cable", "ftth", "cable", "unknown", "ftth", "unknown", "unknown", "unknown"]
    assert found == expected


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 32)), max_size=12), st.integers(0, 2**32 - 1)
)
@settings(max_examples=60, deadline=None)
def test_prefixes_agree_with_the_plain_rule(tmp_path_factory, entries, address):
    import ipaddress

    networks = [ipaddress.ip_network((number, length), strict=False) for number, length in entries]
    file = tmp_path_factory.mktemp("prefixes") / "prefixes.csv"
    rows = [f"{network},c{place}" for place, network in enumerate(networks)]
    file.write_text("\n".join(["prefix,access", *rows]) + "\n")
    at = ipaddress.ip_address(address)
    holding = [(network.prefixlen, f"c{place}") for place, network in enumerate(networks) if at in network]
    longest = max((length for length, _ in holding), default=None)
    found = Prefixes(file).classify(pl.Series("client", [str(at)])).to_list()[0]
    assert found in ({name for length, name in holding if length == longest} or {"unknown"})


def _snapshots_of_a_real_connection():
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def echo():
        peer, _ = server.accept()
        with peer:
            while data := peer.recv(1000):
                peer.sendall(data)

    threading.Thread(target=echo, daemon=True).start()
    text = ""
    with socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(3):
            client.sendall(b"x" * 100)
            client.recv(1000)
            ours = f"( dport = :{port} )"
            text += subprocess.run(["ss", "-tinHO", ours], capture_output=True, text=True, check=True).stdout
    server.close()
    return text


@pytest.mark.skipif(shutil.which("ss") is None, reason="ss (iproute2) is not installed")
def test_snapshots_of_ss_become_one_row_per_connection(tmp_path):
    text = _snapshots_of_a_real_connection()
    assert text.count("rtt:") >= 3, text
    file = tmp_path / "snapshots.txt"
    file.write_text(text)
    table = open_table([file]).collect()
    assert table.height == 1
    row = table.row(0, named=True)
    assert row["client"] == "127.0.0.1"
    assert row["rtt_samples"] == 3
    # A mean of equal numbers may be the last bit larger than they are.
    assert 0 < row["min_rtt_ms"] <= row["avg_rtt_ms"] + 1e-12
    assert row["avg_rtt_ms"] - 1e-12 <= row["max_rtt_ms"] < 1000


def test_ss_of_ipv6_and_of_states_without_times(tmp_path):
    file = tmp_path / "snapshots.txt"
    file.write_text(
        "ESTAB 0 0 [2001:db8::1]:443 [::ffff:10.0.0.7]:5001 cubic wscale:7,7 rto:204 rtt:12.5/3 minrtt:2\n"
        "ESTAB 0 0 [2001:db8::1]:443 [::ffff:10.0.0.7]:5001 cubic wscale:7,7 rto:204 rtt:40/3 minrtt:2\n"
        "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"
        "ESTAB 0 0 10.0.0.1:443 10.0.0.9:5001 cubic rto:1000 mss:524\n"
    )
    rows = open_table([file]).collect().to_dicts()
    assert [(row["client"], row["min_rtt_ms"], row["max_rtt_ms"]) for row in rows] == [
        ("10.0.0.7", 12.5, 40.0)
    ]


def test_ndt_results_in_their_shapes(tmp_path):
    shots = [{"TCPInfo": {"RTT": time, "MinRTT": 9_000}} for time in (10_000, 30_000, 20_000)]
    ndt7 = {
        "ClientIP": "192.0.2.1",
        "Download": {"ServerMeasurements": [*shots, {"BBRInfo": {}}]},
        "Upload": None,
    }
    row = {"id": "x", "raw": {"ClientIP": "192.0.2.2", "Snapshots": shots[:2]}}
    file = tmp_path / "results.jsonl"
    file.write_text(json.dumps(ndt7) + "\n" + json.dumps(row) + "\n")
    found = open_table([file]).sort("client").collect().to_dicts()
    assert [(r["client"], r["min_rtt_ms"], r["max_rtt_ms"], r["rtt_samples"]) for r in found] == [
        ("192.0.2.1", 10.0, 30.0, 3.0),
        ("192.0.2.2", 10.0, 30.0, 2.0),
    ]
    assert found[0]["avg_rtt_ms"] == 20
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps([ndt7, row], indent=1))
    assert open_table([whole]).collect().height == 2


@given(st.binary(max_size=400))
@settings(max_examples=80, deadline=None)
def test_no_file_is_worse_than_a_sentence(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("any") / "table"
    file.write_bytes(content)
    try:
        survey(open_table([file]))
    except SojournError as error:
        assert str(error)


def test_the_command_writes_a_page_and_prints_the_shares(sojourn, tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(
        "min_rtt_ms,avg_rtt_ms,max_rtt_ms,rtt_samples,access\n"
        + "".join(f"{10 + i},{20 + i},{15 + 3 * i},12,{'ADSL' if i % 2 else 'ftth'}\n" for i in range(200))
    )
    (out,) = sojourn.json("wild", file, "--out", tmp_path / "out")
    assert out["rows"] == 200
    rows = {(row["access"], row["hosts"]): row for row in out["shares"]}
    assert rows["adsl", "all"]["connections"] == 100
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Queueing delay by class of access" in page
    assert {path.name for path in (tmp_path / "out" / "figures").glob("*.png")} == {
        "queueing.png",
        "beyond.png",
        "round-trips.png",
        "pairs.png",
    }


def test_a_table_counts_once_and_is_not_written_over(sojourn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "min_rtt_ms,max_rtt_ms,rtt_samples\n10,60,100\n10,460,100\n"
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "u.csv").symlink_to("t.csv")
    twice = sojourn("wild", "t.csv", "./t.csv", code=2)
    assert twice.stderr == "sojourn: t.csv is named twice; expected each once\n"
    same = sojourn("wild", "t.csv", "u.csv", code=2)
    assert same.stderr == "sojourn: t.csv and u.csv are the same; expected each once\n"
    over = sojourn("wild", "t.csv", "--save", "u.csv", code=2)
    assert over.stderr == "sojourn: --save u.csv is read, too; expected another file\n"
    assert (tmp_path / "t.csv").read_text() == text and not (tmp_path / "results").exists()
    # Shares within one decade: the logarithmic axis has ticks of its own, with plain numbers.
    sojourn("wild", "t.csv", "--out", "out")
    assert "mathdefault" not in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "no column min_rtt_ms"),
        ("min_rtt_ms,max_rtt_ms\n1,2\n", "no column rtt_samples"),
        ("min_rtt_ms,max_rtt_ms,rtt_samples\n5,2,20\n", "none of 1 connection can be used"),
        ("min_rtt_ms,max_rtt_ms,rtt_samples\n", "there is no connection in it"),
        ("{\n", "expected JSON"),
        ("{}\n", "no object has TCPInfo snapshots"),
    ],
)
def test_bad_tables_get_one_sentence(sojourn, tmp_path, text, words):
    file = tmp_path / "table.csv"
    file.write_text(text)
    done = sojourn("wild", file, "--out", tmp_path / "out", code=2)
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_connection_is_one_and_what_is_left_out_is_said(sojourn, tmp_path):
    (tmp_path / "t.csv").write_text("min_rtt_ms,max_rtt_ms,rtt_samples\n10,20,100\n10,5,100\n10,20,3\n")
    done = sojourn("wild", tmp_path / "t.csv", "--out", tmp_path / "out")
    told = done.stderr.splitlines()
    assert told[0] == "sojourn: note: 1 of 3 connections left out: no sane times"
    assert told[1].startswith("sojourn: note: 1 of 3 connections left out: fewer than 10 samples")
    assert told[2].startswith("sojourn: all: 1 connection, median 10 ms")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Of 1 connection 100.0" in page
    assert "3 read; left out: 1 with no sane times, 1 with fewer than 10 samples" in page
    (tmp_path / "t.csv").write_text("min_rtt_ms,max_rtt_ms,rtt_samples\n10,20,3\n")
    done = sojourn("wild", tmp_path / "t.csv", code=2)
    assert done.stderr.endswith("none of 1 connection can be used: 1 with fewer than 10 samples\n")
    assert "is a directory; expected a table" in sojourn("wild", tmp_path, code=2).stderr


def test_a_file_that_is_no_text_is_said_to_be_no_table_and_compressed_tables_are_read(sojourn, tmp_path):
    (tmp_path / "t.csv").write_bytes(bytes(range(256)) * 4)
    assert (
        "is no text and no Parquet; expected a table"
        in sojourn("wild", tmp_path / "t.csv", "--out", tmp_path / "out", code=2).stderr
    )
    rows = "min_rtt_ms,max_rtt_ms,rtt_samples\n" + "10,20,100\n" * 99
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(rows.encode()))
    done = sojourn("wild", tmp_path / "t.csv.gz", "--out", tmp_path / "out")
    assert "all: 99 connections, median 10.1 ms" in done.stderr
