"""G.729A speech through its codec library; left out where that is not installed, as far as it needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import user
from sojourn.errors import SojournError
from sojourn.qoe import pesq, voice
from sojourn.qoe.media import g729, speech
from sojourn.qoe.media.speech import MissingSpeech, Speech
from sojourn.study.inputs import voice as listening

MS = 1_000_000
ASKED = user("voice", codec="g729a", playout={"kind": "fixed", "delay": "60ms"})


@pytest.fixture
def codec() -> None:
    """The library; a test that needs it is skipped where it is not installed."""
    if not g729.available():
        pytest.skip(g729.MISSING)


@pytest.fixture
def sound(codec: None) -> Speech:
    """The built-in samples, with PESQ to listen."""
    if not pesq.available():
        pytest.skip(pesq.MISSING)
    try:
        return speech.samples()
    except MissingSpeech as missing:
        pytest.skip(str(missing))


def calls(loss: float, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    seq = np.tile(np.arange(400), count)
    return {
        "user": np.zeros(seq.size, np.uint32),
        "call": np.repeat(np.arange(count), 400),
        "direction": np.ones(seq.size, np.uint8),
        "seq": seq,
        "sent_ns": seq * 20 * MS,
        "delay_ns": np.where(rng.random(seq.size) < loss, -1, 25 * MS),
    }


@pytest.mark.usefixtures("codec")
def test_frames_of_ten_bytes_and_the_same_bits_again() -> None:
    t = np.arange(8000) / 8000
    tone = (8000 * np.sin(2 * np.pi * 300 * t) * (1 + np.sin(2 * np.pi * 3 * t)) / 2).astype(np.int16)
    coded = g729.encode(tone)
    assert coded.shape == (100, 10)
    assert np.array_equal(coded, g729.encode(tone))
    none = np.zeros(100, dtype=bool)
    whole = g729.decode(coded, none)
    assert whole.shape == (8000,) and np.array_equal(whole, g729.decode(coded, none))
    delays = [np.corrcoef(tone[:-200], np.roll(whole, -d)[:-200])[0, 1] for d in range(0, 120)]
    assert max(delays) > 0.9


@pytest.mark.usefixtures("codec")
def test_erased_frames_are_concealed_whatever_they_hold() -> None:
    rng = np.random.default_rng(1)
    coded = g729.encode((3000 * rng.standard_normal(8000)).astype(np.int16))
    erased = np.arange(100) % 10 == 5
    got = g729.decode(coded, erased)
    other = np.where(erased[:, None], 255, coded).astype(np.uint8)
    assert np.array_equal(got, g729.decode(other, erased))
    assert np.abs(got.reshape(100, 80)[55].astype(int)).max() > 100  # not silence
    assert not np.array_equal(got, g729.decode(coded, np.zeros(100, bool)))
    fading = g729.decode(coded, np.arange(100) >= 50).reshape(100, 80).astype(float)
    assert np.square(fading[90:]).mean() < 0.1 * np.square(fading[40:50]).mean()


@pytest.mark.usefixtures("sound")
@pytest.mark.parametrize(("loss", "lqo"), [(0.0, 3.63), (0.05, 2.73), (0.10, 2.19)])
def test_pesq_by_loss(loss: float, lqo: float) -> None:
    # Means over 20 samples of random losses as they were measured before; six differ from them by 0.08.
    got = voice.score_voice(calls(loss, 6), ASKED, cache={})["listens"]
    assert got["model"] == "pesq"
    assert got["lqo"]["mean"] == pytest.approx(lqo, abs=0.25)


def test_without_the_library_the_emodel_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(g729, "_library", lambda: None)
    listening.missing.cache_clear()
    try:
        got = voice.score_voice(calls(0.0, 1), ASKED)["listens"]
        assert got["model"] == "emodel" and "apt-get install libbcg729-0" in got["note"]
        assert got["mos"]["median"] == pytest.approx(4.10, abs=0.02)
        asked: dict[str, Any] = dict(ASKED)
        note = listening.settle({"users": [asked]})
        assert asked["score"] == "emodel" and note is not None and "libbcg729-0" in note
        with pytest.raises(SojournError, match="needs the library bcg729"):
            listening.settle({"users": [{**ASKED, "score": "pesq"}]})
        with pytest.raises(MissingSpeech, match="needs the library bcg729"):
            voice.score_voice(calls(0.0, 1), {**ASKED, "score": "pesq"})
        with pytest.raises(RuntimeError, match="bcg729"):
            g729.encode(np.zeros(80, np.int16))
    finally:
        listening.missing.cache_clear()


def test_packets_of_g729a_are_60_bytes() -> None:
    from sojourn import _core

    study = """name = "x"
    duration = "10s"
    [path]
    rtt = "40ms"
    down = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
    up = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
    [[users]]
    kind = "voice"
    codec = "g729a"
    """
    log = _core.run(_core.points(_core.parse(study, "x", []))[0], True)["packets"]
    assert set(log["size_bytes"].tolist()) == {60}
