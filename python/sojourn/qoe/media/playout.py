"""Playout buffers: which frames of a call are there when it is their turn.

Two buffers, and `unbuffered` for scores of the network's delay and loss alone. `fixed` is the textbook one:
the first packet to arrive is played D after its arrival, every other frame one media clock later than the
frame before it, and what arrives after its turn is late.
`adaptive` sets the playout point at the start of every talkspurt from running estimates of the delay and
its deviation (R. Ramjee et al., "Adaptive playout mechanisms for packetized audio applications in
wide-area networks", 1994, algorithm 2: fast upwards, slow downwards), and when a packet comes late within
a talkspurt it moves the point behind that packet: one frame is concealed, the next ones are in time
again.

Which one? The default is `adaptive`, as in telephones of today. A call over a queue that TCP keeps filling
and draining sees the delay ramp by hundreds of milliseconds within seconds. A fixed buffer loses everything
beyond first arrival + D, so that speech dies although hardly a packet is lost; an adaptive one follows the
ramp and trades most of the loss for delay, which alone cannot take G.711 below a MOS of about 2.3 (Idd tends
to 50). The studies imc14-* say `fixed` with 60 ms. That is fitted to their paper, which names no buffer: in
it the direction that suffers the queue scores 1.0 with 128 packets and more even where the network loses 1 %
of the packets (one long upload), while the other direction, for which delay is all there is, never falls
below 2.1. Only a buffer that does not follow the queue gives both; the sum of 60 ms here and 20 ms of
packetisation is also what fits the delay of the other direction.

The call that begins while the queue is full: the anchor is then a packet with a long delay, later ones
come early and wait, nothing is late, and the listener keeps the long delay for the whole call. The
waiting counts as delay (`Playout.wait_ns`). `fixed` holds as much as that takes; `adaptive` holds at most
its capacity and drops the oldest frames when more is waiting, which moves playout forward.

Differences from algorithm 2: falling delays and deviations are weighted 1/16 rather than 1/500, because
calls last seconds; the wait above the estimate is bounded; a talkspurt never starts before its first
packet is there; the point moves within talkspurts as described. Moving it in a pause or behind a late
packet costs no frames beyond those counted, because PESQ realigns what it hears.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOST", "Adaptive", "Playout", "adaptive", "checked", "fixed", "outcome", "unbuffered"]


#: Delay of a packet that never arrives.
LOST = -1

_MS = 1_000_000


@dataclass(frozen=True)
class Playout:
    """What became of the frames of one call; arrays have shape (n,), in media order.

    Attributes
    ----------
    played, late, lost : ndarray of bool
        Exactly one holds for every frame: played in time; arrived but not played (too late, or dropped by a
        full buffer); lost by the network.
    wait_ns : float
        Mean time that played frames spent in the buffer; the nominal delay if none was played.
    ahead : ndarray of bool
        Where the frame after it had arrived when it was a frame's turn: what forward error correction needs.
    """

    played: NDArray[np.bool_]
    late: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    wait_ns: float
    ahead: NDArray[np.bool_]

    @property
    def erased(self) -> NDArray[np.bool_]:
        """Frames that the decoder has to conceal."""
        return ~self.played


@dataclass(frozen=True)
class Adaptive:
    """Bounds and gains of the adaptive buffer (times in nanoseconds)."""

    least_ns: int = 20 * _MS
    most_ns: int = 400 * _MS
    capacity_ns: int = 500 * _MS
    rise: float = 0.25
    fall: float = 1.0 / 16.0
    deviations: float = 4.0


def checked(sent_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return both as int64.

    Raises
    ------
    ValueError
        If they are not one value each per frame.
    """
    sent, delay = np.asarray(sent_ns).astype(np.int64), np.asarray(delay_ns).astype(np.int64)
    if sent.ndim != 1 or sent.shape != delay.shape:
        raise ValueError(
            f"sent_ns {sent.shape} and delay_ns {delay.shape} do not agree: expected one value each per frame"
        )
    return sent, delay


def outcome(
    sent: NDArray[np.int64], delay: NDArray[np.int64], play: NDArray[np.int64], nominal_ns: int
) -> Playout:
    """Compare the turns of the frames (`play`, −1 where dropped) with their arrivals."""
    lost = delay < 0
    wait = play - sent - delay
    played = ~lost & (play >= 0) & (wait >= 0)
    mean = float(wait[played].mean()) if played.any() else float(nominal_ns)
    ahead = np.zeros(sent.shape, dtype=bool)
    ahead[:-1] = ~lost[1:] & (play[:-1] >= (sent + delay)[1:])
    return Playout(played, ~lost & ~played, lost, mean, ahead)


def unbuffered(sent_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> Playout:
    """No buffer: every frame that arrives is played as it arrives, none is late and none waits.

    Parameters
    ----------
    sent_ns, delay_ns : ndarray, shape (n,)
        As for `fixed`.
    """
    sent, delay = checked(sent_ns, delay_ns)
    return outcome(sent, delay, sent + delay, 0)


def fixed(sent_ns: NDArray[np.int64], delay_ns: NDArray[np.int64], playout_ns: int = 60 * _MS) -> Playout:
    """A fixed buffer: deadlines run from the first arrival plus `playout_ns`.

    Parameters
    ----------
    sent_ns : ndarray, shape (n,)
        Times at which the frames were sent, in media order: the media clock.
    delay_ns : ndarray, shape (n,)
        One-way delays; negative = lost.
    playout_ns : int
        Wait of the packet that arrives first, in nanoseconds.

    Returns
    -------
    Playout

    Raises
    ------
    ValueError
        If the shapes do not agree or `playout_ns` is negative.
    """
    sent, delay = checked(sent_ns, delay_ns)
    if playout_ns < 0:
        raise ValueError(f"a playout buffer cannot wait {playout_ns} ns: expected at least 0")
    there = np.flatnonzero(delay >= 0)
    if there.size == 0:
        return outcome(sent, delay, sent, playout_ns)
    first = there[np.argmin((sent + delay)[there])]
    return outcome(sent, delay, sent + delay[first] + playout_ns, playout_ns)


def adaptive(
    sent_ns: NDArray[np.int64],
    delay_ns: NDArray[np.int64],
    playout_ns: int = 60 * _MS,
    talk: NDArray[np.bool_] | None = None,
    options: Adaptive | None = None,
) -> Playout:
    """A buffer that sets its playout point at the start of every talkspurt.

    Parameters
    ----------
    sent_ns, delay_ns : ndarray, shape (n,)
        As for `fixed`.
    playout_ns : int
        Wait of the first packet, before anything is known about the delay.
    talk : ndarray of bool, shape (n,), optional
        Frames with speech; the point moves where a pause ends, down by at most the pause. Without it a pause
        of 10 frames in every 50 is assumed.
    options : Adaptive, optional

    Returns
    -------
    Playout

    Raises
    ------
    ValueError
        If shapes do not agree or `playout_ns` is negative.
    """
    sent, delay = checked(sent_ns, delay_ns)
    if playout_ns < 0:
        raise ValueError(f"a playout buffer cannot wait {playout_ns} ns: expected at least 0")
    if talk is None:
        talk = np.arange(sent.size) % 50 < 40
    if talk.shape != sent.shape:
        raise ValueError(f"talk {talk.shape} and frames {sent.shape} do not agree: expected the same")
    o = options or Adaptive()

    play = np.full(sent.size, LOST, dtype=np.int64)
    sent_, delay_, talk_ = sent.tolist(), delay.tolist(), talk.tolist()
    mean = deviation = 0.0
    offset: int | None = None  # playout time of a frame minus its sending time
    pause_from: int | None = None  # sending time of the first frame of the pause before the current frame
    for i, (at, d) in enumerate(zip(sent_, delay_, strict=True)):
        if not talk_[i] and pause_from is None:
            pause_from = at
        if d < 0:
            if offset is not None:
                play[i] = at + offset
            if talk_[i]:
                pause_from = None
            continue
        if offset is None:
            mean, offset = float(d), d + playout_ns
        elif talk_[i] and pause_from is not None:
            wanted = max(int(mean + _margin(deviation, o)), d + o.least_ns)
            offset = max(wanted, offset - (at - pause_from))
        if talk_[i]:
            pause_from = None
        if offset - d > o.capacity_ns:
            offset = int(d + _margin(deviation, o))
            waiting = play[:i]
            waiting[waiting >= at + offset] = LOST
        play[i] = at + offset
        late = d > offset
        gain = o.rise if d > mean else o.fall
        mean += gain * (d - mean)
        deviation += o.fall * (abs(d - mean) - deviation)
        if late:
            offset = int(d + _margin(deviation, o))
    return outcome(sent, delay, play, playout_ns)


def _margin(deviation: float, o: Adaptive) -> float:
    """Wait above the estimated delay, in nanoseconds."""
    return min(max(o.deviations * deviation, o.least_ns), o.most_ns)
