"""VMAF of video: known losses, the same numbers every time, and what is missing said in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import Command, sentence
from conftest import user as shown_to
from sojourn.qoe import video
from sojourn.qoe.media.video import MissingVideo, clips, coding, library, vmaf
from sojourn.qoe.media.video.coding import Coding, Encoded
from sojourn.qoe.score import score

# Two seconds of the clip `film`, of which packets are lost as in test_qoe_video.py, scored by FFmpeg 7 or 9.
STREAM = "3318c268aa659c78e3b28081e79203b022704c6212755c8a66a90f2932c5a603"
PINNED = {0.0: 98.433, 0.01: 89.866, 0.05: 64.258}


@pytest.fixture(scope="session", autouse=True)
def measured() -> None:
    """Tests are skipped where the extra is not installed."""
    try:
        library()
        vmaf.program()
    except MissingVideo as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def film() -> Encoded:
    """Two seconds of a real clip in SD."""
    try:
        return coding.encoded("film", Coding(720, 576, 25, 50, 4000, 32, 25))
    except MissingVideo as missing:
        pytest.skip(str(missing))


def lost(clip: Encoded, share: float) -> np.ndarray:
    return np.random.default_rng(1).random(len(clip.sizes)) < share


def test_known_losses_give_known_scores(film: Encoded) -> None:
    same = film.about["digest"] == STREAM
    found = []
    for share, pinned in PINNED.items():
        seen = video.watch(film, video.PROFILES["aligned"], lost(film, share), 5, True)
        assert seen.vmaf is not None and len(seen.vmaf) == len(seen.ssim) == 10
        assert seen.vmaf.mean() == pytest.approx(pinned, abs=0.02 if same else 5.0), share
        bare = video.watch(film, video.PROFILES["aligned"], lost(film, share), 5)
        assert bare.vmaf is None and np.array_equal(bare.ssim, seen.ssim)
        found.append(seen.vmaf.mean())
    assert 93 < found[0] <= 100
    assert found == sorted(found, reverse=True) and found[1] < found[0] - 1


def test_the_same_pictures_score_near_the_top(film: Encoded) -> None:
    # Not 100: the model was fitted to what people say of pictures that move.
    seen = video.watch(film, video.PROFILES["paper"], lost(film, 0.0), 5, True)
    assert seen.vmaf is not None and seen.vmaf.mean() > 97 and (seen.ssim == 1.0).all()


def test_scores_are_the_same_every_time_and_whichever_pictures_are_left_out(film: Encoded) -> None:
    how = film.coding
    gone = lost(film, 0.05)

    def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
        shown = [picture for _, picture in video._in_time(film, film.played(gone, True))]
        return list(zip(film.pictures_of("original"), shown, strict=True))

    once, again, every = (
        vmaf.measure(pairs(), how.width, how.height, how.fps, number) for number in (5, 5, 1)
    )
    assert np.array_equal(once, again)
    assert np.array_equal(once, every[::5])
    assert len(vmaf.measure([], how.width, how.height, how.fps, 5)) == 0


def test_a_result_has_it_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "_FORMATS", dict.fromkeys(("sd", "hd", "cif"), (720, 576, 25, 25, 4000)))
    packets = len(coding.encoded(clips.SYNTHETIC, video.coding("sd", "aligned")).sizes)
    seq = np.arange(packets)
    table = {"seq": seq, "sent_ns": seq, "delay_ns": np.where(seq == 20, -1, 1000)}
    table |= {name: np.zeros(packets, dtype=np.int64) for name in ("user", "showing", "clip")}
    user = shown_to("video", clips=[clips.SYNTHETIC], vmaf=True)
    got = score({"users": [user]}, {"video": table})["video"]
    assert 50 < got["vmaf"]["median"] < 100 and got["vmaf"]["model"] == vmaf.MODEL
    assert len(got["worst"]["series"]["vmaf"]) == 5
    assert "vmaf" not in score({"users": [user | {"vmaf": False}]}, {"video": table})["video"]


STUDY = """name = "seen"
seed = 1
duration = "10s"
[path]
rtt = "50ms"
down = { rate = "16Mbit", queue = { kind = "fifo", limit = "64pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "64pkt" } }
[[users]]
kind = "video"
clips = ["synthetic"]
"""


def test_asking_for_it_makes_another_point_and_nothing_else_does(sojourn: Command) -> None:
    def name(more: str) -> str:
        (sojourn.cwd / "seen.toml").write_text(STUDY + more)
        return sojourn.json("run", "seen.toml", "--dry-run")[0]["hash"]

    assert name("") == name("vmaf = false\n") != name("vmaf = true\n")


def test_a_missing_extra_is_a_sentence(sojourn: Command) -> None:
    (sojourn.cwd / "imageio_ffmpeg.py").write_text("raise ImportError\n")
    sojourn.env["PYTHONPATH"] = str(sojourn.cwd)
    (sojourn.cwd / "seen.toml").write_text(STUDY + "vmaf = true\n")
    said = sentence(sojourn("run", "seen.toml", code=2).stderr)
    assert "vmaf = true needs imageio-ffmpeg, which is not installed: pip install 'sojourn[vmaf]'" in said
    assert not (sojourn.cwd / "results").exists()


def test_another_ffmpeg_must_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "ffmpeg"
    other.write_text(f"#!{sys.executable}\nprint('ffmpeg version 1')\n")
    other.chmod(0o755)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(other))
    vmaf.program.cache_clear()
    with pytest.raises(MissingVideo, match=r"an FFmpeg with libvmaf, and .* is without"):
        vmaf.program()
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "nothing"))
    with pytest.raises(MissingVideo, match="an FFmpeg that runs, and this one does not"):
        vmaf.program()
    vmaf.program.cache_clear()
