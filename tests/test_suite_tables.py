"""What pages of suites say of rows whose numbers are known: tables, order, figures, links."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.cli import suite
from sojourn.report.sections import Table
from sojourn.report.suite import case_figures, drawn, markdown, pages, tables
from sojourn.report.suite.checks import Check
from sojourn.report.suite.rows import SCHEMA, _classes, _harmed, _numbers, _web
from sojourn.report.suite.view import View, views
from sojourn.study.suites import Expanded, Link, Preset, Suite, expand, read_schemes

SUITE = Suite.load("rfc7928")


def expanded(case: str, schemes: str = "fifo,codel", seeds: int = 2) -> Expanded:
    (found,) = SUITE.choose([case])
    return expand(found, Link.read("10Mbit/40ms"), read_schemes([schemes]), seeds, Preset())


def rows(*given: dict[str, Any], **more: Any) -> pl.DataFrame:
    """Rows of a table of a suite; what is not given is that of all traffic of FIFO's first run."""
    usual = {"case": "5.4", "weight": "MAY", "scheme": "fifo", "setting": "", "replication": 0, "at": "down"}
    usual |= {"class": "all", "phase": "", **more}
    return pl.DataFrame([{**dict.fromkeys(SCHEMA), **usual, **row} for row in given], schema=SCHEMA)


def view(case: str, table: pl.DataFrame, **more: Any) -> View:
    return View(expanded(case), table, more.pop("results", []), **more)


def test_a_loss_of_more_than_all_is_explained() -> None:
    assert tables.read_loss(rows({"loss": 1.0}, {"loss": 0.2}, {})) == ""
    assert tables.read_loss(rows({"loss": 1.3}, {"loss": 0.2}, {})).startswith(
        "More than 100 %: packets were"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([], "–"),
        ([None], "–"),
        ([1.2345], "1.23"),
        ([2.0, 2.0], "2 ± 0"),
        ([0.0, 0.0], "0 ± 0"),
        # t of one degree of freedom is 12.706.
        ([1.0, 2.0], "1.50 ± 6.35"),
        ([100.0, 100.001, 100.002], "100.00 ± 0.00"),
        ([0.01, 0.02, 0.03], "0.0200 ± 0.0248"),
        ([1000.0, 3000.0, 2000.0], "2000 ± 2484"),
        ([12345.6], "12346"),
    ],
)
def test_a_cell_is_a_mean_and_half_its_interval(values: list[float | None], said: str) -> None:
    assert tables.with_interval(pl.Series(values, dtype=pl.Float64)) == said


def test_times_to_converge_count_the_runs_that_never_did() -> None:
    def cell(times: list[float | None], watched: list[float | None]) -> pl.DataFrame:
        columns = {"delta_fair_s": pl.Float64, "watched_s": pl.Float64}
        return pl.DataFrame({"delta_fair_s": times, "watched_s": watched}, schema=columns)

    assert tables.converged(cell([None], [None])) == "–"
    assert tables.converged(cell([None, None], [50.0, 40.0])) == "not within 40 s in 2 runs"
    assert tables.converged(cell([None], [40.0])) == "not within 40 s in 1 run"
    assert tables.converged(cell([2.0, 2.0], [40.0, 40.0])) == "2 ± 0"
    assert tables.converged(cell([2.0, 4.0, None], [40.0] * 3)) == "3 in 2 runs, not within 40 s in 1"
    # A run that nobody watched is none that missed.
    assert tables.converged(cell([2.0, 2.0, None], [40.0, 40.0, None])) == "2 ± 0"


def test_the_table_of_numbers_has_its_units_and_a_row_for_each_scheme_and_class() -> None:
    one = {"goodput_bps": 4e6, "queue_delay_ms": 7.0, "queue_delay_p95_ms": 9.0, "loss": 0.25}
    table = rows(one, one | {"replication": 1}, one | {"scheme": "codel"}, one | {"phase": "rise"})
    found = tables.numbers(view("5.4", table))
    assert found.heads[:3] == ["Class", "Scheme", "Runs"]
    assert found.heads[3:] == [
        "Goodput (Mbit/s)", "Queueing delay (ms)", "95th percentile (ms)", "Loss (%)",
    ]  # fmt: skip
    assert found.rows == [
        ["all", "fifo", "2", "4 ± 0", "7 ± 0", "9 ± 0", "25 ± 0"],
        ["all", "codel", "1", "4", "7", "9", "25"],
    ]
    # With two settings or two links, these are columns too, and they tell cells apart.
    both = tables.numbers(view("5.4", pl.concat([table, rows(one, at="up", setting="rtt=5ms")])))
    assert both.heads[:5] == ["Setting", "At", "Class", "Scheme", "Runs"] and len(both.rows) == 3


def test_responses_harm_phases_and_completion_are_tables_where_there_are_any() -> None:
    plain = view("5.4", rows({"goodput_bps": 1e6}))
    made = (tables.response(plain), tables.harm(plain), tables.phases(plain), tables.completion(plain))
    assert made == (None, None, None, None)
    response = {"goodput_cov": 0.5, "largest_cut": 0.25, "largest_rise_bps": 2e6, "synchronisation": 0.75}
    found = tables.response(view("5.4", rows(response)))
    assert found is not None and found.rows == [["all", "fifo", "0.5", "25", "2", "75"]]
    found = tables.response(view("5.4", rows({"watched_s": 9.0, "delta_fair_s": 3.0}, {"scheme": "pie"})))
    assert found is not None and [row[1] for row in found.rows] == ["fifo"] and found.rows[0][-1] == "3"
    phases = [{"phase": name, "scheme": scheme, "loss": 0.5} for scheme in ("a", "b") for name in ("x", "w")]
    found = tables.phases(view("5.4", rows({"goodput_bps": 9.0}, *phases)))
    assert found is not None
    # By phase in their order in time, then by scheme.
    assert [row[:2] for row in found.rows] == [["x", "a"], ["x", "b"], ["w", "a"], ["w", "b"]]
    assert found.rows[0][2:] == ["–", "–", "50"]
    told = [{"completion_s": 2.0, "completed": 3}, {"completion_s": 2.0, "completed": 4, "replication": 1}]
    pages_of = [{"class": "web", "plt_median_s": 0.5, "completion_s": 9.0}]
    found = tables.completion(view("5.4", rows(*told, *pages_of)))
    assert found is not None and found.rows == [
        ["all", "fifo", "mean flow completion", "7", "2 ± 0"],
        ["web", "fifo", "median page load", "", "0.5"],
    ]


def with_solo(each: Expanded) -> Expanded:
    """Return a case in which a class is alone in one of its settings."""
    return replace(each, case=replace(each.case, solo="competitor=none"))


def test_rows_are_headed_by_all_that_names_them() -> None:
    one = {"goodput_bps": 1e6, "goodput_cov": 0.5, "completion_s": 2.0, "harm_goodput": 0.1, "completed": 3}
    few = view("5.4", rows(one, {"phase": "x"}))
    many = view("5.4", rows(one, one | {"at": "up"}, one | {"setting": "rtt=5ms"}, {"phase": "x"}))
    few, many = (replace(each, expanded=with_solo(each.expanded)) for each in (few, many))
    for table, more in (
        (tables.numbers, []), (tables.response, []), (tables.harm, []), (tables.completion, ["What"]),
    ):  # fmt: skip
        for each, heads in ((few, ["Class", "Scheme"]), (many, ["Setting", "At", "Class", "Scheme"])):
            found = table(each)
            assert found is not None and list(found.heads[: found.words]) == [*heads, *more]
    phases = tables.phases(many)
    assert phases is not None and phases.words == 2 == tables.parameters(few).words
    assert pages.scheme_table([expanded("5.4")]).words == 4 and pages.open_table(SUITE, []).words == 3
    checks = tables.check_table([Check("5.1", "l", "w", "fifo", "1", "2", True)])
    assert checks is not None and checks.words == len(checks.heads)


def test_harm_is_what_the_first_class_loses_beside_others() -> None:
    alone = {"class": "newreno", "setting": "competitor=none", "goodput_bps": 8e6, "queue_delay_ms": 10.0}
    beside = alone | {"setting": "competitor=utp", "goodput_bps": 6e6, "queue_delay_ms": 40.0}
    other = beside | {"class": "utp", "goodput_bps": 2e6}
    table = _harmed(rows(alone, beside, other, beside | {"scheme": "pie"}), "newreno", "competitor=none")
    assert table["harm_goodput"].to_list() == [None, 0.25, None, None]
    assert table["harm_delay"].to_list() == [None, 0.75, None, None]
    better = _harmed(rows(alone, beside | {"queue_delay_ms": 0.0}), "newreno", "competitor=none")
    assert better["harm_delay"].to_list() == [None, None]


def test_a_row_has_the_95th_percentile_and_only_classes_that_sent() -> None:
    assert _numbers({"queue_delay_ms_cdf": list(range(21)), "loss": 0.5, "other": 1}) == {
        "loss": 0.5, "queue_delay_p95_ms": 19,
    }  # fmt: skip
    assert _numbers({})["queue_delay_p95_ms"] is None
    groups = {"a": {"arrived_pkts": 3}, "b": {"arrived_pkts": 0}}
    assert [name for name, _ in _classes(["b", "a", "c"], {"all": {}, "groups": groups})] == ["all", "a"]
    browser = {"browser": {"plt_s": {"median": 2.0}}}
    assert _web(browser, "web") == {"plt_median_s": 2.0} and _web(browser, "bulk") == {} == _web({}, "web")


def test_rows_stand_in_the_order_of_settings_links_classes_and_schemes() -> None:
    each = expanded("6")
    keys = [("100ms", "category-1", "fifo"), ("5ms", "category-1", "codel"), ("5ms", "category-1", "fifo")]
    keys += [("5ms", "all", "codel")]
    table = rows(*({"setting": f"rtt={rtt}", "class": name, "scheme": scheme} for rtt, name, scheme in keys))
    result = {"point": {"path.down.queue": "fifo", "flows.category-2.rtt": "100ms"}}
    whole, *parts = views(each, table, [result])  # type: ignore[arg-type]
    ordered = whole.table.select("setting", "class", "scheme").rows()
    assert ordered == [(f"rtt={rtt}", name, scheme) for rtt, name, scheme in reversed(keys)]
    assert whole.settings == ["rtt=5ms", "rtt=100ms"] and len(parts) == 15
    part = next(part for part in parts if part.label == "100ms")
    assert (whole.name, whole.title, whole.page) == ("6", "Round-trip time fairness", "10Mbit-40ms/6.html")
    assert (part.name, part.title) == ("6-100ms", "Round-trip time fairness, rtt 100ms")
    assert part.page == "10Mbit-40ms/6-100ms.html" and part.settings == ["rtt=100ms"]
    assert len(part.results) == 1 and not parts[0].results and not parts[0].table.height
    assert part.document["flows"][-1].get("rtt") == "100ms"


def test_what_was_run_is_said_of_the_settings_that_a_page_shows() -> None:
    each = replace(expanded("6"), sets=(("duration", "9s"), ("warmup", "1s")))
    found = {row[0]: row[1] for row in tables.parameters(View(each, rows(), [{}] * 3, "100ms")).rows}
    assert found["Runs"] == "3 of 4" and found["Case"].startswith("6-100ms, ")
    assert found["Seeds"] == "2 of each cell: seed 1, replications 0 to 1"
    assert found["Changed by --set"] == "duration=9s, warmup=1s"
    assert found["Scheme codel"].startswith("codel: ") and "target 5ms" in found["Scheme codel"]
    assert found["Topology"].startswith("dumbbell, 10Mbit towards the receivers, 10Mbit back, where ")
    whole = [row for row in tables.parameters(View(each, rows(), [])).rows if row[0] == "Flows category-2"]
    assert len(whole) == 1 and "; so in rtt=5ms, others differ" in whole[0][1]
    one = {row[0]: row[1] for row in tables.parameters(View(expanded("5.4", seeds=1), rows(), [])).rows}
    assert one["Seeds"].endswith("replication 0") and one["Runs"] == "0 of 2"
    assert tables._plain({"kind": "codel", "ecn": True}) == "codel, ecn true"
    document = {"path": {"hop": [{"name": "l", "up": 1}, {"name": "m", "up": 2}]}}
    assert tables._at(document, "path.hop.m.up") == 2
    hops = [{"name": name, "down": {"rate": rate}} for name, rate in (("l", "1Mbit"), ("m", "2Mbit"))]
    assert tables._topology({"hop": hops}).endswith("from the clients: l 1Mbit, m 2Mbit")
    assert tables._rate({"rate": {"trace": "x"}}) == "a rate that varies"


def test_markdown_ends_no_cell_early() -> None:
    check = Check("5.1", "10Mbit", "a | b", "fifo", "1", "2", False, "why")
    loss = [("Loss", Table(["A"], [["x"]]))]
    text = markdown.markdown("T", ["one"], [("1Mbit/5ms", loss), ("L", loss)], [check], "run me")
    title, _, purpose, _, *begin = text.splitlines()[:10]
    assert (title, purpose) == ("# T", markdown.PURPOSE)
    links = "- here: [1Mbit/5ms](#1mbit5ms), [L](#l), [What must hold](#what-must-hold)"
    assert begin == ["- one", links, "", "```", "run me", "```"]
    assert "Loss:\n\n| A |\n| --- |\n| x |\n" in text
    assert text.endswith("| 5.1 | 10Mbit | fifo | a / b | 1 | 2 | does not hold: why |\n")
    assert "What must hold" not in markdown.markdown("T", [], [], [], "")


def test_the_overview_has_a_matrix_of_the_first_link_whose_cases_are_links() -> None:
    one = {"goodput_bps": 2e6, "queue_delay_ms": 5.0, "loss": 0.5}
    table = rows(
        one, one | {"at": "up", "loss": 0.0}, one | {"class": "x", "loss": 0.0}, one | {"phase": "p"}
    )
    six = rows(one | {"loss": 0.1}, case="6", setting="rtt=5ms", scheme="codel", weight="MUST")
    found = dict(pages.matrices_of([table, six]))
    assert list(found) == ["Mean queueing delay in ms", "Goodput in Mbit/s", "Loss in %"]
    assert found["Loss in %"].heads == ["Case", "Weight", "fifo", "codel"]
    assert found["Loss in %"].rows == [["5.4", "MAY", "50", "–"], ["6, rtt=5ms", "MUST", "–", "10"]]
    assert found["Goodput in Mbit/s"].rows[0][2] == "2"
    everything = [expanded("5.4"), expanded("6", seeds=1)]
    at = {("l", "5.4"): "l/5.4.html", ("l", "6"): "l/6.html", ("l", "6-5ms"): "l/6-5ms.html"}
    linked = [row[0] for row in pages._linked(found["Loss in %"], "l", everything, at).rows]
    assert linked == ['<a href="l/5.4.html">5.4</a>', '<a href="l/6-5ms.html">6, rtt=5ms</a>']
    del at["l", "6-5ms"]
    assert 'href="l/6.html"' in pages._linked(found["Loss in %"], "l", everything, at).rows[1][0]
    assert pages._short(everything) == "1 or 2 runs of each cell, seed 1"
    assert pages._short(everything[1:]) == "1 run of each cell, seed 1"
    assert pages._shown(everything[1:]) == "of the one run, so without an interval"
    assert pages._shown(everything) == "mean over runs ± half of the 95 % interval"
    assert pages._short(everything[:1]) == "2 runs of each cell, seed 1"


def test_schemes_and_what_is_left_open_have_tables() -> None:
    each = expanded("5.4", 'fifo,{ kind = "pie", limit = "9pkt", ecn = true }')
    assert pages.scheme_table([each, each]).rows == [
        ["fifo", "fifo", "defaults", "the case's buffer"],
        ["pie limit=9pkt ecn=true", "pie", "limit = 9pkt, ecn = True", "its own"],
    ]
    found = pages.open_table(SUITE, [each, each]).rows
    assert [row[0] for row in found] == ["all"] * len(SUITE.open) + ["5.4"] * len(each.case.open)
    assert tables.check_table([]) is None
    about = pages._about(Preset(), [replace(each, sets=(("a", "1"),))] * 2, "v")
    assert about[0] == "v" and about[1] == "schemes: fifo, pie limit=9pkt ecn=true"
    assert about[-1] == "changed in every case: a=1" and len(pages._about(Preset(), [each], "v")) == 4


def test_ellipses_are_of_classes_where_there_are_any_at_the_link_that_they_use() -> None:
    one = {"goodput_bps": 2e6, "queue_delay_ms": 5.0}
    table = rows(one, one | {"class": "x"}, one | {"class": "x", "scheme": "pie", "queue_delay_ms": None})
    assert case_figures._classes(table) == ["x"] and case_figures._classes(rows(one)) == ["all"]
    assert case_figures._points(table, ["x"]) == {"x": {"fifo": ([5.0], [2.0])}}
    hops = pl.concat([table, rows(one | {"class": "x", "at": "m"})])
    assert list(case_figures._points(hops, ["x"])) == ["x at down", "x at m"]
    both = rows(*({**one, "class": name, "at": at} for name in ("down", "up") for at in ("down", "up")))
    assert list(case_figures._points(both, ["down", "up"])) == ["down", "up"]


def result(scheme: str, **traffic: Any) -> dict[str, Any]:
    return {"point": {"path.down.queue": scheme}, "traffic": {"down": {"all": {}, "groups": {}, **traffic}}}


def test_distributions_are_means_over_runs_in_the_order_of_schemes() -> None:
    delays = [("codel", [3.0, 5.0]), ("fifo", [1.0, 2.0, 9.0]), ("fifo", [3.0, 4.0])]
    runs = [result(scheme, all={"queue_delay_ms_cdf": cdf}) for scheme, cdf in delays]
    runs.append(result("codel", all={"goodput_bps_cdf": [1e6, 2e6]}))
    runs.append(result("codel", groups={"ledbat": {"completion_s_cdf": [7.0]}}))
    found = case_figures._distributions(view("5.4", rows({}), results=runs))
    assert list(found) == [
        ("Queueing delay", "Queueing delay (ms)"),
        ("Goodput", "Goodput of samples (Mbit/s)"),
        ("Completion times: ledbat", "Flow completion time (s)"),
    ]
    first, second, third = found.values()
    assert list(first.items()) == [("fifo", [2.0, 3.0]), ("codel", [3.0, 5.0])]
    assert second == {"codel": [1.0, 2.0]} and third == {"codel": [7.0]}
    shares = [result("fifo", convergence={"share": [share], "step_s": 0.4}) for share in (0.2, 0.4)]
    found_shares, step = case_figures._shares(view("5.4", rows({}), results=shares))
    assert found_shares == {"fifo": [pytest.approx(0.3)]} and step == 0.4
    two = view("5.4", rows({}, {"setting": "rtt=5ms"}), results=shares)
    assert case_figures._shares(two)[0] == {}


def test_shares_begin_after_a_step_and_distributions_end_at_one() -> None:
    [axes] = drawn.shares({"fifo": [0.1, 0.5]}, 0.4, "Shares").axes
    assert axes.lines[0].get_xdata() == pytest.approx([0.4, 0.8])
    assert axes.patches[0].get_y() == pytest.approx(0.45)
    assert axes.patches[0].get_height() == pytest.approx(0.1)
    panels = {("A", "Delay (ms)"): {"fifo": [1, 2, 3]}, ("B", "Drop interval (ms)"): {"pie": [0, 1]}}
    first, second = (axes for axes in drawn.distributions(panels, "D").axes if axes.get_visible())
    assert first.lines[0].get_ydata().tolist() == [0, 0.5, 1] and first.get_ylim() == (0, 1)
    assert (first.get_xscale(), second.get_xscale()) == ("linear", "symlog")
    assert (first.get_title(loc="left"), second.get_xlabel()) == ("A", "Drop interval (ms)")
    # A scheme keeps its colour in a panel where another one is missing.
    assert first.lines[0].get_color() != second.lines[0].get_color()
    ratio, loss = drawn.over_axis(
        {"Ratio": {"fifo": [0.5, None]}, "Loss": {"fifo": [1.0, 2.0]}}, ["a", "b"], "x", ["r", "%"], "T", 1.0
    ).axes
    assert (ratio.get_yscale(), loss.get_yscale(), len(ratio.lines), len(loss.lines)) == (
        "log",
        "linear",
        2,
        1,
    )
    assert np.isnan(ratio.lines[0].get_ydata()[1]) and ratio.lines[1].get_ydata()[0] == 1.0


def test_many_schemes_share_the_look_of_their_discipline() -> None:
    few = drawn._looks({"": dict.fromkeys([f"codel target={n}ms" for n in range(8)])})
    assert [look.knob for look in few.values()] == [""] * 8 and len({str(each) for each in few.values()}) == 8
    names = [f"codel target={n}ms" for n in range(8)] + ["pie limit=9pkt"]
    many = drawn._looks({"": dict.fromkeys(names)})
    assert [(look.name, look.knob) for look in (many[names[0]], many[names[8]])] == [
        ("codel", "0ms"), ("pie", "9pkt"),
    ]  # fmt: skip
    assert many[names[0]].style == many[names[7]].style != many[names[8]].style
    for count, shape in ((1, (1, 1)), (2, (1, 2)), (5, (3, 2)), (7, (2, 4))):
        with drawn._panels(count, "T") as (figure, grid):
            spec = figure.axes[0].get_gridspec()
            assert (spec.nrows, spec.ncols) == shape and len(grid) == count
            assert [axes.get_visible() for axes in figure.axes].count(True) == count


def test_the_ratio_over_round_trips_is_the_second_class_s_to_the_first_s() -> None:
    settings = [f"rtt={rtt}ms" for rtt in (5, 10, 20, 30, 100)]
    each = [
        {"setting": setting, "class": name, "goodput_bps": goodput * 1e6, "queue_delay_ms": 1.0, "loss": 0.5}
        for setting in settings
        for name, goodput in (("category-1", 4.0), ("category-2", 2.0))
    ]
    drawn_over: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawn, "picture", lambda figure, slug, title: (figure, slug, title))
        drawn_over = [picture for picture, _ in case_figures.pictures(view("6", rows(*each, case="6")))]
    (figure, slug, _), (ellipses, _, _) = drawn_over
    assert slug == "case-6-ratio"
    assert [axes.lines[0].get_ydata()[0] for axes in figure.axes] == [0.5, 4.0, 2.0, 50.0]
    # The least, the middle and the largest, of both classes.
    assert [axes.get_title(loc="left") for axes in ellipses.axes] == [
        f"category-{n} at {rtt}ms" for rtt in (5, 20, 100) for n in (1, 2)
    ]


class Failing:
    """A campaign of three runs, of which two fail."""

    class study:
        name = "s"

    def __init__(self) -> None:
        self.todo, self.done = [1, 2, 3], {0}

    def prepare(self) -> None:
        pass

    def execute(self, workers: Any) -> Any:
        for error in ("no", None, "never"):
            yield SimpleNamespace(point="p", error=error)


def test_every_run_that_fails_is_counted_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "open_workers", lambda **options: nullcontext(SimpleNamespace(note=None)))
    nothing = Failing()
    nothing.todo = []
    assert suite._execute([Failing(), nothing, Failing()], 1, None) == 4  # type: ignore[list-item]
    *said, last = capsys.readouterr().err.splitlines()
    assert said == ["sojourn: s, p failed: no", "sojourn: s, p failed: never"] * 2
    assert last.endswith("3 were there already, 4 failed")
