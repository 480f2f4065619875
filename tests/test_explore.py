"""`sojourn explore`: what the page holds of stored sweeps, and how it answers, in a real browser."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, sentence
from sojourn.report.explore.gathered import Budget, gathered
from sojourn.report.explore.scale import described
from sojourn.report.figures.values import value
from sojourn.results import open_results
from sojourn.results.interval import half_width
from sojourn.results.path import look_up
from test_figures import LIMITS, WORKLOADS, sweep, write_results
from test_page_browser import CONTRASTS, PHONE, STRUCTURE, WIDE, browser, opened, until

__all__ = ["browser"]

DELAY = "links.up.queue_delay_ms.p95"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a sweep of three loads and three buffers, one cell of which is not there."""
    sojourn = Command(tmp_path_factory.mktemp("explore"))
    done = write_results(sojourn.cwd / "done", sweep()[:-2], [], description="Calls & <pages>")
    record = json.loads((done / "study.json").read_text())
    record["points"].append({"hash": "f" * 32, "point": sweep()[-1]["point"], "replication": 0})
    (done / "study.json").write_text(json.dumps(record))
    told = sojourn.json("explore", "done", "-o", "x.html")[0]
    assert told["studies"] == ["trial"] and told["bytes"] < 3_000_000
    return sojourn.cwd / "x.html"


def held(page: Path) -> dict[str, Any]:
    """Return what the page holds, as its scripts read it."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL
    )
    return json.loads(found[1])


def test_every_cell_has_its_mean_and_its_interval(page: Path) -> None:
    study = held(page)["studies"][0]
    cells = {tuple(cell["at"]): number for number, cell in enumerate(study["cells"])}
    assert len(cells) == len(study["cells"]) == 8
    one = next(number for number in study["numbers"] if number["path"] == DELAY)
    shown = value(DELAY)
    for i, load in enumerate(WORKLOADS):
        for j, limit in enumerate(LIMITS):
            runs = [r for r in sweep()[:-2] if list(r["point"].values()) == [load, limit]]
            if not runs:
                assert (i, j) not in cells
                continue
            numbers = [look_up(run, DELAY) for run in runs]
            mean, low, high, text, interval = one["cells"][cells[i, j]]
            middle, half = sum(numbers) / 2, half_width(numbers)
            assert mean == pytest.approx(middle, rel=1e-4) and text == shown.text(middle)
            assert (low, high) == pytest.approx((max(middle - half, 0.0), middle + half), rel=1e-4)
            assert interval == f"{shown.text(max(middle - half, 0.0))} to {shown.text(middle + half)}"
    # A share is shown in percent, and its colours with it.
    loss = next(number for number in study["numbers"] if number["path"] == "links.up.loss")
    assert loss["cells"][-1][0] == pytest.approx(3.6) and loss["scale"]["edges"] == [0.1, 1.0, 3.0, 10.0]


def test_one_run_has_no_interval_and_the_page_says_so(sojourn: Command) -> None:
    done = open_results(write_results(sojourn.cwd / "done", sweep(repeat=1), []))
    study = gathered(done, list(done), Budget())
    assert {tuple(number["cells"][0][1:3]) for number in study["numbers"]} == {(None, None)}
    assert "Every cell was run once and has no interval." in study["notes"]


def test_studies_of_one_name_are_told_apart_by_their_folders(sojourn: Command) -> None:
    for name in ("p1", "p2"):
        write_results(sojourn.cwd / name, sweep(repeat=1), [])
    assert sojourn.json("explore", "p1", "p2", "-o", "x.html")[0]["studies"] == ["trial (p1)", "trial (p2)"]


def test_points_that_are_not_there_are_counted(page: Path) -> None:
    notes = held(page)["studies"][0]["notes"]
    assert "1 of the study's points is not there yet; cells without a run are empty." in notes


def test_a_scale_made_for_speech_says_so_where_it_colours_other_scores() -> None:
    assert described(value("web.mos.median"))["source"] == "ITU-T G.107 Annex B, a scale made for voice"
    assert described(value("voice.talks.mos.median"))["source"] == "ITU-T G.107 Annex B"


def test_series_beyond_the_budget_are_left_out_and_counted(sojourn: Command) -> None:
    done = open_results(write_results(sojourn.cwd / "done", sweep(), []))
    whole = gathered(done, list(done), Budget())
    assert all(set(cell["series"]) == {"down", "up"} for cell in whole["cells"])
    part = gathered(done, list(done), Budget(series=4_000))
    without = sum(not cell["series"] for cell in part["cells"])
    assert 0 < without < 9
    assert any(note.startswith(f"{without} of 9 cells are here without") for note in part["notes"])


def test_the_command_of_a_cell_runs_that_cell(sojourn: Command) -> None:
    short = "duration=3s", "warmup=1s", "users=[]"
    sets = [word for one in short for word in ("--set", one)]
    sojourn("run", "imc14-quick", *sets, "--only", "workload=none", "--out", "r")
    sojourn("explore", "r", "-o", "x.html")
    cell = held(sojourn.cwd / "x.html")["studies"][0]["cells"][1]
    words = shlex.split(cell["command"])
    assert words[:3] == ["sojourn", "run", "imc14-quick"] and "path.down.queue.limit=64pkt" in words
    rows = sojourn.json(*words[1:])
    assert [row["point"] for row in rows] == [{"workload": "none", "path.down.queue.limit": "64pkt"}]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere: there is no such results directory"),
        (["."], "it has no study.json"),
        (["empty"], "empty holds no finished points yet"),
        (["done", "-o", "done"], "done is a directory; --out takes the page to write"),
        (["done", "-o", "x.txt"], "--out is 'x.txt'; expected a file that ends in .html"),
    ],
)
def test_bad_input_is_a_sentence_and_nothing_is_written(
    sojourn: Command, words: list[str], says: str
) -> None:
    write_results(sojourn.cwd / "done", sweep(repeat=1), [])
    empty = write_results(sojourn.cwd / "empty", sweep(repeat=1), [])
    for file in (empty / "points").iterdir():
        file.unlink()
    before = sorted(sojourn.cwd.rglob("*"))
    assert says in sentence(sojourn("explore", *words, code=2).stderr)
    assert sorted(sojourn.cwd.rglob("*")) == before


@pytest.mark.parametrize(("width", "height"), [WIDE, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_read_everywhere(
    page: Path, browser: Any, width: int, height: int, scheme: str
) -> None:
    with opened(browser, page, width, height, scheme) as tab:
        tab.locator("[data-cell]").first.click()
        tab.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(CONTRASTS) == []
        assert tab.evaluate(STRUCTURE) == []
        assert tab.locator("canvas").count() >= 2


def test_the_page_answers(page: Path, browser: Any) -> None:
    study = held(page)["studies"][0]
    delay = next(number for number in study["numbers"] if number["path"] == DELAY)
    at = next(i for i, cell in enumerate(study["cells"]) if cell["at"] == [2, 1])
    with opened(browser, page, *WIDE, "light") as tab:
        tab.get_by_label("Number", exact=True).focus()
        tab.get_by_label("Number", exact=True).select_option(DELAY)
        # The choice that was made keeps the focus.
        assert tab.evaluate("document.activeElement.selectedOptions[0].value") == DELAY
        assert "95th percentile" in tab.locator("table.map caption").inner_text()
        cell = tab.locator(f'[data-cell="{at}"]')
        assert cell.inner_text().split()[0] == delay["cells"][at][3]
        cell.hover()
        reading = tab.locator('[data-part="reading"]')
        assert f"95 % interval {delay['cells'][at][4]} ms" in reading.inner_text()
        assert tab.locator(".map .absent").count() == 1
        cell.click()
        box = tab.locator('[data-part="cell"]')
        assert box.locator("h3").inner_text() == "Workload long-many-upload, Downlink buffer 64pkt"
        row = box.locator("tr", has_text=delay["title"])
        assert row.locator("td").all_inner_texts() == delay["cells"][at][3:]
        assert "--only workload=long-many-upload" in box.locator("[data-command]").inner_text()
        assert box.locator(".plot canvas").count() == 6  # two links: delay, utilisation, drops
        # The axes change places, and the table with them.
        tab.get_by_label("Across", exact=True).select_option("workload")
        heads = tab.locator("table.map thead th").all_inner_texts()
        assert heads[1:] == list(WORKLOADS)
        # A link keeps what was chosen.
        until(tab, "location.hash.includes('x=workload')")
        tab.reload()
        assert tab.locator("table.map thead th").all_inner_texts() == heads
        assert tab.locator(f'[data-cell="{at}"]').get_attribute("aria-pressed") == "true"
        assert tab.get_by_label("Number", exact=True).input_value() == DELAY


def test_the_map_is_walked_by_keyboard(page: Path, browser: Any) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        stops = tab.locator('.map button[tabindex="0"]')
        assert stops.count() == 1
        stops.focus()
        start = tab.evaluate("document.activeElement.dataset.cell")
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowDown")
        name = tab.evaluate("document.activeElement.getAttribute('aria-label')")
        assert tab.evaluate("document.activeElement.dataset.cell") != start
        assert "64pkt" in name and "95 % interval" in name
        tab.keyboard.press("Enter")
        assert tab.evaluate("document.activeElement.closest('[data-part]').dataset.part") == "cell"
        # Beyond the last cell there is nothing; a cell that is not there is passed over.
        tab.locator(".map button").last.focus()
        last = tab.evaluate("document.activeElement.dataset.cell")
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate("document.activeElement.dataset.cell") == last


def test_numbers_that_read_alike_are_drawn_as_one_line(page: Path, browser: Any) -> None:
    def axis(tab: Any, values: list[float], x: list[float], **more: list[str]) -> list[float]:
        series = [{"name": "a", "values": values}]
        spec = {"x": x, "xTitle": "", "yTitle": "", "says": "", "series": series, **more}
        plot = f"explorer.chart(document.createElement('div'), {json.dumps(spec)})"
        ends = "[plot.scales.x.min, plot.scales.x.max, plot.scales.y.min, plot.scales.y.max]"
        # Axes are found when the plot is drawn, after the call.
        return tab.evaluate(f"async () => {{ const plot = {plot}; await 0; await 0; return {ends}; }}")

    with opened(browser, page, *WIDE, "light") as tab:
        assert axis(tab, [3.7404, 3.7406, 3.7406], [0, 1, 2], ticks=["a", "b", "c"]) == pytest.approx(
            [-0.3, 2.3, 3.632, 3.849], abs=2e-3
        )
        assert axis(tab, [1.0, 4.0], [99.98, 99.99]) == pytest.approx([97.49, 102.48, 0.76, 4.24], abs=0.01)
        assert axis(tab, [0.0, 0.0], [0, 60]) == pytest.approx([0, 60, 0, 1.16]), "nothing has room, too"
        assert axis(tab, [10.0, 20.0], [5, 8]) == pytest.approx([5, 8, 9.2, 20.8])
