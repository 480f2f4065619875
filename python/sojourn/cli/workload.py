"""`sojourn workload`: the traffic of captures, to be replayed over another queue."""

import json as _json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError

if TYPE_CHECKING:
    from sojourn.capture.workload import Workload


def workload(
    *captures: Path,
    output: Annotated[Path | None, Parameter(name=["--out", "-o", "--output"])] = None,
    clients: list[str] | None = None,
    study: Path | None = None,
    json: Flag = False,
) -> None:
    """Take the connections of captures as a workload: when each starts, its bytes by turn, waits and RTT.

    A study replays it over any queue with `source = { kind = "recorded", file = "FILE" }`: what would this
    traffic do behind another buffer? Sizes are exact, whatever was lost or sent again. Captures are read as
    one stream in the order given; `-` is standard input.

    **Example**

    ```
    sojourn workload office.pcap.gz -o office.parquet --study office.toml
    sojourn run office.toml && sojourn report results/office
    ```

    Parameters
    ----------
    captures
        Captures (pcap or pcapng, plain, gzip or zstd).
    output
        The workload to write (`.parquet`).
    clients
        Addresses or prefixes of the clients, where they are not to be found out. Repeatable.
    study
        Study file to write (`.toml`): the workload over a link as the captures show it.
    json
        Print what was found as JSON.
    """
    from sojourn.capture.output import output as writing
    from sojourn.capture.output import printable
    from sojourn.capture.workload import read
    from sojourn.errors import counted

    if not captures:
        raise SojournError("no capture is named; expected captures to take the workload from")
    if output is None:
        raise SojournError("-o is missing; expected the file to write, such as -o office.parquet")
    if output.suffix != ".parquet":
        raise SojournError(f"-o is {str(output)!r}; expected a file that ends in .parquet")
    if study is not None and study.suffix != ".toml":
        raise SojournError(f"--study is {str(study)!r}; expected a file that ends in .toml")
    if study is not None and (streams := [one for one in captures if _is_stream(one)]):
        raise SojournError(
            f"{printable(streams[0])} is no regular file; with --study captures are read twice"
        )
    found = read(captures, clients or ())
    written = None
    if study is not None:
        from sojourn.capture.workload_study import study_of

        written = study_of(found, captures, output, study)
    with writing(output) as file:
        found.connections.write_parquet(file)
    notes = found.notes
    if written is not None:
        for path, text in written.files.items():
            with writing(path) as file:
                file.write(text.encode())
        notes = [*notes, *written.notes]
    for sentence in notes:
        warn(f"note: {sentence}")
    summary = {"workload": str(output), "study": study and str(study), **_summary(found), "notes": notes}
    if json:
        print(_json.dumps(summary, ensure_ascii=False))
    else:
        print(
            f"{output}: {counted(summary['connections'], 'connection')} of TCP and "
            f"{summary['quic_connections']} of QUIC with {counted(summary['turns'], 'turn')}, "
            f"{counted(summary['udp_flows'], 'flow')} of datagrams, {summary['bytes']} bytes in "
            f"{summary['length_s']:.1f} s"
        )
        if study is not None:
            print(study)


def _summary(found: "Workload") -> dict[str, Any]:
    table = found.connections
    tcp, quic = (table.filter(kind) for kind in ("tcp", "quic"))
    reacts = tcp.vstack(quic)
    return {
        "length_s": found.length_ns / 1e9,
        "connections": tcp.height,
        "concurrent": int(tcp["concurrent"].sum()),
        "quic_connections": quic.height,
        "udp_flows": table.height - tcp.height - quic.height,
        "turns": int(reacts["turns"].list.len().sum()),
        "bytes": int(table["a_bytes"].sum() + table["b_bytes"].sum()),
        "rtt_ms": {
            name: None if (at := reacts["rtt_ns"].quantile(share, "nearest")) is None else at / 1e6
            for name, share in (("p5", 0.05), ("p50", 0.5), ("p95", 0.95))
        },
    }


def _is_stream(capture: Path) -> bool:
    return str(capture) == "/dev/stdin" or capture.is_fifo() or capture.is_char_device()
