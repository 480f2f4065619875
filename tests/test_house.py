"""The house itself: where files may lie, which file may import which, what is shipped."""

from __future__ import annotations

import ast
import inspect
import re
import struct
import subprocess
import tomllib
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Command
from rust_modules import uses
from sojourn import _core
from sojourn.cli import VERBS

PACKAGE = ROOT / "python" / "sojourn"
CODE = ("crates", "python", "tools", "tests", "benches", "fuzz")
FLOORS = (
    *("errors", "parts", "qoe", "study", "results", "losses", "report", "capture", "sweep", "cli"),
    "__main__",
)
UPWARDS = {("qoe", name) for name in ("study.links", "study.thresholds", "study.units", "results.interval")}
UPWARDS |= {("parts", "study.missing")}
"""What scores read of a study's values, and a formula: each imports nothing of its package but such. And what
a queue alone is told of a key that it lacks, as a study is: read only then."""


def tracked(folder: Path) -> list[Path]:
    """Return the files of the repository below a folder."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return [folder / name for name in names.stdout.splitlines() if (folder / name).is_file()]


def imports(file: Path, modules: dict[str, Path]) -> set[Path]:
    """Return the files that a file imports, inside functions too, but not for annotations alone."""
    found: set[str] = set()

    class Imports(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
                self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> None:
            found.update(name.name for name in node.names)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            assert node.level == 0, f"{file}: imports are absolute"
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                found.add(inner if inner in modules else str(node.module))

    Imports().visit(ast.parse(file.read_text(encoding="utf-8")))
    return {modules[name] for name in found if name in modules} - {file}


def package() -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Return which file of the package imports which, by their places; `__init__` is its folder's place."""
    files = [file for file in tracked(PACKAGE) if file.suffix == ".py"]
    places = {file: file.relative_to(PACKAGE).with_suffix("").parts for file in files}
    places = {file: place[:-1] if place[-1] == "__init__" else place for file, place in places.items()}
    modules = {".".join(("sojourn", *place)): file for file, place in places.items()}
    return {place: {places[other] for other in imports(file, modules)} for file, place in places.items()}


def within(
    folder: tuple[str, ...], graph: Mapping[tuple[str, ...], set[tuple[str, ...]]]
) -> dict[str, set[str]]:
    """Return which of the files and folders in a folder needs which; the folder's own file is left out."""
    deep = len(folder)
    inner = [place for place in graph if place[:deep] == folder and len(place) > deep]
    rooms: dict[str, set[str]] = {place[deep]: set() for place in inner}
    for place in inner:
        rooms[place[deep]] |= {
            other[deep] for other in graph[place] if other[:deep] == folder and len(other) > deep
        }
    return {room: others - {room} for room, others in rooms.items()}


def folders(graph: Mapping[tuple[str, ...], Any]) -> set[tuple[str, ...]]:
    return {place[:deep] for place in graph for deep in range(len(place))}


def test_no_two_files_of_the_package_import_each_other() -> None:
    graph = package()
    assert len(graph) > 100
    assert circle(graph) == []


def test_no_two_folders_of_the_package_import_each_other() -> None:
    graph = package()
    # What lies in the root has floors, and a few steps up that are named.
    inner = folders(graph) - {()}
    assert len(inner) > 25 and within(("study",), graph)["inputs"] == {"links", "units"}
    assert {folder: found for folder in inner if (found := circle(within(folder, graph)))} == {}


def test_the_package_imports_nothing_of_the_repositorys_own() -> None:
    outside = re.compile(r"^\s*(?:from|import) (?:tools|benches|tests)\b", re.MULTILINE)
    files = [file for file in tracked(PACKAGE) if file.suffix == ".py"]
    assert not [str(file) for file in files if outside.search(file.read_text("utf-8"))]


def test_no_package_imports_from_one_above_it() -> None:
    graph = package()
    assert {place[0] for place in graph if place} == set(FLOORS)
    found = {
        (place[0], ".".join(other))
        for place, others in graph.items()
        for other in others
        if place and other and FLOORS.index(other[0]) > FLOORS.index(place[0])
    }
    assert found == UPWARDS


@pytest.mark.parametrize("crate", [folder.name for folder in sorted((ROOT / "crates").iterdir())])
def test_no_two_files_of_a_crate_use_each_other(crate: str) -> None:
    graph = uses(ROOT / "crates" / crate)
    assert len(graph) < 10 or sum(map(len, graph.values())) > len(graph)
    assert circle(graph) == []


@pytest.mark.parametrize("crate", [folder.name for folder in sorted((ROOT / "crates").iterdir())])
def test_no_two_folders_of_a_crate_use_each_other(crate: str) -> None:
    graph = uses(ROOT / "crates" / crate)
    inner = folders(graph)
    if crate == "sojourn-pcap":
        assert ("delay", "finalize") in inner and "track" in within(("delay",), graph)["finalize"]
    # The records of a run are kept packet by packet, and applications have the names of what a scenario says.
    inner -= {()} if crate == "sojourn-sim" else set()
    assert {folder: found for folder in inner if (found := circle(within(folder, graph)))} == {}


def circle(graph: Mapping[Any, set[Any]]) -> list[Any]:
    """Return nodes that lead to one another, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_only_commands_import_what_belongs_to_commands() -> None:
    for file in tracked(PACKAGE):
        if file.suffix == ".py" and file.relative_to(PACKAGE).parts[0] not in ("cli", "__main__.py"):
            assert "sojourn.cli" not in file.read_text("utf-8"), file


def test_percentages_are_written_in_one_form() -> None:
    """Words have "12.3 %", by `percent`; a format of their own would have no space."""
    told = [file for file in [*tracked(PACKAGE), *tracked(ROOT / "tools")] if file.suffix == ".py"]
    assert not [str(file) for file in told if re.search(r":[^{}:]*[0-9]%\}", file.read_text("utf-8"))]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    close = {
        (file.name, number)
        for file in pages
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if re.search(r"[0-9]%(?![A-Za-z0-9])", re.sub(r"`[^`]*`", "", line))
    }
    assert not close


def test_the_root_of_the_package_is_seen_at_a_glance() -> None:
    entries = {file.relative_to(PACKAGE).parts[0] for file in tracked(PACKAGE)}
    assert len(entries) <= 14, sorted(entries)


def test_files_can_be_read_in_one_sitting() -> None:
    for file in tracked(ROOT):
        if file.suffix in (".py", ".rs") and file.relative_to(ROOT).parts[0] in CODE:
            lines = file.read_text(encoding="utf-8").splitlines()
            assert len(lines) <= 450, f"{file} has {len(lines)} lines"
            wide = [
                number
                for number, line in enumerate(lines, 1)
                if len(line) > 120 and line.lstrip().startswith(("//", "#"))
            ]
            assert not wide, f"{file}: comments in lines {wide} are wider than 120 columns"


def test_no_test_in_rust_lies_where_none_is_run() -> None:
    (asked,) = re.findall(r"cargo test (.*)", (ROOT / "Makefile").read_text("utf-8"))
    left_out = re.findall(r"--exclude (\S+)", asked)
    assert left_out and "--workspace" in asked
    for crate in left_out:
        sources = list((ROOT / "crates" / crate).rglob("*.rs"))
        assert sources and not [file for file in sources if "#[test]" in file.read_text("utf-8")]


def test_studies_and_licences_are_shipped() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = {
        file
        for entry in project["tool"]["maturin"]["include"]
        if {"sdist", "wheel"} <= set(entry["format"])
        for file in ROOT.glob(entry["path"])
    }
    link = PACKAGE / "study" / "shipped"
    for file in tracked(ROOT / "studies"):
        assert link / file.relative_to(ROOT / "studies") in shipped
    expression = project["project"]["license"]
    for file in project["project"]["license-files"]:
        assert (ROOT / file).stat().st_size > 1000
        assert file.removeprefix("LICENSE-").casefold() in expression.casefold()


def test_a_shipped_study_runs_by_its_name_in_an_empty_folder(sojourn: Command) -> None:
    short = ["--set", "duration=4s", "--set", "warmup=1s", "--set", "users=[]", "--only", "workload=none"]
    rows = sojourn.json("run", "quickstart", *short)
    assert {row["study"] for row in rows} == {"quickstart"}
    assert (sojourn.cwd / "results" / "quickstart" / "study.json").is_file()
    # A file of one's own goes first.
    (sojourn.cwd / "quickstart").write_text("name = 1")
    assert "quickstart:1" in re.sub(r"\s", "", sojourn("run", "quickstart", code=2).stderr)


def test_every_verb_is_a_module_and_in_the_overview(sojourn: Command) -> None:
    overview = sojourn("--help").stdout
    modules = {file.stem for file in (PACKAGE / "cli").glob("*.py")}
    assert set(VERBS) == modules - {"__init__", "again", "exit", "flag", "once", "plain", "progress"}
    for verb, does in VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(does)}$", overview, re.MULTILINE)
    assert max(map(len, overview.splitlines())) <= 100
    assert sojourn().stdout == sojourn("-h").stdout == overview


def test_the_version_and_the_overview_import_neither_parser_nor_numpy(sojourn: Command) -> None:
    for words in (["--version"], ["--help"]):
        code = f"import sys; from sojourn.cli import call; call({words}); print(*sorted(sys.modules))"
        loaded = sojourn.script(code).split()
        assert "sojourn.cli" in loaded
        assert not {"cyclopts", "numpy", "polars", "matplotlib", "rich", "sojourn.study"} & set(loaded)


def test_measuring_waits_for_no_module_that_only_help_or_stored_results_need(sojourn: Command) -> None:
    (sojourn.cwd / "empty.pcap").write_bytes(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    words = ["measure", "empty.pcap", "--json", "--jobs", "2"]
    code = f"import sys; from sojourn.cli import call; call({words}); print(*sys.modules)"
    loaded = sojourn.script(code).split()
    assert "sojourn.cli.measure" in loaded
    slow = {"cyclopts", "numpy", "polars", "matplotlib", "rich.console", "sojourn.results"}
    assert not slow & set(loaded)


def _stub(body: list[ast.stmt], within: str = "") -> dict[str, list[str] | None]:
    """Return the names of a stub; of what can be called, also its parameters."""
    found: dict[str, list[str] | None] = {}
    for each in body:
        match each:
            case ast.FunctionDef():
                found[within + each.name] = [one.arg for one in (*each.args.args, *each.args.kwonlyargs)]
            case ast.ClassDef():
                found |= {each.name: None} | _stub(each.body, f"{each.name}.")
            case ast.AnnAssign(target=ast.Name(name)):
                found[within + name] = None
    return found


def _extension() -> dict[str, list[str] | None]:
    """Return the same of the extension module as it is."""
    found: dict[str, list[str] | None] = {}
    for name, value in vars(_core).items():
        if inspect.isclass(value) and not issubclass(value, Exception):
            for inner, member in vars(value).items():
                if inner == "__new__":
                    found[f"{name}.__init__"] = ["self", *inspect.signature(value).parameters]
                elif not inner.startswith("__"):
                    found[f"{name}.{inner}"] = (
                        list(inspect.signature(member).parameters) if callable(member) else None
                    )
        if not name.startswith("__"):
            found[name] = None if inspect.isclass(value) else list(inspect.signature(value).parameters)
    return found


def test_the_stub_has_all_that_the_extension_module_has() -> None:
    stub = ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))
    assert _stub(stub.body) == _extension()
