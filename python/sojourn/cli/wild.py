"""`sojourn wild`: queueing delay from a table of TCP connections."""

import json as _json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, validators

from sojourn.cli.exit import warn
from sojourn.cli.flag import Flag
from sojourn.cli.once import once
from sojourn.errors import SojournError, counted
from sojourn.results.sizes import ms_brief
from sojourn.study.units import nanoseconds, percent


def wild(
    tables: Annotated[list[Path], Parameter(consume_multiple=True)],
    /,
    *,
    out: Path | None = None,
    access: Path | None = None,
    column: list[str] | None = None,
    min_samples: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 10,
    near: str = "100ms",
    save: Path | None = None,
    json: Flag = False,
) -> None:
    """Estimate how long users' packets wait in queues, from per-connection TCP statistics.

    A table is Parquet or CSV with the columns `min_rtt_ms`, `max_rtt_ms`, `rtt_samples` and, if there,
    `avg_rtt_ms`, `client`, `host`, `access` (times also as `_s`, `_us`, `_ns`); or snapshots of `ss -tinHO`,
    one after another; or NDT results as JSON. The delay of a connection is its largest minus its smallest
    smoothed round-trip time.

    **Example**

    ```
    while sleep 1; do ss -tinHO; done > snapshots.txt
    sojourn wild snapshots.txt --out wild
    ```

    Parameters
    ----------
    tables
        Files of one kind.
    out
        Directory for the page, its figures and tables; by default `results/wild`.
    access
        CSV of `prefix,access`: the class of a client by its address; otherwise by the column `access`, or by
        the name in `host`.
    column
        OURS=THEIRS: the name that a column has in the table. Repeatable.
    min_samples
        Connections with fewer round-trip samples are left out.
    near
        Hosts with a smallest round-trip time up to this are near.
    save
        Also write the connections, under our names, as Parquet.
    json
        Print the shares as JSON.
    """
    from sojourn.capture.output import output, printable
    from sojourn.capture.tcp_stats import open_table, survey
    from sojourn.capture.tcp_stats.page import shares_table, write_page

    near_ns = nanoseconds(near, "--near")
    if not near_ns:
        raise SojournError(f"--near is {near!r}; expected a time above 0, as 100ms")
    names = dict(_assignment(word) for word in column or [])
    once(tables)
    if save is not None and save.resolve() in {path.resolve() for path in (*tables, *filter(None, [access]))}:
        raise SojournError(f"--save {printable(save)} is read, too; expected another file")
    table = open_table(tables, names)
    present = table.collect_schema().names()
    if access is not None and "client" not in present:
        raise SojournError(f"{tables[0]} has no column client, which classes by prefix need")
    found = survey(table, _classes(access, present), min_samples, near_ns / 1e6)
    if not found.shares()["connections"]:
        if not found.rows:
            raise SojournError(
                f"{printable(tables[0])}: there is no connection in it; expected a row for each"
            )
        reasons = ", ".join(f"{count} with {reason}" for reason, count in found.discarded.items() if count)
        raise SojournError(f"none of {counted(found.rows, 'connection')} can be used: {reasons}")
    for reason, count in found.discarded.items():
        if count:
            warn(f"note: {count} of {counted(found.rows, 'connection')} left out: {reason}")
    if save is not None:
        with output(save) as file:
            table.sink_parquet(file)
    page = write_page(
        found,
        [printable(path) for path in tables],
        shlex.join(["sojourn", *map(printable, sys.argv[1:])]),
        out or Path("results/wild"),
    )
    rows = shares_table(found).to_dicts()
    if json:
        told = {"rows": found.rows, "discarded": found.discarded, "min_samples": min_samples}
        told |= {"near_ms": found.near_ms, "shares": rows, "report": str(page)}
        print(_json.dumps(told))
    else:
        _show(rows)
        print(page)


def _classes(access: Path | None, columns: Sequence[str]) -> Any:
    """Return the class of a connection: by its client's prefix, its column or its host's name, or none."""
    from sojourn.capture.tcp_stats.access import Prefixes, by_column, by_name

    if access is not None:
        return Prefixes(access).expression()
    if "access" in columns:
        return by_column()
    return by_name() if "host" in columns else None


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        if row["hosts"] == "all" and row["connections"]:
            warn(
                f"{row['access']}: {counted(row['connections'], 'connection')}, "
                f"median {ms_brief(row['p50_ms'])} ms, "
                f"{percent(row['above_100ms'])} above 100 ms, {percent(row['above_1000ms'], 2)} above 1 s"
            )


def _assignment(word: str) -> tuple[str, str]:
    ours, equals, theirs = word.partition("=")
    if not (equals and ours and theirs):
        raise SojournError(f"--column {word}: expected OURS=THEIRS, as min_rtt_ms=min_srtt")
    return ours, theirs
