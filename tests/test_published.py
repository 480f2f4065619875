"""Published tables: each published cell is found by the cell of a study that is the same, and no other."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sojourn.errors import SojournError
from sojourn.report.figures import Spec, gather, labels_of
from sojourn.report.published import beside, compare, load
from test_figures import LIMIT, result

TABLES = Path(__file__).resolve().parent.parent / "studies" / "published"
LINK = {"uplink": "links.up", "downlink": "links.down"}
SIDE = {"user talks": "voice.talks", "user listens": "voice.listens"}


def none(label: str) -> str:
    return "none" if label == "noBG" else label


def access(row: dict[str, Any]) -> dict[str, str]:
    """Name the cell of the access study that a row is about."""
    workload = none(row["workload"])
    if workload != "none" and row.get("activity"):
        workload += f"-{row['activity']}"
    return {"workload": workload, LIMIT: f"{row['buffer_packets']}pkt"}


def region(text: str) -> list[str]:
    """Name the queues of a study that lie in a region of a table."""
    return {"2-20xBDP": ["2BDP", "10BDP", "20BDP"], "any": ["1BDP", "30BDP"]}.get(
        text, [text.replace("x", "")]
    )


# Table → for a row: the value path, the cells of a study, and `published-where`.
CELLS: dict[str, Any] = {
    "imc14-fig4-access-queueing-delay": lambda r: (f"{LINK[r['link']]}.occupancy_delay_ms", [access(r)], {}),
    "imc14-fig7b-voip-access-upload": lambda r: (f"{SIDE[r['direction']]}.mos.median", [access(r)], {}),
    "imc14-fig9a-video-access-download": lambda r: (
        "video.ssim.median",
        [{**access(r), "workload": none(r["workload"]) + ("-download" * (r["workload"] != "noBG")),
          "users.0.resolution": r["resolution"][:2]}],
        {},
    ),
    "imc14-fig10a-web-access-download": lambda r: ("web.plt_s.median", [access(r)], {}),
    "imc14-fig11-web-backbone": lambda r: ("web.plt_s.median", [access(r)], {}),
    "imc14-table1-workloads": lambda r: (
        "flows.mean_concurrent",
        [{"workload": f"{r['workload']}-{r['activity']}"}],
        {"testbed": r["testbed"]},
    ),
    "imc14-table2-buffers": lambda r: (
        "links.down.queue_delay_ms.max", [{LIMIT: f"{r['buffer_packets']}pkt"}], {"testbed": r["testbed"]},
    ),
    "has-table2-stalls": lambda r: (
        "adaptive.stall_s",
        [{"users.0.algorithm": r["algorithm"], "users.0.buffer": f"{r['client_buffer_s']}s", LIMIT: queue}
         for queue in region(r["queue_region"])],
        {},
    ),
    "has-table4a-festive-clients": lambda r: (
        f"adaptive.{r['metric'].removesuffix('_pct')}",
        [{"users.0.count": str(r["video_clients"]), LIMIT: r["queue"].replace("x", "")}],
        {},
    ),
    "has-table5-bba2-heterogeneous-rtt": lambda r: (
        "adaptive.unfairness", [{"algorithm": "BBA-2", LIMIT: f"{r['queue_in_bdp_of_20ms_client']}BDP"}], {},
    ),
    "aqm-target-delay": lambda r: (
        "links.down.queue_delay_ms.mean",
        [{"path.down.queue.kind": r["aqm"].lower()}
         | ({"path.down.queue.target": f"{r['target_ms']}ms"} if r["target_ms"] else {})],
        {},
    ),
    "flows-table3-loads": lambda r: ("flows.mean_concurrent", [{"load": r["load"].replace(" ", "-")}], {}),
}  # fmt: skip


def test_every_table_is_cited_and_tested() -> None:
    tables = {file.stem for file in TABLES.glob("*.csv")}
    notes = tomllib.loads((TABLES / "citations.toml").read_text())
    assert tables == set(CELLS) == set(notes["tables"])
    for name, about in notes["tables"].items():
        assert notes["studies"][about["study"]]["citation"]
        columns = pl.read_csv(TABLES / f"{name}.csv").columns
        assert {*about["keys"], about["value"]} <= set(columns)


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
        numbered = table.frame.with_columns(pl.Series(table.column, range(len(rows)), dtype=pl.Float64))
        marked = type(table)(**{**vars(table), "frame": numbered})
        found = compare(
            marked, path, [{"x": "", "y": "", "ours": 0.0, "point": cell} for _, cell in cells], dict(where)
        )
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
    table = load("published/imc14-table1-workloads.csv", column="util_up_mean_pct")
    cell = {"x": "", "y": "", "ours": 0.98, "point": {"workload": "short-few-upload"}}
    found = compare(table, "links.up.utilisation", [cell], {"testbed": "access"})
    assert found.frame["published"].to_list() == pytest.approx([0.989])


def test_rank_correlation_agrees_with_scipy() -> None:
    from scipy import stats

    table = load("published/imc14-fig11-web-backbone.csv")
    cells = [
        {"x": "", "y": "", "ours": (i * 7 % 24) / 3, "point": access(row)}
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
    assert table.keys == ("load", "buffer_packets")
    cells = [{"x": "", "y": "", "ours": 0.02, "point": {"load": "low", LIMIT: "16pkt"}}]
    assert compare(table, "links.up.loss", cells).frame["difference"].to_list() == pytest.approx([0.0])
    with pytest.raises(SojournError, match=re.escape('published-where = { buffer_packets = "8" }')):
        compare(table, "links.up.loss", [{"x": "", "y": "", "ours": 0.02, "point": {"load": "low"}}])


@pytest.mark.parametrize(
    ("name", "column", "says"),
    [
        ("published/none.csv", None, "is not there"),
        ("published/imc14-fig11-web-backbone.csv", "workload", "no column of numbers 'workload'"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(name: str, column: str | None, says: str) -> None:
    with pytest.raises(SojournError, match=re.escape(says)):
        load(name, column=column)


def test_published_where_is_checked() -> None:
    table = load("published/imc14-fig11-web-backbone.csv")
    with pytest.raises(SojournError, match="does not have"):
        compare(table, "web.plt_s.median", [], {"direction": "up"})
    with pytest.raises(SojournError, match="no row with workload = idle"):
        compare(table, "web.plt_s.median", [], {"workload": "idle"})
