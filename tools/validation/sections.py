"""The sections of the validation page, each made from its own runs."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.losses.findings import Finding

from tools.validation import (
    aqm,
    aqm_peers,
    findings,
    flows,
    hops,
    kernel,
    peers,
    plots,
    readings,
    sessions,
    stalls,
    streaming,
    theory,
    video,
)
from tools.validation.checks import Check
from tools.validation.runs import NotStored, Runs, made_by
from tools.validation.study import Comparison, comparisons, studies_with_results
from tools.validation.tables import Table, number, of_findings, of_links, of_rows, table

PUBLISHED = """## Published tables

Cells of ours over those of the published tables, for every results folder whose study names one. A testbed
with other TCP stacks is not expected to be met to the percent; the rank correlation (Spearman) says whether
the cells have the same order.
"""

TABLE_1 = f"""### Table 1: ours (published)

At the bandwidth-delay product of each link: 8 packets up and 64 down (access), 749 packets (backbone). The
study does not say at which buffers it took its table, nor whether its losses count acknowledgements; eight
uploads lose its 14.4 % at 8 packets, and half of that at 64. The study files say how the loads are read, and
"What short sessions depend on" what the other readings give. Where replications are apart, the least and the
greatest stand behind the mean. Utilisation is by the time of the line, framing included: if the study counted
captured bytes, which have 14 of the 38 bytes, the uplink of long-few-download has 39.5 % here too, and that
of long-many-download 58 %.

Rule of a row: {findings.TABLE_RULE}.
"""

SPEED = """## Speed

`python -m benches.speed --json {file}`, {turns} turns on {system} with {cores} cores, sojourn {sojourn}:
data packets that crossed the bottleneck per second of wall time (medians; simulation alone), the programs
taking turns. Memory is the peak of the process, with the Python interpreter in ours. Both peers run the
cheapest form of the scenario that they know.
"""


@dataclass
class Section:
    """A section of the page."""

    text: str
    """Its heading and first words."""
    rows: Sequence[Check] = ()
    table: Sequence[str] = ()
    """What stands between the first words and the list of rows that are outside."""
    parts: Sequence[object] = ()
    """What stands after that list; each is written by `str`."""
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    """By the study that found them."""
    groups: Mapping[str, Sequence[Check]] = field(default_factory=dict)
    """The checks by the lines of the summary that count them; by default all in one."""
    comparisons: Sequence[Comparison] = ()
    table_1: Sequence[bool] = ()
    provenance: str | None = None
    """Command and engine; by default those of the section's own runs."""


@dataclass
class Sources:
    """Where a section finds what it is made from, and where its figures go."""

    runs: Runs
    published: Path
    """Where the results folders of the published studies lie."""
    studies: Path
    images: Path


def _image(name: str) -> str:
    return f"![{name}](validation/{name}.svg)\n"


def _theory(sources: Sources) -> Section:
    rows = list(theory.checks(sources.runs))
    left_out = theory.left_out(sources.runs)
    plots.waits(rows, sources.images / "theory")
    tables = [_image("theory"), of_rows(rows, "99 % interval")]
    return Section(theory.TEXT, rows, tables, [left_out])


def _peers(sources: Sources) -> Section:
    rows = list(peers.checks(sources.runs))
    traits = peers.traits(sources.runs)
    plots.against(rows, sources.images / "peers", "ns-2 and ns-3")
    return Section(peers.TEXT, rows, [_image("peers"), of_links(rows)], [traits])


def _hops(sources: Sources) -> Section:
    rows = list(hops.checks(sources.runs))
    of_flows = [row for row in rows if row.key.endswith("/goodput")]
    tables = [of_links([row for row in rows if row not in of_flows]), of_rows(of_flows)]
    return Section(hops.TEXT, rows, tables)


def _kernel(sources: Sources) -> Section:
    rows = list(kernel.checks(sources.runs))
    plots.against(rows, sources.images / "kernel", "Linux")
    groups = {"Linux, known while the engine was made": rows}
    return Section(kernel.TEXT, rows, [_image("kernel"), of_links(rows)], groups=groups)


def _kernel_fresh(sources: Sources) -> Section:
    rows = list(kernel.checks(sources.runs, "kernel-fresh"))
    after = [row for row in rows if row.key.split("/")[1] in kernel.AFTER_REPAIRS]
    groups = {
        "Linux, measured afterwards: the engine was repaired by them": [r for r in rows if r not in after],
        f"Linux, measured after those repairs ({len(kernel.AFTER_REPAIRS)} scenarios)": after,
    }
    return Section(kernel.FRESH_TEXT, rows, [of_links(rows)], groups=groups)


def _aqm(sources: Sources) -> Section:
    runs = sources.runs
    rows = list(aqm.checks(runs))
    on_peers = [row for row in rows if row.key.startswith("aqm/peers-")]
    of_study = [row for row in rows if row not in on_peers]
    found = list(aqm.findings(runs))
    parts = ["### What the study found\n", of_findings(found)]
    parts += ["### The scene on ns-2 and ns-3\n", aqm_peers.section_text(), of_links(on_peers)]
    parts += [aqm_peers.traits(runs), *aqm.tables(runs)]
    groups = {"The study of active queue management": of_study, "Its scene on the two simulators": on_peers}
    return Section(
        aqm.section_text(), rows, [of_rows(of_study)], parts, {"active queue management": found}, groups
    )


def _streaming(sources: Sources) -> Section:
    runs = sources.runs
    rows = list(streaming.checks(runs))
    parts = [*readings.tables(runs), *streaming.tables(runs), stalls.TEXT]
    parts.append(table(stalls.HEADS, stalls.rows(runs)))
    return Section(streaming.TEXT, rows, [of_rows(rows)], parts)


def _published(sources: Sources) -> Section:
    results, names = sources.published, studies_with_results(sources.published)
    compared = [one for name in names for one in comparisons(results, name, sources.studies)]
    if not compared:
        raise NotStored(f"{results}: no study with published tables is stored")
    rows, figures = [], []
    for one in compared:
        stem = one.key.replace("/", "-").replace(" ", "-")
        plots.scatter(one, sources.images / stem)
        within = ", ".join(one.where.values())
        cells = len(one.pairs)
        labels = [f"{one.study}: {one.title}", one.table + (f" ({within})" if within else "")]
        numbers = [number(one.rank_correlation), number(one.median_ratio), f"{100 * one.close / cells:.0f} %"]
        rows.append([*labels, f"{cells} of {cells + one.unmatched}", *numbers])
        figures.append(f"`{one.command}`, {made_by(one.engines)}:\n\n{_image(stem)}")
    head = ["figure", "published table", "cells", "rank correlation", "median ratio", "within 25 %"]
    stored = {
        name: findings.Cells(Runs(results, simulate=False).stored(name))
        for name in ("imc14-access", *findings.TABLE_STUDY.values())
        if name in names
    }
    testbeds = {testbed: stored[name] for testbed, name in findings.TABLE_STUDY.items() if name in stored}
    parts: list[object] = [*figures]
    found = list(findings.access(stored["imc14-access"])) if "imc14-access" in stored else []
    parts += ["### What the study found\n", of_findings(found)] if found else [_absent("imc14-access")]
    first = list(findings.table_1(testbeds))
    parts += [TABLE_1, table(findings.table_1_head(), (row for row, _ in first))] if first else []
    parts += [_absent(name) for name in findings.TABLE_STUDY.values() if name not in stored]
    for name in ("imc14-access", "imc14-backbone"):
        if name not in names:
            continue
        for title, drawn in findings.heatmaps(results / name, sources.images):
            of = ["ours", "published", "ours − published"]
            pictures = [f"![{text}](validation/{file})" for text, file in zip(of, drawn, strict=True)]
            parts.append(Table(f"{name}: {title}", of, [pictures]))
    return Section(
        PUBLISHED,
        table=[table(head, rows)],
        parts=parts,
        findings={"buffer sizing": found},
        comparisons=compared,
        table_1=[ok for _, ok in first],
        provenance="",
    )


def _absent(study: str) -> str:
    return f"*Not stored: `sojourn run studies/{study}.toml`.*\n"


def _video(sources: Sources) -> Section:
    text, parts, found, engines = video.section(sources.published, sources.studies)
    findings = {"buffer sizing: video, under each of three profiles": found}
    made = f"The stored points were {made_by(engines)}.\n"
    return Section(text, parts=parts, findings=findings, provenance=made)


def _sessions(sources: Sources) -> Section:
    return Section(sessions.TEXT, parts=[sessions.table_of(sources.runs)])


def _flows(sources: Sources) -> Section:
    found = dict(flows.findings(sources.runs, sources.studies))
    tables = [of_findings(each, f"here, {title}") for title, each in found.items()]
    together = [finding for each in found.values() for finding in each]
    whose = "who loses in a router buffer, with two initial windows, each without and with access links"
    return Section(flows.section_text(), table=tables, findings={whose: together})


def _speed(sources: Sources) -> Section:
    file = sources.runs.root.parent / "speed.json"
    if not file.is_file():
        raise NotStored(f"{file}: nothing is stored; `python -m benches.speed --json {file}` measures it")
    measured: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    machine = measured["machine"]
    text = SPEED.format(file=file.as_posix(), turns=measured["turns"], **machine)
    rows = []
    for scenario in measured["scenarios"]:
        for program, row in scenario["programs"].items():
            ratio = row.get("sojourn_times_faster")
            numbers = [f"{row['kpps']:.0f}", f"{row['rss_mb']:.0f}", f"{row['simulated_s']:g}"]
            rows.append([scenario["scenario"], program, *numbers, f"{ratio:.1f}" if ratio else ""])
    head = ["scenario", "program", "k data packets/s", "MB", "simulated s", "sojourn is faster by"]
    return Section(text, table=[table(head, rows)], provenance="")


@dataclass(frozen=True)
class Maker:
    """Title of a section, and what makes it."""

    title: str
    make: Callable[[Sources], Section]
    simulates: bool = True
    """Whether it simulates what is missing; if not, it takes what other commands have stored."""


SECTIONS = {
    "theory": Maker("Queueing theory", _theory),
    "peers": Maker("Two other simulators", _peers),
    "hops": Maker("Paths with several queues", _hops),
    "kernel": Maker("Linux", _kernel),
    "kernel-fresh": Maker("Linux, in scenarios measured afterwards", _kernel_fresh),
    "aqm": Maker("The study of active queue management on slow links", _aqm),
    "streaming": Maker("Adaptive streaming", _streaming),
    "published": Maker("Published tables", _published, simulates=False),
    "sessions": Maker("What short sessions depend on", _sessions),
    "video": Maker("Video on an access line", _video, simulates=False),
    "flows": Maker("Who loses in a router buffer", _flows),
    "speed": Maker("Speed", _speed, simulates=False),
}
