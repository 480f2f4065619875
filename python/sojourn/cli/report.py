"""`sojourn report`: the results of a study as one page."""

from __future__ import annotations

import json as _json
from pathlib import Path

from sojourn.cli.exit import Exit, complain
from sojourn.cli.flag import Flag
from sojourn.results import open_results


def report(results: Path, /, *, json: Flag = False) -> int:
    """Make the page of a study from the results that are on disk: its figures, tables and what was published.

    **Example**

    ```
    sojourn report results/quickstart
    ```

    Parameters
    ----------
    results
        Directory of results.
    json
        Print the path of the page and the answer (choice, regrets, verdicts, sizes) as JSON.
    """
    found = open_results(results)
    from sojourn.report import answer_of, write_report

    if found.missing:
        complain(f"note: {found.missing} of the study's points are not there yet; the page shows the others")
    page = write_report(found.store.path)
    if json:
        print(_json.dumps({"report": str(page), "answer": answer_of(found.store.path)}, ensure_ascii=False))
    else:
        print(page)
    return Exit.DONE
