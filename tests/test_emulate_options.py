"""What each option of `sojourn emulate` does: what the emulator is told, and what is written at the end."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sojourn.cli import call
from sojourn.cli.emulate import _of_time_over
from sojourn.cli.exit import Exit
from sojourn.errors import StoreError
from sojourn.study import Point
from sojourn.sweep import emulation
from sojourn.sweep.emulation import BedError, Options, check
from sojourn.sweep.emulation import page as report
from test_emulate_live import changed

PATH = ("--down", "8Mbit", "--up", "2Mbit", "--rtt", "20ms")
STUDY = """
name = "s"
duration = "2s"
[path]
rtt = "40ms"
down = { rate = "4Mbit", queue = { kind = "fifo", limit = "9pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }
[sweep]
"path.down.rate" = ["4Mbit", "5Mbit"]
"""
Asked = tuple[Point, Options, dict[str, Any]]


@pytest.fixture
def emulate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, Asked | None]]:
    """Return what calls the command, and hands back its exit code and what the emulator was asked."""
    (tmp_path / "s.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)

    def asks(
        *words: str, command: str = "true", exit: int = 0, held: bool = True
    ) -> tuple[int, Asked | None]:
        asked: list[Asked] = []

        def run(point: Point, options: Options, **outputs: Any) -> dict[str, Any]:
            asked.append((point, options, outputs))
            if outputs["capture"] is not None:
                outputs["capture"].write(b"frames")
            came = changed()
            came["verdict"] |= {"held": held, "reasons": [] if held else ["late"]}
            came["command"]["exit"] = exit
            return came

        monkeypatch.setattr(emulation, "run", run)
        code = call(["emulate", *words, "--", *command.split()])
        return code, asked[0] if asked else None

    return asks


@pytest.mark.parametrize(
    ("words", "name", "told"),
    [
        ((), "command", ("true",)),
        ((), "host", True),
        ((), "server", None),
        (("--server", "x -s"), "server", "x -s"),
        (("--server", "x"), "host", False),
        (("--host",), "host", True),
        ((), "mtu", 1500),
        (("--mtu", "9000"), "mtu", 9000),
        ((), "offload", True),
        (("--no-offload",), "offload", False),
        ((), "access", None),
        (("--access-rate", "10Gbit"), "access", "10Gbit"),
        (("--congestion", "bbr"), "congestion", "bbr"),
        ((), "variables", ()),
        (("--ecn",), "variables", (("net.ipv4.tcp_ecn", "1"),)),
        (
            ("--sysctl", "net.a=2", "--ecn", "--sysctl", "net.b=3=4"),
            "variables",
            (("net.ipv4.tcp_ecn", "1"), ("net.a", "2"), ("net.b", "3=4")),
        ),
        ((), "probes", 10),
        (("--rtt", "10001ms"), "probes", 0),
        ((), "duration_s", None),
        (("--duration", "1500ms"), "duration_s", 1.5),
    ],
)
def test_options_are_told_to_the_emulator(
    emulate: Callable[..., Any], words: tuple[str, ...], name: str, told: Any
) -> None:
    path = PATH[:-2] if "--rtt" in words else PATH
    code, (_, options, _) = emulate(*path, *words)
    assert code == 0 and getattr(options, name) == told


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (PATH, "down.rate", "8Mbit"),
        (PATH, "up.rate", "2Mbit"),
        (PATH, "down.queue.limit", "1BDP"),
        ((*PATH, "--limit", "7pkt"), "up.queue.limit", "7pkt"),
        ((*PATH, "--queue", "codel"), "up.queue.kind", "codel"),
        ((*PATH, "--set", "path.down.queue.drop=head"), "down.queue.drop", "head"),
        (("s.toml", "--only", "path.down.rate=5Mbit"), "down.rate", "5Mbit"),
        (("s.toml", "--only", "path.down.rate=5Mbit", "--up", "3Mbit"), "up.rate", "3Mbit"),
        (("s.toml", "--only", "path.down.rate=4Mbit", "--limit", "5pkt"), "up.queue.limit", "5pkt"),
    ],
)
def test_the_path_is_the_written_one_or_the_study_s(
    emulate: Callable[..., Any], words: tuple[str, ...], key: str, value: str
) -> None:
    _, (point, _, _) = emulate(*words)
    found = point.document["path"]
    for part in key.split("."):
        found = found[part]
    assert found == value


def test_one_path_is_emulated(emulate: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, asked = emulate("s.toml")
    assert (code, asked) == (Exit.INPUT, None)
    assert (
        "s.toml has 2 points, and one path is emulated; choose with --only AXIS=VALUE, the axes being "
        in (capsys.readouterr().err)
    )


QUEUED = STUDY.replace('"path.down.rate" = ["4Mbit", "5Mbit"]', '"path.queue.kind" = ["fifo", "codel"]')
QUEUED = re.sub(", queue = {[^}]*}", "", QUEUED).replace("rtt =", 'queue.limit = "9pkt"\nrtt =')


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            (*PATH, "--limit", "0pkt"),
            """--limit '0pkt': "0pkt" is not a limit: a queue must hold something; """,
        ),
        ((*PATH, "--limit", ""), '--limit \'\': "" is not a limit: write packets ("64pkt"), bytes '),
        (
            ("--down", "8Mbps", *PATH[2:]),
            "--down '8Mbps': \"8Mbps\" is not a rate: Mbps is megabits to some ",
        ),
        ((*PATH[:4], "--rtt", "20"), "--rtt '20': \"20\" is not a time: it has no unit; "),
        ((*PATH, "--queue", "nix"), "--queue 'nix': unknown variant `nix`, expected one of `fifo`, "),
        ((*PATH, "--queue", "red"), "--queue 'red': missing field `limit`: how much it holds, all flows "),
        (
            (*PATH, "--queue", "pfifo", "--limit", "9ms"),
            "--queue 'pfifo': pfifo counts packets, not \"9ms\"; ",
        ),
        ((*PATH, "--set", "path.rtt=2"), 'the options: --set path.rtt=2: "2" is not a time: '),
        (("s.toml", "--queue", "nix"), "s.toml: --queue 'nix': unknown variant `nix`, "),
        (
            ("q.toml", "--only", "path.queue.kind=codel", "--queue", "pie"),
            "--queue 'pie': q.toml sweeps path.queue",
        ),
    ],
)
def test_what_is_wrong_with_an_option_is_said_of_the_option(
    emulate: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Any, sentence: str
) -> None:
    (tmp_path / "q.toml").write_text(QUEUED)
    code, asked = emulate(*words)
    said = capsys.readouterr().err
    assert (code, asked) == (Exit.INPUT, None) and said.startswith(f"sojourn: {sentence}")
    assert said.count("\n") == 1 and ("red" not in words or said.endswith("; give --limit\n"))


def test_what_is_wrong_with_a_study_s_file_is_shown_in_it(
    emulate: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.toml").write_text(QUEUED)
    assert emulate("q.toml", "--only", "path.queue.kind=codel", "--limit", "5pkt")[0] == Exit.DONE
    (tmp_path / "q.toml").write_text(QUEUED.replace("40ms", "40"))
    assert emulate("q.toml", "--limit", "5pkt") == (Exit.INPUT, None)
    assert 'q.toml:6:8: "40" is not a time' in capsys.readouterr().err


def test_what_is_asked_for_is_written(
    emulate: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _, (_, _, outputs) = emulate(*PATH)
    assert outputs == {"log": None, "capture": None, "look": None, "stdout": None, "stderr": None}
    _, (_, _, outputs) = emulate(*PATH, "--log", "p.parquet", "--pcap", "c.pcapng")
    assert outputs["log"] is not None and (tmp_path / "c.pcapng").read_bytes() == b"frames"
    assert (tmp_path / "p.parquet").is_file()
    # What is printed at the end is not mixed with what the command prints.
    _, (_, _, outputs) = emulate(*PATH, "--json")
    assert outputs["stdout"] is not None and outputs["stderr"] is None
    assert json.loads(capfd.readouterr().out)["study"] == "emulate"
    made: list[tuple[str, Path]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "write_page", lambda came, command, place, _: made.append((command, place)))
        emulate(*PATH, "--report", "r.html")
    assert [place for _, place in made] == [Path("r.html")]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--log", "d.parquet"), "--log is 'd.parquet'; expected a file that ends in .parquet"),
        (("--pcap", "/dev/fd/x.pcapng"), "x.pcapng cannot be written"),
        (("--check",), "--check runs no command and takes no study: leave them out"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    emulate: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Any, sentence: str
) -> None:
    (tmp_path / "d.parquet").mkdir()
    code, asked = emulate(*PATH, *words)
    assert (code, asked) == (Exit.INPUT, None) and sentence in capsys.readouterr().err
    assert {file.name for file in tmp_path.iterdir()} == {"d.parquet", "s.toml"}


def test_what_a_run_came_to_is_told_although_a_file_cannot_be_written_any_more(
    emulate: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise StoreError("r.html cannot be written: No space left on device")

    monkeypatch.setattr(report, "write_page", full)
    for exit, code in ((0, Exit.FAILED), (7, 7)):
        got, _ = emulate(*PATH, "--report", "r.html", "--pcap", "c.pcapng", "--json", exit=exit)
        told = capfd.readouterr()
        assert got == code and json.loads(told.out)["command"]["exit"] == exit
        assert "No space left" in told.err and "held: " in told.err
        assert (tmp_path / "c.pcapng").read_bytes() == b"frames"


def test_looks_are_taken_where_somebody_sees_them(emulate: Callable[..., Any]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, (_, _, outputs) = emulate(*PATH, "--prometheus", str(port))
    assert outputs["look"] is not None and outputs["stdout"] is None
    _, (_, _, outputs) = emulate(*PATH, "--live")
    assert outputs["look"] is not None and outputs["stdout"] is not None and outputs["stderr"] is not None


def test_the_exit_code_is_the_command_s(emulate: Callable[..., Any]) -> None:
    assert emulate(*PATH, exit=7)[0] == 7 and emulate(*PATH, "--strict")[0] == 0
    assert emulate(*PATH, held=False)[0] == 0
    assert emulate(*PATH, "--strict", held=False)[0] == Exit.FAILED
    assert emulate(*PATH, "--strict", exit=7, held=False)[0] == 7


def test_no_bed_is_an_exit_code_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise BedError("no namespaces here")

    monkeypatch.setattr(emulation, "run", none)
    assert call(["emulate", *PATH, "--", "true"]) == 125
    assert capsys.readouterr().err == "sojourn: no namespaces here\n"
    monkeypatch.setattr(check, "run", none)
    assert call(["emulate", "--check"]) == 125


def test_trials_go_on_until_a_rate_is_not_held(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Options]] = []

    def run(point: Point, options: Options, held: int = 2, exit: int = 0) -> dict[str, Any]:
        asked.append((point.document["path"]["up"]["rate"], options))
        came = changed()
        came["lateness_us"]["up"] = {"p50": 1.0, "p99": 1500.0, "p999": 2.0, "max": 3.0}
        came["links"]["up"]["utilisation"] = 0.8
        came["engine"]["without"] = ["stamps"]
        came["verdict"] |= {"held": len(asked) <= held, "reasons": [] if len(asked) <= held else ["late"]}
        came["command"]["exit"] = exit
        return came

    monkeypatch.setattr(check, "run", run)
    assert call(["emulate", "--check"]) == 0
    assert [rate for rate, _ in asked] == ["10Mbit", "100Mbit", "250Mbit"]
    assert asked[0][1].duration_s == 5 and asked[0][1].congestion == "reno" and asked[0][1].probes == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "   10Mbit: held, p99 1.50 ms late, 80 % used"
    assert lines[2].startswith("  250Mbit: not held") and lines[3] == "without stamps"
    assert lines[4].startswith(
        "this machine holds 100Mbit one way now: 99 % of the packets left at most 1.50 ms"
    )
    asked.clear()
    assert call(["emulate", "--check", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] == "100Mbit" and [trial["held"] for trial in told["trials"]] == [True, True, False]
    assert told["trials"][0]["p99_us"] == 1500.0 and told["trials"][2]["reasons"] == ["late"]
    asked.clear()
    monkeypatch.setattr(check, "run", lambda point, options: run(point, options, exit=1))
    assert call(["emulate", "--check", "--strict"]) == Exit.FAILED
    assert len(asked) == 1, "a transfer that failed is not held"
    assert "holds not even 10Mbit now: the transfer failed" in capsys.readouterr().out
    asked.clear()
    monkeypatch.setattr(check, "run", lambda point, options: run(point, options, held=0, exit=1))
    assert call(["emulate", "--check"]) == 0
    assert "holds not even 10Mbit now: the transfer failed; late" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("signal", "code", "wall_s", "says"),
    [
        ("SIGTERM", 143, 0.3, "was ended after 300ms, as --duration says (SIGTERM)"),
        (None, 143, 0.3, "was ended after 300ms, as --duration says (SIGTERM)"),
        ("SIGKILL", 137, 3.31, "says (SIGTERM); it did not, and was killed 3.0 s later"),
        (None, 0, 0.52, "says (SIGTERM); it ended in its own way 0.2 s later, with exit code 0"),
        (None, 5, 0.2998, "says (SIGTERM); it ended in its own way at once, with exit code 5"),
        ("SIGUSR1", 138, 0.4, "says (SIGTERM); it ended in its own way 0.1 s later, by SIGUSR1"),
    ],
)
def test_how_a_command_ended_whose_time_was_over_is_said(
    signal: str | None, code: int, wall_s: float, says: str
) -> None:
    ended = {"signal": signal, "exit": code, "wall_s": wall_s}
    assert _of_time_over(ended, "300ms", 0.3).endswith(says)
