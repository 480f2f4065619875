"""Callers and players of the testbed, whose packets leave on time: what is sent, and what becomes of it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import USERS, datagrams
from sojourn.sweep.testbed.kinds.voice import _complete
from sojourn.sweep.testbed.program import Left
from test_testbed_kinds import S, place, point


def test_calls_have_the_payload_types_of_rfc_3551_and_dtx_is_refused() -> None:
    for codec, payload in (("g711a", 8), ("g729a", 18), ("g722", 9), ("opus", 96)):
        text = f'[[users]]\nkind = "voice"\ncodec = "{codec}"\ncall = "1s"\nscore = "emodel"\n'
        at = place(text, "users")
        assert USERS["voice"].programs(at)[0].client["payload"] == payload
        assert USERS["voice"].refused(at.entry) is None
    why = USERS["voice"].refused({"opus": {"dtx": True}})
    assert why is not None and why.startswith("opus.dtx: ")


def test_a_packet_s_fate_is_from_its_own_sender_to_the_other_end(tmp_path: Path) -> None:
    for name, times in {
        "sent-client": [10, 20, -1], "arrived-server": [15, -1, 30],
        "sent-server": [100], "arrived-client": [107],
    }.items():  # fmt: skip
        np.save(tmp_path / f"{name}.npy", np.array(times))
    sent, delay = datagrams.fates(np.array([True, False, True, True]), Left({}, {}, tmp_path))
    # One that was never sent is lost, whatever was noted elsewhere.
    assert (sent.tolist(), delay.tolist()) == ([10, 100, 20, 0], [5, 7, -1, -1])
    assert datagrams.users_of(np.array([0, 1, 2, 3, 2])).tolist() == [0, 0, 1, 1, 1]
    assert datagrams.users_of(np.array([1, 2, 3, 4])).tolist() == [0, 0, 1, 1]


def test_calls_count_that_began_after_the_warm_up_and_ended_a_second_before_the_end() -> None:
    table = {
        "user": np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.uint32),
        "call": np.array([0, 0, 1, 1, 0, 1, 1], dtype=np.uint32),
        "sent_ns": np.array([1, 3, 2, 9, 2, 3, 10], dtype=np.uint64) * S,
    }
    kept = _complete(table, 2 * S, 10 * S)
    assert kept.tolist() == [False, False, True, True, True, False, False]


def test_callers_whose_calls_outlast_the_run_leave_no_table() -> None:
    callers = place('[[users]]\nkind = "voice"\ncodec = "g711a"\ncall = "60s"\nscore = "emodel"\n', "users")
    found = USERS["voice"].gather(callers, [Left({"late_p99_us": 5.0}, {"late_p99_us": 3e3}, Path())])
    assert found.tables == {} and found.notes == ["one in a hundred datagrams was sent 3.0 ms late or more"]


def test_players_are_scored_by_what_came_between_the_warm_up_and_a_second_before_the_end(
    tmp_path: Path,
) -> None:
    at = Place(point('[[users]]\nkind = "gaming"\ntick-rate = 10\ncount = 2\n'), "users", 0, first_user=7)
    (program,) = USERS["gaming"].programs(at)
    schedules = {end: np.load(BytesIO(program.files[f"{end}.npy"])) for end in datagrams.ENDS}
    assert [set(schedules[end][:, 1].tolist()) for end in datagrams.ENDS] == [{100}, {300}]
    for end, other, took in (("client", "server", 20_000_000), ("server", "client", 30_000_000)):
        due = schedules[end][:, 0]
        np.save(tmp_path / f"sent-{end}.npy", due + 1000)
        arrived = due + 1000 + took
        arrived[due // S == 5] = -1
        np.save(tmp_path / f"arrived-{other}.npy", arrived)
    punctual = {"late_p99_us": 5.0}
    game = USERS["gaming"].gather(at, [Left(punctual, punctual, tmp_path)]).tables["game"]
    assert game.keys() == {"user", "direction", "message", "sent_ns", "delay_ns"}
    assert game["sent_ns"].min() >= 2 * S and 8.8 * S < game["sent_ns"].max() < 9 * S + 2000
    # Seven seconds of ten ticks, both ways, of two players; in one second nothing came.
    assert len(game["user"]) == 280 and set(game["user"].tolist()) == {7, 8}
    lost = game["sent_ns"] // S == 5
    assert set(game["delay_ns"][lost].tolist()) == {-1}
    assert set(game["delay_ns"][~lost & (game["direction"] == 0)].tolist()) == {20_000_000}
    assert set(game["delay_ns"][~lost & (game["direction"] == 1)].tolist()) == {30_000_000}


def test_ticks_that_cannot_be_told_apart_are_refused() -> None:
    for key in ("down", "up"):
        for size, refusal in ((39, True), (40, False)):
            at = place(f'[[users]]\nkind = "gaming"\n{key} = "{size}B"\n', "users")
            why = USERS["gaming"].refused(at.entry)
            assert (why is not None) == refusal and (why is None or why.startswith(f"{key}: ticks of 39"))
    assert USERS["cloud-gaming"].refused(place('[[users]]\nkind = "cloud-gaming"\n', "users").entry) is None
