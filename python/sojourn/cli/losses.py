"""`sojourn losses`: who lost what between two captures of one queue."""

import json as _json
import tempfile
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sojourn.cli.exit import Exit, warn
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError
from sojourn.study.units import percent


def losses(
    ingress: Path,
    egress: Path,
    /,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    out: Annotated[Path | None, Parameter()] = None,
    as_given: Flag = False,
    json: Flag = False,
) -> int:
    """Match captures in front of a queue and behind it packet by packet: what was lost, when, of which flow.

    Clocks may differ by any constant, and be set by half a second or more while they run; the shortest wait
    is taken for zero. Addresses must be the same on both sides. What the captures themselves have dropped
    is said, and not counted as lost where acknowledgements prove it. Captures that do not belong together,
    or are swapped, are refused (exit code 1).

    **Example**

    ```
    sojourn losses ingress.pcap egress.pcap --rate 8Mbit --rtt 40ms \\
        --out results/gateway
    ```

    Parameters
    ----------
    ingress
        Capture in front of the queue (pcap or pcapng, plain, gzip or zstd).
    egress
        Capture behind it.
    rate
        Rate of the link, as 8Mbit, for its utilisation.
    rtt
        Base round-trip time, as 40ms, for the time scales below it.
    out
        Directory for the packet log, the analyses and a report.
    as_given
        The captures are in order for certain: do not refuse them where only the other direction loses
        packets.
    json
        Print everything as one JSON object.
    """
    from sojourn.capture.output import printable
    from sojourn.cli.again import again
    from sojourn.losses.captures import MisfitError, compare, faster, sentences, store
    from sojourn.results.store import plain_json
    from sojourn.study.units import nanoseconds
    from sojourn.sweep.calibrate import rate_bps

    if out is not None and printable(out) != str(out):
        raise SojournError(f"--out is {printable(out)!r}; expected a name that is text in UTF-8")
    bps = rate_bps(rate, "--rate") if rate is not None else None
    rtt_ns = nanoseconds(rtt, "--rtt") if rtt is not None else None
    if rtt_ns == 0:
        raise SojournError(f"--rtt {rtt}: a round trip takes time; write one above zero, as 40ms")
    with tempfile.TemporaryDirectory(prefix="sojourn-") as scratch:
        log = Path(scratch) / "packets.parquet"
        try:
            with log.open("wb") as file:
                found = compare(ingress, egress, file, rate_bps=bps, rtt_ns=rtt_ns, as_given=as_given)
        except MisfitError as error:
            warn(str(error))
            return Exit.FAILED
        for sentence in [*sentences(found["capture"]), *faster(found, bps)]:
            warn(f"note: {sentence}")
        if out is not None:
            from sojourn.report import write_report

            command = again("losses", ingress, egress, rate=rate, rtt=rtt, as_given=as_given, out=out)
            page = write_report(store(found, log, out, command, bps))
    if json:
        print(_json.dumps(plain_json(found), ensure_ascii=False, allow_nan=False))
    else:
        print(table(found))
        if out is not None:
            print(page)
    return Exit.DONE


def table(found: dict[str, Any]) -> str:
    """Write the outcome in a few lines."""
    bursts = found["bursts"]
    lines = [
        f"{found['lost_pkts']} of {found['ingress_pkts']} packets lost ({percent(found['loss'], 2)}), "
        f"{found['egress_pkts']} seen behind the queue"
    ]
    for name, share in found["by_protocol"].items():
        lines.append(f"{name:>8}: {share['lost']} of {share['packets']} ({percent(share['loss'], 2)})")
    if bursts["count"]:
        lines.append(
            f"  bursts: {bursts['count']}, mean {bursts['mean_pkts']:.2f} packets, "
            f"longest {bursts['max_pkts']}; "
            f"stitched: {bursts['stitched_count']}, mean {bursts['stitched_mean_pkts']:.2f}, "
            f"longest {bursts['stitched_max_pkts']}"
        )
    hit = sum(flow["lost"] > 0 for flow in found["flows"])
    lines.append(f"   flows: {hit} of {len(found['flows'])} lost packets")
    worst = sorted(found["flows"], key=lambda flow: (-flow["lost"], flow["packets"]))[:5]
    for flow in (flow for flow in worst if flow["lost"]):
        ends = f"{flow['source']}:{flow['source_port']} → {flow['destination']}:{flow['destination_port']}"
        lines.append(f"          {flow['protocol']} {ends}: {flow['lost']} of {flow['packets']}")
    return "\n".join(lines)
