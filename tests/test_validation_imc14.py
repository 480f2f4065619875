"""Findings and table 1 of the study of buffer sizing: each cell that a sentence speaks of can refute it."""

from itertools import product

import pytest

from tests.test_validation_rules import Fake
from tools.validation import findings, sessions
from tools.validation.checks import verdict

GOOD = {
    "links.up.queue_delay_ms.mean": lambda load, deep: 1500.0 * (deep == 5) + 401,
    "links.up.queue_delay_ms.max": lambda load, deep: 2501.0 if deep == 5 else 700.0,
    "links.up.utilisation": lambda load, deep: 0.9 + 0.009 * deep,
    "voice.talks.mos.median": lambda load, deep: 4.2 if load == "none" or deep < 4 else 1.49,
    "voice.listens.mos.median": lambda load, deep: 4.2 if load == "none" else 4.2 - 0.11 * deep,
    "web.mos.median": lambda load, deep: 4.4 if deep == 0 else 4.6,
    "web.plt_s.median": lambda load, deep: 15.1 if deep == 5 and "long" in load else 1.0,
}


def imc14(changes=(), absent=None):
    results = []
    for load, (deep, buffer) in product(("none", *findings.UPLOADS), enumerate(findings.ACCESS_BUFFERS)):
        result = {"point": {"workload": load, findings.BUFFER: buffer}}
        for path, value in GOOD.items():
            if (load, deep, path) == absent:
                continue
            *folders, name = path.split(".")
            place = result
            for folder in folders:
                place = place.setdefault(folder, {})
            place[name] = dict(changes).get((load, deep, path), value(load, deep))
        results.append(result)
    return [finding.holds for finding in findings.access(findings.Cells(results))]


def test_findings_of_buffer_sizing_hold_just_inside_their_bounds():
    assert imc14() == [True] * 6


@pytest.mark.parametrize(
    ("finding", "load", "deep", "path", "value"),
    [
        (0, "short-few-upload", 5, "links.up.queue_delay_ms.mean", 399.0),
        (1, "long-many-upload", 4, "voice.talks.mos.median", 1.51),
        (1, "short-many-upload", 5, "voice.talks.mos.median", 1.51),
        (2, "long-few-upload", 5, "web.plt_s.median", 14.9),
        (3, "none", 3, "voice.talks.mos.median", 4.09),
        (3, "none", 2, "voice.listens.mos.median", 4.09),
        (3, "none", 5, "web.mos.median", 4.49),
        (3, "none", 0, "web.mos.median", 4.51),
        (4, "short-few-upload", 5, "voice.listens.mos.median", 3.71),
        (5, "long-few-upload", 2, "links.up.utilisation", 0.84),
    ],
)
def test_a_finding_of_buffer_sizing_fails_by_every_cell_that_it_speaks_of(finding, load, deep, path, value):
    assert imc14({(load, deep, path): value}) == [place != finding for place in range(6)]


def test_the_longest_wait_is_one_of_any_upload():
    peaks = {(load, 5, "links.up.queue_delay_ms.max"): 2400.0 for load in findings.UPLOADS}
    assert imc14(peaks)[0] is False
    del peaks["long-few-upload", 5, "links.up.queue_delay_ms.max"]
    assert imc14(peaks)[0] is True


@pytest.mark.parametrize(
    ("finding", "path"), [(0, "links.up.queue_delay_ms.mean"), (5, "links.up.utilisation")]
)
def test_a_finding_without_all_of_its_cells_cannot_be_said(finding, path):
    held = imc14(absent=("long-few-upload", 5, path))
    assert held == [None if place == finding else True for place in range(6)]
    assert [verdict(holds) for holds in (None, True, False)] == [
        "cannot be said",
        "holds",
        "**does not hold**",
    ]


def first_table(**changes):
    up, down = (
        {"utilisation": changes.get(f"{name}_utilisation", of), "loss": changes.get(f"{name}_loss", loss)}
        for name, of, loss in (("up", 0.278, 0.014), ("down", 0.441, 0.03))
    )
    point = {"workload": "short-few-download", findings.BUFFER: "64pkt"}
    [(row, ok)] = findings.table_1(
        {"access": findings.Cells([{"point": point, "links": {"up": up, "down": down}}])}
    )
    assert len(row) == len(findings.table_1_head())
    assert row[-1] == ("ok" if ok else "outside")
    return row, ok


def test_table_1_is_held_column_by_column():
    row, ok = first_table()
    assert ok and row[:2] == ["access", "short-few-download"]
    texts = dict(zip(findings.table_1_head(), row, strict=True))
    assert texts["util. up %"] == "27.8 (27.8)" and texts["util. down %"] == "44.1 (44.1)"
    assert texts["loss up %"] == "1.4 (1.4)" and texts["loss down %"] == "3.0 (3)"
    assert texts["concurrent flows"] == "–"


@pytest.mark.parametrize(
    ("column", "inside", "outside"),
    [
        ("up_utilisation", 0.278 + 0.136, 0.278 + 0.138),  # the study's standard deviation: 13.7 points
        ("down_utilisation", 0.441 - 0.250, 0.441 - 0.252),  # 25.1
        ("up_loss", 0.0175, 0.0176),  # a quarter of 1.4 %
        ("down_loss", 0.0375, 0.0376),
    ],
)
def test_a_row_of_table_1_is_outside_by_any_of_its_columns(column, inside, outside):
    assert first_table(**{column: inside})[1]
    row, ok = first_table(**{column: outside})
    assert not ok and sum(text.startswith("**") for text in row) == 1


def test_table_1_says_how_far_replications_are_apart():
    def cells(*losses):
        point = {"workload": "short-few-upload", findings.BUFFER: "64pkt"}
        up = ({"utilisation": 0.989, "loss": loss} for loss in losses)
        return findings.Cells({"point": point, "links": {"up": each}} for each in up)

    texts = []
    for each in (cells(0.33, 0.36), cells(0.30, 0.39)):
        [(row, ok)] = findings.table_1({"access": each})
        assert ok
        texts.append(dict(zip(findings.table_1_head(), row, strict=True))["loss up %"])
    assert texts == ["34.5 (34.7)", "34.5 (34.7), 30.0 to 39.0"]


def test_each_reading_of_a_session_stands_beside_what_was_published():
    def make(labels, replication):
        link = {"utilisation": 0.5, "loss": 0.1 + 0.05 * (replication % 2)}
        return {"point": labels, "links": {"up": link, "down": link}}

    rows = list(sessions.table_of(Fake(make)).rows)
    assert rows[0][:2] == ["**published**", "98.9 / 34.7; 0.3"]
    assert [row[0] for row in rows[1:]] == list(sessions.READINGS)
    assert rows[1][1] == "50.0 / 12.0 (10.0 to 15.0); 50.0"
    documents = [sessions.document(0, reading) for reading in sessions.READINGS.values()]
    assert documents[0]["workload"]["short-few-upload"][0]["count"] == 16
    assert len({str(each["workload"]) for each in documents}) == len(sessions.READINGS)
    for each in documents:
        assert [group["direction"] for group in each["workload"]["short-few-bidirectional"]] == ["up", "down"]
        assert [group["count"] for group in each["workload"]["short-many-download"]] == [16]
        assert each["path"]["up"]["overhead"] == "38B"
