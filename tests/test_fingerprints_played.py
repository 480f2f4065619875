"""Every choice of every player, to the last bit, over links that are told.

In a run, TCP decides what a player sees, and films end soon. Here films are long, of few levels or of short
segments, and links fast, slow, far, falling and restless.
Written anew:

    python tests/test_fingerprints_played.py
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sojourn import _core
from test_fingerprints_whole import DATA, PLAYERS, digest
from test_keys_count import COUNTS

FILE = DATA / "fingerprints_played.json"
Period = tuple[float, float, float]


def walk(seed: int, latency_s: float) -> list[Period]:
    """Return a link whose rate changes every few seconds, by up to a factor of ten (s, kb/s, s)."""
    draws = random.Random(seed)
    return [(draws.uniform(1, 9), 10 ** draws.uniform(2.3, 3.8), latency_s) for _ in range(40)]


LINKS: dict[str, list[Period]] = {
    "fast": [(1000.0, 20_000.0, 0.01)],
    "slow": [(1000.0, 180.0, 0.05)],
    "far": [(1000.0, 2500.0, 0.9)],
    "falls": [(60.0, 8000.0, 0.04), (60.0, 700.0, 0.04), (40.0, 150.0, 0.2), (90.0, 3000.0, 0.04)],
    "restless": walk(1, 0.06),
    "restless and far": walk(2, 0.4),
}


def film(seed: int, segment_s: float, rates: list[float], count: int, spread: float) -> Any:
    """Return a film whose segments are up to so much larger or smaller than their rate says."""
    draws = random.Random(seed)
    sizes = []
    for _ in range(count):
        scene = 1 + spread * draws.uniform(-1, 1)
        sizes.append([int(rate * 125 * segment_s * scene) for rate in rates])
    return (segment_s, rates, sizes)


LADDER = [235.0, 375.0, 560.0, 750.0, 1050.0, 1750.0, 2350.0, 3000.0, 4300.0, 5800.0]
FILMS = {
    "long": film(1, 4.0, LADDER, 240, 0.3),
    "short segments": film(2, 1.0, LADDER[2:7], 150, 0.6),
    "few levels": film(3, 10.0, [300.0, 2400.0], 40, 0.0),
    "one level": film(4, 2.0, [500.0], 60, 0.4),
}
ALGORITHMS: dict[str, dict[str, Any]] = {name: {"kind": name} for name in [*PLAYERS, "bola-basic", "bola-u"]}
for (_, of, _), keys in COUNTS.items():
    if of.startswith("PlayerAlgorithm "):
        kind = of.split()[1]
        for key, other in keys.items():
            value, *first = other if isinstance(other, tuple) else (other,)
            # What a key needs, if it is of the player.
            more = {name[3:]: text for name, text in first if name.startswith("{}.")}
            more = {name: json.loads(text) for name, text in more.items()}
            ALGORITHMS[f"{kind}, {key}"] = {"kind": kind, **more, key: value}


def of_player(algorithm: dict[str, Any], film: str) -> str:
    """Digest what a player chooses over each link, with two buffers; or why it does not."""
    found: list[Any] = []
    for link in LINKS.values():
        for buffer, more in ((24.0, {}), (120.0, {"initial": 2.0, "resume": 8.0, "seed": 5})):
            try:
                told = _core.play(json.dumps(algorithm), FILMS[film], link, buffer, **more)
                found.append(dict(told))
            except _core.StudyError as error:
                found.append(str(error))
    return digest(found)


EVERY: dict[str, Callable[[], str]] = {
    f"{name}: {film}": partial(of_player, algorithm, film)
    for name, algorithm in ALGORITHMS.items()
    for film in FILMS
    if film != "one level" or "," not in name
}


@pytest.mark.parametrize("name", EVERY)
def test_every_choice_is_the_same(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what {name} chooses has changed"


def test_every_player_that_is_kept_plays() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(EVERY)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
