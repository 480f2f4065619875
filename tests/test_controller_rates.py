"""`sojourn.controller`: delivery rates that BBR takes from acknowledgements, to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import sojourn

MS = 1_000_000


def heard(kind: str, **more: Any) -> list[float]:
    acks = [
        {"event": "ack", "at": (100 + 7 * k) * MS, "delivered": 1, "rtt": 7 * MS, **more} for k in range(3)
    ]
    return sojourn.controller(kind, acks, cwnd=10).state["bw"].tolist()


@pytest.mark.parametrize("kind", ["bbr", "bbr3"])
def test_a_rate_is_what_was_delivered_by_the_time_it_took_to_the_bit(kind: str) -> None:
    # 1448 bytes in 7 ms are 1 654 857.14 bit/s; what is not a whole bit is left.
    assert heard(kind) == [1_654_857.0] * 3
    assert heard(kind, delivered="2896B") == [3_309_714.0] * 3
    # A sample that is given counts in whole bytes of the round trip: 1080 in 7 ms.
    assert heard(kind, rate=1_234_567) == [1_234_285.0] * 3


def test_of_trouble_whose_amount_is_not_given_all_of_the_window_was_in_flight() -> None:
    acks = [{"event": "ack", "at": 100 * MS, "delivered": 1, "rtt": 100 * MS}]

    def windows(**more: Any) -> list[float]:
        return sojourn.controller(
            "bbr", [*acks, {"event": "loss", "at": 200 * MS, **more}], cwnd=40
        ).cwnd.tolist()

    # BBR keeps what is in flight when a loss is found.
    assert windows() == windows(in_flight=41) == [41, 41] and windows(in_flight=10) == [41, 10]
