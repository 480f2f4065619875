"""Pages of studies where a page could say what is not so: every sentence is read as a reader would."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Command
from sojourn.report import answer_of
from sojourn.report import write_report as write
from test_answer import KIND, LIMIT, browsers, one, viewers, voice
from test_figures import write_results
from test_report import Page

pytestmark = pytest.mark.usefixtures("svg_only")


def page(folder: Path, results: list[dict[str, Any]], *figures: dict[str, Any], **document: Any) -> str:
    """Return the words of the page of some results."""
    for number, each in enumerate(results):
        each.setdefault("engine", {"packets": 1000, "events": 5000 + number, "simulated_s": 20.0})
    return Page(write(write_results(folder / "done", results, list(figures), **document)).read_text()).text


def study(axis: str, labels: dict[str, dict[str, Any]], repeat: int) -> list[dict[str, Any]]:
    return [one({axis: label}, r, **heads) for label, heads in labels.items() for r in range(repeat)]


def test_nobody_stalls(tmp_path: Path) -> None:
    text = page(
        tmp_path, study(LIMIT, {"8pkt": viewers(0.0), "64pkt": viewers(0.0)}, 3), users=[{"kind": "adaptive"}]
    )
    assert "No users" not in text
    assert "The 2 buffers that were tried cannot be told apart" in text
    assert "viewers who stall 0.0 % (0.0 to 9.6 %); about 4 more replications would settle it" in text
    assert "viewers who stall at most 5 % adaptive.clients_stalled_pct 95 % a choice" in text


def test_one_replication_promises_no_interval(tmp_path: Path) -> None:
    lines = {"kind": "lines", "x": LIMIT, "value": "links.down.queue_delay_ms.mean"}
    text = page(tmp_path, study(LIMIT, {"8pkt": voice(4.2), "64pkt": voice(3.0)}, 1), lines)
    for untrue in ("95 % interval", "Student", "bars are", "for certain"):
        assert untrue not in text, untrue
    assert "Each cell was run once, so chance cannot be told from effect and no verdict is certain" in text
    assert "2 simulations: 2 cells × 1 replication" in text and "Every cell was run once" in text
    several = page(tmp_path / "3", study(LIMIT, {"8pkt": voice(4.2), "64pkt": voice(3.0)}, 3), lines)
    assert "bars are 95 % intervals over replications" in several and "run once" not in several


def test_a_figure_without_a_value_costs_itself_only(tmp_path: Path) -> None:
    good = {"kind": "table", "x": KIND, "value": "links.down.loss", "title": "Loss"}
    text = page(
        tmp_path,
        study(KIND, {"fifo": voice(4.2), "codel": voice(4.2)}, 2),
        {"kind": "table", "x": KIND, "value": "browser.plt_s.median", "title": "Pages"},
        good,
    )
    assert "1. Pages This figure cannot be drawn: " in text and "2. Loss" in text
    assert (tmp_path / "done" / "figures" / "02-table-links-down-loss.svg").is_file()


def test_a_tie_is_said_to_be_one(tmp_path: Path) -> None:
    text = page(tmp_path, study(KIND, {"codel": voice(4.2), "fq-codel": voice(4.2)}, 3))
    assert (
        "The 2 queue disciplines that were tried cannot be told apart" in text and "to choose is" not in text
    )


def test_only_browsers_are_judged_by_their_pages(tmp_path: Path) -> None:
    text = page(tmp_path, study(KIND, {"fifo": browsers(6.0, 0.2), "codel": browsers(1.0)}, 3))
    assert "No users" not in text and "The queue discipline to choose is codel" in text
    assert "ITU-T G.1010: acceptable" in text and "browsing, pages abandoned" in text


def test_only_viewers_are_judged_by_stalls_and_rate(tmp_path: Path) -> None:
    text = page(
        tmp_path, study(KIND, {"fifo": viewers(0.0, 200, 900.0), "codel": viewers(0.0, 200, 3000.0)}, 3)
    )
    assert "The queue discipline to choose is codel" in text
    assert "mean bit rate of viewers 30 % of the best" in text


def test_axes_that_are_no_queues(tmp_path: Path) -> None:
    results = [
        one({"workload": load, "path.rtt": rtt}, r, **voice(4.2))
        for load in ("few", "many")
        for rtt in ("10ms", "99ms")
        for r in range(2)
    ]
    text = page(tmp_path, results)
    assert (
        "What users get This study compares no queue: its axes are workload and base RTT (path.rtt)." in text
    )
    for untrue in ("How big should this buffer be", "Regrets", "buffer to choose"):
        assert untrue not in text


def with_series(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for result in results:
        for link in result["links"].values():
            bins = {"utilisation": [0.5, 0.5], "queue_delay_ms": [1.0, 2.0], "dropped_pkts": [0, 0]}
            link["series"] = {"bin_s": 1.0, **bins}
    return results


@pytest.mark.parametrize(
    ("scores", "title"),
    [
        ({"fifo": 4.2, "codel": 4.3}, "Inside the least good cell"),
        ({"fifo": 2.0, "codel": 4.3}, "Inside the worst cell"),
        ({"fifo": 2.0}, "Inside the one cell"),
    ],
)
def test_the_worst_cell_is_one(tmp_path: Path, scores: dict[str, float], title: str) -> None:
    text = page(tmp_path, with_series(study(KIND, {kind: voice(mos) for kind, mos in scores.items()}, 2)))
    assert f"{title} A look inside: fifo" in text
    assert text.count("Inside the") == 2  # in the contents, and above the figure


def test_how_to_reproduce_names_the_place_and_the_seed(tmp_path: Path) -> None:
    results = study(KIND, {"fifo": voice(4.2)}, 1)
    text = page(tmp_path, results, seed=None)
    assert "sojourn report results/trial" in text and "Seed 1" in text and "None" not in text
    record = tmp_path / "done" / "study.json"
    changed = json.loads(record.read_text()) | {"out": "my results/here"}
    record.write_text(json.dumps(changed))
    text = Page(write(tmp_path / "done").read_text()).text
    assert "studies/trial.toml --out 'my results/here' sojourn report 'my results/here'" in text


def test_a_capture_is_measured_and_not_simulated(tmp_path: Path) -> None:
    result = one({}, 0)
    del result["links"]["up"], result["flows"]
    result["links"]["down"] |= {
        "rate_bps": None,
        "arrived_pkts": 1000,
        "dropped_pkts": 0,
        "utilisation": None,
    }
    result["engine"] = {"packets": 1000, "events": 0, "simulated_s": 12.5}
    done = write_results(tmp_path / "done", with_series([result]), [], duration="12.5s")
    (done / "points" / f"{0:032x}.json").rename(done / "points" / "captured.json")
    record = json.loads((done / "study.json").read_text())
    record["points"][0]["hash"] = "captured"
    command = "sojourn losses a.pcap b.pcap --out x"
    (done / "study.json").write_text(json.dumps(record | {"command": command}))
    text = Page(write(done).read_text()).text
    for untrue in (
        "imulat",
        "repeat",
        "How big",
        "Seed",
        "Swept",
        "verdict",
        "worst cell",
        "Replication",
        "warm-up",
    ):
        assert untrue not in text, untrue
    assert (
        "What was measured No packet was lost: all 1 000 that came to the queue were seen behind it" in text
    )
    assert (
        "What was read Captures 1 000 packets in front of the queue Their queue “down” in the names" in text
    )
    assert "The rate of the link was not given" in text and "Over time" in text
    assert answer_of(done)["sentences"][0].startswith("No packet was lost")


REAL = """
name = "tiny"
duration = "12s"
warmup = "2s"
[path]
rtt = "40ms"
down = { rate = "4Mbit", queue = { kind = "fifo", limit = "1BDP" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "50ms" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
[[users]]
kind = "web"
[sweep]
"path.down.queue.limit" = ["1BDP", "20BDP"]
"""


def test_a_real_study_from_file_to_answer(sojourn: Command) -> None:
    file = sojourn.cwd / "my study.toml"
    file.write_text(REAL)
    sojourn("run", file.name, "--out", "some where", "--jobs", "1")
    first = sojourn.json("show", "some where")[0]
    assert first["links"]["down"]["limit"] == {"packets": 13, "bytes": 19500, "ms": 39.0}
    assert first["links"]["up"]["limit"] == {"packets": 4, "bytes": 6250, "ms": 50.0}
    table = sojourn("show", "some where").stdout
    assert "20BDP: down 267 packets, 400 500 bytes, 801 ms; up 4 packets, 6 250 bytes, 50 ms" in table
    assert "down: 13 packets, 19 500 bytes, 39 ms" in sojourn("show", "some where", first["hash"]).stdout
    said = json.loads(sojourn("report", "some where", "--json").stdout)
    assert said["answer"]["sizes"]["20BDP"][0]["bytes"] == [400500, 400500]
    assert {verdict["verdict"] for verdict in said["answer"]["verdicts"]} == {"not certain"}
    text = Page((sojourn.cwd / said["report"]).read_text()).text
    assert "How big should this buffer be?" in text and "Seed 1 (the default)" in text
    start = text.index("sojourn run 'my study.toml' --out 'some where' sojourn report 'some where'")
    again = text[start:].split(" sojourn report ")[0]
    assert "0 simulated" in sojourn(*shlex.split(again)[1:]).stdout, "the command that is printed works"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[[figures]]\nkind = "lines"\nvalue = "voice.talks.mos.median"\n', "figure 1 (lines) shows "),
        ('[[figures]]\nkind = "cdf"\nvalue = "links.down.los"\n', "did you mean links.down.loss"),
        ('[[goals]]\nvalue = "web.mos.p4"\nat-least = 3\n', "did you mean web.mos.p"),
        (
            '[[goals]]\nvalue = "web.mos"\nat-least = 3\n',
            "that is not one number; expected one of web.mos.mean",
        ),
        (
            '[[goals]]\nvalue = "browser.abandoned"\nat-most = 0.1\n',
            "no users of kind browser; its users are web",
        ),
        ('[[goals]]\nvalue = "losses.down.x"\nat-most = 1\n', "set record.losses"),
        (
            '[[goals]]\nvalue = "links.down.loss"\nat-most = 5\n',
            "goal 1 asks for links.down.loss of at most 5, but that lies between 0 and 1: a share, of which",
        ),
    ],
)
def test_what_no_result_can_have_is_refused(sojourn: Command, more: str, says: str) -> None:
    (sojourn.cwd / "tiny.toml").write_text(REAL + more)
    done = sojourn("run", "tiny.toml", code=2)
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert not (sojourn.cwd / "results").exists()


def test_users_set_aside_take_their_figures_with_them(sojourn: Command) -> None:
    more = '[[figures]]\nkind = "cdf"\nvalue = "web.plt_s.median"\n'
    (sojourn.cwd / "tiny.toml").write_text(REAL + more)
    done = sojourn("run", "tiny.toml", "--set", "users=[]", "--dry-run")
    assert (
        "note: figure 1 (cdf) shows 'web.plt_s.median', but the study has no users of kind web" in done.stderr
    )


def test_what_is_configured_names_the_condition_and_the_tie(tmp_path: Path) -> None:
    path = {"rtt": "20ms", "down": {"rate": "8Mbit"}, "up": {"rate": "8Mbit"}}
    labels = ["8Mbit", "16Mbit"]
    sweep = {"path.down.rate": labels, "path.queue": [{"kind": "codel"}, {"kind": "fq-codel"}]}
    results = [
        one({"path.down.rate": rate, "path.queue": kind}, at, **voice(4.2))
        for rate in labels
        for kind in ("codel", "fq-codel")
        for at in range(2)
    ]
    text = page(tmp_path, with_series(results), path=path, sweep=sweep, duration="20s")
    assert "Queue: codel , the first of those that cannot be told apart, as Linux" in text.replace(
        "codel,", "codel ,"
    )
    assert "The lines are for downlink rate 8Mbit, the first of 2." in text
    assert "Inside one of the cells" in text and "Inside the" not in text


def test_a_hop_s_rate_may_be_a_shaper_s(tmp_path: Path) -> None:
    hops = [
        {"name": "router", "down": {"rate": "1Gbit"}, "up": {"rate": "1Gbit"}},
        {"name": "line", "down": {"rate": "20Mbit"}, "up": {"rate": "5Mbit"}},
    ]
    axis = "path.hop.router.down.rate"
    labels = ["1Gbit", "19Mbit"]
    sweep = {axis: labels, "path.queue": [{"kind": "codel"}, {"kind": "fq-codel"}]}
    good = {("19Mbit", "codel"): 4.2, ("19Mbit", "fq-codel"): 4.3}
    results = [
        one({axis: rate, "path.queue": kind}, at, **voice(good.get((rate, kind), 2.0)))
        for rate in labels
        for kind in ("codel", "fq-codel")
        for at in range(2)
    ]
    document = {"path": {"rtt": "20ms", "hop": hops}, "sweep": sweep, "duration": "20s"}
    text = page(tmp_path, with_series(results), **document)
    assert (
        "The router downlink rate is a condition here, so none of its 2 values is chosen. If it is that of a "
        "shaper, compare the conditions where codel keeps all goals for certain: 0 of 1 at 1Gbit and 1 of 1 "
        "at 19Mbit."
    ) in text
    given = (
        "The lines are for router downlink rate 19Mbit, that of 2 with which all goals are kept most often."
    )
    assert given in text
    # A rate alone is that of anything.
    assert "A look inside: router downlink rate 1Gbit, codel" in text
    once = page(tmp_path / "1", [each for each in results if not each["replication"]], **document)
    assert (
        "conditions in whose one run all goals were on the good side of their limits with codel: 0 of 1 at"
        in once
    )


def test_a_viewing_without_a_stall_speaks_of_none() -> None:
    from sojourn.report.sections import _which_viewer

    quiet, troubled = {"stalls": []}, {"stalls": [(1.0, 2.5)]}
    many = {"adaptive": {"clients": [quiet, troubled]}}
    assert _which_viewer(many, quiet) == "No viewer of this run stalled; this one had the lowest rate."
    assert _which_viewer(many, troubled).endswith("the one that stalled longest: 1 stall, 1.5 s in all.")
    assert _which_viewer({"adaptive": {"clients": [quiet]}}, quiet).startswith("The one viewer of this run;")
