"""The `sojourn` command; `python -m sojourn` is the same.

What it does is in `sojourn.cli`, which takes a moment to load. This module takes none: even `signal` would
take half of it, for the names that it gives to numbers.
"""

import _signal
import os


def main() -> None:
    """Run the command and exit with its code."""
    # As long as modules load there is nothing to put away, and nothing to tell who stops the command.
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))
    from sojourn.cli import main

    main()


if __name__ == "__main__":
    main()
