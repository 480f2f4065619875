"""Published tables: each published cell is found by the cell of a study that is the same, and no other."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
from sojourn.errors import SojournError
from sojourn.report.figures import Spec, gather, labels_of
from sojourn.report.published import beside, compare, factor_of, load
from sojourn.study import Study, library
from test_figures import LIMIT, result

TABLES = Path(__file__).resolve().parent.parent / "studies" / "published"
LINK = {"uplink": "links.up", "downlink": "links.down"}
SIDE = {"user talks": "voice.talks", "user listens": "voice.listens"}
PLAYER = {"default": "gpac", "FESTIVE": "festive", "BBA-2": "bba2"}
QUEUE = {"ARED": "red", "PIE": "pie", "CoDel": "codel", "DropTail": "fifo"}
ALL_BDP = ("1BDP", "2BDP", "5BDP", "10BDP", "20BDP", "30BDP")


def access(row: dict[str, Any], activity: str | None = None) -> dict[str, str]:
    """Name the cell of the access study that a row is about."""
    activity = row.get("activity") or activity
    named = f"{row['workload']}-{activity}" if activity else row["workload"]
    workload = "none" if row["workload"] == "noBG" else named
    return {"workload": workload, LIMIT: f"{row['buffer_packets']}pkt"}


def region(text: str) -> tuple[str, ...]:
    """Name the queues of a study that lie in a region of a table."""
    return {"2-20xBDP": ALL_BDP[1:5], "any": ALL_BDP}.get(text, (text.replace("x", ""),))


# Table → for a row: the value path, the cells of a study, and `published-where`.
CELLS: dict[str, Any] = {
    "imc14-fig4-access-queueing-delay": lambda r: (f"{LINK[r['link']]}.occupancy_delay_ms", [access(r)], {}),
    "imc14-fig7b-voip-access-upload": lambda r: (f"{SIDE[r['direction']]}.mos.median", [access(r)], {}),
    "imc14-fig9a-video-access-download": lambda r: (
        "video.ssim.median",
        [{**access(r, "download"), "users.0.resolution": r["resolution"][:2].lower()}],
        {},
    ),
    "imc14-fig10a-web-access-download": lambda r: ("web.plt_s.median", [access(r)], {}),
    "imc14-fig11-web-backbone": lambda r: ("web.plt_s.median", [access(r)], {}),
    "imc14-table1-workloads": lambda r: (
        "flows.mean_concurrent",
        [{"workload": r["workload"] + (f"-{r['activity']}" if r["testbed"] == "access" else "")}],
        {},
    ),
    "imc14-table2-buffers": lambda r: (
        "links.down.queue_delay_ms.max", [{LIMIT: f"{r['buffer_packets']}pkt"}], {"testbed": r["testbed"]},
    ),
    "has-table2-stalls": lambda r: (
        "adaptive.stall_s",
        [{"users.0.algorithm": PLAYER[r["algorithm"]], "users.0.buffer": f"{r['client_buffer_s']}s",
          LIMIT: queue} for queue in region(r["queue_region"])],
        {},
    ),
    "has-table4a-festive-clients": lambda r: (
        f"adaptive.{r['metric'].removesuffix('_pct')}",
        [{"users.0.algorithm": "festive", "users.0.count": str(r["video_clients"]),
          LIMIT: r["queue"].replace("x", "")}],
        {},
    ),
    "has-table5-bba2-heterogeneous-rtt": lambda r: (
        "adaptive.unfairness",
        [{"users.0.algorithm": "bba2", LIMIT: f"{r['queue_in_bdp_of_20ms_client']}BDP"}],
        {},
    ),
    "aqm-target-delay": lambda r: (
        "links.down.queue_delay_ms.mean",
        [{"path.down.queue": QUEUE[r["aqm"]]}
         | ({"path.down.queue.target": f"{r['target_ms']}ms"} if r["target_ms"] else {})],
        {},
    ),
    "flows-table3-loads": lambda r: (
        "flows.mean_concurrent", [{"workload": r["load"].replace(" ", "-")}], {},
    ),
}  # fmt: skip


def test_every_table_is_cited_and_tested() -> None:
    tables = {file.stem for file in TABLES.glob("*.csv")}
    notes = tomllib.loads((TABLES / "citations.toml").read_text())
    assert tables == set(CELLS) == set(notes["tables"])
    for name, about in notes["tables"].items():
        assert notes["studies"][about["study"]]["citation"]
        load(f"published/{name}.csv")


def test_every_table_that_a_study_shows_has_an_entry_for_its_quantity_and_axes() -> None:
    shown = 0
    for file in sorted(TABLES.parent.glob("*.toml")):
        document = Study.load(file).document
        for figure in document.get("figures") or ():
            if "published" in figure:
                shown += 1
                table = load(figure["published"], [file.parent])
                column = figure.get("published-column")
                quantity = [each for each in table.quantities if each.path == figure["value"]]
                assert quantity and column in (None, quantity[0].column), f"{file.stem}: {figure['title']}"
                single = {axis for axis, labels in figure.get("only", {}).items() if len(labels) == 1}
                assert set(document["sweep"]) - single <= set(table.axes), f"{file.stem}: {figure['title']}"
    assert shown > 15


@pytest.mark.parametrize("name", sorted(CELLS))
def test_each_published_cell_is_matched_exactly_once(name: str) -> None:
    table = load(f"published/{name}.csv")
    rows = list(table.frame.with_row_index("row").iter_rows(named=True))
    every = [(row, *CELLS[name](row)) for row in rows]
    matched: Counter[int] = Counter()
    for path, where in {(path, tuple(where.items())) for _, path, _, where in every}:
        cells = [
            (row, cell)
            for row, p, some, w in every
            if (p, tuple(w.items())) == (path, where)
            for cell in some
        ]
        # Rows are numbered in the place of their values, so that the row that was found says which it is.
        column = next(each.column for each in table.quantities if each.path == path)
        numbered = table.frame.with_columns(pl.Series(column, range(len(rows)), dtype=pl.Float64))
        marked = replace(table, frame=numbered)
        found = compare(marked, path, [{"ours": 0.0, "point": cell} for _, cell in cells], dict(where))
        factor = 0.01 if path == "adaptive.utilisation" else 1.0  # the table has percent, results have shares
        for (row, cell), got in zip(cells, found.frame["published"], strict=True):
            assert got is not None, f"{cell} of {path} found nothing"
            assert got == pytest.approx(row["row"] * factor), f"{cell} of {path}"
        matched.update({row["row"]: 1 for row, _ in cells})
        if "links" not in path and name.startswith("imc14-fig"):
            assert found.unused == 0
    assert matched == Counter(range(len(rows)))


@pytest.mark.parametrize(
    "wrong", ["short-few-bidirectional", "short", "few", "long-few-download", "cubic", "2BDP"]
)
def test_a_cell_that_the_table_does_not_have_takes_no_row(wrong: str) -> None:
    table = load("published/imc14-fig7b-voip-access-upload.csv")
    cell = {"x": "", "y": "", "ours": 1.0, "point": {"workload": wrong, LIMIT: "8pkt"}}
    try:
        found = compare(table, "voice.talks.mos.median", [cell])
    except SojournError:
        pytest.fail("a cell of another study is simply not there")
    assert found.frame["published"].to_list() == [None]


def test_a_figure_beside_its_table() -> None:
    points = [
        {"workload": w, LIMIT: b} for w in ("none", "long-few-upload") for b in ("8pkt", "32pkt", "99pkt")
    ]
    results = [result(point, **{"voice.talks.mos.median": 3.0}) for point in points]
    spec = Spec.read(
        {
            "kind": "heatmap",
            "x": LIMIT,
            "y": "workload",
            "value": "voice.talks.mos.median",
            "published": "published/imc14-fig7b-voip-access-upload.csv",
            "published-where": {"direction": "user talks"},
        }
    )
    found = beside(gather(spec, results, labels_of(points)))
    rows = {(row["y"], row["x"]): row for row in found.frame.iter_rows(named=True)}
    assert found.frame.columns == ["panel", "x", "y", "ours", "published", "difference", "ratio"]
    assert rows["none", "8pkt"]["published"] == 4.2
    assert rows["long-few-upload", "32pkt"]["published"] == 2.7
    assert rows["long-few-upload", "32pkt"]["difference"] == pytest.approx(0.3)
    assert rows["long-few-upload", "32pkt"]["ratio"] == pytest.approx(3 / 2.7)
    assert rows["none", "99pkt"]["published"] is None
    assert found.both.height == 4
    assert found.unused == 26
    assert found.rank_correlation is None  # all of ours are alike


def test_units_are_brought_together() -> None:
    table = load("published/imc14-table1-workloads.csv")
    cell = {"ours": 0.98, "point": {"workload": "short-few-upload"}}
    for path, column, number in (
        ("links.up.utilisation", None, 0.989),
        ("links.up.loss", None, 0.347),
        ("links.up.utilisation_sd_1s", None, 0.007),
        ("links.up.utilisation", "util_up_sd", 0.007),
    ):
        found = compare(table, path, [cell], column=column)
        assert found.frame["published"].to_list() == pytest.approx([number])


@pytest.mark.parametrize(
    ("unit", "path", "factor"),
    [
        ("s", "links.up.queue_delay_ms.mean", 1000.0),
        ("ms", "web.plt_s.median", 0.001),
        ("s", "web.plt_s.median", 1.0),
        ("ms", "links.up.occupancy_delay_ms", 1.0),
        ("%", "links.up.loss", 0.01),
        ("%", "links.up.utilisation_sd_1s", 0.01),
        ("%", "adaptive.clients_stalled_pct", 1.0),
        ("kb/s", "flows.goodput_bps", 1e3),
        ("Mb/s", "flows.goodput_bps", 1e6),
        ("Mb/s", "adaptive.average_rate_kbps", 1e3),
        ("kb/s", "adaptive.average_rate_kbps", 1.0),
        ("", "voice.talks.mos.median", 1.0),
        ("", "links.up.queue_delay_ms.mean", 1.0),
    ],
)
def test_each_unit_is_brought_to_that_of_ours(unit: str, path: str, factor: float) -> None:
    assert factor_of(unit, path) == factor


def test_units_of_different_things_are_refused() -> None:
    with pytest.raises(SojournError, match=re.escape("numbers in % cannot be set beside web.plt_s.median")):
        factor_of("%", "web.plt_s.median")
    with pytest.raises(SojournError, match=r"in ms cannot be set beside links\.up\.loss, which has no"):
        factor_of("ms", "links.up.loss")
    assert factor_of("ms", "links.up.limit.ms") == 1
    assert factor_of("%", "links.up.loss") == 0.01, "a share"
    assert factor_of("pkt", "links.up.occupancy_pkts") == 1


def test_a_score_is_not_set_beside_a_time(tmp_path: Path) -> None:
    cells = [{"ours": 1.0, "point": {"workload": "none", LIMIT: "8pkt"}}]
    name = "published/imc14-fig7b-voip-access-upload.csv"
    with pytest.raises(SojournError, match=r"which has no unit, cannot be set beside web\.plt_s\.median"):
        compare(load(name), "web.plt_s.median", cells, {"direction": "user talks"})
    (tmp_path / "own.csv").write_text("workload,load_time\nnone,1.5\n")
    own = compare(load("own.csv", [tmp_path]), "web.plt_s.median", cells)
    assert own.frame["published"][0] == 1.5, "of one's own table nothing is declared"


@pytest.mark.parametrize(
    ("column", "path", "published"),
    [
        ("delay_s", "links.up.queue_delay_ms.mean", 30.0),
        ("delay_seconds", "links.up.queue_delay_ms.mean", 30.0),
        ("delay_ms", "links.up.queue_delay_ms.mean", 0.03),
        ("loss_pct", "links.up.loss", 0.0003),
        ("mos", "voice.talks.mos.median", 0.03),
        ("rate_mbps", "flows.goodput_bps", 30000.0),
    ],
)
def test_a_table_of_the_users_own_has_its_unit_in_the_name_of_its_column(
    tmp_path: Path, column: str, path: str, published: float
) -> None:
    (tmp_path / "mine.csv").write_text(f"workload,{column}\nlow,0.03\nhigh,7\n")
    [found] = compare(
        load("mine.csv", [tmp_path]), path, [{"ours": 1.0, "point": {"workload": "low"}}]
    ).frame["published"]
    assert found == pytest.approx(published)


def test_rank_correlation_agrees_with_scipy() -> None:
    from scipy import stats

    table = load("published/imc14-fig11-web-backbone.csv")
    cells = [
        {"ours": (i * 7 % 24) / 3, "point": access(row)}
        for i, row in enumerate(table.frame.iter_rows(named=True))
    ]
    found = compare(table, "web.plt_s.median", cells)
    ours, published = found.both["ours"].to_list(), found.both["published"].to_list()
    assert found.rank_correlation == pytest.approx(stats.spearmanr(ours, published).statistic)
    assert found.median_difference == pytest.approx(
        sorted(abs(a - b) for a, b in zip(ours, published, strict=True))[11:13][0], abs=0.2
    )


def test_a_table_of_the_users_own_is_found_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "mine.csv").write_text(
        "load,buffer_packets,loss_pct\nlow,8,1\nlow,16,2\nhigh,8,5\n"
    )
    table = load("published/mine.csv", [tmp_path])
    assert table.axes == {"load": "{load}", LIMIT: "{buffer_packets}pkt"}
    cells = [{"ours": 0.02, "point": {"load": "low", LIMIT: "16pkt"}}]
    assert compare(table, "links.up.loss", cells).frame["difference"].to_list() == pytest.approx([0.0])
    with pytest.raises(SojournError, match=re.escape('published-where = { buffer_packets = "8" }')):
        compare(table, "links.up.loss", [{"ours": 0.02, "point": {"load": "low"}}])


def test_a_table_of_the_users_own_may_have_an_entry_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("who,much\nhome user,3\n")
    (tmp_path / "citations.toml").write_text(
        "[tables.mine]\naxes = { workload = '{who}' }\nlabels = { 'home user' = 'home' }\n"
        "values = [{ path = 'links.up.queue_delay_ms.mean', column = 'much', unit = 's' }]\n"
    )
    table = load("mine.csv", [tmp_path])
    [entry] = table.entries("links.up.queue_delay_ms.mean")
    assert (dict(entry.labels), entry.number) == ({"workload": ("home",)}, 3000.0)
    (tmp_path / "citations.toml").write_text(
        "[tables.mine]\naxes = { workload = '{whom}' }\nvalues = [{ column = 'much' }]\n"
    )
    with pytest.raises(SojournError, match=r"names 'whom', which mine\.csv does not have"):
        load("mine.csv", [tmp_path])


def test_an_axis_that_the_table_does_not_know_must_be_settled() -> None:
    table = load("published/imc14-fig11-web-backbone.csv")
    cells = [
        {"ours": 1.0, "point": {"workload": "long", LIMIT: "8pkt", "path.rtt": rtt}}
        for rtt in ("60ms", "9ms")
    ]
    with pytest.raises(SojournError, match=r"says nothing of path\.rtt; choose one of its labels"):
        compare(table, "web.plt_s.median", cells)
    assert compare(table, "web.plt_s.median", cells[:1]).frame["published"].to_list() == [5.0]


def test_another_player_takes_no_row_of_a_table_of_festive() -> None:
    table = load("published/has-table4a-festive-clients.csv")
    point = {"users.0.count": "2", LIMIT: "1BDP"}
    for player, published in (("festive", 0.06), ("bba2", None)):
        cells = [{"ours": 1.0, "point": {**point, "users.0.algorithm": player}}]
        assert compare(table, "adaptive.instability", cells).frame["published"].to_list() == [published]


def test_a_table_that_cannot_be_used_says_why() -> None:
    with pytest.raises(SojournError, match="is not there"):
        load("published/none.csv")
    table = load("published/imc14-fig11-web-backbone.csv")
    with pytest.raises(SojournError, match="no column of numbers 'workload'"):
        table.entries("web.plt_s.median", "workload")


def test_published_where_is_checked() -> None:
    table = load("published/imc14-fig11-web-backbone.csv")
    with pytest.raises(SojournError, match="does not have"):
        compare(table, "web.plt_s.median", [], {"direction": "up"})
    with pytest.raises(SojournError, match="no row with workload = idle"):
        compare(table, "web.plt_s.median", [], {"workload": "idle"})


def test_a_table_that_is_not_there_is_said_before_anything_runs_and_beside_the_page(sojourn: Command) -> None:
    table = "published/imc14-fig7b-voip-access-uploads.csv"
    text = """name = "m"
duration = "2s"
path = { rtt = "40ms", queue = { kind = "codel" }, down = { rate = "2Mbit" }, up = { rate = "1Mbit" } }
[sweep]
"path.down.queue.limit" = ["8pkt", "9pkt"]
[[figures]]
kind = "lines"
x = "path.down.queue.limit"
value = "links.down.rate_bps"
"""
    said = (
        f"the published table {table} is not there; expected it beside the study file; "
        "did you mean published/imc14-fig7b-voip-access-upload.csv?"
    )
    (sojourn.cwd / "m.toml").write_text(f'{text}published = "{table}"\n')
    assert f"m.toml: figure 1 (lines): {said}" in sojourn("run", "m.toml", code=2).stderr
    assert not (sojourn.cwd / "results").exists()
    mine = sojourn.cwd / "published" / Path(table).name
    mine.parent.mkdir()
    mine.write_text("path.down.queue.limit,rate_bps\n8pkt,2e6\n")
    sojourn("run", "m.toml")
    assert not sojourn("report", "results/m").stderr
    mine.unlink()
    assert said in sojourn("report", "results/m").stderr


def test_tables_are_found_where_the_package_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A wheel has no folder `studies` above it: the tables lie below the studies that ship with the package.
    shipped = tmp_path / "published" / "mine.csv"
    shipped.parent.mkdir()
    shipped.write_text("workload,delay_ms\nnone,1\n")
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    assert library.table("published/mine.csv") == shipped
    with pytest.raises(SojournError, match="is not there"):
        library.table("published/has-table2-stalls.csv")
