"""ns-3's own tests of its queue disciplines, run through `sojourn.replay`, and the page made from them."""

from pathlib import Path

import pytest

from tools.validation import scenarios

PAGE = Path(__file__).resolve().parent.parent / scenarios.PAGE


@pytest.fixture(scope="module")
def rows():
    return scenarios.rows()


def test_every_demand_holds_or_its_difference_is_explained(rows):
    assert [row for row in rows if not row.ok and not row.note] == []


def test_most_demands_hold(rows):
    assert len(rows) > 60
    assert sum(row.ok for row in rows) >= len(rows) - 1


@pytest.mark.parametrize(
    "suite", ["codel", "fq-codel", "fq-pie", "cake", "red", "ared", "pie", "cobalt", "fifo"]
)
def test_every_suite_is_there(rows, suite):
    assert any(row.suite == suite for row in rows)


def test_the_page_is_up_to_date(rows):
    assert scenarios.page(rows) == PAGE.read_text(encoding="utf-8"), (
        "run python -m tools.validation.scenarios"
    )
