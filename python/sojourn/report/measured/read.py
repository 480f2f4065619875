"""Files of measurements, told apart by what they hold."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.report.measured import flent, iperf3
from sojourn.report.measured.measurement import Measurement

_MOST_BYTES = 100_000_000
_EXPECTED = "expected a data file of Flent (.flent.gz) or JSON of iperf3 (iperf3 -J)"


def read(file: Path) -> Measurement:
    """Read a data file of Flent or JSON of iperf3, plain or gzip.

    Raises
    ------
    SojournError
        One sentence: the file, what was found, what was expected.
    """
    content = _parsed(_text(file), file)
    if flent.is_flent(content):
        return flent.measurement(content, file.name)
    # A run that failed has no intervals but says why.
    if iperf3.is_iperf3(content) or (isinstance(content.get("error"), str) and "start" in content):
        return iperf3.measurement(content, file.name)
    raise SojournError(f"{file} is JSON of something else; {_EXPECTED}")


def _text(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            packed = opened.read(2) == b"\x1f\x8b"
        with gzip.open(file) if packed else file.open("rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise SojournError(f"{file}: there is no such file; {_EXPECTED}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise SojournError(f"{file} is cut off or damaged; {_EXPECTED}") from None
    except OSError as error:
        raise SojournError(f"{file} cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise SojournError(f"{file} holds more than {_MOST_BYTES // 1_000_000} MB; {_EXPECTED}")
    return text


def _parsed(text: bytes, file: Path) -> dict[str, Any]:
    if not text.strip():
        raise SojournError(f"{file} is empty; {_EXPECTED}")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = _stream(text)
    if not isinstance(content, dict):
        raise SojournError(f"{file} is no JSON of a measurement; {_EXPECTED}")
    return iperf3.joined([content]) or content


def _stream(text: bytes) -> dict[str, Any] | None:
    """Return the lines of ``iperf3 --json-stream``, an object each, as one."""
    try:
        objects = [json.loads(line) for line in text.splitlines() if line.strip()]
        return iperf3.joined(objects) if objects else None
    except (ValueError, RecursionError):
        return None
