"""Video: the pace of scoring, how measuring and coding decide the score, and a trial of the decoder.

    python -m benches.video                   pace, SSIM by loss and way of measuring, PSNR by loss and coding
    python -m benches.video --patterns 1000   random patterns of losses, none of which may end the playing
    python -m benches.video --write docs/video.md   all tables, into the page

Pictures per second are of processor time of the machine at hand; ratios, taken in one run, compare machines.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sojourn import _core
from sojourn.errors import spaced
from sojourn.qoe import video
from sojourn.qoe.media.video import clips, coding
from sojourn.qoe.media.video.coding import Coding
from sojourn.study import Study
from sojourn.study.inputs import video as viewing

from tools.program import program

LOSSES = (0.001, 0.01, 0.05)
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"

ALIGNED, PAPER, FREEZE = (video.PROFILES[name] for name in ("aligned", "paper", "freeze"))
WAYS = {
    "`aligned`": ALIGNED,
    "… without concealment": replace(ALIGNED, conceal=False),
    "… intra pictures every 10 s": replace(ALIGNED, gop_s=10),
    "… both": replace(ALIGNED, gop_s=10, conceal=False),
    "`paper`": PAPER,
    "… with concealment": replace(PAPER, conceal=True),
    "… by time stamps": replace(PAPER, align="time"),
    "`freeze`": FREEZE,
    "… intra pictures every second": replace(FREEZE, gop_s=1),
    "… k-th with k-th": replace(FREEZE, align="index"),
}

STUDY = Path(__file__).parent.parent / "studies/imc14-access-video.toml"
EVALVID = video.PROFILES["evalvid"]
CIF = video.coding("cif", EVALVID)
CIF_LOSSES = (0.01, 0.04, 0.08, 0.16)
SEEDS = 6


def percents(shares: Sequence[float], digits: int = 1) -> list[str]:
    """The heads of columns: so much is lost."""
    return [f"{100 * share:.{digits}f} % lost" for share in shares]


def scattered(count: int, share: float, seed: int) -> Any:
    """Each packet is lost with the same chance."""
    lost = np.random.default_rng(seed).random(count) < share
    lost[0] = False
    return lost


def in_bursts(count: int, share: float, seed: int, mean: float = 5.0) -> Any:
    """As many are lost, five at a time in the mean (Gilbert)."""
    draws = np.random.default_rng(seed).random(count)
    begin, lost, bad = share / (1 - share) / mean, np.zeros(count, dtype=bool), False
    for k in range(1, count):
        bad = bool(draws[k] < (1 - 1 / mean if bad else begin))
        lost[k] = bad
    return lost


def mean(psnr_db: Any) -> float:
    """The mean of the pictures' PSNR."""
    return float(psnr_db.mean())


def of_mean_error(psnr_db: Any) -> float:
    """The PSNR of the mean squared error of all pictures."""
    return float(-10 * np.log10(np.mean(10 ** (-psnr_db / 10))))


@dataclass(frozen=True)
class Case:
    """A way to get a PSNR out of a share of losses."""

    clip: str = "interview"
    how: Coding = CIF
    profile: video.Profile = EVALVID
    losses: Callable[[int, float, int], Any] = scattered
    together: Callable[[Any], float] = mean


CASES = {
    "`interview`": Case(),
    "`sport`": Case("sport"),
    "`movie`": Case("movie"),
    "`interview`, losses in bursts of five": Case(losses=in_bursts),
    "… intra pictures every half second": Case(how=replace(CIF, gop=12)),
    "… every 10 s": Case(how=replace(CIF, gop=240)),
    "… nine slices a picture": Case(how=replace(CIF, slices=9)),
    "… without concealment": Case(profile=replace(EVALVID, conceal=False)),
    "… k-th with k-th": Case(profile=replace(EVALVID, align="index")),
    "… beside the clip decoded without loss": Case(profile=replace(EVALVID, reference="decoded")),
    "… PSNR of the mean error": Case(together=of_mean_error),
}


def best(work: Callable[[], Any], times: int = 3) -> float:
    """Least processor time of some runs, of the programs that they started too, in seconds."""
    took = []
    for _ in range(times):
        start = sum(os.times()[:4])
        work()
        took.append(sum(os.times()[:4]) - start)
    return min(took)


def pace() -> list[list[str]]:
    """Pictures per second and core of each step, and its time as a share of decoding without loss."""
    rows = []
    for resolution in ("sd", "hd"):
        made = coding.encoded("movie", video.coding(resolution, ALIGNED))
        count = made.coding.pictures
        none = np.zeros(len(made.sizes), dtype=bool)
        some = np.random.default_rng(1).random(len(none)) < 0.01
        reference = made.reference("original", 5)
        clear = list(made.played(none, True))[::5]

        def compare(reference: Any = reference, clear: Any = clear) -> None:
            for before, (_, after) in zip(reference, clear, strict=True):
                _core.compare_pictures(before, after)

        def whole(vmaf: bool = False, made: Any = made, some: Any = some) -> None:
            video._seen.clear()
            video.watch(made, ALIGNED, some, 5, vmaf)

        steps = {
            "decode, no loss": best(lambda made=made, none=none: list(made.played(none, True))),
            "decode, 1 % lost": best(lambda made=made, some=some: list(made.played(some, True))),
            "compare every 5th picture": best(compare),
            "a showing, 1 % lost": best(whole),
            "the same, with VMAF": best(lambda whole=whole: whole(True)),
        }
        floor = steps["decode, no loss"]
        for name, seconds in steps.items():
            rows.append([resolution.upper(), name, spaced(count / seconds), f"{seconds / floor:.2g}"])
    return rows


def ways(clip: str) -> list[list[str]]:
    """Mean SSIM under random loss by each way of measuring."""
    rows = []
    for resolution in ("sd", "hd"):
        for name, profile in WAYS.items():
            made = coding.encoded(clip, video.coding(resolution, profile))
            lost = [scattered(len(made.sizes), loss, 7) for loss in LOSSES]
            scores = [f"{video.watch(made, profile, each, 8).ssim.mean():.2f}" for each in lost]
            rows.append([resolution.upper(), name, *scores])
    return rows


def psnr() -> list[list[str]]:
    """PSNR of CIF clips by loss, one thing changed at a time: mean, least and greatest of some seeds."""
    rows = []
    for name, case in CASES.items():
        made = coding.encoded(case.clip, case.how)
        row = [name]
        for share in (0.0, *CIF_LOSSES):
            found = []
            for seed in range(SEEDS if share else 1):
                lost = case.losses(len(made.sizes), share, seed + 1)
                found.append(case.together(video.watch(made, case.profile, lost, 5).psnr_db))
            spread = f" ({min(found):.0f}–{max(found):.0f})" if share else ""
            row.append(f"{np.mean(found):.1f}{spread}")
        rows.append(row)
    return rows


def vmaf(clip: str) -> list[list[str]]:
    """Mean VMAF of a clip in SD under random loss by profile."""
    rows = []
    for name in ("aligned", "paper", "freeze"):
        made = coding.encoded(clip, video.coding("sd", name))
        lost = [scattered(len(made.sizes), loss, 7) for loss in (0.0, *LOSSES)]
        seen = [video.watch(made, video.PROFILES[name], each, 5, True) for each in lost]
        rows.append([f"`{name}`", *(f"{each.vmaf.mean():.1f}" for each in seen)])
    return rows


def stills(resolution: str) -> list[list[str]]:
    """How a clip's pictures resemble later ones, and what `freeze` makes of loss in it."""
    rows = []
    for clip in (*clips.DEFAULT, "film", "street"):
        made = coding.encoded(clip, video.coding(resolution, FREEZE))
        pictures = made.reference("decoded", 5)
        row = [resolution.upper(), f"`{clip}`"]
        for apart_s in (1, 5):
            step = apart_s * made.coding.fps // 5
            pairs = zip(pictures[:-step], pictures[step:], strict=True)
            row.append(f"{np.mean([_core.compare_pictures(*pair)[0] for pair in pairs]):.2f}")
        for loss in LOSSES:
            lost = [scattered(len(made.sizes), loss, seed + 1) for seed in range(SEEDS)]
            row.append(f"{np.mean([video.watch(made, FREEZE, each, 5).ssim.mean() for each in lost]):.2f}")
        rows.append(row)
    return rows


def spells() -> list[list[str]]:
    """How losses of a stream in SD come on the access line: their share, and that of seconds without any."""
    study = Study.load(STUDY)
    rows = []
    for workload in ("short-few-download", "long-few-download", "short-many-download", "long-many-download"):
        row = [workload]
        for buffer in ("8pkt", "64pkt", "256pkt"):
            only = {"workload": [workload], "path.down.queue.limit": [buffer]}
            [point] = study.select(only | {"users.0.resolution": ["sd"], "users.0.profile": ["freeze"]})
            sent = _core.run(point.text, clips=viewing.packets(point.document))["video"]
            second = ((sent["sent_ns"] - sent["sent_ns"][0]) // 1_000_000_000).astype(np.int64)
            lost = np.bincount(second, weights=sent["delay_ns"] < 0)[np.bincount(second) > 0]
            row.append(f"{(sent['delay_ns'] < 0).mean():.1%}, {(lost == 0).mean():.0%}".replace("%", " %"))
        rows.append(row)
    return rows


def try_patterns(count: int) -> None:
    """Play streams with losses, single and in bursts, from few to all; print a digest of what was shown."""
    made = coding.encoded(clips.SYNTHETIC, Coding(720, 576, 25, 25, 4000, 32, 25))
    rng = np.random.default_rng(1)
    seen = hashlib.sha256()
    shown = 0
    for number in range(count):
        share, burst = rng.random() ** 2, int(rng.integers(1, 60))
        starts = rng.random(len(made.sizes)) < share / burst
        lost = np.convolve(starts, np.ones(burst))[: len(starts)] > 0
        for pts, picture in made.played(lost, bool(number % 2)):
            shown += 1
            seen.update(str(pts).encode() + picture.tobytes())
    print(f"{count} patterns, {shown} pictures shown, none ended the playing; digest {seen.hexdigest()[:16]}")


def table(heads: list[str], rows: list[list[str]], words: int) -> str:
    """A Markdown table."""
    rule = ["---"] * words + ["---:"] * (len(heads) - words)
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rule, *rows]) + "\n"


def main(*, patterns: int | None = None, write: Path | None = None) -> None:
    """Measure and print.

    Parameters
    ----------
    patterns
        Try so many random patterns of losses, and no more.
    write
        Put the tables into this page, between its marks.
    """
    if patterns is not None:
        try_patterns(patterns)
        return
    heads = ["", "step", "pictures/s of a core", "of decoding"]
    text = "Pace, a clip of 400 pictures:\n\n" + table(heads, pace(), 2)
    lost = percents(LOSSES)
    text += "\nMean SSIM of the clip `movie` by random loss and way of measuring:\n\n"
    text += table(["", "way of measuring", *lost], ways("movie"), 2)
    heads = ["", "clip", "1 s apart", "5 s apart", *lost]
    text += "\nMean SSIM of two pictures of a clip, some time apart, and of a showing under `freeze`:\n\n"
    text += table(heads, stills("sd") + stills("hd"), 2)
    text += (
        "\nPackets lost of SD video on the access line, and seconds of it in which none was, by buffer:\n\n"
    )
    text += table(["", "8 packets", "64 packets", "256 packets"], spells(), 1)
    heads = ["", "no loss", *percents(CIF_LOSSES, 0)]
    text += f"\nPSNR in dB under `evalvid`, mean of {SEEDS} seeds (least–greatest):\n\n"
    text += table(heads, psnr(), 1)
    text += "\nMean VMAF of the clip `movie`, SD:\n\n" + table(["", "no loss", *lost], vmaf("movie"), 1)
    print(text)
    if write is not None:
        page = write.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        write.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    program(__doc__, main)
