"""The worst call of a cell is heard again from its result, the very sound that was scored."""

from __future__ import annotations

import base64
import io
import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import user
from sojourn.qoe import pesq, voice, worst_call
from sojourn.qoe.media import concealment, g711, g722, opus, speech
from sojourn.qoe.runs import runs, unpacked
from sojourn.report import listening as part
from test_figures import result

PACKETS = 400


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A folder with one recording of 8 s: tones that come and go."""
    at = np.arange(speech.SAMPLES) / 8000
    tone = np.sin(2 * np.pi * 220 * at) * (np.sin(2 * np.pi * 1.5 * at) > -0.3) * 8000
    with wave.open(str(tmp_path / "tone.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(tone.astype("<i2").tobytes())
    return tmp_path


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """The same at 16 kHz, with a tone that only wide-band codecs carry."""
    at = np.arange(2 * speech.SAMPLES) / 16000
    tone = np.sin(2 * np.pi * 220 * at) + 0.3 * np.sin(2 * np.pi * 5000 * at)
    tone *= (np.sin(2 * np.pi * 1.5 * at) > -0.3) * 6000
    (tmp_path / "wide").mkdir()
    with wave.open(str(tmp_path / "wide" / "tone.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(tone.astype("<i2").tobytes())
    return tmp_path / "wide"


def scored(
    recordings: Path, gone: dict[int, list[int]], monkeypatch: pytest.MonkeyPatch, codec: str = "g711a"
) -> dict[str, Any]:
    """Score calls of which some packets are lost; sound is scored by how much of it is missing."""
    heard: list[np.ndarray] = []

    def score(reference: np.ndarray, received: np.ndarray, rate_hz: int) -> tuple[float, bool]:
        heard.append(received)
        return 4.5 - 3.5 * float(np.mean(np.abs(reference - received.astype(int)) > 600)), True

    monkeypatch.setattr(pesq, "available", lambda: True)
    monkeypatch.setattr(pesq, "mos_lqo", score)
    seq = np.tile(np.arange(PACKETS), len(gone))
    call = np.repeat(list(gone), PACKETS)
    delay = np.full(seq.size, 30_000_000)
    for one, lost in gone.items():
        delay[np.isin(seq, lost) & (call == one)] = -1
    columns = {
        "user": np.zeros_like(seq),
        "call": call,
        "direction": np.zeros_like(seq),
        "seq": seq,
        "sent_ns": call * 10**10 + seq * 20_000_000,
        "delay_ns": delay,
    }
    entry = user("voice", codec=codec, score="pesq", recordings=str(recordings))
    if codec == "opus":
        # A packet early enough for FEC to repair the one before.
        entry |= {"opus": {"bitrate": "32kbit", "fec": True}, "playout": {"kind": "fixed", "delay": "60ms"}}
    found = voice.score_voice(columns, entry, cache={})
    found["heard"] = heard
    return found


def test_the_worst_call_is_made_again_sample_for_sample(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [*range(60, 75), 200, 201, 202]
    found = scored(recordings, {0: [5], 1: lost, 2: []}, monkeypatch)
    about = found["worst"]["talks"]
    assert "listens" not in found["worst"]
    assert (about["call"], about["lost"], about["late"], about["packets"]) == (1, 18, 0, PACKETS)
    assert about["missing"] == [[60, 15], [200, 3]]
    assert about["began_s"] == 10.0
    said, heard = worst_call.again(about)
    assert np.array_equal(heard, found["heard"][1])
    assert np.array_equal(said, speech.samples(str(recordings)).signals[0])
    clean = concealment.conceal(g711.code(said).reshape(-1, 160), np.zeros(PACKETS, dtype=bool))
    frames = (heard != clean).reshape(-1, 160).any(axis=1)
    assert set(np.flatnonzero(frames)) <= {at for first in lost for at in (first - 1, first, first + 1)}
    # Other recordings under the same name are not taken for these.
    with pytest.raises(worst_call.MissingSpeech, match="not those that the calls were scored with"):
        worst_call.again({**about, "digest": "0" * 16})


@pytest.mark.parametrize("codec", ["opus", "g722"])
def test_wide_band_calls_are_made_again_at_16_khz(
    wide: Path, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    library = {"opus": opus, "g722": g722}[codec]
    if not library.available():
        pytest.skip(library.MISSING)
    found = scored(wide, {0: [], 1: [50, 51, 52, 200]}, monkeypatch, codec)
    about = found["worst"]["talks"]
    assert (about["call"], about["codec"], about["missing"]) == (1, codec, [[50, 3], [200, 1]])
    if codec == "opus":
        # Of a run only the last has its successor; it is told 1 % of loss.
        assert about["repairable"] == [[52, 1], [200, 1]]
        assert about["opus"] == {"bitrate": "32kbit", "told": 1, "fec": True}
    said, heard = worst_call.again(about)
    assert np.array_equal(heard, found["heard"][1]) and said.size == 320 * PACKETS
    chosen = worst_call.worst_part(about, 5.0)
    assert chosen.stop - chosen.start == 16000 * 5 and chosen.start <= 50 * 320
    header = worst_call.wav(heard[chosen], worst_call.rate_hz(about))
    assert struct.unpack("<II", header[24:32]) == (16000, 16000) and len(header) == 58 + 80_000


def test_the_part_that_is_heard_is_where_most_is_missing() -> None:
    about = {"packets": 400, "missing": [[10, 2], [300, 9], [398, 2]]}
    chosen = worst_call.worst_part(about, 2.0)
    first, last = chosen.start // 160, chosen.stop // 160
    assert last - first == 100 and first <= 300 and last >= 309
    short = worst_call.worst_part({"packets": 50, "missing": []}, 5.0)
    assert (short.start, short.stop) == (0, 50 * 160)


def test_a_sound_is_one_byte_a_sample_and_nothing_else_is_lost() -> None:
    signal = g711.code((np.sin(np.arange(801) / 9) * 9000).astype(np.int16))
    file = io.BytesIO(worst_call.wav(signal))
    assert file.read(4) == b"RIFF"
    assert struct.unpack("<I", file.read(4))[0] == len(file.getvalue()) - 8
    assert file.read(8) == b"WAVEfmt "
    size, kind, channels, rate, _, _, bits = struct.unpack("<IHHIIHH", file.read(20))
    assert (size, kind, channels, rate, bits) == (18, 6, 1, 8000, 8)
    codes = file.getvalue().split(b"data", 1)[1]
    assert struct.unpack("<I", codes[:4])[0] == 801
    assert np.array_equal(g711.decode(np.frombuffer(codes[4 : 4 + 801], dtype=np.uint8)), signal)


def test_the_worst_cells_are_heard_until_the_page_is_full(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = scored(recordings, {0: list(range(100, 130))}, monkeypatch)["worst"]["talks"]
    results = [result({"workload": name}) for name in ("idle", "busy", "calm")]
    for one, z1 in zip(results, (70.0, 20.0, 60.0), strict=True):
        one["voice"]["worst"] = {"talks": {**about, "z1": z1}}
    calm = {"lost": 0, "late": 0, "missing": []}
    results[2]["voice"]["worst"]["talks"] |= calm
    heard = part.listen(results)
    assert [sound.cell for sound in heard.sounds] == ["busy", "idle"]
    assert "30 lost of 400 packets" in heard.sounds[0].words
    assert "Of 3 cells and directions 1 are not here: their worst call lacks no packet" in heard.note
    content = base64.b64decode(heard.sounds[0].heard.split(",", 1)[1])
    assert len(content) == 58 + 8000 * part.SECONDS
    each = len(heard.sounds[0].heard) + len(heard.sounds[0].said)
    monkeypatch.setattr(part, "MOST_BYTES", each + 10)
    fewer = part.listen(results)
    assert [sound.cell for sound in fewer.sounds] == ["busy"]
    assert "Of 2 cells and directions the 1 that sound worst are here" in fewer.note


def test_why_nothing_can_be_heard_is_one_sentence(recordings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = result({})
    assert part.listen([one]).note.startswith("No call can be heard: these results do not say which")
    one["voice"]["talks"] |= {"model": "emodel", "note": "scored by the E-model: PESQ is not installed"}
    heard = part.listen([one])
    assert not heard.sounds and heard.note.endswith("scored by the E-model: PESQ is not installed.")
    del one["voice"]
    assert part.listen([one]) == part.Listening()
    assert unpacked(runs(np.array([True, False, True, True])), 4).tolist() == [True, False, True, True]
