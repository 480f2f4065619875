"""What captures may not claim that were taken amid a path, or at two places at once."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command
from sojourn.capture import measure
from sojourn.capture.unmeasured import whole as sentences
from test_fingerprints_captures import made, whole

CAPTURE = "directions/both2_at_B"
HOSTS = ("10.1.1.2", "10.1.3.2")


def written(folder: Path, name: str, every: int = 1) -> str:
    """Write every so-manieth frame of a capture; return the file."""
    header, frames = whole(name)
    file = folder / f"{name.partition('/')[2]}-{every}.pcap"
    file.write_bytes(made(header, frames[::every]))
    return str(file)


def test_captures_of_both_hosts_together_tell_nothing_for_certain(tmp_path: Path, sojourn: Command) -> None:
    both = [written(tmp_path, f"directions/up4_at_{end}") for end in "AB"]
    for captures, said in ((both[:1], False), (both, True), (both[::-1], True)):
        found = measure(captures, flows=True)
        [host] = found["hosts"]
        ways = [host, host["to_remote"]]
        assert [way["certainty"] == "captures not in order of time" for way in ways] == [said] * 2
        if said:
            assert [way["lower_bound"] for way in ways] == [True] * 2
            assert [way["missing_at_most_ms"] for way in ways] == [None] * 2
            assert found["flows"] and all(flow["lower_bound"] for flow in found["flows"])
    shown = sojourn("measure", *both)
    assert shown.stdout.count("at least") == 2
    assert "begins no later than" in shown.stderr


def test_who_stands_between_two_hosts_is_told_what_the_rows_are_of(tmp_path: Path, sojourn: Command) -> None:
    # Of every tenth frame no answer is left that comes at once: nothing says which host is near.
    amid = written(tmp_path, CAPTURE, 10)
    note = "neither 10.1.1.2 nor 10.1.3.2 is seen to be near: what packets from either waited is told up to"
    shown = sojourn("measure", amid, "--report", "page.html")
    assert shown.stderr.count(note) == 1
    assert note in (tmp_path / "page.html").read_text()
    assert note not in sojourn("measure", amid, "--local", HOSTS[1]).stderr
    assert note not in sojourn("measure", written(tmp_path, CAPTURE)).stderr
    lines = sojourn("measure", amid, "--json").stdout.splitlines()
    assert {json.loads(line)["remote"] for line in lines} == set(HOSTS)


def test_of_many_pairs_of_hosts_one_is_named() -> None:
    summary = {"packets": 9, "hosts_below_min_samples": 0, "left_out_by_request": 0, "hosts": ["{}"],
               "packets_between_local_hosts": 0}  # fmt: skip
    pairs = [["10.0.0.1", "10.0.0.2"], ["10.0.0.3", "10.0.0.4"], ["10.0.0.5", "10.0.0.6"]]
    said = [" ".join(sentences({**summary, "amid": pairs[:n]}, 50)).partition(":")[0] for n in range(4)]
    assert said == [
        "",
        "neither 10.0.0.1 nor 10.0.0.2 is seen to be near",
        "neither 10.0.0.1 nor 10.0.0.2 is seen to be near, nor of 1 other pair of hosts",
        "neither 10.0.0.1 nor 10.0.0.2 is seen to be near, nor of 2 other pairs of hosts",
    ]
