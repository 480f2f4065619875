"""`sojourn emulate` in surroundings of its own: containers whose clock is another, disks that are full."""

from __future__ import annotations

import json
import resource
import subprocess

import pytest
from conftest import HANGS_S, Command
from test_emulate import PATH, bed, sending, serving

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures(bed.__name__)]


DAY_US = 86_400e6


def test_a_container_may_have_a_time_of_its_own(sojourn: Command) -> None:
    ahead = ("unshare", "--time", "--monotonic", "864000", "--boottime", "864000", "--fork")
    try:
        subprocess.run([*ahead, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there can be no time namespace here")
    words = sojourn.argv("emulate", *PATH, "--server", serving(), "--json", "--", *sending(100_000))
    done = subprocess.run(
        [*ahead, *words], capture_output=True, text=True, cwd=sojourn.cwd, env=sojourn.env, timeout=HANGS_S
    )
    assert done.returncode == 0, done.stderr
    engine = json.loads(done.stdout)["engine"]
    assert min(engine["base_rtt_ms"]["got"]) > 19.99
    # Packets are read some time after they came, whatever the clock shows: ten days more or less.
    for way in ("down", "up"):
        assert 0 < engine["read_lateness_us"][way]["p50"] < DAY_US
    assert engine["clamped_us"] < DAY_US


@pytest.mark.parametrize(("option", "file"), [("--log", "log.parquet"), ("--pcap", "all.pcapng")])
def test_what_was_counted_is_told_where_there_is_no_room_for_the_records(
    sojourn: Command, option: str, file: str
) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    words = ("emulate", *PATH, "--server", serving(), option, file, "--json", "--", *sending(1_500_000))
    done = subprocess.run(
        sojourn.argv(*words),
        capture_output=True,
        text=True,
        cwd=sojourn.cwd,
        env=sojourn.env,
        preexec_fn=small,
        timeout=HANGS_S,
    )
    assert done.returncode == 125
    why = "the records cannot be written: File too large; the command itself has run, and ended with 0"
    assert f"sojourn: {why}\n" in done.stderr and "held" in done.stderr
    came = json.loads(done.stdout)
    # All of it, also what came after the file was full.
    assert came["links"]["up"]["departed_bytes"] > 1_500_000 and came["command"]["exit"] == 0
    assert came["engine"]["unrecorded"] == 0
    assert not list(sojourn.cwd.iterdir())
