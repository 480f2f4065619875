"""Numbers that results have: every one is known before a run, and shipped studies name no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command
from sojourn.results.path import paths
from sojourn.study import Study, expand, library, quantities

USERS = """
[[users]]
kind = "voice"
codec = "g711a"
score = "emodel"
[[users]]
kind = "web"
[[users]]
kind = "browser"
[[users]]
kind = "adaptive"
algorithm = "bba2"
"""


@pytest.mark.parametrize("name", library.names())
def test_shipped_studies_name_numbers_that_their_results_have(name: str) -> None:
    document = {**Study.load(name).document, "repeat": 1}
    assert document.get("figures") or name == "quickstart"  # which has those that nobody asks for
    assert quantities.unknown(document, [point["document"] for point in expand(document, name)]) == []


def test_every_number_of_a_result_is_known(sojourn: Command) -> None:
    from test_report_answer import REAL

    (sojourn.cwd / "all.toml").write_text(
        REAL.replace('[[users]]\nkind = "web"\n', USERS).replace('"12s"', '"90s"')
    )
    [result, *_] = sojourn.json("run", "all.toml", "--jobs", "1", "--only", "path.down.queue.limit=20BDP")
    known, kinds = quantities.quantities([Study.load(sojourn.cwd / "all.toml").points[0].document])
    assert kinds == ["voice", "web", "browser", "adaptive"]
    skipped = (
        "point",
        "engine",
        "replication",
        "groups",
        "fairness",
        "losses",
        "adaptive.clients",
        "links.up.drops",
        "links.down.drops",
    )
    found = [path for path in paths(result) if not path.startswith(skipped)]
    assert {path.split(".")[0] for path in found} >= {"links", "flows", "voice", "web", "browser", "adaptive"}
    assert [path for path in found if path not in known and not path.endswith(".bounded")] == []


def test_a_file_goes_before_a_shipped_study_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert library.locate("quickstart") == library.SHIPPED / "quickstart.toml"
    (tmp_path / "quickstart").touch()
    for own in ("quickstart", "./quickstart.toml", "nothing", "suites/rfc7928/0.0"):
        assert library.locate(own) == Path(own)
    assert library.locate("suites/rfc7928/5.1.1") == library.SHIPPED / "suites/rfc7928/5.1.1.toml"
