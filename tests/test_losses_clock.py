"""`sojourn losses` where the clock of a capture was set while it ran, and where a capture is given twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn.losses.captures import MisfitError, sentences

from tests.test_losses_captures import DROPPED, Frame, frames, is_forward, lost_in, write


@pytest.fixture(scope="module")
def both() -> tuple[list[Frame], list[Frame]]:
    return frames("ingress"), frames("egress")


@pytest.mark.parametrize("seconds", [100, 2, -2, -100])
@pytest.mark.parametrize("which", [0, 1], ids=["in-front", "behind"])
def test_a_clock_that_is_set_while_the_capture_runs(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]], which: int, seconds: int
) -> None:
    plain, _ = lost_in(tmp_path, write(tmp_path / "a.pcap", both[0]), write(tmp_path / "b.pcap", both[1]))
    assert not any("clock" in sentence for sentence in sentences(plain["capture"]))
    captures = list(both)
    half = len(both[which]) // 2
    captures[which] = [
        (at + seconds * 10**9 * (place >= half), *rest) for place, (at, *rest) in enumerate(both[which])
    ]
    a, b = (write(tmp_path / f"{name}.pcap", found) for name, found in zip("ab", captures, strict=True))
    found, lost = lost_in(tmp_path, a, b)
    assert lost == DROPPED
    said = [sentence for sentence in sentences(found["capture"]) if "clock" in sentence]
    assert len(said) == 1 and ("in front of", "behind")[which] in said[0]
    assert f"{'forward' if seconds > 0 else 'back'} by about {abs(seconds)} s" in said[0]
    assert abs(found["capture"]["longest_wait_ns"] - plain["capture"]["longest_wait_ns"]) < 20_000_000


def test_the_same_file_twice_is_refused_however_short(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    forward = [frame for frame in both[0] if is_forward(frame[1])]
    for count in (1, 2, 6):
        file = write(tmp_path / "a.pcap", forward[:count])
        with pytest.raises(MisfitError, match="same packets at the same times"):
            lost_in(tmp_path, file, file)
