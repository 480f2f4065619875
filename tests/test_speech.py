"""Speech: the coder, concealment, and the recordings."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from conftest import HANGS_S
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn.qoe import pesq
from sojourn.qoe.media import concealment, g711, recordings, speech
from sojourn.qoe.media.speech import MissingSpeech, Speech

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def sound() -> Speech:
    """The built-in samples; a test that needs them is skipped where they cannot be had."""
    try:
        return speech.samples()
    except MissingSpeech as missing:
        pytest.skip(str(missing))


@pytest.fixture
def heard(sound: Speech) -> Speech:
    """The built-in samples where PESQ is there to listen."""
    if not pesq.available():
        pytest.skip(pesq.MISSING)
    return sound


def write_wav(path: Path, signal: np.ndarray, rate: int = 8000, channels: int = 1) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.repeat(signal.astype("<i2"), channels).tobytes())


def tone(seconds: float, rate: int = 8000, hertz: float = 400.0) -> np.ndarray:
    t = np.arange(round(seconds * rate)) / rate
    return (8000 * np.sin(2 * np.pi * hertz * t)).astype(np.int16)


# A-law


def test_alaw_against_libavcodec() -> None:
    av = pytest.importorskip("av", reason="PyAV is the independent A-law coder")
    pcm = np.arange(-32768, 32768).astype(np.int16)
    coder = av.CodecContext.create("pcm_alaw", "w")
    coder.sample_rate, coder.layout, coder.format = 8000, "mono", "s16"
    frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
    frame.sample_rate = 8000
    codes = np.frombuffer(b"".join(bytes(p) for p in [*coder.encode(frame), *coder.encode(None)]), np.uint8)
    ours = g711.encode(pcm)
    differ = ours != codes
    assert differ.sum() == 964
    # All of them at thresholds: the two coders choose neighbouring levels.
    levels = np.sort(g711.decode(np.arange(256).astype(np.uint8)))
    a, b = (np.searchsorted(levels, g711.decode(c[differ])) for c in (ours, codes))
    assert (np.abs(a - b) == 1).all()

    reader = av.CodecContext.create("pcm_alaw", "r")
    reader.sample_rate, reader.layout = 8000, "mono"
    every = np.arange(256).astype(np.uint8)
    decoded = np.concatenate([f.to_ndarray()[0] for f in reader.decode(av.Packet(every.tobytes()))])
    assert np.array_equal(decoded, g711.decode(every))


def test_alaw_is_idempotent_and_close() -> None:
    pcm = np.arange(-32768, 32768).astype(np.int16)
    once = g711.code(pcm)
    assert np.array_equal(g711.code(once), once)
    error = np.abs(once.astype(int) - pcm)
    assert (error <= np.maximum(8, np.abs(pcm.astype(int)) / 16)).mean() > 0.98
    assert error.max() <= 1024
    with pytest.raises(TypeError, match="int16"):
        g711.encode(pcm.astype(np.int32))
    with pytest.raises(TypeError, match="uint8"):
        g711.decode(pcm)


# Concealment


@settings(deadline=None)
@given(st.integers(0, 40), st.data(), st.sampled_from(concealment.METHODS))
def test_concealment_leaves_the_rest_alone(count: int, data: st.DataObject, method: str) -> None:
    erased = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    seed = data.draw(st.integers(0, 100))
    amplitude = data.draw(st.sampled_from([0, 1, 500, 32767]))
    rng = np.random.default_rng(seed)
    frames = rng.integers(-amplitude - 1, amplitude + 1, (count, 160)).astype(np.int16)
    out = concealment.conceal(frames, erased, method)  # type: ignore[arg-type]
    assert out.shape == (count * 160,)
    assert out.dtype == np.int16
    whole = out.reshape(count, 160)
    after_gap = np.concatenate(([False], erased[:-1])) & ~erased
    kept = ~erased & ~after_gap
    assert np.array_equal(whole[kept], frames[kept])
    assert np.array_equal(whole[after_gap][:, 80:], frames[after_gap][:, 80:])
    if method == "zero":
        assert not whole[erased].any()


def test_content_of_erased_frames_is_not_looked_at() -> None:
    frames = tone(0.4).reshape(-1, 160)
    erased = np.arange(20) % 5 == 3
    other = np.where(erased[:, None], 12345, frames).astype(np.int16)
    for method in concealment.METHODS:
        assert np.array_equal(
            concealment.conceal(frames, erased, method), concealment.conceal(other, erased, method)
        )


def test_a_periodic_signal_is_continued() -> None:
    # A period of 50 samples: the gap is filled with the signal itself, at full level for 10 ms.
    period = np.concatenate([np.linspace(-9000, 9000, 40), np.linspace(8000, -8000, 10)])
    frames = np.tile(period, 64).astype(np.int16)[: 20 * 160].reshape(20, 160)
    assert concealment.pitch(frames.reshape(-1)[:1600].astype(float)) in (50, 100)
    erased = np.arange(20) == 10
    out = concealment.conceal(frames, erased)
    assert np.abs(out[1600:1680].astype(int) - frames.reshape(-1)[1600:1680]).max() <= 1
    assert 0.75 < np.abs(out[1680:1760]).max() / 9000 < 1.01


def test_long_gaps_fade_to_silence() -> None:
    frames = tone(1.0).reshape(-1, 160)
    erased = (np.arange(50) >= 10) & (np.arange(50) < 20)
    for method in ("plc", "repeat"):
        out = concealment.conceal(frames, erased, method)  # type: ignore[arg-type]
        assert out[1600:2080].any()
        assert not out[1600 + 480 : 3200].any()


def test_nothing_before_a_gap_is_silence() -> None:
    frames = tone(0.2).reshape(-1, 160)
    erased = np.arange(10) < 4
    assert not concealment.conceal(frames, erased)[:640].any()
    assert not concealment.conceal(frames, np.ones(10, bool)).any()


def test_wrong_shapes_and_names_are_said() -> None:
    with pytest.raises(ValueError, match="do not agree"):
        concealment.conceal(np.zeros((3, 160), np.int16), np.zeros(4, bool))
    with pytest.raises(ValueError, match="expected one of plc, repeat, zero"):
        concealment.conceal(np.zeros((3, 160), np.int16), np.zeros(3, bool), "magic")  # type: ignore[arg-type]


# What listeners say of it


def test_pesq_by_loss(heard: Speech) -> None:
    expected = {  # means over 20 samples of the same voices, by an independent implementation
        "plc": {0.01: 4.04, 0.05: 3.21, 0.20: 2.01},
        "repeat": {0.05: 2.99, 0.20: 1.83},
        "zero": {0.01: 3.94, 0.05: 2.84, 0.20: 1.47},
    }
    means: dict[str, list[float]] = {method: [] for method in expected}
    for method, by_loss in expected.items():
        for loss, mean in by_loss.items():
            rng = np.random.default_rng(round(loss * 1000))  # the same frames for every method
            got = []
            for number, (signal, coded) in enumerate(zip(heard.signals, heard.coded, strict=True)):
                erased = rng.random(len(coded)) < loss
                if number % 2 == 0:  # Five voices of each sex: all 20 differ from these by 0.08 at most.
                    got.append(pesq.mos_lqo(signal, concealment.conceal(coded, erased, method))[0])  # type: ignore[arg-type]
            means[method].append(float(np.mean(got)))
            assert means[method][-1] == pytest.approx(mean, abs=0.25), (method, loss)
    assert all(m == sorted(m, reverse=True) for m in means.values())
    assert all(plc > zero for plc, zero in zip(means["plc"], means["zero"], strict=True))
    assert means["zero"][1] < means["repeat"][0] < means["plc"][1]


# Recordings


def test_built_in_samples(sound: Speech) -> None:
    assert sound.signals.shape == (20, speech.SAMPLES)
    assert sound.signals.dtype == np.int16
    assert (sound.sexes.count("female"), sound.sexes.count("male")) == (10, 10)
    assert len(set(sound.names)) == 20
    assert len({s.tobytes() for s in sound.signals}) == 20
    for signal, talk in zip(sound.signals, sound.talk, strict=True):
        activity = recordings.active(signal).mean()
        assert 0.4 < activity < 0.85
        assert talk.mean() >= activity
        assert np.abs(signal.astype(int)).max() < 32767
        frames = signal.reshape(-1, 160)[recordings.active(signal)].astype(float)
        assert 10 * np.log10((frames**2).mean() / 32768**2) == pytest.approx(-26, abs=0.1)
    assert speech.samples() is speech.samples()


def test_manifest_names_every_recording(sound: Speech) -> None:
    manifest = json.loads((speech.cache_directory() / "speech-1" / "manifest.json").read_text())
    assert manifest["digest"] == sound.digest
    assert [s["name"] for s in manifest["samples"]] == list(sound.names)
    parts = [(s["package"], part) for s in manifest["samples"] for part in s["parts"]]
    assert len(parts) == len(set(parts)) == 40


def test_damaged_samples_are_not_used(tmp_path: Path, sound: Speech) -> None:
    ready = tmp_path / "speech-1"
    ready.mkdir()
    assert speech._load(ready, 8000) is None
    np.save(ready / "samples.npy", sound.signals)
    entries = [{"name": n, "sex": s} for n, s in zip(sound.names, sound.sexes, strict=True)]
    text = json.dumps({"digest": sound.digest, "samples": entries})
    (ready / "manifest.json").write_text(text)
    assert speech._load(ready, 8000) is not None
    (ready / "manifest.json").write_text(text.replace(sound.digest, "0" * 16))
    assert speech._load(ready, 8000) is None
    (ready / "samples.npy").write_bytes(b"\x93NUMPY")
    assert speech._load(ready, 8000) is None


def test_many_processes_may_build_at_once(tmp_path: Path, sound: Speech) -> None:
    """Three processes build the same cache from kept packages, without the network."""
    kept = speech.cache_directory() / "packages"
    debs = list(kept.glob("*.deb"))
    if len(debs) < 4:
        pytest.skip("the packages are not kept in the cache")
    (tmp_path / "packages").mkdir()
    for deb in debs:
        shutil.copy(deb, tmp_path / "packages")
    code = "from sojourn.qoe.media import speech; print(speech.samples().digest)"
    places = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    env = {
        **os.environ,
        "SOJOURN_CACHE": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
    }
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert {p.communicate(timeout=HANGS_S)[0].strip() for p in running} == {sound.digest}
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "packages", "speech-1"]


def test_without_the_tools_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingSpeech, match=r"apt-get is not installed: name a folder"):
        speech._build(speech.cache_directory() / "speech-1", 8000)
    assert not (tmp_path / "cache" / "speech-1").exists()


def test_another_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(command: list[str], directory: Path) -> None:
        (directory / f"{command[2].split('=')[0]}_9_all.deb").write_bytes(b"something else")

    monkeypatch.setattr(speech, "_tool", fetched)
    with pytest.raises(MissingSpeech, match="SHA-256 differs"):
        speech._download(speech._VOICES[0], tmp_path)


def test_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    assert speech.cache_directory() == tmp_path
    monkeypatch.delenv("SOJOURN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert speech.cache_directory() == tmp_path / "sojourn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert speech.cache_directory() == Path.home() / ".cache" / "sojourn"


def test_own_recordings(tmp_path: Path) -> None:
    write_wav(tmp_path / "b-long.wav", tone(10))
    write_wav(tmp_path / "a-short.wav", tone(3))
    got = speech.samples(tmp_path)
    assert got.names == ("a-short", "b-long")
    assert got.signals.shape == (2, speech.SAMPLES)
    assert "2 own recordings" in got.source
    assert str(tmp_path) not in got.source
    assert hashlib.sha256(got.signals.tobytes()).hexdigest().startswith(got.digest)
    assert got.talk.shape == (2, 400)


def test_own_recordings_of_other_rates(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="SciPy resamples")
    write_wav(tmp_path / "wide.wav", tone(4, 16_000), 16_000, channels=2)
    signal = recordings.read(tmp_path / "wide.wav")
    assert signal.size == 32_000
    spectrum = np.abs(np.fft.rfft(signal.astype(float)))
    assert np.argmax(spectrum) * 8000 / signal.size == pytest.approx(400, abs=1)


def test_own_recordings_of_other_formats(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="PyAV reads other formats")
    with av.open(str(tmp_path / "x.flac"), "w") as out:
        stream = out.add_stream("flac", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone(2, 16_000).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = 16_000
        out.mux([*stream.encode(frame), *stream.encode(None)])
    assert recordings.read(tmp_path / "x.flac").size == pytest.approx(16_000, abs=50)


def test_bad_recordings_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingSpeech, match="is not a directory"):
        speech.samples(tmp_path / "nowhere")
    with pytest.raises(MissingSpeech, match="expected files ending in"):
        speech.samples(tmp_path)
    write_wav(tmp_path / "quiet.wav", np.zeros(8000))
    with pytest.raises(MissingSpeech, match=r"quiet\.wav is silent"):
        speech.samples(tmp_path)
    (tmp_path / "quiet.wav").write_bytes(b"RIFF not a recording")
    with pytest.raises(MissingSpeech, match=r"quiet\.wav"):
        speech.samples(tmp_path)


@given(st.lists(st.integers(-32768, 32767), max_size=2000))
def test_level_and_trim_take_any_signal(values: list[int]) -> None:
    signal = np.array(values, dtype=np.int16)
    assert recordings.level(signal).shape == signal.shape
    assert recordings.trim(signal).size <= signal.size
    assert recordings.talkspurts(signal).shape == (signal.size // 160,)
