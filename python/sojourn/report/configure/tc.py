"""A queue of a study as the lines of Linux's `tc` that make a router have it.

Source: tc(8) and tc-htb, tc-fq_codel, tc-codel, tc-pie, tc-fq_pie, tc-cake, tc-red, tc-sfq, tc-netem,
tc-police, tc-matchall and tc-dualpi2 of iproute2 6.1 (DualPI2 of 6.18); the kernel's `net/sched`.

Differences: a link's rate is kept by `htb` (by CAKE's own shaper where there is one), which measures bytes
and lets short bursts pass; a limit in bytes becomes full packets where a discipline counts packets only;
times are rounded to microseconds, and PIE's gains to sixteenths, as Linux has them. Each is said in a note
where it happens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.errors import counted
from sojourn.study.units import FULL_PACKET_BYTES, bits_per_second, bytes_of, nanoseconds

_LEAST_BURST_BYTES = 1600
"""What `tc` takes by itself where timers count in nanoseconds."""
_BURSTS_A_SECOND = 2000
"""`htb` makes up for a timer that wakes it late as long as that is shorter than its bucket lasts: half a
millisecond here, as on the emulated path (docs/emulate.md)."""
_LEAST_BPS = 8
"""A byte a second: of a slower rate `htb` and `police` say that one is required, and CAKE would keep none."""


@dataclass(frozen=True)
class Link:
    """One direction of a bottleneck, everything filled in.

    Parameters
    ----------
    queue
        As the document of a point has it: canonical names, no key absent.
    limit
        `limit_pkts`, `limit_bytes` and `limit_ms`, as :func:`sojourn.study.buffers.buffers` gives them.
    rate_bps
        The rate to keep; None where the device's own rate is the bottleneck.
    overhead
        Bytes that the link layer adds to each packet.
    """

    queue: Mapping[str, Any]
    limit: Mapping[str, Any]
    rate_bps: int | None
    overhead: int = 0


@dataclass(frozen=True)
class Discipline:
    """The words of one `tc` line: a discipline with its parameters, and what differs from the study's."""

    words: list[str]
    notes: list[str]
    shapes: bool = False
    """It keeps the rate itself."""
    before: tuple[str, ...] = ()
    """What the device is told first, behind `tc`, in which DEVICE stands for it."""


def lines(link: Link, device: str = "IFACE") -> tuple[list[str], list[str]]:
    """Return the lines that give a device the queue of a link, and notes on what differs.

    Run them as root, in order. The first may fail where the device has no queue of its own yet.
    """
    if link.rate_bps is not None and link.rate_bps < _LEAST_BPS:
        unshaped, notes = lines(replace(link, rate_bps=None), device)
        return unshaped, [*notes, f"`tc` keeps no rate below {_LEAST_BPS} bit/s: these lines keep none"]
    made = _MAKERS[link.queue["kind"]](link)
    first = [f"tc {words}".replace("DEVICE", device) for words in made.before]
    qdisc = f"tc qdisc replace dev {device}"
    if link.rate_bps is None or made.shapes:
        return [*first, " ".join([f"{qdisc} root", *made.words])], made.notes
    rate = rate_text(link.rate_bps)
    overhead = f" overhead {link.overhead}" if link.overhead else ""
    burst = max(_LEAST_BURST_BYTES, link.rate_bps // 8 // _BURSTS_A_SECOND)
    shaper = f"htb rate {rate} ceil {rate} burst {burst} cburst {burst} quantum 1514{overhead}"
    return [
        *first,
        f"tc qdisc del dev {device} root 2>/dev/null",
        f"tc qdisc add dev {device} root handle 1: htb default 10",
        f"tc class add dev {device} parent 1: classid 1:10 {shaper}",
        " ".join([f"tc qdisc add dev {device} parent 1:10 handle 10:", *made.words]),
    ], made.notes


def rate_text(rate_bps: int) -> str:
    """Write a rate as `tc` reads it, exactly."""
    for unit, scale in (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)):
        if rate_bps % scale == 0:
            return f"{rate_bps // scale}{unit}"
    return f"{rate_bps}bit"


def _time(text: str) -> str:
    us = round(nanoseconds(text) / 1000)
    return f"{us // 1000}ms" if us % 1000 == 0 else f"{us}us"


def _packets(link: Link) -> tuple[list[str], list[str]]:
    packets, written = link.limit.get("limit_pkts"), link.queue["limit"]
    if packets is None:
        return [], [f"a limit of {written} cannot be given to Linux; this is the discipline's own default"]
    notes = []
    if not written.endswith(("pkt", "BDP")):
        full = counted(max(packets, 1), "full one")
        notes.append(f"this discipline counts packets: {written} are {full} of 1500 bytes")
    return ["limit", str(max(packets, 1))], notes


def _bytes(link: Link) -> tuple[list[str], list[str]]:
    held, written = link.limit.get("limit_bytes"), link.queue["limit"]
    if held is None:
        return [], [f"a limit of {written} cannot be given to Linux; write one"]
    by_packets = written.endswith(("pkt", "BDP"))
    notes = (
        [f"this discipline counts bytes: {written} are {held} of them when full-sized"] if by_packets else []
    )
    return ["limit", str(held)], notes


def _marks(queue: Mapping[str, Any]) -> list[str]:
    threshold = queue.get("ce-threshold")
    return [
        "ecn" if queue.get("ecn") else "noecn",
        *(["ce_threshold", _time(threshold)] if threshold else []),
    ]


def _variant(queue: Mapping[str, Any], ours: tuple[str, ...]) -> list[str]:
    variant = queue.get("variant")
    return [] if variant in ours else [f"the study ran the variant {variant}; Linux has its own"]


def _fifo(link: Link) -> Discipline:
    notes = ["Linux drops the arriving packet, the study the oldest"] if link.queue["drop"] == "head" else []
    if link.queue["limit"].endswith(("pkt", "BDP", "unlimited")):
        words, more = _packets(link)
        kind = "pfifo_head_drop" if notes and words else "pfifo"
        return Discipline([kind, *words], [*([] if kind == "pfifo_head_drop" else notes), *more])
    words, more = _bytes(link)
    return Discipline(["bfifo", *words], [*notes, *more])


def _codel(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _packets(link)
    words = ["codel", *limit, "target", _time(queue["target"]), "interval", _time(queue["interval"])]
    return Discipline([*words, *_marks(queue)], [*notes, *_variant(queue, ("linux", "rfc8289"))])


def _fq_codel(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _packets(link)
    words = ["fq_codel", *limit, "flows", str(queue["flows"]), "quantum", str(bytes_of(queue["quantum"]))]
    words += ["target", _time(queue["target"]), "interval", _time(queue["interval"])]
    words += ["drop_batch", str(queue["drop-batch"])]
    if queue.get("memory"):
        words += ["memory_limit", str(bytes_of(queue["memory"]))]
    return Discipline([*words, *_marks(queue)], [*notes, *_variant(queue, ("linux", "rfc8289"))])


def _pie_words(queue: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    alpha, beta = (round(queue[gain] * 16) for gain in ("alpha", "beta"))
    words = ["target", _time(queue["target"]), "tupdate", _time(queue["update"])]
    words += ["alpha", str(alpha), "beta", str(beta), "ecn" if queue["ecn"] else "noecn"]
    words += ["bytemode" if queue["by-size"] else "nobytemode"]
    rate = queue["delay"] == "rate"
    words += ["dq_rate_estimator" if rate else "no_dq_rate_estimator"]
    exact = alpha == queue["alpha"] * 16 and beta == queue["beta"] * 16
    notes = [] if exact else [f"Linux rounds PIE's gains to {alpha}/16 and {beta}/16"]
    return words, notes + _variant(queue, ("linux", "rfc8033"))


def _pie(link: Link) -> Discipline:
    (limit, notes), (words, more) = _packets(link), _pie_words(link.queue)
    return Discipline(["pie", *limit, *words], [*notes, *more])


def _fq_pie(link: Link) -> Discipline:
    queue, (limit, notes), (words, more) = link.queue, _packets(link), _pie_words(link.queue)
    flows = ["flows", str(queue["flows"]), "quantum", str(bytes_of(queue["quantum"]))]
    return Discipline(["fq_pie", *limit, *flows, *words], [*notes, *more])


def _cake_words(link: Link, isolation: str) -> Discipline:
    queue = link.queue
    rate = rate_text(link.rate_bps) if link.rate_bps is not None else "unlimited"
    # CAKE's target is a twentieth of the round-trip time that it is told, which is its interval.
    words = ["cake", "bandwidth" if link.rate_bps is not None else "", rate, "rtt", _time(queue["interval"])]
    words += ["besteffort", isolation, *(["overhead", str(link.overhead)] if link.overhead else ["raw"])]
    notes = []
    # On slow links Linux raises it by itself to the time of one and a half packets (cake_set_rate).
    slow_ns = 1.5e9 * FULL_PACKET_BYTES * 8 / link.rate_bps if link.rate_bps is not None else 0.0
    raised = 0 <= nanoseconds(queue["target"]) - slow_ns <= 1e6
    if nanoseconds(queue["target"]) * 20 != nanoseconds(queue["interval"]) and not raised:
        notes.append(f"CAKE's target is a twentieth of its rtt, not {queue['target']}")
    held = link.limit.get("limit_bytes")
    if held is not None and queue["limit"] != "10240pkt":
        words += ["memlimit", str(held)]
        notes.append(
            f"CAKE counts memory, which is more than bytes on the wire; {queue['limit']} are {held} bytes"
        )
    return Discipline([word for word in words if word], notes, shapes=True)


def _cake(link: Link) -> Discipline:
    return _cake_words(link, "flows")


def _cobalt(link: Link) -> Discipline:
    made = _cake_words(link, "flowblind")
    note = "Linux has COBALT inside CAKE: here with one queue for all flows"
    return Discipline(made.words, [note, *made.notes], made.shapes)


def _sfq_codel(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _packets(link)
    words = ["fq_codel", *limit, "flows", str(queue["bins"])]
    words += ["target", _time(queue["target"]), "interval", _time(queue["interval"]), "noecn"]
    return Discipline(words, [*notes, "Linux has no SFQ-CoDel; FQ-CoDel is the nearest"])


def _sfq(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _packets(link)
    words = ["sfq", *limit, "divisor", str(queue["flows"]), "quantum", str(bytes_of(queue["quantum"]))]
    return Discipline(
        words, [*notes, "Linux's SFQ hashes into 127 queues at once unless `flows` says otherwise"]
    )


def _policer(link: Link) -> Discipline:
    queue, behind = link.queue, _fifo(Link({**link.queue, "drop": "tail"}, link.limit, link.rate_bps))
    rate_bps = bits_per_second(queue["rate"]) if queue.get("rate") else link.rate_bps
    if rate_bps is None or rate_bps < _LEAST_BPS:
        note = "a policer without a rate lets all pass"
        if rate_bps is not None:
            note = f"`tc` has no policer below {_LEAST_BPS} bit/s: these lines let all pass"
        return Discipline(behind.words, [*behind.notes, note])
    police = f"police rate {rate_text(rate_bps)} burst {bytes_of(queue['burst'])}b conform-exceed drop"
    before = (
        "qdisc replace dev DEVICE clsact",
        f"filter replace dev DEVICE egress pref 1 handle 1 matchall action {police}",
    )
    note = "Linux's policer counts the link's header too, the study's packets at IP"
    return Discipline(behind.words, [*behind.notes, note], before=before)


def _netem(link: Link) -> Discipline:
    limit, notes = _packets(link)
    return Discipline(["netem", *limit, "delay", _time(link.queue["delay"])], notes)


def _dualpi2(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _packets(link)
    words = ["dualpi2", *limit, "target", _time(queue["target"]), "tupdate", _time(queue["update"])]
    words += ["alpha", f"{queue['alpha']:g}", "beta", f"{queue['beta']:g}"]
    words += ["coupling_factor", f"{queue['coupling']:.0f}", "step_thresh", _time(queue["step"])]
    words += ["min_qlen_step", str(queue["min-qlen-step"])]
    words += ["classic_protection", f"{queue['classic-share'] * 100:.0f}%"]
    return Discipline(words, [*notes, "DualPI2 needs Linux 6.17 or newer, and an iproute2 of its age"])


def _red(link: Link) -> Discipline:
    queue, (limit, notes) = link.queue, _bytes(link)
    mean = bytes_of(queue["mean-packet"])
    rate = link.rate_bps or 10**7
    # Thresholds that are left to the link: half the target's packets, at least 5, and its triple.
    low = queue.get("min") or max(5.0, nanoseconds(queue["target"]) * 1e-9 * rate / (8 * mean) / 2)
    low_bytes, high_bytes = round(low * mean), round((queue.get("max") or 3 * low) * mean)
    # tc-red(8): (min + min + max) / (3 × avpkt) packets may pass at once.
    burst = max((2 * low_bytes + high_bytes) // (3 * mean), low_bytes // mean + 1)
    words = ["red", *limit, *f"min {low_bytes} max {high_bytes} avpkt {mean} burst {burst}".split()]
    words += ["bandwidth", rate_text(rate), "probability", f"{queue['max-p']:g}"]
    words += (["adaptive"] if queue["adaptive"] else []) + (["ecn"] if queue["ecn"] else [])
    note = "Linux's RED averages bytes with a weight that follows from `burst`, and is never gentle"
    return Discipline(words, [*notes, note])


_MAKERS: dict[str, Callable[[Link], Discipline]] = {
    "fifo": _fifo,
    "netem": _netem,
    "policer": _policer,
    "codel": _codel,
    "fq-codel": _fq_codel,
    "cobalt": _cobalt,
    "cake": _cake,
    "sfq-codel": _sfq_codel,
    "pie": _pie,
    "fq-pie": _fq_pie,
    "dualpi2": _dualpi2,
    "red": _red,
    "sfq": _sfq,
}
