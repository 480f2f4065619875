"""`sojourn export … .flent.gz`: what Flent reads, and what it draws of it."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys

import pytest

STUDY = """
name = "lab"
duration = "10s"
[path]
rtt = "50ms"
down = {{ rate = "10Mbit", queue = {{ kind = "fifo", limit = "40pkt" }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
{flows}
"""
FLOWS = """
[[flows]]
source    = {{ kind = "bulk" }}
transport = "cubic"
direction = "{}"
count     = 2
"""


def made(sojourn, tmp_path, *directions: str) -> dict:
    study = tmp_path / "lab.toml"
    study.write_text(STUDY.format(flows="".join(FLOWS.format(direction) for direction in directions)))
    sojourn("export", study, "lab.flent.gz")
    return json.loads(gzip.decompress((tmp_path / "lab.flent.gz").read_bytes()))


@pytest.mark.parametrize(
    ("directions", "test", "streams"),
    [
        (("down",), "tcp_ndown", ["TCP download::1", "TCP download::2", "TCP download sum"]),
        (("up",), "tcp_nup", ["TCP upload::1", "TCP upload::2", "TCP upload avg"]),
        (("down", "up"), "rrul_be_nflows", ["TCP download BE::1", "TCP upload BE::2", "TCP totals"]),
    ],
)
def test_series_are_named_as_the_test_of_flent_names_them(sojourn, tmp_path, directions, test, streams):
    found = made(sojourn, tmp_path, *directions)
    assert (found["version"], found["metadata"]["NAME"]) == (4, test)
    assert {*streams, "Ping (ms) ICMP"} <= found["results"].keys()
    steps = len(found["x_values"])
    assert steps == 50 and {len(series) for series in found["results"].values()} == {steps}
    assert found["raw_values"]["Ping (ms) ICMP"][7]["val"] == found["results"]["Ping (ms) ICMP"][7]
    assert found["metadata"]["TEST_PARAMETERS"] == {f"{word}load_streams": 2 for word in directions}


def test_the_series_are_those_of_the_run(sojourn, tmp_path):
    found = made(sojourn, tmp_path, "down")["results"]
    [ran] = sojourn.json("run", tmp_path / "lab.toml", "--out", "out")
    sums = found["TCP download sum"]
    assert sum(sums) / len(sums) * 1e6 == pytest.approx(ran["flows"]["goodput_bps"], rel=0.02)
    assert min(found["Ping (ms) ICMP"]) >= 50
    mean = sum(found["Ping (ms) ICMP"][5:]) / 45
    # Of acknowledgements the way back is empty.
    assert mean == pytest.approx(50 + ran["links"]["down"]["queue_delay_ms"]["mean"], rel=0.1)


def test_the_same_run_is_the_same_file(sojourn, tmp_path):
    made(sojourn, tmp_path, "down")
    first = (tmp_path / "lab.flent.gz").read_bytes()
    made(sojourn, tmp_path, "down")
    assert (tmp_path / "lab.flent.gz").read_bytes() == first


def test_a_run_without_tcp_and_a_truth_beside_it_get_a_sentence(sojourn, tmp_path):
    study = tmp_path / "lab.toml"
    study.write_text(STUDY.format(flows=""))
    assert "no data of TCP" in sojourn("export", study, "lab.flent.gz", code=2).stderr
    assert not (tmp_path / "lab.flent.gz").exists()
    done = sojourn("export", study, "lab.flent.gz", "--truth", "t.csv", code=2)
    assert "--truth does not go with" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("flent") is None, reason="flent is not installed")
@pytest.mark.parametrize(("directions", "plot"), [(("down",), "totals"), (("down", "up"), "all_scaled")])
def test_flent_draws_it(sojourn, tmp_path, directions, plot):
    made(sojourn, tmp_path, *directions)
    picture = tmp_path / "lab.png"
    words = [sys.executable, "-m", "flent", "-i", tmp_path / "lab.flent.gz", "-p", plot, "-o", picture]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
