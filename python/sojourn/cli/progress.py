"""How far the work is: a bar on a terminal, a line now and then elsewhere; always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_LINE_EVERY_S = 15.0


class Progress:
    """Counts points as they are done.

    Parameters
    ----------
    total
        Number of points.
    done
        Number of those that were done before.
    what
        What is counted, as shown.
    """

    def __init__(self, total: int, done: int = 0, what: str = "points") -> None:
        self.total, self.done, self.what = total, done, what
        self._before = done
        self._bar = None
        self._started = self._spoke = time.monotonic()

    def __enter__(self) -> Progress:
        if sys.stderr.isatty() and self.done < self.total:
            from rich.progress import MofNCompleteColumn

            self._bar = _bar(self.what, MofNCompleteColumn())
            self._task = self._bar.add_task(self.what, total=self.total, completed=self.done)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        """Count one more."""
        self.done += 1
        now = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)
        elif now - self._spoke > _LINE_EVERY_S and self.done < self.total:
            # Here, so that what only shows how far it is does not load results.
            from sojourn.results.duration import roughly

            self._spoke = now
            left = (now - self._started) / (self.done - self._before) * (self.total - self.done)
            self.note(f"{self.done} of {self.total} {self.what} done, about {roughly(left)} left")

    def grow(self, more: int) -> None:
        """Count with more than was known."""
        self.total += more
        if self._bar is not None:
            self._bar.update(self._task, total=self.total)

    def at(self, done: int, total: int) -> None:
        """Say how many are done, of how many as far as is known now."""
        self.grow(total - self.total)
        for _ in range(done - self.done):
            self.advance()

    def note(self, line: str) -> None:
        """Write a line without disturbing the bar."""
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)


@contextmanager
def share(what: str) -> Iterator[Callable[[float | None], None]]:
    """Give a function that is told the share that is done, or None where the whole is not known."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import TimeElapsedColumn

    with _bar(what, TimeElapsedColumn()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done: bar.update(task, total=None if done is None else 1.0, completed=done or 0.0)


def _bar(what: str, column: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), column, TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
