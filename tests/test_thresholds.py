"""Thresholds that operators quote, and the path as a small flow finds it, which most of them are about."""

from __future__ import annotations

import json
from math import isclose
from pathlib import Path

import numpy as np
import pytest
from conftest import Command
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.qoe import network
from sojourn.report.answer.goals import goals_of
from sojourn.study.quantities import unknown
from sojourn.study.thresholds import thresholds
from sojourn.sweep.advice.goals import read_goal

MS = 1_000_000


def table(up: list[int], down: list[int], every_ms: int = 20) -> dict[str, np.ndarray]:
    """Packets of one player, each way one every 20 ms; delays in ms, -1 = lost."""
    ways = np.repeat([0, 1], [len(up), len(down)])
    sent = np.concatenate([np.arange(len(up)), np.arange(len(down))]) * every_ms * MS
    delay = np.array([*up, *down], dtype=np.int64)
    return {
        "user": np.zeros(ways.size, np.uint32),
        "direction": ways,
        "sent_ns": sent,
        "delay_ns": np.where(delay < 0, -1, delay * MS),
    }


def scored(up: list[int], down: list[int]) -> dict:
    found = network.echoes(table(up, down), 10 * MS)
    assert found is not None
    return network.score_network([found], {"down": {"rate_bps": 5e8}, "up": {"rate_bps": 5e7}})


def test_an_echo_comes_back_by_the_packet_that_leaves_after_it_has_arrived() -> None:
    # A packet of 0 ms that takes 25 ms up is answered by that of 40 ms, the third.
    out = network.echoes(table([25], [12, 13, 14]), 10 * MS)
    assert out is not None
    assert out.rtt_ns.tolist() == [39 * MS]
    assert [each.tolist() for each in out.added_ns] == [[15 * MS], [2 * MS, 3 * MS, 4 * MS]]


def test_losses_of_both_ways_count_and_nothing_is_judged_of_who_sends_one_way_only() -> None:
    out = scored([10] * 100, [*([-1] * 10), *([10] * 90)])
    assert out["loss"] == 0.1
    assert out["rtt_ms"]["p95"] == 20.0
    assert scored([-1, 10] * 50, [10, -1] * 50)["loss"] == 0.75
    # Of four up one is lost, of two down none.
    uneven = network.echoes(table([-1, 10, 10, 10], [10, 10]), 10 * MS)
    assert uneven is not None and (uneven.lost, uneven.sent) == ((1, 0), (4, 2))
    assert scored([-1, 10, 10, 10], [10, 10])["loss"] == 0.25
    dead = scored([-1] * 9, [10] * 9)
    assert (dead["loss"], dead["echoes"], dead["qoo"]["web"]) == (1.0, 0, 0.0)
    assert "rtt_ms" not in dead
    assert network.echoes(table([10] * 5, []), 10 * MS) is None
    assert network.score_network([], {}) == {}
    assert (out["down_mbps"], out["up_mbps"]) == (500.0, 50.0)


def test_quality_of_outcome_lies_between_the_limits_of_each_profile() -> None:
    # Conferencing: the round trip of 95 % perfect at 50 ms, useless at 100 ms.
    assert scored([10] * 100, [10] * 100)["qoo"]["conferencing"] == 100.0
    assert scored([40] * 100, [40] * 100)["qoo"]["conferencing"] == 40.0
    assert scored([40] * 100, [40] * 100)["qoo"]["web"] == 70.0
    assert scored([80] * 100, [80] * 100)["qoo"]["conferencing"] == 0.0
    # A loss of 1 % each way is more than gaming bears.
    lossy = [-1, *([10] * 99)]
    assert scored(lossy, lossy)["qoo"]["gaming"] == 0.0


def test_what_is_from_memory_is_marked_in_the_schema_and_in_every_verdict_s_source() -> None:
    named = json.loads(_core.schema())["$defs"]["Threshold"]["oneOf"]
    told = {entry["const"]: entry["description"] for entry in named}
    assert set(told) == set(thresholds())
    for name, threshold in thresholds().items():
        assert ("From memory, or a choice" in told[name]) == (threshold.remembered is not None), name
        results = [{"network": {"loss": 0}, "links": {"down": {}}, "page": {}, "responsiveness": {}}]
        for goal in goals_of({"goals": [{"threshold": name}]}, results):
            assert (threshold.remembered or threshold.source) in goal.source, name


def test_bufferbloat_is_that_of_a_small_flow_or_else_of_every_queue() -> None:
    entry = {"goals": [{"threshold": "bufferbloat-c", "confidence": 0.9}]}
    links = {"links": {"down": {}, "home.up": {}, "x.access": {}}}
    without = goals_of(entry, [links])
    assert [goal.path for goal in without] == [
        "links.down.queue_delay_ms.mean",
        "links.home.up.queue_delay_ms.mean",
    ]
    flow = goals_of(entry, [links | {"network": {"added_ms": {"down": {"mean": 1.0}}}}])
    assert [goal.path for goal in flow] == ["network.added_ms.down.mean", "network.added_ms.up.mean"]
    for goal in (*without, *flow):
        assert (goal.limit, goal.above, goal.confidence) == (200.0, False, 0.9)
        assert "DSLReports" in goal.source


def test_advice_takes_thresholds_by_name_and_refuses_those_that_nobody_measures() -> None:
    assert [(goal.path, goal.limit) for goal in read_goal("qoo-web", ["gaming", "web"])] == [
        ("network.rtt_ms.p90", 50.0),
        ("network.loss", 0.005),
    ]
    assert [goal.path for goal in read_goal("bufferbloat-a", ["web"])] == [
        "links.down.queue_delay_ms.mean",
        "links.up.queue_delay_ms.mean",
    ]
    with pytest.raises(
        SojournError, match=r"--goal qoo-web is about users who are not there; expected .* gaming"
    ):
        read_goal("qoo-web", ["web"])
    with pytest.raises(SojournError, match="or one of bufferbloat-a,"):
        read_goal("qoo-wbe", ["voice"])


def test_a_study_whose_users_cannot_tell_is_refused_before_it_runs() -> None:
    scenario = {"path": {}, "users": [{"kind": "page"}]}
    for name, wanted in [("qoo-web", "nobody sends small packets"), ("rpm-high", "no users of kind")]:
        (said,) = {
            clause.partition(", but ")[2] for clause in unknown({"goals": [{"threshold": name}]}, [scenario])
        }
        assert wanted in said
    assert unknown({"goals": [{"threshold": "web-vitals"}, {"threshold": "bufferbloat-a"}]}, [scenario]) == []


def test_behind_a_fair_queue_the_small_flow_tells_another_story_than_the_mean_packet(
    sojourn: Command,
) -> None:
    text = """
name = "own"
duration = "12s"
warmup = "2s"
path = { rtt = "20ms", down = { rate = "20Mbit" }, up = { rate = "4Mbit" } }
users = [{ kind = "gaming" }]
workload = "software-update"
goals = [{ threshold = "bufferbloat-a" }, { threshold = "iqb-gaming" }]
[sweep]
"path.queue" = [{ kind = "fifo", limit = "200pkt" }, { kind = "fq_codel" }]
"""
    (sojourn.cwd / "own.toml").write_text(text)
    shared, fair = sojourn.json("run", "own.toml")
    assert isclose(shared["network"]["down_mbps"], 20.0)
    added = [row["network"]["added_ms"]["down"]["mean"] for row in (shared, fair)]
    assert added[0] > 50.0
    assert added[1] < 5.0 < fair["links"]["down"]["queue_delay_ms"]["mean"]
    sojourn("report", "results/own", svg_only=True)
    page = Path(sojourn.cwd / "results/own/report.html").read_text(encoding="utf-8")
    assert (thresholds()["iqb-gaming"].remembered or "").replace("'", "&#39;") in page
    assert "DSLReports" in page
