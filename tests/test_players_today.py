"""The players of today decide as the libraries do whose names they have.

`tests/data/players_today.json` holds what the libraries themselves chose (dash.js 5.1 at ccf3b95, Shaka
Player 5.2.12, hls.js 1.7.4, run by `python -m tools.players`) when they saw what our players saw.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sojourn

from tools.players.__main__ import CLIPS, FILE, TRACES, viewing

KNOWN = json.loads(Path(FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("library", ["dash.js", "shaka", "hls.js"])
def test_every_decision_is_the_library_s(library: str) -> None:
    assert len(KNOWN) == 3 * len(CLIPS) * len(TRACES)
    seen = set()
    for clip in CLIPS:
        for trace in TRACES:
            ours = [segment.level for segment in viewing(library, clip, trace)]
            assert ours == KNOWN[f"{library}, {clip}, {trace}"], f"{clip}, {trace}"
            seen |= set(ours)
    assert len(seen) > 8, "the traces ask for most levels"


@pytest.mark.parametrize(("library", "most_s"), [("dash.js", 30.0), ("shaka", 14.0), ("hls.js", 124.0)])
def test_each_buffers_as_much_as_its_defaults_say(library: str, most_s: float) -> None:
    # At the highest level: 30 s less one segment and one more; 10 s and one; 60 MB and one.
    segments = sojourn.play(library, "envivio-4s", 20000, 600)
    most = max(segment.buffer_after_s for segment in segments)
    assert most_s - 12 < most <= most_s


def test_a_study_s_own_buffer_bounds_them_all() -> None:
    segments = sojourn.play("hls.js", "bbb-x264-4s", 20000, 20)
    assert max(segment.buffer_after_s for segment in segments) <= 20.0 + 1e-6
