"""Parts of pages: headings and their ids, names of several studies, files beside a page, viewers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from markupsafe import Markup
from sojourn.report import html, sections, several
from sojourn.report.files import Files


def test_headings_leave_out_no_level_and_have_ids_of_their_own() -> None:
    body = (
        "<h1>A</h1><h2>All points</h2><h4>Deep</h4><h2 id='x'>All points</h2><h3>1 st</h3><table><tr></table>"
    )
    made = html.outlined(body + "<table class=a><caption>c</caption></table><h2>!</h2>")
    assert [(each.id, [one.id for one in each.below]) for each in made.contents] == [
        ("all-points", ["deep"]), ("x", ["at-1-st"]), ("part", []),
    ]  # fmt: skip
    assert '<h3 id="deep">Deep</h3>' in made.body and "<h2 id='x'>All points</h2>" in made.body
    assert '<table><caption class="sr">1 st</caption>' in made.body and made.body.count("<caption") == 2
    first = html.outlined("<table class=a></table><h1>One &amp; all</h1><table></table>").body
    assert first == (
        '<table class=a><caption class="sr">Table</caption></table><h1 id="one-all">One &amp; all</h1>'
        '<table><caption class="sr">One &amp; all</caption></table>'
    )
    twice = html.outlined("<h2>Same</h2><h2>Same</h2><h2>Same</h2>")
    assert [each.id for each in twice.contents] == ["same", "same-2", "same-3"]
    assert html._embedded({"a": "</script>"}) == Markup('{"a":"\\u003c/script>"}')


def test_studies_of_one_page_have_names_of_their_own() -> None:
    def named(*paths: str) -> list[str]:
        return several._names([SimpleNamespace(store=SimpleNamespace(path=Path(path))) for path in paths])  # type: ignore[arg-type]

    assert named("/a/x", "/b/y") == ["x", "y"] and named("/a/x", "/b/x", "/c/x") == ["x", "x-2", "x-3"]
    assert named("/a/figures") == ["figures-2"]


def test_the_viewer_that_is_shown_is_said_to_be_the_one_that_stalled_longest() -> None:
    def says(count: int, stalls: list[list[float]]) -> str:
        return sections._which_viewer({"adaptive": {"clients": [{}] * count}}, {"stalls": stalls})

    assert says(1, []) == "The one viewer of this run; it never stalled."
    assert says(2, []) == "No viewer of this run stalled; this one had the lowest rate."
    assert says(1, [[1.0, 3.5]]) == "The one viewer of this run: 1 stall, 2.5 s in all."
    assert says(3, [[1, 2], [4, 6]]).endswith("the one that stalled longest: 2 stalls, 3 s in all.")
    assert html.slug_of("Voice.Talks MOS!") == "voice-talks-mos"


def test_tables_are_in_the_page_up_to_what_mail_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files(tmp_path / "figures")
    frame = pl.DataFrame({"a": [1, 2]})
    link = len(html.data_link(frame.write_csv().encode(), "text/csv"))
    monkeypatch.setattr("sojourn.report.files.MOST_BYTES", 2 * link)
    for slug in ("a", "b", "c"):
        files.csv(frame, slug)
    assert list(files.data) == ["a", "b"] and (tmp_path / "figures" / "c.csv").is_file()
    assert files.beside("c") == [("CSV", "figures/c.csv")] and files.beside("d") == []
