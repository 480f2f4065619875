"""The sentences of an answer: none says more than was found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from answering import DELAY, KIND, LIMIT, compare, one, voice
from sojourn import _core
from sojourn.report.answer import answer
from sojourn.report.answer.goals import HOUSEHOLD, Goal, value


def test_losses_that_are_alike_in_size_are_not_called_indistinguishable() -> None:
    def results(replications: int, scores: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
        return [
            one({"workload": load, KIND: kind}, at, delay, **voice(score))
            for at in range(replications)
            for kind, delay in (("fifo", 100.0), ("codel", 5.0))
            for load, score in zip(("a", "b"), scores[kind], strict=True)
        ]

    axes = {"workload": ["a", "b"], KIND: ["fifo", "codel"]}
    each_its_own = answer(results(3, {"fifo": (4.0, 2.0), "codel": (2.0, 4.0)}), axes)
    said = " ".join(each_its_own.sentences)
    assert each_its_own.ranking.decided == "delay"
    assert "Users cannot tell" not in said and "Its worst loss is like that with fifo (0.95);" in said
    same = answer(results(3, {"fifo": (4.0, 4.0), "codel": (4.0, 4.0)}), axes)
    assert "Users cannot tell it from fifo;" in " ".join(same.sentences)


def test_what_delay_sets_apart_from_several_is_said() -> None:
    points = (("fifo", 100.0), ("codel", 5.0), ("pie", 5.2))
    results = [one({KIND: kind}, at, delay, **voice(4.0)) for at in range(3) for kind, delay in points]
    found = answer(results, {KIND: ["fifo", "codel", "pie"]})
    said = " ".join(found.sentences)
    assert found.ranking.chosen == ["codel", "pie"]
    assert "loses 0.00" not in said
    assert "Users cannot tell them from fifo, but queueing delay is longer with fifo: 100 ms" in said


def test_one_run_of_each_cell_is_said_in_one_run() -> None:
    axes = {"workload": ["none", "b"], LIMIT: ["8pkt", "64pkt"]}
    results = [
        one({"workload": w, LIMIT: n}, **voice(4.2 if n == "8pkt" else 2.0))
        for w in axes["workload"]
        for n in axes[LIMIT]
    ]
    found = answer(results, axes)
    said = " ".join([*found.sentences, *found.items])
    assert (
        "in the one run of each cell all goals were on the good side of their limits under all 2 conditions"
        in said
    )
    assert "for certain" not in said and "under none" not in said
    assert "“none” and b:" in said


def test_where_doubtful_means_are_good_is_said_by_name_or_number() -> None:
    def said(scores: dict[str, float]) -> str:
        # Replications far apart: nothing is certain. The good limit of voice's median is between 3 and 4.
        results = [
            one({"workload": load, KIND: kind}, at, DELAY[kind], **voice(score + 0.8 * (at - 1)))
            for load, score in scores.items()
            for at in range(3)
            for kind in ("fifo", "codel")
        ]
        return " ".join(answer(results, {"workload": list(scores), KIND: ["fifo", "codel"]}).sentences)

    assert "under “none”, not under the other)" in said({"none": 4.0, "a": 3.1})
    assert "under “none” and a, not under the others)" in said({"none": 4.0, "a": 4.0, "b": 3.1, "c": 3.1})
    assert "under 3 of them, not under the other)" in said({"none": 4.0, "a": 4.0, "b": 4.0, "c": 3.1})
    assert "(all means are on the good side)" in said({"none": 4.0, "a": 4.0})
    assert "(some mean is on the bad side)" in said({"none": 3.1, "a": 3.1})


def test_a_study_without_users_speaks_of_goals() -> None:
    results = [
        one({KIND: kind}, at, delay) for at in range(3) for kind, delay in (("fifo", 300.0), ("codel", 5.0))
    ]
    found = answer(results, {KIND: ["fifo", "codel"]})
    assert not found.of_users
    assert "no goal falls as much as 0.01 short of the best choice;" in " ".join(found.sentences)


def test_long_times_have_no_exponent() -> None:
    from sojourn.results.sizes import ms_text

    assert [ms_text(ms) for ms in (0.5, 20.4, 999.96, 12288.0, 122880.0)] == [
        "0.5",
        "20.4",
        "1000",
        "12 288",
        "122 880",
    ]


def test_users_that_no_goal_is_about_are_named_with_the_limit_that_they_would_miss() -> None:
    delay = [{"value": "links.down.queue_delay_ms.mean", "at-most": 150}]
    game = {"cloud-gaming": {"mos": {"median": 1.65}}}
    alone = answer([one({}, **game)], {}, {"goals": delay})
    assert alone.sentences[-1] == (
        "No goal is about the users of kind cloud-gaming, so nothing above says how they fare. By the usual "
        "limits not all are well: streamed game, median MOS, 1.65; at least 3 is asked."
    )
    both = compare({"fifo": [voice(2.0)], "codel": [voice(4.2) | game]}, document={"goals": delay})
    said = both.sentences[-1]
    assert "users of kind voice and cloud-gaming" in said
    assert "streamed game, median MOS, 1.65 (codel); at least 3 is asked" in said
    well = compare({"fifo": [voice(4.2)], "codel": [voice(4.2)]}, document={"goals": delay})
    assert well.sentences[-1].endswith("they are well on average in every cell that was run.")
    # Shares of the best choice are no usual limits: viewers who have no other number are not named.
    seen = {"adaptive": {"average_rate_kbps": 900.0}}
    some = compare({"fifo": [voice(4.2) | seen], "codel": [voice(4.2) | seen]}, document={"goals": delay})
    assert "users of kind voice, so nothing above" in some.sentences[-1]


@pytest.mark.parametrize(
    ("goals", "heads"),
    [
        ([{"value": "voice.talks.mos.median", "at-least": 3}], voice(1.5)),
        ([{"value": "links.down.loss", "at-most": 0.1}], {}),
        (
            [{"threshold": "qoo-gaming"}],
            {"gaming": {"late": {"mean": 0.5}}, "network": {"rtt_ms": {"p95": 20.0}, "loss": 0.0}},
        ),
        (None, voice(1.5)),
    ],
)
def test_nothing_is_said_of_users_that_are_judged_or_not_there(goals: Any, heads: Any) -> None:
    found = answer([one({}, **heads)], {}, {"goals": goals} if goals else {})
    assert not any("nothing above says" in said for said in found.sentences)


def test_users_without_scores_are_named_beside_those_that_have_some() -> None:
    users = [{"kind": "voice"}, {"kind": "page"}, {"kind": "household", "gaming": 0}]
    found = answer([one({}, **voice(4.2))], {}, {"users": users})
    assert found.sentences[-1] == (
        "The users of kind page, call and adaptive have no scores in these results, so nothing here says how "
        "they fare; a longer run may have some."
    )
    scored = answer([one({}, **voice(4.2))], {}, {"users": users[:1]})
    assert not any("have no scores" in said for said in scored.sentences)
    stated = {"users": users[:1], "goals": [{"value": "links.down.loss", "at-most": 0.1}]}
    assert "users of kind voice have no scores" in answer([one({})], {}, stated).sentences[-1]


def test_viewers_of_whom_one_choice_has_no_rate_are_named_as_not_compared_there() -> None:
    """With that choice they got nothing at all: it is not to look as good as the other."""
    viewers = {"adaptive": {"average_rate_kbps": 232.0, "clients": [{"play_s": None}]}}
    results = [one({KIND: "fifo"}, **voice(4.2)), one({KIND: "codel"}, **viewers, **voice(4.2))]
    document = {"users": [{"kind": "adaptive"}, {"kind": "voice"}]}
    said = " ".join(answer(results, {KIND: ["fifo", "codel"]}, document).sentences)
    asked = "mean bit rate of viewers at least 90 % of the best choice's"
    assert f"With fifo there is no number for “{asked}”, as when nothing ends in time" in said
    assert "So fifo may be the worst by it, though chosen." in said
    assert "have no scores" not in said


def test_a_viewer_who_never_saw_a_picture_keeps_no_goal() -> None:
    def watched(*began: float | None) -> dict[str, Any]:
        viewers = [{"play_s": at} for at in began]
        return {"adaptive": {"clients_stalled_pct": 0.0, "clients": viewers}}

    document = {"users": [{"kind": "adaptive"}, {"kind": "voice"}]}
    found = answer([one({}, **watched(None, None), **voice(4.2))], {}, document)
    assert all(goal.path != "adaptive.clients_stalled_pct" for goal in found.goals)
    assert "users of kind adaptive have no scores" in found.sentences[-1]
    found = answer([one({}, **watched(None, 2.0), **voice(4.2))], {}, document)
    assert any(goal.path == "adaptive.clients_stalled_pct" for goal in found.goals)


def test_a_household_is_here_who_the_engine_puts_in_it() -> None:
    kinds = [found["properties"] for found in json.loads(_core.schema())["$defs"]["Users"]["oneOf"]]
    (keys,) = [found for found in kinds if found["kind"].get("const") == "household"]
    people = keys.keys() - {"kind", "name", "over", "count"}
    assert {kind: keys[kind]["default"] for kind in people} == HOUSEHOLD


def test_delay_does_not_decide_what_users_may_lose_much_by() -> None:
    def said(**lost: float) -> tuple[list[str], str]:
        # In one replication of three nothing is lost, so that an interval of three does not tell.
        results = [
            one({KIND: kind}, at, delay, **voice(3.5 - (lost[kind] if at else 0.0)))
            for at in range(3)
            for kind, delay in zip(lost, (6.0, 3.0, 2.0), strict=False)
        ]
        found = answer(results, {KIND: list(lost)})
        return found.ranking.chosen, " ".join(found.sentences)

    chosen, text = said(fq_codel=0.0, cake=0.3)
    assert chosen == ["cake"] and "Replications do not tell its worst loss" in text and "decides" in text
    chosen, text = said(fq_codel=0.0, cake=0.9)
    assert chosen == ["fq_codel"] and "the other, cake, loses" in text and "decides" not in text
    assert "Replications do not tell for certain that cake loses more (0." in text
    # Of those within what may be left to delay it decides; the third loses too much for that.
    chosen, text = said(fq_codel=0.0, cake=0.2, pie=0.9)
    assert chosen == ["cake"] and "its queueing delay decides: 3 ms on average" in text
    assert "Replications do not tell for certain that pie loses more (0." in text
    chosen, text = said(fq_codel=0.0, cake=0.9, pie=1.0)
    assert chosen == ["fq_codel"] and "certain that cake and pie lose more (0." in text
    # One run of each: nothing is told apart, and that is said in its own words.
    once = [one({KIND: kind}, **voice(score)) for kind, score in (("fq_codel", 3.5), ("cake", 2.6))]
    found = answer(once, {KIND: ["fq_codel", "cake"]})
    assert found.ranking.chosen == ["fq_codel"] and not found.ranking.doubted


def test_every_choice_is_said_only_where_every_one_was_measured() -> None:
    kinds = ["fifo", "codel", "pie"]
    measured = {"all": kinds, "some": kinds[:2], "doubt": kinds[:2], "all-doubt": kinds}
    results = [
        # Replications far apart: nothing is certain.
        one({"workload": load, KIND: kind}, at, **voice(3.6 + 0.8 * (at - 1) if "doubt" in load else 4.2))
        for load, there in measured.items()
        for kind in there
        for at in range(3)
    ]
    said = answer(results, {"workload": list(measured), KIND: kinds}).items
    for load, verdict in (
        ("all", "every"), ("some", "fifo and codel"), ("doubt", "not certain for fifo and codel"),
        ("all-doubt", "not certain for any"),
    ):  # fmt: skip
        assert sum(each.startswith(f"{load}: {verdict}") for each in said) == 1, (load, said)


@pytest.mark.parametrize("limit", [1234.5678, 0.0125, 20.0, 1e7, 149.99999, 3.6])
@pytest.mark.parametrize(
    "path", ["links.down.queue_delay_ms.mean", "links.down.loss", "flows.goodput_bps", "voice.talks.mos.p5"]
)
def test_a_limit_that_is_stated_is_the_limit_that_was_given(path: str, limit: float) -> None:
    stated = Goal(path, limit, above=False, name="it", source="").stated
    number, *unit = stated.removeprefix("it at most ").split(" ")
    scale = value(path).factor
    assert float(number) == pytest.approx(limit * scale, rel=1e-9) and " ".join(unit) == value(path).unit
