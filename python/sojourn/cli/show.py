"""`sojourn show`: what is in a results directory."""

import json as _json
from pathlib import Path

from sojourn.cli.flag import Flag
from sojourn.results import open_results


def show(results: Path, point: str | None = None, /, *, json: Flag = False) -> None:
    """Show the points of a study, or everything about one of them.

    **Example**

    ```
    sojourn show results/quickstart
    sojourn show results/quickstart 4be19a
    ```

    Parameters
    ----------
    results
        Directory of results.
    point
        Beginning of a point's hash: show its scenario, its result and the command that computes it again.
    json
        Print one JSON object per point, the hash with it.
    """
    from sojourn.results.show import describe, print_table
    from sojourn.sweep import rounds

    found = open_results(results)
    if json:
        wanted = found.find(point) if point else None
        for digest, result in found.items():
            if wanted in (None, digest):
                print(_json.dumps({"hash": digest, **result}, ensure_ascii=False))
    elif point:
        print(describe(found, found.find(point)))
    else:
        print_table(found)
        if sentence := rounds.said(found):
            print(sentence)
