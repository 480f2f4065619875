"""Workloads that a study replays: files that `sojourn workload` took from captures.

They are named by sources of the kind ``recorded``; see :mod:`sojourn.study.inputs.named`. The engine reads
the connections as text, a line for each.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.errors import SojournError
from sojourn.study.inputs.censored import completed
from sojourn.study.inputs.named import Files

if TYPE_CHECKING:
    import polars as pl

_WINDOWS = ("a_bytes", "b_bytes", "a_initial_window", "b_initial_window")
"""Workloads of before have no initial windows."""
_GOES_ON = ("a_goes_on", "b_goes_on")
"""Nor do they say who had more to send."""
_CLOSES = ("a_closes_first", "b_closes_first")
"""Nor which end closed first."""
_AFTER = ("number", "after", "after_bytes", "after_ns", "opener")
"""Nor what a connection was opened after."""
_QUIC = ("quic", "a_bytes", "b_bytes", "a_mss", "b_mss")
"""Nor which datagrams are QUIC's."""
_COLUMNS = ("tcp", "client_opens", "concurrent", "start_ns", "rtt_ns", "length_ns", "turns")

_ECN = ("a_ecn", "b_ecn")
"""Nor whose packets may be marked."""
_BBR = ("a_bbr", "b_bbr")
"""Nor whose losses do not have it send less."""
_LEAST_DATAGRAM = 1200
"""Payload that any path of QUIC takes (RFC 9000 §14.1): of those with less, full ones were not seen."""


def text_of(file: Path) -> str:
    """Return a workload as the engine reads it.

    Raises
    ------
    SojournError
        It is no workload.
    """
    import polars as pl  # slow to import, and most studies have no workload

    try:
        return _text(file)
    except (pl.exceptions.PolarsError, OSError):
        raise SojournError(f"{file} is no workload; expected a file that `sojourn workload` wrote") from None


def _text(file: Path) -> str:
    """Return a workload as the engine reads it, if Polars finds all columns as they should be."""
    import polars as pl  # slow to import

    there = pl.read_parquet_schema(file)
    windows = _WINDOWS if set(_WINDOWS) <= set(there) else ()
    goes_on = _GOES_ON if set(_GOES_ON) <= set(there) else ()
    closes = _CLOSES if set(_CLOSES) <= set(there) else ()
    after = _AFTER if set(_AFTER) <= set(there) else ()
    quic = _QUIC if set(_QUIC) <= set(there) else ()
    ecn = _ECN if set(_ECN) <= set(there) else ()
    bbr = _BBR if set(_BBR) <= set(there) else ()
    cut = ("cut",) if goes_on and "cut" in there else ()
    columns = dict.fromkeys((*_COLUMNS, *windows, *goes_on, *cut, *closes, *after, *quic, *ecn, *bbr))
    table = pl.read_parquet(file, columns=list(columns))
    # Of which no row knows anything.
    table = table.with_columns(pl.col(pl.Null).cast(pl.Int64))
    # The end that sends more.
    sends = pl.when(pl.col("a_bytes") > pl.col("b_bytes"))
    window = sends.then(pl.col("a_initial_window")).otherwise(pl.col("b_initial_window"))
    slash = pl.format("/{}", window).fill_null("") if windows else pl.lit("")
    is_bbr = sends.then(pl.col("a_bbr")).otherwise(pl.col("b_bbr")) if bbr else pl.lit(False)
    by_bbr = pl.when(is_bbr).then(pl.lit("&bbr")).otherwise(pl.lit(""))
    of_quic = pl.col("quic") if quic else pl.lit(False)
    datagram = sends.then(pl.col("b_mss")).otherwise(pl.col("a_mss")) if quic else pl.lit(None)
    size = pl.when(of_quic & (datagram >= _LEAST_DATAGRAM)).then(pl.format(":{}", datagram)).fill_null("")
    each = [pl.when(pl.col(end)).then(pl.lit(end[0])).otherwise(pl.lit("")) for end in ecn]
    marks = pl.when(pl.any_horizontal(ecn)).then(pl.concat_str(pl.lit("!"), *each)) if ecn else pl.lit(None)
    marks = marks.fill_null("")
    table = table.filter(pl.col("turns").list.len() > 0)
    table = completed(table) if cut else table
    of_turns = {field.name for field in there["turns"].inner.fields}
    heard, writes = (
        pl.element().struct.field(name) if name in of_turns else pl.lit(0) for name in ("heard", "writes")
    )
    streamed = pl.element().struct.field("streamed") if "streamed" in of_turns else pl.lit(False)
    turn = pl.concat_str(
        pl.when(pl.element().struct.field("accepted")).then(pl.lit("b")).otherwise(pl.lit("a")),
        pl.element().struct.field("bytes").cast(pl.String),
        pl.when(writes > 1).then(pl.format("*{}", writes)).otherwise(pl.lit("")),
        pl.when(streamed).then(pl.lit("~")).otherwise(pl.lit("+")),
        pl.element().struct.field("wait_ns").cast(pl.String),
        pl.when(heard > 0).then(pl.format("<{}", heard)).otherwise(pl.lit("")),
    )
    table = table.sort("start_ns", maintain_order=True)
    lines = table.with_columns(_after(table) if after else pl.lit("").alias("@")).select(
        pl.concat_str(
            pl.when(of_quic)
            .then(pl.lit("q"))
            .when(~pl.col("tcp"))
            .then(pl.lit("u"))
            .when(pl.col("concurrent"))
            .then(pl.lit("c"))
            .otherwise(pl.lit("s")),
            pl.concat_str(
                pl.when(pl.col("client_opens")).then(pl.lit("c")).otherwise(pl.lit("s")),
                *(pl.when(pl.col(end)).then(pl.lit(end[0])).otherwise(pl.lit("")) for end in goes_on),
                *(pl.when(pl.col(end)).then(pl.lit(f"/{end[0]}")).otherwise(pl.lit("")) for end in closes),
            ),
            pl.concat_str(pl.col("start_ns").cast(pl.String), "@"),
            pl.concat_str(pl.col("rtt_ns").cast(pl.String).fill_null("-"), slash, by_bbr, size, marks),
            pl.col("turns").list.eval(turn).list.join(" "),
            separator=" ",
        )
    )
    length = table["length_ns"].max() or 0
    return "\n".join([f"length {length}", *lines.to_series().to_list()])


def _after(table: "pl.DataFrame") -> "pl.Series":
    """Return, of connections in order, what each was opened after, if that is among those above it."""
    import polars as pl  # slow to import

    waited = pl.col("tcp") | pl.col("quic") if "quic" in table.columns else pl.col("tcp")
    lines = table.select(*_AFTER, waited=waited).with_row_index("line")
    # Of files that somebody joined, a number that two connections have names neither.
    others = (
        lines.filter("waited").select(after="number", above="line", who="opener").unique("after", keep="none")
    )
    found = lines.join(others, on="after", how="left", maintain_order="left")
    sends = pl.when(pl.col("who") == pl.col("opener")).then(pl.lit("b")).otherwise(pl.lit("a"))
    told = pl.format("@{}{}{}+{}", "above", sends, "after_bytes", "after_ns")
    return found.select(pl.when(pl.col("above") < pl.col("line")).then(told).fill_null("").alias("@"))["@"]


def length_s(file: Path) -> float:
    """Return how long the captures of a workload are, in seconds.

    Raises
    ------
    SojournError
        It is no workload.
    """
    import polars as pl  # slow to import

    _FILES.digest(file.absolute(), "recorded")
    return (pl.read_parquet(file, columns=["length_ns"])["length_ns"].max() or 0) / 1e9


def _sources(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for flows in document.get("flows") or ():
        source = flows.get("source")
        if isinstance(source, dict) and source.get("kind") == "recorded":
            yield source


_FILES = Files(
    "file",
    "workload",
    1_000_000_000,
    lambda document: (("recorded", source) for source in _sources(document)),
    lambda file, _: text_of(file),
    " is damaged",
)
settle, identity, fill = _FILES.settle, _FILES.identity, _FILES.fill
