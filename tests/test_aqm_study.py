"""The AQM study: its files, a short run of each, and what the validation makes of them."""

import json
import statistics
from pathlib import Path

import pytest
from sojourn.report import published
from sojourn.report.figures import Spec, gather, labels_of
from sojourn.results import Results
from sojourn.study import Study
from sojourn.sweep.simulation import simulate
from sojourn.sweep.workers import open_workers

from tools.validation import aqm, aqm_peers, aqm_scene
from tools.validation.report import Page, write

STUDIES = Path(__file__).parents[1] / "studies"
FILES = sorted(STUDIES.glob("aqm-*.toml"))
VIDEO = STUDIES / "aqm-video.toml"
FILES.remove(VIDEO)
POINTS = {
    "aqm-buffers": 4 * 5,
    "aqm-target": 3 * 6,
    "aqm-rtt": 4 * 6,
    "aqm-mixed-rtt": 4 * 5,
    "aqm-capacity": 4 * 6,
    "aqm-tcp": 4 * 4,
    "aqm-fluctuating": 9,
}


def test_there_is_a_file_for_each_figure():
    assert {file.stem for file in FILES} == POINTS.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_short_run_of_every_study(file):
    study = Study.load(file, [("duration", "6s"), ("warmup", "1s"), ("repeat", "1")])
    assert len(study.points) == POINTS[file.stem]
    whole = Study.load(file)
    assert len(whole.points) >= 10 * POINTS[file.stem]
    # The last point, whose discipline is CoDel in every file.
    result, _, _ = simulate(study.points[-1])
    down = result["links"]["down"]
    assert down["departed_pkts"] > 100
    waiting = down["arrived_pkts"] - down["departed_pkts"] - down["dropped_pkts"]
    assert abs(waiting) <= 400, (
        "what arrived has left, was dropped, or waits (or waited when the period began)"
    )
    # Little's law, over five seconds that begin and end with packets in the queue.
    mean_ms = down["queue_delay_ms"]["mean"]
    assert down["occupancy_pkts"] == pytest.approx(down["departed_pkts"] / 5 * mean_ms / 1e3, rel=0.25)
    assert down["queue_delay_ms"]["p95"] <= down["queue_delay_ms"]["max"]
    carried_bps = 8 * down["departed_bytes"] / 5
    assert 0.5 * carried_bps < result["flows"]["goodput_bps"] < carried_bps
    for figure in study.document["figures"]:
        value = result
        for part in figure["value"].split("."):
            # No call of 30 s has ended yet.
            value = value.get(part, {}) if part != "voice" or part in value else {}
        assert isinstance(value, float) or figure["value"].startswith("voice")


def test_the_study_of_video_shows_a_clip_behind_every_discipline():
    study = Study.load(VIDEO, [("repeat", "1")])
    assert len(study.points) == 4 * 3
    assert {entry["value"].split(".")[0] for entry in study.document["figures"]} == {"video", "voice"}


def test_calls_are_scored_by_the_e_model():
    sets = [("duration", "20s"), ("repeat", "1"), ("users.0.call", "4s")]
    study = Study.load(STUDIES / "aqm-rtt.toml", [*sets, ("warmup", "1s")])
    result, _, _ = simulate(study.points[0])
    listens = result["voice"]["listens"]
    assert listens["model"] == "emodel"
    assert listens["late"] == 0
    assert 1.0 <= listens["mos"]["mean"] < 4.2
    # 20 ms of speech and 5 ms of look-ahead on top of the network's delay, and no buffer.
    assert listens["ta_ms"] == pytest.approx(listens["delay_ms"] + 25, abs=0.01)


def test_figure_3_finds_its_published_cells():
    study = Study.load(STUDIES / "aqm-target.toml", [("repeat", "1")])
    results = [
        {
            "point": point.labels,
            "replication": 0,
            "links": {"down": {"queue_delay_ms": {"mean": 40.0}, "loss": 0.05}},
        }
        for point in study.points
    ]
    axes = labels_of(result["point"] for result in results)
    found = {}
    for entry in study.document["figures"][:2]:
        compared = published.beside(gather(Spec.read(entry), results, axes), [STUDIES])
        rows = compared.frame.filter(compared.frame["published"].is_not_null())
        found[entry["value"]] = {(row["y"], row["x"]): row["published"] for row in rows.iter_rows(named=True)}
    delays, drops = found["links.down.queue_delay_ms.mean"], found["links.down.loss"]
    assert delays["red", "2ms"] == 35.2
    assert delays["pie", "50ms"] == 92.2
    assert delays["codel", "35ms"] == 35
    assert len(delays) == 9
    assert drops["codel", "2ms"] == pytest.approx(0.142)
    assert len(drops) == 6


def test_variations_change_what_they_say():
    base, cells = aqm.variation("study")
    assert cells[:3] == [("red", 2), ("red", 10), ("red", 50)]
    assert len(cells) == 9
    tcp = [flows for flows in base["flows"] if flows["transport"] != "udp"]
    assert not any(flows["delayed-ack"] for flows in tcp)
    delayed, _ = aqm.variation("delayed-acks")
    assert all(flows["delayed-ack"] for flows in delayed["flows"] if flows["transport"] != "udp")
    spoken, _ = aqm.variation("no-pauses")
    assert "talk-spurts" in base["users"][0]
    assert "talk-spurts" not in spoken["users"][0]
    counted, cells = aqm.variation("pie-packets")
    assert [queue["mean-packet"] for queue in counted["sweep"]["path.down.queue"]] == ["500B"] * 3
    assert all(queue["in-packets"] for queue in counted["sweep"]["path.down.queue"])
    assert cells == [("pie", 2), ("pie", 10), ("pie", 50)]
    whole, _ = aqm.variation("whole-web")
    assert whole["flows"][2]["source"] == {"kind": "packmime", "rate": 4}


def test_the_published_figures_are_those_of_the_table():
    found = aqm.published()
    assert found["codel", 2] == {"delay": 13.2, "loss": pytest.approx(0.142)}
    assert {key for key, entry in found.items() if "loss" not in entry} == {
        (kind, target) for kind, target in aqm.CALIBRATED_MS.items()
    }


def test_the_page_has_the_section(tmp_path, monkeypatch):
    """A short form of the validation's own runs: the page is written, and rules are applied."""
    document = Study.load(STUDIES / "aqm-target.toml").document
    assert document["duration"] == "200s"
    scene = aqm_scene.scene
    short = {"duration": "8s", "warmup": "2s", "repeat": 1}

    def shortened():
        document = {**scene(), **short}
        document["users"][0]["call"] = "2s"
        return document

    monkeypatch.setattr(aqm_scene, "scene", shortened)
    monkeypatch.setattr(aqm_scene, "REPLICATIONS", 1)
    monkeypatch.setattr(aqm, "VARIATIONS", {key: aqm.VARIATIONS[key] for key in ("study", "mean-packet")})
    monkeypatch.setattr(aqm, "PIE_VARIATIONS", {"pie-cap": aqm.PIE_VARIATIONS["pie-cap"]})
    with open_workers(jobs=1) as workers:
        page = Page(tmp_path, executor=workers.executor)
        page.make("aqm", tmp_path / "docs")
    assert not page.missing
    compared = list(aqm_peers.rows(aqm_scene.scene()["queues"]))
    text = write(page, tmp_path / "docs").read_text(encoding="utf-8")
    assert "| The study of active queue management | 16 |" in text
    assert f"| Its scene on the two simulators | {3 * len(compared)} |" in text
    assert "| active queue management | 5 |" in text
    assert "| peers-fifo-100pkt | down |" in text
    assert "PIE's open settings" in text
    assert "What the open settings change" in text
    assert "| the study | 35.2 / 35 / 74.4 | 7.2 / – / 4 |" in text
    stored = list(Results(tmp_path / "aqm" / "aqm-study"))
    assert json.dumps(stored[0]["point"]).count("red target=2ms") == 1


def test_every_row_has_its_figures_of_the_peers():
    rows = list(aqm_peers.rows(aqm_scene.scene()["queues"]))
    assert len({row.name for row in rows}) == len(rows)
    text = (Path(aqm_peers.__file__).parent / "data" / "aqm-peers.csv").read_text(encoding="utf-8")
    table = [line.split(",") for line in text.splitlines()[1:]]
    for row in rows:
        for peer in row.peers:
            delayed = str(int(row.scene == "delayed-acks"))
            key = [peer, row.kind, str(row.target_ms), str(row.limit), delayed, row.variant]
            own = [list(map(float, line[7:])) for line in table if line[:6] == key]
            assert len(own) == 3, row.name
            means = [statistics.fmean(column) for column in zip(*own, strict=True)]
            found = [aqm_peers.mean(row.of(peer), name) for name in ("delay", "loss", "utilisation")]
            assert found == pytest.approx(means)
            # No packet waits longer than it takes to send a full buffer; no link carries more than its rate.
            assert 0 < found[0] <= row.limit * aqm_peers.DEVICE_PACKET_MS
            assert 0 <= found[1] < 0.2 and 0.9 < found[2] <= 1
    assert {len(entries) for entries in aqm_peers.measured().values()} == {3}
