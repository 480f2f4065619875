"""The advice: its contract, its search, and what it says to bad input."""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from sojourn.cli import call
from sojourn.cli.recommend import _command
from sojourn.report.configure import links_of, routers
from sojourn.sweep.advice import Question, elimination
from sojourn.sweep.advice.candidates import discipline, read_candidates, rules, sizes
from sojourn.sweep.advice.line import Line, Times

TINY = ["--down", "2Mbit", "--up", "1Mbit", "--rtt", "30ms", "--users", "web=1", "--load", "both"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, str]:
    """A finished search on a slow line, and what it printed."""
    command = Command(tmp_path_factory.mktemp("advice"))
    return command, command("recommend", *TINY, "--candidates", "fifo,codel", "--out", "a", "--json").stdout


def test_the_answer_has_the_shape_of_the_contract(tiny: tuple[Command, str]) -> None:
    about = json.loads(tiny[1])
    for queues in (about["recommended"], about["fifo_only"], *about["pareto"]):
        assert {"kind"} <= queues["down"].keys() & queues["up"].keys()
    assert about["recommended"]["down"]["kind"] in ("fifo", "codel")
    scores = about["scores"]
    low, high = scores["by_user"]["web"]["interval"]
    assert low <= scores["by_user"]["web"]["mos"] <= high
    assert scores["worst"] == min(user["mos"] for user in scores["by_user"].values())
    assert 0 < scores["utilisation"] <= 1.01
    assert [rule["rule"].split(":")[0] for rule in about["rules_of_thumb"]] == [
        "1 BDP",
        "BDP/√n",
        "2 BDP",
        "tiny",
        "vendor's 1000 packets",
    ]
    for rule in about["rules_of_thumb"]:
        assert rule["loss_mos"] == pytest.approx(scores["worst"] - rule["worst"], abs=2e-4)
        assert rule["limit"].endswith(("pkt", "up"))
    assert about["fifo_only"]["interval"][1] >= max(rule["worst"] for rule in about["rules_of_thumb"])
    assert about["by_load"].keys() == {"both"}
    assert isinstance(about["certain"], bool)
    assert about["points"] > 40
    assert about["configure"].keys() == {"linux-tc", "openwrt-sqm", "plain"}


def test_the_same_question_has_the_same_bytes_whoever_asks_again(tiny: tuple[Command, str]) -> None:
    command, printed = tiny
    words = ["recommend", *TINY, "--candidates", "codel,fifo", "--json"]
    assert command(*words, "--out", "a").stdout == printed
    # From other processes, with some of the results lost on the way.
    shutil.copytree(command.cwd / "a", command.cwd / "b")
    for file in sorted((command.cwd / "b" / "points").glob("*.json"))[::9]:
        file.unlink()
    assert command(*words, "--out", "b", "--jobs", 1).stdout == printed


def test_a_folder_of_another_line_or_study_is_refused_and_left_as_it_is(tiny: tuple[Command, str]) -> None:
    command, _ = tiny
    shutil.copytree(command.cwd / "a", command.cwd / "kept")
    before = {file: file.read_bytes() for file in (command.cwd / "kept").rglob("*") if file.is_file()}
    other = [word.replace("2Mbit", "3Mbit") for word in TINY]
    done = command("recommend", *other, "--out", "kept", code=2)
    assert done.stderr == (
        "sojourn: --out kept holds results of 'advice-2Mbit-1Mbit-30ms'; expected a folder of its own for "
        "'advice-3Mbit-1Mbit-30ms'\n"
    )
    assert before == {file: file.read_bytes() for file in before}
    # Other users of the same line come into its folder by default: that is told, and no more.
    asked = ["recommend", *TINY, "--candidates", "codel", "--goal", "web.mos.mean>=3"]
    note = "kept held the advice for other users, loads or goals, or of another version, on this line"
    assert note in command(*asked, "--out", "kept").stderr
    assert note not in command(*asked, "--out", "kept").stderr


def test_no_candidate_of_the_exhaustive_sweep_beats_the_advice_by_more_than_its_interval(
    tiny: tuple[Command, str],
) -> None:
    command, printed = tiny
    about = json.loads(printed)
    within = about["scores"]["interval"][1] - about["scores"]["worst"]
    shutil.copytree(command.cwd / "a", command.cwd / "all")
    for study in ("sizes", "queues"):
        by_queue: dict[str, list[float]] = {}
        for row in command.json("run", f"a/{study}.toml", "--out", "all"):
            # A page that never comes is no load that ended: the worst there is.
            score = row["web"]["mos"]["mean"] if "web" in row else 1.0
            by_queue.setdefault(json.dumps(row["point"]), []).append(score)
        means = {queue: sum(found) / len(found) for queue, found in by_queue.items()}
        assert len(means) >= 2
        best = max(means, key=lambda queue: means[queue])
        assert means[best] <= about["scores"]["worst"] + within + 1e-9, best


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--users", "robots=2"], "'robots'; expected video, voice"),
        (["--users", "voice=0"], "'0' is no number of users"),
        (["--users", "voice=1,voice=2"], "voice is there twice"),
        (["--down", "0Mbit"], '--down: "0Mbit" is not a rate'),
        (["--up", "5Mbps"], '--up: "5Mbps" is not a rate: Mbps is'),
        (["--down", "unlimited"], "a link without a rate has no queue"),
        (["--rtt", "0ms"], "--rtt 0ms: a round trip takes time"),
        (["--rtt", "4000h"], "at --rtt 4000h: a round trip holds more than 100000000 packets"),
        (["--rtt", "soon"], '--rtt: "soon" is not a time'),
        (["--goal", "voice"], "is no goal; expected VALUE>=NUMBER"),
        (["--goal", "voice"], "-web; rpm-high, -medium; web-vitals"),
        (["--goal", "web.mos.p42>=3"], "results have no such number; did you mean web.mos.p25"),
        (["--goal", "happiness.mos>=3"], "names nothing that is measured"),
        (
            ["--goal", "browser.plt_s.p95<=3"],
            "names nothing that is measured; a value begins with one of web",
        ),
        (["--candidates", "fifo,codel,fifo"], "fifo is there twice"),
        (["--candidates", "fq_codel,fq-codel"], "fq-codel is there twice"),
        (["--candidates", "fifo,bufferbloat"], "there is no candidate 'bufferbloat'"),
        (["--load", "rush-hour"], "there is no such load; expected idle"),
        (["--load", "both"], "is there twice"),
        (["--precision", "0"], "no precision in MOS"),
        (["--workload", "x.parquet"], "exclude one another"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    given = dict(zip(TINY[::2], TINY[1::2], strict=True))
    again = words if words[0] == "--load" and words[1] in given.values() else []
    line = [word for pair in (given if again else given | {words[0]: words[1]}).items() for word in pair]
    assert call(["recommend", *line, *again, "--out", str(tmp_path / "x")]) == 2
    told = capsys.readouterr()
    assert says in told.err and told.err.count("\n") == 1 and not told.out
    assert not (tmp_path / "x").exists()


def numbers(**cells: list[float]) -> dict[tuple[str, str], dict[int, float]]:
    return {(load, "web"): dict(enumerate(found)) for load, found in cells.items()}


def test_candidates_are_out_when_an_interval_says_so_and_close_when_it_is_narrow() -> None:
    scores = {
        "best": numbers(both=[4.0, 4.1, 4.0, 4.1]),
        "worse": numbers(both=[3.0, 3.1, 3.05, 3.1]),
        "alike": numbers(both=[3.99, 4.1, 3.99, 4.1]),
        "unsure": numbers(both=[4.9, 3.1, 3.3, 4.6]),
    }
    standing = elimination.stand(scores, 0.1, 0.95)
    assert (standing.best, standing.out, standing.close, standing.open) == (
        "best",
        ["worse"],
        ["alike"],
        ["unsure"],
    )
    assert standing.alike == ["best", "alike", "unsure"]
    # One replication shows no spread: nothing is certain.
    once = {name: {cell: {0: found[0]} for cell, found in one.items()} for name, one in scores.items()}
    assert elimination.stand(once, 0.1, 0.95).out == []


def test_each_candidate_is_compared_by_the_load_that_is_worst_for_it() -> None:
    scores = {
        "best": numbers(a=[4.0, 4.1, 4.0, 4.1], b=[4.5] * 4),
        "worse at b": numbers(a=[4.2, 4.1, 4.2, 4.1], b=[3.0, 3.1, 3.0, 3.1]),
        "alike at b": numbers(a=[5.0] * 4, b=[3.95, 4.1, 3.95, 4.1]),
    }
    standing = elimination.stand(scores, 0.1, 0.95)
    assert (standing.best, standing.out, standing.close) == ("best", ["worse at b"], ["alike at b"])
    assert standing.behind["worse at b"].mean == pytest.approx(1.0)


def test_a_cell_that_may_be_the_worst_but_for_chance_leaves_in_doubt_who_is_better() -> None:
    # The best has its least at `a`, hardly less than at `b`, where its replications differ by much.
    best = numbers(a=[3.0, 3.01, 3.0, 3.01], b=[1.5, 4.6, 2.0, 4.2])
    other = numbers(a=[2.8, 2.81, 2.8, 2.81], b=[5.0] * 4)
    standing = elimination.stand({"best": best, "other": other}, 0.1, 0.95)
    assert standing.best == "best" and standing.open == ["other"]
    assert standing.behind["other"].mean == pytest.approx(0.2)
    # The other way round: that the other may be worse at `b` than at `a` takes nothing from the best.
    other = numbers(a=[2.8, 2.81, 2.8, 2.81], b=[1.4, 4.4, 1.9, 4.0])
    best = numbers(a=[3.0, 3.01, 3.0, 3.01], b=[5.0] * 4)
    assert elimination.stand({"best": best, "other": other}, 0.1, 0.95).out == ["other"]


def test_who_is_better_under_each_load_is_better_whichever_is_worst() -> None:
    # Chance moves both loads by much, and both candidates alike; of each another load is the worst.
    a, b = [4.0, 2.0, 3.6, 2.4], [2.1, 4.1, 2.5, 3.9]
    best, other = numbers(a=a, b=b), numbers(a=[x - 0.2 for x in a], b=[x - 0.4 for x in b])
    assert elimination.worst_cell(best)[0] != elimination.worst_cell(other)[0]
    standing = elimination.stand({"best": best, "other": other}, 0.1, 0.95)
    assert standing.out == ["other"] and standing.behind["other"].mean == pytest.approx(0.25)


def test_what_is_of_other_replications_widens_the_interval_of_a_difference() -> None:
    # In the four that both have they are the same; the many that one has alone tell nothing of the other.
    four = [2.4, 2.6, 2.5, 2.5]
    found = elimination.advantage(numbers(a=[*four, *[1.7] * 12]), numbers(a=four), 0.95)
    assert found.mean == pytest.approx(-0.6) and found.half == pytest.approx(0.6)
    assert not found.certain
    assert elimination.advantage(numbers(a=[3.0]), numbers(a=[2.0]), 0.95).half is None


def test_what_a_candidate_is_worth_is_its_worst_load_and_user() -> None:
    found = {("idle", "web"): {0: 5.0}, ("both", "web"): {0: 4.0}, ("both", "voice.talks"): {0: 3.0}}
    assert elimination.worst_cell(found) == (("both", "voice.talks"), 3.0)


def test_among_those_alike_the_mean_over_loads_decides_then_delay_then_simplicity() -> None:
    def chosen(one: Any, other: Any, waits: tuple[float, float]) -> tuple[str, str]:
        scores = {"one": one, "other": other}
        delays = {name: dict.fromkeys(range(4), ms) for name, ms in zip(scores, waits, strict=True)}
        standing = elimination.stand(scores, 0.1, 0.95)
        return elimination.choose(scores, delays, standing, 0.1, 0.95)

    flat = [3.0] * 4
    assert chosen(numbers(a=flat, b=[4.0] * 4), numbers(a=flat, b=[4.5] * 4), (1, 9)) == ("other", "mean")
    assert chosen(numbers(a=flat), numbers(a=flat), (30, 9)) == ("other", "delay")
    assert chosen(numbers(a=flat), numbers(a=flat), (9, 9)) == ("one", "order")
    assert chosen(numbers(a=flat), numbers(a=[2.0, 2.1, 2.0, 2.1]), (9, 1)) == ("one", "worst")
    # Further behind than the precision, and yet not worse for certain: the choice is not certain either.
    assert chosen(numbers(a=flat), numbers(a=[4.9, 2.1, 2.0, 1.8]), (9, 1)) == ("one", "best")


def test_sizes_and_targets_follow_the_line() -> None:
    line = Line.read("16Mbit", "1000kbit", "40ms")
    assert (line.down, line.up) == ("16Mbit", "1Mbit")
    assert sizes(line, "up") == [4, 8, 16, 32, 64, 128]
    assert sizes(line, "down") == [7, 13, 27, 53, 107, 213]
    assert discipline("codel", line).up == {"kind": "codel", "target": "18ms"}
    assert discipline("codel", line).down == {"kind": "codel"}
    assert discipline("pie", line).up["target"] == "18ms"
    assert [rule.limits for rule in rules(line, (16, 8))] == [
        (53, 3),
        (13, 1),
        (107, 7),
        (10, 10),
        (1000, 1000),
    ]
    assert read_candidates("cake, fifo") == ["fifo", "cake"]


def test_a_fast_line_is_simulated_for_less_long() -> None:
    slow, fast = (Times.of(Line.read(rate, rate, "20ms")) for rate in ("1Mbit", "1Gbit"))
    assert (slow.measured_s, slow.call_s) == (40, 8)
    assert fast.measured_s <= 7
    assert 2 <= fast.call_s <= fast.measured_s / 2


def test_the_results_are_a_study_like_any_other(tiny: tuple[Command, str]) -> None:
    command, _ = tiny
    file = command.cwd / "a" / "queues.toml"
    assert "# The line: 2Mbit/s down" in file.read_text(encoding="utf-8")
    assert "codel" in command("show", "a").stdout


def test_the_page_says_what_to_set_and_asks_the_network_for_nothing(tiny: tuple[Command, str]) -> None:
    command, printed = tiny
    about = json.loads(printed)
    page = (command.cwd / "a" / "advice.html").read_text(encoding="utf-8")
    assert "Choose" in page and "option ilimit" in page and "txqueuelen" in page
    assert escape(about["configure"]["linux-tc"].splitlines()[-1]) in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    assert json.loads((command.cwd / "a" / "advice.json").read_text(encoding="utf-8")) == about


def test_sqm_and_plain_routers_are_told_the_numbers_of_the_study() -> None:
    path = {"rtt": "40ms"} | {
        way: {"rate": rate, "queue": {"kind": "fifo", "limit": limit}}
        for way, rate, limit in (("down", "16Mbit", "1BDP"), ("up", "1Mbit", "12kB"))
    }
    links, _ = links_of(path)
    sqm = routers.openwrt(links["down"], links["up"])
    for option in ("download '16000'", "upload '1000'", "script 'simplest.qos'", "ilimit '53'"):
        assert f"\toption {option}" in sqm
    # SQM has one discipline for both directions, whose limits have one unit.
    assert "qdisc 'pfifo'" in sqm and "elimit '8'" in sqm
    plain = routers.plain(links["down"], links["up"])
    assert "hold-queue 8 out" in plain and "pfifo-limit=53;" in plain and "12000 bytes, 96 ms" in plain
    for way in ("down", "up"):
        path[way] = {"rate": path[way]["rate"], "queue": {"kind": "cake", "target": "18ms"}}
    links, differs = links_of(path)
    sqm = routers.openwrt(links["down"], links["up"])
    assert "piece_of_cake.qos" in sqm and "option iqdisc_opts 'rtt 100ms flows'" in sqm
    assert "limit" not in sqm
    assert differs["up"] == []  # Linux raises the target by itself at this rate
    assert any("CAKE's target" in note for note in differs["down"])


def test_a_recorded_workload_is_the_load_for_as_long_as_it_lasts() -> None:
    line = Line.read("2Mbit", "1Mbit", "30ms")
    assert Times.of(line, 20).measured_s + Times.of(line, 20).warmup_s == 20
    assert Times.of(line, 3).measured_s == 4


def test_the_command_that_asks_again_has_all_that_was_asked() -> None:
    asked = Question.read("16Mbit", "1Mbit", "40ms", "web=2", candidates="fifo,pie", precision=0.25)
    words = _command(asked, ["web.mos.p5>=3"], ["both", "idle"], Path("a b.parquet"))
    assert words == (
        "sojourn recommend --down 16Mbit --up 1Mbit --rtt 40ms --users web=2 --candidates fifo,pie "
        "--precision 0.25 --load both --load idle --workload 'a b.parquet' --goal 'web.mos.p5>=3'"
    )
