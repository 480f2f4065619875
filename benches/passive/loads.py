"""Loads over a path, to be captured and replayed: cases with names, and some that are drawn at random."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

_SESSIONS = '{ kind = "sessions", preset = "imc14" }'
_BULK = '{ kind = "bulk" }'


def flows(source: str, direction: str, count: int = 1, **keys: str) -> str:
    """Return a group of flows as a study has it."""
    keys = {"transport": "cubic", **keys, "direction": direction}
    lines = [f'{key} = "{value}"' for key, value in keys.items()]
    return "\n".join(["[[flows]]", f"source = {source}", *lines, f"count = {count}", ""])


def users(kind: str, count: int = 1, **keys: str) -> str:
    """Return a group of users as a study has it."""
    lines = [f'{key} = "{value}"' for key, value in keys.items()]
    return "\n".join(["[[users]]", f'kind = "{kind}"', *lines, f"count = {count}", ""])


def datagrams(rate: str, size: str) -> str:
    """Return datagrams at a constant rate."""
    return flows(f'{{ kind = "cbr", rate = "{rate}", size = "{size}" }}', "down", transport="udp")


def fifo(packets: int) -> str:
    """Return a queue of so many packets."""
    return f'{{ kind = "fifo", limit = "{packets}pkt" }}'


@dataclass(frozen=True)
class Load:
    """A path, and what crosses it.

    Attributes
    ----------
    traffic
        Its flows and users, as a study has them.
    group
        Transport and stack of those who replay it.
    seeded
        Its runs differ in their seeds, too.
    what
        The load in words.
    """

    traffic: str
    down_queue: str
    up_queue: str = fifo(64)
    down_kbit: int = 8000
    up_kbit: int = 2000
    rtt_us: int = 50_000
    group: Mapping[str, str] = field(default_factory=dict)
    what: str = ""
    seeded: bool = False

    def path(self, seconds: int) -> str:
        """Return the beginning of a study."""
        return f"""name = "lab"
duration = "{seconds}s"
[path]
rtt = "{self.rtt_us}us"
down = {{ rate = "{self.down_kbit}kbit", queue = {self.down_queue} }}
up   = {{ rate = "{self.up_kbit}kbit", queue = {self.up_queue} }}
"""


_MIXED = (
    flows(_BULK, "down", 2)
    + flows(_SESSIONS, "down", 6)
    + flows(_BULK, "down", 2, transport="bbr", name="bbr")
)

CASES = {
    "bulk-2": Load(flows(_BULK, "down", 2), fifo(50)),
    "bulk-12": Load(flows(_BULK, "down", 12), fifo(50)),
    "bulk-4-small": Load(flows(_BULK, "down", 4), fifo(12)),
    "bulk-4-large": Load(flows(_BULK, "down", 4), fifo(250)),
    "bulk-both-ways": Load(flows(_BULK, "down", 3) + flows(_BULK, "up", 2), fifo(50)),
    "bulk-voice": Load(flows(_BULK, "down", 2) + datagrams("4Mbit", "200B"), fifo(50)),
    "sessions-light": Load(flows(_SESSIONS, "down", 5), fifo(50)),
    "sessions": Load(flows(_SESSIONS, "down", 12), fifo(50)),
    "sessions-large": Load(flows(_SESSIONS, "down", 12), fifo(250)),
    "sessions-both-ways": Load(flows(_SESSIONS, "down", 10) + flows(_SESSIONS, "up", 3), fifo(50)),
    "packmime": Load(flows('{ kind = "packmime", rate = 80 }', "down"), fifo(50)),
    "packmime-large": Load(flows('{ kind = "packmime", rate = 110 }', "down"), fifo(250)),
    "web": Load(users("web", 12), fifo(50)),
    "web-fair": Load(users("web", 15), '{ kind = "fq-codel" }'),
    "page": Load(users("page", 3), fifo(100)),
    "page-quic": Load(users("page", 3, http="3"), fifo(100)),
    "page-quic-bulk": Load(users("page", 2, http="3") + flows(_BULK, "down"), fifo(100)),
    "mixed": Load(_MIXED, fifo(50)),
    "mixed-large": Load(_MIXED, fifo(250)),
    "mixed-fair": Load(_MIXED, '{ kind = "fq-codel" }'),
    "players": Load(users("adaptive", 4), fifo(50)),
    "players-bulk": Load(users("adaptive", 2) + users("web", 3) + flows(_BULK, "down"), fifo(100)),
}


def drawn(seed: int) -> Load:
    """Draw a load: links, round trip, queue, transport, and one to three kinds of traffic."""
    draw = random.Random(seed)
    down_kbit = 1000 * draw.choice((2, 4, 8, 16, 30, 50))
    up_kbit = max(down_kbit // draw.choice((1, 2, 5, 10)), 500)
    rtt_ms = draw.choice((15, 25, 40, 60, 100, 180))
    kind = draw.choice((*["fifo"] * 4, "codel", "fq-codel", "pie", "cake"))
    bdps = draw.choice((0.3, 0.5, 1, 2, 4))
    group = {"transport": draw.choice(("cubic", "cubic", "reno", "bbr"))}
    if draw.random() < 2 / 3:
        group["stack"] = "linux"

    def queue(kbit: int) -> str:
        """Return the queue of a link, which has room for eight packets at least."""
        return (
            fifo(max(8, int(bdps * kbit * rtt_ms / 12_000))) if kind == "fifo" else f'{{ kind = "{kind}" }}'
        )

    def sessions(parallel: int, mean: str) -> str:
        wait = f'interconnection = {{ kind = "exponential", mean = "{mean}" }}'
        return f'{{ kind = "sessions", preset = "imc14", closed-loop = true, parallel = {parallel}, {wait} }}'

    several = draw.choice((1, 2, 4, 8))
    kinds = {
        "downloads": flows(_BULK, "down", several, name="downloads", **group),
        "uploads": flows(_BULK, "up", min(several, 4), name="uploads", **group),
        "sessions": flows(sessions(2, "1s"), "down", 2 * several, name="sessions", **group),
        "short uploads": flows(sessions(1, "1.5s"), "up", several, name="short", **group),
        "packmime": flows(
            f'{{ kind = "packmime", preset = "packmime-002", rate = {down_kbit // 1000} }}', "down", **group
        ),
        "web users": users("web", several, **group),
        "players": users(
            "adaptive", min(several, 4), algorithm=draw.choice(("bba2", "gpac", "festive")), **group
        ),
        "a caller": users("voice", codec="g711a"),
        "datagrams": datagrams(f"{int(down_kbit * draw.choice((0.1, 0.3)))}kbit", "1200B"),
    }
    chosen = draw.sample(sorted(kinds), draw.choice((1, 2, 2, 3)))
    if not set(chosen) - {"a caller", "datagrams"}:
        chosen.append("downloads")
    what = (
        f"{down_kbit / 1000:g}/{up_kbit / 1000:g} Mbit/s, {rtt_ms} ms, "
        f"{f'FIFO of {bdps:g} BDP' if kind == 'fifo' else kind}, {' '.join(group.values())}; "
        f"{', '.join(chosen)} (several: {several})"
    )
    return Load(
        "".join(kinds[name] for name in chosen), queue(down_kbit), queue(up_kbit), down_kbit, up_kbit,
        1000 * rtt_ms, group, what, seeded=True,
    )  # fmt: skip
