"""Every key of a study counts: another value of it, and nothing else changed, gives another result.

A scene and a value stand here for each key of the schema; a new key without them fails. What is compared is
all that a run gives: summary, tables, packet log and scores. The digests of these runs are kept, too; where
results are meant to change they are written anew by

    python tests/test_keys_count.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sojourn import _core
from sojourn.study import Study
from test_fingerprints_whole import DATA, digest, scored

FILE = DATA / "fingerprints_keys.json"
PATH = """
name = "x"
seed = 3
duration = "12s"
warmup = "1s"
[path]
client-delay = "3ms"
server-delay = "17ms"
down = { rate = "4Mbit" }
up = { rate = "1Mbit" }
queue = { kind = "fifo", limit = "12pkt" }
"""
FIFO = '{ kind = "fifo", limit = "12pkt" }'
FLOWS = '[[flows]]\nsource = {{ {source} }}\ntransport = "{transport}"\ndirection = "down"\n{more}\n'
HOP = '[[path.hop]]\nname = "{}"\ndown = {{ rate = "4Mbit" }}\nup = {{ rate = "1Mbit" }}\n'


def flows(source: str = 'kind = "bulk"', transport: str = "cubic", more: str = "") -> str:
    return FLOWS.format(source=source, transport=transport, more=more)


def source(about: str, transport: str = "cubic") -> str:
    return PATH + flows(about, transport)


def queue(about: str) -> str:
    """Flows that can be marked, flows that cannot, and datagrams: more than the link carries."""
    cbr = flows('kind = "cbr", rate = "900kbit", size = "300B"', "udp")
    both = flows(more="ecn = true\ncount = 2") + flows(transport="reno")
    return PATH.replace(FIFO, f"{{ {about} }}") + both + cbr


def users(about: str, path: str = PATH) -> str:
    return path + flows() + f"[[users]]\n{about}\n"


def player(name: str) -> str:
    viewers = f'kind = "adaptive"\nlength = "60s"\nalgorithm = {{ kind = "{name}" }}'
    return users(viewers, PATH.replace('"12s"', '"50s"'))


SHAPES = {
    "exponential": ({"mean": "9"},), "pareto": ({"shape": 1.5, "scale": "9"}, {"shape": 1.5, "mean": "9"}),
    "weibull": ({"shape": 0.5, "scale": "9"}, {"shape": 0.5, "mean": "9"}),
    "log-normal": ({"sigma": 1.0, "median": "9"}, {"sigma": 1.0, "mean": "9"}),
    "uniform": ({"low": "2", "high": "40"},),
    "fixed": ({"value": "9"},),
}  # fmt: skip
VOICE = 'kind = "voice"\ncall = "2s"\nscore = "emodel"\ncodec = '
SCENES = {
    "path": PATH + flows(more="count = 2"),
    "hops": PATH.split("down =")[0] + f"queue = {FIFO}\n" + HOP.format("a") + HOP.format("b") + flows(),
    "idle": source('kind = "chirp", bursts = 4, gap = "900ms", every = "4s"'),
    "access": PATH + flows(more=f'access = {{ rate = "2Mbit", queue = {FIFO} }}'),
    "steps": PATH.replace(
        '"4Mbit"', '{ steps = [["0s", "4Mbit"], ["3s", "1Mbit"]], repeat = "5s" }') + flows(),
    "drawn": PATH.replace('"4Mbit"', '{ choose = ["2Mbit", "4Mbit"], every = ["90ms", "300ms"] }') + flows(),
    "htb": PATH.replace('rate = "4Mbit"', 'rate = "4Mbit", rule = "htb", burst = "9kB"') + flows(),
    "sessions": source('kind = "sessions", sizes = "40kB", interconnection = "300ms"'),
    "cbr": source('kind = "cbr", rate = "900kbit", size = "300B"', "udp"),
    "poisson": source('kind = "poisson", rate = "900kbit", size = "300B"', "udp"),
    "packmime": source('kind = "packmime", rate = 20'),
    "video": source('kind = "video", frames = 60', "udp"),
    "chirp": source('kind = "chirp", bursts = 3, gap = "200ms", every = "3s"'),
    "heartbeat": source('kind = "heartbeat"'),
    "on-off": source('kind = "on-off", rate = "1Mbit", size = "500B", on = "200ms", off = "100ms"', "udp"),
    **{name: queue(f'kind = "{name}"') for name in (
        "netem", "sfq", "cake", "dualpi2", "fq-pie", "fq-codel", "codel", "pie")},
    **{name: queue(f'kind = "{name}", limit = "60pkt"') for name in ("cobalt", "red", "sfq-codel")},
    "fifo": queue('kind = "fifo", limit = "20pkt"'),
    "policer": queue('kind = "policer", rate = "2Mbit", limit = "40pkt"'),
    "voice": users(f'{VOICE}"g711a"'),
    "opus": users(f'{VOICE}"opus"\nopus = {{}}'),
    "talk": users(f'{VOICE}"g729a"\ntalk-spurts = {{}}'),
    "playout": users(f'{VOICE}"g711a"\nplayout = {{ kind = "fixed", delay = "60ms" }}'),
    "web": users('kind = "web"'),
    "browser": users('kind = "browser"\npage-median = "200kB"'),
    "adaptive": users('kind = "adaptive"\nlength = "24s"'),
    "live": users('kind = "adaptive"\nlength = "24s"\nlive = {}'),
    "live, dash.js": users(
        'kind = "adaptive"\nlength = "40s"\nalgorithm = "dash.js"\nlive = {}',
        PATH.replace('"12s"', '"40s"')),
    "gaming": users('kind = "gaming"'),
    "cloud-gaming": users('kind = "cloud-gaming"\nrate = "2Mbit"'),
    "call": users('kind = "call"\nheight = 360'),
    "page": users('kind = "page"\nscale = 0.05'),
    "responsiveness": users('kind = "responsiveness"\nlength = "5s"'),
    "household": users(
        'kind = "household"', PATH.replace('"4Mbit"', '"50Mbit"').replace('"1Mbit"', '"20Mbit"')),
    **{name: player(name) for name in (
        "gpac", "festive", "bola-basic", "bola-u", "dynamic", "robust-mpc", "fixed")},
}  # fmt: skip
LOSS = ("path.down.loss", "0.05")
FALLS = ("path.down.rate", '{ steps = [["0s", "9Mbit"], ["9s", "300kbit"]], repeat = "18s" }')
ECN = ("{}.ecn", "true")
TCP: dict[str, Any] = {
    "mss": "500B", "initial-window": 2, "delayed-ack": False, "ack-delay": "9ms", "sack": False,
    "timestamps": False, "receive-window": "9kB", "min-rto": ("1s", LOSS), "min-rttvar": ("0ms", LOSS),
    "initial-rto": ("3s", ("path.up.loss", "0.3")), "limited-transmit": (False, LOSS), "prr": (False, LOSS),
    "karn-backoff": (True, ("path.down.loss", "0.2")), "hystart": "linux", "reno-friendly": (False, LOSS),
    "ledbat-target": ("20ms", ("{}.transport", "ledbat")), "ledbat-gain": (0.5, ("{}.transport", "ledbat")),
    "receive-buffer": ("1MB", ("{}.stack", "linux")),
    "pacing": True, "recovery": ("rack-tlp", LOSS), "stack": "linux", "transport": "reno",
    "ecn": (True, ("path.queue", '{ kind = "codel", ecn = true, target = "1ms" }')),
}  # fmt: skip
PIE: dict[str, Any] = {
    "limit": "5pkt", "target": "40ms", "update": "30ms", "burst": "20ms", "alpha": 0.5, "beta": 3.0,
    "mean-packet": "4000B", "in-packets": True, "by-size": True, "derandomise": False, "delay": "rate",
    "cap": False, "rate-threshold": ("9000B", ("{}.delay", "rate")), "ecn": True, "mark-p": (0.01, ECN),
    "rate-weight": (0.9, ("{}.delay", "rate")), "active-threshold": "60ms", "variant": "linux",
    "l4s-threshold": ("1ms", ECN, ("flows.0.transport", "prague")),
}  # fmt: skip
CODEL = {"limit": "5pkt", "target": "20ms", "interval": "30ms", "ecn": True}
COUNTS: dict[tuple[str, str, str], dict[str, Any]] = {
    ("path", "Path", "path"): {
        "client-delay": "9ms", "server-delay": "9ms", "jitter": "3ms",
        "reading": ("90ms", ("flows.0.stack", "linux")), "queue": '{ kind = "codel" }',
        "down": '{ rate = "2Mbit" }', "up": '{ rate = "50kbit" }'},
    ("hops", "Hop", "path.hop.a"): {
        "delay": "4ms", "down": '{ rate = "2Mbit" }', "up": '{ rate = "50kbit" }'},
    ("path", "LinkSpec", "path.down"): {
        "rate": "2Mbit", "queue": '{ kind = "codel" }', "overhead": "40B", "loss": 0.05,
        "rule": "htb"},
    ("htb", "LinkSpec", "path.down"): {"burst": "30kB"},
    ("steps", "RateSteps", "path.down.rate"): {
        "steps": '[["0s", "2Mbit"], ["3s", "1Mbit"]]', "repeat": "7s"},
    ("drawn", "RateDrawn", "path.down.rate"): {
        "choose": '["1Mbit", "4Mbit"]', "every": '["90ms", "400ms"]'},
    ("access", "Access", "flows.0.access"): {
        "rate": "1Mbit", "queue": '{ kind = "codel" }', "delay": "9ms", "overhead": "40B", "loss": 0.05},
    ("path", "Flows", "flows.0"): {
        "name": "other", "source": '{ kind = "chirp" }', "direction": "up", "count": 3, "rtt": "90ms",
        "start-within": "0s", "start": "2s", "stop": "4s", **TCP,
        "access": f'{{ rate = "2Mbit", queue = {FIFO} }}'},
    ("hops", "Flows", "flows.0"): {"over": '["a"]'},
    ("idle", "Flows", "flows.0"): {"idle-restart": False},
    ("path", "SourceSpec bulk", "flows.0.source"): {"size": "90kB"},
    ("sessions", "SourceSpec sessions", "flows.0.source"): {
        "sizes": "90kB", "interconnection": "500ms", "closed-loop": True, "parallel": 3},
    ("cbr", "SourceSpec cbr", "flows.0.source"): {"rate": "500kbit", "size": "400B"},
    ("poisson", "SourceSpec poisson", "flows.0.source"): {"rate": "500kbit", "size": "400B"},
    ("packmime", "SourceSpec packmime", "flows.0.source"): {
        "rate": 10, "http": '"1.1"', "response-mean": "3kB"},
    ("video", "SourceSpec video", "flows.0.source"): {
        "rate": "300kbit", "fps": 12.0, "frames": 30, "packet": "500B"},
    ("chirp", "SourceSpec chirp", "flows.0.source"): {"bursts": 2, "gap": "300ms", "every": "2s"},
    ("heartbeat", "SourceSpec heartbeat", "flows.0.source"): {"size": "90B", "every": "300ms"},
    ("on-off", "SourceSpec on-off", "flows.0.source"): {
        "rate": "2Mbit", "size": "400B", "on": "90ms", "off": "300ms"},
    ("fifo", "QueueSpec fifo", "path.queue"): {"limit": "5pkt", "drop": "head"},
    ("netem", "QueueSpec netem", "path.queue"): {"limit": "5pkt", "delay": "9ms"},
    ("codel", "QueueSpec codel", "path.queue"): {
        **CODEL, "variant": "ns2_2012", "mtu": "4000B", "ce-threshold": ("1ms", ECN, ("{}.variant", "linux")),
        "l4s": (True, ECN, ("{}.variant", "linux"), ("{}.ce-threshold", "1ms"))},
    ("fq-codel", "QueueSpec fq-codel", "path.queue"): {
        **CODEL, "ecn": False, "variant": "rfc8289", "mtu": "9000B", "ce-threshold": "1ms", "flows": 1,
        "l4s": (True, ("{}.ce-threshold", "1ms")), "quantum": "300B", "memory": "8kB",
        "drop-batch": (1, ("{}.limit", "20pkt")), "ways": (8, ("{}.flows", "8")),
        "hash": ("plain", ("{}.flows", "2"))},
    ("cobalt", "QueueSpec cobalt", "path.queue"): {
        **CODEL, "ce-threshold": ("1ms", ECN), "blue-threshold": ("20ms", ("{}.limit", "20pkt"))},
    ("cake", "QueueSpec cake", "path.queue"): {
        **CODEL, "ecn": False, "flows": 8, "ways": (1, ("{}.flows", "8")), "quantum": "300B",
        "hash": ("plain", ("{}.flows", "2"), ("{}.ways", "1"))},
    ("sfq-codel", "QueueSpec sfq-codel", "path.queue"): {
        "limit": "5pkt", "target": "20ms", "interval": "30ms", "bins": 1, "quantum": "3000B",
        "hash": ("plain", ("{}.bins", "2"))},
    ("sfq", "QueueSpec sfq", "path.queue"): {
        "limit": "5pkt", "flows": 1, "quantum": "300B", "hash": ("plain", ("{}.flows", "2"))},
    ("pie", "QueueSpec pie", "path.queue"): PIE,
    ("fq-pie", "QueueSpec fq-pie", "path.queue"): {
        **PIE, "variant": "rfc8033", "flows": 1, "quantum": "300B", "ways": (8, ("{}.flows", "8")),
        "hash": ("plain", ("{}.flows", "2"))},
    ("dualpi2", "QueueSpec dualpi2", "path.queue"): {
        "limit": "5pkt", "target": "40ms", "update": "30ms", "alpha": 0.5, "beta": 1.0, "coupling": 1.0,
        **{key: (value, ("flows.0.transport", "prague")) for key, value in {
            "step": "9ms", "min-qlen-step": 6, "classic-share": 0.5, "mtu": "9000B"}.items()}},
    ("red", "QueueSpec red", "path.queue"): {
        "limit": "5pkt", "variant": "paper", "adaptive": True, "target": "30ms", "min": 8,
        "max": (30, ("{}.min", "8")), "feng": True,
        "max-p": 0.5, "gentle": False, "wait": False, "weight": 0.2, "averaging": "tenth-of-second",
        "mean-packet": "1500B", "in-bytes": True, "by-size": True, "ecn": True, "mark-p": (0.01, ECN),
        "forced": (True, ECN), "rate": "1Mbit", "link-delay": "200ms",
        **{key: (value, ("{}.adaptive", "true")) for key, value in {
            "alpha": 0.2, "beta": 0.5, "interval": "100ms", "top": 0.02}.items()},
        "bottom": (0.45, ("{}.adaptive", "true"), ("{}.max-p", "0.5"))},
    ("policer", "QueueSpec policer", "path.queue"): {"limit": "5pkt", "rate": "1Mbit", "burst": "4kB"},
    ("web", "Users web", "users.0"): {
        "name": "other", "objects": '["9kB"]', "request": "900B", "response-header": "900B", "count": 2,
        "pause": "2s", "plt-min": "100ms", "plt-max": "20s", "round-trips": 9, "object-restart": True,
        "start-within": "0s", **TCP, "hystart": ("linux", ("users.0.objects", '["900kB"]'))},
    ("browser", "Users browser", "users.0"): {
        "name": "other", "count": 2, "objects": '["9kB", "3kB"]', "pages": 9, "page-median": "300kB",
        "page-sigma": "[1.0, 1.0]", "connections": 2, "patience": "1s", "request": "900B", "rtt": "90ms",
        "dwell-shape": 2.0, "dwell-scales": ('["1s"]', ("{}.dwell-bounds", '["100ms", "70s"]')),
        "dwell-bounds": '["100ms", "1s"]', "response-header": "900B", "start-within": "0s",
        "transport": "reno"},
    ("adaptive", "Users adaptive", "users.0"): {
        "name": "other", "algorithm": "bba0", "count": 2, "length": "8s",
        "clips": "[{ spread = 0.2, rates-kbps = [100, 200] }]",
        "rates-kbps": "[50, 60, 70, 80, 90, 100, 110, 120, 130, 140]", "buffer": "8s",
        "start-anywhere": False, "initial": "4s",
        "resume": ("12s", ("path.down.rate", "300kbit"), ("duration", "60s")),
        "give-up": (True, FALLS, ("duration", "60s")),
        "live": "{}", "request": "900B", "response-header": "900B", "rtt": "90ms", "start-within": "0s",
        "transport": "reno"},
    ("live", "LowLatency", "users.0.live"): {
        "latency": "5s", "chunk": "1s", "catch-up": "shaka", "rates": "[0.9, 1.01]", "seek": "100ms"},
    ("live, dash.js", "LowLatency", "users.0.live"): {"latency": "6s"},
    ("gpac", "PlayerAlgorithm gpac", "users.0.algorithm"): {
        "sample": "first-byte", "gradual": True, "probes": 3},
    ("festive", "PlayerAlgorithm festive", "users.0.algorithm"): {
        "warmup": 2, "target-buffer": "8s", "full-target": True,
        "p-mode": ("band", ("{}.warmup", "2"), ("{}.p", "0.3")), **{
            key: (value, ("{}.warmup", "2"), FALLS) for key, value in {
                "p": 0.5, "alpha": 1.0, "sample": "first-byte"}.items()}},
    ("bola-basic", "PlayerAlgorithm bola-basic", "users.0.algorithm"): {"gp": 1.0},
    ("bola-u", "PlayerAlgorithm bola-u", "users.0.algorithm"): {"gp": 1.0},
    ("dynamic", "PlayerAlgorithm dynamic", "users.0.algorithm"): {"gp": 1.0},
    ("fixed", "PlayerAlgorithm fixed", "users.0.algorithm"): {"level": 2},
    ("robust-mpc", "PlayerAlgorithm robust-mpc", "users.0.algorithm"): {
        "horizon": 1, "robust": False, "stall-penalty": 0.1, "switch-penalty": 9.0, "sample": "first-byte"},
    ("gaming", "Users gaming", "users.0"): {
        "name": "other", "count": 2, "tick-rate": 128, "down": "500B", "up": "300B", "interpolation": 0,
        "start-within": "0s"},
    ("cloud-gaming", "Users cloud-gaming", "users.0"): {
        "name": "other", "count": 2, "rate": "1Mbit", "frame-rate": 30, "pixels": "[1280, 720]",
        "complexity": "low", "interaction": "low", "input-rate": 60, "patience": "5ms", "start-within": "0s"},
    ("household", "Users household", "users.0"): {
        "count": 2, "voice": 0, "call": 0, "web": 0, "gaming": 0, "cloud-gaming": 1, "adaptive": 1},
    ("responsiveness", "Users responsiveness", "users.0"): {
        "name": "other", "count": 2, "direction": "up", "connections": "[2, 1, 16]", "interval": "500ms",
        "averages": 2, "tolerance": (0.9, ("{}.interval", "200ms")), "trim": (0.9, ("duration", "30s")),
        "probes": 5, "probe-share": 0.001, "tls": False,
        "length": "4s", "pause": "1s", "rtt": "90ms", "start-within": "0s", "transport": "reno"},
    ("call", "Users call", "users.0"): {
        "name": "other", "direction": "up", "count": 2, "height": 180, "fps": 15.0, "max-rate": "200kbit",
        "audio": "64kbit", "start-rate": "900kbit", "rtt": "90ms", "start-within": "0s"},
    ("page", "Users page", "users.0"): {
        "name": "other", "count": 2, "http": '"1.1"', "page": "mobile",
        "server": ("quinn", ("{}.http", '"3"'), ("{}.scale", "0.5")),
        "hosts": 2, "scale": 0.1, "request": "900B", "response-header": "900B",
        "certificate": "9kB", "pause": "1s", "rtt": "90ms", "patience": "200ms", "start-within": "0s",
        "transport": "reno"},
    ("voice", "Users voice", "users.0"): {
        "name": "other", "codec": "g722", "direction": "up", "count": 2, "call": "1s", "gap": "2s",
        "playout": '{ kind = "none" }', "delay-model": "own", "concealment": "zero", "start-within": "0s"},
    ("opus", "Opus", "users.0.opus"): {"bitrate": "16kbit"},
    ("talk", "TalkSpurts", "users.0.talk-spurts"): {"talk": "300ms", "silence": "300ms"},
    ("playout", "Playout fixed", "users.0.playout"): {"delay": "20ms"},
    ("path", "", ""): {"seed": 4, "duration": "9s", "warmup": "3s"},
}  # fmt: skip


def cases() -> Iterator[Any]:
    for (scene, _, place), keys in COUNTS.items():
        for key, other in keys.items():
            value, *first = other if isinstance(other, tuple) else (other,)
            sets = tuple((name.format(place), text) for name, text in first)
            changed = (f"{place}.{key}".strip("."), value if isinstance(value, str) else json.dumps(value))
            yield pytest.param(scene, sets, changed, id=f"{scene} {' '.join(changed)}")


@cache
def came(text: str, *sets: tuple[str, str]) -> str:
    recorded = text + "[record]\npackets = true\nflows = true\n"
    (point,) = Study(_core.parse(recorded, "x.toml", list(sets), []), "x.toml", (), Path()).points
    return digest(*scored(point))


@pytest.mark.parametrize(("scene", "sets", "changed"), list(cases()))
def test_another_value_of_a_key_changes_what_a_run_comes_to(
    scene: str, sets: tuple[tuple[str, str], ...], changed: tuple[str, str]
) -> None:
    assert came(SCENES[scene], *sets, changed) != came(SCENES[scene], *sets)


@pytest.mark.parametrize(("scene", "sets", "changed"), list(cases()))
def test_what_each_value_comes_to_is_the_same_bytes(
    scene: str, sets: tuple[tuple[str, str], ...], changed: tuple[str, str]
) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert came(SCENES[scene], *sets, changed) == known[f"{scene} {' '.join(changed)}"]


@pytest.mark.parametrize("of", ["size", "time"])
@pytest.mark.parametrize("kind", SHAPES)
def test_each_parameter_of_a_distribution_changes_what_is_drawn(of: str, kind: str) -> None:
    unit = "kB" if of == "size" else "0ms"

    def drawn(parameters: dict[str, Any]) -> str:
        about = ", ".join(
            f'{key} = "{value}{unit}"' if isinstance(value, str) else f"{key} = {value}"
            for key, value in parameters.items()
        )
        random, plain = f'{{ kind = "{kind}", {about} }}', '"20kB"' if of == "time" else '"300ms"'
        sizes, times = (random, plain) if of == "size" else (plain, random)
        return came(source(f'kind = "sessions", sizes = {sizes}, interconnection = {times}'))

    for parameters in SHAPES[kind]:
        usual = drawn(parameters)
        for key, value in parameters.items():
            other = str(int(value) + 5) if isinstance(value, str) else value * 1.2
            assert drawn({**parameters, key: other}) != usual, (parameters, key)


ELSEWHERE = {
    # What is read from files or played by Python has tests of its own, as has what is only recorded or shown.
    "SourceSpec recorded", "RateTrace", "PlayerAlgorithm python", "Users video", "ClipSizes", "ClipGenerated",
    "ClipSpec", "LinkRate", "Record", "TrafficRecord", "Phase", "Tie", "Goal", "Figure", "Defaults",
    *(f"{of}Distribution {kind}" for of in ("Size", "Time") for kind in SHAPES),
}  # fmt: skip
OTHERS = {
    "Path": {"rtt", "hop"}, "Hop": {"name"}, "SourceSpec sessions": {"preset"},
    "SourceSpec packmime": {"preset"},
    "SourceSpec video": {"trace"}, "Users household": {"name"},
    "Opus": {"dtx", "fec"}, "Users voice": {"opus", "talk-spurts", "score", "precision", "recordings"},
}  # fmt: skip
"""Keys that stand for others, name what nothing is drawn from, or need files."""


def declared() -> dict[str, set[str]]:
    """Return the keys of the schema by what they are of, and of which kind where it has several."""
    schema = json.loads(_core.schema())["$defs"]
    found: dict[str, set[str]] = {}

    def walk(name: str, entry: Any) -> None:
        for word in ("oneOf", "anyOf"):
            for each in entry.get(word, ()):
                if "$ref" not in each:
                    walk(name, each)
        if keys := entry.get("properties", {}):
            kind = keys.get("kind", {}).get("const", "")
            found.setdefault(f"{name} {kind}".strip(), set()).update(set(keys) - {"kind", "sha256"})

    for name, entry in schema.items():
        walk(name, entry)
    return found


def test_every_key_of_the_schema_is_here() -> None:
    here: dict[str, set[str]] = {}
    for (_, of, _), keys in COUNTS.items():
        here.setdefault(of, set()).update(keys)
    missing = {}
    for of, keys in declared().items():
        if of not in ELSEWHERE:
            # Keys of TCP are declared once, for flows and users; hops are crossed by all alike.
            shared = {*TCP, "idle-restart", "over"} if of.startswith("Users") else set()
            if left := keys - here.get(of, set()) - shared - OTHERS.get(of, set()):
                missing[of] = left
    assert not missing and len(here) > 40


if __name__ == "__main__":
    found = {case.id: came(SCENES[case.values[0]], *case.values[1], case.values[2]) for case in cases()}
    FILE.write_text(json.dumps(found, indent=1) + "\n")
