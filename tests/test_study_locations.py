"""What is wrong in a study is said of the line that is to be changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn import _core
from sojourn.study import Study

QUEUE = '{ kind = "fifo", limit = "9pkt" }'
DOWN, UP = (f'{{ rate = "{rate}Mbit", queue = {QUEUE} }}' for rate in (2, 1))
STUDY = f"""name = "m"
duration = "9s"
path = {{ rtt = "40ms", down = {DOWN}, up = {UP} }}
users = [{{ kind = "web" }}]
"""
HOPS = STUDY.replace("down = {", 'hop = [{ name = "home", down = {').replace("} }\nusers", "} }] }\nusers")
"""The same path, as one hop with a name."""


def refused(folder: Path, text: str, above: str | None = None) -> list[str]:
    """The lines of what is said of a study, which extends another if that is given."""
    if above is not None:
        (folder / "above.toml").write_text(above)
    (folder / "m.toml").write_text(text)
    with pytest.raises(_core.StudyError) as error:
        _ = Study.load(folder / "m.toml").points
    return str(error.value).replace(f"{folder}/", "").splitlines()


@pytest.mark.parametrize(
    ("key", "values"),
    [("path.down.queue.limti", '["8pkt", "16pkt"]'), ("path.hop.home.up.queeu", f"[{QUEUE}]")],
)
def test_an_axis_whose_name_is_wrong_is_shown_and_not_what_it_would_change(
    tmp_path: Path, key: str, values: str
) -> None:
    axis = f'"{key}" = {values}'
    study = HOPS if ".hop." in key else STUDY
    wrong = key.rpartition(".")[2]
    first, _, shown, caret = refused(tmp_path, f"{study}[sweep]\n{axis}\n")
    assert first.startswith(f"m.toml:6:2: sweep.{key}: unknown field `{wrong}`, expected ")
    assert first.endswith(f"did you mean `{wrong[:-2]}{wrong[-1]}{wrong[-2]}`?")
    assert shown == f"6 | {axis}" and caret.index("^") - 4 == 1 and caret.count("^") == len(key)
    own = refused(tmp_path, f'extends = "above.toml"\nname = "m"\n[sweep]\n{axis}\n', study)
    assert own[0].startswith(f"m.toml:4:2: sweep.{key}: ") and own[2] == f"4 | {axis}"
    above = refused(tmp_path, 'extends = "above.toml"\nname = "m"\n', f"{study}[sweep]\n{axis}\n")
    assert above[0].startswith(f"above.toml:6:2: sweep.{key}: ")


def test_a_key_that_is_wrong_where_it_is_written_stays_there(tmp_path: Path) -> None:
    text = STUDY.replace("limit", "limti", 1) + '[sweep]\n"path.down.queue.limti" = ["8pkt"]\n'
    assert refused(tmp_path, text)[0].startswith("m.toml:3:74: unknown field `limti`")


def test_a_workload_that_is_chosen_and_described_is_named_in_the_sweep(tmp_path: Path) -> None:
    flows = '[[workload.own]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "up"\n'
    first, *excerpt = refused(tmp_path, f'{STUDY}workload = "own"\n{flows}')
    assert first.startswith("m.toml:6:3: `workload` is a string already, and cannot hold `own`; ")
    assert 'names them in [sweep], as workload = ["own"]' in first
    assert excerpt[1] == "6 | [[workload.own]]"
    (tmp_path / "m.toml").write_text(f'{STUDY}{flows}[sweep]\nworkload = ["own"]\n')
    assert [point.labels for point in Study.load(tmp_path / "m.toml").points] == [{"workload": "own"}]
    other = refused(tmp_path, STUDY.replace("users", 'users = "web"\n[[users.web]]\nother'))
    assert "`users` is a string already, and cannot hold `web`" in other[0]
