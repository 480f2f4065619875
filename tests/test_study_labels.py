"""What `--only` chooses: a label as the study writes it, or another spelling of it that can mean no other."""

from __future__ import annotations

import json

import pytest
from conftest import Command
from sojourn.errors import SojournError
from sojourn.study.labels import chosen

STUDY = """
name = "m"
duration = "9s"
[path]
rtt = "40ms"
down = { rate = "2Mbit" }
up = { rate = "1Mbit" }
[sweep]
"path.queue.kind" = ["fq_codel", "codel"]
"path.queue.limit" = ["16 pkt", "1BDP", "100ms"]
"""


@pytest.mark.parametrize(
    ("written", "points"),
    [
        ("path.queue.kind=fq_codel", 3),
        ("path.queue.kind=FQ-CoDel", 3),
        ("path.queue.limit=16pkt", 2),
        ("path.queue.limit=1bdp", 2),
        ("path.queue.limit=0.1s", 2),
    ],
)
def test_another_spelling_is_the_same_label(sojourn: Command, written: str, points: int) -> None:
    (sojourn.cwd / "m.toml").write_text(STUDY)
    done = sojourn("run", "m.toml", "--dry-run", "--json", "--only", written)
    listed = [json.loads(line)["point"] for line in done.stdout.splitlines()]
    assert len(listed) == points
    # Results keep the spelling of the study.
    assert {label for point in listed for label in point.values()} <= {
        "fq_codel", "codel", "16 pkt", "1BDP", "100ms"
    }  # fmt: skip


def test_what_could_be_two_or_none_is_refused() -> None:
    assert chosen("a", "1BDP", ["1BDP", "1bdp"], "m.toml") == "1BDP"
    with pytest.raises(SojournError, match=r"a=1Bdp: m.toml has it in several spellings; .* of 1BDP, 1bdp$"):
        chosen("a", "1Bdp", ["1BDP", "1bdp"], "m.toml")
    # Numbers without a unit are counts: 64 is not 64B, and "1" is not "01".
    for value, label in (("64B", "64"), ("01", "1"), ("fifo", "pfifo"), ("2BDP", "1BDP")):
        with pytest.raises(
            SojournError, match=f"^--only a={value}: no point of m.toml has it; expected {label}$"
        ):
            chosen("a", value, [label], "m.toml")


def test_several_labels_in_one_word_are_told_how_they_are_given() -> None:
    with pytest.raises(SojournError) as error:
        chosen("a", "16p, 1BDP", ["16 pkt", "1BDP"], "m.toml")
    assert str(error.value) == (
        "--only a=16p, 1BDP: no point of m.toml has it; expected 16 pkt, 1BDP; --only is given once for each "
        "label: --only a=16p --only a=1BDP"
    )
    with pytest.raises(SojournError, match=r"; --only is given once for each label: --only a=x --only a=2$"):
        chosen("a", "x,2", ["x", "y"], "m.toml")
    with pytest.raises(SojournError, match=r"expected x, y$"):
        chosen("a", "u,v", ["x", "y"], "m.toml")
    assert chosen("a", "u,v", ["u,v", "u"], "m.toml") == "u,v"
