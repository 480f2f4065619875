"""Scores of voice calls: what loss and lateness do to the sound, and what delay does to the conversation.

Per call, z1 is the PESQ (P.862.1 MOS-LQO) of the received audio put on the R scale by Sun's cubic, z2 the
delay impairment Idd of G.107, z = max(0, z1 − z2), and MOS = G.107's curve of z, in [1, 4.5]. z1 and z2
are reported on the R scale (0 to 100), the MOS-LQO behind z1 as `lqo`.

Without PESQ or recordings, z1 is the E-model's 93.2 − Ie-eff of the codec under the call's erased frames
and their burst ratio. That is another model with other numbers; results carry its name and a note.

What a call heard, how late it was, and all formulas are those of the crate `sojourn-qoe` (`calls.rs`,
`voice.rs`), which pages score with, too; here is what it takes speech for.

G.729A speech is coded, and its erased frames concealed, by the codec's own library; without that library
it is scored by the E-model, as everything is without PESQ or recordings.

Opus and G.722 are wide-band codecs: real speech at 16 kHz, coded and decoded by their own libraries (with
Opus's FEC and concealment), wide-band PESQ (P.862.2), and the wide-band E-model (G.107.1), whose R is
reported divided by 1.29, so that z1 and z2 stay on a scale of 0 to 100; their scores are not to be put
beside those of narrow-band speech, which another listening test made. The encoder is told the call's own
loss. Pauses that Opus does not send (DTX, :mod:`.spoken`) are neither lost nor late: the decoder fills
them, and loss is a share of the packets that were sent.

Differences: the study names P.862.2 for its last step, but that maps raw PESQ scores, not R; its printed
class edges are G.107's. A call in which nothing arrives has no delay: z1 speaks alone. Calls longer than
one sample repeat it and are scored in pieces of about 8 s, as PESQ is made for; their MOS-LQO are
averaged.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.qoe import emodel, pesq, spoken
from sojourn.qoe.columns import require
from sojourn.qoe.enough import enough, lot
from sojourn.qoe.media import recordings, speech
from sojourn.qoe.media.speech import MissingSpeech, Speech
from sojourn.qoe.runs import runs
from sojourn.qoe.score_cache import DiskCache
from sojourn.qoe.spoken import LIBRARIES, WIDE, ScoreCache

#: Names of the `direction` column's values.
DIRECTIONS = ("talks", "listens")


_COLUMNS = {
    "user": np.uint32,
    "call": np.uint32,
    "direction": np.uint8,
    "seq": np.uint16,
    "sent_ns": np.uint64,
    "delay_ns": np.int64,
}


_scores: ScoreCache = DiskCache()
_no_speech: dict[tuple[str, str | None], str] = {}


class Call(NamedTuple):
    """Scores of one direction of a call.

    Attributes
    ----------
    direction : int
        Index into `DIRECTIONS`.
    mos, z1, z2, lqo : float
        z1, z2 on the R scale; z2 is NaN if nothing arrived; lqo is NaN under the E-model.
    packets, lost, late : int
        Packets sent, lost by the network, and arrived but not played.
    delay_ms, ta_ms : float
        Mean one-way delay in the network, and the delay that was scored; NaN if nothing arrived.
    unscored : bool
        PESQ could not score the sound (silence), which counts as 1.0.
    model : "pesq" or "emodel"
    speech, note : str
        Whose voices; a warning, or "".
    sound : mapping
        The piece of it that sounded worst, as `worst` makes it again; empty under the E-model.
    """

    direction: int
    mos: float
    z1: float
    z2: float
    lqo: float
    packets: int
    lost: int
    late: int
    delay_ms: float
    ta_ms: float
    unscored: bool
    model: str
    speech: str
    note: str
    sound: Mapping[str, Any]


def score_voice(
    columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any], *, cache: ScoreCache | None = None
) -> dict[str, Any]:
    """Score the calls of one entry of users.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The voice table: `user`, `call`, `direction` (0 = talks, 1 = listens), `seq`, `sent_ns`, `delay_ns`
        (−1 = lost), one row per packet.
    user : mapping
        The entry of the scenario's `users`, its defaults filled in.
    cache : ScoreCache, optional
        Scores of sound already heard; by default those that are kept on disk.

    Returns
    -------
    dict
        See `summary`.

    Raises
    ------
    MissingSpeech
        If `score` is "pesq" and the package or the recordings are missing.
    ValueError
        If the table is not as expected.
    """
    return summary(calls(columns, user, cache=cache))


def calls(
    columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any], *, cache: ScoreCache | None = None
) -> list[Call]:
    """Score every call in each direction; parameters and errors as for `score_voice`.

    With a `precision`, PESQ hears only as many calls of a direction as it takes (:mod:`.enough`); the others
    have their loss and delay, and no score.
    """
    sound, note = _speech(user)
    heard = _heard(columns, user, sound)
    kept = _scores if cache is None else cache

    def one(call: _core.Heard) -> Call:
        return _by_formula(call, note) if sound is None else _listened(call, user, sound, kept)

    precision = user.get("precision")
    if sound is None or precision is None:
        return [one(call) for call in heard]
    scored: dict[tuple[int, int, int], Call] = {}
    by_key = {(call.direction, call.user, call.call): call for call in heard}

    def mos(key: tuple[int, int, int]) -> float:
        scored[key] = one(by_key[key])
        return scored[key].mos

    begin = lot(np.ascontiguousarray(columns["delay_ns"], dtype=np.int64).tobytes())
    for direction in range(len(DIRECTIONS)):
        here = {key: call for key, call in by_key.items() if key[0] == direction}
        enough(_expected(here, user, sound, kept), mos, precision, begin)
    unheard = float("nan")
    return [
        scored.get(key) or _call(call, unheard, model="pesq", speech=sound.source)
        for key, call in by_key.items()
    ]


def _expected(
    heard: Mapping[tuple[int, int, int], _core.Heard],
    user: Mapping[str, Any],
    sound: Speech,
    cache: ScoreCache,
) -> dict[tuple[int, int, int], float]:
    """What orders calls roughly as their scores will: the voice undamaged, less what formulas take away."""
    rated: dict[int, float] = {}

    def undamaged(sample: int) -> float:
        if sample not in rated:
            lqo, _ = spoken.listen(
                sound, sample, spoken.whole(sound, sample), spoken.method(user, 0.0), cache
            )
            rated[sample] = _on_r_scale(lqo, user["codec"])
        return rated[sample]

    return {
        key: undamaged(call.sample) + call.by_formula()[0] - (0.0 if np.isnan(call.z2) else call.z2)
        for key, call in heard.items()
    }


def _on_r_scale(lqo: float, codec: str) -> float:
    return float(emodel.mos_to_r(lqo) if codec in WIDE else emodel.sun_mos_to_r(lqo))


def summary(scored: Sequence[Call]) -> dict[str, Any]:
    """Statistics over calls, of one or more entries of users.

    Returns
    -------
    dict
        Under "talks" and "listens", each absent without calls: "mos", "z1", "z2" (with PESQ also "lqo") as
        {"median", "mean", "p5", "p25", "p75", "p95"}, None where no call has a value, p5 and p95 also where
        not all calls were heard; "loss" and "late" as shares of the packets sent; "delay_ms" and "ta_ms",
        means over calls; "calls", and "heard" where fewer of them were scored; "unscored"; "model";
        "speech" and "note" where there is something to say. Under "worst", for each of the two whose calls
        can be heard again, the one that sounds worst (lowest z1, then MOS): "user", "call", "began_s", "mos",
        "z1", and of its worst piece of about 8 s "lqo", "packets", "lost", "late", the "missing" packets as
        runs of [first, count], and what it takes to hear it: "codec", "concealment", "sample", "from",
        "digest", "recordings", and of Opus "opus" (its settings) and what FEC could repair, "repairable".
    """
    out: dict[str, Any] = json.loads(_core.voice_summary(list(scored)))
    worst = {
        name: dict(min(there, key=lambda call: (call.z1, call.mos)).sound)
        for number, name in enumerate(DIRECTIONS)
        if (there := [call for call in scored if call.direction == number and call.sound])
    }
    return out | ({"worst": worst} if worst else {})


def _speech(user: Mapping[str, Any]) -> tuple[Speech | None, str]:
    """The samples to score with, or none and why the E-model has to do."""
    codec, score, own = user["codec"], user["score"], user.get("recordings")
    if score == "emodel":
        return None, ""
    try:
        if (library := LIBRARIES.get(codec)) is not None and not library.available():
            raise MissingSpeech(library.MISSING)
        if not pesq.available():
            raise MissingSpeech(pesq.MISSING)
        if score == "auto" and (codec, own) in _no_speech:
            raise MissingSpeech(_no_speech[codec, own])
        wide = recordings.WIDE_HZ if codec in WIDE else recordings.RATE_HZ
        return speech.samples(own, wide), ""
    except MissingSpeech as missing:
        if score == "pesq" or own is not None:
            raise
        _no_speech[codec, own] = str(missing)
        return None, f"scored by the E-model, whose numbers are not those of PESQ: {missing}"


def _heard(
    columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any], sound: Speech | None
) -> list[_core.Heard]:
    """What each direction of each call heard, by direction, user and call."""
    require(columns, _COLUMNS, "voice")
    table = {name: np.ascontiguousarray(columns[name], dtype=kind) for name, kind in _COLUMNS.items()}
    if len({c.shape for c in table.values()}) != 1 or table["seq"].ndim != 1:
        raise ValueError("the voice table's columns differ in length")
    return _core.heard(json.dumps(user), **table, talk=[] if sound is None else list(sound.talk))


def _call(call: _core.Heard, z1: float, **about: Any) -> Call:
    """One direction of a call whose sound is rated z1."""
    same = {name: getattr(call, name) for name in ("direction", "z2", "packets", "lost", "late")}
    nobody = {"lqo": float("nan"), "unscored": False, "speech": "", "note": "", "sound": {}}
    times = {"delay_ms": call.delay_ms, "ta_ms": call.ta_ms}
    return Call(**nobody | same | times | {"mos": call.opinion(z1), "z1": z1} | about)


def _by_formula(call: _core.Heard, note: str) -> Call:
    z1, told = call.by_formula()
    return _call(call, z1, model="emodel", note="; ".join(filter(None, (note, told))))


def _listened(call: _core.Heard, user: Mapping[str, Any], sound: Speech, cache: ScoreCache) -> Call:
    """Score one direction of a call by what is heard of it."""
    codec, method, pieces = user["codec"], spoken.method(user, call.lost / call.packets), call.pieces()
    got = [spoken.listen(sound, call.sample, piece, method, cache) for piece in pieces]
    lqo = sum(score for score, _ in got) / len(got)
    z1 = _on_r_scale(lqo, codec)
    lowest = min(range(len(got)), key=lambda place: got[place][0])
    piece = pieces[lowest]
    again = {
        "user": call.user,
        "call": call.call,
        "began_s": round(piece["began_ns"] / 1e9, 6),
        "mos": round(call.opinion(z1), 4),
        "z1": round(z1, 3),
        "lqo": round(got[lowest][0], 4),
        "packets": piece["erased"].size,
        "lost": int(piece["lost"].sum()),
        "late": int(piece["late"].sum()),
        "missing": runs(piece["erased"]),
        "codec": codec,
        "concealment": user["concealment"],
        "sample": call.sample,
        "from": int(piece["carried"][0]),
        "digest": sound.digest,
    } | ({"recordings": user["recordings"]} if user.get("recordings") else {})
    if codec == "opus":
        settings = {"bitrate": method[1], "told": int(method[2]), "fec": bool(method[3])}
        again |= {"opus": settings, "repairable": runs(piece["erased"] & piece["ahead"])}
        again |= {"silent": runs(piece["silent"])} if spoken.pauses(user) else {}
    unscored = not all(ok for _, ok in got)
    return _call(call, z1, lqo=lqo, unscored=unscored, model="pesq", speech=sound.source, sound=again)
