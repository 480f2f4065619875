"""The table of all points: a row for each cell, users' columns, intervals, and numbers to sort by."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from sojourn.report import write_report
from sojourn.report.comparing import cells
from sojourn.report.figures import labels_of
from sojourn.report.points import points_table
from sojourn.results.interval import half_width
from sojourn.results.limits import cell_of
from test_figures import AXES, LIMIT, sweep, write_results

# The package has a function of this name.
gathered = import_module("sojourn.report.explore.gathered")


def table(results, **more):
    return points_table(results, labels_of(one["point"] for one in results), more.pop("limits", {}), **more)


def test_replications_are_one_row_with_mean_and_interval() -> None:
    results = sweep(AXES, 3)
    found = table(results)
    assert len(found.rows) == 9 and found.replicated
    heads = [column.title for column in found.columns]
    assert heads[:3] == ["Workload", "Downlink buffer", "Runs"]
    place = heads.index("Voice, user talks: median MOS")
    for row, first in zip(found.rows, range(0, 27, 3), strict=True):
        numbers = [one["voice"]["talks"]["mos"]["median"] for one in results[first : first + 3]]
        assert row[place].number == pytest.approx(sum(numbers) / 3)
        assert row[place].text == f"{sum(numbers) / 3:.2f} ± {half_width(numbers):.2f}"
        assert row[2].text == "3"
    assert [row[0].text for row in found.rows[::3]] == list(AXES["workload"])


def test_one_replication_claims_no_interval() -> None:
    found = table(sweep(AXES, 1))
    assert not found.replicated
    assert not any("±" in entry.text for row in found.rows for entry in row)


def test_a_lower_bound_is_one_here_too_and_has_no_interval() -> None:
    results = sweep(AXES, 2)
    results[1]["web"]["bounded"] = ["median"]
    found = table(results)
    place = [column.title for column in found.columns].index("Web: median page load time (s)")
    times = [one["web"]["plt_s"]["median"] for one in results[:2]]
    first, second = (row[place] for row in found.rows[:2])
    assert (first.text, first.number) == (f"≥ {sum(times) / 2:.1f}", pytest.approx(sum(times) / 2))
    assert "≥" not in second.text and "±" in second.text


def test_where_nothing_was_sent_stands_a_dash_and_no_zero() -> None:
    """Of a cell without connections beside one with some, and of a link that nothing came to."""
    results = sweep(AXES, 1)
    for place, one in enumerate(results):
        one["flows"] = {"goodput_bps": 0.0 if place == 0 else 1e6, "timeouts": 0}
        one["groups"] = {} if place == 0 else {"a": {"transport": "cubic"}}
        one["links"]["up"] |= {"arrived_pkts": 0 if place < 2 else 9, "loss": 0.0}
    columns = {column.title: place for place, column in enumerate(table(results).columns)}
    rows = table(results).rows
    goodput = [row[columns["Background connections: goodput (Mb/s)"]].text for row in rows]
    assert goodput[:2] == ["–", "1.0"]
    assert [row[columns["Uplink: loss (%)"]].text for row in rows][:3] == ["–", "–", "0.0"]


@pytest.mark.parametrize(
    ("transports", "goodput", "shown"),
    [(("udp",), 0.0, False), (("udp", "cubic"), 0.0, True), ((), 0.0, False), ((), 1.0, True)],
)
def test_goodput_of_connections_is_told_where_there_are_some(transports, goodput: float, shown: bool) -> None:
    """Not of datagrams or users alone, in tables, explorers and comparisons."""
    results = sweep(AXES, 1)
    for one in results:
        one["flows"] = {"goodput_bps": goodput, "timeouts": 0}
        one["groups"] = {transport: {"transport": transport} for transport in transports}
    titles = [column.title for column in table(results).columns]
    assert ("Background connections: goodput (Mb/s)" in titles) == shown
    assert ("flows.goodput_bps" in gathered._paths(results)) == shown
    found = SimpleNamespace(document={})
    assert ("flows.goodput_bps" in cells._paths((), found, found, (results, results))[0]) == shown


def test_columns_sort_by_what_they_show() -> None:
    results = sweep(AXES, 1)
    del results[0]["web"]
    results[1]["links"]["up"]["loss"] = 0.0
    found = table(results)
    sorts = {column.title: column.sorts for column in found.columns}
    assert (sorts["Workload"], sorts["Downlink buffer"], sorts["Uplink: loss (%)"]) == (
        "text",
        "number",
        "number",
    )
    heads = list(sorts)
    assert [row[1].sort for row in found.rows[:3]] == ["8", "64", "256"]
    assert [row[0].sort for row in found.rows[:3]] == ["none"] * 3
    web = heads.index("Web: median page load time (s)")
    assert (found.rows[0][web].text, found.rows[0][web].sort) == ("–", "")
    loss = heads.index("Uplink: loss (%)")
    assert (found.rows[1][loss].text, found.rows[1][loss].sort) == ("0.0", "0")


def test_limits_stand_beside_the_labels_as_numbers() -> None:
    results = sweep({LIMIT: ("1BDP", "64pkt")}, 1)
    limits = {
        cell_of({LIMIT: "1BDP"}): {"path.down.queue.limit_pkts": 83, "path.down.queue.limit_ms": 19.92},
        cell_of({LIMIT: "64pkt"}): {"path.down.queue.limit_pkts": 64, "path.down.queue.limit_ms": None},
    }
    found = table(results, limits=limits)
    assert [column.title for column in found.columns][1:3] == [
        "Downlink buffer (packets)",
        "Downlink buffer (ms)",
    ]
    assert [[entry.text for entry in row[:3]] for row in found.rows] == [
        ["1BDP", "83", "19.92"],
        ["64pkt", "64", "–"],
    ]


def test_labels_of_several_units_sort_by_where_they_stand() -> None:
    labels = ("100ms", "64pkt", "1BDP")
    results = sweep({LIMIT: labels, "workload": ("none", "long")}, 1)
    stand = {"64pkt": 3.5, "1BDP": 20.0, "100ms": 100.0}
    placed = table(results, places=lambda axis: (stand, "ms") if axis == LIMIT else None)
    assert [(column.title, column.sorts, column.words) for column in placed.columns[:2]] == [
        ("Downlink buffer", "number", True),
        ("Workload", "text", True),
    ]
    sorts = {row[0].text: row[0].sort for row in placed.rows}
    assert sorts == {"100ms": "100", "64pkt": "3.5", "1BDP": "20"}
    assert {row[1].sort for row in placed.rows} == {"none", "long"}
    # Without a place they are words.
    assert {row[0].sort for row in table(results).rows} == set(labels)
    assert table(results).columns[0].sorts == "text"


@pytest.mark.usefixtures("svg_only")
def test_the_page_has_a_table_that_can_be_sorted(tmp_path: Path) -> None:
    done = write_results(tmp_path / "done", sweep(), [{"kind": "table", "value": "links.up.loss"}])
    page = write_report(done).read_text()
    tables = re.findall(r'<table class="sortable">.*?</table>', page, re.DOTALL)
    (markup,) = (table for table in tables if "data-sort" in table)
    heads = re.findall(r'<th scope="col" data-type="(number|text)"', markup)
    rows = re.findall(r"<tr>(.*?)</tr>", markup, re.DOTALL)[1:]
    assert len(rows) == 9
    for row in rows:
        cells = re.findall(r'data-sort="([^"]*)"', row)
        assert len(cells) == len(heads)
        assert all(
            float(cell) is not None for cell, head in zip(cells, heads, strict=True) if head == "number"
        )
    assert "half the width of Student's 95\xa0% interval" in page
