"""Figures for a paper's column, and one page for several studies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Command, sentence
from sojourn.report.figures import draw
from sojourn.report.figures.form import FORMS, drawn_for, form
from sojourn.report.figures.style import save
from sojourn.report.html import outlined
from test_compare import study
from test_figures import ENTRIES, plot_of


@pytest.mark.parametrize("kind", ["lines", "heatmap"])
def test_a_figure_fits_the_column_with_letters_of_its_size(tmp_path: Path, kind: str) -> None:
    with drawn_for("ieee-column"):
        figure = draw(plot_of({"kind": kind, **ENTRIES[kind]}))
        text = save(figure, tmp_path / "narrow")
    assert form() is FORMS["screen"]
    width = re.search(r'width="([\d.]+)pt"', text)
    assert width and float(width[1]) <= 3.5 * 72 + 0.01
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:[^;]*?([\d.]+)px", text)]
    if kind == "lines":
        # Names of axes are drawn with 10 pt, and the column asks for 8.
        assert float(width[1]) == pytest.approx(252) and 8.0 in sizes
    assert max(sizes) < 10
    assert (
        b"/FontType 42" in (tmp_path / "narrow.pdf").read_bytes()
        or b"/CIDFontType2" in (tmp_path / "narrow.pdf").read_bytes()
    )
    assert b"CreationDate" not in (tmp_path / "narrow.pdf").read_bytes()


def test_several_studies_have_a_page_of_all_and_one_each(sojourn: Command) -> None:
    study(sojourn.cwd / "a", {"8pkt": [3.0, 3.1, 2.9]})
    study(sojourn.cwd / "x" / "a", {"8pkt": [4.0, 4.1, 3.9]})
    [told] = sojourn.json("report", "a", "x/a", "--out", "all", svg_only=True)
    assert told["report"] == "all/report.html"
    assert [study["report"] for study in told["studies"]] == ["all/a/report.html", "all/a-2/report.html"]
    text = (sojourn.cwd / "all" / "report.html").read_text()
    assert "a-2 against a" in text and text.count("<svg") == 2
    for link in re.findall(r'href="(a[^":]*)"', text):
        assert (sojourn.cwd / "all" / link).is_file()
    assert not (sojourn.cwd / "a" / "report.html").exists()
    assert "--out" in sentence(sojourn("report", "a", "x/a", code=2).stderr)
    assert "no results were named" in sentence(sojourn("report", code=2).stderr)


def test_contents_and_captions_follow_the_headings() -> None:
    body = "<h1>T</h1><h3>Answer</h3><h4>Regrets &amp; more</h4><table><tr></tr></table><h2 id='own'>F</h2>"
    found = outlined(body + "<h2>Answer</h2><table>\n<caption>c</caption></table>")
    assert [(head.id, head.words) for head in found.contents] == [
        ("answer", "Answer"),
        ("own", "F"),
        ("answer-2", "Answer"),
    ]
    assert [below.words for below in found.contents[0].below] == ["Regrets & more"]
    assert '<h3 id="regrets-more">' in found.body
    assert '<caption class="sr">Regrets &amp; more</caption>' in found.body
    assert found.body.count("<caption") == 2
