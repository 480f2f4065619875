"""What the advice says in sentences: each of what was found, and none that is not so."""

from __future__ import annotations

from typing import Any

import pytest
from sojourn.report.advice import sentences


def advice(**changed: Any) -> dict[str, Any]:
    """An advice in which CoDel is best for certain, with something in it changed."""
    codel, fifo = (
        {"down": {"kind": kind} | more, "up": {"kind": kind} | more}
        for kind, more in (("codel", {}), ("fifo", {"limit": "8pkt"}))
    )
    worst = {"worst": 3.6, "interval": [3.5, 3.7], "load": "both", "user": "web", "utilisation": 0.9}
    lost = {"loss_mos": 0.4, "loss_within": 0.1, "replications": 4}
    tried = [codel | worst | lost | {"loss_mos": 0.0}, fifo | worst | lost | {"worst": 3.2}]
    same = {"same": True, "recommended": codel, "worst": 3.6, "with_advice": 3.6, "users": {"web": 3.6}}
    return {
        "line": {"down": "2Mbit", "up": "1Mbit", "rtt": "30ms"},
        "recommended": codel,
        "scores": worst,
        "fifo_only": tried[1],
        "tried": tried,
        "alike": [],
        "fifos_alike": [],
        "certain": True,
        "decided_by": "worst",
        "by_load": {"idle": same, "both": same},
        "goals": [],
        "unscored": [],
    } | changed


def sized(down: str, up: str) -> dict[str, Any]:
    return {"down": {"kind": "fifo", "limit": down}, "up": {"kind": "fifo", "limit": up}}


@pytest.mark.parametrize(
    ("changed", "says", "says_not"),
    [
        (
            {},
            ["Choose CoDel, in both directions.", "for certain.", "0.40 less than with the advice (±0.10)"],
            ["cannot be told"],
        ),
        # A short FIFO leaves most of a fast line unused, which no score sees.
        (
            {
                "recommended": advice()["fifo_only"],
                "scores": advice()["scores"] | {"utilisation": 0.313},
                "tried": [one | {"utilisation": 0.993} for one in advice()["tried"]],
            },
            [
                "Transfers pay for it: 31.3 % of the busiest link is used on average, with CoDel 99.3 %, "
                "where the worst-off user gets 3.60. No score counts",
                "By the scores a FIFO is enough",
            ],
            [],
        ),
        (
            {
                "scores": advice()["scores"] | {"utilisation": 0.1},
                "by_load": {"idle": advice()["by_load"]["idle"]},
            },
            [],
            ["Transfers pay"],
        ),
        # Where every queue has the least score, a rule of thumb that loses nothing is no good rule.
        (
            {
                "scores": advice()["scores"] | {"worst": 1.05},
                "tried": [one | {"worst": 1.0} for one in advice()["tried"]],
            },
            [
                "Under the load “both” somebody has nearly the least score there is, 1, whatever the queue, "
                "so that what others lose against the advice tells little; ask again with lighter loads"
            ],
            [],
        ),
        (
            {"scores": advice()["scores"] | {"worst": 1.05}},
            [],
            ["the least score there is"],
        ),
        # The advice's own row and what uses hardly more are no choice.
        (
            {
                "tried": [
                    advice()["tried"][0] | {"utilisation": 1.0},
                    advice()["tried"][1] | {"utilisation": 0.94},
                ]
            },
            [],
            ["Transfers pay"],
        ),
        (
            {
                "recommended": advice()["fifo_only"],
                "certain": False,
                "decided_by": "worst",
                "fifos_alike": [sized(f"{n}pkt", "2pkt") for n in range(10, 18)],
            },
            [
                "better than every other discipline that was tried, for certain.",
                "A FIFO is enough: every other discipline that was tried is worse for certain. Of other "
                "sizes of a FIFO these cannot be told from it: 10 packets down, 2 up;",
                "15 packets down, 2 up; and 2 more.",
            ],
            ["every other candidate", "16 packets down", "Among these sizes"],
        ),
        (
            {"recommended": advice()["fifo_only"]},
            ["Choose a FIFO of 8 packets.", "A FIFO is enough"],
            ["With nothing but"],
        ),
        (
            {
                "recommended": advice()["fifo_only"],
                "by_load": {
                    "idle": {
                        "same": False,
                        "recommended": {"down": {"kind": "codel"}, "up": {"kind": "codel"}},
                        "worst": 5.0,
                        "with_advice": 3.04,
                    }
                },
            },
            ["Under the load that decides no discipline", "than this FIFO; under other loads one is"],
            ["A FIFO is enough"],
        ),
        (
            {"fifo_only": advice()["fifo_only"] | {"loss_mos": -0.05}},
            ["0.05 more than with the advice, which is within chance (±0.10)"],
            ["less"],
        ),
        ({"fifo_only": advice()["fifo_only"] | {"loss_within": None}}, ["in the one run"], ["±"]),
        (
            {"fifo_only": advice()["fifo_only"] | {"loss_mos": 0.001, "loss_within": 0.0}},
            ["the worst-off user gets 3.20 (3.50 to 3.70), as with the advice."],
            ["within chance"],
        ),
        (
            {
                "scores": advice()["scores"] | {"worst": 1.2, "interval": None},
                "tried": [one | {"worst": 1.2} for one in advice()["tried"]],
            },
            ["1.20 under the load “both”: bad. No queue that was tried", "line enough for that load."],
            ["(1.20 to", "round trip"],
        ),
        # Where the idle line is as bad, no load is to blame: a round trip of seconds, say.
        (
            {
                "scores": advice()["scores"] | {"worst": 1.2, "interval": None},
                "tried": [one | {"worst": 1.2} for one in advice()["tried"]],
                "by_load": {load: one | {"worst": 1.2} for load, one in advice()["by_load"].items()},
            },
            [
                "No queue that was tried makes this line enough for the reader of web pages, not even "
                "without a load. No queue can mend that: it takes a faster line, a shorter round trip, or "
                "users who ask for less (`--users`). The least bad is CoDel, in both directions. Its worst-",
            ],
            ["for that load", "Choose"],
        ),
        # One among equals is not said to be the best.
        (
            {
                "certain": False,
                "decided_by": "order",
                "alike": [{way: {"kind": "pie"} for way in ("down", "up")}],
                "scores": advice()["scores"] | {"worst": 1.0, "interval": None},
                "tried": [one | {"worst": 1.0} for one in advice()["tried"]],
                "by_load": {load: one | {"worst": 1.0} for load, one in advice()["by_load"].items()},
            },
            [
                "(`--users`). Of those that cannot be told apart the advice names CoDel, in both directions.",
                "bad. It cannot be told from PIE: among these simplicity decided",
            ],
            ["least bad", "Choose"],
        ),
        (
            {
                "scores": advice()["scores"]
                | {
                    "first_picture_ms": {
                        "idle": {"median": 400.0, "at_least": True},
                        "both": {"median": 4490.7, "at_least": False},
                    }
                }
            },
            ["The first picture of the viewer comes after 4.5 s (median) under the load “both”"],
            ["at least"],
        ),
        (
            {
                "scores": advice()["scores"]
                | {"first_picture_ms": {"idle": {"median": 2e4, "at_least": True}}}
            },
            ["comes after at least 20.0 s (median) on the idle line, which no score counts."],
            [],
        ),
        ({"tried": advice()["tried"][:1]}, ["No other candidate was tried."], ["better than every"]),
        (
            {"goals": [{"goal": "g", "by_load": {}}]},
            ["Your goals decided", "“g” has no numbers"],
            ["scores a"],
        ),
        # A FIFO of one packet keeps any limit of delay; that users fare better with CoDel is said.
        (
            {
                "goals": [{"goal": "g", "by_load": {load: {"verdict": "yes"} for load in ("idle", "both")}}],
                "recommended": {way: {"kind": "fifo", "limit": "1pkt"} for way in ("down", "up")},
                "scores": advice()["scores"] | {"worst": 1.8},
                "tried": [advice()["tried"][0] | {"loss_mos": -1.8}],
            },
            [
                "Choose a FIFO of 1 packet.",
                "By the scores CoDel would be better: its worst-off user gets 3.60, 1.80 more than with the "
                "advice (±0.10).",
                "By your goals a FIFO is enough",
                "By your goals no load asks",
            ],
            ["No queue that was tried", " A FIFO is enough"],
        ),
        (
            {
                "goals": [
                    {
                        "goal": "g",
                        "by_load": {
                            "idle": {"verdict": "yes"},
                            "both": {"verdict": "no"},
                            "many": {"verdict": "not certain"},
                        },
                        "kept_by": [],
                    }
                ]
            },
            ["“g” is missed under both and in doubt under many; no queue that was tried keeps it for"],
            [],
        ),
        # Of goals that contradict each other a FIFO that misses them is not enough; who keeps which is said.
        (
            {
                "recommended": advice()["fifo_only"],
                "goals": [
                    {
                        "goal": goal,
                        "by_load": {load: {"verdict": "no"} for load in ("idle", "both")},
                        "kept_by": [{"down": queue, "up": queue} for queue in kept_by],
                    }
                    for goal, kept_by in (
                        ("delay", [{"kind": "fifo", "limit": "1pkt"}]),
                        ("rate", [{"kind": "pie"}, {"kind": "sfq"}]),
                    )
                ],
            },
            [
                "By your goals no discipline that was tried is better for certain than this FIFO.",
                "“delay” is missed under idle and both; a FIFO of 1 packet keeps it for certain.",
                "“rate” is missed under idle and both; PIE and SFQ keep it for certain.",
            ],
            ["is enough"],
        ),
        # Better under the load that decides, and worse under another, so that it is not chosen.
        (
            {
                "recommended": advice()["fifo_only"],
                "tried": [advice()["tried"][0] | {"worst": 2.9, "load": "upload"}],
                "by_load": {"both": advice()["by_load"]["both"] | {"same": False, "worst": 3.9}},
            },
            ["CoDel would be better: 3.90 in place of 3.60; but under the load “upload” it has 2.90."],
            [],
        ),
        # Where nobody finished a goal has no number, which is not that it is kept.
        (
            {"goals": [{"goal": "g", "by_load": {"idle": {"verdict": "yes"}}}]},
            ["“g” is kept for certain on the idle line and without numbers under both."],
            ["under every load"],
        ),
        (
            {"goals": [{"goal": "g", "by_load": {"idle": {"verdict": "no"}}, "kept_by": []}]},
            ["“g” is missed on the idle line and without numbers under both; no queue"],
            ["kept"],
        ),
        (
            {
                "scores": advice()["scores"]
                | {"without_score": [{"load": "both", "user": "web", "runs": 4, "of": 4}]}
            },
            [
                "There is no score in all 4 runs under the load “both” for the reader of web pages, as when "
                "nothing is finished in time: each of these counts as the worst, 1."
            ],
            ["with CoDel", "Runs without"],
        ),
        (
            {
                "scores": advice()["scores"]
                | {"worst": 1.2, "without_score": [{"load": "both", "user": "web", "runs": 3, "of": 4}]},
                "tried": [one | {"worst": 1.2} for one in advice()["tried"]],
            },
            ["in 3 of 4 runs under the load “both” for the reader of web pages"],
            ["makes this line enough"],
        ),
        (
            {
                "scores": advice()["scores"]
                | {"without_score": [{"load": "both", "user": who, "runs": 1, "of": 4} for who in "abcd"]},
            },
            ["and in runs of 1 more pair of load and user, as when"],
            ["pairs"],
        ),
        (
            {
                "tried": [
                    one | {"without_score": [{"load": "both", "user": "web", "runs": 1, "of": 4}]}
                    for one in advice()["tried"]
                ]
            },
            ["Runs without a score count as the worst, 1, with FIFO of 8 packets."],
            ["There is no score", "and CoDel"],
        ),
        (
            {
                "goals": [
                    {"goal": "g", "by_load": {"both": {"verdict": "not certain", "without_number": 1}}},
                    {"goal": "h", "by_load": {"idle": {"verdict": "not certain", "at_least": True}}},
                ]
            },
            [
                "Some runs under both have no number for it: they",
                "Its numbers on the idle line are lower bounds:",
            ],
            ["under every load"],
        ),
        (
            {"unscored": ["voice", "page"]},
            ["Nothing here says how the caller and the reader of pages of today would fare: no run has"],
            [],
        ),
        (
            {
                "recommended": advice()["fifo_only"],
                "scores": advice()["scores"] | {"worst": 1.2},
                "tried": [one | {"worst": 1.2} for one in advice()["tried"]],
            },
            ["No discipline that was tried is better for certain than this FIFO."],
            ["is enough"],
        ),
        (
            {"by_load": {"idle": advice()["by_load"]["idle"] | {"same": True}}},
            ["Nothing but the users was on the line: under a load another queue may be better."],
            ["No load asks"],
        ),
        (
            {"by_load": {"both": advice()["by_load"]["both"] | {"same": True}}},
            ["No other load than “both” was tried."],
            ["No load asks"],
        ),
        (
            {"by_load": {"idle": advice()["by_load"]["idle"] | {"same": False, "worst": 5.0}}},
            ["On the idle line alone, CoDel would be better: 5.00 in place of 3.60."],
            ["No load asks"],
        ),
    ],
)
def test_sentences_do_not_lie(changed: dict[str, Any], says: list[str], says_not: list[str]) -> None:
    told = " ".join(sentences.answer(advice(**changed)))
    for words in says:
        assert words in told
    for words in says_not:
        assert words not in told


def test_a_front_of_one_that_is_not_advised_is_not_called_best() -> None:
    one, other = advice()["tried"]
    assert sentences.read_front([one], one) == "CoDel is best in both; there is nothing to trade."
    said = "FIFO of 8 packets has the best mean of both; why CoDel is advised is said above."
    assert sentences.read_front([other], one) == said
    alike = [one | {"worst": 1.01, "utilisation": used} for used in (0.0002, 0.0003)]
    said = "All of these have 1.01 at 0.0 %; there is nothing to trade."
    assert sentences.read_front(alike, one) == said


@pytest.mark.parametrize(
    ("users", "read"),
    [
        (
            ("voice.talks", "web"),
            "MOS with the advice, the mean over calls, pages or viewers, and replications.",
        ),
        (
            ("adaptive",),
            "Scores of 1 to 5 on sojourn's own scale with the advice, the mean over calls, pages or ",
        ),
        (
            ("voice.talks", "gaming"),
            ": of the player of an online game on sojourn's own scale, of the others MOS.",
        ),
    ],
)
def test_the_table_of_users_says_which_scores_are_mos(users: tuple[str, ...], read: str) -> None:
    assert read in sentences.read_by_user({"by_load": {"idle": {"users": dict.fromkeys(users, 4.0)}}})
