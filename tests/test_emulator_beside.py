"""The emulator beside the kernel's queue: the grid, runs that are kept, and the table of the page."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT

from benches.emulator import beside, compare

PLAIN = {"window_s": "30", "dropped_pkts": "9", "tries": "1", "not_held": ""}


def row(on: str, seed: int = 1, **figures: str) -> dict[str, str]:
    base = {"utilisation": "0.95", "delay": "10", "loss": "0.01"}
    return {"scenario": "s", "on": on, "seed": str(seed), **base, **PLAIN, **figures}


def test_the_grid_is_all_of_it_and_a_bucket_lasts_half_a_millisecond_or_a_frame() -> None:
    names = list(compare.grid())
    assert len(set(names)) == 2 * 2 * 3 * 3
    assert [compare.bucket_bytes(rate) for rate in (1, 16, 100, 1000)] == [1600, 1600, 6250, 62500]
    asked = {name: compare.asked_of(name) for name in names}
    assert {(each.up_mbps, each.burst_bytes) for each in asked.values()} == {
        (1, 1600),
        (16, 1600),
        (100, 6250),
    }
    lengths = {name: each.end_s - each.begin_s for name, each in asked.items()}
    assert lengths["reno-1f-16m-50ms-b264"] == lengths["reno-1f-100m-20ms-b661-burst6250"] == 300
    assert lengths["cubic-1f-1m-100ms-b33"] == lengths["cubic-1f-16m-50ms-b264"] == 120
    assert lengths["reno-8f-100m-20ms-b661-burst6250"] == 30 < lengths["reno-1f-100m-20ms-b41-burst6250"]


def test_a_figure_too_far_off_is_bold_and_counted_by_what_it_is_compared_with() -> None:
    rows = [
        row("emulated"),
        row("kernel", delay="10.6", utilisation="0.961"),
        row("simulated", loss="0.012"),
        row("simulated", 2, loss="0.016"),
    ]
    assert beside.outside(rows) == [("s", "kernel", "utilisation"), ("s", "simulated", "loss")]
    said = beside.text(rows)
    assert "| s | 30 | 95.0 · **96.1** · 95.0 | 10 · 10.6 · 10 | 1 · 1 · **1.4** | 1 of 1, 1 of 1 |" in said
    assert said.endswith("2 of 3 figures are as the kernel ones; 2 of 3 figures are as the simulated ones.")


def test_a_scenario_that_was_not_run_on_all_paths_is_not_in_the_table() -> None:
    some = [row(on) | {"scenario": "t"} for on in beside.PATHS]
    assert "| s |" not in beside.text([row("emulated"), row("simulated"), *some])
    assert beside.text([row("emulated")]) == "No scenario was run on all three paths."


def test_a_bed_that_did_not_hold_has_a_star_and_its_tries_are_counted_on(tmp_path: Path) -> None:
    runs = compare.Runs(tmp_path / "t.csv")
    runs.keep(iter([row("kernel", tries="3", not_held="it stood still"), row("emulated"), row("simulated")]))
    assert "| 1 of 1, 1 of 3* |" in beside.text(runs.rows)
    assert not runs.has("s", "kernel", 1) and runs.has("s", "emulated", 1)
    again = compare.Runs(tmp_path / "t.csv")
    again.keep(iter([row("kernel", tries="2")]))
    assert again.has("s", "kernel", 1)
    assert "| 1 of 1, 1 of 5 |" in beside.text(compare.Runs(tmp_path / "t.csv").rows)


def test_lateness_is_judged_as_the_kernels_path_is() -> None:
    asked = compare.asked_of("reno-8f-16m-50ms-b17")
    assert compare.late(asked, {"up": {"p99": 90.0, "max": 6000.0}, "down": {}}) == ""
    assert compare.late(asked, {"up": {"p99": 90.0, "max": 90.0}, "down": {"p99": 90.0, "max": 6500.0}}) == (
        "the emulator stood still for 6500 us"
    )
    assert compare.late(asked, {"up": {"p99": 501.0, "max": 600.0}, "down": {}}).startswith("one packet in")


def test_the_page_has_what_was_measured() -> None:
    rows = compare.Runs(compare.TABLE).rows
    assert rows and beside.text(rows) in (ROOT / "docs" / "emulate.md").read_text(encoding="utf-8")
