"""`sojourn run --on testbed` without a network: what is refused and drawn, how results are put together."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results import beds
from sojourn.results.store import Store
from sojourn.study import Point, Study
from sojourn.study.identity import engine
from sojourn.sweep import testbed
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.run import run
from sojourn.sweep.simulation import Done
from sojourn.sweep.testbed import point as on_bed
from sojourn.sweep.testbed import result, tcp
from sojourn.sweep.testbed.kind import Gathered
from sojourn.sweep.testbed.kinds import SOURCES, USERS
from sojourn.sweep.testbed.kinds.bulk import measured
from sojourn.sweep.testbed.plan import plan, variables
from sojourn.sweep.testbed.program import Left

STUDY = """
name = "real"
seed = 3
duration = "8s"
warmup = "2s"
[path]
rtt = "40ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "40pkt" } }
up = { rate = "2Mbit", queue = { kind = "codel" } }
"""
BULK = 'source = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
VOICE = """
[[users]]
kind = "voice"
codec = "g711a"
direction = "both"
call = "1s"
gap = "0s"
score = "emodel"
"""


def study(folder: Path, *parts: str) -> Path:
    file = folder / "real.toml"
    file.write_text("\n".join([STUDY, *parts]))
    return file


def flows(text: str) -> str:
    return f"[[flows]]\n{text}"


def group(source: str, transport: str, direction: str, more: str = "") -> str:
    return flows(f'source = {{ {source} }}\ntransport = "{transport}"\ndirection = "{direction}"\n{more}\n')


def point(folder: Path, *parts: str) -> Point:
    return Study.load(study(folder, *parts)).points[0]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([flows(BULK.replace("cubic", "bic"))], "flows.0.transport: this kernel"),
        ([flows(BULK.replace("cubic", "compound"))], "flows.0.transport: 'compound' has no real counterpart"),
        ([flows(BULK.replace("cubic", "newreno"))], 'older stacks; reno is nearest (transport = "reno")'),
        (
            ['[[users]]\nkind = "web"\ntransport = "newreno"'],
            "users.0.transport: 'newreno' has no real counterpart: Reno that counts acknowledgements is of "
            "older stacks; reno is nearest (--set users.0.transport=reno): simulate that, too, to compare",
        ),
        ([flows(BULK + 'ack-delay = "100ms"')], "flows.0.ack-delay: '100ms' cannot be asked of this kernel"),
        ([flows(BULK + 'hystart = "none"')], "flows.0.hystart: 'none' cannot be asked of this kernel"),
        ([flows(BULK + "limited-transmit = false")], "flows.0.limited-transmit: False cannot be asked"),
        ([flows(BULK + 'mss = "2kB"')], "flows.0.mss: segments of 2kB do not fit"),
        *(
            (
                [group(f'kind = "{kind}", rate = "1Mbit", size = "1501B"', "udp", "up")],
                "flows.0.source.size: datagrams of 1501B do not fit the testbed's packets of 1500 bytes",
            )
            for kind in ("cbr", "poisson")
        ),
        (
            [flows(BULK + 'access = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }')],
            "flows.0.access: the testbed has one path",
        ),
        (
            [flows(BULK), flows(BULK + "timestamps = false")],
            "flows.1: tcp_timestamps is one setting for a whole network, and flows.0 needs 1",
        ),
        ([VOICE, '[[users]]\nkind = "responsiveness"'], "users.1.kind: the testbed has no 'responsiveness'"),
    ],
)
def test_what_has_no_real_counterpart_is_refused_before_anything_runs(
    parts: list[str], sentence: str, sojourn: Command
) -> None:
    file = study(sojourn.cwd, *parts)
    done = sojourn("run", file, "--on", "testbed", code=2)
    assert sentence in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert "cannot be run on the testbed" in done.stderr
    assert not (sojourn.cwd / "results").exists()


def test_a_machine_without_a_tun_device_is_told_so_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = study(tmp_path, flows(BULK))
    monkeypatch.setattr("sojourn.sweep.testbed.TUN", str(tmp_path / "no-tun"))
    with pytest.raises(SojournError, match="no-tun cannot be used: it must be there, readable and writable"):
        run(file, out=tmp_path / "out", on_testbed=True)
    assert not (tmp_path / "out").exists()


def test_how_simulated_hosts_answer_is_not_asked_of_real_ones(sojourn: Command) -> None:
    file = study(sojourn.cwd, flows(BULK))
    for key, does in (("jitter", "answer"), ("reading", "read")):
        done = sojourn("run", file, "--on", "testbed", "--set", f"path.{key}=1ms", code=2)
        assert f"path.{key}: how simulated hosts {does}" in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_delay_of_acknowledgements_counts_only_where_they_are_delayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "available", lambda: ("reno", "cubic"))
    for more, why in (("", "ack-delay: '10ms' cannot be asked"), ("delayed-ack = false", "")):
        entry = point(tmp_path, flows(BULK + f'ack-delay = "10ms"\n{more}')).document["flows"][0]
        assert (tcp.refused(entry) or "").startswith(why) and bool(tcp.refused(entry)) == bool(why)


def test_two_points_at_once_are_refused(sojourn: Command) -> None:
    file = study(sojourn.cwd, flows(BULK))
    assert (
        "--jobs 2 does not go with --on testbed"
        in sojourn("run", file, "--on", "testbed", "--jobs", 2, code=2).stderr
    )
    assert (
        "--no-offload does not go without --on testbed" in sojourn("run", file, "--no-offload", code=2).stderr
    )


def test_a_script_runs_on_the_testbed_with_the_same_rules(tmp_path: Path) -> None:
    file = study(tmp_path, flows(BULK.replace("cubic", "newreno")))
    with pytest.raises(SojournError, match="jobs=2 does not go with on_testbed: two points at once"):
        run(file, on_testbed=True, jobs=2)
    with pytest.raises(SojournError, match="offload=False does not go without on_testbed"):
        run(file, offload=False)
    with pytest.raises(SojournError, match="cannot be run on the testbed"):
        run(file, out=tmp_path / "out", on_testbed=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("beds_held", "attempts", "earlier"), [([1], 1, 0), ([0, 1], 2, 1), ([0, 0], 2, 1)])
def test_a_point_whose_bed_did_not_hold_is_run_once_more(
    beds_held: list[int], attempts: int, earlier: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = point(tmp_path, flows(BULK))
    came = [({**one.names, **real(bool(held))}, {}, 1.0) for held in beds_held]
    monkeypatch.setattr(on_bed, "measure", lambda *_: came.pop(0))
    done = on_bed.run_point(one, str(tmp_path / "out"), False, engine())
    assert isinstance(done, Done) and not came
    found = Store(tmp_path / "out").read_point(one.hash)["engine"]
    assert (found["attempts"], len(found.get("earlier", []))) == (attempts, earlier)
    assert found["verdict"]["held"] == bool(beds_held[-1])


@pytest.mark.parametrize("held", [True, False])
def test_a_bed_that_did_not_hold_is_in_the_exit_code(held: bool, sojourn: Command) -> None:
    file = study(sojourn.cwd, flows(BULK))
    campaign = Campaign(Study.load(file), sojourn.cwd / "results/real-testbed", on_testbed=True)
    campaign.prepare()
    (one,) = campaign.points
    came = {**one.names, **real(held)}
    campaign.store.write_point(one.hash, {**came, "engine": {**came["engine"], "build": engine()}})
    done = sojourn("run", file, "--on", "testbed", code=0 if held else 1)
    assert "1 already there" in done.stdout
    assert ("the bed did not hold in 1 of 1 point," in done.stderr) != held


def test_what_packets_do_not_tell_is_not_kept(tmp_path: Path) -> None:
    bulk = flows(BULK + 'stack = "linux"\n')
    kept = (
        '[record]\nlosses = ["down"]\npackets = true\n'
        'series = true\nseries-step = "20ms"\ntraffic = { links = ["up"] }\n'
    )
    assert not testbed.notes(point(tmp_path, bulk, kept))
    (note,) = testbed.notes(point(tmp_path, bulk, '[record]\nlosses = ["down"]\nflows = true\n'))
    assert note == "the testbed does not keep what only the engine sees (flows)"


def test_results_of_the_testbed_have_a_hash_and_a_folder_of_their_own(sojourn: Command) -> None:
    file = study(sojourn.cwd, flows(BULK))
    simulated, real = (sojourn.json("run", file, "--dry-run", "--on", on) for on in ("simulator", "testbed"))
    assert simulated[0]["hash"] != real[0]["hash"]
    one = Study.load(file).points[0]
    assert testbed.default_folder(Study.load(file)) == Path("results/real-testbed")
    names = [testbed.identity(), {**testbed.identity(), "kernel": "Linux 1.0"}, testbed.identity(False)]
    assert len({one.hash, *(one.on_testbed(name).hash for name in names)}) == 4


def test_hosts_without_offload_are_another_testbed_that_the_command_names(sojourn: Command) -> None:
    file = study(sojourn.cwd, flows(BULK))
    campaigns = [
        Campaign(Study.load(file), sojourn.cwd / str(on), on_testbed=True, offload=on) for on in (True, False)
    ]
    for campaign, tail in zip(campaigns, ("--on testbed", "--on testbed --no-offload"), strict=True):
        campaign.prepare()
        record = campaign.store.read_study()
        assert record is not None and record["command"].endswith(tail)
        assert record["testbed"] == testbed.identity(campaign.offload)
    listed = sojourn.json("run", file, "--dry-run", "--on", "testbed", "--no-offload")
    assert listed[0]["hash"] == campaigns[1].points[0].hash != campaigns[0].points[0].hash


def test_every_group_says_its_settings_by_routes_and_sockets(tmp_path: Path) -> None:
    text = BULK + 'initial-window = 3\necn = true\ndelayed-ack = false\nmin-rto = "300ms"\nmss = "1000B"\n'
    text += 'receive-window = "64kB"\npacing = true\nrtt = "100ms"\nrecovery = "rfc6675"\n'
    entries = plan(point(tmp_path, flows(text)))
    (program,) = entries[0].programs
    assert program.pair(7) == {
        "number": 263,
        "delay_ns": 50_000_000,
        "metrics": {
            "congestion": "cubic",
            "initial_window": 3,
            "ecn": True,
            "quickack": True,
            "min_rto_ms": 300,
        },
    }
    assert [value for *_, value in program.settings.options] == [1012, 64_000, (1 << 32) - 1]
    assert variables(entries)["net.ipv4.tcp_recovery"] == "0"


def test_the_same_seed_gives_the_same_transfers_as_a_simulation(tmp_path: Path) -> None:
    one = point(
        tmp_path,
        group('kind = "sessions", preset = "imc14"', "cubic", "down", "count = 3"),
        group('kind = "bulk", size = "9kB"', "cubic", "down", 'count = 4\nstart = "1s"\nstart-within = "3s"'),
        "[record]\nflows = true\npackets = true\n",
    )
    ran = _core.run(one.text)
    table, origin = ran["flows"], np.array(ran["origins"])
    sessions, bulk = plan(one)
    (program,) = sessions.programs
    loops = json.loads(program.files["loops.json"])
    drawn = sorted((each["at_ns"], each["turns"][1][1]) for loop in loops for each in loop)
    mine = origin[table["flow"]] == 0
    # The last files may not have arrived when the run ends.
    ended = mine & (table["end_ns"] >= 0)
    whole = {
        (int(at), int(size)) for at, size in zip(table["start_ns"][ended], table["bytes"][ended], strict=True)
    }
    began = sorted(map(int, table["start_ns"][mine]))
    # Clocks of hosts are shifted by their distance from the link, the same for all.
    shift = {at - other for (at, _), other in zip(drawn, began, strict=True)}
    assert len(shift) == 1 and len(whole) > 20
    assert {(at + next(iter(shift)), size) for at, size in whole} <= set(drawn)
    starts = sorted(flow["start_ns"] for flow in bulk.programs[0].client["flows"])
    assert {
        at - int(other) for at, other in zip(starts, sorted(table["start_ns"][~mine]), strict=True)
    } == shift


def test_a_closed_loop_waits_for_the_transfer_before(tmp_path: Path) -> None:
    source = 'source = { kind = "sessions", preset = "imc14", closed-loop = true, parallel = 2 }\n'
    (entry,) = plan(point(tmp_path, flows(source + 'transport = "cubic"\ndirection = "up"\n')))
    (program,) = entry.programs
    assert program.server["opens"] and not program.client["opens"]
    for loop in json.loads(program.files["loops.json"]):
        assert "at_ns" in loop[0] and len(loop) > 3
        assert all("after_ns" in each for each in loop[1:])


def test_datagrams_are_those_of_the_simulator_at_its_times(tmp_path: Path) -> None:
    one = point(tmp_path, group('kind = "poisson", rate = "300kbit", size = "500B"', "udp", "up"), VOICE)
    told = json.loads(one.text)
    told["document"]["record"] = {"packets": True}
    log = _core.run(json.dumps(told))["packets"]
    for entry, kind in zip(plan(one), ("datagram", "voice"), strict=True):
        schedule = np.load(BytesIO(entry.programs[0].files["client.npy"]))
        sent = (log["kind"] == _core.packet_kinds().index(kind)) & (log["link"] == 1)
        # The link is 20 ms from the client, whose clock the times of a simulation are shifted by.
        assert len(set(schedule[:, 0] - log["arrive_ns"][sent].astype(np.int64))) == 1, kind
        assert np.array_equal(schedule[:, 1], log["size_bytes"][sent])


def test_connections_by_turns_carry_what_the_model_says(tmp_path: Path) -> None:
    one = point(
        tmp_path,
        group('kind = "packmime", rate = 20, http = "1.1"', "reno", "down"),
        group('kind = "heartbeat"', "reno", "up"),
        "[record]\nflows = true\npackets = true\n",
    )
    ran = _core.run(one.text)
    table, origin = ran["flows"], np.array(ran["origins"])
    web, beat = (json.loads(entry.programs[0].files["loops.json"]) for entry in plan(one))
    answers = sorted(sum(size for opener, size, _ in each["turns"] if not opener) for (each,) in web)
    ended = (origin[table["flow"]] == 0) & (table["end_ns"] >= 0) & (table["link"] == 0)
    assert ended.sum() > 50 and set(map(int, table["bytes"][ended])) <= set(answers)
    assert max(len(each["turns"]) for (each,) in web) > 2, "some connections are persistent"
    ((only,),) = beat
    assert {(opener, size) for opener, size, _ in only["turns"]} == {(1, 64)}
    assert {round(pause / 1e6) for *_, pause in only["turns"][1:]} == {200}


def test_a_time_that_is_drawn_is_one_to_the_nanosecond() -> None:
    stream = _core.Stream(1, 0, "flows-0.0")
    assert stream.time('"1234567ns"') == 1_234_567
    assert any(stream.time('{"kind": "exponential", "mean": "1ms"}') % 1000 for _ in range(9))


def test_counts_are_those_of_the_measured_period() -> None:
    flow = {"began_ns": 0, "ended_ns": None, "looks": [[2, 5, 1, 0.5], [8, 9, 1, 0.5]]}
    found = measured(flow, 2)
    assert (found.retransmits, found.timeouts, found.timeout_wait_s) == (4, 0, 0.0)
    # One that began later has all of its own.
    assert measured({**flow, "looks": [[8, 9, None, 0.0]]}, 2).retransmits == 9


def test_a_summary_has_the_keys_and_the_meaning_of_a_simulation_s(tmp_path: Path) -> None:
    one = point(tmp_path, flows(BULK + "count = 2\n"))
    (entry,) = plan(one)
    ended = {
        "began_ns": 10**9,
        "ended_ns": 5 * 10**9,
        "looks": [[5 * 10**9, 3, 1, 0.25]],
        "rtt_ns": [50_000_000],
        "series": [],
    }
    never = {"began_ns": 4 * 10**9, "ended_ns": None, "looks": [], "rtt_ns": [], "series": []}
    left = [
        Left(
            client={"before": [0, 0], "received": [3_000_000, 1_500_000]},
            server={"flows": [ended, never]},
            folder=tmp_path,
            sent=(100, 40),
            dropped=(10, 0),
        )
    ]
    found = result.summary(one, [(entry.place, left, entry.kind.gather(entry.place, left))])
    simulated = json.loads(_core.run(one.text)["summary"])
    assert found["flows"].keys() == simulated["flows"].keys()
    assert found["flows"] == {
        "completed": 1,
        "mean_concurrent": (3 + 4) / 6,
        "goodput_bps": 6_000_000.0,
        "retransmits": 3,
        "timeouts": 1,
        "timeout_wait_s": 0.25,
    } | {"mean_concurrent": 1.16666667}
    (name, group), (their_name, theirs) = *found["groups"].items(), *simulated["groups"].items()
    assert (name, group.keys()) == (their_name, theirs.keys())
    assert (group["loss"], group["reverse"]["loss"], group["jain"]) == (0.1, 0.0, 0.9)
    assert found["fairness"] == {"down": {"flows": 2, "jain": 0.9}}


def test_the_share_of_a_group_is_that_of_its_own_direction(tmp_path: Path) -> None:
    one = point(tmp_path, flows(BULK) + flows(BULK) + flows(BULK.replace("down", "up")))
    amounts = (3_000_000, 1_000_000, 500_000)
    entries = [
        (entry.place, [], Gathered(delivered=[amount], connections=[]))
        for entry, amount in zip(plan(one), amounts, strict=True)
    ]
    groups = result.summary(one, entries)["groups"].values()
    assert [group["share"] for group in groups] == [0.75, 0.25, 1.0]


def test_a_call_is_scored_from_when_its_packets_really_came(tmp_path: Path) -> None:
    one = point(tmp_path, VOICE + "count = 2\n")
    (entry,) = plan(one)
    rehearsal = entry.place.rehearse()
    up = rehearsal.packets["up"]
    for end, mine in (("client", up), ("server", ~up)):
        sent = rehearsal.packets["at_ns"][mine] + 1000
        arrived = sent + (30_000_000 if end == "client" else 70_000_000)
        arrived[::10] = -1
        np.save(tmp_path / f"sent-{end}.npy", sent)
        np.save(tmp_path / f"arrived-{'server' if end == 'client' else 'client'}.npy", arrived)
    late = {"late_p99_us": 5.0}
    found = entry.kind.gather(entry.place, [Left(late, late, tmp_path)]).tables["voice"]
    assert set(found["user"]) == {0, 1} and found["sent_ns"].min() >= 2 * 10**9
    assert found["sent_ns"].max() <= 7 * 10**9, "a call that ends in the last second may lack packets"
    for direction, delay in ((0, 30_000_000), (1, 70_000_000)):
        delays = found["delay_ns"][found["direction"] == direction]
        assert set(delays) == {-1, delay} and 0.05 < (delays == -1).mean() < 0.15
    simulated = _core.run(one.text)["voice"]
    assert found.keys() == dict(simulated).keys()


def real(held: bool, **more: Any) -> dict[str, Any]:
    verdict = {"held": held, "reasons": [] if held else ["3 packets were lost outside the queues"]}
    engine = {"clock": "wall", "kernel": "Linux 6.1", "verdict": verdict, **more}
    return {"point": {"path.down.rate": "1Mbit"}, "replication": 0, "links": {}, "engine": engine}


def test_a_bed_that_did_not_hold_is_said() -> None:
    assert beds.said([{"engine": {"build": "x"}}]) == [] == beds.said([])
    assert beds.said([real(True), real(True)])[1] == "The bed held in all 2 runs."
    said = " ".join(beds.said([real(True), real(False, notes=["flows.0: late"])]))
    assert "In 1 of 2 runs the bed did not hold" in said
    assert "Not held: 1Mbit, replication 0: 3 packets were lost outside the queues." in said
    assert "Of the programs: flows.0: late." in said


def test_kinds_are_those_of_studies() -> None:
    schema = json.loads(_core.schema())
    text = json.dumps(schema)
    assert all(f'"const": "{kind}"' in text for kind in [*SOURCES, *USERS])
