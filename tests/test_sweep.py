"""Points on any executor, and results from Python."""

from __future__ import annotations

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
