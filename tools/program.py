"""A program of the repository's own: a function, whose parameters are the words of its command line."""

import sys
from collections.abc import Callable
from typing import Any

from cyclopts import App, Parameter
from sojourn.errors import SojournError


def program(about: str | None, main: Callable[..., Any]) -> None:
    """Call a function by the command line, and end with the code that it returns.

    Parameters
    ----------
    about
        What `--help` says of the program.
    main
        Positional parameters are words, keyword-only ones options. A :class:`SojournError` is a sentence on
        standard error, and exit code 2.
    """
    app = App(help=about, help_format="plaintext", default_parameter=Parameter(negative=()))
    app.default(main)
    try:
        app()
    except SojournError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
