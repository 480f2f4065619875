"""The file of samples: one row for each packet whose queueing delay is known, as CSV or Parquet."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.capture.output import output
from sojourn.errors import SojournError

COLUMNS = ("frame", "time_s", "remote", "local", "protocol", "flow", "queue_delay_ms", "direction")
_SCHEMAS = Path(__file__).with_name("samples_arrow.json")


@contextmanager
def sample_file(
    path: Path, *, uncertainty: bool = False
) -> Iterator[tuple[Callable[[bytes], Any], str | None]]:
    """Give a function that appends bytes, and the Arrow schema of a file of Parquet, which begins by itself.

    The file appears when all went well, and not otherwise.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise SojournError(
            f"{path}: samples are written as .csv or .parquet, not as {path.suffix or 'no suffix'}"
        )
    with output(path) as file:
        if path.suffix == ".csv":
            header = [*COLUMNS, "uncertainty_ms"] if uncertainty else COLUMNS
            file.write((",".join(header) + "\n").encode())
            yield file.write, None
        else:
            yield file.write, _arrow_schema(uncertainty)


def _arrow_schema(uncertainty: bool) -> str:
    """Return by what Polars knows that names are categories, as it writes it itself (base64).

    It is kept in a file, because Polars takes as long to load as a million packets to be measured.
    """
    kept = json.loads(_SCHEMAS.read_text())
    return kept["uncertainty" if uncertainty else "plain"]
