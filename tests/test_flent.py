"""`sojourn export … .flent.gz`: what Flent reads, and what it draws of it."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import subprocess
import sys
from types import SimpleNamespace

import polars as pl
import pytest
from sojourn import _core
from sojourn.capture import export as exporting
from sojourn.capture import flent
from sojourn.errors import SojournError

STUDY = """
name = "lab"
duration = "10s"
[path]
rtt = "50ms"
down = {{ rate = "10Mbit", queue = {{ kind = "fifo", limit = "40pkt" }} }}
up   = {{ rate = "2Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
{flows}
"""
FLOWS = """
[[flows]]
source    = {{ kind = "bulk" }}
transport = "cubic"
direction = "{}"
count     = 2
"""


def made(sojourn, tmp_path, *directions: str) -> dict:
    study = tmp_path / "lab.toml"
    study.write_text(STUDY.format(flows="".join(FLOWS.format(direction) for direction in directions)))
    sojourn("export", study, "lab.flent.gz")
    return json.loads(gzip.decompress((tmp_path / "lab.flent.gz").read_bytes()))


@pytest.mark.parametrize(
    ("directions", "test", "streams"),
    [
        (("down",), "tcp_ndown", ["TCP download::1", "TCP download::2", "TCP download sum"]),
        (("up",), "tcp_nup", ["TCP upload::1", "TCP upload::2", "TCP upload avg"]),
        (("down", "up"), "rrul_be_nflows", ["TCP download BE::1", "TCP upload BE::2", "TCP totals"]),
    ],
)
def test_series_are_named_as_the_test_of_flent_names_them(sojourn, tmp_path, directions, test, streams):
    found = made(sojourn, tmp_path, *directions)
    assert (found["version"], found["metadata"]["NAME"]) == (4, test)
    assert {*streams, "Ping (ms) ICMP"} <= found["results"].keys()
    steps = len(found["x_values"])
    assert steps == 50 and {len(series) for series in found["results"].values()} == {steps}
    assert found["raw_values"]["Ping (ms) ICMP"][7]["val"] == found["results"]["Ping (ms) ICMP"][7]
    assert found["metadata"]["TEST_PARAMETERS"] == {f"{word}load_streams": 2 for word in directions}


def test_the_series_are_those_of_the_run(sojourn, tmp_path):
    found = made(sojourn, tmp_path, "down")["results"]
    [ran] = sojourn.json("run", tmp_path / "lab.toml", "--out", "out")
    sums = found["TCP download sum"]
    assert sum(sums) / len(sums) * 1e6 == pytest.approx(ran["flows"]["goodput_bps"], rel=0.02)
    assert min(found["Ping (ms) ICMP"]) >= 50
    mean = sum(found["Ping (ms) ICMP"][5:]) / 45
    # Of acknowledgements the way back is empty.
    assert mean == pytest.approx(50 + ran["links"]["down"]["queue_delay_ms"]["mean"], rel=0.1)


def test_a_path_of_hops_has_all_their_delays_and_each_flow_its_last_queue(sojourn, tmp_path):
    hop = 'up = {{ rate = "{0}", queue = {{ kind = "fifo", limit = "50pkt" }} }}\n'
    hop += 'down = {{ rate = "{0}", queue = {{ kind = "fifo", limit = "50pkt" }} }}\n'
    path = '[path]\nclient-delay = "1ms"\nserver-delay = "2ms"\n'
    for name, delay, rate in (("home", "10ms", "4Mbit"), ("core", "20ms", "20Mbit")):
        path += f'[[path.hop]]\nname = "{name}"\ndelay = "{delay}"\n' + hop.format(rate)
    flow = '[[flows]]\nsource = {{ kind = "bulk" }}\ntransport = "cubic"\ndirection = "down"\nover = {}\n'
    flows = "".join(flow.format(over) for over in ('["home", "core"]', '["core"]'))
    (tmp_path / "hops.toml").write_text(f'name = "hops"\nduration = "10s"\n{path}{flows}')
    sojourn("export", "hops.toml", "hops.flent.gz")
    found = json.loads(gzip.decompress((tmp_path / "hops.flent.gz").read_bytes()))["results"]
    assert 66 <= min(found["Ping (ms) ICMP"]) < 70
    home, core = sorted(sum(found[f"TCP download::{n}"][20:]) / 30 for n in (1, 2))
    assert 2.5 < home < 4 < core < 20, "what left the queue at home, and what left the core's"


def test_flent_goes_by_the_name_so_what_is_not_called_gz_is_not_packed(sojourn, tmp_path):
    packed = made(sojourn, tmp_path, "down")
    sojourn("export", tmp_path / "lab.toml", "lab.flent")
    assert json.loads((tmp_path / "lab.flent").read_text()) == packed


def test_the_same_run_is_the_same_file(sojourn, tmp_path):
    made(sojourn, tmp_path, "down")
    first = (tmp_path / "lab.flent.gz").read_bytes()
    made(sojourn, tmp_path, "down")
    assert (tmp_path / "lab.flent.gz").read_bytes() == first


def test_a_run_without_tcp_and_a_truth_beside_it_get_a_sentence(sojourn, tmp_path):
    study = tmp_path / "lab.toml"
    study.write_text(STUDY.format(flows=""))
    assert "no data of TCP" in sojourn("export", study, "lab.flent.gz", code=2).stderr
    assert not (tmp_path / "lab.flent.gz").exists()
    done = sojourn("export", study, "lab.flent.gz", "--truth", "t.csv", code=2)
    assert "--truth does not go with" in done.stderr


MS = 1_000_000
LOG = [
    # link, flow, kind, bytes, arrived and left (ms); in steps of 200 ms, the run lasts 500 ms.
    ("down", 1, "data", 1552, 10, 30), ("down", 1, "data", 1552, 190, 210),
    ("down", 0, "data", 1052, 20, 190),
    ("down", 1, "ack", 52, 30, 31), ("down", 0, "data", 1552, 40, None), ("up", 1, "ack", 52, 30, 36),
    ("down", 0, "data", 40, 420, 430), ("down", 0, "data", 1552, 450, 650),
    ("up", 2, "data", 552, 410, 450),
]  # fmt: skip


def logged(rows: list) -> pl.DataFrame:
    names = ("link", "flow", "kind", "size_bytes", "arrive_ns", "depart_ns")
    table = [(*row[:4], row[4] * MS, None if row[5] is None else row[5] * MS) for row in rows]
    types = {"link": pl.Enum(["down", "up"]), "kind": pl.Enum(["data", "ack"])}
    return pl.DataFrame(table, list(names), orient="row").cast(types)


def told(monkeypatch: pytest.MonkeyPatch, rows: list, **document: object) -> dict:
    path = {"client-delay": "3ms", "server-delay": "7ms"}
    point = SimpleNamespace(
        document={"duration": "500ms", "warmup": "0s", "path": path, **document},
        text="a point", study="lab", hash="h4sh", labels={"rate": "1Mbit", "queue": "fifo"}, replication=2,
    )  # fmt: skip
    monkeypatch.setattr(_core, "run", lambda text, log: {"packets": (text, log)})
    monkeypatch.setattr(flent, "table", lambda of, _: {("a point", True): logged(rows)}[of])
    return flent.flent(point)  # type: ignore[arg-type]


def test_a_step_of_which_every_packet_still_waits_has_no_ping(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [*LOG[:-2], ("down", 0, "data", 1552, 450, None), ("up", 2, "data", 552, 410, None)]
    found = told(monkeypatch, [row for row in waiting if row[4] != 420])
    pings = found["results"]["Ping (ms) ICMP"]
    assert pings[1:] == [20, None]
    assert found["raw_values"]["Ping (ms) ICMP"] == [{"t": 0.1, "val": pings[0]}, {"t": 0.3, "val": 20.0}]


def test_series_are_what_left_in_each_step_and_pings_the_waits_of_what_came_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = told(monkeypatch, LOG)
    assert found["x_values"] == [0.1, 0.3, 0.5]
    # Mbit/s: payload (without 52 bytes of headers) by 0.2 s. What is smaller than its headers has none.
    down = {"0": [1000 * 40e-6, 0, 0], "1": [1500 * 40e-6, 1500 * 40e-6, 0]}
    up = [0, 0, 500 * 40e-6]
    series = found["results"]
    assert series["TCP download BE::1"] == pytest.approx(down["0"]) and len(series) == 12
    assert series["TCP download BE::2"] == pytest.approx(down["1"])
    assert series["TCP upload BE::1"] == pytest.approx(up)
    assert series["TCP download sum"] == pytest.approx([0.1, 0.06, 0])
    assert series["TCP download avg"] == pytest.approx([0.05, 0.03, 0])
    # Jain's index of 2 and 3, of one that has all, and of nothing.
    assert series["TCP download fairness"] == [round(25 / 26, 6), 0.5, None]
    assert series["TCP totals"] == pytest.approx([0.1, 0.06, 0.02])
    # 20 ms of path; down waited 20, 20, 170 and 1 ms, then 10 and 200; up 6, then 40 ms.
    pings = [20 + 211 / 4 + 6, 20, 20 + 105 + 40]
    assert series["Ping (ms) ICMP"] == pytest.approx(pings) == series["Ping (ms) avg"]
    assert found["raw_values"].keys() == {
        "TCP download BE::1", "TCP download BE::2", "TCP upload BE::1", "Ping (ms) ICMP",
    }  # fmt: skip
    assert found["raw_values"]["Ping (ms) ICMP"][1:] == [{"t": 0.3, "val": 20.0}, {"t": 0.5, "val": 165.0}]
    about = found["metadata"]
    assert about["SERIES_META"].keys() == series.keys() - {"TCP download fairness", "TCP upload fairness"}
    assert (about["SERIES_META"]["TCP totals"], about["SERIES_META"]["Ping (ms) avg"]) == (
        {"UNITS": "Mbits/s"}, {"UNITS": "ms"},
    )  # fmt: skip
    shown = {key: about[key] for key in ("NAME", "TITLE", "NOTE", "T0", "LENGTH", "TOTAL_LENGTH", "STEP_SIZE",
                                         "DELAY", "DATA_FILENAME", "TEST_PARAMETERS")}  # fmt: skip
    assert shown == {
        "NAME": "rrul_be_nflows", "TITLE": "lab, rate=1Mbit, queue=fifo, replication 2",
        "NOTE": f"sojourn {_core.version()}, point h4sh, replication 2", "T0": "1970-01-01T00:00:00.000000Z",
        "LENGTH": 0.5, "TOTAL_LENGTH": 0.5, "STEP_SIZE": 0.2, "DELAY": 0, "DATA_FILENAME": "lab.flent.gz",
        "TEST_PARAMETERS": {"download_streams": 2, "upload_streams": 1},
    }  # fmt: skip
    # Flent shows and sums up all of a run: where it says which run it is, it says what results leave out.
    title = told(monkeypatch, LOG, warmup="250ms")["metadata"]["TITLE"]
    assert title == "lab, rate=1Mbit, queue=fifo, replication 2, the first 0.25 s are warm-up"


def test_many_flows_are_one_series_and_one_way_has_no_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [("up", flow, "data", 1052, 10, 20) for flow in range(257)]
    found = told(monkeypatch, many[1:])["results"]
    assert len(found) == 256 + 3 + 1 and "TCP totals" not in found and "Ping (ms) avg" not in found
    assert found["TCP upload fairness"] == [1.0, None, None]
    found = told(monkeypatch, many)["results"]
    assert found["TCP upload::1"] == pytest.approx([257 * 0.04, 0, 0]) and len(found) == 5


def test_what_flent_cannot_show_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SojournError, match="a run with video users cannot be exported"):
        told(monkeypatch, LOG, users=[{"kind": "voice"}, {"kind": "video"}])
    monkeypatch.setattr(flent, "_MOST_STEPS", 3)
    assert told(monkeypatch, LOG, duration="600ms")["metadata"]["LENGTH"] == 0.6
    with pytest.raises(SojournError, match=r"a run of 0.601 s has 4 steps of 0.2 s; expected 3"):
        told(monkeypatch, LOG, duration="601ms")


def test_frames_of_a_capture_are_packets_of_the_link_that_they_crossed(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    log = pl.DataFrame(
        [("down", 5, 1, "data", 3 * MS, 8 * MS), ("up", 5, 2, "ack", 4 * MS, 6 * MS),
         ("up", 7, 3, "data", 9, None)],
        ["link", "packet", "flow", "kind", "arrive_ns", "depart_ns"], orient="row",
    ).cast({"link": pl.Enum(["down", "up"]), "packet": pl.UInt32, "arrive_ns": pl.UInt64})  # fmt: skip
    asked = []

    def export(*words: object) -> dict:
        asked.append(words)
        return {"frame": [4, 9, 2], "link": [1, 0, 0], "packet": [5, 5, 6], "packets": "log"}

    monkeypatch.setattr(_core, "export", export)
    monkeypatch.setattr(_core, "links", lambda text: ["down", "up"])
    monkeypatch.setattr(
        exporting, "table", lambda of, links: log if (of, links) == ("log", ("down", "up")) else None
    )
    point = SimpleNamespace(document={"users": [{"kind": "web"}]}, text="a point")
    found = exporting.export(point, tmp_path / "c.pcapng", "servers", 1000)  # type: ignore[arg-type]
    assert found.rows() == [(4, 2, "ack", 2.0), (9, 1, "data", 5.0), (2, None, None, None)]
    assert found.columns == ["frame", "flow", "kind", "queue_delay_ms"]
    assert asked[0][:2] == ("a point", "servers") and asked[0][3] == 1000
    point.document = {"users": [{"kind": "web"}, {"kind": "video"}]}
    with pytest.raises(SojournError, match="a run with video users cannot be exported"):
        exporting.export(point, tmp_path / "v.pcapng")  # type: ignore[arg-type]


def test_a_file_of_flent_is_compressed_and_has_no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flent, "flent", lambda point: {"b": [1, "ü"], "a": point})
    file = io.BytesIO()
    assert flent.write("x", file) == {"b": [1, "ü"], "a": "x"}  # type: ignore[arg-type]
    assert json.loads(gzip.decompress(file.getvalue())) == {"a": "x", "b": [1, "ü"]}
    assert file.getvalue()[3:8] == bytes(5), "neither a name nor a time"
    names = {"a.flent": True, "a.flent.gz": True, "a.flent.gz.pcapng": False, "a.gz": False}
    assert {name: flent.is_flent(exporting.Path(name)) for name in names} == names


@pytest.mark.skipif(importlib.util.find_spec("flent") is None, reason="flent is not installed")
@pytest.mark.parametrize(("directions", "plot"), [(("down",), "totals"), (("down", "up"), "all_scaled")])
def test_flent_draws_it(sojourn, tmp_path, directions, plot):
    made(sojourn, tmp_path, *directions)
    picture = tmp_path / "lab.png"
    words = [sys.executable, "-m", "flent", "-i", tmp_path / "lab.flent.gz", "-p", plot, "-o", picture]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 10_000
