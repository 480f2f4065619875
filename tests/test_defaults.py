"""What a study has where it says nothing: the defaults of the schema, and that the engine takes the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import user
from sojourn import _core

SCHEMA = json.loads(_core.schema())["$defs"]
TCP = {
    "mss": "1448B",
    "initial-window": 10,
    "delayed-ack": True,
    "ack-delay": "40ms",
    "sack": True,
    "timestamps": True,
    "receive-window": "16MB",
    "min-rto": "200ms",
    "idle-restart": True,
    "limited-transmit": True,
}
USERS: dict[str, dict[str, Any]] = {
    "video": {
        "resolution": "sd",
        "profile": "aligned",
        "smoothing": "1s",
        "playout": "1s",
        "every": 5,
        "gap": "1s",
        "count": 1,
        "start-within": "1s",
    },
    "voice": {
        "direction": "both",
        "count": 1,
        "call": "8s",
        "gap": "1s",
        "delay-model": "half_rtt",
        "score": "auto",
        "concealment": "plc",
        "start-within": "1s",
        "playout": {"kind": "adaptive"},
    },
    "web": {
        **TCP,
        "initial-window": 3,
        "objects": ["15KiB", "5939B", "30KiB", "30KiB"],
        "request": "300B",
        "response-header": "300B",
        "count": 1,
        "pause": "1s",
        "plt-min": "560ms",
        "plt-max": "6s",
        "round-trips": 14,
        "transport": "cubic",
        "object-restart": False,
        "start-within": "1s",
    },
    "adaptive": {
        **TCP,
        "algorithm": {"kind": "dynamicdash"},
        "count": 1,
        "clips": ["bbb-x264-4s"],
        "length": "960s",
        "start-anywhere": True,
        "buffer": "60s",
        "initial": "12s",
        "resume": "4s",
        "request": "300B",
        "response-header": "300B",
        "transport": "cubic",
        "start-within": "4s",
    },
    "browser": {
        **TCP,
        "count": 1,
        "pages": 250,
        "page-median": "4058kB",
        "page-sigma": [2.169, 1.727],
        "connections": 6,
        "patience": "15s",
        "dwell-shape": 0.85,
        "dwell-bounds": ["2s", "70s"],
        "request": "300B",
        "response-header": "300B",
        "transport": "cubic",
        "start-within": "1s",
    },
    "gaming": {
        "count": 1,
        "tick-rate": 64,
        "down": "300B",
        "up": "100B",
        "interpolation": 2,
        "start-within": "1s",
    },
    "cloud-gaming": {
        "count": 1,
        "rate": "25Mbit",
        "frame-rate": 60,
        "pixels": [1920, 1080],
        "complexity": "high",
        "interaction": "high",
        "input-rate": 125,
        "patience": "33ms",
        "start-within": "1s",
    },
    "responsiveness": {
        **TCP,
        "count": 1,
        "direction": "down",
        "connections": [1, 1, 16],
        "interval": "1s",
        "averages": 4,
        "tolerance": 0.05,
        "trim": 0.05,
        "probes": 100,
        "probe-share": 0.05,
        "tls": True,
        "length": "20s",
        "pause": "5s",
        "transport": "cubic",
        "start-within": "1s",
    },
    "call": {
        "direction": "both",
        "count": 1,
        "height": 720,
        "fps": 30.0,
        "audio": "32kbit",
        "start-rate": "300kbit",
        "start-within": "1s",
    },
    "page": {
        **TCP,
        "count": 1,
        "http": "2",
        "page": "desktop",
        "hosts": 17,
        "scale": 1.0,
        "request": "300B",
        "response-header": "300B",
        "certificate": "3kB",
        "pause": "5s",
        "patience": "60s",
        "transport": "cubic",
        "start-within": "1s",
    },
}
HOUSEHOLD = {"count": 1, "voice": 1, "call": 1, "web": 1, "gaming": 1, "cloud-gaming": 0, "adaptive": 2}
QUEUES: dict[str, dict[str, Any]] = {
    "fifo": {"drop": "tail"},
    "netem": {"limit": "1000pkt", "delay": "0s"},
    "codel": {
        "limit": "1000pkt",
        "target": "5ms",
        "interval": "100ms",
        "variant": "rfc8289",
        "ecn": False,
        "mtu": "1500B",
    },
    "fq-codel": {
        "limit": "10240pkt",
        "flows": 1024,
        "quantum": "1514B",
        "target": "5ms",
        "interval": "100ms",
        "variant": "linux",
        "ecn": True,
        "drop-batch": 64,
        "ways": 1,
        "hash": "salted",
    },
    "cobalt": {"target": "5ms", "interval": "100ms", "ecn": False},
    "cake": {
        "limit": "10240pkt",
        "flows": 1024,
        "ways": 8,
        "hash": "salted",
        "quantum": "1514B",
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
    },
    "sfq-codel": {"bins": 1024, "quantum": "0B", "target": "5ms", "interval": "100ms", "hash": "salted"},
    "pie": {
        "limit": "1000pkt",
        "variant": "rfc8033",
        "alpha": 0.125,
        "beta": 1.25,
        "cap": True,
        "mark-p": 0.1,
    },
    "fq-pie": {
        "limit": "10240pkt",
        "flows": 1024,
        "quantum": "1514B",
        "variant": "linux",
        "ways": 1,
        "mark-p": 0.1,
    },
    "dualpi2": {
        "limit": "10000pkt",
        "target": "15ms",
        "update": "16ms",
        "alpha": 0.16,
        "beta": 3.2,
        "coupling": 2.0,
        "step": "1ms",
        "min-qlen-step": 1,
        "classic-share": 0.1,
        "mtu": "1514B",
    },
    "red": {
        "variant": "ns2",
        "adaptive": False,
        "target": "5ms",
        "mean-packet": "500B",
        "in-bytes": False,
        "ecn": False,
        "alpha": 0.01,
        "beta": 0.9,
        "interval": "500ms",
        "top": 0.5,
        "feng": False,
        "link-delay": "20ms",
    },
    "policer": {"burst": "15kB"},
    "sfq": {"limit": "127pkt", "flows": 1024, "quantum": "1514B", "hash": "salted"},
}
SOURCES: dict[str, dict[str, Any]] = {
    "sessions": {"closed-loop": False, "parallel": 1},
    "packmime": {"http": "1.0"},
    "video": {"rate": "450kbit", "fps": 24.0, "frames": 1065, "packet": "1064B"},
    "recorded": {"scale": 1.0},
    "chirp": {"bursts": 10, "gap": "1s", "every": "30s"},
    "heartbeat": {"size": "64B", "every": "200ms"},
}
PLAYERS: dict[str, dict[str, Any]] = {
    "gpac": {"sample": "request", "gradual": False, "probes": 1},
    "festive": {
        "p": 0.85,
        "p-mode": "target",
        "alpha": 12.0,
        "warmup": 20,
        "full-target": False,
        "sample": "request",
    },
    "bola-basic": {"gp": 5.0},
    "bola-u": {"gp": 5.0},
    "dynamic": {"gp": 5.0},
    "fixed": {"level": 1},
    "robust-mpc": {
        "horizon": 5,
        "robust": True,
        "stall-penalty": 4.3,
        "switch-penalty": 1.0,
        "sample": "request",
    },
}
PLAIN: dict[str, dict[str, Any]] = {
    "Flows": {**TCP, "count": 1, "start-within": "1s"},
    "Access": {"delay": "0s", "overhead": "0B", "loss": 0.0},
    "LinkSpec": {"overhead": "0B", "loss": 0.0, "rule": "strict"},
    "Hop": {"delay": "0s"},
    "Opus": {"bitrate": "32kbit", "fec": True},
    "TalkSpurts": {"talk": "1.004s", "silence": "1.587s"},
    "LowLatency": {"latency": "3s", "chunk": "500ms", "catch-up": "dash.js"},
    "Record": {"packets": False},
    "Goal": {"confidence": 0.95},
    "ClipGenerated": {"number": 0, "segment-s": 4.0},
}


def stated(name: str, kind: str = "") -> dict[str, Any]:
    """Return the defaults that the schema states of a table, of one kind of several."""

    def tables(entry: Any) -> list[Any]:
        inner = [each for word in ("oneOf", "anyOf") for each in entry.get(word, ()) if "$ref" not in each]
        return [entry, *(found for each in inner for found in tables(each))]

    for entry in tables(SCHEMA[name]):
        keys = entry.get("properties", {})
        if keys and keys.get("kind", {}).get("const", "") == kind:
            return {key: value["default"] for key, value in keys.items() if "default" in value}
    raise KeyError(kind)


@pytest.mark.parametrize(
    ("name", "kind", "known"),
    [
        *(("Users", kind, known) for kind, known in [*USERS.items(), ("household", HOUSEHOLD)]),
        *(("QueueSpec", kind, known) for kind, known in QUEUES.items()),
        *(("SourceSpec", kind, known) for kind, known in SOURCES.items()),
        *(("PlayerAlgorithm", kind, known) for kind, known in PLAYERS.items()),
        *((name, "", known) for name, known in PLAIN.items()),
    ],
)
def test_the_schema_states_the_defaults(name: str, kind: str, known: dict[str, Any]) -> None:
    found = stated(name, kind)
    assert {key: found.get(key) for key in known} == known


@pytest.mark.parametrize("kind", USERS)
def test_the_engine_has_the_defaults_of_the_schema(kind: str) -> None:
    asked = {"voice": {"codec": "g711a"}, "video": {"clips": ["x"]}}.get(kind, {})
    entry = user(kind, **asked)
    for key, value in USERS[kind].items():
        found = entry[key]
        found = {"kind": found} if isinstance(value, dict) and isinstance(found, str) else found
        plain = (
            {name: item for name, item in found.items() if name in value}
            if isinstance(value, dict)
            else found
        )
        assert plain == value, key
