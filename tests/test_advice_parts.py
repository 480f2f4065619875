"""The advice from results whose numbers are known: scores, rounds, the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from sojourn.errors import SojournError
from sojourn.parts.clips import open_clip
from sojourn.report import advice
from sojourn.report.advice import sentences
from sojourn.report.answer import scores
from sojourn.results.interval import half_width
from sojourn.sweep.advice import Found, Search, elimination, name_of
from sojourn.sweep.advice.candidates import Rule, discipline, fifo
from sojourn.sweep.advice.goals import read_goal
from sojourn.sweep.advice.question import Question
from sojourn.sweep.advice.search import Findings, Rounds, Run, confidence, load_of, looks
from sojourn.sweep.advice.verdict import Verdict, _beats, _queues

ASKED = Question.read("16Mbit", "1Mbit", "40ms", "web=2", load=["idle,both"], candidates="fifo,codel,pie")


@dataclass
class Point:
    """A point of a study of disciplines."""

    hash: str
    labels: dict[str, str]
    replication: int
    document: dict[str, Any] = field(default_factory=lambda: {"users": [{"kind": "web"}]})


def run(load: str, queue: str, at: int, mos: float, wait: float = 1.0, used: float = 0.5) -> tuple[Any, Any]:
    links = {"down": {"utilisation": used, "queue_delay_ms": {"mean": wait}}}
    links["up"] = {"utilisation": 0.1, "queue_delay_ms": {"mean": 2.0}}
    point = Point(f"{load}{queue}{at}", {"workload": load, "path.down.queue": queue}, at)
    return point, {"web": {"mos": {"mean": mos}}, "links": links}


def findings(asked: Question = ASKED, **by_queue: list[float]) -> Findings:
    """What was found: under each queue the scores under `both`, replication by replication; idle is 4.5."""
    found = Findings(asked)
    for queue, values in by_queue.items():
        for at, mos in enumerate(values):
            for load, score, used in (("none", 4.5, 0.9), ("both", mos, 0.4 + at / 10)):
                point, result = run(load, queue, at, score, wait=mos, used=used)
                found.take([point], [result], {(queue,): queue})
    return found


def test_the_wait_for_the_first_picture_is_the_mean_of_replications_and_a_bound_if_one_is() -> None:
    def run(load: str, median: float, *bounded: str) -> Run:
        viewers = {"startup_delay_ms": {"median": median}, "bounded": list(bounded)}
        return Run(load, 0, {"adaptive": viewers}, [])

    found = Findings(ASKED)
    found.runs["c"] = [
        run("idle", 300.0),
        run("both", 2000.0),
        run("both", 4000.0, "startup_delay_ms.median"),
    ]
    found.runs["d"] = [Run("idle", 0, {"web": {}}, [])]
    assert found.first_picture("c") == {
        "idle": {"median": 300.0, "at_least": False},
        "both": {"median": 3000.0, "at_least": True},
    }
    assert found.first_picture("d") == {}


def test_scores_of_users_are_those_of_their_kind() -> None:
    users = [{"kind": "voice"}, {"kind": "browser"}, {"kind": "adaptive", "rates-kbps": [4000, 250, 1000]}]
    result: dict[str, Any] = {
        "voice": {"talks": {"mos": {"mean": 3.0}}, "listens": {"mos": {"mean": 4.0}}},
        "browser": {"plt_s": {"median": 0.56}, "abandoned": 0.1},
        "adaptive": {"average_rate_kbps": 1000, "clients_stalled_pct": 25},
        "web": {"mos": {"mean": 2.0}},
    }
    found = scores.opinions(result, users)
    assert found == {
        "voice.talks": 3,
        "voice.listens": 4,
        # A load in ten was given up, which is the worst there is: those that came are not all.
        "browser": pytest.approx(4.6),
        "adaptive": pytest.approx(1 + 4 * 0.5 * 0.75),
    }
    result["browser"] = {"plt_s": {"median": sqrt(0.56 * 10)}, "abandoned": 0.0}
    assert scores.opinions(result, users)["browser"] == pytest.approx(3)
    for rate, rates, mos in ((100, [250, 500], 1), (9000, [250, 500], 5), (100, [250], 5)):
        assert scores._viewing(rate, 0, {"rates-kbps": rates}) == mos
    # Who has no opinion score is where the number lies that is furthest from its limit: 3 is just there.
    other: dict[str, Any] = {
        "call": {"sends": {"frozen": 0.0, "delay_ms": {"p95": 400.0}}, "receives": {"frozen": 0.01}},
        "page": {"largest_paint_s": {"p75": 7.5}},
        "gaming": {"late": {"mean": 0.0}},
        "responsiveness": {"rpm": {"median": 300.0}},
        "cloud-gaming": {"mos": {"mean": 2.5, "median": 2.0}},
    }
    kinds = [{"kind": kind} for kind in other]
    assert scores.opinions(other, kinds) == pytest.approx(
        {"call": 3, "page": 2, "gaming": 5, "responsiveness": 2, "cloud-gaming": 2.5}
    )
    assert scores.opinions({}, kinds) == {}
    # A call whose pictures are perfect is no fair one: beyond its limit of .88 SSIM has 0.12 to go.
    for ssim, score in ((1.0, 5.0), (0.94, 4.0), (0.88, 3.0), (0.44, 2.0)):
        calling = {"call": {"sends": {"frozen": 0.0, "ssim": {"median": ssim}}}}
        assert scores.opinions(calling, [{"kind": "call"}]) == {"call": pytest.approx(score)}
    # Without rates of its own a viewer has those of its clips: shipped ones by name, generated, settled.
    shipped = open_clip("bbb-x264-4s").rates_kbps
    for clips, lowest, highest in (
        (["bbb-x264-4s"], min(shipped), max(shipped)),
        ([{"spread": 0.25, "segment-s": 4.0, "rates-kbps": [145, 16_800]}], 145, 16_800),
        ([{"name": "own.csv", "rates-kbps": [300, 900]}, {"rates-kbps": [100, 200]}], 100, 900),
    ):
        middle = sqrt(lowest * highest)
        assert scores._viewing(middle, 0, {"clips": clips}) == pytest.approx(3)
    links = {
        "a": {"utilisation": 0.3, "queue_delay_ms": {"mean": 2.0}},
        "b": {"queue_delay_ms": {"mean": 5.0}},
    }
    assert scores.utilisation({"links": links}) == 0.3 and scores.delay_ms({"links": links}) == 7.0
    assert scores.utilisation({}) is None
    goals = read_goal("web.mos.median>=3", ["web"]) + read_goal("links.up.loss<=0.1", ["web"])
    assert list(scores.on_scale({"links": {"up": {"loss": 0.1}}}, goals)) == ["links.up.loss"]
    assert scores.on_scale({"links": {"up": {"loss": 0.1}}}, goals)["links.up.loss"] == pytest.approx(1)


def test_where_nobody_has_a_score_nothing_tells_the_queues_apart() -> None:
    found = Findings(ASKED)
    found.take([run("both", "fifo", 0, 4.0)[0]], [{"links": {}}], {("fifo",): "fifo"})
    with pytest.raises(SojournError, match="no run has a score of any of the users, so that nothing tells"):
        found.scores()


def test_findings_count_each_point_once_and_give_the_worst_to_who_has_no_score() -> None:
    found = findings(codel=[3.0, 3.5], pie=[2.0])
    assert found.points == 6
    found.take(*zip(run("both", "codel", 0, 1.0), strict=True), {("codel",): "codel"})
    assert found.points == 6 and found.scores()["codel"]["both", "web"] == {0: 3.0, 1: 3.5}
    assert found.delays() == {"codel": {0: 5.0, 1: 5.5}, "pie": {0: 4.0}}
    # The idle line's utilisation says nothing.
    assert found.utilisation("codel") == pytest.approx(0.45)
    assert [each["replication"] for each in found.cells("codel")["both"]] == [0, 1]
    point, result = run("both", "pie", 1, 0.0)
    found.take([point], [{**result, "web": {}}], {("pie",): "pie"})
    assert found.scores()["pie"]["both", "web"] == {0: 2.0, 1: 1.0}
    mine = replace(ASKED, goals=read_goal("web.mos.mean>=3", ["web"]))
    owed = findings(mine, codel=[3.0]).scores()
    assert owed["codel"]["both", "web.mos.mean"][0] == pytest.approx(1)
    assert findings(mine, codel=[3.0]).scores(opinions=True)["codel"]["both", "web"] == {0: 3.0}
    assert load_of(Point("", {"workload": "none"}, 0)) == "idle"  # type: ignore[arg-type]


def test_users_without_a_score_in_any_run_are_named() -> None:
    found = findings(codel=[3.0])
    assert found.unscored() == []
    point, result = run("both", "pie", 0, 3.0)
    point.document = {"users": [{"kind": kind} for kind in ("web", "page", "voice")]}
    found.take([point], [result | {"voice": {"talks": {"mos": {"mean": 2.0}}}}], {("pie",): "pie"})
    assert found.unscored() == ["page"]


class Study:
    """Takes down which points a round asks for."""

    def replicated(self, wanted: Any, key: Any) -> Any:
        queues = ("codel", "pie", "fifo")
        labels = [{"workload": "both", "path.down.queue": queue} for queue in queues]
        asked = {each["path.down.queue"]: list(wanted.get(key(each), ())) for each in labels}
        return (max(times[-1] for times in asked.values() if times) + 1, asked) if wanted else []


def test_the_best_and_the_open_ones_get_twice_the_replications() -> None:
    assert (looks(), confidence()) == (3, 1 - 0.05 / 3)
    wide = {"codel": [4.9, 3.1, 3.4, 4.6], "pie": [3.0, 4.5, 4.4, 3.2], "fifo": [1.0, 1.1, 1.0, 1.1]}
    found = findings(**wide)
    names = {(name,): name for name in wide}
    rounds = Rounds(found, names, wide)
    most, asked = rounds.further(Study(), [], [])  # type: ignore[arg-type]
    assert most == 8 and asked == {"codel": [4, 5, 6, 7], "pie": [4, 5, 6, 7], "fifo": []}
    most, asked = rounds.further(Study(), [], [])  # type: ignore[arg-type]
    assert asked["pie"] == list(range(8, 16)) and rounds.had == {"codel": 16, "pie": 16, "fifo": 4}
    assert rounds.further(Study(), [], []) == []  # type: ignore[arg-type]
    joined = Rounds(found, names, ["codel"], lambda found: ["codel", "pie"])
    assert joined.first(run("both", "codel", 0, 1)[0]) and not joined.first(run("both", "pie", 0, 1)[0])
    assert joined.further(Study(), [], [])[1]["pie"] == [0, 1, 2, 3]  # type: ignore[arg-type,call-overload]
    few = Rounds(found, names, wide, most=4)
    assert few.further(Study(), [], []) == []  # type: ignore[arg-type]


def found_of(decided: str = "worst", **by_queue: list[float]) -> Verdict:
    """The answer of a search among a FIFO and disciplines."""
    there = findings(**by_queue)
    made = {name: discipline(name, ASKED.line) for name in by_queue if not name.startswith("fifo")}
    sizes = {name: re.findall(r"(\d+)pkt", name) for name in by_queue if name.startswith("fifo")}
    made |= {name: fifo((int(down), int(up))) for name, (down, up) in sizes.items()}
    chosen, _, standing = there.choose(by_queue)
    fifos = [name for name in by_queue if name.startswith("fifo")]
    rules = [Rule("1 BDP", (53, 4))]
    return Verdict(
        Found(ASKED, there, made, list(by_queue), fifos, rules, fifos[0], chosen, decided, standing)
    )


FIFO = "fifo 53pkt/4pkt"
SCORES = {"codel": [4.0, 4.1, 4.0, 4.1], FIFO: [3.0, 3.2, 3.1, 3.1]}


def test_tables_of_the_page_have_the_best_first_and_each_number_in_its_column() -> None:
    about = found_of(**SCORES, pie=[3.5, 3.6, 3.5, 3.6]).as_json()
    for order in (about["tried"], about["tried"][::-1]):
        tried = advice._tried({**about, "tried": order})
        worst = [row[tried.heads.index("Worst score")] for row in tried.rows]
        assert [score[:4] for score in worst] == ["4.05", "3.55", "3.10"]
        assert [row[0] for row in tried.rows] == [
            sentences.named(one) for one in sorted(order, key=lambda one: -one["worst"])
        ]
    assert tried.heads == ["Candidate", "Worst score", "Loses", "Who, load", "Utilisation", "Replications"]
    for row, one in zip(tried.rows, sorted(order, key=lambda one: -one["worst"]), strict=True):
        assert row[2:] == [advice._score(one["loss_mos"]), "the reader of web pages, both", "55.0 %", "4"]
    loads = advice._by_load(about)
    by_load = about["by_load"]
    assert [row[0] for row in loads.rows] == list(by_load)
    for row in loads.rows:
        one = by_load[row[0]]
        own = "the same" if one["same"] else sentences.named(one["recommended"])
        assert row[1:] == [own, advice._score(one["with_advice"]), advice._score(one["worst"])]
    users = advice._by_user(about)
    assert users.heads == ["User", "idle", "both"]
    assert users.rows == [["The reader of web pages", "4.50", "4.05"]]


def test_the_answer_says_what_each_queue_loses_against_the_advice() -> None:
    verdict = found_of(**SCORES)
    about = verdict.as_json()
    assert about["recommended"]["down"] == {"kind": "codel"} and about["certain"] is True
    half = half_width(SCORES["codel"], confidence())
    assert half is not None
    within = [round(4.05 - half, 4), round(4.05 + half, 4)]
    assert about["scores"]["worst"] == 4.05 and about["scores"]["interval"] == within
    assert (about["scores"]["load"], about["scores"]["user"], about["scores"]["utilisation"]) == (
        "both", "web", 0.55,
    )  # fmt: skip
    web = about["scores"]["by_user"]["web"]
    assert (web["mos"], web["load"], web["by_load"]) == (4.05, "both", {"idle": 4.5, "both": 4.05})
    [rule] = about["rules_of_thumb"]
    assert (rule["rule"], rule["limit"], rule["worst"]) == ("1 BDP", "53pkt down, 4pkt up", 3.1)
    lost = half_width([a - b for a, b in zip(*SCORES.values(), strict=True)], 0.95)
    assert lost is not None
    assert (rule["loss_mos"], rule["loss_within"], rule["replications"]) == (0.95, round(lost, 4), 4)
    assert about["by_load"]["idle"]["same"] and about["by_load"]["both"]["with_advice"] == 4.05
    # In both the FIFO is no worse when idle, and worse for certain otherwise; of equal use, only one is left.
    assert [each["down"]["kind"] for each in about["pareto"]] == ["codel"]
    assert about["alike"] == [] and about["points"] == 16 and about["users"] == {"web": 2}
    assert not found_of("best", **SCORES).as_json()["certain"]
    assert about["fifos_alike"] == []


def test_sizes_of_a_fifo_that_cannot_be_told_from_the_best_are_there_and_no_other() -> None:
    near, nearer, far = "fifo 60pkt/4pkt", "fifo 9pkt/9pkt", "fifo 900pkt/90pkt"
    sizes = {FIFO: [4.0, 4.01] * 2, near: [3.8, 4.1] * 2, nearer: [3.9, 4.1] * 2, far: [2.0, 2.01] * 2}
    about = found_of("worst", codel=[3.0, 3.01, 3.0, 3.01], **sizes).as_json()
    assert [queues["down"]["limit"] for queues in about["fifos_alike"]] == ["9pkt", "60pkt"]
    assert about["fifos_decided_by"] == "order"
    # Where the best FIFO is the advice, a size that is as good leaves it uncertain.
    assert about["recommended"]["down"]["limit"] == "53pkt" and not about["certain"]
    assert found_of("worst", codel=[3.0, 3.01] * 2, **{FIFO: sizes[FIFO], far: sizes[far]}).as_json()[
        "certain"
    ]


def test_a_coarse_precision_does_not_put_a_lower_score_first() -> None:
    # Half a MOS apart by their means, not for certain; the small one is the simpler.
    small, large = "fifo 10pkt/8pkt", FIFO
    scores = {small: [3.0, 4.3, 3.0, 4.3], large: [4.3, 3.9, 4.2, 4.0]}
    found = findings(replace(ASKED, precision=0.5), **scores)
    assert found.choose(scores)[:2] == (large, "best")
    # Within a tenth a simpler one may stand for the best, and the page says which has the better score.
    scores = {small: [3.9, 4.1, 3.9, 4.1], large: [4.1, 4.04, 4.08, 4.06], "codel": [1.0] * 4}
    found = findings(replace(ASKED, precision=0.5), **scores)
    assert found.choose(scores)[:2] == (small, "order")
    said = sentences.not_told(found_of("order", **scores).as_json())
    assert said.endswith("The best score of them is that of a FIFO of 53 packets down, 4 up, 4.07: "
                         "that it is better is not certain.")  # fmt: skip


def test_the_interval_of_a_choice_reaches_to_the_best_of_those_it_was_among() -> None:
    verdict = found_of(codel=[4.0, 4.01, 4.0, 4.01], pie=[4.2, 4.2, 4.2, 4.2], **{FIFO: [3.0] * 4})
    assert verdict._among(["codel", "pie"], "codel")[1] == 4.2  # type: ignore[index]
    assert verdict._among(["codel", FIFO], "codel")[1] < 4.2  # type: ignore[index]
    assert found_of(codel=[4.0], **{FIFO: [3.0]})._among(["codel"], "codel") is None
    high = {("both", "web"): {0: 4.9, 1: 5.0, 2: 4.9}}
    assert verdict._interval(high, ("both", "web"))[1] == 5.0  # type: ignore[index]
    assert elimination.interval([1.0, 1.2], 1.0, 5.0, 0.95)[0] == 1.0  # type: ignore[index]
    assert elimination.interval([3.0, 3.0], 1.0, 5.0, 0.95) == (3.0, 3.0)
    assert _beats((2, 1), (1, 1)) and _beats((2, 2), (1, 1)) and not _beats((1, 1), (1, 1))
    assert not _beats((2, 0), (1, 1))


def test_each_way_has_its_own_queue() -> None:
    down, up = {"kind": "fifo", "limit": "90pkt"}, {"kind": "fifo", "limit": "9pkt"}
    assert _queues(fifo([90, 9])) == {"down": down, "up": up}


def test_goals_are_judged_load_by_load() -> None:
    goals = read_goal("web.mos.mean>=3.5", ["web"])
    there = replace(ASKED, goals=goals)
    found = found_of(**SCORES).found
    own = Verdict(replace(found, asked=there, findings=findings(there, **SCORES)))
    [goal] = own._goals()
    assert goal["value"] == "web.mos.mean" and list(goal["by_load"]) == ["idle", "both"]
    assert goal["by_load"]["both"]["mean"] == 4.05 and goal["by_load"]["idle"]["interval"] == [4.5, 4.5]
    # Of the other queues those that keep it under every load: the FIFO does on the idle line alone.
    scores = SCORES | {"pie": [3.8, 3.9, 3.8, 3.9]}
    others = replace(found_of(**scores).found, asked=there, findings=findings(there, **scores))
    assert goal["kept_by"] == []
    assert [queues["down"]["kind"] for queues in Verdict(others)._goals()[0]["kept_by"]] == ["pie"]
    # A run in which nobody finished leaves in doubt what the others keep.
    assert goal["by_load"]["idle"]["verdict"] == "yes"
    runs = own.found.findings.runs["codel"]
    runs[0] = runs[0]._replace(result={key: item for key, item in runs[0].result.items() if key != "web"})
    assert own._goals()[0]["by_load"]["idle"]["verdict"] == "not certain"


def test_neighbours_are_the_next_sizes_of_the_ladder_one_way_at_a_time() -> None:
    search = Search(replace(ASKED, kinds=["fifo"]))
    search._fifos = {name_of(fifo(limits)): fifo(limits) for limits in search._pairs()}

    class Chosen:
        def choose(self, among: Any) -> tuple[str]:
            return (self.name,)

    chosen = Chosen()
    chosen.name = "fifo 53pkt/4pkt"  # type: ignore[attr-defined]
    # Downwards 7, 13, 27, 53, 107, 213, upwards 4 to 128.
    assert search._around(chosen) == [  # type: ignore[arg-type]
        "fifo 27pkt/4pkt", "fifo 107pkt/4pkt", "fifo 53pkt/8pkt",
    ]  # fmt: skip
    assert len(search._diagonal) == 6 and search.out == Path("results/advice-16Mbit-1Mbit-40ms")
    assert (10, 10) in search._pairs() and (1000, 1000) in search._pairs()


def test_a_score_of_sojourns_own_scale_is_not_called_a_mos() -> None:
    gets = {"worst": 4.62, "interval": [3.96, 5.0], "load": "upload"}
    assert sentences._score({**gets, "user": "adaptive"}) == "4.62 (3.96 to 5.00) of 5 on sojourn's own scale"
    assert sentences._score({**gets, "user": "voice.talks"}) == "a MOS of 4.62 (3.96 to 5.00)"


def test_a_fifo_that_was_best_by_chance_gives_its_place_to_the_next() -> None:
    search = Search(ASKED)
    beside: list[str] = []

    class Campaign:
        planned = 8

    def campaign(what: str, text: str, names: Any, first: Any, *rest: Any) -> Any:
        beside.extend(first[:1] if what == "queues" else [])
        return Campaign()

    first, second = "fifo 53pkt/4pkt", "fifo 27pkt/4pkt"
    # After the sizes the first is best; when it has more replications the second; then the first again.
    chosen = iter([first, second, first, first])
    search._campaign = campaign  # type: ignore[method-assign,assignment]
    search.findings.choose = lambda among: (next(chosen), "", None)  # type: ignore[method-assign,assignment,return-value]
    assert [before for before, _ in search._campaigns()] == [0, 8, 16, 24]
    # The file of the disciplines, written last, is that of the best.
    assert beside == [first, second, first] and search.best_fifo == first
