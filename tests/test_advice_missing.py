"""What the advice makes of runs in which a user has no score, or a goal no number."""

from __future__ import annotations

from dataclasses import replace

from sojourn.sweep.advice.goals import read_goal
from sojourn.sweep.advice.search import Findings
from sojourn.sweep.advice.verdict import Verdict
from test_advice_parts import ASKED, SCORES, findings, found_of, run


def test_runs_without_a_score_or_number_are_counted_and_what_is_bounded_is_not_certain() -> None:
    found = findings(codel=[3.0, 3.5], pie=[2.0])
    assert found.without_score("codel") == []
    point, result = run("both", "pie", 1, 0.0)
    found.take([point], [{**result, "web": {}}], {("pie",): "pie"})
    assert found.without_score("pie") == [{"load": "both", "user": "web", "runs": 1, "of": 2}]

    goal = read_goal("web.plt_s.median<=9", ["web"])[0]
    runs = [run("both", "codel", at, 4.0) for at in range(4)]
    for bounded, lacking, verdict in (
        ((), 0, "yes"),
        (("median",), 0, "not certain"),
        ((), 1, "not certain"),
    ):
        came = Findings(replace(ASKED, goals=[goal]))
        for at, (point, result) in enumerate(runs):
            web = {"plt_s": {"median": 2.0}, "bounded": list(bounded)} if at >= lacking else {}
            came.take([point], [{**result, "web": web | {"mos": {"mean": 4.0}}}], {("codel",): "codel"})
        found_all = replace(found_of(**SCORES).found, findings=came, asked=came.asked)
        judged = Verdict(found_all)._judged(goal, "codel")["both"]
        assert (judged["verdict"], judged["without_number"], judged["at_least"]) == (
            verdict,
            lacking,
            bool(bounded),
        )
