"""What modules declare: each constant, and what an argument is that is not given.

Tables, limits and defaults are read by many and computed by none, so that nothing else notices another
value of one that no test is about. A long value is kept as its digest. After a change that is meant:

    python tests/test_values_kept.py
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import calls
import pytest
import sojourn

FILE = Path(__file__).parent / "data" / "values.json"
LONG = 160
# Programs that run by themselves on the testbed: their folder is not a package of this one.
MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(sojourn.__path__, "sojourn.")
    if not each.name.startswith("sojourn.sweep.testbed.programs.")
    and not each.name.endswith(("__main__", "_core"))
)


def declared(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the constants of a module's source, and the defaults of its functions and methods."""
    for line in ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")).body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        for target in targets:
            # What is no constant changes while others run: a store of scores, by the tests before.
            if isinstance(target, ast.Name) and target.id.isupper() and hasattr(module, target.id):
                yield target.id, getattr(module, target.id)
    for name, value in sorted(vars(module).items()):
        if getattr(value, "__module__", "") != module.__name__:
            continue
        of = (
            {"": value} if isinstance(value, FunctionType) else vars(value) if isinstance(value, type) else {}
        )
        for method, call in of.items():
            call = getattr(call, "__func__", call)
            if isinstance(call, FunctionType):
                for each in inspect.signature(call).parameters.values():
                    if each.default is not each.empty:
                        yield f"{name}.{method}({each.name})".replace(".(", "("), each.default


def values(module: str) -> dict[str, Any]:
    """Return what a module declares as text: what is a value, and what does not hang on the machine."""
    found = {}
    for name, value in declared(importlib.import_module(module)):
        try:
            text = calls.written(value)
        except (calls.NotText, AttributeError, TypeError):
            continue
        said = json.dumps(text)
        if sys.prefix not in said:
            found[name] = text if len(said) <= LONG else calls.digest(text)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_what_is_declared_is_what_it_was(module: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8")).get(module, {})
    now = values(module)
    other = {name: (known[name], now.get(name)) for name in known if known[name] != now.get(name)}
    assert not other, f"{module} declared other values; is it meant? {Path(__file__).name}"
    assert set(now) == set(known), f"{module} declares something new; {Path(__file__).name} writes it down"


def test_modules_that_are_no_more_are_not_kept() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) <= set(MODULES)


if __name__ == "__main__":
    found = {module: values(module) for module in MODULES}
    kept = {module: each for module, each in found.items() if each}
    FILE.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
