"""What figures of viewings, surveys and tables show of numbers that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from sojourn.capture.tcp_stats import figures
from sojourn.report.figures import KINDS, draw
from sojourn.report.figures.kinds.kind import first_axis, is_number, one_for_each
from sojourn.report.figures.style import COLOURS
from sojourn.report.figures.timeline import _buffer, most_troubled, playing_table, timeline, timeline_table
from sojourn.report.files import Files
from sojourn.report.sections import viewing
from test_figures import LIMIT
from test_figures_drawn import FOUR, plot

CLIENT: dict[str, Any] = {
    "segments": {
        "request_s": [0.0, 2.0, 9.0], "arrive_s": [1.0, 8.0, None], "rate_kbps": [100.0, 400.0, 200.0],
        "throughput_kbps": [300.0, 70.0, None], "buffer_before_s": [0.0, 3.0, 4.0],
        "buffer_after_s": [4.0, 4.0, None],
    },
    "segment_s": 4.0, "play_s": 1.0, "stalls": [[5.0, 8.0]], "average_rate_kbps": 250.0,
}  # fmt: skip


def test_a_viewing_plays_what_came_and_waits_out_its_stalls() -> None:
    table = playing_table(CLIENT)
    # The second segment would play at 5 s, when the stall begins; it plays at its end.
    assert table.rows() == [(1.0, 100.0), (8.0, 400.0)]
    assert playing_table({**CLIENT, "play_s": None}).height == 0
    assert timeline_table(CLIENT).height == 3


def test_the_buffer_falls_while_a_segment_comes_and_is_empty_in_a_stall() -> None:
    at, level = _buffer(CLIENT, timeline_table(CLIENT))
    assert at == [0.0, 1.0, 1.0, 2.0, 5.0, 8.0, 8.0, 9.0]
    assert level == [0.0, 0.0, 4.0, 3.0, 0.0, 0.0, 4.0, 4.0]


@pytest.mark.parametrize(
    ("more", "end_s", "at", "level"),
    [
        ({}, 11.0, [9.0, 11.0, 11.0], [4.0, 2.0, 2.0]),
        ({}, 20.0, [9.0, 13.0, 20.0], [4.0, 0.0, 0.0]),
        ({"play_s": 10.0}, 20.0, [10.0, 14.0, 20.0], [4.0, 0.0, 0.0]),
        ({"play_s": None}, 20.0, [8.0, 9.0], [4.0, 4.0]),
        ({"stalls": [[5.0, 8.0], [8.5, 12.0]]}, 13.0, [12.0, 13.0, 13.0], [4.0, 3.0, 3.0]),
        ({}, 9.0, [8.0, 9.0], [4.0, 4.0]),
    ],
)
def test_after_the_last_segment_the_buffer_falls_to_the_end_of_the_run_as_it_plays(
    more: dict[str, Any], end_s: float, at: list[float], level: list[float]
) -> None:
    times, levels = _buffer({**CLIENT, **more}, timeline_table(CLIENT), end_s)
    assert (times[-len(at) :], levels[-len(at) :]) == (at, level)


def test_a_single_segment_is_seen_to_the_end_of_the_run() -> None:
    segments = {name: column[:1] for name, column in CLIENT["segments"].items()}
    rates, _ = timeline({**CLIENT, "segments": segments, "stalls": []}, "T", 3.0).axes
    _, asked, played = rates.lines
    assert asked.get_xdata().tolist() == [0, 3.0] and played.get_xdata().tolist() == [1.0, 3.0]


def test_the_viewer_who_is_shown_stalled_longest_and_then_had_the_lowest_rate() -> None:
    def shown(*clients: tuple[list[list[float]], float | None]) -> int | None:
        listed = [{"stalls": stalls, "average_rate_kbps": rate} for stalls, rate in clients]
        return most_troubled({"adaptive": {"clients": listed}})

    assert shown(([[0, 1]], 1), ([[0, 1], [2, 4]], 9), ([[0, 2]], 1)) == 1
    assert shown(([], 5), ([], 3), ([], 4)) == 1 and shown(([], 5), ([], None)) == 1
    assert shown() is None and most_troubled({}) is None


def test_a_rate_holds_from_its_request_to_the_next() -> None:
    rates, buffer = timeline(CLIENT, "T").axes
    measured, asked, played = rates.lines
    assert asked.get_drawstyle() == played.get_drawstyle() == "steps-post"
    assert asked.get_xdata().tolist() == [0, 2, 9] and asked.get_ydata().tolist() == [100, 400, 200]
    assert played.get_label() == "rate playing" and measured.get_label() == "throughput of a segment"
    assert rates.get_ylim() == (0, pytest.approx(1.15 * 400)) and buffer.get_ylim()[0] == 0
    for axes in (rates, buffer):
        [shade] = axes.patches
        assert (shade.get_x(), shade.get_width()) == (5.0, 3.0)
    assert timeline(CLIENT, "T", 8.5).axes[0].get_xlim()[1] == 8.5, "what plays after the run has not played"
    rates, buffer = timeline(CLIENT, "T", 1e3).axes
    assert rates.get_xlim()[1] == 12.0, "when all that came has played"
    assert [line.get_xdata()[-1] for line in rates.lines[1:] + buffer.lines] == [12.0, 12.0, 12.0]
    course = {"time_s": [0.0, 1.0], "buffer_s": [1.0, 2.0], "latency_s": [3.0, 3.5]}
    rates, buffer = timeline({**CLIENT, "live": {"course": course}}, "T").axes
    assert len(rates.lines) == 2 and buffer.lines[0].get_ydata().tolist() == [1.0, 2.0]
    assert buffer.lines[1].get_label() == "latency" and buffer.get_ylabel() == "Buffer and\nlatency (s)"
    assert to_hex(buffer.lines[1].get_color()) == to_hex(COLOURS[1])


def test_what_is_said_of_a_viewing_fits_its_picture(tmp_path: Path) -> None:
    def says(**more: Any) -> str:
        client = {"average_rate_kbps": 200.0, **CLIENT, **more}
        result = {"adaptive": {"clients": [client]}, "engine": {"simulated_s": 9.0}}
        section = viewing(result, "here", Files(tmp_path))
        assert section is not None
        return section.read

    assert "that it asked for and of those that it played, and the throughput" in says()
    assert says().endswith("below, the seconds of video in its buffer. Stalls are shaded.")
    live = says(live={"course": {"time_s": [0.0, 1.0], "buffer_s": [1.0, 2.0], "latency_s": [3.0, 3.5]}})
    assert "that it asked for and the throughput of each; below" in live
    assert "video in its buffer and how far it is behind. Stalls" in live


class Survey:
    """Densities of a survey: half of the connections at 1 ms, half at 100 ms."""

    classes = ("all", "adsl")
    near_ms = 50.0

    def density(self, which: str, access: str = "all", near: bool = False) -> tuple[np.ndarray, np.ndarray]:
        if which == "avg" or access == "adsl":
            return np.empty(0), np.empty(0)
        return np.array([-2.0, 0.0, 2.0]), np.array([0.0, 5.0, 15.0])


def test_times_of_a_survey_stand_on_a_scale_of_tens_from_above_a_sixteenth_of_a_millisecond() -> None:
    [axes] = figures.round_trips(Survey()).axes  # type: ignore[arg-type]
    assert [tick.get_text() for tick in axes.get_xticklabels()][:3] == ["0.1", "1", "10"]
    assert axes.get_xticks()[:3].tolist() == [-1, 0, 1] and axes.get_xlim()[0] == -1.2
    assert [line.get_label() for line in axes.lines] == ["smallest", "largest"]
    assert axes.get_xlabel() == "Round-trip time (ms)"
    [axes] = figures.queueing(Survey()).axes  # type: ignore[arg-type]
    assert axes.lines[0].get_label() == "all" and axes.get_xlim()[0] == -1.2


def test_the_share_that_waits_longer_falls_from_all_to_none() -> None:
    [axes] = figures.beyond(Survey()).axes  # type: ignore[arg-type]
    every, near = axes.lines[:2]
    # Above the last there is nothing, which a logarithmic axis does not show.
    assert every.get_ydata().tolist() == [100.0, 75.0] and every.get_xdata() == pytest.approx([-1.975, 0.025])
    assert (every.get_label(), near.get_label()) == ("all hosts", "smallest time at most 50 ms")
    assert axes.get_yscale() == "log"


def test_a_table_has_the_study_s_title_where_it_gives_one() -> None:
    for more, title in (({}, "Uplink: loss (%)"), ({"title": "Mine"}, "Mine")):
        found = plot("table", "links.up.loss", FOUR, x=LIMIT, y="workload", **more)
        [axes] = draw(found).axes
        assert axes.texts[0].get_text() == title
    explained = KINDS["table"].explain(found)
    assert explained.startswith("Rows are the workload, columns the downlink buffer")


def test_the_axis_of_a_figure_is_the_first_that_has_several_labels() -> None:
    assert first_axis({"a": ["1"], "b": ["1", "2"], "c": ["1", "2"]}) == "b"
    assert first_axis({"a": ["1"], "b": ["1"]}) == "a" and first_axis({}) == ""
    assert one_for_each("queue", "line") == ", one line for each queue" and one_for_each("") == ""
    assert [is_number(item) for item in (1, 0.5, True, float("nan"), "1", None)] == [True, True] + [False] * 4


def test_observations_that_are_no_numbers_are_left_out() -> None:
    found = plot("cdf", "links.up.loss", {("a", "8pkt"): ([0.3, None, 0.1], 0.2)}, y="workload")
    assert found.frame["value"].to_list() == [0.1, 0.2, 0.3]
    assert isinstance(found.frame, pl.DataFrame)
