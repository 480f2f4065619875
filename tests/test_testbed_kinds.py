"""Kinds of the testbed: what this kernel's TCP is asked for, and what programs left becomes of results."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.study import Point, Study
from sojourn.study.inputs import video as clips
from sojourn.sweep.testbed import bed, result, tcp
from sojourn.sweep.testbed.host import Host
from sojourn.sweep.testbed.kind import Connection, Gathered, Place
from sojourn.sweep.testbed.kinds import SOURCES, USERS, bulk, datagrams, turns
from sojourn.sweep.testbed.kinds.browser import unset
from sojourn.sweep.testbed.plan import plan, refused, variables
from sojourn.sweep.testbed.program import Left, Program

STUDY = """
name = "s"
duration = "10s"
warmup = "2s"
[path]
client-delay = "2ms"
server-delay = "8ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "40pkt" } }
up = { rate = "2Mbit", queue = { kind = "fifo", limit = "40pkt" } }
"""
S = 1_000_000_000


def point(text: str, study: str = STUDY) -> Point:
    (found,) = Study(_core.parse(study + text, "s.toml", [], []), "s.toml", (), Path()).select({})
    return found


def flows(
    kind: str = 'kind = "bulk"', transport: str = "cubic", direction: str = "down", more: str = ""
) -> str:
    return f'[[flows]]\nsource = {{ {kind} }}\ntransport = "{transport}"\ndirection = "{direction}"\n{more}\n'


def place(text: str, part: str = "flows") -> Place:
    return Place(point(text), part, 0)


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "available", lambda: ("reno", "cubic", "bbr", "bic"))


@pytest.mark.parametrize(
    ("transport", "more", "key"),
    [
        ("cubic", "", None),
        ("reno", "", None),
        ("bbr", "", None),
        ("cubic", 'ack-delay = "40ms"', None),
        ("cubic", 'ack-delay = "41ms"', "ack-delay"),
        ("cubic", "limited-transmit = false", "limited-transmit"),
        ("cubic", "prr = false", "prr"),
        ("cubic", "prr = true", None),
        ("cubic", "karn-backoff = true", "karn-backoff"),
        ("cubic", "karn-backoff = false", None),
        ("cubic", 'min-rttvar = "50ms"', "min-rttvar"),
        ("cubic", 'initial-rto = "1s"', None),
        ("cubic", 'initial-rto = "3s"', "initial-rto"),
        ("cubic", 'hystart = "linux"', None),
        ("cubic", 'hystart = "none"', "hystart"),
        ("cubic", "reno-friendly = false", "reno-friendly"),
        ("cubic", "reno-friendly = true", None),
        ("cubic", "pacing = false", None),
        ("bbr", "pacing = false", "pacing"),
        # 1448 bytes, 12 of time stamps and 40 of headers are a packet of 1500.
        ("cubic", 'mss = "1448B"', None),
        ("cubic", 'mss = "1449B"', "mss"),
        ("cubic", 'mss = "1460B"\ntimestamps = false', None),
    ],
)
def test_keys_are_refused_that_no_kernel_can_be_told(transport: str, more: str, key: str | None) -> None:
    why = tcp.refused(place(flows(transport=transport, more=more)).entry)
    assert (why or "None").partition(":")[0] == str(key), why


def test_more_flows_than_ports_are_refused() -> None:
    program = Path(bulk.__file__).parents[1].joinpath("programs/bulk.py").read_text()
    assert 65_536 - int(re.search(r"_FIRST_PORT = (\w+)", program)[1]) == bulk.MOST
    entry = place(flows()).entry
    assert SOURCES["bulk"].refused(entry | {"count": bulk.MOST}) is None
    why = SOURCES["bulk"].refused(entry | {"count": bulk.MOST + 1})
    assert why == (
        "count: 55537 flows, and one address has ports for 55536; "
        "expected several groups, which have one each"
    )


def test_transports_are_those_of_the_kernel_and_the_nearest_is_named() -> None:
    for transport, near in (
        ("newreno", "reno"), ("cubic-rfc9438", "cubic"), ("cubic-ns2", "cubic"), ("bbr3", "bbr"),
        ("compound", None), ("ledbat++", None), ("cubic", None),
    ):  # fmt: skip
        entry = {"transport": transport}
        assert tcp.nearest(entry) == near
        assert tcp.is_asked(entry) == (transport == "cubic")
    why = tcp.refused({"transport": "dctcp"})
    assert why is not None and why.endswith("does not have 'dctcp'; it has reno, cubic, bbr, bic")


def test_routes_and_sockets_say_only_what_differs_from_the_kernel() -> None:
    plain = tcp.settings(place(flows()).entry, None)
    assert plain.options == () and not plain.ecn and not plain.quickack and plain.delay_ns is None
    assert plain.variables == {
        "net.ipv4.tcp_rmem": "4096 131072 33554432",
        "net.ipv4.tcp_timestamps": "1",
        "net.ipv4.tcp_sack": "1",
        "net.ipv4.tcp_slow_start_after_idle": plain.variables["net.ipv4.tcp_slow_start_after_idle"],
        "net.ipv4.tcp_recovery": "1",
        "net.ipv4.tcp_early_retrans": "3",
    }
    for size, said in (("1MB", "1000000 33554432"), ("40MB", "40000000 40000000")):
        found = tcp.settings(place(flows(more=f'receive-buffer = "{size}"')).entry, None)
        assert found.variables["net.ipv4.tcp_rmem"] == f"4096 {said}"
    for idle, said in (("true", "1"), ("false", "0")):
        found = tcp.settings(place(flows(more=f"idle-restart = {idle}")).entry, None)
        assert found.variables["net.ipv4.tcp_slow_start_after_idle"] == said
    more = 'sack = false\ntimestamps = false\nrecovery = "rfc6675"\nmin-rto = "1500us"\nmss = "1460B"'
    other = tcp.settings(place(flows(more=more)).entry, 7)
    assert other.options == () and other.min_rto_ms == 1 and other.delay_ns == 7
    assert list(other.variables.values())[:2] == ["0", "0"]
    assert list(other.variables.values())[3:5] == ["0", "0"]
    # DCTCP and Prague have no other feedback than marks.
    told = {**place(flows()).entry, "transport": "dctcp"}
    told.pop("ecn", None)
    assert tcp.settings(told, None).ecn


def test_what_two_entries_need_of_one_network_must_agree() -> None:
    both = flows(more="sack = false") + flows(transport="reno", more="sack = false")
    assert refused(point(both)) is None
    assert variables(plan(point(both)))["net.ipv4.tcp_sack"] == "0"
    assert refused(point(flows(more="sack = false") + flows())) == (
        "flows.1: tcp_sack is one setting for a whole network, and flows.0 needs 0 where this needs 1"
    )
    # Datagrams are nobody's TCP.
    cbr = 'kind = "cbr", rate = "1Mbit", size = "500B"'
    assert refused(point(flows(more="sack = false") + flows(cbr, "udp"))) is None
    hop = '[[path.hop]]\nname = "{}"\ndelay = "{}"\ndown = {{ rate = "1Mbit" }}\nup = {{ rate = "1Mbit" }}\n'
    begin = STUDY.split("down =")[0] + 'queue = { kind = "fifo", limit = "9pkt" }\n'
    hops = begin + hop.format("a", "4ms") + hop.format("b", "1ms")
    for more, why in (
        ('over = ["a", "b"]', None),
        ('over = ["b"]', "flows.0.over: on the testbed every packet crosses all hops"),
        ('rtt = "10ms"', None),
    ):
        assert refused(point(flows(more=more), hops)) == why
    # Half of 30 ms, without the hops' own 5.
    assert Place(point(flows(more='rtt = "30ms"'), hops), "flows", 0).delay_ns == 10_000_000
    assert place(flows()).delay_ns is None


@pytest.mark.parametrize(("direction", "sender"), [("down", "server"), ("up", "client")])
def test_bulk_flows_are_counted_where_they_arrive(direction: str, sender: str) -> None:
    at = place(flows(direction=direction, more='count = 2\nstart = "1s"\nstop = "3s"\nstart-within = "0s"'))
    (program,) = SOURCES["bulk"].programs(at)
    flow = {"start_ns": S, "size": None, "stop_ns": 3 * S}
    assert getattr(program, sender) == {"sends": True, "flows": [flow, flow], "step_ns": None}
    receiver = "client" if sender == "server" else "server"
    assert getattr(program, receiver)["sends"] is False
    sent = [
        {
            "began_ns": 1,
            "ended_ns": 9,
            "looks": [[2 * S, 4, 2, 0.5], [5 * S, 7, 3, 0.75]],
            "rtt_ns": [5, 7],
            "series": [],
        },
        {"began_ns": None, "ended_ns": None, "looks": [], "rtt_ns": [], "series": []},
    ]
    left = {sender: {"flows": sent}, receiver: {"before": [10, 0], "received": [100, 0]}}
    found = SOURCES["bulk"].gather(at, [Left(**left, folder=Path())])
    assert found == Gathered(
        delivered=[90, 0], connections=[Connection(1, 9, 3, 1, 0.25)], rtt_ns=[5, 7], series=[[]]
    )


def test_what_arrived_of_datagrams_is_shared_by_their_sources_and_lateness_is_said() -> None:
    cbr = 'kind = "cbr", rate = "100kbit", size = "500B"'
    for direction, arrived in (("down", "client"), ("up", "server")):
        at = place(flows(cbr, "udp", direction, 'count = 3\nstart-within = "0s"'))
        punctual = {"bytes": 0, "late_p99_us": 1000.0}
        left = {"client": dict(punctual), "server": dict(punctual)}
        left[arrived]["bytes"] = 11
        found = SOURCES["cbr"].gather(at, [Left(**left, folder=Path())])
        assert (found.delivered, found.notes) == ([4, 4, 3], [])
        left["client"]["late_p99_us"] = 2500.0
        assert SOURCES["cbr"].gather(at, [Left(**left, folder=Path())]).notes == [
            "one in a hundred datagrams was sent 2.5 ms late or more"
        ]
        (program,) = SOURCES["cbr"].programs(at)
        sends, hears = ("server", "client") if direction == "down" else ("client", "server")
        schedule = np.load(BytesIO(program.files[f"{sends}.npy"]))
        assert not len(np.load(BytesIO(program.files[f"{hears}.npy"])))
        assert getattr(program, hears) == {"receives": len(schedule), "payload": 96}
        # 100 kbit/s in packets of 500 bytes are one every 40 ms.
        assert set(schedule[:, 1]) == {500}
        assert len(schedule) in range(3 * 249, 3 * 251 + 1)
    big = SimpleNamespace(
        packets={name: np.array([1501 if name == "size" else 1]) for name in ("up", "at_ns", "size")}
    )
    with pytest.raises(SojournError, match=r"flows\.0: datagrams of 1501 bytes do not fit"):
        datagrams.program(at, big)  # type: ignore[arg-type]


def test_connections_by_turns_are_counted_by_their_sources_at_their_receivers() -> None:
    at = place(flows('kind = "sessions", preset = "imc14", parallel = 2', more="count = 2"))
    none = {"retransmits": 0, "timeouts": 0, "timeout_wait_s": 0.0, "began_ns": 1, "rtt_ns": 0}
    client = {
        "delivered": [[0, 5], [1, 6], [2, 7], [9, 1]],
        "connections": [{"number": 3, **none, "ended_ns": None, "retransmits": 1}],
    }
    server = {
        "delivered": [[0, 1]],
        "connections": [
            {"number": 3, **none, "ended_ns": None, "retransmits": 2, "timeouts": 1, "rtt_ns": 40},
            {"number": 4, **none, "ended_ns": 2 * S, "rtt_ns": 50},
            {"number": 5, **none, "ended_ns": 2 * S + 1, "rtt_ns": 60},
            {"number": 6, **none, "ended_ns": 9 * S, "rtt_ns": 0},
        ],
    }
    found = SOURCES["sessions"].gather(at, [Left(client, server, Path())])
    assert found.delivered == [11, 8], "two loops of each source; what is beyond is the last one's"
    assert found.connections == [Connection(1, None, 3, 1, 0.0)], "requests are sent again, too"
    assert found.rtt_ns == [40, 60], "of connections that lived in the measured period"
    group = place(flows('kind = "heartbeat"', more="count = 2"))
    whole = turns.Turns().gather(group, [Left(client, server, Path())])
    assert whole.delivered == [10, 9] and whole.rtt_ns == [40, 60]
    up = place(flows('kind = "heartbeat"', direction="up"))
    assert turns.gathered(up, [Left(client, server, Path())]).delivered == [1]


def test_sessions_ask_by_a_byte_and_are_answered_with_a_length() -> None:
    text = flows('kind = "sessions", sizes = "20kB", interconnection = "100ms", parallel = 2', direction="up")
    (program,) = SOURCES["sessions"].programs(place(text))
    assert (program.client, program.server) == ({"opens": False}, {"opens": True})
    loops = json.loads(program.files["loops.json"])
    assert len(loops) == 2
    for loop in loops:
        times = [each["at_ns"] for each in loop]
        assert all(each["turns"] == [[1, 1, 0], [0, 20_004, 0]] for each in loop)
        assert np.diff(times).tolist() == [S // 10] * (len(times) - 1)
        assert times[0] < S and 10 * S - S // 10 <= times[-1] < 10 * S


def showings(folder: Path, sent: list[tuple[int, ...]], came: list[tuple[int, ...]]) -> None:
    for kind, names, rows in (
        ("sent", ("user", "showing", "clip", "seq", "sent_ns"), sent),
        ("came", ("ssrc", "seq", "at_ns"), came),
    ):  # fmt: skip
        for name, column in zip(names, zip(*rows, strict=True), strict=True):
            (folder / f"{kind}.{name}").write_bytes(np.array(column, dtype=np.int64).tobytes())


def test_showings_count_that_were_whole_and_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "packets", lambda _: [[(np.array([0, 1]), np.array([9, 9]))]])
    at = Place(
        SimpleNamespace(document={"users": [{}], "duration": "10s", "warmup": "2s"}),  # type: ignore[arg-type]
        "users", 0, 5,
    )  # fmt: skip
    sent = [
        (0, 0, 0, 0, 1 * S), (0, 0, 0, 1, 2 * S),  # began in the warm-up
        (0, 1, 0, 1, 4 * S), (0, 1, 0, 0, 2 * S),  # one is lost, long before the end
        (1, 0, 0, 0, 3 * S), (1, 0, 0, 1, 8 * S),  # the last came
        (1, 1, 0, 0, 6 * S), (1, 1, 0, 1, 8 * S),  # the last may yet come
        (1, 2, 0, 0, 4 * S),  # was cut off
    ]  # fmt: skip
    user = 1 << 16
    came = [(0, 0, 2 * S), (0, 1, 3 * S), (1, 0, 2 * S + 5), (user, 0, 3 * S + 6), (user, 1, 8 * S + 7)]
    came += [(user | 1, 0, 6 * S + 8), (user | 2, 0, 5 * S)]
    showings(tmp_path, sent, came)
    table = USERS["video"].gather(at, [Left({}, {}, tmp_path)]).tables["video"]
    assert {name: column.tolist() for name, column in table.items()} == {
        "user": [5, 5, 6, 6],
        "showing": [1, 1, 0, 0],
        "clip": [0] * 4,
        "seq": [0, 1, 0, 1],
        "sent_ns": [2 * S, 4 * S, 3 * S, 8 * S],
        "delay_ns": [5, -1, 6, 7],
    }
    showings(tmp_path, sent[:2], came[:2])
    assert USERS["video"].gather(at, [Left({}, {}, tmp_path)]).notes == [
        "no showing was over when the run was"
    ]


def test_what_a_browser_s_own_sockets_do_not_follow_is_said() -> None:
    assert unset({"receive-window": "16MB"}) == []
    (said,) = unset({"receive-window": "64kB"})
    assert said.endswith("receive-window = 64000 bytes is not set at its end")


def test_what_pairs_of_addresses_carried_is_that_of_their_own_number(tmp_path: Path) -> None:
    (tmp_path / "client.json").write_text('{"left": {"a": 1}, "failed": null}')
    report = {"engine": {"pairs": {"257": {"sent": [3, 4], "dropped": [1, 0]}}}}
    assert bed._left(tmp_path, report, 1) == Left({"a": 1}, {}, tmp_path, (3, 4), (1, 0))
    assert bed._left(tmp_path, report, 0) == Left({"a": 1}, {}, tmp_path)


@pytest.mark.parametrize(("wall_s", "of_time"), [(218.9, False), (219.9, True), (220.1, True)])
def test_who_was_not_ready_in_time_is_named(wall_s: float, of_time: bool, tmp_path: Path) -> None:
    (tmp_path / "flows.0").mkdir()
    report = {"command": {"exit": 143, "wall_s": wall_s}}
    bell_of_none: Any = SimpleNamespace(ready=lambda: None)
    told = (tmp_path, [Program("p", "flows.0")], report, BytesIO(), 220.0)
    for end, says in (
        (None, "the program p of flows.0 was not ready at the client within 220 s"),
        ("client", "the program p of flows.0 was not ready at the server within 220 s"),
        ("server", "the testbed's programs had not ended 220 s after they began"),
    ):
        if end:
            program = {"pair": 256, "folder": str(tmp_path / "flows.0"), "congestion": None, "options": []}
            Host({"duration_ns": 1, "warmup_ns": 0}, {**program, end: {}}, end, bell_of_none).ready()
        with pytest.raises(
            bed.ProgramFailed, match=f"^{says if of_time else 'the testbed was told to end'}$"
        ):
            bed._check(*told)


@pytest.mark.parametrize(
    ("code", "written", "said"),
    [
        (0, {"client": None, "server": None}, None),
        (0, {"client": None}, "the program p of flows.0 did not end at the server"),
        (1, {"client": "no port"}, "the program p of flows.0 failed at the client: no port"),
        *((code, {}, "the testbed was told to end") for code in (129, 130, 143)),
        (1, {"client": None, "server": None}, "the testbed's programs ended with 1: the last"),
    ],
)
def test_why_a_run_failed_is_said(
    code: int, written: dict[str, str | None], said: str | None, tmp_path: Path
) -> None:
    (tmp_path / "flows.0").mkdir()
    for end, failed in written.items():
        (tmp_path / "flows.0" / f"{end}.json").write_text(json.dumps({"left": {}, "failed": failed}))
    told = (
        tmp_path,
        [Program("p", "flows.0")],
        {"command": {"exit": code, "wall_s": 5.0}},
        BytesIO(b"a\nthe last\n"),
        220.0,
    )
    if said is None:
        bed._check(*told)
    else:
        with pytest.raises(bed.ProgramFailed, match=f"^{said}$"):
            bed._check(*told)


def test_connections_are_open_and_end_within_the_measured_period() -> None:
    period = result._Period(2 * S, 10 * S)
    for began, ended, open_s in (
        (0, 1, 0), (1, 3, 1), (3, 5, 2), (9, 12, 1), (4, None, 6), (0, None, 8),
    ):  # fmt: skip
        connection = Connection(began * S, None if ended is None else ended * S)
        assert period.open_ns(connection) == open_s * S
    # One that ended with the warm-up is none of the period; one at its end is.
    ends = [Connection(0, end * S) for end in (2, 3, 10, 11)] + [Connection(0, None)]
    assert period.ended(ends) == {"completed": 2}
    assert result._jain([1, 1, 1, 1]) == 1.0 and result._jain([4, 0, 0, 0]) == 0.25
    assert result._jain([0, 0]) is None and result._jain([]) is None and result._ratio(1, 0) is None
    assert result._ratio(1, 3) == 0.333333333


def test_groups_have_round_trips_loss_and_repairs_of_their_own() -> None:
    one = point(flows() + flows(direction="up", more="count = 2"))
    entries = [entry.place for entry in plan(one)]
    left = [Left({}, {}, Path(), (100, 40), (10, 4)), Left({}, {}, Path(), (50, 80), (0, 8))]
    found = [
        Gathered(delivered=[8_000_000], connections=[Connection(0, 3 * S, 5, 2)], rtt_ns=[10**6, 3 * 10**6]),
        Gathered(delivered=[3_000_000, 1_000_000]),
    ]
    come = result.summary(one, [(at, [of], got) for at, of, got in zip(entries, left, found, strict=True)])
    down, up = come["groups"].values()
    assert (down["goodput_bps"], up["goodput_bps"], up["goodput_per_flow_bps"]) == (8e6, 4e6, 2e6)
    assert (down["loss"], down["reverse"]["loss"]) == (0.1, 0.1)
    assert (up["sent_pkts"], up["loss"], up["reverse"]) == (
        80, 0.1, {"sent_pkts": 50, "dropped_pkts": 0, "loss": 0.0},
    )  # fmt: skip
    assert (down["completed"], down["retransmits"], down["timeouts"]) == (1, 5, 2)
    assert down["rtt_ms"] == {"mean": 2.0, "p50": 2.0, "p95": 2.9} and "rtt_ms" not in up
    assert come["fairness"] == {"down": {"flows": 1, "jain": 1.0}, "up": {"flows": 2, "jain": 0.8}}
    assert come["flows"]["goodput_bps"] == 12e6 and come["flows"]["mean_concurrent"] == 0.125
