"""Figures: tables gathered from results, and pictures that say what the tables say."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib import rcParams
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.report.figures import KINDS, Spec, draw, gather, labels_of, series, series_table
from sojourn.report.figures.scales import SCALES, ink, scale_for
from sojourn.report.figures.style import FORMATS, save, svg
from sojourn.report.figures.timeline import most_troubled, playing_table, timeline, timeline_table
from sojourn.report.figures.values import axis_name, number_of, value
from sojourn.results.interval import half_width as interval

LIMIT = "path.down.queue.limit"
WORKLOADS = ("none", "short-few-upload", "long-many-upload")
LIMITS = ("8pkt", "64pkt", "256pkt")
AXES = {"workload": WORKLOADS, LIMIT: LIMITS}


def result(point: Mapping[str, Any], replication: int = 0, **numbers: float) -> dict[str, Any]:
    """Return a result in the shape of `run --json`, with plausible numbers from a fixed stream."""
    draw = random.Random(f"{sorted(point.items())} {replication}")
    buffer = number_of(str(point.get(LIMIT, "64pkt"))) or 64.0
    load = {"none": 0.02}.get(str(point.get("workload")), 0.9)
    delay = load * buffer * 12.3 * draw.uniform(0.85, 1.0)
    talks = max(1.0, 4.34 - delay / 400 - load)

    def link(scale: float) -> dict[str, Any]:
        mean = delay * scale
        return {
            "utilisation": load,
            "loss": load * 0.04,
            "queue_delay_ms": {"mean": mean, "p50": mean, "p95": 2 * mean, "p99": 3 * mean, "max": 4 * mean},
            "occupancy_delay_ms": mean * 1.1,
            "utilisation_quantiles": {
                name: min(1.0, load * share)
                for name, share in zip(
                    ("p5", "p25", "p50", "p75", "p95"), (0.5, 0.8, 1, 1.05, 1.1), strict=True
                )
            },
            "series": {
                "bin_s": 0.5,
                "utilisation": [min(1.0, load * draw.uniform(0.8, 1.1)) for _ in range(40)],
                "queue_delay_ms": [mean * draw.uniform(0.5, 1.5) for _ in range(40)],
                "dropped_pkts": [draw.randrange(5) for _ in range(40)],
            },
        }

    found: dict[str, Any] = {
        "study": "trial",
        "point": dict(point),
        "replication": replication,
        "links": {"down": link(1 / 16), "up": link(1.0)},
        "voice": {
            side: {"mos": {"median": score}, "loss": 0.01}
            for side, score in (("talks", talks), ("listens", min(4.4, talks + 0.5)))
        },
        "video": {"ssim": {"median": 1 - load / 2}},
        "web": {"plt_s": {"median": 0.6 + delay / 300}, "mos": {"median": max(1.0, 5 - delay / 500)}},
        "adaptive": {"instability": 0.1, "unfairness": 0.1, "utilisation": 0.7, "average_rate_kbps": 800.0,
                     "clients_stalled_pct": 3.0, "stall_s": 5.0, "per_client_rate_kbps": [700.0, 900.0]},
        "losses": {"down": losses(load)},
        "engine": {"packets": 1000, "events": 5000, "simulated_s": 20.0},
    }  # fmt: skip
    for path, number in numbers.items():
        inner = found
        *parents, last = path.split(".")
        for part in parents:
            inner = inner.setdefault(part, {})
        inner[last] = number
    return found


def losses(load: float) -> dict[str, Any]:
    """Return the parts of an analysis of losses that figures draw whole."""
    boxes = {name: [load / 10, load / 20] for name in ("mean", "pooled", "p5", "p25", "p50", "p75", "p95")}
    surface = {
        "start_s": [0.0, 30.0],
        "octave": [1, 2, 3],
        "log2_energy": [[load, 1.0, None], [0.0, 1.0, 2.0]],
    }
    return {
        "bursts": {"ccdf": {"length_pkts": [1, 2, 7], "share": [1.0, load / 2, 0.001]}},
        "per_flow": {
            "boxes": {"from_bytes": [2048.0, 4096.0], "flows": [50, 20], "happy_share": [0.5, 0.0], **boxes}
        },
        "scaling": {"over_time": surface},
    }


def sweep(axes: Mapping[str, tuple[str, ...]] = AXES, repeat: int = 2) -> list[dict[str, Any]]:
    """Return the results of every point of a sweep."""
    points = [dict(zip(axes, labels, strict=True)) for labels in product(*axes.values())]
    return [result(point, replication) for point in points for replication in range(repeat)]


def write_results(
    directory: Path, results: list[dict[str, Any]], figures: list[dict[str, Any]], **document: Any
) -> Path:
    """Write a results directory as `sojourn run` leaves it."""
    (directory / "points").mkdir(parents=True)
    plan = []
    for number, one in enumerate(results):
        name = f"{number:032x}"
        plan.append({"hash": name, "point": one["point"], "replication": one["replication"]})
        (directory / "points" / f"{name}.json").write_text(json.dumps(one))
        if any(figure["kind"] == "sawtooth" for figure in figures):
            (directory / "series").mkdir(exist_ok=True)
            for what, samples in OVER_TIME.items():
                samples.write_parquet(directory / "series" / f"{name}.{what}.parquet")
    record = {
        "format": 1,
        "sojourn": "0.1.0",
        "study": "trial",
        "seed": 1,
        "command": "sojourn run studies/trial.toml",
        "document": {
            "name": "trial",
            "seed": 1,
            "duration": "30s",
            "warmup": "10s",
            "figures": figures,
            **document,
        },
        "points": plan,
    }
    (directory / "study.json").write_text(json.dumps(record))
    return directory


def with_series(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "series": OVER_TIME, "responsiveness": RPM} for one in results]


def plot_of(entry: dict[str, Any], results: list[dict[str, Any]] | None = None):
    if results is None:
        results = with_series(sweep())
    return gather(Spec.read(entry), results, labels_of(one["point"] for one in results))


RPM = {name: {"median": rpm} for name, rpm in (("rpm", 900), ("foreign_rpm", 1500), ("self_rpm", 300))}
OVER_TIME = {
    "flows": pl.DataFrame(
        {
            "time_ns": [50_000_000, 50_000_000, 100_000_000, 100_000_000],
            "group": ["bbr", "udp", "bbr", "udp"],
            "number": [0, 0, 0, 0],
            "cwnd_pkts": [10.0, None, 12.5, None],
            "rate_bps": [4e6, 1e6, 5e6, 1e6],
        }
    ),
    "queues": pl.DataFrame(
        {
            "time_ns": [50_000_000, 50_000_000, 100_000_000, 100_000_000],
            "link": ["down", "up", "down", "up"],
            "backlog_pkts": [3, 0, 9, 0],
        }
    ),
}
ENTRIES = {
    "sawtooth": {"value": "series", "only": {LIMIT: ["8pkt"], "workload": ["none", "long-many-upload"]}},
    "matrix": {"x": LIMIT, "y": "workload", "value": "links.up.loss"},
    "heatmap": {"x": LIMIT, "y": "workload", "value": "voice.talks.mos.median"},
    "box": {"x": "workload", "value": "links.up.utilisation_quantiles", "only": {LIMIT: ["64pkt"]}},
    "lines": {"x": LIMIT, "y": "workload", "value": "links.up.queue_delay_ms.mean"},
    "clients": {"x": LIMIT, "value": "links.up.series.queue_delay_ms"},
    "cdf": {"y": "workload", "value": "links.up.series.queue_delay_ms"},
    "scatter": {"x": "links.up.queue_delay_ms.mean", "y": "workload", "value": "voice.talks.mos.median"},
    "table": {"x": LIMIT, "y": "workload", "value": "links.up.loss"},
    "curves": {"y": LIMIT, "value": "losses.down.bursts.ccdf"},
    "flow-boxes": {"value": "losses.down.per_flow.boxes"},
    "surface": {"value": "losses.down.scaling.over_time"},
    "responsiveness": {"x": LIMIT},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_the_same_bytes_and_leaves_settings_alone(kind: str, tmp_path: Path) -> None:
    before = dict(rcParams)
    # Of both axes two labels, those that entries name: what is drawn of more is more of the same.
    results = with_series(sweep({"workload": WORKLOADS[::2], LIMIT: LIMITS[:2]}))
    made = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        text = save(draw(plot_of({"kind": kind, **ENTRIES[kind]}, results)), folder / kind)
        made.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert made[0] == made[1]
    assert set(made[0]) == {f"{kind}.{each}" for each in FORMATS}
    assert dict(rcParams) == before
    assert not re.search(r"<image|<metadata|20\d\d-\d\d-\d\d", text)
    assert not re.search(r'(?:href|src)="http', text)
    assert "mathdefault" not in text, "a tick's formula is printed as it is written"


def test_a_sawtooth_has_a_line_for_each_flow_that_has_a_window_and_for_each_queue_that_fills() -> None:
    windows, rates, queue = draw(
        plot_of({"kind": "sawtooth", **ENTRIES["sawtooth"], "only": {LIMIT: ["8pkt"], "workload": ["none"]}})
    ).axes
    assert [line.get_ydata().tolist() for line in windows.lines] == [[10.0, 12.5]]
    assert [line.get_ydata().tolist() for line in rates.lines] == [[4.0, 5.0], [1.0, 1.0]]
    assert [line.get_ydata().tolist() for line in queue.lines] == [[3, 9]]
    assert rates.lines[0].get_color() != rates.lines[1].get_color()
    assert queue.lines[0].get_xdata().tolist() == [0.05, 0.1] and queue.get_xlabel() == "Time (s)"


def test_a_heatmap_prints_number_and_class_of_every_cell() -> None:
    plot = plot_of({"kind": "heatmap", **ENTRIES["heatmap"]})
    text = svg(draw(plot))
    for row in plot.frame.iter_rows(named=True):
        assert f">{plot.value.text(row['value'])}</text>" in text
        assert row["n"] == 2
    assert ">A</text>" in text
    assert "2 replications a cell" in text


def test_a_cell_that_was_not_run_is_hatched() -> None:
    results = [one for one in sweep() if (one["point"]["workload"], one["point"][LIMIT]) != ("none", "64pkt")]
    results.append(result({"workload": "long-few", LIMIT: "64pkt"}))
    plot = plot_of({"kind": "heatmap", **ENTRIES["heatmap"]}, results)
    assert ("none", "64pkt") not in plot.rows("")
    assert "no value" in svg(draw(plot))


def test_replications_give_mean_median_and_interval() -> None:
    point = {"workload": "none", LIMIT: "8pkt"}
    results = [
        result(point, i, **{"links.up.loss": loss, "web.plt_s.median": loss})
        for i, loss in enumerate((0.1, 0.2, 0.6))
    ]
    [mean] = plot_of({"kind": "lines", "x": LIMIT, "value": "links.up.loss"}, results).frame.iter_rows(
        named=True
    )
    [middle] = plot_of({"kind": "lines", "x": LIMIT, "value": "web.plt_s.median"}, results).frame.iter_rows(
        named=True
    )
    assert mean["value"] == pytest.approx(0.3)
    assert middle["value"] == 0.2
    # Student's t with two degrees of freedom: 4.303 · s / √3
    half = 4.303 * 0.0700**0.5 / 3**0.5
    assert mean["high"] - 0.3 == pytest.approx(half, rel=1e-3)
    assert mean["low"] == 0.0 > 0.3 - half, "a share is not negative"
    assert interval([1.0]) is None


def test_intervals_agree_with_scipy() -> None:
    from scipy import stats

    for count in (2, 5, 30, 31, 40, 100):
        numbers = [float(i % 7) for i in range(count)]
        low, high = stats.t.interval(0.95, count - 1, loc=0, scale=stats.sem(numbers))
        assert interval(numbers) == pytest.approx((high - low) / 2, rel=2e-3)


def test_labels_are_as_in_a_study_file_in_the_order_of_points() -> None:
    points = [{"a": label, "b": 1} for label in (True, "x", 0.5, False, True, 10, "x")]
    assert labels_of(points) == {"a": ["true", "x", "0.5", "false", "10"], "b": ["1"]}


def test_axes_beyond_x_and_y_become_panels() -> None:
    results = sweep({**AXES, "path.down.queue.kind": ("fifo", "codel")}, repeat=1)
    plot = plot_of({"kind": "heatmap", **ENTRIES["heatmap"]}, results)
    assert plot.panels == ["Downlink queue discipline fifo", "Downlink queue discipline codel"]
    one = plot_of(
        {"kind": "heatmap", **ENTRIES["heatmap"], "only": {"path.down.queue.kind": ["codel"]}}, results
    )
    assert one.panels == [""]
    draw(plot)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"kind": "pie", "value": "x"}, "expected one of heatmap"),
        ({"kind": "lines", "value": "links.up.los", "x": LIMIT}, "links.up.loss"),
        ({"kind": "lines", "value": "links.up.loss", "x": "path.rtt"}, "the axes are workload"),
        ({"kind": "scatter", "value": "links.up.loss"}, "needs `x`"),
        ({"kind": "box", "value": "links.up.loss"}, "utilisation_quantiles"),
        ({"kind": "heatmap", "value": "links.up.series.utilisation"}, "no single number"),
        ({"kind": "table", "value": "links.up.loss", "only": {"rtt": ["1ms"]}}, "`only` names 'rtt'"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_why(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(SojournError, match=re.escape(says)):
        plot_of(entry)


def test_the_schema_of_study_files_has_the_kinds_and_scales_that_are_drawn() -> None:
    known = {
        name: {word for one in about["oneOf"] for word in [one["const"]]}
        for name, about in json.loads(_core.schema())["$defs"].items()
        if name in ("FigureKind", "Scale")
    }
    assert known["FigureKind"] == set(KINDS) == set(ENTRIES)
    for name in known["Scale"]:
        assert scale_for(value("links.up.loss"), name).name == {"none": "plain"}.get(name, name)


def test_classes_have_the_published_limits() -> None:
    assert [SCALES["g114"].letter(delay) for delay in (149.9, 150, 399, 400)] == ["A", "B", "B", "C"]
    assert [SCALES["mos"].letter(mos) for mos in (4.3, 4.29, 4.0, 3.6, 3.1, 2.6, 2.59)] == list("ABBCDEF")


@pytest.mark.parametrize("name", [name for name, scale in SCALES.items() if scale.colours])
def test_classes_differ_in_lightness_and_their_text_can_be_read(name: str) -> None:
    scale = SCALES[name]
    light = [_luminance(scale.colour(edge, 0, 1)) for edge in (*(e - 1e-6 for e in scale.edges), 1e9)]
    falling = light if light[0] > light[-1] else light[::-1]
    for lighter, darker in pairwise(falling):
        assert (lighter + 0.05) / (darker + 0.05) > 1.15
    for colour in scale.colours:
        rgb = tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        text = _luminance(tuple(int(ink(rgb)[i : i + 2], 16) / 255 for i in (1, 3, 5)))
        high, low = max(text, _luminance(rgb)), min(text, _luminance(rgb))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def _luminance(colour: tuple[float, ...]) -> float:
    linear: Callable[[float], float] = lambda c: c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4  # noqa: E731
    return sum(share * linear(c) for share, c in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def test_names_and_units() -> None:
    assert value("links.up.occupancy_delay_ms").title == "Uplink: queueing delay (from mean occupancy) (ms)"
    assert value("voice.talks.mos.median").phrase == "median MOS (voice, user talks)"
    assert value("links.up.loss").with_unit(0.0412) == "4.1 %"
    assert value("links.up.loss").difference(-0.0412) == "−4.1"
    assert value("web.plt_s.median").difference(0.04) == "0.0"
    assert axis_name(LIMIT, list(LIMITS)) == "Downlink buffer (packets)"
    assert number_of("2Mbit") == 2e6
    assert number_of("1s") == number_of("1000ms")
    assert number_of("short-few") is None


def test_the_series_of_a_cell() -> None:
    frame = series_table(sweep()[0], "up")
    assert frame["time_s"].to_list()[:3] == [0.0, 0.5, 1.0]
    assert "Queueing" in svg(series(frame, "inside"))
    with pytest.raises(SojournError, match="no time series"):
        series_table({"links": {"up": {}}}, "up")
    # Bins of parts of a second, of which one quantity has fewer.
    found = {"bin_s": 0.125, "queue_delay_ms": [1, 2, 3, 4], "utilisation": [0.5], "dropped_pkts": []}
    rows = series_table({"links": {"up": {"series": found}}}, "up").rows()
    assert rows == [
        (0.0, 1.0, 0.5, None), (0.125, 2.0, None, None), (0.25, 3.0, None, None), (0.375, 4.0, None, None),
    ]  # fmt: skip


def test_points_over_names_are_not_joined() -> None:
    over_names = draw(plot_of({"kind": "lines", "x": "workload", "y": LIMIT, "value": "links.up.loss"}))
    over_numbers = draw(plot_of({"kind": "lines", "x": LIMIT, "y": "workload", "value": "links.up.loss"}))

    def styles(figure: Any) -> set[str]:
        return {line.get_linestyle() for line in figure.axes[0].lines if line.get_label()[0] != "_"}

    assert styles(over_names) == {"None"}
    assert "None" not in styles(over_numbers)


def test_clients_are_lines_of_their_own():
    results = sweep()
    for place, result in enumerate(results):
        result["adaptive"] = {"per_client_rate_kbps": [100.0 + place, 200.0]}
    found = plot_of({"kind": "clients", "x": LIMIT, "value": "adaptive.per_client_rate_kbps"}, results)
    assert found.y_labels == ["client 1", "client 2"]
    assert set(found.frame.filter(found.frame["y"] == "client 2")["value"]) == {200.0}


def test_a_viewing_is_drawn_with_its_stalls():
    segments = {
        "level": [1, 2, 1],
        "rate_kbps": [100.0, 300.0, 100.0],
        "bytes": [1, 1, 1],
        "request_s": [0.0, 1.0, 7.0],
        "arrive_s": [1.0, 7.0, None],
        "throughput_kbps": [400.0, 50.0, None],
        "buffer_before_s": [0.0, 4.0, 4.0],
        "buffer_after_s": [4.0, 4.0, None],
    }
    calm = {"average_rate_kbps": 50.0, "stalls": []}
    viewer = {"average_rate_kbps": 150.0, "stalls": [[5.0, 7.0]], "play_s": 1.0, "segment_s": 4.0}
    viewer["segments"] = segments
    assert most_troubled({"adaptive": {"clients": [calm, viewer]}}) == 1
    assert most_troubled({"adaptive": {"clients": [calm]}}) == 0
    assert most_troubled({"links": {}}) is None
    assert playing_table(viewer).rows() == [(1.0, 100.0), (7.0, 300.0)]
    assert timeline_table(viewer).height == 3
    rates, buffer = timeline(viewer, "one").axes
    assert len(rates.patches) == len(buffer.patches) == 1
    at, level = buffer.lines[0].get_data()
    assert list(zip(at, level, strict=True)) == [
        (0, 0),
        (1, 0),
        (1, 4),
        (1, 4),
        (5, 0),
        (7, 0),
        (7, 4),
        (7, 4),
    ]
