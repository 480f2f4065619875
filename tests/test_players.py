"""Players on an ideal link: decisions segment by segment, players of one's own, readers of traces."""

import csv
import itertools
import json
import re
from pathlib import Path

import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn.parts.clips import open_clip
from sojourn.parts.ideal_link import read_trace
from sojourn.parts.player import Choice, Trace, play

DATA = Path(__file__).parent / "data" / "players"
LADDER = [235, 380, 568, 760, 1065, 1777, 2387, 3046, 3906, 4361]
ALGORITHMS = [
    *("gpac", "festive", "bba0", "bba1", "bba2", "bba-others", "bola-basic", "bola-u", "bolae"),
    *("dynamic", "dynamicdash", "throughput", "robust-mpc", "fixed"),
]


def rows(name):
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(segments, row):
    assert "".join(f"{segment.level:X}" for segment in segments) == row["levels"]
    assert segments[-1].arrive_s == pytest.approx(float(row["last_byte_s"]), abs=6e-4)
    assert sum(segment.stall_s for segment in segments) == pytest.approx(float(row["stall_s"]), abs=6e-3)


@pytest.mark.parametrize(
    "row", rows("sabre.csv"), ids=lambda row: f"{row['trace']}-{row['buffer_s']}-{row['algorithm']}"
)
def test_sabre_s_players_decide_as_sabre_does(row):
    same(play(row["algorithm"], "bbb-3s", DATA / f"{row['trace']}.csv", float(row["buffer_s"])), row)


@pytest.mark.parametrize(
    "row", rows("players.csv"), ids=lambda row: f"{row['trace']}-{row['buffer_s']}-{row['algorithm']}"
)
def test_festive_and_bba_decide_as_their_papers_say(row):
    draws = [float(u) for u in (DATA / "festive_draws.txt").read_text().split()]
    options = {"rates_kbps": LADDER, "draws": draws}
    trace = DATA / f"{row['trace']}.csv"
    same(play(row["algorithm"], "bbb-x264-4s", trace, float(row["buffer_s"]), options), row)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["bbb-3s", "bbb-x264-4s", "envivio-4s"]),
    st.lists(
        st.tuples(st.floats(0.5, 60), st.sampled_from([0.0, 90.0, 800.0, 2500.0, 9000.0])),
        min_size=1,
        max_size=8,
    ).filter(lambda trace: any(rate for _, rate in trace)),
    st.floats(8, 300),
)
def test_whatever_the_player_the_buffer_is_kept(algorithm, clip, trace, buffer):
    found = open_clip(clip).first(40)
    segments = play(algorithm, found, trace, buffer)
    assert [segment.segment for segment in segments] == list(range(1, 41))
    for segment in segments:
        assert 1 <= segment.level <= len(found.rates_kbps)
        assert 0 <= segment.buffer_before_s <= buffer - found.segment_s + 1e-6
        assert 0 < segment.buffer_after_s <= buffer + 1e-6
        assert segment.decide_s <= segment.request_s < segment.first_byte_s <= segment.arrive_s
        assert segment.stall_s >= 0
    for before, after in itertools.pairwise(segments):
        assert after.decide_s == before.arrive_s


class Steps:
    """One level up at a time while the last download took less than half its duration, else one down."""

    def __init__(self, share=0.5):
        self.share, self.level = share, 1

    def segment_done(self, segment):
        fast = segment.arrive_s - segment.request_s < self.share * 3.0
        self.level = min(self.level + 1, 10) if fast else max(self.level - 1, 1)

    def choose(self, state):
        assert state.segment == 1 or state.last is not None
        return Choice(self.level, 0.25) if state.segment == 2 else self.level


@pytest.mark.parametrize(("level", "played"), [(1, 1), (3, 3), (10, 10), (11, 10), (99, 10)])
def test_a_player_that_does_not_adapt_plays_its_level_or_the_highest_there_is(level, played):
    segments = play({"kind": "fixed", "level": level}, "bbb-3s", [(100, 9000.0)], 60)
    assert len(segments) > 100 and {segment.level for segment in segments} == {played}


def test_a_player_of_one_s_own_plays():
    for algorithm, options in ((Steps, {}), (Steps(), {}), (Steps, {"share": 0.5})):
        segments = play(algorithm, "bbb-3s", 3000, 60, options)
        assert [segment.level for segment in segments[:4]] == [1, 2, 3, 4]
        assert segments[1].wait_s == pytest.approx(0.25)
        assert segments[0].estimate_kbps is None
    assert play(Steps, "bbb-3s", 3000, 60, {"share": 0.01})[9].level == 1


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    text = (Path(__file__).parent.parent / "docs" / "players.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|toml)\n(.*?)```", text, re.S)
    code = [block for kind, block in blocks if kind == "python"]
    study = next(block for kind, block in blocks if kind == "toml" and "cautious:Cautious" in block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("cautious.py").write_text(code[0], encoding="utf-8")
    scope = {}
    exec(compile(code[1], "players.md", "exec"), scope)
    assert len(scope["segments"]) == 149
    Path("study.toml").write_text(study, encoding="utf-8")
    result = next(iter(sojourn.run("study.toml", out="results", jobs=1)))
    assert result["adaptive"]["average_rate_kbps"] > 235
    levels = result["adaptive"]["clients"][0]["segments"]["level"]
    assert set(levels) <= {1, 2, 3}


class Fails:
    def segment_done(self, segment):
        raise RuntimeError("no idea")

    def choose(self, state):
        return 1


def answering(name, answer):
    return type(name, (Steps,), {"choose": lambda *_: answer})


@pytest.mark.parametrize(
    ("algorithm", "sizes", "trace", "buffer", "options", "says"),
    [
        ("bba3", "bbb-3s", 1000, 60, {}, "unknown variant `bba3`"),
        ("festive", "bbb-3s", 1000, 60, {"q": 1}, "unknown field `q`"),
        ("festive", "bbb-3s", 1000, 60, {"p": -1}, "p: -1"),
        ("festive", "bbb-3s", 1000, 60, {"draws": [0.5]}, "1 draws"),
        ("bba2", "sintel", 1000, 60, {}, "'sintel' is not a clip"),
        ("bba2", "nowhere.csv", 1000, 60, {}, "no such file"),
        ("bba2", "bbb-3s", 0, 60, {}, "for ever"),
        ("bba2", "bbb-3s", [], 60, {}, "at least one period"),
        ("bba2", "bbb-3s", [("a", 1)], 60, {}, "expected kb/s"),
        ("bba2", "bbb-3s", 1000, 2, {}, "at least one segment"),
        ("bba2", "bbb-3s", 1000, "60s", {}, "buffer is '60s'; expected a number of seconds"),
        ("bba2", "bbb-3s", 1000, 60, {"rates_kbps": [1, 2]}, "2 rates"),
        ("bba3", "bbb-3s", 1000, 60, {"p": object()}, "other than finite numbers"),
        ("bba2", 5, 1000, 60, {}, "5 is not a clip"),
        ("bba2", sojourn.Clip(4.0, (1.0,), [["x"]]), 1000, 60, {}, "whole bytes by segment and level"),
        ("bba2", "bbb-3s", Trace(5), 60, {}, "expected periods"),
        ("bba2", "bbb-3s", 1000, 60, 5, "options is 5; expected a mapping"),
        ("bba2", "bbb-3s", 1000, 60, {"draws": 5}, "draws = 5: expected a list"),
        ("bba2", "bbb-3s", 1000, 60, {"seed": -1}, "seed -1 is not a whole number"),
        ("bba2", "bbb-3s", 1000, 60, {"rates_kbps": 5}, "rates 5: expected a list"),
        (":There", "bbb-3s", 1000, 60, {}, "expected module:Class"),
        (Steps, "bbb-3s", 1000, 60, {"nosuch": 1}, "unexpected keyword argument 'nosuch'"),
        ("nothing:There", "bbb-3s", 1000, 60, {}, "No module named"),
        ("json:There", "bbb-3s", 1000, 60, {}, "no class 'There'"),
        (object, "bbb-3s", 1000, 60, {}, "no method segment_done"),
        (type("High", (Steps,), {"choose": lambda *_: 11}), "bbb-3s", 1000, 60, {}, "expected 1 to 10"),
        (type("Odd", (Steps,), {"choose": lambda *_: "x"}), "bbb-3s", 1000, 60, {}, "a Choice or a level"),
        (answering("Half", 1.5), "bbb-3s", 1000, 60, {}, "Half.choose answered 1.5: expected"),
        (answering("Text", "1"), "bbb-3s", 1000, 60, {}, "answered '1': expected"),
        (answering("Three", (1, 0, 0)), "bbb-3s", 1000, 60, {}, "(1, 0, 0): expected"),
        (answering("Pair", (1.5, 0)), "bbb-3s", 1000, 60, {}, "(1.5, 0): expected"),
        (answering("Few", 0), "bbb-3s", 1000, 60, {}, "answered level 0: expected 1 to 10"),
        ({"kind": "fixed", "level": 1.5}, "bbb-3s", 1000, 60, {}, "number `1.5`"),
        ({"kind": "fixed", "level": 0}, "bbb-3s", 1000, 60, {}, "level: 0: expected 1 to"),
        (type("Late", (Steps,), {"choose": lambda *_: (1, -1.0)}), "bbb-3s", 1000, 60, {}, "0 or more"),
    ],
)
def test_what_is_wrong_is_said(algorithm, sizes, trace, buffer, options, says):
    with pytest.raises((sojourn.SojournError, sojourn.StudyError), match=re.escape(says)):
        play(algorithm, sizes, trace, buffer, options)


def test_an_error_of_a_player_comes_through():
    with pytest.raises(RuntimeError, match="no idea"):
        play(Fails, "bbb-3s", 1000, 60)


def test_traces_of_others_are_read(tmp_path):
    def read(name, text):
        (tmp_path / name).write_text(text)
        return read_trace(tmp_path / name)

    sabre = json.dumps([{"duration_ms": 1000, "bandwidth_kbps": 500, "latency_ms": 80}])
    assert read("a.json", sabre) == Trace(((1.0, 500.0, 0.08),))
    assert read("a.csv", "duration_ms,bandwidth_kbps\n2000,500\n") == Trace(((2.0, 500.0, 0.04),))
    # A latency of none is one; what is left out is the usual one.
    assert read("z.json", sabre.replace("80", "0")) == Trace(((1.0, 500.0, 0.0),))
    mixed = read("z.csv", "duration_ms,bandwidth_kbps,latency_ms\n2000,500,0\n1000,300,\n1000,300,7\n")
    assert [latency for _, _, latency in mixed.periods] == [0.0, 0.04, 0.007]
    steps = read("b.csv", "from_s,rate_kbps\n0,500\n30,700\n").periods
    assert steps == ((30.0, 500.0, 0.04), (float("inf"), 700.0, 0.04))
    assert read("p", "0.0 9\n0.5 1.5\n2.0 3\n") == Trace(((0.5, 1500.0, 0.04), (1.5, 3000.0, 0.04)))
    first, second = read("m", "10\n10\n20\n").periods
    assert first == pytest.approx((0.01, 2 * 1504 * 0.8, 0.04))
    assert second == pytest.approx((0.01, 1504 * 0.8, 0.04))
    with pytest.raises(sojourn.SojournError, match="m: line 2: 5 ms comes after 10ms"):
        read("m", "10\n5\n")


def test_a_mahimahi_trace_has_one_capacity_for_players_and_links(tmp_path):
    file = tmp_path / "cell"
    file.write_text("0\n3\n3\n150\n151\n400\n")
    periods = read_trace(file).periods
    seconds, kbit = sum(period[0] for period in periods), sum(s * kbps for s, kbps, _ in periods)
    study = f"""name = "one"
duration = "1s"
[path]
rtt = "2ms"
down = {{ rate = {{ trace = "{file}" }}, queue = {{ kind = "fifo", limit = "9pkt" }} }}
up = {{ rate = "1Mbit", queue = {{ kind = "fifo", limit = "9pkt" }} }}
"""
    (tmp_path / "one.toml").write_text(study)
    (result,) = sojourn.run(tmp_path / "one.toml", out=tmp_path / "out", jobs=1)
    assert (seconds, kbit) == pytest.approx((0.4, 6 * 1504 * 8e-3))
    assert result["links"]["down"]["rate_bps"] == int(kbit / seconds * 1000)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(), st.binary(), st.from_regex(r"(\d{1,6}(\.\d+)? ?[\d,]*\n){1,6}")))
def test_no_trace_breaks_its_reader(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("t") / "trace"
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        trace = read_trace(file)
    except sojourn.SojournError as error:
        assert "\n" not in str(error)
    else:
        assert all(len(period) == 3 for period in trace.periods)


@pytest.mark.parametrize("source", ["def (:\n", "raise RuntimeError('no')\n"])
def test_a_module_that_cannot_be_imported_is_said(tmp_path, monkeypatch, source):
    (tmp_path / "broken_player.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(sojourn.SojournError, match="broken_player cannot be imported") as error:
        play("broken_player:Player", "bbb-3s", 1000, 60)
    assert "\n" not in str(error.value)
