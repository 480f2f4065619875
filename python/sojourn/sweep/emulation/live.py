"""What the queues do, while a command runs behind them: in the terminal, and as metrics."""

from __future__ import annotations

import os
import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Mapping
from io import IncrementalNewlineDecoder
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

_BARS = "▁▂▃▄▅▆▇█"
_LOOKS = 32
_TOGETHER = 1 << 16
"""Bytes that are shown at once: the view is drawn anew each time, and the command waits for it."""

_PATIENCE_S = 1.0


def sparkline(values: Mapping[int, float] | list[float], most: float = 0.0) -> str:
    """Return values as bars; the highest is `most`, or the greatest of them."""
    numbers = list(values.values() if isinstance(values, Mapping) else values)
    top = max([most, *numbers])
    return "".join(
        _BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] if top else _BARS[0] for value in numbers
    )


class View:
    """Shows looks at the queues below what the command writes, which goes through pipes here."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._live = Live(console=self.console, auto_refresh=False, transient=True)
        self._past: dict[str, tuple[deque[float], deque[float]]] = {}
        self._pipes: list[int] = []
        self._readers: list[threading.Thread] = []
        self._shown = 0

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._pipes:
            os.close(fd)
        for reader in self._readers:
            # What still holds the pipe and writes nothing is not waited for.
            shown = -1
            while reader.is_alive() and shown != self._shown:
                shown = self._shown
                reader.join(timeout=_PATIENCE_S)
        self._live.stop()

    def pipe(self) -> int:
        """Return a descriptor whose text is shown above the view."""
        read, write = os.pipe()

        def show() -> None:
            text = IncrementalNewlineDecoder(getincrementaldecoder("utf-8")("replace"), translate=True)
            begun = ""
            while more := os.read(read, _TOGETHER):
                self._shown += len(more)
                lines, ends, begun = (begun + text.decode(more)).rpartition("\n")
                if ends or len(begun) > _TOGETHER:
                    self._print(lines if ends else begun)
                    begun = begun if ends else ""
            if begun := begun + text.decode(b"", final=True):
                self._print(begun)
            os.close(read)

        self._pipes.append(write)
        self._readers.append(threading.Thread(target=show, daemon=True))
        self._readers[-1].start()
        return write

    def _print(self, text: str) -> None:
        """Show text as it is: its lines are the terminal's to fold, and the command waits meanwhile."""
        self.console.print(Text(text), no_wrap=True, overflow="ignore", crop=False)

    def __call__(self, look: Mapping[str, Any]) -> None:
        """Show a look."""
        self._live.update(self.table(look), refresh=True)

    def table(self, look: Mapping[str, Any]) -> Table:
        """Return a look, and the ones before it, as a table with a row for each queue."""
        table = Table(box=None, pad_edge=False, title=f"{look['time_s']:.0f} s", title_justify="left")
        for head, justify in (
            ("queue", "left"), ("Mbit/s", "right"), ("", "left"), ("packets", "right"), ("", "left"),
            ("ms", "right"), ("longest", "right"), ("drops since", "left"),
        ):  # fmt: skip
            table.add_column(head, justify="left" if justify == "left" else "right", no_wrap=True)
        for name, link in look["links"].items():
            past = self._past.setdefault(name, (deque(maxlen=_LOOKS), deque(maxlen=_LOOKS)))
            past[0].append(link["rate_bps"])
            past[1].append(link["backlog_pkts"])
            drops = ", ".join(f"{count} {cause}" for cause, count in link["drops"].items())
            mean = link["sojourn_ms"]
            table.add_row(
                name,
                f"{link['rate_bps'] / 1e6:.2f}",
                sparkline(list(past[0]), link["set_bps"] or 0),
                str(link["backlog_pkts"]),
                sparkline(list(past[1])),
                "–" if mean is None else f"{mean:.1f}",
                "–" if mean is None else f"{link['longest_ms']:.1f}",
                drops or "none",
            )
        return table


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
