"""Voice scores: from rows of packets to MOS, with PESQ where it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import user
from sojourn import StudyError
from sojourn.errors import SojournError
from sojourn.qoe import emodel, pesq, voice
from sojourn.qoe.media import speech
from sojourn.qoe.media.speech import MissingSpeech, Speech
from sojourn.qoe.score import score
from sojourn.study.units import nanoseconds, seconds

REFERENCE = json.loads((Path(__file__).parent / "data" / "qoe_reference.json").read_text(encoding="utf-8"))
MS = 1_000_000
FIXED = {"kind": "fixed", "delay": "60ms"}
PLAIN = user("voice", codec="g711a", playout=FIXED)
EMODEL = PLAIN | {"score": "emodel"}


@pytest.fixture
def sound() -> Speech:
    """The built-in samples; a test that needs them is skipped where they cannot be had."""
    if not pesq.available():
        pytest.skip(pesq.MISSING)
    try:
        return speech.samples()
    except MissingSpeech as missing:
        pytest.skip(str(missing))


def table(*calls: tuple[int, int, int, Any], frames: int = 400) -> dict[str, np.ndarray]:
    """Rows of calls given as (user, call, direction, delays in ms, −1 = lost)."""
    parts = []
    for caller, call, direction, delay in calls:
        ms = np.broadcast_to(np.asarray(delay, dtype=np.float64), frames)
        delay_ns = np.where(ms < 0, -1, ms * MS).astype(np.int64)
        seq = np.arange(frames)
        whole = [np.full(frames, x) for x in (caller, call, direction)]
        parts.append(np.stack([*whole, seq, seq * 20 * MS + call * 10_000 * MS, delay_ns]))
    rows = np.concatenate(parts, axis=1) if parts else np.zeros((6, 0), np.int64)
    names = {"user": "u4", "call": "u4", "direction": "u1", "seq": "u2", "sent_ns": "u8", "delay_ns": "i8"}
    return {name: row.astype(dtype) for (name, dtype), row in zip(names.items(), rows, strict=True)}


def test_p862_1_mapping() -> None:
    for raw, lqo in REFERENCE["p862_1"].items():
        assert float(pesq.raw_to_lqo(float(raw))) == pytest.approx(lqo, abs=1e-4)
        assert pesq.lqo_to_raw(float(pesq.raw_to_lqo(float(raw)))) == pytest.approx(float(raw), abs=1e-9)
    with pytest.raises(ValueError, match="range"):
        pesq.lqo_to_raw(5.0)


def test_undamaged_calls_by_the_emodel() -> None:
    got = voice.score_voice(table((0, 0, 0, 25), (0, 0, 1, 25)), EMODEL)
    for direction in voice.DIRECTIONS:
        one = got[direction]
        assert one["mos"]["median"] == pytest.approx(4.409, abs=1e-3)
        assert one["z1"]["median"] == pytest.approx(93.2, abs=0.05)
        assert one["z2"]["median"] == pytest.approx(float(emodel.idd(105)), abs=1e-3)
        assert (one["loss"], one["late"], one["calls"], one["model"]) == (0.0, 0.0, 1, "emodel")
        assert one["delay_ms"] == 25
        assert one["ta_ms"] == 105
        assert "lqo" not in one


def test_half_the_round_trip_or_the_own_way() -> None:
    rows = table((0, 0, 0, 900), (0, 0, 1, 30))
    half = voice.score_voice(rows, EMODEL)
    assert half["talks"]["ta_ms"] == half["listens"]["ta_ms"] == pytest.approx(465 + 80)
    own = voice.score_voice(rows, EMODEL | {"delay-model": "own"})
    assert own["listens"]["ta_ms"] == 110
    assert own["talks"]["ta_ms"] == 980
    alone = voice.score_voice(table((0, 0, 0, 900)), EMODEL)
    assert alone["talks"]["ta_ms"] == 980
    assert "listens" not in alone


def test_calls_are_paired_by_user_and_call() -> None:
    rows = table((1, 0, 0, 100), (1, 0, 1, 20), (1, 1, 0, 200), (1, 1, 1, 20), (2, 0, 0, 300), (2, 0, 1, 20))
    got = voice.calls(rows, EMODEL)
    assert [call.ta_ms for call in got if call.direction == 1] == pytest.approx([140, 190, 240])


def test_rows_may_come_in_any_order() -> None:
    rows = table((0, 0, 0, np.where(np.arange(400) % 7 == 0, -1, 30)), (0, 1, 0, 40), (0, 0, 1, 25))
    order = np.random.default_rng(1).permutation(rows["seq"].size)
    shuffled = {name: column[order] for name, column in rows.items()}
    assert voice.score_voice(shuffled, EMODEL) == voice.score_voice(rows, EMODEL)


def test_a_call_in_which_nothing_arrives() -> None:
    got = voice.score_voice(table((0, 0, 0, -1)), EMODEL)["talks"]
    assert got["mos"]["median"] == 1.0
    assert got["z2"]["median"] is None
    assert got["delay_ms"] is None
    assert got["loss"] == 1.0


def test_no_calls_no_scores() -> None:
    assert voice.score_voice(table(), EMODEL) == {}


def test_codecs_and_concealment_of_the_emodel() -> None:
    lossy = np.where(np.arange(400) % 20 == 10, -1, 25)  # 5 %
    mos = {}
    for name, asked in {"plc": {}, "zero": {"concealment": "zero"}, "g729a": {"codec": "g729a"}}.items():
        mos[name] = voice.score_voice(table((0, 0, 0, lossy)), EMODEL | asked)["talks"]["mos"]["median"]
    assert mos["plc"] == pytest.approx(3.923, abs=0.01)
    assert mos["zero"] == pytest.approx(2.169, abs=0.01)
    assert mos["g729a"] == pytest.approx(3.34, abs=0.02)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"codec": "speex"}, "speex"),
        ({"playout": "fixed"}, "fixed"),
        ({"playout": {"kind": "magic"}}, "magic"),
        ({"playout": {"kind": "fixed", "delay": 60}}, "60"),
        ({"recordings": 3}, "3"),
    ],
)
def test_bad_options_are_said(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError, match=says):
        user("voice", **{"codec": "g711a", **asked})


def test_the_default_playout_adapts() -> None:
    assert user("voice", codec="g711a")["playout"] == {"kind": "adaptive"}


def test_bad_tables_are_said() -> None:
    rows = table((0, 0, 0, 25))
    with pytest.raises(ValueError, match="lacks delay_ns"):
        voice.score_voice({k: v for k, v in rows.items() if k != "delay_ns"}, EMODEL)
    with pytest.raises(ValueError, match="directions"):
        voice.score_voice(table((0, 0, 2, 25)), EMODEL)


def test_times() -> None:
    assert seconds("60ms") == 0.06 and seconds(".5s") == 0.5
    assert nanoseconds("1.5 s") == 1_500_000_000 and nanoseconds("2h") == 7200 * 10**9
    assert nanoseconds("0.29us") == 290
    for bad in ("60", "ms", "-1s", "1 parsec", ""):
        with pytest.raises(SojournError, match="is not a time"):
            nanoseconds(bad)


def test_without_pesq_the_emodel_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pesq, "_pesq", None)
    monkeypatch.setattr(voice, "_no_speech", {})
    got = voice.score_voice(table((0, 0, 0, 25)), PLAIN)["talks"]
    assert got["model"] == "emodel"
    assert "pip install" in got["note"]
    assert "speech" not in got
    with pytest.raises(MissingSpeech, match="pip install"):
        voice.score_voice(table((0, 0, 0, 25)), PLAIN | {"score": "pesq"})
    with pytest.raises(RuntimeError, match="pip install"):
        pesq.mos_lqo(np.ones(8000), np.ones(8000))


def test_users_are_numbered_in_document_order() -> None:
    rows = table((0, 0, 0, 25), (3, 0, 0, 500), (4, 0, 0, 25))
    loads = {
        "user": np.array([1, 2, 2]), "plt_ns": np.array([1, 2, 3]) * 10**9, "complete": np.ones(3, bool),
        "rtt_ns": np.zeros(3), "repair_ns": np.zeros(3),
    }  # fmt: skip
    users = [
        EMODEL,
        user("web", count=2),
        EMODEL,
        EMODEL | {"concealment": "zero"},
    ]
    got = score({"users": users}, {"voice": rows, "web": loads})
    assert got["voice"]["talks"]["calls"] == 3
    assert got["web"]["loads"] == 3
    only = score({"users": users[:3]}, {"voice": rows, "web": loads})
    assert only["voice"]["talks"]["calls"] == 2
    assert json.loads(json.dumps(got)) == got
    assert score({"users": users}, {}) == {}
    assert score({}, {"voice": rows}) == {}
    with pytest.raises(ValueError, match="column user"):
        score({"users": users}, {"web": {"plt_ns": loads["plt_ns"]}})


def test_undamaged_speech(sound: Speech) -> None:
    scores = [pesq.mos_lqo(s, c.reshape(-1)) for s, c in zip(sound.signals, sound.coded, strict=True)]
    assert all(ok for _, ok in scores)
    assert np.mean([lqo for lqo, _ in scores]) == pytest.approx(4.307, abs=0.05)
    assert pesq.mos_lqo(sound.signals[0], sound.signals[0])[0] == pytest.approx(4.5486, abs=1e-3)
    assert pesq.mos_lqo(sound.signals[0], np.zeros_like(sound.signals[0])) == (1.0, False)


def test_voice_scores_by_pesq(sound: Speech) -> None:
    cache: dict[Any, Any] = {}
    rows = table(*[(0, k, d, 30) for k in range(40) for d in (0, 1)])
    got = voice.score_voice(rows, PLAIN | {"score": "pesq"}, cache=cache)["talks"]
    assert len(cache) == 20
    assert got["model"] == "pesq"
    assert got["speech"] == sound.source
    assert got["lqo"]["mean"] == pytest.approx(4.307, abs=0.05)
    assert got["mos"]["median"] == pytest.approx(4.33, abs=0.06)
    assert got["calls"] == 40
    assert voice.score_voice(rows, PLAIN | {"score": "pesq"}, cache=cache)["talks"] == got
    assert len(cache) == 20


def test_callers_and_calls_take_turns_with_the_voices(sound: Speech) -> None:
    cache: dict[Any, Any] = {}
    voice.score_voice(table((0, 0, 0, 30), (1, 0, 0, 30), (1, 1, 0, 30)), PLAIN, cache=cache)
    assert sorted(key[1] for key in cache) == [0, 1, 2]


def test_late_speech_is_lost_speech(sound: Speech) -> None:
    ramp = np.concatenate([np.full(100, 30), np.full(300, 300)])
    stiff = voice.score_voice(table((0, 0, 0, ramp)), PLAIN)["talks"]
    supple = voice.score_voice(table((0, 0, 0, ramp)), PLAIN | {"playout": {"kind": "adaptive"}})["talks"]
    assert stiff["late"] == 0.75
    assert stiff["loss"] == 0.0
    assert stiff["mos"]["median"] < 1.5 < 2.5 < supple["mos"]["median"]


def test_silence_scores_one_and_is_counted(sound: Speech) -> None:
    got = voice.score_voice(table((0, 0, 0, -1)), PLAIN | {"score": "pesq"})["talks"]
    assert (got["lqo"]["median"], got["unscored"]) == (1.0, 1)
    assert got["mos"]["median"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("frames", [1, 10, 60, 399, 401, 900])
def test_calls_of_other_lengths(sound: Speech, frames: int) -> None:
    got = voice.score_voice(table((0, 0, 0, 30), frames=frames), PLAIN)["talks"]
    assert (got["calls"], got["loss"], got["ta_ms"]) == (1, 0.0, 110.0)
    # PESQ does not score less than a quarter of a second; whole calls are as good as the codec.
    assert got["unscored"] == (1 if frames < 13 else 0)
    if frames > 60:
        assert got["lqo"]["median"] == pytest.approx(4.02, abs=0.05)  # of the first voice
    elif frames > 12:
        assert 3.5 < got["lqo"]["median"] < 4.6
    else:
        assert got["lqo"]["median"] == 1.0


def test_pieces_of_long_calls_are_scored_alone_and_averaged(sound: Speech) -> None:
    frames = 900  # two pieces of 450, of which the second is silent
    lost = np.where(np.arange(frames) < 450, 30, -1)
    half = voice.score_voice(table((0, 0, 0, lost), frames=frames), PLAIN)["talks"]
    whole = voice.score_voice(table((0, 0, 0, 30), frames=frames), PLAIN)["talks"]
    assert half["lqo"]["median"] == pytest.approx((whole["lqo"]["median"] + 1.0) / 2, abs=0.1)
    assert half["unscored"] == 1 and half["loss"] == 0.5


def test_no_more_calls_are_heard_than_the_precision_asks_for(sound: Speech) -> None:
    rng = np.random.default_rng(3)
    rows = table(*((0, call, direction, 30) for direction in (0, 1) for call in range(40 * direction + 1)))
    lossy = (rng.random(rows["seq"].size) < 0.08) & (rows["direction"] == 1)
    rows["delay_ns"] = np.where(lossy, -1, rows["delay_ns"])
    user = PLAIN | {"score": "pesq"}
    cache: dict[Any, Any] = {}
    every = voice.score_voice(rows, user, cache=cache)
    coarse, fine = (
        voice.score_voice(rows, user | {"precision": asked}, cache=cache) for asked in (0.3, 0.08)
    )
    assert "heard" not in every["listens"]
    assert 8 <= coarse["listens"]["heard"] < fine["listens"]["heard"] < 41
    for some, asked in ((coarse, 0.3), (fine, 0.08)):
        for name in ("mean", "median"):
            assert abs(some["listens"]["mos"][name] - every["listens"]["mos"][name]) <= asked
        tails = {some["listens"][score][name] for score in ("mos", "z1", "lqo") for name in ("p5", "p95")}
        assert tails == {None}, "the worst of a few is not the worst 5 %"
        # What is cheap to know is known of all calls.
        for key in ("calls", "loss", "late", "delay_ms", "ta_ms"):
            assert some["listens"][key] == every["listens"][key]
    assert voice.score_voice(rows, user | {"precision": 0.01}, cache=cache)["listens"] == every["listens"]
