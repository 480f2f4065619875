"""What scores come to of nothing, of one and of two: of every user's tables the first rows, and no more.

The file `data/words/few.txt` is to be read when it changes. It is written anew by

    python tests/test_scores_of_few.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sojourn import _core
from sojourn.qoe.score import score
from sojourn.study import Study
from test_keys_count import SCENES

FILE = Path(__file__).parent / "data" / "words" / "few.txt"
USERS = ("voice", "opus", "talk", "playout", "web", "browser", "adaptive", "live", "gaming", "cloud-gaming",
         "call", "page", "responsiveness", "household")  # fmt: skip


def tidy(found: Any) -> Any:
    """Numbers to nine digits: what Python computes may differ in the last ones."""
    if isinstance(found, Mapping):
        return {key: tidy(each) for key, each in found.items()}
    if isinstance(found, list | tuple):
        return [tidy(each) for each in found]
    return float(f"{found:.9g}") if isinstance(found, float) else found


def of_few(name: str) -> list[str]:
    """Return the scores of a scene's first rows, a line for each kind of user, and what is refused."""
    (point,) = Study(_core.parse(SCENES[name], "x.toml", [], []), "x.toml", (), Path()).points
    ran = _core.run(point.text)
    links = json.loads(ran["summary"])["links"]
    lines = []
    for rows in (0, 1, 2):
        tables = {
            table: {column: values[:rows] for column, values in columns.items()}
            for table, columns in ran.items()
            if isinstance(columns, Mapping)
        }
        try:
            found = score(point.document, tables, links)
        except ValueError as error:
            found = {"refused": str(error)}
        lines += [f"{name} {rows} {kind}: {json.dumps(tidy(each))}" for kind, each in found.items()]
        lines += [] if found else [f"{name} {rows}: nothing"]
    return lines


@pytest.mark.parametrize("name", USERS)
def test_scores_of_none_of_one_and_of_two_rows(name: str) -> None:
    kept = FILE.read_text(encoding="utf-8").splitlines()
    assert of_few(name) == [line for line in kept if line.split(" ")[0] == name]


if __name__ == "__main__":
    FILE.write_text("\n".join(line for name in USERS for line in of_few(name)) + "\n", encoding="utf-8")
