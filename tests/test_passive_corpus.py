"""benches/passive/corpus.py: that each fault of a command is found, and what its damaged captures are."""

from __future__ import annotations

import gzip
import os
import random
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from conftest import HANGS_S, ROOT

from benches.passive import corpus, forked
from benches.passive.corpus import captures, look, main, tasks
from benches.passive.forked import Forked
from benches.passive.mutations import FAULTS, behind, mutated, pieces


def pcap(order: str = "<", count: int = 5) -> bytes:
    head = struct.pack(f"{order}IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    frames = (bytes([k]) * (60 + k) for k in range(count))
    records = (struct.pack(f"{order}IIII", 9, k, len(one), len(one)) + one for k, one in enumerate(frames))
    return head + b"".join(records)


def pcapng(order: str = "<", count: int = 5) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack(f"{order}I", 12 + len(body))
        return struct.pack(f"{order}I", kind) + size + body + size

    blocks = [
        block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack(f"{order}HHI", 1, 0, 0)),
        *(block(6, struct.pack(f"{order}IIIII", 0, 0, k, 60, 60) + bytes([k]) * 60) for k in range(count)),
    ]
    return b"".join(blocks)


MADE = {"pcap": pcap(), "swapped": pcap(">"), "pcapng": pcapng(), "big": pcapng(">")}


@pytest.mark.parametrize("name", MADE)
def test_captures_are_cut_at_their_records_and_the_same_numbers_make_the_same_faults(name: str) -> None:
    capture = MADE[name]
    assert pieces(capture).joined() == capture
    assert len(pieces(behind(capture)).records) == (5 if len(pieces(capture).head) else 6)
    assert len(pieces(capture).records) == (5 if len(pieces(capture).head) else 7)
    for fault, apply in FAULTS.items():
        of, made = random.Random(7), []
        for _ in range(20):
            whole = pieces(capture)
            apply(whole, of)
            made.append(whole.joined())
        assert any(one != capture for one in made), fault
    one, again, other = (mutated(capture, random.Random(seed)) for seed in (1, 1, 2))
    assert one == again != other


def test_captures_are_found_by_their_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "under").mkdir()
    for name, held in {
        "a.txt": pcap(),
        "under/b": pcapng(),
        "c.gz": gzip.compress(pcap(">")),
        "d.pcap": b"no capture at all",
        "e.gz": gzip.compress(b"text"),
        "f.pcap": b"",
    }.items():
        (tmp_path / name).write_bytes(held)
    found = captures([tmp_path])
    assert [path.name for path in found] == ["a.txt", "c.gz", "b"]
    made = tasks(found, 10, 1, 4)
    assert sum(task.mutation is None for task in made) == 3 and len(made) == 13
    assert made == tasks(found, 10, 1, 4) != tasks(found, 10, 2, 4)


@pytest.fixture(autouse=True)
def of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands have what this process holds besides: they are copies of it, and other tests ran in it."""
    [held_kb] = re.findall(r"^VmRSS:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    monkeypatch.setattr(corpus, "MOST_KB", corpus.MOST_KB + int(held_kb))


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Callable[..., set[str]]]:
    """Return what is found wrong where a command behaves so."""
    (tmp_path / "a.pcap").write_bytes(pcap())

    def of(behaves: Callable[[Sequence[str]], object]) -> set[str]:
        run = Forked(behaves)
        try:
            found = look(tmp_path / "a.pcap", tmp_path / "a.pcap", run, False, tmp_path)
        finally:
            run.end()
        assert found.runs >= 5
        return {one["wrong"] for one in found.wrong}

    yield of


def said(*lines: str, code: int = 2) -> None:
    sys.stderr.writelines(f"{line}\n" for line in lines)
    sys.exit(code)


def panics(_: Sequence[str]) -> None:
    raise RuntimeError("index out of bounds")


def kills(_: Sequence[str]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def writes(_: Sequence[str]) -> None:
    Path("half.parquet").touch()
    said("sojourn: a.pcap: it is cut short")


def leaves(_: Sequence[str]) -> None:
    Path("tmp/scratch").touch()


def differs(words: Sequence[str]) -> None:
    if words[0] == "measure":
        print('{"samples": 0, "to_remote": "none"}' if "1" in words[-1:] else "[]")


def no_number(words: Sequence[str]) -> None:
    if "--json" in words:
        print('{"samples": 1, "mean_ms": NaN, "to_remote": "none"}')


def in_disorder(words: Sequence[str]) -> None:
    if "--json" in words:
        print('{"samples": 2, "p50_ms": 3, "p95_ms": 2, "p99_ms": 4, "max_ms": 4, "to_remote": "none"}')


def held(_: Sequence[str]) -> None:
    kept[:] = [b"1" * 520_000_000]


kept: list[bytes] = []
TWO = ("sojourn: a.pcap is cut short. Give it whole.",)
PLANTED = {
    "panic": panics,
    "ended with -9": kills,
    "ended with 7": lambda _: said(code=7),
    "an error of several sentences": lambda _: said(*TWO),
    "an error of 2 lines": lambda _: said("sojourn: a.pcap is cut short", "sojourn: give it whole"),
    "said by something else": lambda _: said("RuntimeWarning: mean of empty slice", code=0),
    "an error, and something written": writes,
    "temporary files left": leaves,
    "one thread and two differ": differs,
    "no JSON: NaN": no_number,
    "quantiles out of order: [3, 2, 4, 4]": in_disorder,
    "memory": held,
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(judged: Callable[..., set[str]], fault: str) -> None:
    assert any(one.startswith(fault) for one in judged(PLANTED[fault])), judged(PLANTED[fault])


def test_a_command_that_hangs_is_ended(
    judged: Callable[..., set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spins(words: Sequence[str]) -> None:
        while words[0] == "losses":
            pass

    monkeypatch.setattr(forked, "CPU_S", 0.3)
    assert judged(spins) == {"hangs"}


def test_a_command_that_does_as_it_should_has_no_fault(judged: Callable[..., set[str]]) -> None:
    def refuses(words: Sequence[str]) -> None:
        if words[0] == "losses":
            said("sojourn: no packet goes from /a/b. C.pcap to a.pcap", code=1)
        said("sojourn: note: 3 frames. They are old", "sojourn: a.pcap: it is cut short in record 3")

    assert judged(refuses) == set()


def test_the_command_itself(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for name, capture in MADE.items():
        (tmp_path / "many" / name).write_bytes(capture)
    words = [str(tmp_path / "many"), "--mutations", "4", "--json", str(tmp_path / "found.json")]
    # A process of its own: this one may have used Polars, whose threads no fork has.
    bench = [sys.executable, "-m", "benches.passive.corpus", *words]
    done = subprocess.run(bench, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0 and done.stdout.startswith("8 captures, "), done.stdout + done.stderr
    assert main([*words, "--keep", str(tmp_path / "kept")], run=panics) == 1
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        f"mutation-1-{n}.pcap" for n in range(4)
    ]
