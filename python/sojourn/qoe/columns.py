"""The columns of the tables that a run hands to the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def columns_of(
    name: str, table: Mapping[str, NDArray[Any]], needed: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return columns of a table as arrays; ValueError if it lacks one, or they differ in length."""
    if missing := [column for column in needed if column not in table]:
        raise ValueError(f"the {name} table lacks {', '.join(missing)}: expected {', '.join(needed)}")
    found = {column: np.asarray(table[column]) for column in needed}
    if len({column.shape for column in found.values()}) != 1:
        raise ValueError(f"the {name} table's columns differ in length")
    return found
