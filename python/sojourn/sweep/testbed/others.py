"""Who else runs on the testbed of this machine: networks are apart, processors are not."""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_NAME = "sojourn-testbed-"


@contextmanager
def others() -> Iterator[list[int]]:
    """Give the processes that run on the testbed at present, and be one of them as long as the block lasts.

    A name of a socket in no folder goes with its process, however that ends.
    """
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(f"\0{_NAME}{os.getpid()}")
        names = re.findall(rf"@{_NAME}(\d+)$", Path("/proc/net/unix").read_text(), re.MULTILINE)
        yield sorted({int(name) for name in names} - {os.getpid()})


def told(beside: Sequence[int]) -> str:
    """Say which processes run on the testbed, too.

    >>> told([15])
    'process 15 runs'
    >>> told([15, 16, 17])
    'processes 15, 16 and 17 run'
    """
    *first, last = map(str, beside)
    return f"processes {', '.join(first)} and {last} run" if first else f"process {last} runs"
