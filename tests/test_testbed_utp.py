"""µTP of the testbed: torrents between two peers of libtorrent, where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sojourn import _core
from sojourn.study import Point, Study
from sojourn.sweep import testbed
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import SOURCES, utp
from sojourn.sweep.testbed.plan import refused
from sojourn.sweep.testbed.program import Left

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs import torrent

STUDY = """
name = "s"
duration = "4s"
warmup = "1s"
[path]
rtt = "20ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "200ms" } }
up = { rate = "8Mbit", queue = { kind = "fifo", limit = "200ms" } }
[[flows]]
source = { kind = "bulk", size = "400kB" }
transport = "utp"
direction = "up"
count = 2
start-within = "1s"
"""


def point() -> Point:
    (found,) = Study(_core.parse(STUDY, "s.toml", [], []), "s.toml", (), Path()).select({})
    return found


def test_each_flow_has_peers_of_its_own_and_the_studys_draws() -> None:
    place = Place(point(), "flows", 0)
    programs = SOURCES["bulk"].programs(place)
    assert [program.key for program in programs] == ["flows.0.0", "flows.0.1"]
    starts = [program.client["start_ns"] for program in programs]
    assert starts == [int(place.stream(k).uniform() * 1e9) for k in range(2)] and starts[0] != starts[1]
    assert all(program.client["sends"] and not program.server["sends"] for program in programs)
    assert {program.server["size"] for program in programs} == {400_000}
    assert programs[0].settings.congestion is None, "no congestion control of TCP"


def test_what_flows_came_to_is_of_the_measured_period() -> None:
    sender: dict[str, Any] = {"began_ns": 5, "resent": 3, "timeouts": 1, "version": "2"}
    receivers = [{"received": 400, "before": 150, "ended_ns": ended, "began_ns": None} for ended in (9, None)]
    found = SOURCES["bulk"].gather(
        Place(point(), "flows", 0), [Left(sender, receiver, Path()) for receiver in receivers]
    )
    assert found.delivered == [250, 250]
    assert [
        (each.began_ns, each.ended_ns, each.retransmits, each.timeouts) for each in found.connections
    ] == [
        (5, 9, 3, 1),
        (5, None, 3, 1),
    ]
    assert found.facts == {"transport": "µTP of libtorrent 2"} and not found.rtt_ns


def test_ledbat_is_that_of_utp_and_says_so() -> None:
    (found,) = Study(
        _core.parse(STUDY.replace('"utp"', '"ledbat"\nledbat-target = "25ms"'), "s.toml", [], []),
        "s.toml",
        (),
        Path(),
    ).select({})
    place = Place(found, "flows", 0)
    assert {program.client["target_ms"] for program in SOURCES["bulk"].programs(place)} == {25}
    assert SOURCES["bulk"].programs(Place(point(), "flows", 0))[0].server["target_ms"] == 100
    sender: dict[str, Any] = {"began_ns": None, "version": "2", "received": 0, "before": 0}
    (_, note) = SOURCES["bulk"].gather(place, [Left(sender, sender, Path())]).notes
    assert note.startswith("libtorrent's LEDBAT is that of µTP")


def test_without_libtorrent_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utp, "find_spec", lambda _: None)
    assert refused(point()) == (
        "flows.0.transport: utp is that of libtorrent on the testbed, which is not installed "
        "(pip install libtorrent)"
    )


def test_nothing_but_utp_between_the_two_is_left_on() -> None:
    host = SimpleNamespace(own="1.2.3.4", port=7, arguments={"target_ms": 25})
    found = torrent._settings(None, host)
    off = {name for name, value in found.items() if value is False}
    assert off == {
        "enable_dht", "enable_lsd", "enable_upnp", "enable_natpmp", "enable_incoming_tcp",
        "enable_outgoing_tcp",
    }  # fmt: skip
    assert (found["listen_interfaces"], found["utp_target_delay"]) == ("1.2.3.4:7", 25)
    assert found["in_enc_policy"] == found["out_enc_policy"] == 2 and found["disable_hash_checks"] is True


def test_a_torrent_has_a_digest_for_each_piece_the_last_one_included() -> None:
    for size, pieces in ((1, 1), (torrent._PIECE, 1), (2 * torrent._PIECE + 1, 3)):
        about = torrent._described(None, size)[b"info"]
        assert (about[b"length"], len(about[b"pieces"])) == (size, 20 * pieces)


def test_more_flows_than_addresses_are_refused() -> None:
    why = utp.refused({"transport": "utp", "count": 70_000})
    assert why == "count: 70000 flows; expected at most 65280, for which the testbed has addresses"
    assert not (utp.refused({"transport": "utp", "count": utp.MOST}) or "").startswith("count")
