"""`sojourn report`: the results of a study, or of several, as one page."""

import json as _json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.cli.once import once
from sojourn.errors import SojournError
from sojourn.results import open_results

Style = Literal["screen", "paper", "ieee-column", "ieee-page"]


def report(
    *results: Path,
    out: Path | None = None,
    beside: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    style: Style = "screen",
    json: Flag = False,
) -> None:
    """Make the page of a study from the results that are on disk: its figures, tables and what was published.

    The page stands by itself and can be mailed; its figures are also written beside it, as SVG, PNG and PDF.
    Of several studies a page for each is made, and one that sets them side by side: what each of them
    says, the figures that they share, and where the others differ from the first (see `sojourn compare`).

    **Example**

    ```
    sojourn report results/quickstart
    sojourn report results/quickstart --style ieee-column --out paper
    sojourn report results/fifo results/codel --out both
    sojourn report results/quickstart --beside home.flent.gz iperf3.json
    ```

    Parameters
    ----------
    results
        Directories of results.
    out
        Directory for the page and `figures`; by default the results' own. Several results need one: the page
        of all is its `report.html`, that of each in a folder with its name.
    beside
        What was measured of a real path, to stand beside the study: data files of Flent (`.flent.gz`) or
        JSON of iperf3 (`iperf3 -c HOST -J`). It goes behind the results, which must be one directory.
    style
        What figures are drawn for: a `screen`; a `paper`, 6 inches wide with letters of 9 pt; the column of
        an IEEE journal, 3.5 inches with 8 pt (`ieee-column`), or its page, 7.16 inches (`ieee-page`).
        Figures with many cells are made smaller to fit.
    json
        Print the path of the page and the answer (choice, regrets, verdicts, sizes) as JSON.
    """
    if not results:
        raise SojournError("no results were named; expected a directory that `sojourn run` wrote")
    if len(results) > 1 and out is None:
        raise SojournError("several results need --out: the directory for their page")
    if beside == []:
        raise SojournError("--beside names no file; expected data files of Flent or JSON of iperf3 behind it")
    if beside and len(results) > 1:
        raise SojournError(f"--beside goes with the results of one study; {len(results)} were named")
    once(results)
    once(beside or (), "--beside")
    opened = [open_results(path) for path in results]
    if beside and opened[0].captured:
        raise SojournError(f"--beside stands beside simulations; {results[0]} holds what captures show")
    from sojourn.report import answer_of, write_report
    from sojourn.report.figures.form import drawn_for
    from sojourn.report.measured import read

    measurements = [read(file) for file in beside or ()]
    for found in opened:
        if found.missing and len(found):
            where = "" if len(opened) == 1 else f" of {found.store.path}"
            are = "is" if found.missing == 1 else "are"
            warn(
                f"note: {found.missing} of the study's points{where} {are} not there yet; "
                "the page shows the others"
            )
    with drawn_for(style):
        if len(opened) == 1 or out is None:
            pages = [write_report(opened[0].store.path, out, measurements, _note)]
        else:
            from sojourn.cli.again import again
            from sojourn.report.several import write_several

            command = again("report", *results, out=out, style=None if style == "screen" else style)
            pages = write_several(opened, command, out, _note)
    if not json:
        print(pages[0])
        return
    told: dict[str, object] = {"report": str(pages[0])}
    if len(opened) == 1:
        told["answer"] = answer_of(opened[0].store.path)
    else:
        told["studies"] = [
            {"report": str(page), "answer": answer_of(found.store.path)}
            for page, found in zip(pages[1:], opened, strict=True)
        ]
    print(_json.dumps(told, ensure_ascii=False))


def _note(text: str) -> None:
    warn(f"note: {text}")
