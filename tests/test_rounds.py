"""`repeat = "auto"`: rounds of replications until every verdict is certain, or the limit is reached."""

from __future__ import annotations

import json

import pytest
from conftest import Command, sentence, stored
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.report.answer import goals, verdicts
from sojourn.report.answer.wording.rounds import reached, scores_known
from sojourn.results.interval import Sample
from sojourn.study.replications import after, looks, most, to_precision
from sojourn.sweep import rounds

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


def test_rounds_are_the_same_whoever_runs_them_and_go_on_where_they_stopped(faked: Command) -> None:
    study(faked)
    printed = faked.script("""
import json, pathlib, sojourn
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as three:
    sojourn.run("grid.toml", out="one", executor=one)
    sojourn.run("grid.toml", out="three", executor=three)
    sojourn.run("grid.toml", out="cut", executor=three)
    files = pathlib.Path("cut/points").iterdir()
    late = [file for file in files if json.loads(file.read_text())["replication"] > 4]
    for file in late:
        file.unlink()
    sojourn.run("grid.toml", out="cut", executor=three)
    times = pathlib.Path("cut/timings.jsonl").read_text().count("hash")
    print(len(sojourn.run("grid.toml", out="three", executor=one, only={"a": "1"})))
    print(times - len(late))
    sojourn.run("grid.toml", out="fixed", executor=one, sets={"repeat": "2"})
""")
    counts = replications(faked, "one")
    assert min(counts.values()) == 3 and max(counts.values()) == 12
    assert stored(faked.cwd / "one") == stored(faked.cwd / "three") == stored(faked.cwd / "cut")
    assert printed.split() == [str(sum(counts.values()))] * 2, "nothing is run twice, or forgotten"
    assert replications(faked, "three") == counts, "what other cells have stays in the plan"
    assert set(replications(faked, "fixed").values()) == {2}


def test_the_command_says_what_came_of_it(faked: Command) -> None:
    study(faked, most=6)
    more = '; with repeat = "auto", more if these do not suffice'
    listed = faked("run", "grid.toml", "--dry-run").stdout
    assert listed.endswith(f"grid: 12 points, 0 done, 12 to do{more}\n")
    assert more not in faked("run", "grid.toml", "--dry-run", "--only", "replication=0").stdout
    done = faked("run", "grid.toml", "--json")
    assert "0 to do\n" in faked("run", "grid.toml", "--dry-run").stdout
    assert len(done.stdout.splitlines()) == sum(replications(faked, "results/grid").values())
    shown = faked("show", "results/grid").stdout
    assert 'With repeat = "auto"' in shown and "not certain after 6 replications, the most" in shown
    fails = STUDY.format(limit=0.5, most=12, sleep=0) + 'raise = "a=1,path.down.queue.kind=fifo"\n'
    (faked.cwd / "grid.toml").write_text(fails)
    done = faked("run", "grid.toml", "--out", "bad", code=1)
    assert "3 of 12 points failed" in sentence(done.stderr), "a failure ends the rounds"


def test_the_schema_and_the_package_agree(sojourn: Command) -> None:
    link = '{ rate = "1Mbit", queue = { kind = "fifo", limit = "9pkt" } }'
    text = 'name = "x"\nrepeat = "auto"\nduration = "2s"\n[path]\nrtt = "10ms"\n'
    flow = 'source = { kind = "cbr", rate = "80kbit", size = "200B" }\ntransport = "udp"\ndirection = "up"\n'
    (sojourn.cwd / "x.toml").write_text(f"{text}up = {link}\ndown = {link}\n[[flows]]\n{flow}")
    schema = json.loads(_core.schema())["properties"]
    assert schema["repeat-at-most"]["default"] == most({"repeat": "auto"})
    done = sojourn("run", "x.toml", "--jobs", "1").stdout
    assert "every verdict is certain after 3 replications" in done and "3 points: 3 simulated" in done


def test_with_a_precision_cells_grow_by_a_third_and_runs_hear_few_calls() -> None:
    document = {"users": [{"kind": "web"}, {"kind": "voice"}]}
    keys = to_precision(document, 0.1)
    assert keys == [("repeat", "auto"), ("repeat-precision", "0.1"), ("users.1.precision", "1")]
    assert to_precision(document, 0.03)[-1] == ("users.1.precision", "0.3")
    assert to_precision(document, 0.5)[-1] == ("users.1.precision", "1"), "a study allows no more"
    with pytest.raises(SojournError, match="no precision in MOS"):
        to_precision(document, 0.0)
    asked = {"repeat": "auto", "repeat-precision": 0.1}
    assert [after(n, asked) for n in (3, 4, 6, 8, 11, 15, 20, 27)] == [4, 6, 8, 11, 15, 20, 27, 30]
    assert looks(asked) == 9, "verdicts are looked at more often, and doubted more"


def test_a_cell_goes_on_until_its_scores_are_known() -> None:
    def cell(*scores: tuple[float, float]) -> list[dict[str, object]]:
        listens = {"mos": {"mean": 4.2, "median": 4.3}}
        talks = [{"mos": {"mean": mean, "median": median}} for mean, median in scores]
        return [{"voice": {"talks": one, "listens": listens, "worst": {}}} for one in talks]

    near = cell((3.58, 3.6), (3.6, 3.62), (3.62, 3.64))
    assert verdicts.known(near, 0.06) and not verdicts.known(near, 0.04)
    assert verdicts.known(cell((3.6, 3.0), (3.6, 3.6), (3.6, 4.2)), 0.1), "of a median nothing is asked"
    assert not verdicts.known(near[:1], 0.5), "one replication shows no spread"
    assert verdicts.known([{"web": {}}], 0.1), "nobody calls"

    asked, wide = {"repeat": "auto", "repeat-precision": 0.06}, cell((3.2, 3.6), (3.6, 3.6), (4.0, 3.6))
    said = " Callers' mean opinion scores are known to ±0.06 MOS in"
    assert scores_known(asked, [near, near]) == f"{said} every cell."
    assert scores_known(asked, [near, wide]) == f"{said} 1 of 2 cells."
    assert scores_known(asked, [wide]) == f"{said} 0 of 1 cells."
    assert scores_known(asked, []) == scores_known({"repeat": 3}, [near]) == ""

    def verdict(path: str, *values: float) -> verdicts.Verdict:
        goal = goals.Goal(path, 3.6, True, "a goal", "the study")
        return verdicts.Verdict((verdicts.find(goal, Sample(values), 0.95),))

    close = verdict("voice.talks.mos.median", 3.58, 3.6, 3.62)
    assert close.word == verdicts.CLOSE and close.of_scores
    other = verdict("browser.plt_s.median", 3.58, 3.6, 3.62)
    assert not other.of_scores, "in another unit"

    open_ones = {("", "a"): close}
    end = "what is in doubt are opinion scores alone, of which only the mean is asked, to ±0.06 MOS."
    assert reached(asked, open_ones, [near]).endswith(end)
    for unfinished in ((asked, open_ones, [wide]), (asked, {("", "a"): other}, [near])):
        assert reached(*unfinished).endswith("run the study again to go on.")


def test_what_is_said_of_open_verdicts_counts_their_replications_alone() -> None:
    def verdict(*values: float, lacking: int = 0) -> verdicts.Verdict:
        goal = goals.Goal("browser.plt_s.median", 3.6, False, "a goal", "the study")
        return verdicts.Verdict((verdicts.find(goal, Sample(values), 0.95, lacking=lacking),))

    document = {"repeat": "auto", "repeat-at-most": 6}
    certain, doubted = verdict(1.0, 1.1, 1.2), verdict(3.5, 3.6, 3.7, 3.5, 3.6, 3.7)
    assert (certain.word, doubted.word) == (verdicts.YES, verdicts.CLOSE)
    said = reached(document, {("", "a"): certain, ("", "b"): doubted}, [])
    assert said.endswith("one verdict is not certain after 6 replications, the most that the study allows.")
    without = verdict(1.0, 1.1, lacking=1)
    assert without.of_length, "another run like these tells nothing"
    said = reached(document, {("", "a"): without, ("", "b"): doubted}, [])
    assert "2 of 2 verdicts are not certain after 3 to 6 replications, of which 6 are the most" in said
    assert said.endswith("which longer runs tell, and not more of them.")
    said = reached(document, {("", "a"): verdict(3.5, 3.6, 3.7), ("", "b"): certain}, [])
    assert said.endswith("not certain yet after 3 replications; run the study again to go on.")


def test_later_rounds_are_kept_of_cells_whose_first_results_still_hold() -> None:
    before = [
        {"hash": name, "point": {"limit": limit}}
        for name, limit in (("a1", 8), ("a2", 8), ("b1", 64), ("b2", 64), ("a3", 8))
    ]
    # The first result of the cell of 64 packets is another now; a3 is gone.
    kept = rounds.further(before, {"a1", "new"}, lambda name: name != "a3")
    assert [entry["hash"] for entry in kept] == ["a2"]
