"""Rows and findings of the validation: the printed rule is the applied one, and of the right numbers."""

import math
import statistics
from itertools import product

import pytest
from scipy import stats

from tools.validation import (
    aqm,
    aqm_peers,
    aqm_scene,
    kernel,
    peers,
    readings,
    stalls,
    streaming,
    theory,
    video,
)
from tools.validation.checks import between_or, compare, interval_99, near, span
from tools.validation.documents import study
from tools.validation.study import Comparison, Pair


class Fake:
    """Runs whose results are made up: `make` returns one of a point's labels and its replication."""

    def __init__(self, make):
        self.make = make
        self.asked = []

    def of(self, document):
        self.asked.append(document)
        return [self.make(point.labels, point.replication) for point in study(document).points]


def link(delay, utilisation=0.5, loss=0.01, p95=None):
    return {
        "queue_delay_ms": {"mean": delay, "p95": delay if p95 is None else p95},
        "utilisation": utilisation,
        "loss": loss,
    }


def test_near_is_a_distance_from_the_reference_in_both_directions():
    rule = near("one", share=0.25)
    assert rule.text == "within 25 % of one"
    assert rule.holds(1.25, [1.0]) and rule.holds(0.75, [1.0])
    assert not rule.holds(1.26, [1.0]) and not rule.holds(0.74, [1.0])
    assert not rule.holds(1.3, [1.0]), "a quarter of the reference, not of ours"
    assert rule.holds(2.1, [1.0, 2.0]) and rule.holds(1.1, [1.0, 2.0])
    assert not rule.holds(1.4, [1.0, 2.0]), "between two is not near one"
    points = near("one", points=2)
    assert points.text == "within 2 points of one"
    assert points.holds(0.98, [1.0]) and not points.holds(0.979, [1.0])
    amount = near("the study's", add=0.1)
    assert amount.text == "within 0.1 of the study's"
    assert amount.holds(0.5, [0.6]) and not amount.holds(0.49, [0.6])
    with pytest.raises(ValueError):
        near("one", share=0.1, points=2)


def test_between_is_printed_where_it_is_applied():
    rule = between_or(near("one", share=0.1), "the two")
    assert rule.text == "between the two, or within 10 % of one"
    assert rule.holds(1.0, [0.5, 2.0]) and rule.holds(1.0, [2.0, 0.5])
    assert rule.holds(2.2, [0.5, 2.0]) and not rule.holds(2.21, [0.5, 2.0])
    assert not rule.holds(0.44, [0.5, 2.0])
    assert rule.holds(1.1, [1.0]) and not rule.holds(1.11, [1.0])
    for _, _, of_peers in peers.QUANTITIES.values():
        assert of_peers.text.startswith("between the two simulators', or within ")
        assert of_peers.holds(1.0, [0.1, 10.0]), "what is printed is applied"
        assert of_peers.text in peers.TEXT and of_peers.text in aqm_peers.section_text()
    for _, _, of_kernel in kernel.QUANTITIES.values():
        assert of_kernel.text in kernel.TEXT


@pytest.mark.parametrize(
    ("quantity", "inside", "outside"),
    [("delay", 16.7, 17.0), ("utilisation", 15.32, 15.33), ("loss", 19.1, 19.2)],
)
def test_rules_of_the_peers(quantity, inside, outside):
    rule = peers.QUANTITIES[quantity][2]
    assert rule.holds(inside, [15.2, 15.3])
    assert not rule.holds(outside, [15.2, 15.3])


def test_rules_of_the_kernel():
    rules = {quantity: rule for quantity, (_, _, rule) in kernel.QUANTITIES.items()}
    assert rules["utilisation"].holds(0.991, [1.0]) and not rules["utilisation"].holds(0.989, [1.0])
    assert rules["p95"].holds(10.7, [10.0]) and not rules["p95"].holds(10.71, [10.0])
    assert rules["delay"].holds(9.3, [10.0]) and not rules["delay"].holds(9.29, [10.0])
    assert rules["loss"].holds(0.0125, [0.01]) and not rules["loss"].holds(0.0126, [0.01])
    assert rules["loss"].holds(0.0, [0.0]) and rules["loss"].holds(9e-6, [0.0])
    assert not rules["loss"].holds(1e-5, [0.0])
    assert "or below 0.001 % where the kernel lost nothing" in rules["loss"].text


def test_a_row_has_the_mean_the_spread_and_the_rule_of_its_replications():
    row = compare("a/b/loss", "loss", "%", [1.0, 5.0, 3.6], {"x": 3.0}, near("x", share=0.1))
    assert (row.ours, row.spread, row.references) == (pytest.approx(3.2), (1.0, 5.0), (("x", 3.0),))
    assert row.ok and row.rule == "within 10 % of x" and row.verdict == "ok"
    assert compare("a", "q", "", [2.0], {"x": 1.0}, span(0, 1.9, "at most 1.9")).verdict == "outside"


def test_theory_has_to_be_inside_the_interval_of_the_replications():
    values = [1.0, 2.0, 3.0]
    mean, (low, high) = interval_99(values)
    assert mean == 2.0
    assert (low, high) == pytest.approx(stats.t.interval(0.99, 2, loc=2.0, scale=1 / math.sqrt(3)), rel=1e-4)
    for expected, ok in ((low + 1e-6, True), (low - 1e-6, False), (high - 1e-6, True), (high + 1e-6, False)):
        row = compare("t", "q", "", values, {"theory": expected}, theory.IN_INTERVAL, interval_99)
        assert row.ok is ok
    assert theory.ON_LAW.holds(1.05, [1.0]) and not theory.ON_LAW.holds(1.06, [1.0])


def test_each_row_of_theory_is_held_against_its_own_formula():
    def make(labels, replication):
        return {"links": {"down": link(4.0 + replication / 100, loss=0.17) | {"arrived_pkts": 400_000}}}

    found = {row.key: row for row in theory.checks(Fake(make))}
    assert len(found) == 2 * 3 + 3 + 2 * 6
    assert found["theory/M/M/1/0.8/wait"].references == (("theory", pytest.approx(4.0)),)
    assert found["theory/M/D/1/0.8/wait"].references == (("theory", pytest.approx(2.0)),)
    assert found["theory/M/D/1/10/1.2/loss"].references == (("theory", pytest.approx(17.1, abs=0.05)),)
    assert found["theory/M/D/1/10/1.2/loss"].ours == pytest.approx(17.0)
    assert found["theory/square-root-5ms/0.01/window"].ours == pytest.approx(400_000 / 2000 * 0.1)
    assert found["theory/square-root-5ms/0.01/window"].references[0][1] == pytest.approx(9.26, abs=0.005)


def test_rows_of_the_peers_take_each_link_and_quantity_from_its_place():
    runs = Fake(lambda labels, replication: {"links": {"down": link(11.0), "up": link(22.0, 0.7, 0.03)}})
    found = {row.key: row for row in peers.checks(runs)}
    assert len(found) == 63
    row = found["peers/access-long-many-both-64/up/delay"]
    assert row.ours == 22.0 and dict(row.references) == {"ns3": 77.1, "ns2": 69.4}
    assert found["peers/access-long-many-both-64/up/utilisation"].ours == pytest.approx(0.7)
    assert found["peers/access-long-many-both-64/up/loss"].ours == pytest.approx(0.03)
    assert found["peers/access-long-many-both-64/down/delay"].ours == 11.0
    assert "peers/speed-newreno-fifo/up/delay" not in found, "acknowledgements only"
    assert dict(found["peers/access-long-few-up-64/up/loss"].references) == {"ns3": 0.0156, "ns2": 0.0115}
    assert "peers/access-long-few-up-64/down/loss" not in found


@pytest.mark.parametrize("section", ["kernel", "kernel-fresh"])
def test_rows_of_linux_are_of_every_queue_that_was_measured(section):
    runs = Fake(lambda labels, replication: {"links": {"up": link(5, p95=9), "down": link(7, p95=8)}})
    found = {row.key: row for row in kernel.checks(runs, section)}
    entries = kernel.measurements(section)
    assert len(found) == 4 * len(entries)
    for entry in entries:
        of = {
            quantity: found[f"{section}/{entry.scenario}/{entry.link}/{quantity}"]
            for quantity in kernel.QUANTITIES
        }
        assert (of["delay"].ours, of["p95"].ours) == ((5, 9) if entry.link == "up" else (7, 8))
        for quantity, row in of.items():
            [(name, value)] = row.references
            assert name == f"Linux ({len(entry.runs)})"
            assert value == pytest.approx(statistics.fmean(entry.values(quantity)))


def test_the_kernels_figures_are_those_of_their_columns():
    [entry] = [e for e in kernel.measurements("kernel-fresh") if e.scenario == "bbr-1f-16m-50ms-b17"]
    assert entry.values("delay") == [2.2612, 2.3235]
    assert entry.values("p95") == [11.8028, 11.8126]
    assert entry.values("utilisation") == [0.97388, 0.97351]
    assert entry.values("loss") == [0.011639, 0.011911]


def cell(delay=40.0, loss=0.05, utilisation=0.94, **keys):
    values = {"p95_ms": delay, "payload": utilisation, "once": utilisation, "mos": 3.0} | keys
    return aqm_scene.Cell(
        delay_ms=(delay,),
        loss=(loss,),
        utilisation=(utilisation,),
        transmission_ms=2.0,
        **{name: (value,) for name, value in values.items()},
    )


def aqm_runs(monkeypatch, make):
    """Let `aqm` and `aqm_peers` see cells that are made up: by study and by the key of the cell."""

    def cells(document, keys, runs):
        assert len(study({**document, "repeat": 1}).points) == len(keys)
        return {key: make(document["name"], key) for key in keys}

    monkeypatch.setattr(aqm, "cells", cells)
    monkeypatch.setattr(aqm_scene, "cells", cells)


def test_rows_of_the_aqm_study(monkeypatch):
    delays = {"red": 36.0, "pie": 24.0, "codel": 13.0}
    aqm_runs(monkeypatch, lambda name, key: cell(delays.get(key and key[0], 700.0), 0.08))
    rows = {row.key: row for row in aqm.checks(None) if "peers-" not in row.key}
    assert len(rows) == 16
    assert dict(rows["aqm/target-2ms/pie/delay"].references) == {"the study": 23.6}
    assert dict(rows["aqm/target-50ms/codel/loss"].references) == {"the study": pytest.approx(0.084)}
    assert rows["aqm/target-2ms/codel/delay"].ours == 13.0
    assert rows["aqm/target-2ms/codel/delay"].rule == "within 25 % of the study's"
    calibrated = rows["aqm/calibrated/codel/delay"]
    assert dict(calibrated.references) == {"the study": 35.0, "ns-3": pytest.approx(52.7, abs=0.1)}
    assert calibrated.rule == "within 15 % of the study's or of ns-3's"
    deep = rows["aqm/buffer-400pkt/fifo/delay"]
    assert (deep.ours, dict(deep.references), deep.ok) == (700.0, {"the study": 680.0}, True)


def test_a_calibrated_delay_between_two_distant_figures_is_near_neither():
    assert not aqm.CALIBRATED.holds(44.0, [35.0, 52.7])
    assert aqm.CALIBRATED.holds(40.2, [35.0, 52.7]) and aqm.CALIBRATED.holds(45.0, [35.0, 52.7])


@pytest.mark.parametrize(
    ("worst", "share", "tail", "holds"),
    [
        ("codel", 0.94, 0.98, [True, True, True]),
        ("pie", 0.966, 0.98, [False, False, False]),
        ("red", 0.914, 0.98, [False, False, False]),
        ("codel", 0.94, 0.986, [True, False, False]),
    ],
)
def test_findings_of_the_aqm_study(monkeypatch, worst, share, tail, holds):
    def make(name, key):
        if key is None:
            return cell(utilisation=tail)
        return cell(loss=0.1 if key[0] == worst else 0.05, utilisation=share)

    aqm_runs(monkeypatch, make)
    assert [finding.holds for finding in list(aqm.findings(None))[:3]] == holds


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, [True, True]),
        ({"delay": 1.09}, [False, False]),
        ({"p95_ms": 1.09}, [False, False]),
        ({"loss": 1.1}, [True, False]),
        ({"mos": 0.9}, [True, False]),
    ],
)
def test_adaptive_red_set_for_the_highest_rate_is_judged_by_all_that_is_said_of_it(change, holds):
    times = {"delay": 1.2, "p95_ms": 1.2, "loss": 0.9, "mos": 1.1} | change
    mean = {"delay": 40.0, "p95_ms": 80.0, "loss": 0.05, "mos": 3.0}
    highest = {name: value * times[name] for name, value in mean.items()}
    rates = dict(zip(aqm.RATES, (mean, mean, highest), strict=True))
    found = {(rate, target): cell(**of) for (rate, of), target in product(rates.items(), (10, 50))}
    assert [finding.holds for finding in aqm.unsteady(found)] == holds


def viewers(**numbers):
    return [{"unfairness": 0.4, "utilisation": 0.8, "clients_stalled_pct": 0, **numbers}] * 2


def test_rules_of_adaptive_streaming():
    for ratio, ok in ((0.69, False), (0.71, True), (0.89, True), (0.91, False)):
        row = streaming.cost("BBA-2", viewers(utilisation=ratio), viewers(utilisation=1.0))
        assert (row.ours, row.ok) == (pytest.approx(ratio), ok)
    for ratio, ok in ((0.54, True), (0.56, False)):
        row = streaming.halved("BBA-2", viewers(unfairness=1.0), viewers(unfairness=ratio))
        assert (row.ours, row.ok) == (pytest.approx(ratio), ok)
        assert row.references == (("study, BBA-2", pytest.approx(0.5)),)
    assert streaming.SOMEBODY.holds(0.1, []) and not streaming.SOMEBODY.holds(0, [])
    assert streaming.NOBODY.holds(0, []) and not streaming.NOBODY.holds(0.1, [])


def test_rows_of_adaptive_streaming_take_each_cell_from_its_place():
    def make(labels, replication):
        queue = int(labels["path.down.queue.limit"].removesuffix("BDP"))
        count = int(labels.get("users.0.count", 6))
        player = labels.get("users.0.algorithm")
        number = viewers(utilisation=(queue + count) / 100, unfairness=queue / 100)[0]
        return {"point": labels, "adaptive": number | {"clients_stalled_pct": 50 * (player == "gpac")}}

    rows = {row.key: row for row in streaming.checks(Fake(make))}
    assert len(rows) == 3 + 3 + 3 + 8 + 6
    assert rows["streaming/table-4a/2xBDP/8-viewers"].ours == pytest.approx(10.0)
    assert dict(rows["streaming/table-4a/2xBDP/8-viewers"].references) == {"study": 84.0}
    assert rows["streaming/table-5/12xBDP/BBA-2"].ours == pytest.approx(0.12)
    assert dict(rows["streaming/table-5/2xBDP/BBA-2"].references) == {"study": 0.6}
    assert rows["streaming/1-bdp-cost/FESTIVE/ratio"].ours == pytest.approx(7 / 8)
    assert rows["streaming/unequal-rtt/default/ratio"].ours == pytest.approx(6.0)
    stalls = {name: rows[f"streaming/30-bdp-stalls/{name}/viewers"] for name in streaming.ALGORITHMS}
    assert {name: row.references[0][1] for name, row in stalls.items()} == {
        "default": 100,
        "FESTIVE": 13,
        "BBA-2": 0,
    }
    assert {name: row.ok for name, row in stalls.items()} == {
        "default": True,
        "FESTIVE": False,
        "BBA-2": True,
    }


def test_regions_of_table_2():
    found = {f"{bdp}BDP": [bdp] for bdp in streaming.QUEUES}
    table = streaming.stalls(60)
    assert len(table) == 9
    regions = {region: streaming.in_region(found, table["FESTIVE", region]) for _, region in table}
    assert regions == {"1xBDP": [1], "2-20xBDP": [2, 5, 10, 20], "30xBDP": [30]}
    assert table["default", "30xBDP"].row["stalls"] == 645
    assert streaming.in_region(found, streaming.stalls(640)["BBA-2", "any"]) == list(streaming.QUEUES)


def grid(values):
    return [
        Pair(load, buffer, value, 0.5)
        for load, row in values.items()
        for buffer, value in zip(video.BUFFERS, row, strict=True)
    ]


FIGURE_9A = {
    "none": [1.0] * 6,
    "short-few-download": [0.5] * 6,
    "long-few-download": [0.49] * 6,
    "short-many-download": [0.44] * 6,
    "long-many-download": [0.4] * 6,
}


@pytest.mark.parametrize(
    ("load", "row", "holds"),
    [
        (None, None, [True, True, True, True]),
        ("none", [1.0] * 5 + [0.98], [False, True, True, True]),
        ("long-few-download", [0.88] * 6, [True, False, True, True]),
        ("short-few-download", [0.5] * 5 + [0.61], [True, True, False, True]),
        ("long-many-download", [0.495] * 6, [True, True, True, False]),
        ("short-few-download", [0.43] * 6, [True, True, True, False]),
    ],
)
def test_findings_of_video(load, row, holds):
    values = FIGURE_9A | ({load: row} if load else {})
    assert [ok for _, ok in video.look(grid(values))] == holds


def test_a_published_cell_is_close_by_a_quarter_of_itself():
    cells = [(5.0, 4.0), (5.01, 4.0), (3.0, 4.0), (2.99, 4.0), (4.0, 4.0), (0.0, 0.0)]
    pairs = tuple(Pair("a", "8pkt", ours, published) for ours, published in cells)
    found = Comparison("s", "t", "table", {}, pairs, 1.0, 0, "sojourn run s.toml")
    assert found.close == 4
    assert found.median_ratio == 1.0
    assert found.mean_difference == pytest.approx((1 + 1.01 + 1 + 1.01) / 6)


def test_tables_of_adaptive_streaming_are_written_from_its_runs():
    numbers = {
        "stalls": 2,
        "stall_s": 3.0,
        "average_rate_kbps": 900,
        "instability": 0.1,
        "per_client_rate_kbps": [1, 2],
    }
    numbers |= {"instability_segments": 0.15, "unfairness_carried": 0.3}

    def make(labels, replication):
        return {"point": labels, "adaptive": viewers(clients_stalled_pct=50)[0] | numbers}

    runs = Fake(make)
    depends, places, together = readings.tables(runs)
    assert len(list(depends.rows)) == len(readings.READINGS)
    assert next(iter(depends.rows)) == [readings.FIRST, *["1.00"] * 6, *["50"] * 3]
    assert list(places.rows)[-1] == ["2BDP", "8", "84", "80", "80", "80"]
    ours = ["120", "80", "−5 %", "+27 %", "0.15", "0.4"]
    assert list(together.rows)[-1] == ["2BDP", "8", "95", "84", *ours, *ours]
    assert "carried: 8 at 709 kb/s are 95 %, and 84 % were filled.\n" in together.text
    second, fourth, aims, fifth = streaming.tables(runs)
    assert second.rows[2] == ["default", "60", "30xBDP", "5", "50 (100)", "10 (645)", "15 (1348)"]
    assert second.rows[-1] == ["BBA-2", "640", "any", "30", "50 (0)", "60 (0)", "90 (0)"]
    assert fourth.rows[0] == ["1xBDP", "instability", "2", "0.06", *["0.15 ± 0"] * 3, ""]
    assert fourth.rows[4][-1] == "0.3 ± 0", "unfairness of bits carried"
    assert aims.rows[0] == ["1BDP", "2", "0.06", *["0.1 ± 0", "0.15 ± 0"] * 2, *["0.4 ± 0"] * 2]
    assert fifth.rows[0][:4] == ["2BDP", "0.4 ± 0", "0.3 ± 0", "0.6"] and fifth.rows[0][-1] == "1 2"
    rows = list(stalls.rows(runs))
    assert rows[0] == ["default", "*the study*", "3", "5", "100", "129", "2.1", ""]
    assert rows[1] == ["default", "nothing", "50", "50", "50", "2", "1.5", "0.80"]
    assert len(rows) == 4 + len(stalls.CHANGES)
