"""The page of a run of the emulator: what the queues did, and how good the emulator was."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sojourn import _core
from sojourn.capture.output import printable
from sojourn.report import html
from sojourn.report.figures.style import canvas, look, settle
from sojourn.report.files import Files
from sojourn.report.sections import Section, Table
from sojourn.results.atomic import writing
from sojourn.study import listed
from sojourn.study.units import bit_rate, percent
from sojourn.sweep.emulation.words import heading, microseconds, notes, of_rate, verdict

_WAITS = ("mean", "p95", "p99", "max")


def write_page(came: Mapping[str, Any], command: str, page: Path, changing: Collection[str] = ()) -> None:
    """Write the page and, in ``figures/`` beside it, its figures under names that begin with its own.

    Parameters
    ----------
    came
        What :func:`sojourn.sweep.emulation.run` returned.
    command
        What was run, as it was typed.
    page
        File to write.
    changing
        Links whose rate changes: their utilisation is of the mean rate.

    Raises
    ------
    StoreError
        The page cannot be written.
    """
    with writing(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        made = Files(page.parent / "figures")
        figures = []
        series = series_table(came["links"])
        if not series.is_empty():
            name = f"{printable(page.stem)}-queues-over-time"
            made.csv(series, name)
            read = (
                "Mean over each interval; a gap in the delay is an interval in which nothing left the queue."
            )
            if changing:
                read += (
                    f" Utilisation is of the mean rate of the run, and the rate changes: {listed(changing)}."
                )
            title = "The queues over time"
            figure = drawn(came["links"], came["engine"]["emulated_s"], changes=bool(changing))
            picture = made.picture(figure, name, f"{title}. {read}")
            figures.append(Section(title, picture, read))
        html.write(
            page,
            "sweep/emulation/page.html.jinja",
            verdict=verdict(came),
            heading=heading(came),
            command=command,
            exit=came["command"]["exit"],
            wall_s=came["command"]["wall_s"],
            quality=Table(("row", "of", "set", "got", "limit", "held"), _quality(came), words=2),
            links=Table(
                ("queue", "rate", "used", "packets", "dropped", "marked", *(f"{wait} ms" for wait in _WAITS)),
                [_link(name, link, name in changing) for name, link in came["links"].items()],
            ),
            late=Table(("packets", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "count"), _late(came)),
            notes=[note.removeprefix("note: ") for note in notes(came["engine"])],
            engine=_engine(came["engine"]),
            figures=figures,
            made=made,
            version=_core.version(),
        )


def _quality(came: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            row["what"],
            row.get("link", "all"),
            f"{row['set']:g} {row['unit']}".replace("us", "µs"),
            f"{row['got']:.6g} {row['unit']}".replace("us", "µs"),
            f"± {row['limit']:g}" if row["limit"] else "exactly",
            "yes" if row["held"] else "no",
        )
        for row in came["verdict"]["rows"]
    ]


def _link(name: str, link: Mapping[str, Any], changes: bool = False) -> tuple[str, ...]:
    delay, rate = link["queue_delay_ms"], link["rate_bps"]
    waited = [f"{delay[key]:.2f}" for key in _WAITS]
    return (
        name,
        of_rate(link, changes) if rate else "unlimited",
        percent(link["utilisation"]) if rate else "–",
        str(link["arrived_pkts"]),
        str(link["dropped_pkts"]),
        str(link.get("marked_pkts", 0)),
        *(waited if link["departed_pkts"] else ["–"] * len(waited)),
    )


def _late(came: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for what, found in (("written", came["lateness_us"]), ("read", came["engine"]["read_lateness_us"])):
        for way, late in found.items():
            numbers = (
                [microseconds(late[key]) for key in ("p50", "p99", "p999", "max")] if late else ["–"] * 4
            )
            rows.append((f"{what}, {way}", *numbers, str(late["packets"]) if late else "–"))
    return rows


def _engine(engine: Mapping[str, Any]) -> list[tuple[str, str]]:
    offload = {
        "nic": f"super-packets, cut at {bit_rate(engine['access_rate_bps'])}",
        "off": "single packets",
    }
    stamps = {
        "kernel": "the kernel, when it handed a packet over",
        "read": "the emulator, when it read a packet",
    }
    shares = engine["processors"]
    return [
        ("Times of arrival", stamps[engine["stamps"]]),
        ("Hosts send", offload[engine["offload"]]),
        ("Congestion control", engine["congestion"] or "not known"),
        ("MTU", f"{engine['mtu']} bytes"),
        ("Rights", f"{engine['rights']}, scheduled as {engine['scheduling']}"),
        ("Processors", f"{shares['busy_pct']:g} % busy, {shares['steal_pct']:g} % taken by the hypervisor"),
        ("Emulator's thread", f"{engine['thread_pct']:g} % of a processor"),
        ("Flows", str(engine["flows"])),
    ]


def series_table(links: Mapping[str, Any]) -> pl.DataFrame:
    """Return the queues over time: a row for each link and interval."""
    frames = []
    for name, link in links.items():
        series = link["series"]
        bins = range(len(series["utilisation"]))
        columns = {
            "link": [name for _ in bins],
            "time_s": [place * series["bin_s"] for place in bins],
            "utilisation": pl.Series(series["utilisation"], dtype=pl.Float64),
            "queue_delay_ms": pl.Series(series["queue_delay_ms"], dtype=pl.Float64),
            "dropped_pkts": pl.Series(series["dropped_pkts"], dtype=pl.UInt64),
        }
        frames.append(pl.DataFrame(columns, schema_overrides={"link": pl.String, "time_s": pl.Float64}))
    return pl.concat(frames)


def drawn(links: Mapping[str, Any], end_s: float, *, changes: bool = False) -> Figure:
    """Draw delay (above) and utilisation (below) over time; the last interval ends with the run.

    Where rates change, the utilisation is of the mean rate.
    """
    with canvas(8.0, 4.6, nrows=2, sharex=True) as (figure, (delays, used)):
        for place, (name, link) in enumerate(links.items()):
            series = link["series"]
            at = [place * series["bin_s"] for place in range(len(series["utilisation"]))]
            style = {key: look(place)[key] for key in ("color", "linestyle")}
            values: Sequence[float | None] = series["queue_delay_ms"]
            for axes, got in (
                (delays, values),
                (used, [100 * each for each in series["utilisation"]]),
            ):
                edges = np.array([*got, *got[-1:]], dtype=float)
                axes.step([*at, max(end_s, *at)] if at else at, edges, where="post", label=name, **style)
        delays.set_ylabel("Queueing delay (ms)")
        of = "% of the mean rate" if changes else "%"
        used.set(ylabel=f"Utilisation ({of})", xlabel="Time since the command started (s)")
        for axes in (delays, used):
            axes.set_ylim(bottom=0)
            settle(axes)
        delays.legend(loc="best")
        figure.align_ylabels()
    return figure
