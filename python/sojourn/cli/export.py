"""`sojourn export`: a simulated run as a capture."""

import json as _json
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError, counted
from sojourn.study import Point, Study, assignments, selection
from sojourn.study.starts import silent, too_late, too_slow
from sojourn.sweep.campaign import Campaign

_CAPTURES = ("", ".pcapng", ".pcap", ".cap")
"""Endings of captures."""


def export(
    study: Path,
    capture: Path,
    /,
    *,
    at: str = "clients",
    tick: Literal["1ms", "1us"] = "1ms",
    truth: Path | None = None,
    set: list[str] | None = None,
    only: list[str] | None = None,
    json: Flag = False,
) -> None:
    """Simulate one point of a study and write what one side or one hop sees: pcapng, or a Flent data file.

    The packets carry real headers: TCP with timestamps, or uTP for flows of that transport. `--truth` keeps
    the time that each of them spent in queues on its way, so that a method that infers it can be checked.

    **Example**

    ```
    sojourn export imc14-quick run.pcapng --truth truth.csv \\
        --only workload=long-few-download --only path.down.queue.limit=64pkt
    sojourn measure run.pcapng --samples samples.csv
    sojourn export imc14-quick run.flent.gz --only workload=long-few-download \\
        --only path.down.queue.limit=64pkt
    flent -i run.flent.gz -p totals --fallback-layout \\
        --legend-placement "lower right" -o run.png
    ```

    Parameters
    ----------
    study
        Study file (TOML), or the name of one that ships.
    capture
        The pcapng file to write; one that ends in .flent.gz or .flent is a data file of Flent, with
        throughput by flow and the round trip over time, the warm-up too. Other endings than those, .pcap and
        .cap are refused.
    at
        The side whose hosts are watched, clients or servers; or the name of a hop, to watch the router at its
        end towards the clients.
    tick
        Tick of TCP's timestamps.
    truth
        CSV to write: frame, flow, kind and queue_delay_ms of every packet that arrived there.
    set
        KEY=VALUE: replace any key of the study. Repeatable.
    only
        AXIS=VALUE: the point that is meant; "replication" is an axis too. Repeatable.
    json
        Print the numbers of packets as JSON.
    """
    from sojourn.capture import flent
    from sojourn.capture.export import export as write
    from sojourn.capture.output import output

    if truth is not None and truth.absolute() == capture.absolute():
        raise SojournError(f"--truth is {str(truth)!r}, the capture itself; expected another file")
    if capture.suffix.lower() not in _CAPTURES and not flent.is_flent(capture):
        raise SojournError(
            f"{str(capture)!r} has an ending that is not known; expected .pcapng, .pcap, .cap or none for a "
            "capture, .flent.gz or .flent for a data file of Flent"
        )
    point = _point(study, set or [], only or [])
    for told in [*too_late([point.document]), *too_slow([point.document]), *silent([point.document])]:
        warn(f"note: {told}")
    if flent.is_flent(capture):
        if truth is not None:
            raise SojournError(f"--truth does not go with {str(capture)!r}; expected it with a capture")
        _write_flent(point, capture, json)
        return
    # Opened first: what cannot be written is told before the simulation.
    with nullcontext() if truth is None else output(truth) as file:
        found = write(point, capture, at, 1_000_000 if tick == "1ms" else 1000)
        if file is not None:
            found.write_csv(file)
    where = f"the {at}" if at in ("clients", "servers") else f"the hop {at}"
    if json:
        print(_json.dumps({"capture": str(capture), "arrived": found.height, "truth": truth and str(truth)}))
    else:
        print(f"{capture}: {counted(found.height, 'packet')} arrived at {where}")


def _point(study: Path, sets: Iterable[str], only: Iterable[str]) -> Point:
    """Return the one point that is meant: of the first replication, if none is named."""
    wanted = selection(only)
    points = Campaign(Study.load(study, assignments(sets, "--set")), None, only=wanted).points
    replications = {point.replication for point in points}
    if "replication" not in wanted:
        points = [point for point in points if point.replication == min(replications)]
    if len(points) != 1:
        having = {(axis, str(label)) for point in points for axis, label in point.labels.items()}
        axes = [axis for axis, count in sorted(Counter(axis for axis, _ in having).items()) if count > 1]
        raise SojournError(f"{study} has {len(points)} points; name one with --only: {', '.join(axes)}")
    if "replication" not in wanted and len(replications) > 1:
        which = f"replication {min(replications)} of {len(replications)}"
        warn(f"note: this is {which}; --only replication=N chooses another")
    return points[0]


def _write_flent(point: Point, file: Path, json: bool) -> None:
    """Write a run as a data file of Flent, and print what is in it."""
    from sojourn.capture import flent
    from sojourn.capture.output import output

    with output(file) as written:
        made = flent.write(point, written, packed=file.suffix == ".gz")
    test, series = made["metadata"]["NAME"], sorted(made["results"])
    if json:
        print(_json.dumps({"flent": str(file), "test": test, "series": series}))
    else:
        print(f"{file}: {test}, {len(series)} series")
