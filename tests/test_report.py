"""The report: one page that stands by itself, the same bytes from the same results, honest at the top."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sojourn.errors import SojournError
from sojourn.report import files as files_of_pages
from sojourn.report import write_report as write
from sojourn.report.figures import style
from sojourn.report.figures.kinds import KINDS
from sojourn.report.sections import section
from test_figures import ENTRIES, LIMIT, RPM, plot_of, result, sweep, write_results

TALKS = {
    "kind": "heatmap",
    **ENTRIES["heatmap"],
    "published": "published/imc14-fig7b-voip-access-upload.csv",
    "published-where": {"direction": "user talks"},
}
EVERY = [TALKS, *({"kind": kind, **entry} for kind, entry in ENTRIES.items())]


class Page(HTMLParser):
    """Checks that elements nest, and collects what the page points to and says."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input", "path", "use", "rect"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, target in attrs:
            if name in ("href", "src", "xlink:href"):
                self.links.append(target or "")
            if name == "id":
                self.ids.append(target or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(f.relative_to(directory)): f.read_bytes() for f in sorted(directory.rglob("*")) if f.is_file()
    }


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return results whose page has a figure of every kind; it is written once, since that takes long."""
    done = tmp_path_factory.mktemp("every") / "done"
    results = [{**one, "responsiveness": RPM} for one in sweep()]
    write_results(done, results, EVERY, description="A <trial> & more")
    with pytest.MonkeyPatch.context() as patch:
        # One format of three; the next test has them all.
        patch.setattr(style, "_METADATA", {})
        assert write(done) == done / "report.html"
    return done


def test_the_page_stands_by_itself_and_its_files_are_there(every: Path) -> None:
    done, page = every, every / "report.html"
    text = page.read_text()
    read = Page(text)
    assert not re.search(r"<script |<link rel=.(?!icon)|@import|url\((?!#)", text)
    for link in read.links:
        assert link.startswith(("#", "figures/", "data:"))
        assert not link.startswith("figures/") or (done / link).is_file()
    assert len(read.ids) == len(set(read.ids))
    for number, entry in enumerate(EVERY, start=1):
        stems = {f.name.split(".")[0] for f in (done / "figures").glob(f"{number:02d}-{entry['kind']}-*")}
        assert stems
        for kind in ("svg", "csv"):
            assert list((done / "figures").glob(f"{number:02d}-{entry['kind']}-*.{kind}"))
    for said in (
        "A <trial> & more",
        "18 simulations: 9 cells × 2 replications",
        "18 000 packets",
        "sojourn run studies/trial.toml",
        "9 of 9 cells have a published number: rank correlation",
        "Hohlfeld",
        "Limits",
        "How to reproduce",
        "A look inside: ",
        "ITU-T G.107",
    ):
        assert said in read.text, said
    assert str(done) not in text


def test_the_same_results_give_the_same_bytes_anywhere(tmp_path: Path) -> None:
    # Two kinds of figures: each kind's own bytes are asked for where figures are tested.
    done, other = tmp_path / "a" / "done", tmp_path / "b" / "done"
    write(write_results(done, sweep(), [TALKS, {"kind": "table", **ENTRIES["table"]}]))
    shutil.copytree(done, other)
    (other / "timings.jsonl").write_text('{"hash": "0", "wall_s": 3.0, "host": "other"}\n')
    write(other)  # over what is there
    (other / "timings.jsonl").unlink()
    assert files(done) == files(other)
    links = Page((done / "report.html").read_text()).links
    for number in ("01", "02"):
        offered = [link for link in links if link.startswith(f"figures/{number}-")]
        assert {link.rpartition(".")[2] for link in offered} >= {"svg", "png", "pdf"}
        assert all((done / link).is_file() for link in offered)


@pytest.mark.usefixtures("svg_only")
def test_out_leaves_the_results_alone(tmp_path: Path) -> None:
    done = write_results(tmp_path / "done", sweep(), [TALKS])
    before = files(done)
    page = write(done, tmp_path / "elsewhere")
    assert page == tmp_path / "elsewhere" / "report.html"
    assert files(done) == before


@pytest.mark.usefixtures("svg_only")
def test_a_table_that_cannot_be_matched_is_said_and_the_figure_stays(tmp_path: Path) -> None:
    unsettled = {**TALKS, "published": "published/none.csv"}
    page = write(write_results(tmp_path / "done", sweep(), [unsettled]))
    assert "the published table published/none.csv is not there" in Page(page.read_text()).text


@pytest.mark.usefixtures("svg_only")
@pytest.mark.usefixtures("svg_only")
def test_a_study_without_figures_or_series_has_a_page_too(tmp_path: Path) -> None:
    results = sweep(repeat=1)
    for one in results:
        for link in one["links"].values():
            del link["series"]
    text = Page(write(write_results(tmp_path / "done", results, [])).read_text()).text
    assert "Inside the worst cell" not in text
    assert "Every cell was run once" in text


def test_what_cannot_be_reported_is_one_sentence_and_nothing_written(tmp_path: Path) -> None:
    done = write_results(tmp_path / "done", [], [TALKS])
    with pytest.raises(SojournError, match="no finished points") as caught:
        write(done)
    assert "\n" not in str(caught.value)
    assert not (done / "report.html").exists()
    assert not (done / "figures").exists()


@pytest.mark.usefixtures("svg_only")
def test_an_unfinished_study_has_a_page_of_what_is_there(tmp_path: Path) -> None:
    done = write_results(tmp_path / "done", sweep(), [{**TALKS, "value": "browser.plt_s.median"}, TALKS])
    (done / "points" / f"{0:032x}.json").unlink()
    text = Page(write(done).read_text()).text
    assert "1 not there yet" in text
    assert "This figure is not here yet: " in text
    assert "2. Voice, user talks: median MOS" in text


def test_no_study_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SojournError, match=r"no study\.json"):
        write(tmp_path)


@pytest.mark.usefixtures("svg_only")
def test_the_sentence_beside_a_published_table_counts_higher_and_lower(tmp_path: Path) -> None:
    results = [
        result({"workload": "none", LIMIT: limit}, **{"voice.talks.mos.median": mos})
        for limit, mos in (("8pkt", 4.2), ("64pkt", 4.5), ("256pkt", 4.1), ("99pkt", 1.0))
    ]
    text = Page(write(write_results(tmp_path / "done", results, [TALKS])).read_text()).text
    assert "3 of 4 cells have a published number: too few or too alike to rank, " in text
    assert "median absolute difference 0.10; ours is higher in 1 and lower in 1." in text
    assert "27 published cells have no counterpart in this study." in text


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_figure_with_a_number_for_each_cell_is_set_beside_a_published_table(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_of_pages, "save", lambda *_: "<svg></svg>")
    for published, note in (
        (None, ""),
        ("published/none.csv", f"A {kind} figure has no single number per cell to compare."),
    ):
        entry = {"kind": kind, **ENTRIES[kind], **({"published": published} if published else {})}
        made = section(plot_of(entry), 1, files_of_pages.Files(tmp_path), [])
        if published and kind in ("heatmap", "lines", "table"):
            note = "What was published could not be set beside this figure: the published table "
            note += f"{published} is not there; expected it beside the study file."
        assert made.note == note
