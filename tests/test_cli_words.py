"""What verbs print of numbers that are known, what they refuse, and with which code they end."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cyclopts import CycloptsError, UnusedCliTokensError
from sojourn import cli
from sojourn.cli import VERBS, compare, emulate, losses, measure, overview, run, suite, wild
from sojourn.cli import explore as explore_verb
from sojourn.cli.again import again
from sojourn.cli.exit import INTERRUPTED, Exit, Interrupted
from sojourn.errors import SojournError
from sojourn.results import atomic
from sojourn.study.suites.catalogue import names


def flow(name: str, lost: int, packets: int) -> dict[str, Any]:
    ends = {"source": "a", "source_port": 1, "destination": name, "destination_port": 2}
    return {**ends, "protocol": "tcp", "lost": lost, "packets": packets}


def test_a_round_trip_of_no_time_is_refused() -> None:
    with pytest.raises(SojournError, match=r"^--rtt 0ms: a round trip takes time; write one above zero"):
        losses.losses(Path("a.pcap"), Path("b.pcap"), rtt="0ms")
    for empty, says in (
        ({"rtt": ""}, "--rtt: '' is not a time"),
        ({"rate": ""}, "--rate: expected a constant"),
    ):
        with pytest.raises(SojournError, match=f"^{says}"):
            losses.losses(Path("a.pcap"), Path("b.pcap"), **empty)


def test_losses_are_told_by_protocol_burst_and_flow_the_worst_first() -> None:
    bursts = {"count": 3, "mean_pkts": 1.333, "max_pkts": 2, "stitched_count": 2}
    bursts |= {"stitched_mean_pkts": 2.0, "stitched_max_pkts": 3}
    found = {
        "bursts": bursts, "lost_pkts": 4, "ingress_pkts": 400, "egress_pkts": 396, "loss": 0.01,
        "by_protocol": {"tcp": {"lost": 3, "packets": 100, "loss": 0.03}},
        "flows": [flow("b", 1, 50), flow("c", 2, 90), flow("d", 1, 40), flow("e", 0, 1)],
    }  # fmt: skip
    assert losses.table(found).splitlines() == [
        "4 of 400 packets lost (1.00 %), 396 seen behind the queue",
        "     tcp: 3 of 100 (3.00 %)",
        "  bursts: 3, mean 1.33 packets, longest 2; stitched: 2, mean 2.00, longest 3",
        "   flows: 3 of 4 lost packets",
        "          tcp a:1 → c:2: 2 of 90",
        # Of as many, the one of the fewest packets: it lost the larger share.
        "          tcp a:1 → d:2: 1 of 40",
        "          tcp a:1 → b:2: 1 of 50",
    ]
    many = [flow(str(n), 1, n) for n in range(1, 8)]
    none = {**found, "bursts": {"count": 0}, "by_protocol": {}, "flows": many}
    assert len(losses.table(none).splitlines()) == 2 + 5


def way(mean: float, **more: Any) -> dict[str, Any]:
    numbers = dict(zip(("mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"), (mean, 2, 3, 4, 5), strict=True))
    return {"samples": 7, **numbers, "lower_bound": False, "missing_at_most_ms": None, **more}


def host(**more: Any) -> dict[str, Any]:
    usual = {"remote": "r", "local": "l", "protocol": "tcp", "estimator": "observer", "to_remote": "not seen"}
    return {**way(1.25), **usual, "rtt_ms": None, **more}


def test_each_direction_is_a_row_named_by_who_sends_to_whom() -> None:
    both = host(to_remote=way(9.0, lower_bound=True), estimator="remote_clock")
    rows = measure._rows([both])
    assert [row[0] for row in rows] == ["r → l", "l → r"]
    assert rows[0][1:] == ("tcp", "7", "1.2", "2.0", "3.0", "4.0", "5.0", "yes", "remote clock")
    assert rows[1][3] == "9.0" and rows[1][-2:] == ("at least", "")
    assert measure._known(way(1, lower_bound=True, missing_at_most_ms=2.25)) == "at least, up to 2.2 more"
    assert measure._rows([host(samples=0)]) == []
    quic = host(protocol="quic", samples=0, rtt_ms={"samples": 9, "p50": 20.0, "p95": 30.0})
    assert measure._rows([quic]) == [
        ("r, round trip", "quic", "9", "–", "20.0", "30.0", "–", "–", "", "spin bit"),
    ]  # fmt: skip
    assert measure._rows([host(rtt_ms={"samples": 9, "p50": 1, "p95": 2})])[0][0] == "r → l"
    assert [measure._measured(each) for each in (host(), host(samples=0), quic, {**both, "samples": 0})] == [
        True, False, True, True,
    ]  # fmt: skip


def test_what_a_measurement_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = {"damage": [], "skipped": {}, "left_out_by_request": 0, "packets_between_local_hosts": 0}
    nothing |= {"hosts_below_min_samples": 0, "hosts": [host()], "packets": 100}

    def said(**more: Any) -> list[str]:
        measure._notes({**nothing, **more}, 50)
        return capsys.readouterr().err.splitlines()

    assert said() == []
    assert said(skipped={"not_ip": 3}) == ["sojourn: note: 3 of 100 frames skipped: not ip"]
    assert said(left_out_by_request=2)[0].startswith("sojourn: note: 2 frames left out by --filter")
    assert said(left_out_by_request=2, packets=0) == [
        "sojourn: note: all 2 frames left out by --filter, --from or --to"
    ]
    assert said(packets=0, hosts=[]) == ["sojourn: note: the captures hold no frame"]
    assert said(hosts_below_min_samples=4) == ["sojourn: note: 4 hosts with fewer than 50 samples left out"]
    cut, broken = ({"sentence": "x", "cut_short": each} for each in (True, False))
    assert said(damage=[cut, broken]) == ["sojourn: note: x", "sojourn: x"]
    blind = host(samples=0, packets=8, discarded={"no_echo": 5, "old": 1}, from_remote="few")
    assert said(hosts=[blind]) == [
        "sojourn: note: r (tcp): no delay of its 8 packets can be had (5 no echo, 1 old)"
    ]
    assert said(hosts=[{**blind, "discarded": {}}])[0].endswith("can be had (few)")
    assert said(hosts=[{**blind, "protocol": "quic"}] * 2) == [
        "sojourn: note: no round trip of 2 hosts with QUIC can be had: no spin bit changed"
    ]


def test_a_table_of_delays_has_a_column_for_each_head(capsys: pytest.CaptureFixture[str]) -> None:
    measure._table([], 50)
    assert capsys.readouterr().out == "no remote host gave 50 samples\n"
    measure._table(measure._flow_rows([{"flow": "a>b", "protocol": "utp", **way(1.25)}]), 50)
    head, row = capsys.readouterr().out.splitlines()
    assert row.startswith("a → b      utp") and head.index("mean ms") + 7 == row.index("1.2") + 3
    assert head.endswith("empty queue seen  clock") and row.endswith("5.0  yes")
    bound = way(1.25) | {"lower_bound": True, "missing_at_most_ms": 2.0}
    measure._table(measure._flow_rows([{"flow": "a>b", "protocol": "utp", **bound}]), 50)
    assert capsys.readouterr().out.splitlines()[1].endswith("at least, up to 2.0 more")


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        ({"packets": 9, "damage": [], "hosts": [host()]}, Exit.DONE),
        (
            {"packets": 9, "damage": [], "hosts": [host(samples=0, packets=1, discarded={}, from_remote="")]},
            Exit.FAILED,
        ),
        ({"packets": 0, "damage": [], "hosts": []}, Exit.FAILED),
        ({"packets": 0, "damage": [], "hosts": [], "left_out_by_request": 9}, Exit.FAILED),
        ({"packets": 9, "damage": [{"sentence": "x", "cut_short": True}], "hosts": [host()]}, Exit.DONE),
        ({"packets": 9, "damage": [{"sentence": "x", "cut_short": False}], "hosts": [host()]}, Exit.FAILED),
    ],
)
def test_a_measurement_without_a_result_or_of_damage_fails(
    summary: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = {
        "skipped": {},
        "left_out_by_request": 0,
        "packets_between_local_hosts": 0,
        "hosts_below_min_samples": 0,
    }
    monkeypatch.setattr("sojourn.capture.measure", lambda *_, **__: {**rest, **summary})
    assert measure.measure(Path("x")) == code


def test_numbers_of_measure_are_checked_at_their_edges() -> None:
    for words in ({"min_samples": 0}, {"min_samples": 2**32}, {"jobs": -1}, {"jobs": 2**16}):
        with pytest.raises(SojournError, match=r"^--(min-samples|jobs) is "):
            measure.measure(**words)  # type: ignore[arg-type]
    for fine in ({"min_samples": 1}, {"min_samples": 2**32 - 1}, {"jobs": 2**16 - 1}):
        with pytest.raises(SojournError, match="no capture was named"):
            measure.measure(**fine)  # type: ignore[arg-type]
    for beside in (
        {"samples": Path("x")},
        {"report": Path("x")},
        {"flows": True},
        {"jobs": 1},
        {"from_": 1.0},
        {"to": 1.0},
    ):
        with pytest.raises(SojournError, match="--live follows an interface"):
            measure.measure(live="lo", **beside)  # type: ignore[arg-type]
    for live in ({"duration": 1.0}, {"prometheus": 1}, {"every": 1.0}):
        with pytest.raises(SojournError, match="--prometheus, --every and --duration go with --live"):
            measure.measure(Path("x"), **live)  # type: ignore[arg-type]
    with pytest.raises(SojournError, match=r"a file that ends in \.html"):
        measure.measure(Path("x"), report=Path("y.pdf"))


def test_the_end_of_an_emulation_is_the_command_s_unless_strict(capsys: pytest.CaptureFixture[str]) -> None:
    point = SimpleNamespace(study="s", labels={"a": "b"}, replication=0)

    def ended(
        held: bool = True,
        code: int = 0,
        packets: int = 9,
        words: dict[str, Any] | None = None,
        **options: bool,
    ) -> int:
        command = {
            "exit": code,
            "refused": None,
            "server_silent": False,
            "server_exit": None,
            **(words or {}),
        }
        engine = {
            "without": [],
            "processors": {"steal_pct": 0},
            "late_wakes": 0,
            "clamped_pkts": 0,
            "replay": {"up": {"decisions": packets}},
        }
        came = {
            "command": command,
            "verdict": {"held": held, "reasons": ["r"]},
            "links": {},
            "lateness_us": {},
        }
        chosen = {"json": False, "quiet": False, "strict": False, **options}
        return emulate._end({**came, "engine": engine}, point, **chosen)

    assert ended() == 0 and ended(code=7) == 7 and ended(held=False) == 0
    assert ended(held=False, strict=True) == Exit.FAILED and ended(held=False, code=7, strict=True) == 7
    assert ended(strict=True) == 0 and ended(packets=0, strict=True) == Exit.FAILED
    capsys.readouterr()
    ended(quiet=True)
    assert capsys.readouterr().err == ""
    ended(held=False, quiet=True)
    assert "not held: r" in capsys.readouterr().err
    ended(words={"refused": "no such program"})
    assert "sojourn: no such program" in capsys.readouterr().err
    ended(words={"server_silent": True}, quiet=True)
    assert "had not begun to listen after 3 s" in capsys.readouterr().err
    ended(words={"server_silent": True, "server_exit": 3}, quiet=True)
    assert "ended before it listened (exit code 3)" in capsys.readouterr().err
    ended(json=True, quiet=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["study"], told["point"], told["replication"], told["verdict"]["held"]) == (
        "s",
        {"a": "b"},
        0,
        True,
    )
    assert told["engine"]["build"]


def test_a_command_or_a_shell_is_emulated_and_not_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/x")
    assert emulate._command("ping -c 'a b'", False) == ("ping", "-c", "a b")
    assert emulate._command(None, True) == ("/bin/x", "-i")
    monkeypatch.delenv("SHELL")
    assert emulate._command("", True)[0] == "/bin/sh"
    for words, shell, why in (("ping", True, "expected one of them"), (None, False, "no command is given")):
        with pytest.raises(SojournError, match=why):
            emulate._command(words, shell)
    with pytest.raises(SojournError, match="--host and --server both"):
        emulate.emulate(host=True, server="x", command="true")
    with pytest.raises(SojournError, match=r"--log is 'x\.csv'; expected a file that ends in \.parquet"):
        emulate.emulate(log=Path("x.csv"), command="true")


def test_what_was_cut_is_what_was_watched(tmp_path: Path) -> None:
    frames = io.BytesIO(b"abc")
    frames.seek(2)
    emulate._write_capture(frames, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == b"abc"


def test_an_interrupt_says_how_far_it_came_or_that_not_all_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for raised, said in (
        (KeyboardInterrupt(), INTERRUPTED),
        # As the engine words it.
        (KeyboardInterrupt("the simulation was stopped"), INTERRUPTED),
        (Interrupted("interrupted: 1 of 2 points are done"), "interrupted: 1 of 2 points are done"),
    ):
        monkeypatch.setattr(cli, "_run", lambda _, raised=raised: (_ for _ in ()).throw(raised))
        assert cli.call(["run", "x"]) == Exit.INTERRUPTED
        assert capsys.readouterr().err == f"sojourn: {said}\n"


def test_a_dry_run_counts_what_is_done_and_how_long_the_rest_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.hash, self.names = name, {"point": name}

        def __str__(self) -> str:
            return self.hash

    points = [Named(name) for name in "abcd"]

    def listed(done: str, times: dict[str, float], as_json: bool = False) -> list[str]:
        campaign = SimpleNamespace(
            points=points, done=set(done), todo=[None] * (4 - len(done)), study=SimpleNamespace(name="s"),
            store=SimpleNamespace(times=lambda: times), may_grow=False,
        )  # fmt: skip
        assert run._list([campaign], as_json) == 0  # type: ignore[list-item]
        return capsys.readouterr().out.splitlines()

    assert listed("ac", {"a": 2.0, "c": 4.0, "x": 99.0}) == [
        "done   a", "to do  b", "done   c", "to do  d",
        "s: 4 points, 2 done, 2 to do, about 6 s of one core if they take as long as those that are done",
    ]  # fmt: skip
    assert listed("", {})[-1] == "s: 4 points, 0 done, 4 to do"
    assert listed("abcd", {"a": 2.0})[-1] == "s: 4 points, 4 done, 0 to do"
    assert json.loads(listed("b", {}, True)[1]) == {"point": "b", "hash": "b", "done": True}


def test_the_command_of_a_suite_has_all_that_was_asked() -> None:
    options = {
        "aqm": ["fifo", "{ a }"], "case": ["8"], "set": ["a=1"], "link": ("1Mbit/1ms", "2Mbit/2ms"),
        "seeds": 3, "knobs": True, "preset": "p", "out": Path("o"),
    }  # fmt: skip
    assert again("suite", "tcp", **options) == (
        "sojourn suite tcp --aqm fifo --aqm '{ a }' --case 8 --set a=1 --link 1Mbit/1ms 2Mbit/2ms --seeds 3 "
        "--knobs --preset p --out o"
    )
    none = {"aqm": None, "case": [], "link": (), "knobs": False, "preset": None, "out": None}
    assert again("suite", "tcp", **none, seeds=1) == "sojourn suite tcp --seeds 1"
    own = SimpleNamespace(name="own", link="", packet_bytes=1500)
    with pytest.raises(SojournError, match="every case of own has a link of its own"):
        suite._links(own, ["1Mbit/1ms"])  # type: ignore[arg-type]
    shared = SimpleNamespace(name="s", link="3Mbit/4ms", packet_bytes=1500)
    assert [link.name for link in suite._links(shared, [])] == ["3Mbit/4ms"]  # type: ignore[arg-type]
    assert len(suite._links(shared, ["1Mbit/1ms", "2Mbit/2ms"])) == 2  # type: ignore[arg-type]
    with pytest.raises(SojournError, match="--link names a link twice"):
        suite._links(shared, ["1Mbit/1ms", "1Mbit/1ms"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("no such\n  option", "no such option."), ("Did you mean this?", "Did you mean this?"),
        ("Stop!", "Stop!"), ("It ends.", "It ends."), ("", "."),
    ],
)  # fmt: skip
def test_what_a_parser_refuses_is_one_sentence(said: str, sentence: str) -> None:
    assert cli._sentence(CycloptsError(said)) == sentence
    left = UnusedCliTokensError(unused_tokens=["5.3.1", "x"])
    assert cli._sentence(left) == "No argument or option takes '5.3.1', 'x'."


@pytest.mark.parametrize(
    "words",
    [
        ["measure", "x", "--min-samples", "2.9"],
        ["suite", "rfc7928", "--seeds", "0.5"],
        ["run", "x", "--jobs", "1.0"],
    ],
)
def test_a_number_that_is_not_whole_is_not_rounded(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    *_, option, number = words
    assert cli.call(words) == Exit.INPUT
    assert f'Invalid value for {option}: unable to convert "{number}" into int.' in capsys.readouterr().err


def test_a_command_that_is_none_is_named_with_what_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    for given, meant in (
        (["rum", "x.toml"], "'rum'; did you mean run?"),
        (["Report"], "'Report'; did you mean report?"),
        (["xyz"], f"'xyz'; expected one of run, recommend, {', '.join([*cli.VERBS][2:])}"),
    ):
        assert cli.call(given) == Exit.INPUT
        assert capsys.readouterr().err == f"sojourn: there is no command {meant}\n"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["run", "a.toml", "--only"], 'Command "run" parameter --only requires an argument.'),
        (["run", "a.toml", "--dry-rn"], "Unknown option: --dry-rn. Did you mean --dry-run?"),
        (["show", "a", "b", "c"], "No argument or option takes 'c'."),
    ],
)
def test_what_lacks_or_is_too_much_is_said_of_the_word_itself(
    given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.call(given) == Exit.INPUT
    assert capsys.readouterr().err == f"sojourn: {sentence} See `sojourn {given[0]} --help`.\n"


def test_small_words_of_verbs_are_read_and_made() -> None:
    assert wild._assignment("a=b=c") == ("a", "b=c")
    for wrong in ("a", "=b", "a="):
        with pytest.raises(SojournError, match="expected OURS=THEIRS"):
            wild._assignment(wrong)
    row = {"axis": "8pkt", "value": "loss", "low": None, "high": None, "p": 0.5}
    assert compare._nested(dict(row), {"axis": "8pkt"}) == {
        "point": {"axis": "8pkt"}, "value": "loss", "p": 0.5, "interval": None,
    }  # fmt: skip
    assert compare._nested({**row, "low": 0.0, "high": 1.0}, {})["interval"] == [0.0, 1.0]


def test_every_suite_that_ships_is_named_where_suites_are_explained() -> None:
    about, _, first = (suite.suite.__doc__ or "").partition("Parameters")
    assert names() and all(f"`{name}`:" in about and name in first.split("aqm")[0] for name in names())


def test_the_overview_has_each_verb_apart_from_what_it_does() -> None:
    lines = overview().splitlines()
    at = lines.index("How big should this buffer be, under which queue discipline, for these users?") + 2
    verbs = [line.split(maxsplit=1) for line in lines[at : at + len(VERBS)]]
    assert dict(verbs) == VERBS
    places = {line.index(does) for line, does in zip(lines[at:], VERBS.values(), strict=False)}
    assert places == {max(map(len, VERBS)) + 4} and lines[-1].startswith(
        "Example: sojourn run quickstart && "
    )


def test_an_explorer_is_made_again_by_the_command_that_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    page = tmp_path / "e.html"

    def write(opened: Any, command: str, out: Path) -> Any:
        said.append(command)
        out.write_text("page")
        return SimpleNamespace(page=out, studies=["s"], without="no engine")

    monkeypatch.setattr("sojourn.report.explore.write_explorer", write)

    class Some(SimpleNamespace):
        def __len__(self) -> int:
            return 3

    one = Some(missing=2, store=SimpleNamespace(path="results/a b"))
    monkeypatch.setattr(explore_verb, "open_results", lambda _: one)
    explore_verb.explore(Path("results/a b"), out=page, json=True)
    assert said == [f"sojourn explore 'results/a b' --out {page}"]
    out, err = capsys.readouterr()
    assert json.loads(out) == {"page": str(page), "bytes": 4, "studies": ["s"], "live": False}
    assert "note: 2 of the points of results/a b are not there yet" in err and "note: no engine" in err
    with pytest.raises(SojournError, match="is a directory; --out takes the page to write"):
        explore_verb.explore(out=tmp_path)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "x"
    place.write_text("old")

    def fails(file: Any) -> None:
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        atomic.write(place, fails)
    assert place.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["x"]
    atomic.write(place, lambda file: file.write(b"new"))
    assert place.read_text() == "new" and [file.name for file in tmp_path.iterdir()] == ["x"]
