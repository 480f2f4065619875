"""Small rules of single parts, each with a case on both sides of its edge."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import sojourn
from matplotlib.figure import Figure
from sojourn.cli import call
from sojourn.cli.progress import Progress
from sojourn.errors import counted
from sojourn.parts.arguments import ArgumentError, mapping, number
from sojourn.parts.clips import Clip
from sojourn.qoe.media import recordings
from sojourn.report import _given, several
from sojourn.report.answer import goals
from sojourn.report.answer.hop_rates import kept_most
from sojourn.report.facts import _seed
from sojourn.report.figures import series
from sojourn.report.points import _limit, _limit_title
from sojourn.results.limits import cell_of
from sojourn.study.quantities import _wrong
from sojourn.sweep.testbed.kinds.page import _notes
from test_figures import LIMIT, result, write_results


def test_the_package_lists_all_that_it_has() -> None:
    assert dir(sojourn) == sorted(sojourn.__all__) and "__version__" in dir(sojourn)
    for name in sojourn.__all__:
        assert getattr(sojourn, name) is not None
    with pytest.raises(AttributeError, match="module 'sojourn' has no attribute 'nothing'"):
        _ = sojourn.nothing


def test_any_mapping_is_a_mapping_and_numbers_are_no_truth_values() -> None:
    frozen = MappingProxyType({"a": 1})
    assert mapping(frozen, "x", "{}") is frozen and mapping({}, "x", "{}") == {}
    with pytest.raises(ArgumentError, match=r"^queue is \[1\]; expected a mapping such as \{'kind': 'x'\}$"):
        mapping([1], "queue", "{'kind': 'x'}")
    assert number(2, "n") == 2.0 and number(0.5, "n") == 0.5 and number(float("nan"), "n") != 0
    for wrong in (True, float("inf"), "1", None):
        with pytest.raises(ArgumentError, match="expected a number of s"):
            number(wrong, "n", "s")


def test_limits_have_four_digits_up_to_a_hundred_and_none_behind_the_point_beyond() -> None:
    words = [_limit(value).text for value in (None, 0.12345, 99.994, 99.996, 100.4, 999.6, 12345.6)]
    assert words == ["–", "0.1235", "99.99", "100", "100", "1 000", "12 346"]
    assert _limit(1500.0).number == 1500.0 and _limit(None).number is None
    assert _limit_title("path.down.queue.limit_ms") == "Downlink buffer (ms)"


def test_labels_of_a_cell_are_written_as_in_a_study_file() -> None:
    point = {"path.queue": {"kind": "codel", "limit": "9pkt"}, "n": 3, "flows.0.ecn": True, "x": "a"}
    assert cell_of(point) == (
        ("path.queue", '{"kind": "codel", "limit": "9pkt"}'), ("n", "3"), ("flows.0.ecn", "true"), ("x", "a"),
    )  # fmt: skip


@pytest.mark.parametrize(("style", "told"), [("screen", ""), ("paper", " --style paper")])
def test_a_page_of_several_studies_says_the_command_with_its_style(
    style: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        write_results(tmp_path / name, [result({LIMIT: "8pkt"})], [])
    asked: list[str] = []
    monkeypatch.setattr(
        several, "write_several", lambda opened, command, out, tell: asked.append(command) or [out]
    )
    monkeypatch.chdir(tmp_path)
    assert call(["report", "one", "other", "--out", "all", "--style", style]) == 0
    assert asked == [f"sojourn report one other --out all{told}"]


def test_lines_about_progress_leave_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Progress(3).note("a point failed")
    said = capsys.readouterr()
    assert said.out == "" and said.err == "a point failed\n"


def test_loads_that_were_not_as_simulated_are_counted() -> None:
    entry = {"http": "3"}

    def load(fate: str = "complete", parts: int = 5, *, hero: bool = True, **more: str) -> dict[str, Any]:
        return {"fate": fate, "parts": parts, "hero": hero, **more}

    assert _notes(entry, [load(), load("abandoned", 1, hero=False)], 5) == []
    assert _notes(entry, [load(parts=4), load(), load("under way", 1)], 5) == [
        "1 of 2 complete loads had fewer than 5 objects by the browser's own count"
    ]
    assert _notes(entry, [load(hero=False), load()], 5) == [
        "in 1 of 2 complete loads the largest picture was not seen to be painted"
    ]
    failed = [load("abandoned", failed="no route"), load("abandoned", failed="late")]
    assert _notes(entry, failed, 5) == ["2 loads failed, which count as given up; at first: no route"]


@pytest.mark.parametrize(
    ("delays", "lines"),
    [
        ([90.0], []),
        ([90.1], ["150 ms"]),
        ([240.0], ["150 ms"]),
        ([240.1], ["150 ms", "400 ms"]),
        ([None], []),
    ],
)
def test_limits_of_delay_are_drawn_where_they_are_near(delays: list[float | None], lines: list[str]) -> None:
    frame = pl.DataFrame(
        {"time_s": [0.0], "queue_delay_ms": delays, "utilisation": [0.5], "dropped_pkts": [0.0]},
        schema_overrides={"queue_delay_ms": pl.Float64},
    )
    figure: Figure = series(frame, "T")
    assert [text.get_text() for text in figure.axes[0].texts] == lines


def test_the_last_bin_of_a_series_is_as_wide_as_any() -> None:
    frame = pl.DataFrame(
        {
            "time_s": [0.0, 2.0],
            "queue_delay_ms": [3.0, 5.0],
            "utilisation": [0.5, 0.7],
            "dropped_pkts": [0.0, 9.0],
        }
    )
    for axes in series(frame, "T").axes:
        assert axes.get_xlim() == (0.0, 4.0)
    assert series(frame, "T").axes[0].lines[0].get_ydata().tolist() == [3.0, 5.0, 5.0]


def test_a_configuration_speaks_of_the_first_of_the_path_s_conditions() -> None:
    axes = {"path.down.rate": ["8Mbit", "9Mbit"], "path.rtt": ["20ms"], "workload": ["a"]}
    cells = SimpleNamespace(given=["path.down.rate", "workload", "path.rtt"])
    about = SimpleNamespace(cells=cells, ranking=SimpleNamespace(chosen=[]))
    given = {"path.down.rate": ("8Mbit", "the first of 2"), "path.rtt": ("20ms", "the first of 1")}
    assert _given(about, axes) == given  # type: ignore[arg-type]


def test_of_a_hop_s_rates_it_speaks_of_the_one_that_keeps_most_goals() -> None:
    assert kept_most({"1Gbit": (0, 3), "19Mbit": (2, 2), "95Mbit": (2, 3)}) == "19Mbit"
    assert kept_most({"1Gbit": (1, 3), "19Mbit": (1, 3)}) is None


def test_numbers_that_no_result_has_are_told_from_those_that_it_has_inside() -> None:
    known = {"links.up.loss", "links.up.queue_delay_ms.p95", "voice.talks.mos.mean"}

    def wrong(path: str, whole: bool = True) -> str | None:
        return _wrong(path, known, ["voice"], [{}], whole=whole)

    assert wrong("links.up.loss") is None and wrong("links.up", whole=False) is None
    assert wrong("links.u", whole=False) is not None, "a name is whole"
    assert wrong("links.up.queue_delay_ms") == (
        "that is not one number; expected one of links.up.queue_delay_ms.p95"
    )
    assert wrong("links.up.los") == "results have no such number; did you mean links.up.loss?"
    assert wrong("web.mos.mean") == "the study has no users of kind web; its users are voice"
    assert (wrong("losses.up.loss") or "").startswith("the study keeps no losses: set record.losses to ")
    assert (wrong("network.rtt_ms.mean") or "").startswith("nobody sends small packets all the time: ")


def test_a_recording_is_set_to_its_level_in_decibels_of_amplitude() -> None:
    # A sine of half the full scale for a second: its level is 20 log10(0.5 / √2) = -9.03 dBov.
    at = np.arange(8000)
    sine = np.rint(16384 * np.sin(2 * np.pi * 440 * at / 8000)).astype(np.int16)
    for wanted in (-26.0, -20.0):
        made = recordings.level(sine, wanted, 8000).astype(np.float64) / 32768
        assert 20 * np.log10(np.sqrt((made**2).mean())) == pytest.approx(wanted, abs=0.05)
    silent = np.zeros(8000, dtype=np.int16)
    assert recordings.level(silent, -26.0, 8000) is silent


def test_what_is_far_below_the_loudest_counts_neither_for_the_level_nor_as_an_end() -> None:
    loud = 20_000
    below = {db: round(loud * 10 ** (-db / 20)) for db in (34, 36, 39, 41)}
    frames = [below[41], below[39], loud, below[34], below[36], 0, below[41]]
    signal = np.repeat(np.array(frames, dtype=np.int16), 320)
    # Within 35 dB are two frames, and their mean power is the level.
    rms = np.sqrt((loud**2 + below[34] ** 2) / 2)
    made = recordings.level(signal, -26.0, 16_000)
    assert made[2 * 320] == round(loud * 32768 * 10 ** (-26 / 20) / rms)
    # Within 40 dB are those of 39 and more.
    assert recordings.trim(signal, 16_000)[::320].tolist() == frames[1:5]
    assert recordings.active(signal, rate_hz=16_000).tolist() == [frame >= below[34] for frame in frames]


@pytest.mark.parametrize(
    ("algorithm", "levels_s"), [("throughput", [2.5, 3.96, 5.42]), ("fixed", [2.5, 5.0, 7.5])]
)
def test_segments_have_parts_of_seconds(algorithm: str, levels_s: list[float]) -> None:
    # A request takes 40 ms and, at 100 kb/s, a second for 12 500 bytes; the first player starts at once.
    clip = Clip(2.5, (100.0, 200.0), np.array([[12_500, 25_000]] * 3, dtype=np.uint64))
    player = {"kind": "fixed", "level": 1} if algorithm == "fixed" else algorithm
    played = sojourn.play(player, clip, 100.0, 30)
    assert [segment.arrive_s for segment in played] == pytest.approx([1.04, 2.08, 3.12])
    assert [segment.buffer_after_s for segment in played] == pytest.approx(levels_s)


def test_draws_are_from_0_to_below_1() -> None:
    pie, packets = {"kind": "pie", "limit": "9pkt"}, {"time": [0, 1]}
    for fits in (0.0, 0.999999, [0.5, 0.0]):
        assert sojourn.replay(pie, packets, [9], draws=fits).fate.size == 2
    for beyond in (1.0, -0.1, [0.5, 1.0]):
        with pytest.raises(ValueError, match="is not a random number; give 0 to below 1"):
            sojourn.replay(pie, packets, [9], draws=beyond)


def test_a_number_of_a_result_is_one_only_where_it_says_something() -> None:
    found: dict[str, Any] = {
        "a": {
            "whole": 3,
            "none": None,
            "truth": True,
            "words": "3",
            "list": [1],
            "nan": float("nan"),
            "zero": 0,
        },
        "links": {
            "down": {"departed_pkts": 0, "queue_delay_ms": {"mean": 0.0}, "loss": 1.0},
            "home.up": {"departed_pkts": 1, "queue_delay_ms": {"mean": 0.0}},
        },
        "adaptive": {"clients_stalled_pct": 25, "clients": []},
    }
    values = {name: goals.number_at(found, f"a.{name}") for name in found["a"]}
    assert values == {**dict.fromkeys(found["a"]), "whole": 3.0, "zero": 0.0} and isinstance(
        values["whole"], float
    )
    # What nothing waited in is not short; its losses are what they are.
    assert goals.number_at(found, "links.down.queue_delay_ms.mean") is None
    assert goals.number_at(found, "links.home.up.queue_delay_ms.mean") == 0.0
    assert goals.number_at(found, "links.down.loss") == 1.0
    stalled, viewers = "adaptive.clients_stalled_pct", found["adaptive"]["clients"]
    assert goals.number_at(found, stalled) == 25.0
    # Nobody saw a picture: of several, one that did is enough.
    viewers += [{"play_s": None}, {}]
    assert goals.number_at(found, stalled) is None
    viewers.append({"play_s": 0.0})
    assert goals.number_at(found, stalled) == 25.0


@pytest.mark.parametrize(
    ("path", "found", "trials"),
    [
        ("adaptive.clients_stalled_pct", {"adaptive": {"clients": [{}, {}]}}, 2),
        ("adaptive.clients_stalled_pct", {"adaptive": {"per_client_rate_kbps": [1, 2, 3]}}, 3),
        ("adaptive.clients_stalled_pct", {"adaptive": {"clients": []}}, None),
        ("browser.abandoned", {"browser": {"loads": 7}}, 7),
        ("browser.abandoned", {"page": {"loads": 7}}, None),
        ("page.abandoned", {"page": {"loads": 7, "unfinished": 2}}, 5),
        ("page.abandoned", {"page": {"loads": 7, "unfinished": 0}}, 7),
        ("page.abandoned", {"page": {"loads": 7}}, None),
        ("page.abandoned", {"page": {"unfinished": 2}}, None),
        ("links.down.loss", {"links": {"down": {"loss": 0.5}}}, None),
    ],
)
def test_a_share_is_counted_over_as_many_trials_as_ended(path: str, found: Any, trials: int | None) -> None:
    assert goals._trials(found, path) == trials


def test_users_without_a_number_are_named_by_what_scores_them() -> None:
    def unscored(*users: dict[str, Any], **results: Any) -> list[str]:
        return goals.unscored({"users": users}, [results] if results else [])

    household = {"kind": "household"}
    kinds = [kind for kind, there in goals.HOUSEHOLD.items() if there]
    assert unscored() == goals.unscored({}, []) == []
    # A household's web users are scored by their pages; who is not in it by default is there if asked for.
    usual = ["voice", "call", "page", "gaming", "adaptive"]
    assert unscored(household) == usual and len(kinds) == len(usual)
    assert unscored({**household, "voice": 0, "cloud-gaming": 2}) == [
        "call", "page", "gaming", "cloud-gaming", "adaptive",
    ]  # fmt: skip
    two = ({"kind": "web"}, {"kind": "voice"}, {"kind": "web"})
    assert unscored(*two) == ["web", "voice"], "each once, in the study's order"
    assert unscored(*two, web={"mos": {"mean": 3.0, "median": 3.0}}) == ["voice"]
    assert unscored({"kind": "nobody"}, {"kind": "bulk"}) == []


def test_the_seed_is_the_studys_or_the_one_that_was_used_by_default() -> None:
    def seed(document: dict[str, Any], record: dict[str, Any]) -> str:
        return _seed(SimpleNamespace(document=document, record=record))  # type: ignore[arg-type]

    assert seed({"seed": 7}, {"seed": 9}) == "7" and seed({"seed": 0}, {}) == "0"
    assert seed({}, {"seed": 9}) == "9 (the default)" and seed({}, {}) == "1 (the default)"
    assert [counted(count, "point") for count in (0, 1, 2)] == ["0 points", "1 point", "2 points"]
