"""One viewing of adaptive video over time: rates and throughput, the playback buffer, and stalls; of what is
live, the latency beside the buffer."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.errors import SojournError
from sojourn.report.figures.style import COLOURS, MUTED, canvas, settle


def most_troubled(result: Mapping[str, Any]) -> int | None:
    """Return the place of the client that stalled longest, of several the one with the lowest rate; None
    without clients."""
    clients = result.get("adaptive", {}).get("clients") or []
    keys = [
        (-sum(stop - start for start, stop in client["stalls"]), client["average_rate_kbps"] or 0.0)
        for client in clients
    ]
    return min(range(len(keys)), key=keys.__getitem__) if keys else None


def timeline_table(client: Mapping[str, Any]) -> pl.DataFrame:
    """Return one row for each segment of a client: ``request_s``, ``arrive_s``, ``rate_kbps``,
    ``throughput_kbps``, ``buffer_before_s``, ``buffer_after_s``."""
    segments = client["segments"]
    names = ("request_s", "arrive_s", "rate_kbps", "throughput_kbps", "buffer_before_s", "buffer_after_s")
    if not segments["request_s"]:
        raise SojournError("this client asked for no segment")
    return pl.DataFrame({name: pl.Series(segments[name], dtype=pl.Float64) for name in names})


def playing_table(client: Mapping[str, Any]) -> pl.DataFrame:
    """Return when each segment that came began to play: ``from_s``, ``rate_kbps``."""
    segments = client["segments"]
    arrived = [
        rate for rate, at in zip(segments["rate_kbps"], segments["arrive_s"], strict=True) if at is not None
    ]
    if client["play_s"] is None:
        return pl.DataFrame({"from_s": [], "rate_kbps": []})
    begin = client["play_s"] + client["segment_s"] * np.arange(len(arrived), dtype=np.float64)
    for start, stop in client["stalls"]:
        # What was to begin at the start of a stall begins at its end; times are rounded to milliseconds.
        begin[begin >= start - 0.01] += stop - start
    return pl.DataFrame({"from_s": begin, "rate_kbps": arrived})


def timeline(client: Mapping[str, Any], title: str, end_s: float | None = None) -> Figure:
    """Draw a viewing: above, what was asked for, played and measured; below, the buffer.

    Stalls are shaded in both. What is live is played at rates of its own, so that only what was asked for is
    drawn above. All is drawn until what came has played, or the run ends (`end_s`).
    """
    course = client.get("live", {}).get("course")
    frame = timeline_table(client)
    until_s = None if end_s is None else min(end_s, _over(client, frame))
    with canvas(9.0, 5.2, title, nrows=2, sharex=True, height_ratios=(1.6, 1)) as (figure, (rates, buffer)):
        _draw_rates(rates, client, frame, until_s, played=course is None)
        _draw_buffer(buffer, (client, course), frame, until_s)
        for axes in (rates, buffer):
            for number, (start, stop) in enumerate(client["stalls"]):
                label = "stall" if number == 0 and axes is rates else None
                axes.axvspan(start, stop, color=COLOURS[5], alpha=0.45, linewidth=0, label=label)
            settle(axes)
            axes.margins(x=0)
        if end_s is not None and end_s < rates.get_xlim()[1]:
            rates.set_xlim(right=end_s)
        handles, labels = (
            [*above, *below]
            for above, below in zip(
                rates.get_legend_handles_labels(), buffer.get_legend_handles_labels(), strict=True
            )
        )
        figure.legend(handles, labels, loc="outside lower left", ncols=4)
        figure.align_ylabels()
    return figure


def _over(client: Mapping[str, Any], frame: pl.DataFrame) -> float:
    """Return when all that was asked for has come and played, and the last stall is over."""
    plays = [begin_s + client["segment_s"] for begin_s in playing_table(client)["from_s"]]
    asked = [*frame["request_s"], *frame["arrive_s"].drop_nulls()]
    return max([*asked, *plays, *(stop for _, stop in client["stalls"])])


def _draw_rates(
    axes: Axes, client: Mapping[str, Any], frame: pl.DataFrame, end_s: float | None, *, played: bool
) -> None:
    """Draw what was asked for and measured, and what was `played` if that is known."""
    axes.plot(
        frame["arrive_s"],
        frame["throughput_kbps"],
        linestyle="none",
        marker=".",
        markersize=3.5,
        color=MUTED,
        alpha=0.55,
        label="throughput of a segment",
    )
    asked = _held(frame["request_s"], frame["rate_kbps"], end_s)
    axes.step(*asked, where="post", color=COLOURS[0], label="rate asked for")
    if played:
        table = playing_table(client)
        last_s = (table["from_s"].max() or 0.0) + client["segment_s"]
        plays = _held(table["from_s"], table["rate_kbps"], None if end_s is None else min(last_s, end_s))
        axes.step(*plays, where="post", color=COLOURS[1], linewidth=1.1, label="rate playing")
    top = 1.15 * max(frame["rate_kbps"].max() or 1.0, frame["throughput_kbps"].quantile(0.75) or 1.0)
    axes.set(ylim=(0, top), ylabel="kb/s")


def _held(at: pl.Series, what: pl.Series, end_s: float | None) -> tuple[list[float], list[float]]:
    """Return steps, the last of which holds to the end: one alone would not be seen."""
    times, values = at.to_list(), what.to_list()
    if end_s is None or not times or end_s <= times[-1]:
        return times, values
    return [*times, end_s], [*values, values[-1]]


def _draw_buffer(
    axes: Axes,
    viewing: tuple[Mapping[str, Any], Mapping[str, Any] | None],
    frame: pl.DataFrame,
    end_s: float | None,
) -> None:
    """Draw the level of the buffer; of what is live by its `course`, with the latency."""
    client, course = viewing
    at, level = _buffer(client, frame, end_s) if course is None else (course["time_s"], course["buffer_s"])
    axes.plot(at, level, color=COLOURS[2], linewidth=1.2)
    if course is not None:
        axes.plot(course["time_s"], course["latency_s"], color=COLOURS[1], linewidth=1.1, label="latency")
    axes.set(
        ylim=(0, None),
        ylabel="Playback\nbuffer (s)" if course is None else "Buffer and\nlatency (s)",
        xlabel="Time (s)",
    )


def _buffer(
    client: Mapping[str, Any], frame: pl.DataFrame, end_s: float | None = None
) -> tuple[list[float], list[float]]:
    """Return the corners of the buffer's level: it falls between segments and jumps when one arrives.

    After the last, it falls to the end of the run, if it plays then.
    """
    at: list[float] = []
    level: list[float] = []
    segment_s = client["segment_s"]
    for row in frame.iter_rows(named=True):
        at.append(row["request_s"])
        level.append(row["buffer_before_s"])
        if row["arrive_s"] is None:
            break
        left = row["buffer_after_s"] - segment_s
        if left <= 0 and row["buffer_before_s"] > 0:
            at.append(min(row["request_s"] + row["buffer_before_s"], row["arrive_s"]))
            level.append(0.0)
        at += [row["arrive_s"], row["arrive_s"]]
        level += [max(left, 0.0), row["buffer_after_s"]]
    if end_s is not None and end_s > at[-1] and client["play_s"] is not None:
        waits = [stop for start, stop in client["stalls"] if start <= at[-1] < stop]
        plays_s = min(max([at[-1], client["play_s"], *waits]), end_s)
        empty_s = min(plays_s + level[-1], end_s)
        left = level[-1] - (empty_s - plays_s)
        at += [plays_s, empty_s, end_s]
        level += [level[-1], left, left]
    return at, level
