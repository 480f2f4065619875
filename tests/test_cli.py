"""The command: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import HANGS_S, Command, sentence
from sojourn.cli import VERBS

STUDY = """
name = "grid"
seed = 7
repeat = 2
[sweep]
a = [1, 2, 3]
b = ["x", "y"]
"""


@pytest.fixture
def grid(faked: Command) -> Command:
    (faked.cwd / "grid.toml").write_text(STUDY)
    return faked


@pytest.mark.parametrize("verb", ["", "run", "report", "show", "calibrate", "schema"])
def test_help_has_an_example(faked: Command, verb: str) -> None:
    text = faked(*verb.split(), "--help").stdout
    assert "Example" in text
    assert f"sojourn {verb}".strip() in text.split("Example", 1)[1]


@pytest.mark.parametrize("verb", VERBS)
def test_examples_in_help_can_be_copied(faked: Command, verb: str) -> None:
    lines = faked(verb, "--help").stdout.splitlines()
    assert all(line == line.rstrip() for line in lines)  # A backslash before blanks does not go on.
    example = lines[lines.index("Example") : next(n for n, line in enumerate(lines) if "╭" in line)]
    assert max(map(len, example)) <= 80  # What is wider is broken by the console, without a backslash.


@pytest.mark.parametrize("verb", ["run", "export", "calibrate"])
def test_examples_name_shipped_studies_so_that_they_run_in_any_folder(faked: Command, verb: str) -> None:
    assert "studies/" not in faked(verb, "--help").stdout


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["rnu", "grid.toml"],
        ["run", "grid.toml", "--colour"],
        ["run", "grid.toml", "--jobs", "0"],
        ["run", "grid.toml", "--jobs", "many"],
        ["run", "grid.toml", "--set", "seed"],
        ["run", "grid.toml", "--only", "a"],
        ["run", "grid.toml", "--only", "c=1"],
        ["run", "grid.toml", "--only", "a=9"],
        ["run", "grid.toml", "grid.toml"],
        ["run", "nowhere.toml"],
        ["run", "."],
        ["run", "grid.toml", "--scheduler", "tcp://127.0.0.1:1"],
        ["show", "nowhere"],
        ["show", "."],
        ["report", "nowhere"],
        ["calibrate", "grid.toml", "--load", "lots"],
        ["calibrate", "grid.toml", "--load", "50%"],
        ["schema", "extra"],
    ],
)
def test_usage_and_input_errors_are_one_sentence(grid: Command, words: list[str]) -> None:
    before = sorted(grid.cwd.rglob("*"))
    done = grid(*words, code=2)
    assert done.stdout == ""
    assert len(sentence(done.stderr)) > 20
    assert sorted(grid.cwd.rglob("*")) == before


def test_run_prints_results_in_study_order_whatever_is_on_disk(grid: Command) -> None:
    grid("run", "grid.toml", "--only", "a=2", "--only", "b=y")
    printed = grid.json("run", "grid.toml")
    labels = [(each["point"]["a"], each["point"]["b"], each["replication"]) for each in printed]
    assert labels == [(a, b, r) for a in (1, 2, 3) for b in "xy" for r in (0, 1)]
    assert all(list(each)[:3] == ["study", "point", "replication"] for each in printed)
    assert all(list(each)[-1] == "engine" and each["engine"]["wall_s"] > 0 for each in printed)
    assert grid.json("run", "grid.toml") == printed
    assert (grid.cwd / "results" / "grid" / "study.json").is_file()


def test_only_takes_several_labels_and_a_replication(grid: Command) -> None:
    words = ["--only", "a=1", "--only", "a=3", "--only", "b=x", "--only", "replication=1"]
    printed = grid.json("run", "grid.toml", *words)
    assert [each["point"] for each in printed] == [{"a": 1, "b": "x"}, {"a": 3, "b": "x"}]


def test_dry_run_lists_and_writes_nothing(grid: Command) -> None:
    done = grid("run", "grid.toml", "--dry-run")
    assert done.stdout.count("to do ") == 12
    assert "12 points, 0 done" in done.stdout
    assert not (grid.cwd / "results").exists()
    grid("run", "grid.toml", "--only", "a=1")
    listed = grid.json("run", "grid.toml", "--dry-run")
    assert [each["done"] for each in listed] == [True] * 4 + [False] * 8


def test_set_changes_the_study_and_what_is_on_disk_stays(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out")
    done = grid("run", "grid.toml", "--out", "out", "--set", "seed=8")
    assert "12 points of another version" in done.stderr
    assert len(list((grid.cwd / "out" / "points").iterdir())) == 24
    assert len(grid("show", "out", "--json").stdout.splitlines()) == 12


def test_several_studies_have_a_directory_each(grid: Command) -> None:
    (grid.cwd / "other.toml").write_text('name = "other"\n')
    printed = grid.json("run", "grid.toml", "other.toml", "--out", "all")
    assert [each["study"] for each in printed] == ["grid"] * 12 + ["other"]
    assert sorted(file.name for file in (grid.cwd / "all").iterdir()) == ["grid", "other"]


def test_points_that_fail_do_not_stop_the_others(faked: Command) -> None:
    fake = '[fake]\nraise = "a=2"\ndie = "a=4"\npanic = "a=6"\n'
    (faked.cwd / "bad.toml").write_text(f'name = "bad"\n[sweep]\na = {list(range(10))}\n{fake}')
    done = faked("run", "bad.toml", "--json", "--jobs", "2", code=1)
    labels = [json.loads(line)["point"]["a"] for line in done.stdout.splitlines()]
    assert labels == [0, 1, 3, 5, 7, 8, 9]
    assert "(a=2, replication 0) failed: RuntimeError: the engine stumbled" in done.stderr
    assert "(a=4, replication 0) failed: its process died" in done.stderr
    assert "(a=6, replication 0) failed: PanicError" in done.stderr
    assert sentence(done.stderr).startswith("3 of 10 points failed")


def test_the_next_command_is_as_a_shell_takes_it(grid: Command) -> None:
    assert grid("run", "grid.toml", "--out", "a b").stdout.endswith("Next: sojourn report 'a b'\n")


def test_a_page_of_no_points_is_not_said_to_show_the_others(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out")
    for stored in (grid.cwd / "out" / "points").iterdir():
        stored.unlink()
    for verb in ("report", "explore"):
        told = grid(verb, "out", code=2).stderr
        assert told == "sojourn: out holds no finished points yet; run its study first\n"


def test_one_point_that_fails_is_one_and_has_no_report(faked: Command) -> None:
    (faked.cwd / "one.toml").write_text('name = "one"\n[sweep]\na = [2]\n[fake]\nraise = "a=2"\n')
    done = faked("run", "one.toml", code=1)
    assert "1 point: 0 simulated" in done.stdout and "sojourn report" not in done.stdout
    assert sentence(done.stderr).startswith("1 of 1 point failed")


def test_one_scenario_under_two_names_is_run_once(faked: Command) -> None:
    (faked.cwd / "two.toml").write_text('name = "two"\n[sweep]\na = [1]\nalias = ["p", "q"]\n')
    printed = faked.json("run", "two.toml", "--only", "alias=q")
    assert [each["point"]["alias"] for each in printed] == ["q"]
    (file,) = (faked.cwd / "results/two/points").iterdir()
    assert json.loads(file.read_text())["point"]["alias"] == "p", (
        "the first name is stored, whatever was asked"
    )
    assert [each["point"]["alias"] for each in faked.json("run", "two.toml")] == ["p", "q"]


def test_show_lists_points_and_reproduces_one(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out", "--set", "seed=8")
    table = grid("show", "out").stdout
    assert "12 points" in table
    printed = grid.json("show", "out")
    wanted = next(
        each for each in printed if each["point"] == {"a": 3, "b": "y"} and each["replication"] == 1
    )
    text = grid("show", "out", wanted["hash"][:8]).stdout
    assert wanted["hash"] in text and "links.down.queue_delay_ms.mean" in text and "seed = 8" in text
    command = next(line.split() for line in text.splitlines() if line.startswith("  sojourn run"))
    grid(*command[1:])
    again = grid.cwd / "reproduced" / "points" / f"{wanted['hash']}.json"
    assert again.read_bytes() == (grid.cwd / "out" / "points" / again.name).read_bytes()
    assert "lists them" in sentence(grid("show", "out", "zz", code=2).stderr)
    for stored in (grid.cwd / "out" / "points").iterdir():
        stored.unlink()
    assert grid("show", "out").stdout == "grid: 0 points, 12 not there yet\n"


def test_packet_log_has_names_and_nulls(grid: Command) -> None:
    import polars as pl

    grid("run", "grid.toml", "--only", "a=1", "--only", "b=x")
    grid("run", "grid.toml", "--only", "a=1", "--only", "b=x", "--log")
    files = sorted((grid.cwd / "results/grid/packets").glob("*.parquet"))
    assert len(files) == 2
    log = pl.read_parquet(files[0])
    order = "link packet flow kind size_bytes arrive_ns depart_ns drop_cause backlog_pkts backlog_bytes seq"
    assert log.columns == order.split()
    assert log["link"].to_list() == ["down", "up"]
    assert log["kind"].to_list() == ["data", "ack"]
    assert log["depart_ns"].to_list() == [30, None]
    assert log["drop_cause"].to_list() == [None, "early"]


def test_nothing_but_json_on_stdout_and_no_colour_anywhere(grid: Command) -> None:
    done = grid("run", "grid.toml", "--json", "--only", "a=1")
    assert [json.loads(line)["point"]["a"] for line in done.stdout.splitlines()] == [1] * 4
    grid.env |= {"NO_COLOR": "1", "FORCE_COLOR": ""}
    assert "\x1b" not in grid("show", "results/grid").stdout + grid("--help").stdout


def test_version_and_schema(faked: Command) -> None:
    assert faked("--version").stdout.strip() == "0.0.0-fake"
    assert json.loads(faked("schema").stdout) == {"title": "fake"}


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_who_starts_it_may_have_closed_standard_files(closed: str, faked: Command) -> None:
    closing = " ".join(f"{number}>&-" for number in closed.split())
    words = ["sh", "-c", f'exec "$0" "$@" {closing}', *faked.argv("schema")]
    done = subprocess.run(
        words, capture_output=True, text=True, env=faked.env, cwd=faked.cwd, timeout=HANGS_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("fake" in done.stdout) == ("1" not in closed)


def test_files_of_the_package_name_no_place(request: pytest.FixtureRequest) -> None:
    root = Path(request.config.rootpath) / "python"
    here = str(Path(request.config.rootpath).resolve())
    assert not [file for file in root.rglob("*.py") if "/home/" in (text := file.read_text()) or here in text]
