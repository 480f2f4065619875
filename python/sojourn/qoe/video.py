"""Scores of video: each showing's pictures against the clip's, by SSIM and PSNR of luma, and MOS from those.

A packet is missing if it was dropped, or if it took longer than the first one that arrived by more than the
playout delay. The decoder plays what is left; the pictures measured (every so many) are compared and
averaged over the showing: SSIM, and PSNR with at most 100 dB for equal pictures (the mean of the pictures'
PSNR, not the PSNR of the mean error).

The published studies leave the measurement open, and it decides the figures. So a result names its profile:

- `aligned`: concealment, an intra picture every second; pictures are compared by their time stamps with the
  original, and one that is missing shows the one before. MOS by SSIM.
- `paper`: no concealment, an intra picture every ten seconds; the k-th picture that came out is compared with
  the k-th of the clip coded and decoded without loss. MOS by SSIM.
- `freeze`: as `paper`, but a damaged picture and those that build on it are not shown: the last intact one
  stays on the screen, and pictures are compared by their time stamps. Of what was tried it alone has the
  low and nearly constant SSIM at little loss of figure 9 of the IMC 2014 study.
- `evalvid`: CIF, one slice a picture; as `aligned`, but late packets are not missing (PSNR from losses only);
  MOS of each picture by its PSNR, averaged.

VMAF is measured of the same pictures where it is asked for (`media.video.vmaf`); it decides no MOS.
MOS by SSIM is the table of Zinner et al. (2010), by PSNR that of Ohm as used by EvalVid (Klaue et al., 2003).
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import _core
from sojourn.qoe.columns import require
from sojourn.qoe.media.video import stream
from sojourn.qoe.media.video.coding import Coding, Encoded, encoded
from sojourn.qoe.media.video.vmaf import MODEL, measure, program
from sojourn.qoe.quantiles import statistics
from sojourn.qoe.runs import runs
from sojourn.study.units import nanoseconds

MOST_DB = 100.0
_BLACK = 16
_MOST_CACHED = 5000


@dataclass(frozen=True)
class Profile:
    """What a study leaves open.

    Attributes
    ----------
    slices : int
        Of each picture.
    gop_s : float
        Seconds from one intra picture to the next, at most.
    conceal : bool
        The decoder guesses what is missing.
    align : "time", "index"
        Which pictures are compared: those of the same time, or those of the same rank.
    reference : "original", "decoded"
        With what: the clip before coding, or what a decoder makes of it without loss.
    late : bool
        Whether late packets are missing.
    discard : bool
        Pictures that are damaged, or build on one that is, are not shown.
    mos : "ssim", "psnr"
    """

    slices: int
    gop_s: float
    conceal: bool
    align: str
    reference: str
    late: bool
    mos: str
    discard: bool = False


PROFILES = {
    "aligned": Profile(32, 1, True, "time", "original", True, "ssim"),
    "paper": Profile(32, 10, False, "index", "decoded", True, "ssim"),
    "freeze": Profile(32, 10, True, "time", "decoded", True, "ssim", discard=True),
    "evalvid": Profile(1, 1, True, "time", "original", False, "psnr"),
}

# width, height, pictures/s, pictures, kbit/s
_FORMATS = {
    "sd": (720, 576, 25, 400, 4000),
    "hd": (1280, 720, 25, 400, 8000),
    "cif": (352, 288, 24, 1065, 450),
}


def coding(resolution: str, profile: Profile | str) -> Coding:
    """How clips are coded for a picture size under a profile."""
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    width, height, fps, pictures, kbps = _FORMATS[resolution]
    return Coding(width, height, fps, pictures, kbps, chosen.slices, round(chosen.gop_s * fps))


def mos_of_ssim(ssim: Any) -> NDArray[np.int64]:
    """5 from an SSIM of 0.99, 4 from 0.95, 3 from 0.88, 2 from 0.5, 1 below (Zinner et al. 2010)."""
    return 1 + np.searchsorted([0.5, 0.88, 0.95, 0.99], np.asarray(ssim), side="right")


def mos_of_psnr(psnr_db: Any) -> NDArray[np.int64]:
    """5 above 37 dB, 4 from 31, 3 from 25, 2 from 20, 1 below (Ohm; EvalVid)."""
    return np.where(
        np.asarray(psnr_db) > 37.0, 5, 1 + np.searchsorted([20.0, 25.0, 31.0], np.asarray(psnr_db), "right")
    )


@dataclass(frozen=True)
class Seen:
    """A showing as measured: one entry for each picture that was compared.

    Attributes
    ----------
    picture : ndarray of int
        Its number in the clip, in order of showing.
    ssim, psnr_db : ndarray
    vmaf : ndarray or None
        None unless asked for.
    """

    picture: NDArray[np.int64]
    ssim: NDArray[np.float64]
    psnr_db: NDArray[np.float64]
    vmaf: NDArray[np.float64] | None = None


_seen: dict[tuple[str, Profile, int, bool, bytes], Seen] = {}


def watch(
    clip: Encoded, profile: Profile, lost: NDArray[np.bool_], every: int = 5, vmaf: bool = False
) -> Seen:
    """Decode a showing and compare its pictures; the same losses are looked at once in a process.

    Parameters
    ----------
    clip : Encoded
    profile : Profile
    lost : ndarray of bool, shape (packets,)
    every : int
        Pictures 0, every, 2·every, … are compared.
    vmaf : bool
        Measure VMAF too.
    """
    count = clip.coding.pictures
    if not lost.any() and profile.reference == "decoded" and not vmaf:
        same = np.arange(0, count, every)
        return Seen(same, np.ones(len(same)), np.full(len(same), MOST_DB))
    key = (clip.key, profile, every, vmaf, np.packbits(lost).tobytes() if lost.any() else b"")
    if (known := _seen.get(key)) is not None:
        return known
    reference = clip.reference(profile.reference, every)
    played = clip.played(stream.intact(clip.ts, lost) if profile.discard else lost, profile.conceal)
    rows = []

    def shown() -> Iterator[NDArray[np.uint8]]:
        """All pictures in order; those that are compared are, on the way."""
        for number, picture in (_in_time if profile.align == "time" else _in_order)(clip, played):
            if number % every == 0:
                rows.append((number, *_core.compare_pictures(reference[number // every], picture)))
            yield picture

    scores = None
    if vmaf:
        how = clip.coding
        pairs = zip(clip.pictures_of(profile.reference), shown(), strict=False)
        scores = measure(pairs, how.width, how.height, how.fps, every)
    else:
        deque(shown(), maxlen=0)
    number, ssim, mse = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    with np.errstate(divide="ignore"):
        psnr = np.minimum(10.0 * np.log10(255.0**2 / mse), MOST_DB)
    if len(_seen) >= _MOST_CACHED:
        _seen.clear()
    _seen[key] = Seen(number.astype(np.int64), ssim, psnr, scores)
    return _seen[key]


def _in_time(clip: Encoded, played: Any) -> Any:
    """What is on the screen when each picture of the clip should be: black, then the last that came out."""
    count = clip.coding.pictures
    screen = np.full((clip.coding.height, clip.coding.width), _BLACK, dtype=np.uint8)
    last = -1
    for pts, picture in played:
        at = min(clip.at(pts), count)
        if at <= last:
            continue  # its time is over
        for number in range(max(last, 0), at):
            yield number, screen
        last, screen = at, picture
    for number in range(max(last, 0), count):
        yield number, screen


def _in_order(clip: Encoded, played: Any) -> Any:
    """The pictures that came out, numbered as they came; black ones throughout if none did."""
    number = -1
    for number, (_, picture) in enumerate(played):
        if number < clip.coding.pictures:
            yield number, picture
    if number < 0:
        yield from _in_time(clip, ())


@dataclass(frozen=True)
class Showings:
    """Scores of the showings to some users; arrays have one entry per showing.

    Attributes
    ----------
    clip : list of str
    ssim, psnr_db, mos, vmaf : ndarray
        Means over the pictures; VMAF is not a number unless it was asked for.
    packets, lost, late : ndarray of int
    user : mapping
        The entry of the scenario's `users`.
    streams : dict of str to str
        Digest of the stream of each clip.
    worst : dict
        The showing with the least SSIM; see `summary`.
    """

    clip: list[str]
    ssim: NDArray[np.float64]
    psnr_db: NDArray[np.float64]
    mos: NDArray[np.float64]
    vmaf: NDArray[np.float64]
    packets: NDArray[np.int64]
    lost: NDArray[np.int64]
    late: NDArray[np.int64]
    user: Mapping[str, Any]
    streams: dict[str, str]
    worst: dict[str, Any]


def showings(columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any]) -> Showings:
    """Score every showing.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The video table: `user`, `showing`, `clip`, `seq`, `sent_ns`, `delay_ns` (−1 = lost), one row per
        packet, in order of user, showing and packet.
    user : mapping
        The entry of the scenario's `users`, its clips settled and its defaults filled in.

    Raises
    ------
    MissingVideo
        If the codec or a clip is missing.
    ValueError
        If the table is not as expected.
    """
    profile = PROFILES[user["profile"]]
    how, playout_ns = coding(user["resolution"], profile), nanoseconds(user["playout"])
    names, rows, streams, worst = [], [], {}, {}
    for part in _parts(columns):
        name = user["clips"][int(part["clip"][0])]
        clip = encoded(name, how)
        if len(part["seq"]) != len(clip.sizes):
            raise ValueError(
                f"a showing of {name} has {len(part['seq'])} packets: expected {len(clip.sizes)}"
            )
        lost, late = missing(part["delay_ns"], playout_ns)
        gone = lost | late if profile.late else lost
        seen = watch(clip, profile, gone, user["every"], user.get("vmaf", False))
        ssim, psnr = float(seen.ssim.mean()), float(seen.psnr_db.mean())
        mos = mos_of_ssim(ssim) if profile.mos == "ssim" else mos_of_psnr(seen.psnr_db).mean()
        if not worst or ssim < worst["ssim"]:
            worst = {
                "clip": name,
                "encoding": clip.key,
                "showing": int(part["showing"][0]),
                "began_s": round(float(part["sent_ns"][0]) / 1e9, 6),
                "ssim": round(ssim, 6),
                "psnr_db": round(psnr, 3),
                "missing": runs(gone),
                "series": {
                    "time_s": np.round(seen.picture / how.fps, 6).tolist(),
                    "ssim": np.round(seen.ssim, 6).tolist(),
                    "psnr_db": np.round(seen.psnr_db, 3).tolist(),
                    **({} if seen.vmaf is None else {"vmaf": np.round(seen.vmaf, 2).tolist()}),
                },
            }
        names.append(name)
        streams[name] = clip.about["digest"][:16]
        vmaf = np.nan if seen.vmaf is None else float(seen.vmaf.mean())
        rows.append((ssim, psnr, float(mos), vmaf, len(gone), int(lost.sum()), int(late.sum())))
    table = np.array(rows, dtype=np.float64).reshape(-1, 7).T
    return Showings(names, *table[:4], *table[4:].astype(np.int64), user, streams, worst)


def missing(delay_ns: NDArray[np.int64], playout_ns: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which packets were lost, and which took longer than the first to arrive by more than the playout."""
    lost = delay_ns < 0
    if lost.all():
        return lost, np.zeros_like(lost)
    return lost, ~lost & (delay_ns > delay_ns[~lost][0] + playout_ns)


def _parts(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, NDArray[Any]]]:
    """Rows of each showing."""
    needed = ("user", "showing", "clip", "seq", "sent_ns", "delay_ns")
    require(columns, needed, "video")
    table = {name: np.asarray(columns[name]) for name in needed}
    bounds = [*np.flatnonzero(table["seq"] == 0).tolist(), len(table["seq"])]
    return [{name: column[a:b] for name, column in table.items()} for a, b in pairwise(bounds)]


def summary(scored: Sequence[Showings]) -> dict[str, Any]:
    """Statistics over the showings of one or more entries of users.

    Returns
    -------
    dict
        "ssim", "psnr_db", "mos" as {"median", "mean", "p5", "p25", "p75", "p95"}, "vmaf" too if it was asked
        for, with the model and the version of FFmpeg; "loss" and "late" as shares
        of the packets sent; "showings", and "undamaged" of them; "clips", for each its median SSIM, showings,
        and the digest of its stream; "profile" and "resolution"; "worst": clip and the name of its encoding,
        showing, when it began, SSIM, PSNR, the missing packets as pairs of first and count, and the series
        of its pictures; "note" where there is something to say. Empty without showings.
    """
    scored = [s for s in scored if s.clip]
    if not scored:
        return {}

    def gather(field: str) -> NDArray[Any]:
        return np.concatenate([getattr(s, field) for s in scored])

    names = np.array([name for s in scored for name in s.clip])
    sent, ssim = int(gather("packets").sum()), gather("ssim")
    out: dict[str, Any] = {
        "ssim": statistics(ssim, 6),
        "psnr_db": statistics(gather("psnr_db"), 3),
        "mos": statistics(gather("mos"), 4),
        "loss": round(int(gather("lost").sum()) / sent, 6),
        "late": round(int(gather("late").sum()) / sent, 6),
        "showings": len(names),
        "undamaged": int((gather("lost") + gather("late") == 0).sum()),
        "clips": {
            name: {
                "ssim": statistics(ssim[names == name], 6)["median"],
                "showings": int((names == name).sum()),
                "streams": sorted({digest for s in scored if (digest := s.streams.get(name))}),
            }
            for name in sorted(set(names.tolist()))
        },
        "profile": "+".join(sorted({s.user["profile"] for s in scored})),
        "resolution": "+".join(sorted({s.user["resolution"] for s in scored})),
    }
    least = min(scored, key=lambda s: s.worst["ssim"])
    out["worst"] = {
        **{key: least.user[key] for key in ("profile", "resolution", "every")},
        **least.worst,
    }
    if any(s.user.get("vmaf") for s in scored):
        out["vmaf"] = {**statistics(gather("vmaf"), 2), "model": MODEL, "ffmpeg": program()[1]}
    if "synthetic" in names:
        out["note"] = "synthetic pictures, whose scores are not those of real clips"
    return out
