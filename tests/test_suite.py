"""`sojourn suite`: cases, links, schemes, what is written, and what must hold."""

from __future__ import annotations

import json
import os
import signal
import time
import tomllib
from decimal import Decimal
from math import isclose, log, pi
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import HANGS_S, Command
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.report.suite.checks import checks, even, told
from sojourn.report.suite.ellipse import Ellipse
from sojourn.study import Study
from sojourn.study.suites import (
    Link,
    Preset,
    Suite,
    expand,
    folder_of,
    knobs,
    names,
    read_schemes,
    sized,
    with_baseline,
)
from sojourn.study.suites.link import half_up

SUITE = Suite.load("rfc7928")


def test_a_copy_of_a_suite_has_results_of_its_own(tmp_path: Path) -> None:
    words = (SUITE.folder / "suite.toml").read_text()

    def results(folder: Path, name: str = "rfc7928") -> str:
        folder.mkdir(parents=True)
        (folder / "suite.toml").write_text(words.replace('name   = "rfc7928"', f'name   = "{name}"'))
        return str(folder_of(Suite.load(str(folder)).called, None))

    assert str(folder_of(SUITE.called, None)) == "results/suite-rfc7928"
    assert results(tmp_path / "mine") == "results/suite-mine"
    assert results(tmp_path / "rfc7928") == "results/suite-own-rfc7928"
    assert results(tmp_path / "named", "theirs") == "results/suite-theirs"


def test_the_suite_has_every_case_of_the_rfc_with_traffic() -> None:
    link, schemes = Link.read(SUITE.link), read_schemes(["fifo"])
    cases = 0
    for case in SUITE.cases:
        points = expand(case, link, schemes, 1, Preset()).study.points
        cases += len({str(point.labels[case.each]) for point in points}) if case.each else 1
    assert cases == 38
    sections = {case.name for case in SUITE.cases}
    assert {
        "4.4",
        "4.5",
        "5.1.1",
        "5.1.2",
        "5.2",
        "5.3.1",
        "5.3.2",
        "5.4",
        "6",
        "7",
        "9.1",
        "9.2",
    } <= sections


def test_a_study_is_what_the_rules_make_of_the_suite_s_own_link() -> None:
    """A person who reads a study file reads what the suite runs on its own link."""
    for case in SUITE.cases:
        if case.name in ("10-other-values", "10-two-schemes", "4.5"):
            continue
        made = expand(case, Link.read(SUITE.link), read_schemes(["fifo"]), 5, Preset()).study
        plain = Study.load(case.study)
        assert [point.hash for point in made.points] == [point.hash for point in plain.points], case.name


@pytest.mark.parametrize(("size", "counts"), [(62, (2, 5, 7)), (500, (18, 41, 57))])
def test_numbers_of_flows_are_those_of_the_rfc_rounded_half_up(size: int, counts: tuple[int, ...]) -> None:
    # A link of one packet a millisecond: R is the BDP in packets, the buffer is the rest of S.
    link = Link(12_000_000, 10**6 * 12, buffer_pkts=size - 12)
    assert link.size_pkts == size
    assert tuple(int(link.value(f"{factor} S")) for factor in ("0.036", "0.081", "0.114")) == counts
    assert half_up(Decimal("40.5")) == 41


def test_a_link_s_bdp_is_that_of_the_round_trip_asked_for() -> None:
    # 10 Mbit/s for 40 ms are 50 000 bytes: 33 1/3 packets of 1500.
    link = Link.read("10Mbit/40ms")
    assert [float(link.bdp_pkts(rtt)) for rtt in (None, 40_000_000, 120_000_000)] == [
        pytest.approx(100 / 3), pytest.approx(100 / 3), pytest.approx(100),
    ]  # fmt: skip


def test_formulas_follow_the_link() -> None:
    link = Link.read("10Mbit/40ms")
    assert (link.name, link.buffer()) == ("10Mbit/40ms", 34)
    assert [link.value(formula) for formula in ("C", "2 C", "0.25 C", "R", "0.5 R")] == [
        "10Mbit", "20Mbit", "2.5Mbit", "40ms", "20ms",
    ]  # fmt: skip
    assert link.buffer(560 * 10**6) == 467
    sizes = {case.name: sized(case, link, Preset())[1] for case in SUITE.cases}
    # What --knobs turns is the buffer of the case: of §6's largest round trip, of 100 Mbit/s in §8.2.6.
    assert (sizes["5.1.1"], sizes["6"], sizes["8.2.6-slow"]) == (34, 467, 334)
    assert link.value("0.081 S - 0.036 S") == "3"
    small = Link.read("1Mbit/10ms")
    assert small.value("0.036 S") == "1", "never no flow at all"
    # S is 2.83: three flows less one, which 0.283 is at least.
    assert small.value("1 S - 0.1 S") == "2"
    for wrong in ("2 X", "C R", "C + S", "S 2", "", "1 C 2 C"):
        with pytest.raises(SojournError, match="is not a formula"):
            link.value(wrong)


def test_the_ellipse_of_a_known_gaussian_has_its_axes() -> None:
    rng = np.random.default_rng(1)
    # s.d. 10 ms along a line of 30 degrees, 2 across.
    turn = np.deg2rad(30)
    along, across = rng.normal(0, 10, 40_000), rng.normal(0, 2, 40_000)
    x = 50 + along * np.cos(turn) - across * np.sin(turn)
    y = 9 + along * np.sin(turn) + across * np.cos(turn)
    found = Ellipse.of(list(x), list(y))
    assert found is not None
    assert found.half_axes == pytest.approx((10, 2), rel=0.02)
    assert found.angle == pytest.approx(turn, abs=0.01)
    assert found.mean == pytest.approx((50, 9), abs=0.2)
    outline = found.outline()
    assert np.ptp(outline[0]) / 2 == pytest.approx(np.std(x), rel=0.02), (
        "a shadow of the contour is one sigma wide"
    )
    # A tenth of the unit is a tenth of the axis: the form does not depend on units.
    small = Ellipse.of(list(x), list(y / 1000))
    assert small is not None and np.ptp(small.outline()[1]) == pytest.approx(
        np.ptp(outline[1]) / 1000, rel=1e-3
    )


def test_the_ellipse_is_the_maximum_likelihood_one_and_needs_three_runs() -> None:
    found = Ellipse.of([0, 0, 3], [0, 0, 0])
    assert found is not None
    # n in the denominator: variance 2, not 3; the median is not the mean.
    assert found.half_axes == pytest.approx((2**0.5, 0))
    assert (found.mean[0], found.medians[0]) == (1, 0)
    falling = Ellipse.of([0, 1, 2], [2, 1, 0])
    assert falling is not None and isclose(falling.angle, -pi / 4)
    assert Ellipse.of([1, 2], [1, 2]) is None and Ellipse.of([], []) is None


@pytest.mark.parametrize(
    ("ratios", "holds", "why"),
    [
        ([0.9, 1.1, 1.05, 0.95, 1.0], True, ""),
        ([1.0], None, "one run"),
        ([], None, "no run has goodput"),
        # The same spread, and a mean that is farther and farther off: in doubt between 95 and 99.9 %.
        ([1.1, 1.15, 1.2, 1.25, 1.3], None, "one fair scheme in twenty"),
        ([1.9, 2.0, 2.1, 2.2, 2.3], False, "outside the 99.9 %"),
        # An interval that holds a ratio of 2 holds nothing worth saying: 1.25, from 0.72 to 2.17.
        ([1.0, 1.25, 1.5625], None, "a ratio of 2 is in it"),
        ([0.3, 3.0, 1.0], None, "a ratio of 2 is in it"),
    ],
)
def test_equal_round_trips_hold_fail_or_cannot_be_said(
    ratios: list[float], holds: bool | None, why: str
) -> None:
    found = even([log(ratio) for ratio in ratios])
    assert found[0] is holds and (why in found[1] if why else not found[1])


@pytest.mark.parametrize(
    ("link", "loss", "holds"),
    [
        ("10Mbit/40ms", 0.0012, True),
        ("10Mbit/40ms", 0.0021, False),
        ("10Mbit/40ms", 0.0004, False),
        # 0.036 S is 0.6 there: one flow loses 0.25 % by the RFC's own law.
        ("1Mbit/100ms", 0.0025, None),
    ],
)
def test_the_loss_law_is_asked_where_whole_flows_can_keep_it(
    link: str, loss: float, holds: bool | None
) -> None:
    (case,) = SUITE.choose(["8.2.2"])
    expanded = expand(case, Link.read(link), read_schemes(["fifo"]), 1, Preset())
    row = {"class": "bulk", "scheme": "fifo", "phase": "", "loss": loss}
    # Three runs, whose mean it is; their median is a sixth of it.
    runs = [{**row, "loss": loss * share} for share in (1 / 12, 1 / 6, 11 / 4)]
    (check,) = checks(expanded, pl.DataFrame(runs))
    assert check.holds is holds and (holds is not None or "too small" in check.why)
    words = {True: "1 of 1 checks holds", False: "0 of 1 checks hold, 1 does not"}
    assert told([check], [expanded]) == words.get(holds, "0 of 1 checks hold, of 1 nothing can be said")
    assert told([], [expanded]) == "none of the checks of these cases could be made"
    turned = expand(case, Link.read(link), knobs(read_schemes(["fifo"]), expanded.buffer_pkts), 1, Preset())
    rows = pl.DataFrame([{**row, "scheme": scheme.name} for scheme in turned.schemes])
    assert [check.scheme for check in checks(turned, rows)] == [f"fifo limit={turned.buffer_pkts}pkt"]


def test_schemes_are_names_or_queues_as_in_a_study_file() -> None:
    found = read_schemes(
        ["droptail,FQ_CoDel", '{ kind = "codel", target = "1ms" }', '["pie", { kind = "ared" }]']
    )
    assert [scheme.name for scheme in found] == ["fifo", "fq-codel", "codel target=1ms", "pie", "ared"]
    several = read_schemes(['["pie", { kind = "codel", target = "7ms" }, "red"]', "fifo"])
    assert [scheme.queue["kind"] for scheme in several] == ["pie", "codel", "red", "fifo"]
    assert several[1].queue["target"] == "7ms" and several[2].queue["mean-packet"] == "1500B"
    assert [scheme.name for scheme in read_schemes(['["red", "ared"]'])] == ["red", "ared"]
    mixed = read_schemes(['fifo, { kind = "codel", target = "1ms" },pie,{kind="codel",ecn=true}'])
    assert [scheme.name for scheme in mixed] == ["fifo", "codel target=1ms", "pie", "codel ecn=true"]
    assert found[2].table(34) == {"kind": "codel", "target": "1ms", "limit": "34pkt"}
    assert found[4].table(34)["adaptive"] is True
    assert found[2].other_values(34)["target"] == "2ms" and found[0].other_values(34)["limit"] == "68pkt"
    own = read_schemes(['{ kind = "pie", limit = "500pkt" }'])[0]
    assert own.own_limit and own.table(34)["limit"] == "500pkt"
    assert [scheme.name for scheme in with_baseline([own])] == ["fifo", "pie limit=500pkt"]
    short = read_schemes(['{ kind = "fifo", limit = "10pkt" }'])
    assert [scheme.name for scheme in with_baseline(short)] == ["fifo", "fifo limit=10pkt"]
    assert with_baseline(found) == found, "drop-tail with the common buffer is among them"
    turned = knobs(read_schemes(["fifo,codel,sfq"]), 34)
    assert len([scheme for scheme in turned if scheme.queue["kind"] == "codel"]) == 6
    assert len([scheme for scheme in turned if scheme.queue["kind"] == "fifo"]) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["[]", "fifo", "fifo"], "fifo is there twice"),
        (["codle"], "unknown variant `codle`, expected one of `ared`, `fifo`, "),
        (['{ kind = "codel", variant = "ared" }'], "unknown variant `ared`, expected one of `rfc8289`"),
        (["fifo,,codel"], "a name is empty"),
        (["fifo", "droptail"], "fifo is there twice"),
        (['{ kind = "codel", targte = "1ms" }'], "targte"),
        (['{ kind = "codel", target = 5 }'], '"5" is not a time'),
        (["{ codel }"], "is not a table in TOML"),
        (["[1]"], "a queue has a kind"),
    ],
)
def test_what_is_no_queue_is_refused_in_a_sentence(words: list[str], said: str) -> None:
    with pytest.raises(SojournError) as error:
        read_schemes(words)
    assert said in str(error.value) and str(error.value).startswith("--aqm")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rfc7929"], "is not a suite; expected"),
        (["rfc7928", "--link", "10Mbit"], "expected a rate and a round trip, as 10Mbit/40ms"),
        (["rfc7928", "--link", "10Mbps/40ms"], "bps does not say bits or bytes"),
        (["rfc7928", "--link", "10Mbit/0ms"], "is too short"),
        (["rfc7928", "--link", "10Mbit/40ms", "10000kbit/40ms"], "--link names a link twice"),
        (["rfc7928", "--case", "5.9"], "has no such case; it has 5.1.1"),
        (["rfc7928", "--preset", "ns4"], "has no such preset"),
        (["rfc7928", "--set", "durations=1s"], "durations"),
        (["rfc7928", "--seeds", "0"], "Must be >= 1"),
    ],
)
def test_bad_input_is_said_and_nothing_written(
    sojourn: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    found = sojourn("suite", *arguments, "--out", str(tmp_path / "out"), code=2)
    assert said in found.stderr and "Traceback" not in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Path]:
    """A small suite, run as JSON."""
    out = tmp_path_factory.mktemp("suite")
    arguments = [
        "--aqm",
        "codel,pie,fq-codel,ared",
        "--seeds",
        "3",
        "--link",
        "2Mbit/30ms",
        "--set",
        "duration=12s",
    ]
    cases = ["--case", "5.3.1", "--case", "5.1.2", "--jobs", "1", "--set", "warmup=2s"]
    told = Command(out).json("suite", "rfc7928", *arguments, *cases, "--out", str(out / "r"), svg_only=True)
    return told[0], out / "r"


def test_overload_fills_the_link_and_drops_the_rest_whatever_the_scheme(ran: tuple[dict, Path]) -> None:
    found = [check for check in ran[0]["checks"] if check["case"] == "5.3.1"]
    assert {check["scheme"] for check in found} == {"fifo", "codel", "pie", "fq-codel", "ared"}
    assert len(found) == 10 and all(check["holds"] for check in found)


def test_tables_say_case_parameters_seeds_versions_and_command(ran: tuple[dict, Path]) -> None:
    told, out = ran
    for page in ("index.html", "2Mbit-30ms/5.3.1.html", "2Mbit-30ms/5.1.2.html"):
        text = (out / page).read_text(encoding="utf-8")
        assert "sojourn suite rfc7928" in text and _core.version() in text
        assert "http://" not in text.replace("http://www.w3.org", "") and "https://" not in text
    case = (out / "2Mbit-30ms/5.1.2.html").read_text(encoding="utf-8")
    for words in ("5\xa0packets", "replications 0 to 2", "12s, of which 2s are left out", "sojourn run"):
        assert words in case, words
    assert told["cases"][0]["open"] and told["command"].startswith("sojourn suite rfc7928")
    table = pl.read_parquet(out / "suite.parquet")
    assert table["replication"].unique().sort().to_list() == [0, 1, 2]
    assert json.loads((out / "suite.json").read_text())["checks"] == told["checks"]
    written = (out / "suite.md").read_text(encoding="utf-8")
    for words in (
        "sojourn suite rfc7928",
        "3 runs of each cell",
        "changed in every case: duration=12s, warmup=2s",
        "| 5.3.1 |",
    ):
        assert words in written, words


def test_numbers_are_those_of_the_results(ran: tuple[dict, Path]) -> None:
    """Goodput from the packet log at the bottleneck is the receivers', within what is on its way."""
    _, out = ran
    table = pl.read_parquet(out / "suite.parquet").filter(pl.col("class") == "long", pl.col("phase") == "")
    assert table.height == 30
    for row in table.iter_rows(named=True):
        file = out / "2Mbit-30ms" / "5.1.2" / "points" / f"{row['hash']}.json"
        result = json.loads(file.read_text())
        assert row["goodput_bps"] == pytest.approx(result["groups"]["long"]["goodput_bps"], rel=0.02)
        traffic = result["traffic"]["down"]
        assert traffic["all"]["queue_delay_ms"] == pytest.approx(
            result["links"]["down"]["queue_delay_ms"]["mean"], rel=0.02
        )
        # The engine dates a drop when it happens, the log has the arrival: a few at the ends differ.
        assert abs(traffic["all"]["dropped_pkts"] - result["links"]["down"]["dropped_pkts"]) <= 3
        short = traffic["groups"]["short"]
        # At least a round trip of set-up, one of the first window, and the transmission of 50 packets.
        assert short["completed"] >= 1 and min(short["completion_s_cdf"]) > 0.060 + 49 * 0.006


def test_a_suite_is_resumed(sojourn: Command, tmp_path: Path) -> None:
    arguments = [
        "rfc7928",
        "--aqm",
        "fifo",
        "--case",
        "5.2",
        "--set",
        "duration=3s",
        "--set",
        "warmup=1s",
        "--jobs",
        "1",
    ]
    first = sojourn("suite", *arguments, "--seeds", "1", "--out", str(tmp_path), svg_only=True)
    assert "1 run in" in first.stderr and "0 were there" in first.stderr
    said = [page.read_text() for page in tmp_path.glob("*/*.html")]
    assert said and all("Of the one run, so without an interval." in page for page in said)
    again = sojourn("suite", *arguments, "--seeds", "2", "--out", str(tmp_path), svg_only=True)
    said = [page.read_text() for page in tmp_path.glob("*/*.html")]
    assert all("Means over runs ± half of the 95" in page for page in said)
    assert "1 run in" in again.stderr and "1 was there already" in again.stderr
    listed = sojourn.json("suite", *arguments, "--seeds", "2", "--out", str(tmp_path), "--dry-run")
    assert [(entry["case"], entry["runs"], entry["done"]) for entry in listed] == [("5.2", 2, 2)]


def test_a_suite_is_interrupted_and_goes_on(sojourn: Command, tmp_path: Path) -> None:
    words = ["suite", "rfc7928", "--aqm", "fifo", "--case", "5.2", "--seeds", "30", "--jobs", "1"]
    words += ["--set", "duration=6s", "--set", "warmup=1s", "--out", str(tmp_path / "r")]
    process = sojourn.start(*words)
    deadline = time.monotonic() + HANGS_S
    while len(list(tmp_path.glob("r/*/5.2/points/*.json"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130 and "Traceback" not in stderr
    assert "run the same command again" in stderr and not (tmp_path / "r" / "index.html").exists()
    there = len(list(tmp_path.glob("r/*/5.2/points/*.json")))
    assert 3 <= there < 30
    again = sojourn(*words)
    assert f"{30 - there} runs in" in again.stderr and f"{there} were there already" in again.stderr
    assert (tmp_path / "r" / "index.html").exists()
    assert pl.read_parquet(tmp_path / "r" / "suite.parquet")["hash"].n_unique() == 30


def test_flows_start_and_stop_when_they_are_told(tmp_path: Path) -> None:
    flows = """[[flows]]
    name = "bulk"
    source = { kind = "bulk" }
    transport = "newreno"
    direction = "down"
    start = "2s"
    stop = "4s"
    start-within = "100ms"
    [[flows]]
    name = "udp"
    source = { kind = "cbr", rate = "100kbit", size = "500B" }
    transport = "udp"
    direction = "down"
    start = "1s"
    stop = "3s"
    start-within = "100ms"
    """
    study = """name = "x"\nduration = "6s"\n[path]\nrtt = "20ms"
    down = { rate = "2Mbit", queue = { kind = "fifo", limit = "10pkt" } }
    up = { rate = "2Mbit", queue = { kind = "fifo", limit = "10pkt" } }\n"""
    point = _core.points(_core.parse(study + flows, "x.toml", [], []))[0]
    ran = _core.run(point, True)
    log, origins = ran["packets"], ran["origins"]
    for origin, (start, stop) in enumerate([(2.0, 4.0), (1.0, 3.0)]):
        at = log["arrive_ns"][(origins[log["flow"]] == origin) & (log["link"] == 0)] / 1e9
        assert start <= at.min() <= start + 0.15 and stop - 0.1 <= at.max() <= stop + 0.021
    for key, said in [
        ('stop = "2s"', "not after the last start"),
        ('stop = "4s"\n    every = "1s"', "unknown field"),
    ]:
        with pytest.raises(_core.StudyError, match=said):
            _core.parse(study + flows.replace('stop = "4s"', key), "x.toml", [], [])


def test_every_shipped_suite_is_read_and_its_studies_by_name() -> None:
    assert "rfc7928" in names()
    for name in names():
        for case in Suite.load(name).cases:
            assert Study.load(f"suites/{name}/{case.study.stem}").name == case.study.stem
            assert tomllib.loads(case.study.read_text(encoding="utf-8"))["name"] == case.study.stem
