"""A key that a study lacks is named with what may stand there: the choices, or what it is and an example."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Command
from sojourn.study.missing import _expected, _required, _schema

QUEUE = '{ kind = "fifo", limit = "9pkt" }'
PATH = f'path = {{ rtt = "40ms", queue = {QUEUE}, down = {{ rate = "2Mbit" }}, up = {{ rate = "1Mbit" }} }}'
KINDS = "one of `fifo`, `netem`, `codel`, `fq-codel`, `cobalt`, `cake`"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('users = [{ kind = "voice" }]', "`codec`, expected one of `g711a`, `g729a`, `g722`, `opus`"),
        ('users = [{ codec = "opus" }]', "`kind`, expected one of `video`, `voice`, `web`"),
        (
            'flows = [{ transport = "cubic", source = { kind = "bulk" } }]',
            "`direction`, expected `up` or `down`",
        ),
        (
            'flows = [{ transport = "cubic", direction = "up" }]',
            '`source`, expected a table such as { kind = "bulk" }, where kind is one of `bulk`, `sessions`',
        ),
        (
            'flows = [{ transport = "udp", direction = "up", source = { kind = "cbr", size = "1kB" } }]',
            '`rate`: rate of IP packets, as in rate = "16Mbit"',
        ),
        (
            'workload.few = [{ direction = "up", source = { kind = "bulk" } }]',
            "`transport`, expected one of `reno`",
        ),
        (
            'sweep."path.queue" = [{ kind = "fifo" }]',
            '`limit`: how much it holds, all flows together, as in limit = "',
        ),
        ('sweep."path.queue" = [{ limit = "9pkt" }]', f"`kind`, expected {KINDS}"),
        ('figures = [{ value = "links.up.loss" }]', "`kind`, expected one of `heatmap`, `box`"),
        (
            '[[tie]]\nwith = "path.queue"',
            '`set`: for each key, as many values as the axis has, as in set = { "path.',
        ),
    ],
)
def test_it_is_said_what_may_stand_there(sojourn: Command, text: str, says: str) -> None:
    (sojourn.cwd / "m.toml").write_text(f'name = "m"\nduration = "9s"\n{PATH}\n{text}\n')
    error = sojourn("run", "m.toml", code=2).stderr
    assert f"missing field {says}" in error.splitlines()[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PATH, '`name`: names the study and, by default, its directory of results, as in name = "mine"'),
        (f'name = "m"\n{PATH}', '`duration`: simulated time, warm-up included, as in duration = "60s"'),
        (
            'name = "m"\nduration = "9s"',
            '`path`: the bottleneck and what surrounds it, as in path = { rtt = "40ms", ',
        ),
        (
            f'name = "m"\nduration = "9s"\n{PATH.replace("kind", "name")}',
            f"`kind`, expected {KINDS}",
        ),
    ],
)
def test_of_the_study_itself_too(sojourn: Command, text: str, says: str) -> None:
    (sojourn.cwd / "m.toml").write_text(text)
    assert f"missing field {says}" in sojourn("run", "m.toml", code=2).stderr


def test_an_option_s_value_is_no_less(sojourn: Command) -> None:
    (sojourn.cwd / "m.toml").write_text(f'name = "m"\nduration = "9s"\n{PATH}\n')
    error = sojourn("run", "m.toml", "--set", 'users=[{kind="voice"}]', code=2).stderr
    assert "missing field `codec`, expected one of `g711a`" in error


def test_every_key_that_the_schema_asks_for_is_explained() -> None:
    def keys(schema: Any) -> set[str]:
        inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        here = set(schema.get("required", ())) if isinstance(schema, dict) else set()
        return here.union(*map(keys, inner))

    asked = keys(_schema())
    assert {"codec", "limit", "duration", "with"} <= asked
    for key in asked:
        assert all(_expected(key, rule) for rule in _required(_schema(), key)), key
