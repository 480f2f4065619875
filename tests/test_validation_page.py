"""The validation page: what is explained, what is counted, and by which engine it was made."""

import json
from functools import partial

import pytest
from conftest import ROOT
from sojourn.losses.findings import Finding

from tools.validation import fitted, kernel, sections
from tools.validation.__main__ import main
from tools.validation.checks import Check
from tools.validation.explanations import Explanations
from tools.validation.report import Page, write
from tools.validation.runs import UNNAMED, Runs, engine_of, made_by
from tools.validation.sections import SECTIONS, Section
from tools.validation.study import Comparison, Pair
from tools.validation.tables import number, of_links, of_rows


def check(key, ours, references, ok, *, spread=None, unit="", rule="a rule"):
    spread = spread or (ours, ours)
    return Check(key, key.rsplit("/", 1)[1], unit, ours, spread, tuple(references.items()), ok, rule)


def explained(rows, text="Since."):
    return Explanations([{"rows": rows, "text": text}])


def test_an_explanation_is_for_one_row_at_one_value():
    found = explained({"kernel/a/up/loss": [0.02, 0.019, 0.021]})
    row = check("kernel/a/up/loss", 0.0215, {"Linux (1)": 0.03}, False)
    assert found.of(row) == "Since." and found.unexplained([row]) == []
    assert found.stale("kernel", [row]) == []
    for moved in (0.0225, 0.0175):
        row = check("kernel/a/up/loss", moved, {"Linux (1)": 0.03}, False)
        assert found.of(row) is None and found.unexplained([row]) == [row]
        [sentence] = found.stale("kernel", [row])
        assert sentence.endswith(f"was explained at 0.02 (0.019 to 0.021); now it is {moved:g}")
    other = check("kernel/a/down/loss", 0.02, {"Linux (1)": 0.03}, False)
    assert found.unexplained([other]) == [other]


def test_an_explanation_has_no_wildcards():
    row = check("kernel/a/up/loss", 0.02, {"Linux (1)": 0.03}, False)
    for key in ("kernel/*", "kernel/a/up/*", "kernel/a/up", "kernel/b/up/loss"):
        found = explained({key: [0.02, 0.0, 1.0]})
        assert found.unexplained([row]) == [row]
        assert found.stale("kernel", [row]) == [f"{key} is explained, but there is no such row"]


def test_an_explanation_of_a_row_without_spread_holds_for_its_value_alone():
    found = explained({"aqm/a/loss": [0, 0, 0]})
    assert found.of(check("aqm/a/loss", 0.0, {"x": 0.1}, False))
    assert found.of(check("aqm/a/loss", 1e-9, {"x": 0.1}, False)) is None


def test_an_explanation_of_a_row_inside_its_rule_is_stale():
    found = explained({"aqm/a/loss": [1, 0, 2]})
    row = check("aqm/a/loss", 1.0, {"x": 1.0}, True)
    assert found.stale("aqm", [row]) == ["aqm/a/loss is explained, but it is inside its rule"]
    assert found.stale("kernel", []) == [], "rows of a section that was not made are not missed"
    assert found.unexplained([row]) == []


def test_a_row_is_explained_once():
    entry = {"rows": {"aqm/a/loss": [1, 0, 2]}, "text": "x"}
    with pytest.raises(ValueError, match="aqm/a/loss is explained twice"):
        Explanations([entry, entry])


def test_the_shipped_explanations_are_sentences_for_rows_of_sections():
    rows = Explanations().rows
    assert rows
    for key, written in rows.items():
        assert "*" not in key and key.split("/")[0] in SECTIONS
        assert written.least <= written.ours <= written.greatest
        assert written.text.endswith(".")


def test_what_is_fitted_is_said_where_it_is_chosen():
    choices = fitted.entries()
    for each in choices:
        assert (ROOT / each["where"]).is_file(), each["where"]
    text = " ".join(" ".join(fitted.section()).split())
    for words in (
        "preset `imc14`",
        "fixed buffer of 60 ms",
        "half_rtt",
        "code of 2012",
        "netem",
        "probes = 2",
    ):
        assert words in text
    assert text.count("Chosen by:") == len(choices)


def test_numbers_as_they_are_printed():
    assert number(0.00123, "loss") == "0.12 %"
    assert number(0.2334, "loss") == "23.3 %"
    assert number(0.99967, "utilisation") == "1.000"
    assert number(2876.93, "delay") == "2877"
    assert number(float("nan")) == "–"


def cells(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.strip().splitlines()]


def test_a_table_of_rows_prints_the_rule_and_numbers_in_their_unit():
    rows = [
        check(
            "theory/M/D/1/10/loss",
            0.376,
            {"theory": 0.364},
            True,
            spread=(0.35, 0.401),
            unit="%",
            rule="in it",
        ),
        check("aqm/a/loss", 0.376, {"the study": 0.1, "ns-3": 0.2}, False, spread=(0.3, 0.4)),
    ]
    _, _, first, second = cells(of_rows(rows))
    assert first == ["M/D/1/10/loss", "loss (%)", "0.376", "0.35 – 0.401", "theory 0.364", "in it", "ok"]
    assert second[2:5] == ["**37.6 %**", "30.0 % – 40.0 %", "the study 10.0 %, ns-3 20.0 %"]
    assert second[-1] == "outside"


def test_a_table_of_links_has_each_quantity_in_its_column():
    both = {"ns3": 1.0, "ns2": 2.0}
    rows = [
        check("peers/a/down/loss", 0.02, {"ns3": 0.01, "ns2": 0.02}, False, spread=(0.01, 0.03)),
        check("peers/a/down/utilisation", 0.5, {"ns3": 0.4, "ns2": 0.6}, True),
        check("peers/a/down/delay", 15.0, both, True, unit="ms"),
        check("peers/a/up/delay", 7.0, {"ns2": 8.0}, True, unit="ms"),
        check("peers/a/up/utilisation", 0.7, {"ns2": 0.8}, True),
        check("peers/a/up/loss", 0.05, {"ns2": 0.06}, True),
    ]
    head, _, down, up = cells(of_links(rows))
    assert [head[i] for i in (2, 4, 5, 8)] == ["delay, ms", "ns3 ns2", "utilisation", "loss"]
    assert [down[i] for i in (0, 1, 2, 4)] == ["a", "down", "15", "1, 2"]
    assert [down[i] for i in (5, 8, 9, 10)] == ["0.500", "**2 %**", "1 % – 3 %", "1 %, 2 %"]
    assert down[-1] == "outside" and up[-1] == "ok"
    assert (up[2], up[4]) == ("7", "ns2 8"), "a figure alone names whose it is"


def test_engines_are_told_apart(monkeypatch):
    assert made_by({}) == "no run is stored"
    monkeypatch.setattr("tools.validation.runs.this_engine", lambda: "abc")
    assert made_by({"abc": 3}) == "made by engine `abc`"
    assert made_by({"old": 3}) == "made by engine `old`, **not by this engine**"
    assert made_by({"old": 3, "abc": 1}) == "**made by different engines**: engine `abc` and engine `old`"
    assert engine_of({"engine": {"build": "abc"}}) == "abc"
    assert engine_of({"engine": {}}) == engine_of({}) == UNNAMED


def page(tmp_path, **made):
    found = Page(tmp_path / "results", explanations=explained({"kernel/c/up/loss": [0.03, 0.02, 0.04]}))
    found.sections = made
    found.provenance = {name: f"`--only {name}`, made by engine `abc`.\n" for name in made}
    found.missing = {"streaming": "results/streaming: nothing is stored"}
    return found


def written(found, tmp_path):
    return write(found, tmp_path / "docs").read_text(encoding="utf-8")


def test_the_page_tells_ok_explained_and_unexplained(tmp_path):
    both = {"ns3": 0.001, "ns2": 0.0012}
    outside = check("peers/a/down/loss", 0.002, both, False)
    rows = [
        check("peers/a/down/delay", 15.0, {"ns3": 15.2, "ns2": 15.3}, True),
        check("peers/a/down/utilisation", 1.0, {"ns3": 1.0, "ns2": 1.0}, True),
        outside,
    ]
    linux = [check("kernel/c/up/loss", 0.031, {"Linux (3)": 0.02}, False)]
    found = page(
        tmp_path,
        peers=Section("## Peers\n", rows, [of_links(rows)]),
        kernel=Section("## Linux\n", linux, [of_links(linux)], ["the end\n"], groups={"Linux, known": linux}),
    )
    text = written(found, tmp_path)
    assert "| Two other simulators | 3 | 2 | 0 | 1 |" in text
    assert "| Linux, known | 1 | 0 | 1 | 0 |" in text
    assert "- `peers/a/down/loss`: 0.2 % against ns3 0.1 %, ns2 0.12 %\n\n  *Unexplained.*" in text
    assert "- `kernel/c/up/loss`: 3.1 % against Linux (3) 2 %\n\n  Since." in text
    assert (
        text.index("`--only kernel`, made by engine `abc`")
        < text.index("`kernel/c/up/loss`")
        < text.index("the end")
    )
    assert found.unexplained() == [outside] and found.stale() == []
    assert text.index("## Fitted") < text.index("## Summary") < text.index("## Peers")


def test_the_page_says_which_sections_are_missing(tmp_path):
    text = written(page(tmp_path), tmp_path)
    assert "## Adaptive streaming\n\n*Not written: results/streaming: nothing is stored.*" in text
    for maker in SECTIONS.values():
        assert f"## {maker.title}\n" in text
        assert f"Not in these counts, since it is not stored: {maker.title}." in text


def test_the_summary_counts_findings_tables_and_table_1(tmp_path):
    findings = [Finding("a", "x", "b", holds) for holds in (True, False, False, None)]
    pairs = (Pair("a", "8pkt", 1, 2), Pair("a", "16pkt", 3, 4), Pair("b", "8pkt", 5, 6))
    found = page(
        tmp_path,
        published=Section(
            "## Published tables\n",
            findings={"buffer sizing": findings},
            comparisons=[Comparison("s", "Delay", "t", {}, pairs, 1.0, 1, "sojourn run s.toml")],
            table_1=[True, False, False],
        ),
        flows=Section("## Flows\n", findings={"who loses": findings[:1]}),
    )
    text = written(found, tmp_path)
    assert "| buffer sizing | 4 | 1 | 2 | 1 |" in text
    assert "| who loses | 1 | 1 | 0 | 0 |" in text
    assert "| together | 5 | 2 | 2 | 1 |" in text
    assert "| s: Delay | 3 | 2 (67 %) | 0.75 |" in text
    assert "| 1 together | 3 | 2 (67 %) |  |" in text
    assert "Table 1 of IMC 2014: 1 of 3 rows meet their rule." in text


def test_scenarios_after_the_repairs_are_counted_by_themselves(monkeypatch):
    names = {entry.scenario for entry in kernel.measurements("kernel-fresh")}
    assert set(kernel.AFTER_REPAIRS) < names and len(set(kernel.AFTER_REPAIRS)) == 6
    keys = [f"kernel-fresh/{name}/up/loss" for name in sorted(names)]
    rows = [check(key, 0.0, {"Linux (1)": 0.0}, True) for key in keys]
    monkeypatch.setattr(kernel, "checks", lambda runs, section: rows)
    groups = SECTIONS["kernel-fresh"].make(sections.Sources(None, None, None, None)).groups
    before, after = groups.values()
    assert sorted(row.key for row in (*before, *after)) == sorted(keys)
    assert {row.key.split("/")[1] for row in after} == set(kernel.AFTER_REPAIRS)
    assert all(f"`{name}`" in kernel.FRESH_TEXT for name in kernel.AFTER_REPAIRS)


def test_a_section_names_the_engines_of_its_runs_and_says_what_is_missing(tmp_path, monkeypatch):
    def make(sources):
        sources.runs.engines.update(["old", "old"])
        return Section("## X\n")

    monkeypatch.setitem(SECTIONS, "theory", sections.Maker("Queueing theory", make))
    found = Page(tmp_path)
    found.make("theory", tmp_path)
    assert found.provenance["theory"] == (
        f"`python -m tools.validation --only theory`; every run is in `{tmp_path.as_posix()}/theory/`, "
        "made by engine `old`, **not by this engine**.\n"
    )
    found.make("kernel", tmp_path, simulate=False)
    assert "nothing is stored" in found.missing["kernel"]


def test_speed_is_read_from_what_the_bench_left(tmp_path):
    programs = {
        "sojourn": {"kpps": 7000.4, "rss_mb": 25, "simulated_s": 240},
        "ns2": {"kpps": 3000, "rss_mb": 14, "simulated_s": 240, "sojourn_times_faster": 2.33},
    }
    machine = {"system": "Linux", "cores": 2, "sojourn": "0.1.0"}
    scenarios = [{"scenario": "speed-newreno-fifo", "programs": programs}]
    (tmp_path / "speed.json").write_text(json.dumps({"turns": 3, "machine": machine, "scenarios": scenarios}))
    sources = sections.Sources(Runs(tmp_path / "speed"), tmp_path, tmp_path, tmp_path)
    section = SECTIONS["speed"].make(sources)
    assert "| speed-newreno-fifo | ns2 | 3000 | 14 | 240 | 2.3 |" in section.table[0]
    assert "3 turns on Linux with 2 cores" in " ".join(section.text.split())


@pytest.mark.parametrize(
    ("arguments", "rows", "stale", "status"),
    [
        ([], "ok", False, 1),  # sections are missing
        (["--only"], "ok", False, 0),
        (["--only", "theory"], "outside", False, 1),
        (["--only", "theory"], "ok", True, 1),
    ],
)
def test_the_status_says_whether_all_is_well(tmp_path, monkeypatch, capsys, arguments, rows, stale, status):
    asked = []

    def make(sources):
        asked.append(sources.runs.simulate)
        return Section("## X\n", [check("theory/a/wait", 1.0, {"theory": 1.0}, rows == "ok")])

    monkeypatch.setitem(SECTIONS, "theory", sections.Maker("Queueing theory", make))
    for name in set(SECTIONS) - {"theory"}:
        monkeypatch.setitem(
            SECTIONS, name, sections.Maker(name, _nothing, simulates=name in ("peers", "kernel"))
        )
    entries = [{"rows": {"theory/gone/wait": [1, 0, 2]}, "text": "x."}] if stale else []
    made = partial(Page, explanations=Explanations(entries))
    monkeypatch.setattr("tools.validation.__main__.Page", made)
    folders = ["--results", str(tmp_path), "--docs", str(tmp_path), "--published", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["tools.validation", *folders, *arguments])
    assert main() == status
    assert asked == [arguments != ["--only"]]
    said = capsys.readouterr()
    assert ("theory/gone/wait is explained, but there is no such row" in said.err) is stale
    assert f"{len(SECTIONS) - 1} sections missing" in said.out
    assert (tmp_path / "validation.md").is_file()


def _nothing(sources):
    raise sections.NotStored("nothing is stored")
