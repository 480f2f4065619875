"""Scenarios by their names: CONTROLLER-FLOWS-RATE-RTT-BUFFER[-burst100].

`reno-8f-16m-50ms-b67` is 8 Reno flows through 16 Mb/s and 67 packets; `cubic-1up8down-1m16m-50ms-b64` has
flows both ways, 1 Mb/s up and 16 Mb/s down, with a queue of 64 packets on each side.
"""

import re
from dataclasses import asdict, dataclass

NAME = re.compile(
    r"(?P<controller>[a-z]+)-(?:(?P<flows>\d+)f-(?P<rate>\d+)m|(?P<up>\d+)up(?P<down>\d+)down-(?P<up_rate>\d+)m(?P<down_rate>\d+)m)"
    r"-(?P<rtt>\d+)ms-b(?P<buffer>\d+)(?:-burst(?P<burst>\d+))?"
)

# A full segment, as htb counts it.
FRAME_BYTES = 1514


@dataclass(frozen=True)
class Scenario:
    """What is measured."""

    name: str
    controller: str
    up_flows: int
    down_flows: int
    up_mbps: float
    down_mbps: float | None
    base_rtt_ms: float
    buffer_pkts: int
    burst_bytes: int
    begin_s: int
    end_s: int

    def shortest_queue_ms(self) -> float:
        """Return how long the buffer lasts at the higher rate."""
        return self.buffer_pkts * FRAME_BYTES * 8 / 1e3 / max(self.up_mbps, self.down_mbps or 0)

    def longest_queue_s(self) -> float:
        """Return how long the buffer lasts at the lower rate."""
        return self.buffer_pkts * FRAME_BYTES * 8 / 1e6 / min(self.up_mbps, self.down_mbps or self.up_mbps)

    def columns(self) -> dict[str, object]:
        """Return what the measured table says of a scenario."""
        columns = asdict(self)
        del columns["name"]
        for name in ("up_mbps", "down_mbps", "base_rtt_ms"):
            columns[name] = "" if columns[name] is None else f"{columns[name]:g}"
        return {"congestion_control": columns.pop("controller"), **columns}


def scenario(name: str, window_s: tuple[int, int] | None = None) -> Scenario:
    """Return the scenario of a name; the measured window is as long as its sawteeth need, unless given."""
    found = NAME.fullmatch(name)
    if not found:
        examples = "reno-8f-16m-50ms-b67 or cubic-1up8down-1m16m-50ms-b64"
        raise ValueError(f"{name}: expected a name like {examples}")
    part = found.groupdict()
    two_way = part["up"] is not None
    up_mbps = float(part["up_rate"] if two_way else part["rate"])
    buffer_pkts, burst = int(part["buffer"]), int(part["burst"] or 1600)
    if window_s is None:
        deep = up_mbps <= 1 or (buffer_pkts > 200 and part["controller"] != "bbr")
        window_s = (15, 70) if up_mbps >= 50 else (20, 80)
        window_s = (30, 140) if deep else window_s
        window_s = (30, 120) if two_way or burst < 1600 else window_s
    return Scenario(
        name=name,
        controller=part["controller"],
        up_flows=int(part["up"] if two_way else part["flows"]),
        down_flows=int(part["down"] or 0),
        up_mbps=up_mbps,
        down_mbps=float(part["down_rate"]) if two_way else None,
        base_rtt_ms=float(part["rtt"]),
        buffer_pkts=buffer_pkts,
        burst_bytes=burst,
        begin_s=window_s[0],
        end_s=window_s[1],
    )
