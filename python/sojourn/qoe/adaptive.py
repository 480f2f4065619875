"""Scores of adaptive video: instability, unfairness, utilisation, average rate and stalls.

Source: the [has] study of queue sizes under HTTP adaptive streaming, whose first three are FESTIVE's (J.
Jiang, V. Sekar, H. Zhang, CoNEXT 2012). The rate b(t) of a client is the nominal rate of the segment that it
asked for last, read once a second. The study does not say whether it is that or the segment's own bits over
its duration: the same of the latter are given as "carried". Nor does it say that b is read once a second, as
FESTIVE's authors do: "instability_segments" has one b for each segment, over the last 20 s of video.

Readings: instability is the mean over seconds and clients, each client from its first request to its last
byte; unfairness is taken while all clients are active, from the last first request to the first last byte (or
the end of the run); a stall counts if it began after the warm-up. Utilisation is by video bytes over the time
of the session, as the study has it: from the first request to the end of what is played, which is about as
much later than the last byte as the playback buffer is long. The same while all clients are active is given
as "utilisation_fetching". Headers of HTTP, TCP and IP are not among the bytes. What is live is watched to
the end of the run; its latency and playback rate are :mod:`.live`'s.

The start-up delay is how long a viewer waits for the first picture: from when the connection is asked for
until playing begins. It is no stall. Each viewer has one, so that those who began in the warm-up count too.
Who had seen none when the run ended had waited that long at least: the distribution is the Kaplan-Meier
estimate, as that of loads is (:mod:`.web`), and which statistics are lower bounds only is said in "bounded".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.qoe import live
from sojourn.qoe.columns import require
from sojourn.qoe.web import kaplan_meier

WINDOW_S = 20
"""Seconds that instability looks back."""

_COLUMNS = (
    *("user", "level", "rate_kbps", "bytes", "request_ns", "arrive_ns"),
    *("before_s", "after_s", "estimate_kbps"),
)


def instability(rates: ArrayLike, window: int = WINDOW_S) -> NDArray[np.float64]:
    """Weighted changes of a rate over the weighted rate, at every second that has `window` before it.

    Parameters
    ----------
    rates : array_like, shape (..., n)
        Rates read once a second.
    window : int
        k; the weight of d seconds ago is k − d.

    Returns
    -------
    ndarray, shape (..., max(0, n − k))
        Σ_{d=0}^{k−1} |b(t−d) − b(t−d−1)| w(d) / Σ_{d=1}^{k} b(t−d) w(d) for t = k, k + 1, …; the last term of
        the lower sum has no weight, as printed.
    """
    b = np.asarray(rates, dtype=np.float64)
    n = b.shape[-1] - window
    if n <= 0:
        return np.zeros((*b.shape[:-1], 0))
    changes = np.abs(np.diff(b))
    above, below = np.zeros((*b.shape[:-1], n)), np.zeros((*b.shape[:-1], n))
    for d in range(window):
        above += (window - d) * changes[..., window - 1 - d : window - 1 - d + n]
    for d in range(1, window + 1):
        below += (window - d) * b[..., window - d : window - d + n]
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def unfairness(rates: ArrayLike) -> NDArray[np.float64]:
    """√(1 − J), J Jain's index (Σ b)² / (N Σ b²), over the first axis.

    Parameters
    ----------
    rates : array_like, shape (clients, ...)

    Returns
    -------
    ndarray
        0 where all are equal (or all zero), √(1 − 1/N) where one has all.
    """
    b = np.asarray(rates, dtype=np.float64)
    total, squares = b.sum(axis=0) ** 2, b.shape[0] * (b**2).sum(axis=0)
    jain = np.divide(total, squares, out=np.ones_like(total), where=squares > 0)
    return np.sqrt(np.clip(1.0 - jain, 0.0, None))


@dataclass(frozen=True)
class Viewing:
    """One client's viewing; arrays have one entry for each segment asked for, times in seconds of the run.

    `arrive_s` is NaN for a segment that had not arrived; `end_s` is when the last segment of the clip came,
    or the end of the run; `stalls` has the rows (from, to); `given_up` counts downloads that were; `looks`
    are those at a live viewer; `opened_s` is when the connection was asked for that stood at `start_s`, at
    once if it is None.
    """

    user: int
    start_s: float
    play_s: float | None
    end_s: float
    segment_s: float
    finished: bool
    level: NDArray[np.int64]
    rate_kbps: NDArray[np.float64]
    bytes: NDArray[np.float64]
    request_s: NDArray[np.float64]
    arrive_s: NDArray[np.float64]
    before_s: NDArray[np.float64]
    after_s: NDArray[np.float64]
    stalls: NDArray[np.float64]
    given_up: int = 0
    looks: Mapping[str, NDArray[Any]] | None = None
    opened_s: float | None = None

    def rate_at(self, times_s: ArrayLike, *, carried: bool = False) -> NDArray[np.float64]:
        """Rate of the segment asked for last, at some times; 0 before the first. Nominal, or its own."""
        rates = self.bytes * 8e-3 / self.segment_s if carried else self.rate_kbps
        at = np.searchsorted(self.request_s, np.asarray(times_s, dtype=np.float64), side="right")
        return np.concatenate(([0.0], rates))[at]

    @property
    def waited_s(self) -> float:
        """How long the first picture was waited for; without one, up to the end of the run."""
        opened = self.start_s if self.opened_s is None else self.opened_s
        return (self.end_s if self.play_s is None else self.play_s) - opened

    @property
    def watched_s(self) -> float:
        """When the last segment had been played; the end of the run if the clip had not arrived by then."""
        if self.play_s is None or not self.finished or self.looks is not None:
            return self.end_s
        stalled = float((self.stalls[:, 1] - self.stalls[:, 0]).sum())
        return self.play_s + self.segment_s * len(self.request_s) + stalled


def playing(viewing: Viewing) -> NDArray[np.float64]:
    """When each segment that was played began to play.

    Returns
    -------
    ndarray, shape (k, 2)
        Seconds of the run and nominal rate in kb/s, one row for each segment whose turn came.
    """
    if viewing.play_s is None:
        return np.zeros((0, 2))
    here = ~np.isnan(viewing.arrive_s)
    begin = viewing.play_s + viewing.segment_s * np.arange(int(here.sum()), dtype=np.float64)
    for start, stop in viewing.stalls:
        # What was to begin at the start of a stall begins at its end.
        begin[begin >= start - 1e-6] += stop - start
    return np.column_stack([begin, viewing.rate_kbps[here]])


def viewings(
    segments: Mapping[str, NDArray[Any]],
    viewers: Mapping[str, NDArray[Any]],
    stalls: Mapping[str, NDArray[Any]],
    end_s: float,
    looks: Mapping[str, NDArray[Any]] | None = None,
) -> list[Viewing]:
    """Sort the tables of a run by client.

    Parameters
    ----------
    segments, viewers, stalls
        The tables `adaptive`, `viewers` and `stalls` of a run, or some users' rows of them.
    end_s
        The end of the run.
    looks
        The table `live`, if any viewer's stream is live.

    Raises
    ------
    ValueError
        A table lacks a column.
    """
    require(segments, _COLUMNS, "adaptive")
    owner = np.asarray(segments["user"])
    found = []
    for i, user in enumerate(np.asarray(viewers["user"]).tolist()):
        mine = owner == user
        arrive = np.asarray(segments["arrive_ns"])[mine]
        stalled = np.asarray(stalls["user"]) == user
        last, play = int(viewers["end_ns"][i]), int(viewers["play_ns"][i])
        seen = None
        if looks is not None and (own := np.asarray(looks["user"]) == user).any():
            seen = {name: np.asarray(column)[own] for name, column in looks.items()}
        found.append(
            Viewing(
                user=int(user),
                start_s=int(viewers["start_ns"][i]) / 1e9,
                play_s=None if play < 0 else play / 1e9,
                end_s=end_s if last < 0 else last / 1e9,
                segment_s=float(viewers["segment_s"][i]),
                finished=last >= 0,
                level=np.asarray(segments["level"])[mine].astype(np.int64),
                rate_kbps=np.asarray(segments["rate_kbps"])[mine].astype(np.float64),
                bytes=np.asarray(segments["bytes"])[mine].astype(np.float64),
                request_s=np.asarray(segments["request_ns"])[mine] / 1e9,
                arrive_s=np.where(arrive < 0, np.nan, arrive / 1e9),
                before_s=np.asarray(segments["before_s"])[mine].astype(np.float64),
                after_s=np.asarray(segments["after_s"])[mine].astype(np.float64),
                given_up=int(np.asarray(segments["given_up"])[mine].sum()) if "given_up" in segments else 0,
                stalls=np.column_stack(
                    [np.asarray(stalls[name])[stalled] / 1e9 for name in ("from_ns", "to_ns")]
                ),
                looks=seen,
                opened_s=int(viewers["opened_ns"][i]) / 1e9 if "opened_ns" in viewers else None,
            )
        )
    return found


def score_adaptive(
    tables: Mapping[str, Mapping[str, NDArray[Any]]], warmup_s: float, end_s: float, rate_bps: float | None
) -> dict[str, Any]:
    """Score all viewers of a run; arguments as for :func:`viewings` and :func:`summary`."""
    found = viewings(tables["adaptive"], tables["viewers"], tables["stalls"], end_s, tables.get("live"))
    scored = summary(found, warmup_s, rate_bps)
    if scored and "live" in tables and (seen := live.score_live(tables["live"], warmup_s)):
        scored["live"] = seen
    return scored


def summary(found: Sequence[Viewing], warmup_s: float, rate_bps: float | None) -> dict[str, Any]:
    """Statistics over viewers.

    Parameters
    ----------
    found
        The viewings.
    warmup_s
        Segments asked for, seconds, and stalls that began earlier are left out.
    rate_bps
        Rate of the bottleneck towards the clients; None if it has none.

    Returns
    -------
    dict
        "instability" and "unfairness" (and both with "_carried"), "instability_segments", "utilisation" and
        "utilisation_fetching" (shares), "average_rate_kbps" (mean nominal rate of the segments),
        "carried_rate_kbps" (bits over seconds of video), "clients_stalled_pct", "stalls" and "stall_s" (sums
        over clients),
        "startup_delay_ms" (statistics; "bounded" names those that are lower bounds), "switches" (mean per
        client), "finished" (clients whose clip was over), "given_up" (downloads, if any were),
        "per_client_rate_kbps", and "clients": for each its own numbers, the intervals of its stalls, its
        segments, and the course of its latency if its stream is live. What is not defined is absent (a
        utilisation of an unlimited link). Empty without viewers. Those whose connection never stood are among
        the start-up delays alone.
    """
    waits = found
    found = [viewing for viewing in waits if viewing.request_s.size]
    if not found:
        return {}
    clients = [_client(viewing, warmup_s) for viewing in found]
    counted = [viewing.request_s >= warmup_s for viewing in found]
    rates = np.concatenate([viewing.rate_kbps[c] for viewing, c in zip(found, counted, strict=True)])
    stalled = [[stall for stall in viewing.stalls if stall[0] >= warmup_s] for viewing in found]
    out: dict[str, Any] = {}
    for name in ("instability", "instability_carried", "instability_segments"):
        steady = [client[name] for client in clients if client[name] is not None]
        if steady:
            out[name] = round(float(np.mean(steady)), 6)
    first = max(warmup_s, *(float(viewing.request_s[0]) for viewing in found))
    last = min(viewing.end_s for viewing in found)
    if last - first >= 1:
        seconds = np.arange(np.ceil(first), last)
        over = np.array([viewing.rate_at(seconds) for viewing in found])
        out["unfairness"] = round(float(unfairness(over).mean()), 6)
        own = np.array([viewing.rate_at(seconds, carried=True) for viewing in found])
        out["unfairness_carried"] = round(float(unfairness(own).mean()), 6)
        if rate_bps:
            out["utilisation_fetching"] = _utilisation(found, first, last, rate_bps)
    first = max(warmup_s, min(float(viewing.request_s[0]) for viewing in found))
    last = max(viewing.watched_s for viewing in found)
    if rate_bps and last - first >= 1:
        out["utilisation"] = _utilisation(found, first, last, rate_bps)
    if rates.size:
        out["average_rate_kbps"] = round(float(rates.mean()), 3)
        bits = sum(float(v.bytes[c].sum()) * 8e-3 for v, c in zip(found, counted, strict=True))
        video = sum(float(c.sum()) * v.segment_s for v, c in zip(found, counted, strict=True))
        out["carried_rate_kbps"] = round(bits / video, 3)
    out |= {
        "clients_stalled_pct": round(100 * sum(map(bool, stalled)) / len(found), 4),
        "stalls": sum(map(len, stalled)),
        "stall_s": round(float(sum(stop - start for stalls in stalled for start, stop in stalls)), 6),
        **_startup(waits),
        "switches": round(float(np.mean([client["switches"] for client in clients])), 4),
        "finished": sum(viewing.finished for viewing in found),
        **({"given_up": given_up} if (given_up := sum(viewing.given_up for viewing in found)) else {}),
        "per_client_rate_kbps": [client["average_rate_kbps"] for client in clients],
        "clients": clients,
    }
    return out


def _startup(viewings: Sequence[Viewing]) -> dict[str, Any]:
    """Return the statistics of the waits for a first picture, and which of them are lower bounds."""
    waits = [viewing.waited_s * 1e3 for viewing in viewings]
    curve = kaplan_meier(waits, [viewing.play_s is not None for viewing in viewings])
    found, bounded = curve.statistics()
    said = {"startup_delay_ms": {name: round(number, 3) for name, number in found.items()}}
    return said | ({"bounded": [f"startup_delay_ms.{name}" for name in bounded]} if bounded else {})


def _client(viewing: Viewing, warmup_s: float) -> dict[str, Any]:
    counted = viewing.request_s >= warmup_s
    rates = viewing.rate_kbps[counted]
    seconds = np.arange(np.ceil(max(warmup_s, float(viewing.request_s[0]))), viewing.end_s)
    changes = instability(viewing.rate_at(seconds))
    own = instability(viewing.rate_at(seconds, carried=True))
    by_segment = instability(rates, max(1, round(WINDOW_S / viewing.segment_s)))
    throughput = viewing.bytes * 8e-3 / (viewing.arrive_s - viewing.request_s)
    own_live = {}
    if viewing.looks is not None:
        own_live = {"live": live.score_live(viewing.looks, warmup_s) | {"course": live.course(viewing.looks)}}
    return {
        "user": viewing.user,
        "start_s": round(viewing.start_s, 3),
        "play_s": None if viewing.play_s is None else round(viewing.play_s, 3),
        "startup_delay_ms": None if viewing.play_s is None else round(viewing.waited_s * 1e3, 3),
        "end_s": round(viewing.end_s, 3),
        "average_rate_kbps": round(float(rates.mean()), 3) if rates.size else None,
        "instability": round(float(changes.mean()), 6) if changes.size else None,
        "instability_carried": round(float(own.mean()), 6) if own.size else None,
        "instability_segments": round(float(by_segment.mean()), 6) if by_segment.size else None,
        "switches": int(np.count_nonzero(np.diff(viewing.level[counted]))),
        "stalls": [[round(float(start), 3), round(float(stop), 3)] for start, stop in viewing.stalls],
        "segment_s": viewing.segment_s,
        **own_live,
        "segments": {
            "level": viewing.level.tolist(),
            "rate_kbps": viewing.rate_kbps.tolist(),
            "bytes": viewing.bytes.astype(np.int64).tolist(),
            "request_s": _listed(viewing.request_s, 3),
            "arrive_s": _listed(viewing.arrive_s, 3),
            "throughput_kbps": _listed(throughput, 1),
            "buffer_before_s": _listed(viewing.before_s, 3),
            "buffer_after_s": _listed(np.where(np.isnan(viewing.arrive_s), np.nan, viewing.after_s), 3),
        },
    }


def _listed(values: NDArray[np.float64], digits: int) -> list[float | None]:
    """Rounded numbers, None where there is none."""
    return [None if np.isnan(value) else round(float(value), digits) for value in values]


def _utilisation(found: Sequence[Viewing], first: float, last: float, rate_bps: float) -> float:
    """Share of what a link could carry between two times that came as video."""
    carried = sum(_bytes_between(viewing, first, last) for viewing in found)
    return round(carried * 8 / rate_bps / (last - first), 6)


def _bytes_between(viewing: Viewing, first: float, last: float) -> float:
    """Bytes of segments between two times, as if each came evenly from its request to its last byte."""
    stop = np.where(np.isnan(viewing.arrive_s), last, viewing.arrive_s)
    length = np.maximum(stop - viewing.request_s, 1e-9)
    inside = np.clip(np.minimum(stop, last) - np.maximum(viewing.request_s, first), 0.0, None)
    known = ~np.isnan(viewing.arrive_s)
    return float((viewing.bytes * inside / length)[known].sum())
