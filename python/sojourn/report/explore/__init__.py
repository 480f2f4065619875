"""An explorer: one page, to be opened without a network, in which stored sweeps answer questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import _core
from sojourn.errors import SojournError
from sojourn.report import html
from sojourn.report.explore.gathered import Budget, gathered
from sojourn.report.explore.live import Live, live_part
from sojourn.report.figures.values import lower
from sojourn.results import Results
from sojourn.results.atomic import writing

__all__ = ["Made", "write_explorer"]


@dataclass(frozen=True)
class Made:
    """The page, the names of the studies in it, and why it has no live part, if so."""

    page: Path
    studies: list[str]
    without: str


def write_explorer(opened: Sequence[Results], command: str, page: Path) -> Made:
    """Write the page; the same results give the same bytes.

    Parameters
    ----------
    opened
        Results directories; none for the engine alone.
    command
        The command that makes this page, as it is printed there.
    page
        The file to write; its directory is made.

    Raises
    ------
    SojournError
        A directory holds no finished points; or there are no results and no live part either.
    """
    engine = live_part()
    if engine.without and not opened:
        raise SojournError(f"no results were named, and {lower(engine.without).rstrip('.')}")
    budget, studies = Budget(), []
    for found in opened:
        results = list(found)
        if not results:
            raise SojournError(f"{found.store.path} holds no finished points yet; run its study first")
        studies.append(gathered(found, results, budget))
    names = [study["name"] for study in studies]
    for study, found in zip(studies, opened, strict=True):
        if names.count(study["name"]) > 1:
            study["name"] = f"{study['name']} ({found.store.path})"
    with writing(page):
        page.parent.mkdir(parents=True, exist_ok=True)
        html.write(
            page,
            "report/explore/page.html.jinja",
            title=", ".join(study["name"] for study in studies) or "A buffer to try out",
            lead=_lead(studies),
            data={"studies": studies, "live": engine.offers},
            live=engine,
            about=_about(studies, engine),
            command=command,
        )
    return Made(page, [study["name"] for study in studies], engine.without)


def _lead(studies: Sequence[Mapping[str, Any]]) -> str:
    if not studies:
        return "A queue to try out: move a slider, and the engine answers in this page."
    names = " and ".join(study["name"] for study in studies)
    return f"The stored results of {names}: choose what to see, and any cell to see all of it."


def _about(studies: Sequence[Mapping[str, Any]], engine: Live) -> list[str]:
    said = ["The page asks nothing of the network, and a link to it keeps what was chosen."]
    if any(not study["captured"] for study in studies):
        said.append(
            "Intervals are 95 % of Student's t for the mean over replications, cut to what the number can be."
        )
    if engine.module:
        said.append(
            f"The live part is sojourn {_core.version()}, build {engine.offers['build']}. One run has no "
            "interval: other seeds say how much of it is chance."
        )
    said.append("Charts are drawn by uPlot (MIT licence, © Leon Sorokin).")
    return said
