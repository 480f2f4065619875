"""A process that has loaded the slow libraries, and becomes each command that a test asks for by a fork.

Numpy, Polars and matplotlib take most of a short command's time. None of sojourn's own modules is loaded
here, so that what a command does not import itself is missing as it would be for a user.

A request is a line of JSON: `argv`, `cwd`, `env`, the files that take standard output and error, and
`svg_only` (figures of one format: for commands that draw). It is answered by two lines: the process, and when
it has ended its exit code (below 0: the signal that ended it).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import sys
from typing import Any


def load() -> None:
    """Load what commands import: libraries only, and only such as can be forked once they are loaded."""
    import cyclopts  # noqa: F401
    import jinja2  # noqa: F401
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401
    import numpy  # noqa: F401
    import polars  # noqa: F401
    import pywt  # noqa: F401
    import rich.live
    import rich.progress
    import rich.table  # noqa: F401
    import scipy.special  # noqa: F401

    gc.freeze()


def become(request: dict[str, Any]) -> None:
    """Turn this process into the command."""
    os.environ.clear()
    os.environ.update(request["env"])
    if "SOJOURN_CALLS" in os.environ and os.getpid() % 6 == 0:
        import calls_recorder

        calls_recorder.start()
    os.chdir(request["cwd"])
    for number, name in enumerate([os.devnull, request["out"], request["err"]]):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["sojourn", *request["argv"]]
    # As `python -m` and the start of Python have it.
    own = request["env"].get("PYTHONPATH", "")
    sys.path[:1] = [request["cwd"], *filter(None, own.split(os.pathsep))]
    if own:
        # Debian's Python starts with one of its own.
        sys.modules.pop("sitecustomize", None)
        with contextlib.suppress(ImportError):
            importlib.import_module("sitecustomize")
    if request["svg_only"]:
        importlib.import_module("sojourn.report.figures.style")._METADATA.clear()
    runpy.run_module("sojourn", run_name="__main__", alter_sys=True)


def serve() -> dict[str, Any] | None:
    """Answer requests; return one in the process that is to become its command, and None at the end."""
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            return request
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


if __name__ == "__main__":
    load()
    asked = serve()
    if asked:
        become(asked)
