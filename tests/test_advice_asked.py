"""What `recommend` is asked, and the study files that it makes of it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study.toml import toml_value
from sojourn.sweep.advice import study_file
from sojourn.sweep.advice.candidates import KINDS, discipline, fifo, read_candidates, rules
from sojourn.sweep.advice.goals import read_goal
from sojourn.sweep.advice.line import Line, Times, read_users
from sojourn.sweep.advice.loads import flows_down_up, read_loads, recorded
from sojourn.sweep.advice.question import Question
from test_advice_parts import ASKED


def test_study_files_are_read_back_as_they_were_meant() -> None:
    asked = Question.read(
        "16Mbit", "1Mbit", "40ms", "voice=1,web=2", goals=["web.mos.mean>=3", "links.up.loss<=0.1"]
    )
    text = study_file.sizes_study(asked, ((7, 13), (4,)))
    study = tomllib.loads(text)
    assert (study["name"], study["repeat"]) == ("advice-16Mbit-1Mbit-40ms-sizes", 4)
    times = asked.times
    assert (study["duration"], study["warmup"]) == (
        f"{times.warmup_s + times.measured_s}s",
        f"{times.warmup_s}s",
    )
    assert study["sweep"] == {
        "workload": ["none", "download", "upload", "both", "many"],
        "path.down.queue.limit": ["7pkt", "13pkt"],
        "path.up.queue.limit": ["4pkt"],
    }
    assert study["goals"] == [
        {"value": "web.mos.mean", "at-least": 3.0}, {"value": "links.up.loss", "at-most": 0.1},
    ]  # fmt: skip
    assert [user["count"] for user in study["users"]] == [1, 2] and study["users"][0][
        "call"
    ] == f"{times.call_s}s"
    assert [flow["count"] for flow in study["workload"]["many"]] == [16, 8]
    reads = tomllib.loads(study_file.sizes_study(replace(asked, users={"browser": 1}), ((7,), (4,))))
    assert reads["users"][0]["dwell-bounds"] == ["1s", "2s"], "read for half a minute, many a run has no page"
    assert len(_core.points(_core.parse(text, "s.toml", [], []))) == 2 * 5 * 4
    made = [fifo((53, 4)), discipline("codel", asked.line)]
    tied = tomllib.loads(study_file.queues_study(asked, made))
    assert tied["sweep"]["path.down.queue"] == [{"kind": "fifo", "limit": "53pkt"}, {"kind": "codel"}]
    [tie] = tied["tie"]
    assert tie["with"] == "path.down.queue"
    assert tie["set"]["path.up.queue"] == [
        {"kind": "fifo", "limit": "4pkt"},
        {"kind": "codel", "target": "18ms"},
    ]


def test_times_follow_line_and_recording() -> None:
    line = Line.read("12Mbit", "12Mbit", "100ms")
    # 2000 packets a second both ways: more than 40 s for 600 000, so 40; sixty round trips before.
    assert Times.of(line) == Times(6, 40, 8)
    assert Times.of(line, 20.0) == Times(6, 14, 3) and Times.of(line, 5.0) == Times(6, 4, 2)
    assert Times.of(Line.read("120Mbit", "120Mbit", "10ms")) == Times(1, 30, 7)
    # A household's reader comes back after 10 s: nobody opens a page within the 7 s of a fast line.
    fast = ("1Gbit", "50Mbit", "20ms")
    assert Question.read(*fast).times == Times(2, 7, 2)
    for users in ("household", "voice=1,page=1"):
        assert Question.read(*fast, users).times == Times(2, 24, 6)
    assert Question.read(*fast, "page=1,video=2").times == Times(2, 40, 8)
    assert Times.of(Line.read("12Mbit", "12Mbit", "1s")).warmup_s == 10
    assert Line.read("12Mbit", "12Mbit", "100 ms").rtt == "100ms" and line.packets("up", 2) == 2000


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (read_users, "voice=0", "is no number of users; expected 1 to 1000"),
        (read_users, "voice=1001", "expected 1 to 1000"),
        (read_users, "voice,voice=2", "voice is there twice; write voice=NUMBER once"),
        (read_users, "void", "there are no users of the kind"),
        (read_candidates, "codel,codel", "codel is there twice"),
        (read_candidates, "fq_codel,drr", "there is no candidate"),
        (lambda text: read_loads([text]), "both,both", "--load both is there twice"),
        (lambda text: read_loads([text]), "bath", "there is no such load; expected idle, download"),
        (lambda text: read_goal(text, ["web"]), "web>=3", "names nothing that is measured"),
        (lambda text: read_goal(text, ["web"]), "voice.mos.p5>=3", "names nothing that is measured"),
        (lambda text: read_goal(text, ["web"]), "web.mos.p5=3", "is no goal; expected VALUE>=NUMBER"),
        (lambda text: read_goal(text, ["web"]), "web.mos.p5>=1e999", "is no number"),
        (lambda text: read_goal(text, ["web"]), "web.mos.p5>=9", "for that lies between 1 and 5"),
        (lambda text: read_goal(text, ["web"]), "links.up.loss<=5", "a share, of which 0.05 is 5 %"),
        (lambda text: Line.read("1Mbit", "1Mbit", text), "0ms", "a round trip takes time"),
        (
            lambda text: Line.read(text, "1Mbit", "1ms"),
            "unlimited",
            "--down unlimited: a link without a rate",
        ),
    ],
)
def test_what_no_advice_can_be_about_is_refused(read: Any, text: str, said: str) -> None:
    with pytest.raises(SojournError) as error:
        read(text)
    assert said in str(error.value)


def test_what_is_asked_is_read_as_people_write_it() -> None:
    assert read_users("voice, web=1000") == {"voice": 1, "web": 1000}
    with pytest.raises(SojournError, match="--load idle is there twice"):
        read_loads(["idle,none"])
    assert list(read_loads(["none", "both"])) == ["idle", "both"] and len(read_loads([])) == 5
    assert flows_down_up(read_loads([])) == (16, 8) and flows_down_up(read_loads(["idle"])) == (1, 1)
    assert flows_down_up(read_loads(["upload"])) == (1, 2)
    # How many long flows are in what was recorded, or ships, nobody counted: no rule is of their number.
    assert flows_down_up(read_loads(["idle", "torrent"])) is None
    assert flows_down_up({"idle": [], "both": recorded(Path("both.parquet"))}) is None
    assert "BDP/√n" in [rule.name for rule in rules(ASKED.line, (4, 2))]
    assert "BDP/√n" not in [rule.name for rule in rules(ASKED.line, None)]
    [talks, listens] = read_goal("voice.mos.p5 >= 3.6", ["voice"])
    assert (talks.path, listens.path, talks.above) == ("voice.talks.mos.p5", "voice.listens.mos.p5", True)
    [one] = read_goal("voice.talks.mos.p5<=2", ["voice"])
    [game] = read_goal("cloud-gaming.mos.median>=3", ["cloud-gaming"])
    assert game.path == "cloud-gaming.mos.median"
    assert (one.limit, one.above) == (2.0, False)
    assert ASKED.precision == 0.1 and ASKED.longest_s == inf
    for precision in (0.0099, 1.01, inf):
        with pytest.raises(SojournError, match="is no precision in MOS"):
            Question.read("1Mbit", "1Mbit", "9ms", precision=precision)
    with pytest.raises(SojournError, match="exclude one another"):
        Question.read("1Mbit", "1Mbit", "9ms", load=["both"], workload=Path("w.parquet"))
    # One and a half packets take 18 ms at 1 Mbit/s, 4.5 at 4: below the default nothing is set.
    slow, fast = (discipline("codel", Line.read(rate, rate, "9ms")).up for rate in ("1Mbit", "4Mbit"))
    assert slow == {"kind": "codel", "target": "18ms"} and fast == {"kind": "codel"}
    limits = [discipline(kind, ASKED.line).down.get("limit") for kind in KINDS[1:]]
    assert dict(zip(KINDS[1:], limits, strict=True)) == dict.fromkeys(KINDS[1:]) | {
        "cobalt": "1000pkt", "red": "1000pkt", "sfq": "127pkt",
    }  # fmt: skip
    assert json.loads(toml_value(["a", 1, True])) == ["a", 1, True]
