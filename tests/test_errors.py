"""Bad input: one sentence that says what was found and what was expected, exit code 2, nothing written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Command, sentence
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sojourn.cli import call
from sojourn.errors import SojournError, quoted
from sojourn.parts.clips import read_clip
from sojourn.parts.ideal_link import read_trace
from sojourn.study import Study

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
    (faked.cwd / "study.toml").write_text('name = "small"\n[fake]\nsleep = 900\n')
    (faked.cwd / "plain").write_text("a file")
    before = files_below(faked.cwd)
    said = sentence(faked("run", "study.toml", "--out", out, code=2).stderr)
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
    assert "recordings" in sentence(faked("run", "study.toml", code=2).stderr)
    assert not (faked.cwd / "results").exists()


def test_score_that_needs_a_package(faked: Command) -> None:
    without_speech(faked, f'{VOICE}score = "pesq"\n')
    (faked.cwd / "pesq.py").write_text("raise ImportError\n")
    faked.env["PYTHONPATH"] = f"{faked.cwd}{os.pathsep}{faked.env['PYTHONPATH']}"
    said = sentence(faked("run", "study.toml", code=2).stderr)
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


def told(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """Return what a command says that must end with code 2: a short sentence, and perhaps lines of a file."""
    assert call(words) == 2
    said = capsys.readouterr().err
    first, *excerpt = said.removesuffix("\n").split("\n")
    assert first.startswith("sojourn: ") and len(first) < 400, said
    assert len(excerpt) in (0, 3) and all(len(line) < 130 for line in excerpt), said
    assert all(line.isprintable() for line in (first, *excerpt)), repr(said)
    assert "Traceback" not in said
    return said


LONG = "x" * 1_000_000
NASTY = "\x1b[31mred\x07\u202e\u2028\ud800\r\n\0"


@pytest.mark.parametrize(
    ("found", "put"),
    [
        ('name = "small"', f'name = "{LONG}"'),
        ('name = "small"', f'name = "{10 * LONG}"'),
        ('name = "small"', f'{LONG} = "small"'),
        ('name = "small"', f"name = {LONG}"),
        ('duration = "3s"', f'duration = "{LONG}"'),
        ('duration = "3s"', f'duration = "{"9" * 100_000}"'),
        ('duration = "3s"', 'duration = "300000h"'),
        ('"4Mbit"', "16"),
        ('"4Mbit"', '"16"'),
        ('kind = "bulk"', f'kind = "{LONG}"'),
        ("count = 2", f"count = 2\n{LONG} = 1"),
        ("count = 2", '"\\u001b[31m\\u0007\\u202e" = 2'),
        ("count = 2", f'"{"é" * 500}" = 2'),
        ("[sweep]", f'[sweep]\n"flows.0.{LONG}" = [1, 2]'),
        ("[sweep]", f'[sweep]\n"{LONG}" = [1, 2]'),
        ("[sweep]", f'[sweep]\n"workload" = ["{LONG}"]'),
        ("[sweep]", f'[[workload."{LONG}"]]\n[sweep]'),
        ("[sweep]", f'[[tie]]\nwith = "{LONG}"\nset = {{}}\n[sweep]'),
        ("[sweep]", f'[[figures]]\nkind = "lines"\nvalue = "x"\nx = "{LONG}"\n[sweep]'),
        (
            "[sweep]",
            f'[[users]]\nkind = "voice"\ncodec = "g711a"\nname = "{LONG}"\n'
            f'[[users]]\nkind = "voice"\ncodec = "g711a"\nname = "{LONG}"\n[sweep]',
        ),
        ('name = "small"', f'extends = "{LONG}"'),
        ('name = "small"', 'extends = "\\u0000"'),
        ('name = "small"', 'extends = "\\u001b[31m"'),
    ],
)
def test_what_a_study_holds_is_cut_and_escaped(
    found: str, put: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert found in STUDY
    (tmp_path / "study.toml").write_text(STUDY.replace(found, put, 1))
    told(capsys, ["run", str(tmp_path / "study.toml"), "--dry-run"])


@pytest.mark.parametrize(
    "key", ["seed", LONG, f"flows.0.{LONG}", f"path.{LONG}", "path.down.rate", NASTY, "a b"]
)
@pytest.mark.parametrize("value", [LONG, f'"{LONG}', NASTY, "16.5"])
@pytest.mark.parametrize("option", ["--set", "--only"])
def test_what_the_command_line_holds_is_cut_and_escaped(
    option: str, key: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    told(capsys, ["run", str(tmp_path / "study.toml"), "--dry-run", option, f"{key}={value}"])


SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace"))
NUMBERS = st.lists(st.integers(-9, 99), max_size=9).map(lambda numbers: "\n".join(map(str, numbers)).encode())
ANY = st.one_of(st.binary(max_size=300), TEXT)
DAMAGED = st.tuples(st.integers(0, len(STUDY)), ANY)


@SLOW
@given(content=st.one_of(ANY, DAMAGED), verb=st.sampled_from(["run", "wild"]))
def test_whatever_bytes_a_file_holds_its_error_is_one_short_sentence(
    content: bytes | tuple[int, bytes], verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, put = content if isinstance(content, tuple) else (0, content)
    text = STUDY.encode()[:place] + put + (STUDY.encode()[place:] if isinstance(content, tuple) else b"")
    (tmp_path / "file.toml").write_bytes(text)
    words = [verb, str(tmp_path / "file.toml"), *(["--dry-run"] if verb == "run" else [])]
    if verb == "run" and call(words) == 0:
        capsys.readouterr()
        return
    capsys.readouterr()
    told(capsys, words)


@SLOW
@given(word=st.text(max_size=200))
def test_whatever_is_set_its_error_is_one_short_sentence(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    told(capsys, ["run", str(tmp_path / "study.toml"), "--dry-run", "--set", f"sweep.x{word}"])


@SLOW
@given(content=st.one_of(ANY, NUMBERS))
def test_whatever_bytes_a_trace_holds_its_error_is_one_short_sentence(content: bytes, tmp_path: Path) -> None:
    files = [tmp_path / f"clip_4s{form}" for form in (".json", ".csv", ".txt", ".mpd")]
    for read, file in [(read_trace, tmp_path / "trace"), *((read_clip, file) for file in files)]:
        file.write_bytes(content)
        try:
            read(file)
        except SojournError as error:
            assert str(error).isprintable() and len(str(error)) < 400


def test_foreign_text_is_quoted() -> None:
    assert quoted("a") == "'a'"
    assert quoted("\x1b[31m") == "'\\x1b[31m'"
    assert quoted("é" * 61) == f"'{'é' * 60}…'"
    assert str(SojournError("a\nb \x1b")) == "a\\nb \\x1b"
    assert str(SojournError(f"a {LONG} is no file")) == f"a {'x' * 80}…{'x' * 80} is no file"
    assert len(str(SojournError("so many words " * 100))) == 381


def test_studies_that_extend_in_a_circle_or_what_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text('extends = "sub/b.toml"\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.toml").write_text('extends = "../a.toml"\n')
    said = told(capsys, ["run", str(tmp_path / "a.toml"), "--dry-run"])
    assert "b.toml extends '../a.toml', which extends it in turn" in said
    (tmp_path / "sub/b.toml").write_text('extends = "c.toml"\n')
    said = told(capsys, ["run", str(tmp_path / "a.toml"), "--dry-run"])
    assert "sub/b.toml extends 'c.toml': there is no such study file beside it" in said
    assert "and none of that name ships" in said
    (tmp_path / "sub/b.toml").write_text(STUDY.replace("4Mbit", "4Mbps"))
    assert "sub/b.toml:8:18: " in told(capsys, ["run", str(tmp_path / "a.toml"), "--dry-run"])


@pytest.mark.parametrize("name", ["imc14-quick.toml", "imc14-quick"])
def test_a_study_extends_one_that_ships_unless_one_of_that_name_lies_beside_it(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "own.toml").write_text(f'extends = "{name}"\nname = "own"\nduration = "20s"\n')
    document = Study.load(tmp_path / "own.toml").document
    assert (document["name"], document["duration"]) == ("own", "20s")
    assert document["sweep"] == Study.load("imc14-quick").document["sweep"]
    (tmp_path / name).write_text(STUDY)
    assert list(Study.load(tmp_path / "own.toml").document["sweep"]) == ["path.down.queue.limit"]


def test_what_is_stored_of_a_study_that_extends_another_stands_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "above.toml").write_text(STUDY + "[defaults.flows]\nmss = 500\n")
    (tmp_path / "own.toml").write_text('extends = "above.toml"\nname = "own"\n')
    words = ["run", str(tmp_path / "own.toml"), "--set", "duration=2s", "--out", str(tmp_path / "out")]
    assert call([*words, "--jobs", "1"]) == 0
    (tmp_path / "above.toml").unlink()
    document = json.loads((tmp_path / "out/study.json").read_text())["document"]
    assert document["flows"][0]["mss"] == 500 and document["path"]["rtt"] == "20ms"
    assert not document.keys() & {"extends", "defaults"}
    capsys.readouterr()
    assert call(["show", str(tmp_path / "out")]) == 0
    assert "own" in capsys.readouterr().out
