"""Measured and simulated side by side: a table of the study, data of Flent and JSON of iperf3."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from pathlib import Path

import pytest
from sojourn.errors import SojournError
from sojourn.report import write_report
from sojourn.report.files import Files
from sojourn.report.measured import beside, read, table
from sojourn.results import open_results
from test_figures import LIMIT, result, write_results

DATA = Path(__file__).parent / "data" / "iperf3"

STUDY = """
name = "lab"
duration = "10s"
[path]
rtt = "50ms"
down = { rate = "8Mbit", queue = { kind = "fifo", limit = "50pkt" } }
up   = { rate = "2Mbit", queue = { kind = "fifo", limit = "64pkt" } }
[[flows]]
source = { kind = "bulk" }
transport = "cubic"
direction = "down"
count = 2
"""
SWEEP = '[sweep]\n"path.down.queue.limit" = ["20pkt", "50pkt"]\n'


def part(page: Path) -> list[str]:
    """The words of the section, one string for each card."""
    text = page.read_text()
    [found] = re.findall(
        r"<section[^>]*>\s*<h2[^>]*>Measured and simulated</h2>.*?</section>", text, re.DOTALL
    )
    cards = re.sub(r"<svg.*?</svg>", "", found, flags=re.DOTALL).split("<article")[1:]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", card)) for card in cards]


def test_real_runs_of_iperf3():
    tcp, back, both, udp = (read(DATA / f"{name}.json") for name in ("tcp", "reverse", "bidir", "udp"))
    whole = json.loads((DATA / "tcp.json").read_text())["end"]
    assert tcp.tool == "iperf 3.12, TCP, 2 streams" and tcp.throughput.keys() == {"up"}
    # What the client sends is up; the tool's own mean, and near it that of its intervals.
    assert tcp.mean("up") == pytest.approx(whole["sum_received"]["bits_per_second"] / 1e6)
    assert tcp.throughput["up"].mean == pytest.approx(tcp.mean("up"), rel=0.05)
    sent = whole["sum_sent"]
    assert tcp.again_per_s == {"up": pytest.approx(sent["retransmits"] / sent["seconds"])}
    means = [stream["sender"]["mean_rtt"] / 1e3 for stream in whole["streams"]]
    assert min(means) * 0.8 < tcp.rtt_ms.mean < max(means) * 1.2
    assert back.throughput.keys() == {"down"} and back.rtt_ms is None
    assert both.throughput.keys() == {"down", "up"}
    assert udp.throughput.keys() == {"up"} and udp.mean("up") == pytest.approx(2.0, rel=0.01)


def test_a_stream_of_events_is_the_same_run(tmp_path):
    whole = json.loads((DATA / "tcp.json").read_text())
    events = [
        ("start", whole["start"]),
        *(("interval", each) for each in whole["intervals"]),
        ("end", whole["end"]),
    ]
    lines = [json.dumps({"event": event, "data": data}) for event, data in events]
    (tmp_path / "tcp.json").write_text("\n".join(lines))
    (tmp_path / "utf16.json").write_text((DATA / "tcp.json").read_text(), "utf-16")  # as PowerShell writes
    (tmp_path / "tcp.json.bz2").write_bytes(bz2.compress((DATA / "tcp.json").read_bytes()))
    one = read(DATA / "tcp.json")
    for other in map(read, sorted(tmp_path.iterdir())):
        assert other.mean("up") == one.mean("up") and list(other.rtt_ms.values) == list(one.rtt_ms.values)


def test_what_real_programs_did_is_not_called_simulated_without_a_word(tmp_path):
    def notes(folder, **engine):
        ran = result({LIMIT: "8pkt"})
        ran["engine"] |= engine
        write_results(folder, [ran], [], measured="m.csv")
        (folder / "m.csv").write_text("value,measured,how\nlinks.down.loss,0.1,seen\n")
        [part] = beside(open_results(folder), [], Files(folder))
        return part.notes

    assert notes(tmp_path / "a") == ["seen"]
    real = notes(tmp_path / "b", clock="wall", verdict={"held": True})
    assert real[0] == "seen" and real[1].endswith("run between real programs, on the testbed.")


def test_flent_data_reads_as_the_run_it_is_of(sojourn, tmp_path):
    (tmp_path / "one.toml").write_text(STUDY)
    sojourn("export", "one.toml", "run.flent.gz")
    (tmp_path / "lab.toml").write_text(STUDY + SWEEP)
    ran = sojourn.json("run", "lab.toml", "--out", "lab")
    found = read(tmp_path / "run.flent.gz")
    [of] = [result for result in ran if result["point"]["path.down.queue.limit"] == "50pkt"]
    assert found.throughput.keys() == {"down"} and found.rtt_of == "Ping (ms) ICMP"
    assert found.mean("down") * 1e6 == pytest.approx(of["flows"]["goodput_bps"], rel=0.02)
    sojourn("report", "lab", "--beside", "run.flent.gz", DATA / "tcp.json", svg_only=True)
    flent, iperf = part(tmp_path / "lab" / "report.html")
    assert "run.flent.gz: Flent, test tcp_ndown" in flent and "tcp.json: iperf 3.12, TCP, 2 streams" in iperf
    assert (
        "It stands beside Downlink buffer 50pkt: of 2 cells the nearest" in flent and "50pkt (drawn)" in flent
    )
    assert "another path or load" not in flent and "differ by up to a factor of" in iperf
    for number in (found.mean("down"), of["flows"]["goodput_bps"] / 1e6, found.rtt_ms.mean):
        assert f" {number:.4g} " in flent
    lines = (tmp_path / "lab" / "figures" / "measured-1.csv").read_text().splitlines()
    assert lines[0] == "quantity,whose,link,time_s,value"
    assert {line.split(",")[1] for line in lines[1:]} == {"measured", "simulated"}
    # Streams without a sum are added, what kernels say of sockets is not.
    made = json.loads(gzip.decompress((tmp_path / "run.flent.gz").read_bytes()))
    results = made["results"]
    for name in ("sum", "avg", "fairness"):
        del results[f"TCP download {name}"]
    results["TCP download::1::tcp_rtt"] = [1e6] * len(made["x_values"])
    results["Ping (ms)::UDP"] = [None] * len(made["x_values"])
    (tmp_path / "bare.flent").write_text(json.dumps(made))
    again = read(tmp_path / "bare.flent")
    assert again.mean("down") == pytest.approx(found.mean("down")) and again.rtt_ms.mean == found.rtt_ms.mean


def test_the_table_of_a_study(sojourn, tmp_path):
    (tmp_path / "lab.toml").write_text('measured = "seen.csv"\n' + STUDY + SWEEP + "[record]\nflows = true\n")
    seen = (
        "value,measured,how\npath.down.queue.limit,50pkt,\n"
        "links.down.queue_delay_ms.mean,43.25,By a tool.\nlinks.down.loss,0.125,By another.\n"
    )
    (tmp_path / "seen.csv").write_text(seen)
    ran = sojourn.json("run", "lab.toml", "--out", "lab")
    sojourn("report", "lab", svg_only=True)
    [card] = part(tmp_path / "lab" / "report.html")
    assert "beside the cell with path.down.queue.limit = 50pkt" in card and "50pkt (as measured)" in card
    means = " ".join(f"{result['links']['down']['queue_delay_ms']['mean']:.0f}" for result in ran)
    assert f"mean queueing delay (ms) 43 {means} " in card and "loss (%) 12 " in card
    assert "By a tool." in card and "By another." in card


AXES = ["path.down.queue.limit"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no seen.csv beside the study or its results"),
        ("", "expected CSV or Parquet with the columns value and measured"),
        ("a,b\n1,2\n", "expected CSV or Parquet with the columns value and measured"),
        ("value,measured\nlinks.down.loss,much\n", "'much' for links.down.loss; expected a number"),
        ("value,measured\nlinks.down.loss,inf\n", "expected a number"),
        ("value,measured\n,7\n", "the value None; expected a number of results"),
        ("value,measured\nconnections.duration_s.longest,7\n", "expected a number of results"),
    ],
)
def test_a_table_that_is_none_gets_a_sentence(tmp_path, text, said):
    if text is not None:
        (tmp_path / "seen.csv").write_text(text)
    with pytest.raises(SojournError, match=re.escape(said)):
        table.read("seen.csv", [tmp_path], AXES)


@pytest.mark.usefixtures("svg_only")
def test_what_a_table_says_that_the_study_has_not(sojourn, tmp_path):
    (tmp_path / "lab.toml").write_text('measured = "seen.csv"\n' + STUDY)
    (tmp_path / "seen.csv").write_text("value,measured\nlinks.down.nothing,7\n")
    sojourn("run", "lab.toml", "--out", "lab", "--set", "duration=2s")
    (tmp_path / "seen.csv").rename(tmp_path / "lab" / "seen.csv")
    [card] = part(write_report(tmp_path / "lab"))
    assert "This study has no number for links.down.nothing." in card and "(as measured)" not in card


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello", "is no JSON of a measurement; expected a data file of Flent"),
        (b"[1, 2]", "is no JSON of a measurement"),
        (b'{"a": 1}', "is JSON of something else"),
        (b"[" * 100_000, "is no JSON of a measurement"),
        (b"\xff\xfe\x00", "is no JSON of a measurement"),
        (gzip.compress(b'{"results": {}}', mtime=0)[:-9], "is cut off or damaged"),
        (b"\x1f\x8b?", "is cut off or damaged"),
        (bz2.compress(b'{"results": {}}')[:-9], "is cut off or damaged"),
        (b"BZh9?", "is cut off or damaged"),
        # A server writes an object for each client; files of scripts hold lists of them.
        (b'{"start": {}, "intervals": []}\n' * 3, "holds 3 runs of iperf3; expected one in each file"),
        (b'[{"start": {}, "intervals": []}, {"start": {}, "intervals": []}]', "holds 2 runs of iperf3"),
        (b'{"event": "start", "data": {}}\n{"event": "end"}\n' * 2, "holds 2 runs of iperf3"),
        (b'{"start": {}, "intervals": []} and more', "is no JSON of a measurement"),
        (b'{"results": {"a": [1]}, "x_values": [1]}', "neither throughput of TCP nor round trips"),
        (
            b'{"results": {"TCP download sum": [null, NaN, "x", 1e999]}, "x_values": [1, 2, 3, 4]}',
            "has no value in",
        ),
        (b'{"start": {}, "intervals": []}', "no interval of iperf3 has a throughput"),
        (b'{"start": {}, "intervals": [], "end": {}, "error": "busy"}', "iperf3 failed: busy"),
        (b'{"start": {}, "intervals": [3, {"sum": []}, {"sum": {"start": "x"}}]}', "no interval of iperf3"),
    ],
)
def test_files_that_are_neither_get_a_sentence(tmp_path, content, said):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(SojournError, match=re.escape(said)) as caught:
        read(tmp_path / "x.json")
    assert "x.json" in str(caught.value) and "\n" not in str(caught.value)


def test_beside_wants_one_study(sojourn, tmp_path):
    done = sojourn("report", "a", "b", "--out", "c", "--beside", "x.json", code=2)
    assert "--beside goes with the results of one study; 2 were named" in done.stderr
    (tmp_path / "lab.toml").write_text(STUDY)
    sojourn("run", "lab.toml", "--out", "lab", "--set", "duration=2s")
    done = sojourn("report", "lab", "--beside", code=2)
    assert "--beside names no file; expected data files of Flent or JSON of iperf3" in done.stderr
    done = sojourn("report", "lab", "--beside", "x.json", "./x.json", code=2)
    assert done.stderr == "sojourn: --beside: x.json is named twice; expected each once\n"
    done = sojourn("report", "lab", "--beside", "nope.json", code=2)
    assert "nope.json: there is no such file" in done.stderr
    assert not (tmp_path / "lab" / "figures" / "measured-1.csv").exists()


def iperf3(file, *, end, **more):
    """A run that sends one stream up for 2 s at 6 Mbit/s."""
    each = [{"sum": {"start": at, "end": at + 1, "bits_per_second": 6e6, "sender": True}} for at in (0, 1)]
    run = {"start": {"test_start": {}}, "intervals": each, "end": end}
    file.write_text(json.dumps(run | more))
    return read(file)


def caption(folder, measured, *results):
    """The read, the caption and the cells of a study's throughputs beside a measurement."""
    write_results(folder, list(results or [result({LIMIT: "8pkt"})]), [])
    [part] = beside(open_results(folder), [measured], Files(folder))
    return part.read, part.caption, part.table.rows


def test_what_was_lost_of_datagrams_is_said(tmp_path):
    """At 6 Mbit/s over 2, two thirds are lost; 1.93 Mbit/s alone would look like a fair load."""
    sent, came = {"bits_per_second": 6e6, "seconds": 2}, {"bits_per_second": 2e6, "seconds": 2}
    end = {"sum": {"lost_percent": 66.6}, "sum_sent": sent, "sum_received": came}
    found = iperf3(tmp_path / "a.json", end=end)
    assert "66.6 % of the datagrams sent up lost" in found.tool and found.mean("up") == 2
    assert "is what was sent, the number what was received" in caption(tmp_path / "a", found)[1]
    # Older versions sum up what was sent, and say what share of it was lost.
    old = iperf3(tmp_path / "c.json", end={"sum": {"lost_percent": 75, "bits_per_second": 6e6}})
    assert old.mean("up") == old.throughput["up"].mean / 4
    assert "is what was sent, the number what was received" in caption(tmp_path / "c", old)[1]
    # A server's file says that nothing was lost of what the server sent, whatever became of it.
    server = {"accepted_connection": {}, "test_start": {"reverse": 1}}
    own = iperf3(tmp_path / "d.json", end={"sum": {"lost_percent": 0, "bits_per_second": 6e6}}, start=server)
    assert "lost" not in own.tool and own.mean("down") == 6
    assert "how much of it arrived, nobody told" in caption(tmp_path / "d", own)[1]
    # An interrupted run has zeros where the receiver would have told: nothing is known of losses.
    end = {"sum": {"lost_percent": 0}, "sum_sent": sent, "sum_received": {"bits_per_second": 0}}
    cut = iperf3(tmp_path / "b.json", end=end, error="interrupt - the client has terminated")
    assert "lost" not in cut.tool and cut.mean("up") == 6
    # What arrives of the simulated flow is no other path for it.
    load = result({LIMIT: "8pkt"})
    load["groups"] = {"up": {"direction": "up", "goodput_bps": 2e6, "base_rtt_ms": 50}}
    said = caption(tmp_path / "e", cut, load)[0]
    assert "nothing that was measured can be compared" in said and "differ" not in said
    said = caption(tmp_path / "b", cut)[1]
    assert "What is measured of the uplink is what was sent; how much of it arrived, nobody told." in said
    assert "received" not in said


def test_a_direction_that_one_of_both_does_not_have_is_named(tmp_path):
    measured = iperf3(tmp_path / "a.json", end={})
    said = caption(tmp_path / "a", measured)[0]
    assert "It has no background transfers on the uplink, where 6 Mbit/s were measured." in said
    still = result({LIMIT: "8pkt"})
    still["groups"] = {"up": {"direction": "up", "goodput_bps": 0.0, "base_rtt_ms": 50}}
    said = caption(tmp_path / "b", measured, still)[0]
    assert "Its background transfers carry nothing on the uplink, where 6 Mbit/s were measured." in said
    still["groups"]["up"]["goodput_bps"] = 4e6
    (tmp_path / "none.flent").write_text(
        json.dumps({"x_values": [0, 1], "results": {"TCP upload sum": [0, 0]}})
    )
    said = caption(tmp_path / "c", read(tmp_path / "none.flent"), still)[0]
    assert "Nothing came through on the uplink as measured, where 4 Mbit/s are simulated." in said


def test_numbers_far_too_big_have_no_exponent(tmp_path):
    big = {
        "x_values": [0, 1],
        "results": {"TCP upload sum": [4e6, 4e6], "Ping (ms) ICMP": [23456.7, 23456.7]},
    }
    (tmp_path / "big.flent").write_text(json.dumps(big))
    slow = result({LIMIT: "8pkt"})
    slow["groups"] = {"up": {"direction": "up", "goodput_bps": 1e9, "base_rtt_ms": 50}}
    said, _, rows = caption(tmp_path / "a", read(tmp_path / "big.flent"), slow)
    assert "by up to a factor of 4 000:" in said
    assert [row[1] for row in rows if "uplink" in row[0]] == ["4 000 000"]
    assert [row[1] for row in rows if "trip, mean" in row[0]] == ["23 457"]


def test_pings_of_an_idle_path_are_no_round_trips_under_load(tmp_path):
    """Flent pings for 5 s before the streams and after them, when the queue is empty."""
    trips = [10] * 5 + [110] * 10 + [10] * 5
    rates = [None] * 5 + [8] * 10 + [None] * 5
    made = {"x_values": list(range(20)), "results": {"Ping (ms) ICMP": trips, "TCP download sum": rates}}
    (tmp_path / "x.flent").write_text(json.dumps(made))
    found = read(tmp_path / "x.flent")
    assert found.rtt_ms.mean == 110 and found.rtt_ms.time_s.tolist() == list(range(10))
    assert found.throughput["down"].time_s.tolist() == list(range(10)) and found.idle == "10 of 20"
    said, under, _ = caption(tmp_path / "a", found)
    assert "Time counts from the beginning of the load" in said
    assert "10 of 20 round trips are left out: no stream ran then." in under
    made["results"]["Ping (ms) ICMP"] = [None] * 4 + trips[4:15] + [None] * 5
    (tmp_path / "x.flent").write_text(json.dumps(made))
    under = caption(tmp_path / "b", read(tmp_path / "x.flent"))[1]
    assert "1 of 11 round trips is left out: no stream ran then." in under
    made["results"]["Ping (ms) ICMP"] = trips
    # Without streams all count, as they do where streams run all the time.
    del made["results"]["TCP download sum"]
    (tmp_path / "x.flent").write_text(json.dumps(made))
    assert read(tmp_path / "x.flent").rtt_ms.mean == 60 and not read(tmp_path / "x.flent").idle


def slow_uplink(**results) -> dict:
    """Two streams for 8 s that print a reading every 4 s, 1 Mbit/s each, and five pings."""
    streams = {
        name: [{"t": 101 + at, "dur": 4, "val": 1.0} for at in ends]
        for name, ends in (("TCP upload::1", (4, 8)), ("TCP upload::2", (3.5, 7.5)))
    }
    pings = [
        {"t": 100.0, "val": 20},
        *({"t": 101 + at, "val": 400} for at in (0.6, 4, 4.1)),
        {"t": 109, "val": 9},
    ]
    return {
        "x_values": [at / 4 for at in range(37)],
        # Where both have a value there is no gap: Flent's own sum is of one stream, at one moment.
        "results": {"TCP upload sum": [None] * 36 + [1.0], **results},
        "raw_values": {"Ping (ms) ICMP": pings, **streams, "TCP upload::1::tcp_cwnd": [{"t": 101, "val": 7}]},
    }


def test_streams_that_print_rarely_carry_their_rate_as_long_as_the_tool_says(tmp_path):
    """Flent's sums hold the streams that have a value within five steps: of slow uplinks, few."""

    def found(made):
        (tmp_path / "x.flent").write_text(json.dumps(made))
        return read(tmp_path / "x.flent")

    both = found(slow_uplink())
    # Twice 8 Mbit from half a second before the one's first reading began to the other's end.
    assert both.mean("up") == pytest.approx(16 / 8.5)
    up = both.throughput["up"]
    assert len(up.values) == 34 and up.values[[0, 5, -1]].tolist() == pytest.approx([1, 2, 1])
    assert up.time_s.tolist() == pytest.approx([at / 4 for at in range(34)])
    # Each ping counts, those without a stream beside them do not.
    assert both.rtt_ms.values.tolist() == [400, 400, 400] and both.idle == "2 of 5"
    # A stream whose name says no direction is an upload; a stall is in the mean.
    made = slow_uplink()
    made["raw_values"] = {"TCP cubic 2": [{"t": 3, "dur": 1, "val": 8}, {"t": 9, "dur": 2, "val": 8}]}
    assert found(made).throughput["up"].values.mean() == pytest.approx(24 / 7)
    assert found(made).throughput.keys() == {"up"}
    # Where readings do not say how long they took, Flent's sum has to do.
    made["raw_values"]["TCP cubic 2"][1].pop("dur")
    assert found(made).mean("up") == 1.0
    del made["results"]["TCP upload sum"]
    made["results"] |= {"TCP westwood baseline": [2] * 37, "TCP upload total": [9] * 37}
    assert found(made).mean("up") == 2.0


def test_series_without_a_value_are_not_said_to_be_missing(tmp_path):
    made = {"x_values": [], "results": {"Ping (ms) ICMP": [], "TCP download sum": []}}
    (tmp_path / "x.flent").write_text(json.dumps(made))
    with pytest.raises(SojournError, match=r"has no value in 'Ping .ms. ICMP', 'TCP download sum'"):
        read(tmp_path / "x.flent")
