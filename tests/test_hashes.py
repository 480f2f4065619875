"""What decides a point's hash, and that a file under it holds that result, whole and of this engine."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, stored
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.results import open_results
from sojourn.results.store import DamagedFile, Store
from sojourn.study import Study, identity
from sojourn.study.inputs import adaptive
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.run import run
from sojourn.sweep.simulation import Failed, simulate_point

STUDY = 'name = "grid"\n[sweep]\na = [1, 2]\n'
REAL = """
name = "real"
duration = "10s"
[path]
rtt = "20ms"
down = { rate = "1Mbit", queue = { kind = "fifo", limit = "16pkt" } }
up = { rate = "1Mbit", queue = { kind = "fifo", limit = "16pkt" } }
[[users]]
kind = "adaptive"
clips = ["bbb-3s"]
algorithm = { kind = "python", class = "mine:Mine" }
"""


@pytest.fixture
def grid(faked: Command) -> Command:
    (faked.cwd / "grid.toml").write_text(STUDY)
    return faked


def hashes(study: Path, **sets: str) -> set[str]:
    return {point.hash for point in Study.load(study, sets.items()).points}


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    file = tmp_path / "quick.toml"
    users = REAL.index("[[users]]")
    file.write_text("repeat = 2\n" + REAL[:users])
    return file


def test_each_key_of_the_identity_gives_other_hashes(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [hashes(quick), hashes(quick, seed="2"), hashes(quick, **{"path.rtt": "21ms"})]
    with monkeypatch.context() as patched:
        patched.setattr(identity, "RESULT_FORMAT", 999)
        found.append(hashes(quick))
    with monkeypatch.context() as patched:
        patched.setattr(identity, "engine", lambda: "another")
        found.append(hashes(quick))
    for source in ("trace", "voice", "video", "adaptive"):
        with monkeypatch.context() as patched:
            patched.setattr(getattr(identity, source), "identity", lambda _: {"more": "x"})
            found.append(hashes(quick))
            patched.setattr(getattr(identity, source), "identity", lambda _: {"more": "y"})
            found.append(hashes(quick))
    assert all(len(each) == 2 for each in found)  # the replications
    assert hashes(quick) == found[0]
    # The four sources stand for one another here: their values "x" and "y" are two sets, whoever gave them.
    assert len(set.union(*found)) == 2 * (5 + 2)


def test_labels_and_the_name_of_the_study_do_not_enter(quick: Path) -> None:
    assert hashes(quick, name="other") == hashes(quick)


def test_the_engine_is_named_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_core.engine()) == 32 and int(_core.engine(), 16)
    package = Path(identity.__file__).parents[1]
    for name in ("qoe", "losses", "sweep", "study"):
        shutil.copytree(package / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(identity, "__file__", str(tmp_path / "study" / "identity.py"))
    here = identity.engine()

    def now() -> str:
        identity.engine.cache_clear()
        return identity.engine()

    assert now() == here, "the place of the package does not enter"
    for changed in ("qoe/emodel.py", "qoe/media/opus.py", "losses/bursts.py", "sweep/simulation.py"):
        file = tmp_path / changed
        text = file.read_bytes()
        file.write_bytes(text.replace(b"\n", b"\r\n"))
        assert now() == here, "line endings do not enter"
        file.write_bytes(text + b"# changed\n")
        assert now() != here, changed
        file.write_bytes(text)
    (tmp_path / "qoe" / "emodel.py").rename(tmp_path / "qoe" / "emodels.py")
    assert now() != here, "names of files enter"
    (tmp_path / "qoe" / "emodels.py").rename(tmp_path / "qoe" / "emodel.py")
    monkeypatch.setattr(_core, "engine", lambda: "0" * 32)
    assert now() != here
    identity.engine.cache_clear()


def test_packets_are_kept_where_somebody_asks_for_them(quick: Path, tmp_path: Path) -> None:
    def kept(name: str, log: bool = False, **sets: str) -> bool:
        study = Study.load(quick, sets=[*sets.items()])
        campaign = Campaign(study, tmp_path / name, log=log)
        wanted = {campaign.keeps_packets(point) for point in study.points}
        campaign.prepare()
        assert {(tmp_path / name / "packets").is_dir()} == wanted
        return wanted == {True}

    asked = {"record.packets": "true"}
    assert (
        not kept("none")
        and kept("asked", **asked)
        and kept("logged", log=True)
        and kept("both", True, **asked)
    )
    assert not kept("no", **{"record.packets": "false"})


def test_what_is_there_without_its_packet_log_is_run_again_for_whoever_asks_for_the_log(
    grid: Command,
) -> None:
    grid("run", "grid.toml", "--out", "out")
    said = grid("run", "grid.toml", "--out", "out", "--log").stdout
    assert "2 simulated" in said and "0 already there" in said
    assert len(list((grid.cwd / "out" / "packets").iterdir())) == 2
    assert "0 simulated" in grid("run", "grid.toml", "--out", "out", "--log").stdout
    assert "0 simulated" in grid("run", "grid.toml", "--out", "out").stdout


def test_another_seed_into_the_same_directory_is_simulated(grid: Command) -> None:
    first = grid.json("run", "grid.toml", "--out", "out", "--set", "seed=1")
    assert "2 simulated" in grid("run", "grid.toml", "--out", "out", "--set", "seed=2").stdout
    second = grid.json("run", "grid.toml", "--out", "out", "--set", "seed=2")
    assert [each["links"] for each in first] != [each["links"] for each in second]
    assert grid.json("run", "grid.toml", "--out", "out", "--set", "seed=1") == first


def test_a_resumed_study_never_mixes_engines(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out")
    build = grid.json("show", "out")[0]["engine"]["build"]
    before = stored(grid.cwd / "out")
    grid.env["FAKE_ENGINE"] = "newer"
    done = grid("run", "grid.toml", "--out", "out", "--only", "a=2")
    assert f"holds 2 results of another engine ({build}), which stay as they are" in done.stderr
    assert "1 simulated" in done.stdout and "0 already there" in done.stdout
    after = stored(grid.cwd / "out")
    assert len(after) == 3 and before.items() <= after.items()
    [shown] = grid.json("show", "out")
    assert shown["engine"]["build"] != build and shown["engine"]["version"] == "0.0.0-fake"
    table = grid("show", "out").stdout
    assert f"2 points on disk are of another engine ({build})" in table
    assert f"engine: sojourn 0.0.0-fake, build {shown['engine']['build']}" in table
    assert f"build {shown['engine']['build']}" in grid("show", "out", shown["hash"]).stdout
    assert "another version" not in done.stderr


def test_points_of_another_engine_and_of_another_version_are_told_of_apart(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out")
    build = grid.json("show", "out")[0]["engine"]["build"]
    grid.env["FAKE_ENGINE"] = "newer"
    grid("run", "grid.toml", "--out", "out")
    done = grid("run", "grid.toml", "--out", "out", "--only", "a=2", "--set", "seed=9")
    assert f"holds 2 results of another engine ({build}), which stay as they are" in done.stderr
    assert "holds 2 points of another version of this study, kept on disk" in done.stderr
    assert "1 simulated" in done.stdout and len(stored(grid.cwd / "out")) == 5


def test_a_worker_with_another_engine_refuses(quick: Path, tmp_path: Path) -> None:
    point = Study.load(quick).points[0]
    failed = simulate_point(point, str(tmp_path / "out"), False, "another")
    assert isinstance(failed, Failed) and failed.fatal and "another engine" in failed.reason
    assert not (tmp_path / "out").exists()


def test_results_of_before_builds_were_named_are_another_engines(grid: Command) -> None:
    grid("run", "grid.toml", "--out", "out")
    for file in (grid.cwd / "out" / "points").iterdir():
        old = json.loads(file.read_text())
        for key in ("hash", "sha256"):
            del old[key]
        del old["engine"]["build"], old["engine"]["version"]
        file.write_text(json.dumps(old))
        file.rename(file.with_name("z" + file.name[1:]))  # the format enters the hash
    record = json.loads((grid.cwd / "out" / "study.json").read_text())
    for entry in record["points"]:
        entry["hash"] = "z" + entry["hash"][1:]
    (grid.cwd / "out" / "study.json").write_text(json.dumps(record))
    assert "engine: sojourn, of before results named their engine" in grid("show", "out").stdout
    done = grid("run", "grid.toml", "--out", "out")
    assert "2 results of another engine (of before results named their engine)" in done.stderr
    assert "damaged" not in done.stderr and "2 simulated" in done.stdout


def damage(out: Path, how: str) -> Path:
    """Damage the result of the first point; return its file."""
    file, other = sorted((out / "points").iterdir())
    text = file.read_text()
    if how == "digit":
        at = text.index('"utilisation":0.') + len('"utilisation":0.')
        text = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
    elif how == "seal":
        text = text.replace('"sha256":"', '"sha256":"0', 1)
    elif how == "unsealed":
        text = text[: text.index(',"sha256"')] + "}\n"
    elif how == "space":
        text = text.replace('"links":', '"links": ', 1)
    elif how == "label":
        text = text.replace('"replication":', '"replication":1', 1)
    elif how == "other":
        text = other.read_text()
    elif how == "old":
        value = json.loads(text)
        del value["hash"], value["sha256"], value["engine"]["build"]
        text = json.dumps(value)
    elif how == "deep":
        text = "[" * 100_000
    file.write_text(text)
    return file


@pytest.mark.parametrize("how", ["digit", "seal", "unsealed", "space", "label", "other", "deep", "old"])
def test_a_changed_result_is_named_and_computed_again(quick: Path, tmp_path: Path, how: str) -> None:
    study, out = Study.load(quick), tmp_path / "out"
    with ThreadPoolExecutor(1) as pool:
        run(study, out=out, executor=pool)
        whole = stored(out)
        file = damage(out, how)
        if how != "old":  # to who only reads it, it may be an old one
            with pytest.raises(DamagedFile, match=f"{file.name} is damaged.*; delete it"):
                list(open_results(out))
        campaign = Campaign(study, out)
        assert [point.hash for point in campaign.todo] == [file.stem]
        assert [note for note in campaign.notes if f"{file.name} is damaged" in note and "again" in note]
        assert stored(out) != whole, "making a campaign writes nothing"
        campaign.prepare()
        assert not file.exists(), "what is not on disk cannot be taken for done"
        run(study, out=out, executor=pool)
    assert stored(out) == whole
    assert not [note for note in Campaign(study, out).notes if "damaged" in note]


def test_a_result_is_read_as_it_was_given(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    result: dict[str, Any] = {
        "study": "s",
        "point": {},
        "replication": 0,
        "links": {},
        "engine": {"build": "b"},
    }
    store.write_point("ab", result)
    assert store.read_point("ab") == result and store.build_of("ab") == "b"
    store.point_file("ab").rename(store.point_file("cd"))
    with pytest.raises(
        DamagedFile, match=r"cd\.json is damaged: it holds the result of the point ab; delete"
    ):
        store.read_point("cd")
    assert store.build_of("cd") is None


MINE = 'from pathlib import Path\nPath("imported").touch()\nimport helping\nclass Mine:\n    pass\n'


@pytest.fixture
def stranger(sojourn: Command) -> Command:
    (sojourn.cwd / "real.toml").write_text(REAL)
    (sojourn.cwd / "mine.py").write_text(MINE)
    (sojourn.cwd / "helping.py").write_text("")
    return sojourn


def test_a_dry_run_imports_no_player(stranger: Command) -> None:
    assert "1 point, 0 done" in stranger("run", "real.toml", "--dry-run").stdout
    assert not (stranger.cwd / "imported").exists()
    assert not (stranger.cwd / "results").exists()
    stranger("run", "real.toml", code=1)  # this player does not play
    assert (stranger.cwd / "imported").exists()


def test_a_player_that_cannot_be_imported_is_told_before_anything_is_written(stranger: Command) -> None:
    (stranger.cwd / "mine.py").write_text("import nothing_of_this_name\n")
    said = stranger("run", "real.toml", code=2).stderr
    assert "the player mine:Mine: No module named 'nothing_of_this_name'" in said
    assert not (stranger.cwd / "results").exists()
    (stranger.cwd / "mine.py").unlink()
    assert "the player mine:Mine: No module named 'mine'" in stranger("run", "real.toml", code=2).stderr


def test_the_sources_of_a_player_and_of_what_it_imports_enter(
    stranger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stranger.cwd)

    def now() -> set[str]:
        adaptive._digest.cache_clear()
        return hashes(stranger.cwd / "real.toml")

    first = now()
    assert now() == first
    (stranger.cwd / "unrelated.py").write_text("x = 1")
    assert now() == first
    for file in ("mine.py", "helping.py"):
        text = (stranger.cwd / file).read_text()
        (stranger.cwd / file).write_text(text + "# changed\n")
        assert now().isdisjoint(first), file
        (stranger.cwd / file).write_text(text)
    assert not (stranger.cwd / "imported").exists()


def test_sources_of_packages_are_followed(tmp_path: Path) -> None:
    for name, text in {
        "player/__init__.py": "from . import rules",
        "player/rules.py": "from .parts.sizes import x\nimport json, numpy, player.deep.er.last",
        "player/parts/sizes.py": "from ..other import y",
        "player/other.py": "import beside as b\nfrom player import lazily",
        "player/lazily.py": "def f(:",
        "player/deep/er/last.py": "from ..near import z",
        "player/deep/near.py": "",
        "player/unused.py": "",
        "beside.py": "import player.rules",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = adaptive.sources("player.rules", str(tmp_path))
    assert set(found) == {
        "player", "player.rules", "player.parts.sizes", "player.other", "player.lazily", "beside",
        "player.deep.er.last", "player.deep.near",
    }  # fmt: skip
    with pytest.raises(ModuleNotFoundError, match=r"player\.none"):
        adaptive.sources("player.none", str(tmp_path))
    assert set(adaptive.sources("numpy.linalg", str(tmp_path))) == {"numpy", "numpy.linalg"}


def test_bad_names_of_players(tmp_path: Path) -> None:
    with pytest.raises(SojournError, match="expected module:Class"):
        adaptive.identity({"users": [{"algorithm": {"kind": "python", "class": "no colon"}}]})


def test_every_player_that_is_named_is_imported_before_anything_runs() -> None:
    def with_players(*names: str) -> dict[str, Any]:
        viewers = [{"algorithm": {"kind": "python", "class": name}} for name in names]
        return {"users": [{"kind": "voice"}, {"algorithm": {"kind": "gpac"}}, *viewers]}

    good, none, nowhere = "sojourn.parts.player:Player", "sojourn.parts.player:Zz", "tests_nowhere:A"
    adaptive.import_players([{}, with_players(), with_players(good, good)])
    for documents in (
        [with_players(good, none)],
        [with_players(none, good)],
        [with_players(good), with_players(none)],
    ):
        with pytest.raises(SojournError, match=r"the player sojourn\.parts\.player:Zz: .* has no class"):
            adaptive.import_players(documents)
    with pytest.raises(SojournError, match=r"the player tests_nowhere:A: No module named"):
        adaptive.import_players([with_players(good, nowhere)])
