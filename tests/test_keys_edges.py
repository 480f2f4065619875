"""What each key of a study takes, up to its edges, and what is refused just beyond them, by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sojourn import _core
from test_keys_count import LOSS, SCENES

PACKET = (["1B", "65535B"], ["0B", "65536B"])
COUNT = ([1, 100_000], [0, 100_001])
GAIN = ([0.0, 9.0], [-0.1])
SHARE = ([0.0, 1.0], [-0.01, 1.01])
TIME = (["1ns"], ["0s"])
LINES = ([1, 65_536], [0, 65_537])
QUANTUM = (["64B"], ["63B"])
INTERVAL = (["2048ns"], ["2047ns"])
DATAGRAM = (["29B", "65535B"], ["28B", "65536B"])
BYTE = (["1B"], ["0B"])
UPDATE = (["1us"], ["999ns"])
TCP: dict[str, Any] = {
    "mss": (["64B", "64kB"], ["63B", "64001B"]), "initial-window": ([1, 100], [0, 101]),
    "receive-window": (["1448B"], ["1447B"]),
    "receive-buffer": (["1B", "2147483647B"], ["0B", "2147483648B"]),
    "min-rto": TIME, "initial-rto": TIME, "ledbat-target": TIME,
    "ledbat-gain": ([0.001, 1000], [0, 1000.1]), "count": COUNT,
}  # fmt: skip
PIE = {"mean-packet": PACKET, "alpha": GAIN, "beta": GAIN, "rate-weight": SHARE, "mark-p": SHARE,
       "target": TIME, "update": UPDATE}  # fmt: skip
CODEL = {"interval": INTERVAL}
FLOWS = {"flows": LINES, "quantum": QUANTUM}
EDGES: dict[tuple[str, str], dict[str, tuple[list[Any], list[Any]]]] = {
    ("path", "path.down"): {"loss": ([0.0, 0.999], [-0.1, 1.0]), "burst": ([], ["9kB"])},
    ("path", "flows.0"): {
        **TCP, "stop": (["1001ms"], ["1s"]), "transport": (["reno"], ["udp"]),
        "rtt": (["0s"], [])},
    ("cbr", "flows.0"): {"transport": (["udp"], ["cubic"]), "stop": (["2s"], ["1s"])},
    ("sessions", "flows.0"): {"start": ([], ["1s"]), "stop": ([], ["9s"])},
    ("sessions", "flows.0.source"): {"parallel": COUNT},
    ("path", "flows.0.source"): {"size": BYTE},
    ("cbr", "flows.0.source"): {"size": DATAGRAM}, ("poisson", "flows.0.source"): {"size": DATAGRAM},
    ("on-off", "flows.0.source"): {"size": DATAGRAM},
    ("packmime", "flows.0.source"): {"rate": ([0.01, 100_000], [0.009, 100_001]), "response-mean": BYTE},
    ("video", "flows.0.source"): {
        "fps": ([1.0, 1000.0], [0.9, 1000.1]), "frames": ([1, 1_000_000], [0, 1_000_001]),
        "packet": (["41B", "65535B"], ["40B", "65536B"])},
    # Three bursts 200 ms apart.
    ("chirp", "flows.0.source"): {"bursts": ([1, 15], [0, 25]), "every": (["600ms"], ["599ms"])},
    ("heartbeat", "flows.0.source"): {"every": (["1us"], ["999ns"]), "size": (["1B"], [])},
    ("steps", "path.down.rate"): {
        "repeat": (["3001ms"], ["3s"]),
        "steps": (['[["0s", "1Mbit"]]'], ['[["1s", "1Mbit"]]', '[["0s", "1Mbit"], ["0s", "2Mbit"]]', "[]"])},
    ("drawn", "path.down.rate"): {
        "choose": (['["1Mbit"]'], ["[]"]),
        "every": (['["9ms", "9ms"]'], ['["9ms", "8ms"]', '["0s", "1ms"]'])},
    ("codel", "path.queue"): {
        **CODEL, "mtu": PACKET, "ce-threshold": ([], ["1ms"]), "l4s": ([], ["true"]), "ecn": ([True], [])},
    ("fq-codel", "path.queue"): {
        **CODEL, **FLOWS, "mtu": PACKET, "drop-batch": ([1], [0]), "ways": ([8], [0, 3])},
    ("cobalt", "path.queue"): CODEL,
    ("cake", "path.queue"): {**CODEL, "quantum": QUANTUM, "ways": ([16], [0, 3])},
    ("sfq-codel", "path.queue"): {**CODEL, "bins": LINES, "quantum": (["0B", "64B"], ["1B", "63B"])},
    ("sfq", "path.queue"): FLOWS,
    ("pie", "path.queue"): PIE, ("fq-pie", "path.queue"): {**PIE, **FLOWS},
    ("dualpi2", "path.queue"): {
        "target": TIME, "update": UPDATE, "alpha": GAIN, "beta": GAIN, "coupling": GAIN,
        "classic-share": SHARE, "mtu": PACKET},
    ("red", "path.queue"): {
        "max-p": ([0.001, 1.0], [0.0, 1.01]), "min": ([0.5], [0.0]), "max": ([], [9]), "mean-packet": PACKET,
        "target": TIME, "interval": TIME},
    ("policer", "path.queue"): {"burst": BYTE},
    ("voice", "users.0"): {
        "count": COUNT, "call": (["20ms", "1310700ms"], ["19ms", "1310701ms"]),
        "precision": ([0.01, 1.0], [0.009, 1.01]), "opus": ([], ["{}"]), "talk-spurts": ([], ["{}"])},
    ("opus", "users.0"): {"opus.bitrate": (["6kbit", "510kbit"], ["5999bit", "510001bit"]),
                          "concealment": (["zero"], ["repeat"])},
    ("talk", "users.0"): {"talk-spurts.talk": (["20ms"], ["19ms"])},
    ("web", "users.0"): {
        **TCP, "transport": (["reno"], ["udp"]), "objects": (['["1B"]'], ["[]", '["0B"]']), "request": BYTE,
        "round-trips": COUNT, "plt-min": (["1ns", "5999ms"], ["0s", "6s"])},
    ("browser", "users.0"): {
        "count": ([0, 100_000], [100_001]), "pages": COUNT, "transport": (["reno"], ["udp"]),
        "connections": ([1, 100], [0, 101]), "request": BYTE, "objects": (['["1B"]'], ["[]", '["9B", "0B"]']),
        "patience": TIME, "page-sigma": (["[0.1, 99.0]"], ["[0.0, 1.0]", "[1.0, 100.0]"]),
        "dwell-shape": ([0.1, 99.0], [0.0, 100.0]), "dwell-scales": (['["1ns"]'], ["[]", '["1s", "0s"]']),
        "dwell-bounds": (['["1s", "1001ms"]'], ['["1s", "1s"]'])},
    ("adaptive", "users.0"): {
        "count": ([0, 100_000], [100_001]), "transport": (["reno"], ["udp"]), "request": BYTE,
        # Segments of 4 s.
        "clips": ([], ["[]"]), "buffer": (["8s"], ["7999ms"]),
        "length": (["4s", "400000s"], ["3999ms", "400001s"])},
    ("live", "users.0"): {
        "live.chunk": (["10ms", "3s"], ["9ms"]), "live.latency": (["500ms"], ["499ms"]),
        "live.rates": (["[0.5, 1.0]", "[1.0, 2.0]"], [
            "[0.49, 1.0]", "[1.01, 1.1]", "[1.0, 2.1]", "[0.9, 0.99]"]),
        "live.seek": TIME, "give-up": ([], [True]), "initial": ([], ["3s"]), "resume": ([], ["3s"])},
    ("responsiveness", "users.0"): {
        "count": COUNT, "transport": (["reno"], ["udp"]), "averages": ([1, 5], [0, 101]), "probes": COUNT,
        "connections": (["[1, 0, 1]", "[1, 1000, 1000]"], [
            "[0, 1, 9]", "[2, 1, 1]", "[1, 1, 1001]", "[1, 9, 8]"]),
        "tolerance": ([0.0, 0.99], [-0.1, 1.0]), "trim": ([0.0, 0.99], [1.0]),
        "probe-share": ([0.01], [0.0, 1.0]),
        "interval": (["10ms"], ["9ms"]), "length": (["4s"], ["3999ms"])},
    ("page", "users.0"): {
        "count": COUNT, "transport": (["reno"], ["udp"]), "hosts": ([1, 200], [0, 201]),
        "scale": ([0.01, 100.0], [0.009, 100.1]), "request": (["1B", "100kB"], ["0B", "100001B"]),
        "certificate": (["100B", "100kB"], ["99B", "100001B"]), "patience": TIME},
    ("call", "users.0"): {
        "count": COUNT, "height": ([90, 4320], [89, 4321]), "fps": ([1.0, 60.0], [0.9, 60.1]),
        "max-rate": (["30kbit", "100Mbit"], ["29999bit", "100001kbit"]), "audio": (["512kbit"], ["513kbit"]),
        "start-rate": (["5kbit", "100Mbit"], ["4999bit", "100001kbit"])},
    ("gaming", "users.0"): {
        "count": COUNT, "tick-rate": ([1, 1000], [0, 1001]), "down": (["29B", "1500B"], ["28B", "1501B"]),
        "up": (["29B", "1500B"], ["28B", "1501B"])},
    ("cloud-gaming", "users.0"): {
        "count": COUNT, "frame-rate": ([1, 1000], [0, 1001]), "input-rate": ([1, 1000], [0, 1001]),
        "rate": (["100kbit", "1Gbit"], ["99999bit", "1000001kbit"]),
        "pixels": (["[1, 1]"], ["[0, 9]", "[9, 0]"])},
    ("household", "users.0"): {"count": ([1, 50_000], [0, 100_001]), "voice": ([0], [100_001])},
}  # fmt: skip


def cases(*, fits: bool) -> Iterator[Any]:
    for (scene, place), keys in EDGES.items():
        for key, (taken, refused) in keys.items():
            for value in taken if fits else refused:
                text = value if isinstance(value, str) else json.dumps(value)
                yield pytest.param(scene, f"{place}.{key}", text, id=f"{scene} {key} {text}")


def parse(scene: str, *sets: tuple[str, str]) -> None:
    _core.parse(SCENES[scene], "x.toml", list(sets), [])


@pytest.mark.parametrize(("scene", "key", "value"), list(cases(fits=True)))
def test_a_key_takes_all_up_to_its_edges(scene: str, key: str, value: str) -> None:
    parse(scene, (key, value))


@pytest.mark.parametrize(("scene", "key", "value"), list(cases(fits=False)))
def test_what_is_beyond_is_refused_by_the_key_s_name(scene: str, key: str, value: str) -> None:
    with pytest.raises(_core.StudyError) as error:
        parse(scene, (key, value))
    said = str(error.value)
    assert said.startswith(f"x.toml: --set {key}=") and "\n" not in said, said
    named = said.removeprefix(f"x.toml: --set {key}={value}: ").partition(": ")[0]
    assert key.rpartition(".")[2] in named, said


@pytest.mark.parametrize(
    ("scene", "sets", "said"),
    [
        ("path", [("flows.0.recovery", "rack-tlp"), ("flows.0.sack", "false")], "rack-tlp needs sack = true"),
        ("heartbeat", [("flows.0.source.size", "0B")], "a heartbeat has at least one byte"),
        *(
            ("path", [("flows.0.transport", name), ("flows.0.timestamps", "false")], "delay by timestamps")
            for name in ("ledbat", "ledbat-ns2", "utp")
        ),
        (
            "red",
            [("path.queue.weight", "0.1"), ("path.queue.averaging", "ten-rtts")],
            "give one or the other",
        ),
        ("red", [("path.queue.adaptive", "true"), ("path.queue.feng", "true")], "give one or the other"),
        ("red", [("path.queue.forced", "true"), ("path.queue.mark-p", "0.1")], "where drops are forced"),
        ("codel", [("path.queue.variant", "ns2_2013"), ("path.queue.ecn", "true")], "cannot mark"),
        ("page", [("users.0.http", '"3"'), ("users.0.transport", "bbr")], "HTTP/3 goes by windows"),
        ("path", [("path.down.rate", "unlimited"), ("path.queue.limit", "9ms")], "needs a rate"),
        ("hops", [("path.hop.a.delay", "9ms"), ("flows.0.rtt", "17ms")], "17ms is less than the delays"),
        ("hops", [("path.hop.a.name", "b")], 'two hops are named "b"'),
        ("hops", [("path.hop.a.name", '"1"')], "is not the name of a hop"),
        ("hops", [("path.hop.a.name", "x" * 51)], "is not the name of a hop"),
        (
            "household",
            [(f"users.0.{kind}", "0") for kind in ("voice", "call", "web", "gaming", "adaptive")],
            "a household without people",
        ),
    ],
)
def test_what_does_not_go_together_is_said(scene: str, sets: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(_core.StudyError) as error:
        parse(scene, *sets)
    assert said in str(error.value)


def test_keys_that_do_go_together_are_taken() -> None:
    parse("path", ("flows.0.transport", "ledbat++"), ("flows.0.timestamps", "false"))
    parse("red", ("path.queue.min", "9"), ("path.queue.max", "9.5"))
    parse("hops", ("path.hop.a.delay", "9ms"), ("flows.0.rtt", "18ms"))
    parse("hops", ("path.hop.a.name", "x" * 50))
    parse("path", ("path.down.rate", "unlimited"), ("path.queue.limit", "9pkt"))
    parse("fq-codel", ("path.queue.flows", "9"), ("path.queue.ways", "3"))
    parse("path", LOSS)


@pytest.mark.parametrize(
    ("before", "after", "line"), [("", 'mss = "9B"\n', 12), ('[defaults.flows]\nmss = "9B"\n', "", 9)]
)
def test_what_is_pointed_at_is_the_value_where_it_stands(before: str, after: str, line: int) -> None:
    path = 'name = "x"\nduration = "9s"\n[path]\nrtt = "40ms"\ndown = { rate = "4Mbit" }\n'
    queue = 'up = { rate = "1Mbit" }\n'
    queue += 'queue = { kind = "fifo", limit = "9pkt" }\n'
    flows = '[[flows]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
    with pytest.raises(_core.StudyError) as error:
        _core.parse(path + queue + before + flows + after, "x.toml", [], [])
    said = str(error.value).splitlines()
    assert said[0].startswith(f"x.toml:{line}:7: flows.0.mss: 9B is not a segment size")
    assert said[-2].endswith('mss = "9B"') and said[-1].endswith("|       ^^^^")


PATH = 'name = "x"\nduration = "9s"\n[path]\nrtt = "50ms"\nqueue = { kind = "codel", limit = "9pkt" }\n'
RATES = 'down.rate = "2Mbit"\nup.rate = "1Mbit"\n'


@pytest.mark.parametrize(
    ("more", "place", "where"),
    [
        (RATES + '[sweep]\n"path.down.loss" = [0.1, nan]\n', "9:26", "sweep.path.down.loss.1"),
        (RATES + '[sweep]\n"path.down.loss" = [inf]\n', "9:21", "path.down.loss"),
        (RATES + '[[users]]\nkind = "web"\n[[users]]\nkind = "web"\ncount = nan\n', "12:9", "users.1.count"),
        (RATES + "down.loss = nan\n", "8:13", "path.down.loss"),
    ],
)
def test_a_number_that_is_none_is_shown_in_its_place(more: str, place: str, where: str) -> None:
    with pytest.raises(_core.StudyError) as refused:
        _core.parse(PATH + more, "x.toml", [], [])
    said, *shown = str(refused.value).splitlines()
    assert said == f"x.toml:{place}: {where}: is not a finite number"
    line, column = map(int, place.split(":"))
    assert shown[1].startswith(f"{line}") and shown[2].index("^") - shown[1].index("|") - 1 == column


@pytest.mark.parametrize(("way", "other"), [("down", "up"), ("up", "down")])
def test_a_link_takes_what_its_queue_does_not_say_from_the_path_s(way: str, other: str) -> None:
    def path_of(text: str) -> Any:
        (point,) = _core.points(_core.parse(text, "x.toml", [], []))
        return json.loads(point)["document"]["path"]

    own = f'{way} = {{ rate = "1Mbit", queue.target = "7ms" }}\n{other}.rate = "2Mbit"\n'
    hop = f'[[path.hop]]\nname = "a"\n{RATES}[[path.hop]]\nname = "b"\n{own}'
    for path in (path_of(PATH + own), path_of(PATH + hop)["hop"][1]):
        found = {name: path[name]["queue"] for name in (way, other)}
        assert [found[way][key] for key in ("kind", "limit", "target")] == ["codel", "9pkt", "7ms"]
        assert [found[other][key] for key in ("kind", "limit", "target")] == ["codel", "9pkt", "5ms"]
