"""A study of losses from file to page: the log, analyses in the result, figures, findings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.losses.findings import BUFFER, Cells, departure, judge, look_for
from sojourn.report import write_report
from sojourn.report.figures import Spec, draw, gather, labels_of
from sojourn.results import Results
from sojourn.results.packet_log import ROWS_TOGETHER, run_into, schema, table, write_while
from sojourn.results.store import Store
from sojourn.study import Study
from sojourn.study.identity import engine
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.run import run
from sojourn.sweep.simulation import simulate, simulate_point
from test_figures import write_results

STUDIES = Path(__file__).parent.parent / "studies"
SESSIONS = """
source    = { kind = "sessions", closed-loop = true, sizes = SIZES, interconnection = GAPS }
transport = "newreno"
direction = "down"
"""
SESSIONS = SESSIONS.replace("SIZES", '{ kind = "pareto", shape = 1.5, mean = "60kB" }')
SESSIONS = SESSIONS.replace("GAPS", '{ kind = "exponential", mean = "1s" }')
TOML = f"""
name     = "small"
seed     = 3
duration = "12s"
warmup   = "2s"
[path]
rtt  = "50ms"
down = {{ rate = "20Mbit", queue = {{ kind = "fifo", limit = "32pkt" }} }}
up   = {{ rate = "unlimited", queue = {{ kind = "fifo", limit = "unlimited" }} }}
[[flows]]
source    = {{ kind = "cbr", rate = "80kbit", size = "200B" }}
transport = "udp"
direction = "down"
count     = 5
[[workload.low]]
count = 20{SESSIONS}
[[workload.high]]
count = 60{SESSIONS}
[record]
flows  = true
losses = ["down"]
[sweep]
workload = ["low", "high"]
"path.down.queue.limit" = ["32pkt", "128pkt", "256pkt"]
"""
FIGURES = {
    "curves": [
        "bursts.ccdf",
        "occupancy.density",
        "sizes.ccdf",
        "windows.by_size",
        "ssthresh.cdf",
        "scaling.diagram",
    ],
    "flow-boxes": ["per_flow.boxes"],
    "surface": ["scaling.over_time"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Run the study once, its points one after the other in this process."""
    where = tmp_path_factory.mktemp("losses")
    (where / "small.toml").write_text(TOML)
    figures = [
        {"kind": kind, "value": f"losses.down.{path}"} for kind, paths in FIGURES.items() for path in paths
    ]
    study = Study.load(where / "small.toml")
    document = study.document | {"figures": [f for f in figures if f["kind"] != "surface"]}
    study = Study(json.dumps(document), study.file)
    campaign = Campaign(study, where / "out")
    campaign.prepare()
    for point in campaign.todo:
        done = simulate_point(point, str(where / "out"), False, engine())
        assert hasattr(done, "result"), done
    return Results(where / "out")


def test_analyses_are_in_the_result_and_the_log_is_gone(results: Results) -> None:
    assert len(results) == 6
    for point, result in results.items():
        found, link = result["losses"]["down"], result["links"]["down"]
        # The window of the summary and the log must say the same.
        assert (found["packets"], found["lost_pkts"]) == (link["arrived_pkts"], link["dropped_pkts"])
        assert found["loss"] == pytest.approx(link["loss"], abs=1e-9)
        packet = 1500 * 8 / link["rate_bps"]
        assert found["utilisation"]["bins"] == 10
        assert found["utilisation"]["mean"] == pytest.approx(link["utilisation"], abs=2 * packet)
        for name, value in link["utilisation_quantiles"].items():
            assert found["utilisation"]["quantiles"][name] == pytest.approx(value, abs=0.03)
        assert sum(map(int, found["bursts"]["lengths"].values())) == found["bursts"]["count"]
        lost = sum(int(length) * count for length, count in found["bursts"]["lengths"].items())
        assert lost == found["lost_pkts"]
        assert not results.store.packet_file(point).exists()
        flows = results.flows(point[:8])
        assert flows["link"].to_list()[0] == "down" and flows.height > 50
    assert not list(results.store.packets.iterdir())


def test_the_log_in_pieces_is_the_log_at_once(tmp_path: Path) -> None:
    study = tmp_path / "small.toml"
    study.write_text(TOML.replace('losses = ["down"]', "packets = true"))
    text = (
        Study.load(
            study, [("duration", "60s"), ("path.down.rate", "100Mbit"), ("workload.high.0.count", "250")]
        )
        .points[3]
        .text
    )
    with (tmp_path / "a.parquet").open("wb") as file:
        ran = run_into(text, file)
    whole = table(_core.run(text, True)["packets"])
    assert whole.height > ROWS_TOGETHER, "more than one piece"
    assert "packets" not in ran and "flows" in ran
    log = pl.read_parquet(tmp_path / "a.parquet")
    assert dict(log.schema) == schema() and list(log.columns) == list(schema())
    for link in ("down", "up"):
        assert log.filter(pl.col("link") == link).equals(whole.filter(pl.col("link") == link))
    with (tmp_path / "b.parquet").open("wb") as file:
        run_into(text, file)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    # The table of connections, too, agrees with the log.
    flows = pl.DataFrame(ran["flows"]).filter(pl.col("link") == 0)
    counted = (
        log.filter(pl.col("link") == "down")
        .group_by("flow")
        .agg(pl.len().alias("all"), pl.col("drop_cause").is_not_null().sum().alias("gone"))
    )
    both = flows.join(counted, on="flow")
    assert both.height == flows.filter(pl.col("packets") > 0).height
    assert (both["packets"] == both["all"]).all() and (both["lost"] == both["gone"]).all()


def test_what_goes_wrong_while_a_log_is_written(tmp_path: Path) -> None:
    before = threading.active_count()
    with (tmp_path / "a").open("wb") as file, pytest.raises(RuntimeError, match="stumbled"):
        write_while(lambda take: (_ for _ in ()).throw(RuntimeError("stumbled")), file)

    def endless(take: object) -> None:
        while True:
            take({"link": 3})

    with (tmp_path / "b").open("wb") as file, pytest.raises(KeyError, match="packet"):
        write_while(endless, file)
    assert threading.active_count() == before
    text = Study.load(STUDIES / "flows-pareto15.toml", [("duration", "40s")]).points[0].text
    store = Store(tmp_path / "out")
    store.prepare(packets=True)
    with pytest.raises(RuntimeError), store.packets_written("ab", keep=True) as file:
        file.write(b"half a log")
        raise RuntimeError
    assert not list(store.packets.iterdir())
    assert json.loads(text)["document"]["record"] == {"packets": False, "flows": True, "losses": ["down"]}


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_work_that_has_no_rows_yet(tmp_path: Path, stop: signal.Signals) -> None:
    """As of captures that are read twice before the first packet is known to be lost."""

    def reads(take: Callable[[dict], None]) -> None:
        while True:
            take({"packet": []})
            time.sleep(0.01)

    threads = threading.active_count()
    before = signal.signal(stop, signal.default_int_handler)
    alarm = threading.Timer(0.5, os.kill, (os.getpid(), stop))
    alarm.start()
    try:
        with (tmp_path / "a").open("wb") as file, pytest.raises(KeyboardInterrupt):
            write_while(reads, file)
    finally:
        signal.signal(stop, before)
    alarm.join()
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("kind", "path"), [(kind, path) for kind, paths in FIGURES.items() for path in paths]
)
def test_figures(results: Results, kind: str, path: str) -> None:
    found = list(results)
    if kind == "surface":  # its windows are of a minute, which these runs are too short for
        series = {"start_s": [0.0, 30.0, 60.0], "octave": [1, 2, 3], "log2_energy": [[0.0, 1.0, None]] * 3}
        for result in found:
            result["losses"]["down"]["scaling"]["over_time"] = series
    axes = labels_of(result["point"] for result in found)
    plot = gather(Spec.read({"kind": kind, "value": f"losses.down.{path}"}), found, axes)
    figure = draw(plot)
    panels = {"curves": 3, "flow-boxes": 6, "surface": 6}[kind]
    assert sum(axes.get_visible() for axes in figure.axes) == panels
    with pytest.raises(SojournError, match=r"needs an object of lists|no result has"):
        gather(Spec.read({"kind": kind, "value": "losses.down.bursts"}), found, axes)


@pytest.mark.usefixtures("svg_only")
def test_the_page_of_another_study_has_no_findings_of_a_publication(results: Results, tmp_path: Path) -> None:
    # One figure of each kind: drawing is nearly all that a page takes.
    few = tmp_path / "few"
    shutil.copytree(results.store.path, few)
    record = json.loads((few / "study.json").read_text())
    of_kind = {figure["kind"]: figure for figure in reversed(record["document"]["figures"])}
    record["document"]["figures"] = list(of_kind.values())
    (few / "study.json").write_text(json.dumps(record))
    page = write_report(few, tmp_path).read_text()
    assert results.document["sweep"]["workload"] == ["low", "high"]
    assert page.count("<figure") >= len(of_kind) == 2, "the page has its figures"
    assert "publication found" not in page and "Small buffers cap utilisation" not in page
    again = write_report(few, tmp_path / "again").read_text()
    assert page == again


def cell(load: str, buffer: int, **values: object) -> dict:
    base = {
        "utilisation": {"mean": 0.9},
        "bursts": {"stitched_ccdf": {"length_pkts": [1, 5, 20], "share": [1.0, 0.02, 0.001]}},
        "by_protocol": {"tcp": {"loss": 0.02}, "udp": {"loss": 0.01}},
        "windows": {"largest_pkts": 2.0 * buffer},
        "per_flow": {
            "most_lossy_bytes": 2.0**21,
            "boxes": {"from_bytes": [2.0**15, 2.0**21], "flows": [500, 50], "mean": [0.001, 0.02]},
        },
        "scaling": {
            "below_rtt": {"alpha": 0.5 if buffer == 256 else 0.02},
            "haar": {"octave": [1, 4, 5], "log2_energy": [0.0, 1.0, 1.1]},
            "independence": {"rejected_share": 0.05},
        },
    }
    return {"point": {"workload": load, BUFFER: f"{buffer}pkt"}, "losses": {"down": base | values}}


PUBLISHED = {
    "bursts": {"stitched_ccdf": {"length_pkts": [1, 5, 20], "share": [1.0, 0.2, 0.05]}},
    "by_protocol": {"tcp": {"loss": 0.001}, "udp": {"loss": 0.002}},
    "per_flow": {
        "boxes": {
            "from_bytes": [2.0**15, 2.0**21, 2.0**25, 2.0**26],
            "flows": [500, 50, 10, 9],
            "mean": [0.001, 0.02, 0.01, 0.5],
        }
    },
}


def study_of(**changed: dict) -> list[dict]:
    """Return the cells of a study that finds what was published, but for the cells that are changed."""
    found = []
    for load in ("low", "high", "very-high"):
        for buffer in (16, 32, 128, 256):
            values: dict = {"utilisation": {"mean": 0.9 if buffer == 256 else 0.7}}
            values |= PUBLISHED if load == "low" and buffer >= 128 else {}
            found.append(cell(load, buffer, **values | changed.get(f"{load.replace('-', '_')}_{buffer}", {})))
    return found


def verdicts(results: list[dict]) -> list[bool | None]:
    return [finding.holds for finding in look_for(Cells(results))]


def test_findings_hold() -> None:
    found = list(look_for(Cells(study_of())))
    assert [finding.holds for finding in found] == [True] * 7
    assert "low 0.50 0.50 2.00 2.00" in found[2].here and "2 MB 2.00 %" in found[3].here
    assert all(finding.reading for finding in found)


def burst(*share: float) -> dict:
    return {"bursts": {"stitched_ccdf": {"length_pkts": [1, 5, 20], "share": list(share)}}}


def boxes(*mean: float, flows: tuple[int, ...] = (500, 50, 50)) -> dict:
    sizes = [2.0**15, 2.0**21, 2.0**25]
    return {"per_flow": {"boxes": {"from_bytes": sizes, "flows": list(flows), "mean": list(mean)}}}


def loss(tcp: float, udp: float) -> dict:
    return {"by_protocol": {"tcp": {"loss": tcp}, "udp": {"loss": udp}}}


def slope(alpha: float) -> dict:
    return {"scaling": {"below_rtt": {"alpha": alpha}}}


@pytest.mark.parametrize(
    ("which", "changed", "holds"),
    [
        # Low load does not lose utilisation though the others do: not whatever the load.
        (0, {"low_16": {"utilisation": {"mean": 0.88}}}, False),
        (0, {"very_high_16": {"utilisation": {"mean": 0.86}}}, False),
        (0, {"very_high_16": {"utilisation": {"mean": 0.84}}}, True),
        (0, {"low_16": {"utilisation": {"mean": None}}}, None),
        (1, {"very_high_256": burst(1.0, 0.2, 0.01)}, False),
        (1, {"very_high_256": burst(1.0, 0.2, 0.009)}, True),
        (1, {"low_256": burst(1.0, 0.2, 0.005)}, False),
        (2, {"low_128": loss(0.02, 0.01)}, False),
        (2, {"low_128": loss(0.02, 0.02)}, True),
        (2, {"low_128": loss(0.0, 0.0)}, None),
        (2, {"low_256": loss(0.0, 0.01)}, True),
        (2, {"low_32": loss(0.02, 0.02)}, False),
        (2, {"very_high_256": loss(0.01, 0.02)}, False),
        (3, {"low_128": boxes(0.01, 0.02, 0.03)}, False),
        (3, {"low_128": boxes(0.03, 0.02, 0.01)}, False),
        (3, {"low_128": boxes(0.02, 0.02, 0.01)}, False),
        (3, {"low_128": boxes(0.01, 0.02, 0.03, flows=(500, 50, 9))}, None),
        (3, {"low_128": boxes(0.03, 0.02, 0.01, flows=(9, 50, 50))}, None),
        (4, {"very_high_32": {"windows": {"largest_pkts": 81.0}}}, False),
        (4, {"very_high_32": {"windows": {"largest_pkts": 80.0}}}, True),
        (5, {"low_32": slope(0.11)}, False),
        (5, {"low_32": slope(-0.11)}, False),
        (5, {"low_32": slope(-0.09), "high_32": slope(0.5)}, True),
        (6, {"high_256": slope(0.1)}, False),
        (6, {"high_256": slope(-0.5)}, False),
    ],
)
def test_a_finding_is_judged_by_all_that_it_says(which: int, changed: dict, holds: bool | None) -> None:
    expected: list[bool | None] = [True] * 7
    expected[which] = holds
    assert verdicts(study_of(**changed)) == expected


def test_each_replication_must_show_what_is_said_of_sizes() -> None:
    worse = cell("low", 128, **PUBLISHED | boxes(0.001, 0.002, 0.05))
    assert verdicts([*study_of(), worse])[3] is False


def test_what_cannot_be_said_is_not_judged() -> None:
    assert verdicts([cell("high", 64)]) == [None, None, None, None, True, None, None]
    two = [one for one in study_of() if one["point"]["workload"] != "very-high"]
    assert verdicts(two) == [None, None, True, True, True, True, True]
    assert not Cells([{"point": {"workload": "low", BUFFER: "2BDP"}, "losses": {"down": {}}}])


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        ([("path.down.rate", "200Mbit")], "its path.down.rate is 200Mbit, not 242Mbit"),
        ([("path.down.rate", "242000kbit"), ("duration", "60s"), ("repeat", "3")], None),
        ([("path.rtt", "100ms")], "its RTT is 100ms, not 150ms"),
        ([("workload.high.0.count", "200")], "its number of sessions at high load is 200, not 436 to 447"),
        ([("workload.low.0.transport", "cubic")], "its transport at low load is cubic, not newreno"),
        ([("workload.low.0.source.sizes.mean", "60kB")], "is 60kB, not 110kB"),
        ([("path.down.queue.kind", "codel")], "its path.down.queue.kind is codel, not fifo"),
        ([("path.down.loss", "0.01")], "its path.down.loss is 0.01, not 0"),
        (
            [("sweep.workload", '["none", "low", "high", "very-high"]')],
            "its workload is none, not one of low, high, very-high",
        ),
        ([("workload.low.0.initial-window", "3")], None),
    ],
)
def test_findings_are_judged_only_on_the_path_and_at_the_loads_of_the_publication(
    sets: list[tuple[str, str]], says: str | None
) -> None:
    document = Study.load(STUDIES / "flows-pareto15.toml", sets).document
    found, why = judge(document, study_of())
    if says is None:
        assert (why, len(found)) == (None, 7)
    else:
        assert not found and why is not None and says in why
    assert judge({**document, "reproduces": "has"}, study_of()) == ([], None)
    del document["reproduces"]
    assert judge(document, study_of()) == ([], None)


@pytest.mark.usefixtures("svg_only")
def test_the_page_of_the_publication_says_what_was_found_and_what_has_changed(tmp_path: Path) -> None:
    study = Study.load(STUDIES / "flows-pareto15.toml")
    shared = {"study": "flows", "replication": 0, "links": {}, "engine": {}}
    whole = [one | shared for one in study_of()]
    document = {key: value for key, value in study.document.items() if key != "figures"}
    figures = [{"kind": "table", "value": "losses.down.utilisation.mean"}]
    page = write_report(write_results(tmp_path / "a", whole, figures, **document)).read_text()
    assert "the loss process of one router buffer" in page and "Small buffers cap utilisation" in page
    assert page.count(">holds<") == 7
    document["path"]["down"]["rate"] = "100Mbit"
    page = write_report(write_results(tmp_path / "b", whole, figures, **document)).read_text()
    assert "no longer that of the publication: its path.down.rate is 100Mbit, not 242Mbit" in page
    assert "Small buffers" not in page


def test_the_schema_knows_the_publications_that_are_cited() -> None:
    known = {each["const"] for each in json.loads(_core.schema())["$defs"]["Publication"]["oneOf"]}
    assert known == set(tomllib.loads((STUDIES / "published" / "citations.toml").read_text())["studies"])
    with pytest.raises(_core.StudyError, match="unknown variant `imc15`"):
        _core.parse('reproduces = "imc15"\n' + TOML, "mine.toml", [])


@pytest.mark.parametrize("name", ["flows-pareto12", "flows-pareto15", "flows-pareto20", "flows-exponential"])
def test_studies_are_as_published_but_for_sizes(name: str) -> None:
    study = Study.load(STUDIES / f"{name}.toml")
    assert study.name == name and len(study.points) == 15
    assert study.document["reproduces"] == "flows" and departure(study.document) is None
    document = study.points[0].document
    assert document["duration"] == "1800s" and document["path"]["down"]["rate"] == "242Mbit"
    assert len(study.document["figures"]) >= 14
    sizes = document["flows"][1]["source"]["sizes"]
    assert sizes["mean"] == "110kB"


def test_a_result_with_losses_is_the_same_bytes_again(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    only = {"workload": "high", BUFFER: "32pkt"}
    for out in ("a", "b"):
        run(tmp_path / "small.toml", out=tmp_path / out, sets={"duration": "6s"}, only=only, jobs=1)
    files = [next((tmp_path / out / "points").iterdir()) for out in ("a", "b")]
    assert files[0].name == files[1].name and files[0].read_bytes() == files[1].read_bytes()
    result, tables, _ = simulate(Study.load(tmp_path / "small.toml").points[0])
    assert "losses" not in result and "flows" in tables
