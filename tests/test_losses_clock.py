"""`sojourn losses` where the clock of a capture was set while it ran, or one is given twice or empty."""

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


@pytest.mark.parametrize(("which", "place"), [(0, 1), (0, 3), (0, -1), (1, 2), (1, -2)])
def test_a_clock_that_is_put_back_at_the_very_beginning_or_end(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]], which: int, place: int
) -> None:
    captures = list(both)
    at = place % len(both[which])
    captures[which] = [
        (time - 100 * 10**9 * (number >= at), *rest) for number, (time, *rest) in enumerate(both[which])
    ]
    a, b = (write(tmp_path / f"{name}.pcap", found) for name, found in zip("ab", captures, strict=True))
    found, lost = lost_in(tmp_path, a, b)
    assert lost == DROPPED and found["capture"]["longest_wait_ns"] < 100_000_000
    [step] = found["capture"][f"clock_steps_{('in_front', 'behind')[which]}"]
    assert abs(step["by_ns"] + 100 * 10**9) < 10**9  # known to the time between two frames
    assert f"{('in front of', 'behind')[which]} the queue was put back" in sentences(found["capture"])[0]


def test_the_page_says_that_a_clock_was_set(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    from sojourn.losses.captures import compare, store
    from sojourn.report.captured import captured
    from sojourn.results import Results

    log = tmp_path / "packets.parquet"
    later = [(time + 10**11 * (number > 9000), *rest) for number, (time, *rest) in enumerate(both[1])]
    for capture, told in ((both[1], []), (later, ["clock"])):
        with log.open("wb") as file:
            found = compare(write(tmp_path / "a.pcap", both[0]), write(tmp_path / "b.pcap", capture), file)
        results = Results(
            store(found, log, tmp_path / f"page{len(told)}", "sojourn losses a.pcap b.pcap", None)
        )
        sentences_of_page = captured(next(iter(results)), results).sentences
        notes = [said for said in sentences_of_page if said.startswith("Note: ")]
        assert len(notes) == len(told) and all(word in note for word, note in zip(told, notes, strict=True))


def test_the_same_file_twice_is_refused_however_short(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    forward = [frame for frame in both[0] if is_forward(frame[1])]
    for count in (1, 2, 6):
        file = write(tmp_path / "a.pcap", forward[:count])
        with pytest.raises(MisfitError, match="same packets at the same times"):
            lost_in(tmp_path, file, file)


def test_a_capture_without_a_packet_is_named(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    file = write(tmp_path / "a.pcap", both[0][:100])
    for kept, said in (([], "no frame that can be read"), ([(10**18, bytes(60), 60)], "no packet of IP")):
        none = write(tmp_path / "none.pcap", kept)
        for pair in ((file, none), (none, file)):
            with pytest.raises(MisfitError, match=f"none.pcap holds {said}, so"):
                lost_in(tmp_path, *pair)
