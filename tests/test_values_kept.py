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
from sojourn.sweep import testbed

FILE = Path(__file__).parent / "data" / "values.json"
LONG = 160
PROGRAMS = "sojourn.sweep.testbed.programs."
MODULES = sorted(
    # Programs of the testbed run by themselves, and are no part of the package then.
    each.name.replace(PROGRAMS, "programs.")
    for each in pkgutil.walk_packages(sojourn.__path__, "sojourn.")
    if not each.name.endswith(("__main__", "_core"))
)
sys.path.append(str(Path(testbed.__file__).parent))


def declared(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the constants of a module's source and classes, and the defaults of its functions and methods."""
    for line in ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8")).body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        for target in (part for each in targets for part in getattr(each, "elts", [each])):
            # What is no constant changes while others run: a store of scores, by the tests before.
            if isinstance(target, ast.Name) and target.id.isupper() and hasattr(module, target.id):
                yield target.id, getattr(module, target.id)
    for name, value in sorted(vars(module).items()):
        if getattr(value, "__module__", "") != module.__name__:
            continue
        of = (
            {"": value} if isinstance(value, FunctionType) else vars(value) if isinstance(value, type) else {}
        )
        # Their defaults are arguments', too.
        fields = getattr(value, "__dataclass_fields__", ())
        for method, call in of.items():
            call = getattr(call, "__func__", call)
            if method and method not in fields and method[0] != "_" and not callable(call):
                # Of an enumeration's member, its value.
                yield f"{name}.{method}", getattr(call, "value", call)
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
