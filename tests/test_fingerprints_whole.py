"""All that a run and a capture give, to the last byte: small scenes with every kind of queue, flow and user.

`test_fingerprints` digests summaries of studies. These are digests of everything: tables of users and flows,
packet logs, series, scores, what `measure`, `losses`, `workload` and `export` make of captures. Numbers that
Python computes count to nine digits. One that moves is a changed result. Written anew:

    python -m tests.test_fingerprints_whole
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn import _core
from sojourn.capture import measure
from sojourn.capture.export import export
from sojourn.capture.workload import read as read_workload
from sojourn.losses import captures
from sojourn.qoe.score import score
from sojourn.study import Point, Study
from sojourn.sweep.simulation import simulate

DATA = Path(__file__).parent / "data"
FILE = DATA / "fingerprints_whole.json"

BASE = """
name = "x"
duration = "20s"
warmup = "4s"
[path]
client-delay = "3ms"
server-delay = "17ms"
down = { rate = "4Mbit" }
up = { rate = "1Mbit" }
queue = { kind = "fifo", limit = "40pkt" }
"""
FLOWS = """
[[flows]]
name = "{name}"
source = {source}
transport = "{transport}"
direction = "{direction}"
count = {count}
{more}
"""
BOTH = [{"transport": "cubic"}, {"transport": "newreno", "direction": "up", "more": "ecn = true"}]


def flows(*groups: dict[str, Any]) -> str:
    usual = {"source": '{ kind = "bulk" }', "transport": "cubic", "direction": "down", "count": 1, "more": ""}
    return "".join(FLOWS.format(**{**usual, "name": f"g{i}", **group}) for i, group in enumerate(groups))


def queue(about: str) -> str:
    return BASE.replace('{ kind = "fifo", limit = "40pkt" }', f"{{ {about} }}") + flows(*BOTH)


def source(about: str, **more: Any) -> str:
    return BASE + flows({"source": f"{{ {about} }}", **more}, {"direction": "up"})


def transport(name: str, more: str = "") -> str:
    return BASE + flows({"transport": name, "count": 2, "more": more}, {"transport": name, "direction": "up"})


def users(about: str) -> str:
    return BASE + flows({"more": 'start = "1s"'}) + f"[[users]]\n{about}\n"


QUEUES = [
    'kind = "fifo", limit = "30kB", drop = "head"', 'kind = "netem", delay = "9ms"',
    'kind = "fq-codel", ce-threshold = "3ms"', 'kind = "cake", flows = 8', 'kind = "sfq", flows = 16',
    'kind = "cobalt", limit = "90pkt", ecn = true, blue-threshold = "60ms"',
    'kind = "sfq-codel", limit = "90pkt", bins = 4', 'kind = "policer", rate = "2Mbit", limit = "40pkt"',
    'kind = "dualpi2"', 'kind = "fq-pie", ecn = true', 'kind = "pie", in-packets = true, by-size = true',
    *(f'kind = "codel", ecn = true, variant = "{name}"' for name in ("rfc8289", "linux", "ns3")),
    *(f'kind = "codel", variant = "{name}"' for name in ("ns2_2013", "ns2_2012", "acmq2012")),
    *(f'kind = "pie", ecn = true, variant = "{name}"' for name in ("rfc8033", "linux", "ns2_authors")),
    'kind = "red", limit = "60pkt", min = 5, max = 15, ecn = true',
    'kind = "red", limit = "60pkt", adaptive = true',
    'kind = "red", limit = "60pkt", variant = "paper", min = 5, max = 15',
]  # fmt: skip
SOURCES = [
    ('kind = "bulk", size = "200kB"', {"count": 4, "more": 'start-within = "3s"'}),
    ('kind = "sessions", preset = "imc14"', {"count": 9}),
    ('kind = "cbr", rate = "900kbit", size = "300B"', {"transport": "udp", "more": 'stop = "5s"'}),
    ('kind = "poisson", rate = "900kbit", size = "300B"', {"transport": "udp"}),
    ('kind = "packmime", rate = 30, http = "1.1"', {}),
    ('kind = "video", rate = "900kbit"', {"transport": "udp"}),
    ('kind = "chirp", bursts = 4, gap = "200ms", every = "3s"', {}),
    ('kind = "heartbeat"', {"direction": "up"}),
    ('kind = "on-off", rate = "1Mbit", size = "500B", on = "200ms", off = "100ms"', {"transport": "udp"}),
]  # fmt: skip
TRANSPORTS = [
    "reno", "newreno", "cubic", "cubic-rfc9438", "bic", "compound", "ledbat", "ledbat++", "cubic-ns2",
    "compound-ns2", "ledbat-ns2", "utp", "bbr", "bbr3", "dctcp", "prague",
]  # fmt: skip
VOICE = 'kind = "voice"\ncall = "3s"\nscore = "emodel"\n'
USERS = [
    'kind = "web"\ncount = 2', 'kind = "browser"\ncount = 2\npage-median = "200kB"', 'kind = "gaming"',
    'kind = "cloud-gaming"\nrate = "2Mbit"', 'kind = "call"\nheight = 360', 'kind = "page"\nscale = 0.1',
    'kind = "page"\nscale = 0.1\nhttp = "1.1"', 'kind = "page"\nscale = 0.1\nhttp = "3"\npage = "mobile"',
    'kind = "responsiveness"\nlength = "5s"', VOICE + 'codec = "g711a"',
    VOICE + 'codec = "g729a"\ntalk-spurts = {}',
    VOICE + 'codec = "opus"\nplayout = { kind = "fixed", delay = "60ms" }',
]  # fmt: skip
PLAYERS = [
    "gpac", "bba0", "bba1", "bba2", "bba-others", "bola", "bola-e", "dash.js", "dynamic", "dynamicdash",
    "festive", "fixed", "hls.js", "robust-mpc", "shaka", "throughput",
]  # fmt: skip
HOPS = (
    BASE.split("down =")[0]
    + """
queue = { kind = "codel" }
[[path.hop]]
name = "a"
delay = "4ms"
down = { rate = "4Mbit", loss = 0.01 }
up = { rate = "1Mbit" }
[[path.hop]]
name = "b"
down = { rate = "3Mbit", overhead = "30B" }
up = { rate = "2Mbit" }
"""
)
STEPS = '{ steps = [["0s", "4Mbit"], ["3s", "1Mbit"]], repeat = "4s" }'
DRAWN = '{ choose = ["500kbit", "1Mbit"], every = ["200ms", "900ms"] }'
FAR = 'rtt = "90ms"\naccess = { rate = "2Mbit", delay = "5ms", queue = { kind = "fifo", limit = "9pkt" } }'
OTHERS = {
    "hops": HOPS + flows({"more": 'over = ["a"]'}, {"more": 'over = ["b"]', "direction": "up"}, {}),
    "rates": BASE.replace('"1Mbit"', DRAWN).replace('"4Mbit"', STEPS) + flows(*BOTH),
    "htb": BASE.replace('rate = "4Mbit"', 'rate = "4Mbit", rule = "htb", burst = "9kB"') + flows(*BOTH),
    "access": BASE + flows({"more": FAR, "count": 2}, {}),
    "stacks": BASE + flows({"more": 'stack = "linux"'}, {"more": "sack = false\ntimestamps = false"}),
    "acks": BASE + flows({"more": 'delayed-ack = false\nmss = "536B"'}, {"more": "initial-window = 2"}),
    "ecn": BASE.replace('"fifo", limit = "40pkt"', '"dualpi2"')
    + flows({"transport": "prague", "more": "ecn = true"}, {"more": "ecn = true", "direction": "up"}),
    "live": users('kind = "adaptive"\nlength = "20s"\nlive = { latency = "3s" }'),
}  # fmt: skip


def scenes() -> dict[str, str]:
    """Return the study of every scene, by a word."""
    made = {f"queue: {about}": queue(about) for about in QUEUES}
    made |= {f"source: {about}": source(about, **more) for about, more in SOURCES}
    upwards = ((about, more) for about, more in SOURCES if "direction" not in more)
    made |= {f"source, up: {about}": source(about, direction="up", **more) for about, more in upwards}
    made |= {f"transport: {name}": transport(name) for name in TRANSPORTS}
    made |= {f"users: {about}": users(about) for about in USERS}
    for name in PLAYERS:
        viewers = f'kind = "adaptive"\nalgorithm = "{name}"\nlength = "40s"\ncount = 2'
        made[f"player: {name}"] = users(viewers).replace('"20s"', '"40s"')
    return made | OTHERS


def parts(found: Any) -> Iterator[bytes]:
    """Iterate over all that something holds, as bytes: names, numbers to the last digit, arrays."""
    if isinstance(found, Mapping):
        for key in sorted(found):
            yield str(key).encode()
            yield from parts(found[key])
    elif isinstance(found, np.ndarray):
        yield str(found.dtype).encode() + found.tobytes()
    elif isinstance(found, list | tuple):
        yield b"["
        for each in found:
            yield from parts(each)
    elif isinstance(found, float):
        yield format(found, ".9g").encode()
    else:
        yield json.dumps(found).encode()


def digest(*found: Any) -> str:
    made = hashlib.sha256()
    for part in parts(found):
        made.update(part + b"\0")
    return made.hexdigest()[:24]


def of_scene(text: str) -> str:
    """Digest a run: its summary, its tables, its packet log and its scores."""
    record = "[record]\npackets = true\nflows = true\nseries = true\n"
    document = _core.parse(text + record, "x.toml", [], [])
    (point,) = Study(document, "x.toml", (), Path()).points
    return digest(*scored(point))


def scored(point: Point) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Run a point; return its summary, its tables with the packet log, and its scores."""
    ran = _core.run(point.text, log=True)
    summary = json.loads(ran.pop("summary"))
    summary.pop("engine")
    tables = {name: dict(table) if isinstance(table, Mapping) else table for name, table in ran.items()}
    return summary, tables, score(point.document, ran, summary["links"])


def of_export(text: str, at: str) -> str:
    """Digest a run as a capture, what `measure` makes of it, and its connections as turns."""
    (point,) = Study(_core.parse(text, "x.toml", [], []), "x.toml", (), Path()).points
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "x.pcapng"
        truth = export(point, capture, at)
        found = read_workload([capture])
        rows = [capture.read_bytes().hex(), truth.write_json(), found.connections.write_json(), found.notes]
        return digest(rows, found.busy, found.length_ns, of_measure(capture))


def of_measure(capture: Path) -> str:
    """Digest what `measure` makes of a capture: the summary, each flow, each sample."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "s.csv"
        found = measure([capture], samples=file, uncertainty=True, min_samples=1, flows=True)
        return digest(found, file.read_text())


def of_losses() -> str:
    """Digest what two captures of one queue tell."""
    place = DATA / "loss_small_pfifo"
    with tempfile.NamedTemporaryFile(suffix=".parquet") as packets:
        both = [place / f"{end}gress.pcap.gz" for end in ("in", "e")]
        found = captures.compare(*both, packets, rate_bps=10e6)
        return digest(found, pl.read_parquet(packets.name).write_json())


def of_analyses(text: str) -> str:
    """Digest what is made of a run's packet log: losses, traffic, tables of connections and samples."""
    record = (
        '[record]\nlosses = ["down", "up"]\nflows = true\nseries = true\ntraffic = { links = ["down"] }\n'
    )
    (point,) = Study(_core.parse(text + record, "x.toml", [], []), "x.toml", (), Path()).points
    with tempfile.NamedTemporaryFile(suffix=".parquet") as packets:
        result, tables, _ = simulate(point, packets)
        result.pop("engine")
        return digest(result, {name: table.to_dict(as_series=False) for name, table in tables.items()})


CAPTURES = sorted(
    file.relative_to(DATA).as_posix()
    for place in ("passive", "directions")
    for file in (DATA / place).glob("*.pcap*.gz")
)
EXPORTS = {
    "tcp at clients": (BASE + flows(*BOTH), "clients"), "tcp at servers": (BASE + flows(*BOTH), "servers"),
    "utp": (transport("utp"), "clients"),
    "sessions": (source('kind = "sessions", preset = "imc14"'), "servers"),
    "voice": (users('kind = "voice"\ncodec = "g711a"'), "clients"), "hops": (OTHERS["hops"], "b"),
    "linux": (OTHERS["stacks"], "clients"), "web": (users('kind = "web"'), "servers"),
}  # fmt: skip

ANALYSES = {
    "fifo": BASE + flows({"count": 3}, {"direction": "up"}),
    "codel": queue('kind = "codel", ecn = true'),
    "sessions": source('kind = "sessions", preset = "imc14"', count=9),
    "datagrams": source('kind = "poisson", rate = "3Mbit", size = "300B"', transport="udp", count=2),
    "calls": users('kind = "voice"\ncodec = "g711a"\ncall = "3s"\nscore = "emodel"'),
}


def every() -> dict[str, Callable[[], str]]:
    """Return what is digested, by its name."""
    made: dict[str, Callable[[], str]] = {name: partial(of_scene, text) for name, text in scenes().items()}
    made |= {f"capture: {name}": partial(of_measure, DATA / name) for name in CAPTURES}
    made |= {f"export: {name}": partial(of_export, *about) for name, about in EXPORTS.items()}
    made |= {f"analyses: {name}": partial(of_analyses, text) for name, text in ANALYSES.items()}
    return {**made, "two captures": of_losses}


@pytest.mark.parametrize("name", every())
def test_everything_is_the_same_bytes(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(known) == set(every())
    assert every()[name]() == known[name], f"what comes of {name} has changed"


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in every().items()}, indent=1) + "\n")
