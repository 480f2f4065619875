"""Traces of a study: found beside it, checked, part of the point by content, filled in for the run."""

import json

import polars as pl
import pytest
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results import Results
from sojourn.results.show import describe
from sojourn.study import Study
from sojourn.study.inputs import trace
from sojourn.sweep.run import run
from sojourn.sweep.simulation import simulate

STUDY = """
name = "traced"
duration = "4s"
warmup = "1s"
[path]
rtt = "20ms"
down = { rate = { trace = "traces/cell.down" }, queue = { kind = "fifo", limit = "20pkt" } }
up = { rate = { trace = "traces/cell.up" }, queue = { kind = "codel", limit = "100pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "newreno"
direction = "down"
[[flows]]
source = { kind = "video", trace = "clip.st" }
transport = "udp"
direction = "up"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/cell.down").write_text("".join(f"{ms}\n" for ms in range(2, 1000, 2)))
    (tmp_path / "traces/cell.up").write_text("5\n5\n10\n")
    (tmp_path / "clip.st").write_text("1 H 29 1 0.0\n2 I 3000 3 0.04\n3 P 700 1 0.08\n")
    (tmp_path / "traced.toml").write_text(STUDY)
    return tmp_path


def test_a_point_is_named_by_the_content_and_not_the_place(folder, tmp_path_factory):
    first = Study.load(folder / "traced.toml").points[0]
    rate = first.document["path"]["down"]["rate"]
    assert rate["trace"] == str(folder / "traces/cell.down")
    assert len(rate["sha256"]) == 64
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("traces/cell.down", "traces/cell.up", "clip.st", "traced.toml"):
        (elsewhere / name).parent.mkdir(exist_ok=True)
        (elsewhere / name).write_bytes((folder / name).read_bytes())
    assert Study.load(elsewhere / "traced.toml").points[0].hash == first.hash
    (elsewhere / "traces/cell.up").write_text("5\n10\n")
    assert Study.load(elsewhere / "traced.toml").points[0].hash != first.hash


def test_a_run_follows_the_traces_in_both_directions(folder):
    with (folder / "packets.parquet").open("w+b") as file:
        result, _, _, *_ = simulate(Study.load(folder / "traced.toml").points[0], file)
    packets = pl.read_parquet(folder / "packets.parquet")
    assert result["links"]["down"]["rate_bps"] == 499 * 1504 * 8 * 1000 // 998
    assert result["links"]["up"]["rate_bps"] == 3 * 1504 * 8 * 100
    assert 0.8 < result["links"]["down"]["utilisation"] <= 1.0
    for link, gap in (("down", 2_000_000), ("up", 5_000_000)):
        left = packets.filter((pl.col("link") == link) & pl.col("depart_ns").is_not_null())
        assert left.height and (left["depart_ns"] % gap == 0).all()
    assert set(packets.filter(pl.col("kind") == "datagram")["size_bytes"]) == {69, 1064, 992, 740}


def test_results_are_stored_and_shown(folder):
    results = run(Study.load(folder / "traced.toml"), out=folder / "out", jobs=1)
    assert len(results) == 1
    digest = next(iter(results.items()))[0]
    text = describe(Results(folder / "out"), digest)
    assert "cell.down" in text
    assert "not known to this engine" not in text


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("traces/cell.up", "5\nfive\n", 'line 2: "five" is not a time'),
        ("traces/cell.up", "", "is empty"),
        ("traces/cell.up", "7\n5\n", "line 2: 5 ms comes after 7ms"),
        ("clip.st", "1 I 10 1\n", "line 1: expected a frame's number"),
    ],
)
def test_a_bad_file_is_told_before_anything_runs(folder, file, content, expected):
    (folder / file).write_text(content)
    with pytest.raises(SojournError, match=expected) as told:
        _ = Study.load(folder / "traced.toml").points
    assert str(folder / file) in str(told.value)
    assert "\n" not in str(told.value)


def test_a_byte_order_mark_is_no_part_of_a_trace(folder):
    file = folder / "traces/cell.down"
    file.write_text(file.read_text(), encoding="utf-8-sig")
    assert Study.load(folder / "traced.toml").points


def test_files_that_are_not_there_or_are_not_text(folder):
    (folder / "clip.st").unlink()
    with pytest.raises(SojournError, match=r"clip.st: there is no such trace"):
        _ = Study.load(folder / "traced.toml").points
    (folder / "clip.st").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SojournError, match=r"clip.st is not text"):
        _ = Study.load(folder / "traced.toml").points


def test_a_file_that_changes_between_study_and_run_is_refused(folder):
    point = Study.load(folder / "traced.toml").points[0]
    (folder / "traces/cell.down").write_text("2\n")
    with pytest.raises(SojournError, match="has changed since the study was read"):
        _ = point.text


def test_the_engine_does_not_run_without_the_content(folder):
    point = Study.load(folder / "traced.toml").points[0]
    with pytest.raises(_core.StudyError, match="is not in the point"):
        _core.run(json.dumps({"seed": 1, "replication": 0, "document": point.document}))
    assert "content" in json.loads(point.text)["document"]["path"]["up"]["rate"]
    assert "content" not in point.document["path"]["up"]["rate"]


def test_a_scenario_without_files_is_left_as_it_is(tmp_path):
    document = {"path": {"down": {"rate": "1Mbit"}}, "flows": [{"source": {"kind": "bulk"}}]}
    trace.settle(document, tmp_path)
    assert trace.fill(document) is document and trace.identity(document) == {}
