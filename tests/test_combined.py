"""Studies that combine what is mostly used alone: whatever they combine, every verb ends in order.

Each is drawn from a seed: hops or one queue each way, access links, any queue, source, transport and user,
what is recorded, goals, axes. A verb may refuse with its sentence (2) or find something (1), and never fails.
"""

from __future__ import annotations

import json
import random

import pytest
from conftest import Command

QUEUES = [
    '{ kind = "fifo", limit = "1BDP" }', '{ kind = "fifo", limit = "1pkt" }', '{ kind = "codel" }',
    '{ kind = "fq-codel" }', '{ kind = "cake" }', '{ kind = "pie" }', '{ kind = "fq-pie" }',
    '{ kind = "sfq" }', '{ kind = "dualpi2" }', '{ kind = "red", limit = "100pkt" }',
    '{ kind = "cobalt", limit = "300pkt" }', '{ kind = "netem", limit = "60pkt", delay = "5ms" }',
]  # fmt: skip
SOURCES = [
    '{ kind = "bulk" }', '{ kind = "bulk", size = "200kB" }', '{ kind = "sessions", preset = "imc14" }',
    '{ kind = "packmime", preset = "packmime-002", rate = 5 }',
    '{ kind = "heartbeat", size = "1kB", every = "500ms" }',
]  # fmt: skip
PACED = [
    '{ kind = "cbr", rate = "200kbit", size = "200B" }',
    '{ kind = "poisson", rate = "300kbit", size = "500B" }',
]
TRANSPORTS = ["reno", "cubic", "bbr", "ledbat++", "utp", "dctcp", "prague", "compound"]
USERS = [
    'kind = "voice"\ncodec = "g711a"\nscore = "emodel"', 'kind = "web"', 'kind = "gaming"', 'kind = "page"',
    'kind = "adaptive"\nalgorithm = "dash.js"', 'kind = "browser"', 'kind = "call"\ndirection = "down"',
    'kind = "responsiveness"', 'kind = "cloud-gaming"', 'kind = "household"',
]  # fmt: skip


def study(draw: random.Random) -> str:
    """Return a study."""
    hops = ["a", "b"] if draw.random() < 0.4 else []
    rates = {"down": draw.choice(["2", "10", "30"]), "up": draw.choice(["1", "5"])}
    ways = [
        f'{way} = {{ rate = "{rate}Mbit", queue = {draw.choice(QUEUES)} }}' for way, rate in rates.items()
    ]
    links = [f"{hop}.{way}" for hop in hops for way in rates] or list(rates)
    rows = [
        'name = "combined"',
        f'duration = "{draw.choice(["3s", "6s"])}"',
        'warmup = "1s"',
        "[path]",
        'rtt = "40ms"',
    ]
    rows += [f'[[path.hop]]\nname = "{hop}"\n' + "\n".join(ways) for hop in hops] or ways
    for number in range(draw.choice([0, 1, 2, 3])):
        paced = draw.random() < 0.3
        rows += ["[[flows]]", f"source = {draw.choice(PACED if paced else SOURCES)}"]
        rows += [f'transport = "{"udp" if paced else draw.choice(TRANSPORTS)}"']
        rows += [f'direction = "{draw.choice(["up", "down"])}"', f"count = {draw.choice([1, 3])}"]
        rows += [f'name = "g{number}"'] if draw.random() < 0.5 else []
        rows += ['access = { rate = "20Mbit", queue = { kind = "fifo", limit = "50pkt" } }'] * (
            draw.random() < 0.4
        )
        rows += [f'over = ["{draw.choice(hops)}"]'] if hops and draw.random() < 0.3 else []
    rows += [f"[[users]]\n{draw.choice(USERS)}" for _ in range(draw.choice([1, 2]))]
    rows += [
        "[record]",
        f"series = {json.dumps(draw.random() < 0.5)}",
        f"flows = {json.dumps(draw.random() < 0.5)}",
    ]
    rows += [f'losses = ["{draw.choice(links)}"]'] if draw.random() < 0.5 else []
    rows += [f'traffic = {{ links = ["{draw.choice(links)}"] }}'] if draw.random() < 0.5 else []
    if draw.random() < 0.4:
        rows += ["[[goals]]", f'value = "links.{draw.choice(links)}.queue_delay_ms.p95"', "at-most = 20"]
    key = f"path.hop.{hops[0]}" if hops else "path"
    if draw.random() < 0.6:
        rows += ["[sweep]", f'"{key}.down.queue" = [{", ".join(draw.sample(QUEUES, 2))}]']
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("seed", [0, 14, 22])
def test_every_verb_ends_in_order(seed: int, sojourn: Command) -> None:
    text = study(random.Random(seed))
    (sojourn.cwd / "s.toml").write_text(text)
    verbs = [
        ("run", "s.toml", "--out", "o", "--jobs", "1"), ("report", "o"), ("show", "o"), ("compare", "o", "o"),
        ("explore", "o", "-o", "o.html"), ("export", "s.toml", "o.pcapng"), ("measure", "o.pcapng"),
        ("workload", "o.pcapng", "-o", "w.parquet"),
    ]  # fmt: skip
    ended = sojourn.script(f"""
import contextlib, io, json
from sojourn.cli import call
from sojourn.report.figures import style
style._METADATA.clear()  # Figures of one format: others draw the same parts.
if __name__ == "__main__":
    ended = []
    for words in json.loads({json.dumps(verbs)!r}):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                code = call(words)
            except SystemExit as end:
                code = end.code
        ended.append([words[0], code, said.getvalue()])
    print(json.dumps(ended))
""")
    for verb, code, said in json.loads(ended):
        allowed = {"run": (0,), "export": (0, 2), "measure": (0, 1, 2), "workload": (0, 1, 2)}.get(verb, (0,))
        assert code in allowed and "Traceback" not in said and "failed" not in said, f"{verb}: {said}\n{text}"
