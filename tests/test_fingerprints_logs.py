"""What is measured of many flows with a log that is soon full and little room for flows, to the last byte.

Flows are numbered anew whenever the log is full, and give way to others. Written anew:

    python tests/test_fingerprints_logs.py
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sojourn import _core
from sojourn.capture.samples import COLUMNS, _arrow_schema
from test_fingerprints_captures import Frames, made, whole
from test_fingerprints_whole import DATA, digest

FILE = DATA / "fingerprints_logs.json"
TAKEN = ("directions/both2_at_B", "passive/utp_loss", "passive/tcp_loss", "passive/derived_tick4ms")
MANY = {"log_packets": 1 << 22, "most_flows": 1 << 16}
OPTIONS: dict[str, dict[str, Any]] = {
    "all at once": {},
    "one thread": {"jobs": 1},
    "a small log": {"log_packets": 700},
    "a tiny log": {"log_packets": 16},
    "a small log, one thread": {"log_packets": 700, "jobs": 1},
    "few flows": {"most_flows": 16},
    "few flows and a small log": {"most_flows": 16, "log_packets": 900},
    "reports, a small log": {"estimator": "reported", "log_packets": 700},
    "local, a small log": {"local": ["10.1.3.0/24"], "log_packets": 700},
    "many samples, a small log": {"min_samples": 300, "log_packets": 700},
    "between, a small log": {"from_s": 0.5, "to_s": 2.5, "log_packets": 400},
}


def renamed(frames: Frames, of: int) -> Frames:
    """Return the frames with other addresses at both ends and other ports, by number."""

    def other(b: bytes) -> bytes:
        if b[12:14] != b"\x08\x00" or len(b) < 38:
            return b
        hosts = [b[at : at + 3] + bytes([(b[at + 3] + of * step) & 255]) for at, step in ((26, 1), (30, 3))]
        ports = bytes([b[34], (b[35] + of) & 255, b[36], (b[37] + of) & 255])
        return b[:26] + b"".join(hosts) + ports + b[38:]

    return [(s, part, n, other(b)) for s, part, n, b in frames]


@cache
def capture() -> bytes:
    """Return a capture of many hosts: some captures by other names, each a little after the one before."""
    frames: Frames = []
    for of in range(6):
        for place, name in enumerate(TAKEN):
            _, found = whole(name)
            first = found[0][0] * 10**9 + found[0][1]
            for s, part, n, b in renamed(found[: 500 - 60 * of], of * 5 + place):
                at = 10**18 + of * 700_000_000 + place * 41_000 + s * 10**9 + part - first
                frames.append((*divmod(at, 10**9), n, b))
    frames.sort(key=lambda frame: frame[:2])
    return made(whole(TAKEN[0])[0], frames)


def measured(**options: Any) -> tuple[list[Any], str, bytes, list[tuple[Any, ...]]]:
    """Return the summary and the samples: as text, as Parquet, and as columns."""
    asked = json.dumps({**MANY, "min_samples": 1, "uncertainty": True, "jobs": 2, **options})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c.pcap"
        file.write_bytes(capture())
        text, table, columns = io.BytesIO(), io.BytesIO(), []
        found = _core.measure([str(file)], asked, columns.append, None, None, text.write)
        arrow = json.dumps({**json.loads(asked), "arrow": _arrow_schema(True)})
        assert _core.measure([str(file)], arrow, None, None, None, table.write) == found
    rows = []
    for batch in columns:
        names, protocols = batch["flows"], batch["protocols"]
        numbers = ("frame", "time_ns", "flow", "protocol", "toward", "queue_delay_ns", "uncertainty_ns")
        for frame, at, flow, protocol, toward, delay, error in zip(
            *(batch[name].tolist() for name in numbers), strict=True
        ):
            rows.append((frame, at, *names[flow], protocols[protocol], toward, delay, error))
    return list(found), text.getvalue().decode(), table.getvalue(), rows


def same_rows(text: str, table: bytes, rows: list[tuple[Any, ...]]) -> None:
    """Hold the three shapes of samples against each other."""
    header = ",".join([*COLUMNS, "uncertainty_ms"]) + "\n"
    by_text = pl.read_csv(io.StringIO(header + text))
    by_table = pl.read_parquet(io.BytesIO(table))
    assert by_text.height == by_table.height == len(rows)
    for name in ("frame", "remote", "local", "protocol", "flow", "direction"):
        assert by_table[name].cast(pl.String).to_list() == by_text[name].cast(pl.String).to_list(), name
    for name in ("time_s", "queue_delay_ms", "uncertainty_ms"):
        assert by_table[name].to_list() == pytest.approx(by_text[name].to_list(), abs=2e-6), name
    assert by_text.select("frame", "remote", "local", "flow", "protocol").rows() == [
        (frame, remote, local, flow, protocol) for frame, _, remote, local, flow, protocol, *_ in rows
    ]
    assert [("from-remote", "to-remote")[row[-3]] for row in rows] == by_text["direction"].to_list()
    for k, name in ((-2, "queue_delay_ms"), (-1, "uncertainty_ms")):
        assert by_text[name].to_list() == pytest.approx([row[k] / 1e6 for row in rows], abs=1e-6), name


def of(**options: Any) -> str:
    found, text, table, rows = measured(**options)
    same_rows(text, table, rows)
    return digest(found, text, table.hex())


def followed(most: int, **options: Any) -> str:
    """Digest what a follower tells that is asked after each so many frames."""
    follower = _core.Follower(1, json.dumps({**MANY, "min_samples": 1, "jobs": 1, **options}))
    plain, at, frames = capture(), 24, []
    while at < len(plain):
        s, part, here, length = (int.from_bytes(plain[at + k : at + k + 4], "little") for k in (0, 4, 8, 12))
        frames.append((s * 10**9 + part, length, plain[at + 16 : at + 16 + here]))
        at += 16 + here
    told = []
    for begin in range(0, len(frames), most):
        follower.feed(frames[begin : begin + most])
        told.append(follower.settle())
    return digest(told)


EVERY: dict[str, Callable[[], str]] = {
    **{what: partial(of, **given) for what, given in OPTIONS.items()},
    "followed": partial(followed, 900),
    "followed, a small log": partial(followed, 2000, log_packets=700),
    "followed, few flows": partial(followed, 2000, most_flows=16),
}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_measured_is_the_same_bytes(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert EVERY[name]() == known[name], f"what comes of {name} has changed"


def test_every_measurement_that_is_kept_is_made() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))) == set(EVERY)


def test_threads_and_the_room_for_many_change_nothing() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert known["all at once"] == known["one thread"]
    assert known["a small log"] == known["a small log, one thread"]
    assert len(set(known.values())) == len(known) - 2, "each option says something"


@pytest.mark.parametrize(
    ("prefix", "why"),
    [
        ("10.0.0.0/33", "no address or prefix"),
        ("fd00::/129", "no address or prefix"),
        ("10.0.0", "no address or prefix"),
        ("10.0.0.0/x", "no address or prefix"),
    ],
)
def test_prefixes_have_as_many_bits_as_their_addresses(prefix: str, why: str) -> None:
    with pytest.raises(_core.CaptureError, match=why):
        _core.measure(["none"], json.dumps({"local": [prefix]}))
    for fine in ("10.0.0.0/32", "10.0.0.0/0", "fd00::/128", "fd00::1"):
        with pytest.raises(_core.CaptureError, match="none"):
            _core.measure(["none"], json.dumps({"local": [fine]}))


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: made() for name, made in EVERY.items()}, indent=1) + "\n")
