"""The part of a report that shows video: quality over the worst showing, and pictures at its worst moment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sojourn.errors import counted
from sojourn.qoe.media.video import MissingVideo
from sojourn.report.answer.cells import cell_name
from sojourn.report.figures import film_strip as film
from sojourn.report.files import Files
from sojourn.report.sections import Section

_FIRST = ("aligned", "evalvid", "paper", "freeze")


def film_sections(results: Sequence[Mapping[str, Any]], files: Files) -> list[Section]:
    """Draw the worst showing for every picture size, under a profile that conceals losses if there is one."""
    found: dict[str, tuple[tuple[int, float], Mapping[str, Any]]] = {}
    for result in results:
        worst = (result.get("video") or {}).get("worst")
        if worst and worst["missing"]:
            rank = (_FIRST.index(worst["profile"]), worst["ssim"])
            if worst["resolution"] not in found or rank < found[worst["resolution"]][0]:
                found[worst["resolution"]] = rank, result
    return [
        section
        for resolution, (_, result) in sorted(found.items(), reverse=True)
        for section in _sections(result, resolution, files)
    ]


def _sections(result: Mapping[str, Any], resolution: str, files: Files) -> list[Section]:
    worst = result["video"]["worst"]
    where = cell_name(result, "the one point")
    name = f"{resolution.upper()}, {worst['clip']}, profile {worst['profile']}"
    frame = film.quality_table(worst)
    slug = f"video-{resolution}-quality"
    picture = files.picture(film.quality(frame, f"{name}: {where}"), slug, f"SSIM and PSNR over time, {name}")
    files.csv(frame, slug)
    lost = sum(count for _, count in worst["missing"])
    over_time = Section(
        f"Quality over time: {name}",
        picture,
        f"SSIM and PSNR of the pictures of the worst showing of {where}; {counted(lost, 'packet')} "
        f"{'was' if lost == 1 else 'were'} missing, in {counted(len(worst['missing']), 'gap')}.",
        "Good is the uppermost band (A, excellent); a gap damages pictures up to the next intra picture.",
    )
    slug = f"video-{resolution}-strip"
    try:
        shown = _strip(worst, f"{name}: around the worst moment")
    except MissingVideo as error:
        return [replace(over_time, note=f"No pictures beside it: {error}.")]
    says = "Above the originals, below what was shown."
    made = files.picture(shown, slug, f"Pictures around the worst moment, {name}. {says}")
    return [over_time, Section(f"Pictures: {name}", made, f"{where}. {says}", "")]


def _strip(worst: Mapping[str, Any], title: str) -> Any:
    from sojourn.qoe.worst import again

    showing = again(worst)
    how = showing.clip.coding
    numbers = film.moments(worst, how.fps, how.pictures)
    pairs = showing.pictures(numbers)
    seen = dict(zip(worst["series"]["time_s"], worst["series"]["ssim"], strict=True))
    times = [round(number / how.fps, 6) for number in numbers]
    return film.strip(pairs, times, [seen.get(time) for time in times], title)
