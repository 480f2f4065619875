"""What a study without figures shows: kinds that follow the axes, every score, panels that share axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sojourn.report import write_report
from sojourn.report.figures import KINDS, draw, labels_of
from sojourn.report.figures.default import default_figures, score_paths
from sojourn.report.figures.plot import Plot
from sojourn.report.figures.values import numbers_of
from sojourn.results.path import look_up
from test_figures import AXES, LIMIT, LIMITS, sweep, write_results

CDF = {"ms": [0.0, 4.0, 90.0], "share": [0.0, 0.5, 1.0]}


def results_of(axes: dict[str, tuple[str, ...]], repeat: int = 2) -> list[dict[str, Any]]:
    found = sweep(axes, repeat)
    for one in found:
        for link in one["links"].values():
            link["queue_delay_cdf"] = CDF
        del one["losses"]
    return found


def figures(axes: dict[str, tuple[str, ...]], places: Any = None) -> dict[str, Plot]:
    results = results_of(axes)
    plots, left_out = default_figures(results, labels_of(one["point"] for one in results), places)
    assert not left_out
    return {plot.title: plot for plot in plots}


@pytest.mark.parametrize(
    ("axes", "kind", "x", "y", "panels"),
    [
        ({LIMIT: LIMITS}, "lines", LIMIT, "", 1),
        ({"path.down.queue": ("fifo", "codel")}, "lines", "path.down.queue", "", 1),
        (AXES, "lines", LIMIT, "workload", 1),
        ({"path.down.queue": ("fifo", "codel"), "workload": ("none", "some", "all")}, "heatmap", "workload",
         "path.down.queue", 1),
        ({**AXES, "flows.0.count": ("2", "4")}, "lines", LIMIT, "workload", 2),
        ({**AXES, "workload": tuple(f"load-{n}" for n in range(9))}, "heatmap", LIMIT, "workload", 1),
        ({**AXES, "path.rtt": ("20ms",)}, "lines", LIMIT, "workload", 1),
    ],
)  # fmt: skip
def test_the_kind_follows_the_axes(axes: Any, kind: str, x: str, y: str, panels: int) -> None:
    plots = figures(axes)
    single = plots["Web pages: median MOS"]
    assert (single.spec.kind, single.x, single.y, len(single.panels)) == (kind, x, y, panels)
    cdf = plots["Distribution of the queueing delay"]
    assert cdf.spec.kind == "curves"
    assert cdf.y == x, "the axis across has a curve for each of its labels"


def test_without_axes_there_are_distributions_and_the_table() -> None:
    assert list(figures({})) == ["Distribution of the queueing delay"]
    assert figures({})["Distribution of the queueing delay"].panels == ["Downlink", "Uplink"]


def test_every_user_s_score_delay_loss_and_utilisation_are_there() -> None:
    results = results_of(AXES)
    titles = list(figures(AXES))
    assert titles == [
        "Voice: median MOS",
        "Web pages: median MOS",
        "Median page load time",
        "Video: median SSIM",
        "Adaptive video: average rate",
        "Adaptive video: clients that stalled",
        "Adaptive video: instability",
        "Utilisation",
        "Loss",
        "Queueing delay, 95th percentile",
        "Distribution of the queueing delay",
    ]
    assert set(score_paths(results)) >= {"voice.talks.mos.median", "web.plt_s.median", "video.ssim.median"}
    for one in results:
        one["adaptive"]["clients_stalled_pct"] = 0
        del one["voice"], one["web"], one["video"]
    plots, _ = default_figures(results, labels_of(one["point"] for one in results))
    shown = [plot.title for plot in plots]
    assert "Adaptive video: clients that stalled" in shown, "nothing but zeros is a finding"
    assert not any(title.startswith(("Voice", "Web", "Video")) for title in shown)


def test_small_multiples_hold_what_each_result_holds_side_by_side() -> None:
    axes = {**AXES, "flows.0.count": ("2", "4")}
    plot = figures(axes)["Utilisation"]
    assert plot.panels == ["Downlink, Number 2", "Uplink, Number 2", "Downlink, Number 4", "Uplink, Number 4"]
    assert plot.value.path == "links.*.utilisation"
    for one in results_of(axes, 1):
        point = one["point"]
        for link in ("down", "up"):
            panel = f"{link.capitalize()}link, Number {point['flows.0.count']}"
            cell = plot.rows(panel)[point["workload"], point[LIMIT]]
            assert cell["value"] == pytest.approx(look_up(one, f"links.{link}.utilisation"))
    drawn = draw(plot).axes
    assert len({axes.get_ylim() for axes in drawn}) == len({axes.get_xlim() for axes in drawn}) == 1
    columns = KINDS["lines"].csv(plot).columns
    assert {"panel", "workload", LIMIT, "links.*.utilisation"} <= set(columns)


def test_limits_of_several_units_stand_where_they_are_and_are_not_read_by_their_digits() -> None:
    axes = {LIMIT: ("8pkt", "64pkt", "2BDP", "200ms")}
    stand = {"8pkt": 8.0, "64pkt": 64.0, "2BDP": 133.0, "200ms": 266.0}
    plot = figures(axes, lambda axis: (stand, "packets of 1500 B") if axis == LIMIT else None)["Utilisation"]
    line = draw(plot).axes[0].get_lines()[0]
    assert list(line.get_xdata()) == [8.0, 64.0, 133.0, 266.0]
    names = draw(figures(axes)["Utilisation"]).axes[0].get_lines()[0]
    assert list(names.get_xdata()) == [0, 1, 2, 3], "2BDP does not stand to the left of 8pkt"
    assert names.get_linestyle() == "None", "and nothing is drawn between names"


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["8pkt", "64pkt"], [8, 64]),
        (["10ms", "1s"], [10, 1000]),
        (["500kbit", "2Mbit"], [5e5, 2e6]),
        (["1", "2.5"], [1, 2.5]),
        (["8pkt", "2BDP"], None),
        (["8pkt", "96kB"], None),
        (["8pkt", "200ms"], None),
        (["8", "8pkt"], None),
        (["none", "8"], None),
        (["1s", "1000ms"], None),
    ],
)
def test_labels_are_numbers_only_on_one_scale(labels: list[str], numbers: list[float] | None) -> None:
    assert numbers_of(labels) == numbers


def test_a_figure_that_cannot_be_made_costs_only_itself() -> None:
    results = results_of(AXES)
    for one in results:
        one["web"]["mos"]["median"] = "none"
    plots, left_out = default_figures(results, labels_of(one["point"] for one in results))
    assert "Web pages: median MOS" not in [plot.title for plot in plots]
    assert len(plots) == 10
    assert len(left_out) == 1
    assert left_out[0].startswith("“Web pages: median MOS” is not drawn: ")


def test_access_links_stand_beside_those_of_the_path() -> None:
    results = results_of({LIMIT: LIMITS})
    for one in results:
        one["links"]["long.access"] = one["links"]["down"]
    plots, left_out = default_figures(results, labels_of(one["point"] for one in results))
    assert not left_out
    [delay] = [plot for plot in plots if plot.title == "Queueing delay, 95th percentile"]
    assert delay.panels == ["Downlink", "Uplink", "Long access links"]
    assert delay.value.path == "links.*.queue_delay_ms.p95", "names of access links have a dot more"


def test_more_panels_than_a_page_takes_become_figures_of_their_own() -> None:
    axes = {**AXES, "flows.0.count": tuple("12345"), "seed": tuple("1234567")}
    results = results_of(axes, 1)
    plots, left_out = default_figures(results, labels_of(one["point"] for one in results))
    assert all(len(plot.panels) <= 24 for plot in plots)
    assert {"Utilisation, downlink", "Utilisation, uplink"} <= {plot.title for plot in plots}
    # A curve for each label of one axis needs more panels than there are; the report says so.
    assert [clause.partition("”")[0] for clause in left_out] == ["“Distribution of the queueing delay"] * 2


@pytest.mark.usefixtures("svg_only")
def test_the_page_of_a_study_without_figures_shows_them(tmp_path: Path) -> None:
    results = results_of({LIMIT: LIMITS}, 1)
    for one in results:
        del one["video"], one["web"], one["adaptive"]
    done = write_results(tmp_path / "done", results, [])
    page = write_report(done).read_text()
    for said in ("Distribution of the queueing delay", "Voice: median MOS", "one panel for each link"):
        assert said in page, said
    assert list((done / "figures").glob("*-curves-links-queue-delay-cdf.csv"))
