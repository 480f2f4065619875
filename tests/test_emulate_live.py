"""The emulator's live view, metrics, words and page, from looks and results that are given."""

from __future__ import annotations

import copy
import io
import os
import time
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from sojourn.cli.emulate import _changing, _end
from sojourn.sweep.emulation.check import sentence
from sojourn.sweep.emulation.live import View, _short, metrics, sparkline
from sojourn.sweep.emulation.page import drawn, write_page
from sojourn.sweep.emulation.words import said

LINK = {
    "rate_bps": 8e6,
    "set_bps": 16_000_000,
    "backlog_pkts": 7,
    "sojourn_ms": 12.25,
    "longest_ms": 31.0,
    "drops": {"full": 3},
    "arrived_pkts": 100,
    "departed_pkts": 90,
    "departed_bytes": 135_000,
    "marked_pkts": 2,
    "drops_by_cause": {"full": 3, "path": 1},
    "sojourn_sum_s": 1.1025,
    "sojourn_quantiles_s": [0.01, 0.02, 0.031],
}
LATE = {"p50": 10.0, "p99": 120.0, "p999": 300.0, "max": 1500.0, "packets": 90}
IDLE = {**LINK, "rate_bps": 0.0, "sojourn_ms": None, "drops": {}, "drops_by_cause": {}, "backlog_pkts": 0}
LOOK = {"time_s": 3.2, "links": {"down": LINK, "up": IDLE}, "lateness_us": {"down": LATE, "up": None}}


class Drawn(Console):
    """A terminal that counts how often it is drawn, each of which takes so long."""

    def __init__(self, width: int, takes_s: float = 0.0) -> None:
        super().__init__(file=io.StringIO(), width=width)
        self.times, self.takes_s = 0, takes_s

    def print(self, *objects: Any, **how: Any) -> None:
        """Draw."""
        self.times += 1
        time.sleep(self.takes_s)
        super().print(*objects, **how)


def test_a_look_is_a_row_for_each_queue():
    console = Console(width=120, record=True, file=io.StringIO())
    view = View(console)
    console.print(view.table(LOOK))
    console.print(view.table(LOOK))
    text = console.export_text()
    down = next(line for line in text.splitlines() if line.startswith("down"))
    assert down.split() == ["down", "8M", "▅", "7", "█", "12.2", "31.0", "3", "queue", "full"]
    assert "▅▅" in text, "looks before are kept"
    up = next(line for line in text.splitlines() if line.startswith("up"))
    assert up.split() == ["up", "0", "▁", "0", "▁", "–", "–", "none"]
    assert sparkline([]) == "" and sparkline([0.0, 5.0, 10.0]) == "▁▅█"


def test_a_slow_rate_of_a_look_is_not_a_hundredth_of_a_fast_unit():
    rates = [_short(bps) for bps in (0.0, 9_600.0, 15_999.6e3, 999_900.0, 1e9)]
    assert rates == ["0", "9.6k", "16M", "1M", "1G"]


@pytest.mark.parametrize(("width", "past"), [(40, 0), (60, 0), (80, 13), (200, 32)])
def test_no_number_of_a_look_is_cut_however_narrow_the_terminal_and_long_the_run(
    width: int, past: int
) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    view = View(console)
    for _ in range(40):
        table = view.table(LOOK)
    console.print(table)
    text = console.export_text()
    assert "…" not in text and max(map(len, text.splitlines())) <= width
    down = next(line for line in text.splitlines() if line.startswith("down")).split()
    numbers = ["down", "8M", "7", "12.2", "31.0", "3", "queue", "full"][: 7 if width == 40 else None]
    assert down == (numbers if not past else [*numbers[:2], "▅" * past, "7", "█" * past, *numbers[3:]])
    # A name and numbers that are longer are not cut either.
    link = {**LINK, "rate_bps": 9.9e9, "sojourn_ms": 12345.6, "longest_ms": 99999.9}
    console.print(view.table({**LOOK, "links": {"home.down": link}}))
    row = next(line for line in console.export_text().splitlines() if line.startswith("home.down"))
    assert width < 60 or {"9.9G", "12345.6", "99999.9"} <= set(row.split())


def test_what_a_command_writes_is_shown_as_it_is_and_does_not_wait_for_each_line():
    wide = "x" * 200
    for written, shown in (
        (b"a\xffb\n[bold]c[/bold]\r\nd\re", "a\ufffdb\n[bold]c[/bold]\nd\ne\n"),
        ("é".encode() * 100_000 + b"\n", "é" * 100_000 + "\n"),
        (f"{wide}\n".encode(), f"{wide}\n"),
        (b"y\n" * 100_000, "y\n" * 100_000),
        (bytes(3_000_000).replace(b"\0", b"z"), "z" * 3_000_000),
    ):
        console = Drawn(width=80)
        with View(console) as view:
            pipe = view.pipe()
            with os.fdopen(os.dup(pipe), "wb") as command:
                command.write(written)
        seen = console.file.getvalue()
        if len(written) > 1 << 16 and written.count(b"\n") < 2:
            # A line without an end is given some.
            assert 1 < seen.count("\n") < 50
            seen, shown = seen.replace("\n", ""), shown.replace("\n", "")
        assert seen == shown, seen[:99]
        assert console.times < 200, "a drawing of each line would be 100 000"


def test_what_a_command_wrote_last_is_waited_for_as_long_as_it_is_being_shown():
    console = Drawn(width=80, takes_s=1.2)
    with View(console) as view:
        pipe = view.pipe()
        with os.fdopen(os.dup(pipe), "wb") as command:
            for line in range(6):
                command.write(b"%d\n" % line * 8_000)
    assert sorted(set(console.file.getvalue().split())) == ["0", "1", "2", "3", "4", "5"]
    assert console.times > 1


def test_who_holds_the_pipe_and_writes_nothing_is_not_waited_for():
    console = Drawn(width=80)
    with View(console) as view:
        held = os.dup(view.pipe())
        os.write(held, b"all\nthat ")
        os.write(held, b"was said\n")
    assert console.file.getvalue() == "all\nthat was said\n"
    os.close(held)


def test_metrics_are_in_seconds_and_sum_over_count_is_the_mean():
    lines = dict(line.rsplit(" ", 1) for line in metrics(LOOK).splitlines() if not line.startswith("#"))
    name = "sojourn_emulate_sojourn_seconds"
    mean = float(lines[f'{name}_sum{{link="down"}}']) / float(lines[f'{name}_count{{link="down"}}'])
    assert abs(mean - 0.01225) < 1e-12
    assert lines[f'{name}{{link="down",quantile="0.99"}}'] == "0.031"
    assert lines['sojourn_emulate_dropped_packets_total{link="down",cause="path"}'] == "1"
    assert lines['sojourn_emulate_dropped_packets_total{link="up",cause="full"}'] == "0"
    assert lines['sojourn_emulate_lateness_seconds{way="down",quantile="0.99"}'] == "0.00012"
    assert not any('way="up"' in line for line in lines)


DELAY = {"mean": 12.0, "p50": 11.0, "p95": 20.0, "p99": 25.0, "max": 31.0}
SERIES = {"bin_s": 1.0, "utilisation": [0.5, 1.0], "queue_delay_ms": [None, 12.0], "dropped_pkts": [0, 3]}
SUMMARY = {
    "rate_bps": 16_000_000, "arrived_pkts": 100, "departed_pkts": 90, "dropped_pkts": 3, "utilisation": 0.75,
    "queue_delay_ms": DELAY, "drops_by_cause": {"full": 3}, "marked_pkts": 2, "series": SERIES,
}  # fmt: skip
NONE = {"bin_s": 1.0, "utilisation": [], "queue_delay_ms": [], "dropped_pkts": []}
COUNTS = {"arrived_pkts": 0, "departed_pkts": 0, "dropped_pkts": 0, "drops_by_cause": {"full": 0}}
SILENT = {**SUMMARY, **COUNTS, "series": NONE}
AGREED = {"decisions": 93, "equal": 93, "drops": 3, "equal_drops": 3, "marks": 2, "equal_marks": 2}
NUMBERS = {"set": 0.0, "got": 120.0, "unit": "us", "limit": 1000.0}
ROW = {"what": "lateness, p99", "link": "down", **NUMBERS, "held": True}
ENDED = {
    "exit": 0, "signal": None, "refused": None, "server_exit": 0, "server_silent": False, "wall_s": 2.0,
    "timed_out": False,
}  # fmt: skip
CAME = {
    "links": {"down": SUMMARY, "up": SILENT},
    "lateness_us": {"down": LATE, "up": None},
    "command": ENDED,
    "verdict": {"held": True, "reasons": [], "rows": [ROW]},
    "engine": {
        "replay": {"down": AGREED, "up": {key: 0 for key in AGREED}},
        "without": [], "processors": {"busy_pct": 50.0, "steal_pct": 0.0}, "late_wakes": 0,
        "latest_wake_us": 0.0,
        "clamped_pkts": 0, "clamped_us": 0.0, "stamps": "kernel", "offload": "nic", "access_rate_bps": 1e9,
        "congestion": "reno", "mtu": 1500, "rights": "root", "scheduling": "fifo", "thread_pct": 3.0,
        "flows": 2, "emulated_s": 1.4,
        "read_lateness_us": {"down": LATE, "up": None},
    },
}  # fmt: skip


def changed(**engine: object) -> dict:
    came = copy.deepcopy(CAME)
    came["engine"].update(engine)
    return came


def test_words_say_what_was_and_nothing_of_what_was_not():
    down, up, late, verdict = said(CAME)
    assert down == (
        "down: 75.0 % of 16 Mbit/s used, waited 12.0 ms on average, 20.0 at p95, "
        "3 of 100 packets dropped (3 queue full), 2 marked"
    )
    assert up == "up: no packet"
    assert late == "late: down p50 10, p99 120, p99.9 300, most 1500 µs; up no packet left"
    assert verdict.startswith("held: ") and "all 93 packets" in verdict
    late = changed()
    late["lateness_us"]["down"] = {**LATE, "max": 1_785_720.0}
    assert said(late)[2].startswith("late: down p50 10, p99 120, p99.9 300, most 1785720 µs;")
    none = changed(replay={"up": {key: 0 for key in AGREED}})
    assert said(none)[-1] == "nothing can be said of the path: no packet crossed it"
    bad = changed()
    bad["verdict"] = {"held": False, "reasons": ["a", "b"], "rows": []}
    assert said(bad)[-1] == "not held: a; b"
    note = "note: the processors were 99 % busy, the emulated programs among their work"
    for busy, held, words in ((98.6, False, [note]), (89.0, False, []), (98.6, True, [])):
        full = changed(processors={"busy_pct": busy, "steal_pct": 0.0})
        full["verdict"]["held"] = held
        assert said(full)[3:-1] == words
    troubled = changed(processors={"busy_pct": 99.0, "steal_pct": 3.5}, late_wakes=2, latest_wake_us=7400.0)
    assert [line.split(":")[0] for line in said(troubled)[3:5]] == ["note", "note"]
    assert "2 times, at most 7.4 ms" in said(troubled)[4]
    assert "more than 5 ms once, at most 7.4 ms" in said(changed(late_wakes=1, latest_wake_us=7400.0))[3]


def test_of_a_rate_that_changes_the_mean_is_said_to_be_one(tmp_path):
    came = changed()
    came["links"]["down"]["rate_bps"] = 2_132_434
    assert said(came)[0].startswith("down: 75.0 % of 2.13243 Mbit/s used,")
    assert said(came, ["up"])[0].startswith("down: 75.0 % of 2.13243 Mbit/s used,")
    assert said(came, ["down"])[0].startswith("down: 75.0 % of 2.132 Mbit/s in the mean used,")
    for changing, says, axis in (
        ([], "2.13243\xa0Mbit/s", "Utilisation (%)"),
        (["down"], "2.132\xa0Mbit/s in the mean", "Utilisation (% of the mean rate)"),
    ):
        write_page(came, "x", tmp_path / "page.html", changing)
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert f">{says}</td>" in text and axis in text
        assert ("and the rate changes: down." in text) == bool(changing)
    path = {"down": {"rate": {"steps": [["0s", "1Mbit"]]}}, "up": {"rate": "1Mbit"}}
    assert _changing({"path": path}) == ["down"]


def test_strict_fails_where_something_was_not_held_but_not_for_the_command(capsys):
    def ends(came: dict, *, code: int = 0, strict: bool = False) -> int:
        came = {**copy.deepcopy(came), "command": {**ENDED, "exit": code}}
        return _end(came, None, json=False, quiet=True, strict=strict)

    bad = changed()
    bad["verdict"] = {"held": False, "reasons": ["it was late"], "rows": []}
    assert [ends(CAME, strict=True), ends(bad), ends(bad, strict=True)] == [0, 0, 1]
    assert ends(bad, code=7, strict=True) == 7, "the command's own code"
    assert ends(changed(replay={"up": {key: 0 for key in AGREED}}), strict=True) == 1, "no packet crossed"
    said = capsys.readouterr().err
    assert said.count("not held: it was late") == 3 and "held: all" not in said, "quiet where all was held"


def test_what_a_machine_holds_is_the_last_rate_that_was_held():
    trial = {"rate": "10Mbit", "held": True, "reasons": [], "p99_us": 120.0, "used": 0.9, "steal_pct": 0.0}
    lost = {**trial, "rate": "100Mbit", "held": False, "reasons": ["9 packets were lost"]}
    assert sentence([trial]).endswith("at most 0.12 ms late")
    assert "holds 10Mbit" in sentence([trial, lost]) and "not 100Mbit: 9 packets were lost" in sentence(
        [trial, lost]
    )
    assert sentence([lost]) == "this machine holds not even 100Mbit now: 9 packets were lost"
    assert "busy" not in sentence([{**trial, "busy_pct": 50.0}])
    busy = sentence([{**trial, "busy_pct": 98.9}, {**lost, "busy_pct": 60.0}])
    assert "; the processors are 99 % busy, with other work: programs behind the queues wait for it" in busy
    none = sentence([{**lost, "busy_pct": 98.9, "steal_pct": 2.5}])
    assert none.startswith(
        "this machine holds not even 100Mbit now: 9 packets were lost; the processors are 99 %"
    )
    assert none.endswith("(the hypervisor took 2.5 % of the processors' time)")
    assert "filled only 14 % of it" in sentence([{**trial, "rate": "1000Mbit", "used": 0.14}])


def test_the_last_interval_is_drawn_up_to_the_end_of_the_run():
    figure = drawn({"down": SUMMARY, "up": SILENT}, 1.4)
    delay, used = figure.axes
    assert list(used.lines[0].get_xdata()) == [0.0, 1.0, 1.4]
    assert list(used.lines[0].get_ydata()) == [50.0, 100.0, 100.0]
    assert len(delay.lines[1].get_xdata()) == 0, "no packet, no line"


def test_a_run_of_twenty_minutes_has_a_bin_for_each_second(tmp_path):
    came = changed()
    bins = 1200
    late = [None] * (bins - 1) + [30.0]
    series = {"bin_s": 1.0, "utilisation": [0.5] * bins, "queue_delay_ms": late, "dropped_pkts": [1] * bins}
    came["links"]["down"] = {**SUMMARY, "series": series}
    write_page(came, "x", tmp_path / "page.html")
    table = pl.read_csv(tmp_path / "figures" / "page-queues-over-time.csv")
    assert len(table) == bins and table["time_s"][-1] == 1199.0 and table["dropped_pkts"].sum() == bins
    assert table["queue_delay_ms"].is_not_null().sum() == 1


def test_the_page_stands_by_itself(tmp_path):
    page = tmp_path / "out" / "page.html"
    write_page(CAME, "sojourn emulate … -- true", page)
    text = page.read_text(encoding="utf-8")
    assert "The path was held to" in text and "no packet" not in text
    assert "lateness, p99" in text and "16\xa0Mbit/s" in text and "sojourn emulate … -- true" in text
    assert "<svg" in text and 'src="http' not in text and 'href="http' not in text
    assert (page.parent / "figures" / "page-queues-over-time.csv").is_file()
    alone = changed(replay={"up": {**{key: 0 for key in AGREED}, "decisions": 1}})
    assert said(alone)[-1].endswith("the simulator decides alike about the one packet")
    none = changed(replay={"up": {key: 0 for key in AGREED}})
    write_page(none, "x", page)
    text = page.read_text(encoding="utf-8")
    assert ">No packet crossed the path</h2>" in text and "path was held to" not in text
    silent = changed()
    silent["links"] = {"down": SILENT, "up": SILENT}
    silent["verdict"] = {"held": False, "reasons": ["it was late"], "rows": []}
    write_page(silent, "x", page)
    text = page.read_text(encoding="utf-8")
    assert "The path was not held to" in text and "it was late" in text and "The queues over time" not in text
