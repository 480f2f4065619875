"""Scores of video calls: of tables made by hand, and of calls that are run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from conftest import Command
from sojourn import _core
from sojourn.qoe.call import score_call
from sojourn.qoe.media.video.talking_head import MEASURED, ssim

MS = 1_000_000


def frames(shown_ms: list[int], **changed: Any) -> dict[str, np.ndarray]:
    """A call's frames, captured every 100 ms from 1 s on and shown at these times; -1 is never."""
    n = len(shown_ms)
    captured = 1000 * MS + 100 * MS * np.arange(n)
    shown = np.array(shown_ms)
    times = [t for t in shown_ms if t >= 0]
    gaps = dict(zip(times, np.diff([times[0], *times]), strict=True))
    table = {
        "user": np.zeros(n, np.uint32),
        "direction": np.ones(n, np.uint8),
        "captured_ns": captured.astype(np.uint64),
        "delay_ns": np.where(shown < 0, -1, shown * MS - captured),
        "bytes": np.full(n, 4000, np.uint32),
        "height": np.full(n, 720, np.uint16),
        "gap_ns": np.array([gaps.get(t, 0) * MS for t in shown_ms]),
        "frozen": np.zeros(n, bool),
    }
    return table | {name: np.asarray(column) for name, column in changed.items()}


def rates(n: int) -> dict[str, np.ndarray]:
    """What 200 ms brought, from 1 s on: 25 kB each second."""
    return {
        "user": np.zeros(n, np.uint32),
        "direction": np.ones(n, np.uint8),
        "time_ns": 1000 * MS + 200 * MS * np.arange(1, n + 1),
        "received_bytes": np.full(n, 5000),
    }


def score(table: dict[str, np.ndarray], end_s: float = 3.0) -> dict[str, Any]:
    return score_call(table, rates(10), 1.0, end_s)["receives"]


def test_a_call_without_trouble() -> None:
    found = score(frames([1050 + 100 * i for i in range(20)]))
    assert (found["frozen"], found["freezes_per_min"], found["not_shown"], found["calls"]) == (0, 0, 0, 1)
    assert found["fps"] == 10
    assert found["rate_kbps"]["median"] == 200
    # Twenty pictures of 4000 bytes in two seconds, however many bytes arrive.
    assert found["picture_kbps"] == 320
    assert found["delay_ms"]["median"] == 50
    assert found["height"]["p5"] == 720
    # Ten pictures of 4000 bytes a second: as many bits each as 960 kbit/s have at 30 a second.
    assert found["ssim"]["median"] == pytest.approx(float(ssim([720], [960])[0]), abs=1e-4)


def test_a_freeze_counts_its_gap_and_the_end_counts_what_is_left() -> None:
    shown = [1050, 1150, 1250, -1, -1, -1, -1, -1, 1850, 1950]
    found = score(frames(shown, frozen=[t == 1850 for t in shown]), 2.0)
    assert found["frozen"] == pytest.approx(0.6)
    assert found["freezes_per_min"] == 60
    assert found["not_shown"] == 0.5
    assert found["picture_kbps"] == 160, "of those that are shown"
    # Nothing after 1250 ms: the picture is frozen to the end.
    found = score(frames([1050, 1150, 1250, *[-1] * 7]), 2.0)
    assert found["frozen"] == pytest.approx(0.75)
    assert found["freezes_per_min"] == 60


def test_a_freeze_that_began_in_the_warm_up_counts_from_its_end() -> None:
    table = frames([1400, 1450, 1500, 1550], frozen=[True, False, False, False])
    table["gap_ns"][0] = 5000 * MS
    assert score(table, 1.6)["frozen"] == pytest.approx(0.4 / 0.6)


def test_a_call_of_which_nothing_is_seen_is_frozen_and_not_perfect() -> None:
    found = score(frames([*[-1] * 10, 5000])) | {}
    nothing = frames([1050] * 3)
    nothing["delay_ns"][:] = -1
    found = score(nothing)
    assert (found["frozen"], found["fps"], found["not_shown"]) == (1, 0, 1)
    assert found["delay_ms"]["median"] is None
    assert found["ssim"]["median"] is None


def test_a_call_that_begins_late_is_measured_from_its_beginning() -> None:
    # Its rates begin at 1 s, long after the warm-up; half of its two seconds are frozen.
    shown = [1050 + 100 * i for i in range(10)]
    found = score_call(frames(shown), rates(10), 0.2, 3.0)["receives"]
    assert (found["fps"], found["picture_kbps"]) == (5, 160)
    assert found["frozen"] == pytest.approx(1.05 / 2)


def test_of_two_calls_one_that_never_connects_counts_as_frozen() -> None:
    table, two = frames([1050 + 100 * i for i in range(20)]), rates(10)
    silent = rates(10) | {"user": np.ones(10, np.uint32), "received_bytes": np.zeros(10)}
    both = {name: np.concatenate((two[name], silent[name])) for name in two}
    found = score_call(table, both, 1.0, 3.0)["receives"]
    assert (found["calls"], found["frozen"], found["fps"], found["picture_kbps"]) == (2, 0.5, 5, 160)
    alone = score_call({name: column[:0] for name, column in table.items()}, silent, 1.0, 3.0)["receives"]
    assert (alone["calls"], alone["frozen"], alone["rate_kbps"]["mean"]) == (1, 1, 0)
    assert alone["not_shown"] is None


def test_directions_and_columns() -> None:
    assert score_call({n: c[:0] for n, c in frames([1050]).items()}, rates(0), 1.0, 2.0) == {}
    with pytest.raises(ValueError, match="the call table lacks frozen"):
        score_call({n: c for n, c in frames([1050]).items() if n != "frozen"}, rates(10), 1.0, 2.0)


def test_ssim_grows_with_the_rate_and_is_that_of_the_table() -> None:
    for lines, points in MEASURED.items():
        kbps, values = np.array(points).T
        assert (np.diff(kbps) > 0).all()
        assert (np.diff(values) > 0).all()
        assert ssim([lines] * len(points), kbps) == pytest.approx(values)
    assert ssim([100, 720], [1, 1e9]) == pytest.approx([MEASURED[180][0][1], MEASURED[720][-1][1]])
    # Few bits are better spent on few lines.
    assert np.argmax(ssim([180, 360, 720], [60] * 3)) == 0
    assert np.argmax(ssim([180, 360, 720], [2000] * 3)) == 1
    with pytest.raises(ValueError, match="pictures of 1080 lines"):
        ssim([1080], [2000])


STUDY = """
name = "calls"
duration = "60s"
warmup = "10s"
[path]
rtt = "50ms"
down = { rate = "2Mbit", queue = { kind = "fifo", limit = "100pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "50pkt" } }
[[users]]
kind = "call"
[sweep]
"path.down.queue.kind" = ["fifo", "fq-codel"]
"""


def test_a_call_is_run_scored_and_judged(sojourn: Command) -> None:
    (sojourn.cwd / "calls.toml").write_text(STUDY)
    rows = sojourn.json("run", "calls.toml", "--jobs", "1", "--out", "out")
    [row] = [row for row in rows if row["point"]["path.down.queue.kind"] == "fifo"]
    # Four fifths of each link; the bound is ours.
    assert 1600 < row["call"]["receives"]["rate_kbps"]["mean"] <= 2000
    assert 800 < row["call"]["sends"]["rate_kbps"]["mean"] <= 1000
    # Pictures get more lines, with a key frame each: a freeze or two of 50 s, a bound that is ours.
    assert row["call"]["receives"]["frozen"] < 0.01
    assert 25 < row["call"]["receives"]["delay_ms"]["median"] < 250
    assert row["links"]["down"]["queue_delay_ms"]["mean"] < 50
    sojourn("report", "out", svg_only=True)
    page = (sojourn.cwd / "out" / "report.html").read_text()
    for said in ("video call, the user receives, time frozen", "ITU-T G.114", "Zinner et al. 2010: fair"):
        assert said in page
    assert "call receives" in sojourn("show", "out").stdout


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("height = 20", "height"),
        ("fps = 0.5", "1 to 60 pictures"),
        ('max-rate = "10kbit"', "30kbit to 100Mbit"),
        ('audio = "1Mbit"', "at most 512kbit"),
        ('start-rate = "1kbit"', "5kbit to 100Mbit"),
        ("count = 0", "at least 1"),
        ('codec = "vp8"', "codec"),
    ],
)
def test_bad_keys_are_refused_in_one_sentence(key: str, said: str) -> None:
    with pytest.raises(_core.StudyError, match=said):
        _core.points(_core.parse(STUDY.replace('kind = "call"', f'kind = "call"\n{key}'), "bad.toml", []))


def test_the_target_of_a_call_leaves_room_for_its_sound_and_the_least_picture() -> None:
    link = {"rate": "60kbit", "queue": {"kind": "fifo", "limit": "30pkt"}}
    study = {
        "name": "x",
        "duration": "20s",
        "path": {"rtt": "40ms", "down": link, "up": link},
        "users": [{"kind": "call", "height": 180, "direction": "up"}],
    }
    (point,) = _core.points(json.dumps(study))
    # Sound of 32 kbit/s, with headers, and 30 kbit/s of video: the link carries less.
    assert _core.run(point)["call_rates"]["target_bps"].min() > 62_000
