"""`sojourn emulate` in surroundings of its own: containers whose clock is another."""

from __future__ import annotations

import json
import subprocess

import pytest
from conftest import Command
from test_emulate import PATH, bed, sending, serving

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures(bed.__name__)]


def test_a_container_may_have_a_time_of_its_own(sojourn: Command) -> None:
    ahead = ("unshare", "--time", "--monotonic", "864000", "--boottime", "864000", "--fork")
    try:
        subprocess.run([*ahead, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there can be no time namespace here")
    words = sojourn.argv("emulate", *PATH, "--server", serving(), "--json", "--", *sending(100_000))
    done = subprocess.run(
        [*ahead, *words], capture_output=True, text=True, cwd=sojourn.cwd, env=sojourn.env, timeout=60
    )
    assert done.returncode == 0, done.stderr
    engine = json.loads(done.stdout)["engine"]
    assert min(engine["base_rtt_ms"]["got"]) > 19.99
    # Packets are read some time after they came, whatever the clock shows.
    for way in ("down", "up"):
        assert 0 < engine["read_lateness_us"][way]["p50"] < 100_000
    assert engine["clamped_us"] < 100_000
