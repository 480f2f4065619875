"""All that a run gives, to the last byte, for studies that were drawn.

Scenes of `test_fingerprints_troubled` change one thing at a time. These were drawn from the same parts,
all at once, and kept for telling engines apart that the others did not: one operator, number or condition
was another. Written anew, after a change of results that is meant:

    python tests/test_fingerprints_drawn.py
"""

from __future__ import annotations

import json

import pytest
from test_fingerprints_troubled import of_troubled
from test_fingerprints_whole import DATA

FILE = DATA / "fingerprints_drawn.json"
KEPT = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(KEPT)))
def test_everything_is_the_same_bytes_in_what_was_drawn(number: int) -> None:
    study, known = KEPT[number]
    assert of_troubled(study) == known, f"what comes of this has changed:\n{study}"


if __name__ == "__main__":
    FILE.write_text(json.dumps([[study, of_troubled(study)] for study, _ in KEPT], indent=1) + "\n")
