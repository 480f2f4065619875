"""Errors in lists of a study name the entry as keys do, from 0, and say its place as people count, from 1."""

from __future__ import annotations

import pytest
from conftest import Command
from sojourn.study import entries

STUDY = """name = "m"
duration = "9s"
path = { rtt = "40ms", queue = { kind = "codel" }, down = { rate = "2Mbit" }, up = { rate = "1Mbit" } }
"""
WEB = '[[users]]\nkind = "web"\n'
FLOWS = '[[flows]]\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[[goals]]\nvalue = "links.up.loss"\nat-most = 0.1\nname = ""',
            ": goals.0.name (entry 1 of goals): is ",
        ),
        (WEB + WEB + "count = 0", ": users.1.count (entry 2 of users): must be"),
        (
            WEB + WEB + 'objects = ["5kB", "0B"]',
            ": users.1.objects.1 (entry 2 of users, entry 2 of its objects): an object",
        ),
        (
            FLOWS.replace("flows", "workload.a") + 'mss = "9B"\n[sweep]\nworkload = ["a"]',
            ": workload.a.0.mss (entry 1 of workload.a): 9B",
        ),
        ('[sweep]\n"path.down.loss" = [0.1, 0.1]', ": sweep.path.down.loss.1 (value 2 of the axis): 0.1 is"),
        (
            FLOWS + '[sweep]\n"flows.0.mss" = ["500B", "9B"]',
            ": sweep.flows.0.mss.1 (value 2 of the axis): flows.0.mss (entry 1 of flows): 9B is",
        ),
        (
            FLOWS + '[sweep]\n"flows.3.mss" = ["500B"]',
            ".0 (value 1 of the axis): flows has only the entry 0, not 3",
        ),
        ('[record]\nlosses = ["x"]', ': record.losses.0 (entry 1 of record.losses): "x" is not a link'),
    ],
)
def test_the_place_of_an_entry_is_said_as_people_count(sojourn: Command, text: str, says: str) -> None:
    (sojourn.cwd / "m.toml").write_text(f"{STUDY}{text}\n")
    said = sojourn("run", "m.toml", code=2).stderr
    assert says in said.splitlines()[0] and "(entry" not in "".join(said.splitlines()[1:])


def test_an_option_s_key_is_said_so_too(sojourn: Command) -> None:
    (sojourn.cwd / "m.toml").write_text(f"{STUDY}{FLOWS}")
    said = sojourn("run", "m.toml", "--set", "flows.0.mss=9B", code=2).stderr
    assert "--set flows.0.mss=9B: flows.0.mss (entry 1 of flows): 9B is" in said


@pytest.mark.parametrize(
    "message",
    [
        "users.1.toml: goals is empty",
        "a.1.toml:3:1: missing field `codec`",
        "x.toml: 1.5 is not a count: write 1",
        "x.toml: path.rtt: is too long",
    ],
)
def test_what_is_no_entry_is_left_alone(message: str) -> None:
    assert entries.counted_from_one(message) == message
