"""What pages say of the repository itself: links lead somewhere, files that the map names are there, and what
examples of docstrings show is what they give.
"""

import doctest
import importlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Command
from sojourn.cli import VERBS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
FILE = re.compile(r"[\w./-]+(?:/|\.(?:rs|py|toml|md|csv|js))")
SHORT = re.compile(r"(?=net/|sim/|pcap/|qoe/src/)")
"""Before which beginnings docs/internals.md leaves out `crates/sojourn-`."""


WITH_PACKAGES = ("python", "crates", "tools", "benches", "fuzz")
"""Where each folder with code is named in docs/internals.md."""


def prose(page: Path) -> Iterator[str]:
    """The lines of a page outside of its blocks of code."""
    code = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield line


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    seen: Counter[str] = Counter()
    found = set()
    for line in prose(page):
        if heading := re.match(r"#+ (.+)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            anchor = "".join(c for c in text if c.isalnum() or c in " -_").replace(" ", "-")
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return found


def test_examples_of_docstrings_give_what_they_show():
    tried = 0
    for file in sorted((ROOT / "python" / "sojourn").rglob("*.py")):
        if ">>> " in file.read_text(encoding="utf-8"):
            place = file.relative_to(ROOT / "python").with_suffix("")
            module = ".".join(place.parts).removesuffix(".__init__")
            came = doctest.testmod(importlib.import_module(module))
            assert came.failed == 0, module
            tried += came.attempted
    assert tried > 50


def test_links_of_pages_lead_somewhere():
    dead, followed = [], 0
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose(page))):
            if re.match(r"[a-z]+:", link):
                continue
            followed += 1
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert not dead
    assert followed > 100


def test_runs_that_the_validation_page_names_are_where_its_command_puts_them():
    text = "\n".join(prose(ROOT / "docs" / "validation.md"))
    named = re.findall(r"--only ([\w-]+)`; every run is in `([^`]+)`", text)
    assert named
    assert [(part, place) for part, place in named if place != f"results/validation/{part}/"] == []


def quoted_commands(page: Path) -> Iterator[str]:
    """The code of a page line by line: of its blocks (lines that go on are joined), and between backticks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    yield from re.sub(r"\\\n\s*", " ", "\n".join(blocks)).splitlines()
    yield from re.findall(r"`([^`\n]+)`", text)


def test_commands_that_pages_quote_are_there(sojourn: Command):
    """Verbs of sojourn with their options, targets of make, and modules that Python is to run."""
    options = {verb: set(re.findall(r"--[a-z-]+", sojourn(verb, "--help").stdout)) for verb in VERBS}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong, seen = [], 0
    for page in PAGES:
        if page.name == "CHANGELOG.md":  # It speaks of what was, too.
            continue
        for line in quoted_commands(page):
            for verb, words in re.findall(r"\bsojourn ([a-z]+)\b([^#|&]*)", line):
                given = re.findall(r"(?<=\s)--[a-z][a-z-]*", words.split(" -- ")[0])
                wrong += [
                    f"{page.name}: {verb} {word}" for word in given if word not in options.get(verb, ())
                ]
                wrong += [f"{page.name}: sojourn {verb}"] * (verb not in VERBS)
                seen += 1
            for target in re.findall(r"^make ([\w-]+)", line):
                wrong += [f"{page.name}: make {target}"] * (target not in targets)
                seen += 1
            for module in re.findall(r"python -m ((?:tools|benches)[\w.]*)", line):
                place = ROOT / module.replace(".", "/")
                there = place.with_suffix(".py").exists() or (place / "__main__.py").exists()
                wrong += [f"{page.name}: {module}"] * (not there and not module.endswith(".NAME"))
                seen += 1
    assert not wrong
    assert seen > 150


def alternatives(name: str) -> list[str]:
    """`a/{b,c}.rs` as its two files."""
    if not (choice := re.fullmatch(r"(.*?)\{([^}]*)\}(.*)", name)):
        return [name]
    return [found for one in choice[2].split(",") for found in alternatives(choice[1] + one + choice[3])]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what belongs to the repository is asked of git")
def test_files_that_the_map_names_are_there():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(name) for name in listed.stdout.splitlines()]
    there = {f"/{name}" for name in files} | {f"/{folder}" for name in files for folder in name.parents}
    missing, looked_for = [], 0
    text = "\n".join(prose(ROOT / "docs" / "internals.md"))
    for quoted in re.findall(r"`([^`\n]+)`", text):
        for name in alternatives(quoted):
            if not FILE.fullmatch(name) or "NAME" in name or name == "studies/x.toml":
                continue
            looked_for += 1
            full = f"crates/sojourn-{name}" if SHORT.match(name) else name
            if not any(path.endswith(f"/{full.rstrip('/')}") for path in there):
                missing.append(name)
    assert not missing
    assert looked_for > 100
    code = {file.parent for file in files if file.suffix in (".py", ".rs") and file.parts[0] in WITH_PACKAGES}
    folders = {folder for file in code for folder in (file, *file.parents) if len(folder.parts) > 1}
    named = set(re.findall(r"\w+", text))
    assert len(folders) > 100
    assert not sorted(str(folder) for folder in folders if not set(re.findall(r"\w+", folder.name)) <= named)
