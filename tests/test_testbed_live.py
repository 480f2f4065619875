"""`sojourn run --on testbed` between real programs; left out where the machine has no namespaces or TUN."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import HANGS_S, Command
from test_emulate import bed

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures(bed.__name__)]

STUDY = """
name = "live"
duration = "3s"
warmup = "500ms"
[path]
rtt = "30ms"
down = { rate = "4Mbit", queue = { kind = "fq-codel" } }
up = { rate = "2Mbit", queue = { kind = "fifo", limit = "50pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "reno"
direction = "down"
stack = "linux"
rtt = "80ms"
start-within = "0s"
[[flows]]
source = { kind = "sessions", sizes = "20kB", interconnection = "200ms" }
transport = "cubic"
direction = "up"
stack = "linux"
ecn = true
[[flows]]
source = { kind = "cbr", rate = "200kbit", size = "500B" }
transport = "udp"
direction = "down"
[[users]]
kind = "voice"
codec = "g711a"
direction = "both"
call = "500ms"
gap = "0s"
score = "emodel"
start-within = "100ms"
[[users]]
kind = "gaming"
start-within = "100ms"
[record]
losses = ["down"]
series = true
traffic = { links = ["down"] }
"""


def study(folder: Path, text: str = STUDY) -> Path:
    file = folder / "live.toml"
    file.write_text(text)
    return file


def keys(value: object, name: str = "") -> set[str]:
    if not isinstance(value, dict):
        return {name}
    return {key for inner, item in value.items() for key in keys(item, f"{name}.{inner}")}


def on_testbed(sojourn: Command, *words: object) -> tuple[dict[str, Any], int]:
    """Run one point on the testbed; return its result and the exit code, which is the verdict's."""
    process = sojourn.start("run", *words, "--on", "testbed", "--json")
    out, said = process.communicate(timeout=HANGS_S)
    (result,) = map(json.loads, out.splitlines())
    assert process.returncode == (0 if result["engine"]["verdict"]["held"] else 1), said
    return result, process.returncode


def together(sojourn: Command, *commands: tuple[object, ...]) -> list[str]:
    """Run commands one after the other in one process, which starts once; return what each printed."""
    told = json.dumps([list(map(str, words)) for words in commands])
    return json.loads(
        sojourn.script(f"""
import contextlib, io, json
from sojourn.cli import call
if __name__ == "__main__":
    said = []
    for words in json.loads({told!r}):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert call(words) == 0, words
        said.append(out.getvalue())
    print(json.dumps(said))
""")
    )


def test_a_study_between_real_programs_has_the_results_of_a_simulation(sojourn: Command) -> None:
    file = study(sojourn.cwd)
    real, code = on_testbed(sojourn, file, "--log")
    assert real["engine"].pop("clock") == "wall" and real["engine"]["verdict"]["rows"]
    again = sojourn("run", file, "--on", "testbed", code=code)
    assert "0 run on the testbed" in again.stdout and "1 already there" in again.stdout
    (digest,) = [file.stem for file in (sojourn.cwd / "results/live-testbed/points").glob("*.json")]
    simulated_text, shown, scenario, compared, _ = together(
        sojourn,
        ("run", file, "--jobs", 1, "--json"),
        ("show", "results/live-testbed"),
        ("show", "results/live-testbed", digest[:8]),
        ("compare", "results/live", "results/live-testbed"),
        ("report", "results/live-testbed"),
    )
    simulated = json.loads(simulated_text)
    keys_are_those_of_a_simulation(real, simulated)
    groups_are_as_simulated(real, simulated)
    (packets,) = (sojourn.cwd / "results/live-testbed/packets").glob("*.parquet")
    log = pl.read_parquet(packets)
    arrivals = log.filter(pl.col("link") == "down", pl.col("arrive_ns") >= 500_000_000)
    assert len(arrivals) == real["losses"]["down"]["packets"]
    players_wait_as_their_packets_do(real, log)
    round_trips_begin_with_that_of_the_path(log)
    series_are_the_kernels(sojourn.cwd / "results", real, log)
    inside = real["traffic"]["down"]
    name, bulk = next(iter(real["groups"].items()))
    assert inside["groups"][name]["goodput_bps"] == pytest.approx(bulk["goodput_bps"], rel=0.2)
    heard = arrivals.filter(pl.col("kind") == "voice")
    assert inside["all"]["by_kind"]["voice"]["arrived_pkts"] == len(heard) > 0
    assert inside["groups"]["users-0"]["loss"] == pytest.approx(
        1 - heard["drop_cause"].null_count() / len(heard)
    )
    assert "real programs on the testbed" in shown and '"duration": "3s"' in scenario
    assert "live-testbed: Run between real programs on the testbed" in compared
    assert "not compared" not in compared
    page = (sojourn.cwd / "results/live-testbed/report.html").read_text()
    assert "Windows, rates and queue over time" in page
    assert "between real programs, on the testbed" in page and "simulated time" not in page


def keys_are_those_of_a_simulation(real: dict[str, Any], simulated: dict[str, Any]) -> None:
    for result in (simulated, real):
        # A run of a few losses has no scaling to fit, whichever engine it is of; a fit has the keys of one.
        scaling = result["losses"]["down"]["scaling"]
        fits = [fit for name in ("fit", "below_rtt") if (fit := scaling.pop(name)) is not None]
        assert all({"alpha", "alpha_low", "alpha_high", "hurst"} <= fit.keys() for fit in fits)
        # Nor has it bursts of every length.
        bursts = result["losses"]["down"]["bursts"]
        assert all(isinstance(bursts.pop(name), dict) for name in ("lengths", "stitched_lengths"))
    assert keys({**simulated, "engine": {}}) == keys({**real, "engine": {}})


def groups_are_as_simulated(real: dict[str, Any], simulated: dict[str, Any]) -> None:
    bulk, sessions, paced = real["groups"].values()
    assert bulk["goodput_bps"] > 1e6 and bulk["rtt_ms"]["p50"] > 80, "it has its own distance"
    assert sessions["completed"] > 5 and sessions["rtt_ms"]["p50"] > 30
    # Most of it is its own ten packets: sessions, at two fifths of the line, seldom overlap.
    assert sessions["rtt_ms"]["p50"] < 80 or not real["engine"]["verdict"]["held"]
    theirs = list(simulated["groups"].values())[2]
    late = any("datagrams was sent" in note for note in real["engine"].get("notes", ()))
    # Where the machine stood still, the result says so: some of before the warm-up's end leave behind it.
    as_simulated = pytest.approx(theirs["sent_pkts"], rel=0.1 if late else 0)
    assert paced["sent_pkts"] == as_simulated, "sent when the simulator sends it"


def players_wait_as_their_packets_do(real: dict[str, Any], log: pl.DataFrame) -> None:
    """Of the caller, and of who plays."""
    voice = log.filter(pl.col("link") == "up", pl.col("kind") == "voice")
    longest_ms = (voice["depart_ns"] - voice["arrive_ns"].cast(pl.Int64)).max() / 1e6
    talks = real["voice"]["talks"]
    # A packet takes less than a millisecond on the line.
    assert talks["calls"] > 0 and 15 < talks["delay_ms"] < 15 + longest_ms + 5
    ticks = log.filter(pl.col("kind") == "video", pl.col("drop_cause").is_null())
    waits = [
        (pl.col("depart_ns") - pl.col("arrive_ns").cast(pl.Int64)).filter(pl.col("link") == way).median()
        / 1e6
        for way in ("down", "up")
    ]
    waited_ms = sum(ticks.select(down=waits[0], up=waits[1]).row(0))
    game = real["gaming"]
    assert game["windows"] == 1 and 30 < game["rtt_ms"]["median"] < 30 + 2 * waited_ms + 10


def round_trips_begin_with_that_of_the_path(log: pl.DataFrame) -> None:
    # From a SYN to what follows its answer is a round trip. Busy processors lengthen it, but not the least.
    tcp = pl.col("kind").is_in(["control", "data", "ack"])
    up = log.filter(pl.col("link") == "up", tcp)
    first = pl.col("arrive_ns").sort().head(2)
    opened = up.group_by("flow").agg(ms=(first.max() - first.min()) / 1e6, packets=pl.len())
    trips = opened.filter(pl.col("packets") > 1)["ms"]
    assert len(trips) > 5 and 30 <= trips.min() < 45


def series_are_the_kernels(results: Path, real: dict[str, Any], log: pl.DataFrame) -> None:
    bulk = next(iter(real["groups"].values()))
    folder = results / "live-testbed/series"
    flows, queues = (pl.read_parquet(next(folder.glob(f"*.{what}.parquet"))) for what in ("flows", "queues"))
    theirs = [pl.read_parquet(next((results / "live/series").glob(f"*.{what}.parquet")))
              for what in ("flows", "queues")]  # fmt: skip
    assert [flows.schema, queues.schema] == [each.schema for each in theirs]
    windows = flows["cwnd_pkts"].to_list()
    assert 10 <= windows[0] < max(windows) > 20, "the kernel's own window"
    data = log.filter(pl.col("link") == "down", pl.col("kind") == "data")["arrive_ns"]
    assert (data < data.min() + 75_000_000).sum() == 10, "from its initial one, in the first round trip"
    shown_bps = flows.filter(pl.col("time_ns") > 500_000_000)["rate_bps"].mean()
    assert shown_bps == pytest.approx(bulk["goodput_bps"], rel=0.2)
    assert queues["time_ns"].max() == 3_000_000_000 and queues["backlog_pkts"].max() > 10


def agents(folder: Path) -> list[int]:
    """Return the processes that run on behalf of a study in this folder."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                environment = (place / "environ").read_bytes()
            except OSError:
                continue
            if f"TESTBED_OF={folder}".encode() in environment:
                found.append(int(place.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_an_interrupted_run(number: signal.Signals, sojourn: Command) -> None:
    file = study(sojourn.cwd, STUDY.replace('"3s"', '"60s"'))
    sojourn.env["TESTBED_OF"] = str(sojourn.cwd)
    process = sojourn.start("run", file, "--on", "testbed")
    until = time.monotonic() + HANGS_S
    while len(agents(sojourn.cwd)) < 10 and time.monotonic() < until:
        time.sleep(0.1)
    assert len(agents(sojourn.cwd)) >= 10, "two agents, with a process for each of four programs"
    os.kill(process.pid, number)
    process.communicate(timeout=HANGS_S)
    while agents(sojourn.cwd) and time.monotonic() < until + 60:
        time.sleep(0.05)
    assert not agents(sojourn.cwd)
    assert not list((sojourn.cwd / "results/live-testbed/points").glob("*.json"))
    if number != signal.SIGKILL:
        assert process.returncode == 130
