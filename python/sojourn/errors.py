"""Errors that are one sentence: what was found, what was expected, what to do."""


class SojournError(Exception):
    """Something the user can put right; its text is shown as it is, without a traceback."""


class StoreError(SojournError):
    """A results directory cannot be written, or holds something that it should not."""
