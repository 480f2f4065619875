"""Video at its worst: a strip of pictures as they were shown beside the originals, and quality over time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from sojourn.report.figures.scales import SCALES
from sojourn.report.figures.style import COLOURS, MUTED, canvas, settle, styled

_WIDE = 360  # pixels of a picture in a strip, or a little more


def quality_table(worst: Mapping[str, Any]) -> pl.DataFrame:
    """Return SSIM and PSNR of the pictures of a result's worst showing: `time_s`, `ssim`, `psnr_db`."""
    return pl.DataFrame(dict(worst["series"]))


def quality(frame: pl.DataFrame, title: str) -> Figure:
    """Draw SSIM, on the colours of its classes, and PSNR over the time of a showing."""
    scale = SCALES["ssim"]
    with canvas(8.4, 4.4, title, nrows=2, sharex=True) as (figure, (ssim, psnr)):
        low = min(float(frame["ssim"].min() or 0.0), 0.85)
        edges = [low - 0.02, *(edge for edge in scale.edges if edge > low), 1.01]
        for bottom, top in pairwise(edges):
            colour = scale.colours[scale.rank((bottom + top) / 2)]
            ssim.axhspan(bottom, top, color=colour, alpha=0.45, linewidth=0)
            if top - bottom > 0.06 * (edges[-1] - edges[0]):  # letters of thinner bands would overlap
                beside, middle = ssim.get_yaxis_transform(), (bottom + top) / 2
                ssim.text(1.005, middle, scale.letter(middle), transform=beside, va="center", size=8)
        ssim.plot(frame["time_s"], frame["ssim"], color="#16181d", linewidth=1.4)
        ssim.set(ylim=(edges[0], edges[-1]), ylabel="SSIM")
        psnr.plot(frame["time_s"], frame["psnr_db"], color=COLOURS[0], linewidth=1.4)
        psnr.set(ylabel="PSNR (dB)", xlabel="Time in the clip (s)")
        for axes in (ssim, psnr):
            settle(axes)
            axes.margins(x=0)
        figure.align_ylabels()
    return figure


def moments(worst: Mapping[str, Any], fps: int, pictures: int) -> list[int]:
    """Return the numbers of four pictures that were compared: two before the worst, it, and one after."""
    series, every = worst["series"], worst["every"]
    at = round(series["time_s"][int(np.argmin(series["ssim"]))] * fps)
    step = max(round(fps / 2 / every), 1) * every
    wanted = [at - 2 * step, at - step, at, at + step]
    last = (pictures - 1) // every * every
    shift = -min(0, wanted[0]) or min(0, last - wanted[-1])
    return [min(max(number + shift, 0), last) for number in wanted]


def strip(
    pairs: Sequence[tuple[Any, Any]], times_s: Sequence[float], ssim: Sequence[float | None], title: str
) -> Figure:
    """Draw originals above and what was shown below.

    Parameters
    ----------
    pairs
        Original and shown picture, RGB arrays of shape (height, width, 3); None where nothing was shown yet.
    times_s, ssim
        Of each pair; None where it was not measured.
    title
        Of the figure.
    """
    height, width = pairs[0][0].shape[:2]
    shape = width / height if width != 720 else 16 / 9  # SD is anamorphic
    cell_w = 2.5
    cell_h = cell_w / shape
    with styled():
        wide, tall = 0.55 + len(pairs) * (cell_w + 0.06), 0.75 + 2 * (cell_h + 0.06)
        figure = Figure(figsize=(wide, tall))
        figure.text(0.012, 1 - 0.2 / tall, title, weight="bold", size=11.5, va="center")
        for column, (original, shown) in enumerate(pairs):
            left = 0.5 + column * (cell_w + 0.06)
            measured = ssim[column]
            label = f"{times_s[column]:.2f} s" + ("" if measured is None else f", SSIM {measured:.2f}")
            figure.text((left + cell_w / 2) / wide, 1 - 0.52 / tall, label, ha="center", size=9, color=MUTED)
            for row, picture in enumerate((original, shown)):
                bottom = tall - 0.65 - (row + 1) * (cell_h + 0.06) + 0.06
                axes = figure.add_axes((left / wide, bottom / tall, cell_w / wide, cell_h / tall))
                axes.set_axis_off()
                if picture is None:
                    picture = np.zeros((height, width, 3), dtype=np.uint8)
                axes.imshow(_smaller(picture), aspect="auto", interpolation="none")
                if column == 0:
                    middle = (bottom + cell_h / 2) / tall
                    words = "original" if row == 0 else "shown"
                    figure.text(0.25 / wide, middle, words, rotation=90, va="center", ha="center", size=9)
    return figure


def _smaller(picture: Any) -> Any:
    """Mean over squares of pixels, so that a page stays small."""
    side = max(1, picture.shape[1] // _WIDE)
    height, width = (length // side for length in picture.shape[:2])
    squares = picture[: height * side, : width * side].reshape(height, side, width, side, 3)
    return np.rint(squares.mean(axis=(1, 3))).astype(np.uint8)
