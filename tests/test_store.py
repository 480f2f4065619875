"""The results directory: whole files or none, and one sentence when something is wrong with it."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sojourn.errors import StoreError
from sojourn.results.atomic import write, writing
from sojourn.results.store import Store, plain_json, result_text

RESULT = {
    "study": "s",
    "point": {"a": 1},
    "replication": 0,
    "links": {"down": {"loss": 0.1}},
    "engine": {"wall_s": 1.5, "packets": 3},
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "deep" / "results")
    store.prepare()
    return store


def test_a_result_is_stored_without_its_wall_time(store: Store) -> None:
    store.write_point("ab", RESULT)
    assert store.has("ab") and not store.has("cd") and not store.has("ab", packets=True)
    assert store.read_point("ab")["engine"] == {"packets": 3}
    assert store.hashes() == ["ab"]
    assert [file.name for file in store.points.iterdir()] == ["ab.json"]


def test_numbers_of_any_kind_become_plain(store: Store) -> None:
    odd = {
        "a": np.float64(0.1),
        "b": np.int32(3),
        "c": float("nan"),
        "d": np.array([1.5, np.inf]),
        "e": (1, None),
    }
    assert plain_json(odd) == {"a": 0.1, "b": 3, "c": None, "d": [1.5, None], "e": [1, None]}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_as_they_were(value: float) -> None:
    text = result_text({**RESULT, "links": value})
    assert json.loads(text)["links"] == value
    assert result_text({**RESULT, "links": np.float64(value)}) == text


def test_reading_makes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert store.hashes() == [] and store.times() == {} and store.read_study() is None and not store.has("ab")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", '{"study": "s"', "[]", '{"study": "s"}', "\udcff"])
def test_a_damaged_file_is_named(store: Store, text: str) -> None:
    store.point_file("ab").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreError, match=r"points/ab\.json is damaged: .*; delete it and run"):
        store.read_point("ab")


def test_what_a_killed_run_left_is_removed_and_what_a_live_one_writes_is_not(store: Store) -> None:
    gone, live = store.points / ".ab.json.0a1b2c3d.tmp", store.points / ".cd.json.0a1b2c3d.tmp"
    gone.write_text("{")
    with live.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        store.prepare()
        assert list(store.points.iterdir()) == [live]
        assert store.hashes() == []
    store.prepare()
    assert list(store.points.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is full")
def test_a_full_disk_is_said_whoever_writes() -> None:
    table, place = pl.DataFrame({"a": range(100_000)}), Path("x.parquet")
    writers: tuple[Callable[[BinaryIO], object], ...] = (
        lambda file: file.write(b"a" * 100_000),
        table.write_parquet,
        lambda file: table.lazy().sink_parquet(file, engine="streaming"),
    )
    for writer in writers:
        with (
            pytest.raises(
                StoreError, match=r"^x\.parquet cannot be written: No space left on device; try y$"
            ),
            writing(place, "; try y"),
            Path("/dev/full").open("wb") as file,
        ):
            writer(file)
    with pytest.raises(pl.exceptions.ComputeError), writing(place):
        raise pl.exceptions.ComputeError("of something else")


def test_where_files_cannot_be_locked_age_decides(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    old, new = store.points / ".ab.json.0a1b2c3d.tmp", store.points / ".cd.json.0a1b2c3d.tmp"
    for file in (old, new):
        file.touch()
    os.utime(old, (0, 0))
    store.prepare()
    assert list(store.points.iterdir()) == [new]
    store.write_point("ab", RESULT)
    assert store.has("ab")


def test_a_writer_whose_temporary_file_is_taken_away_writes_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, taken = fcntl.flock, []

    def late(fd: int, how: int) -> None:
        """Lock a file just after it was removed, then one that another process has locked to remove it."""
        taken.append(fd)
        if len(taken) == 1:
            next(store.points.glob(".ab.json.*.tmp")).unlink()
        if len(taken) == 2:
            raise BlockingIOError
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", late)
    store.write_point("ab", RESULT)
    assert len(taken) == 3 and store.read_point("ab")["point"] == {"a": 1}


def test_whoever_writes_a_file_removes_what_a_killed_writer_left_of_it(tmp_path: Path) -> None:
    left, live = tmp_path / ".s[1].csv.0a1b.tmp", tmp_path / ".s[1].csv.2c3d.tmp"
    others = tmp_path / ".t.csv.0a1b.tmp"
    for file in (left, others):
        file.write_text("half")
    with live.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(tmp_path / "s[1].csv", lambda file: file.write(b"whole"))
        assert sorted(tmp_path.iterdir()) == sorted([live, others, tmp_path / "s[1].csv"])
    write(tmp_path / "s[1].csv", lambda file: file.write(b"whole"))
    assert sorted(tmp_path.iterdir()) == sorted([others, tmp_path / "s[1].csv"])


def test_many_writers_of_one_point(store: Store) -> None:
    threads = [
        threading.Thread(target=lambda: [store.write_point("ab", RESULT) for _ in range(20)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.name for file in store.points.iterdir()] == ["ab.json"]
    assert store.read_point("ab")["links"] == RESULT["links"]


def test_times_survive_a_broken_line(store: Store) -> None:
    store.record_time("ab", 1.5)
    with store.timings.open("a") as file:
        file.write('{"hash": "x", "wall')
        file.write("\n")
    store.record_time("cd", 2.5)
    store.record_time("ab", 3.5)
    assert store.times() == {"ab": 3.5, "cd": 2.5}


def test_a_full_disk_is_one_sentence(store: Store, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device; put that right, or choose another"):
        store.write_point("ab", RESULT)
    assert list(store.points.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ('{"a": "b', "it is not valid JSON (Unterminated string starting at line 1)"),
        ("[1]", "it holds a list"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, text, said):
    store = Store(tmp_path)
    store.prepare()
    store.point_file("a").write_text(text)
    with pytest.raises(StoreError) as caught:
        store.read_point("a")
    assert f"a.json is damaged: {said}; delete it" in str(caught.value)
