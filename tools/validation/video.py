"""Figure 9a of the IMC 2014 study, RTP video on an access line, beside ours under every profile.

Takes those points of `studies/imc14-access-video.toml` that are stored, and says how many there are: nothing
is simulated here, since to decode them all takes longer than most of the page. The statements are the
study's; the bounds are this file's reading of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.results import Results

from tools.validation.flows import verdict
from tools.validation.study import Comparison, Pair, comparisons, spearman

STUDY = "imc14-access-video"
QUIET = "none"
FEW = ("short-few-download", "long-few-download")
MANY = ("short-many-download", "long-many-download")
WORKLOADS = (QUIET, *FEW, *MANY)
BUFFERS = ("8pkt", "16pkt", "32pkt", "64pkt", "128pkt", "256pkt")
POOR = 0.88
"""Less is a poor or bad SSIM (Zinner et al. 2010), as in every published cell with background traffic."""
HARDLY = 0.1
"""So much may the buffer change an SSIM that it hardly changes."""

TEXT = """## Video on an access line

Figure 9a of the study of buffer sizing: median SSIM of RTP video in SD and HD while nothing or one of four
download workloads runs, over the buffer. `{command}`, sojourn {version}; {done} of
{points} points are stored. The study does not say how its player treats losses, nor which pictures were
compared; so there are three ways to measure it, described in [video.md](video.md).
"""

CLIPS = """\
The clips of the study (an interview, soccer, a movie) are not published. In ours the camera stands still in
`interview` and `sport`, and a picture that stays on the screen resembles those that should follow it
([video.md](video.md) has by how much); in `movie` everything moves. So, under `freeze`, clip by clip, each
against all published cells:
"""

REASONS = """\
Where SSIM at little loss differs from the published one, the reason is the player and the comparison:
[video.md](video.md) has the SSIM of the same losses with one thing changed at a time. Players that show
damaged pictures, with or without concealment, stay far above the published values at the losses of few flows.
One that shows none comes near them, as far as the clip moves. Which player the study used, and so whether
that is its reason, is not known.

Short-few with a large buffer loses in spells, with whole seconds between them in which nothing is lost
([video.md](video.md)), so that `freeze` rises with the buffer there. That the published cells do not rise is
unexplained.

HD and short-many together are more than the line carries: since sessions begin whatever it does, losses grow
for as long as the run lasts, and `paper`, which conceals nothing, falls below the published values.
"""


def section(results: Path, studies: Path) -> list[str]:
    """Return the paragraphs of the page."""
    folder = results / STUDY
    if not (folder / "study.json").is_file():
        return [f"## Video on an access line\n\nNot stored: `sojourn run studies/{STUDY}.toml`.\n"]
    stored = Results(folder)
    if not (found := comparisons(folder, studies)):
        return []
    text = TEXT.format(
        command=found[0].command,
        version=found[0].version,
        done=len(stored),
        points=len(stored.record["points"]),
    )
    clips = sorted({name for result in stored for name in result["video"]["clips"]})
    by_profile = [[f"`{_profile(one)}`", _size(one), *_row(one)] for one in found]
    by_clip = [
        [f"`{clip}`", _size(one), *_row(one)]
        for clip in clips
        for one in comparisons(folder, studies, f"video.clips.{clip}.ssim")
        if _profile(one) == "freeze"
    ]
    measured = ["cells", "rank correlation", "of those with traffic", "mean difference"]
    ranges = ["no traffic", "with traffic", "most that the buffer changes"]
    return [
        text,
        "### Ours (published)\n",
        _table(["profile", "size", *measured, *ranges], by_profile),
        CLIPS,
        _table(["clip", "size", *measured, *ranges], by_clip),
        "### What the study found of video\n",
        _table(["finding", "profile", "here", ""], _findings(found)),
        REASONS,
        *(part for size in ("SD", "HD") for part in _cells(size, found, stored)),
    ]


def _label(one: Comparison, axis: str) -> str:
    return next(str(chosen[0]) for name, chosen in one.only.items() if name.endswith(axis))


def _profile(one: Comparison) -> str:
    return _label(one, "profile")


def _size(one: Comparison) -> str:
    return _label(one, "resolution").upper()


def _split(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return the cells without background traffic, and those with it."""
    return [p for p in pairs if p.workload == QUIET], [p for p in pairs if p.workload != QUIET]


def _widest(pairs: Sequence[Pair], which: str) -> float:
    """Return the largest difference that the buffer makes within a workload."""
    rows: dict[str, list[float]] = {}
    for pair in pairs:
        rows.setdefault(pair.workload, []).append(getattr(pair, which))
    return max((max(row) - min(row) for row in rows.values()), default=float("nan"))


def _row(one: Comparison) -> list[str]:
    quiet, loaded = _split(one.pairs)

    def band(pairs: Sequence[Pair], which: str) -> str:
        values = [getattr(pair, which) for pair in pairs]
        return f"{min(values):.2f}–{max(values):.2f}" if values else "–"

    within = spearman([pair.ours for pair in loaded], [pair.published for pair in loaded])
    return [
        str(len(one.pairs)),
        f"{one.rank_correlation:.2f}",
        f"{within:.2f}",
        f"{one.mean_difference:.2f}",
        f"{band(quiet, 'ours')} ({band(quiet, 'published')})",
        f"{band(loaded, 'ours')} ({band(loaded, 'published')})",
        f"{_widest(loaded, 'ours'):.2f} ({_widest(loaded, 'published'):.2f})",
    ]


STATEMENTS = (
    "Without other traffic video is perfect.",
    "Any download makes it poor: quality is there or it is not.",
    "The buffer's size hardly matters.",
    "Many flows are worse than few, and few than none.",
)


def _findings(found: Sequence[Comparison]) -> list[list[str]]:
    """Return a row for each statement and profile, both picture sizes together."""
    rows = []
    for i, statement in enumerate(STATEMENTS):
        for profile in dict.fromkeys(_profile(one) for one in found):
            both = [(_size(one), list(look(one.pairs))) for one in found if _profile(one) == profile]
            if all(checks for _, checks in both):
                here = "; ".join(f"{size}: {checks[i][0]}" for size, checks in both)
                holds = all(checks[i][1] for _, checks in both)
            else:
                here, holds = "not all points are stored", None
            rows.append([statement, f"`{profile}`", here, verdict(holds)])
    return rows


def look(pairs: Sequence[Pair]) -> Iterator[tuple[str, bool]]:
    """Yield, for each statement, what it comes to and whether it holds; nothing if a cell is not there."""
    quiet, loaded = _split(pairs)
    rows = {name: [pair.ours for pair in pairs if pair.workload == name] for name in WORKLOADS}
    if any(len(row) != len(BUFFERS) for row in rows.values()):
        return
    least = min(pair.ours for pair in quiet)
    yield f"at least {least:.3f}", least >= 0.99
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
    yield (
        here,
        mean[QUIET] > max(mean[name] for name in FEW)
        and min(mean[name] for name in FEW) > max(mean[name] for name in MANY),
    )


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
    return [
        f"### Every cell, {size}, by packets of buffer\n",
        _table(["", "workload", *buffers], rows),
    ]


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


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
