"""Programs of the testbed as its agent starts them, between two addresses of this machine instead of a bed.

Each end is a process with the agent's own code; this file stands for the emulator, which says when time
zero is. Nothing is asserted of how long anything took.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import HANGS_S
from sojourn.sweep import testbed

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs import datagrams, video
from programs.browser import html
from programs.http11 import ends
from programs.http11.server import Server
from programs.https import _fields
from programs.turns import _PORTS, _Part

ROOM = Path(testbed.__file__).parent
MS = 1_000_000
END = """
import json, os, struct, sys, time
room, plan, end = sys.argv[1:]
sys.path.insert(0, room)
import host
host.NETWORKS = {"client": 1, "server": 2}
class Local(host.Host):
    def __init__(self, *told):
        super().__init__(*told)
        self.own, self.other = (each.replace("198.", "127.", 1) for each in (self.own, self.other))
host.Host = Local
plan = json.load(open(plan))
bell = host._Bell()
children = host._start(plan, end, bell)
print("ready" if bell.await_all(len(children)) else "one has ended", flush=True)
told = sys.stdin.readline()
if not told:  # the test has failed
    for child in children:
        os.kill(child, 9)
    sys.exit(1)
epoch = int(told)
bell.ring(epoch)
host._reap(children, (epoch + plan["duration_ns"]) * 1e-9)
time.sleep(max(0.0, (epoch + plan["duration_ns"]) * 1e-9 - time.monotonic()))
for child in children:
    os.kill(child, 15)
host._reap(children, time.monotonic() + 300)
"""


def between_two_addresses(
    folder: Path, programs: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]], **plan: int
) -> dict[str, dict[str, Any]]:
    """Run programs by what each end is told and their files; return what each left, by its name and end."""
    told = []
    first = 256 * (1 + os.getpid() % 250)  # of another run of the tests beside this one there are others
    for pair, (name, (client, server, files)) in enumerate(programs.items()):
        room = folder / name
        room.mkdir()
        for file, content in files.items():
            (room / file).write_bytes(content)
        both = {"client": client, "server": server, "congestion": None, "options": []}
        told.append({"name": name, "key": name, "pair": first + pair, "folder": str(room), **both})
    (folder / "plan.json").write_text(json.dumps({**plan, "programs": told}))
    words = [sys.executable, "-I", "-c", END, str(ROOM), str(folder / "plan.json")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([*words, "server"], **pipes) as server,
        subprocess.Popen([*words, "client"], **pipes) as client,
    ):
        both_ends = (server, client)
        assert [end.stdout.readline() for end in both_ends] == ["ready\n"] * 2
        epoch = time.monotonic_ns()
        for end in both_ends:
            end.stdin.write(f"{epoch}\n")
            end.stdin.flush()
        for end in both_ends:
            end.stdin.close()
            end.wait(HANGS_S)
    found = {}
    for name in programs:
        for end_name in ("client", "server"):
            said = json.loads((folder / name / f"{end_name}.json").read_text())
            assert said["failed"] is None, (name, end_name, said)
            found[f"{name} {end_name}"] = said["left"]
    return found


BULK: list[dict[str, Any]] = [
    {"start_ns": 0, "size": 300_000, "stop_ns": None},
    {"start_ns": 0, "size": None, "stop_ns": 400 * MS},
    {"start_ns": 350 * MS, "size": 7, "stop_ns": None},
    {"start_ns": 9000 * MS, "size": 7, "stop_ns": None},
]
LOOPS: list[list[dict[str, Any]]] = [
    [
        {"at_ns": 0, "turns": [[1, 1, 0], [0, 5000, 0], [1, 10, 20 * MS], [0, 100_000, 0]]},
        {"after_ns": 30 * MS, "turns": [[1, 7, 0], [0, 8, 0]]},
    ],
    [{"at_ns": 350 * MS, "turns": [[0, 50_000, 0]]}],
    [{"at_ns": 9000 * MS, "turns": [[0, 1, 0]]}],
]
SCHEDULE = np.array([[0, 200], [10 * MS, 200], [350 * MS, 39], [360 * MS, 300]], dtype=np.int64)


def told(folder: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]]:
    """Return what each end of each program is told, and its files."""
    clip = [np.array(each, dtype).tobytes() for each, dtype in (([0, 5 * MS], "u8"), ([228, 416], "u2"))]
    showing = dict(zip(("0.due", "0.size", "1.due", "1.size"), clip * 2, strict=True))
    none = {"sends": False, "flows": BULK, "step_ns": None}
    web = {"starts_ns": [0, 9000 * MS], "pause_ns": 10 * MS, "request": 200, "objects": [1000, 20]}
    programs = {
        "bulk": ({"sends": True, "flows": BULK, "step_ns": 50_000_000}, none, {}),
        "turns": ({"opens": True}, {"opens": False}, {"loops.json": json.dumps(LOOPS).encode()}),
        "datagrams": ({"receives": 0, "payload": 8}, {"receives": 4, "payload": 8}, {}),
        "video": (
            {},
            {"clips": 2, "starts_ns": [0, 20 * MS], "gap_ns": 30 * MS},
            {**showing, "0.ts": b"a" * 564, "1.ts": b"b" * 564},
        ),
        "web": (web, {"header": 250}, {}),
    }
    for end, rows in (("client", SCHEDULE), ("server", SCHEDULE[:0])):
        np.save(folder / f"{end}.npy", rows)
        programs["datagrams"][2][f"{end}.npy"] = (folder / f"{end}.npy").read_bytes()
    return programs


def test_programs_send_what_they_are_told_and_count_it_by_the_measured_period(tmp_path: Path) -> None:
    programs = told(tmp_path)
    # Programs that wait for a busy machine need longer for the same.
    for duration_ns in (900 * MS, 2700 * MS, 8100 * MS):
        folder = tmp_path / str(duration_ns)
        folder.mkdir()
        left = between_two_addresses(folder, programs, duration_ns=duration_ns, warmup_ns=300 * MS)
        loads = left["web client"]["loads"]
        ended = [each for each in left["turns client"]["connections"] if each["ended_ns"]]
        sent = {name: (folder / "video" / f"{name}").stat().st_size for name in ("sent.seq", "came.seq")}
        if (
            [left["bulk server"]["received"][k] for k in (0, 2)] == [300_000, 7]
            and len(ended) == 3
            and left["datagrams client"]["sent"] == 4
            and any(load["complete"] for load in loads)
            and min(sent.values()) > 10 * 8
        ):
            break

    bulk_is_as_told(left, duration_ns)
    turns_are_as_told(left)
    datagrams_are_as_told(left, folder / "datagrams")
    showings_are_as_told(folder / "video")
    whole = [load for load in loads if load["complete"]]
    assert whole and {load["user"] for load in loads} == {0}
    ports = {each["port"] for each in left["web server"]["connections"]}
    assert {load["port"] for load in whole} <= ports and len(ports) >= len(whole)


def bulk_is_as_told(left: dict[str, dict[str, Any]], duration_ns: int) -> None:
    flows, at = left["bulk client"]["flows"], left["bulk server"]
    assert at["received"][0] == 300_000 and at["received"][2:] == [7, 0] and at["received"][1] > 0
    assert at["before"][2] == 0 and all(a <= b for a, b in zip(at["before"], at["received"], strict=True))
    assert [each["began_ns"] is None for each in flows] == [False] * 3 + [True]
    assert flows[0]["ended_ns"] > flows[0]["began_ns"] >= 0 and flows[2]["began_ns"] >= 350 * MS
    assert flows[1]["ended_ns"] >= 400 * MS and len(flows[1]["rtt_ns"]) <= 3
    assert flows[3] == {"began_ns": None, "ended_ns": None, "looks": [], "rtt_ns": [], "series": []}
    times = [sample[0] for sample in flows[1]["series"]]
    assert times and all(at % (50 * MS) == 0 for at in times) and max(times) <= duration_ns
    assert flows[1]["series"][-1][3] > 0, "what was delivered"


def turns_are_as_told(left: dict[str, dict[str, Any]]) -> None:
    for end, mine in (("client", (11, 7, 0)), ("server", (105_000, 8, 50_000))):
        seen = sorted(left[f"turns {end}"]["connections"], key=lambda each: each["number"])
        theirs = (105_000, 8, 50_000) if end == "client" else (11, 7, 0)
        assert [each["number"] for each in seen] == [0, 1, 2]
        assert [each["wrote"] for each in seen] == list(mine) and [each["got"] for each in seen] == list(
            theirs
        )
        assert all(each["ended_ns"] > each["began_ns"] for each in seen)
        if end == "client":
            assert seen[1]["began_ns"] >= seen[0]["ended_ns"] + 30 * MS and seen[2]["began_ns"] >= 350 * MS
    assert dict(left["turns client"]["delivered"])[1] == 50_000


def datagrams_are_as_told(left: dict[str, dict[str, Any]], folder: Path) -> None:
    sent = np.load(folder / "sent-client.npy")
    arrived = np.load(folder / "arrived-server.npy")
    assert (sent >= SCHEDULE[:, 0]).all() and left["datagrams client"]["sent"] == 4
    # One of 39 bytes has 11 after its headers: too few for RTP's, so that it is only counted.
    assert (arrived >= 0).tolist() == [True, True, False, True]
    assert (arrived[[0, 1, 3]] > SCHEDULE[[0, 1, 3], 0] - MS).all()
    counts = left["datagrams server"]
    late = arrived >= 300 * MS
    assert counts["arrived"] == late.sum() + 1 and counts["bytes"] == (SCHEDULE[late, 1] - 28).sum() + 11


def showings_are_as_told(folder: Path) -> None:
    rows = {
        name: np.fromfile(folder / f"sent.{name}", dtype=np.int64)
        for name in ("user", "showing", "clip", "seq", "sent_ns")
    }
    assert set(rows["user"]) == {0, 1} and (rows["clip"] == rows["showing"] % 2).all()
    mine = {name: column[rows["user"] == 1] for name, column in rows.items()}
    assert mine["sent_ns"][0] >= 20 * MS and len(mine["seq"]) > 3
    assert (mine["seq"] == np.arange(len(mine["seq"])) % 2).all()
    assert (mine["showing"] == np.arange(len(mine["seq"])) // 2).all()
    gaps = np.diff(mine["sent_ns"])
    # Packets of a showing are due 5 ms apart from its beginning; the next begins 30 ms after the last.
    assert (gaps[1::2] >= 30 * MS).all()
    came = np.fromfile(folder / "came.ssrc", dtype=np.int64)
    assert len(came) > 3 and set(came) <= set(rows["user"] << 16 | rows["showing"])


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="one has ended"):
        between_two_addresses(
            tmp_path, {"turns": ({"opens": True}, {"opens": False}, {})}, duration_ns=1, warmup_ns=0
        )
    said = json.loads((tmp_path / "turns" / "server.json").read_text())
    assert said["left"] == {} and said["failed"].startswith("FileNotFoundError: ")


class Heard:
    """A socket that has these datagrams, and then none."""

    def __init__(self, *packets: bytes) -> None:
        self.packets = list(packets)

    def recvmsg(self, *_: int) -> tuple[bytes, list[Any], int, None]:
        return self.packets.pop(0), [], 0, None


def test_rows_of_datagrams_are_told_by_unwrapped_numbers() -> None:
    def rtp(row: int, size: int = 20) -> bytes:
        return datagrams._RTP.pack(0x80, 8, row & 0xFFFF, 0, 1).ljust(size, b"\0")

    arrived = np.full(70_000, -1, dtype=np.int64)
    counts = {"arrived": 0, "bytes": 0}
    clock = iter(range(5, 100))
    host = SimpleNamespace(now=lambda: next(clock), warmup_ns=7)
    # Row 40000 is nearer to 20001 than −25536 is; 65534 comes late, 20000 twice; the last is none of them.
    rows = (0, 20_000, 40_000, 65_535, 65_536, 65_534, 20_000, 65_537)
    packets = [*map(rtp, rows), b"\x80" * 11, b"\x40" + bytes(19)]
    with pytest.raises(IndexError):
        datagrams._receive(host, Heard(*packets), threading.Event(), arrived, counts)  # type: ignore[arg-type]
    assert np.flatnonzero(arrived >= 0).tolist() == sorted({*rows})
    assert arrived[20_000] == 6 and arrived[65_534] == 10
    # Those of the warm-up, two, do not count.
    assert counts == {"arrived": 8, "bytes": 6 * 20 + 11 + 20}


def test_numbers_of_a_showing_are_unwrapped_to_the_nearest() -> None:
    for low, before, number in (
        (0, 0, 0), (5, 3, 5), (3, 5, 3), (2, 65_535, 65_538), (65_535, 65_537, 65_535), (65_535, 0, 65_535),
        (0, 131_071, 131_072),
    ):  # fmt: skip
        assert video.unwrapped(low, before) == number
    assert video.ssrc(3, 0x10002) == 0x30002


def test_connections_beyond_the_ports_are_told_by_how_often_one_was_used() -> None:
    part, made = object.__new__(_Part), []
    part.wraps = {}
    listener = SimpleNamespace(accept=lambda: (SimpleNamespace(setblocking=bool), ("a", 1030)))
    connection = "programs.turns._Connection"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, lambda _, __, number, is_opener: made.append((number, is_opener)))
        for _ in range(3):
            part._accept(listener)  # type: ignore[arg-type]
    assert made == [(6, False), (6 + _PORTS, False), (6 + 2 * _PORTS, False)]


def test_a_page_names_its_objects_and_has_the_size_of_its_first() -> None:
    made = html(3, [400, 7, 9])
    assert len(made) == 400 and made.count(b"<script") == 2
    assert b"<script async src=/3/1/7></script><script async src=/3/2/9></script>" in made
    assert len(html(3, [1, 7])) > 60 and html(3, [200]).rstrip().endswith(b"href=data:,>")


def test_a_header_over_tls_is_filled_up_to_about_its_size() -> None:
    for size in (200, 500):
        found = _fields("/1", "text/css", 12_345, size, "2")
        # A status line, and for each field its name, its value and four bytes.
        assert 19 + sum(len(name) + len(value) + 4 for name, value in found) == size
        assert found[0] == ("content-type", "text/css") and found[1] == ("content-length", "12345")
        assert found[-1][1].startswith("/1X")
    assert _fields("/1", "text/css", 1, 10, "2")[-1] == ("x-fill", "/1")


def test_an_answer_over_http3_announces_it_and_is_no_longer_for_that() -> None:
    two, three = (_fields("/1", "text/css", 12_345, 500, http) for http in ("2", "3"))
    assert ("alt-svc", 'h3=":443"; ma=86400') in three and "alt-svc" not in dict(two)
    size, same = (sum(len(name) + len(value) + 4 for name, value in found) for found in (two, three))
    assert size == same


def test_what_a_server_does_not_have_is_not_found() -> None:
    async def main() -> list[bytes]:
        def content(path: str) -> tuple[str, bytes | int] | None:
            return {"/a": ("text/plain", b"abc"), "/b": ("text/plain", 5)}.get(path)

        listening = socket.create_server(("127.0.0.1", 0))
        served = await Server(10, content).begin(listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        got = []
        for line, size in ((b"GET /a?x=1", 3), (b"GET /b", 5), (b"GET /c", 0), (b"POST /a", 0)):
            writer.write(line + b" HTTP/1.1\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            got += [head.split(b"\r\n")[0], await reader.readexactly(size)]
        writer.close()
        served.close()
        return got

    ok, none = b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found"
    assert asyncio.run(main()) == [ok, b"abc", ok, b"     ", none, b"", none, b""]


def test_tasks_end_with_the_run_and_what_one_raises_is_raised() -> None:
    def host(duration_ns: int) -> Any:
        clock = iter(range(0, 100 * MS, MS))
        return SimpleNamespace(duration_ns=duration_ns, now=lambda: next(clock), begin=lambda: None)

    before = signal.getsignal(signal.SIGTERM)
    try:
        told: list[str] = []

        async def forever() -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                told.append("cancelled")

        async def fails() -> None:
            raise ValueError("no")

        ends.run(host(5 * MS), [forever()])
        assert told == ["cancelled"]
        with pytest.raises(ValueError, match="no"):
            ends.run(host(3600 * 1000 * MS), [forever(), fails()])
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_server_of_pages_is_found_beside_this_python_and_else_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from programs import https

    monkeypatch.setattr(sys, "executable", str(tmp_path / "beside" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert https.found() is None and "make http" in (https.missing() or "")
    for place in ("path", "beside"):
        program = tmp_path / place / https.NAME
        program.parent.mkdir()
        program.touch(0o755)
        assert https.found() == str(program) and https.missing() is None


def test_what_the_kernel_tells_of_a_connection_is_read_at_its_places() -> None:
    from programs.http11.kernel import look
    from programs.tcp_info import TcpInfo

    info = bytearray(256)
    for place, value in ((16, 1448), (68, 1500), (80, 17), (100, 3), (192, 11)):
        struct.pack_into("=I", info, place, value)
    for place, value in ((104, 1000), (120, 700), (200, 1000), (208, 90)):
        struct.pack_into("=Q", info, place, value)
    struct.pack_into("=HHI", info, 240, 2, 9, 250)

    def told(length: int) -> Any:
        return SimpleNamespace(getsockopt=lambda *_: bytes(info[:length]))

    # Pacing is in bytes a second there; of what was delivered the SYN is one.
    same = (1_500_000, 17, 8000, 10 * 1448)
    assert TcpInfo.of(told(248)) == (3, 2, 0.25, *same)
    assert TcpInfo.of(told(232)) == (3, None, 0.0, *same)
    found = look(told(216))
    assert (found.rtt_ns, found.retransmits, found.acked, found.sent) == (1_500_000, 3, 700, 910)
    with pytest.raises(OSError, match="tells 215 bytes of a connection; expected 216"):
        look(told(215))


def test_who_is_held_up_between_two_clocks_dates_no_datagram_before_it_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = time.time_ns
    monkeypatch.setattr(datagrams.time, "time_ns", lambda: time.sleep(0.02) or looked())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.setsockopt(socket.SOL_SOCKET, datagrams._TIMESTAMPS_NS, 1)
        ours.bind(("127.0.0.1", 0))
        ours.connect(ours.getsockname())
        epoch = time.monotonic_ns()
        host = SimpleNamespace(now=lambda: time.monotonic_ns() - epoch, warmup_ns=0)
        ours.send(datagrams._RTP.pack(datagrams._VERSION, 0, 0, 0, 1))
        arrived = np.full(1, -1, dtype=np.int64)
        over = threading.Event()
        told = (host, ours, over, arrived, {"arrived": 0, "bytes": 0})
        receiver = threading.Thread(target=datagrams._receive, args=told, daemon=True)
        receiver.start()
        # Only so that a datagram that never comes is an error, and not a test without end.
        while arrived[0] == -1 and time.monotonic_ns() < epoch + HANGS_S * 1e9:
            time.sleep(0.001)
        over.set()
        ours.shutdown(socket.SHUT_RDWR)
        receiver.join()
    assert arrived[0] >= 0
