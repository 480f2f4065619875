"""Files of measurements, told apart by what they hold."""

import bz2
import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError
from sojourn.report.measured import flent, iperf3
from sojourn.report.measured.measurement import Measurement

_MOST_BYTES = 100_000_000
_SPACE = re.compile(r"\s*")
_EXPECTED = "expected a data file of Flent (.flent.gz) or JSON of iperf3 (iperf3 -J)"


def read(file: Path) -> Measurement:
    """Read a data file of Flent or JSON of iperf3, plain, gzip or bzip2.

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
            begins = opened.read(3)
        unpack = gzip.open if begins[:2] == b"\x1f\x8b" else bz2.open if begins == b"BZh" else open
        with unpack(file, "rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise SojournError(f"{file}: there is no such file; {_EXPECTED}") from None
    except (EOFError, zlib.error):
        raise SojournError(f"{file} is cut off or damaged; {_EXPECTED}") from None
    except OSError as error:
        if error.errno is None:  # what gzip and bz2 say of data that are none of theirs
            raise SojournError(f"{file} is cut off or damaged; {_EXPECTED}") from None
        raise SojournError(f"{file} cannot be read: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise SojournError(f"{file} holds more than {_MOST_BYTES // 1_000_000} MB; {_EXPECTED}")
    return text


def _parsed(text: bytes, file: Path) -> dict[str, Any]:
    if not text.strip():
        raise SojournError(f"{file} is empty; {_EXPECTED}")
    runs = iperf3.runs(_objects(text))
    if len(runs) > 1 and all(isinstance(run, dict) and iperf3.is_iperf3(run) for run in runs):
        raise SojournError(f"{file} holds {len(runs)} runs of iperf3; expected one in each file")
    if len(runs) != 1 or not isinstance(runs[0], dict):
        raise SojournError(f"{file} is no JSON of a measurement; {_EXPECTED}")
    return runs[0]


def _objects(text: bytes) -> list[Any]:
    """Return the objects of a text, one after another or in a list; none if it is something else.

    A server (``iperf3 -s -J``) writes one for each client, ``--json-stream`` one for each interval.
    """
    found: list[Any] = []
    try:
        whole = text.decode(json.detect_encoding(text)).strip()
        parser = json.JSONDecoder(object_pairs_hook=iperf3.named)
        at = 0
        while at < len(whole):
            each, ends = parser.raw_decode(whole, at)
            found += each if isinstance(each, list) else [each]
            at = _SPACE.match(whole, ends).end()
    except (ValueError, RecursionError):
        return []
    return found
