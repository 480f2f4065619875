"""The picture of a model: queueing delay and drops on the standard step load."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from sojourn import _core
from sojourn.report.figures.style import COLOURS, GRID, MUTED, settle, styled, svg

from tools.validation.documents import bulk, fifo, study

STEPS = (("0s", "10Mbit"), ("20s", "2.5Mbit"), ("40s", "0.8Mbit"), ("60s", "10Mbit"))
PHASES = ("10 Mb/s", "2.5 Mb/s", "0.8 Mb/s", "10 Mb/s")
SECONDS = 80
PHASE_S = 20
FLOWS = 4
CBR = "1Mbit"
RTT = "40ms"
TRANSPORT = "cubic"
LIMIT = "200pkt"
BIN_S = 1.0
LEAST_MS = 0.1

LOAD = f"""**The standard step load**: {FLOWS} long flows ({TRANSPORT} where the page is of a queue)
and 1 Mbit/s of unresponsive UDP share a link whose rate steps from 10 to 2.5 Mbit/s (as if there were four
times the flows), to 0.8 Mbit/s, which the UDP alone exceeds, and back to 10, {PHASE_S} s each. The RTT is
40 ms; at most 200 packets wait, or what a discipline holds by default."""

QUEUES: dict[str, dict[str, Any]] = {
    "red": {"kind": "red", "limit": LIMIT, "adaptive": True, "target": "10ms", "mean-packet": "1500B"},
    "dualpi2": {"kind": "dualpi2"},
    "netem": {"kind": "netem", "limit": LIMIT, "delay": "20ms"},
    "policer": {"kind": "policer", "limit": LIMIT, "rate": "5Mbit", "burst": "30kB"},
}
"""Queues of the pictures that need more than a limit."""


def document(queue: dict[str, Any], transport: str) -> dict[str, Any]:
    """Return the study of the standard step load."""
    steps = {"steps": [list(step) for step in STEPS]}
    cbr = {"kind": "cbr", "rate": CBR, "size": "500B"}
    up = {"rate": "10Mbit", "queue": fifo(1000)}
    path = {"rtt": RTT, "down": {"rate": steps, "queue": queue}, "up": up}
    flows = [bulk("down", FLOWS, transport), {"source": cbr, "transport": "udp", "direction": "down"}]
    return {"name": "step-load", "seed": 1, "duration": f"{SECONDS}s", "path": path, "flows": flows}


def measure(queue: dict[str, Any], transport: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (s), queueing delay (ms; NaN where nothing left) and drops per second, in bins."""
    points = _core.points(study(document(queue, transport)).text)
    series = json.loads(_core.run(points[0])["summary"])["links"]["down"]["series"]
    each = max(1, round(BIN_S / series["bin_s"]))
    count = len(series["dropped_pkts"]) // each
    shape = (count, each)
    delay, dropped = (
        np.array(series[name][: count * each], dtype=float).reshape(shape)
        for name in ("queue_delay_ms", "dropped_pkts")
    )
    drops = dropped.sum(axis=1)
    width = each * series["bin_s"]
    with np.errstate(all="ignore"):
        known = np.isfinite(delay)
        mean = np.where(known, delay, 0).sum(axis=1) / known.sum(axis=1)
    return (np.arange(count) + 0.5) * width, mean, drops / width


def draw(queue: dict[str, Any], transport: str, stem: Path) -> None:
    """Draw a model's picture as ``stem.svg``."""
    times, delay, drops = measure(queue, transport)
    with styled():
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        upper.plot(times, np.maximum(delay, LEAST_MS), color=COLOURS[0], linewidth=1.3)
        upper.set_yscale("log")
        upper.set(ylim=(LEAST_MS, 5000), ylabel="delay (ms)")
        upper.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        upper.yaxis.set_minor_formatter(NullFormatter())
        lower.step(times, drops, color=COLOURS[1], linewidth=1.1, where="mid")
        lower.set(ylabel="drops/s", xlabel="time (s)", xlim=(0, SECONDS), ylim=(0, None))
        for axes in (upper, lower):
            settle(axes)
            for i in range(1, len(PHASES)):
                axes.axvline(i * PHASE_S, color=GRID, linewidth=1.0)
        for i, text in enumerate(PHASES):
            upper.text((i + 0.5) * PHASE_S, 3800, text, ha="center", va="top", fontsize=8.5, color=MUTED)
        text = svg(figure, stem.name)
    text = text.replace("\n   ", "\n").replace("\n  ", "\n")
    stem.with_name(stem.name + ".svg").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n' + text, encoding="utf-8"
    )
