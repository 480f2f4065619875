"""RPM, QoO and delay variation: the vectors of the drafts, and RPM of a run against its packet log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from conftest import Command, user
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.qoe.delay_variation import ipdv, pdv, summary
from sojourn.qoe.qoo import EXAMPLE, Profile, qoo
from sojourn.qoe.responsiveness import rpm, score_responsiveness, stable, trimmed_mean
from sojourn.qoe.score import _responsiveness, score


def test_rpm_has_the_draft_s_form() -> None:
    assert rpm(60, 60, 60, 60) == (1000, 1000, 1000)
    assert rpm(20, 20, 20, 200) == (1650, 3000, 300)
    # Three round trips of foreign probes count as one mean; without TLS there are two.
    assert rpm(10, 20, 30, 20) == (3000, 3000, 3000)
    assert rpm(10, None, 30, 20).foreign == 3000
    assert rpm(10, 50, 30, 20).foreign == 2000
    with pytest.raises(ValueError, match="longer than zero"):
        rpm(0, 1, 1, 1)


def test_trimmed_means_leave_the_slowest_out() -> None:
    assert trimmed_mean([*range(1, 20), 1000]) == 10
    assert trimmed_mean([1, 2, 1000]) == pytest.approx(1003 / 3), "5 % of three is no probe"
    assert trimmed_mean(range(1, 101)) == 48
    assert trimmed_mean([]) is None and trimmed_mean([7]) == 7


def test_stable_is_the_deviation_of_the_last_four_within_five_percent_of_the_newest() -> None:
    assert stable([100, 100, 100, 100], 4, 0.05) and not stable([100, 100, 100], 4, 0.05)
    assert stable([1, 95, 100, 105, 100], 4, 0.05) and not stable([1, 90, 100, 110, 100], 4, 0.05)


def test_qoo_has_the_draft_s_vector_and_its_bounds() -> None:
    assert qoo(EXAMPLE, {99: 350, 99.9: 375}, 0.02, 28e6) == (50, 50, 75, 100)
    assert qoo(EXAMPLE, {99: 200, 99.9: 300}, 0.01, 4e6) == (100, 100, 100, 100)
    assert qoo(EXAMPLE, {99: 100, 99.9: 600}, 0.0, 4e6) == (0, 0, 100, 100)
    assert qoo(EXAMPLE, {99: 100, 99.9: 100}, 0.0, 3.9e6) == (0, 100, 100, 0)
    assert qoo(EXAMPLE, {99: 100, 99.9: 100}, 0.9, 4e6).loss == 0
    with pytest.raises(SojournError, match=r"needs the latency of 99\.9 %"):
        qoo(EXAMPLE, {99: 350}, 0.02, 28e6)
    with pytest.raises(SojournError, match="must be below the unacceptable"):
        Profile({99.0: (500.0, 200.0)}, (0.01, 0.05), 1.0)


def test_delay_variation_is_from_the_least_delay_or_from_the_one_before() -> None:
    assert pdv([5, 3, 8]).tolist() == [2, 0, 5] and ipdv([5, 3, 8]).tolist() == [-2, 5]
    found = summary(range(1000, 2000))
    assert found == {"p50": 499, "p95": 949, "p99": 989, "p99_9": 998, "max": 999}
    assert summary([]) is None and pdv([]).size == 0 and summary([4]) == dict.fromkeys(found, 0.0)


STUDY = """name = "rpm"
duration = "{duration}"
warmup = "500ms"
[path]
client-delay = "2ms"
server-delay = "8ms"
down = {{ rate = "20Mbit", queue = {{ kind = "{queue}", limit = "{limit}" }} }}
up = {{ rate = "20Mbit", queue = {{ kind = "fifo", limit = "1000pkt" }} }}
[[users]]
kind = "responsiveness"
receive-window = "{window}"
length = "{length}"
start-within = "600ms"
{more}
"""


def ran(**keys: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Run a study with one user; return what the engine gives, its summary and the scores."""
    usual = {
        "duration": "11s",
        "queue": "fifo",
        "limit": "1000ms",
        "window": "64kB",
        "more": "",
        "length": "8s",
    }
    point = json.loads(_core.points(_core.parse(STUDY.format(**{**usual, **keys}), "rpm.toml", [], []))[0])
    # The first random start of a seed that lies behind the warm-up.
    point["seed"] = next(s for s in range(1, 50) if _starts_after_warmup(point, s))
    found = _core.run(json.dumps(point), True)
    summary = json.loads(found["summary"])
    return found, summary, score(point["document"], found, summary["links"])["responsiveness"]


def _starts_after_warmup(point: dict[str, Any], seed: int) -> bool:
    short = {**point, "seed": seed}
    log = _core.run(json.dumps({**short, "document": {**point["document"], "duration": "700ms"}}), True)[
        "packets"
    ]
    return len(log["arrive_ns"]) > 0 and log["arrive_ns"].min() > 500_000_000


def by_hand(kinds: Sequence[list[tuple[int, float]]], end: int) -> tuple[list[float], float]:
    """Return the four trimmed means of the four seconds before an interval's end, and RPM."""
    kept = []
    for kind in kinds:
        values = np.sort([took for done, took in kind if end - 4 * 10**9 < done <= end])
        kept.append(float(values[: int(np.ceil(0.95 * len(values) - 1e-9))].mean()))
    return kept, (60000 / (sum(kept[:3]) / 3) + 60000 / kept[3]) / 2


@pytest.mark.parametrize(("length", "ends_early"), [("8s", False), ("28s", True)])
def test_rpm_of_a_run_is_that_of_its_packet_log(length: str, ends_early: bool) -> None:
    found, _, scores = ran(length=length, duration=f"{int(length[:-1]) + 3}s", more='pause = "60s"')
    log = found["packets"]
    rate, client, server = 20e6, 2_000_000, 8_000_000
    came = log["depart_ns"] + (log["size_bytes"] * 8e9 / rate).round().astype(np.int64)
    down, up = log["link"] == 0, log["link"] == 1
    # What a host sends is at the link at once; what it receives took twice its distance from the link.
    at_client, at_server = came + 2 * client, came + 2 * server
    data = log["kind"] == _core.packet_kinds().index("data")
    assert (log["depart_ns"] >= 0).all(), "nothing is lost here, so packets arrive in order"
    flows = np.unique(log["flow"])
    load = [f for f in flows if (down & data & (log["flow"] == f)).sum() > 20]
    assert 2 <= len(load) <= 16
    ends = found["intervals"]["end_ns"].astype(np.int64)
    assert len(ends) <= int(length[:-1]) and (np.diff(ends) == 10**9).all()
    assert (len(ends) < int(length[:-1])) == ends_early
    loaded = down & data & np.isin(log["flow"], load)
    assert log["arrive_ns"][loaded].max() <= ends[-1], "the load ends with the test"
    # Of each kind: when a probe was completed, and how long it took in ms.
    tcp, tls, http, own = kinds = ([], [], [], [])
    for flow in flows:
        mine = log["flow"] == flow
        sent = log["arrive_ns"][mine & up & data].astype(np.int64)
        opened = int(log["arrive_ns"][mine & up].min())
        if flow in load:
            seq, got = log["seq"][mine & down & data], at_client[mine & down & data]
            size = log["size_bytes"][mine & down & data] - 52
            left = log["arrive_ns"][mine & down & data]
            heard = at_server[mine & up & data]
            for k in range(1, len(sent)):  # the first is the GET of the load itself
                last = (seq + size)[left <= heard[k]].max()
                answered = got[(seq + size) >= last + 100]
                if len(answered):
                    own.append((answered.min(), (answered.min() - sent[k]) / 1e6))
            continue
        answers = at_client[mine & down & data]
        if len(sent) > 1 and len(answers) >= 4:
            done = answers[3]
            tcp.append((done, (at_client[mine & down].min() - opened) / 1e6))
            tls.append((done, (answers[2] - sent[0]) / 1e6))
            http.append((done, (answers[3] - sent[1]) / 1e6))

    # Once goodput is stable, the test ends when four values in a row are, or with its length.
    after = [by_hand(kinds, int(end))[1] for end in ends[found["intervals"]["stable"]]]
    steady = [k for k in range(3, len(after)) if np.std(after[k - 3 : k + 1]) <= 0.05 * after[k]]
    end = int(ends[found["intervals"]["stable"]][steady[0]] if steady else ends[-1])
    kept, score_by_hand = by_hand(kinds, end)
    assert scores["tests"] == 1 and len(http) > 10 and len(own) > 10
    assert scores["test_s"]["median"] == (end - int(ends[0])) / 1e9 + 1
    assert scores["confidence"]["high"] == bool(steady)
    assert scores["http_self_ms"]["median"] == pytest.approx(kept[3], abs=1e-6)
    assert [scores[f"{name}_foreign_ms"]["median"] for name in ("tcp", "tls", "http")] == pytest.approx(
        kept[:3], abs=1e-6
    )
    assert scores["rpm"]["median"] == pytest.approx(score_by_hand, abs=1e-3)
    assert end == ends[-1], "the engine ends the test when it is stable by hand, too"


def test_load_is_added_until_the_test_ends() -> None:
    found, _, scores = ran(length="30s", duration="33s")
    intervals = found["intervals"]
    assert set(intervals["test"].tolist()) == {1}, "the second is cut short by the end of the run"
    counts = intervals["connections"].tolist()
    settled = intervals["stable"].tolist().index(True)
    one_more = [min(k + 1, 16) for k in range(len(counts))]
    assert counts == one_more, "with each interval, stable goodput or not, up to sixteen"
    assert settled >= 3, "four moving averages are needed"
    assert settled + 3 <= len(counts) - 1 < 29, "and four scores after them"
    assert scores["confidence"]["high"] == 1
    # Self probes go over any of the load connections, not one after the other.
    probes = found["probes"]
    used = probes["flow"][~probes["foreign"]]
    assert len(set(used.tolist())) > 2 and (np.diff(used[-20:].astype(int)) == 0).any()
    few = ran(more="connections = [2, 3, 6]")[0]["intervals"]["connections"].tolist()
    assert few[:2] == [2, 5] and max(few) <= 6
    assert scores["confidence"]["low"] == 0 and sum(scores["confidence"].values()) == 1


def test_no_more_probes_go_out_than_a_second_may_have_however_short_its_intervals() -> None:
    many, few = (
        ran(length="4s", duration="7s", more=f'probes = {probes}\ninterval = "200ms"')[0]["probes"]
        for probes in (100, 5)
    )
    # Half of five a second are foreign, half self probes: two pairs of them, and one as the test begins.
    assert 0 < len(few["test"]) <= 5 * 4 + 2 < len(many["test"])


def test_fair_queueing_hides_self_inflicted_delay_from_foreign_probes() -> None:
    _, _, fifo = ran()
    _, summary, fair = ran(queue="fq-codel", limit="10240pkt", window="16MB")
    assert fifo["foreign_rpm"]["median"] < 800 and fifo["self_rpm"]["median"] < 800
    apart = fifo["foreign_rpm"]["median"] / fifo["self_rpm"]["median"]
    assert 0.9 < apart < 1.5, "one line for all"
    assert fair["foreign_rpm"]["median"] > max(2500, 1.25 * fair["self_rpm"]["median"])
    assert summary["links"]["down"]["utilisation"] > 0.5
    assert 0 <= fair["qoo"]["qoo"] <= 100 and fair["qoo"]["throughput"] == 100


@pytest.mark.parametrize("direction", ["up", "both"])
def test_load_goes_the_way_that_it_is_told(direction: str) -> None:
    found, summary, scores = ran(more=f'direction = "{direction}"\ntls = false')
    assert summary["links"]["up"]["utilisation"] > 0.3
    assert (summary["links"]["down"]["utilisation"] > 0.3) == (direction == "both")
    assert (found["probes"]["tls_ns"] == -1).all() and scores["tls_foreign_ms"]["median"] is None
    least = 20.0
    for name in ("tcp_foreign_ms", "http_foreign_ms", "http_self_ms"):
        assert scores[name]["p5"] >= least, "no probe is faster than light"


def test_the_page_judges_responsiveness_and_draws_it(sojourn: Command) -> None:
    study = STUDY.format(duration="11s", queue="fifo", limit="100ms", window="16MB", more="", length="8s")
    (sojourn.cwd / "rpm.toml").write_text(study + '[sweep]\n"path.down.queue.limit" = ["20ms", "400ms"]\n')
    rows = sojourn.json(
        "run", "rpm.toml", "--jobs", "1", "--set", "users.0.start-within=0ms", "--set", "warmup=0ms"
    )
    assert rows[0]["responsiveness"]["rpm"]["median"] > rows[1]["responsiveness"]["rpm"]["median"]
    told = sojourn.json("report", "results/rpm", svg_only=True)[0]
    assert "responsiveness" in json.dumps(told["answer"])
    page = (sojourn.cwd / told["report"]).read_text(encoding="utf-8")
    assert "median RPM" in page and "a round trip of 100\xa0ms" in page
    assert "becomes fair (300 RPM), good (1000) and excellent (6000)" in page
    assert "good from 1000" in page, "a class that is in view is marked in the figure"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("connections = [0, 1, 16]", "must be first, more and most"),
        ("connections = [9, 1, 8]", "must be first, more and most"),
        ("averages = 0", "expected 1 to 100"),
        ("tolerance = 1.5", "is not a share"),
        ("probe-share = 0.0", "is not a share"),
        ('interval = "4s"', "does not hold 4 intervals"),
        ('transport = "udp"', "load and probes are TCP"),
    ],
)
def test_what_cannot_be_a_test_is_refused(more: str, said: str) -> None:
    text = STUDY.format(duration="11s", queue="fifo", limit="100ms", window="16MB", more=more, length="8s")
    with pytest.raises(_core.StudyError, match=said):
        _core.parse(text, "rpm.toml", [], [])


def test_a_path_on_which_nothing_comes_back_is_scored_by_the_waits_and_not_left_out() -> None:
    second = 10**9
    starts = np.array([5, 6, 7, 5, 6, 7]) * second
    never = np.full(6, -1, dtype=np.int64)
    probes = {
        "user": np.zeros(6, int), "test": np.ones(6, int), "foreign": np.array([1, 1, 1, 0, 0, 0]),
        "start_ns": starts, "tcp_ns": never, "tls_ns": never, "http_ns": never,
    }  # fmt: skip
    intervals = {
        "user": np.zeros(8, dtype=int), "test": np.ones(8, dtype=int), "end_ns": np.arange(1, 9) * second,
        "goodput_bps": np.full(8, 1e6), "connections": np.full(8, 4), "stable": np.ones(8, dtype=bool),
    }  # fmt: skip
    user = {"averages": 4, "interval": "1s", "tolerance": 0.05, "trim": 0.05, "tls": True}
    found = score_responsiveness(probes, intervals, [user])
    # They waited 3, 2 and 1 s up to the end: 2 s on average is the least that a round trip takes.
    assert found["rpm"]["median"] == 30 and found["confidence"] == {"high": 0, "medium": 0, "low": 1}
    assert (found["probes"], found["unanswered"], found["http_self_ms"]["median"]) == (6, 6, 2000)
    # One that came back speaks for its kind.
    came = probes | {"http_ns": np.array([-1, -1, -1, -1, -1, 500_000_000])}
    assert score_responsiveness(came, intervals, [user])["self_rpm"]["median"] == 120
    # Behind a queue of seconds those sent early come late: they are of the interval in which they came.
    late = probes | {
        "start_ns": np.array([1, 2, 3, 1, 2, 3]) * second,
        "tcp_ns": np.array([2, 2, 2, -1, -1, -1]) * second,
        "tls_ns": np.array([1, 1, 1, -1, -1, -1]) * second,
        "http_ns": np.array([1, 1, 1, 4, 4, 4]) * second,
    }
    scored = score_responsiveness(late, intervals, [user])
    assert (scored["tcp_foreign_ms"]["median"], scored["http_self_ms"]["median"]) == (2000, 4000)
    assert scored["confidence"]["low"] == 0 and scored["unanswered"] == 0


def test_a_test_ends_when_it_is_stable_and_what_comes_later_is_not_scored() -> None:
    second = 10**9
    at = np.arange(40) * second // 2
    # Answers within 100 ms for the first 10 s; after that within 400 ms.
    took = np.where(at < 10 * second, 100_000_000, 400_000_000)
    foreign = np.tile([1, 0], 20)
    probes = {
        "user": np.zeros(40, int), "test": np.ones(40, int), "foreign": foreign, "start_ns": at,
        "tcp_ns": np.where(foreign, took, -1), "tls_ns": np.where(foreign, took, -1), "http_ns": took,
    }  # fmt: skip
    intervals = {
        "user": np.zeros(20, int), "test": np.ones(20, int), "end_ns": np.arange(1, 21) * second,
        "goodput_bps": np.full(20, 1e6), "connections": np.arange(1, 21), "stable": np.arange(20) >= 4,
    }  # fmt: skip
    user = {"averages": 4, "interval": "1s", "tolerance": 0.05, "trim": 0.05, "tls": True}
    found = score_responsiveness(probes, intervals, [user])
    # Goodput is stable after 5 s; the fourth value since is that after 8 s.
    assert (found["test_s"]["median"], found["rpm"]["median"]) == (8, 600)
    assert found["confidence"]["high"] == 1 and found["connections"] == 8
    assert found["probes"] == 16 and found["unanswered"] == 0
    never = score_responsiveness(probes, {**intervals, "stable": np.zeros(20, bool)}, [user])
    assert (never["test_s"]["median"], never["rpm"]["median"]) == (20, 150)
    assert never["confidence"]["medium"] == 1, "its length ended it"


@pytest.mark.parametrize(("direction", "kept"), [("down", 0.9), ("up", 0.8), ("both", 0.9 * 0.8)])
def test_losses_of_every_link_that_a_test_loads_are_in_its_quality(direction: str, kept: float) -> None:
    second = 10**9
    foreign = np.tile([1, 0], 20)
    took = np.full(40, 10_000_000)
    probes = {
        "user": np.ones(40, int), "test": np.ones(40, int), "foreign": foreign,
        "start_ns": np.arange(40) * second // 4,
        "tcp_ns": np.where(foreign, took, -1), "tls_ns": np.where(foreign, took, -1), "http_ns": took,
    }  # fmt: skip
    intervals = {
        "user": np.ones(10, int), "test": np.ones(10, int), "end_ns": np.arange(1, 11) * second,
        "goodput_bps": np.full(10, 9e6), "connections": np.full(10, 4), "stable": np.ones(10, dtype=bool),
    }  # fmt: skip
    tester = user("responsiveness", direction=direction)
    links = {"down": {"loss": 0.1}, "up": {"loss": 0.2}, "access.down": {"loss": 0.0}}
    document = {"users": [user("gaming"), tester], "warmup": "0s", "duration": "10s"}
    found = _responsiveness(document, {"probes": probes, "intervals": intervals}, links)
    expected = qoo(EXAMPLE, {99.0: 30.0, 99.9: 30.0}, 1 - kept, found["goodput_bps"]).loss
    assert found["qoo"]["loss"] == round(expected, 3)
    # Without losses nothing is lost, whatever the way.
    none = {name: {"loss": 0.0} for name in links}
    assert _responsiveness(document, {"probes": probes, "intervals": intervals}, none)["qoo"]["loss"] == 100
