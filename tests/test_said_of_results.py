"""What is said of results, of captures and of goals: a sentence for each case, and none where nothing is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from answering import one
from conftest import Command
from sojourn.errors import SojournError, printable, quoted, shown
from sojourn.losses.captures import sentences
from sojourn.report.advice.goals import goals
from sojourn.report.answer import answer
from sojourn.report.files import Files
from sojourn.report.sawtooth import with_sawtooth
from sojourn.report.sections import inside
from sojourn.report.suite.checks import _equal_rtt
from sojourn.results import beds, excess, open_results
from sojourn.results.show import number_text, print_table
from test_figures import write_results


def test_words_of_a_message_are_cut_in_their_middle_and_messages_at_their_end() -> None:
    assert printable("a" * 160) == "a" * 160
    assert printable("x " + "a" * 80 + "b" + "c" * 80) == "x " + "a" * 80 + "…" + "c" * 80
    assert printable("word " * 76) == "word " * 76, "380 characters"
    long = printable("word " * 77)
    assert len(long) == 381 and long.endswith("…")
    assert printable("a\tb\x1b[0m\nc") == r"a\tb\x1b[0m\nc"
    assert str(SojournError("a\nb")) == r"a\nb"


def test_what_is_quoted_is_cut_after_60_characters() -> None:
    assert quoted("a" * 60) == f"'{'a' * 60}'" and quoted("a" * 61) == f"'{'a' * 60}…'"
    assert quoted("it's") == '"it\'s"' and quoted(5) == "'5'"
    assert shown(SimpleNamespace(a=1)) == "namespace(a=1)" and " at 0x" not in shown(object())


def real(held: bool = True, **engine: Any) -> dict[str, Any]:
    verdict = {"held": held, "reasons": [] if held else ["late", "busy"]}
    about = {"clock": "wall", "kernel": "Linux 6", "verdict": verdict, **engine}
    return {"point": {"a": "x", "n": 3}, "replication": 1, "engine": about}


def test_beds_that_did_not_hold_are_named_the_first_three() -> None:
    assert beds.said([]) == [] == beds.said([{"engine": {}}])
    begin = "Run between real programs on the testbed, in real time (Linux 6)."
    assert beds.said([real()]) == [begin, "The bed held in the one run."]
    assert beds.said([real(), real(), {"engine": {}}])[1] == "The bed held in all 2 runs."
    alone = beds.said([real(held=False)])
    assert alone[1].startswith("In the one run the bed did not hold, nor in a second attempt: ")
    assert alone[2:] == ["Not held: x, 3, replication 1: late; busy."]
    four = beds.said([real(held=False) for _ in range(4)] + [real()])
    assert (
        four[1].startswith("In 4 of 5 runs")
        and len(four) == 6
        and four[5] == ("And 1 more such: `sojourn show RESULTS POINT` says all of a point.")
    )
    three = beds.said([real(held=False) for _ in range(3)])
    assert len(three) == 5 and "more" not in three[-1]
    noted = beds.said([real(notes=["a", "b"]), real(notes=["b", "c", "d"], kernel="Linux 5")])
    assert noted[0].endswith("(Linux 5, Linux 6).")
    assert noted[2:-1] == ["Of the programs: a.", "Of the programs: b.", "Of the programs: c."]
    assert noted[-1] == "And 1 more such: `sojourn show RESULTS POINT` says all of a point."
    # There a run has all that is said of it.
    assert len(beds.said([real(notes=["a", "b", "c", "d"])])) == 6
    assert not beds.held(real(held=False)) and beds.held(real()) and beds.held({})
    unknown = {**real(held=False), "engine": {"clock": "wall", "verdict": {"held": False}}}
    assert beds.said([unknown])[2] == "Not held: x, 3, replication 1: no reason given."


def test_a_line_that_lets_nothing_through_is_said_before_and_of_the_results(sojourn: Command) -> None:
    (sojourn.cwd / "m.toml").write_text(
        """name = "m"
duration = "6s"
warmup = "1s"
path = { rtt = "40ms", queue = { kind = "codel" }, down = { rate = "1bit" }, up = { rate = "1Mbit" } }
users = [{ kind = "voice", codec = "g711a" }]
[[flows]]
source = { kind = "cbr", rate = "1Mbit", size = "1kB" }
transport = "udp"
direction = "down"
"""
    )
    noted = sojourn("run", "m.toml").stderr
    assert "down: at 1bit a packet of 1500 bytes takes 12000 s, but the run ends after 6s" in noted
    shown = sojourn("show", "results/m").stdout
    nothing = (
        "No packet left the downlink after the warm-up, though some came: how long they wait there is not"
    )
    assert nothing in shown and "There are no scores of users of kind voice; a longer run may" in shown
    [point] = (sojourn.cwd / "results" / "m" / "points").iterdir()
    assert nothing in sojourn("show", "results/m", point.stem).stdout
    answer = json.loads(sojourn("report", "results/m", "--json").stdout)["answer"]
    assert any(said.startswith(nothing) for said in answer["sentences"])
    refused = sojourn("run", "m.toml", "--set", "extends=quickstart", code=2).stderr
    assert refused == "sojourn: m.toml: extends cannot be replaced; write it in the study file\n"


def test_a_look_inside_needs_a_packet(tmp_path: Path) -> None:
    link = {"series": {"bin_s": 1.0, "utilisation": [], "queue_delay_ms": [], "dropped_pkts": []}}
    assert inside({"links": {"down": link}}, "down", "here", Files(tmp_path)) is None


def test_the_programs_of_real_runs_are_named_once() -> None:
    def pages(version: str) -> dict[str, Any]:
        facts = {"server": f"sojourn-http ({version})", "browser": "Chromium 156", "server_computed_s": 1.5}
        return {"users.0": facts, "users.1": {"player": "dash.js 5.2.1"}, "users.2": {"server": {"ssim": 1}}}

    said = beds.said([real(programs=pages("hyper")), real(programs=pages("quinn")), real()])
    assert said[2:] == [
        "Programs of users.0: Chromium 156, sojourn-http (hyper), sojourn-http (quinn).",
        "Programs of users.1: dash.js 5.2.1.",
    ]


def test_a_machine_without_time_left_is_said() -> None:
    busy, idle = ({"processors": {"busy_pct": load, "steal_pct": 0.1}} for load in (90.0, 89.9))
    assert beds.said([real(bed=busy)])[2].startswith(
        "In the one run the processors were busy for 90 % of the "
    )
    assert beds.said([real(bed=busy), real(bed=idle), real()])[2].startswith("In 1 of 3 runs the processors ")
    assert len(beds.said([real(bed=idle)])) == 2


def test_an_answer_from_beds_that_did_not_hold_says_so() -> None:
    def answers(*held: bool) -> list[str]:
        runs = [
            one({"path.down.queue.kind": kind}, at, engine={"clock": "wall", "verdict": {"held": holds}})
            for kind in ("fifo", "codel")
            for at, holds in enumerate(held)
        ]
        return answer(runs, {"path.down.queue.kind": ["fifo", "codel"]}).sentences

    doubt = "In 2 of 6 runs the bed did not hold, nor in a second attempt: such numbers are not the queues' "
    assert answers(True, False, True)[-1] == f"{doubt}doing alone."
    assert not any("bed" in sentence for sentence in answers(True, True))


def test_a_loss_of_more_than_all_is_explained_where_numbers_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(up: float | None, down: float = 1.0) -> dict[str, Any]:
        return {"links": {"up": {"loss": up}, "down": {"loss": down}}}

    assert excess.said([]) == [] == excess.said([run(1.0), run(None), {}])
    begin = "The loss of the uplink is more than 100 %"
    end = ": packets were dropped while they waited that had come before the warm-up was over, "
    assert excess.said([run(1.3)])[0].startswith(begin + end)
    assert excess.said([run(1.3), run(None)])[0].startswith(f"{begin} in 1 of 2 runs{end}")
    assert "of the downlink and the uplink is" in excess.said([run(1.3, 1.1)])[0]
    result = one({}) | {"engine": {}}
    result["links"]["up"]["loss"] = 1.3
    print_table(open_results(write_results(tmp_path, [result], [])))
    assert begin + end in " ".join(capsys.readouterr().out.split())


def test_numbers_of_the_table_have_no_exponent() -> None:
    # A queue that held one packet for a microsecond in a minute waits 1e-8 ms on average.
    shown = {0.0: "0", 8.8e-8: "< 0.001", 0.0012: "0.0012", 98.534: "98.53", 41_234.4: "41 234"}
    assert {number: number_text(number) for number in shown} == shown


def test_what_captures_missed_is_said_where_they_did() -> None:
    none = {"damage": [], "missed_in_front_pkts": 0, "missed_behind_pkts": 0, "outside_pkts": 0}
    assert sentences(none) == []
    said = sentences(
        {"damage": ["cut"], "missed_in_front_pkts": 2, "missed_behind_pkts": 3, "outside_pkts": 4}
    )
    assert said[0] == "cut" and len(said) == 4
    assert said[1].startswith(
        "2 packets were captured behind the queue but not in front of it: the capture in "
    )
    assert said[2].startswith("3 packets were acknowledged though they were not captured behind the queue: ")
    assert said[3] == "4 packets came while the capture behind the queue did not run; they are left out"
    assert sentences({**none, "outside_pkts": 4}) == said[3:]
    assert sentences({**none, "outside_front_pkts": 5}) == [
        "5 packets were captured behind the queue while the capture in front did not run; they are left out"
    ]
    one = {"missed_in_front_pkts": 1, "missed_behind_pkts": 1, "outside_pkts": 1}
    assert [sentence[:13] for sentence in sentences({**none, **one})] == [
        "1 packet was ",
        "1 packet was ",
        "1 packet came",
    ]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ({}, "has no numbers, so it is not judged."),
        ({"a": "yes", "b": "yes"}, "is kept under every load, for certain."),
        ({"a": "yes", "b": "no"}, "is missed under b."),
        ({"a": "not certain", "b": "yes"}, "is in doubt under a."),
        ({"a": "no", "b": "not certain", "c": "no"}, "is missed under a and c and in doubt under b."),
    ],
)
def test_goals_of_the_user_are_kept_missed_or_in_doubt(verdicts: dict[str, str], said: str) -> None:
    by_load = {load: {"verdict": word} for load, word in verdicts.items()}
    assert goals({"goals": [{"goal": "g", "by_load": by_load}]}) == [f"The goal “g” {said}"]
    assert goals({"goals": []}) == []


def test_what_is_the_same_of_several_goals_is_said_once() -> None:
    def said(loads: list[str], *of_each: dict[str, Any]) -> list[str]:
        each = [{"goal": name, **of} for name, of in zip("abc", of_each, strict=False)]
        return goals({"by_load": {load: {} for load in loads}, "goals": each})

    kept, missed = {"by_load": {"idle": {"verdict": "yes"}}}, {"by_load": {"idle": {"verdict": "no"}}}
    assert said(["idle"], kept, kept) == ["The goals “a” and “b” are kept on the idle line, for certain."]
    bound = {"by_load": {"idle": {"verdict": "no", "at_least": True, "without_number": 1}}, "kept_by": []}
    assert said(["idle"], bound, kept, bound) == [
        "The goals “a” and “c” are missed on the idle line; no queue that was tried keeps any of them for "
        "certain.",
        "Some runs on the idle line have no number for them: they count as furthest from them, and means are "
        "of the others alone.",
        "Their numbers on the idle line are lower bounds: a longer run would tell.",
        "The goal “b” is kept on the idle line, for certain.",
    ]
    pie = {**missed, "kept_by": [{"down": {"kind": "pie"}, "up": {"kind": "pie"}}]}
    assert said(["idle", "both"], pie, pie) == [
        "The goals “a” and “b” are missed on the idle line and without numbers under both; PIE keeps each of "
        "them for certain."
    ]
    assert said(["idle"], {"by_load": {}}, {"by_load": {}}) == [
        "The goals “a” and “b” have no numbers, so they are not judged."
    ]


def test_a_sawtooth_is_of_one_axis_at_the_middle_of_the_others() -> None:
    held = [{"series": {}}]
    axes = {"load": ["a", "b", "c"], "path.queue": ["p", "q"], "one": ["x"]}
    (own,) = with_sawtooth([], held, axes)
    assert own["only"] == {"load": ["b"]} and own["title"] == "Windows, rates and queue over time"
    # Without queues the first axis that has several labels, of five the first four.
    (own,) = with_sawtooth([], held, {"one": ["x"], "n": ["1", "2", "3", "4", "5"], "m": ["u", "v"]})
    assert own["only"] == {"n": ["1", "2", "3", "4"], "m": ["v"]}
    (own,) = with_sawtooth([], held, {"n": ["1", "2", "3", "4"]})
    assert own["only"] == {}
    assert with_sawtooth([], [{}], axes) == []
    lines = {"kind": "lines"}
    assert with_sawtooth([lines], held, {})[0] == lines and len(with_sawtooth([lines], held, {})) == 2
    asked = with_sawtooth([{"kind": "sawtooth", "title": "T"}], held, axes)
    assert [(each["title"], each["value"]) for each in asked] == [("T", "series")]


def test_round_trips_are_equal_at_100_ms_and_the_ratio_is_the_second_class_s() -> None:
    def found(first: list[float], second: list[float], setting: str = "rtt=100ms") -> list[Any]:
        rows = [
            {
                "setting": setting,
                "class": name,
                "scheme": "fifo",
                "phase": "",
                "replication": run,
                "goodput_bps": bps,
            }
            for name, values in (("I", first), ("II", second))
            for run, bps in enumerate(values)
        ]
        case = SimpleNamespace(name="6", classes=["I", "II"])
        expanded = SimpleNamespace(case=case, link=SimpleNamespace(name="l"))
        return list(_equal_rtt(expanded, pl.DataFrame(rows)))  # type: ignore[arg-type]

    (even,) = found([1.0, 1.1, 1.0], [1.0, 1.0, 1.1])
    assert even.holds is True and (even.case, even.link, even.scheme) == ("6", "l", "fifo")
    (twice,) = found([1.0, 1.0, 1.0], [2.0, 2.0001, 1.9999])
    assert twice.holds is False and twice.found.startswith("2 (")
    (none,) = found([0.0], [1.0])
    assert none.holds is None and none.found == "no goodput"
    assert found([1.0], [1.0], "rtt=5ms") == []
