"""What the IMC 2014 study found, looked for in stored results of its two testbeds; and its table 1.

Source: O. Hohlfeld, E. Pujol, F. Ciucu, A. Feldmann, P. Barford, "A QoE Perspective on Sizing Network
Buffers", IMC 2014. A statement says no more than what is tested; what the study says is in brackets where
that is more. The bounds are this file's reading, set when first results had been seen.
"""

import shutil
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.losses.findings import Finding
from sojourn.report import write_report
from sojourn.report.published import Quantity, load
from sojourn.results import Results
from sojourn.results.path import look_up

from tools.validation.checks import near
from tools.validation.study import BUFFER

ACCESS_BUFFERS = ("8pkt", "16pkt", "32pkt", "64pkt", "128pkt", "256pkt")
UPLOADS = ("short-few-upload", "short-many-upload", "long-few-upload", "long-many-upload")
TABLE_BUFFER = {"access": "64pkt", "backbone": "749pkt"}
"""The bandwidth-delay product of each downlink; of the access uplink it is 8 packets."""
TABLE_STUDY = {"access": "imc14-table1", "backbone": "imc14-backbone"}
"""Table 1 does not say at which buffers it was taken: the studies with those chosen here."""
FULL_MS, LONGEST_MS = 400, 2500
DEAF = 1.5
SLOW_S = 15
GOOD_VOICE, GOOD_PAGE = 4.1, 4.5
WORSE = 0.5
STEADY = 0.05
SCATTERED = 0.1
"""Replications are said to be apart where they are so by more than this share of their mean."""


class Cells:
    """Results of a study by workload and buffer, replications together."""

    def __init__(self, results: Iterable[Mapping[str, Any]]) -> None:
        self._cells: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for result in results:
            point = result["point"]
            self._cells.setdefault((str(point.get("workload")), str(point.get(BUFFER))), []).append(result)

    def value(self, workload: str, buffer: str, path: str) -> float | None:
        """Return the mean over replications of a number, or None if no result has it."""
        found = [look_up(result, path) for result in self._cells.get((workload, buffer), ())]
        known = [float(number) for number in found if isinstance(number, int | float)]
        return statistics.fmean(known) if known else None

    def ends(self, workload: str, buffer: str, path: str) -> tuple[float, float]:
        """Return the least and the greatest of a number over replications; it must be there."""
        found = [look_up(result, path) for result in self._cells[workload, buffer]]
        return min(found), max(found)

    def row(self, workload: str, path: str) -> list[float] | None:
        """Return a number at every access buffer, smallest first, or None if one is not there."""
        row = [self.value(workload, buffer, path) for buffer in ACCESS_BUFFERS]
        return None if None in row else [value for value in row if value is not None]

    def rows(self, workloads: Iterable[str], path: str) -> dict[str, list[float]] | None:
        """Return the rows of some workloads, or None if a cell of them is not there."""
        found = {load: row for load in workloads if (row := self.row(load, path)) is not None}
        return found if found.keys() == set(workloads) else None


def access(cells: Cells) -> Iterator[Finding]:
    """Look for the findings of the access testbed."""
    for statement, reading, look, paths in (
        (
            "Every upload keeps a long queue in the uplink at 256 packets (the study: fills it whatever the "
            "workload, up to about 3 s).",
            f"a mean above {FULL_MS} ms under every upload, and a longest wait above {LONGEST_MS} ms",
            _filled,
            [(UPLOADS, "links.up.queue_delay_ms.mean"), (UPLOADS, "links.up.queue_delay_ms.max")],
        ),
        (
            "While uploading, a caller is hardly understood from 128 packets up (the study: MOS 1.0, from 64 "
            "to 128 up).",
            f"MOS below {DEAF} at 128 and at 256 packets under every upload",
            _deaf,
            [(UPLOADS, "voice.talks.mos.median")],
        ),
        (
            f"While long uploads run, a page takes more than {SLOW_S} s at 256 packets.",
            "the median, under both",
            _slow,
            [(UPLOADS[2:], "web.plt_s.median")],
        ),
        (
            "Without background traffic voice and the web page are good at every buffer, but for the page at "
            "8 packets.",
            f"MOS above {GOOD_VOICE} (voice) and {GOOD_PAGE} (page), that of the page at 8 packets below",
            _quiet,
            [(("none",), f"{score}.mos.median") for score in ("voice.talks", "voice.listens", "web")],
        ),
        (
            "The uplink's delay is heard in the other direction too: listening gets worse with the buffer.",
            f"more than {WORSE} of MOS lost from 8 to 256 packets under every upload",
            _heard,
            [(UPLOADS, "voice.listens.mos.median")],
        ),
        (
            "The buffer hardly changes the uplink's utilisation: tiny buffers carry the uploads as well.",
            f"less than {100 * STEADY:g} points between buffers under every upload",
            _steady,
            [(UPLOADS, "links.up.utilisation")],
        ),
    ):
        rows = [cells.rows(workloads, path) for workloads, path in paths]
        known = [row for row in rows if row is not None]
        seen = look(*known) if len(known) == len(rows) else ("not all points are stored", None)
        yield Finding(statement, reading, *seen)


Rows = Mapping[str, list[float]]


def _filled(means: Rows, peaks: Rows) -> tuple[str, bool]:
    mean, peak = [row[-1] for row in means.values()], max(row[-1] for row in peaks.values())
    here = f"mean {min(mean):.0f} to {max(mean):.0f} ms over the four uploads, at most {peak:.0f} ms"
    return here, min(mean) > FULL_MS and peak > LONGEST_MS


def _deaf(talks: Rows) -> tuple[str, bool]:
    at_64, large = [row[3] for row in talks.values()], [mos for row in talks.values() for mos in row[4:]]
    here = (
        f"64 packets: {min(at_64):.1f} to {max(at_64):.1f}; 128 and 256: {min(large):.1f} to {max(large):.1f}"
    )
    return here, max(large) < DEAF


def _slow(plt: Rows) -> tuple[str, bool]:
    here = ", ".join(f"{load}: {row[-1]:.1f} s" for load, row in plt.items())
    return here, all(row[-1] > SLOW_S for row in plt.values())


def _quiet(talks: Rows, listens: Rows, web: Rows) -> tuple[str, bool]:
    voice, pages = talks["none"] + listens["none"], web["none"]
    here = f"voice {min(voice):.2f} to {max(voice):.2f}; web from 8 packets up "
    here += ", ".join(f"{mos:.2f}" for mos in pages)
    return here, min(voice) > GOOD_VOICE and min(pages[1:]) > GOOD_PAGE and pages[0] < GOOD_PAGE


def _heard(listens: Rows) -> tuple[str, bool]:
    here = "; ".join(f"{load} {row[0]:.1f} → {row[-1]:.1f}" for load, row in listens.items())
    return here, all(row[-1] < row[0] - WORSE for row in listens.values())


def _steady(utilisation: Rows) -> tuple[str, bool]:
    changes = {load: max(row) - min(row) for load, row in utilisation.items()}
    here = ", ".join(f"{load} {100 * change:.1f} points" for load, change in changes.items())
    return here, max(changes.values()) < STEADY


UTILISED = near("the study's", points=2)
LOST = near("the study's", share=0.25)
RARELY = near("the study's", points=0.1)
AT_ONCE = near("the study's", share=0.25)
TABLE_RULE = (
    f"utilisation {UTILISED.text}, or by the standard deviation that the study prints; loss {LOST.text} or "
    f"{RARELY.text}; flows {AT_ONCE.text}"
)


def table_1(testbeds: Mapping[str, Cells]) -> Iterator[tuple[list[str], bool]]:
    """Yield rows of table 1 beside ours, and whether all that a row has of both meets the rule."""
    table = load("published/imc14-table1-workloads.csv")
    compared = [each for each in table.quantities if not each.path.endswith("_sd_1s")]
    for row in table.frame.iter_rows(named=True):
        testbed = row["testbed"]
        if testbed not in testbeds:
            continue
        workload = row["workload"] + (f"-{row['activity']}" if testbed == "access" else "")
        texts, holds = [], []
        for quantity in compared:
            ours = testbeds[testbed].value(workload, TABLE_BUFFER[testbed], quantity.path)
            published = row[quantity.column]
            if ours is None or published is None:
                texts.append("–")
                continue
            shown, scale = (f"{100 * ours:.1f}", 100) if quantity.unit == "%" else (f"{ours:.1f}", 1)
            ok = _meets(quantity, ours, published / scale, row)
            text = f"{shown if ok else f'**{shown}**'} ({published:g})"
            low, high = testbeds[testbed].ends(workload, TABLE_BUFFER[testbed], quantity.path)
            if high - low > SCATTERED * abs(ours):
                text += f", {scale * low:.1f} to {scale * high:.1f}"
            texts.append(text)
            holds.append(ok)
        if holds:
            yield [testbed, workload, *texts, "ok" if all(holds) else "outside"], all(holds)


def _meets(quantity: Quantity, ours: float, published: float, row: Mapping[str, Any]) -> bool:
    rules = (LOST, RARELY) if "loss" in quantity.path else (AT_ONCE,)
    if "utilisation" in quantity.path:
        deviation = row[quantity.column.replace("_mean_pct", "_sd")]
        rules = (UTILISED, near("the study's", points=deviation)) if deviation else (UTILISED,)
    return any(rule.holds(ours, [published]) for rule in rules)


def table_1_head() -> list[str]:
    """Return the heads of the table's columns."""
    kinds = {"utilisation": "util.", "loss": "loss"}
    names = {f"links.{way}.{kind}": f"{kinds[kind]} {way} %" for way in ("up", "down") for kind in kinds}
    names["flows.mean_concurrent"] = "concurrent flows"
    quantities = load("published/imc14-table1-workloads.csv").quantities
    heads = [names[each.path] for each in quantities if each.path in names]
    return ["testbed", "workload", *heads, "verdict"]


def heatmaps(folder: Path, images: Path) -> Iterator[tuple[str, list[str]]]:
    """Draw a study's report; copy ours, the published one and the difference where there is one."""
    results = Results(folder)
    write_report(folder)
    for i, figure in enumerate(results.document.get("figures") or (), 1):
        for found in sorted((folder / "figures").glob(f"{i:02d}-*-difference.svg"))[:1]:
            stem = found.name.removesuffix("-difference.svg")
            names = [f"{stem}{suffix}.svg" for suffix in ("", "-published", "-difference")]
            for name in names:
                shutil.copyfile(found.with_name(name), images / f"{folder.name}-{name}")
            yield figure.get("title") or figure["value"], [f"{folder.name}-{name}" for name in names]
