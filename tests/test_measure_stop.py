"""Ending `sojourn measure`: signals while it waits for its input, and what cannot be written."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import HANGS_S, Command, sentence
from sojourn.cli.exit import INTERRUPTED

DATA = Path(__file__).parent / "data"
CAPTURE = DATA / "passive" / "utp_loss.pcap.gz"
# Magic, version 2.4, no snap length to speak of, Ethernet: a capture that has begun and has no packets yet.
PCAP_HEADER = bytes.fromhex("d4c3b2a1 02000400 00000000 00000000 00000400 01000000")


def wait_for_reader(process: subprocess.Popen[str]) -> None:
    """Wait until the process has started its reading thread, which blocks: it is in the same call twice."""
    deadline, before = time.monotonic() + HANGS_S, set()
    while time.monotonic() < deadline and process.poll() is None:
        calls = {task.read_text() for task in Path(f"/proc/{process.pid}/task").glob("*/syscall")}
        # openat (257 on x86-64, 56 on arm64) of the FIFO, or read (0, 63).
        blocked = {call for call in calls if call.split()[0] in ("0", "63", "257", "56")}
        if blocked & before:
            return
        before = blocked
        time.sleep(0.3)


@pytest.fixture
def waiting(sojourn: Command, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen]:
    """The command as it waits: for a writer of a FIFO, for a FIFO's bytes, or for standard input."""
    fifo = tmp_path / "live.pcap"
    os.mkfifo(fifo)
    held = []
    words = ["measure", "-"] if "stdin" in request.param else ["measure", fifo]
    process = subprocess.Popen(
        sojourn.argv(*words),
        cwd=sojourn.cwd,
        env=sojourn.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        if request.param == "begun fifo":
            writer = fifo.open("wb", buffering=0)
            held.append(writer)
            writer.write(PCAP_HEADER)
        elif request.param == "begun stdin":
            process.stdin.write(PCAP_HEADER)
            process.stdin.flush()
        wait_for_reader(process)
        yield process
    finally:
        process.kill()
        process.communicate()
        for writer in held:
            writer.close()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("waiting", ["fifo", "begun fifo", "stdin", "begun stdin"], indirect=True)
def test_a_signal_ends_the_wait(waiting: subprocess.Popen, stop: signal.Signals) -> None:
    assert waiting.poll() is None
    waiting.send_signal(stop)
    _, err = waiting.communicate(timeout=HANGS_S)
    assert waiting.returncode == 130, err
    assert err.decode() == f"sojourn: {INTERRUPTED}\n"


def test_a_signal_ends_a_capture_that_comes_in_drops(sojourn: Command, tmp_path: Path) -> None:
    fifo = tmp_path / "live.pcap"
    os.mkfifo(fifo)
    process = sojourn.start("measure", fifo)
    frame = bytes(8) + (60).to_bytes(4, "little") * 2 + bytes(60)
    with fifo.open("wb", buffering=0) as writer:
        writer.write(PCAP_HEADER)
        process.send_signal(signal.SIGTERM)
        end = time.monotonic() + HANGS_S
        # Bytes come more often than the reader looks at the clock.
        while process.poll() is None and time.monotonic() < end:
            try:
                writer.write(frame)
            except BrokenPipeError:
                break
            time.sleep(0.01)
        _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130, err


def test_a_fifo_gives_what_the_file_gives(sojourn: Command, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.pcap"
    os.mkfifo(fifo)
    process = sojourn.start("measure", fifo, "--json")
    with fifo.open("wb") as writer:
        writer.write(CAPTURE.read_bytes())
    out, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 0, err
    assert out == sojourn("measure", CAPTURE, "--json").stdout


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A device without room. Not /dev/full itself: root could replace it."""
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, Path("/dev/full").stat().st_rdev)
        device.open("wb").close()
    except OSError:
        pytest.skip("devices cannot be made here")
    return device


def test_samples_that_cannot_be_written(sojourn: Command, tmp_path: Path, full: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "file").write_text("")
    full_csv = full.rename(tmp_path / "full.csv")
    for place in ("folder.csv", "folder.parquet", "no/x.csv", "no/x.parquet", "file/x.csv", full_csv):
        done = sojourn("measure", CAPTURE, "--samples", place, code=2)
        assert f"{place} cannot be written: " in sentence(done.stderr)
    assert stat.S_ISCHR(full_csv.stat().st_mode), "a device is written to, not replaced"
    done = sojourn("measure", CAPTURE, "--samples", "x.txt", code=2)
    assert "as .csv or .parquet, not as .txt" in sentence(done.stderr)
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


def test_a_device_is_written_to_as_it_is(sojourn: Command, tmp_path: Path) -> None:
    fifo = tmp_path / "samples.csv"
    os.mkfifo(fifo)
    process = sojourn.start("measure", CAPTURE, "--samples", fifo)
    with fifo.open("rb") as reader:
        through = reader.read()
    process.communicate(timeout=HANGS_S)
    assert process.returncode == 0
    sojourn("measure", CAPTURE, "--samples", "plain.csv")
    assert through == (tmp_path / "plain.csv").read_bytes()


@pytest.mark.parametrize("suffix", [b".csv", b".parquet", b".html"])
def test_names_that_are_not_text(sojourn: Command, tmp_path: Path, suffix: bytes) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe"
    try:
        Path(os.fsdecode(name)).write_bytes(CAPTURE.read_bytes())
    except OSError:
        pytest.skip("this file system has no such names")
    option = "--report" if suffix == b".html" else "--samples"
    words = [*sojourn.argv("measure"), name, option, name + suffix]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, env=sojourn.environment(), timeout=HANGS_S
    )
    assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr
    assert Path(os.fsdecode(name + suffix)).stat().st_size > 0


def test_output_that_cannot_be_written(sojourn: Command, full: Path) -> None:
    with full.open("wb") as nowhere:
        done = subprocess.run(
            sojourn.argv("measure", CAPTURE),
            stdout=nowhere,
            stderr=subprocess.PIPE,
            text=True,
            env=sojourn.environment(),
            timeout=HANGS_S,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "sojourn: standard output: No space left on device"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *((("--every", value), "--every is") for value in ("nan", "inf", "0", "-1", "1e-300", "5e-324")),
        *((("--duration", value), "--duration is") for value in ("nan", "inf", "0", "-1", "0ms")),
        (("--duration", "5minutes"), "--duration: '5minutes' is not a time"),
        (("--every", "1ms"), "--every is 0.001"),
        *((("--prometheus", value), "--prometheus is") for value in ("0", "-1", "99999", str(2**70))),
        *((("--min-samples", value), "--min-samples is") for value in ("0", "-1", str(2**70))),
        (("--local", "10.0.0.0/33"), "no address or prefix"),
    ],
)
def test_numbers_of_live_that_make_no_sense(sojourn: Command, options: tuple[str, str], words: str) -> None:
    if os.geteuid() != 0 and options[0] in ("--prometheus", "--local"):
        pytest.skip("following an interface needs root")
    rest = () if "--duration" in options else ("--duration", 1)
    assert words in sentence(sojourn("measure", "--live", "lo", *options, *rest, code=2).stderr)


def test_a_port_in_use(sojourn: Command) -> None:
    if os.geteuid() != 0:
        pytest.skip("following an interface needs root")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sojourn("measure", "--live", "lo", "--duration", 1, "--prometheus", port, code=2)
    assert f"port {port} cannot be served: Address already in use" in sentence(done.stderr)


def test_captures_whose_names_have_line_breaks(sojourn: Command) -> None:
    assert "no\\nwhere: No such file" in sentence(sojourn("measure", "no\nwhere", code=2).stderr)
