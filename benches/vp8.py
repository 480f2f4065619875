"""Bytes of VP8's pictures by lines and quantiser: ``python -m benches.vp8 [LINES…]``.

Prints the table that simulated video calls have (`crates/sojourn-sim/data/vp8.toml`), coded anew by
the libvpx of PyAV with libwebrtc's settings, the quantiser held. The pictures are those of the camera on the
testbed.
`--rate KBPS` codes at a constant rate instead, as a call does, and says what of the pictures was left out.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import av
import numpy as np
from numpy.typing import NDArray
from sojourn.qoe.media.video.clips import pictures
from sojourn.sweep.testbed import webrtc

from tools.program import program

LINES = (180, 270, 360, 540, 720, 1080)
QUANTISERS = {2: 2, 6: 7, 12: 15, 20: 25, 28: 35, 36: 51, 44: 70, 50: 88, 56: 106}
"""Of libvpx's 64 levels, and the index of each."""
FPS = 30
PERIOD = 58
"""Pictures to and fro."""
FRESH = 16
"""Pictures after a key frame, itself among them, in which the coder still refreshes the background."""
_SMALL = 352 * 288


def camera(lines: int) -> list[NDArray[np.uint8]]:
    """Return the pictures that a camera of so many lines sees, to and fro."""
    seen = [p.to_ndarray() for p in pictures(webrtc.CLIP, webrtc.width_of(lines), lines, FPS)]
    return [*seen, *seen[-2:0:-1]]


def coder(lines: int, options: dict[str, str]) -> av.VideoCodecContext:
    """Return libvpx as libwebrtc sets it."""
    width = webrtc.width_of(lines)
    made = av.CodecContext.create("libvpx", "w")
    made.width, made.height, made.pix_fmt = width, lines, "yuv420p"
    made.time_base, made.framerate = Fraction(1, FPS), Fraction(FPS)
    made.gop_size = 10**6
    made.options = {
        "deadline": "realtime",
        "cpu-used": "-4" if width * lines < _SMALL else "-6",
        "lag-in-frames": "0",
        "auto-alt-ref": "0",
        "noise-sensitivity": "4",
        "static-thresh": "1",
        "threads": "1",
        **options,
    }
    return made


def coded(
    seen: Sequence[NDArray[np.uint8]], lines: int, count: int, options: dict[str, str]
) -> list[av.Packet]:
    """Return the coded pictures, their numbers as time stamps; the first one is a key frame."""
    codes = coder(lines, options)
    packets = []
    for i in range(count):
        frame = av.VideoFrame.from_ndarray(seen[i % len(seen)], format="yuv420p")
        frame.pts = i
        packets += codes.encode(frame)
    return packets + codes.encode(None)


def at_one_rate(kbps: int) -> dict[str, str]:
    """Return what holds a coder at a rate; of FFmpeg's buffer five sixths are wanted."""
    rate = f"{kbps}k"
    held = {"b": rate, "minrate": rate, "maxrate": rate, "bufsize": f"{kbps * 720}"}
    return held | {"rc_init_occupancy": f"{kbps * 500}"}


def table(lines: int) -> str:
    """Return one entry of the table."""
    seen = camera(lines)
    key, fresh, inter = [], [], []
    for quantiser in QUANTISERS:
        held = at_one_rate(500) | {"qmin": str(quantiser), "qmax": str(quantiser)}
        sizes = [packet.size for packet in coded(seen, lines, 4 * PERIOD + 1, held)]
        key.append(f"{sizes[0]}")
        fresh.append(np.mean(sizes[1:FRESH]))
        inter.append(np.mean(sizes[PERIOD + 1 :]))
    # A coarser quantiser never makes them larger, but for chance.
    falling = {kind: np.minimum.accumulate(of) for kind, of in (("fresh", fresh), ("inter", inter))}
    rows = {"key  ": key} | {kind: [f"{size:.1f}" for size in of] for kind, of in falling.items()}
    return "\n".join(
        ["[[sizes]]", f"lines = {lines}", *(f"{k} = [{', '.join(v)}]" for k, v in rows.items()), ""]
    )


def at_rate(lines: int, kbps: int, seconds: int = 30) -> str:
    """Code at a constant rate; return what came of it."""
    held = at_one_rate(kbps) | {"qmin": "2", "qmax": "56", "drop-threshold": "30", "undershoot-pct": "100"}
    held |= {"overshoot-pct": "15", "max-intra-rate": "900"}
    came = coded(camera(lines), lines, FPS * seconds, held)
    longest = max(b.pts - a.pts for a, b in pairwise(came))
    bytes_ = sum(packet.size for packet in came)
    settled = np.array([packet.size for packet in came[len(came) // 4 :]])
    return (
        f"{lines} lines at {kbps} kbit/s: {bytes_ * 8 / 1e3 / seconds:.1f} kbit/s, "
        f"key frame of {came[0].size} bytes, "
        f"then {came[1].pts - came[0].pts - 1} left out; of all {1 - len(came) / (FPS * seconds):.1%}, "
        f"at most {longest - 1} in a row; sizes deviate by {np.abs(settled / settled.mean() - 1).mean():.2f}"
    )


def main(*lines: int, rate: int | None = None) -> None:
    """Print what was asked for; with a rate (kbit/s), what comes of it."""
    if rate is None:
        print(f"quantisers = {list(QUANTISERS.values())}\n")
    for each in lines or LINES:
        print(table(each) if rate is None else at_rate(each, rate), flush=True)


if __name__ == "__main__":
    program(__doc__, main)
