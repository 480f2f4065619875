"""How far simulated and real runs may be apart to agree, and what counts as a real run."""

from __future__ import annotations

from typing import Any

import pytest
from sojourn.errors import SojournError
from test_testbed import real

from tools.validation import calls
from tools.validation import testbed as agreement


def test_agreement_is_judged_by_the_bounds_alone() -> None:
    def one(loss: float, drops: int, delay: float) -> dict[str, Any]:
        link = {"loss": loss, "dropped_pkts": drops, "utilisation": 0.9, "queue_delay_ms": {"mean": delay}}
        return {**real(True), "links": {"down": link}}

    def verdicts(*theirs: dict[str, Any]) -> list[bool | None]:
        return [row.keeps for row in agreement.rows([one(0.02, 90, 10.0)], list(theirs))]

    assert verdicts(one(0.026, 90, 11.0)) == [True, True, True]
    assert verdicts(one(0.0261, 90, 11.01)) == [True, False, False]
    assert verdicts(one(0.04, 29, 9.0)) == [True, True, None], "too few drops"
    fell = {"engine": real(False)["engine"]}
    assert verdicts({**one(0.02, 90, 10.0), **fell}) == [None, None, None]
    assert verdicts(one(0.015, 15, 11.5), one(0.038, 15, 10.4)) == [True, True, False], "their mean"
    assert verdicts(one(0.02, 90, 10.0), {**one(0.2, 900, 99.0), **fell}) == [True, True, True], "left out"


@pytest.mark.parametrize(("tool", "option"), [(agreement, "runs"), (calls, "calls")])
def test_no_real_run_at_all_is_refused(tool: Any, option: str) -> None:
    with pytest.raises(SojournError, match=f"--{option} 0: expected 1 or more"):
        tool.main(**{option: 0})


def test_of_an_amount_and_a_share_the_larger_is_allowed() -> None:
    freezes = agreement.Bound("call.receives.freezes_per_min", "freezes/min", amount=3.0, share=0.25)
    assert [freezes.keeps(6.0, real) for real in (9.0, 9.01, 3.0, 2.99)] == [True, False, True, False]
    assert [freezes.keeps(20.0, real) for real in (25.0, 25.01, 15.0, 14.99)] == [True, False, True, False]
