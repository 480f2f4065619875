"""What explorers and comparisons hold of results whose numbers are known; small rules of what is drawn."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure
from sojourn.report.comparing import page
from sojourn.report.comparing.cells import Difference
from sojourn.report.figures import panels, scales
from sojourn.report.figures.values import value
from sojourn.results.limits import by_cell

# The package has a function of this name.
gathered = import_module("sojourn.report.explore.gathered")


def test_numbers_of_users_stand_before_those_of_links_and_flows() -> None:
    roots = (
        "voice",
        "video",
        "call",
        "web",
        "browser",
        "page",
        "adaptive",
        "gaming",
        "cloud-gaming",
        "responsiveness",
    )
    assert {gathered._group(f"{root}.x") for root in (*roots, "network")} == {"Users"}
    assert gathered._group("links.up.loss") == gathered._group("losses.up.x") == "Links"
    assert gathered._group("flows.goodput_bps") == gathered._group("groups.a.loss") == "Flows"
    result = {
        "point": {"loss": 9}, "engine": {"loss": 1}, "flows": {"timeouts": 3, "retransmits": True},
        "links": {"up": {"loss": 0.1, "nameless_thing": 4}}, "call": {"sends": {"fps": 20}},
        "voice": {"worst": {"talks": {"mos": 1}}},
    }  # fmt: skip
    assert gathered._paths([result]) == ["call.sends.fps", "links.up.loss", "flows.timeouts"]


def test_a_cell_has_its_mean_and_interval_in_the_unit_shown() -> None:
    loss = value("links.up.loss")
    assert gathered._mean(loss, [0.05, None, True]) == [5.0, None, None, "5.0", ""]
    # Student's t of one degree of freedom, 12.706, times 0.001; a loss is not below 0.
    mean, low, high, text, interval = gathered._mean(loss, [0.011, 0.013]) or []
    assert (mean, low, high) == (1.2, 0.0, pytest.approx(2.4706, rel=1e-4))
    assert (text, interval) == ("1.2", "0.0 to 2.5") and gathered._mean(loss, [None]) is None


def test_a_link_over_time_is_averaged_where_it_has_more_instants_than_fit() -> None:
    def series(count: int) -> dict[str, Any]:
        delays = [None, *range(1, count)]
        return {
            "bin_s": 0.5,
            "queue_delay_ms": delays,
            "utilisation": [0.5] * count,
            "dropped_pkts": [1] * count,
        }

    few = gathered._over_time({"links": {"up": {"series": series(3)}, "down": {}}})
    assert few == {
        "up": {
            "name": "uplink",
            "bin_s": 0.5,
            "delay": [None, 1, 2],
            "utilisation": [50.0] * 3,
            "drops": [1] * 3,
        }
    }
    many = gathered._over_time({"links": {"up": {"series": series(121)}}})["up"]
    assert many["bin_s"] == 1.0 and len(many["delay"]) == 61
    # Of a delay and none the mean is the delay; the last instant is alone.
    assert many["delay"][:2] == [1.0, 2.5] and many["delay"][-1] == 120.0
    assert many["drops"][0] == 2 and many["drops"][-1] == 1


def test_room_in_a_page_is_taken_until_it_is_used_up() -> None:
    budget = gathered.Budget(series=20)
    assert budget.take({"a": "123"}) == {"a": "123"} and budget.series == 8
    assert budget.take({"a": "123"}) is None and budget.series == 8


def test_an_explorer_calls_a_lower_bound_one() -> None:
    runs = [{"web": {"plt_s": {"median": 0.1, "p5": 0.1}, "bounded": ["median"]}}] * 2
    median, low = (gathered._number(f"web.plt_s.{of}", [runs])["cells"][0] for of in ("median", "p5"))
    assert (median[3], low[3]) == ("≥ 0.1", "0.1")
    results = [{"point": {}, "engine": {"version": "1", "build": "b"}, **run} for run in runs]
    found = SimpleNamespace(missing=0, captured=False)
    notes = list(gathered._notes(found, by_cell(results), "", 0))  # type: ignore[arg-type]
    assert notes[0].startswith("“≥” marks a lower bound")


def test_an_explorer_says_what_its_cells_lack() -> None:
    def notes(*runs: str, missing: int = 0, left_out: int = 0, captured: bool = False) -> list[str]:
        results = [{"point": {"a": label}, "engine": {"version": "1", "build": "b"}} for label in runs]
        found = SimpleNamespace(missing=missing, captured=captured)
        return list(gathered._notes(found, by_cell(results), "", left_out))  # type: ignore[arg-type]

    made = "Made by sojourn 1, build b."
    assert notes("x", "x", "y", "y") == [made]
    assert notes("x", "y") == ["Every cell was run once and has no interval.", made]
    assert notes("x", "y", "y") == ["1 of 2 cells was run once and has no interval.", made]
    assert notes("x", captured=True) == []  # no engine made captures
    still = {"point": {"a": "x"}, "links": {"up": {"arrived_pkts": 9, "departed_pkts": 0}}}
    for came, said in ((9, "No packet left the uplink after"), (0, "No packet came to a link")):
        still["links"]["up"]["arrived_pkts"] = came
        found = SimpleNamespace(missing=0, captured=True)
        [told] = gathered._notes(found, by_cell([still, still]), "", 0)  # type: ignore[arg-type]
        assert told.startswith(said)
    assert notes("x", "x", missing=3)[0].startswith("3 of the study's points are not there yet")
    assert notes("x", "x", left_out=1)[0].startswith("1 of 1 cells are here without their links over time")
    assert gathered._command("sojourn run s", (("a b", "1"),)) == "sojourn run s --only 'a b=1'"
    assert gathered._command("sojourn run s", ()) == "sojourn run s"


def difference(path: str, first: float, second: float, low: float | None, high: float = 0.0) -> Difference:
    interval = None if low is None else (low, high)
    return Difference(
        (("q", "8pkt"),), value(path), (first, first), (second,), interval, None if low is None else 0.01
    )


def test_which_is_better_is_said_where_a_difference_is_larger_than_its_interval() -> None:
    worse = difference("links.up.loss", 0.1, 0.2, 0.05, 0.15)
    better = difference("links.up.loss", 0.2, 0.1, -0.15, -0.05)
    unsure = difference("links.up.loss", 0.1, 0.2, -0.1, 0.3)
    silent = difference("links.up.loss", 0.1, 0.2, None)
    neutral = difference("flows.mean_concurrent", 1.0, 2.0, 0.5, 1.5)
    assert [one.larger for one in (worse, better, unsure, silent)] == [True, True, False, None]
    assert [one.better for one in (worse, better, neutral)] == [False, True, None]
    head = "of 3 differences are larger than their intervals"
    assert (
        page._read([worse, better, unsure, silent], "A", "B")
        == f"2 {head}: in 1 cell A is better, in 1 cell B is better."
    )
    assert page._read([worse, worse, unsure], "A", "B") == f"2 {head}: in 2 cells A is better."
    assert page._read([unsure] * 3, "A", "B") == f"0 {head}." == page._read([unsure] * 3, "B", "A")
    assert page._read([silent], "A", "B").startswith("None of these has an interval")
    row = page.as_row(worse)
    assert (row["first_mean"], row["first_n"], row["second_n"], row["q"]) == (0.1, 2, 1, "8pkt")
    assert (row["difference"], row["low"], row["high"], row["larger"]) == (
        pytest.approx(0.1),
        0.05,
        0.15,
        True,
    )
    assert page._scaled(worse) == (pytest.approx(10), (5.0, 15.0)) and page._scaled(silent)[1] is None
    same = difference("flows.timeouts", 1.0, 1.0, None)
    found = page.same_values(SimpleNamespace(differences=[worse, same]))  # type: ignore[arg-type]
    assert found == ["Background connections: timeouts"]
    on_edge = difference("links.up.loss", 0.1, 0.2, 0.0, 0.2)
    assert on_edge.larger is False and on_edge.verdict == "not larger than its interval"


def test_a_class_holds_its_lower_edge_and_a_ramp_its_range() -> None:
    delay, ramp = scales.SCALES["g114"], scales.SCALES["utilisation"]
    assert [delay.letter(number) for number in (149.9, 150.0, 399.9, 400.0)] == list("ABBC")
    assert ramp.colour(1.5, 0, 1) == ramp.colour(1.0, 0.9, 0.95) != ramp.colour(0.5, 0, 1)
    plain = scales.SCALES["plain"]
    assert plain.colour(5, 5, 5) == plain.colour(0, 0, 1) and plain.colour(7, 5, 9) == plain.colour(0.5, 0, 1)
    assert scales.ink((1, 1, 1)) == scales.INK and scales.ink((0, 0, 0)) == scales.PAPER
    for scale in scales.SCALES.values():
        classes = len(scale.edges) + 1 if scale.edges else 0
        assert len(scale.letters) == len(scale.meanings) == len(scale.colours) == classes
        assert list(scale.edges) == sorted(scale.edges)
    for path, name in (
        ("links.up.queue_delay_ms.mean", "g114"), ("voice.talks.mos.median", "mos"),
        ("links.up.loss", "loss"),
        ("links.up.utilisation", "utilisation"), ("video.ssim.median", "ssim"), ("flows.timeouts", "plain"),
    ):  # fmt: skip
        assert scales.scale_for(value(path)).name == name


def test_long_words_of_axes_are_broken_or_turned() -> None:
    assert panels._wrapped("short title") == "short title"
    assert panels._wrapped("a" * 20 + " " + "b" * 20) == "a" * 20 + "\n" + "b" * 20
    assert panels._wrapped("a" * 40) == "a" * 40
    axes = Figure().subplots()
    panels.label_ticks(axes, [0, 1], ["8", "64"])
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {0}
    panels.label_ticks(axes, list(range(8)), ["long-label"] * 8)
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {40}
