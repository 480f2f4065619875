"""Sentences of the answer where they could mislead: nothing there, not yet there, far too big, one."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from answering import KIND, LIMIT, compare, one, voice
from sojourn.report.answer import Answer, answer
from sojourn.report.answered import answered
from sojourn.report.captured import captured
from sojourn.report.configure import configured
from sojourn.report.figures.gather import gather
from sojourn.report.figures.plot import Spec
from sojourn.report.points import points_table
from sojourn.report.sentences import how_to_read, what_is_good
from sojourn.results import bounded, open_results
from sojourn.results.groups import group_rows
from sojourn.results.interval import Sample
from sojourn.results.show import print_table
from sojourn.study.starts import NOBODY
from sojourn.sweep.rounds import next_round
from test_figures import write_results
from test_report_answer import page, study, with_series


def silent(result: dict[str, Any]) -> dict[str, Any]:
    """Return the same result with links that let nothing through."""
    result = deepcopy(result)
    for link in result["links"].values():
        link |= {"departed_pkts": 0, "queue_delay_ms": dict.fromkeys(("mean", "p50", "p95", "max"), 0.0)}
        link |= {"utilisation": 0.0, "queue_delay_cdf": {"ms": [], "share": []}}
    return result


def test_a_queue_that_let_nothing_through_is_not_the_one_with_the_least_delay() -> None:
    results = [silent(one({KIND: "fifo"})), one({KIND: "codel"}, delay=20.0)]
    found = answer(results, {KIND: ["fifo", "codel"]})
    assert found.ranking.chosen == [] and ("", "fifo") not in found.verdicts
    assert found.sentences[1] == (
        "No condition has numbers for every choice, so the choices cannot be compared."
    )
    # The cell that no goal has a number for is named as the reason.
    assert found.sentences[2].startswith("1 of 2 cells has no number for “")


def test_an_answer_of_a_part_of_its_study_says_so() -> None:
    points = [
        ({KIND: kind}, number, f"{kind}{number}") for kind in ("fifo", "codel", "pie") for number in (0, 1)
    ]
    there = {"fifo0", "fifo1", "codel0"}

    def said(planned: list[tuple[dict[str, str], int, str]]) -> list[str]:
        found = SimpleNamespace(
            captured=False, document={}, planned=planned, store=SimpleNamespace(has=there.__contains__),
            missing=sum(name not in there for _, _, name in planned),
        )  # fmt: skip
        results = [one({KIND: "fifo"}), one({KIND: "fifo"}), one({KIND: "codel"}, delay=20.0)]
        return answered(found, results, {KIND: ["fifo", "codel"]}).sentences  # type: ignore[arg-type, union-attr]

    assert said(points)[1] == (
        "3 of the study's 6 points are not there yet, and all that is said here is of the others alone: 1 of "
        "3 cells has no result (pie), 1 of 3 cells has fewer replications."
    )
    assert not any("not there yet" in each for each in said(points[:3]))


def test_why_nothing_can_be_judged() -> None:
    def said(result: dict[str, Any], **document: Any) -> str:
        return answer([result], {}, document).sentences[0]

    nobody = silent(one({})) | {"groups": {}}
    assert said(nobody) == f"No packet was sent, so nothing can be judged: {NOBODY}."
    assert said(nobody, goals=[{"value": "voice.mos.p5", "at-least": 3}]).startswith("No packet was sent")
    assert said(nobody, users=[{"kind": "voice"}]).startswith("No packet left a queue after the warm-up")
    assert said(nobody | {"groups": {"a": {"transport": "udp"}}}).startswith(
        "No packet left a queue after the warm-up"
    )
    result = one({})
    for link in result["links"].values():
        del link["queue_delay_ms"]
    assert said(result).startswith("The results hold nothing that could be judged: neither scores of users")


def test_of_cells_that_were_run_once_no_difference_is_called_chance() -> None:
    def said(times: int) -> str:
        return compare({kind: [voice(4.2)] * times for kind in ("fifo", "codel")}).sentences[0]

    assert said(1).endswith("queueing delay and utilisation differ by less than matters.")
    assert said(2).endswith("differ by no more than chance, or by less than matters.")


def test_the_page_of_silence_names_the_judged_cell_and_no_lacking_number(tmp_path: Path) -> None:
    text = page(tmp_path, with_series([silent(one({KIND: "fifo"})), one({KIND: "codel"}, delay=20.0)]))
    assert "Inside the one cell that could be judged A look inside: codel" in text
    assert "is not drawn" not in text and "near it are" not in text


def test_the_width_of_a_bin_is_said_where_there_is_one(tmp_path: Path) -> None:
    result = with_series([one({}, **voice(4.2))])[0]
    for link in result["links"].values():
        link["series"] = {"bin_s": 0.5} | {
            name: each[:1] for name, each in link["series"].items() if name != "bin_s"
        }
    assert "in bins of 0.5 s; time counts from the end" in page(tmp_path, [result])


def slow(seconds: float, *of: str) -> dict[str, Any]:
    """Return the scores of pages; the numbers `of` the largest paint are lower bounds."""
    times = {"p75": seconds, "median": seconds}
    return {
        "page": {"largest_paint_s": times, "load_s": times, "bounded": [f"largest_paint_s.{of}" for of in of]}
    }


def test_a_page_that_has_not_come_keeps_no_limit() -> None:
    early = compare({"fifo": [slow(1.5, "p75")] * 3, "codel": [slow(1.5)] * 3})
    fifo, codel = (early.verdicts["", kind] for kind in ("fifo", "codel"))
    assert (fifo.word, codel.word) == ("close", "yes") and not fifo.good
    assert fifo.weakest.text == "page of today, largest paint, 75th percentile at least 1.5 s"
    assert fifo.weakest.more == "too few loads had ended when the run did, so a longer run would tell"
    assert early.as_json()["verdicts"][0]["goals"][0]["at_least"] is True
    # One run of several is enough: their mean is a bound, too.
    once = compare({"fifo": [slow(1.5), slow(1.5, "p75"), slow(1.5)], "codel": [slow(1.5)] * 3})
    assert [once.verdicts["", kind].word for kind in ("fifo", "codel")] == ["close", "yes"]
    late = compare({"fifo": [slow(9.0, "p75")] * 3, "codel": [slow(1.5)] * 3})
    assert late.verdicts["", "fifo"].word == "no"


def test_more_runs_do_not_bring_a_page_that_has_not_come() -> None:
    document = {"repeat": "auto", "repeat-at-most": 12}
    found = compare({"fifo": [slow(1.5, "p75")] * 3, "codel": [slow(1.5)] * 3}, document=document)
    assert found.rounds == (
        'With repeat = "auto" one verdict is not certain after 3 replications: too few loads had ended when '
        "the runs did, which longer runs tell, and not more of them."
    )

    auto: Any = SimpleNamespace(document=document, replicated=lambda wanted, _: "more" if wanted else [])
    point: Any = SimpleNamespace(labels={KIND: "fifo"})
    runs = [one({KIND: "fifo"}, at, **slow(1.5, "p75")) for at in range(3)]
    assert next_round(auto, [point], runs) == []
    spread = [one({KIND: "fifo"}, at, **slow(1.5 + at)) for at in range(3)]
    assert next_round(auto, [point], spread) == "more"


def test_lower_bounds_are_named_by_page_and_table(tmp_path: Path) -> None:
    runs = [one({}, **slow(1.5, "p75")), one({}, 1, **slow(1.5))]
    assert bounded.said(runs, {"page.largest_paint_s.p75": "largest paint"}) == [
        "In 1 of 2 runs too few loads had ended when the run did, so that largest paint is a lower bound: a "
        "longer run would tell."
    ]
    assert bounded.said(runs, {"page.load_s.median": "load"}) == []
    text = page(tmp_path, runs)
    assert "so that page of today: largest paint, 75th percentile is a lower bound" in text


def test_one_packet_is_one_and_long_delays_have_no_exponent(tmp_path: Path) -> None:
    results = [
        one({LIMIT: limit}, delay=delay, **voice(4.2))
        for limit, delay in (("1pkt", 2240.0), ("2pkt", 3150.0))
    ]
    for result in results:
        result["links"]["down"]["limit"] = {"packets": 1, "bytes": 1500, "ms": 12.0}
    found = answer(results, {LIMIT: ["1pkt", "2pkt"]})
    said = " ".join(found.sentences)
    assert "The buffer to choose is 1 packet:" in said and "downlink 1 packet, 1 500 bytes" in said
    assert "2 240 ms on average, all links together, against 3 150 ms" in said
    text = page(tmp_path, results)
    assert "Downlink buffer (packets) 1 2 all" in text and "e+0" not in text


def test_a_share_of_the_best_choice_is_no_goal_without_a_choice() -> None:
    best = {"adaptive": {"average_rate_kbps": 900.0, "clients_stalled_pct": 0.0, "stalls": 0}}
    alone = answer([one({}, **best)], {})
    assert [goal.path for goal in alone.goals] == ["adaptive.clients_stalled_pct"]
    assert any(goal.of_best for goal in compare({"fifo": [best], "codel": [best]}).goals)


def test_how_long_the_first_picture_is_waited_for_is_said_and_not_judged() -> None:
    def found(*waits: float, bounded: tuple[str, ...] = (), goals: Any = ()) -> str:
        kinds = ["fifo", "codel", "pie"][: len(waits)]
        viewing = {"clients_stalled_pct": 0.0, "clients": [{"play_s": 1.0}], "stalls": 0}
        viewing |= {"average_rate_kbps": 900.0, "bounded": bounded}
        results = [
            one({KIND: kind}, adaptive={**viewing, "startup_delay_ms": {"median": wait}})
            for kind, wait in zip(kinds, waits, strict=True)
        ]
        return " ".join(answer(results, {KIND: kinds}, {"goals": goals}).sentences)

    said = found(2300.0, 900.0, 12_400.0)
    assert (
        "is no stall, and not judged: no limit is usual, " in said and "2012). It is 0.9 s with codel" in said
    )
    assert "2.3 s with fifo and 12 s with pie (the longest), on average of all that was run." in said
    assert "It is 0.9 s with codel and 2.3 s with fifo, on" in found(2300.0, 900.0)
    assert "It is at least 2.3 s on average." in found(2300.0, bounded=("startup_delay_ms.median",))
    # What reads alike is not told apart.
    assert "It is 2.6 s with each, on average" in found(2575.0, 2598.0)
    judged = found(2300.0, 900.0, goals=[{"value": "adaptive.startup_delay_ms.median", "at-most": 2000}])
    assert "no limit is usual" not in judged and "wait for the first picture" in judged


def test_ticks_that_come_late_are_no_packet_loss() -> None:
    results = [one({KIND: kind}, gaming={"late": {"mean": 0.3}}) for kind in ("fifo", "codel")]
    plot = gather(Spec("lines", "gaming.late.mean", x=KIND), results, {KIND: ["fifo", "codel"]})
    assert how_to_read(plot).startswith("The share lost or too late (online game) in % over")
    assert "congestion control" not in what_is_good(plot) and "5 %" in what_is_good(plot)


def test_a_mean_lies_in_its_interval_also_beyond_the_range() -> None:
    low, high = Sample((1.001, 1.002, 1.003), 0.0, 1.0).interval() or (0, 0)
    assert low < 1.002 == high


@pytest.mark.parametrize(("size", "words"), [("10GB", "10 GB"), ("20MB", "20 MB"), ("15kB", "15 kB")])
def test_large_buffers_have_no_exponent(size: str, words: str) -> None:
    link = {"rate": "100Gbit", "queue": {"kind": "fifo", "limit": size}}
    document = {"name": "x", "duration": "1s", "path": {"rtt": "1s", "down": link, "up": link}}
    assert f"bytes, {words}," in configured({"document": document, "study": "x"}, {})[0].words


def test_a_figure_of_nothing_says_so() -> None:
    text = "nothing was seen of 'links.down.queue_delay_cdf' in any result"
    with pytest.raises(Exception, match=text):
        gather(Spec("curves", "links.down.queue_delay_cdf"), [silent(one({}))], {})


@pytest.mark.parametrize(
    ("last", "head"), [("64pkt", "Downlink buffer (packets)"), ("64kB", "Downlink buffer")]
)
def test_the_heading_names_the_unit_that_the_choices_share(last: str, head: str) -> None:
    found = study(LIMIT, {"8pkt": voice(4.2), last: voice(3.0)}, 1)
    assert answer(found, {LIMIT: ["8pkt", last]}).cells.head == head


def test_a_rate_below_what_came_through_is_not_called_used() -> None:
    link = {"arrived_pkts": 9, "dropped_pkts": 0, "loss": 0.0, "utilisation": 9.0, "rate_bps": 1e6}
    result = {"links": {"down": link}, "losses": {"down": {"utilisation": {"throughput_bps": 9e6}}}}
    assert captured(result, None).sentences[1:] == [  # type: ignore[arg-type]
        "9 Mbit/s came out of the queue, more than the 1 Mbit/s that were given as its rate: that is not the "
        "rate of this link, and its utilisation means nothing."
    ]
    link |= {"utilisation": 0.9, "rate_bps": 1e7}
    assert captured(result, None).sentences[1:] == [  # type: ignore[arg-type]
        "Of the 10 Mbit/s that were given as its rate, 90.0 % were used."
    ]


def test_without_users_none_is_said_to_tell_choices_apart() -> None:
    results = [
        one({KIND: kind}, at, delay) for at in range(3) for kind, delay in (("fifo", 5.0), ("codel", 3.0))
    ]
    said = " ".join(answer(results, {KIND: ["fifo", "codel"]}).sentences)
    assert ". It cannot be told from fifo by the goals; its queueing delay decides: 3 ms" in said


def test_runs_in_which_nobody_finished_leave_in_doubt_what_the_others_keep() -> None:
    document = {"repeat": "auto", "repeat-at-most": 12}
    found = compare({"fifo": [voice(4.2), {}, voice(4.2)], "codel": [voice(4.2)] * 3}, document=document)
    fifo, codel = (found.verdicts["", kind] for kind in ("fifo", "codel"))
    assert (fifo.word, codel.word) == ("close", "yes")
    assert fifo.weakest.more == "1 of 3 replications have no number, so a longer run may tell"
    first = found.as_json()["verdicts"][0]["goals"][0]
    assert (first["lacking"], first["settled_by"]) == (1, None)
    assert (
        "In 1 of 2 cells some replications have no number for “voice, the user talks, median MOS” and 3 "
        "more; means there are of the others alone."
    ) in found.sentences
    assert "some runs have no number, or too few loads that had ended, which longer runs tell" in found.rounds
    # A goal that is missed is missed, and one that only more runs can tell waits for them.
    bad = compare({"fifo": [voice(2.0), {}, voice(2.0)], "codel": [voice(4.2)] * 3})
    assert bad.verdicts["", "fifo"].word == "no"
    few = compare({"fifo": [voice(4.2), {}], "codel": [voice(4.2)] * 2}).verdicts["", "fifo"]
    assert few.word == "close" and few.weakest.more.startswith("1 of 2 replications have no number")
    assert not few.of_length and fifo.of_length


def test_who_never_saw_a_picture_is_not_shown_as_one_without_stalls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def viewer(play_s: float | None) -> dict[str, Any]:
        clients = {"clients": [{"play_s": play_s}], "stalls": 0, "stall_s": 0.0, "clients_stalled_pct": 0.0}
        return {"adaptive": clients, "engine": {"version": "0", "build": "0"}}

    results = [one({KIND: "fifo"}, **viewer(None)), one({KIND: "codel"}, **viewer(1.5))]
    axes = {KIND: ["fifo", "codel"]}
    plot = gather(Spec("heatmap", "adaptive.clients_stalled_pct"), results, axes)
    assert plot.frame["x"].to_list() == ["codel"]
    with pytest.raises(Exception, match=r"nothing was seen of 'adaptive.stalls' in any result"):
        gather(Spec("heatmap", "adaptive.stalls"), results[:1], axes)
    print_table(open_results(write_results(tmp_path / "r", results, [])))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    cells = {row[1]: row[-4:] for row in rows if len(row) > 1 and row[1] in axes[KIND]}
    assert cells["fifo"].count("–") == 1 and "–" not in cells["codel"]


def test_show_has_a_column_for_players(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heads = {"gaming": {"late": {"mean": 0.3}}, "responsiveness": {"rpm": {"median": 700.0}}}
    results = [one({KIND: "fifo"}, **heads, engine={"version": "0", "build": "0"})]
    print_table(open_results(write_results(tmp_path / "r", results, [])))
    said = capsys.readouterr().out
    assert "game late" in said and "30.0 %" in said and "RPM" in said and "700" in said


def test_show_writes_large_numbers_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adaptive = {"average_rate_kbps": 16800.0, "stalls": 3}
    results = [one({KIND: "fifo"}, adaptive=adaptive, engine={"version": "0", "build": "0"})]
    print_table(open_results(write_results(tmp_path / "r", results, [])))
    said = capsys.readouterr().out
    assert " 16 800 " in said and "e+" not in said


def test_a_loss_above_all_that_came_is_explained() -> None:
    def loss(share: float) -> str:
        results = [one({KIND: "fifo"})]
        results[0]["links"]["down"]["loss"] = share
        return what_is_good(gather(Spec("heatmap", "links.down.loss"), results, {KIND: ["fifo"]}))

    assert "had come before the warm-up was over" in loss(6.3)
    assert "warm-up" not in loss(1.0)


GROUP = {"transport": "cubic", "direction": "down", "base_rtt_ms": 40.0, "flows": 2, "loss": 0.1}


def test_replications_that_are_the_same_run_tell_nothing_of_chance() -> None:
    auto = {"repeat": "auto", "duration": "20s"}

    def said(events: list[int], kinds: tuple[str, ...] = ("fifo", "codel"), document: Any = None) -> Answer:
        results = [
            one({KIND: kind}, number) | {"engine": {"events": count, "wall_s": float(number)}}
            for kind in kinds
            for number, count in enumerate(events)
        ]
        return answer(results, {KIND: list(kinds)}, document)

    same, drawn = said([9, 9, 9]), said([7, 8, 9])
    assert same.sentences[1] == (
        "The replications of each cell are the same run, to the byte, as where nothing is drawn by lot: they "
        "count as one. So chance cannot be told from effect there, no verdict on them is certain, and more "
        "replications tell no more."
    )
    assert not any("repeat = 3" in sentence for sentence in same.sentences)
    assert not same.as_json()["certain"] and drawn.as_json()["certain"]
    assert not any("the same run" in sentence for sentence in drawn.sentences)
    assert not said([9, 9, 9], document=auto).rounds and said([7, 8, 9], document=auto).rounds
    # Nor do tables show how wide chance is, on the page and by `show`.
    for events, interval in (([9, 9], False), ([8, 9], True)):
        results = [
            one({KIND: "fifo"}, number) | {"engine": {"events": count}, "groups": {"long": GROUP}}
            for number, count in enumerate(events)
        ]
        [row] = points_table(results, {KIND: ["fifo"]}, {}).rows
        assert row[1].text == "2" and any("±" in entry.text for entry in row) is interval
        [group] = group_rows(results)
        assert ("±" in group.text("loss", 1.0)) is interval
    # It is said of a study without a choice of queues, too, and of no runs that differ.
    assert any("the same run" in sentence for sentence in said([9, 9], ("fifo",)).sentences)
    assert not said([9, 8]).sentences[1].startswith("The replications")
