"""Groups of flows: their table, harm, matrices, and sawtooths of what was sampled."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from sojourn import Results, _core, run
from sojourn.errors import SojournError
from sojourn.report import write_report
from sojourn.report.figures import Spec, draw, gather, labels_of
from sojourn.report.figures.harm import harm
from sojourn.report.figures.values import value
from sojourn.report.groups import group_table, replays
from sojourn.report.sawtooth import lost_series, with_sawtooth
from sojourn.results import open_results
from sojourn.results.groups import group_rows
from sojourn.results.path import look_up

STUDY = """
name = "pair"
duration = "6s"
warmup = "2s"
repeat = 2
[path]
rtt = "20ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "20pkt" } }
up = { rate = "8Mbit", queue = { kind = "fifo", limit = "100pkt" } }
[record]
series = true
series-step = "20ms"
[[flows]]
name = "a.cubic"
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
count = 2
[[flows]]
source = { kind = "cbr", rate = "500kbit", size = "500B" }
transport = "udp"
direction = "down"
[workload]
rival = [{ name = "rival", source = { kind = "bulk" }, transport = "bbr", direction = "down" }]
[sweep]
workload = ["none", "rival"]
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("pair")
    (folder / "pair.toml").write_text(STUDY)
    return run(folder / "pair.toml", out=folder / "out", jobs=1)


def result(workload: str, replication: int = 0, **numbers: float) -> dict[str, Any]:
    group = {"transport": "cubic", "direction": "down", "base_rtt_ms": 20.0, "flows": 2, **numbers}
    return {"point": {"workload": workload}, "replication": replication, "groups": {"a": group}}


def test_results_have_groups_in_study_order_and_their_numbers_are_columns(pair: Results) -> None:
    alone, beside = (list(pair)[place]["groups"] for place in (0, 2))
    assert list(alone) == ["a.cubic", "udp-down-20ms"]
    assert list(beside) == ["a.cubic", "udp-down-20ms", "rival"]
    columns = pair.table().columns
    assert {"groups.a.cubic.share", "groups.rival.rtt_ms.p95", "fairness.down.jain"} <= set(columns)
    found = list(pair)[2]
    assert look_up(found, "groups.a.cubic.share") == found["groups"]["a.cubic"]["share"]
    assert look_up(found, "groups.a.cubic.rtt_ms.mean") > 20.0
    assert look_up(found, "groups.a.cubic") is not None and look_up(found, "groups.a") is None


def test_a_study_with_a_series_gives_the_same_result_as_one_without(pair: Results, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(STUDY.replace('[record]\nseries = true\nseries-step = "20ms"\n', ""))
    plain = run(tmp_path / "plain.toml", out=tmp_path / "plain", jobs=1)
    parts = ("links", "flows", "groups", "fairness")
    for with_series, without in zip(pair, plain, strict=True):
        assert [with_series[part] for part in parts] == [without[part] for part in parts]
    with pytest.raises(SojournError, match=r"no series: set record\.series"):
        plain.series(next(plain.items())[0])


def test_samples_are_on_the_grid_and_integrate_to_what_the_result_says(pair: Results) -> None:
    point, found = list(pair.items())[2]
    flows, queues = pair.series(point), pair.queues(point)
    step = 20_000_000
    assert queues["time_ns"].unique().sort().to_list() == [step * n for n in range(1, 301)]
    assert queues["link"].unique().sort().to_list() == ["down", "up"]
    assert flows["group"].unique(maintain_order=True).cast(pl.String).sort().to_list() == [
        "a.cubic",
        "rival",
        "udp-down-20ms",
    ]
    assert flows.filter(group="a.cubic")["number"].unique().sort().to_list() == [0, 1]
    measured = flows.filter(pl.col("time_ns") > 2_000_000_000)
    for name, group in found["groups"].items():
        rate = measured.filter(pl.col("group") == name)["rate_bps"].sum() / 200
        # A sender knows half a round trip later, and of what arrived out of order, too.
        assert rate == pytest.approx(
            group["goodput_bps"], rel=0.03 if group["transport"] != "udp" else 1e-6
        ), name
    udp = flows.filter(group="udp-down-20ms")
    assert udp["cwnd_pkts"].null_count() == udp["flow"].null_count() == udp.height
    assert flows.filter(group="rival")["pacing_bps"].drop_nulls().len() > 200
    assert measured.filter(group="a.cubic")["srtt_ns"].min() >= 20_000_000
    most = found["links"]["down"]["queue_delay_ms"]["max"]
    waiting = queues.filter(pl.col("link") == "down", pl.col("time_ns") > 2_000_000_000)[
        "backlog_bytes"
    ].max()
    assert 0 < waiting * 8 / 8e6 * 1e3 <= most + 2, "one packet more may be on the wire"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ('series-step = "20ms"', "needs series = true"),
        ('series = true\nseries-step = "0s"', "longer than zero"),
        ('series = true\nseries-step = "100us"', "write 1ms or more"),
    ],
)
def test_a_step_that_makes_no_series_is_refused(record: str, says: str) -> None:
    text = STUDY.replace('series = true\nseries-step = "20ms"', record)
    with pytest.raises(_core.StudyError, match=says):
        _core.parse(text, "pair.toml", [])


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        ('kind = "matrix"\nx = "workload"\nvalue = "fairness.down.jain"', "a matrix has an axis across"),
        ('kind = "box"\nvalue = "flows.goodput_bps"\nsolo = { queue = "none" }', "not an axis"),
        ('kind = "box"\nvalue = "flows.goodput_bps"\nsolo = { workload = "no" }', "not a label of the axis"),
        ('kind = "box"', "must name a value"),
    ],
)
def test_figures_that_cannot_be_drawn_are_refused_before_the_run(figure: str, says: str) -> None:
    with pytest.raises(_core.StudyError, match=says):
        _core.parse(f"{STUDY}\n[[figures]]\n{figure}\n", "pair.toml", [])


def test_a_sawtooth_without_series_is_refused_before_the_run() -> None:
    text = STUDY.replace("series = true", "series = false").replace('series-step = "20ms"', "")
    with pytest.raises(_core.StudyError, match="set series = true under"):
        _core.parse(text + '\n[[figures]]\nkind = "sawtooth"\n', "pair.toml", [])


def test_harm_is_that_of_its_source() -> None:
    goodput, rtt, loss = map(value, ("groups.a.goodput_bps", "groups.a.rtt_ms.mean", "groups.a.loss"))
    assert harm(goodput, 10.0, 4.0) == pytest.approx(0.6)
    assert harm(goodput, 10.0, 12.0) == pytest.approx(-0.2)
    assert harm(rtt, 20.0, 80.0) == pytest.approx(0.75)
    assert (harm(loss, 0.0, 0.02), harm(loss, 0.0, 0.0)) == (1.0, 0.0)
    assert harm(goodput, 0.0, 4.0) is None


def test_harm_is_set_against_the_solo_run_of_the_same_replication() -> None:
    results = [
        result("none", 0, goodput_bps=10.0),
        result("none", 1, goodput_bps=20.0),
        result("bbr", 0, goodput_bps=5.0),
        result("bbr", 1, goodput_bps=5.0),
    ]
    axes = labels_of(entry["point"] for entry in results)
    plot = gather(Spec("lines", "groups.a.goodput_bps", solo={"workload": "none"}), results, axes)
    row = plot.frame.row(0, named=True)
    assert plot.frame.height == 1 and row["n"] == 2 and row["value"] == pytest.approx((0.5 + 0.75) / 2)
    assert plot.value.title == "Harm to a: goodput (%)" and plot.value.text(0.5) == "50"
    with pytest.raises(SojournError, match="no run with workload = bbr"):
        only_solo = [entry for entry in results if entry["point"]["workload"] == "none"]
        gather(Spec("lines", "groups.a.goodput_bps", solo={"workload": "bbr"}), only_solo, axes)
    with pytest.raises(SojournError, match="more is better, or less"):
        gather(Spec("lines", "groups.a.share", solo={"workload": "none"}), results, axes)


def test_a_matrix_has_the_sufferer_in_rows_and_the_competitor_in_columns() -> None:
    results = [
        {**result(other, goodput_bps=number), "point": {"workload": other, "flows.0.transport": own}}
        for own, numbers in {"cubic": (8.0, 2.0), "bbr": (8.0, 6.0)}.items()
        for other, number in zip(("none", "reno"), numbers, strict=True)
    ]
    axes = labels_of(entry["point"] for entry in results)
    spec = Spec("matrix", "groups.a.goodput_bps", "workload", "flows.0.transport", solo={"workload": "none"})
    plot = gather(spec, results, axes)
    assert (plot.x_labels, plot.y_labels) == (["reno"], ["cubic", "bbr"])
    cells = {(row["y"], row["x"]): row["value"] for row in plot.frame.iter_rows(named=True)}
    assert cells == {("cubic", "reno"): 0.75, ("bbr", "reno"): 0.25}
    words = {text.get_text() for axes in draw(plot).axes for text in axes.texts}
    assert {"75", "25"} <= words


def test_values_of_groups_have_names_and_units() -> None:
    titles = {
        "groups.bbr.share": "bbr: share of the goodput (%)",
        "groups.a.b.rtt_ms.p95": "a.b: RTT, 95th percentile (ms)",
        "groups.bbr.goodput_per_flow_bps": "bbr: goodput of a flow (Mb/s)",
        "groups.bbr.reverse.loss": "bbr, against its data: loss (%)",
        "fairness.down.jain": "Flows down: Jain's index",
    }
    assert {path: value(path).title for path in titles} == titles


def test_the_table_of_groups_says_what_was_measured_and_no_more() -> None:
    def rows(*results: Mapping[str, Any]) -> list[str]:
        return [row.text("share", 100.0) for row in group_rows(results)]

    assert rows(result("x", share=0.25)) == ["25"]
    assert rows(result("x", share=0.0)) == ["0"]
    assert rows(result("x", share=None)) == ["–"]
    several = [result("x", n, share=0.5 + n / 100, timeouts=n % 2) for n in (-1, 0, 1)]
    assert rows(*several) == ["50.0 ± 2.5"]
    assert rows(result("x", 0, share=0.4), result("x", 1, share=0.6)) == ["50 (0 to 100)"], "not ± 127"
    assert next(group_rows(several)).text("timeouts", 1.0) == "0.67 (0.00 to 2.10)"
    assert [row.labels for row in group_rows([result("x"), result("y"), result("x", 1)])] == [("x",), ("y",)]
    one = {**result("x", jain=1.0)}
    one["groups"]["a"]["flows"] = 1
    assert next(group_rows([one])).text("jain", 1.0) == "–"
    empty = group_table([{"point": {}, "replication": 0}], {})
    assert not empty.rows
    single = group_table([result("x", share=0.5)], {"workload": ["x"]})
    assert single.heads[-2] == "count" and "a session or a recording is one" in single.says
    assert "recording has data" not in single.says
    both = group_table([result("x")], {"workload": ["x"]}, recorded=True)
    assert "A recording has data both ways: its goodput is that of both" in both.says
    assert "connections that the capture shows to be BBR's are sent by BBR, unless" in both.says
    assert "95 %" not in single.says and single.heads[-1] == "share (%)" and single.rows[0][-1] == "50"


def test_a_study_replays_where_one_of_its_groups_does() -> None:
    replayed, bulk = ({"source": {"kind": kind}} for kind in ("recorded", "bulk"))
    assert replays({"flows": [bulk, replayed]}) and replays({"workload": {"a": [bulk], "b": [replayed]}})
    for document in ({}, {"flows": [bulk]}, {"workload": "household-evening"}, {"workload": {"a": [bulk]}}):
        assert not replays(document)


def test_the_sawtooth_that_nobody_asked_for_shows_the_queues_at_the_middle_of_the_rest() -> None:
    there = [{"point": {}, "replication": 0, "series": {}}]
    axes = {"path.down.queue.limit": ["1pkt", "2pkt", "3pkt"], "path.down.queue": ["fifo", "pie"]}
    added = with_sawtooth([], there, axes)
    assert [entry["kind"] for entry in added] == ["sawtooth"]
    assert added[0]["only"] == {"path.down.queue.limit": ["2pkt"]}
    asked = [{"kind": "sawtooth"}]
    assert [entry["kind"] for entry in with_sawtooth(asked, there, axes)] == ["sawtooth"]
    assert with_sawtooth([], [{"point": {}, "replication": 0}], axes) == []


@pytest.mark.usefixtures("svg_only")
def test_the_page_has_the_groups_and_the_sawtooth(pair: Results, tmp_path: Path) -> None:
    page = write_report(pair.store.path, tmp_path / "page").read_text()
    for words in ("Groups of flows", "udp-down-20ms", "a.cubic", "Windows, rates and queue over time"):
        assert words in page
    figures = [file.stem for file in (tmp_path / "page" / "figures").glob("*-sawtooth-*.svg")]
    assert len(figures) == 1
    frame = pl.read_csv(tmp_path / "page" / "figures" / f"{figures[0]}.csv")
    assert frame["panel"].n_unique() == 2 and frame["cwnd_pkts"].max() > 10


@pytest.mark.usefixtures("svg_only")
def test_tables_over_time_that_are_gone_are_said_to_be(pair: Results, tmp_path: Path) -> None:
    assert lost_series(pair) == []
    shutil.copytree(pair.store.path, tmp_path / "here")
    here = open_results(tmp_path / "here")
    # Of the first replication, which alone is drawn.
    point = next(entry["hash"] for entry in here.record["points"] if not entry["replication"])
    files = sorted((tmp_path / "here" / "series").iterdir(), key=lambda file: point not in file.name)
    files[0].unlink()
    (said,) = lost_series(here)
    assert said.startswith("The tables over time of 1 point are not in ") and point[:10] in said
    assert said in write_report(tmp_path / "here", tmp_path / "page").read_text().replace("\xa0", " ")
    for file in files[1:]:
        file.unlink()
    assert lost_series(here)[0].startswith("The tables over time of all 2 points are not in ")
    # A point that is not there yet has no tables either, which is said elsewhere.
    here.store.remove_point(point)
    assert lost_series(open_results(tmp_path / "here"))[0].count(point[:10]) == 0


def test_show_prints_the_groups(pair: Results, sojourn: Command) -> None:
    text = sojourn("show", pair.store.path).stdout
    assert "groups of flows" in text and "rival" in text and "a.cubic" in text
    lines = sojourn("show", pair.store.path, "--json").stdout.splitlines()
    assert set(json.loads(lines[-1])["groups"]) == {"a.cubic", "udp-down-20ms", "rival"}
