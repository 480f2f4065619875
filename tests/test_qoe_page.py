"""Scores of pages of today: of tables made by hand, and of pages that are loaded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Command
from sojourn.qoe.page import MADE_OF, score_page


def table(rows: list[tuple[float, int, float, float]]) -> dict[str, np.ndarray]:
    """Loads by time, fate, first and largest paint in seconds; -1 is none."""
    load, fate, first, largest = (np.array(column) for column in zip(*rows, strict=True))
    ns = lambda s: np.where(s < 0, -1, s * 1e9).astype(np.int64)  # noqa: E731
    n = len(rows)
    return {
        "load_ns": ns(load), "fate": fate, "first_paint_ns": ns(first), "largest_paint_ns": ns(largest),
        "requests": np.full(n, 55), "connections": np.full(n, 17), "bytes": np.full(n, 1_998_000),
        "retransmits": np.zeros(n),
    }  # fmt: skip


def test_bands_are_those_of_the_largest_paint() -> None:
    rows = [(3.0, 1, 1.0, 2.5), (5.0, 1, 2.0, 2.6), (9.0, 1, 3.0, 4.0), (9.0, 1, 3.0, 4.1)]
    found = score_page(table(rows))
    assert (found["good"], found["poor"]) == (0.25, 0.25)
    assert found["largest_paint_s"]["p75"] == 4.0
    assert found["load_s"]["median"] == 7.0
    assert (found["loads"], found["unfinished"], found["abandoned"]) == (4, 0, 0)
    assert (found["connections"], found["requests"], found["bytes"]) == (17, 55, 1_998_000)
    assert found["made_of"] == MADE_OF
    assert "July 2025" in MADE_OF
    assert "bounded" not in found


def test_a_page_that_does_not_come_is_not_a_fast_one() -> None:
    # Given up after a minute without any paint, and a load that the end cut short.
    found = score_page(table([(60.0, 2, -1, -1), (60.0, 2, -1, -1), (1.0, 0, -1, -1)]))
    assert (found["good"], found["poor"], found["abandoned"]) == (0, 1, 1)
    assert found["largest_paint_s"]["median"] == 60
    assert "largest_paint_s.median" in found["bounded"]
    assert found["connections"] is None
    # Cut after a second: nobody knows.
    found = score_page(table([(1.0, 0, 0.5, -1)]))
    assert (found["good"], found["poor"], found["abandoned"]) == (None, None, None)
    assert score_page({name: column[:0] for name, column in table([(1.0, 1, 1, 1)]).items()}) == {}
    with pytest.raises(ValueError, match="the page table lacks fate"):
        score_page({name: column for name, column in table([(1.0, 1, 1, 1)]).items() if name != "fate"})


STUDY = """
name = "pages"
duration = "16s"
warmup = "1s"
[path]
rtt = "40ms"
down = { rate = "50Mbit", queue = { kind = "fifo", limit = "200pkt" } }
up = { rate = "10Mbit", queue = { kind = "fifo", limit = "200pkt" } }
[[users]]
kind = "page"
[sweep]
"users.0.http" = ["1.1", "2", "3"]
"""


def test_a_page_is_loaded_scored_and_judged(sojourn: Command) -> None:
    (sojourn.cwd / "pages.toml").write_text(STUDY)
    rows = sojourn.json("run", "pages.toml", "--jobs", "1", "--out", "out")
    found: dict[str, Any] = {row["point"]["users.0.http"]: row["page"] for row in rows}
    # 2 MB at 50 Mbit/s take 0.33 s, and some round trips of 40 ms.
    assert all(0.4 < page["load_s"]["median"] < 2 for page in found.values())
    assert all(page["good"] == 1 for page in found.values())
    assert found["2"]["connections"] == found["3"]["connections"] == 18 < found["1.1"]["connections"]
    sojourn("report", "out", svg_only=True)
    page = (sojourn.cwd / "out" / "report.html").read_text()
    assert "page of today, largest paint, 75th percentile" in page
    assert "web.dev, Core Web Vitals: good" in page


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('http = "1.0"', "1.1"),
        ('http = "3"\ntransport = "bbr"', "HTTP/3 goes by windows"),
        ('transport = "udp"', "TCP or QUIC"),
        ("hosts = 0", "1 to 200"),
        ("scale = 0.0", "0.01 to 100"),
        ('request = "0B"', "1 to 100000 bytes"),
        ('certificate = "1B"', "100B to 100kB"),
        ('patience = "0s"', "longer than zero"),
    ],
)
def test_bad_keys_are_refused_in_one_sentence(sojourn: Command, key: str, said: str) -> None:
    study = STUDY.split("[sweep]")[0].replace('kind = "page"', f'kind = "page"\n{key}')
    (sojourn.cwd / "bad.toml").write_text(study)
    error = sojourn("run", "bad.toml", code=2).stderr
    assert said in error
    assert "Traceback" not in error
