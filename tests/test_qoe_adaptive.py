"""Metrics of adaptive video and of browsing: closed forms, and small runs of the engine."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import sojourn
from hypothesis import given
from hypothesis import strategies as st
from sojourn import _core
from sojourn.parts.clips import open_clip
from sojourn.qoe.adaptive import Viewing, instability, playing, summary, unfairness
from sojourn.qoe.browser import score_browser
from sojourn.results.bounded import lower_bounds
from sojourn.study import Point
from sojourn.sweep.simulation import simulate

K = 20
WEIGHTS = [K - d for d in range(K + 1)]


def test_a_constant_rate_is_stable():
    np.testing.assert_array_equal(instability(np.full(60, 760.0)), np.zeros(40))
    assert instability(np.ones(20)).size == 0


def test_one_step_has_the_printed_instability():
    rates = np.array([100.0] * 30 + [300.0] * 30)
    found = instability(rates)
    for t in range(K, 60):
        b = [rates[t - d] for d in range(K + 1)]
        above = sum(abs(b[d] - b[d + 1]) * WEIGHTS[d] for d in range(K))
        below = sum(b[d] * WEIGHTS[d] for d in range(1, K + 1))
        assert found[t - K] == pytest.approx(above / below)
    # Just after the step: 200 × 20 over 100 × (19 + … + 1).
    assert found[30 - K] == pytest.approx(200 * 20 / (100 * 190))
    assert found[29 - K] == 0
    assert found[55 - K] == 0


@given(st.integers(1, 12), st.floats(1, 1e4))
def test_unfairness_has_its_closed_forms(clients, rate):
    assert unfairness(np.full((clients, 3), rate)) == pytest.approx(np.zeros(3), abs=1e-7)
    one = np.zeros((clients, 1))
    one[0] = rate
    assert unfairness(one)[0] == pytest.approx(np.sqrt(1 - 1 / clients))
    assert unfairness(np.zeros((clients, 2))).tolist() == [0, 0]


def viewing(user=0, rates=(100.0,) * 5, start=0.0, stalls=(), finished=True):
    n = len(rates)
    request = start + 4.0 * np.arange(n)
    return Viewing(
        user=user,
        start_s=start,
        play_s=start + 1.0,
        end_s=float(request[-1] + 2) if n else start,
        segment_s=4.0,
        finished=finished,
        level=np.ones(n, dtype=np.int64),
        rate_kbps=np.array(rates),
        bytes=np.array(rates) * 500,
        request_s=request,
        arrive_s=request + 2,
        before_s=np.zeros(n),
        after_s=np.full(n, 4.0),
        stalls=np.array(stalls, dtype=np.float64).reshape(-1, 2),
    )


def test_instability_from_segment_to_segment_is_that_of_20_s_of_video():
    # Of segments of 4 s five are 20 s; the last has none before it for the lower sum's five but the first.
    rates = [100.0, 100.0, 300.0, 300.0, 300.0, 100.0]
    [client] = summary([viewing(0, rates)], 0.0, None)["clients"]
    expected = (200 * 5 + 200 * 2) / (300 * (4 + 3 + 2) + 100 * 1)
    assert client["instability_segments"] == pytest.approx(expected, abs=1e-6)
    [client] = summary([viewing(0, rates)], 4.0, None)["clients"]
    assert client["instability_segments"] is None, "the first was asked for in the warm-up"
    assert "instability_segments" not in summary([viewing(0, rates)], 4.0, None)


def test_the_summary_counts_what_began_after_the_warm_up():
    found = [viewing(0, (100.0, 300.0), stalls=[(1.0, 2.0), (5.0, 7.5)]), viewing(1, (200.0, 200.0))]
    all_of_it = summary(found, 0.0, 1e6)
    assert all_of_it["average_rate_kbps"] == 200
    assert (all_of_it["stalls"], all_of_it["stall_s"], all_of_it["clients_stalled_pct"]) == (2, 3.5, 50)
    assert all_of_it["per_client_rate_kbps"] == [200, 200]
    # Four segments of 4 kb × rate: over 6 s of fetching, and until the last was played: 1 s, 2 × 4 s, stalls.
    assert all_of_it["utilisation_fetching"] == pytest.approx(8 * 500 * 800 / 1e6 / 6)
    assert found[0].watched_s == pytest.approx(1 + 8 + 3.5)
    assert all_of_it["utilisation"] == pytest.approx(8 * 500 * 800 / 1e6 / 12.5, abs=1e-6)
    later = summary(found, 3.0, None)
    assert (later["average_rate_kbps"], later["stalls"], later["stall_s"]) == (250, 1, 2.5)
    assert "utilisation" not in later
    assert summary([], 0.0, 1e6) == {}


def test_a_stall_across_the_end_of_the_warm_up_is_left_out():
    found = [viewing(0, stalls=[(2.0, 6.0), (8.0, 9.5)]), viewing(1, stalls=[(2.9, 3.1)])]
    later = summary(found, 3.0, None)
    assert (later["stalls"], later["stall_s"], later["clients_stalled_pct"]) == (1, 1.5, 50)
    assert later["clients"][0]["stalls"] == [[2.0, 6.0], [8.0, 9.5]]
    on_time = summary([viewing(0, stalls=[(3.0, 4.0)])], 3.0, None)
    assert on_time["stalls"] == 1


def test_the_wait_for_the_first_picture_is_from_asking_for_a_connection_to_playing():
    found = [replace(viewing(k, start=10.0), opened_s=10.0 - k / 10) for k in range(3)]
    came = summary(found, 60.0, None)
    # Those who began in the warm-up count too: each waits once.
    assert came["startup_delay_ms"] == dict(median=1100, mean=1100, p5=1000, p25=1000, p75=1200, p95=1200)
    assert [client["startup_delay_ms"] for client in came["clients"]] == [1000, 1100, 1200]
    assert "bounded" not in came
    # Who saw none waited to the end at least, also one whose connection never stood; all else is without it.
    never = replace(viewing(4, rates=(), start=0.0, finished=False), opened_s=15.0, play_s=None, end_s=28.0)
    more = summary([*found, never], 0.0, 1e6)
    assert more["startup_delay_ms"]["p95"] == 13_000 and more["startup_delay_ms"]["median"] == 1150
    assert more["bounded"] == ["startup_delay_ms.p95", "startup_delay_ms.mean"]
    two = summary([found[0], never], 0.0, None)
    assert (two["startup_delay_ms"]["median"], two["bounded"][0]) == (7000, "startup_delay_ms.median")
    assert lower_bounds({"adaptive": more}) == {f"adaptive.{name}" for name in more["bounded"]}
    assert len(more["clients"]) == 3 and more["stalls"] == 0


def test_clients_are_compared_until_the_first_of_them_ends():
    # The first ends at 18 s and the second at 118 s; what the first would do afterwards is not known.
    found = [viewing(0, (100.0,) * 5), viewing(1, (100.0,) * 5 + (300.0,) * 25)]
    both = summary(found, 0.0, 1e6)
    assert (found[0].end_s, found[1].end_s) == (18.0, 118.0)
    assert both["unfairness"] == both["unfairness_carried"] == 0.0
    assert both["utilisation_fetching"] == pytest.approx(10 * 500 * 100 * 8 / 1e6 / 18)
    # Both are in it from when the second one began.
    late = [viewing(0, (300.0,) * 2 + (100.0,) * 28), viewing(1, (100.0,) * 20, start=20.0)]
    assert summary(late, 0.0, None)["unfairness"] == 0.0


def test_what_plays_waits_for_stalls():
    played = playing(viewing(rates=(100.0, 200.0, 300.0), stalls=[(9.0, 12.0)]))
    assert played.tolist() == [[1, 100], [5, 200], [12, 300]]


def test_browsing_is_scored_over_pages_that_ended():
    table = {
        "plt_ns": np.array([1, 3, 15, 2], dtype=np.uint64) * 10**9,
        "fate": np.array([1, 1, 2, 0], dtype=np.uint8),
        "bytes": np.array([10**6, 3 * 10**6, 9, 9], dtype=np.uint64),
    }
    found = score_browser(table)
    assert found["plt_s"]["median"] == 2
    assert found["abandoned"] == pytest.approx(1 / 3, abs=1e-6)
    assert (found["loads"], found["unfinished"], found["completed_mb"]) == (3, 1, 2)
    assert score_browser({name: column[3:] for name, column in table.items()}) == {}
    with pytest.raises(ValueError, match="lacks fate"):
        score_browser({"plt_ns": table["plt_ns"], "bytes": table["bytes"]})


STUDY = """
name = "six"
duration = "130s"
[path]
rtt = "40ms"
down = { rate = "6Mbit", queue = { kind = "fifo", limit = "2BDP" } }
up = { rate = "100Mbit", queue = { kind = "fifo", limit = "1000pkt" } }
"""
ADAPTIVE = '[[users]]\nkind = "adaptive"\nalgorithm = "ALG"\ncount = 3\nlength = "80s"\n'
BROWSER = '[[users]]\nkind = "browser"\ncount = 2\n'


def run(text):
    return simulate(Point.settle(json.loads(_core.points(_core.parse(text, "six.toml", []))[0])))[0]


@pytest.mark.parametrize(
    "algorithm",
    [
        *("gpac", "festive", "bba0", "bba1", "bba2", "bba-others", "bola-basic", "bola-u", "bolae"),
        *("dynamic", "dynamicdash", "throughput", "robust-mpc", "fixed"),
    ],
)
def test_every_player_watches_its_clip_to_the_end(algorithm):
    result = run(STUDY + ADAPTIVE.replace("ALG", algorithm))
    found = result["adaptive"]
    assert found["finished"] == 3
    assert 0 < found["utilisation"] < 1
    for client in found["clients"]:
        segments = client["segments"]
        assert len(segments["level"]) == 20
        assert segments["request_s"] == sorted(segments["request_s"])
        assert all(a < b for a, b in zip(segments["request_s"], segments["arrive_s"], strict=True))
        assert max(segments["buffer_after_s"]) <= 60 + 1e-6
    video = sum(sum(client["segments"]["bytes"]) for client in found["clients"])
    assert video < result["links"]["down"]["departed_bytes"] < 1.2 * video + 1e5


def test_the_same_player_decides_alike_alone_on_a_link_and_on_the_ideal_one():
    text = STUDY.replace('limit = "2BDP"', 'limit = "unlimited"').replace("6Mbit", "1Gbit")
    text += ADAPTIVE.replace("ALG", "bba0").replace("count = 3", "count = 1\nstart-anywhere = false")
    segments = run(text)["adaptive"]["clients"][0]["segments"]
    clip = open_clip("bbb-x264-4s").first(20)
    ideal = sojourn.play("bba0", clip, 1_000_000, 60)
    assert segments["level"] == [segment.level for segment in ideal]
    assert len(set(segments["level"])) > 2


def test_viewers_start_one_after_another_and_the_same_way_again():
    text = STUDY + ADAPTIVE.replace("ALG", "festive")
    first, again = run(text), run(text)
    assert json.dumps(first) == json.dumps(again)
    starts = [client["start_s"] for client in first["adaptive"]["clients"]]
    assert starts == sorted(starts)
    assert all(b - a <= 4.01 for a, b in itertools.pairwise(starts))
    for client in first["adaptive"]["clients"]:
        # The connection is waited for as well: a round trip at least.
        opening_s = client["startup_delay_ms"] / 1e3 - (client["play_s"] - client["start_s"])
        assert 0.04 - 1e-3 < opening_s < 0.3
    other = run(text.replace("2BDP", "10BDP"))
    assert [client["start_s"] for client in other["adaptive"]["clients"]] == pytest.approx(starts, abs=0.2)


def test_slow_segments_are_given_up_and_fetched_again_lower():
    slow = STUDY.replace("6Mbit", "600kbit").replace('"2BDP"', '"20pkt"').replace("130s", "300s")
    text = slow + ADAPTIVE.replace('"ALG"', '{ kind = "fixed", level = 5 }').replace("count = 3", "count = 1")
    patient, hasty = run(text), run(text + "give-up = true\n")
    assert set(patient["adaptive"]["clients"][0]["segments"]["level"]) == {5}
    assert "given_up" not in patient["adaptive"]
    found = hasty["adaptive"]
    assert found["finished"] == 1
    segments = found["clients"][0]["segments"]
    assert len(segments["level"]) == 20
    # 1065 kb/s never come; below 600 kb/s are the first three levels.
    assert set(segments["level"]) <= {1, 2, 3}
    assert found["given_up"] >= 20
    assert found["stall_s"] < patient["adaptive"]["stall_s"] / 2
    assert hasty["links"]["down"]["departed_bytes"] > 1.05 * sum(segments["bytes"])


def test_festive_keeps_its_buffer_around_the_target():
    text = STUDY + ADAPTIVE.replace("ALG", "festive").replace("80s", "120s")
    for client in run(text)["adaptive"]["clients"]:
        assert 26 < max(client["segments"]["buffer_after_s"]) < 38.1


def test_people_browse_and_give_up():
    found = run(STUDY + BROWSER)["browser"]
    assert found["loads"] > 5
    assert 0 < found["plt_s"]["median"] < 15
    assert found["plt_s"]["p95"] <= 15
    slow = run(STUDY.replace("6Mbit", "1Mbit") + BROWSER)["browser"]
    assert slow["abandoned"] > found["abandoned"]
    fast = run(STUDY.replace("6Mbit", "1Gbit") + BROWSER)["browser"]
    assert fast["abandoned"] == 0


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('algorithm = "bba9"', "unknown variant `bba9`"),
        ('algorithm = { kind = "festive", p = 0 }', "algorithm.p"),
        ('algorithm = { kind = "python", class = "mine" }', "module:Class"),
        ('algorithm = "bba2"\nclips = []', "at least one clip"),
        ('algorithm = "bba2"\nclips = ["sintel"]', "not a clip that ships"),
        ('algorithm = "bba2"\nclips = [{ spread = 0.2 }]', "rates-kbps"),
        ('algorithm = "bba2"\nclips = [{ segment-s = 4, rates-kbps = [1], sizes = [[0]] }]', "0 bytes"),
        ('algorithm = "bba2"\nrates-kbps = [1, 2]', "2 rates"),
        ('algorithm = "bba2"\nbuffer = "4s"', "two segments"),
        ('algorithm = "bba2"\ntransport = "udp"', "over TCP"),
        ('algorithm = "bba2"\nlength = "1s"', "1 to 100000 segments"),
    ],
)
def test_what_cannot_be_watched_is_said(lines, says):
    with pytest.raises(sojourn.StudyError, match=says):
        _core.parse(STUDY + f'[[users]]\nkind = "adaptive"\n{lines}\n', "six.toml", [])


def test_a_clip_of_one_s_own_is_part_of_the_point(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = STUDY + ADAPTIVE.replace("ALG", "bba2") + 'clips = ["mine_4s.csv"]\n'
    (tmp_path / "six.toml").write_text(study)
    with pytest.raises(sojourn.SojournError, match="no such file"):
        sojourn.Study.load("six.toml").points  # noqa: B018

    def point(sizes):
        (tmp_path / "mine_4s.csv").write_text("bytes_100kbps,bytes_200kbps\n" + f"{sizes}\n" * 9)
        return sojourn.Study.load("six.toml").points[0]

    first = point("50000,100000")
    assert first.document["users"][0]["clips"][0]["rates-kbps"] == [100, 200]
    result = simulate(first)[0]
    assert result["adaptive"]["per_client_rate_kbps"][0] > 100
    assert point("50000,100001").hash != first.hash
