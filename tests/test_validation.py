"""The validation's own formulas, tables, scenarios and page."""

import itertools
import json
import math
import random
import tomllib
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tools.validation import documents, kernel, peers, readings, streaming, theory
from tools.validation.checks import T_995, Check, Skipped, interval_99, within
from tools.validation.documents import study
from tools.validation.explanations import Explanations
from tools.validation.report import Page, write
from tools.validation.study import Comparison, Pair, _match, ranks, spearman
from tools.validation.tables import number


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


def test_quantiles_of_students_t():
    for n, quantile in T_995.items():
        assert quantile == pytest.approx(stats.t.ppf(0.995, n - 1), rel=1e-4)


def test_interval():
    mean, (low, high) = interval_99([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert (low, high) == pytest.approx(stats.t.interval(0.99, 2, loc=2.0, scale=1 / math.sqrt(3)), rel=1e-4)


def test_within():
    assert within(1.0, [0.5, 2.0])
    assert within(2.19, [0.5, 2.0], share=0.1)
    assert not within(2.21, [0.5, 2.0], share=0.1)
    assert within(0.98, [1.0], add=0.02)
    assert not within(0.97, [1.0], add=0.02)


def test_ranks_share_the_mean_of_ties():
    draw = np.random.default_rng(2)
    for _ in range(20):
        first, second = draw.integers(0, 6, size=(2, 15)).tolist()
        assert ranks(first) == stats.rankdata(first).tolist()
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))
    assert math.isnan(spearman([1, 2], [1, 2]))


def test_toml_of_documents_reads_back():
    for scenario in peers.SCENARIOS.values():
        document = scenario.document()
        assert tomllib.loads(documents.to_toml(document)) == document
    assert documents.to_toml({"a.b": {"x": [1, 0.5, True, "ö"]}}) == '"a.b" = { x = [1, 0.5, true, "ö"] }\n'


def test_every_published_peer_figure_has_a_scenario():
    figures = peers.published()
    assert figures.keys() == peers.SCENARIOS.keys()
    assert figures["backbone-long-28"]["ns2"]["down_loss"] == 0.144
    assert all(set(found) <= {"ns2", "ns3"} for found in figures.values())


def test_rules_of_the_peers():
    assert peers.holds("delay", 16.7, [15.2, 15.3])
    assert not peers.holds("delay", 17.0, [15.2, 15.3])
    assert peers.holds("utilisation", 0.98, [1.0, 1.0])
    assert not peers.holds("loss", 0.0016, [0.0011, 0.0012])


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


def test_rules_of_the_kernel():
    assert kernel.holds("utilisation", 0.991, 1.0)
    assert not kernel.holds("utilisation", 0.989, 1.0)
    assert kernel.holds("p95", 10.6, 10.0)
    assert not kernel.holds("delay", 10.8, 10.0)
    assert kernel.holds("loss", 0.012, 0.01)
    assert kernel.holds("loss", 0.0, 0.0)
    assert not kernel.holds("loss", 0.0001, 0.0)


def test_one_way_kernel_scenarios_have_one_queue():
    [entry] = [found for found in kernel.measurements() if found.scenario == "reno-8f-16m-50ms-b67"]
    path = kernel.document(entry.parameters)["path"]
    assert path["down"]["rate"] == "unlimited"
    assert path["down"]["queue"]["limit"] == "unlimited"
    assert entry.values("loss") == [0.009823, 0.009833, 0.009794, 0.009806]


def test_the_engine_accepts_every_scenario():
    asked = [
        scenario.document() for scenario in peers.SCENARIOS.values() if not scenario.needs - documents.kinds()
    ]
    for section in ("kernel", "kernel-fresh"):
        asked += [kernel.document(entry.parameters) for entry in kernel.measurements(section)]
    asked += [
        theory.queue_document(load, sizes) for load in theory.LOADS for sizes in ("fixed", "exponential")
    ]
    asked += [theory.queue_document(0.8, "fixed", 9), theory.law_document(0.01, "5ms")]
    asked += [theory.law_document(0.01, "5ms", recovery="rack-tlp")]
    for document in asked:
        assert len(documents.study(document).points) == document["repeat"]


def test_a_short_run_is_stored_and_read_again(tmp_path):
    scenario = peers.shortened(peers.SCENARIOS["speed-newreno-fifo"], 1.0)
    document = replace(scenario, name="short").document()
    [first] = documents.results(document, tmp_path, jobs=1)
    [again] = documents.results(document, tmp_path, jobs=1)
    assert first["links"] == again["links"]
    assert 0 < first["links"]["down"]["departed_data_pkts"] < 8400
    assert (tmp_path / "short" / "study.json").is_file()


def test_published_cells_are_matched_to_points():
    limit = "path.down.queue.limit"

    def result(workload, buffer, loss):
        return {"point": {"workload": workload, limit: buffer}, "links": {"up": {"loss": loss}}}

    results = [
        result("long-few-upload", "8pkt", 0.1),
        result("long-few-upload", "8pkt", 0.3),
        result("none", "8pkt", 0.0),
    ]
    rows = [
        {"activity": "upload", "workload": "long-few", "buffer_packets": "8", "loss": "0.25"},
        {"activity": "upload", "workload": "noBG", "buffer_packets": "8", "loss": "0"},
        {"activity": "upload", "workload": "long-few", "buffer_packets": "16", "loss": "0.5"},
    ]
    pairs, unmatched = _match(rows, "loss", "links.up.loss", results)
    assert pairs == [
        Pair("long-few-upload", "8pkt", pytest.approx(0.2), 0.25),
        Pair("none", "8pkt", 0.0, 0.0),
    ]
    assert unmatched == 1


def check(key, ours, references, ok, quantity="loss"):
    return Check(key, quantity, "", ours, (ours, ours), tuple(references.items()), ok, "a rule")


def test_explanations_by_pattern():
    explanations = Explanations({"kernel/*-b8/up/loss": "Since the bucket.", "never/*": "x"})
    explained = check("kernel/cubic-b8/up/loss", 0.1, {"Linux (1)": 0.2}, False)
    other = check("kernel/cubic-b8/down/loss", 0.1, {"Linux (1)": 0.2}, False)
    fine = check("kernel/reno/down/loss", 0.1, {"Linux (1)": 0.1}, True)
    assert explanations.unexplained([explained, other, fine]) == [other]
    assert explanations.idle() == ["never/*"]


def test_the_shipped_explanations_are_sentences_for_sections():
    for pattern, text in Explanations().texts.items():
        assert pattern.split("/")[0] in ("theory", "peers", "kernel", "kernel-fresh", "aqm", "streaming")
        assert text.strip().endswith(".")


def test_the_page_tells_ok_explained_and_unexplained(tmp_path):
    both = {"ns3": 0.001, "ns2": 0.0012}
    page = Page(
        root=tmp_path / "results",
        checks={
            "theory": [
                check("theory/M/D/1/0.5/wait", 0.5, {"theory": 0.5}, True, "mean wait"),
                check("theory/square-root-5ms/0.01/window", 9.0, {"law": 9.3}, True, "mean window"),
            ],
            "peers": [
                check("peers/a/down/delay", 15.0, {"ns3": 15.2, "ns2": 15.3}, True),
                check("peers/a/down/utilisation", 1.0, {"ns3": 1.0, "ns2": 1.0}, True),
                check("peers/a/down/loss", 0.002, both, False),
                Skipped("peers/b", "study files have no codel yet"),
            ],
            "kernel": [check("kernel/c/up/loss", 0.03, {"Linux (3)": 0.02}, False)],
        },
        published=[
            Comparison(
                study="s",
                title="Delay",
                value="links.up.loss",
                table="published/t.csv",
                where={"link": "uplink"},
                pairs=(Pair("a", "8pkt", 1, 2), Pair("a", "16pkt", 3, 4), Pair("b", "8pkt", 5, 6)),
                unmatched=1,
                version="0.1.0",
                command="sojourn run s.toml",
            )
        ],
        explanations=Explanations({"kernel/c/*": "The bucket lets two packets pass."}),
    )
    (tmp_path / "results").mkdir()
    speed = {
        "turns": 3,
        "machine": {"system": "Linux", "cores": 2, "sojourn": "0.1.0"},
        "scenarios": [
            {
                "scenario": "speed-newreno-fifo",
                "programs": {
                    "sojourn": {"kpps": 7000.4, "rss_mb": 25, "simulated_s": 240},
                    "ns2": {"kpps": 3000, "rss_mb": 14, "simulated_s": 240, "sojourn_times_faster": 2.33},
                },
            }
        ],
    }
    (tmp_path / "results" / "speed.json").write_text(json.dumps(speed))
    text = write(page, tmp_path / "docs").read_text(encoding="utf-8")
    assert "| Two other simulators | 3 | 2 | 0 | 1 |" in text
    assert "| Linux | 1 | 0 | 1 | 0 |" in text
    assert "**0.2 %**" in text
    assert "*Unexplained.*" in text
    assert "The bucket lets two packets pass." in text
    assert "`peers/b` not run: study files have no codel yet." in text
    assert "| s: Delay | t (uplink) | 3 of 4 | 1 | 0.75 | 67 % |" in text
    assert "| speed-newreno-fifo | ns2 | 3000 | 14 | 240 | 2.3 |" in text
    assert page.unexplained() == [page.rows("peers")[2]]
    for line in text.splitlines():
        if line.startswith("!["):
            assert (tmp_path / "docs" / line.split("(")[1].rstrip(")")).is_file()


def test_numbers_as_they_are_printed():
    assert number(0.00123, "loss") == "0.12 %"
    assert number(0.2334, "loss") == "23.3 %"
    assert number(0.99967, "utilisation") == "1.000"
    assert number(2876.93, "delay") == "2877"
    assert number(math.nan) == "–"


def test_findings_are_judged_by_their_bounds():
    from tools.validation.findings import ACCESS_BUFFERS, UPLOADS, Cells, access

    def result(workload: str, buffer: str, good: bool) -> dict:
        deep = ACCESS_BUFFERS.index(buffer)
        loud = workload != "none" and good
        return {
            "point": {"workload": workload, "path.down.queue.limit": buffer},
            "links": {
                "up": {
                    "queue_delay_ms": {"mean": 1500.0 if loud else 1.0, "max": 3000.0 if loud else 2.0},
                    "utilisation": 0.99,
                }
            },
            "voice": {
                "talks": {"mos": {"median": 1.0 if loud and deep > 2 else 4.3}},
                "listens": {"mos": {"median": 4.3 - 0.3 * deep if loud else 4.3}},
            },
            "web": {
                "mos": {"median": 4.0 if workload == "none" and deep == 0 and good else 5.0},
                "plt_s": {"median": 20.0 if loud else 0.6},
            },
        }

    def judged(good: bool) -> list[bool]:
        loads = ("none", *UPLOADS)
        return [
            finding.holds
            for finding in access(Cells([result(load, b, good) for load in loads for b in ACCESS_BUFFERS]))
        ]

    assert judged(good=True) == [True] * 6
    assert judged(good=False) == [False] * 5 + [True]


def test_the_streaming_documents_can_be_run_and_regions_are_read():
    made = [streaming.queue_document(60), streaming.clients_document(), streaming.unequal_document()]
    for place, reading in enumerate(readings.READINGS.values()):
        made.append(readings.six_document(str(place), reading))
        made += [readings.unequal_document(str(place), reading)] if reading.unequal else []
    made += [readings.places_document(where) for where in readings.DELAYS]
    assert [len(study(document).points) for document in made[:3]] == [90, 40, 90]
    assert all(study(document).points for document in made)
    regions = {row["queue_region"] for row in streaming.published("published/has-table2-stalls.csv")}
    found = {region: streaming.region(region) for region in regions}
    assert found["2-20xBDP"] == [2, 5, 10, 20]
    assert (found["1xBDP"], found["30xBDP"], found["any"]) == ([1], [30], list(streaming.QUEUES))
