"""`sojourn compare`: two folders of results side by side."""

import json as _json
from pathlib import Path
from typing import Any

from sojourn.cli.flag import Flag
from sojourn.results import open_results


def compare(
    first: Path,
    second: Path,
    /,
    *,
    value: list[str] | None = None,
    out: Path | None = None,
    json: Flag = False,
) -> None:
    """Say where two folders of results differ by more than chance: two queues, two settings, two versions.

    Cells are matched by their labels. For every value that the studies' figures show, every score of users
    and the links' delay, loss and utilisation it takes the second less the first, with a 95 % interval
    (Welch's t over replications), marks what is larger than its interval, and says how many would be by
    chance alone. With one replication nothing can be said. Differences do not change the exit code.

    **Example**

    ```
    sojourn run imc14-quick --set repeat=5 --out before
    sojourn run imc14-quick --set repeat=5 \\
        --set path.down.queue.kind=fq-codel --out after
    sojourn compare before after --out differences
    sojourn compare results/my results/my-testbed    # simulated beside real
    ```

    Parameters
    ----------
    first
        Directory of results.
    second
        Directory of results to hold against it.
    value
        Compare this number of a result instead, by its dotted path, as links.up.loss. Repeatable.
    out
        Directory for the page `compare.html` and, in `figures`, its figures and `differences.csv`.
    json
        Print one JSON object with every difference.
    """
    from sojourn.cli.again import again
    from sojourn.report.comparing import compare as compared
    from sojourn.report.comparing import write_comparison
    from sojourn.report.comparing.page import as_row
    from sojourn.report.comparing.sentences import clearest, settings, summary

    found = compared(open_results(first), open_results(second), value or [])
    page = None
    if out is not None:
        page = write_comparison(found, again("compare", first, second, value=value, out=out), out)
    if json:
        told: dict[str, Any] = {
            "first": found.names[0],
            "second": found.names[1],
            "cells": found.cells,
            "same": found.same,
            "compared": len(found.judged),
            "larger": len(found.larger),
            "expected_by_chance": round(found.by_chance, 3),
            "larger_by_holm": sum(bool(one.holm) for one in found.judged),
            "cannot_be_said": len(found.differences) - len(found.judged),
            "not_compared": found.not_compared,
            "beds": found.beds,
            "lower_bounds": found.bounds,
            "settings": [dict(zip(("key", "first", "second"), row, strict=True)) for row in settings(found)],
            "differences": [_nested(as_row(one), dict(one.cell)) for one in found.differences],
        }
        if page is not None:
            told["report"] = str(page)
        print(_json.dumps(told, ensure_ascii=False))
        return
    print("\n".join(summary(found)))
    lines = clearest(found)
    for line in lines:
        print(f"  {line}")
    if more := len(found.larger) - len(lines):
        print(f"  and {more} more, which --json and --out have")
    for line in found.not_compared:
        print(f"not compared: {line}")
    for key, one, other in settings(found):
        print(f"differs: {key}: {one} → {other}" if one or other else f"differs: {key}")
    if page is not None:
        print(page)


def _nested(row: dict[str, Any], cell: dict[str, str]) -> dict[str, Any]:
    low, high = row.pop("low"), row.pop("high")
    plain = {key: item for key, item in row.items() if key not in cell}
    return {"point": cell, **plain, "interval": None if low is None else [low, high]}
