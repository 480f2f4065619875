"""Tables of measurements, written as CSV."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_rows(table: Path, rows: Sequence[dict[str, Any]], columns: Iterable[str] = ()) -> None:
    """Write a table; its columns are the keys of the first row unless given."""
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns) or list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
