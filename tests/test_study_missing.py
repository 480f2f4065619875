"""A key that a study lacks is named with what may stand there: the choices, or what it is and an example."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from conftest import Command
from sojourn.study import Study
from sojourn.study.missing import _expected, _required
from sojourn.study.schema import study_schema

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


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ('users=[{kind="voice"}]', "missing field `codec`, expected one of `g711a`"),
        ('flows.0.source={kind="cbr"}', 'missing field `rate`: rate of IP packets, as in rate = "16Mbit"'),
        (
            'flows.0.source={kind="cbr",rate="1Mbit"}',
            'missing field `size`: size of the IP packet, as in size = "200B"',
        ),
        ('flows.0={source={kind="poisson"}}', "missing field `rate`: "),
        ('path={rtt="9ms",queue={limit="9pkt"}}', f"missing field `kind`, expected {KINDS}"),
        (
            'sweep.path.queue=[{kind="fifo"}]',
            "missing field `limit`: how much it holds, all flows together, as in",
        ),
    ],
)
def test_an_option_s_value_is_no_less(sojourn: Command, given: str, says: str) -> None:
    flows = 'flows = [{ source = { kind = "bulk" }, transport = "cubic", direction = "down" }]'
    (sojourn.cwd / "m.toml").write_text(f'name = "m"\nduration = "9s"\n{PATH}\n{flows}\n')
    error = sojourn("run", "m.toml", "--set", given, code=2).stderr
    assert f"--set {given}: " in error and says in error


@pytest.mark.parametrize(
    "sets",
    [
        ('flows=[{source={kind="cbr",rate="1Mbit",size="200B"},direction="down"}]', "flows.0.transport=udp"),
        ('path.queue={kind="codel"}', "path.queue.limit=7pkt", "path.queue.target=9ms"),
    ],
)
def test_in_which_order_keys_are_replaced_is_one(sojourn: Command, sets: tuple[str, ...]) -> None:
    flows = 'flows = [{ source = { kind = "bulk" }, transport = "cubic", direction = "down" }]'
    (sojourn.cwd / "m.toml").write_text(f'name = "m"\nduration = "9s"\n{PATH}\n{flows}\n')
    pairs = [(key, value) for key, _, value in (word.partition("=") for word in sets)]
    documents = [Study.load(sojourn.cwd / "m.toml", order).document for order in permutations(pairs)]
    assert all(document == documents[0] for document in documents)
    assert "7pkt" in str(documents[0]) or "udp" in str(documents[0])


def test_every_key_that_the_schema_asks_for_is_explained() -> None:
    def keys(schema: Any) -> set[str]:
        inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        here = set(schema.get("required", ())) if isinstance(schema, dict) else set()
        return here.union(*map(keys, inner))

    asked = keys(study_schema())
    assert {"codec", "limit", "duration", "with"} <= asked
    for key in asked:
        assert all(_expected(key, rule) for rule in _required(study_schema(), key)), key
