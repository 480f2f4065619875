"""The `sojourn` command.

Exit codes: 0 done; 1 ran, but something failed; 2 usage or input error; 130 interrupted, and resumable.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cyclopts import App, CycloptsError

from sojourn.cli.calibrate import calibrate
from sojourn.cli.exit import Exit, complain
from sojourn.cli.export import export
from sojourn.cli.losses import losses
from sojourn.cli.measure import measure
from sojourn.cli.report import report
from sojourn.cli.run import run
from sojourn.cli.schema import schema
from sojourn.cli.show import show
from sojourn.cli.wild import wild
from sojourn.errors import SojournError


def _version() -> str:
    from sojourn import _core

    return _core.version()


app = App(
    name="sojourn",
    help="How big should this buffer be, under which queue discipline, for these users?",
    help_epilogue="Example: `sojourn run studies/quickstart.toml && sojourn report results/quickstart`",
    version=_version,
    help_format="markdown",
    suppress_keyboard_interrupt=False,
)
for _place, _verb in enumerate((run, report, show, measure, losses, wild, export, calibrate, schema)):
    app.command(_verb, sort_key=_place, help_epilogue="")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _stop)
    # Names of files need not be text.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(call(arguments))


def call(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if tokens[:1] == ["measure"]:
        # The parser takes a lone hyphen for an option.
        tokens = ["/dev/stdin" if token == "-" else token for token in tokens]
    try:
        quiet = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
        code = app(tokens, **quiet, **_plain_when_piped())
        sys.stdout.flush()
        return int(code) if isinstance(code, int) else Exit.DONE
    except CycloptsError as error:
        verb = next((f" {token}" for token in tokens[:1] if token in app), "")
        complain(f"{_sentence(error)} See `sojourn{verb} --help`.")
        return Exit.INPUT
    except SojournError as error:
        complain(str(error))
        return Exit.INPUT
    except KeyboardInterrupt as interrupt:
        complain(str(interrupt) or "interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining about it at exit.
        _discard_output()
        return Exit.FAILED
    except OSError as error:
        complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
        _discard_output()
        return Exit.FAILED
    except ValueError as error:
        from sojourn import _core

        if not isinstance(error, _core.StudyError):
            raise
        complain(str(error))
        return Exit.INPUT


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(*_: Any) -> NoReturn:
    """Stop once; what stops the workers is not itself to be stopped halfway."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    raise KeyboardInterrupt


def _plain_when_piped() -> dict[str, Any]:
    """Return a console without borders to break where the width of a terminal is not known."""
    from rich.console import Console

    return {} if sys.stdout.isatty() else {"console": Console(width=100)}


def _sentence(error: CycloptsError) -> str:
    text = " ".join(str(error).split())
    return text if text.endswith((".", "?", "!")) else text + "."
