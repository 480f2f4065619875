"""Bad input: one sentence that says what was found and what was expected, exit code 2, nothing written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Command, sentence

STUDY = """name = "small"
seed = 1
duration = "3s"
warmup = "1s"

[path]
rtt = "20ms"
down = { rate = "4Mbit", queue = { kind = "fifo", limit = "16pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "16pkt" } }

[[flows]]
source = { kind = "bulk" }
transport = "reno"
direction = "down"
count = 2

[sweep]
"path.down.queue.limit" = ["8pkt", "16pkt"]
"""


def files_below(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("*") if file.name != "study.toml")


@pytest.mark.parametrize(
    ("found", "put", "named"),
    [
        ('"4Mbit"', '"4Mbps"', ["4Mbps", "Mbit"]),
        ('"4Mbit"', '"-4Mbit"', ["-4Mbit"]),
        ('"4Mbit"', '"fast"', ["fast"]),
        ('"20ms"', '"20 parsec"', ["20 parsec"]),
        ('limit = "16pkt" } }\nup', 'limit = "16 cakes" } }\nup', ["16 cakes"]),
        ('kind = "fifo"', 'kind = "fifoo"', ["fifoo", "fifo"]),
        ('kind = "bulk"', 'kind = "bulky"', ["bulky", "bulk"]),
        ('transport = "reno"', 'transport = "tahoo"', ["tahoo", "reno"]),
        ('direction = "down"', 'direction = "sideways"', ["sideways", "down"]),
        ("count = 2", "cuont = 2", ["cuont"]),
        ('rtt = "20ms"', 'rrt = "20ms"', ["rrt"]),
        ('["8pkt", "16pkt"]', "[]", ["path.down.queue.limit"]),
        ('"path.down.queue.limit" =', '"path.down.queue.limits" =', ["limits"]),
        ('["8pkt", "16pkt"]', '["8pkt", "16"', []),
        ("seed = 1", "seed = -1", ["seed"]),
        ("seed = 1", "repeat = 0", ["repeat"]),
        ('duration = "3s"', 'duration = "500ms"', ["warmup"]),
        ('name = "small"', 'name = "../small"', ["../small"]),
        ('name = "small"', "", ["name"]),
    ],
)
def test_studies(sojourn: Command, found: str, put: str, named: list[str]) -> None:
    assert found in STUDY
    (sojourn.cwd / "study.toml").write_text(STUDY.replace(found, put, 1))
    done = sojourn("run", "study.toml", code=2)
    said = sentence(done.stderr)
    assert "study.toml" in said
    assert not [word for word in named if word not in said], said
    assert done.stdout == "" and files_below(sojourn.cwd) == []


@pytest.mark.parametrize(
    ("put", "named"),
    [
        ("path.down.rate=fast", ["fast", "path.down.rate"]),
        ("path.down.colour=red", ["colour"]),
        ("path.sideways.rate=1Mbit", ["sideways"]),
    ],
)
def test_keys_set_on_the_command_line(sojourn: Command, put: str, named: list[str]) -> None:
    (sojourn.cwd / "study.toml").write_text(STUDY)
    said = sentence(sojourn("run", "study.toml", "--set", put, code=2).stderr)
    assert not [word for word in named if word not in said], said
    assert files_below(sojourn.cwd) == []


def test_a_study_that_is_not_text(faked: Command) -> None:
    (faked.cwd / "study.toml").write_bytes(b"name = \xff\xfe")
    assert "not UTF-8" in sentence(faked("run", "study.toml", code=2).stderr)


@pytest.mark.parametrize("out", ["plain/out", "plain", "/proc/out"])
def test_output_that_cannot_be_written(faked: Command, out: str) -> None:
    (faked.cwd / "study.toml").write_text('name = "small"\n[fake]\nsleep = 30\n')
    (faked.cwd / "plain").write_text("a file")
    before = files_below(faked.cwd)
    said = sentence(faked("run", "study.toml", "--out", out, code=2, timeout=20).stderr)
    assert out in said and "cannot be written" in said
    assert files_below(faked.cwd) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_output_without_permission(faked: Command) -> None:
    (faked.cwd / "study.toml").write_text('name = "small"\n')
    (faked.cwd / "closed").mkdir(mode=0o500)
    said = sentence(faked("run", "study.toml", "--out", "closed/out", code=2).stderr)
    assert "Permission denied" in said


def test_a_damaged_result_is_named_and_computed_again(faked: Command) -> None:
    (faked.cwd / "study.toml").write_text('name = "small"\n[sweep]\na = [1, 2]\n')
    faked("run", "study.toml", "--out", "out")
    broken, whole = sorted((faked.cwd / "out" / "points").iterdir())
    broken.write_text(broken.read_text()[:40])
    for words in (["show", "out"], ["report", "out"]):
        said = sentence(faked(*words, code=2).stderr)
        assert broken.name in said and "delete it and run the study again" in said
    kept = whole.stat().st_mtime_ns
    done = faked("run", "study.toml", "--out", "out")
    assert broken.name in done.stderr and "it is computed again" in done.stderr
    assert "1 simulated" in done.stdout and "1 already there" in done.stdout
    assert json.loads(broken.read_text()) and whole.stat().st_mtime_ns == kept
    assert "damaged" not in faked("run", "study.toml", "--out", "out").stderr


def test_a_damaged_study_record_is_named(faked: Command) -> None:
    (faked.cwd / "study.toml").write_text('name = "small"\n')
    faked("run", "study.toml", "--out", "out")
    (faked.cwd / "out" / "study.json").write_text("{")
    for words in (["run", "study.toml", "--out", "out"], ["show", "out"]):
        assert "out/study.json is damaged" in sentence(faked(*words, code=2).stderr)


VOICE = 'name = "talk"\n[[users]]\nkind = "voice"\n'


def without_speech(command: Command, text: str) -> None:
    (command.cwd / "study.toml").write_text(text)
    command.env |= {"SOJOURN_CACHE": str(command.cwd / "cache"), "PATH": str(command.cwd)}


@pytest.mark.parametrize("put", ['score = "pesq"', 'recordings = "nowhere"'])
def test_speech_that_cannot_be_had(faked: Command, put: str) -> None:
    without_speech(faked, f"{VOICE}{put}\n")
    assert "recordings" in sentence(faked("run", "study.toml", code=2, timeout=20).stderr)
    assert not (faked.cwd / "results").exists()


def test_score_that_needs_a_package(faked: Command) -> None:
    without_speech(faked, f'{VOICE}score = "pesq"\n')
    (faked.cwd / "pesq.py").write_text("raise ImportError\n")
    faked.env["PYTHONPATH"] = f"{faked.cwd}{os.pathsep}{faked.env['PYTHONPATH']}"
    said = sentence(faked("run", "study.toml", code=2, timeout=20).stderr)
    assert "pip install 'sojourn[speech]'" in said


def test_an_automatic_score_is_said_and_is_part_of_the_hash(faked: Command) -> None:
    without_speech(faked, VOICE)
    done = faked("run", "study.toml", "--json")
    assert "note: voice is scored by the E-model" in done.stderr
    assert json.loads(done.stdout)["voice"]["talks"] == {"mos": {"median": 4.1}, "loss": None}
    (file,) = (faked.cwd / "results/talk/points").iterdir()
    (faked.cwd / "study.toml").write_text(f'{VOICE}score = "emodel"\n')
    assert "0 simulated" in faked("run", "study.toml").stdout
    assert "scenario" in faked("show", "results/talk", file.stem).stdout


def test_scheduler_without_its_package(faked: Command) -> None:
    (faked.cwd / "study.toml").write_text('name = "small"\n')
    (faked.cwd / "distributed.py").write_text("raise ImportError\n")
    faked.env["PYTHONPATH"] = f"{faked.cwd}{os.pathsep}{faked.env['PYTHONPATH']}"
    said = sentence(faked("run", "study.toml", "--scheduler", "tcp://127.0.0.1:1", code=2).stderr)
    assert "pip install 'sojourn[dask]'" in said
    assert not (faked.cwd / "results").exists()
