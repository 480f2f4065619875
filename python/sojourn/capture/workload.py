"""The traffic of captures as a workload that studies replay.

One row a connection, or a flow of datagrams, in order of their starts:

==================  ==================================================================================
``number``          its number, unique in the file
``after``           the connection of which something had come to the opener last when it opened this one,
                    if its opener is seen to wait for such, else null
``after_bytes``     so much of it had come; ``after_ns``: so long before
``opener``          address of the end that opened it (*a*), or sent first; ``opener_port``
``acceptor``        the other end (*b*); ``acceptor_port``
``tcp``             TCP; otherwise UDP
``quic``            QUIC over UDP: a connection with turns as one of TCP, by what its datagrams show
``as_sent``         datagrams that waited in front of the captures have the times at which they were sent, as
                    timestamps of RTP tell, or packets of TCP that share their queue; else those at which
                    they came
``a_missing_pkts``  datagrams of RTP from the opener that did not come to the captures, as their numbers tell;
                    they are among the turns; ``b_missing_pkts``
``client_opens``    the opener is one of the clients
``start_ns``        first packet, from the first of the captures
``duration_ns``     from its first packet to its last
``a_bytes``         payload from the opener; ``b_bytes`` from the other end
``a_data_pkts``     its segments with payload that were seen, also of a frame that has several, or QUIC's
                    datagrams with data; ``b_data_pkts``
``a_again_pkts``    of them those that begin below what had passed (sent again, or overtaken);
                    ``b_again_pkts``
``a_vain_pkts``     of those the ones that are known to have been sent in vain: towards the captures all
                    of them had passed before, away from them the other end says so (DSACK);
                    ``b_vain_pkts``
``concurrent``      both ends sent without having heard all of the other
``began_before``    no SYN was seen
``cut``             neither FINs nor an RST were seen
``a_goes_on``       the captures end in the last turn of the opener: it had more to send; ``b_goes_on``
``a_closes_first``  the opener closed first, and the other end when it had heard of that; ``b_closes_first``
``a_seen``          packets of the opener were seen; ``b_seen``
``rtt_ns``          round-trip time without queues (an upper bound), null if nothing was answered
``a_part_ns``       its part between the place of the capture and the opener; ``b_part_ns``
``a_mss``           segment size that the opener offered, or the longest datagram of QUIC that came to it;
                    ``b_mss``
``a_initial_window``  initial window of the opener in segments, as most of its connections show it, null if
                    none does; ``b_initial_window``
``a_bbr``           losses do not have the opener send less, as it shows itself or most connections of its
                    host do: it is taken for BBR's; ``b_bbr``
``a_window``        largest receive window of the opener, bytes; ``b_window``
``a_ecn``           most of what the opener sends may be marked (ECN); ``b_ecn``
``length_ns``       how long the captures are, the same in every row
``turns``           list of ``accepted`` (the turn of *b*), ``bytes``, ``wait_ns``; if concurrent ``heard``,
                    bytes of the other end that it had before it waited (0: it waited for its own last turn);
                    ``writes``, how many pieces too short for TCP to have cut them it is made of;
                    ``streamed``: it was written ``wait_ns`` after that end began its turn before, whatever
                    had been acknowledged
==================  ==================================================================================
"""

import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from sojourn import _core
from sojourn.errors import SojournError, counted
from sojourn.study.units import percent

_UNKNOWN = (
    "rtt_ns",
    *(f"after{what}" for what in ("", "_bytes", "_ns")),
    *(f"{end}_{what}" for end in "ab" for what in ("part_ns", "mss", "initial_window", "window")),
)
_MOST_BYTES = 2**32 - 1
_OPEN_LOOP = 0.1
"""Datagrams with a larger share of the bytes decide what a replay meets."""
_LEAST_SHARE = 0.01
"""Smaller ones are no per cent."""
_LONGEST_NS = 2**60
"""Longest time that a workload's reader takes."""


class Stood(NamedTuple):
    """What stood in the queue of a link, packet behind packet."""

    pairs: int = 0
    """Pairs of packets between which the link did not pause."""
    time_ns: int = 0
    """The time between them."""
    bytes: int = 0
    """What left meanwhile; away from the captures, what was lost is among it."""
    longest_ns: int = 0
    """The longest wait that two packets in a row had."""


@dataclass(frozen=True)
class Workload:
    """What was taken from captures."""

    connections: pl.DataFrame
    """A row for each, see :mod:`sojourn.capture.workload`."""
    length_ns: int
    notes: list[str]
    """What the user should know about it, in sentences."""
    sides_by_ttl: bool
    """Hop limits or times of answers tell the clients' side from the servers'."""
    near_are_clients: bool
    """The captures were taken beside the clients."""
    busy: dict[str, np.ndarray]
    """Bytes of packets ``down`` to the clients and ``up``, in each ``bin`` of 100 ms that is not empty; of
    those away from the captures, payload that was ``acknowledged`` then, and ``datagrams``.

    They are the simulator's: whatever the capture's link layer adds, and with the headers of IPv4."""
    stood: Mapping[str, Stood] = field(default_factory=dict)
    """What stood in the queues ``down`` and ``up``."""


def read(captures: Sequence[str | os.PathLike[str]], clients: Sequence[str] = ()) -> Workload:
    """Take the workload from captures, read as one stream.

    Parameters
    ----------
    captures
        pcap or pcapng, plain, gzip or zstd.
    clients
        Addresses or prefixes of the clients; without them hop limits, and who opens connections, decide.

    Raises
    ------
    SojournError
        One sentence: a capture cannot be read, or holds no connection.
    """
    networks = []
    for text in clients:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise SojournError(f"--clients is {text!r}; expected an address or a prefix") from None
    try:
        prefixes = [(network.network_address, network.prefixlen) for network in networks]
        found = _core.workload(list(captures), prefixes)
    except _core.CaptureError as error:
        raise SojournError(str(error)) from None
    table = _table(found)
    names = ", ".join(os.fsdecode(capture) for capture in captures)
    if not table.height:
        raise SojournError(f"{names}: no connection of TCP or UDP in {found['frames']} frames")
    if found["length_ns"] > _LONGEST_NS:
        years = found["length_ns"] / (365.25 * 86400 * 1e9)
        raise SojournError(
            f"{names}: the first frame is {years:.0f} years before the last, so a clock was set; expected "
            f"captures of {_LONGEST_NS / (365.25 * 86400 * 1e9):.0f} years at most"
        )
    hosts = map(ipaddress.ip_address, pl.concat([table["opener"], table["acceptor"]]).unique())
    if networks and not any(host in network for host in hosts for network in networks):
        raise SojournError(f"--clients {', '.join(clients)}: no host of the captures is one of these")
    known = {key: found[key] for key in ("length_ns", "sides_by_ttl", "near_are_clients", "busy")}
    known["stood"] = {link: Stood(*found[f"stood_{link}"]) for link in ("down", "up")}
    return Workload(connections=table, notes=_notes(found, table), **known)


def _table(found: dict) -> pl.DataFrame:
    columns = dict(found["connections"])
    counts = columns.pop("turns").astype(np.int64)
    turns = pl.DataFrame(found["turns"]).with_columns(pl.col("bytes").clip(0, _MOST_BYTES).cast(pl.UInt32))
    owner = np.repeat(np.arange(len(counts)), counts)
    first = ("accepted", "bytes", "wait_ns")
    turn = pl.struct(*first, pl.exclude(first)).alias("turns")
    lists = (
        turns.select(pl.lit(pl.Series(owner)).alias("row"), turn).group_by("row", maintain_order=True).all()
    )
    table = pl.DataFrame(columns).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return (
        table.join(lists, on="row", how="left", maintain_order="left")
        .with_columns(
            *(pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in _UNKNOWN),
            pl.lit(found["length_ns"], pl.UInt64).alias("length_ns"),
            pl.col("turns").fill_null([]),
        )
        .select(pl.exclude("row", "turns"), pl.col("turns"))
    )


def _notes(found: dict, table: pl.DataFrame) -> list[str]:
    said = list(found["damage"])
    tcp, quic = (table.filter(kind) for kind in ("tcp", "quic"))
    reacts = pl.concat([tcp, quic])
    if count := reacts["began_before"].sum():
        its = "its" if count == 1 else "their"
        said.append(
            f"{counted(count, 'connection')} began before the capture; {its} bytes are those seen in it"
        )
    if count := reacts["cut"].sum():
        goes, last = ("goes", "its last turn") if count == 1 else ("go", "their last turns")
        said.append(f"{counted(count, 'connection')} {goes} on after the capture; {last} may be longer")
    if count := tcp.filter(~(pl.col("a_seen") & pl.col("b_seen"))).height:
        seen = f"{counted(count, 'connection')} {'was' if count == 1 else 'were'} seen"
        said.append(f"{seen} in one direction only; of the other counts what was acknowledged")
    one_way = quic.filter(~(pl.col("a_seen") & pl.col("b_seen")))
    if count := one_way.height:
        seen = f"{counted(count, 'connection')} of QUIC {'was' if count == 1 else 'were'} seen"
        said.append(f"{seen} in one direction only; what the other end sent is missing, and so in a replay")
    if count := reacts["rtt_ns"].null_count():
        has, it = ("has", "it") if count == 1 else ("have", "them")
        said.append(
            f"{counted(count, 'connection')} {has} no round-trip time; a replay gives {it} the path's"
        )
    waiting = table.filter(pl.col("after").is_not_null())
    if count := waiting.height:
        its = (
            "was opened after another, and waits for it"
            if count == 1
            else "were opened after others, and wait for them"
        )
        hosts = counted(waiting["opener"].n_unique(), "host")
        said.append(f"{counted(count, 'connection')} of {hosts} {its} in a replay")
    size = pl.col("a_bytes") + pl.col("b_bytes")
    if note := _by_bbr(tcp):
        said.append(note)
    if count := quic.height:
        hides = "hides" if count == 1 else "hide"
        said.append(
            f"{counted(count, 'connection')} of QUIC {hides} what was sent again and what was waited for: a "
            "replay tells of them by the lengths and times of their datagrams"
        )
    every, paced = (
        of.select(size.sum()).item() for of in (table, table.filter(~pl.col("tcp") & ~pl.col("quic")))
    )
    if paced > _OPEN_LOOP * every:
        said.append(
            f"{percent(paced / every, 0)} of the bytes are datagrams: a replay sends them at their recorded "
            "times, however long they wait and however many are lost, where uTP, and QUIC of which too "
            "little was captured to know it, would slow down"
        )
        behind = _as_they_came(table, found["near_are_clients"]) if found["sides_by_ttl"] else 0
        if behind > _OPEN_LOOP * every:
            said.append(
                f"{percent(behind / every, 0)} of the bytes are datagrams from hosts away from the captures, "
                "and no packets beside them tell what they waited on their way here: a replay sends them as "
                "they came"
            )
    if missing := table["a_missing_pkts"].sum() + table["b_missing_pkts"].sum():
        its, it = ("its number tells", "it") if missing == 1 else ("their numbers tell", "them")
        did_not = f"{counted(missing, 'datagram')} of RTP did not come to the captures"
        said.append(f"{did_not}, as {its}: a replay sends {it}, too")
    if not found["sides_by_ttl"]:
        said.append("hop limits do not tell the two sides apart: who opens connections is taken for a client")
    if count := found["beyond_bound"]:
        left = f"{counted(count, 'packet')} {'is' if count == 1 else 'are'} left out"
        said.append(f"{left}: too many connections, turns or datagrams for the memory")
    if table["b_bytes"].max() is not None and any(found["turns"]["bytes"] > _MOST_BYTES):
        said.append("turns of more than 4 GB are cut to that")
    return said


def _by_bbr(tcp: pl.DataFrame) -> str:
    """Return a sentence on the connections of BBR, if there are any: the end that sends more is meant."""
    larger = pl.col("a_bytes") > pl.col("b_bytes")
    by_bbr = tcp.filter(pl.when(larger).then("a_bbr").otherwise("b_bbr"))
    if not by_bbr.height:
        return ""
    sent = pl.max_horizontal("a_bytes", "b_bytes").sum()
    share = by_bbr.select(sent).item() / tcp.select(sent).item()
    part = percent(share, 0) if share >= _LEAST_SHARE else "less than 1 %"
    is_of, does, it = (
        ("is", "a sender that does", "it") if by_bbr.height == 1 else ("are", "senders that do", "them")
    )
    pauses = "pauses" if by_bbr.height == 1 else "pause"
    return (
        f"{counted(by_bbr.height, 'connection')} ({part} of what TCP carried) {is_of} of {does} not send "
        f"less at losses, or {pauses} every ten seconds, as BBR does: a replay by CUBIC or Reno sends {it} "
        "by BBR"
    )


def _as_they_came(table: pl.DataFrame, near_are_clients: bool) -> int:
    """Return bytes of datagrams from hosts away from the captures whose times are not those of sending."""
    far = pl.when(pl.col("client_opens") == near_are_clients).then("b_bytes").otherwise("a_bytes")
    return table.filter(~pl.col("tcp") & ~pl.col("quic") & ~pl.col("as_sent")).select(far.sum()).item()
