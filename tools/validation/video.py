"""Figure 9a of the IMC 2014 study, RTP video on an access line, beside ours under every profile.

Takes those points of `studies/imc14-access-video.toml` that are stored, and says how many there are: nothing
is simulated here, since to decode them all takes longer than most of the page. The statements are the
study's; the bounds are this file's reading of them.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.losses.findings import Finding
from sojourn.results import Results
from sojourn.study.grouped import grouped

from tools.validation.checks import verdict
from tools.validation.runs import NotStored
from tools.validation.study import Comparison, Pair, comparisons, rank_correlation
from tools.validation.tables import table

STUDY = "imc14-access-video"
QUIET = "none"
FEW = ("short-few-download", "long-few-download")
MANY = ("short-many-download", "long-many-download")
WORKLOADS = (QUIET, *FEW, *MANY)
BUFFERS = ("8pkt", "16pkt", "32pkt", "64pkt", "128pkt", "256pkt")
POOR = 0.88
"""Less is a poor or bad SSIM (Zinner et al. 2010), as in every published cell with background traffic."""
PERFECT = 0.99
HARDLY = 0.1
"""The bounds of findings."""

TEXT = """## Video on an access line

Figure 9a of the study of buffer sizing: median SSIM of RTP video in SD and HD over the buffer, while nothing
or one of four download workloads runs. `{command}`; {done} of {points} points are stored.
The study does not say how its player treats losses, nor which pictures it compared. So the figure is measured
in three ways, described in [video.md](video.md).
"""

CLIPS = """\
The clips of the study (an interview, soccer, a movie) are not published. In our `interview` and `sport` the
camera stands still, so that a frozen picture resembles those it replaces ([video.md](video.md) says how
much); in `movie` everything moves. Under `freeze`, clip by clip, each against all published cells:
"""

REASONS = """\
At little loss, SSIM depends on the player and on the comparison: [video.md](video.md) has the SSIM of the
same losses with one thing changed at a time. Players that show damaged pictures, with or without concealment,
stay far above the published values at the losses of few flows. A player that shows no damaged picture comes
near them if the clip moves. Which player the study used is not known, nor whether that is its reason.

Short-few with a large buffer loses in spells, with whole seconds without a loss between them
([video.md](video.md)), so that `freeze` rises with the buffer there. That the published cells do not rise is
unexplained.

HD and short-many together exceed the line's capacity. Sessions begin regardless of the load, so losses grow
for as long as the run lasts, and `paper`, which conceals nothing, falls below the published values.
"""


def section(results: Path, studies: Path) -> tuple[str, list[str], list[Finding], dict[str, int]]:
    """Return the section's first words, its further parts, its findings, and the engines of its results.

    Raises
    ------
    NotStored
        No point of the study is stored.
    """
    found = comparisons(results, STUDY, studies)
    if not found:
        raise NotStored(f"{results / STUDY}: nothing is stored")
    stored = Results(results / STUDY)
    text = TEXT.format(command=found[0].command, done=len(stored), points=len(stored.record["points"]))
    clips = sorted({name for result in stored for name in result["video"]["clips"]})
    by_profile = [[f"`{_profile(one)}`", _size(one), *_row(one)] for one in found]
    by_clip = [
        [f"`{clip}`", _size(one), *_row(one)]
        for clip in clips
        for one in comparisons(results, STUDY, studies, f"video.clips.{clip}.ssim")
        if _profile(one) == "freeze"
    ]
    measured = ["cells", "rank correlation", "of those with traffic", "mean difference"]
    head = [*measured, "no traffic", "with traffic", "most that the buffer changes"]
    said = dict(findings(found))
    rows = [
        [each.statement, each.reading, f"`{profile}`", each.here, verdict(each.holds)]
        for (profile, _), each in sorted(said.items(), key=lambda item: item[0][1])
    ]
    parts = [
        "### Ours (published)\n",
        table(["profile", "size", *head], by_profile),
        CLIPS,
        table(["clip", "size", *head], by_clip),
        "### What the study found of video\n",
        table(["finding", "tested as", "profile", "here", ""], rows),
        REASONS,
        *(part for size in ("SD", "HD") for part in _cells(size, found, stored)),
    ]
    return text, parts, list(said.values()), dict(found[0].engines)


def _profile(one: Comparison) -> str:
    return one.only["users.0.profile"][0]


def _size(one: Comparison) -> str:
    return one.only["users.0.resolution"][0].upper()


def _split(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the cells without background traffic, and those with it."""
    return [p for p in pairs if p.workload == QUIET], [p for p in pairs if p.workload != QUIET]


def _widest(pairs: Sequence[Pair], which: str) -> float:
    """Return the largest difference that the buffer makes within a workload."""
    rows = grouped((pair.workload, getattr(pair, which)) for pair in pairs)
    return max((max(row) - min(row) for row in rows.values()), default=float("nan"))


def _row(one: Comparison) -> list[str]:
    quiet, loaded = _split(one.pairs)

    def band(pairs: Sequence[Pair], which: str) -> str:
        values = [getattr(pair, which) for pair in pairs]
        return f"{min(values):.2f}–{max(values):.2f}" if values else "–"

    with_traffic = rank_correlation([pair.ours for pair in loaded], [pair.published for pair in loaded])
    numbers = [f"{n:.2f}" for n in (one.rank_correlation, with_traffic, one.mean_difference)]
    bands = [f"{band(pairs, 'ours')} ({band(pairs, 'published')})" for pairs in (quiet, loaded)]
    widest = f"{_widest(loaded, 'ours'):.2f} ({_widest(loaded, 'published'):.2f})"
    return [str(len(one.pairs)), *numbers, *bands, widest]


STATEMENTS = {
    "Without other traffic video is perfect.": f"at least {PERFECT} at every buffer",
    "Any download makes it poor: quality is there or it is not.": f"below {POOR} in every cell",
    "The buffer's size hardly matters.": f"it changes no download's SSIM by more than {HARDLY}",
    "Many flows are worse than few, and few than none.": "means over the buffers",
}
"""What the study found, and how it is tested."""


def findings(found: Sequence[Comparison]) -> Iterator[tuple[tuple[str, int], Finding]]:
    """Yield a finding for each profile and statement (its number), both picture sizes together."""
    for profile in dict.fromkeys(_profile(one) for one in found):
        both = {_size(one): list(look(one.pairs)) for one in found if _profile(one) == profile}
        for i, (statement, reading) in enumerate(STATEMENTS.items()):
            here, holds = "not all points are stored", None
            if all(both.values()):
                here = "; ".join(f"{size}: {seen[i][0]}" for size, seen in both.items())
                holds = all(seen[i][1] for seen in both.values())
            yield (profile, i), Finding(statement, reading, here, holds)


def look(pairs: Sequence[Pair]) -> Iterator[tuple[str, bool]]:
    """Yield, for each statement, what it comes to and whether it holds; nothing if a cell is not there."""
    quiet, loaded = _split(pairs)
    rows = {name: [pair.ours for pair in pairs if pair.workload == name] for name in WORKLOADS}
    if any(len(row) != len(BUFFERS) for row in rows.values()):
        return
    least = min(pair.ours for pair in quiet)
    yield f"at least {least:.3f}", least >= PERFECT
    values = [pair.ours for pair in loaded]
    poor = sum(value < POOR for value in values)
    here = f"{min(values):.2f} to {max(values):.2f}, below {POOR} in {poor} of {len(values)} cells"
    yield here, poor == len(values)
    changes = {name: max(rows[name]) - min(rows[name]) for name in (*FEW, *MANY)}
    here = ", ".join(f"{name.removesuffix('-download')} {change:.2f}" for name, change in changes.items())
    yield here, max(changes.values()) <= HARDLY
    mean = {name: statistics.fmean(row) for name, row in rows.items()}
    falling = sorted(mean, key=lambda name: -mean[name])
    here = ", ".join(f"{name.removesuffix('-download')} {mean[name]:.2f}" for name in falling)
    few, many = ([mean[name] for name in names] for names in (FEW, MANY))
    yield here, mean[QUIET] > max(few) and min(few) > max(many)


def _cells(size: str, found: Sequence[Comparison], stored: Results) -> list[str]:
    """Return every cell of one picture size: the published ones, ours by profile, and the packets lost."""
    mine = [one for one in found if _size(one) == size]
    if not mine:
        return []
    rows = _grid("published", {(p.workload, p.buffer): f"{p.published:.2f}" for p in mine[0].pairs})
    for one in mine:
        rows += _grid(f"`{_profile(one)}`", {(p.workload, p.buffer): f"{p.ours:.2f}" for p in one.pairs})
    rows += _grid("packets lost, %", _losses(size.lower(), stored))
    buffers = [buffer.removesuffix("pkt") for buffer in BUFFERS]
    return [f"### Every cell, {size}, by packets of buffer\n", table(["", "workload", *buffers], rows)]


def _grid(name: str, cells: Mapping[tuple[str, str], str]) -> list[list[str]]:
    rows = [
        [load.removesuffix("-download"), *(cells.get((load, b), "–") for b in BUFFERS)] for load in WORKLOADS
    ]
    return [[name if i == 0 else "", *row] for i, row in enumerate(rows)]


def _losses(size: str, stored: Results) -> dict[tuple[str, str], str]:
    """Return the share of packets lost under the profiles that send the same ones."""
    lost: dict[tuple[str, str], list[float]] = {}
    for result in stored:
        point: Mapping[str, Any] = result["point"]
        if point["users.0.resolution"] == size:
            cell = (point["workload"], point["path.down.queue.limit"])
            lost.setdefault(cell, []).append(100 * result["video"]["loss"])
    return {cell: f"{statistics.fmean(shares):.1f}" for cell, shares in lost.items()}
