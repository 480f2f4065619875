"""What the advice says where something is amiss: what failed, what helps, and how certain that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sojourn.report.advice import sentences, write_advice
from sojourn.sweep.advice.verdict import Verdict
from test_advice_parts import FIFO, SCORES, found_of
from test_advice_sentences import advice, sized

FLOOR = {
    "scores": advice()["scores"] | {"worst": 1.0},
    "tried": [one | {"worst": 1.0} for one in advice()["tried"]],
}
AGAIN = "ask again with lighter loads (`--load`)"
TELLS = "Under the load “both” somebody has nearly the least score there is"


def by_load(**most: float) -> dict[str, Any]:
    """What there is by load, with the most that any queue gives."""
    one = advice()["by_load"]["both"]
    return {load: one | {"most": score, "worst": score} for load, score in most.items()}


@pytest.mark.parametrize(
    ("loads", "says", "says_not"),
    [
        # On a line of 10 kbit/s no load is light enough: what helps is said instead.
        ({"idle": 1.0, "both": 1.0}, ["it takes a faster line", f"{TELLS}, 1, whatever"], [AGAIN]),
        ({"idle": 4.0, "both": 1.0}, [TELLS, AGAIN], ["a faster line"]),
        ({"both": 1.0}, [TELLS, AGAIN], ["a faster line"]),
        ({"upload": 4.0, "idle": 1.2, "both": 1.0}, [TELLS, AGAIN, "a faster line"], []),
    ],
)
def test_lighter_loads_are_proposed_where_one_helps(
    loads: dict[str, float], says: list[str], says_not: list[str]
) -> None:
    told = " ".join(sentences.answer(advice(**FLOOR, by_load=by_load(**loads))))
    assert all(words in told for words in says), told
    assert not any(words in told for words in says_not), told


def test_a_line_is_enough_without_a_load_where_any_queue_makes_it_so() -> None:
    # The advice cannot be told from a queue with 2.6 there, which no queue of 2.4 takes away.
    loads = by_load(idle=2.6, both=1.0)
    told = " ".join(
        sentences.answer(advice(**FLOOR, by_load=loads | {"idle": loads["idle"] | {"worst": 2.4}}))
    )
    assert "No queue that was tried makes this line enough for that load." in told
    verdict = found_of(**SCORES, pie=[3.5, 3.6, 3.5, 3.6]).as_json()
    assert [one["most"] for one in verdict["by_load"].values()] == [4.5, 4.05]


def test_no_load_asks_for_what_nobody_notices() -> None:
    few = "fifo 9pkt/9pkt"
    verdict = found_of("order", codel=[4.0] * 4, pie=[3.96] * 4, **{FIFO: [3.0] * 4, few: [3.0] * 4})
    verdict.found.__dict__["chosen"] = "pie"
    about = verdict.as_json()
    assert about["by_load"]["both"]["same"] and about["by_load"]["both"]["worst"] == 3.96
    verdict = found_of("order", codel=[4.0] * 4, pie=[3.9] * 4, **{FIFO: [3.0] * 4})
    verdict.found.__dict__["chosen"] = "pie"
    assert not verdict.as_json()["by_load"]["both"]["same"]
    assert sentences.by_load(advice()) == [
        "No load asks for another queue: under each of them neither another discipline nor the best FIFO is "
        "better than this for certain by more than 0.05."
    ]


def test_what_was_not_compared_load_by_load_is_not_said_to_be_no_better() -> None:
    fifo = {way: {"kind": "fifo", "limit": "9pkt"} for way in ("down", "up")}
    two = " ".join(sentences.by_load(advice(candidates=["codel", "pie"])))
    assert two.startswith(
        "No load asks for another of these disciplines: under each of them no discipline that "
    )
    assert sentences.by_load(advice(candidates=["codel"])) == []
    alone = advice(candidates=["fifo"], recommended=fifo)
    alone["tried"] = [one for one in alone["tried"] if one["down"]["kind"] == "fifo"]
    assert sentences.no_better(alone).startswith("no other size of a FIFO is better than this")
    asked = advice(candidates=["fifo", "codel"], recommended=fifo)
    assert sentences.no_better(asked) == "no discipline is better than this for certain by more than 0.05"


def test_a_discipline_is_not_best_for_certain_where_a_size_of_a_fifo_may_be_better() -> None:
    few = "fifo 9pkt/9pkt"
    verdict = found_of(**SCORES, **{few: [4.9, 1.5, 4.8, 1.6]})
    verdict.found.race.remove(few)
    about = verdict.as_json()
    assert about["recommended"]["down"]["kind"] == "codel" and about["decided_by"] == "worst"
    assert not about["certain"] and [one["down"]["limit"] for one in about["fifos_not_worse"]] == ["9pkt"]
    told = " ".join(sentences.answer(about))
    assert (
        "It is better than every other discipline that was tried, and than the best FIFO, for certain. Than "
        "other sizes of a FIFO it is not for certain: 9 packets (3.20)."
    ) in told
    assert found_of(**SCORES).as_json()["certain"] and found_of(**SCORES).as_json()["fifos_not_worse"] == []


def test_runs_without_a_score_are_listed_with_how_many_more_at_the_end() -> None:
    lacking = {"without_score": [{"load": "both", "user": "web", "runs": 1, "of": 4}]}
    tried = [advice()["tried"][0] | sized(f"{n}pkt", "2pkt") | lacking for n in range(10, 18)]
    [told] = sentences.without_score(advice(tried=tried))
    assert told.endswith("FIFO of 15 packets down, 2 up; and 2 more.") and "; and FIFO" not in told


def test_a_fifo_that_was_not_asked_for_is_no_candidate_that_the_advice_is_better_than() -> None:
    # One discipline was asked for, and a FIFO serves users much better.
    verdict = found_of(codel=[2.0, 2.1] * 2, **{FIFO: [5.0, 4.9] * 2})
    asked = replace(verdict.found.asked, kinds=["codel"])
    found = replace(verdict.found, asked=asked, race=["codel"], chosen="codel")
    about = Verdict(found).as_json()
    assert about["certain"] and about["candidates"] == ["codel"] and about["fifos_not_worse"] == []
    told = " ".join(sentences.answer(about))
    first = "Of what was asked for (`--candidates`) choose CoDel, in both directions; a FIFO is better, for"
    assert told.startswith(f"{first} certain.")
    # Within chance, in one run or by goals nobody says so.
    for changed in ({"loss_mos": 0.1}, {"loss_within": None}, {"loss_within": 3.0}):
        unsure = about | {"fifo_only": about["fifo_only"] | changed}
        assert sentences.answer(unsure)[0] == "Choose CoDel, in both directions."
    assert "No other discipline was asked for (`--candidates`). With nothing but a FIFO" in told
    assert "2.45 more than with the advice" in told and "better than every" not in told
    more = " ".join(sentences.answer(about | {"candidates": ["codel", "pie"]}))
    assert "better than every other discipline that was asked for (`--candidates`), for certain." in more


def test_what_is_better_for_certain_by_little_is_said_to_be_so() -> None:
    codel, fifo = advice()["tried"]
    told = " ".join(sentences.answer(advice(tried=[codel, fifo | {"worst": 3.57}])))
    assert "every other candidate, for certain, though by little: a FIFO of 8 packets has 3.57." in told
    assert "better than every other candidate, for certain. With" in " ".join(sentences.answer(advice()))


def test_a_page_names_the_study_of_disciplines_where_there_is_one(tmp_path: Path) -> None:
    sizes = {FIFO: [4.0, 4.1] * 2, "fifo 9pkt/9pkt": [3.0, 3.1] * 2}
    for scores, named in ((SCORES, True), (sizes, False)):
        page = write_advice(found_of(**scores).as_json(), tmp_path, "sojourn recommend")
        assert ("queues.toml" in page.read_text()) is named
