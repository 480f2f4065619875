"""The validation page: what is held against what, and how it comes out; all from stored results."""

import sys
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study.grouped import grouped

from tools.validation import fitted, tables
from tools.validation.checks import Check
from tools.validation.explanations import Explanations
from tools.validation.runs import Runs, made_by, named, this_engine
from tools.validation.sections import SECTIONS, Section, Sources

HEAD = """# Validation

Written by `python -m tools.validation` (`make validation`) from stored results; no figure of a table is typed
by hand. It was written by sojourn {version}, {engine}; each section names the engine that made its runs. A
value outside its rule is in bold, and is explained below its table or called *unexplained*. An explanation is
for one row at the value it was written for: if the row moves by more than its spread, the explanation is
void.
"""

SUMMARY = "## Summary\n"


@dataclass
class Page:
    """The sections of the page, and what explains their rows."""

    root: Path
    """Where the runs of the sections are stored."""
    published: Path = Path("results")
    """Where the results folders of the published studies lie."""
    studies: Path = Path("studies")
    """Where the study files and ``published/`` lie."""
    executor: Executor | None = None
    """Where runs are simulated; by default each study has processes of its own."""
    explanations: Explanations = field(default_factory=Explanations)
    sections: dict[str, Section] = field(default_factory=dict)
    provenance: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Why a section is not there."""

    def make(self, name: str, images: Path, *, simulate: bool = True) -> None:
        """Make a section from its runs; simulate what is missing of them, if that is allowed."""
        maker = SECTIONS[name]
        runs = Runs(self.root / name, self.executor, simulate=simulate and maker.simulates)
        try:
            section = maker.make(Sources(runs, self.published, self.studies, images))
        except SojournError as error:
            self.missing[name] = str(error)
            return
        self.sections[name] = section
        own = f"`python -m tools.validation --only {name}`; every run is in `{runs.root.as_posix()}/`, "
        self.provenance[name] = (
            f"{own}{made_by(runs.engines)}.\n" if section.provenance is None else section.provenance
        )

    def unexplained(self) -> list[Check]:
        """Return every row that is outside without an explanation."""
        return [row for each in self.sections.values() for row in self.explanations.unexplained(each.rows)]

    def stale(self) -> list[str]:
        """Return a sentence for every explanation that is no longer one."""
        return [
            sentence
            for name, section in self.sections.items()
            for sentence in self.explanations.stale(name, section.rows)
        ]


def write(page: Page, docs: Path) -> Path:
    """Write ``validation.md``; return its path."""
    head = HEAD.format(version=_core.version(), engine=named(this_engine()))
    parts: list[object] = [head, *fitted.section(), *_summary(page)]
    for name, maker in SECTIONS.items():
        if name not in page.sections:
            why = page.missing.get(name, "it was not asked for")
            parts += [f"## {maker.title}\n", f"*Not written: {why}.*\n"]
            continue
        section = page.sections[name]
        parts += [section.text, page.provenance[name], *section.table]
        parts += [_outside(page, section)] if section.rows else []
        parts += section.parts
    target = docs / "validation.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    texts = [str(part) for part in parts]
    target.write_text("\n".join(text.rstrip("\n") + "\n" for text in texts if text), encoding="utf-8")
    return target


def _summary(page: Page) -> list[str]:
    """Return the tables that count rows, findings and published tables, and say what is missing."""
    rows, found, told = [], [], []
    for name, maker in SECTIONS.items():
        if name not in page.sections:
            told.append(f"Not in these counts, since it is not stored: {maker.title}.\n")
            continue
        section = page.sections[name]
        groups = section.groups or ({maker.title: section.rows} if section.rows else {})
        for title, checks in groups.items():
            outside = [check for check in checks if not check.ok]
            unexplained = len(page.explanations.unexplained(checks))
            counts = (len(checks), len(checks) - len(outside), len(outside) - unexplained, unexplained)
            rows.append([title, *map(str, counts)])
        for study, findings in section.findings.items():
            verdicts = [finding.holds for finding in findings]
            counts = (len(verdicts), *(verdicts.count(verdict) for verdict in (True, False, None)))
            found.append([study, *map(str, counts)])
    if found:
        found.append(["together", *(str(sum(int(row[i]) for row in found)) for i in range(1, 5))])
    heads = ["held against", "rows", "ok", "outside, explained", "outside, unexplained"]
    of_papers = ["what a study found", "findings", "hold", "do not hold", "cannot be said"]
    counted = [tables.table(head, each) for head, each in ((heads, rows), (of_papers, found)) if each]
    return [SUMMARY, *counted, *_published(page.sections.get("published")), *told]


def _published(section: Section | None) -> list[str]:
    """Return the table that counts published tables and table 1."""
    if section is None or not section.comparisons:
        return []
    compared = section.comparisons
    counts = [
        (f"{one.study}: {one.title}", len(one.pairs), one.close, tables.number(one.median_ratio))
        for one in compared
    ]
    cells, close = (sum(count[i] for count in counts) for i in (1, 2))
    counts.append((f"{len(compared)} together", cells, close, ""))
    rows = [
        [what, str(cells), f"{close} ({100 * close / cells:.0f} %)", ratio]
        for what, cells, close, ratio in counts
    ]
    head = ["published table", "cells", "within 25 %", "median ratio, ours over published"]
    lines = [tables.table(head, rows)]
    if section.table_1:
        ok = sum(section.table_1)
        lines.append(f"Table 1 of IMC 2014: {ok} of {len(section.table_1)} rows meet their rule.\n")
    return lines


def _outside(page: Page, section: Section) -> str:
    outside = [check for check in section.rows if not check.ok]
    if not outside:
        return "All rows hold.\n"
    reasons = grouped((page.explanations.of(check), check) for check in outside)
    lines = ["Outside:", ""]
    for reason, checks in reasons.items():
        lines += [f"- `{c.key}`: {tables.of(c, c.ours)} against {tables.against(c)}" for c in checks]
        lines += ["", f"  {reason or '*Unexplained.*'}", ""]
    return "\n".join(lines)


def told(section: Section) -> None:
    """Print a section's rows on standard error."""
    for row in section.rows:
        others = ", ".join(f"{name} {value:.4g}" for name, value in row.references)
        print(f"{row.verdict:8} {row.key:62} {row.ours:9.4g}  against {others}", file=sys.stderr)
