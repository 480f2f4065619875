"""How soon hosts answer, read off packet logs whose answers are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benches.emulator.answers import after, answers, bursts, clusters, main

RATES = {"down": 8e6, "up": 8e6}
"""A byte takes a microsecond."""
ROWS = [
    # Reaches the client at 1000 + 1000 + 5000 = 7000 us; its acknowledgement leaves 40 us later.
    ("down", "data", 1000, 500, 1000),
    ("up", "ack", 50, 7040, 7100),
    # Reaches the client at 5200 us; two packets of data leave 21 and 30 us later, a burst.
    ("down", "ack", 50, 100, 150),
    ("up", "data", 1000, 5221, 5300),
    ("up", "data", 1000, 5230, 6300),
    # Dropped: it reaches nobody.
    ("down", "data", 1000, 6900, -1),
]


def log() -> pl.DataFrame:
    columns = ("link", "kind", "size_bytes", "arrive_us", "depart_us")
    came = pl.DataFrame(ROWS, schema=columns, orient="row")
    return came.with_columns(
        arrive_ns=pl.col("arrive_us") * 1000,
        depart_ns=pl.when(pl.col("depart_us") < 0).then(-1).otherwise(pl.col("depart_us") * 1000),
    )


def test_an_answer_is_timed_from_when_the_last_packet_reached_the_host() -> None:
    told = answers(log(), RATES, 5_000_000, "client")
    assert told["ack"].tolist() == [40_000.0] and told["data"].tolist() == [21_000.0]


def test_bursts_and_what_has_no_cause() -> None:
    assert after(np.array([1.0, 5.0]), np.array([0.5, 2.0, 9.0])).tolist() == [1.0, 4.0]
    assert bursts(np.array([0.0, 12_000.0, 90_000.0])).tolist() == [0.0, 90_000.0]


def test_clusters_are_runs_of_data() -> None:
    assert clusters(np.array([True, False, True, True, True, False])) == (2.0, 2.5)
    assert clusters(np.array([False, True, True])) == (2.0, 2.0)


@pytest.mark.parametrize("real", [True, False])
def test_the_table_tells_times_of_the_testbed_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], real: bool
) -> None:
    for folder in ("packets", "points"):
        (tmp_path / folder).mkdir()
    back = {"up": "down", "down": "up"}
    both = pl.concat([log(), log().with_columns(pl.col("link").replace_strict(back))])
    both.write_parquet(tmp_path / "packets" / "a.parquet")
    verdict = {"verdict": {"rows": [{"what": "base round trip, p50", "set": 10.0}]}} if real else {}
    links = {link: {"rate_bps": rate} for link, rate in RATES.items()}
    point = {"point": {"workload": "d1u1"}, "links": links, "engine": verdict}
    (tmp_path / "points" / "a.json").write_text(json.dumps(point), encoding="utf-8")
    main(tmp_path, skip=0.0)
    client = capsys.readouterr().out.splitlines()[2]
    assert ("| 40, 40, 40, 40 |" in client) == real
    assert client.startswith(f"| {tmp_path} | d1u1 | client |")
