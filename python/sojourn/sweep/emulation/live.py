"""What the queues do, while a command runs behind them: in the terminal, and as metrics."""

from __future__ import annotations

import os
import select
import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Mapping
from io import IncrementalNewlineDecoder
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sojourn.results import causes
from sojourn.study.units import bit_rate

_BARS = "▁▂▃▄▅▆▇█"
_LOOKS = 32
_FEWEST = 4
"""Fewer past looks than these are no picture."""
_TOGETHER = 1 << 16
"""Bytes that are shown at once: the view is drawn anew each time, and the command waits for it."""

_LOOK_EVERY_S = 0.02


def sparkline(values: Mapping[int, float] | list[float], most: float = 0.0) -> str:
    """Return values as bars; the highest is `most`, or the greatest of them."""
    numbers = list(values.values() if isinstance(values, Mapping) else values)
    top = max([most, *numbers])
    return "".join(
        _BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] if top else _BARS[0] for value in numbers
    )


def _short(rate_bps: float) -> str:
    """Write a rate below the head bit/s: ``9.6k``, ``16M``; a terminal is narrow."""
    number, unit = bit_rate(rate_bps, 3).split()
    return number + unit.removesuffix("bit/s")


class View:
    """Shows looks at the queues below what the command writes, which goes through pipes here."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._past: dict[str, tuple[deque[float], deque[float]]] = {}
        self._pipes: list[int] = []
        self._readers: list[_Reader] = []

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._pipes:
            os.close(fd)
        for reader in self._readers:
            reader.finish()
        self._live.stop()

    def pipe(self) -> int:
        """Return a descriptor whose text is shown above the view."""
        read, write = os.pipe()
        self._pipes.append(write)
        self._readers.append(_Reader(read, self._print))
        self._readers[-1].start()
        return write

    def _print(self, text: str) -> None:
        """Show text as it is: its lines are the terminal's to fold, and the command waits meanwhile."""
        self.console.print(Text(text), no_wrap=True, overflow="ignore", crop=False)

    def __call__(self, look: Mapping[str, Any]) -> None:
        """Show a look."""
        self._live.update(self.table(look), refresh=True)

    def table(self, look: Mapping[str, Any]) -> Table:
        """Return a look, and the ones before it, as a table with a row for each queue.

        Past looks have the room that the numbers leave, and none in a narrow terminal.
        """
        heads = ("queue", "bit/s", "packets", "ms", "longest", "new drops")
        rows, pictures = [], []
        for name, link in look["links"].items():
            past = self._past.setdefault(name, (deque(maxlen=_LOOKS), deque(maxlen=_LOOKS)))
            past[0].append(link["rate_bps"])
            past[1].append(link["backlog_pkts"])
            drops = causes.told(link["drops"])
            mean = link["sojourn_ms"]
            waits = ["–"] * 2 if mean is None else [f"{mean:.1f}", f"{link['longest_ms']:.1f}"]
            numbers = [_short(link["rate_bps"]), str(link["backlog_pkts"])]
            rows.append([name, *numbers, *waits, drops or "none"])
            pictures.append((sparkline(list(past[0]), link["set_bps"] or 0), sparkline(list(past[1]))))
        wide = sum(max(map(len, column)) for column in zip(heads, *rows, strict=True))
        gap = 2 if wide + 2 * len(heads) <= self.console.width else 1
        room = (self.console.width - wide - gap * (len(heads) + 1)) // 2
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, title_justify="left")
        table.title = f"{look['time_s']:.0f} s"
        for head in heads:
            words = head in ("queue", "new drops")
            table.add_column(head, justify="left" if words else "right", no_wrap=head != "new drops")
            if head in ("bit/s", "packets") and room >= _FEWEST:
                table.add_column(no_wrap=True)
        for row, (rates, backlogs) in zip(rows, pictures, strict=True):
            if room >= _FEWEST:
                row = [*row[:2], rates[-room:], row[2], backlogs[-room:], *row[3:]]
            table.add_row(*row)
        return table


class _Reader(threading.Thread):
    """Hands on the text of a pipe, in lines where it has them."""

    def __init__(self, pipe: int, show: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._pipe, self._show = pipe, show
        self._idle = False

    def run(self) -> None:
        """Hand on text until nobody holds the other end."""
        text = IncrementalNewlineDecoder(getincrementaldecoder("utf-8")("replace"), translate=True)
        begun = ""
        while more := self._more():
            lines, ends, begun = (begun + text.decode(more)).rpartition("\n")
            if ends or len(begun) > _TOGETHER:
                self._show(lines if ends else begun)
                begun = begun if ends else ""
        if begun := begun + text.decode(b"", final=True):
            self._show(begun)

    def _more(self) -> bytes:
        # Bytes stay in the pipe until this is not idle: if it is empty, and then this is idle, all is shown.
        self._idle = True
        select.select([self._pipe], [], [])
        self._idle = False
        return os.read(self._pipe, _TOGETHER)

    def finish(self) -> None:
        """Wait until all that was written is shown; who still holds the other end is not waited for."""
        while self.is_alive() and (select.select([self._pipe], [], [], 0)[0] or not self._idle):
            self.join(timeout=_LOOK_EVERY_S)
        if not self.is_alive():
            os.close(self._pipe)


def metrics(look: Mapping[str, Any]) -> str:
    """Return a look as Prometheus' text format; times in seconds, as is the custom."""
    kinds = {
        "arrived_packets_total": ("counter", "Packets that arrived at a queue.", "arrived_pkts"),
        "departed_packets_total": ("counter", "Packets that left a queue.", "departed_pkts"),
        "departed_bytes_total": ("counter", "Bytes that left a queue.", "departed_bytes"),
        "marked_packets_total": ("counter", "Packets marked Congestion Experienced.", "marked_pkts"),
        "backlog_packets": ("gauge", "Packets that wait.", "backlog_pkts"),
    }
    links = look["links"].items()
    lines: list[str] = []
    for name, (kind, text, key) in kinds.items():
        lines += [f"# HELP sojourn_emulate_{name} {text}", f"# TYPE sojourn_emulate_{name} {kind}"]
        lines += [f'sojourn_emulate_{name}{{link="{link}"}} {view[key]}' for link, view in links]
    name = "sojourn_emulate_dropped_packets_total"
    lines += [f"# HELP {name} Packets dropped by a queue.", f"# TYPE {name} counter"]
    for link, view in links:
        drops = {"full": 0, **view["drops_by_cause"]}
        lines += [f'{name}{{link="{link}",cause="{cause}"}} {count}' for cause, count in drops.items()]
    name = "sojourn_emulate_sojourn_seconds"
    lines += [f"# HELP {name} Time in the queue of packets that left.", f"# TYPE {name} summary"]
    for link, view in links:
        for quantile, value in zip(("0.5", "0.95", "0.99"), view["sojourn_quantiles_s"], strict=True):
            lines.append(f'{name}{{link="{link}",quantile="{quantile}"}} {value:.9g}')
        lines.append(f'{name}_sum{{link="{link}"}} {view["sojourn_sum_s"]:.9g}')
        lines.append(f'{name}_count{{link="{link}"}} {view["departed_pkts"]}')
    name = "sojourn_emulate_lateness_seconds"
    lines += [f"# HELP {name} How late packets were handed over.", f"# TYPE {name} summary"]
    for way, late in look["lateness_us"].items():
        if late is not None:
            for quantile, key in (("0.5", "p50"), ("0.99", "p99"), ("0.999", "p999"), ("1", "max")):
                lines.append(f'{name}{{way="{way}",quantile="{quantile}"}} {late[key] / 1e6:.9g}')
            lines.append(f'{name}_count{{way="{way}"}} {late["packets"]}')
    return "\n".join(lines) + "\n"
