"""What functions give, whatever their callers then show of it: calls that were seen, and others near them.

Digests are the net beneath the tests that state rules: a call that gives something else is a change that was
meant, or a fault. Calls were written down while tests ran (`calls_recorder`). After a change that is meant:

    python tests/test_calls_kept.py
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import tempfile
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import calls
import pytest

FILE = Path(__file__).parent / "data" / "calls.jsonl.gz"
# Nothing of who runs the tests: a shell of their own would be what `emulate` starts.
ENVIRONMENT = {"HOME": "/", "LANG": "C.UTF-8", "PATH": os.defpath}


@cache
def kept(file: Path = FILE) -> dict[str, dict[str, dict[str, Any]]]:
    """Return arguments and cases of each function, by module."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in gzip.decompress(file.read_bytes()).decode().splitlines():
        each = json.loads(line)
        found[each["name"].partition(":")[0]][each["name"]] = each
    return found


def given(each: dict[str, Any], case: list[Any]) -> dict[str, Any]:
    arguments, other = each["arguments"][case[0]], case[1]
    if isinstance(other, list):
        return calls.changed(arguments, other)
    return calls.near(arguments, other) if other else arguments


def found(name: str, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return calls.outcome(calls.target(name), arguments)


@pytest.mark.parametrize("module", sorted(kept()))
def test_functions_give_what_they_gave(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    wrong = []
    for name, each in kept()[module].items():
        for case in each["cases"]:
            arguments = given(each, case)
            try:
                now = found(name, arguments)
            except (AttributeError, ModuleNotFoundError):
                wrong.append(f"{name} is no more")
                break
            if calls.digest(now) != case[2]:
                shown = json.dumps(arguments)[:600]
                wrong.append(f"{name} of {shown} gives {json.dumps(now)[:400]}, and gave something else")
    said = "\n".join(wrong[:4])
    assert not wrong, f"{len(wrong)} calls give something else; is it meant? {Path(__file__).name}\n{said}"


def test_calls_are_kept_if_the_function_takes_more_that_may_be_left_out() -> None:
    def function(first: int, *more: int, second: int = 0) -> None: ...

    assert calls.takes(function, {"first", "*"}) and calls.takes(function, {"first", "*", "second"})
    for names in ({"*"}, {"first"}, {"first", "*", "third"}):
        assert not calls.takes(function, names)
    assert calls.takes(str, set()) and not calls.takes(str, {"object"})


def write_anew() -> None:
    """Take what functions give now; those that are no more are left out."""
    import calls_recorder

    anew = {}
    for functions in kept().values():
        for name, each in functions.items():
            try:
                calls.target(name)
            except (AttributeError, ModuleNotFoundError):
                print(f"no more: {name}")
                continue
            if not calls.takes(calls.target(name), each["arguments"][0].keys()):
                print(f"takes something else: {name}")
                continue
            cases = []
            for case in each["cases"]:
                with contextlib.suppress(calls.NotText):
                    cases.append([*case[:2], calls.digest(found(name, given(each, case)))])
            anew[name] = {"arguments": each["arguments"], "cases": cases}
    calls_recorder.write(anew, FILE)


if __name__ == "__main__":
    # In an empty folder, as the test is: a folder of results beside it would be named in what is refused.
    with (
        tempfile.TemporaryDirectory() as empty,
        contextlib.chdir(empty),
        mock.patch.dict(os.environ, ENVIRONMENT, clear=True),
    ):
        write_anew()
