"""Limits as numbers beside labels, one queue for both ways, names of other tools, limits that starve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results import Results, open_results
from sojourn.results.limits import columns, held, places
from sojourn.study import Study, expand
from sojourn.study.buffers import buffers, starved
from sojourn.study.identity import point_hash
from test_figures import LIMIT, sweep, write_results

PATH = {"rtt": "50ms", "down": {"rate": "12Mbit"}, "up": {"rate": "1.2Mbit"}}


def study(queue: Any, axes: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    path = {**PATH, **({"queue": queue} if queue else {})}
    return {"name": "trial", "duration": "9s", "warmup": "1s", "path": path, "sweep": axes or {}, **keys}


def documents(whole: dict[str, Any]) -> list[dict[str, Any]]:
    return [point["document"] for point in expand(whole, "trial")]


def test_a_spelling_decides_nothing() -> None:
    (ours,) = documents(study({"kind": "fq-codel", "limit": "10240pkt", "target": "5ms"}))
    for queue in ({"kind": "fq_codel"}, {"kind": "FQ_CoDel", "limit": "10240p", "target": "5msec"}):
        (theirs,) = documents(study(queue))
        assert theirs == ours
        assert point_hash(theirs, 1, 0) == point_hash(ours, 1, 0)
    fast = study({"kind": "codel"})
    fast["path"]["down"] = {"rate": "12mbit/s"}
    assert documents(fast) == documents(study({"kind": "codel", "limit": "1000pkt"}))


def test_both_ways_have_the_queue_and_each_its_own_limit() -> None:
    (both,) = documents(study({"kind": "pfifo", "limit": "1BDP"}))
    assert both["path"]["down"]["queue"] == both["path"]["up"]["queue"]
    assert "queue" not in both["path"]
    found = buffers(both)
    assert [found[link]["limit_pkts"] for link in ("down", "up")] == [50, 5]
    assert [found[link]["limit_bytes"] for link in ("down", "up")] == [75_000, 7_500]
    assert [found[link]["limit_ms"] for link in ("down", "up")] == [50.0, 50.0]


def test_limits_that_are_swept_are_columns_of_numbers(tmp_path: Path) -> None:
    labels = ("8pkt", "1BDP", "96kB", "200ms")
    results = sweep({LIMIT: labels}, 1)
    whole = study({"kind": "fifo", "limit": "9pkt"}, {LIMIT: list(labels)})
    done = write_results(tmp_path / "done", results, [], **whole)
    table = Results(done).table()
    link = "path.down.queue.limit"
    assert table[f"{link}_pkts"].to_list() == [8, 50, 64, 200]
    assert table[f"{link}_bytes"].to_list() == [12_000, 75_000, 96_000, 300_000]
    assert table[f"{link}_ms"].to_list() == [8.0, 50.0, 64.0, 200.0]
    assert table[LIMIT].to_list() == list(labels), "the labels stay"
    assert not [name for name in table.columns if "up.queue.limit_" in name], "it is the same in every point"
    assert places(held(Results(done).record), LIMIT) == (
        {"8pkt": 8, "1BDP": 50, "96kB": 64, "200ms": 200},
        "packets of 1500 B",
    )


def test_a_label_that_means_several_numbers_has_no_place() -> None:
    rates = {"path.down.rate": ["12Mbit", "24Mbit"], LIMIT: ["1BDP", "64pkt"]}
    cells = held({"study": "trial", "document": study({"kind": "fifo", "limit": "9pkt"}, rates)})
    assert len(cells) == 4
    assert places(cells, LIMIT) is None, "a BDP is 50 packets here and 100 there, 64 packets 64 ms or 32"
    assert places(cells, "path.down.rate") is None
    both = {"path.queue.limit": ["1BDP", "2BDP"]}
    cells = held({"study": "trial", "document": study({"kind": "fifo", "limit": "9pkt"}, both)})
    assert places(cells, "path.queue.limit") == ({"1BDP": 50.0, "2BDP": 100.0}, "ms at the link's rate")
    assert {name for cell in columns(cells).values() for name in cell} == {
        f"path.{link}.queue.limit_{unit}" for link in ("down", "up") for unit in ("pkts", "bytes", "ms")
    }


def test_a_study_that_cannot_be_expanded_has_no_such_columns(tmp_path: Path) -> None:
    done = write_results(tmp_path / "done", sweep({LIMIT: ("8pkt", "64pkt")}, 1), [])
    assert not [name for name in Results(done).table().columns if "queue.limit_" in name]


def test_starving_limits_are_told_once_with_their_share_of_the_cells() -> None:
    queue = {"path.queue": [{"kind": "codel", "limit": "4pkt"}, {"kind": "codel", "limit": "64pkt"}]}
    (down,) = starved(map(buffers, documents(study(None, queue))))
    assert down.startswith("downlink, 1 of 2 cells: a full queue of 4pkt drains in 4.000 ms")
    assert "uplink" not in down, "there it drains in 40 ms"
    (all_of,) = starved(map(buffers, documents(study({"kind": "pie", "limit": "12pkt"}))))
    assert all_of.startswith("downlink, every cell: ")


def test_run_warns_and_report_tells(sojourn: Command) -> None:
    text = (
        'name = "thin"\nduration = "3s"\nwarmup = "1s"\n[path]\nrtt = "50ms"\n'
        'queue = { kind = "codel", limit = "4p" }\ndown.rate = "12mbit"\nup.rate = "12mbit"\n'
        '[[flows]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
    )
    (sojourn.cwd / "thin.toml").write_text(text)
    done = sojourn("run", "thin.toml")
    assert "note: downlink, every cell: a full queue of 4pkt drains in 4.000 ms" in done.stderr
    page = Path(sojourn.cwd / sojourn("report", "thin", svg_only=True).stdout.strip()).read_text()
    assert "a full queue of 4pkt drains in 4.000\xa0ms" in page
    assert "codel limit 4 target 5ms interval 100ms noecn" in page
    row = json.loads(sojourn("show", "thin", "--json").stdout)
    cdf = row["links"]["down"]["queue_delay_cdf"]
    delay = row["links"]["down"]["queue_delay_ms"]
    at = dict(zip(cdf["share"], cdf["ms"], strict=True))
    assert (at[0.5], at[0.95], at[0.99], at[1.0]) == tuple(
        delay[name] for name in ("p50", "p95", "p99", "max")
    )
    assert cdf["ms"] == sorted(cdf["ms"])
    for verb in ("report", "show"):
        told = sojourn(verb, "thinn", code=2).stderr
        assert "did you mean thin? results has thin" in told


def test_a_typo_in_the_name_of_a_study_has_a_suggestion() -> None:
    with pytest.raises(SojournError, match=r"no such study file; did you mean quickstart\?$"):
        Study.load("quikstart")
    with pytest.raises(SojournError, match=r"; the studies that ship are aqm-buffers, .* and \d+ more$"):
        Study.load("zzz")


def test_a_typo_in_the_path_of_a_study_has_one_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    with pytest.raises(SojournError, match=r"mine\.tom: there is no .* did you mean .*/mine\.toml\?$"):
        Study.load(tmp_path / "mine.tom")


def test_results_are_found_by_their_name_below_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SojournError, match="no such results directory; run its study first"):
        open_results("trial")
    write_results(tmp_path / "results" / "trial", sweep({LIMIT: ("8pkt",)}, 1), [])
    assert open_results("trial").name == "trial"
    (tmp_path / "trial").mkdir()
    with pytest.raises(SojournError, match=r"has no study\.json"):
        open_results("trial")  # a directory of one's own goes first


def test_the_engine_refuses_what_is_no_scenario() -> None:
    with pytest.raises(_core.StudyError, match="not a scenario"):
        _core.buffers("{}")
