"""One page for several studies: their answers, where they differ, and shared figures side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError, counted
from sojourn.report import html, write_report
from sojourn.report.answered import answered
from sojourn.report.comparing import compare
from sojourn.report.comparing.sentences import clearest, summary
from sojourn.report.figures import KINDS, Spec, draw, gather, labels_of
from sojourn.report.files import Files
from sojourn.report.sentences import how_to_read
from sojourn.results import Results, engines
from sojourn.results.atomic import writing


def write_several(
    found: Sequence[Results], command: str, out: Path, tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write ``report.html`` for all, and the page of each in a folder of its own; return all pages.

    Parameters
    ----------
    found
        Two or more studies with results.
    command
        What makes the page again.
    out
        The directory; the page of each study is in the folder of it that has the study's name.
    tell
        As for :func:`sojourn.report.write_report`; the study's name goes before.

    Raises
    ------
    SojournError
        One of them has no results.
    """
    names = _names(found)
    pages = [
        write_report(one.store.path, out / name, tell=lambda note, of=name: tell(f"{of}: {note}"))
        for name, one in zip(names, found, strict=True)
    ]
    with writing(out):
        files = Files(out / "figures")
        page = html.write(
            out / "report.html",
            "report/several.html.jinja",
            made=files,
            studies=[_study(name, one) for name, one in zip(names, found, strict=True)],
            shared=_shared(names, found, files),
            against=[
                _against(found[0], other, (names[0], name))
                for name, other in zip(names[1:], found[1:], strict=True)
            ],
            command=command,
        )
    return [page, *pages]


def _names(found: Sequence[Results]) -> list[str]:
    """Name each study by its folder, numbered where two have the same name."""
    names: list[str] = []
    for one in found:
        name = free = one.store.path.resolve().name
        number = 1
        while free in (*names, "figures"):
            number += 1
            free = f"{name}-{number}"
        names.append(free)
    return names


def _study(name: str, one: Results) -> dict[str, Any]:
    """Return what the page says of a study: its name here, what it answers, and its own page."""
    results = list(one)
    axes = labels_of(entry["point"] for entry in one.record["points"])
    cells = {tuple(map(str, result["point"].values())) for result in results}
    about = answered(one, results, axes)
    return {
        "name": name,
        "description": one.document.get("description", ""),
        "sentences": about.sentences,
        "size": f"{counted(len(cells), 'cell')}, {counted(len(results), 'result')}",
        "engines": "; ".join(engines(results)),
        "page": f"{name}/report.html",
    }


def _shared(names: Sequence[str], found: Sequence[Results], files: Files) -> list[dict[str, Any]]:
    """Draw for each study the figures that two or more have: of the same kind, value and axes."""
    having: dict[tuple[Any, ...], list[tuple[str, Results, Spec]]] = {}
    for name, one in zip(names, found, strict=True):
        for entry in one.document.get("figures") or []:
            spec = Spec.read(entry)
            key = (spec.kind, spec.value, spec.x, spec.y, *sorted(spec.only.items()))
            there = having.setdefault(key, [])
            if name not in [known for known, _, _ in there]:
                there.append((name, one, spec))
    shared = []
    for key, there in having.items():
        pictures = []
        for name, one, spec in there:
            try:
                plot = gather(spec, list(one), labels_of(entry["point"] for entry in one.record["points"]))
            except SojournError:
                continue
            slug = f"{len(shared) + 1:02d}-{name}-{key[0]}"
            pictures.append(
                (name, files.picture(draw(plot), slug, f"{name}: {plot.title}. {how_to_read(plot)}"))
            )
            files.csv(KINDS[spec.kind].csv(plot), slug)
            title, read = plot.title, how_to_read(plot)
        if len(pictures) > 1:
            shared.append({"title": title, "read": read, "pictures": pictures})
    return shared


def _against(first: Results, other: Results, names: tuple[str, str]) -> dict[str, Any]:
    """Say where a study differs from the first, or why that cannot be said."""
    title = f"{names[1]} against {names[0]}"
    try:
        compared = compare(first, other)
    except SojournError as error:
        return {"title": title, "sentences": [f"They cannot be compared: {error}."], "clearest": []}
    sentences = [*summary(compared), *compared.not_compared]
    return {"title": title, "sentences": sentences, "clearest": clearest(compared)}
