"""What stands beside a measurement: means over replications, the nearest cell, what tools say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sojourn.errors import SojournError
from sojourn.report.files import Files
from sojourn.report.measured import (
    Measured,
    Rows,
    _caption,
    _named,
    _of_file,
    _says,
    _table,
    _text,
    _why,
    picture,
)
from sojourn.report.measured.cells import Cell, nearest
from sojourn.report.measured.measurement import Measurement, Series, is_number, series, total
from sojourn.report.measured.read import read
from sojourn.report.measured.table import Row
from sojourn.report.measured.table import read as read_table


def link(delays: list[Any], used: list[Any], bin_s: float = 1.0) -> dict[str, Any]:
    kept = {"bin_s": bin_s, "queue_delay_ms": delays, "utilisation": used}
    return {"rate_bps": 8e6, "series": kept, "loss": len(delays) / 100}


def run(**more: Any) -> dict[str, Any]:
    links = {"down": link([10, None, 30], [0.5, None, 1.0]), "up": link([1, 2, 3, 4], [0.1] * 4)}
    groups = {
        "a": {"direction": "down", "goodput_bps": 2e6, "base_rtt_ms": 50.0, "retransmits": 4},
        "b": {"direction": "down", "goodput_bps": 1e6, "base_rtt_ms": 40.0, "retransmits": 2},
        "c": {"direction": "up", "goodput_bps": 5e5, "retransmits": 30},
    }
    return {"links": links, "groups": groups, **more}


def test_a_cell_has_means_over_replications_and_the_series_of_the_first() -> None:
    other = run(groups={"d": {"direction": "down", "retransmits": 15}, "u": {"direction": "down"}})
    cell = Cell({"path.down.queue.limit": "8pkt"}, [("h", run()), ("i", other)], None, 3.5)
    assert (cell.throughput_mbps("down"), cell.throughput_mbps("up")) == (3.0, 0.5)
    # What is sent again is of one direction's data, as tools tell it; without the warm-up, and no whole bins.
    assert (cell.again_per_s("down"), cell.again_per_s("up")) == ((6 + 15) / 2 / 3.5, 30 / 3.5)
    assert Cell({}, cell.runs).again_per_s("up") is None
    assert cell.number("links.down.loss", None) == 0.03  # type: ignore[arg-type]
    carried, trip = cell.carried_mbps("down"), cell.round_trip_ms()
    assert carried is not None and trip is not None
    assert carried.time_s.tolist() == [0.5, 1.5, 2.5] and carried.values[[0, 2]].tolist() == [4.0, 8.0]
    assert np.isnan(carried.values[1]) and cell.carried_mbps("x") is None
    # The nearest hosts, both queues, as long as both were watched; a bin without packets waits for nothing.
    assert trip.values.tolist() == [51.0, 42.0, 73.0] and trip.time_s.tolist() == [0.5, 1.5, 2.5]
    assert cell.round_trip_ms(1) is None
    assert cell.round_trip() == {"mean": pytest.approx(166 / 3), "p50": 51.0, "p95": 73.0}
    assert cell.where == "Downlink buffer 8pkt" and Cell({}, []).where == "the one point"
    hops = run(links={"access": link([1], [1])})
    assert Cell({}, [("h", hops)]).round_trip_ms() is None
    nobody = Cell({}, [("h", run(groups={}))], None, 3.0)
    assert nobody.throughput_mbps("down") is None and nobody.again_per_s("down") is None


def test_a_line_on_which_nobody_sends_has_the_round_trip_of_its_path() -> None:
    idle = run(links={"down": link([], []), "up": link([], [])}, groups={})
    assert Cell({}, [("h", idle)], 40.0).round_trip()["p95"] == 40.0
    oneway = run(links={"down": link([5, 7], [1, 1]), "up": link([], [])}, groups={})
    trip = Cell({}, [("h", oneway)], 40.0).round_trip_ms()
    assert trip is not None and trip.values.tolist() == [45.0, 47.0]


def iperf3(end: dict[str, Any], sender: bool, **more: Any) -> bytes:
    intervals = [
        {"sum": {"start": at, "end": at + 1, "bits_per_second": 5e6, "sender": sender}} for at in (0, 1)
    ]
    run = {"start": {"test_start": {"reverse": 1}}, "intervals": intervals, "end": end}
    return json.dumps({**run, **more}).encode()


def test_a_servers_file_is_turned_and_a_run_that_was_interrupted_counts_as_far_as_it_went(tmp_path: Path):
    file = tmp_path / "x.json"
    file.write_bytes(iperf3({}, True, start={"accepted_connection": {}, "test_start": {"reverse": 1}}))
    assert read(file).throughput.keys() == {"down"}
    file.write_bytes(iperf3({}, False, error="interrupt - the client has terminated"))
    cut = read(file)
    assert cut.mean("down") == 5.0 and cut.tool.endswith(
        ", ended early (interrupt - the client has terminated)"
    )
    file.write_bytes(b" \n")
    with pytest.raises(SojournError, match="is empty; expected"):
        read(file)


def test_what_was_sent_is_not_passed_off_as_what_arrived(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(iperf3({"sum_received": {"bits_per_second": 1e6}}, True, start={}))
    sent = read(file)
    assert sent.mean("up") == 1.0 and sent.throughput["up"].mean == 5.0
    line = "The measured line of the uplink is what was sent, the number what was received."
    assert line in _caption(sent, Cell({}, [("h", run())]))


def test_the_nearest_cell_has_most_numbers_in_common_and_then_the_least_ratios() -> None:
    cells = [Cell({"a": str(n)}, []) for n in range(3)]
    assert nearest(cells, {0: [(1, 4)], 1: [(4, 3)], 2: [(1, 2)]}) is cells[1]
    # Half and double are as far.
    assert nearest(cells, {0: [(1, 2.1)], 1: [(1, 0.5)], 2: [(1, 4)]}) is cells[1]
    assert nearest(cells, {0: [(1, 1)], 1: [(1, 9), (1, 9)], 2: [(1, 1), (1, None), (0, 1)]}) is cells[1]
    assert nearest(cells, {0: [], 1: [], 2: []}) is cells[0]


def test_why_a_cell_stands_there_says_how_far_it_is() -> None:
    one, two = [Cell({}, [])], [Cell({}, [])] * 2
    assert _why(one, [(None, 1.0), (0.0, 2.0)]).startswith("the one cell; nothing that was measured")
    assert _why(two, []).startswith("the first cell; nothing")
    assert _why(one, [(1.5, 1.0)]) == "the one cell."
    lacks = " It has no background transfers on the uplink, where 8 Mbit/s were measured."
    assert _why(one, [(1.5, 1.0), (None, 8.0)]) == f"the one cell.{lacks}"
    near = "of 2 cells the nearest in mean throughput."
    assert _why(two, [(1.0, 1.5), (9.0, None)]) == near == _why(two, [(1.0, 1.5), (None, 0.0), (9.0, None)])
    assert _why(two, [(None, None), (1.0, 1.0), (9.0, 9.0)]) == near[:-1] + " and mean round trip."
    assert _why(two, [(None, None), (None, None), (9.0, 9.0)]) == "of 2 cells the nearest in mean round trip."
    far = " Yet they differ by up to a factor of 2: another path or load."
    assert _why(two, [(1.0, 2.0), (1.2, 1.0)]) == near + far == _why(two, [(2.0, 1.0)])


def test_what_is_sent_again_chooses_no_cell_and_makes_no_other_path(tmp_path: Path) -> None:
    """A run of a few seconds is mostly its slow start, which sends more again than a long one."""
    cells = [Cell({"a": f"{n}"}, [("h", run())], None, 3.0) for n in (6, 6000)]
    for cell in cells[1:]:  # its throughput is a tenth off
        cell.runs[0][1]["groups"]["a"] |= {"goodput_bps": 2.3e6, "retransmits": 6000}
    ran = Measurement("x.json", "iperf", {"down": series([0.5], [3.0])}, again_per_s={"down": 3000.0})
    part = _of_file(ran, 0, cells, Files(tmp_path))
    assert part.read.startswith("It stands beside A 6: of 2 cells the nearest")
    assert "differ by" not in part.read
    # Of the direction that was measured: uploads' 30 are not in it.
    head, *numbers = part.table.rows[-1]
    assert head == "segments sent again a second, downlink" and numbers == list(map(_text, (3000, 2, 2001)))


def test_a_table_of_many_cells_is_turned() -> None:
    rows: Rows = [("loss", "1", [str(n) for n in range(8)]), ("delay", "2", [str(n) for n in range(8)])]
    table = _table(rows, [f"c{n}" for n in range(8)])
    assert table.heads[:3] == ["", "measured", "c0"] and table.rows[1][:3] == ["delay", "2", "0"]
    rows = [(head, theirs, [*ours, "9"]) for head, theirs, ours in rows]
    turned = _table(rows, [f"c{n}" for n in range(9)])
    assert turned.heads == ["", "loss", "delay"] and len(turned.rows) == 10
    assert turned.rows[0] == ["measured", "1", "2"] and turned.rows[-1] == ["c8", "9", "9"]
    assert (_text(None), _text(0.0), _text(12.3456)) == ("–", "0", "12.35")


def test_the_cell_that_was_measured_is_named() -> None:
    cells = [Cell({"a": "1", "b": "x"}, []), Cell({"a": "2", "b": "x"}, [])]
    about = Measured("m.csv", [], {"a": "2"})
    assert [_named(cell, about) for cell in cells] == ["1, x", "2, x (as measured)"]
    assert "stands beside the cell with a = 2" in _says(about, cells)
    assert _says(Measured("m.csv", [], {"a": "3"}), cells).endswith(
        "at a = 3, which is no cell of this study."
    )
    plain = Measured("m.csv", [], {})
    assert _named(cells[0], plain) == "1, x"
    for runs, end in (
        ([("h", {})] * 2, "in each cell (means over replications)."),
        ([("h", {})], "in each cell."),
    ):
        assert _says(plain, [Cell({"a": "1"}, runs)]).endswith(end)
    assert _named(Cell({}, []), plain) == "simulated"


def test_the_table_of_a_study_is_the_first_that_is_there(tmp_path: Path) -> None:
    for place, number in (("a", 1), ("b", 2)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "m.csv").write_text(f"value,measured\nlinks.down.loss,{number}\naxis,7\n")
    folders = [tmp_path / "none", tmp_path / "a", tmp_path / "b"]
    assert read_table("m.csv", folders, ["axis"]) == Measured(
        "m.csv", [Row("links.down.loss", 1.0, "")], {"axis": "7"}
    )
    many = "value,measured\n" + "links.down.loss,1\n" * 200
    (tmp_path / "a" / "m.csv").write_text(many)
    assert len(read_table("m.csv", folders, []).rows) == 200
    (tmp_path / "a" / "m.csv").write_text(many + "links.down.loss,1\n")
    with pytest.raises(SojournError, match="has 201 rows; expected at most 200"):
        read_table("m.csv", folders, [])
    for path, is_one in (("p5", True), ("p95", True), ("p100", False), ("mean", False)):
        (tmp_path / "a" / "m.csv").write_text(f"value,measured\nconnections.duration_s.{path},1\n")
        if is_one:
            assert read_table("m.csv", folders, []).rows[0].number == 1
        else:
            with pytest.raises(SojournError, match="expected a number of results"):
                read_table("m.csv", folders, [])


def test_series_hold_finite_numbers_in_the_order_of_time() -> None:
    found = series([3, 1, 2, "x", 4, 5], [30.0, 10.0, None, 1.0, True, 1e15])
    assert found is not None
    assert (found.time_s.tolist(), found.values.tolist()) == ([1, 3], [10, 30]) and found.mean == 20
    assert series([1], [float("nan")]) is None and is_number(-9e14) and not is_number(float("inf"))
    hundred = Series(np.arange(100), np.arange(1.0, 101.0))
    assert [hundred.quantile(share) for share in (0.5, 0.951, 1.0)] == [50, 96, 100]
    assert total([[1, None, 3], [10, None]], 4) == [11, None, 3, None]
    own = Measurement("m", "t", {"down": hundred}, mean_mbps={"up": 7.0})
    assert (own.mean("down"), own.mean("up"), Measurement("m", "t").mean("down")) == (50.5, 7.0, None)


def test_what_iperf3_says_of_both_ways(tmp_path: Path) -> None:
    def part(rate: float, start: int, **more: Any) -> dict[str, Any]:
        return {"start": start, "end": start + 1, "bits_per_second": rate, **more}

    streams = [
        {"rtt": 2000, **part(0, 0)},
        {"rtt": 4000, **part(0, 0)},
        {"rtt": 0},
        {"rtt": 9000, "omitted": True},
    ]
    intervals = [
        {"sum": part(9e6, 0, omitted=True)},
        {"sum": part(4e6, 0), "sum_bidir_reverse": part(2e6, 0), "streams": streams},
        {"sum": part(6e6, 1)},
    ]
    sent = {"seconds": 2, "retransmits": 4, "bits_per_second": 8e6}
    end = {"sum_sent": sent, "sum_received": {"bits_per_second": 7e6}, "sum_sent_bidir_reverse": sent}
    start = {"version": "iperf 3", "test_start": {"protocol": "TCP", "num_streams": 1}}
    whole = {"start": start, "intervals": intervals, "end": end}

    def found(**test: Any) -> Measurement:
        text = json.dumps({**whole, "start": {**start, "test_start": {**start["test_start"], **test}}})
        (tmp_path / "i.json").write_text(text)
        return read(tmp_path / "i.json")

    one = found()
    assert one.tool == "iperf 3, TCP, 1 stream" and one.throughput["up"].values.tolist() == [4, 6]
    assert one.throughput["up"].time_s.tolist() == [0.5, 1.5] and one.throughput["down"].values.tolist() == [
        2
    ]
    # What the receiver counted comes first; each end's sender sends again.
    assert one.mean_mbps == {"up": 7.0, "down": 8.0} and one.again_per_s == {"up": 2.0, "down": 2.0}
    assert one.rtt_ms is not None and one.rtt_ms.values.tolist() == [3.0]
    # As 3.7 to 3.10 name the halves of both ways: twice alike.
    text = (tmp_path / "i.json").read_text()
    (tmp_path / "i.json").write_text(text.replace("_bidir_reverse", ""))
    alike = read(tmp_path / "i.json")
    assert alike.mean_mbps == one.mean_mbps and alike.again_per_s == one.again_per_s
    assert alike.throughput["down"].values.tolist() == [2]
    turned = found(reverse=1)
    assert turned.throughput["down"].values.tolist() == [4, 6] and turned.mean_mbps["down"] == 7.0
    sent["retransmits"] = -1  # of kernels that do not tell
    assert found().again_per_s == {}
    (tmp_path / "f.json").write_text('{"start": {}, "error": "unable to connect\\nmore"}')
    with pytest.raises(SojournError, match=r"f\.json: iperf3 failed: unable to connect$"):
        read(tmp_path / "f.json")


def test_what_flent_holds_is_its_sum_or_its_streams(tmp_path: Path) -> None:
    def found(**results: Any) -> Measurement:
        text = json.dumps({"x_values": [1, 2], "results": results, "metadata": {"NAME": "rrul"}})
        (tmp_path / "f.flent").write_text(text)
        return read(tmp_path / "f.flent")

    streams = {"TCP download BE": [1, 2], "TCP download BK": [3, None], "TCP download avg": [99, 99]}
    both = found(**streams, **{"TCP upload sum": [5, 7], "TCP upload::1": [9, 9]})
    assert both.throughput["down"].values.tolist() == [4, 2] and both.throughput["up"].mean == 6
    assert both.rtt_ms is None and both.tool == "Flent, test rrul"
    pings = {"Ping (ms) UDP": [10, None], "Ping (ms) EF": [20, 4]}
    two = found(**pings)
    assert (
        two.rtt_ms is not None and two.rtt_ms.values.tolist() == [15, 4] and two.rtt_of == "mean of 2 pings"
    )
    first = found(**pings, **{"Ping (ms) avg": [1, 1], "Ping (ms) ICMP": [7, 9]})
    assert first.rtt_of == "Ping (ms) ICMP" and first.rtt_ms is not None and first.rtt_ms.mean == 8
    with pytest.raises(SojournError, match="neither throughput of TCP nor round trips; its series are 'x'"):
        found(x=[1, 2])


def test_lines_are_measured_and_simulated_of_each_quantity() -> None:
    one = Series(np.array([0.5]), np.array([3.0]))
    measured = Measurement("m", "t", {"up": one, "down": one}, one)
    drawn = picture.lines(measured, Cell({}, [("h", run())]))
    assert [line[:2] for line in drawn["throughput_mbps"]] == [
        ("measured", "down"), ("simulated", "down"), ("measured", "up"), ("simulated", "up"),
    ]  # fmt: skip
    assert [line[:2] for line in drawn["rtt_ms"]] == [("measured", ""), ("simulated", "")]
    table = picture.table(drawn)
    assert table.columns == ["quantity", "whose", "link", "time_s", "value"] and table.height == 13
    assert list(picture.lines(Measurement("m", "t", {"up": one}), Cell({}, [("h", run())]))) == [
        "throughput_mbps"
    ]
    top, bottom = picture.picture(drawn, "T").axes
    assert (top.get_ylabel(), bottom.get_ylabel()) == ("Throughput\n(Mbit/s)", "Round trip\n(ms)")
    assert [line.get_label() for line in top.lines][:2] == ["measured, downlink", "simulated, downlink"]
    assert top.lines[0].get_color() != top.lines[2].get_color() and top.get_ylim()[0] == 0
