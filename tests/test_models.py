"""The pages of the models: up to date, complete, and true to the engine where they state defaults."""

import json
import re

import numpy as np
import pytest
import sojourn
from sojourn import _core

from tools.models import DOCS, drawings, models, texts
from tools.models.headers import read
from tools.models.parameters import default
from tools.models.pictures import PHASE_S, measure

PAGES = texts()
KINDS = json.loads(_core.schema())["$defs"]["QueueSpec"]["oneOf"]


def test_the_pages_are_up_to_date():
    written = {file.name: file.read_text(encoding="utf-8") for file in DOCS.glob("*.md")}
    assert written == PAGES, "run python -m tools.models"


@pytest.mark.parametrize("model", models(), ids=lambda model: model.stem)
def test_every_page_has_all_its_parts(model):
    text = PAGES[f"{model.stem}.md"]
    wanted = ["## Parameters", "## Source", "## Differences from it", "## Validation"]
    wanted += ["## Behaviour"] if model.is_queue or model.transport else []
    wanted = ["## How it works", "## Use it when", *wanted] if "## How it works" in text else wanted
    assert re.findall(r"^## .*", text, re.MULTILINE) == wanted
    assert "- every packet leaves by one door" in text or not model.is_queue
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (DOCS / target).exists(), target


def test_pictures_are_small_and_there():
    for stem, _, _ in drawings():
        size = (DOCS / f"{stem}.svg").stat().st_size
        assert size <= 40_000, f"{stem}.svg has {size} bytes"


def test_every_discipline_and_controller_is_in_the_index():
    for model in models():
        assert f"({model.stem}.md)" in PAGES["README.md"]


def test_the_step_load_shows_what_it_is_for():
    queue = {"kind": "codel", "limit": "200pkt"}
    times, delay, drops = measure(queue, "cubic")
    phases = [slice(i * PHASE_S + 5, (i + 1) * PHASE_S) for i in range(4)]
    calm, loaded, flooded, again = (np.nanmean(delay[phase]) for phase in phases)
    assert calm < loaded < flooded
    assert again < loaded
    assert drops[phases[2]].mean() > drops[phases[0]].mean()
    assert len(times) == 4 * PHASE_S


def test_the_head_of_a_file_gives_its_sections(tmp_path):
    file = tmp_path / "red.rs"
    head = [
        "RED: drops.",
        "",
        "How it works: One.",
        "",
        "Two.",
        "",
        "Use it when: you must.",
        "",
        "Source: S.",
    ]
    file.write_text("".join(f"//! {line}\n" for line in [*head, "Differences: none of note"]), "utf-8")
    found = read(file)
    assert found.how_it_works == "One.\n\nTwo."
    assert found.use_it_when == "You must."
    assert (found.source, found.differences) == ("S.", "None of note.")


@pytest.mark.parametrize(
    ("description", "found"),
    [
        ("Bytes (default 3).", "`3`"),
        ("Packets (as in ns-2; default false).", "`false`"),
        ("The delay; by default 15ms, or 20ms (`x`).", "15ms, or 20ms (`x`)"),
        ("A threshold; none if absent.", "absent"),
    ],
)
def test_a_default_is_read_from_a_description(description, found):
    assert default({"description": description}) == found


def stated():
    for entry in KINDS:
        kind = entry["properties"]["kind"]["const"]
        for key, value in entry["properties"].items():
            found = re.fullmatch(r"`(.*)`", default(value)) if key != "kind" else None
            if found and key != "limit":
                yield kind, key, found[1]


@pytest.mark.parametrize(("kind", "key", "text"), [*stated()])
def test_a_stated_default_is_what_the_engine_does(kind, key, text):
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    draw = np.random.default_rng(5)
    packets = {
        "time": np.cumsum(draw.integers(0, 1_500_000, 3000)),
        "size": draw.integers(100, 1500, 3000),
        "flow": draw.integers(0, 5, 3000),
        "ecn": draw.integers(0, 4, 3000),
    }
    queue = {"kind": kind, "limit": "150pkt"}
    if kind == "red" and key != "adaptive":
        queue["adaptive"] = True
    if key == "mark-p":
        queue["ecn"] = True
    one, other = (sojourn.replay(given, packets, "8Mbit") for given in (queue, {**queue, key: value}))
    assert one.time.tolist() == other.time.tolist()
    assert one.marked.tolist() == other.marked.tolist()
    for name, values in one.trace.items():
        np.testing.assert_array_equal(values, other.trace[name])
