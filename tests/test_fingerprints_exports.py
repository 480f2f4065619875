"""Captures of simulated runs, to the last byte, of every kind of traffic and at every place, and their use.

Written anew:

    python tests/test_fingerprints_exports.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from sojourn import _core
from test_fingerprints_whole import BASE, BOTH, DATA, HOPS, SOURCES, USERS, flows, of_analyses, of_export

FILE = DATA / "fingerprints_exports.json"
SHORT = BASE.replace('"20s"', '"5s"').replace('"4s"', '"500ms"')
FAR = 'rtt = "90ms"\naccess = { rate = "2Mbit", delay = "5ms", queue = { kind = "fifo", limit = "9pkt" } }'
RED = 'kind = "red", limit = "60pkt", min = 5, max = 15, ecn = true'
MIXED = flows(
    {"transport": "utp", "count": 2}, {"source": '{ kind = "cbr", rate = "500kbit", size = "300B" }',
    "transport": "udp", "direction": "up"}, {"more": f'stack = "linux"\n{FAR}'},
    {"more": "sack = false\ntimestamps = false\necn = true", "direction": "up"},
)  # fmt: skip
LOSSY = SHORT.replace('rate = "4Mbit"', 'rate = "4Mbit", loss = 0.03')
SCENES = {
    **{f"source: {about}": SHORT + flows({"source": f"{{ {about} }}", **more}) for about, more in SOURCES},
    **{f"users: {about}": f"{SHORT}{flows({})}[[users]]\n{about}\n" for about in USERS},
    "mixed": SHORT + MIXED,
    "mixed, with losses": LOSSY + MIXED,
    "mixed, with jitter": SHORT.replace("down =", 'jitter = "3ms"\ndown =', 1) + MIXED,
    "mixed, with marks": SHORT.replace('kind = "fifo", limit = "40pkt"', RED) + MIXED,
    "adaptive": SHORT + '[[users]]\nkind = "adaptive"\nlength = "8s"\nalgorithm = "bba2"\ncount = 2\n',
}
OVER = HOPS.replace('"20s"', '"5s"').replace('"4s"', '"500ms"') + flows(
    {"more": 'over = ["a"]', "transport": "utp"}, {"more": 'over = ["b"]', "direction": "up"}, *BOTH
)


def of(made: Callable[[], str]) -> str:
    """Digest; what is refused is a sentence."""
    try:
        return made()
    except _core.StudyError as error:
        return str(error).splitlines()[0]


EVERY: dict[str, Callable[[], str]] = {
    **{
        f"{name}, {end}": partial(of, partial(of_export, text, end))
        for name, text in SCENES.items()
        for end in ("clients", "servers")
    },
    **{f"hops, {at}": partial(of, partial(of_export, OVER, at)) for at in ("clients", "a", "b", "servers")},
    **{
        f"analyses: {name}": partial(of, partial(of_analyses, text))
        for name, text in SCENES.items()
        if name.startswith(("mixed", "users"))
    },
}


@pytest.mark.parametrize("name", EVERY)
def test_a_capture_of_a_run_is_the_same_bytes(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what is written of {name} has changed"


def test_every_capture_that_is_kept_is_written_and_few_are_refused() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(known) == set(EVERY)
    assert sum(" " not in found for found in known.values()) > 0.8 * len(known)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
