"""What the advice says of candidates that cannot be told from it, and of lower scores."""

from __future__ import annotations

from typing import Any

import pytest
from sojourn.report.advice import sentences
from test_advice_sentences import advice, sized


def near(score: float = 3.57) -> list[dict[str, Any]]:
    """What was tried, the FIFO with such a score."""
    codel, fifo = advice()["tried"]
    return [codel, fifo | {"worst": score}]


@pytest.mark.parametrize(
    ("changed", "says", "says_not"),
    [
        (
            {"certain": False, "decided_by": "delay", "alike": [near()[1]], "tried": near()},
            ["cannot be told from FIFO of 8 packets", "among these the mean queueing delay decided."],
            ["better than every other"],
        ),
        (
            {"certain": False, "decided_by": "order", "alike": [near()[1]], "tried": near()},
            ["among these simplicity decided, as neither the mean over loads nor"],
            ["better than every other", "best score of them"],
        ),
        (
            {
                "certain": False,
                "decided_by": "order",
                "alike": [sized(f"{n}pkt", "2pkt") for n in range(10, 18)],
            },
            ["FIFO of 15 packets down, 2 up; and 2 more: among these simplicity decided"],
            ["2 up and 2 more"],
        ),
        # Of those that are alike one may have a better score, which the reader wants to know.
        (
            {"certain": False, "decided_by": "order", "alike": [near()[1]], "tried": near(3.68)},
            ["tells them apart. The best score of them is that of a FIFO of 8 packets, 3.68: that it is"],
            [],
        ),
        (
            {"certain": False, "decided_by": "best", "alike": [advice()["fifo_only"]]},
            [
                "not better for certain than FIFO of 8 packets (3.20): the best mean under the worst load "
                "decided."
            ],
            ["better than every other", "cannot be told"],
        ),
        (
            {
                "certain": False,
                "decided_by": "order",
                "alike": [near()[1], {way: {"kind": "pie"} for way in ("down", "up")}],
                "tried": [
                    *near(),
                    near()[0] | {way: {"kind": "pie"} for way in ("down", "up")} | {"worst": 2.9},
                ],
            },
            [
                "It cannot be told from FIFO of 8 packets: among",
                "It is also not better for certain than PIE (2.90).",
            ],
            [],
        ),
        # The sizes of a FIFO that are as good as the one that is named stand beside it.
        (
            {"fifos_alike": [sized("1pkt", "1pkt"), sized("4pkt", "4pkt")]},
            ["a FIFO, one of the best is 8 packets", "these cannot be told from it: 1 packet; 4 packets."],
            ["more."],
        ),
        # What was tried of them has a score, which may be much less where replications are few.
        (
            {
                "fifos_alike": [sized("1pkt", "4pkt")],
                "tried": [*advice()["tried"], advice()["tried"][1] | sized("1pkt", "4pkt") | {"worst": 2.1}],
            },
            [
                "Of other sizes of a FIFO these have lower scores, but are not worse for certain: 1 packet "
                "down, 4 up (2.10)."
            ],
            ["cannot be told"],
        ),
        (
            {
                "fifos_alike": [sized("1pkt", "4pkt"), sized("2pkt", "4pkt")],
                "fifos_decided_by": "delay",
                "tried": [
                    *advice()["tried"],
                    advice()["tried"][1] | sized("1pkt", "4pkt") | {"worst": 2.1},
                    advice()["tried"][1] | sized("2pkt", "4pkt") | {"worst": 3.25},
                ],
            },
            [
                "cannot be told from it: 2 packets down, 4 up (3.25). Among these sizes the mean queueing "
                "delay decided. Others have lower scores, but are not worse for certain: 1 packet down, "
                "4 up (2.10)."
            ],
            [],
        ),
        (
            {"fifos_alike": [sized("1pkt", "1pkt")], "fifos_decided_by": "order"},
            ["1 packet. Neither the mean over loads nor the queueing delay tells these sizes apart."],
            ["simplicity"],
        ),
        (
            {"fifos_alike": [sized("1pkt", "1pkt")], "fifos_decided_by": "delay"},
            ["cannot be told from it: 1 packet. Among these sizes the mean queueing delay decided."],
            [],
        ),
    ],
)
def test_what_is_alike_is_told_with_what_decided(
    changed: dict[str, Any], says: list[str], says_not: list[str]
) -> None:
    said = " ".join(sentences.answer(advice(**changed)))
    assert all(words in said for words in says), said
    assert not any(words in said for words in says_not), said
