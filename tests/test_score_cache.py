"""Scores kept on disk: shared, bounded, whole after a kill, and a help only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest
from sojourn.qoe import enough, score_cache
from sojourn.qoe.score_cache import DiskCache, Key


def key(number: int, method: str = "plc") -> Key:
    return ("samples", number, 400, method, b"\x01\x80")


def test_a_score_is_found_by_another_process_and_is_the_same_number(tmp_path: Path) -> None:
    file = tmp_path / "scores.sqlite"
    DiskCache(file)[key(1)] = (3.141592653589793, True)
    DiskCache(file)[key(2)] = (1.0, False)
    code = (
        "from pathlib import Path; from sojourn.qoe.score_cache import DiskCache\n"
        f"kept = DiskCache(Path({str(file)!r}))\n"
        f"print(*map(kept.get, {[key(1), key(2), key(3), key(1, 'zero')]!r}))"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert got == "(3.141592653589793, True) (1.0, False) None None\n"


def test_other_code_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scores.sqlite"
    DiskCache(file)[key(1)] = (3.0, True)
    monkeypatch.setattr(score_cache, "code", lambda: b"another PESQ")
    assert DiskCache(file).get(key(1)) is None


def test_it_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    file = tmp_path / "scores.sqlite"
    kept = DiskCache(file, most=10)
    for number in range(40):
        kept[key(number)] = (3.0, True)
    fresh = DiskCache(file, most=10)
    assert [number for number in range(40) if fresh.get(key(number))] == list(range(30, 40))


def test_what_is_no_database_is_thrown_away_and_what_is_no_score_is_none(tmp_path: Path) -> None:
    file = tmp_path / "scores.sqlite"
    file.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    kept = DiskCache(file)
    assert kept.get(key(1)) is None
    kept[key(1)] = (3.0, True)
    assert kept.get(key(1)) == (3.0, True)
    again = DiskCache(file)
    again[key(2)] = (9.0, True)
    assert DiskCache(file).get(key(2)) is None


def test_where_nothing_can_be_written_scores_are_computed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    kept = DiskCache(tmp_path / "file" / "scores.sqlite")
    kept[key(1)] = (3.0, True)
    assert kept.get(key(1)) == (3.0, True)
    assert kept.get(key(2)) is None


def test_it_is_whole_after_kills_while_several_write(tmp_path: Path) -> None:
    file = tmp_path / "scores.sqlite"
    code = (
        "import sys; from pathlib import Path; from sojourn.qoe.score_cache import DiskCache\n"
        f"kept = DiskCache(Path({str(file)!r}))\n"
        "for number in range(10**6):\n"
        "    kept[('samples', number, int(sys.argv[1]), 'plc', b'')] = (1 + number % 30 / 10, True)\n"
        "    if number == 50: print('on', flush=True)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(which)], stdout=subprocess.PIPE)
        for which in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"on\n"
    time.sleep(0.05)
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    kept = DiskCache(file)
    for which in range(2):
        for number in range(50):
            assert kept.get(("samples", number, which, "plc", b"")) == (1 + number % 30 / 10, True)


def test_the_calls_heard_first_are_spread_over_what_is_expected() -> None:
    keys = [(0, 0, call) for call in range(100)]
    for begin in (0.0, 0.3, 0.999):
        order = enough.spread(keys, begin)
        assert sorted(order) == keys
        for few in (8, 12, 40):
            heard = sorted(call for _, _, call in order[:few])
            # The longest stretch of which nobody is heard: twice an even share, or a little more.
            gaps = [b - a for a, b in pairwise([*heard, heard[0] + 100])]
            assert max(gaps) <= 2.7 * 100 / few + 1
    # Every call has the same chance to be among the first eight.
    chances = Counter(key for lot in range(1000) for key in enough.spread(keys, lot / 1000)[:8])
    assert set(chances.values()) <= {79, 80, 81} and len(chances) == 100
    assert enough.lot(b"a") == enough.lot(b"a") != enough.lot(b"b") and 0 <= enough.lot(b"") < 1
    assert enough.spread([], 0.5) == []


def test_what_is_expected_makes_few_calls_enough() -> None:
    scores = {(0, 0, call): 1.0 + 3.0 * call / 99 for call in range(100)}
    expected = {key: -score for key, score in scores.items()}
    blind = {key: (key[2] * 37) % 101 for key in scores}
    heard = enough.enough(expected, scores.__getitem__, 1.4, 0.2)
    assert len(heard) == 8
    assert abs(fmean(scores[key] for key in heard) - 2.5) < 0.15
    assert len(enough.enough(blind, scores.__getitem__, 0.6, 0.2)) > len(
        enough.enough(expected, scores.__getitem__, 0.6, 0.2)
    )
    # Calls of one kind and another: as many are heard of each as there are.
    kinds = {(0, 0, call): 1.0 if call < 75 else 4.0 for call in range(100)}
    few = [fmean(kinds[key] for key in enough.spread(sorted(kinds), lot / 7)[:8]) for lot in range(7)]
    assert all(abs(mean - fmean(kinds.values())) < 0.4 for mean in few)


def test_intervals_shrink_with_the_calls_that_are_left() -> None:
    scores = [3.0, 3.4, 2.6, 3.1, 2.9, 3.3, 2.7, 3.0]
    assert enough.within(scores, 8) == 0.0
    assert enough.within(scores, 9) < enough.within(scores, 100) < enough.within(scores[:4], 100)
    assert enough.within(scores[:1], 100) == float("inf")
    # The median of two kinds of calls is known less well than their mean.
    halves = [1.0] * 20 + [4.0] * 20
    assert enough.within(halves, 4000) == 1.5
