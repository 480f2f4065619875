"""The validation's own formulas, tables, scenarios and page."""

import itertools
import math
import random
import tomllib
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sojourn.study.toml import toml

from tools.validation import documents, kernel, peers, readings, stalls, streaming, theory
from tools.validation.documents import study
from tools.validation.runs import NotStored, Runs, made_by, this_engine
from tools.validation.study import rank_correlation


def md1k_loss_of_the_whole_chain(load, places):
    """The stationary distribution of the embedded chain by linear algebra."""
    arrivals = [math.exp(-load) * load**n / math.factorial(n) for n in range(places)]
    chain = np.zeros((places, places))
    for left in range(places):
        for n, probability in enumerate(arrivals):
            if (to := max(left, 1) - 1 + n) < places - 1:
                chain[left, to] += probability
        chain[left, -1] = 1 - chain[left, :-1].sum()
    balance = np.vstack([(chain.T - np.eye(places))[:-1], np.ones(places)])
    stationary = np.linalg.solve(balance, np.eye(places)[-1])
    return 1 - 1 / (stationary[0] + load)


@pytest.mark.parametrize(("load", "places"), [*itertools.product([0.3, 0.8, 1.0, 1.5], [2, 3, 10, 25])])
def test_loss_of_md1k_is_that_of_its_embedded_chain(load, places):
    assert theory.md1k_loss(load, places) == pytest.approx(
        md1k_loss_of_the_whole_chain(load, places), rel=1e-6, abs=1e-13
    )


def test_one_place_is_erlangs_loss_and_overload_loses_the_excess():
    assert theory.md1k_loss(0.5, 1) == pytest.approx(0.5 / 1.5)
    assert theory.md1k_loss(2.0, 40) == pytest.approx(0.5, rel=1e-9)


def test_mean_waits():
    assert theory.md1_wait(0.5, 1.0) == 0.5
    assert theory.mm1_wait(0.5, 1.0) == 1.0


def lagging_window(probability, acked, packets):
    """The mean window of a sender that hears of each packet a round trip later: one event a packet."""
    draw = random.Random(1)
    window, now, point, sent = 1 / math.sqrt(acked * probability), 0.0, 0, deque()
    for packet in range(packets):
        while sent and sent[0][0] <= now - 1:
            _, heard, lost = sent.popleft()
            if heard < point:
                continue
            if lost:
                window, point = window / 2, packet
            else:
                window += 1 / (acked * window)
        sent.append((now, packet, draw.random() < probability))
        now += 1 / window
    return packets / now


@pytest.mark.parametrize(("probability", "acked"), [(0.02, 2), (0.005, 2), (0.02, 1)])
def test_the_law_with_repairs_is_that_of_a_sender_that_hears_later(probability, acked):
    found = lagging_window(probability, acked, 300_000)
    assert theory.recovering_window(probability, acked) == pytest.approx(found, rel=0.015)


def test_padhyes_model_with_few_losses_is_that_of_equal_distances_between_them():
    for acked in (1, 2):
        expected = math.sqrt(1.5 / (acked * 1e-7))
        assert theory.padhye_window(1e-7, acked, 0.1, 0.2) == pytest.approx(expected, rel=2e-3)
    # Its short form, by the same authors, at a loss where timeouts matter.
    p, rtt, timeout = 0.02, 0.1, 0.2
    by_timeout = timeout * min(1, 3 * math.sqrt(3 * 2 * p / 8)) * p * (1 + 32 * p**2)
    short = rtt / (rtt * math.sqrt(2 * 2 * p / 3) + by_timeout)
    assert theory.padhye_window(p, 2, rtt, timeout) == pytest.approx(short, rel=0.1)


def test_constant_of_the_square_root_law_is_that_of_a_simulated_window():
    assert theory.random_loss_window(0.01) * 0.1 == pytest.approx(1.3098, abs=1e-4)
    assert theory.random_loss_window(0.02, 2) == pytest.approx(theory.random_loss_window(0.01) / 2)
    # W² before a loss, in units of 2/p: a quarter of the last one and an exponential; time is W_before / 2.
    draw = np.random.default_rng(1)
    square, total = 4 / 3, 0.0
    count = 200_000
    for growth in draw.exponential(size=count):
        square = square / 4 + growth
        total += math.sqrt(square)
    assert math.sqrt(2) / (total / count) == pytest.approx(1.3098, rel=3e-3)


def test_toml_of_documents_reads_back():
    for scenario in peers.SCENARIOS.values():
        document = scenario.document()
        assert tomllib.loads(toml(document)) == document
    assert toml({"a.b": {"x": [1, 0.5, True, "ö"]}}) == '"a.b" = { x = [1, 0.5, true, "ö"] }\n'


def test_every_published_peer_figure_has_a_scenario():
    figures = peers.published()
    assert figures.keys() == peers.SCENARIOS.keys()
    assert figures["backbone-long-28"]["ns2"]["down_loss"] == 0.144
    assert all(set(found) <= {"ns2", "ns3"} for found in figures.values())


def test_kernel_scenarios_have_the_bucket_and_the_habits_of_what_was_measured():
    [entry] = [
        found
        for found in kernel.measurements()
        if found.scenario == "cubic-1up8down-1m16m-50ms-b64" and found.link == "up"
    ]
    assert len(entry.runs) == 3
    document = kernel.document(entry.parameters)
    up, down = document["flows"]
    assert (up["direction"], up["count"], down["direction"], down["count"]) == ("up", 1, "down", 8)
    assert up["stack"] == down["stack"] == "linux"
    assert document["path"]["rtt"] == "50ms"
    assert document["path"]["up"] == {
        "rate": "1Mbit",
        "queue": {"kind": "fifo", "limit": "64pkt"},
        "overhead": "14B",
        "rule": "htb",
        "burst": "1600B",
    }


def test_fresh_scenarios_are_none_of_those_that_were_known():
    known, fresh = (
        {entry.scenario for entry in kernel.measurements(section)} for section in ("kernel", "kernel-fresh")
    )
    assert fresh
    assert not known & fresh


def test_one_way_kernel_scenarios_have_one_queue():
    [entry] = [found for found in kernel.measurements() if found.scenario == "reno-8f-16m-50ms-b67"]
    path = kernel.document(entry.parameters)["path"]
    assert path["down"]["rate"] == "unlimited"
    assert path["down"]["queue"]["limit"] == "unlimited"
    assert entry.values("loss") == [0.009823, 0.009833, 0.009794, 0.009806]


def test_the_engine_accepts_every_scenario():
    asked = [scenario.document() for scenario in peers.SCENARIOS.values()]
    for section in ("kernel", "kernel-fresh"):
        asked += [kernel.document(entry.parameters) for entry in kernel.measurements(section)]
    asked += [
        theory.queue_document(load, sizes) for load in theory.LOADS for sizes in ("fixed", "exponential")
    ]
    asked += [theory.queue_document(0.8, "fixed", 9), theory.law_document(0.01, "5ms")]
    asked += [theory.law_document(0.01, "5ms", recovery="rack-tlp")]
    for document in asked:
        assert len(documents.study(document).points) == document["repeat"]


def test_rank_correlation_is_spearmans():
    draw = np.random.default_rng(2)
    for _ in range(20):
        first, second = draw.integers(0, 6, size=(2, 15)).tolist()
        assert rank_correlation(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert math.isnan(rank_correlation([1, 1, 1], [1, 2, 3]))
    assert math.isnan(rank_correlation([1, 2], [1, 2]))


def test_the_streaming_documents_can_be_run():
    made = [streaming.queue_document(60), streaming.clients_document(), streaming.unequal_document()]
    for place, reading in enumerate(readings.READINGS.values()):
        made.append(readings.six_document(str(place), reading))
        made += [readings.unequal_document(str(place), reading)] if reading.unequal else []
    made += [readings.places_document(where) for where in readings.DELAYS]
    made += [stalls.document(number, change) for number, change in enumerate(stalls.CHANGES.values())]
    assert [len(study(document).points) for document in made[:3]] == [90, 120, 90]
    assert all(study(document).points for document in made)
    assert len({document["name"] for document in made}) == len(made)


def short(name="short"):
    scenario = peers.shortened(peers.SCENARIOS["speed-newreno-fifo"], 1.0)
    return {**replace(scenario, name=name).document(), "repeat": 2}


def test_a_short_run_is_stored_and_read_again(tmp_path):
    runs = Runs(tmp_path)
    first = runs.of(short())
    assert len(first) == 2 and sum(runs.engines.values()) == 2
    assert 0 < first[0]["links"]["down"]["departed_data_pkts"] < 8400
    assert made_by(runs.engines) == f"made by engine `{this_engine()}`"
    stored = Runs(tmp_path, simulate=False)
    assert [result["links"] for result in stored.of(short())] == [result["links"] for result in first]
    assert stored.engines == runs.engines


def test_what_is_not_stored_is_said_and_not_simulated(tmp_path):
    stored = Runs(tmp_path, simulate=False)
    with pytest.raises(NotStored, match="nothing is stored"):
        stored.of(short())
    Runs(tmp_path).of(short())
    with pytest.raises(NotStored, match="another version"):
        stored.of({**short(), "seed": 2})
    file = next((tmp_path / "short").rglob(f"{study(short()).points[1].hash}*"))
    file.unlink()
    with pytest.raises(NotStored, match="1 of 2 runs are missing"):
        stored.of(short())
    assert not stored.engines
