"""What the files of the algorithms say about themselves: heads, constants, names of tests."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Header:
    """The head of an algorithm's file."""

    title: str
    summary: str
    source: str
    differences: str
    how_it_works: str = ""
    use_it_when: str = ""


@dataclass(frozen=True)
class Constant:
    """A constant of an algorithm."""

    name: str
    value: str
    text: str


def read(file: Path) -> Header:
    """Return the head of a file, that is its lines `//!`; ValueError if it names no source."""
    lines = [
        line[3:].removeprefix(" ") for line in file.read_text("utf-8").splitlines() if line.startswith("//!")
    ]
    text = _plain("\n".join(lines)).strip()
    summary, _, rest = text.partition("\n\n")
    summary = " ".join(summary.split())
    sections, rest = _sections(rest)
    if not rest.startswith("Source"):
        raise ValueError(f'{file}: after its first sentence and {SECTIONS} the head must go on with "Source"')
    source = re.split(r"\b(?=Differences?\b[^.]*?:)", rest, maxsplit=1)[0]
    differences = rest[len(source) :]
    title = summary.split(":")[0] if ":" in summary else file.stem.upper() if len(file.stem) < 5 else summary
    source = re.sub(r"^Sources?: ", "", source.strip())
    differences = re.sub(r"^Differences?(?: from [^:]*)?: ?", "", differences.strip())
    return Header(title, _sentence(summary), _sentence(source), _sentence(differences), *sections)


SECTIONS = ("How it works", "Use it when")
"""Sections that a head may have between its first sentence and its source, each begun by `Title: `."""


def _sections(text: str) -> tuple[list[str], str]:
    """Return the text of each of SECTIONS (empty if it is absent), and what follows them."""
    found = []
    for title in SECTIONS:
        body = ""
        if text.startswith(f"{title}: "):
            body, text = re.split(r"\n\n(?=Use it when: |Source)", text, maxsplit=1)
        found.append(_sentence(body.removeprefix(f"{title}: ")))
    return found, text


def constants(file: Path) -> list[Constant]:
    """Return the constants that a file declares for itself."""
    pattern = r"((?:^///[^\n]*\n)*)^(?:pub(?:\([a-z]+\))? )?const ([A-Z_0-9]+): [^=\n]+ = ([^;\n]+);"
    body = file.read_text("utf-8").split("#[cfg(test)]\nmod tests")[0]
    rows = []
    for comment, name, value in re.findall(pattern, body, re.MULTILINE):
        text = " ".join(line.removeprefix("///").strip() for line in comment.splitlines())
        rows.append(Constant(name, _units(value), _plain(text)))
    return rows


def tests(file: Path, prefixes: tuple[str, ...] | None = None) -> list[str]:
    """Return the names of the tests of a file (or, of Python tests, those that begin so) as sentences."""
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        names = re.findall(r"^def test_(\w+)", text, re.MULTILINE)
        names = [name for name in names if name.startswith(prefixes or ())]
    else:
        beside = file.with_suffix("") / "tests.rs"
        text = beside.read_text("utf-8") if beside.exists() else text.partition("#[cfg(test)]")[2]
        names = re.findall(r"#\[test\]\s+fn (\w+)", text)
    return [name.replace("_", " ") for name in names]


def _plain(text: str) -> str:
    """Return Rust's documentation without its links."""
    text = re.sub(r"\[(`[^`\]]+`)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\[(`[^`\]]+`)\]", r"\1", text)


def _units(value: str) -> str:
    value = re.sub(r"Span::from_millis\((\d+)\)", r"\1 ms", value)
    return re.sub(r"Span::from_secs\((\d+)\)", r"\1 s", value)


def _sentence(text: str) -> str:
    """Return the text beginning with a capital, ending with a stop."""
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:] if text[0].isascii() else text
    return text if text.endswith((".", ":", "!")) else text + "."
