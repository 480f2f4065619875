"""What a page says beside its figures: how much was run, what it is not, how to make it again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sojourn.report import listening
from sojourn.report.captured import captured
from sojourn.report.files import Files
from sojourn.report.provenance import shipped
from sojourn.report.sections import inside
from sojourn.results.beds import is_real

# The package has a function of this name.
facts = import_module("sojourn.report.facts")


def found(**more: Any) -> Any:
    usual = {
        "record": {"sojourn": "9.9", "command": "sojourn run s.toml", "seed": 4},
        "document": {"duration": "30s", "warmup": "5s"},
        "captured": False,
        "missing": 0,
        "name": "s",
        "store": SimpleNamespace(path=Path("results/s")),
        "left_out": list,
    }
    return SimpleNamespace(**{**usual, **more})


def result(label: str, replication: int = 0, **more: Any) -> dict[str, Any]:
    engine = {
        "packets": 1500,
        "simulated_s": 30.0,
        "build": "abc",
        "version": "9.9",
        **more.pop("engine", {}),
    }
    return {
        "point": {"axis": label},
        "replication": replication,
        "links": {"down": {}},
        "engine": engine,
        **more,
    }


def said(
    results: list[dict[str, Any]], axes: dict[str, list[str]] | None = None, **more: Any
) -> dict[str, str]:
    return dict(facts.facts(found(**more), results, axes or {}))


def test_runs_are_counted_by_cell_and_replication() -> None:
    one = [result("a")]
    assert said(one)["Points"] == "1 simulation: 1 cell × 1 replication"
    both = [result("a"), result("b")]
    assert said(both)["Points"] == "2 simulations: 2 cells × 1 replication"
    uneven = [*both, result("b", 1), result("b", 2)]
    assert said(uneven)["Points"] == "4 simulations: 2 cells × 1 to 3 replications"
    even = [*both, result("a", 1), result("b", 1)]
    assert said(even, missing=2)["Points"] == "4 simulations: 2 cells × 2 replications; 2 not there yet"
    auto = said(both, document={"repeat": "auto", "duration": "1s"})
    assert auto["Points"].startswith(
        "2 simulations: 2 cells × 1 replication (as many as the verdicts need, at most "
    )


def test_what_was_run_has_its_time_its_seed_and_its_axes() -> None:
    here = said([result("a"), result("b")], {"axis": ["a", "b"], "other": ["c"]})
    assert here["Swept"] == "axis: a, b; other: c" and here["Study"] == "s"
    assert here["Each lasts"] == "30s, of which 5s warm-up are not counted"
    assert here["Simulated"] == "3 000 packets in 60 s of simulated time"
    assert here["Seed"] == "4 (the default)" and here["Version"] == "sojourn 9.9"
    plain = said([result("a")], document={}, record={})
    assert plain["Each lasts"] == "the default" and plain["Swept"] == "nothing"
    assert plain["Seed"] == "1 (the default)" and plain["Command"] == "not recorded"
    assert said([result("a")], document={"seed": 0})["Seed"] == "0"
    assert said([result("a")], {"seed": ["1", "2"]})["Seed"] == "see the axis seed"
    real = result("a", engine={"clock": "wall"})
    assert is_real(real) and not is_real(result("a"))
    assert said([result("a"), real])["Run"] == "3 000 packets in 60 s between real programs, on the testbed"


def test_runs_between_real_programs_are_no_simulations() -> None:
    real = [result("a", at, engine={"clock": "wall"}) for at in range(2)]
    assert said(real)["Points"] == "2 runs: 1 cell × 2 replications"
    first, *_ = facts.limits(found(), real, [])
    assert first == (
        "These are runs between programs of one machine, over one bottleneck in each direction. Real paths "
        "have more than one queue, radio links whose rate changes, and hosts of their own."
    )
    simulated, *_ = facts.limits(found(), [result("a")], [])
    assert simulated.startswith("These are simulations of one bottleneck in each direction. ")
    assert simulated.endswith(", and hosts that take time.")
    assert "never comes twice" in facts.reproduce(found(), real)[0]
    assert "the same bytes" in facts.reproduce(found(), [result("a")])[0]


def test_a_time_below_ten_seconds_is_not_rounded_to_none() -> None:
    assert facts._ran([result("a")], 1, 0.05) == ("Simulated", "1 packet in 0.05 s of simulated time")
    assert facts._ran([result("a")], 0, 9.96)[1] == "0 packets in 9.96 s of simulated time"
    assert facts._ran([result("a")], 2, 1800.0)[1] == "2 packets in 1 800 s of simulated time"


def test_a_bin_that_is_used_for_more_than_its_time_is_explained(tmp_path: Path) -> None:
    def says(*used: float) -> str:
        bins = {"queue_delay_ms": [5.0] * len(used), "dropped_pkts": [0] * len(used)}
        here = result("a", links={"down": {"series": {"bin_s": 1.0, "utilisation": [*used], **bins}}})
        section = inside(here, "down", "a", Files(tmp_path))
        assert section is not None
        return section.read

    assert says(1.01, 0.9).endswith("from the end of the warm-up.")
    assert says(3.0, 0.5).endswith(
        "Utilisation is of the mean rate, and a packet counts in the bin in which it has left."
    )


def test_a_household_has_the_people_that_the_study_gives_it() -> None:
    def people(**household: int) -> str:
        return shipped({"users": [{"kind": "household", **household}]})[0].about

    assert people() == (
        "people of one house today: a caller, a video call, a reader of web pages, a player, "
        "two viewers of films"
    )
    assert people(voice=0, adaptive=1) == (
        "people of a house today: 1 video call, 1 reader of web pages, 1 player, 1 viewer of films"
    )
    assert people(count=2).endswith(
        "2 callers, 2 video calls, 2 readers of web pages, 2 players, 4 viewers of films"
    )


def test_a_load_made_of_others_is_followed_by_them() -> None:
    told = shipped({"sweep": {"workload": ["none", "household-evening", "software-update"]}})
    assert [each.name for each in told] == ["household-evening", "cloud-backup", "software-update"]
    assert "BBR since April 2019" in told[-1].source, "why an evening loses so much is on the page"
    assert [each.name for each in shipped({"workload": "torrent"})] == ["torrent"]


def test_a_page_of_captures_says_what_was_read() -> None:
    here = said([result("a")], captured=True, document={"duration": "9s"})
    assert here["Captures"] == "1 500 packets in front of the queue" and here["They last"] == "9s"
    assert "Study" not in here and said([result("a")], captured=True, document={})["They last"] == "not known"


def test_without_replications_chance_is_not_told_from_effect() -> None:
    def limits(*results: dict[str, Any], **more: Any) -> list[str]:
        return facts.limits(found(**more), results, [])

    assert "The one cell was run once, so that chance" in limits(result("a"))[2]
    assert "Every cell was run once, so that chance" in limits(result("a"), result("b"))[2]
    some = limits(result("a"), result("b"), result("b", 1), result("b", 2))
    assert some[2] == "1 of 2 cells was run once and has no intervals."
    assert some[3].startswith("The other has 3 replications. ")
    every = limits(*(result(name, k) for name, count in (("a", 2), ("b", 3)) for k in range(count)))
    assert every[2].startswith("Cells have 2 to 3 replications. ") and len(every) == 3
    same = [facts._replicated(counts, once) for counts, once in (([4], 0), ([2, 2], 0), ([2, 5], 3))]
    assert same == [
        "The one cell has 4 replications.", "Each cell has 2 replications.",
        "The others have 2 to 5 replications.",
    ]  # fmt: skip
    assert every[0].startswith("These are simulations of one bottleneck in each direction. ")
    hops = result("a", links={"home.up": {}, "home.down": {}, "core.down": {}, "core.up": {}, "access": {}})
    assert limits(hops)[0].startswith("These are simulations of a path with ")
    left = limits(result("a"), missing=3, left_out=lambda: ["two files"])
    assert any(
        each.startswith("3 points of the study are missing; in a map a cell without any result is hatched")
        for each in left
    )
    assert left[-1] == "two files, and left out."
    mixed = limits(result("a"), result("b", engine={"build": "xyz"}))
    assert mixed[-1].startswith("The results were made by 2 engines: ")
    assert not any("engines" in each for each in limits(result("a"), result("b")))


def test_sentences_of_limits_are_there_where_they_apply() -> None:
    def section(slug: str, citation: str = "") -> Any:
        return SimpleNamespace(picture=SimpleNamespace(slug=slug), citation=citation)

    def has(words: str, *sections: Any) -> bool:
        return any(words in each for each in facts.limits(found(), [result("a")], sections))

    assert has("Opinion scores are models", section("loss"), section("voice.talks.mos.median"))
    assert not has("Opinion scores are models", section("loss"))
    assert has("Published numbers are medians", section("loss", "x")) and not has(
        "Published numbers", section("loss")
    )


def test_a_study_without_a_warm_up_is_told_that_its_numbers_begin_with_the_run() -> None:
    for document, told in (
        ({"duration": "9s"}, True),
        ({"warmup": "0ms"}, True),
        ({"warmup": "500ms"}, False),
        ({"warmup": "5s", "sweep": {"warmup": ["0s", "0s"]}}, True),
        ({"sweep": {"warmup": ["0s", "10s"]}}, False),
    ):
        said = facts.limits(found(document=document), [result("a")], [])
        assert any(each.startswith("There was no warm-up: ") for each in said) == told, document


def test_a_page_says_how_it_is_made_again() -> None:
    says, commands = facts.reproduce(found(), [result("a")])
    assert says.startswith("The same study, seed and engine (") and "abc" in says
    assert commands == ["sojourn run s.toml", "sojourn report results/s"]
    record = {"command": "sojourn run s.toml", "out": "my folder"}
    _, commands = facts.reproduce(found(record=record), [result("a")])
    assert commands == ["sojourn run s.toml --out 'my folder'", "sojourn report 'my folder'"]
    _, commands = facts.reproduce(found(record={"out": "results/s/"}), [result("a")])
    assert commands == ["sojourn run s.toml", "sojourn report results/s/"]
    says, commands = facts.reproduce(found(captured=True, record={}), [result("a")])
    assert "same captures" in says and commands == ["sojourn losses INGRESS EGRESS"]


def test_published_tables_lie_beside_the_results_or_the_study() -> None:
    record = {"command": "sojourn run 'a b/s.toml' t.toml --set x=1"}
    assert facts.study_folders(found(record=record)) == [Path("results/s"), Path("a b"), Path()]
    assert facts.study_folders(found(record={"command": "run 'a"})) == [Path("results/s")]


def test_what_two_captures_tell_is_said_of_what_was_seen() -> None:
    wait = {"mean": 1.2345, "p50": 1.0, "p95": 3.0, "max": 12.0}
    link = {"arrived_pkts": 12_000, "dropped_pkts": 30, "loss": 0.0025, "queue_delay_ms": wait}
    rate = {"rate_bps": 10_500_000, "utilisation": 0.876}

    def sentences(**more: Any) -> list[str]:
        return captured({"links": {"down": {**link, **more}}}, found()).sentences

    assert sentences(**rate) == [
        "30 of 12 000 packets were lost between the captures (0.25 %).",
        "Packets that came through had waited 1.23 ms on average above the shortest wait: median 1 ms, 95th "
        "percentile 3 ms, longest 12 ms.",
        "Of the 10.5 Mbit/s that were given as its rate, 87.6 % were used.",
    ]
    assert sentences(dropped_pkts=0)[0].startswith("No packet was lost: all 12 000 that came to the queue")
    assert sentences(arrived_pkts=0, dropped_pkts=0, queue_delay_ms={**wait, "p95": None}) == [
        "No packet was seen in front of the queue."
    ]
    assert len(sentences(utilisation=0.9)) == 2 and len(sentences(rate_bps=1)) == 2
    no_rate = facts.limits(found(captured=True), [{"point": {}, "links": {"down": {}}, "engine": {}}], [])
    assert any("The rate of the link was not given" in each for each in no_rate)
    given = facts.limits(found(captured=True), [{"point": {}, "links": {"down": rate}, "engine": {}}], [])
    assert not any("not given" in each for each in given)


def test_the_worst_call_of_a_cell_is_the_worst_of_all_its_replications() -> None:
    def about(z1: float, mos: float, name: str) -> dict[str, Any]:
        return {"z1": z1, "mos": mos, "name": name}

    runs = [
        {
            "point": {"q": "8pkt"},
            "voice": {"worst": {"talks": about(3, 4, "a"), "listens": about(1, 1, "b")}},
        },
        {"point": {"q": "8pkt"}, "voice": {"worst": {"talks": about(2, 5, "c")}}},
        {"point": {"q": "8pkt"}, "voice": {"worst": {"talks": about(2, 3, "d")}}},
        {"point": {"q": "8pkt"}, "voice": {"worst": {"talks": about(2, 4, "e")}}},
        {"point": {"q": "9pkt"}, "voice": {}},
        {"point": {}, "voice": {"worst": {"talks": about(9, 9, "f")}}},
    ]
    worst = listening._worst(runs)
    assert {place: each["name"] for place, each in worst.items()} == {
        ("8pkt", "talks"): "d", ("8pkt", "listens"): "b", ("the one cell", "talks"): "f",
    }  # fmt: skip
    assert listening.listen([{"point": {}}]) == listening.Listening()


def test_what_is_tied_to_an_axis_is_said_with_its_labels() -> None:
    a, wifi = "path.hop.core.down.rate", "path.hop.wifi.down.queue"
    queues = [{"kind": "fifo", "limit": "5pkt"}, {"kind": "fq-codel"}]
    ups = {"path.hop.core.up.rate": ["1Gbit", "5Mbit", "4Mbit"], "path.hop.line.up.rate": ["2Mbit"] * 3}
    document = {
        "sweep": {a: ["1Gbit", "19Mbit", "9Mbit"], wifi: queues, "n": [1, 2]},
        "tie": [
            {"with": a, "set": ups},
            {"with": a, "set": {"path.hop.line.down.rate": ["20Mbit", "20Mbit", "10Mbit"]}},
            {"with": wifi, "set": {"path.hop.wifi.up.queue": queues}},
        ],
    }
    # Of three labels two were run; a key that stays goes without saying.
    axes = {a: ["1Gbit", "9Mbit"], wifi: ["fifo", "fq-codel"], "n": ["1", "2"]}
    assert facts.together(document, axes) == [
        "Along core downlink rate more changes than its labels say: core uplink rate is 1Gbit with 1Gbit, "
        "4Mbit with 9Mbit; line downlink rate is 20Mbit with 1Gbit, 10Mbit with 9Mbit.",
        "Along wifi downlink queue more changes than its labels say: wifi uplink queue is the same.",
    ]
    http = "users.0.http"
    document = {
        "sweep": {http: ["1.1", "2", "3"]},
        "tie": [{"with": http, "set": {"users.0.hystart": ["linux", "linux", "none"]}}],
    }
    assert facts.together(document, {http: ["1.1", "2", "3"]}) == [
        "Along users: HTTP more changes than its labels say: users: HyStart is linux with 1.1 and 2, none "
        "with 3."
    ]
    assert facts.together({}, {"n": ["1", "2"]}) == facts.together(document, {a: ["19Mbit"]}) == []
