"""Points on any executor, and results from Python."""

from __future__ import annotations

import shutil

from conftest import Command, stored

STUDY = 'name = "grid"\nrepeat = 2\n[sweep]\na = [1, 2]\nb = ["x", "y"]\n'


def test_any_executor_gives_the_same_bytes(faked: Command) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY)
    faked("run", "grid.toml", "--out", "processes")
    faked.script("""
import sojourn
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool:
    assert len(sojourn.run("grid.toml", out="threads", executor=pool)) == 8
    assert len(sojourn.run("grid.toml", out="threads", executor=pool, only={"a": "1"})) == 8
""")
    assert stored(faked.cwd / "threads") == stored(faked.cwd / "processes")


def test_a_dask_cluster_gives_the_same_bytes(faked: Command) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY)
    faked("run", "grid.toml", "--out", "processes")
    faked.script("""
import subprocess, sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        run = [sys.executable, "-m", "sojourn", "run", "grid.toml", "--out", "cluster"]
        subprocess.run([*run, "--scheduler", cluster.scheduler_address], check=True, timeout=300)
""")
    assert stored(faked.cwd / "cluster") == stored(faked.cwd / "processes")


def test_parts_of_several_machines_are_one_study_where_their_points_are_together(faked: Command) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY)
    faked("run", "grid.toml", "--out", "whole")
    for number, part in enumerate((["a=1"], ["a=1"], ["a=2", "b=x"])):
        only = [word for each in part for word in ("--only", each)]
        faked("run", "grid.toml", *only, "--out", f"part{number}")
        shutil.copytree(faked.cwd / f"part{number}/points", faked.cwd / "one/points", dirs_exist_ok=True)
    assert "2 simulated" in (said := faked("run", "grid.toml", "--out", "one").stdout), said
    assert "6 already there" in said
    assert stored(faked.cwd / "one") == stored(faked.cwd / "whole")


def test_a_folder_that_another_run_makes_its_own_is_told_to_the_one_before(faked: Command) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY)
    (faked.cwd / "other.toml").write_text(STUDY.replace("grid", "other"))
    faked.script("""
from sojourn.study import Study
from sojourn.sweep.campaign import Campaign
def begun(file, sets=()):
    campaign = Campaign(Study.load(file, sets), "out")
    campaign.prepare()
    return campaign
first, second = begun("grid.toml"), begun("grid.toml")
assert first.taken_over() is None and second.taken_over() is None
third = begun("grid.toml", [("seed", 3)])
assert "out became the directory of another version of this study while this ran" in first.taken_over()
begun("other.toml")
assert "out became the directory of the study 'other' while" in third.taken_over()
third.store.study.write_text("{")
assert third.taken_over() is None
""")


def test_a_cluster_without_workers_is_told_of(faked: Command) -> None:
    faked.script("""
from distributed import LocalCluster
from sojourn.sweep.workers import open_workers
if __name__ == "__main__":
    for number in (0, 1):
        with LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None) as cluster:
            with open_workers(scheduler=cluster.scheduler_address) as workers:
                assert (workers.note is None) == bool(number), workers.note
    assert open_workers(jobs=1).note is None
""")


def test_results_from_python(faked: Command) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY)
    printed = faked.script("""
import sojourn
if __name__ == "__main__":
    results = sojourn.run("grid.toml", jobs=2, sets={"seed": "5"})
    assert len(results) == 8 and results.missing == 0 and results.foreign == 0
    assert [each["replication"] for each in results] == [0, 1] * 4
    table = sojourn.open("results/grid").table()
    assert table.columns[:5] == ["hash", "study", "a", "b", "replication"]
    assert "links.down.queue_delay_ms.mean" in table.columns
    assert not [name for name in table.columns if "series.utilisation" in name]
    print(table.height, sojourn.open("results/grid")[table["hash"][3]]["point"])
""")
    assert printed.split(maxsplit=1) == ["8", "{'a': 1, 'b': 'y'}\n"]


def test_failures_in_python_are_one_exception(faked: Command) -> None:
    (faked.cwd / "bad.toml").write_text(f'{STUDY}[fake]\nraise = "a=1,b=x"\n')
    printed = faked.script("""
import sojourn
if __name__ == "__main__":
    try:
        sojourn.run("bad.toml", jobs=1)
    except sojourn.SojournError as error:
        print(error)
    print(len(sojourn.open("results/grid")))
""")
    first, last = printed.splitlines()
    assert "failed: RuntimeError: the engine stumbled" in first and first.endswith("(and 1 more failed)")
    assert last == "6"
