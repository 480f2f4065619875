"""What the engine gives for every shipped study: the same bytes on every machine, before and after a change.

One that moves is a changed result: CHANGELOG says which studies and why. Then they are written anew:

    python -m tests.test_fingerprints
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from sojourn import _core
from sojourn.study import Study, expand, library

FILE = Path(__file__).parent / "data" / "fingerprints.json"
SHORT = {"duration": "6s", "warmup": "1s", "repeat": "1"}


def fingerprint(name: str) -> str:
    """Return the digest of the summaries of a study, shortened: its first and last point, no video users."""
    sets = SHORT if "warmup" in Study.load(name).document else {**SHORT, "duration": "30s", "warmup": "0s"}
    study = Study.load(name, sets.items())
    users = [user for user in study.document.get("users", []) if user["kind"] != "video"]
    sweep = {axis: labels for axis, labels in study.document["sweep"].items() if "users" not in axis or users}
    points = expand({**study.document, "users": users, "sweep": sweep, "figures": []}, name)
    digest = hashlib.sha256()
    for point in (points[0], points[-1]):
        summary = json.loads(_core.run(json.dumps(point))["summary"])
        del summary["engine"]
        for link in summary["links"].values():
            link.pop("limit", None)  # what the study says in another unit: younger than the digests
        digest.update(json.dumps(summary, sort_keys=True).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("name", library.names())
def test_results_are_the_same_bytes(name: str) -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(known) == set(library.names())
    assert fingerprint(name) == known[name], f"the results of {name} have changed"


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: fingerprint(name) for name in library.names()}, indent=1) + "\n")
