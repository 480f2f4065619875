"""`sojourn losses` of captures at hosts, which see other packets than the line."""

from __future__ import annotations

import struct
from pathlib import Path

from test_losses_captures import Frame, frames, is_forward, lost_in, refused, write


def joined(found: list[Frame], every: int) -> list[Frame]:
    """Return the frames as a host with TSO captures them: now and then two segments of a flow as one."""
    kept: list[Frame] = []
    last: dict[bytes, int] = {}
    count = 0
    for time, data, length in found:
        flow, seq = data[26:38], int.from_bytes(data[38:42], "big")
        payload = length - 34 - (data[46] >> 4) * 4 if is_forward(data) and data[23] == 6 else 0
        if payload > 500 and flow in last:
            before, begun, long = kept[last.pop(flow)]
            size = long - 34 - (begun[46] >> 4) * 4
            if int.from_bytes(begun[38:42], "big") + size == seq:
                count += 1
                if count % every == 0:
                    whole = struct.pack(">H", long - 14 + payload)
                    kept[kept.index((before, begun, long))] = (
                        before, begun[:16] + whole + begun[18:], long + payload
                    )  # fmt: skip
                    continue
        if payload > 500:
            last[flow] = len(kept)
        kept.append((time, data, length))
    return kept


def test_what_a_host_hands_over_at_once_is_told_where_it_is_some_of_the_traffic(
    tmp_path: Path,
) -> None:
    ingress, egress = frames("ingress"), frames("egress")
    said = refused(tmp_path, joined(ingress, 10), egress)
    assert "do not hold the same packets" in said and said.endswith(
        "(TSO, GRO); expected captures of the line"
    )
    # A sender may cut a few otherwise when it sends them again.
    few = write(tmp_path / "few.pcap", joined(ingress, 1000))
    found, _ = lost_in(tmp_path, few, write(tmp_path / "b.pcap", egress))
    assert abs(found["lost_pkts"] - 1695) < 50
