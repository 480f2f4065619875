"""Figure 9a on the validation page, from stored results."""

import tomllib
from itertools import product

import pytest
from conftest import ROOT
from sojourn.results.store import Store
from sojourn.study.identity import RESULT_FORMAT

from tools.validation import video
from tools.validation.report import Page, write
from tools.validation.runs import NotStored
from tools.validation.study import comparisons, studies_with_results

STUDIES = ROOT / "studies"
LEVELS = dict(zip(video.WORKLOADS, (1.0, 0.5, 0.49, 0.44, 0.4), strict=True))


def stored(results, buffers, ssim):
    """Write a results folder of the video study, as a run would."""
    store = Store(results / video.STUDY)
    store.prepare()
    points = []
    places = product(("aligned", "paper", "freeze"), ("sd", "hd"), video.WORKLOADS, buffers)
    for number, (profile, size, load, buffer) in enumerate(places):
        axes = {"workload": load, "path.down.queue.limit": buffer, "users.0.resolution": size}
        named = {"point": axes | {"users.0.profile": profile}, "replication": 0}
        median = ssim(profile, load)
        scores = {"ssim": {"median": median}, "loss": 0.01, "clips": {"movie": {"ssim": median}}}
        rest = {"study": video.STUDY, "links": {}, "engine": {"build": "abc"}}
        store.write_point(f"{number:032x}", {**named, **rest, "video": scores})
        points.append({"hash": f"{number:032x}", **named})
    file = STUDIES / f"{video.STUDY}.toml"
    about = {"format": RESULT_FORMAT, "sojourn": "0.1.0", "study": video.STUDY, "folder": str(STUDIES)}
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    store.write_study(
        {**about, "command": f"sojourn run {file.name}", "document": document, "points": points}
    )


def table_rows(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def written(results):
    text, parts, _, engines = video.section(results, STUDIES)
    assert engines == {"abc": len(list((results / video.STUDY).rglob("*.json"))) - 1}
    return "\n".join([text, *parts])


def test_nothing_is_stored(tmp_path):
    with pytest.raises(NotStored, match=f"{video.STUDY}: nothing is stored"):
        video.section(tmp_path, STUDIES)


def test_a_figure_like_the_published_one(tmp_path):
    stored(tmp_path, video.BUFFERS, lambda profile, load: LEVELS[load] ** (1 if profile == "freeze" else 0.1))
    text = written(tmp_path)
    assert "180 of 180 points are stored" in " ".join(text.split())
    rows = table_rows(text)
    held = {(row[0], row[2]): row[4] for row in rows if len(row) == 5}
    assert {held[statement, "`freeze`"] for statement in video.STATEMENTS} == {"holds"}
    assert held[list(video.STATEMENTS)[1], "`aligned`"] == "**does not hold**"
    [freeze] = [row for row in rows if row[:2] == ["`freeze`", "SD"]]
    assert freeze[2] == "30" and float(freeze[5]) < 0.05 and freeze[7] == "0.40–0.50 (0.40–0.48)"
    [clear, *_] = [row for row in rows if row[:2] == ["`aligned`", "none"]]
    assert clear[2:] == ["1.00"] * 6
    # Each figure has its own points, and its own name.
    assert studies_with_results(tmp_path) == [video.STUDY]
    found = comparisons(tmp_path, video.STUDY, STUDIES)
    assert len({one.key for one in found}) == 6
    assert {len(one.pairs) for one in found} == {30}
    assert found[0].mean_difference > 0.2 > found[-1].mean_difference
    assert [pair.published for pair in found[0].pairs if pair.workload == "none"] == [1.0] * 6


@pytest.mark.parametrize("level", [0.9, 0.3])
def test_what_only_some_points_say_is_left_open(tmp_path, level):
    stored(tmp_path, ("64pkt",), lambda profile, load: level)
    text = written(tmp_path)
    assert "cannot be said" in text and "holds" not in text and "does not hold" not in text


def test_sections_are_made_of_what_is_stored(tmp_path):
    stored(tmp_path, video.BUFFERS, lambda profile, load: LEVELS[load] ** (1 if profile == "freeze" else 0.1))
    page = Page(tmp_path / "validation", tmp_path, STUDIES)
    for name in ("published", "video"):
        page.make(name, tmp_path)
    assert not page.missing
    [found] = page.sections["video"].findings.values()
    assert [finding.holds for finding in found].count(True) >= 4 and len(found) == 12
    assert len(page.sections["published"].comparisons) == 6
    text = write(page, tmp_path).read_text(encoding="utf-8")
    assert "| 6 together | 180 |" in text
    assert text.count("engine `abc`, **not by this engine**") == 7
    assert "*Not stored: `sojourn run studies/imc14-access.toml`.*" in text
