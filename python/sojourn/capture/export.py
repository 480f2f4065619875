"""A simulated run as a capture, with the true queueing delay of every packet in it."""

from pathlib import Path

import polars as pl

from sojourn import _core
from sojourn.capture.output import output
from sojourn.errors import SojournError
from sojourn.results.packet_log import table
from sojourn.study import Point


def export(point: Point, capture: str | Path, at: str = "clients", tick_ns: int = 1_000_000) -> pl.DataFrame:
    """Simulate a point and write what one side or one hop sees as pcapng, with real TCP or uTP headers.

    Parameters
    ----------
    point
        One point of a study, one replication.
    capture
        The file.
    at
        ``clients`` or ``servers``: what arrives there has crossed the path towards it; or the name of a
        hop, whose end towards the clients is watched: packets up as they leave its queue, packets down as
        they come through it.
    tick_ns
        Tick of TCP's timestamps in ns: 1 000 000 as in Linux, or 1000 as with its microsecond option.

    Returns
    -------
    pl.DataFrame
        A row for each packet that arrived at that side, or came through that hop: ``frame`` (its number
        in the capture, from 1),
        ``flow``, ``kind``, ``queue_delay_ms`` (time in all queues that it crossed on its way there, its
        sender's access link among them, each from arrival to the start of transmission).

    Raises
    ------
    SojournError
        There is no such hop, or the point has users whose clips the capture would need.
    StoreError
        The file cannot be written.
    """
    refuse_video(point)
    links = tuple(_core.links(point.text))
    with output(Path(capture)) as file:
        try:
            ran = _core.export(point.text, at, file.name, tick_ns)
        except _core.StudyError as error:
            raise SojournError(f"--at {at}: {error}") from None
    arrived = pl.DataFrame(
        {"frame": ran["frame"], "link": ran["link"], "packet": ran["packet"]},
        schema={"frame": pl.UInt32, "link": pl.UInt8, "packet": pl.UInt32},
    )
    log = table(ran["packets"], links).with_columns(pl.col("link").to_physical().cast(pl.UInt8))
    wait_ns = pl.col("depart_ns") - pl.col("arrive_ns").cast(pl.Int64)
    if "journey" in log.columns:
        wait_ns = wait_ns.cum_sum().over("journey", order_by="arrive_ns")
    log = log.with_columns(queue_delay_ms=wait_ns / 1e6)
    return arrived.join(log, on=["link", "packet"], how="left", maintain_order="left").select(
        "frame", "flow", "kind", "queue_delay_ms"
    )


def refuse_video(point: Point) -> None:
    """Refuse a point with video users: a run of them needs their clips, which an export is not given."""
    if any(user["kind"] == "video" for user in point.document.get("users", [])):
        raise SojournError("a run with video users cannot be exported; leave them out with --set users=[]")
