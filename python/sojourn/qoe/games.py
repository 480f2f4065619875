"""Scores of players: ticks that come too late, and G.1072 of games that are streamed.

Both are judged in windows of ten seconds. The game's clock follows the path: a packet is late against the
median delay of its own window and direction.

- An online game (`gaming`): the share of ticks that did not come, or later than `interpolation` ticks after
  the median. There is no opinion score: none has a published source for 64 and more ticks a second.
- A streamed game (`cloud-gaming`): ITU-T G.1072 of the rate, the pictures, the median delay there and back,
  and the share of packets that did not come or were more than `patience` late, as loss that freezes the
  picture. What is beyond the model's range is taken at its bounds; `beyond` is the share of windows of which
  that is true.

Differences: G.1072 has no input for jitter, so that late packets stand in; windows of fewer than a second are
left out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe import gaming
from sojourn.qoe.columns import require
from sojourn.qoe.quantiles import statistics
from sojourn.study.units import bits_per_second, nanoseconds

KINDS = ("gaming", "cloud-gaming")
_WINDOW_NS = 10_000_000_000
_COLUMNS = ("user", "direction", "sent_ns", "delay_ns")
_UP, _DOWN = 0, 1


class Window(NamedTuple):
    """Ten seconds of one player.

    Attributes
    ----------
    late, late_up : float
        Share of what was sent to the player, and from it, that did not come or came too late.
    lost : float
        Share of what was sent to the player that did not come.
    rtt_ms : float
        Median delays of both directions together; NaN if nothing arrived in one.
    packets : int
        Sent to the player.
    mos : float
        By G.1072; NaN for an online game.
    within : bool
        The model is made for this.
    """

    late: float
    late_up: float
    lost: float
    rtt_ms: float
    packets: int
    mos: float
    within: bool


def windows(columns: Mapping[str, NDArray[Any]], user: Mapping[str, Any]) -> list[Window]:
    """Score the windows of the players of one entry of users.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The game table: `user`, `direction` (0 up, 1 down), `sent_ns`, `delay_ns` (-1 = lost).
    user : mapping
        The entry of the scenario's `users`, its defaults filled in.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    require(columns, _COLUMNS, "game")
    return [_score(down, up, user) for down, up in _cut(columns)]


def _cut(columns: Mapping[str, NDArray[Any]]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Delays down and up of each player and window of more than a second."""
    who, way = np.asarray(columns["user"]), np.asarray(columns["direction"])
    sent = np.asarray(columns["sent_ns"]).astype(np.int64)
    delay = np.asarray(columns["delay_ns"]).astype(np.int64)
    for player in np.unique(who).tolist():
        mine = who == player
        first = int(sent[mine].min())
        place = (sent - first) // _WINDOW_NS
        for window in np.unique(place[mine]).tolist():
            here = mine & (place == window)
            if int(np.ptp(sent[here])) < 1_000_000_000:
                continue
            yield delay[here & (way == _DOWN)], delay[here & (way == _UP)]


def _late(delay: NDArray[np.int64], patience_ns: float) -> tuple[float, float, float]:
    """Shares that did not come in time and that did not come, and the median delay (NaN if nothing came)."""
    there = delay[delay >= 0]
    if there.size == 0:
        return 1.0, 1.0, float("nan")
    median = float(np.median(there))
    lost = 1.0 - there.size / delay.size
    return lost + int((there > median + patience_ns).sum()) / delay.size, lost, median


def _score(down: NDArray[np.int64], up: NDArray[np.int64], user: Mapping[str, Any]) -> Window:
    streamed = user["kind"] == "cloud-gaming"
    patience = nanoseconds(user["patience"]) if streamed else user["interpolation"] * 1e9 / user["tick-rate"]
    late, lost, there = _late(down, patience)
    late_up, _, back = _late(up, patience)
    rtt_ms = (there + back) / 1e6
    mos, within = float("nan"), True
    if streamed:
        width, height = user["pixels"]
        stream = gaming.Stream(
            bits_per_second(user["rate"]) / 1e6,
            user["frame-rate"],
            width * height,
            400.0 if np.isnan(rtt_ms) else rtt_ms,
            100.0 * late,
            0.0,
            user["complexity"],
            user["interaction"],
        )
        mos, within = gaming.mos(stream), stream.within
    return Window(late, late_up, lost, rtt_ms, down.size, mos, within)


def summary(kind: str, found: list[Window]) -> dict[str, Any]:
    """Statistics over windows, of one or more entries of users of one kind.

    Returns
    -------
    dict
        "late", "late_up" (shares) and "rtt_ms" as {"median", "mean", "p5", "p25", "p75", "p95"} over windows;
        "lost", the share of all that was sent to players; "windows"; "note", what is from memory; for
        streamed games also "mos" and "beyond". Empty without windows.
    """
    if not found:
        return {}
    sent = sum(window.packets for window in found)
    lost = sum(window.lost * window.packets for window in found)
    out: dict[str, Any] = {
        "late": statistics(np.array([window.late for window in found]), 6),
        "late_up": statistics(np.array([window.late_up for window in found]), 6),
        "rtt_ms": statistics(np.array([window.rtt_ms for window in found]), 3),
        "lost": round(lost / sent, 6) if sent else 0.0,
        "windows": len(found),
        "note": "from memory: how long a game waits for what is late",
    }
    if kind == "cloud-gaming":
        out["mos"] = statistics(np.array([window.mos for window in found]), 4)
        out["beyond"] = round(sum(not window.within for window in found) / len(found), 6)
        out["note"] += f"; {gaming.REMEMBERED}"
    return out
