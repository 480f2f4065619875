"""Scores of voice calls: what loss and lateness do to the sound, and what delay does to the conversation.

Per call, z1 is the PESQ (P.862.1 MOS-LQO) of the received audio put on the R scale by Sun's cubic, z2 the
delay impairment Idd of G.107, z = max(0, z1 − z2), and MOS = G.107's curve of z, in [1, 4.5]. z1 and z2
are reported on the R scale (0 to 100), the MOS-LQO behind z1 as `lqo`.

Without PESQ or recordings, z1 is the E-model's 93.2 − Ie-eff of the codec under the call's erased frames
and their burst ratio. That is another model with other numbers; results carry its name and a note.

The delay Ta of `half_rtt` (default) is packetisation + half the conversational round trip (the mean
delays of both directions of the same call) + the mean wait in this direction's playout buffer; `own`
takes this direction's own one-way delay instead. Half the round trip is what fits the published cells in
which only the other direction's queue is full (RMSE 0.19 MOS against 1.19).

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

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe import emodel, emodel_wideband, pesq, spoken
from sojourn.qoe.enough import enough
from sojourn.qoe.media import g722, g729, opus, playout, recordings, speech
from sojourn.qoe.media.neteq import neteq
from sojourn.qoe.media.speech import MissingSpeech, Speech
from sojourn.qoe.quantiles import statistics
from sojourn.qoe.runs import runs
from sojourn.qoe.score_cache import DiskCache
from sojourn.qoe.spoken import ScoreCache
from sojourn.study.units import bits_per_second, nanoseconds

__all__ = ["DIRECTIONS", "Call", "MissingSpeech", "ScoreCache", "calls", "score_voice", "summary"]

#: Names of the `direction` column's values.
DIRECTIONS = ("talks", "listens")


_COLUMNS = ("user", "call", "direction", "seq", "sent_ns", "delay_ns")
_PACKETISATION_MS = {"g711a": 20.0, "g729a": 25.0, "opus": 26.5, "g722": 20.0}
"""20 ms of speech in a packet; G.729 looks 5 ms ahead, Opus 6.5 ms."""
_LIBRARIES = {"g729a": g729, "opus": opus, "g722": g722}
_WIDE = ("opus", "g722")

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
    rows = _calls_of(columns)
    delays = {key: _mean_delay(part["delay_ns"]) for key, part in rows.items()}
    kept = _scores if cache is None else cache

    def one(key: tuple[int, int, int], *, listen: bool = True) -> Call:
        return _one(user, key, rows[key], delays, sound, note, kept if listen else None)

    precision = user.get("precision")
    if sound is None or precision is None:
        return [one(key) for key in rows]
    heard: dict[tuple[int, int, int], Call] = {}

    def mos(key: tuple[int, int, int]) -> float:
        heard[key] = one(key)
        return heard[key].mos

    for direction in range(len(DIRECTIONS)):
        enough([key for key in rows if key[0] == direction], mos, precision)
    return [heard[key] if key in heard else one(key, listen=False) for key in rows]


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
    out: dict[str, Any] = {}
    for number, name in enumerate(DIRECTIONS):
        here = [call for call in scored if call.direction == number]
        if not here:
            continue

        def gather(field: str, here: list[Call] = here) -> NDArray[Any]:
            return np.array([getattr(call, field) for call in here])

        models = sorted({call.model for call in here})
        sent = int(gather("packets").sum())
        entry: dict[str, Any] = {
            "mos": statistics(gather("mos"), 4),
            "z1": statistics(gather("z1"), 3),
            "z2": statistics(gather("z2"), 3),
        }
        if "pesq" in models:
            entry["lqo"] = statistics(gather("lqo"), 4)
        entry |= {
            "loss": round(int(gather("lost").sum()) / sent, 6),
            "late": round(int(gather("late").sum()) / sent, 6),
            "delay_ms": statistics(gather("delay_ms"), 3)["mean"],
            "ta_ms": statistics(gather("ta_ms"), 3)["mean"],
            "calls": len(here),
            "unscored": int(gather("unscored").sum()),
            "model": "+".join(models),
        }
        heard = int(np.isfinite(gather("mos")).sum())
        if heard < len(here):
            entry["heard"] = heard
            # The worst of a few calls is not the worst 5 % of all.
            for score in entry.keys() & {"mos", "z1", "lqo"}:
                entry[score] |= {"p5": None, "p95": None}
        for key in ("speech", "note"):
            if texts := sorted(set(filter(None, gather(key)))):
                entry[key] = "; ".join(texts)
        out[name] = entry
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
        if (library := _LIBRARIES.get(codec)) is not None and not library.available():
            raise MissingSpeech(library.MISSING)
        if not pesq.available():
            raise MissingSpeech(pesq.MISSING)
        if score == "auto" and (codec, own) in _no_speech:
            raise MissingSpeech(_no_speech[codec, own])
        wide = recordings.WIDE_HZ if codec in _WIDE else recordings.RATE_HZ
        return speech.samples(own, wide), ""
    except MissingSpeech as missing:
        if score == "pesq" or own is not None:
            raise
        _no_speech[codec, own] = str(missing)
        return None, f"scored by the E-model, whose numbers are not those of PESQ: {missing}"


def _calls_of(
    columns: Mapping[str, NDArray[Any]],
) -> dict[tuple[int, int, int], dict[str, NDArray[np.int64]]]:
    """Rows of each (direction, user, call), in order of `seq`."""
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise ValueError(f"the voice table lacks {', '.join(missing)}: expected {', '.join(_COLUMNS)}")
    table = {name: np.asarray(columns[name]).astype(np.int64) for name in _COLUMNS}
    if len({c.shape for c in table.values()}) != 1 or table["seq"].ndim != 1:
        raise ValueError("the voice table's columns differ in length")
    if table["seq"].size == 0:
        return {}
    if bad := set(np.unique(table["direction"]).tolist()) - {0, 1}:
        raise ValueError(f"the voice table has directions {sorted(bad)}: expected 0 (talks) and 1 (listens)")
    order = np.lexsort((table["seq"], table["call"], table["user"], table["direction"]))
    table = {name: column[order] for name, column in table.items()}
    keys = np.stack([table[name] for name in ("direction", "user", "call")])
    cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    bounds = [0, *cuts.tolist(), keys.shape[1]]
    return {
        tuple(keys[:, a].tolist()): {name: column[a:b] for name, column in table.items()}
        for a, b in pairwise(bounds)
    }


def _mean_delay(delay_ns: NDArray[np.int64]) -> float:
    """Mean delay in milliseconds of the packets that arrived; NaN if none did."""
    there = delay_ns[delay_ns >= 0]
    return float(there.mean()) / 1e6 if there.size else float("nan")


def _one(
    user: Mapping[str, Any],
    key: tuple[int, int, int],
    part: dict[str, NDArray[np.int64]],
    delays: dict[tuple[int, int, int], float],
    sound: Speech | None,
    note: str,
    cache: ScoreCache | None,
) -> Call:
    """Score one direction of a call; `delays` has the mean delay of both. Without a cache nobody listens."""
    direction, who, call = key
    codec, conceal = user["codec"], user["concealment"]
    sample = 0 if sound is None else (call + who) % len(sound.names)
    dtx = spoken.pauses(user)
    count = spoken.frames(user) if dtx else len(part["seq"])
    content, pieces = spoken.content(count, None if sound is None else sound.talk[sample])
    there = part["seq"] if dtx else np.arange(count)

    buffer = user["playout"]
    if buffer["kind"] == "fixed":
        heard = playout.fixed(part["sent_ns"], part["delay_ns"], nanoseconds(buffer["delay"]))
    elif buffer["kind"] == "neteq":
        heard = neteq(part["sent_ns"], part["delay_ns"])
    elif buffer["kind"] == "none":
        heard = playout.unbuffered(part["sent_ns"], part["delay_ns"])
    else:
        talk = None if sound is None else sound.talk[sample][content[there]]
        heard = playout.adaptive(part["sent_ns"], part["delay_ns"], talk=talk)
    silent = np.ones(count, dtype=bool)
    silent[there] = False
    # Only the packet of the very next frame repairs one.
    successor = np.append(np.diff(there) == 1, True)
    masks = (heard.erased, heard.lost, heard.late, heard.ahead & successor)
    erased, lost, late, ahead = (_spread(mask, there, count) for mask in masks)

    lqo, scored = float("nan"), True
    if sound is not None and cache is None:
        z1 = float("nan")
    elif sound is not None and cache is not None:
        method = spoken.method(user, heard)
        got = [
            spoken.listen(sound, sample, content[a:b], erased[a:b], method, cache, ahead[a:b], silent[a:b])
            for a, b in pieces
        ]
        lqo = sum(score for score, _ in got) / len(got)
        scored = all(ok for _, ok in got)
        lowest = min(range(len(got)), key=lambda place: got[place][0])
        z1 = float(emodel.mos_to_r(lqo) if codec in _WIDE else emodel.sun_mos_to_r(lqo))
    else:
        z1 = 0.0 if heard.erased.all() else _parametric(user, heard.erased)
        if codec in _WIDE:
            told = f"the wide-band E-model has from memory: {emodel_wideband.REMEMBERED}"
            note = f"{note}; {told}" if note else told

    own = delays[key]
    way = own
    if user["delay-model"] == "half_rtt":
        other = delays.get((1 - direction, who, call), float("nan"))
        way = own if np.isnan(other) else (own + other) / 2.0
    ta = _PACKETISATION_MS[codec] + way + heard.wait_ns / 1e6
    z2 = float("nan") if np.isnan(ta) else float(emodel.idd(ta))
    mos = float("nan")
    if not np.isnan(z1):
        mos = float(emodel.r_to_mos(max(0.0, z1 - (0.0 if np.isnan(z2) else z2))))
    heard_again: dict[str, Any] = {}
    if sound is not None and cache is not None:
        a, b = pieces[lowest]
        heard_again = {
            "user": who,
            "call": call,
            "began_s": round(float(part["sent_ns"][a]) / 1e9, 6),
            "mos": round(mos, 4),
            "z1": round(z1, 3),
            "lqo": round(got[lowest][0], 4),
            "packets": b - a,
            "lost": int(lost[a:b].sum()),
            "late": int(late[a:b].sum()),
            "missing": runs(erased[a:b]),
            "codec": codec,
            "concealment": conceal,
            "sample": sample,
            "from": int(content[a]),
            "digest": sound.digest,
        } | ({"recordings": user["recordings"]} if user.get("recordings") else {})
        if codec == "opus":
            settings = {"bitrate": method[1], "told": int(method[2]), "fec": bool(method[3])}
            heard_again |= {"opus": settings, "repairable": runs(erased[a:b] & ahead[a:b])}
            heard_again |= {"silent": runs(silent[a:b])} if dtx else {}
    return Call(
        direction=direction,
        mos=mos,
        z1=z1,
        z2=z2,
        lqo=lqo,
        packets=heard.played.size,
        lost=int(heard.lost.sum()),
        late=int(heard.late.sum()),
        delay_ms=own,
        ta_ms=ta,
        unscored=not scored,
        model="emodel" if sound is None else "pesq",
        speech="" if sound is None else sound.source,
        note=note,
        sound=heard_again,
    )


def _spread(mask: NDArray[np.bool_], there: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Put what is said of the frames that were sent in their places among all."""
    out = np.zeros(count, dtype=bool)
    out[there] = mask
    return out


def _parametric(user: Mapping[str, Any], erased: NDArray[np.bool_]) -> float:
    """z1 by the E-model of the codec, its erased frames and their burst ratio."""
    codec, share, burst = user["codec"], 100.0 * float(erased.mean()), emodel.burst_ratio(erased)
    if codec in _WIDE:
        rate_kbps = bits_per_second(user["opus"]["bitrate"]) / 1e3 if codec == "opus" else 0.0
        wide = emodel_wideband.opus(rate_kbps) if codec == "opus" else emodel_wideband.CODECS["g722-64"]
        return max(0.0, emodel_wideband.rating(wide, ppl=share, burst_r=burst) / emodel_wideband.SCALE)
    name = "g729a" if codec == "g729a" else "g711" if user["concealment"] == "zero" else "g711-plc"
    plan = emodel.CODECS[name]
    return emodel.R_DEFAULT - float(emodel.ie_eff(plan.ie, plan.bpl, share, burst))
