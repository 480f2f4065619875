"""Opus and G.722: coded, lost, repaired, scored by wide-band PESQ; beside what was measured without us."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import user
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.qoe import emodel_wideband, pesq, voice, worst_call
from sojourn.qoe.media import g722, opus
from sojourn.qoe.media.speech import MissingSpeech, samples
from sojourn.study.inputs import voice as inputs

MEASURED = {"fec": {5: 3.72, 10: 3.35}, "plc": {5: 2.61, 10: 1.91}, "silence": {5: 1.72, 10: 1.26}}
"""Wide-band PESQ of Opus at 24 kbit/s by percent of loss: six prompts of one voice, without a simulator."""

needs_library = pytest.mark.skipif(not opus.available(), reason=opus.MISSING)


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    if not pesq.available():
        pytest.skip(pesq.MISSING)
    try:
        return samples(None, pesq.WIDE_HZ).signals
    except MissingSpeech as missing:
        pytest.skip(str(missing))


def tone() -> np.ndarray:
    return (8000 * np.sin(np.arange(opus.FRAME * 50) * 0.3)).astype(np.int16)


@needs_library
def test_frames_come_back_in_their_places() -> None:
    packets = opus.encode(tone(), 24_000)
    assert len(packets) == 50
    clear = opus.decode(packets, np.zeros(50, dtype=bool))
    assert clear.size == tone().size
    assert np.corrcoef(clear[3200:9600], tone()[3200:9600])[0, 1] > 0.9
    with pytest.raises(ValueError, match="do not agree"):
        opus.decode(packets, np.zeros(49, dtype=bool))


@needs_library
def test_fec_needs_a_loss_to_expect_a_rate_and_the_next_packet(speech: np.ndarray) -> None:
    def share(rate: int, told: int, fec: bool = True) -> float:
        return float(np.mean([*map(opus.has_fec, opus.encode(speech[0], rate, loss_pct=told, fec=fec))]))

    assert share(24_000, 10) > 0.3
    assert share(24_000, 0) == share(16_000, 10) == share(24_000, 10, fec=False) == 0
    packets = opus.encode(speech[0], 24_000, loss_pct=10)
    erased = np.zeros(len(packets), dtype=bool)
    erased[next(i for i in range(100, 399) if opus.has_fec(packets[i + 1]))] = True
    repaired = opus.decode(packets, erased, ahead=np.ones_like(erased))
    assert not np.array_equal(repaired, opus.decode(packets, erased)), "else it is concealed"


@needs_library
def test_pauses_are_packets_of_one_byte_with_dtx(speech: np.ndarray) -> None:
    def short(dtx: bool) -> int:
        return sum(len(packet) <= 2 for packet in opus.encode(speech[0], 24_000, dtx=dtx))

    assert short(True) > short(False) + 50


def lqo(loss: float, seed: int = 1, duration: str = "75s", **keys: object) -> list[float]:
    """Wide-band PESQ of the calls of one run over a path with independent losses."""
    link = {"rate": "10Mbit", "queue": {"kind": "fifo", "limit": "99pkt"}}
    entry = {
        "kind": "voice",
        "codec": "opus",
        "direction": "up",
        "score": "pesq",
        "playout": {"kind": "fixed", "delay": "60ms"},
    }
    study = {
        "name": "x",
        "seed": seed,
        "duration": duration,
        "path": {"rtt": "40ms", "down": link, "up": link | ({"loss": loss} if loss else {})},
        "users": [entry | keys],
    }
    point = _core.points(json.dumps(study))[0]
    table = _core.run(point)["voice"]
    return [call.lqo for call in voice.calls(table, json.loads(point)["document"]["users"][0])]


def dtx_run(**keys: object) -> tuple[dict, dict, dict]:
    """One run of a caller with DTX: the entry, what is given to the engine, and its tables."""
    link = {"rate": "10Mbit", "queue": {"kind": "fifo", "limit": "99pkt"}}
    entry = {"kind": "voice", "codec": "opus", "direction": "up", "score": "emodel", "call": "8s"}
    study = {"name": "x", "duration": "20s", "path": {"rtt": "40ms", "down": link, "up": link}}
    study |= {
        "record": {"packets": True},
        "users": [entry | {"opus": {"bitrate": "24kbit", "dtx": True}} | keys],
    }
    point = _core.points(json.dumps(study))[0]
    document = json.loads(point)["document"]
    sent = inputs.packets(document)
    return document, sent, _core.run(point, clips=sent)


@needs_library
def test_with_dtx_the_packets_of_a_call_are_those_of_libopus(speech: np.ndarray) -> None:
    document, _, ran = dtx_run()
    (user,) = document["users"]
    table, log = ran["voice"], ran["packets"]
    sizes = log["size_bytes"][log["kind"] == _core.packet_kinds().index("voice")]
    for call in (0, 1):
        rows = np.flatnonzero(table["call"] == call)
        # libopus itself: a mark of at most two bytes is a pause, of which libwebrtc sends the first.
        coded = opus.encode(speech[call], 24_000, dtx=True)
        marks = np.array([len(packet) <= 2 for packet in coded])
        goes = ~marks | (marks & ~np.append(False, marks[:-1]))
        assert table["seq"][rows].tolist() == np.flatnonzero(goes).tolist()
        assert 50 < 400 - goes.sum() < 300, "there are pauses in it"
        # In a pause a packet goes every 400 ms at the latest; RFC 6716 section 2.1.9.
        assert 10 < np.diff(np.flatnonzero(goes)).max() <= 21
        expected = [len(packet) + 40 for packet, go in zip(coded, goes, strict=True) if go]
        assert sizes[rows].tolist() == expected
        assert np.all(np.diff(table["sent_ns"][rows]) == np.diff(table["seq"][rows].astype(int)) * 20_000_000)
    found = voice.score_voice(table, user)["talks"]
    assert (found["loss"], found["late"]) == (0, 0)
    assert (
        found["z1"] == voice.score_voice(_all(table), user | {"opus": {"bitrate": "24kbit"}})["talks"]["z1"]
    )


def _all(table: dict) -> dict:
    """The same calls with every packet."""
    call, seq = np.repeat([0, 1], 400), np.tile(np.arange(400), 2)
    zero = np.zeros_like(seq)
    sent = call * 9 * 10**9 + seq * 20_000_000
    delay = np.full_like(seq, table["delay_ns"][0])
    return {"user": zero, "call": call, "direction": zero, "seq": seq, "sent_ns": sent, "delay_ns": delay}


@needs_library
def test_without_loss_dtx_sounds_as_all_packets_do_and_a_lost_one_worse(speech: np.ndarray) -> None:
    document, _, ran = dtx_run()
    user = document["users"][0] | {"score": "pesq", "playout": {"kind": "fixed", "delay": "60ms"}}
    table = {name: column[ran["voice"]["call"] == 0] for name, column in ran["voice"].items()}

    def one(table: dict, **settings: object) -> voice.Call:
        (call,) = voice.calls(table, user | {"opus": user["opus"] | settings}, cache={})
        return call

    every = {name: column[:400] for name, column in _all(table).items()}
    silent, spoken = one(table), one(every, dtx=False)
    assert silent.lqo == pytest.approx(spoken.lqo, abs=0.1)
    assert (silent.lost, silent.late, silent.packets) == (0, 0, table["seq"].size)
    gone = table | {"delay_ns": np.where(np.arange(table["seq"].size) % 10 == 5, -1, table["delay_ns"])}
    worse = one(gone)
    assert worse.lqo < silent.lqo - 0.3
    assert worse.lost == round(table["seq"].size / 10)
    about = dict(worse.sound)
    _, heard = worst_call.again(about)
    _, mute = worst_call.again(about | {"silent": [[100, 200]]})
    assert not np.array_equal(heard, mute), "what was not sent is not decoded"


@needs_library
def test_dtx_needs_its_speech_and_says_so(speech: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    document, sent, _ = dtx_run()
    assert inputs.identity(document)["speech"]
    with pytest.raises(_core.StudyError, match=r"users\.0 sends no pauses \(dtx\)"):
        _core.run(json.dumps({"seed": 1, "replication": 0, "document": document}))
    with pytest.raises(_core.StudyError, match=r"users\.1, which needs none"):
        _core.run(json.dumps({"seed": 1, "replication": 0, "document": document}), clips=sent | {1: sent[0]})
    monkeypatch.setattr(opus, "available", lambda: False)
    inputs._unspoken.cache_clear()
    try:
        with pytest.raises(SojournError, match=r"users\.0\.opus\.dtx: .* libopus"):
            inputs.settle(document)
    finally:
        inputs._unspoken.cache_clear()


@needs_library
@pytest.mark.parametrize("loss", [5, 10])
def test_repair_beats_concealment_beats_silence_as_measured(speech: np.ndarray, loss: int) -> None:
    def mean(fec: bool, concealment: str) -> float:
        opus_keys = {"bitrate": "24kbit", "fec": fec}
        return float(np.mean(lqo(loss / 100, opus=opus_keys, concealment=concealment)))

    found = {"fec": mean(True, "plc"), "plc": mean(False, "plc"), "silence": mean(False, "zero")}
    assert found["fec"] > found["plc"] + 0.2 > found["silence"] + 0.4
    for kind, score in found.items():
        assert score == pytest.approx(MEASURED[kind][loss], abs=0.2), kind


@needs_library
def test_without_loss_all_three_are_one(speech: np.ndarray) -> None:
    def first(fec: bool, concealment: str) -> float:
        return lqo(0.0, duration="12s", opus={"bitrate": "24kbit", "fec": fec}, concealment=concealment)[0]

    assert first(True, "plc") == first(False, "plc") == first(False, "zero")
    assert first(True, "plc") == pytest.approx(4.40, abs=0.2)


@pytest.mark.skipif(not g722.available(), reason=g722.MISSING)
def test_g722_is_silent_where_a_packet_is_missing() -> None:
    coded = g722.encode(tone())
    assert coded.shape == (50, g722.BYTES)
    erased = np.zeros(50, dtype=bool)
    erased[20] = True
    heard = g722.decode(coded, erased).reshape(50, -1)
    assert not heard[20].any()
    assert heard[19].any()
    assert heard[25].any()


def test_the_wideband_emodel_says_what_is_remembered() -> None:
    entry = user("voice", codec="opus", score="emodel")
    assert entry["opus"] == {"bitrate": "32kbit", "fec": True}
    rows = {
        "user": np.zeros(400, dtype=int),
        "call": np.zeros(400, dtype=int),
        "direction": np.zeros(400, dtype=int),
        "seq": np.arange(400),
        "sent_ns": np.arange(400) * 20_000_000,
        "delay_ns": np.full(400, 30_000_000),
    }
    found = voice.score_voice(rows, entry)["talks"]
    assert emodel_wideband.REMEMBERED in found["note"]
    assert found["z1"]["median"] == pytest.approx((129 - 16.83) / 1.29, abs=0.01)


def test_settings_of_opus_are_checked() -> None:
    for keys, told in (
        ({"codec": "g711a", "opus": {}}, "not the user's"),
        ({"codec": "opus", "opus": {"bitrate": "1kbit"}}, "6kbit to 510kbit"),
        ({"codec": "opus", "concealment": "repeat"}, "plc or zero"),
    ):
        with pytest.raises(ValueError, match=told):
            user("voice", **keys)
