"""How VP8's pictures become small after a key frame, and large while the quantiser falls.

``python -m benches.vp8_settling`` codes the testbed's camera with the libvpx of PyAV from key frames all
round the clip. It prints how far pictures at the largest quantiser are like the first 15 after a key frame,
of each ten (`FADING` in `crates/sojourn-sim/src/app/call/encoder/vp8.rs`); then, of pictures at a held rate,
the power of the step's mean over the step, and the pictures of that mean, that fit their sizes best
(`SETTLING` there; the power is 1).
"""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.vp8 import FRESH, PERIOD, at_one_rate, camera, coded

TABLE = Path(__file__).parents[1] / "crates/sojourn-sim/data/vp8.toml"
FADING_LINES = (180, 270, 360)
AT_RATES = ((180, 30), (180, 60), (270, 30), (270, 60), (360, 60), (360, 150))
"""Lines and kbit/s."""
STARTS = range(0, PERIOD, 8)
PICTURES = 250


def bits_of(data: bytes) -> Callable[[int], int]:
    """Return what reads numbers of so many bits, each as likely 0 as 1 (RFC 6386 §7)."""
    value, width, shifted, place = int.from_bytes(data[:2], "big"), 255, 0, 2

    def bit() -> int:
        nonlocal value, width, shifted, place
        split = 1 + ((width - 1) * 128 >> 8)
        one = value >= split << 8
        width, value = (width - split, value - (split << 8)) if one else (split, value)
        while width < 128:
            value, width, shifted = value << 1, width << 1, shifted + 1
            if shifted == 8:
                shifted, value, place = 0, value | data[place], place + 1
        return int(one)

    def number(bits: int) -> int:
        found = 0
        for _ in range(bits):
            found = found << 1 | bit()
        return found

    return number


def quantiser(picture: bytes) -> int:
    """Return the quantiser's index of a coded picture (RFC 6386 §9.2 to §9.6)."""
    key = not picture[0] & 1
    read = bits_of(picture[10 if key else 3 :])
    if key:
        read(2)
    if read(1):  # segments
        new_map, new_values = read(1), read(1)
        if new_values:
            read(1)
            for bits in (8,) * 4 + (7,) * 4:
                if read(1):
                    read(bits)
        if new_map:
            for _ in range(3):
                if read(1):
                    read(8)
    read(1 + 6 + 3)
    if read(1) and read(1):  # changes of the loop filter
        for _ in range(8):
            if read(1):
                read(7)
    read(2)
    return read(7)


def from_all_round(lines: int, options: dict[str, str]) -> Iterator[list[tuple[int, int]]]:
    """Return bytes and quantiser of each coded picture, of as many codings as there are starts."""
    seen = camera(lines)
    for start in STARTS:
        packets = coded([*seen[start:], *seen[:start]], lines, PICTURES + 60, options)
        yield [(packet.size, quantiser(bytes(packet))) for packet in packets[:PICTURES]]


def fading(lines: int) -> NDArray[np.float64]:
    """Return the share of each ten pictures after a key frame."""
    held = at_one_rate(500) | {"qmin": "56", "qmax": "56"}
    sizes = np.log(np.mean([[size for size, _ in came[1:]] for came in from_all_round(lines, held)], axis=0))
    late = sizes[2 * PERIOD : 4 * PERIOD].mean()
    return np.array(
        [(sizes[i : i + 10].mean() - late) / (sizes[: FRESH - 1].mean() - late) for i in range(0, 80, 10)]
    )


def expected(
    table: dict, lines: int, quantisers: Sequence[int], shares: Sequence[float], power: float, pictures: int
) -> list[float]:
    """Return the bytes of pictures after the first, by their quantisers."""
    row = next(row for row in table["sizes"] if row["lines"] == lines)
    steps = np.log(table["ac-steps"])
    mean, sizes = steps[quantisers[0]], []
    for i, at in enumerate(quantisers[1:]):
        fresh, inter = (np.interp(at, table["quantisers"], np.log(row[kind])) for kind in ("fresh", "inter"))
        share = shares[i // 10] if i // 10 < len(shares) else 0.0
        sizes.append(float(np.exp(inter + share * (fresh - inter) + power * (mean - steps[at]))))
        mean += (steps[at] - mean) / pictures
    return sizes


def main() -> None:
    """Print both."""
    table = tomllib.loads(TABLE.read_text())
    shares = np.mean([fading(lines) for lines in FADING_LINES], axis=0)
    print(
        "like the first after a key frame, of each ten:",
        ", ".join(f"{share:.2f}" for share in shares),
        flush=True,
    )
    came = []
    for lines, kbps in AT_RATES:
        held = at_one_rate(kbps) | {"qmin": "2", "qmax": "56", "drop-threshold": "30"}
        held |= {"undershoot-pct": "100", "overshoot-pct": "15", "max-intra-rate": "900"}
        came.append((lines, list(from_all_round(lines, held))))
    tens = PICTURES // 10 - 1

    def error(power: float, pictures: int) -> float:
        off = []
        for lines, codings in came:
            sizes = [[size for size, _ in one[1:]] for one in codings]
            fits = [
                expected(table, lines, [at for _, at in one], list(shares), power, pictures)
                for one in codings
            ]
            of_tens = [
                np.mean(what, axis=0)[: 10 * tens].reshape(tens, 10).mean(axis=1) for what in (sizes, fits)
            ]
            off.append(np.log(of_tens[1] / of_tens[0])[1:])
        return float(np.sqrt(np.mean(np.concatenate(off) ** 2)))

    fits = sorted(
        (error(power, pictures), power, pictures)
        for power, pictures in product((0.5, 0.75, 1.0, 1.25, 1.5, 2.0), (10, 20, 30, 45, 60, 100))
    )
    print(f"by the quantiser alone sizes of ten pictures are off by {error(0.0, 1):.1%}; best:")
    for off, power, pictures in fits[:5]:
        print(f"  {off:.1%}: power {power:g} of the mean step of {pictures} pictures")


if __name__ == "__main__":
    main()
