"""Responsiveness under working conditions, in round trips a minute (RPM).

Source: draft-ietf-ippm-responsiveness-06. Of the probes of the last intervals of a test four trimmed means
are taken: of the TCP handshake, the TLS handshake (a round trip) and the GET of foreign probes, and of the
GET of self probes, which go over a load connection. The score is the mean of two halves,

    RPM = (60000 / ((TM tcp_f + TM tls_f + TM http_f) / 3) + 60000 / TM http_l) / 2,

in ms; without TLS the mean over foreign probes has two terms. A queue with a line for each flow hides
self-inflicted delay from foreign probes, so both halves are reported.

A test ends as the draft has it, and its load with it: once goodput is stable, responsiveness is computed
after every interval, and it ends when the standard deviation of the last of these values is within a share of
the newest. The engine ends it so; here the same is computed again, and what would come later is not scored. A
test that never is stable ends with its length.

Confidence: *low* if the test had fewer intervals than are scored; *medium* if goodput or responsiveness was
not stable when it ended; *high* if both were.

A score is of the probes that were completed in the last intervals, as the draft has it: a probe belongs to
the interval in which its answer came, and one without an answer to none. Those that had none when the test
ended are counted.

Differences: the mean keeps the ceil(95 %) fastest probes. Where none of a kind was completed in the last
intervals, as behind a queue of many seconds, all probes of the test are scored, and waits up to the end stand
for a kind that never came back. Confidence is then low, and the path is rather worse than its score.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe.quantiles import statistics
from sojourn.study.units import nanoseconds

LOW, MEDIUM, HIGH = "low", "medium", "high"
_MINUTE_MS = 60_000.0


class Rpm(NamedTuple):
    """A score and its halves, in round trips a minute."""

    rpm: float
    foreign: float
    own: float


def rpm(tcp_ms: float, tls_ms: float | None, http_ms: float, self_ms: float) -> Rpm:
    """Return the score of four trimmed means in ms; `tls_ms` is None without TLS.

    >>> rpm(60, 60, 60, 60)
    Rpm(rpm=1000.0, foreign=1000.0, own=1000.0)
    >>> rpm(20, 20, 20, 200).rpm
    1650.0
    """
    terms = [tcp_ms, http_ms] if tls_ms is None else [tcp_ms, tls_ms, http_ms]
    if min(*terms, self_ms) <= 0:
        raise ValueError(f"round trips must be longer than zero; found {min(*terms, self_ms)} ms")
    foreign, own = _MINUTE_MS / (sum(terms) / len(terms)), _MINUTE_MS / self_ms
    return Rpm((foreign + own) / 2, foreign, own)


def trimmed_mean(values: Sequence[float] | NDArray[Any], trim: float = 0.05) -> float | None:
    """Return the mean without the slowest: the ``ceil((1 - trim) n)`` least values; None without any."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if not ordered.size:
        return None
    # 0.95 × 20 is 19.000000000000004 in some orders of evaluation: a probe more is not meant.
    return float(ordered[: max(1, ceil(round((1 - trim) * ordered.size, 9)))].mean())


def stable(values: Sequence[float], count: int, tolerance: float) -> bool:
    """Say whether the standard deviation of the last values is within a share of the newest."""
    last = list(values)[-count:]
    return len(last) == count and float(np.std(last)) <= tolerance * last[-1]


def score_responsiveness(
    probes: Mapping[str, NDArray[Any]],
    intervals: Mapping[str, NDArray[Any]],
    users: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Score the tests of one run.

    Parameters
    ----------
    probes : mapping of str to ndarray
        `user`, `test`, `foreign`, `start_ns`; `tcp_ns`, `tls_ns`, `http_ns`, -1 where it did not come.
    intervals : mapping of str to ndarray
        `user`, `test`, `end_ns`, `goodput_bps`, `connections`, `stable`.
    users : sequence of mapping
        For each user of the run, by number, its entry in the scenario.

    Returns
    -------
    dict
        "rpm", "foreign_rpm", "self_rpm" and, in ms, "tcp_foreign_ms", "tls_foreign_ms", "http_foreign_ms",
        "http_self_ms" (means and percentiles over tests), "goodput_bps" (mean), "connections" (most),
        "test_s" (how long they took), "tests", how many of which "confidence" ("high", "medium", "low"),
        "probes", "unanswered", and the latencies of all scored foreign GETs as "foreign_get_ms". Empty
        without a test.
    """
    tests = _tests(probes, intervals, users)
    if not tests:
        return {}

    def over(key: str, digits: int) -> dict[str, float | None]:
        return statistics(np.array([np.nan if test[key] is None else test[key] for test in tests]), digits)

    out: dict[str, Any] = {key: over(key, 3) for key in ("rpm", "foreign_rpm", "self_rpm")}
    out |= {key: over(key, 6) for key in _TERMS}
    out |= {
        "goodput_bps": round(float(np.mean([test["goodput_bps"] for test in tests])), 1),
        "connections": max(test["connections"] for test in tests),
        "test_s": over("seconds", 3),
        "tests": len(tests),
        "confidence": {
            level: sum(test["confidence"] == level for test in tests) for level in (HIGH, MEDIUM, LOW)
        },
        "probes": sum(test["probes"] for test in tests),
        "unanswered": sum(test["unanswered"] for test in tests),
        "foreign_get_ms": statistics(_latencies(tests), 6),
    }
    return out


_TERMS = ("tcp_foreign_ms", "tls_foreign_ms", "http_foreign_ms", "http_self_ms")


def scored_latencies(
    probes: Mapping[str, NDArray[Any]],
    intervals: Mapping[str, NDArray[Any]],
    users: Sequence[Mapping[str, Any]],
) -> NDArray[np.float64]:
    """Return the latencies in ms of the foreign GETs that are scored, of all tests."""
    return _latencies(_tests(probes, intervals, users))


def _latencies(tests: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(0), *(test["latencies"] for test in tests)])


def _tests(
    probes: Mapping[str, NDArray[Any]],
    intervals: Mapping[str, NDArray[Any]],
    users: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Score every test of every user."""
    tests = []
    keys = np.unique(np.stack([intervals["user"], intervals["test"]]), axis=1).T
    for user, number in keys.tolist():
        mine = {
            name: {
                key: column[(table["user"] == user) & (table["test"] == number)]
                for key, column in table.items()
            }
            for name, table in (("probes", probes), ("intervals", intervals))
        }
        found = _test(mine["probes"], mine["intervals"], users[user])
        if found is not None:
            tests.append(found)
    return tests


def _test(
    probes: Mapping[str, NDArray[Any]], intervals: Mapping[str, NDArray[Any]], user: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Score one test; None if no probe of a kind was sent."""
    count, length = user["averages"], nanoseconds(user["interval"])
    order = np.argsort(intervals["end_ns"].astype(np.int64))
    ends, saturated = intervals["end_ns"].astype(np.int64)[order], intervals["stable"][order].astype(bool)
    # Responsiveness after each interval, once goodput is stable: the test ends when it is stable, too.
    course: list[float] = []
    last, settled = len(ends) - 1, False
    for place in np.flatnonzero(saturated).tolist():
        now = _score(probes, int(ends[place]) - count * length, int(ends[place]), user)
        course = [*course, now[0].rpm] if now else []
        if stable(course, count, user["tolerance"]):
            last, settled = place, True
            break
    end = int(ends[last])
    found = _score(probes, end - count * length, end, user)
    whole = found or _score(probes, 0, end, user, waiting=True)
    if whole is None:
        return None
    scored, means, latencies = whole
    sent = probes["start_ns"].astype(np.int64) < end
    confidence = LOW if last + 1 < count or found is None else HIGH if settled else MEDIUM
    return {
        "rpm": scored.rpm,
        "foreign_rpm": scored.foreign,
        "self_rpm": scored.own,
        **means,
        "latencies": latencies,
        "seconds": (end - int(ends[0]) + length) / 1e9,
        "goodput_bps": float(intervals["goodput_bps"][order][: last + 1][-count:].mean()),
        "connections": int(intervals["connections"][order][: last + 1].max()),
        "confidence": confidence,
        "probes": int(sent.sum()),
        "unanswered": int((sent & (_completed(probes) > end)).sum()),
    }


_NEVER = np.iinfo(np.int64).max


def _completed(probes: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return when the answer of each probe had come, after its handshakes and its GET; `_NEVER` if not."""
    took = sum(np.maximum(probes[of].astype(np.int64), 0) for of in ("tcp_ns", "tls_ns", "http_ns"))
    return np.where(probes["http_ns"] >= 0, probes["start_ns"].astype(np.int64) + took, _NEVER)


def _score(
    probes: Mapping[str, NDArray[Any]],
    start_ns: int,
    end_ns: int,
    user: Mapping[str, Any],
    *,
    waiting: bool = False,
) -> tuple[Rpm, dict[str, float | None], NDArray[np.float64]] | None:
    """Score the probes completed in a span of time; if `waiting`, kinds without an answer by their waits."""
    sent, came = probes["start_ns"].astype(np.int64), _completed(probes)
    here, foreign = (came > start_ns) & (came <= end_ns), probes["foreign"] != 0
    latencies = _known(probes["http_ns"][here & foreign])

    def mean(of: str, chosen: NDArray[np.bool_]) -> float | None:
        known = _known(probes[of][here & chosen])
        if waiting and not known.size:
            begun = chosen & (sent < end_ns)
            # A handshake that was done is known; for the rest of a probe stands the time up to the end.
            done = _known(probes[of][begun]) if of != "http_ns" else np.zeros(0)
            known = done if done.size else _known(end_ns - sent[begun])
        return trimmed_mean(known, user["trim"])

    means = {
        "tcp_foreign_ms": mean("tcp_ns", foreign),
        "tls_foreign_ms": mean("tls_ns", foreign) if user["tls"] else None,
        "http_foreign_ms": mean("http_ns", foreign),
        "http_self_ms": mean("http_ns", ~foreign),
    }
    tcp, tls, http, own = means.values()
    if tcp is None or http is None or own is None or (user["tls"] and tls is None):
        return None
    return rpm(tcp, tls, http, own), means, latencies


def _known(times_ns: NDArray[Any]) -> NDArray[np.float64]:
    return times_ns[times_ns >= 0].astype(np.float64) / 1e6
