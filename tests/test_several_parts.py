"""Parts of pages: several studies beside each other, the worst showing of each size, counts of runs.

Pages and pictures are not made here.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.errors import SojournError
from sojourn.report import film_strip, several
from sojourn.report.facts import facts
from sojourn.report.points import points_table


class Stored(SimpleNamespace):
    """A study whose results are not looked at."""

    def __iter__(self) -> Any:
        return iter([])


def study(folder: str, *figures: dict[str, Any], **document: Any) -> Any:
    record = {"points": [{"point": {"rate": "1Mbit"}}], "command": None, "sojourn": "9"}
    return Stored(
        store=SimpleNamespace(path=Path(folder)), document={"figures": list(figures), **document},
        record=record, captured=False, name="s", missing=0,
    )  # fmt: skip


def test_each_study_has_its_page_and_all_others_stand_against_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = [study(f"/x{n}/{name}") for n, name in enumerate(("a", "a", "figures"))]
    filled: dict[str, Any] = {}

    def write(page: Path, template: str, **words: Any) -> Path:
        filled.update(words, template=template)
        return page

    monkeypatch.setattr(
        several, "write_report", lambda path, out, tell: tell(f"of {path.parent.name}") or out / "report.html"
    )
    told: list[str] = []
    monkeypatch.setattr(several.html, "write", write)
    monkeypatch.setattr(several, "_study", lambda name, one: (name, one.store.path.parent.name))
    monkeypatch.setattr(several, "_shared", lambda names, found, files: list(names))
    monkeypatch.setattr(several, "_against", lambda first, other, names: (first is found[0], names))
    pages = several.write_several(found, "sojourn report", tmp_path, told.append)
    # A folder of the page's own is no study's.
    names = ["a", "a-2", "figures-2"]
    assert pages == [tmp_path / "report.html", *(tmp_path / name / "report.html" for name in names)]
    assert told == ["a: of x0", "a-2: of x1", "figures-2: of x2"]
    assert filled["studies"] == list(zip(names, ("x0", "x1", "x2"), strict=True))
    assert filled["against"] == [(True, ("a", "a-2")), (True, ("a", "figures-2"))]
    assert filled["shared"] == names and filled["command"] == "sojourn report"


def test_figures_stand_side_by_side_that_two_studies_have(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = {"kind": "lines", "value": "links.down.loss"}
    lone = {"kind": "lines", "value": "links.up.loss"}
    bad = {"kind": "heatmap", "value": "flows.goodput_bps"}
    some = {**loss, "only": {"rate": ["1Mbit"]}}
    drawn: list[tuple[str, str]] = []
    files: Any = SimpleNamespace(
        picture=lambda plot, slug, says: drawn.append((slug, says)) or slug, csv=lambda frame, slug: None
    )

    def gather(spec: Any, results: Any, axes: Any) -> Any:
        if spec.kind == "heatmap":
            raise SojournError("nothing there")
        return SimpleNamespace(title=f"{spec.value} {len(spec.only)}")

    monkeypatch.setattr(several, "gather", gather)
    monkeypatch.setattr(several, "draw", lambda plot: plot)
    monkeypatch.setattr(several, "how_to_read", lambda plot: f"read {plot.title}")
    monkeypatch.setattr(several, "KINDS", {"lines": SimpleNamespace(csv=lambda plot: None)})
    found = [study("a", loss, lone, bad, some), study("b", some, loss, bad), study("c", loss, loss)]
    shared = several._shared(["a", "b", "c"], found, files)
    assert [(each["title"], [name for name, _ in each["pictures"]]) for each in shared] == [
        ("links.down.loss 0", ["a", "b", "c"]), ("links.down.loss 1", ["a", "b"]),
    ]  # fmt: skip
    assert [slug for slug, _ in drawn if slug.startswith("01")] == ["01-a-lines", "01-b-lines", "01-c-lines"]
    assert [slug for slug, _ in drawn][-2:] == ["02-a-lines", "02-b-lines"]
    assert drawn[0][1] == "a: links.down.loss 0. read links.down.loss 0"
    assert shared[0]["read"] == "read links.down.loss 0"


def test_studies_that_cannot_be_compared_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(first: Any, other: Any) -> Any:
        raise SojournError("they have no cell in common")

    monkeypatch.setattr(several, "compare", compare)
    assert several._against(study("a"), study("b"), ("a", "b")) == {
        "title": "b against a",
        "sentences": ["They cannot be compared: they have no cell in common."],
        "clearest": [],
    }
    monkeypatch.setattr(several, "compare", lambda *_: SimpleNamespace(not_compared=["x"]))
    monkeypatch.setattr(several, "summary", lambda _: ["one"])
    monkeypatch.setattr(several, "clearest", lambda _: ["two"])
    said = several._against(study("a"), study("b"), ("a", "b"))
    assert (said["sentences"], said["clearest"]) == (["one", "x"], ["two"])


def test_what_a_study_reproduces_stands_behind_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(facts.__globals__, "cited", lambda tag, folders: f"cited {tag}")
    results = [{"point": {"rate": "1Mbit"}, "replication": 0, "engine": {"packets": 5, "simulated_s": 2}}]
    said = facts(study("a", reproduces="tag", seed=4), results, {})
    assert [term for term, _ in said][:3] == ["Study", "Reproduces", "Points"] and said[1][1] == "cited tag"
    assert "Reproduces" not in [term for term, _ in facts(study("a", seed=4), results, {})]


def test_the_worst_showing_of_each_size_is_shown_the_largest_size_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(film_strip, "_sections", lambda result, size, files: [(result["at"], size)])

    def showing(at: int, size: str, profile: str, ssim: float, missing: int = 1) -> dict[str, Any]:
        worst = {"resolution": size, "profile": profile, "ssim": ssim, "missing": [[0, 1]] * missing}
        return {"at": at, "video": {"worst": worst}}

    results = [
        showing(0, "hd", "evalvid", 0.2), showing(1, "hd", "aligned", 0.8), showing(2, "hd", "aligned", 0.7),
        showing(3, "hd", "freeze", 0.1), showing(4, "sd", "paper", 0.9), showing(5, "sd", "paper", 0.1, 0),
        {"at": 6, "video": None}, {"at": 7},
    ]  # fmt: skip
    # A profile that conceals losses goes before one that is worse; one that lacks nothing shows nothing.
    assert film_strip.film_sections(results, None) == [(4, "sd"), (2, "hd")]  # type: ignore[arg-type]


def test_missing_packets_of_a_showing_are_added_up_over_its_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, ...]] = []
    files: Any = SimpleNamespace(
        picture=lambda *given: told.append(given) or "picture", csv=lambda *given: told.append(given)
    )
    for name in ("quality_table", "quality"):
        monkeypatch.setattr(film_strip.film, name, lambda *given: given[-1])
    monkeypatch.setattr(film_strip, "_strip", lambda worst, title: title)
    worst = {"clip": "foot", "profile": "paper", "missing": [[3, 2], [9, 5], [20, 1]]}
    over_time, strip = film_strip._sections(
        {"point": {"rate": "1Mbit", "q": "fifo"}, "video": {"worst": worst}}, "hd", files
    )
    assert over_time.title == "Quality over time: HD, foot, profile paper"
    assert "of rate 1Mbit, fifo; 8 packets were missing, in 3 gaps." in repr(over_time)
    assert strip.title == "Pictures: HD, foot, profile paper"
    assert [given[1] for given in told] == ["video-hd-quality", "video-hd-quality", "video-hd-strip"]


def test_a_table_of_points_counts_the_runs_of_each_cell() -> None:
    def results(*runs: int) -> list[dict[str, Any]]:
        return [{"point": {"q": f"{cell}pkt"}, "replication": run, "links": {}}
                for cell, count in enumerate(runs, 1) for run in range(count)]  # fmt: skip

    for runs, several_runs in (((1, 1), False), ((1, 3), True), ((2, 3), True)):
        table = points_table(results(*runs), {"q": ["1pkt", "2pkt"]}, {})
        place = [column.title for column in table.columns].index("Runs")
        assert [(row[place].text, row[place].number) for row in table.rows] == [(str(n), n) for n in runs]
        assert table.replicated == several_runs
