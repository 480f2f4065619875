"""`sojourn explore`: stored results, and the engine itself, as one page that answers."""

import json as _json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.cli.once import once
from sojourn.errors import SojournError
from sojourn.results import open_results


def explore(
    *results: Path,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("explore.html"),
    json: Flag = False,
) -> None:
    """Make one page in which results, and the engine itself, can be explored without a network.

    Of stored results: a map of any number over any two axes, with intervals, the same as lines, and one
    number against another; a cell shows its links over time, its calls to listen to, and the command that
    runs it again. The live part runs the engine in the page: rates, round-trip time, buffers, disciplines
    and their parameters, flows and their congestion control; and shows a queue packet by packet.

    **Example**

    ```
    sojourn explore results/quickstart -o quickstart.html
    sojourn explore -o live.html
    ```

    Parameters
    ----------
    results
        Directories of results; without any, the page has the live part alone.
    out
        The page to write.
    json
        Print the path of the page, its size and what is in it as JSON.
    """
    if out.is_dir():
        raise SojournError(f"{out} is a directory; --out takes the page to write, as {out / 'explore.html'}")
    if out.suffix != ".html":
        raise SojournError(f"--out is {str(out)!r}; expected a file that ends in .html")
    once(results)
    opened = [open_results(path) for path in results]
    from sojourn.cli.again import again
    from sojourn.report.explore import write_explorer

    for found in opened:
        if found.missing and len(found):
            are = "is" if found.missing == 1 else "are"
            warn(
                f"note: {found.missing} of the points of {found.store.path} {are} not there yet; "
                "the page shows the others"
            )
    made = write_explorer(opened, again("explore", *results, out=out), out)
    if made.without:
        warn(f"note: {made.without}")
    if json:
        told = {
            "page": str(made.page),
            "bytes": made.page.stat().st_size,
            "studies": made.studies,
            "live": not made.without,
        }
        print(_json.dumps(told, ensure_ascii=False))
    else:
        print(made.page)
