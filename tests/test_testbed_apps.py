"""Users of the testbed: their programs at the host's own address, and a few seconds over the emulator."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import socket
import struct
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import between_real_programs
from sojourn import _core
from sojourn.qoe.score import score
from sojourn.study import Point, Study
from sojourn.sweep import testbed
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import USERS
from sojourn.sweep.testbed.plan import refused
from sojourn.sweep.testbed.program import Left

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.http11.client import Connection, HttpError, open_connection
from programs.http11.kernel import Told, Watched, look
from programs.http11.server import Server, header

PATH = """
name = "s"
duration = "4s"
warmup = "1s"
[path]
rtt = "20ms"
down = { rate = "20Mbit", queue = { kind = "fifo", limit = "100pkt" } }
up = { rate = "20Mbit", queue = { kind = "fifo", limit = "100pkt" } }
"""
WEB = '[[users]]\nkind = "web"\ntransport = "reno"\nstart-within = "0s"\npause = "200ms"\nstack = "linux"\n'
FLOWS = (
    '[[flows]]\nsource = { kind = "bulk", size = "400kB" }\ntransport = "utp"\ndirection = "up"\ncount = 2\n'
)
VIEWERS = (
    '[[users]]\nkind = "adaptive"\nalgorithm = "bba2"\ncount = 2\nstack = "linux"\nstart-within = "1s"\n'
)


def point(text: str, duration: str = "4s") -> Point:
    """Return the only point of a study."""
    document = _core.parse(PATH.replace("4s", duration) + text, "s.toml", [], [])
    (found,) = Study(document, "s.toml", (), Path()).select({})
    return found


def place(text: str) -> Place:
    return Place(point(text), "users", 0)


def test_headers_are_as_long_as_they_are_said_to_be() -> None:
    for length in (60, 61, 100, 1234):
        made = header(b"GET / HTTP/1.1\r\n", length)
        assert len(made) == length and made.endswith(b"\r\n\r\n") and made.count(b"\r\n\r\n") == 1
    with pytest.raises(ValueError, match="expected at least 28"):
        header(b"GET / HTTP/1.1\r\n", 27)


def fetched(sizes: list[int], request: int, answer: int) -> tuple[list[int], int, list[dict[str, Any]]]:
    """Fetch over one connection; return bytes of bodies, those of all requests, and what the server left."""

    async def main() -> tuple[list[int], int, list[dict[str, Any]]]:
        serving, listening = Server(answer), socket.create_server(("127.0.0.1", 0))
        served = await serving.begin(listening)
        at = listening.getsockname()
        connection = await open_connection(socket.socket(), at, request)
        came = []
        for size in sizes:
            counts = [count async for count in connection.get(size)]
            assert counts[0] == 0 and counts == sorted(counts)
            came.append(counts[-1])
        info = connection.writer.get_extra_info("socket").getsockopt(6, socket.TCP_INFO, 256)
        sent, taken = struct.unpack_from("=Q", info, 200)[0], struct.unpack_from("=Q", info, 128)[0]
        assert taken == len(sizes) * answer + sum(sizes)
        connection.close()
        while not serving.connections:
            await asyncio.sleep(0.01)
        served.close()
        return came, sent, serving.connections

    return asyncio.run(main())


def test_a_page_comes_whole_and_with_headers_of_the_studys_length() -> None:
    came, sent, left = fetched([15360, 1, 600_000, 0], 300, 250)
    assert came == [15360, 1, 600_000, 0]
    assert sent == 4 * 300
    assert len(left) == 1  # on a busy machine something may be sent again, even here
    assert left[0]["rtt_ns"] > 0


def test_what_is_no_answer_is_said() -> None:
    async def main() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

        class Writer:
            def write(self, _: bytes) -> None:
                pass

        with pytest.raises(HttpError, match=r"asked for 7 bytes and got b'HTTP/1\.1 404"):
            async for _ in Connection(1, 300, Watched(), reader, Writer()).get(7):  # type: ignore[arg-type]
                pass

    asyncio.run(main())


def test_waits_for_repairs_are_from_sending_to_sending_again_and_count_once() -> None:
    watched = Watched()
    ms = 1_000_000
    for now, rtt, again, acked, sent in (
        (0, 50, 0, 0, 1000),
        (10, 50, 0, 0, 2000),
        (60, 52, 0, 1000, 3000),
        # Byte 1000 was on its way at 10 ms.
        (80, 52, 1, 1000, 3000),
        # Byte 1000 again: from the repair before on.
        (100, 60, 2, 1000, 3000),
        (130, 60, 2, 3000, 3000),
    ):
        watched.note(now * ms, Told(rtt * ms, again, acked, sent))
    assert watched.retransmits == 2
    assert watched.repair_ns == (70 + 20) * ms
    assert watched.rtt_ns == 54 * ms


def test_syns_that_were_sent_again_count_once_with_their_waits() -> None:
    info = bytearray(216)
    connection: Any = SimpleNamespace(getsockopt=lambda *_: bytes(info))
    # The first is waited for a second, each further one twice as long; 63 s are the most.
    for again, waited_s in ((0, 0), (1, 1), (2, 3), (6, 63), (7, 63)):
        struct.pack_into("=I", info, 100, again)
        watched = Watched()
        watched.opened(connection)
        assert (watched.retransmits, watched.repair_ns) == (again, waited_s * 10**9)
        watched.note(10**9, look(connection))
        assert (watched.retransmits, watched.repair_ns) == (again, waited_s * 10**9)
    info = info[:100]
    watched = Watched()
    watched.opened(connection)
    assert (watched.retransmits, watched.repair_ns) == (0, 0), "a connection that is gone tells nothing"


@pytest.mark.parametrize(
    ("users", "sentence"),
    [
        (WEB.replace("reno", "newreno"), "users.0.transport: 'newreno' has no real counterpart"),
        (WEB + "object-restart = true\n", "users.0.object-restart: no kernel can be told"),
        (WEB + "request = '60B'\n", "users.0.request: 60 B is shorter than a header of HTTP"),
        (VIEWERS + "response-header = '40B'\n", "users.0.response-header: 40 B is shorter"),
        (VIEWERS + "transport = 'compound'\n", "users.0.transport: 'compound' has no real counterpart"),
    ],
)
def test_what_cannot_be_done_is_refused(users: str, sentence: str) -> None:
    why = refused(point(users))
    assert why is not None and why.replace("60B", "60 B").replace("40B", "40 B").startswith(sentence), why


def test_loads_are_gathered_with_what_the_server_saw(tmp_path: Path) -> None:
    load = {"user": 0, "plt_ns": 5, "complete": True, "retransmits": 1, "repair_ns": 10**9}
    client = {
        "loads": [
            {**load, "start_ns": 999_999_999, "port": 7},
            {**load, "start_ns": 1_000_000_000, "port": 7},
            {**load, "start_ns": 2_000_000_000, "port": 8, "complete": False, "failed": "timed out"},
        ]
    }
    seen = {"rtt_ns": 3, "repair_ns": 20, "retransmits": 2}
    server = {"connections": [{**seen, "port": 7}, {**seen, "port": 7, "rtt_ns": 4}]}
    found = USERS["web"].gather(place(WEB), [Left(client, server, tmp_path)])
    web = {name: column.tolist() for name, column in found.tables["web"].items()}
    assert web["start_ns"] == [1_000_000_000, 2_000_000_000]
    assert web["rtt_ns"] == [4, 0]
    assert web["repair_ns"] == [10**9 + 20, 10**9]
    assert web["retransmits"] == [3, 1]
    assert web["complete"] == [True, False]
    assert found.notes == ["1 page loads failed, at first: timed out"]
    assert USERS["web"].gather(place(WEB), [Left({"loads": []}, server, tmp_path)]).tables == {}


@pytest.mark.real_time
def test_pages_segments_and_torrents_come_over_the_emulator() -> None:
    """The results have the keys of the simulation; loads are as on an empty path."""
    torrents = FLOWS if importlib.util.find_spec("libtorrent") else ""
    users = torrents + WEB + VIEWERS + "length = '8s'\n"

    def enough(real: dict[str, Any]) -> bool:
        web = real.get("web", {"loads": 0})
        # A busy machine adds to a load: once more, as for a bed that did not hold.
        return web["loads"] >= 3 and web["rtt_dominated"] == 1.0 and real["adaptive"]["finished"] == 2

    real = between_real_programs(lambda duration: point(users, duration), ("4s", "4s", "12s", "36s"), enough)
    found = point(users)
    ran = _core.run(found.text)
    simulated = score(found.document, ran, json.loads(ran["summary"])["links"])
    assert sorted(real["web"]) == sorted(simulated["web"])
    assert real["web"]["loads"] >= 3
    assert real["web"]["rtt_dominated"] == 1.0 or not real["engine"]["verdict"]["held"]
    assert sorted(real["adaptive"]) == sorted(simulated["adaptive"])
    levels = [client["segments"]["level"] for client in real["adaptive"]["clients"]]
    assert [len(found) for found in levels] == [2, 2]
    assert real["adaptive"]["finished"] == 2
    for group in real.get("groups", {}).values():
        assert group["transport"] == "utp" and group["sent_pkts"] > 150, (
            "400 kB have so many packets of an MTU"
        )


def test_pages_of_the_set_are_those_that_simulated_users_load() -> None:
    from sojourn.sweep.testbed.kinds.browser import pages

    habits = 'kind = "browser"\ncount = 20\npage-median = "20kB"\nstart-within = "2s"\nstack = "linux"\n'
    found = point(f"[[users]]\n{habits}")
    loaded = _core.run(found.text)["browser"]
    sizes = [sum(objects) for objects in pages(found.document["users"][0])]
    assert len(set(loaded["page"].tolist())) >= 5
    for page, size in zip(loaded["page"].tolist(), loaded["bytes"].tolist(), strict=True):
        # Elementary functions of another library may differ in the last bit of an object.
        assert sizes[page] == pytest.approx(size, abs=5)
    (own,) = pages({"objects": ["15KiB", "9B"]})
    assert own == [15_360, 9]


def test_what_a_browser_does_not_follow_is_said(tmp_path: Path) -> None:
    left = [Left({"viewers": []}, {}, tmp_path)]
    for users, said in (
        (VIEWERS.replace("bba2", "dynamicdash"), 0),
        (VIEWERS.replace("bba2", "dynamicdash") + "receive-window = '128KiB'\n", 1),
        (VIEWERS + "receive-window = '128KiB'\n", 0),
    ):
        notes = USERS["adaptive"].gather(place(users), left).notes
        assert len(notes) == said
        assert all("131072 bytes is not set" in note for note in notes)


def test_numbers_of_packets_are_unwrapped() -> None:
    from programs.video import unwrapped

    numbers = [*range(65_000, 200_000, 97), 199_990, 200_003]
    last, found = 65_000, []
    for number in numbers:
        last = unwrapped(number & 0xFFFF, last)
        found.append(last)
    assert found == numbers
    assert unwrapped(3, 0) == 3


def test_showings_are_gathered_when_they_are_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.qoe import video as shown_video
    from sojourn.study.inputs import video

    pytest.importorskip("av", reason="PyAV is not installed")
    monkeypatch.setattr(shown_video, "_FORMATS", {"sd": (720, 576, 25, 25, 4000)})
    users = '[[users]]\nkind = "video"\nclips = ["synthetic"]\nevery = 25\n'
    shown = Place(point(users, "5s"), "users", 0)
    (program,) = USERS["video"].programs(shown)
    due, size = (
        np.frombuffer(program.files[f"0.{name}"], kind) for name, kind in (("due", "u8"), ("size", "u2"))
    )
    assert size.sum(dtype=np.int64) - 40 * len(size) == len(program.files["0.ts"])
    assert len(video.packets(shown.point.document)[0][0][1]) == len(due)
    seconds = 10**9
    sent = {name: [] for name in ("user", "showing", "clip", "seq", "sent_ns")}
    # Of three showings, one begins too early, and one has a packet under way.
    begins = (0, 1 * seconds, 2 * seconds)
    for showing, begin in enumerate(begins):
        for seq in range(len(due)):
            for name, value in zip(sent, (0, showing, 0, seq, begin + seq), strict=True):
                sent[name].append(value)
    came = [
        (showing, seq, begins[showing] + seq + 7)
        for showing in range(3)
        for seq in range(len(due))
        if (showing, seq) not in ((1, 5), (2, 6))
    ]
    for name, column in sent.items():
        (tmp_path / f"sent.{name}").write_bytes(np.array(column, dtype=np.int64).tobytes())
    for name, column in zip(("ssrc", "seq", "at_ns"), zip(*came, strict=True), strict=True):
        (tmp_path / f"came.{name}").write_bytes(np.array(column, dtype=np.int64).tobytes())
    table = USERS["video"].gather(shown, [Left({}, {}, tmp_path)]).tables["video"]
    assert set(table["showing"].tolist()) == {1}
    assert table["seq"].tolist() == list(range(len(due)))
    delays = table["delay_ns"].tolist()
    assert delays[5] == -1 and delays[4] == delays[6] == 7
