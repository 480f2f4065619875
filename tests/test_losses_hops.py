"""Losses on a path of two hops, from captures taken where the hops meet: of each hop, and of the path."""

from __future__ import annotations

from pathlib import Path

import pytest
from sojourn.capture.export import export
from sojourn.losses.captures import MisfitError, compare
from sojourn.study import Study
from sojourn.sweep.simulation import simulate

# Both hops drop: the one at home what comes in bursts, the other what all send together.
PATH = """
name = "two"
duration = "4s"
[path]
client-delay = "1ms"
server-delay = "1ms"
[[path.hop]]
name = "home"
delay = "5ms"
up   = { rate = "10Mbit", queue = { kind = "fifo", limit = "10pkt" } }
down = { rate = "50Mbit", queue = { kind = "fifo", limit = "100pkt" } }
[[path.hop]]
name = "core"
up   = { rate = "8Mbit", queue = { kind = "fifo", limit = "12pkt" } }
down = { rate = "100Mbit", queue = { kind = "fifo", limit = "83pkt" } }
[[flows]]
name = "all"
source = { kind = "bulk" }
transport = "cubic"
direction = "up"
count = 3
[[flows]]
name = "home"
source = { kind = "bulk" }
transport = "cubic"
direction = "up"
over = ["home"]
"""


def lost(tmp_path: Path, before: str, behind: str) -> dict:
    with (tmp_path / "log.parquet").open("wb") as log:
        return compare(tmp_path / f"{before}.pcapng", tmp_path / f"{behind}.pcapng", log)


def test_each_hop_and_the_path_lose_what_they_dropped(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(PATH)
    [point] = Study.load(tmp_path / "two.toml").points
    ran, _, _ = simulate(point)
    for at in ("clients", "home", "core"):
        export(point, tmp_path / f"{at}.pcapng", at)
    links, groups = ran["links"], ran["groups"]
    home, core = links["home.up"], links["core.up"]
    assert home["dropped_pkts"] > 20 and core["dropped_pkts"] > 10, "both hops drop"

    first, second = lost(tmp_path, "clients", "home"), lost(tmp_path, "home", "core")
    assert first["loss"] == pytest.approx(home["loss"], rel=0.1)
    assert second["loss"] == pytest.approx(core["loss"], rel=0.1)
    # Who leaves the path between the hops is none of its losses.
    path, of_all = lost(tmp_path, "clients", "core"), groups["all"]
    assert path["loss"] == pytest.approx(of_all["dropped_pkts"] / of_all["sent_pkts"], rel=0.1)
    assert len(path["flows"]) == 3 and len(first["flows"]) == 4
    for before, behind in (("home", "clients"), ("core", "home"), ("core", "clients")):
        with pytest.raises(MisfitError, match="swap"):
            lost(tmp_path, before, behind)
