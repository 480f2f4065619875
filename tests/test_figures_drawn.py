"""What is drawn is what the tables hold: places, heights, colours and labels of the marks of each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from sojourn.report.figures import KINDS, Spec, draw, gather, labels_of
from sojourn.report.figures.against_published import against_published
from sojourn.report.figures.passive import delay_cdf, delay_over_time, tcp_against_utp
from sojourn.report.figures.scales import SCALES
from sojourn.report.figures.style import COLOURS
from sojourn.report.figures.values import value
from sojourn.report.sentences import how_to_read, what_is_good
from test_figures import LIMIT


def plot(kind: str, path: str, found: dict[tuple[str, str], Any], **entry: Any):
    """Gather the table of a figure from what cells hold: (workload, buffer) → value, or one a replication."""
    results = []
    for (workload, limit), held in found.items():
        for replication, number in enumerate(held if isinstance(held, tuple) else (held,)):
            inner: Any = number
            for part in reversed(path.split(".")):
                inner = {part: inner}
            point = {"workload": workload, LIMIT: limit}
            results.append({"point": point, "replication": replication, **inner})
    spec = Spec.read({"kind": kind, "value": path, **entry})
    return gather(spec, results, labels_of(one["point"] for one in results))


FOUR = {("a", "8pkt"): 0.1, ("a", "64pkt"): 0.2, ("b", "8pkt"): 0.005, ("b", "64pkt"): 0.02}


def test_a_heatmap_has_every_number_in_its_cell_and_colour() -> None:
    found = plot("heatmap", "links.up.loss", FOUR, x=LIMIT, y="workload")
    [axes] = draw(found).axes
    cells = {patch.get_xy(): patch for patch in axes.patches if isinstance(patch, Rectangle)}
    words = {(round(t.get_position()[0]), round(t.get_position()[1])): t.get_text() for t in axes.texts[::2]}
    letters = [t.get_text() for t in axes.texts[1::2]]
    assert words == {(0, 0): "10", (1, 0): "20", (0, 1): "0.5", (1, 1): "2.0"} and letters == list("EEBC")
    for (column, row), share in {(0, 0): 0.1, (1, 0): 0.2, (0, 1): 0.005, (1, 1): 0.02}.items():
        colour = cells[column - 0.5, row - 0.5].get_facecolor()[:3]
        assert colour == pytest.approx(SCALES["loss"].colour(share, 0, 1))
    assert [t.get_text() for t in axes.get_xticklabels()] == ["8", "64"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    assert axes.get_ylim() == (1.5, -0.5)  # the first row is on top


def test_of_rows_of_one_cell_nothing_is_said() -> None:
    path = "links.up.queue_delay_ms.mean"
    wide, narrow = (
        plot("heatmap", path, {("a", limit): 3.0 for limit in limits}, x=LIMIT, y="workload")
        for limits in (("8pkt", "64pkt"), ("8pkt",))
    )
    assert "A row that gets worse" in what_is_good(wide) and "A row" not in what_is_good(narrow)


@pytest.mark.parametrize(
    ("path", "numbers", "printed"),
    [
        ("voice.talks.mos.median", [4.296, 4.304, 3.9999, 3.999999], ["4.296", "4.30", "3.9999", "4.00"]),
        ("links.up.loss", [0.00996, 0.01, 0.0292, 0.0297], ["0.996", "1.0", "2.9", "2.97"]),
        ("links.up.queue_delay_ms.mean", [149.7, 150.2, 399.96, 12.3], ["149.7", "150", "399.96", "12"]),
    ],
)
def test_a_number_reads_as_one_of_its_class(path: str, numbers: list[float], printed: list[str]) -> None:
    cells = {("a", f"{n}pkt"): number for n, number in enumerate(numbers, start=1)}
    [axes] = draw(plot("heatmap", path, cells, x=LIMIT, y="workload")).axes
    scale = plot("heatmap", path, cells, x=LIMIT, y="workload").scale
    assert [text.get_text() for text in axes.texts[::2]] == printed
    assert [text.get_text() for text in axes.texts[1::2]] == [scale.letter(number) for number in numbers]


def test_a_lower_bound_is_printed_as_one_and_has_no_class() -> None:
    path = "web.plt_s.median"
    results = [
        {"point": {LIMIT: f"{n}pkt"}, "replication": 0, "web": {"plt_s": {"median": time}, "bounded": of}}
        for n, time, of in ((8, 0.1, ["median"]), (64, 5.0, ["p95"]))
    ]
    for kind, good in (("heatmap", "≥ 0.1"), ("table", "≥ 0.1")):
        found = gather(Spec(kind, path), results, {LIMIT: ["8pkt", "64pkt"]})
        words = [text.get_text() for axes in draw(found).axes for text in axes.texts]
        assert good in words and "5.0" in words and "≥ 5.0" not in words
        assert "too few loads had ended" in how_to_read(found)
    heat = draw(gather(Spec("heatmap", path), results, {LIMIT: ["8pkt", "64pkt"]})).axes[0]
    white, dark = (patch.get_facecolor()[:3] for patch in heat.patches)
    assert white == (1.0, 1.0, 1.0) and dark != white


def test_a_published_heatmap_has_theirs_and_the_difference() -> None:
    found = plot("heatmap", "links.up.loss", FOUR, x=LIMIT, y="workload")
    both = found.frame.with_columns(published=pl.lit(0.05), difference=pl.col("value") - 0.05).with_columns(
        pl.when(pl.col("y") == "a").then(pl.col("difference")).alias("difference")
    )
    drawn = KINDS["heatmap"].beside(found, both, "A et al.")
    theirs, less = drawn["published"][1].axes[0], drawn["difference"][1].axes[0]
    assert drawn["published"][0] == "Published: A et al." and drawn["difference"][0] == "Ours − published"
    assert [t.get_text() for t in theirs.get_yticklabels()] == ["a"]
    assert [t.get_text() for t in less.texts] == ["+5.0", "+15"]


def test_lines_are_at_the_number_of_their_label_with_the_interval_of_the_mean() -> None:
    held = {("a", "8pkt"): (0.19, 0.21), ("a", "64pkt"): 0.5, ("a", "16pkt"): 0.4}
    found = plot("lines", "links.up.loss", held, x=LIMIT, y="workload")
    [axes] = draw(found).axes
    line = axes.lines[0]
    assert line.get_xdata().tolist() == [8, 16, 64]
    assert line.get_ydata() == pytest.approx([20, 40, 50])
    [bar] = axes.collections[0].get_segments()
    half = 12.706 * 0.01  # Student's t of one degree of freedom times s / √2
    assert bar[:, 0].tolist() == [8, 8] and bar[:, 1] == pytest.approx(
        [20 - 100 * half, 20 + 100 * half], rel=1e-4
    )
    assert axes.get_ylim()[0] == 0 and axes.get_xscale() == "log"


def test_a_box_has_its_five_quantiles() -> None:
    shares = {"p5": 0.1, "p25": 0.3, "p50": 0.4, "p75": 0.7, "p95": 0.9}
    more = {name: share + 0.02 for name, share in shares.items()}
    found = plot("box", "links.up.utilisation_quantiles", {("a", "8pkt"): (shares, more)}, x=LIMIT)
    [axes] = draw(found).axes
    [body] = axes.patches
    heights = body.get_path().vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((31, 71))
    ends = sorted({round(y, 6) for line in axes.lines for y in line.get_ydata()})
    assert ends == pytest.approx([11, 31, 41, 71, 91])


def test_a_cdf_steps_up_by_an_equal_share_at_every_observation() -> None:
    held = {("a", "8pkt"): [4.0, 1.0], ("a", "64pkt"): [3.0, 2.0]}
    found = plot("cdf", "links.up.series.queue_delay_ms", held, y="workload")
    [axes] = draw(found).axes
    [line] = axes.lines
    assert line.get_xdata().tolist() == [1, 1, 2, 3, 4]
    assert line.get_ydata().tolist() == [0, 25, 50, 75, 100] and line.get_drawstyle() == "steps-post"


def test_a_scatter_has_x_across_and_the_value_up_in_the_units_shown() -> None:
    results = [
        {"point": {"workload": w}, "links": {"up": {"loss": loss, "utilisation": use}}}
        for w, loss, use in (("a", 0.01, 0.5), ("a", 0.03, 0.7), ("b", 0.2, 0.9))
    ]
    entry = {"kind": "scatter", "value": "links.up.loss", "x": "links.up.utilisation", "y": "workload"}
    found = gather(Spec.read(entry), results, {"workload": ["a", "b"]})
    [axes] = draw(found).axes
    marks = [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.lines]
    assert marks == [([pytest.approx(60)], [pytest.approx(2)]), ([pytest.approx(90)], [pytest.approx(20)])]
    assert axes.get_xlabel() == "Uplink: utilisation (%)" and axes.get_ylabel() == "Uplink: loss (%)"
    columns = ["workload", "cell", "links.up.utilisation", "links.up.loss", "n"]
    assert KINDS["scatter"].csv(found).columns == columns


def test_the_csv_of_clients_names_them() -> None:
    held = {("a", "8pkt"): [700.0, 900.0], ("a", "64pkt"): [500.0, 600.0]}
    found = plot("clients", "adaptive.per_client_rate_kbps", held, x=LIMIT)
    frame = KINDS["clients"].csv(found)
    assert frame.columns[:3] == ["client", LIMIT, "adaptive.per_client_rate_kbps"]
    assert frame["client"].to_list() == ["client 1", "client 2"] * 2


def test_ours_against_published_in_the_units_shown() -> None:
    frame = pl.DataFrame(
        {"y": ["a", "a", "b"], "ours": [0.1, 0.2, 0.3], "published": [0.15, 0.1, None]}, strict=False
    )
    axes = against_published(frame, value("links.up.loss")).axes[0]
    same, marks = axes.lines
    assert same.get_xdata() == pytest.approx(same.get_ydata())
    assert marks.get_xdata() == pytest.approx([15, 10]) and marks.get_ydata() == pytest.approx([10, 20])
    assert (axes.get_xlabel()[:9], axes.get_ylabel()[:4]) == ("Published", "Ours")


BOXES = {
    "from_bytes": [1024.0, 2048.0, 4096.0],
    "flows": [10, 9, 20],
    "happy_share": [0.25, 0.5, 0.75],
    "mean": [0.02, 0.9, 0.04],
    "pooled": [0.03, 0.8, 0.05],
    **{name: [share, 0.5, share * 2] for name, share in zip(
        ("p5", "p25", "p50", "p75", "p95"), (0.01, 0.02, 0.03, 0.04, 0.05), strict=True)},
}  # fmt: skip


def test_boxes_of_flows_leave_out_sizes_with_few_flows() -> None:
    found = plot("flow-boxes", "losses.down.per_flow.boxes", {("a", "8pkt"): BOXES})
    axes = draw(found).axes[0]
    mean = next(line for line in axes.lines if line.get_label() == "mean of all flows")
    assert mean.get_xdata().tolist() == [0, 1] and mean.get_ydata() == pytest.approx([2, 4])
    [strip] = axes.child_axes
    assert [bar.get_height() for bar in strip.patches] == [0.25, 0.75]
    assert [bar.get_x() + bar.get_width() / 2 for bar in strip.patches] == pytest.approx([0, 1])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1 k", "4 k"]
    heights = [patch.get_path().vertices[:, 1] for patch in axes.patches]
    assert [(h.min(), h.max()) for h in heights] == [pytest.approx((2, 4)), pytest.approx((4, 8))]
    medians = [line.get_ydata()[0] for line in axes.lines if line.get_linewidth() == 1.6]
    assert medians == pytest.approx([3, 6])


def test_curves_have_their_bands_and_scales() -> None:
    sizes = {
        "from_bytes": [1024.0, 4096.0],
        "mean_cwnd_pkts": [10.0, 20.0],
        "low": [8.0, 15.0],
        "high": [12.0, 30.0],
    }
    axes = draw(plot("curves", "losses.down.windows.by_size", {("a", "8pkt"): sizes})).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [10, 20]
    band = axes.collections[0].get_paths()[0].vertices
    assert {tuple(corner) for corner in band} >= {(1024, 8), (4096, 15), (1024, 12), (4096, 30)}
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.xaxis.get_major_formatter()(2.0**20, 0) == "1 M"
    ccdf = {"length_pkts": [1, 2], "share": [1.0, 0.1]}
    axes = draw(plot("curves", "losses.down.bursts.ccdf", {("a", "8pkt"): ccdf})).axes[0]
    assert axes.get_yscale() == "log" and axes.get_ylabel() == "Share that is at least so large"
    diagram = {"octave": [1, 2], "log2_energy": [0.0, 1.0]}
    axes = draw(plot("curves", "losses.down.scaling.haar", {("a", "8pkt"): diagram})).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")


def test_a_surface_has_a_row_for_each_window_and_octave() -> None:
    over = {"start_s": [0.0, 30.0], "octave": [2, 3], "log2_energy": [[1.0, None], [3.0, 4.0]]}
    found = plot("surface", "losses.down.scaling.over_time", {("a", "8pkt"): over})
    rows = found.frame.select("start_s", "octave", "log2_energy").rows()
    assert rows == [(0.0, 2, 1.0), (0.0, 3, None), (30.0, 2, 3.0), (30.0, 3, 4.0)]
    axes = draw(found).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Octave j", "Time (s)")
    assert axes.get_zlim() == pytest.approx((1, 4), abs=0.2)


def test_a_table_has_its_numbers_under_their_heads() -> None:
    [axes] = draw(plot("table", "links.up.loss", FOUR, x=LIMIT, y="workload")).axes
    at = {text.get_text(): text.get_position() for text in axes.texts}
    assert at["8"][0] == at["10"][0] == at["0.5"][0] < at["64"][0] == at["20"][0] == at["2.0"][0]
    assert at["a"][1] == at["10"][1] == at["20"][1] > at["b"][1] == at["0.5"][1]


@pytest.mark.parametrize(
    ("name", "numbers", "letters"),
    [
        ("loss", (0.0, 0.0009, 0.001, 0.0099, 0.01, 0.0299, 0.03, 0.0999, 0.1), "AABBCCDDE"),
        ("ssim", (1.0, 0.99, 0.989, 0.95, 0.949, 0.88, 0.879, 0.5, 0.49), "AABBCCDDE"),
    ],
)
def test_edges_of_classes(name: str, numbers: tuple[float, ...], letters: str) -> None:
    assert "".join(SCALES[name].letter(number) for number in numbers) == letters


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("g114", 10, 500), ("mos", 4.4, 1.2), ("ssim", 1.0, 0.3), ("loss", 0.0, 0.5)]
)
def test_good_classes_are_light_and_bad_ones_dark(name: str, good: float, bad: float) -> None:
    scale = SCALES[name]
    assert sum(scale.colour(good, 0, 1)) > 2.0 > 1.2 > sum(scale.colour(bad, 0, 1))
    assert scale.letter(good) == "A"
    meaning = scale.meanings[scale.rank(bad)]
    edge = scale.edges[0] if "below" in meaning else scale.edges[-1]
    assert f"{edge:g}".rstrip("0") in meaning or f"{100 * edge:g} %" in meaning


def test_numbers_in_the_unit_shown() -> None:
    assert value("flows.goodput_bps").with_unit(12.5e6) == "12 Mb/s"
    assert value("links.up.utilisation").text(0.987) == "99"
    assert value("adaptive.clients_stalled_pct").with_unit(3.0) == "3.0 %"
    assert value("links.up.queue_delay_ms.p95").with_unit(150.4) == "150 ms"
    assert value("links.up.loss").as_printed(0.347) == "34.7"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (
            "heatmap",
            "Across runs the downlink buffer, down the workload; each number is the loss (uplink) in %, "
            "and the letter below it is its class.",
        ),
        (
            "lines",
            "The loss (uplink) in % over the downlink buffer, one line for each workload.",
        ),
        (
            "table",
            "Rows are the workload, columns the downlink buffer; each number is the loss (uplink) in %.",
        ),
        (
            "cdf",
            "A curve is the share of observations whose loss (uplink) is at most that below it, "
            "one curve for each workload.",
        ),
    ],
)
def test_how_a_figure_is_read(kind: str, says: str) -> None:
    axes = {} if kind == "cdf" else {"x": LIMIT}
    assert how_to_read(plot(kind, "links.up.loss", FOUR, y="workload", **axes)) == says


def hosts() -> list[dict[str, Any]]:
    series = {"bin_s": 1.0, "rows": [[0.0, 5.0, 9.0], [1.0, 6.0, 8.0], [4.0, 7.0, 20.0]]}
    return [
        {"remote": "a", "protocol": "tcp", "mean_ms": 40.0, "series": series},
        {"remote": "a", "protocol": "utp", "mean_ms": 90.0, "series": series},
        {"remote": "b", "protocol": "tcp", "mean_ms": 10.0, "series": series},
    ]


def test_hosts_of_a_capture() -> None:
    axes = delay_cdf(hosts()).axes[0]
    tcp = axes.lines[0]
    assert tcp.get_xdata()[:3].tolist() == [0, 10, 40] and tcp.get_ydata()[:3].tolist() == [0, 50, 100]
    panel = delay_over_time(hosts()[:1]).axes[0]
    shade = np.concatenate([path.vertices for path in panel.collections[0].get_paths()])
    assert shade[:, 1].max() == 20 and to_rgb(panel.lines[0].get_color()) == to_rgb(COLOURS[0])
    at, mean = panel.lines[0].get_data()
    assert np.isnan(mean).sum() == 2 and at[2] == 2.0  # after the second bin there is silence
    both = tcp_against_utp(hosts()).axes[0].lines[-1]
    assert (both.get_xdata().tolist(), both.get_ydata().tolist()) == ([40.0], [90.0])


@pytest.mark.filterwarnings("error")
def test_hosts_of_which_none_waited() -> None:
    still = [{**host, "mean_ms": 0.0} for host in hosts()]
    assert delay_cdf(still).axes[0].get_xlim() == (0, 1)


def arrows(axes: Any) -> list[tuple[float, float]]:
    """Return the points that an arrow leaves, each of which has a hollow mark."""
    points = [tuple(text.xy) for text in axes.texts if text.arrow_patch is not None]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    marked = [tuple(point) for line in hollow for point in np.column_stack(line.get_data()).tolist()]
    assert marked == points
    return points


def test_lower_bounds_are_hollow_with_an_arrow_towards_where_they_may_be() -> None:
    found = plot("lines", "page.load_s.median", {("a", "8pkt"): 5.0, ("a", "64pkt"): 9.0}, x=LIMIT)
    found = replace(found, at_least=frozenset({("", found.y_labels[0], "64pkt")}))
    assert arrows(draw(found).axes[0]) == [(64.0, 9.0)]
    assert "where it is a lower bound (hollow, with an arrow), too few loads had ended" in how_to_read(found)
    spread = plot("scatter", "page.load_s.median", {("a", "8pkt"): 5.0, ("b", "8pkt"): 9.0}, x=LIMIT)
    assert arrows(draw(spread).axes[0]) == []
    cell = spread.frame.filter(pl.col("value") == 9.0).row(0, named=True)
    spread = replace(spread, at_least=frozenset({("", cell["y"], cell["x"])}))
    assert arrows(draw(spread).axes[0]) == [(8.0, 9.0)]
    spread = replace(spread, across_at_least=spread.at_least)
    tips = [tuple(text.get_position()) for text in draw(spread).axes[0].texts]
    assert tips == [(15, 15)]
    boxes = replace(spread, spec=Spec("box", "page.load_s.median", x=LIMIT))
    assert "; some are lower bounds, where too few loads had ended when the run did" in how_to_read(boxes)
    assert KINDS["heatmap"].bound == KINDS["matrix"].bound == KINDS["table"].bound == "≥"


@pytest.mark.parametrize("values", [(0.30, 0.31), (0.0, 0.2), (0.0, 0.0), (1.0, 1.0)])
def test_a_line_from_zero_shows_every_mark_whole(values: tuple[float, float]) -> None:
    found = plot("lines", "links.up.loss", {("a", "8pkt"): values[0], ("a", "64pkt"): values[1]}, x=LIMIT)
    [axes] = draw(found).axes
    low, high = axes.get_ylim()
    highest = 100 * max(values)
    assert low == 0 < high
    # Its marks are 6 points high: half of one has room above the highest, and is not cut at the axis.
    room = axes.transData.transform((0, high))[1] - axes.transData.transform((0, highest))[1]
    assert room >= 3 * axes.figure.dpi / 72 and not axes.lines[0].get_clip_on()


def test_a_lower_bound_may_run_across() -> None:
    web = {"plt_s": {"median": 5.0}, "mos": {"median": 1.0}, "bounded": ["median"]}
    results = [{"point": {LIMIT: "8pkt"}, "replication": 0, "web": web}]
    spec = Spec.read({"kind": "scatter", "value": "web.mos.median", "x": "web.plt_s.median"})
    found = gather(spec, results, labels_of(one["point"] for one in results))
    assert arrows(draw(found).axes[0]) == [(5.0, 1.0)]
    assert [tuple(text.get_position()) for text in draw(found).axes[0].texts] == [(15, 0)]
    assert "where it is a lower bound (hollow, with an arrow), too few loads had ended" in how_to_read(found)


def test_lower_bounds_of_a_capture_are_hollow_with_an_arrow() -> None:
    known, bound = ({**host, "lower_bound": of} for host, of in zip(hosts(), (False, True), strict=False))
    assert arrows(delay_cdf([known, bound]).axes[0]) == [(bound["mean_ms"], 100.0)]
    panels = delay_over_time([known, bound]).axes
    assert [panel.get_title("left").endswith(": at least") for panel in panels] == [False, True]
    pairs = [
        {**known, "remote": name, "protocol": protocol, "mean_ms": mean, "lower_bound": protocol in least}
        for name, least in (("a", ()), ("b", ("tcp",)), ("c", ("utp",)), ("d", ("tcp", "utp")))
        for protocol, mean in (("tcp", 20.0 + ord(name)), ("utp", 30.0))
    ]
    axes = tcp_against_utp(pairs).axes[0]
    assert sorted(arrows(axes)) == [(20.0 + ord(name), 30.0) for name in "bcd"]
    tips = {text.xy[0] - 20.0: tuple(text.get_position()) for text in axes.texts}
    assert tips == {ord("b"): (15, 0), ord("c"): (0, 15), ord("d"): (15, 15)}


def test_responsiveness_has_room_for_all_its_classes() -> None:
    rpm = {"rpm": {"median": 900}, "foreign_rpm": {"median": 1500}, "self_rpm": {"median": 300}}
    results = [{"point": {LIMIT: "8pkt"}, "replication": n, "responsiveness": rpm} for n in range(2)]
    entry = Spec.read({"kind": "responsiveness", "x": LIMIT})
    [axes] = draw(gather(entry, results, labels_of(one["point"] for one in results))).axes
    low, high = axes.get_ylim()
    assert low <= 200 and high >= 7000 and axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.texts] == [
        "fair from 300",
        "good from 1000",
        "excellent from 6000",
    ]
