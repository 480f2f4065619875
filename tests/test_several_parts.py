"""The page of several studies: what is set beside what. Pages and pictures are not made here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn.errors import SojournError
from sojourn.report import several
from sojourn.report.facts import facts


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

    monkeypatch.setattr(several, "write_report", lambda path, out: out / "report.html")
    monkeypatch.setattr(several.html, "write", write)
    monkeypatch.setattr(several, "_study", lambda name, one: (name, one.store.path.parent.name))
    monkeypatch.setattr(several, "_shared", lambda names, found, files: list(names))
    monkeypatch.setattr(several, "_against", lambda first, other, names: (first is found[0], names))
    pages = several.write_several(found, "sojourn report", tmp_path)
    # A folder of the page's own is no study's.
    names = ["a", "a-2", "figures-2"]
    assert pages == [tmp_path / "report.html", *(tmp_path / name / "report.html" for name in names)]
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
