"""Writes down how functions are called while tests run, and keeps calls that tell their outcomes apart.

    python tests/calls_recorder.py       (all tests that are not in real time, some minutes; then a choice)

Functions with kept calls keep those: take a line out of the file to have its function anew.
A call is kept if it touches nothing (no file that is written, no process, no socket), gives the same each
time, and gives what no call kept before gives.
"""

from __future__ import annotations

import atexit
import contextlib
import gzip
import importlib.util
import inspect
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import calls
import pytest
import sojourn

WHERE = "SOJOURN_CALLS"
EACH, LOOKS = 8, 60
BASES, NEAR, KEPT = 16, 24, 10
LONG_S = 0.02
_seen: dict[str, set[str]] = defaultdict(set)
_looked: dict[int, int] = defaultdict(int)


def start() -> None:
    """Write down what this process calls from now on."""
    out = os.open(os.environ[WHERE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or _looked[id(frame.f_code)] > LOOKS:
            return
        code = frame.f_code
        _looked[id(code)] += 1
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("sojourn.") or "<" in code.co_qualname or code.co_flags & 0x83 != 0x03:
            _looked[id(code)] = LOOKS + 1
            return
        name, began = f"{module}:{code.co_qualname}", time.perf_counter()
        try:
            text = json.dumps({each: calls.written(of, given=True) for each, of in _given(frame).items()})
        except Exception:
            return
        finally:
            _looked[id(code)] += int((time.perf_counter() - began) * 1000)
        if tempfile.gettempdir() in text:
            return
        if len(text) <= calls.LONGEST and text not in _seen[name] and len(_seen[name]) < EACH:
            _seen[name].add(text)
            os.write(out, f"{name}\t{text}\n".encode())

    sys.setprofile(profile)
    atexit.register(sys.setprofile, None)


def _given(frame: FrameType) -> dict[str, Any]:
    """Return the arguments of a call that begins."""
    code = frame.f_code
    plain, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    stars = dict(zip(calls.STARS, (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS), strict=True))
    more = iter(code.co_varnames[named:])
    rest = {star: frame.f_locals[next(more)] for star, flag in stars.items() if code.co_flags & flag}
    given = {each: frame.f_locals[each] for each in code.co_varnames[:plain]}
    given |= {"*": rest["*"]} if "*" in rest else {}
    given |= {each: frame.f_locals[each] for each in code.co_varnames[plain:named]}
    return given | ({"**": rest["**"]} if "**" in rest else {})


class _Touched(BaseException):
    pass


def _sandbox() -> None:
    """From here on this process touches only files that are given to a call, nor takes long over it."""
    here, files = str(Path.cwd()), str(Path(calls.FILES).absolute())
    ours = (calls.ROOT, sys.prefix, sys.base_prefix, str(Path(sojourn.__file__).parent), here)
    bad = ("subprocess.", "os.", "socket.", "shutil.", "signal.", "ctypes.", "fcntl.", "tempfile.")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        first = arguments[0] if arguments else ""
        place = str(Path(os.fsdecode(first)).absolute()) if isinstance(first, str | bytes | Path) else ""
        # Beneath a folder that was opened, as `rmtree` has it.
        beneath = event in ("os.remove", "os.rmdir") and isinstance(arguments[-1], int) and arguments[-1] >= 0
        if beneath or (place.startswith(files) and not event.startswith("subprocess.")):
            return
        if event.startswith(bad) and event not in ("os.listdir", "os.scandir"):
            raise _Touched(event)
        writes = event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or (event == "open" and not place.startswith(ours)):
            raise _Touched(event)

    def late(*_: Any) -> None:
        raise _Touched("late")

    signal.signal(signal.SIGALRM, late)
    sys.addaudithook(hook)


def _tried(name: str, bases: list[dict[str, Any]]) -> list[list[Any]]:
    """Return cases whose outcomes differ: number of the arguments, seed ("" for themselves), digest."""
    call = calls.target(name)
    cases, found, spent = [], set(), 0.0
    for k, base in enumerate(bases):
        for seed in ["", *map(str, range(NEAR))]:
            if len(cases) >= KEPT * (1 + k // 4) or spent > 2:
                break
            arguments = calls.near(base, seed) if seed else base
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, 0.25)
            try:
                both = [calls.digest(calls.outcome(call, arguments)) for _ in range(2)]
            except calls.NotText:
                continue
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            took = time.perf_counter() - began
            spent += took
            if both[0] == both[1] and both[0] not in found and took < 2 * LONG_S:
                found.add(both[0])
                cases.append([k, seed, both[0]])
    return cases


def choose(seen: Path, file: Path) -> None:
    """Keep the calls that tell the outcomes apart of functions that have no kept call yet."""
    import test_calls_kept

    by: dict[str, set[str]] = defaultdict(set)
    for line in seen.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, text = line.partition("\t")
        if len(by[name]) < 400:
            by[name].add(text)
    known = test_calls_kept.kept(file) if file.is_file() else {}
    kept: dict[str, Any] = {name: each for functions in known.values() for name, each in functions.items()}
    for name in sorted(set(by) - set(kept)):
        try:
            calls.target(name)
        except (AttributeError, ModuleNotFoundError):
            continue
        texts = sorted(by[name], key=lambda text: (len(text), text))
        short, long = texts[:4], [text for text in texts[4:] if len(text) < calls.LONGEST // 2]
        long += [text for text in texts[4:] if len(text) >= calls.LONGEST // 2][:2]
        some = short + random.Random(name).sample(long, min(BASES - 4, len(long)))
        bases = [json.loads(text) for text in some]
        once, again = (_in_a_child(partial(_tried, name, bases)) for _ in range(2))
        cases = [case for case in once if case in again]
        used = sorted({case[0] for case in cases})
        if cases:
            kept[name] = {
                "arguments": [bases[k] for k in used],
                "cases": [[used.index(k), seed, found] for k, seed, found in cases],
            }
    write(kept, file)
    for seed in "123":
        here = [sys.executable, __file__, "steady", str(file)]
        other = {"PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}", "HOME": f"/{seed}", "COLUMNS": f"9{seed}"}
        subprocess.run(here, env={**os.environ, **other}, check=True)


def elsewhere() -> None:
    """Make this another machine, another day and another engine."""
    from sojourn import _core

    os.cpu_count = lambda: 7
    os.geteuid = os.getuid = lambda: 1000
    os.sched_getaffinity = lambda _: {1, 2, 3}
    socket.gethostname = lambda: "elsewhere"
    shutil.which = lambda *_, **__: None
    importlib.util.find_spec = lambda *_, **__: None
    now = time.time
    time.time = lambda: now() + 1e7
    _core.version = lambda: "99.9"
    _core.engine = lambda: "0" * 16


def steady(file: Path) -> None:
    """Leave out what another process, elsewhere, does not give, and what takes long."""
    import test_calls_kept

    elsewhere()
    kept = {
        name: each for functions in test_calls_kept.kept(file).values() for name, each in functions.items()
    }

    def same(name: str) -> list[list[Any]]:
        found = []
        for case in kept[name]["cases"]:
            began = time.perf_counter()
            with contextlib.suppress(_Touched):
                now = calls.digest(test_calls_kept.found(name, test_calls_kept.given(kept[name], case)))
                found += [case] if now == case[2] and time.perf_counter() - began < 3 * LONG_S else []
        return found

    for name in kept:
        calls.target(name)
    cases = dict(_in_a_child(lambda: [[name, same(name)] for name in kept]))
    write({name: {**each, "cases": cases[name]} for name, each in kept.items() if cases[name]}, file)


def write(kept: dict[str, Any], file: Path) -> None:
    lines = [json.dumps({"name": name, **kept[name]}, separators=(",", ":")) for name in sorted(kept)]
    file.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))


def _in_a_child(work: Callable[[], list[Any]]) -> list[Any]:
    """Return what comes of work in a process that can touch nothing."""
    import test_calls_kept

    ours, theirs = os.pipe()
    process = os.fork()
    if process == 0:
        found: list[Any] = []
        with contextlib.suppress(BaseException):
            warnings.simplefilter("error")
            os.chdir(tempfile.mkdtemp())
            os.environ.clear()
            os.environ.update(test_calls_kept.ENVIRONMENT)
            _sandbox()
            found = work()
        text = json.dumps(found).encode()
        while text:
            text = text[os.write(theirs, text) :]
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        said = file.read()
    os.waitpid(process, 0)
    return json.loads(said or "[]")


class _Recorder:
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        start()


if __name__ == "__main__":
    if sys.argv[1:2] == ["steady"]:
        steady(Path(sys.argv[2]))
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[WHERE] = str(Path(folder, "calls.txt"))
        pytest.main(["-m", "not real_time", "-p", "no:cacheprovider"], plugins=[_Recorder()])
        sys.setprofile(None)
        choose(Path(os.environ[WHERE]), Path(__file__).parent / "data" / "calls.jsonl.gz")
