"""A page for each queue discipline and congestion controller: `python -m tools.models`.

What a page says comes from one place each: what it is, its source and the differences from it from the head
of the algorithm's file; parameters and defaults from the schema of study files, constants from the file;
tests from the tests; the picture from a run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.study.schema import study_schema
from sojourn.study.toml import toml

from tools.models.headers import Constant, Header, constants, read, tests
from tools.models.parameters import keys_table, mentioned_table, transports_table
from tools.validation.documents import bulk

ROOT = Path(__file__).resolve().parents[2]
NET = ROOT / "crates" / "sojourn-net" / "src"
DOCS = ROOT / "docs" / "models"

FILES = {"fq-codel": "fq_codel", "sfq-codel": "sfq_codel", "fq-pie": "fq_pie"}
"""Files of disciplines that are not called as their kind is."""

TRANSPORTS = {"ledbat_plus_plus": "ledbat++", "bbr1": "bbr"}
"""Transports that are not called as their file is."""

NOT_CONTROLLERS = ("hystart",)
"""Files beside the controllers that no transport is named after."""

KIN = {"reno": ("newreno",)}
"""Transports without a file of their own that are not called after the file."""

INDEX = """# Models

Written by `python -m tools.models` from the heads of the algorithms' files, the schema of study files, the
tests and runs of the engine; a test keeps the text up to date. Pictures: the standard step load.

{load}

How the disciplines are held against published vectors, packet by packet: [replay.md](../replay.md) and
[ns3-scenarios.md](../ns3-scenarios.md).
"""


@dataclass(frozen=True)
class Model:
    """One algorithm: its name in study files, its file and its picture's stem."""

    name: str
    file: Path
    is_queue: bool
    transport: str | None
    """What to write as `transport` for a controller; nothing if no transport is named after it."""

    @property
    def stem(self) -> str:
        """Name of the page without its ending."""
        return ("" if self.is_queue else "tcp-") + self.file.stem.replace("_", "-")


def models() -> list[Model]:
    """Return every queue discipline of the schema, and every controller that has a file."""
    known_to_studies = study_schema()["$defs"]
    kinds = [entry["properties"]["kind"]["const"] for entry in known_to_studies["QueueSpec"]["oneOf"]]
    found = [Model(kind, NET / "queue" / f"{FILES.get(kind, kind)}.rs", True, None) for kind in kinds]
    known = {entry.get("const") for entry in known_to_studies["Transport"]["oneOf"]}
    for file in sorted((NET / "congestion").glob("*.rs")):
        name = TRANSPORTS.get(file.stem, file.stem.replace("_", "-"))
        if file.stem in NOT_CONTROLLERS:
            found.append(Model(name, file, False, None))
        elif name in known:
            found.append(Model(name, file, False, name))
    return found


def _controllers() -> set[str]:
    """Return the transports that have files of their own."""
    stems = [file.stem for file in (NET / "congestion").glob("*.rs")]
    return {TRANSPORTS.get(stem, stem.replace("_", "-")) for stem in stems}


def page(model: Model) -> str:
    """Return the page of a model."""
    header: Header = read(model.file)
    parts = [f"# {header.title}", header.summary]
    if header.how_it_works:
        parts += ["## How it works", header.how_it_works]
    if header.use_it_when:
        parts += ["## Use it when", header.use_it_when, *_snippet(model)]
    parts += ["## Parameters", "\n\n".join(_parameters(model))]
    parts += ["## Source", header.source, "## Differences from it", header.differences or "None are stated."]
    parts += ["## Validation", "\n".join(_validation(model))]
    if model.is_queue or model.transport:
        queue, transport = _picture(model)
        what = toml({"queue": queue} if model.is_queue else {"queue": queue, "transport": transport})
        what = " and ".join(f"`{line}`" for line in what.splitlines())
        parts += [
            "## Behaviour",
            f"The [standard step load](README.md) with {what}: queueing delay and drops, second by second.",
            f"![Queueing delay and drops over time]({model.stem}.svg)",
        ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _snippet(model: Model) -> Iterator[str]:
    """Say how a study file takes the model."""
    if model.is_queue:
        lines = "[path]\n" + toml({"down": {"rate": "16Mbit", "queue": _picture(model)[0]}})
    elif model.transport:
        lines = "[[flows]]\n" + toml(bulk("down", 1, model.transport))
    else:
        return
    yield f"In a study file:\n\n```toml\n{lines}```"


def _parameters(model: Model) -> Iterator[str]:
    if model.is_queue:
        yield f'`queue = {{ kind = "{model.name}", … }}`'
        yield keys_table(model.name)
        return
    if model.transport:
        yield transports_table(model.transport, KIN.get(model.file.stem, ()), _controllers())
    table = mentioned_table((model.name, model.file.stem))
    yield table or "No key of a study file is its own; those of every TCP flow are in `sojourn schema`."
    if rows := constants(model.file):
        yield "Constants:"
        yield _constants(rows)


def _constants(rows: list[Constant]) -> str:
    lines = ["| constant | value | |", "| --- | --- | --- |"]
    return "\n".join([*lines, *(f"| `{row.name}` | `{row.value}` | {row.text} |" for row in rows)])


def _validation(model: Model) -> Iterator[str]:
    where = model.file.relative_to(ROOT)
    yield f"Tests in `{where}`:\n"
    yield from (f"- {sentence}" for sentence in tests(model.file))
    if not model.is_queue:
        yield "\nIn the whole engine: [validation.md](../validation.md), `crates/sojourn-sim/tests`."
        return
    vectors = [
        (file.name, sentence)
        for file in sorted((ROOT / "tests").glob("test_vectors*.py"))
        for sentence in tests(file, VECTORS.get(model.name, ()))
    ]
    if vectors:
        yield "\nPublished vectors through `sojourn.replay`:\n"
        yield from (f"- {sentence} (`tests/{name}`)" for name, sentence in vectors)
    plain = (ROOT / "tests" / "test_plain_models.py").read_text("utf-8")
    if f"def {model.file.stem}(packets" in plain:
        yield "\nA plain model drops the same packets of random traffic (`tests/test_plain_models.py`)."
    page = (ROOT / "docs" / "ns3-scenarios.md").read_text("utf-8")
    rows = tuple(f"| {suite} |" for suite in SUITES.get(model.name, (model.name,)))
    demands = [line for line in page.splitlines() if line.startswith(rows)]
    if demands:
        held = sum("| holds |" in line for line in demands)
        where = "[ns3-scenarios.md](../ns3-scenarios.md)"
        yield f"\nns-3's own tests: {held} of {len(demands)} demands hold ({where})."


VECTORS: dict[str, tuple[str, ...]] = {
    "codel": ("cd",), "red": ("red",), "pie": ("pie",), "fq-codel": ("fq",), "fq-pie": ("fq1", "fq2"),
    "cake": ("fq2",), "cobalt": ("cob",), "dualpi2": ("dq",), "sfq-codel": ("cd4",),
}  # fmt: skip
"""Beginnings of the names of the tests that hold vectors of a discipline."""

QUEUE_OF: dict[str, dict[str, Any]] = {
    "prague": {"kind": "dualpi2"},
    "dctcp": {"kind": "codel", "variant": "linux", "ecn": True, "ce-threshold": "1ms", "limit": "200pkt"},
}
"""Queues of the pictures of controllers that are made for marks."""

SUITES = {"red": ("red", "ared")}
"""Suites of ns-3's tests that are not called as the discipline is."""


def index(found: list[Model], load: str) -> str:
    """Return the page that lists the others."""
    parts = [INDEX.format(load=load)]
    for title, is_queue in (("Queue disciplines", True), ("Congestion control", False)):
        rows = [model for model in found if model.is_queue == is_queue]
        lines = [f"## {title}\n", "| name | what it is |", "| --- | --- |"]
        lines += [f"| [{model.name}]({model.stem}.md) | {read(model.file).summary} |" for model in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def texts() -> dict[str, str]:
    """Return the text of every page by its file name."""
    from tools.models.pictures import LOAD

    found = models()
    pages = {f"{model.stem}.md": page(model) for model in found}
    return {"README.md": index(found, LOAD), **pages}


def _picture(model: Model) -> tuple[dict[str, Any], str]:
    """Return the queue and the transport of a model's picture."""
    from tools.models.pictures import LIMIT, QUEUES, TRANSPORT

    if model.is_queue:
        return QUEUES.get(model.name, {"kind": model.name, "limit": LIMIT}), TRANSPORT
    transport = model.transport or TRANSPORT
    return QUEUE_OF.get(transport, {"kind": "fifo", "limit": LIMIT}), transport


def drawings() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Return the stem, queue and transport of every picture."""
    for model in models():
        if model.is_queue or model.transport:
            yield model.stem, *_picture(model)
