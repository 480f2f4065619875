"""A queue as lines of `tc`: every discipline, what `tc` itself says of them, and a kernel that takes them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

import pytest
from sojourn import _core
from sojourn.report.configure import configured, links_of, rate_text, routers, tc
from sojourn.study.links import WAYS

EVERY: dict[str, dict[str, Any]] = {
    "fifo": {"limit": "64pkt"},
    "bfifo": {"limit": "96kB"},
    "codel": {"ecn": True, "ce-threshold": "1ms", "variant": "linux"},
    "fq_codel": {"memory": "4MB", "quantum": "300B"},
    "pie": {"ecn": True},
    "fq_pie": {},
    "cake": {},
    "cobalt": {"limit": "200pkt"},
    "sfq": {},
    "sfq-codel": {"limit": "200pkt"},
    "red": {"limit": "400pkt", "ecn": True, "adaptive": True},
    "netem": {"delay": "10ms"},
    "policer": {"limit": "64pkt", "rate": "8Mbit"},
}


def test_every_queue_of_a_study_can_be_written_for_tc() -> None:
    with pytest.raises(_core.StudyError) as refused:
        tc({"kind": "?"}, "10Mbit", "20ms")
    kinds = set(re.findall(r"`([a-z0-9_-]+)`", str(refused.value).split("expected", 1)[1]))
    assert {"fifo", "policer", "dualpi2"} <= kinds
    assert kinds >= {kind.replace("_", "-") for kind in EVERY} - {"bfifo", "pfifo"}
    for kind in kinds:
        assert tc({"kind": kind, **EVERY.get(kind, EVERY.get(kind.replace("-", "_"), {}))}, "10Mbit", "20ms")


@pytest.mark.parametrize(
    ("queue", "last"),
    [
        ({"kind": "fifo", "limit": "64pkt"}, "pfifo limit 64"),
        ({"kind": "fifo", "limit": "96kB"}, "bfifo limit 96000"),
        ({"kind": "fifo", "limit": "100ms"}, "bfifo limit 125000"),
        ({"kind": "fifo", "limit": "2BDP"}, "pfifo limit 33"),
        ({"kind": "fifo", "limit": "9pkt", "drop": "head"}, "pfifo_head_drop limit 9"),
        ({"kind": "codel"}, "codel limit 1000 target 5ms interval 100ms noecn"),
        (
            {"kind": "codel", "limit": "96kB", "target": "12.5ms"},
            "codel limit 64 target 12500us interval 100ms noecn",
        ),
        (
            {"kind": "fq_codel"},
            "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms drop_batch 64 ecn",
        ),
        (
            {"kind": "pie"},
            "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator",
        ),
        ({"kind": "sfq"}, "sfq limit 127 divisor 1024 quantum 1514"),
        ({"kind": "netem", "delay": "10ms"}, "netem limit 1000 delay 10ms"),
        (
            {"kind": "red", "limit": "60kB", "min": 10, "max": 30, "mean-packet": "1000B"},
            "red limit 60000 min 10000 max 30000 avpkt 1000 burst 16 bandwidth 10mbit probability 0.1",
        ),
        (
            {"kind": "dualpi2", "target": "20ms", "update": "17ms", "step": "2ms", "classic-share": 0.2},
            "dualpi2 limit 10000 target 20ms tupdate 17ms alpha 0.16 beta 3.2 coupling_factor 2 "
            "step_thresh 2ms min_qlen_step 1 classic_protection 20%",
        ),
        (
            {"kind": "fq-codel", "memory": "4MB", "ce-threshold": "1ms", "ecn": False, "drop-batch": 9},
            "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms drop_batch 9 "
            "memory_limit 4000000 noecn ce_threshold 1ms",
        ),
        (
            {"kind": "fq-pie", "flows": 64, "ecn": True, "by-size": True, "delay": "rate", "alpha": 0.25},
            "fq_pie limit 10240 flows 64 quantum 1514 target 15ms tupdate 15ms alpha 4 beta 20 ecn bytemode "
            "dq_rate_estimator",
        ),
        (
            {"kind": "sfq-codel", "limit": "200pkt", "bins": 64, "target": "6ms"},
            "fq_codel limit 200 flows 64 target 6ms interval 100ms noecn",
        ),
        # tc refuses a burst that is not above min / avpkt.
        (
            {"kind": "red", "limit": "60kB", "min": 10, "max": 11, "mean-packet": "1000B"},
            "red limit 60000 min 10000 max 11000 avpkt 1000 burst 11 bandwidth 10mbit probability 0.1",
        ),
    ],
)
def test_a_queue_has_its_limit_in_the_unit_that_linux_counts(queue: dict[str, Any], last: str) -> None:
    lines = tc(queue, "10Mbit", "20ms", "eth0")
    assert lines[-1] == f"tc qdisc add dev eth0 parent 1:10 handle 10: {last}"
    assert "htb rate 10mbit ceil 10mbit " in lines[-2]
    if queue.get("limit", "").endswith(("BDP", "ms")):
        with pytest.raises(_core.StudyError, match="needs a rate"):
            tc(queue, None, "20ms")
    elif queue["kind"] != "red":
        assert tc(queue, None, "20ms", "eth0") == [f"tc qdisc replace dev eth0 root {last}"]


@pytest.mark.parametrize(("rate", "burst"), [("1Mbit", 1600), ("25Mbit", 1600), ("500Mbit", 31_250)])
def test_the_bucket_lasts_half_a_millisecond_and_a_late_timer_loses_nothing(rate: str, burst: int) -> None:
    assert f"burst {burst} cburst {burst} " in tc({"kind": "fifo", "limit": "100pkt"}, rate, "20ms")[-2]


@pytest.mark.parametrize("kind", ["fifo", "cake", "codel"])
def test_of_a_rate_below_a_byte_a_second_nothing_is_told_that_tc_refuses_or_takes_for_another(
    kind: str,
) -> None:
    # tc of iproute2 6.1: of 7bit htb says '"rate" is required', 8bit it takes.
    queue = {"kind": kind, "limit": "64pkt"}
    kept, none = ({way: {"rate": rate, "queue": queue} for way in WAYS} for rate in ("8bit", "7bit"))
    links, notes = links_of({**kept, "rtt": "20ms"})
    assert "8bit" in routers.linux(links["down"], links["up"]) and not any(map(slow_of, notes.values()))
    links, notes = links_of({**none, "rtt": "20ms"})
    said = routers.linux(links["down"], links["up"])
    assert "bit" not in said and "htb" not in said and all(map(slow_of, notes.values()))
    assert "# SQM keeps no upload below 1 kbit/s" in routers.openwrt(links["down"], links["up"])


def slow_of(notes: list[str]) -> bool:
    return "`tc` keeps no rate below 8 bit/s: these lines keep none" in notes


def test_a_policer_of_less_than_a_byte_a_second_is_none() -> None:
    queue = {"kind": "policer", "rate": "1bit", "burst": "30kB", "limit": "1000pkt"}
    assert not any("police" in line for line in tc(queue, "30Mbit", "20ms"))


def test_a_policer_drops_before_the_queue_behind_it() -> None:
    queue = {"kind": "policer", "rate": "30Mbit", "burst": "30kB", "limit": "1000pkt"}
    filtered = [
        "tc qdisc replace dev eth0 clsact",
        "tc filter replace dev eth0 egress pref 1 handle 1 matchall action police rate 30mbit burst 30000b "
        "conform-exceed drop",
    ]
    behind = "tc qdisc replace dev eth0 root pfifo limit 1000"
    assert tc(queue, None, "20ms", "eth0") == [*filtered, behind]
    shaped = tc(queue, "40Mbit", "20ms", "eth0")
    assert shaped[:2] == filtered and shaped[-1].endswith("handle 10: pfifo limit 1000")
    assert "rate 40mbit" in shaped[-2]
    del queue["rate"]
    assert " police rate 40mbit " in tc(queue, "40Mbit", "20ms")[1]
    assert tc(queue, None, "20ms", "eth0") == [behind]


def test_cake_keeps_the_rate_itself() -> None:
    assert tc({"kind": "cake"}, "10.5Mbit", "20ms") == [
        "tc qdisc replace dev IFACE root cake bandwidth 10500kbit rtt 100ms besteffort flows raw"
    ]
    assert (
        " cake bandwidth 10mbit rtt 100ms besteffort flowblind raw memlimit 30000"
        in tc({"kind": "cobalt", "limit": "20pkt"}, "10mbit", "20ms")[0]
    )


def test_what_linux_has_otherwise_is_noted() -> None:
    def notes(**queue: Any) -> list[str]:
        way = {"rate": "10Mbit", "queue": {"limit": "100pkt", **queue}}
        return links_of({"rtt": "20ms", "down": way, "up": way})[1]["down"]

    assert notes(kind="codel") == notes(kind="codel", variant="linux") == notes(kind="fifo") == []
    assert notes(kind="codel", variant="ns3") == ["the study ran the variant ns3; Linux has its own"]
    assert notes(kind="pie", alpha=0.13) == ["Linux rounds PIE's gains to 2/16 and 20/16"]
    assert notes(kind="fifo", limit="96kB", drop="head")[0].startswith("Linux drops the arriving packet")
    assert notes(kind="fifo", drop="head") == []
    assert notes(kind="codel", limit="96kB") == [
        "this discipline counts packets: 96kB are 64 full ones of 1500 bytes"
    ]
    assert notes(kind="red", limit="20pkt")[0].startswith("this discipline counts bytes: 20pkt are 30000 of")
    assert notes(kind="cake", limit="10240pkt", target="9ms") == [
        "CAKE's target is a twentieth of its rtt, not 9ms"
    ]
    assert notes(kind="cake", limit="20pkt")[-1].endswith("20pkt are 30000 bytes")
    assert [rate_text(rate) for rate in (10**9, 15 * 10**8, 64_000, 64_001)] == [
        "1gbit", "1500mbit", "64kbit", "64001bit",
    ]  # fmt: skip


def test_what_is_no_queue_is_refused_with_a_sentence() -> None:
    with pytest.raises(_core.StudyError, match="unknown variant `codl`"):
        tc({"kind": "codl"}, "10Mbit", "20ms")
    with pytest.raises(_core.StudyError, match="is not a rate"):
        tc({"kind": "codel"}, "10Mbps", "20ms")


def record(**path: Any) -> dict[str, Any]:
    document = {
        "name": "home",
        "duration": "9s",
        "path": {
            "rtt": "20ms",
            "down": {"rate": "50Mbit"},
            "up": {"rate": "10Mbit", "overhead": "18B"},
            **path,
        },
        "sweep": {"path.queue": [{"kind": "pfifo", "limit": "1BDP"}, {"kind": "codel", "limit": "3p"}]},
    }
    return {"study": "home", "document": document}


def test_each_link_of_the_chosen_cell_is_told_in_packets_bytes_and_ms() -> None:
    up, down = configured(record(), {"path.queue": "pfifo"})
    assert (up.link, up.device, down.link, down.device) == ("up", "WAN", "down", "LAN")
    assert up.words == (
        "FIFO holding 1BDP: 17 packets of 1500 bytes, 25.5 kB, 20.4 ms at the link's rate, "
        "in front of 10 Mbit/s"
    )
    assert up.lines[-1].endswith("dev WAN parent 1:10 handle 10: pfifo limit 17")
    assert "rate 10mbit ceil 10mbit" in up.lines[-2] and up.lines[-2].endswith(" overhead 18")
    assert down.words.startswith("FIFO holding 1BDP: 83 packets of 1500 bytes, 124.5 kB, 19.92 ms")
    assert not up.notes
    endless = record()
    endless["document"]["sweep"]["path.queue"][0]["limit"] = "unlimited"
    assert configured(endless, {"path.queue": "pfifo"})[0].words.startswith("FIFO without a limit, in front")
    up, down = configured(record(), {"path.queue": "codel"})
    assert "drains in 3.600 ms" in up.notes[0] and "drains in 0.720 ms" in down.notes[0]


def test_links_whose_rate_varies_or_has_no_end_say_so() -> None:
    steps = {"steps": [["0s", "16Mbit"], ["10s", "8Mbit"]], "repeat": "20s"}
    study = record(down={"rate": steps}, up={"rate": "unlimited"})
    study["document"]["sweep"] = {"path.queue": [{"kind": "codel", "limit": "3p"}]}
    up, down = configured(study, {})
    assert "rate 12mbit" in down.lines[2]
    assert any("12 Mbit/s is its mean" in note for note in down.notes)
    assert up.lines == ["tc qdisc replace dev WAN root codel limit 3 target 5ms interval 100ms noecn"]
    assert "in front of" not in up.words


def test_a_cell_that_is_not_there_is_not_configured() -> None:
    assert configured(record(), {"path.queue": "red"}) == []
    assert configured({"study": "x", "document": {"name": "x"}}, {}) == []


IP, TC, UNSHARE = (
    shutil.which(name, path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    for name in ("ip", "tc", "unshare")
)
UNKNOWN = "qdisc kind is unknown"
INSIDE = "ip link add eth0 type veth peer name eth1 && ip link set eth0 up && { %s ; }"


def inside(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a network namespace of its own, on a device without a cable."""
    words = [UNSHARE or "unshare", "--net", "--map-root-user", "sh", "-c", INSIDE % script]
    path = f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )


@pytest.fixture(scope="module")
def linux() -> None:
    if not (IP and TC and UNSHARE):
        pytest.skip("this machine has no ip, tc or unshare (iproute2, util-linux)")
    if (done := inside("true")).returncode:
        pytest.skip(f"no network namespace with a veth device here: {done.stderr.strip()}")


@pytest.mark.parametrize("kind", EVERY)
def test_tc_understands_every_line(linux: None, kind: str) -> None:
    """A kernel may lack a discipline, and says so after `tc` has read the line; `tc` itself refuses words."""
    *before, last = tc({"kind": kind, **EVERY[kind]}, "10Mbit", "20ms", "eth0")
    told = inside("; ".join([*before, "echo shaped >&2", f"{last} && tc qdisc show dev eth0"]))
    shaper, _, queue = told.stderr.partition("shaped\n")
    if before and UNKNOWN in shaper:
        pytest.skip("this kernel has no htb")
    if "TC classifier not found" in shaper:
        pytest.skip(f"tc reads it: {before[1]}; this kernel has no matchall")
    assert not shaper, shaper
    if UNKNOWN in queue:
        pytest.skip(f"tc reads it: {last}; this kernel has no such discipline")
    assert not told.returncode and not queue, (last, queue)
    assert f"qdisc {last.split('handle 10: ')[-1].split()[0]} 10: parent 1:10 " in told.stdout, told.stdout


def test_what_a_plain_router_is_told_the_kernel_takes(linux: None) -> None:
    queue = {"kind": "fifo", "limit": "64pkt"}
    links, _ = links_of(
        {"rtt": "20ms", "down": {"rate": "9Mbit", "queue": queue}, "up": {"rate": "1Mbit", "queue": queue}}
    )
    told = routers.plain(links["down"], links["up"])
    done = inside(told.replace("WAN", "eth0").replace("LAN", "eth1") + "\ntc qdisc show")
    assert not done.stderr and done.stdout.count("limit 64p") == 2, (done.stdout, done.stderr)


def test_tc_refuses_what_it_does_not_know_before_the_kernel_is_asked(linux: None) -> None:
    """The test above can fail: a wrong word is not taken for a discipline that the kernel lacks."""
    done = inside("tc qdisc add dev eth0 root codel limit 10 targte 5ms")
    assert done.returncode and UNKNOWN not in done.stderr, done.stderr


def test_the_lines_can_be_run_again(linux: None) -> None:
    lines = tc({"kind": "fifo", "limit": "64pkt"}, "10Mbit", "20ms", "eth0")
    done = inside("; ".join([*lines, *lines, "tc -d qdisc show dev eth0", "tc -d class show dev eth0"]))
    if UNKNOWN in done.stderr:
        pytest.skip("this kernel has no htb")
    assert "pfifo 10: parent 1:10 limit 64p" in done.stdout, (done.stdout, done.stderr)
    assert "rate 10Mbit ceil 10Mbit" in done.stdout
    assert "RTNETLINK" not in done.stderr, done.stderr
