"""The answer of a study: what is chosen, how certain it is, and that no sentence of it is untrue."""

from __future__ import annotations

from typing import Any

import pytest
from answering import KIND, LIMIT, RATE, browsers, compare, one, viewers, voice, words
from sojourn.report.answer import Answer, answer, queue_axes
from sojourn.report.answer.goals import _USUAL, Goal
from sojourn.report.answer.verdicts import Verdict, find
from sojourn.report.figures import KINDS, Spec
from sojourn.results.interval import Sample, garwood, wilson


@pytest.mark.parametrize(
    "heads",
    [
        viewers(0.0, rate=0.0),
        browsers(0.0),
        {"voice": {way: {"mos": {"median": 0, "p5": 0}} for way in ("talks", "listens")}},
        {"web": {"mos": {"median": 0.0, "p5": 0.0}}},
        {"video": {"ssim": {"median": 0.0, "p5": 0.0}}},
    ],
)
def test_what_measured_zero_was_measured(heads: dict[str, Any]) -> None:
    found = compare({"fifo": [heads] * 3, "codel": [heads] * 3})
    assert {goal.path.split(".")[0] for goal in found.goals} == set(heads)
    assert not any("No users" in sentence for sentence in found.sentences)
    findings = [finding for verdict in found.verdicts.values() for finding in verdict.findings]
    assert findings and all(finding.mean == 0 for finding in findings)


def test_no_stall_among_twelve_is_not_certain_and_says_what_would_settle_it() -> None:
    assert wilson(0, 12).high == pytest.approx(0.2425, abs=1e-4)
    assert wilson(1 / 12, 12).low == pytest.approx(0.0149, abs=1e-4)
    assert words(compare({"8pkt": [viewers(0.0)], "64pkt": [viewers(0.0)]}, LIMIT)) == ["close"] * 2
    found = compare({"8pkt": [viewers(0.0)] * 3, "64pkt": [viewers(100 / 12)] * 3}, LIMIT)
    assert words(found) == ["close", "close"]
    finding = found.verdicts["", "8pkt"].findings[0]
    assert finding.interval == (0.0, pytest.approx(9.64, abs=0.01))
    assert finding.more == "about 4 more replications would settle it"
    assert words(compare({"8pkt": [viewers(0.0)] * 7, "64pkt": [viewers(0.0)] * 6}, LIMIT)) == [
        "yes",
        "close",
    ]


def test_a_cell_is_settled_by_what_settles_all_its_goals() -> None:
    """A few more runs may settle the goal that comes closest to its limit, and leave others open."""
    wait, stalls = Goal("web.plt_s.median", 4.0, False, "", ""), Goal("x.stalled", 5.0, False, "", "")
    close = find(wait, Sample((3.4, 3.9, 3.95), 0.0), 0.95)
    far = find(stalls, Sample((0.0,) * 3, 0.0, 100.0, trials=12), 0.95)
    both = Verdict((close, far))
    assert both.weakest is close and both.more == "about 16 more replications would settle all goals"
    assert Verdict((close,)).more == close.more == "about 6 more replications would settle it"
    later = find(stalls, Sample((0.0,) * 3, 0.0, 100.0, trials=12), 0.95, lacking=1)
    assert Verdict((close, later)).more == "for some goals it takes a longer run to tell"


def test_intervals_stay_where_the_quantity_can_be() -> None:
    scores = Sample((4.4, 4.5, 1.2), 1.0, 5.0).interval()
    assert scores == (1.0, 5.0)
    stalls = Sample((0.0, 0.0, 7.0), 0.0, count=True).interval()
    assert stalls is not None and stalls.low == 0.0 and stalls.high > 12
    none = Sample((0.0, 0.0, 0.0), 0.0, count=True).interval()
    assert none == (0.0, pytest.approx(3.689 / 3, abs=1e-3)), "nothing seen is not nothing there"
    assert garwood(2.0, 5) == (pytest.approx(4.795 / 5, abs=1e-3), pytest.approx(18.39 / 5, abs=1e-2))
    assert Sample((1.0,)).interval() is None
    spread = Sample((0.0, 50.0, 0.0), 0.0, 100.0, trials=36)
    found = spread.interval()
    assert found is not None and found.high == pytest.approx(50 / 3 + 71.7, abs=0.1), (
        "clients of a run are alike"
    )


def test_bars_of_figures_stay_there_too() -> None:
    found = list(KINDS["lines"].rows(Spec("lines", "adaptive.stalls"), [0, 0, 7]))
    assert found == [
        {"value": pytest.approx(7 / 3), "low": 0.0, "high": pytest.approx(12.37, abs=0.01), "n": 3}
    ]


def test_replications_that_settle_a_verdict() -> None:
    close = Sample((3.5, 3.7, 3.9))
    needed = close.settled_by(3.6)
    assert needed == 18
    for number, certain in ((needed, True), (needed - 1, False)):
        low, _ = close.interval(replications=number) or (0.0, 0.0)
        assert (low > 3.6) is certain
    assert Sample((3.5, 3.7)).settled_by(3.6) is None and Sample((3.7,)).settled_by(3.6) is None
    found = compare({"fifo": [voice(3.59), voice(3.61)], "codel": [voice(4.2)] * 2})
    more = found.verdicts["", "fifo"].weakest.more
    assert more == "more replications will hardly settle it: it would take more than 1000"


def test_the_worst_off_user_decides_and_not_how_many_thresholds_are_passed() -> None:
    scores = {"fifo": (4.0, 4.0, 1.1), "codel": (3.55, 3.55, 3.5)}
    results = [
        one({RATE: rate, KIND: kind}, replication, **voice(mos + replication / 1000))
        for kind, each in scores.items()
        for rate, mos in zip(("5Mbit", "2Mbit", "0.4Mbit"), each, strict=True)
        for replication in range(3)
    ]
    found = answer(results, {RATE: ["5Mbit", "2Mbit", "0.4Mbit"], KIND: ["fifo", "codel"]})
    assert found.ranking.chosen == ["codel"] and found.ranking.decided == "regret"
    assert found.ranking.worst["fifo"][1] == "0.4Mbit"
    assert found.sentences[0].startswith(
        "The queue discipline to choose is codel: no user loses more than 0.21 against the best choice under "
        "the same condition; the other, fifo, loses 1.05 under 0.4Mbit (voice, the user talks, MOS of "
        "the worst "
        "5 %: 1.00 where the best choice has 3.20)."
    ), found.sentences[0]
    assert found.sentences[1].startswith(
        "With codel all goals are kept for certain under none of 3 conditions;"
    )


def test_what_users_cannot_tell_apart_delay_decides_then_utilisation() -> None:
    def of(*each: tuple[str, float, float]) -> Answer:
        results = [
            one({KIND: kind}, replication, delay, used, **voice(4.3))
            for kind, delay, used in each
            for replication in range(3)
        ]
        return answer(results, {KIND: [kind for kind, *_ in each]})

    found = of(("codel", 19.0, 0.9), ("fq-codel", 2.0, 0.9))
    assert (found.ranking.chosen, found.ranking.decided) == (["fq-codel"], "delay")
    assert (
        "Users cannot tell it from codel; its queueing delay decides: 2 ms on average" in found.sentences[1]
    )
    found = of(("codel", 2.0, 0.9), ("fq-codel", 2.0, 0.95))
    assert (found.ranking.chosen, found.ranking.decided) == (["fq-codel"], "utilisation")
    found = of(("codel", 2.0, 0.9), ("fq-codel", 2.0, 0.9), ("pie", 2.5, 0.9))
    assert found.ranking.decided == "nothing" and len(found.ranking.chosen) == 3
    assert found.sentences[0].startswith("The 3 queue disciplines that were tried cannot be told apart:")
    assert not any("to choose is" in sentence for sentence in found.sentences)


def test_differences_that_replications_do_not_bear_out_are_no_differences() -> None:
    noisy = {"fifo": [voice(m) for m in (3.0, 4.2, 4.1)], "codel": [voice(m) for m in (4.3, 3.6, 4.2)]}
    assert compare(noisy).ranking.alike == ["fifo", "codel"]
    steady = {"fifo": [voice(m) for m in (3.0, 3.1, 3.2)], "codel": [voice(m) for m in (4.0, 4.1, 4.2)]}
    assert compare(steady).ranking.alike == ["codel"]
    two = compare({"fifo": [voice(4.2)] * 3, "codel": [voice(4.2)] * 3, "pie": [voice(2.0)] * 3})
    assert two.ranking.chosen == ["fifo", "codel"]
    assert two.sentences[0].startswith("The queue disciplines fifo and codel cannot be told apart")
    assert "the other, pie, loses 1.05" in two.sentences[1]


def test_one_replication_is_never_certain() -> None:
    found = compare({"fifo": [voice(1.0)], "codel": [voice(4.4)]})
    assert words(found) == ["close", "close"]
    assert found.ranking.chosen == ["codel"]
    assert any("Each cell was run once, so chance cannot be told from effect" in s for s in found.sentences)
    assert found.verdicts["", "fifo"].weakest.more == "one replication shows no spread"
    assert not found.as_json()["certain"]


def test_all_fail_is_said() -> None:
    found = compare(
        {label: [voice(m), voice(m + 0.01)] for label, m in (("8pkt", 2.0), ("64pkt", 1.5))}, LIMIT
    )
    assert words(found) == ["no", "no"]
    assert "Even so, not all goals are kept" in found.sentences[1]
    assert found.items == [
        "no buffer that was tried; 8 packets comes closest (voice, the user talks, MOS of the worst 5 % 1.70 "
        "(1.64 to 1.77))"
    ]


def test_of_choices_that_fail_alike_none_is_called_the_closest() -> None:
    always = [viewers(100.0), viewers(100.0)]
    assert compare({"fifo": always, "codel": always}).items == [
        "no queue discipline that was tried; none comes closer than another "
        "(viewers who stall 100 % (86 to 100 %))"
    ]
    # 44.0 and 43.8 % read alike.
    some = {"fifo": always, "codel": [viewers(44.0)] * 2, "pie": [viewers(43.8)] * 2}
    [said] = compare(some).items
    assert said.startswith(
        "no queue discipline that was tried; codel and pie come closest (viewers who stall 44 %"
    )


def test_only_what_all_choices_have_is_compared() -> None:
    cells = {("0.4Mbit", "fifo"): 1.2, ("2Mbit", "fifo"): 4.2, ("2Mbit", "codel"): 3.9}
    results = [
        one({RATE: rate, KIND: kind}, replication, **voice(mos))
        for (rate, kind), mos in cells.items()
        for replication in range(2)
    ]
    found = answer(results, {RATE: ["0.4Mbit", "2Mbit"], KIND: ["fifo", "codel"]})
    assert found.ranking.compared == ["2Mbit"]
    assert "Not compared: 0.4Mbit, where not every choice has numbers." in found.sentences
    nothing = answer(results[:2] + results[4:], {RATE: ["0.4Mbit", "2Mbit"], KIND: ["fifo", "codel"]})
    assert nothing.ranking.decided == "none"
    assert (
        nothing.sentences[0]
        == "No condition has numbers for every choice, so the choices cannot be compared."
    )


def test_a_goal_that_one_choice_has_no_number_for_sets_none_of_them_apart() -> None:
    pages = {"fifo": browsers(1.0), "codel": browsers(30.0), "pie": {}}
    found = compare({choice: [{**voice(4.2), **of}] * 3 for choice, of in pages.items()})
    assert {choice: size for choice, (size, _) in found.ranking.worst.items()} == dict.fromkeys(pages, 0.0)
    assert found.ranking.alike == list(pages)
    said = (
        "With pie there is no number for “browsing, median page load time at most 4 s” and 2 more goals, as "
        "when nothing "
        "ends in time: there the choices are compared by the other goals alone. So pie may be the worst by "
        "those, though chosen."
    )
    assert said in found.sentences
    none = found.verdicts["", "pie"]
    assert (none.word, none.good) == ("close", False) and none.more.endswith(
        "no number, so a longer run may tell"
    )
    assert not none.of_scores and none.of_length, "more runs do not tell, longer ones may"
    assert "With pie all goals are kept" not in " ".join(found.sentences)
    # What none of the choices has is nothing that one of them lacks.
    nobody = compare({choice: [voice(4.2)] * 3 for choice in ("fifo", "codel")})
    assert nobody.verdicts["", "codel"].word == "yes" and not nobody.verdicts["", "codel"].lacking


def test_axes_that_are_no_queues_are_not_invented_into_some() -> None:
    axes = {
        "workload": ["few", "many"],
        "users.0.buffer": ["60s", "240s"],
        "path.down.queue.delay": ["1ms", "9ms"],
    }
    assert queue_axes(axes) == []
    point = {"path.down.queue.delay": "1ms"}
    results = [
        one({"workload": load, "users.0.buffer": buffer, **point}, replication, **voice(mos))
        for load, mos in (("few", 4.2), ("many", 2.0))
        for buffer in ("60s", "240s")
        for replication in range(2)
    ]
    found = answer(results, {**axes, "path.down.queue.delay": ["1ms"]})
    assert found.title == "What users get"
    assert found.sentences == [
        "This study compares no queue: its axes are workload and playback buffer (users.0.buffer).",
        "All goals are kept, for certain, under few, playback buffer 60s; and few, playback buffer 240s.",
        "Some goals are missed under many, playback buffer 60s; and many, playback buffer 240s.",
    ]

    def once(**loads: float) -> str:
        """What is said of one run of each load."""
        runs = [one({"workload": load}, 0, **voice(mos)) for load, mos in loads.items()]
        return answer(runs, {"workload": list(loads)}).sentences[-1]

    none = "Under none of the conditions that were run is it certain whether all goals are kept"
    assert once(few=4.2, many=4.1) == f"{none} (all look good)."
    assert once(few=2.2, many=2.1) == f"{none} (all look bad)."
    assert once(few=4.2, some=4.1, many=2.0) == f"{none} (2 of 3 look good)."
    mixed = [one({"workload": "few"}, r, **voice(4.2)) for r in range(2)]
    mixed.append(one({"workload": "many"}, 0, **voice(4.0)))
    assert answer(mixed, {"workload": ["few", "many"]}).sentences[-2:] == [
        "All goals are kept, for certain, under few.",
        "It is not certain that all goals are kept under many (it looks good).",
    ]
    assert not found.ranking.losses and not any("buffer to choose" in s for s in found.sentences)
    alone = answer([one({KIND: "fifo"}, r, **voice(4.2)) for r in range(2)], {KIND: ["fifo"]})
    assert alone.sentences == [
        "This study compares no queue: it has one cell.",
        "All goals are kept, for certain.",
    ]


def test_several_axes_of_queues_are_one_choice() -> None:
    up = "path.up.queue.limit"
    scores = {("8pkt", "8pkt"): 4.2, ("8pkt", "64pkt"): 3.0, ("64pkt", "8pkt"): 3.5, ("64pkt", "64pkt"): 2.0}
    results = [
        one({LIMIT: down, up: limit}, replication, **voice(mos + replication / 100))
        for (down, limit), mos in scores.items()
        for replication in range(2)
    ]
    found = answer(results, {LIMIT: ["8pkt", "64pkt"], up: ["8pkt", "64pkt"]})
    assert (
        found.ranking.chosen == ["downlink buffer 8pkt, uplink buffer 8pkt"] and len(found.cells.choices) == 4
    )
    assert found.title == "Which pair of buffers?"


def test_labels_that_are_numbers_keep_their_names_and_order() -> None:
    results = [
        one({"users.0.count": count, KIND: kind}, r, **voice(4.2 - count / 10))
        for count in (10, 2)
        for kind in ("fifo", "codel")
        for r in range(2)
    ]
    found = answer(results, {"users.0.count": ["2", "10"], KIND: ["fifo", "codel"]})
    assert found.cells.conditions == ["2 users", "10 users"]


def test_goals_of_the_study_take_the_place_of_the_usual_ones() -> None:
    goals = [
        {"value": "voice.talks.mos.p5", "at-least": 3.6, "confidence": 0.9},
        {"value": "links.down.queue_delay_ms.p95", "at-most": 20, "name": "delay"},
        {"value": "groups.bulk.goodput_bps", "at-least": 1e6},
    ]
    heads = [voice(4.0 + r / 100) | {"groups": {"bulk": {"goodput_bps": 2e6}}} for r in range(3)]
    found = compare({"fifo": heads, "codel": heads}, document={"goals": goals})
    assert [goal.path for goal in found.goals] == [goal["value"] for goal in goals]
    assert words(found) == ["yes", "yes"]
    stated = [goal.stated for goal in found.goals]
    assert (
        stated[0] == "MOS of the worst 5 % (voice, user talks) at least 3.6"
        and stated[1] == "delay at most 20 ms"
    )
    absent = compare({"fifo": [voice(4.0)] * 2, "codel": [voice(4.0)] * 2}, document={"goals": goals})
    assert any("No cell has a number for the goal" in sentence for sentence in absent.sentences)
    nothing = compare({"fifo": [{}], "codel": [{}]}, document={"goals": goals[:1]})
    assert nothing.sentences == [
        "No result has a value for any of the study's goals, so nothing can be judged."
    ]
    # Why: what would have had a score had none.
    short = compare({"fifo": [{}]}, document={"goals": goals[:1], "users": [{"kind": "voice"}]})
    assert short.sentences[1].startswith("The users of kind voice have no scores in these results")


def test_users_without_scores_are_not_called_no_users() -> None:
    found = compare({"fifo": [{}], "codel": [{}]}, document={"users": [{"kind": "voice"}]})
    assert found.sentences[0] == (
        "The users of this study (voice) have no scores in these results, so delay stands in for them."
    )
    found = compare({"fifo": [{}], "codel": [{}]})
    assert found.sentences[0] == "No users are scored in this study, so delay stands in for them."
    assert not any("no user loses" in sentence for sentence in found.sentences)


def test_loss_that_no_goal_is_about_is_told() -> None:
    lossy = {"links": {"down": {"loss": 0.19, "queue_delay_ms": {"mean": 10.0, "p95": 20.0}}}}
    said = "No goal is about loss, which reaches 19 % on the downlink."
    assert compare({"fifo": [lossy], "codel": [lossy]}).sentences[1] == said
    stated = {"goals": [{"value": "links.down.loss", "at-most": 0.2}]}
    assert said not in compare({"fifo": [lossy], "codel": [lossy]}, document=stated).sentences
    lossy["links"]["down"]["loss"] = 0.009
    assert not any("about loss" in each for each in compare({"fifo": [lossy], "codel": [lossy]}).sentences)


def test_rate_and_goodput_are_measured_against_the_best_choice() -> None:
    def heads(goodput: float) -> list[dict[str, Any]]:
        return [voice(4.2) | {"flows": {"goodput_bps": goodput}}] * 2

    found = compare({"fifo": heads(9e6), "codel": heads(7e6)})
    assert found.verdicts["", "codel"].weakest.text == "goodput of transfers 78 % of the best"
    assert words(found) == ["yes", "no"]
    assert "goodput of transfers at least 90 % of the best choice's" in [goal.stated for goal in found.goals]


def test_links_whose_names_have_dots_are_judged_and_translated() -> None:
    results = [one({KIND: kind}, r) for kind in ("fifo", "codel") for r in range(2)]
    for result in results:
        result["links"] = {"home.up": result["links"]["down"]}
    found = answer(results, {KIND: ["fifo", "codel"]})
    assert [goal.path for goal in found.goals] == [
        "links.home.up.queue_delay_ms.mean",
        "links.home.up.queue_delay_ms.p95",
    ]
    assert words(found) == ["yes", "yes"] and found.sizes["fifo"][0].link == "home.up"


def test_the_scale_has_its_fixed_points() -> None:
    mos, delay = _USUAL[0], Goal("links.up.queue_delay_ms.mean", 150.0, False, "d", "s")
    assert [mos.score(x) for x in (1.0, 3.6)] == [0.0, 1.0] and mos.score(4.5) == pytest.approx(1 + 0.9 / 2.6)
    assert [delay.score(x) for x in (0.0, 150.0)] == [2.0, 1.0] and 0 < delay.score(1e6) < 0.001
    none = Goal("adaptive.stalls", 0.0, False, "stalls", "s")
    assert none.score(0.0) == 1.0 and none.score(1.0) == 0.5
    assert all(goal.source for goal in _USUAL)


def test_buffers_are_translated() -> None:
    results = [
        one({LIMIT: label}, r, **voice(mos))
        for label, mos in (("1BDP", 4.2), ("9BDP", 2.0))
        for r in range(2)
    ]
    found = answer(results, {LIMIT: ["1BDP", "9BDP"]})
    assert found.sentences[-1].startswith(
        "With 1 BDP the queues hold at most: downlink 64 packets, 96 000 bytes, 48 ms; uplink 64 packets"
    )
    size = found.as_json()["sizes"]["1BDP"][0]
    assert size == {"link": "down", "packets": (64, 64), "bytes": (96000, 96000), "ms": (48.0, 48.0)}
