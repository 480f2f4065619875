"""`sojourn losses` of captures in the wrong order, and of those that only look so."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn.losses.captures import MisfitError, compare
from test_losses_captures import Frame, frames, is_forward, refused, same_hops, write


@pytest.fixture(scope="module")
def both() -> tuple[list[Frame], list[Frame]]:
    return frames("ingress"), frames("egress")


def test_swapped_captures_are_told(tmp_path: Path, both: tuple[list[Frame], list[Frame]]) -> None:
    ingress, egress = both
    said = refused(tmp_path, egress, ingress)
    # A share: of long captures a sample is looked at, whose numbers are not those of the captures.
    assert "seem swapped" in said and "but 7.2 % of those of the other direction are; " in said
    assert "of 23" not in said and said.endswith("first, or add --as-given if you did")
    # Of one direction the hop limit tells, and at a bridge that the second has all of the first and more.
    one_way = [[frame for frame in found if is_forward(frame[1])] for found in both]
    assert "every packet goes from the second to the first" in refused(tmp_path, one_way[1], one_way[0])
    bridged = [same_hops(found) for found in one_way]
    assert "and 7.2 % of those of the second are not in the first" in refused(
        tmp_path, bridged[1], bridged[0]
    )
    assert "seem swapped" in refused(tmp_path, same_hops(egress), same_hops(ingress))


def test_who_is_certain_of_the_order_is_told_that_nothing_was_lost_in_it(
    tmp_path: Path, both: tuple[list[Frame], list[Frame]]
) -> None:
    ingress, egress = both
    a, b = write(tmp_path / "a.pcap", egress), write(tmp_path / "b.pcap", ingress)
    back = sum(data[12:14] == b"\x08\x00" and data[30:34] == bytes([10, 1, 1, 2]) for _, data, _ in egress)
    with (tmp_path / "log").open("wb") as log:
        found = compare(a, b, log, as_given=True)
    assert (found["ingress_pkts"], found["lost_pkts"], found["loss"]) == (back, 0, 0.0)
    # That they have nothing in common is no doubt about their order.
    with pytest.raises(MisfitError, match="no packet goes from"), (tmp_path / "log").open("wb") as log:
        compare(a, write(tmp_path / "c.pcap", ingress[:3]), log, as_given=True)
