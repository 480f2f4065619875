"""All that a run gives, to the last byte, on paths in trouble: every transport, queue, user and player.

Scenes of `test_fingerprints_whole` are quiet ones, in which timers and repairs have little to do. Here paths
lose, mark, run short and change, and traffic stops and goes. Written anew:

    python tests/test_fingerprints_troubled.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from sojourn import _core
from test_fingerprints_whole import (
    BASE,
    BOTH,
    DATA,
    DRAWN,
    PLAYERS,
    QUEUES,
    STEPS,
    TRANSPORTS,
    USERS,
    flows,
    of_scene,
)
from test_keys_count import TCP

FILE = DATA / "fingerprints_troubled.json"
SHORT = BASE.replace('"20s"', '"8s"').replace('"4s"', '"1s"')
FIFO = 'queue = { kind = "fifo", limit = "40pkt" }'
DOWN, UP = 'down = { rate = "4Mbit" }', 'up = { rate = "1Mbit" }'


def lossy(down: float, up: float) -> str:
    return SHORT.replace(DOWN, DOWN.replace(" }", f", loss = {down} }}")).replace(
        UP, UP.replace(" }", f", loss = {up} }}")
    )


def behind(queue: str, text: str = SHORT) -> str:
    return text.replace(FIFO, f"queue = {{ {queue} }}")


CODEL = 'kind = "codel", ecn = true, target = "2ms"'
SESSIONS = '{ kind = "sessions", sizes = "60kB", interconnection = "700ms" }'
CHIRP = '{ kind = "chirp", bursts = 3, gap = "150ms", every = "2s" }'
TRANSPORT: dict[str, tuple[str, str, str]] = {
    # Path, source, and further keys.
    "losses": (lossy(0.02, 0.01), "", ""),
    "heavy losses": (lossy(0.2, 0.1), "", ""),
    "lost acknowledgements": (lossy(0.0, 0.4), "", "initial-window = 3"),
    "no room": (behind('kind = "fifo", limit = "3pkt"'), "", ""),
    "marks": (behind(CODEL), "", "ecn = true"),
    "shallow marks": (behind('kind = "dualpi2"'), "", "ecn = true"),
    "rates that change": (SHORT.replace('"1Mbit"', DRAWN).replace('"4Mbit"', STEPS), "", ""),
    "a policer": (behind('kind = "policer", rate = "2Mbit", limit = "40pkt", burst = "4kB"'), "", ""),
    "stops": (SHORT.replace('"4Mbit"', '"20Mbit"'), SESSIONS, "idle-restart = true"),
    "bursts": (lossy(0.01, 0.0), CHIRP, "idle-restart = false"),
    "Linux's habits": (lossy(0.05, 0.02), "", 'stack = "linux"'),
    "no selective acknowledgements": (lossy(0.05, 0.0), "", "sack = false\ntimestamps = false"),
    "late acknowledgements": (lossy(0.02, 0.0), "", 'ack-delay = "90ms"\nreceive-window = "20kB"'),
    "recovery by time": (lossy(0.05, 0.02), "", 'recovery = "rack-tlp"\nprr = false'),
    "a long way": (lossy(0.005, 0.0).replace('"8s"', '"20s"'), "", 'rtt = "400ms"'),
    "a fast path": (
        SHORT.replace('"4Mbit"', '"30Mbit"').replace('"17ms"', '"1ms"').replace('"8s"', '"3s"'),
        "",
        "",
    ),
    "small segments": (lossy(0.01, 0.0), "", 'mss = "536B"\ndelayed-ack = false'),
    "transfers": (lossy(0.03, 0.01), '{ kind = "bulk", size = "150kB" }', 'start-within = "3s"'),
}
STACKS = {"plain": "", "linux": 'stack = "linux"', "by time": 'recovery = "rack-tlp"'}
FLOOD = flows({"source": '{ kind = "cbr", rate = "6Mbit", size = "700B"}', "transport": "udp"}, {})
MARKED = flows(
    {"transport": "prague", "more": "ecn = true"},
    {"transport": "dctcp", "more": "ecn = true"},
    {"more": "ecn = true", "count": 2},
    {"direction": "up", "more": "ecn = true"},
)
SPARSE = flows(
    {"source": '{ kind = "heartbeat" }'}, {"source": CHIRP}, {"transport": "bbr"}, {"direction": "up"}
)
TROUBLED: dict[str, Callable[[str], str]] = {
    "a flood": lambda about: behind(about) + FLOOD,
    "many": lambda about: behind(about) + flows({"count": 20}, {"count": 5, "direction": "up"}),
    "marks": lambda about: behind(about) + MARKED,
    "sparse flows": lambda about: behind(about) + SPARSE,
    "a slow link": lambda about: behind(about, SHORT.replace('"4Mbit"', '"300kbit"')) + flows(*BOTH),
    "rates that change": lambda about: behind(about, SHORT.replace('"4Mbit"', STEPS)) + flows(*BOTH),
}
BULK = flows({"more": 'start = "1s"'})
PATHS = {
    "losses": lossy(0.05, 0.02),
    "a slow link": SHORT.replace('"4Mbit"', '"400kbit"').replace('"1Mbit"', '"100kbit"'),
    "rates that change": SHORT.replace('"4Mbit"', STEPS),
}
FALLS = '{ steps = [["0s", "5Mbit"], ["12s", "250kbit"], ["24s", "2Mbit"]], repeat = "30s" }'
VIEWED = {
    "losses": lossy(0.03, 0.01),
    "a slow link": SHORT.replace('"4Mbit"', '"300kbit"'),
    "rates that fall": SHORT.replace('"4Mbit"', FALLS),
}
LIVE = ("dash.js", "bola", "throughput", "shaka", "hls.js")


def scenes() -> dict[str, str]:
    """Return the study of every scene, by a word."""
    made: dict[str, str] = {}
    for name in TRANSPORTS:
        for trouble, (path, source, more) in TRANSPORT.items():
            given = {"transport": name, "more": more, **({"source": source} if source else {})}
            made[f"{name}: {trouble}"] = path + flows({**given, "count": 2}, {**given, "direction": "up"})
        beside = flows({"transport": name, "more": "count = 2"}, {}, {"transport": "bbr"})
        made[f"{name}: others beside it"] = SHORT.replace("40pkt", "120pkt") + beside.replace(
            "count = 1\ncount", "count"
        )
    for stack, more in STACKS.items():
        for key, other in TCP.items():
            value, *_ = other if isinstance(other, tuple) else (other,)
            group = flows({"more": f"{more}\n{key} = {json.dumps(value)}", "count": 2})
            if key not in ("transport", *more.split(" ")[:1]):
                made[f"{stack}: {key} under losses"] = lossy(0.06, 0.03) + group
    for about in QUEUES:
        for trouble, scene in TROUBLED.items():
            made[f"{about}: {trouble}"] = scene(about)
    for about in USERS:
        for trouble, path in PATHS.items():
            made[f"{about}: {trouble}"] = f"{path}{BULK}[[users]]\n{about}\n"
    for name in PLAYERS:
        for trouble, path in VIEWED.items():
            viewers = f'[[users]]\nkind = "adaptive"\nalgorithm = "{name}"\nlength = "60s"\ncount = 2\n'
            made[f"{name}: {trouble}"] = path.replace('"8s"', '"50s"') + viewers
    for name in LIVE:
        viewers = f'[[users]]\nkind = "adaptive"\nalgorithm = "{name}"\nlength = "40s"\n'
        viewers += 'live = { latency = "3s" }\n'
        made[f"{name}: live, rates that fall"] = VIEWED["rates that fall"].replace('"8s"', '"40s"') + viewers
    return made


def of_troubled(text: str) -> str:
    """Digest a run; what cannot be asked together is refused, in a sentence that is kept."""
    try:
        return of_scene(text)
    except _core.StudyError as error:
        return str(error).splitlines()[0]


EVERY = {name: partial(of_troubled, text) for name, text in scenes().items()}


@pytest.mark.parametrize("name", EVERY)
def test_everything_is_the_same_bytes_in_trouble(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what comes of {name} has changed"


def test_every_scene_that_is_kept_is_run() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(EVERY)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
