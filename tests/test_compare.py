"""`sojourn compare`: differences with their intervals, what cannot be said, what chance would do."""

from __future__ import annotations

import random
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from conftest import Command, sentence
from sojourn.report.comparing import compare
from sojourn.report.comparing.cells import Comparison, Difference
from sojourn.report.comparing.page import sections
from sojourn.report.comparing.sentences import clearest, line, summary, table
from sojourn.report.comparing.settings import changed
from sojourn.report.comparing.welch import holm, welch
from sojourn.report.figures.values import value
from sojourn.report.files import Files
from sojourn.results import open_results
from test_figures import ENTRIES, LIMIT, result, write_results

MOS = "voice.talks.mos.median"
TALKS = {"kind": "heatmap", **ENTRIES["heatmap"]}


def study(folder: Path, scores: dict[str, list[float]], **document: Any) -> Path:
    """Write results of one axis: scores of the user who talks, by buffer."""
    results = [
        result({LIMIT: limit}, place, **{MOS: score})
        for limit, there in scores.items()
        for place, score in enumerate(there)
    ]
    return write_results(folder, results, [{**TALKS, "x": LIMIT, "y": ""}], **document)


def compared(first: Path, second: Path, values: tuple[str, ...] = (MOS,)) -> Any:
    return compare(open_results(first), open_results(second), values)


def test_welch_is_the_textbook_s() -> None:
    first = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    second = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.3]
    from scipy.stats import ttest_ind

    theirs = ttest_ind(second, first, equal_var=False)
    ours = welch(first, second)
    assert ours is not None
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    interval = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    back = welch(second, first)
    assert back is not None
    assert (back.difference, back.low, back.high) == pytest.approx((-ours.difference, -ours.high, -ours.low))


def test_where_there_is_no_interval_nothing_is_said() -> None:
    assert welch([1.0], [2.0, 3.0]) is None
    assert welch([1.0, 1.0], [2.0, 2.0]) is None
    same = welch([1.0, 1.0], [1.0, 1.0])
    assert same is not None and not same.larger


def test_holm_stops_at_the_first_that_does_not_stay() -> None:
    assert holm([]) == []
    assert holm([0.012, 0.04, 0.012, 0.9]) == [True, False, True, False]
    assert holm([0.02, 0.0001]) == [True, True]
    # 0.03 is above 0.05 / 2, and so 0.04 does not stay, though it is below 0.05.
    assert holm([0.01, 0.04, 0.03]) == [True, False, False]


def test_differences_are_second_less_first_and_chance_is_counted(tmp_path: Path) -> None:
    first = study(tmp_path / "a", {"8pkt": [3.0, 3.1, 2.9], "64pkt": [4.0, 4.1, 4.2]})
    second = study(tmp_path / "b", {"8pkt": [4.0, 4.1, 3.9], "64pkt": [4.1, 4.0, 4.3]})
    found = compared(first, second)
    assert [one.larger for one in found.differences] == [True, False]
    assert found.differences[0].difference == pytest.approx(1.0)
    assert found.differences[0].better is True
    assert found.by_chance == pytest.approx(0.1)
    said = " ".join(summary(found))
    assert said.startswith(
        "1 of 2 differences is larger than its 95 % interval. About 0.1 would be by chance"
    )
    assert "It stays larger" in said
    assert clearest(found)[0].startswith(
        "8pkt: voice, user talks: median MOS 3.00 → 4.00 (difference +1.00, between"
    )
    assert clearest(found)[0].endswith("better)")
    assert table(found, MOS).rows[1][-1] == "not larger than its interval"
    # The other way round it is worse, by as much.
    back = compared(second, first)
    assert back.differences[0].difference == pytest.approx(-1.0)
    assert clearest(back)[0].endswith("worse)")


def test_what_is_larger_does_not_read_as_none(tmp_path: Path) -> None:
    delay = "links.down.queue_delay_ms.mean"

    def waits(folder: Path, *means: float) -> Path:
        results = [result({LIMIT: "8pkt"}, at) for at, _ in enumerate(means)]
        for one, mean in zip(results, means, strict=True):
            one["links"]["down"]["queue_delay_ms"] = {"mean": mean}
        return write_results(folder, results, [])

    first, second = waits(tmp_path / "a", 0.375, 0.376), waits(tmp_path / "b", 0.337, 0.337)
    found = compared(first, second, (delay,))
    says = "0.376 → 0.337 ms (difference −0.038, between −0.045 and −0.032, better)"
    assert clearest(found) == [f"8pkt: downlink: mean queueing delay {says}"]
    assert table(found, delay).rows[0][1:5] == ["0.376", "0.337", "−0.038", "−0.045 to −0.032"]
    [near] = compared(
        waits(tmp_path / "c", 17.1, 17.2), waits(tmp_path / "d", 17.4, 17.41), (delay,)
    ).differences
    assert line(near).startswith(
        "8pkt: downlink: mean queueing delay 17.1 → 17.4 ms (difference +0.3, between"
    )
    wide, narrow = waits(tmp_path / "f", 0.3, 0.3), waits(tmp_path / "g", 0.5, 0.501)
    [sure] = compared(wide, narrow, (delay,)).differences
    says = "0.300 → 0.500 ms (difference +0.200, between +0.194 and +0.207, worse)"
    assert line(sure).endswith(says)
    unsure = compared(first, waits(tmp_path / "e", 0.37, 0.38), (delay,))
    assert unsure.differences[0].larger is False
    assert table(unsure, delay).rows[0][1:4] == ["0.38", "0.38", "0.00"]


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        # Half of the interval is 0.0064, 2.5, 64 and 0: it has the last decimal that is told.
        ((0.375, 0.376), (0.337, 0.337), "0.376 0.337 −0.038 −0.045 to −0.032"),
        ((9.9, 10.1, 10.0), (120.0, 118.0, 119.0), "10.0 119.0 +109.0 +106.5 to +111.5"),
        ((100.0, 110.0), (240.0, 230.0), "105 235 +130 +100 to +160"),
        ((0.04, 0.04), (12.0, 12.0), "0.0 12.0 +12.0 –"),
        ((3.0,), (3.0000004,), "3.000000 3.000000 0.000000 –"),
        ((3.0,), (3.01,), "3.00 3.01 +0.01 –"),
        ((0.0, 0.0), (0.0, 0.0), "0.0 0.0 0.0 0.0 to 0.0"),
        ((1e7, 1e7 + 1), (2e7, 2e7), "10000000 20000000 +10000000 +9999993 to +10000006"),
    ],
)
def test_numbers_of_one_comparison_have_the_same_decimals_chosen_by_the_interval(
    first: tuple[float, ...], second: tuple[float, ...], says: str
) -> None:
    interval = found and (found.low, found.high) if (found := welch(first, second)) else None
    one = Difference((), value("links.down.queue_delay_ms.mean"), first, second, interval, None)
    row = table(Comparison(("a", "b"), {}, 1, 0, [one], []), one.value.path).rows[0]
    assert " ".join(row[:-1]) == says
    assert len({len(number.partition(".")[2]) for number in re.findall(r"[\d.]+", says)}) == 1


def test_less_of_a_link_used_is_less_and_not_worse(tmp_path: Path) -> None:
    """Fewer retransmissions fill a link less: what users get of it, other values say."""
    used, got = "links.down.utilisation", "flows.goodput_bps"

    def runs(folder: Path, *shares: float) -> Path:
        results = [result({LIMIT: "8pkt"}, at) for at, _ in enumerate(shares)]
        for one, share in zip(results, shares, strict=True):
            one["links"]["down"]["utilisation"] = share
            one["flows"] = {"goodput_bps": 1e7 * share}
        return write_results(folder, results, [])

    first, second = runs(tmp_path / "a", 0.90, 0.91), runs(tmp_path / "b", 0.50, 0.51)
    for one, other, words in ((first, second, ("less", "worse")), (second, first, ("more", "better"))):
        found = compared(one, other, (used, got))
        assert [one.better for one in found.differences] == [None, words[1] == "better"]
        ends = {line(one).rpartition(", ")[2] for one in found.differences}
        assert ends == {f"{word})" for word in words}
    read = [part.read for part in sections(compared(first, second, (used, got)), Files(tmp_path / "figures"))]
    assert read == [
        "The one difference is larger than its interval: in 1 cell b has less.",
        "The one difference is larger than its interval: in 1 cell a is better.",
    ]


def test_by_chance_alone_about_one_in_twenty_is_larger(tmp_path: Path) -> None:
    draw, normal = random.Random(1), NormalDist(3.0, 0.2)
    cells = [f"{n}pkt" for n in range(1, 301)]

    def some() -> dict[str, list[float]]:
        return {cell: normal.samples(5, seed=draw.random()) for cell in cells}

    found = compared(study(tmp_path / "a", some()), study(tmp_path / "b", some()))
    assert found.by_chance == pytest.approx(15.0)
    # 15 expected of 300; outside 4 to 28 is a thing of one in a thousand.
    assert 4 <= len(found.larger) <= 28
    assert sum(bool(one.holm) for one in found.larger) <= 1


def test_what_no_replication_varies_chance_does_not_move(tmp_path: Path) -> None:
    first = study(tmp_path / "a", {"8pkt": [3.0, 3.0, 3.0], "64pkt": [4.0, 4.1, 4.2]})
    second = study(tmp_path / "b", {"8pkt": [3.0, 3.0, 3.0], "64pkt": [4.1, 4.0, 4.3]})
    found = compared(first, second)
    assert [one.larger for one in found.differences] == [False, False]
    assert found.by_chance == pytest.approx(0.05)


def test_one_replication_cannot_be_said(tmp_path: Path) -> None:
    first, second = study(tmp_path / "a", {"8pkt": [3.0]}), study(tmp_path / "b", {"8pkt": [4.0, 4.1]})
    found = compared(first, second)
    assert found.differences[0].larger is None
    assert summary(found)[0].startswith("Whether a and b differ cannot be said")
    assert table(found, MOS).rows[0][-2:] == ["–", "cannot be said: one replication"]


def test_a_loss_of_more_than_all_is_explained(tmp_path: Path) -> None:
    loss = "links.down.loss"
    folders = []
    for name, losses in (("a", (0.5, 1.0)), ("b", (0.5, 1.2))):
        results = [result({LIMIT: "8pkt"}, place, **{loss: lost}) for place, lost in enumerate(losses)]
        folders.append(write_results(tmp_path / name, results, []))
    explained = [
        "b: The loss of the downlink is more than 100 % in 1 of 2 runs: packets were dropped while they "
        "waited that had come before the warm-up was over, and are not among those that came."
    ]
    assert [one for one in summary(compared(*folders, (loss,))) if "100 %" in one] == explained
    assert not [one for one in summary(compared(folders[0], folders[0], (loss,))) if "100 %" in one]


def test_the_very_same_results_differ_in_nothing(tmp_path: Path) -> None:
    first, second = (study(tmp_path / name, {"8pkt": [3.0, 3.2]}) for name in "ab")
    assert summary(compared(first, second)) == [
        "a and b hold the very same results in the one cell: nothing differs."
    ]
    same = compared(first, first)
    assert same.names[0] != same.names[1]


def test_one_value_was_and_two_were_compared(tmp_path: Path) -> None:
    first = study(tmp_path / "a", {"8pkt": [3.0, 3.2], "64pkt": [3.0, 3.1]})
    second = study(tmp_path / "b", {"8pkt": [3.1, 3.2]})
    assert summary(compared(first, second))[1] == "1 value in 1 cell was compared."
    assert summary(compared(first, study(tmp_path / "c", {"8pkt": [3.1, 3.2], "64pkt": [3.05, 3.1]})))[1] == (
        "2 values in 2 cells were compared."
    )


def test_what_is_only_in_one_is_said(tmp_path: Path) -> None:
    first = study(tmp_path / "a", {"8pkt": [3.0, 3.2], "64pkt": [3.0, 3.1]}, path={"rtt": "40ms"})
    second = study(tmp_path / "b", {"64pkt": [3.5, 3.6]}, path={"rtt": "80ms"})
    found = compared(first, second)
    assert found.not_compared == ["1 of 2 cells of a has no counterpart."]
    assert found.settings == [("path.rtt", "40ms", "80ms")]
    assert [one.cell for one in found.differences] == [((LIMIT, "64pkt"),)]


def test_settings_that_only_one_has_are_one_line() -> None:
    first = {"name": "a", "workload": {"few": [{"count": 1}]}, "flows": [{"count": 1}, {"count": 2}]}
    second = {"name": "b", "flows": [{"count": 1}, {"count": 3}]}
    assert changed(first, second) == [
        ("workload", '{"few": [{"count": 1}]}', "not given"),
        ("flows.1.count", "2", "3"),
    ]


def test_what_a_study_does_not_say_is_said_as_it_was_run() -> None:
    assert changed({}, {"seed": 2}) == [("seed", "1 (by default)", "2")]
    assert changed({"warmup": "10s"}, {}) == [("warmup", "10s", "0s (by default)")]
    assert changed({}, {"seed": 1, "repeat": 1}) == []


def test_what_is_written_otherwise_and_means_the_same_is_no_difference() -> None:
    def study(duration: str, rate: str, **queue: str) -> dict[str, Any]:
        return {"duration": duration, "path": {"rtt": "20ms", "down": {"rate": rate, "queue": queue}}}

    one = study("60s", "10Mbit", kind="fq-codel", limit="100pkt")
    assert changed(one, study("1min", "10000 kbit", kind="fq_codel", limit="100 packets")) == []
    assert changed(one, study("1min", "0.01Gbit", kind="FQ-CoDel", limit="100p", interval="100ms")) == []
    # Where a queue differs, what means the same in it is none of the differences.
    assert changed(one, study("61s", "10Mbit", kind="fq_codel", limit="99p")) == [
        ("duration", "60s", "61s"),
        ("path.down.queue.limit", "100pkt", "99p"),
    ]
    assert changed({"warmup": "0ms"}, {}) == []
    # Names that are no quantities, and what only one side has.
    assert changed({"flows": [{"name": "a"}]}, {"flows": [{"name": "A"}]}) == [("flows.0.name", "a", "A")]
    assert changed({"seed": 2, "mtu": "1500B"}, {"seed": 2}) == [("mtu", "1500B", "not given")]


def test_a_list_that_is_not_of_tables_alone_is_said_whole() -> None:
    first, second = ({"x": [{"a": 1}, last]} for last in (2, 3))
    assert changed(first, second) == [("x", '[{"a": 1}, 2]', '[{"a": 1}, 3]')]
    first, second = ({"x": [{"a": 1}, {"a": last}]} for last in (2, 3))
    assert changed(first, second) == [("x.1.a", "2", "3")]


def test_the_command_and_its_exit_codes(sojourn: Command) -> None:
    first = study(sojourn.cwd / "a", {"8pkt": [3.0, 3.1, 2.9]})
    study(sojourn.cwd / "b", {"8pkt": [4.0, 4.1, 3.9]})
    [told] = sojourn.json("compare", "a", "b", "--value", MOS, "--out", "page")
    [one] = told["differences"]
    assert (told["compared"], told["larger"], told["larger_by_holm"]) == (1, 1, 1)
    assert one["point"] == {LIMIT: "8pkt"} and one["value"] == MOS
    assert one["interval"][0] < one["difference"] < one["interval"][1]
    page = (sojourn.cwd / "page" / "compare.html").read_text()
    assert "The one difference that was looked at is larger" in page
    assert "Filled diamonds" in page and (sojourn.cwd / "page" / "figures" / "differences.csv").is_file()
    # Eight lines are enough to read; how many were left out is said.
    for name, mos in (("d", 3.0), ("e", 4.0)):
        study(sojourn.cwd / name, {f"{n}pkt": [mos, mos + 0.1] for n in range(1, 11)})
    lines = sojourn("compare", "d", "e", "--value", MOS).stdout.splitlines()
    assert sum(line.startswith("  ") for line in lines) == 9
    assert "  and 2 more, which --json and --out have" in lines
    other = [result({"path.rtt": rtt}, n) for rtt in ("10ms", "20ms") for n in range(2)]
    write_results(sojourn.cwd / "c", other, [])
    for words, says in (
        (("a", "c"), "path.rtt"),
        (("a", "none"), "no such results directory"),
        (("a", "b", "--value", "voice.talk.mos"), "no result has this number; did you mean voice.talks."),
        (("a", "b", "--value", "zzz"), "no result has this number; `sojourn show RESULTS POINT` lists them"),
    ):
        done = sojourn("compare", *words, "--out", "nothing", code=2)
        assert says in sentence(done.stderr) and not done.stdout
    assert not (sojourn.cwd / "nothing").exists()
    assert first.is_dir()


def test_every_user_s_score_and_every_hop_s_link_is_compared(tmp_path: Path) -> None:
    def hops(folder: Path, late: float, delay: float) -> Path:
        results = [result({LIMIT: "8pkt"}, at) for at in range(3)]
        for at, one in enumerate(results):
            waits = {"mean": delay + at, "p95": 2 * delay + at}
            one["links"] = {"home.down": {"loss": 0.0, "utilisation": 0.5, "queue_delay_ms": waits}}
            one["gaming"] = {"late": {"mean": late + at / 100}}
            one["cloud-gaming"] = {"mos": {"median": 4 - late + at / 100}}
        return write_results(folder, results, [])

    found = compared(hops(tmp_path / "a", 0.01, 5.0), hops(tmp_path / "b", 0.6, 90.0), ())
    wanted = {"gaming.late.mean", "cloud-gaming.mos.median", "links.home.down.queue_delay_ms.mean"}
    assert wanted <= {one.value.path for one in found.larger}


def test_lower_bounds_and_cells_of_one_side_are_said(tmp_path: Path) -> None:
    def pages(folder: Path, *cells: str) -> Path:
        results = [result({LIMIT: limit}, at) for limit in ("8pkt", "64pkt") for at in range(2)]
        for one in results:
            if one["point"][LIMIT] in cells:
                one["page"] = {"load_s": {"median": 1.0}, "bounded": ["load_s.median"] * ("8pkt" in cells)}
        return write_results(folder, results, [])

    found = compared(pages(tmp_path / "a", "8pkt", "64pkt"), pages(tmp_path / "b", "64pkt"), ())
    assert "Page of today: median load time is in 1 of 2 cells on one side only." in found.not_compared
    assert found.bounds == [
        "a: In all 4 runs too few loads had ended when the run did, so that page of today: median load time "
        "is a lower bound: a longer run would tell."
    ]
    assert found.bounds[0] in summary(found)
    # Loads that had not ended are no short ones: 0.1 s at least is not better than 5 s.
    unended = pages(tmp_path / "c", "8pkt", "64pkt"), pages(tmp_path / "d", "64pkt")
    [one] = compared(*unended, ["page.load_s.median"]).differences
    assert one.interval is None and one.verdict == "cannot be said: a lower bound"
    assert summary(compared(*unended, ["page.load_s.median"]))[0].endswith("lower bounds.")
