"""Every page in a real browser: no error, no request, wide and narrow, light and dark, by keyboard, on paper.

The browser is the system's Chromium, driven by Playwright; without either these tests are left out.
"""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import HANGS_S, Command
from sojourn.report import write_report
from test_compare import MOS
from test_compare import study as one_of
from test_figures import ENTRIES, sweep, write_results
from test_measure import capture
from test_report import TALKS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE, PHONE = (1400, 900), (390, 844)
CONTRASTS, STRUCTURE = (
    (Path(__file__).parent / "browser" / f"{name}.js").read_text(encoding="utf-8")
    for name in ("contrasts", "structure")
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def study(sojourn: Command) -> Path:
    """The page of a study: figures beside what was published, and a series."""
    lines = {"kind": "lines", **ENTRIES["lines"]}
    done = write_results(sojourn.cwd / "done", sweep(), [TALKS, lines], description="Calls & <pages>")
    return write_report(done)


def hosts(sojourn: Command) -> Path:
    """The page of captures."""
    sojourn("measure", capture("utp_loss"), capture("tcp_loss"), "--report", "delay.html")
    return sojourn.cwd / "delay.html"


def survey(sojourn: Command) -> Path:
    """The page of a table of connections."""
    rows = "".join(f"{10 + i},{20 + i},{15 + 3 * i},12,{'ADSL' if i % 2 else 'ftth'}\n" for i in range(60))
    (sojourn.cwd / "t.csv").write_text("min_rtt_ms,avg_rtt_ms,max_rtt_ms,rtt_samples,access\n" + rows)
    sojourn("wild", "t.csv", "--out", "wild")
    return sojourn.cwd / "wild" / "report.html"


def comparison(sojourn: Command) -> Path:
    """The page of two folders of results."""
    cells = {f"{size}pkt": [3.0, 3.1, 2.9] for size in (8, 16, 64)}
    one_of(sojourn.cwd / "a", cells, path={"rtt": "40ms"})
    one_of(sojourn.cwd / "b", {cell: [4.0, 4.2, 4.1] for cell in cells}, path={"rtt": "80ms"})
    sojourn("compare", "a", "b", "--value", MOS, "--out", "page")
    return sojourn.cwd / "page" / "compare.html"


CUT_OFF = """[...document.querySelectorAll("pre")].filter((box) => box.scrollWidth > box.clientWidth)
    .map((box) => box.textContent)"""
PAGES: list[Callable[[Command], Path]] = [study, hosts, survey, comparison]


@pytest.mark.parametrize("make", PAGES, ids=lambda make: make.__name__)
def test_a_page_in_a_browser(sojourn: Command, browser: Any, make: Callable[[Command], Path]) -> None:
    page = make(sojourn)
    for width, height in (WIDE, PHONE):
        for scheme in ("light", "dark"):
            with opened(browser, page, width, height, scheme) as tab:
                where = f"{page.name}, {width} px, {scheme}"
                across, inside = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                assert across <= inside == width, f"{where}: {across} px wide"
                tab.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
                assert tab.evaluate("document.documentElement.scrollWidth") <= width, f"{where}, all unfolded"
                assert tab.evaluate(CUT_OFF) == [], f"{where}: commands beyond their box"
                assert tab.evaluate(CONTRASTS) == [], where
                if (width, scheme) == (*PHONE[:1], "light"):
                    scroll_sideways(tab)
                if (width, scheme) == (*WIDE[:1], "light"):
                    assert tab.evaluate(STRUCTURE) == [], where
                    look_by_keyboard(tab)
                    sort_tables(tab)
                    take_data(tab, page)
                    choose_the_dark(tab)
                    print_it(tab)


class opened:
    """A tab with the page, from which nothing may be asked or complained about."""

    def __init__(self, browser: Any, page: Path, width: int, height: int, scheme: str) -> None:
        self.told: list[str] = []
        self.page = page
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )

    def __enter__(self) -> Any:
        tab = self.context.new_page()
        tab.on("console", lambda message: self.told.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: self.told.append(f"error: {error}"))
        tab.on("request", lambda asked: self.told.append(asked.url))
        tab.goto(self.page.as_uri())
        return tab

    def __exit__(self, kind: type | None, *_: object) -> None:
        self.context.close()
        if kind is None:
            # The page itself, and an icon that is empty; figures, sounds and threads lie in the page.
            asked = {said[:300] for said in self.told if not said.startswith(("data:", "blob:"))}
            assert asked == {self.page.as_uri()}, asked


def until(tab: Any, expression: str, patience_s: float = HANGS_S) -> None:
    """Wait until an expression holds. It is asked from outside: pages let no text be evaluated."""
    end = time.monotonic() + patience_s
    while not tab.evaluate(expression):
        assert time.monotonic() < end, f"{expression} does not hold after {patience_s} s"
        tab.wait_for_timeout(50)


def look_by_keyboard(tab: Any) -> None:
    """The first stop leads past the contents; every stop can be seen; contents stay at the side."""
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.hash") == "#content"
    for _ in range(6):
        tab.keyboard.press("Tab")
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    toc, main = (tab.locator(name).bounding_box() for name in (".toc", "main"))
    assert toc["x"] + toc["width"] <= main["x"]
    tab.evaluate("scrollTo(0, 900)")
    assert tab.locator(".toc").bounding_box()["y"] >= 0
    last = tab.locator(".toc a").last
    last.focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate("location.hash") == last.get_attribute("href")


def scroll_sideways(tab: Any) -> None:
    """A box that goes on to the right or below fades out there: half a number is another one."""
    faded = """(more) => [...document.querySelectorAll(".pic, .scroll")]
        .filter((box) => box.clientWidth && (box.scrollWidth > box.clientWidth + 1
            || box.scrollHeight > box.clientHeight + 1))
        .filter((box) => (getComputedStyle(box).maskImage !== "none") !== more).length"""
    cut = tab.locator(".pic, .scroll").evaluate_all(
        "(boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length"
    )
    assert cut and tab.evaluate(faded, True) == 0
    low = "(box) => { box.style = 'max-height: 4rem; overflow: auto' }"
    tab.evaluate(f"document.querySelectorAll('.scroll').forEach({low})")
    tab.evaluate("dispatchEvent(new Event('resize'))")
    assert tab.evaluate("document.querySelectorAll('.scroll.below').length")
    assert tab.evaluate(faded, True) == 0
    tab.evaluate("document.querySelectorAll('.pic, .scroll').forEach((box) => box.scrollTo(9999, 9999))")
    until(tab, f"({faded})(false) === 0")
    whole = "[...document.querySelectorAll('.more')].filter((box) => box.scrollWidth <= box.clientWidth + 1)"
    assert tab.evaluate(f"{whole}.length") == 0


def sort_tables(tab: Any) -> None:
    """Every head of every sortable table sorts both ways, by the keyboard alone."""
    tables = tab.locator("table.sortable")
    assert tables.count()
    for place in range(tables.count()):
        table = tables.nth(place)
        heads = table.locator("thead th")
        for column in (0, heads.count() - 1):
            kind = heads.nth(column).get_attribute("data-type")
            for way in ("ascending", "descending"):
                heads.nth(column).locator("button").focus()
                tab.keyboard.press("Enter")
                assert heads.nth(column).get_attribute("aria-sort") == way
                cells = table.evaluate(
                    "(t, c) => [...t.tBodies[0].rows].map((r) => r.cells[c].textContent.trim())", column
                )
                if kind == "number":
                    numbers = [
                        float(cell.split()[0].replace("−", "-").rstrip("%")) for cell in cells if cell != "–"
                    ]
                    assert numbers == sorted(numbers, reverse=way == "descending"), (column, cells)
                    assert cells[len(numbers) :] == ["–"] * (len(cells) - len(numbers))
    # What a cell says may be rounded: where its raw number is given, it decides.
    first = """() => {
        const table = document.querySelector('table.sortable');
        const column = [...table.tHead.rows[0].cells].findIndex((head) => head.dataset.type === 'number');
        table.tBodies[0].rows[1].cells[column].dataset.sort = '-1e9';
        table.tHead.rows[0].cells[column].removeAttribute('aria-sort');
        table.tHead.rows[0].cells[column].querySelector('button').click();
        return table.tBodies[0].rows[0].cells[column].dataset.sort;
    }"""
    assert tab.evaluate(first) == "-1e9"


def take_data(tab: Any, page: Path) -> None:
    """Links hold the very files beside the page; a figure is saved out of the page."""
    links = tab.evaluate("[...document.querySelectorAll('a[download]')].map((a) => [a.download, a.href])")
    assert links
    for name, link in links:
        content = base64.b64decode(link.removeprefix("data:text/csv;base64,"), validate=True)
        assert content == (page.parent / "figures" / name).read_bytes()
    with tab.expect_download() as coming:
        tab.locator("button[data-save]").first.click()
    saved = Path(coming.value.path()).read_text()
    assert saved.startswith("<svg") and 'xmlns="http://www.w3.org/2000/svg"' in saved
    beside = tab.evaluate("[...document.querySelectorAll('.files a:not([download])')].map((a) => a.href)")
    assert {Path(link).suffix for link in beside} >= {".svg", ".png", ".pdf", ".csv"}
    for link in beside:
        assert Path(link.removeprefix("file://")).is_file(), link


def choose_the_dark(tab: Any) -> None:
    """The reader may choose, for as long as the page is open."""
    back = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(back)
    tab.locator("[data-toggle-theme]").click()
    assert tab.evaluate(back) != before
    assert tab.evaluate(CONTRASTS) == []
    tab.reload()
    assert tab.evaluate(back) == before


def print_it(tab: Any) -> None:
    """On paper it is light, even if it was dark on the screen, and without what can only be clicked."""
    tab.locator("[data-toggle-theme]").click()
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.querySelector('main')).color") == "rgb(0, 0, 0)"
    for gone in (".toc", "[data-toggle-theme]", "button[data-save]", ".skip"):
        assert not tab.locator(gone).first.is_visible(), gone
    assert tab.locator("main h1").is_visible() and tab.locator("main svg").first.is_visible()
    assert tab.evaluate(CONTRASTS) == []
    cut = (
        "[...document.querySelectorAll('.scroll')].filter((b) => getComputedStyle(b).overflowY != 'visible')"
    )
    assert tab.evaluate(f"{cut}.length") == 0
    paper = tab.pdf(format="A4")
    assert paper.startswith(b"%PDF") and paper.count(b"/Type /Page\n") >= 2
