"""The validation page: tables of checks, what is outside and why, and figures; all from stored results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.results import Results

from tools.validation import (
    aqm,
    aqm_peers,
    findings,
    kernel,
    peers,
    plots,
    readings,
    stalls,
    streaming,
    tables,
    theory,
)
from tools.validation.checks import Check, Skipped
from tools.validation.explanations import Explanations
from tools.validation.study import Comparison

HEAD = """# Validation

Written by `python -m tools.validation` (`make validation`) from stored results; no figure of a table is
typed by hand. Engine: sojourn {version}. A value that is outside its rule stands in bold, and is explained
below its table or called *unexplained*. Nothing in the engine or in a rule is fitted to make a row hold.
"""

PUBLISHED = """## Published tables

Cells of ours over those of the published tables, for every results folder whose study names one. A study of
a testbed with other TCP stacks is not met to the percent; the rank correlation (Spearman) says whether
cells come in the same order.
"""

TABLE_1 = """### Table 1: ours (published)

At 64 packets (access) and 749 packets (backbone), the bandwidth-delay products of the downlinks; at which
buffer the study took its table is not said, nor whether its losses count acknowledgements. The study files
say how the loads are read. A short upload is one session: its load in a short run is a matter of a few
large files.
"""

SPEED = """## Speed

`python -m benches.speed --json {file}`, {turns} turns on {system} with {cores} cores, sojourn {version}:
data packets that crossed the bottleneck per second of wall time (medians; simulation alone), the programs
taking turns. Memory is the peak of the process, with the Python interpreter in ours. Both peers run the
cheapest form of the scenario that they know.
"""

_SECTIONS = {
    "theory": "Queueing theory",
    "peers": "Two other simulators",
    "kernel": "Linux",
    "kernel-fresh": "Linux, in scenarios measured afterwards",
    "aqm": "The study of active queue management",
    "streaming": "A study of adaptive streaming",
}


@dataclass
class Page:
    """What the page is made from."""

    root: Path
    checks: dict[str, list[Check | Skipped]] = field(default_factory=dict)
    left_out: list[list[str]] = field(default_factory=list)
    """Head and rows on the square-root law."""
    traits: list[list[str]] = field(default_factory=list)
    published: list[Comparison] = field(default_factory=list)
    studies_results: Path = Path("results")
    """Where the results folders of the published studies lie."""
    studies: Path = Path("studies")
    """Where the published tables lie."""
    explanations: Explanations = field(default_factory=Explanations)
    video: list[str] = field(default_factory=list)
    """Paragraphs on a published figure of video."""
    flows: list[str] = field(default_factory=list)
    """Paragraphs on the study of who loses in a router buffer."""

    def rows(self, section: str) -> list[Check]:
        """Return the checks of a section."""
        return [check for check in self.checks.get(section, ()) if isinstance(check, Check)]

    def unexplained(self) -> list[Check]:
        """Return every row that is outside without an explanation."""
        return [
            check for section in self.checks for check in self.explanations.unexplained(self.rows(section))
        ]


def write(page: Page, docs: Path) -> Path:
    """Write ``validation.md`` and its figures; return the path of the page."""
    images = docs / "validation"
    images.mkdir(parents=True, exist_ok=True)
    parts = [HEAD.format(version=_core.version()), _summary(page)]
    if rows := page.rows("theory"):
        plots.waits(rows, images / "theory")
        parts += [theory.TEXT, _provenance(page, "theory"), _image("theory"), tables.of_rows(rows)]
        parts += [_outside(page, "theory")]
        if page.left_out:
            head, *cells = page.left_out
            parts += [
                "### What the square-root law leaves out\n",
                theory.LEFT_OUT_TEXT,
                tables.table(head, cells),
            ]
    if rows := page.rows("peers"):
        plots.against(rows, images / "peers", "ns-2 and ns-3")
        parts += [peers.TEXT, _provenance(page, "peers"), _image("peers"), tables.of_links(rows)]
        parts += [_outside(page, "peers"), _skipped(page, "peers")]
        if page.traits:
            head, *cells = page.traits
            parts += ["### What one trait of theirs changes\n", peers.TRAITS_TEXT, tables.table(head, cells)]
    if rows := page.rows("kernel"):
        plots.against(rows, images / "kernel", "Linux")
        parts += [kernel.TEXT, _provenance(page, "kernel"), _image("kernel"), tables.of_links(rows)]
        parts += [_outside(page, "kernel")]
    if rows := page.rows("kernel-fresh"):
        parts += [kernel.FRESH_TEXT, _provenance(page, "kernel-fresh"), tables.of_links(rows)]
        parts += [_outside(page, "kernel-fresh")]
    if rows := page.rows("aqm"):
        on_peers = [row for row in rows if row.key.startswith("aqm/peers-")]
        of_study = [row for row in rows if row not in on_peers]
        parts += [aqm.section_text(), _provenance(page, "aqm"), tables.against_study(of_study)]
        parts += [_outside(page, "aqm")]
        parts += _aqm(page.root / "aqm", on_peers)
    if rows := page.rows("streaming"):
        parts += [streaming.TEXT, _provenance(page, "streaming")]
        parts += [tables.of_rows(rows, "least – greatest", "study"), _outside(page, "streaming")]
        for title, head, cells in readings.tables(page.root / "streaming"):
            parts += [f"### {title}\n", tables.table(head, cells)]
        parts += [stalls.TEXT, tables.table(stalls.HEADS, list(stalls.rows(page.root / "streaming")))]
    if page.published:
        parts += [PUBLISHED, *_published(page.published, images)]
        parts += _study(page.studies_results, page.studies, images)
    parts += [*page.video, *page.flows]
    parts += _speed(page.root / "speed.json")
    target = docs / "validation.md"
    target.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts if part), encoding="utf-8")
    return target


def _provenance(page: Page, section: str) -> str:
    where = page.root / section
    command = f"python -m tools.validation --only {section}"
    return f"`{command}`, sojourn {_core.version()}; every run is in `{where.as_posix()}/`.\n"


def _image(name: str) -> str:
    return f"![{name}](validation/{name}.svg)\n"


def _summary(page: Page) -> str:
    rows = []
    for section, title in _SECTIONS.items():
        if checks := page.rows(section):
            outside = [check for check in checks if not check.ok]
            unexplained = page.explanations.unexplained(checks)
            counts = [
                len(checks),
                len(checks) - len(outside),
                len(outside) - len(unexplained),
                len(unexplained),
            ]
            rows.append([title, *map(str, counts)])
    return tables.table(["held against", "rows", "ok", "outside, explained", "outside, unexplained"], rows)


def _aqm(root: Path, on_peers: Sequence[Check]) -> list[str]:
    """Return what the AQM study found, its scene on the peers, and what its open settings change."""
    found, *settings = (
        [f"### {title}\n", words, tables.table(*table)] for title, words, *table in aqm.tables(root)
    )
    peers_table = ["### The scene on ns-2 and ns-3\n", aqm_peers.section_text(), tables.of_links(on_peers)]
    head, *cells = aqm_peers.traits(root)
    traits = ["### What one trait of ns-3's changes\n", aqm_peers.traits_text(), tables.table(head, cells)]
    return [*found, *peers_table, *traits, *(part for parts in settings for part in parts)]


def _outside(page: Page, section: str) -> str:
    outside = [check for check in page.rows(section) if not check.ok]
    if not outside:
        return "All rows hold.\n"
    reasons: dict[str | None, list[Check]] = {}
    for check in outside:
        reasons.setdefault(page.explanations.of(check), []).append(check)
    lines = ["Outside:", ""]
    for reason, checks in reasons.items():
        for check in checks:
            expected = ", ".join(
                f"{name} {tables.number(value, tables.kind_of(check))}" for name, value in check.references
            )
            lines.append(
                f"- `{check.key}`: {tables.number(check.ours, tables.kind_of(check))} against {expected}"
            )
        lines += ["", f"  {' '.join(reason.split()) if reason else '*Unexplained.*'}", ""]
    return "\n".join(lines)


def _skipped(page: Page, section: str) -> str:
    skipped = [row for row in page.checks.get(section, ()) if isinstance(row, Skipped)]
    return "".join(f"- `{row.key}` not run: {row.reason}.\n" for row in skipped)


def _published(comparisons: Sequence[Comparison], images: Path) -> list[str]:
    rows = []
    figures = []
    for comparison in comparisons:
        stem = comparison.key.replace("/", "-").replace(" ", "-")
        plots.scatter(comparison, images / stem)
        of = ", ".join(comparison.where.values())
        rows.append(
            [
                f"{comparison.study}: {comparison.title}",
                Path(comparison.table).stem + (f" ({of})" if of else ""),
                str(len(comparison.pairs)) + (f" of {len(comparison.pairs) + comparison.unmatched}"),
                tables.number(comparison.rank_correlation),
                tables.number(comparison.median_ratio),
                f"{100 * comparison.share_within(0.25):.0f} %",
            ]
        )
        figures.append(f"`{comparison.command}`, sojourn {comparison.version}:\n\n{_image(stem)}")
    head = ["figure", "published table", "cells", "rank correlation", "median ratio", "within 25 %"]
    return [tables.table(head, rows), *figures]


def _study(results: Path, studies: Path, images: Path) -> list[str]:
    """Return the findings of the study, its table 1 and its heatmaps, as far as results are there."""
    parts = []
    if (results / "imc14-access" / "study.json").is_file():
        rows = [
            [finding.statement, finding.here, "holds" if finding.holds else "**does not hold**"]
            for finding in findings.access(findings.Cells(Results(results / "imc14-access")))
        ]
        parts += ["### What the study found\n", tables.table(["finding", "here", ""], rows)]
    if rows := findings.table_1(results, studies):
        head = [
            "testbed",
            "workload",
            "util. up %",
            "util. down %",
            "loss up %",
            "loss down %",
            "concurrent flows",
        ]
        parts += [TABLE_1, tables.table(head, rows)]
    for name in ("imc14-access", "imc14-backbone"):
        if (results / name / "study.json").is_file():
            for title, drawn in findings.heatmaps(results / name, images):
                head = ["ours", "published", "ours − published"]
                cells = [f"![{text}](validation/{file})" for text, file in zip(head, drawn, strict=True)]
                parts += [f"### {name}: {title}\n", tables.table(head, [cells])]
    return parts


def _speed(file: Path) -> list[str]:
    """Return the section on speed if the bench has left its figures."""
    if not file.is_file():
        return []
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    machine = found["machine"]
    text = SPEED.format(
        file=file.as_posix(),
        turns=found["turns"],
        system=machine["system"],
        cores=machine["cores"],
        version=machine["sojourn"],
    )
    rows = []
    for scenario in found["scenarios"]:
        for program, row in scenario["programs"].items():
            ratio = row.get("sojourn_times_faster")
            rows.append(
                [
                    scenario["scenario"],
                    program,
                    f"{row['kpps']:.0f}",
                    f"{row['rss_mb']:.0f}",
                    f"{row['simulated_s']:g}",
                    f"{ratio:.1f}" if ratio else "",
                ]
            )
    head = ["scenario", "program", "k data packets/s", "MB", "simulated s", "sojourn is faster by"]
    return [text, tables.table(head, rows)]
