"""What is written down beside the code: figures of other programs, explanations, and what is fitted."""

import csv
import tomllib
from importlib.resources import files
from typing import Any


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in ``data/``."""
    text = files("tools.validation").joinpath(f"data/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def entries(name: str) -> list[dict[str, Any]]:
    """Return the entries of a list such as ``fitted.toml``, which is called as its file is."""
    text = files("tools.validation").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    [found] = tomllib.loads(text).values()
    return found
