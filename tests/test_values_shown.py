"""How numbers, labels and folders of results are called and written: units, digits, which way is better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sojourn.errors import SojournError, StoreError
from sojourn.parts import clip_files
from sojourn.report.figures import values
from sojourn.report.figures.values import axis_name, number_of, numbers_of, shared_unit, tick, value
from sojourn.results import Results, _column, engine_name, labelled, open_results
from sojourn.results.store import Store, plain_json, result_text, sealed

UNITS = {
    "delay": "ms",
    "loss": "%",
    "utilisation": "%",
    "share": "%",
    "percent": "%",
    "seconds": "s",
    "rate": "Mb/s",
}
LESS_IS_BETTER = {"delay": "low", "loss": "low", "seconds": "low", "percent": "low"}
MORE_IS_BETTER = {"mos": "high", "ssim": "high", "utilisation": "high", "rate": "high"}
ENDINGS = {
    "_ms": "ms",
    "_s": "s",
    "_kbps": "kb/s",
    "_mbps": "Mbit/s",
    "_pkts": "pkt",
    "_pct": "%",
    "_db": "dB",
}


def test_each_number_has_the_unit_and_the_better_way_of_its_kind() -> None:
    for path, (name, unit, kind, better) in values._KINDS.items():
        assert name and unit == UNITS.get(kind, unit), path
        assert better == {**LESS_IS_BETTER, **MORE_IS_BETTER}.get(kind, better), path
        for part in path.split("."):
            for ending, known in ENDINGS.items():
                if part.endswith(ending) and not part.endswith(f"_{ending}") and kind != "index":
                    assert unit == known, path
    for path in (
        "loss",
        "stalls",
        "instability",
        "retransmits",
        "abandoned",
        "frozen",
        "timeouts",
        "poor",
        "jumps",
    ):
        assert values._KINDS[path][3] == "low", path
    for path in (
        "good",
        "completed",
        "fps",
        "average_rate_kbps",
        "jain",
        "goodput_bps",
        "rpm.median",
        "z1.median",
    ):
        assert values._KINDS[path][3] == "high", path


@pytest.mark.parametrize(
    ("path", "number", "text"),
    [
        ("links.up.loss", 0.5, "50"),
        ("links.up.loss", 0.0999, "10.0"),
        ("links.up.loss", 0.05, "5.0"),
        ("links.up.loss", 0.00094, "0.09"),
        ("links.up.loss", 0.0, "0.0"),
        ("links.up.utilisation", 0.876, "88"),
        ("links.up.queue_delay_ms.mean", 0.04, "0.0"),
        ("links.up.queue_delay_ms.mean", 12.34, "12"),
        ("links.up.queue_delay_ms.mean", 9.96, "10.0"),
        ("voice.talks.mos.median", 4.125, "4.12"),
        ("video.ssim.median", 0.996, "1.00"),
        ("adaptive.instability", 0.01234, "0.0123"),
        ("web.plt_s.median", 3.25, "3.2"),
        ("web.plt_s.median", 99.96, "100.0"),
        ("web.plt_s.median", 100.0, "100"),
        ("flows.goodput_bps", 2_500_000.0, "2.5"),
        ("flows.retransmits", 0.04, "0.04"),
        ("flows.retransmits", -0.02, "−0.02"),
        ("links.up.loss", 2e-7, "0.00002"),
        ("adaptive.instability", 0.0000123, "0.0000123"),
        ("links.up.queue_delay_ms.mean", -0.01, "0.0"),
        ("flows.retransmits", None, "–"),
        ("flows.retransmits", float("inf"), "–"),
    ],
)
def test_a_number_is_written_in_the_unit_shown(path: str, number: float | None, text: str) -> None:
    assert value(path).text(number) == text


@pytest.mark.parametrize(
    ("path", "numbers", "texts"),
    [
        ("links.up.loss", (0.0, 0.0, 0.2), ["0", "0", "20"]),
        ("links.up.loss", (0.098, 0.094, 0.102), ["9.8", "9.4", "10.2"]),
        ("links.up.loss", (0.0004, 0.0, 0.2), ["0.0", "0.0", "20.0"]),
        ("links.up.loss", (0.0004, 0.00003), ["0.040", "0.003"]),
        ("links.up.loss", (0.5, 0.4, 0.6), ["50", "40", "60"]),
        ("links.up.loss", (0.0, 0.0), ["0.0", "0.0"]),
        ("voice.talks.mos.median", (4.0, 3.5), ["4.00", "3.50"]),
        ("links.up.jain", (0.98, 0.731, 1.0), ["0.98", "0.73", "1.00"]),
        ("links.up.queue_delay_ms.mean", (166.8, 9.4), ["167", "9"]),
        ("flows.retransmits", (-0.02, -20.0), ["0.0", "−20.0"]),
    ],
)
def test_the_numbers_of_a_cell_have_the_same_decimals(path, numbers, texts) -> None:
    assert value(path).alike(*numbers) == texts


def test_differences_have_a_sign_and_nothing_is_no_difference() -> None:
    loss = value("links.up.loss")
    assert [loss.difference(number) for number in (0.05, -0.05, 0.0, -0.0)] == ["+5.0", "−5.0", "0.0", "0.0"]
    assert value("links.up.queue_delay_ms.mean").difference(-0.01) == "0.0" and loss.difference(None) == "–"
    assert loss.as_printed(0.012345) == "1.234" and loss.with_unit(0.05) == "5.0 %"
    assert value("voice.talks.mos.median").with_unit(4.0) == "4.00"


def test_numbers_are_named_by_what_they_are_of() -> None:
    for path, title in (
        ("links.home.up.loss", "Home uplink: loss (%)"),
        ("links.down.queue_delay_ms.p95", "Downlink: queueing delay, 95th percentile (ms)"),
        ("adaptive.live.latency_s.mean", "Live video: mean latency (s)"),
        ("adaptive.stalls", "Adaptive video: stalls"),
        ("groups.a.reverse.loss", "a, against its data: loss (%)"),
        ("call.sends.frozen", "Video call, user sends: time frozen (%)"),
        ("links.up.new_ms", "Uplink: new (ms)"),
        ("links.up.some_thing", "Uplink: some thing"),
        ("losses.up.by_protocol.tcp.loss", "Uplink: loss of TCP (%)"),
    ):
        assert value(path).title == title
    assert value("links.up.loss").phrase == "loss (uplink)" and value("x.y", "kg").unit == "kg"
    assert values.has_name("links.up.loss") and not values.has_name("links.up.some_thing")


def test_axes_are_named_with_the_unit_of_all_their_labels() -> None:
    for axis, labels, name in (
        ("path.down.queue.limit", ["8pkt", "64pkt"], "Downlink buffer (packets)"),
        ("path.down.queue.limit", ["1BDP", "2BDP"], "Downlink buffer (× BDP)"),
        ("path.down.queue.limit", ["8pkt", "1BDP"], "Downlink buffer"),
        ("path.hop.home.up.queue.limit", ["8pkt"], "Home uplink buffer (packets)"),
        ("path.rtt", ["5ms", "50ms"], "Base RTT (ms)"),
        ("flows.0.transport", ["a"], "Transport"),
        ("flows.0.start-within", ["1s"], "Flows: start within (s)"),
        ("flows.2.start-within", ["1s"], "Flows (entry 3): start within (s)"),
        ("users.0.http", ["2"], "Users: HTTP"),
        ("path.down.loss", ["0.0"], "Downlink loss"),
        ("path.hop.home.up.loss", ["0.0"], "Home uplink loss"),
        ("path.ack-loss", ["0.0"], "Path ack loss"),
        ("path.hop.core.delay", ["1ms"], "Core delay (ms)"),
        ("flows.1.transport", ["a"], "Flows (entry 2): transport"),
        ("workload", ["none"], "Workload"),
    ):
        assert axis_name(axis, labels) == name
    assert shared_unit([]) == "" and shared_unit(["8", "9"]) == "" and shared_unit(["8pkt", "x"]) == ""
    assert tick("8pkt", "pkt") == "8" and tick("8pkt", "") == "8pkt" and tick("none", "pkt") == "none"


def test_labels_are_numbers_where_they_stand_on_one_scale() -> None:
    for label, number in (
        ("8pkt", 8), ("2.5Mbit", 2.5e6), ("3kbit", 3e3), ("1Gbit", 1e9), ("5us", 5e-3), ("5ms", 5),
        ("2s", 2000), ("2min", 120_000), ("1h", 3.6e6), ("500ns", 5e-4),
        ("30kB", 30e3), ("7", 7), ("x7", None), ("7 x y", None), ("", None),
    ):  # fmt: skip
        assert number_of(label) == (None if number is None else pytest.approx(number)), label
    assert numbers_of(["8pkt", "64pkt"]) == [8, 64] and numbers_of(["8pkt", "5ms"]) is None
    assert numbers_of(["8pkt", "many"]) is None and numbers_of(["30min", "1h"]) == [1_800_000, 3_600_000]


def folder(place: Path, points: list[str], there: dict[str, Any], **more: Any) -> Results:
    store = Store(place)
    store.prepare()
    entries = [{"hash": name, "point": {"axis": name}, "replication": 0} for name in points]
    store.write_study({"study": "s", "document": {}, "points": entries, **more})
    for name, engine in there.items():
        store.write_point(name, {"study": "x", "point": {}, "replication": 9, "links": {}, "engine": engine})
    return Results(place)


def test_what_is_on_disk_and_not_of_the_study_is_said(tmp_path: Path) -> None:
    ours = {"version": "1", "build": "ours"}
    there = {
        "aa1": ours,
        "aa2": ours,
        "bb": ours,
        "cc": {"version": "1", "build": "z"},
        "dd": {"version": "0"},
    }
    found = folder(tmp_path, ["aa1", "aa2", "zz"], there, engine="ours")
    assert (len(found), found.missing, found.foreign, found.captured) == (2, 1, 3, False)
    assert found.left_out() == [
        "1 point on disk is of another version of the study",
        "1 point on disk is of another engine (z)",
        "1 point on disk is of another engine (of before results named their engine)",
    ]
    assert found.find("aa1") == "aa1" and found["aa2"]["point"] == {"axis": "aa2"}
    first = next(iter(found))
    assert (first["study"], first["replication"], first["engine"]["wall_s"]) == ("s", 0, 0.0)
    for prefix, why in (("aa", "is the beginning of 2 points"), ("bb", "has no point 'bb'")):
        with pytest.raises(SojournError, match=why):
            found.find(prefix)
    found.store.record_time("aa1", 2.5)
    found.store.record_time("aa1", 3.5)
    assert Results(tmp_path)["aa1"]["engine"]["wall_s"] == 3.5
    captured = folder(tmp_path / "c", ["captured"], {"captured": ours})
    assert captured.captured and captured.left_out() == []


def test_results_are_opened_by_their_folder_their_record_or_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder(tmp_path / "results" / "mine", [], {})
    for name in ("results/mine", "results/mine/study.json", "mine"):
        assert open_results(name).name == "s"
    with pytest.raises(StoreError, match="did you mean mine\\? results has mine"):
        open_results("mint")
    with pytest.raises(StoreError, match="no such results directory; results has mine"):
        open_results("other")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"empty is not a results directory: it has no study\.json"):
        open_results("empty")
    (tmp_path / "empty" / "points").mkdir()
    (tmp_path / "empty" / "points" / f"{'a' * 32}.json").touch()
    with pytest.raises(
        StoreError, match=r"no study\.json; it has points, so run their study with --out empty$"
    ):
        open_results("empty")


def test_stored_results_are_plain_sealed_and_without_wall_time() -> None:
    text = result_text({"a": (1, float("nan")), 2: float("inf"), "engine": {"wall_s": 9, "build": "b"}})
    assert text == '{"a":[1,null],"2":null,"engine":{"build":"b"}}\n'
    made = sealed(b'{"a":1')
    assert (
        made.startswith(b'{"a":1,"sha256":"')
        and made.endswith(b'"}\n')
        and len(json.loads(made)["sha256"]) == 64
    )
    assert plain_json({"x": [True, None, "ä"]}) == {"x": [True, None, "ä"]}
    assert engine_name({"version": "1", "build": "b"}) == "sojourn 1, build b"
    assert labelled({"engine": {}}, "s", {}, 1, 2.0)["engine"]["wall_s"] == 2.0


def test_a_column_of_several_kinds_is_written_as_numbers_or_text() -> None:
    assert _column("a", [1, 2.5, None]).to_list() == [1.0, 2.5, None]
    assert _column("a", [1, 2]).dtype.is_integer() and _column("a", [1, "x", True]).to_list() == [
        "1",
        "x",
        "true",
    ]


def test_durations_of_manifests_are_days_to_seconds() -> None:
    for text, seconds in (
        ("PT8S", 8), ("PT1M30.5S", 90.5), ("PT1H", 3600), ("P1D", 86_400), ("P1DT1H1M1S", 90_061),
        ("PT", None),
        ("P", None), ("8S", None), ("", None),
    ):  # fmt: skip
        assert clip_files._duration(text) == seconds
    with pytest.raises(clip_files.Wrong, match=r"expected 0\.1 to 60 s"):
        clip_files._mpd(
            '<MPD mediaPresentationDuration="PT1H"><Period><AdaptationSet><SegmentTemplate duration="61"/>'
            '<Representation bandwidth="1000"/></AdaptationSet></Period></MPD>'
        )
    manifest = (
        '<MPD mediaPresentationDuration="PT9S"><Period duration="PT4S"><AdaptationSet>'
        '<Representation bandwidth="8000"><SegmentTemplate timescale="1000"><SegmentTimeline><S d="2000"/>'
        "</SegmentTimeline></SegmentTemplate></Representation></AdaptationSet></Period></MPD>"
    )
    # A period's own duration goes first: two segments of 2 s at 8 kb/s, 2000 bytes each.
    assert clip_files._mpd(manifest) == (2.0, [8.0], [[2000.0], [2000.0]])
