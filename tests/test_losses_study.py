"""A study of losses from file to page: the log, analyses in the result, figures, findings."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import polars as pl
import pytest
from sojourn import _core
from sojourn.losses.findings import BUFFER, Cells, look_for
from sojourn.report import write_report
from sojourn.report.figures import Spec, draw, gather, labels_of
from sojourn.results import Results
from sojourn.results.packet_log import ROWS_TOGETHER, run_into, schema, table, write_while
from sojourn.results.store import Store
from sojourn.study import Study
from sojourn.study.identity import engine
from sojourn.sweep import Campaign, run
from sojourn.sweep.simulation import simulate, simulate_point

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

    with (tmp_path / "b").open("wb") as file, pytest.raises(Exception):  # noqa: B017  (whichever polars chooses)
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
    with pytest.raises(Exception, match=r"needs an object of lists|no result has"):
        gather(Spec.read({"kind": kind, "value": "losses.down.bursts"}), found, axes)


def test_page_with_findings(results: Results, tmp_path: Path) -> None:
    page = write_report(results.store.path, tmp_path).read_text()
    assert "What the study found" in page and "Small buffers cap utilisation" in page
    assert page.count("does not hold") + page.count(">holds<") + page.count("cannot be said") == 7
    again = write_report(results.store.path, tmp_path / "again").read_text()
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


def test_findings_hold_and_do_not_hold() -> None:
    def study(**low_256: object) -> list[dict]:
        cells = [cell(load, buffer) for load in ("low", "high") for buffer in (16, 32, 128)]
        cells = [
            c | {"losses": {"down": c["losses"]["down"] | {"utilisation": {"mean": 0.7}}}} for c in cells
        ]
        return [*cells, cell("low", 256, **low_256), cell("high", 256)]

    as_published = {
        "bursts": {"stitched_ccdf": {"length_pkts": [1, 5, 20], "share": [1.0, 0.2, 0.05]}},
        "by_protocol": {"tcp": {"loss": 0.001}, "udp": {"loss": 0.002}},
    }
    found = list(look_for(Cells(study(**as_published))))
    assert [finding.holds for finding in found] == [True] * 7
    assert "low 0.50 0.50 0.50 2.00" in found[2].here and "2 MB 2.00 %" in found[3].here
    found = list(look_for(Cells(study(windows={"largest_pkts": 2000.0}))))
    assert [finding.holds for finding in found] == [True, False, False, True, False, True, True]
    few = list(look_for(Cells([cell("high", 64)])))
    assert [finding.holds for finding in few] == [None, None, None, None, True, None, None]
    assert not Cells([{"point": {"workload": "low", BUFFER: "2BDP"}, "losses": {"down": {}}}])


@pytest.mark.parametrize("name", ["flows-pareto12", "flows-pareto15", "flows-pareto20", "flows-exponential"])
def test_studies_are_as_published_but_for_sizes(name: str) -> None:
    study = Study.load(STUDIES / f"{name}.toml")
    assert study.name == name and len(study.points) == 15
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
    result, flows, _ = simulate(Study.load(tmp_path / "small.toml").points[0])
    assert "losses" not in result and flows is not None
