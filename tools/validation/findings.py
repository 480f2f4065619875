"""What the IMC 2014 study found, looked for in stored results of its two testbeds; and its table 1.

Source: O. Hohlfeld, E. Pujol, F. Ciucu, A. Feldmann, P. Barford, "A QoE Perspective on Sizing Network
Buffers", IMC 2014. The statements are the study's; the bounds are this file's reading of them, set
when first results had been seen.
"""

from __future__ import annotations

import csv
import shutil
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.report import write as write_report
from sojourn.results import Results

BUFFER = "path.down.queue.limit"
ACCESS_BUFFERS = ("8pkt", "16pkt", "32pkt", "64pkt", "128pkt", "256pkt")
UPLOADS = ("short-few-upload", "short-many-upload", "long-few-upload", "long-many-upload")
TABLE_BUFFER = {"access": "64pkt", "backbone": "749pkt"}
"""The bandwidth-delay product of each downlink: table 1 does not say at which buffer it was taken."""


@dataclass(frozen=True)
class Finding:
    """A statement of the study and what it comes to here."""

    statement: str
    here: str
    holds: bool


class Cells:
    """Results of a study by workload and buffer, replications together."""

    def __init__(self, results: Results) -> None:
        self._cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for result in results:
            point = result["point"]
            self._cells.setdefault((str(point.get("workload")), str(point.get(BUFFER))), []).append(result)

    def value(self, workload: str, buffer: str, path: str) -> float | None:
        """Return the mean over replications of a number, or None if no result has it."""
        found = []
        for result in self._cells.get((workload, buffer), ()):
            value: Any = result
            for part in path.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if isinstance(value, int | float):
                found.append(float(value))
        return statistics.fmean(found) if found else None

    def row(self, workload: str, path: str) -> list[float]:
        """Return a number at every access buffer, smallest first."""
        return [
            value for buffer in ACCESS_BUFFERS if (value := self.value(workload, buffer, path)) is not None
        ]


def access(cells: Cells) -> Iterator[Finding]:
    """Look for the findings of the access testbed."""
    delay = "links.up.queue_delay_ms.mean"
    deepest = {load: cells.value(load, "256pkt", delay) or 0.0 for load in UPLOADS}
    peak = {load: cells.value(load, "256pkt", "links.up.queue_delay_ms.max") or 0.0 for load in UPLOADS}
    yield Finding(
        "Uploads fill the uplink's buffer whatever the workload, up to about 3 s at 256 packets.",
        f"mean {min(deepest.values()):.0f} to {max(deepest.values()):.0f} ms over the four uploads, at most "
        f"{max(peak.values()):.0f} ms",
        min(deepest.values()) > 400 and max(peak.values()) > 2500,
    )
    talks = {load: cells.row(load, "voice.talks.mos.median") for load in UPLOADS}
    at_128 = [row[4] for row in talks.values()]
    at_64 = [row[3] for row in talks.values()]
    yield Finding(
        "While uploading, a caller cannot be understood (MOS 1.0) from 64 to 128 packets up.",
        f"64 packets: {min(at_64):.1f} to {max(at_64):.1f}; 128: {min(at_128):.1f} to {max(at_128):.1f}",
        max(at_128) < 1.5,
    )
    plt = {load: cells.value(load, "256pkt", "web.plt_s.median") or 0.0 for load in UPLOADS[2:]}
    yield Finding(
        "While long uploads run, a page takes more than 15 s at 256 packets.",
        ", ".join(f"{load}: {seconds:.1f} s" for load, seconds in plt.items()),
        min(plt.values()) > 15,
    )
    quiet = cells.row("none", "voice.talks.mos.median") + cells.row("none", "voice.listens.mos.median")
    pages = cells.row("none", "web.mos.median")
    yield Finding(
        "Without background traffic all is at its best at every buffer, but for the web page at 8 packets.",
        f"voice {min(quiet):.2f} to {max(quiet):.2f}; "
        f"web from 8 packets up {', '.join(f'{mos:.1f}' for mos in pages)}",
        min(quiet) > 4.1 and min(pages[1:]) > 4.5 and pages[0] < 4.5,
    )
    listens = [cells.row(load, "voice.listens.mos.median") for load in UPLOADS]
    yield Finding(
        "The uplink's delay is heard in the other direction too: listening gets worse with the buffer.",
        "; ".join(f"{load} {row[0]:.1f} → {row[-1]:.1f}" for load, row in zip(UPLOADS, listens, strict=True)),
        all(row[-1] < row[0] - 0.5 for row in listens),
    )
    best = min(value for load in UPLOADS for value in cells.row(load, "links.up.utilisation"))
    yield Finding(
        "Workload decides, buffer size hardly changes utilisation: tiny buffers carry the uploads as well.",
        f"least utilisation of the uplink over uploads and buffers {best:.2f}",
        all(
            max(row) - min(row) < 0.05 for load in UPLOADS if (row := cells.row(load, "links.up.utilisation"))
        ),
    )


def table_1(folders: Path, studies: Path) -> list[list[str]]:
    """Return rows of table 1 beside ours: utilisation and loss in percent, and concurrent flows."""
    rows = []
    with (studies / "published/imc14-table1-workloads.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    cells: dict[str, Cells] = {}
    for testbed in TABLE_BUFFER:
        if (folders / f"imc14-{testbed}" / "study.json").is_file():
            cells[testbed] = Cells(Results(folders / f"imc14-{testbed}"))
    columns = {
        "util_up_mean_pct": ("links.up.utilisation", 100),
        "util_down_mean_pct": ("links.down.utilisation", 100),
        "loss_up_pct": ("links.up.loss", 100),
        "loss_down_pct": ("links.down.loss", 100),
        "mean_concurrent_flows": ("flows.mean_concurrent", 1),
    }
    for row in published:
        testbed = row["testbed"]
        if testbed not in cells:
            continue
        workload = row["workload"] + (f"-{row['activity']}" if testbed == "access" else "")
        line = [testbed, workload]
        for column, (path, factor) in columns.items():
            ours = cells[testbed].value(workload, TABLE_BUFFER[testbed], path)
            line.append("–" if ours is None or not row[column] else f"{factor * ours:.1f} ({row[column]})")
        rows.append(line)
    return rows


def heatmaps(folder: Path, images: Path) -> Iterator[tuple[str, list[str]]]:
    """Draw a study's report; copy ours, the published one and the difference where there is one."""
    results = Results(folder)
    write_report(folder)
    for i, figure in enumerate(results.document.get("figures") or (), 1):
        found = sorted((folder / "figures").glob(f"{i:02d}-*-difference.svg"))
        if not found:
            continue
        stem = found[0].name.removesuffix("-difference.svg")
        names = []
        for suffix in ("", "-published", "-difference"):
            name = f"{folder.name}-{stem}{suffix}.svg"
            shutil.copyfile(folder / "figures" / f"{stem}{suffix}.svg", images / name)
            names.append(name)
        yield figure.get("title") or figure["value"], names
