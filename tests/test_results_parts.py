"""Small rules of results: what a number can be, tables over time, and how far the work is."""

from __future__ import annotations

import time
from math import inf
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest
from sojourn.cli import progress
from sojourn.errors import StoreError
from sojourn.results import open_results
from sojourn.results.duration import duration, roughly
from sojourn.results.series import flow_series, queue_series
from sojourn.study.bounds import bounds
from test_figures import result, write_results


@pytest.mark.parametrize(
    ("path", "least", "most"),
    [
        ("voice.talks.mos.median", 1.0, 5.0),
        ("video.ssim.p5", 0.0, 1.0),
        ("links.down.loss", 0.0, 1.0),
        ("call.sends.frozen", 0.0, 1.0),
        ("losses.down.good", 0.0, 1.0),
        ("adaptive.clients_stalled_pct", 0.0, 100.0),
        ("voice.talks.z1.mean", -inf, inf),
        ("video.psnr_db.median", -inf, inf),
        ("links.down.utilisation", 0.0, 1.0),
        ("gaming.late.mean", 0.0, 1.0),
        ("groups.loss.goodput_bps", 0.0, inf),
        ("web.plt_s.median", 0.0, inf),
    ],
)
def test_intervals_are_cut_to_what_a_number_can_be(path: str, least: float, most: float) -> None:
    assert bounds(path) == (least, most)


def test_series_have_names_and_nulls_where_nothing_was() -> None:
    columns = {
        "time_ns": np.array([1, 1, 2], dtype=np.uint64),
        "group": np.array([1, 0, 1], dtype=np.uint16),
        "flow": np.array([-1, 5, 1]),
        "cwnd_pkts": np.array([float("nan"), 10.0, 0.0]),
        "srtt_ns": np.array([0, -1, 7]),
        "pacing_bps": np.array([1.0, float("nan"), 2.0]),
    }
    table = flow_series(columns, ["first", "second"])
    assert table["group"].to_list() == ["second", "first", "second"]
    assert table["flow"].to_list() == [None, 5, 1] and table["srtt_ns"].to_list() == [None, None, 7]
    assert table["cwnd_pkts"].to_list() == [None, 10, 0] and table["pacing_bps"].to_list() == [1, None, 2]
    waiting = {"link": np.array([0, 3, 0], dtype=np.uint8), "backlog_pkts": [3, 2, 1]}
    links = queue_series(waiting, ["wifi.down", "wifi.up", "line.down", "line.up"])
    assert links["link"].to_list() == ["wifi.down", "line.up", "wifi.down"]
    assert links["backlog_pkts"].to_list() == [3, 2, 1]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "less than 0.1 s"), (0.099, "less than 0.1 s"), (0.1, "0.1 s"), (9.94, "9.9 s"), (9.96, "10 s"),
        (10.0, "10 s"), (59.4, "59 s"), (59.7, "1 min 0 s"), (60.0, "1 min 0 s"),
        (90.6, "1 min 31 s"), (3599.4, "59 min 59 s"), (3599.7, "1 h 0 min"), (3600.0, "1 h 0 min"),
        (7169.0, "1 h 59 min"), (7171.0, "2 h 0 min"), (9000, "2 h 30 min"),
    ],
)  # fmt: skip
def test_a_time_is_said_as_a_person_says_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_guess_has_no_more_digits_than_it_is_worth() -> None:
    said = [roughly(seconds) for seconds in (0.02, 4.7, 59.7, 119.0, 121.0, 1588.0, 7100.0, 7300.0, 90000.0)]
    assert said == ["1 s", "5 s", "60 s", "119 s", "2 min", "26 min", "118 min", "2.0 h", "25.0 h"]


def test_a_line_now_and_then_says_what_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with progress.Progress(10, 4, "runs") as bar:
        for seconds in (115.0, 116.0, 117.0, 131.1):
            now[0] = seconds
            bar.advance()
        bar.grow(2)
        bar.at(11, 14)
        now[0] = 200.0
        bar.at(14, 14)
    # Of 8 that are done 4 were there before; none is said at the end, as what is done is printed then.
    assert capsys.readouterr().err.splitlines() == [
        "6 of 10 runs done, about 32 s left",
        "8 of 10 runs done, about 16 s left",
        "12 of 14 runs done, about 25 s left",
    ]


def test_a_damaged_table_is_named_with_what_computes_it_anew(tmp_path: Path) -> None:
    # A point is done when its result is there: deleting the table alone would leave it without one.
    folder = write_results(tmp_path / "r", [result({})], [{"kind": "sawtooth"}])
    name = f"{0:032x}"
    for kind in ("series", "flows", "packets"):
        file = folder / kind / (f"{name}.flows.parquet" if kind == "series" else f"{name}.parquet")
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"PAR1")
        with pytest.raises(StoreError) as caught:
            getattr(open_results(folder), kind)(name)
        again = f"delete {folder / 'points' / name}.json and run the study again to compute both anew"
        assert str(caught.value) == f"{file} is damaged; {again}"
        # One that may not be read may be whole, and nobody is told to delete anything.
        with pytest.MonkeyPatch.context() as patch, pytest.raises(StoreError) as caught:
            for reads in ("read_parquet", "read_parquet_schema"):
                patch.setattr(
                    pl, reads, mock.Mock(side_effect=PermissionError("Permission denied (os error 13): a"))
                )
            getattr(open_results(folder), kind)(name)
        assert str(caught.value) == f"{file} cannot be read: Permission denied (os error 13)"


def test_a_study_file_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """It is there, and no directory: who gives it to `report` looks for no typing error in its name."""
    (tmp_path / "lab.toml").touch()
    with pytest.raises(StoreError, match=r"lab\.toml is a file; expected a directory of results"):
        open_results(tmp_path / "lab.toml")
