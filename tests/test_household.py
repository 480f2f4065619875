"""A study of one's own line: the household, the loads that ship, and where they come from."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command
from sojourn import _core

STUDY = """\
name     = "own"
duration = "18s"
warmup   = "3s"
path     = { rtt = "20ms", down = { rate = "20Mbit" }, up = { rate = "4Mbit" } }
users    = [{ kind = "household" }]
workload = "household-evening"
[sweep]
"path.queue" = [{ kind = "fifo", limit = "2BDP" }, { kind = "fq_codel" }]
"""


def run(sojourn: Command, text: str, *arguments: str) -> list[dict]:
    (sojourn.cwd / "own.toml").write_text(text)
    return sojourn.json("run", "own.toml", *arguments)


def test_a_study_of_ten_lines_scores_everybody_and_says_what_is_remembered(sojourn: Command) -> None:
    rows = run(sojourn, STUDY)
    assert len(rows) == 2
    for row in rows:
        assert {"voice", "call", "page", "gaming", "adaptive", "network"} <= set(row)
        assert "July 2025" in row["page"]["made_of"]
        assert {"cloud-backup", "update-cubic", "update-bbr"} <= set(row["groups"])
        assert row["links"]["up"]["utilisation"] > 0.8
    sojourn("report", "results/own", svg_only=True)
    page = Path(sojourn.cwd / "results/own/report.html").read_text(encoding="utf-8").replace("\xa0", " ")
    known = json.loads(_core.provenance())
    for name in ("household", "household-evening"):
        assert known[name]["about"] in page
        assert known[name]["remembered"].replace("'", "&#39;") in page


def test_a_load_of_one_s_own_is_not_said_to_ship(sojourn: Command) -> None:
    own = '[[workload.torrent]]\nsource = { kind = "bulk" }\ntransport = "reno"\ndirection = "up"\n'
    axis = '[sweep]\nworkload = ["none", "torrent", "video-upload"]\n"path.queue" = [{ kind = "codel" }]\n'
    text = STUDY.replace('workload = "household-evening"\n', "").partition("[sweep]")[0]
    few = text.replace('"household"', '"household", voice = 0, adaptive = 0, call = 0') + own + axis
    run(sojourn, few, "--set", "duration=6s", "--set", "warmup=1s")
    sojourn("report", "results/own", svg_only=True)
    page = Path(sojourn.cwd / "results/own/report.html").read_text(encoding="utf-8")
    assert "“video-upload”" in page
    assert "“torrent”" not in page


def test_what_is_no_load_is_refused_with_those_that_ship(sojourn: Command) -> None:
    (sojourn.cwd / "own.toml").write_text(STUDY.replace("household-evening", "houshold-evening"))
    told = sojourn("run", "own.toml", code=2).stderr
    assert "is not a load that ships" in told
    assert "household-evening" in told
    assert not (sojourn.cwd / "results").exists()
