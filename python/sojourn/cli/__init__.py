"""The `sojourn` command.

Exit codes: 0 done; 1 ran, but something failed; 2 usage or input error; 130 interrupted, and resumable.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, NoReturn, cast, get_args

from sojourn.cli.exit import INTERRUPTED, Exit, Interrupted, warn
from sojourn.errors import SojournError, quoted

if TYPE_CHECKING:
    from cyclopts import App, CycloptsError, Token

VERBS = {
    "run": "simulate the points of studies that are not on disk yet",
    "recommend": "say which queue suits a line and its users, and what it costs to have another",
    "report": "make the page of a study, or of several: figures, tables, what was published",
    "suite": "run every case of an evaluation (RFC 7928) for queues of your choice",
    "compare": "say where two folders of results differ by more than chance",
    "explore": "make one page that answers: stored results, and the engine itself to try out",
    "show": "list the points of a study, or all about one of them",
    "measure": "queueing delay of remote hosts, from captures or an interface",
    "losses": "which packets a real queue lost, from captures on both sides",
    "workload": "take the traffic of captures, to replay it over another queue",
    "wild": "queueing delay of users, from per-connection TCP statistics",
    "export": "simulate one point and write its packets as a capture",
    "emulate": "run a command behind a path's queues, in real time",
    "calibrate": "find the number of sessions that offers a load",
    "schema": "print the JSON Schema of study files",
}
"""The verbs in the order of `sojourn --help`. Each is a function in a module of its own; one that may come to
another exit code than "done" returns it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its code."""
    _open_standard_files()
    # Names of files need not be text.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, _stop)
    sys.exit(call(arguments))


def _open_standard_files() -> None:
    """Put the empty device where a standard file is closed, so that nothing else gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            place = os.open(os.devnull, os.O_RDWR)
            if place != number:
                os.dup2(place, number)
                os.close(place)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def call(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    # These two are answered without the parser, whose import takes ten times as long as the answer.
    if tokens == ["--version"]:
        print(_version())
        return Exit.DONE
    if tokens in ([], ["--help"], ["-h"], ["help"]):
        print(overview())
        return Exit.DONE
    if tokens[:1] in (["measure"], ["losses"], ["workload"]):
        # The parser takes a lone hyphen for an option.
        tokens = ["/dev/stdin" if token == "-" else token for token in tokens]
    if tokens[:1] == ["emulate"] and "--" in tokens:
        # What follows is another program's, whatever it looks like.
        at = tokens.index("--")
        tokens[at:] = [f"--command={shlex.join(tokens[at + 1 :])}"]
    try:
        code = _run(tokens)
        sys.stdout.flush()
        return int(code) if isinstance(code, int) else Exit.DONE
    except SojournError as error:
        warn(str(error))
        return Exit.INPUT
    except KeyboardInterrupt as interrupt:
        warn(str(interrupt) if isinstance(interrupt, Interrupted) else INTERRUPTED)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining about it at exit.
        _discard_output()
        return Exit.FAILED
    except OSError as error:
        warn(f"{error.filename or 'standard output'}: {error.strerror or error}")
        _discard_output()
        return Exit.FAILED
    except ValueError as error:
        from sojourn import _core

        if not isinstance(error, _core.StudyError):
            raise
        warn(str(error))
        return Exit.INPUT


def _run(tokens: Sequence[str]) -> object:
    """Run a verb and return what it returned."""
    if tokens[:1] == ["measure"]:
        # Short captures are measured in less time than the parser takes to load.
        from sojourn.cli.measure import measure
        from sojourn.cli.plain import plain

        if read := plain(measure, tokens[1:]):
            files, options = read
            return measure(*files, **options)
    if tokens[0] not in VERBS and not tokens[0].startswith("-"):
        from difflib import get_close_matches

        near = get_close_matches(tokens[0].lower(), VERBS, n=1)
        meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(VERBS)}"
        raise SojournError(f"there is no command {quoted(tokens[0])}; {meant}")
    from cyclopts import CycloptsError

    try:
        quiet = {"exit_on_error": False, "print_error": False, "result_action": "return_value"}
        return application()(tokens, **quiet, **_console(tokens))
    except CycloptsError as error:
        verb = next((f" {token}" for token in tokens[:1] if token in VERBS), "")
        warn(f"{_sentence(error)} See `sojourn{verb} --help`.")
        return Exit.INPUT


def application() -> App:
    """Return the parser of the command line."""
    from cyclopts import App, Parameter

    every = Parameter(negative=(), show_default=_shown, converter=_unrounded)
    app = App(
        name="sojourn",
        version=_version,
        help_format="markdown",
        suppress_keyboard_interrupt=False,
        default_parameter=every,
    )
    for verb in VERBS:
        app.command(f"sojourn.cli.{verb}:{verb}", name=verb, help_epilogue="")
    return app


def _unrounded(wanted: Any, tokens: Sequence[Token]) -> object:
    """Convert words as the parser does, but round none where a whole number is wanted."""
    from cyclopts import convert

    if wanted is int or int in get_args(wanted):
        for token in tokens:
            if "." in token.value:
                raise ValueError(f'unable to convert "{token.value}" into int')
    return convert(wanted, tokens)


def _shown(default: object) -> str | None:
    """Return a default as help shows it: nothing of what is off unless it is named."""
    return None if default is None or default is False else str(default)


def overview() -> str:
    """Return what `sojourn --help` prints: the question, the verbs, an example."""
    margin = max(map(len, VERBS)) + 4
    verbs = (f"  {verb}".ljust(margin) + does for verb, does in VERBS.items())
    return "\n".join(
        (
            "Usage: sojourn COMMAND",
            "",
            "How big should this buffer be, under which queue discipline, for these users?",
            "",
            *verbs,
            "",
            "`sojourn COMMAND --help` explains one of them; `sojourn --version` prints the version.",
            "",
            "Example: sojourn run quickstart && sojourn report results/quickstart",
        )
    )


def _version() -> str:
    from sojourn import _core

    return _core.version()


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(*_: Any) -> NoReturn:
    """Stop once; what stops the workers is not itself to be stopped halfway."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    raise KeyboardInterrupt


class _Trimmed:
    """Standard output without blanks at the ends of lines, where an example's backslash has to come last."""

    _ENDS = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)

    @property
    def encoding(self) -> str:
        return sys.stdout.encoding

    def write(self, text: str) -> int:
        return sys.stdout.write(self._ENDS.sub(lambda end: end[0].replace(" ", ""), text))

    def flush(self) -> None:
        sys.stdout.flush()

    def isatty(self) -> bool:
        return sys.stdout.isatty()


def _console(tokens: Sequence[str]) -> dict[str, Any]:
    """Return the console that help goes to; it has 100 columns where a terminal's width is not known."""
    # It prints help only, and takes as long to load as a quarter of a million packets to be measured.
    if not {"--help", "-h"} & set(tokens):
        return {}
    from rich.console import Console

    return {"console": Console(file=cast(IO[str], _Trimmed()), width=None if sys.stdout.isatty() else 100)}


def _sentence(error: CycloptsError) -> str:
    from cyclopts import UnusedCliTokensError

    if isinstance(error, UnusedCliTokensError):
        return f"No argument or option takes {', '.join(map(repr, error.unused_tokens or ()))}."
    text = " ".join(str(error).split())
    return text if text.endswith((".", "?", "!")) else text + "."
