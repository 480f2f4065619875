"""Data both ways behind CoDel: clusters of data and acknowledgements part where reading takes time."""

from __future__ import annotations

import json
from statistics import mean

from sojourn import _core

STUDY = """
name = "two-way"
seed = 5
repeat = 4
duration = "30s"
warmup = "4s"
[path]
rtt = "30ms"
down = { rate = "20Mbit" }
up = { rate = "5Mbit" }
queue = { kind = "codel" }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
stack = "linux"
direction = "down"
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
stack = "linux"
direction = "up"
"""


def delays_ms(*sets: tuple[str, str]) -> list[float]:
    """Return the mean delay down and up, over the replications."""
    points = _core.points(_core.parse(STUDY, "two-way.toml", list(sets), []))
    links = [json.loads(_core.run(point)["summary"])["links"] for point in points]
    return [mean(each[way]["queue_delay_ms"]["mean"] for each in links) for way in ("down", "up")]


def test_clusters_part_as_those_of_real_hosts_do() -> None:
    # Real hosts: 6.8 ms (6.6 to 7.1) down and 9.6 up in three runs of 40 s (docs/testbed.md). Nothing is
    # asked for: an application of Linux takes its time in every study.
    linux = delays_ms()
    assert 0.7 * 6.8 < linux[0] < 1.3 * 6.8 and 0.8 * 9.6 < linux[1] < 1.2 * 9.6, linux
    plain = delays_ms(*[(f"flows.{number}.stack", "plain") for number in (0, 1)])
    assert all(here < 0.8 * there for here, there in zip(linux, plain, strict=True)), "a rule of Linux"
