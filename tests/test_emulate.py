"""`sojourn emulate`: real programs behind queues; left out where the machine has no namespaces or TUN."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from conftest import HANGS_S, Command
from sojourn.sweep.emulation import Options, point_of, run

from benches.emulator.endings import ORDINARY
from benches.emulator.replays import KINDS, queue
from benches.emulator.replays import SEND as FLOWS

pytestmark = pytest.mark.real_time

SINK = """
import socket
server = socket.create_server(("::", 5001), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    peer = server.accept()[0]
    while peer.recv(1 << 16):
        pass
    peer.sendall(b"!")
    peer.close()
"""
"""Takes all that it is sent, then says so."""

SEND = """
import os, socket, sys
peer = socket.create_connection((os.environ[sys.argv[2]], 5001))
peer.sendall(bytes(int(sys.argv[1])))
peer.shutdown(socket.SHUT_WR)
assert peer.recv(1) == b"!"
"""

PATH = ("--down", "16Mbit", "--up", "4Mbit", "--rtt", "20ms")


def refused() -> str | None:
    """Return why there can be no bed here; None if there can be one."""
    if sys.platform != "linux":
        return "namespaces are Linux's"
    words = [sys.executable, "-m", "sojourn", "emulate", *PATH, "--server", serving(), "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS_S)
    return done.stderr.strip() if done.returncode == 125 else None


@pytest.fixture(scope="module", autouse=True)
def bed() -> None:
    if why := refused():
        pytest.skip(why)


def sending(size: int, to: str = "SOJOURN_SERVER") -> tuple[str, ...]:
    return (sys.executable, "-c", SEND, str(size), to)


def serving(text: str = SINK) -> str:
    return f"exec {sys.executable} -c '{text}'"


def emulate(sojourn: Command, *words: str, command: tuple[str, ...], code: int = 0) -> dict:
    done = sojourn("emulate", *PATH, *words, "--json", "--", *command, code=code)
    return json.loads(done.stdout)


def test_a_transfer_is_held_to_the_path_and_replays(sojourn: Command) -> None:
    log, capture = sojourn.cwd / "log.parquet", sojourn.cwd / "all.pcapng"
    files = ("--log", str(log), "--pcap", str(capture), "--congestion", "reno", "--server", serving())
    came = emulate(sojourn, *files, "--queue", "codel", "--limit", "30pkt", command=sending(1_500_000))
    up = came["links"]["up"]
    # 1.5 MB at 4 Mbit/s are three seconds.
    assert came["command"]["exit"] == 0 and came["command"]["wall_s"] > 3.0
    assert up["rate_bps"] == 4_000_000 and up["departed_bytes"] > 1_500_000
    assert up["arrived_pkts"] == up["departed_pkts"] + up["dropped_pkts"] + up["backlog_pkts"]
    assert set(up["drops_by_cause"]) <= {"full", "sojourn"}
    engine = came["engine"]
    assert (engine["clock"], engine["congestion"]) == ("wall", "reno")
    assert engine["base_rtt_ms"]["set"] == 20 and min(engine["base_rtt_ms"]["got"]) > 19.99
    for name in ("down", "up"):
        replay = engine["replay"][name]
        assert replay["decisions"] == replay["equal"] > 0, name
        assert came["lateness_us"][name]["p50"] <= came["lateness_us"][name]["p99"]
    assert engine["replay"]["up"]["drops"] == up["dropped_pkts"]
    rows = pl.read_parquet(log)
    up_rows = rows.filter(pl.col("link") == "up")
    assert len(up_rows) == up["arrived_pkts"]
    assert up_rows["drop_cause"].is_not_null().sum() == up["dropped_pkts"]
    assert up_rows["arrive_ns"].is_sorted() and up_rows["size_bytes"].max() == 1500
    waited = (up_rows["depart_ns"] - up_rows["arrive_ns"].cast(pl.Int64)).drop_nulls()
    assert waited.mean() / 1e6 == pytest.approx(up["queue_delay_ms"]["mean"], rel=0.01)
    # The capture is read by our own reader.
    measured = sojourn("measure", str(capture), "--json", "--min-samples", "1")
    assert json.loads(measured.stdout.splitlines()[0])["samples"] > 100
    assert {file.name for file in sojourn.cwd.iterdir()} == {"log.parquet", "all.pcapng"}


def test_the_command_keeps_its_exit_code_its_words_and_its_input(sojourn: Command) -> None:
    words = ("emulate", *PATH, "--server", serving())
    done = subprocess.run(
        sojourn.argv(*words, "--", "sh", "-c", 'read x; echo "$x $SOJOURN_CLIENT"; exit 7'),
        input="given\n",
        capture_output=True,
        text=True,
        cwd=sojourn.cwd,
        timeout=HANGS_S,
    )
    assert (done.returncode, done.stdout) == (7, "given 198.18.0.1\n"), done.stderr
    assert "no packet" in done.stderr
    killed = sojourn(*words, "--", "sh", "-c", "kill -9 $$", code=137)
    assert killed.stdout == ""
    assert "no-such-program" in sojourn(*words, "--", "no-such-program", code=127).stderr
    ended = sojourn(*words, "--duration", "300ms", "--json", "--", "sleep", "50", code=143)
    assert json.loads(ended.stdout)["command"]["signal"] == "SIGTERM"
    told = "sojourn: the command was ended after 300ms, as --duration says (SIGTERM)\n"
    assert told in ended.stderr and "--duration" not in done.stderr + killed.stderr
    assert json.loads(ended.stdout)["command"]["timed_out"]
    traps = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
    trapped = sojourn(*words, "--duration", "300ms", "--json", "--", "sh", "-c", traps)
    assert json.loads(trapped.stdout)["command"]["timed_out"]
    told = "the command was told to end after 300ms, as --duration says (SIGTERM); it ended in its own way"
    assert told in trapped.stderr and "with exit code 0\n" in trapped.stderr
    early = sojourn(*words, "--duration", "20s", "--json", "--", "sh", "-c", "exit 143", code=143)
    assert not json.loads(early.stdout)["command"]["timed_out"] and "--duration" not in early.stderr


def test_words_need_not_be_text_nor_names_of_files(sojourn: Command) -> None:
    name, odd = os.fsdecode(b"a\xfe"), os.fsdecode(b"\xff")
    server = f"{serving()} {odd}"
    line = 'printf %s "$0" | od -An -tx1 >&2; exec "$@"'
    printed = ("sh", "-c", line, os.fsdecode(b"\xfd~"), *sending(1000))
    done = sojourn("emulate", *PATH, "--server", server, "--report", f"{name}.html", "--json", "--", *printed)
    assert done.stderr.split("sojourn:")[0].split() == ["fd", "7e"]
    assert json.loads(done.stdout)["command"]["exit"] == 0
    assert "--report &#39;a�.html&#39;" in (sojourn.cwd / f"{name}.html").read_text()


def test_a_server_may_be_a_daemon(sojourn: Command) -> None:
    daemon = f"(sleep 0.5; {serving()}) &"
    done = sojourn("emulate", *PATH, "--server", daemon, "--json", "--", *sending(1000))
    assert json.loads(done.stdout)["command"]["server_exit"] == 0 and "listen" not in done.stderr


def test_ipv6_ecn_mtu_and_a_path_of_several_hops(sojourn: Command) -> None:
    (sojourn.cwd / "hops.toml").write_text(
        """
        name = "hops"
        duration = "9s"
        [path]
        client-delay = "1ms"
        server-delay = "2ms"
        queue = { kind = "red", limit = "60pkt", ecn = true, min = 1.0, max = 5.0 }
        [[path.hop]]
        name = "home"
        delay = "3ms"
        up = { rate = "3Mbit" }
        down = { rate = "20Mbit" }
        [[path.hop]]
        name = "core"
        up = { rate = "10Mbit", loss = 0.01 }
        down = { rate = "20Mbit" }
        """
    )
    done = sojourn(
        "emulate",
        "hops.toml",
        "--server",
        serving(),
        "--ecn",
        "--mtu",
        "1300",
        "--json",
        "--congestion",
        "reno",
        "--log",
        "log.parquet",
        "--",
        *sending(1_000_000, "SOJOURN_SERVER6"),
    )
    came = json.loads(done.stdout)
    links = came["links"]
    assert list(links) == ["core.down", "core.up", "home.down", "home.up"]
    assert links["home.up"]["marked_pkts"] > 0, "ECN is asked for, and RED marks"
    assert links["core.up"]["drops_by_cause"]["path"] > 0
    assert links["core.up"]["arrived_pkts"] <= links["home.up"]["departed_pkts"]
    assert came["engine"]["base_rtt_ms"]["set"] == 12
    for name, replay in came["engine"]["replay"].items():
        assert replay["decisions"] == replay["equal"] > 0, name
    assert came["engine"]["replay"]["home.up"]["marks"] == links["home.up"]["marked_pkts"]
    rows = pl.read_parquet(sojourn.cwd / "log.parquet")
    assert rows["size_bytes"].max() == 1300
    crossed = rows.filter(pl.col("link") == "core.up")["journey"]
    assert set(crossed) <= set(rows.filter(pl.col("link") == "home.up")["journey"])


def test_what_cannot_be_is_said_in_a_sentence(sojourn: Command) -> None:
    def says(*words: str, code: int = 2) -> str:
        return sojourn("emulate", *words, code=code).stderr

    assert "a path needs --up, --rtt" in says("--down", "1Mbit", "--", "true")
    assert "no command is given" in says(*PATH)
    assert "16Mbps" in says("--down", "16Mbps", "--up", "1Mbit", "--rtt", "9ms", "--", "true")
    assert "points" in says("quickstart", "--server", "true", "--", "true")
    assert "--mtu is 9" in says(*PATH, "--mtu", "9", "--server", "true", "--", "true")
    assert "under net." in says(*PATH, "--sysctl", "kernel.x=1", "--server", "true", "--", "true")
    slow = says("--down", "1bit", "--up", "1kbit", "--rtt", "9ms", "--server", "true", "--", "true")
    assert "down: at 1bit a packet of 1500 bytes takes 3 h 20 min; expected at most 12 s" in slow
    for key in ("path.jitter", "path.reading"):
        assert key in says(*PATH, "--set", f"{key}=1ms", "--server", "true", "--", "true")
    assert "no-such" in says(*PATH, "--congestion", "no-such", "--server", "sleep 9", "--", "true", code=125)
    assert "net.no.such" in says(
        *PATH, "--sysctl", "net.no.such=1", "--server", "sleep 9", "--", "true", code=125
    )
    assert ".parquet" in says(*PATH, "--log", "x.csv", "--server", "true", "--", "true")
    assert list(sojourn.cwd.iterdir()) == []


GRO = """
import array, fcntl, socket, struct
asked = array.array("I", [0x2B, 0])
request = struct.pack("16sP16x", b"t0", asked.buffer_info()[0])
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)
print("joined:", asked[1], flush=True)
"""


@pytest.mark.parametrize(("words", "joined"), [((), 1), (("--no-offload",), 0)])
def test_without_offload_no_end_joins_what_it_receives(
    words: tuple[str, ...], joined: int, sojourn: Command
) -> None:
    server = shlex.join([sys.executable, "-c", GRO + "import time; time.sleep(99)"])
    done = sojourn("emulate", *PATH, *words, "--server", server, "--", sys.executable, "-c", GRO)
    # Both ends say it: the server's words are not the command's.
    assert (done.stdout + done.stderr).count(f"joined: {joined}") == 2


def test_an_ordinary_user(sojourn: Command) -> None:
    """Who may read what root may, since the package may lie where only root can."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if os.getuid() != 0 or shutil.which("setpriv") is None or python is None:
        pytest.skip("this is an ordinary user already, or setpriv or the system's Python is missing")
    if Path("/dev/net/tun").stat().st_mode & 0o006 != 0o006:
        pytest.skip("/dev/net/tun is root's alone on this machine")
    server = f"exec {python} -c '{SINK}'"
    words = sojourn.argv("emulate", *PATH, "--server", server, "--congestion", "reno", "--json", "--")
    places = {"cwd": "/", "env": {**os.environ, "HOME": "/", "PYTHONDONTWRITEBYTECODE": "1"}, "timeout": 60}
    code = "import os; print(os.getuid(), flush=True)" + SEND
    done = subprocess.run(
        [*ORDINARY, *words, python, "-c", code, "200000", "SOJOURN_SERVER"],
        capture_output=True,
        text=True,
        **places,
    )
    if done.returncode == 125 and "refuses" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert "65534" in done.stderr.splitlines(), "the command sees itself as who called"
    came = json.loads(done.stdout)
    assert (came["engine"]["rights"], came["engine"]["stamps"]) == ("user namespace", "read")
    assert came["engine"]["scheduling"] == "other"
    assert any("SCHED_FIFO" in what for what in came["engine"]["without"])
    up = came["engine"]["replay"]["up"]
    assert up["decisions"] == up["equal"] > 130
    host = [*ORDINARY, *sojourn.argv("emulate", *PATH, "--host", "--", "true")]
    refused = subprocess.run(host, capture_output=True, text=True, **places)
    assert refused.returncode == 125 and "needs root" in refused.stderr, refused.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_every_decision_is_as_in_the_replay_of_its_log(kind: str) -> None:
    """Kernel TCP through each kind of queue."""
    point = point_of(
        None, {"down": "16Mbit", "up": "4Mbit", "rtt": "20ms"}, [("path.up.queue", queue(kind))], {}
    )
    # Flows that wait for a busy processor fill the queue later.
    for seconds in ("0.8", "4", "20"):
        options = Options(
            command=(sys.executable, "-c", FLOWS, "4", seconds),
            server=serving(),
            congestion="reno",
            variables=(("net.ipv4.tcp_ecn", "1"),),
            probes=0,
        )
        came = run(point, options)
        assert came["command"]["exit"] == 0 and came["engine"]["unrecorded"] == 0
        for name, replay in came["engine"]["replay"].items():
            assert replay["decisions"] == replay["equal"] > 0, name
        up = came["engine"]["replay"]["up"]
        if up["drops"] + up["marks"]:
            break
    assert up["equal_drops"] + up["equal_marks"] == up["drops"] + up["marks"] > 0


def test_programs_leave_the_last_of_three_processors_to_the_emulator(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    all_ = sorted(os.sched_getaffinity(0))
    tells = f"{sys.executable} -c 'import os, sys; print(sorted(os.sched_getaffinity(0)))' > {tmp_path}/"
    point = point_of(None, {"down": "16Mbit", "up": "4Mbit", "rtt": "20ms"}, [], {})
    options = Options(("sh", "-c", f"{tells}client"), server=f"{tells}server", probes=1)
    assert run(point, options)["command"]["exit"] == 0
    # Of two a program may need both.
    expected = str(all_ if len(all_) < 3 else all_[:-1])
    assert [(tmp_path / end).read_text().strip() for end in ("client", "server")] == [expected] * 2
    assert sorted(os.sched_getaffinity(0)) == all_


def test_the_other_end_may_be_this_machine(sojourn: Command) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    with socket.create_server(("", 0)) as here:
        here.settimeout(HANGS_S)
        port = here.getsockname()[1]
        to = f"(os.environ['SOJOURN_SERVER'], {port})"
        code = f"import os, socket; s = socket.create_connection({to}); s.sendall(b'hello'); s.recv(1)"
        running = sojourn.start("emulate", *PATH, "--", sys.executable, "-c", code)
        peer, (address, *_) = here.accept()
        with peer:
            assert peer.recv(9) == b"hello" and address.startswith("198.1")
            peer.sendall(b"!")
        _, said = running.communicate(timeout=HANGS_S)
    assert running.returncode == 0 and "packets dropped" in said, said
    # This machine's end is made as well as one of its own is.
    without = set(emulate(sojourn, "--server", "true", command=["true"])["engine"]["without"])
    assert without == {line.split("note: without ")[1] for line in said.splitlines() if "without " in line}


def test_a_rate_trace_and_metrics_while_it_runs(sojourn: Command) -> None:
    """A trace of 12 Mbit/s (a packet each millisecond) up; the queues are served to Prometheus meanwhile."""
    (sojourn.cwd / "trace").write_text("\n".join(str(ms) for ms in range(1, 101)))
    (sojourn.cwd / "traced.toml").write_text(
        'name = "traced"\nduration = "9s"\n[path]\nrtt = "10ms"\nqueue = { kind = "fq-codel" }\n'
        'down = { rate = "20Mbit" }\nup = { rate = { trace = "trace" } }\n'
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    words = ("traced.toml", "--server", serving(), "--json", "--prometheus", port, "--no-offload", "--live")
    # Flows until the metrics have been seen.
    line = '"$@" & until [ -e seen ]; do sleep 0.05; done; kill $!'
    flows = ("sh", "-c", line, "-", sys.executable, "-c", FLOWS, "1", "600")
    running = sojourn.start("emulate", *words, "--", *flows)
    left, patience = "", time.monotonic() + HANGS_S
    told = re.compile(r'departed_bytes_total\{link="up"\} (\d{6,})')
    while not told.search(left) and time.monotonic() < patience:
        time.sleep(0.05)
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANGS_S) as page,
        ):
            left = page.read().decode()
    (sojourn.cwd / "seen").touch()
    out, said = running.communicate(timeout=HANGS_S)
    assert running.returncode == 0, said
    assert 'sojourn_emulate_dropped_packets_total{link="up"' in left, left
    came = json.loads(out)
    up = came["links"]["up"]
    assert up["rate_bps"] == 1504 * 8 * 1000 and up["departed_bytes"] >= int(told.search(left)[1])
    assert came["engine"]["offload"] == "off" and came["engine"]["outside"]["up"]["super_pkts"] == 0
    assert came["engine"]["base_rtt_ms"]["got"] == [], "what a probe waits for an opportunity is no base"
    for name, replay in came["engine"]["replay"].items():
        assert replay["decisions"] == replay["equal"] > 0, name


def test_a_shell_has_the_terminal(sojourn: Command) -> None:
    terminal, shell = pty.openpty()
    sojourn.env.update({"SHELL": "/bin/sh", "ENV": ""})
    words = sojourn.argv("emulate", *PATH, "--server", serving(), "--shell", "--quiet")
    running = subprocess.Popen(
        words, stdin=shell, stdout=shell, stderr=shell, env=sojourn.env, cwd=sojourn.cwd
    )
    os.close(shell)
    os.write(terminal, b"test -t 0 && echo to=$SOJOURN_SERVER; exit 3\n")
    said = b""
    with suppress(OSError):
        while more := os.read(terminal, 4096):
            said += more
    os.close(terminal)
    assert running.wait(timeout=HANGS_S) == 3, said
    assert b"to=198.18." in said
