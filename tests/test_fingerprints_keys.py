"""All that a run gives, to the last byte, when several keys are changed at once, on paths of several kinds.

`test_keys_count` changes each key alone. Here a few are drawn together for each kind of flow, queue, user and
player, with hops, losses, jitter and rates of other rules around them. Written anew:

    python tests/test_fingerprints_keys.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from sojourn import _core
from sojourn.study import Study
from test_fingerprints_whole import DATA, TRANSPORTS, digest, scored
from test_keys_count import PATH, SCENES, VOICE, cases, flows, users

FILE = DATA / "fingerprints_keys_together.json"
EACH = 8
"""Drawn of each scene."""
LONG = PATH.replace('"12s"', '"25s"')
HOPS = """
[[path.hop]]
name = "a"
delay = "4ms"
down = { rate = "4Mbit", loss = 0.01 }
up = { rate = "1Mbit", overhead = "20B" }
[[path.hop]]
name = "b"
down = { rate = "3Mbit", queue = { kind = "fq-codel" } }
up = { rate = "2Mbit", rule = "htb", burst = "6kB" }
"""
PATHS = {
    "as it is": (), "jitter": (("path.jitter", "4ms"),), "hops": (),
    "losses": (("path.down.loss", "0.02"), ("path.up.loss", "0.01")),
    "htb": (("path.down.rule", "htb"), ("path.up.rule", "htb"), ("path.up.overhead", "30B")),
    "steps": (("path.down.rate", '{ steps = [["0s", "5Mbit"], ["2s", "600kbit"]], repeat = "4s" }'),),
    "drawn": (("path.up.rate", '{ choose = ["300kbit", "2Mbit"], every = ["90ms", "400ms"] }'),),
}  # fmt: skip
ALSO = {
    # A scene, and the one whose keys it has.
    **{
        f"{name}, {habits}": (PATH + flows(transport=name, more=more), "path")
        for name in TRANSPORTS
        for habits, more in (("plain", "count = 2"), ("linux", 'stack = "linux"'))
    },
    "page over HTTP/3": (users('kind = "page"\nscale = 0.1\nhttp = "3"\ncount = 2'), "page"),
    "page over HTTP/1.1": (users('kind = "page"\nscale = 0.1\nhttp = "1.1"'), "page"),
    "mobile page over HTTP/3": (users('kind = "page"\nscale = 0.1\nhttp = "3"\npage = "mobile"'), "page"),
    "long responsiveness": (users('kind = "responsiveness"\nlength = "20s"', LONG), "responsiveness"),
    **{
        f"{codec} {playout}": (
            users(f'{VOICE}"{codec}"\nplayout = {{ kind = "{playout}" }}\ncount = 2'),
            "voice",
        )
        for codec in ("g711a", "g729a", "g722", "opus")
        for playout in ("adaptive", "neteq", "none")
    },
    "large call": (users('kind = "call"\nheight = 720\ncount = 2', LONG), "call"),
}
RECORD = "[record]\npackets = true\nflows = true\nseries = true\n"


def drawn() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Return studies and what is set in them, by a word: the same ones every time."""
    found = {}
    of_scene: dict[str, list[list[tuple[str, str]]]] = {}
    for case in cases():
        scene, sets, changed = case.values
        of_scene.setdefault(scene, []).append([*sets, changed])
    scenes = {scene: (SCENES[scene], scene) for scene in sorted(set(SCENES) & set(of_scene))} | ALSO
    for scene, (whole, like) in scenes.items():
        for n in range(EACH):
            chosen, keys = random.Random(f"{scene} {n}"), of_scene[like]
            sets = [pair for key in chosen.sample(keys, min(len(keys), 4)) for pair in key]
            way = chosen.choice(sorted(PATHS))
            text = whole
            if way == "hops" and "[[path.hop]]" not in text and "down = {" in text:
                lines = [line for line in text.splitlines() if not line.startswith(("down = {", "up = {"))]
                at = next(k for k, line in enumerate(lines) if line.startswith("[["))
                text = "\n".join([*lines[:at], *HOPS.strip().splitlines(), *lines[at:]]) + "\n"
            # What is set first gives way to what is set of the same key.
            sets = list({**dict(PATHS[way]), **dict(sets)}.items())
            found[f"{scene}, {way}, {n}"] = (text, sets)
    return found


def of(text: str, sets: list[tuple[str, str]]) -> str:
    """Digest a run; what cannot be asked together is refused, in a sentence that is kept."""
    try:
        document = _core.parse(text + RECORD, "x.toml", sets, [])
        (point,) = Study(document, "x.toml", (), Path()).points
        return digest(*scored(point))
    except _core.StudyError as error:
        return str(error).splitlines()[0]


EVERY = drawn()


@pytest.mark.parametrize("name", EVERY)
def test_everything_is_the_same_bytes_of_keys_together(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert of(*EVERY[name]) == known[name], f"what comes of {name} has changed: {EVERY[name][1]}"


def test_every_study_that_is_kept_is_run_and_few_are_refused() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(known) == set(EVERY)
    assert sum(" " not in found for found in known.values()) > 0.6 * len(known)


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: of(*made) for name, made in EVERY.items()}, indent=1) + "\n")
