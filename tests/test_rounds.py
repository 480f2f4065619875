"""`repeat = "auto"`: rounds of replications until every verdict is certain, or the limit is reached."""

from __future__ import annotations

import json

import pytest
from conftest import Command, sentence, stored
from sojourn.study.replications import after, looks, most

STUDY = """name = "grid"
repeat = "auto"
repeat-at-most = {most}
[sweep]
a = [1, 2]
"path.down.queue.kind" = ["fifo", "codel"]
[[goals]]
value = "links.down.loss"
at-most = {limit}
[fake]
sleep = {sleep}
"""


def study(faked: Command, *, limit: float = 0.5, most: int = 12, sleep: float = 0) -> None:
    (faked.cwd / "grid.toml").write_text(STUDY.format(limit=limit, most=most, sleep=sleep))


def replications(faked: Command, out: str) -> dict[tuple[int, str], int]:
    record = json.loads((faked.cwd / out / "study.json").read_text())
    counts: dict[tuple[int, str], int] = {}
    for entry in record["points"]:
        key = tuple(entry["point"].values())
        assert entry["replication"] == counts.get(key, 0), "study order"
        counts[key] = counts.get(key, 0) + 1
    return counts


def test_rounds_double_up_to_the_limit() -> None:
    document = {"repeat": "auto", "repeat-at-most": 20}
    assert [after(n, document) for n in (3, 6, 12, 20)] == [6, 12, 20, 20]
    assert most(document) == 20 and looks(document) == 4
    assert looks({"repeat": 7}) == 1 and looks({"repeat": "auto", "repeat-at-most": 2}) == 1
    assert most({"repeat": "auto"}) == 30 and looks({"repeat": "auto"}) == 5


def test_only_what_is_not_certain_is_run_again_whatever_the_number_of_processes(faked: Command) -> None:
    study(faked)
    done = faked("run", "grid.toml", "--out", "one", "--jobs", "1").stdout
    counts = replications(faked, "one")
    assert min(counts.values()) == 3 and max(counts.values()) == 12
    assert 'With repeat = "auto"' in done and "not certain after 3 to 12 replications, the most" in done
    assert f"{sum(counts.values())} points: {sum(counts.values())} simulated" in done
    faked("run", "grid.toml", "--out", "three", "--jobs", "3")
    assert stored(faked.cwd / "one") == stored(faked.cwd / "three")
    assert "0 simulated" in faked("run", "grid.toml", "--out", "one").stdout
    assert 'With repeat = "auto"' in faked("show", "one").stdout
    assert replications(faked, "one") == counts
    assert "0 simulated" in faked("run", "grid.toml", "--out", "one", "--only", "a=1").stdout
    assert replications(faked, "one") == counts, "what other cells have stays in the plan"


def test_it_stops_at_once_where_all_is_certain(faked: Command) -> None:
    study(faked, limit=5.0)
    done = faked("run", "grid.toml", "--jobs", "1").stdout
    assert 'With repeat = "auto" every verdict is certain after 3 replications.' in done
    assert set(replications(faked, "results/grid").values()) == {3}


def test_what_was_lost_is_run_again_and_comes_out_the_same(faked: Command) -> None:
    study(faked)
    lines = faked.json("run", "grid.toml", "--out", "whole", "--jobs", "2")
    assert len(lines) == sum(replications(faked, "whole").values())
    faked("run", "grid.toml", "--out", "cut", "--jobs", "2")
    late = [
        file
        for file in (faked.cwd / "cut" / "points").iterdir()
        if json.loads(file.read_text())["replication"] > 4
    ]
    for file in late:
        file.unlink()
    done = faked("run", "grid.toml", "--out", "cut", "--jobs", "2").stdout
    assert f"{len(late)} simulated" in done
    assert stored(faked.cwd / "cut") == stored(faked.cwd / "whole")


def test_a_number_is_as_before_and_a_failure_stops_the_rounds(faked: Command) -> None:
    study(faked)
    faked("run", "grid.toml", "--out", "fixed", "--set", "repeat=2")
    assert set(replications(faked, "fixed").values()) == {2}
    (faked.cwd / "grid.toml").write_text(
        STUDY.format(limit=0.5, most=12, sleep=0) + 'raise = "a=1,path.down.queue.kind=fifo"\n'
    )
    done = faked("run", "grid.toml", "--out", "bad", code=1)
    assert "3 of 12 points failed" in sentence(done.stderr)


@pytest.mark.parametrize("extra", ["", '[[goals]]\nvalue = "links.down.utilisation"\nat-least = 0.0\n'])
def test_the_schema_and_the_package_agree(sojourn: Command, extra: str) -> None:
    (sojourn.cwd / "x.toml").write_text(
        f'name = "x"\nrepeat = "auto"\nduration = "2s"\n[path]\nrtt = "10ms"\n'
        f'up = {{ rate = "1Mbit", queue = {{ kind = "fifo", limit = "9pkt" }} }}\n'
        f'down = {{ rate = "1Mbit", queue = {{ kind = "fifo", limit = "9pkt" }} }}\n{extra}'
    )
    schema = json.loads(sojourn("schema").stdout)["properties"]
    assert schema["repeat-at-most"]["default"] == most({"repeat": "auto"})
    done = sojourn("run", "x.toml").stdout
    assert "every verdict is certain after 3 replications" in done and "3 points: 3 simulated" in done
