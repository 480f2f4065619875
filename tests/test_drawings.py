"""What each figure shows, axis by axis and mark by mark, of tables whose numbers are known.

The files in `data/drawings` are to be read when they change. They are written anew by

    python tests/test_drawings.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from drawings import described
from matplotlib.figure import Figure
from sojourn.capture.tcp_stats import figures as survey
from sojourn.report.advice.front import front
from sojourn.report.figures import KINDS, draw, film_strip, passive, series
from sojourn.report.figures.against_published import against_published
from sojourn.report.figures.forest import forest
from sojourn.report.figures.timeline import timeline
from sojourn.report.figures.values import value
from sojourn.report.measured import picture
from sojourn.report.measured.measurement import Series
from sojourn.report.sentences import how_to_read
from sojourn.report.suite import drawn
from sojourn.sweep.emulation.page import drawn as emulated
from test_advice_parts import SCORES, found_of
from test_drawn_parts import CLIENT
from test_figures import ENTRIES, LIMIT, LIMITS, OVER_TIME, RPM, WORKLOADS, plot_of, sweep
from test_figures_drawn import BOXES, FOUR, hosts, plot

DRAWINGS = Path(__file__).parent / "data" / "drawings"


class Survey:
    """Densities of a survey: most near, some far; of ADSL alone only the smallest times."""

    classes = ("all", "adsl")
    near_ms = 50.0

    def density(self, which: str, access: str = "all", near: bool = False) -> tuple[np.ndarray, np.ndarray]:
        if access == "adsl" and which == "avg":
            return np.empty(0), np.empty(0)
        counts = {"min": [4.0, 9.0, 1.0], "max": [0.0, 5.0, 15.0]}.get(which, [2.0, 2.0, 6.0])
        return np.array([-1.0, 0.5, 2.0]), np.array(counts) / (2 if near else 1)

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array([-1.0, 0.0, 1.0]), np.array([0.0, 1.0, 2.0]), np.array([[1.0, 0.0], [5.0, 9.0]])


def kind(name: str, **more: Any) -> Callable[[], Figure]:
    return lambda: draw(plot_of({"kind": name, **ENTRIES[name], **more}))


def few(name: str, *, gap: bool) -> Callable[[], Figure]:
    """Return what draws one run of each cell, or two of each but one, which was not run."""
    held = [{**one, "series": OVER_TIME, "responsiveness": RPM} for one in sweep(repeat=2 if gap else 1)]
    missing = {"workload": WORKLOADS[1], LIMIT: LIMITS[1]}
    return lambda: draw(
        plot_of({"kind": name, **ENTRIES[name]}, [one for one in held if not gap or one["point"] != missing])
    )


def panels(name: str) -> Callable[[], Figure]:
    """Return what draws a panel for each of five queues, so that there are several rows of them."""
    axes = {"workload": WORKLOADS[:2], LIMIT: LIMITS[:2], "path.down.queue.kind": tuple("abcde")}
    held = [{**one, "series": OVER_TIME, "responsiveness": RPM} for one in sweep(axes, repeat=1)]
    return lambda: draw(plot_of({"kind": name, **ENTRIES[name]}, held))


def published(which: str) -> Callable[[], Figure]:
    found = plot("heatmap", "links.up.loss", FOUR, x=LIMIT, y="workload")
    both = found.frame.with_columns(published=pl.lit(0.05), difference=pl.col("value") - 0.05)
    return lambda: KINDS["heatmap"].beside(found, both, "A et al.")[which][1]


def measured() -> Figure:
    at = np.array([0.5, 1.5, 2.5])
    up, down, rtt = (Series(at, np.array(values)) for values in ([1, 2, 3], [9, 8, 7], [40, 50, 45]))
    carried = [("measured", "down", down), ("simulated", "down", up), ("measured", "up", up)]
    return picture.picture({"throughput_mbps": carried, "rtt_ms": [("simulated", "", rtt)]}, "Beside")


def link(*delays: float | None) -> dict[str, Any]:
    shares = [0.25 * (n + 1) for n in range(len(delays))]
    return {"series": {"bin_s": 0.5, "utilisation": shares, "queue_delay_ms": list(delays)}}


RUNS = ([4.0, 6.0, 5.0, 9.0], [1.0, 2.0, 3.0, 2.0])
MANY = {f"codel target={n}ms": RUNS for n in range(8)} | {"pie limit=9pkt": RUNS}
LIVE = {"time_s": [0.0, 1.0, 2.0], "buffer_s": [1.0, 2.0, 0.5], "latency_s": [3.0, 3.5, 4.0]}
WORST = pl.DataFrame({"time_s": [0.0, 0.2, 0.4], "ssim": [1.0, 0.9, 0.4], "psnr_db": [40.0, 30.0, 12.0]})
PIXELS = [np.full((4, 6, 3), shade, dtype=np.uint8) for shade in (0, 255)]
OVER = pl.DataFrame({"time_s": [0.0, 0.5], "utilisation": [0.5, 1.0], "queue_delay_ms": [3.0, None],
                     "dropped_pkts": [0, 4]})  # fmt: skip
MADE: dict[str, Callable[[], Figure]] = {
    **{name: kind(name) for name in KINDS},
    **{f"{name} of one run each": few(name, gap=False) for name in KINDS},
    **{f"{name} with a gap": few(name, gap=True) for name in KINDS},
    **{f"{name} of five panels": panels(name) for name in (
        "heatmap", "matrix", "table", "lines", "box", "responsiveness")},
    "heatmap of shares": lambda: draw(plot("heatmap", "links.up.loss", FOUR, x=LIMIT, y="workload")),
    "table of one axis": lambda: draw(plot("table", "links.up.loss", FOUR, x=LIMIT)),
    "lines in panels": kind("lines", y="", label="L", title="Mine"),
    "flow-boxes of three sizes": lambda: draw(
        plot("flow-boxes", "losses.down.per_flow.boxes", {("a", "8pkt"): BOXES})),
    **{f"heatmap, {which}": published(which) for which in ("published", "difference")},
    "against published": lambda: against_published(
        pl.DataFrame({"y": ["a", "a", "b"], "ours": [0.1, 0.2, 0.3], "published": [0.15, 0.1, 0.25]}),
        value("links.up.loss")),
    "series": lambda: series(OVER, "Uplink over time"),
    "forest": lambda: forest(
        [("a", 1.0, (0.5, 1.5)), ("b", -1.0, (-2.0, 0.0)), ("c", 0.5, None)], "Differences", "MOS"),
    "viewing": lambda: timeline(CLIENT, "Viewer 1"),
    "live viewing": lambda: timeline({**CLIENT, "live": {"course": LIVE}}, "Viewer 2"),
    "quality": lambda: film_strip.quality(WORST, "Worst"),
    "film strip": lambda: film_strip.strip([(PIXELS[0], PIXELS[1]), (PIXELS[0], None)], [0.5, 1.0],
                                           [0.75, None], "Strip"),
    "front": lambda: front(json.loads(json.dumps(found_of(**SCORES).as_json()))),
    "hosts, shares": lambda: passive.delay_cdf(hosts()),
    "hosts over time": lambda: passive.delay_over_time(hosts()),
    "hosts, both transports": lambda: passive.tcp_against_utp(hosts()),
    **{f"survey, {draw.__name__}": (lambda draw=draw: draw(Survey())) for draw in (
        survey.round_trips, survey.smallest_against_largest, survey.queueing, survey.beyond)},
    "ellipses": lambda: drawn.ellipses({"x": {"fifo": RUNS, "pie": ([1.0], [2.0])}, "y": {"pie": RUNS}}, "E"),
    "ellipses of many": lambda: drawn.ellipses({"": MANY}, "E"),
    "distributions": lambda: drawn.distributions(
        {("A", "Delay (ms)"): {"fifo": [1, 2, 3]}, ("B", "Drop interval (ms)"): {"pie": [0, 10]}}, "D"),
    "shares": lambda: drawn.shares({"fifo": [0.1, 0.5], "pie": [0.4, 0.45]}, 0.4, "S"),
    "over an axis": lambda: drawn.over_axis(
        {"Ratio": {"fifo": [0.5, None]}, "Loss": {"pie": [1.0, 2.0]}}, ["a", "b"], "x", ["r", "%"], "O", 1.0),
    "measured": measured,
    "emulated": lambda: emulated({"down": link(1.0, None, 3.0), "up": link(4.0)}, 1.7),
}  # fmt: skip


def shown(name: str) -> str:
    figure = MADE[name]()
    lines = described(figure)
    if figure.get_layout_engine() is None:
        # Where panels are put by hand, their boxes (inches).
        size = np.tile(figure.get_size_inches(), 2)
        boxes = (axes.get_position().bounds * size for axes in figure.axes if axes.get_visible())
        lines += [f"box {' '.join(f'{side:.2f}' for side in box)}" for box in boxes]
    if name in KINDS:
        lines.append(how_to_read(plot_of({"kind": name, **ENTRIES[name]})))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", MADE)
def test_a_figure_shows_what_it_did(name: str) -> None:
    assert shown(name).splitlines() == (DRAWINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_every_drawing_that_is_kept_is_made() -> None:
    assert {file.stem for file in DRAWINGS.iterdir()} == set(MADE)


if __name__ == "__main__":
    for name in MADE:
        (DRAWINGS / f"{name}.txt").write_text(shown(name), encoding="utf-8")
