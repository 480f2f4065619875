"""ns-3's own tests of its queue disciplines, as scenarios for ours: `python -m sojourn.validation.scenarios`.

The scenarios are those of ns-3's unit tests (src/traffic-control/test and src/test/ns3tc; ns-3-dev after
3.48), rebuilt from what they do and demand, and run through `sojourn.replay`. ns-3 draws other random numbers,
so that its counts of random drops are not ours; what it demands of them (some, none, fewer than) is tested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sojourn.decisions import Decisions, replay

PAGE = Path("docs/ns3-scenarios.md")

HEAD = """# ns-3's scenarios

Written by `python -m sojourn.validation.scenarios`; no figure is typed by hand. The scenarios are ns-3's own unit
tests of its queue disciplines, rebuilt and run through `sojourn.replay` (see [replay.md](replay.md)). *ns-3 demands*
is what its test asserts. Where ours differs, the last column says why.

Not repeated here: tests that need what a discipline by itself does not have (packets that no filter matches,
five-tuples, the classes of `prio`, `tbf` and `mq`, full stacks).
"""


@dataclass(frozen=True)
class Row:
    """One demand of one scenario."""

    suite: str
    scenario: str
    demand: str
    found: str
    ok: bool
    note: str = ""


def _ms(values: Any) -> np.ndarray:
    return np.round(np.asarray(values, dtype=float) * 1e6).astype(np.int64)


def run(queue: dict[str, Any], times: Any, departures: Any, **keys: Any) -> Decisions:
    """Replay packets that arrive at these ms, with columns and options of `replay` among `keys`."""
    columns = {key: keys.pop(key) for key in ("size", "flow", "ecn") if key in keys}
    queue = {"limit": "unlimited", **queue}
    return replay(queue, {"time": _ms(times), **columns}, _ms(departures), **keys)


def drops(found: Decisions, cause: str | None = None) -> int:
    """Return the number of drops, of one cause or of all."""
    return int((found.fate == "dropped").sum() if cause is None else (found.cause == cause).sum())


def marks_until(found: Decisions) -> list[int]:
    """Return the number of marked packets that had left after each time at which the queue was asked."""
    packets = found.trace["packet"][found.rows("departure")]
    return np.cumsum([packet >= 0 and bool(found.marked[packet]) for packet in packets]).tolist()


def codel() -> Iterator[Row]:
    """Return the rows of CoDel."""
    for unit in ("6pkt", "6000B"):
        found = run({"kind": "codel", "limit": unit}, [0] * 6, range(6), size=1000)
        order = found.left.tolist()
        yield Row(
            "codel", f"6 packets in and out, limit {unit}", "in order", str(order), order == list(range(6))
        )
    for unit in ("500pkt", "500000B"):
        found = run({"kind": "codel", "limit": unit}, [0] * 503, [], size=1000)
        yield Row(
            "codel",
            f"503 packets, limit {unit}",
            "3 drops",
            str(drops(found, "full")),
            drops(found, "full") == 3,
        )
    times = [10, 210, 210, 420]
    ns3 = {"kind": "codel", "variant": "ns3", "ecn": True}
    found = run(ns3, [0] * 20, times, size=1000)
    counts = [int((found.time[found.dropped] <= at * 10**6).sum()) for at in times]
    plans = np.unique(found.trace["drop_next"][found.rows("departure")])
    wanted = len(plans[plans > 0])
    yield Row(
        "codel",
        "20 packets, asked at 10, 210, 210, 420 ms",
        "a drop at 210 ms, later as many as drop_next moves",
        f"{counts}; drop_next has {wanted} values",
        counts[:3] == [0, 1, 1] and counts[3] >= 2,
    )
    found = run(ns3, [0] * 20, times, size=1000, ecn="ect0")
    marks = marks_until(found)
    yield Row(
        "codel",
        "the same, all ECT",
        "0, 1, 1, 2 marks, no drops",
        f"{marks}, {drops(found)} drops",
        marks == [0, 1, 1, 2] and not drops(found),
    )
    ecn = ["ect0"] * 3 + ["not-ect"] * 17
    threshold = {**ns3, "ce-threshold": "2ms"}
    found = run(threshold, [0] * 20, times, size=1000, ecn=ecn)
    marks = marks_until(found)
    yield Row(
        "codel",
        "CE threshold 2 ms, 3 ECT then 17 not",
        "by threshold 1, 1, 2 and by target 0, 1, 1: together 1, 2, 3",
        str(marks[:3]),
        marks[:3] == [1, 2, 3],
    )
    found = run(threshold, [0] * 20, [1, 3, 10, 210], size=1000, ecn="ect0")
    marks = marks_until(found)
    yield Row(
        "codel",
        "CE threshold 2 ms, asked at 1, 3, 10, 210 ms",
        "by threshold 0, 1, 2; by target at 210 ms",
        str(marks),
        marks == [0, 1, 2, 3],
    )


def fq_codel() -> Iterator[Row]:
    """Return the rows of FQ-CoDel, and of the disciplines that share its order."""
    packets = {"size": 120, "flow": [0, 0, 0, 1, 1]}
    for kind in ("fq-codel", "fq-pie"):
        found = run(
            {"kind": kind, "quantum": "90B", "hash": "plain"}, [0, 2, 2, 2, 2], [1, 3, 4, 5, 6, 7], **packets
        )
        deficits = found.trace["deficit"][found.rows("departure")].astype(int).tolist()
        wanted = [[60, -30], [-60, 60], [30, -60], [-90, 30], [90, 30]]
        yield Row(
            kind,
            "quantum 90, packets of 120 B, two flows",
            f"deficits {wanted}",
            str(deficits[1:]),
            deficits[1:] == wanted,
        )
    found = run({"kind": "fq-codel", "limit": "4pkt", "hash": "plain"}, [0] * 5, [], **packets)
    lines = found.trace["line_pkts"][-1].astype(int).tolist()
    yield Row(
        "fq-codel",
        "limit of 4: 3 of A, 1 of B, and one more of B",
        "two drops from the head of A; A 1, B 2",
        f"dropped {found.dropped.tolist()}; {lines}",
        found.dropped.tolist() == [0, 1] and lines == [1, 2],
    )
    ns3 = {"kind": "fq-codel", "variant": "ns3", "hash": "plain", "quantum": "1514B"}
    columns = {"size": 120, "flow": np.repeat(range(5), 20), "ecn": [2] * 80 + [0] * 20}
    found = run(ns3, [0] * 100, 110 * np.arange(1, 61), **columns)
    marked = [int(found.marked[20 * flow : 20 * flow + 20].sum()) for flow in range(5)]
    lost = [drops_of(found, flow) for flow in range(5)]
    yield Row(
        "fq-codel",
        "5 flows of 20 packets, the last not ECT; asked 60 times, 110 ms apart",
        "6 marks, 0 drops in each ECT flow; 4 drops in the other",
        f"marks {marked}, drops {lost}",
        (marked, lost) == ([6, 6, 6, 6, 0], [0, 0, 0, 0, 4]),
    )
    found = run({**ns3, "ce-threshold": "2ms"}, [0] * 100, 0.1 * np.arange(1, 61), **columns)
    marked = [int(found.marked[20 * flow : 20 * flow + 20].sum()) for flow in range(5)]
    yield Row(
        "fq-codel",
        "the same, CE threshold 2 ms, asked 0.1 ms apart",
        "0, 6 and 13 marks in the first flows, no drops",
        f"marks {marked}, {drops(found)} drops",
        marked[:3] == [0, 6, 13] and not drops(found),
    )
    yield from l4s()


def drops_of(found: Decisions, flow: int) -> int:
    """Return the number of drops among the 20 packets of a flow."""
    return int((found.fate[20 * flow : 20 * flow + 20] == "dropped").sum())


def l4s() -> Iterator[Row]:
    """Return the rows of ns-3's L4S mode: ns-3 asks the queue before packets of the same time arrive."""
    queue = {"kind": "fq-codel", "variant": "ns3", "hash": "plain", "ce-threshold": "2ms", "l4s": True}
    arrivals = np.repeat(0.5 * np.arange(1, 71), 2)
    columns = {"size": 120, "flow": [0, 1] * 70, "ecn": [1, 2] * 70}
    pie = {"kind": "fq-pie", "variant": "rfc8033", "hash": "plain", "ecn": True, "l4s-threshold": "2ms"}
    for kind, keys, wanted in (("fq-codel", queue, 1), ("fq-pie", pie, 0)):
        found = run(keys, arrivals, np.arange(1, 141) - 1e-6, **columns)
        one, zero = int(found.marked[::2].sum()), int(found.marked[1::2].sum())
        yield Row(
            kind,
            "L4S: 70 packets each of ECT(1) and ECT(0), 0.5 ms apart; asked 1 ms apart",
            f"66 marks of ECT(1), {wanted} of ECT(0), no drops",
            f"{one} and {zero}, {drops(found)} drops",
            (one, zero, drops(found)) == (66, wanted, 0),
        )
    times = sorted([(0.5 + k, 1) for k in range(70)] + [(float(k), 2) for k in range(1, 71)])
    columns = {"size": 120, "flow": 0, "ecn": [bits for _, bits in times]}
    found = run(queue, [at for at, _ in times], np.arange(1, 141) - 1e-6, **columns)
    bits = np.array(columns["ecn"])
    one, zero = int(found.marked[bits == 1].sum()), int(found.marked[bits == 2].sum())
    yield Row(
        "fq-codel",
        "L4S: both in one line",
        "68 marks of ECT(1), 1 of ECT(0), no drops",
        f"{one} and {zero}, {drops(found)} drops",
        (one, zero, drops(found)) == (68, 1, 0),
    )


def sets() -> Iterator[Row]:
    """Return the rows of the set-associative hash."""
    flows = [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 1024, 1025, 10]
    for kind in ("fq-codel", "fq-pie", "cake"):
        found = run({"kind": kind, "ways": 8, "hash": "plain"}, [0] * len(flows), [], flow=flows)

        def line(row: int, flow: int, found: Decisions = found) -> int:
            return int(found.trace["line"][row, found.of(flow)])

        places = [line(i, flow) for i, flow in enumerate(flows)]
        sizes = np.bincount(places[:11], minlength=9)[:8].tolist()
        later = [places[:12].count(0), places.count(8)]
        yield Row(
            kind,
            "8 ways, hashes 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 1024; then 1025, then 10",
            "classes of 2, 2, 1, 1, 2, 1, 1, 1; then class 0 has 3; class 8 has 1",
            f"{sizes}; {later[0]}; {later[1]}",
            sizes == [2, 2, 1, 1, 2, 1, 1, 1] and later == [3, 1],
        )


def red() -> Iterator[Row]:
    """Return the rows of RED."""
    base = {"kind": "red", "limit": "300pkt", "min": 70.0, "max": 150.0, "max-p": 0.02, "rate": "1.5Mbit"}
    for unit, more in (("packets", {}), ("bytes", {"in-bytes": True, "by-size": True, "limit": "150000B"})):

        def lost(unit_keys: dict[str, Any] = more, **keys: Any) -> Decisions:
            return run({**base, **unit_keys, **keys}, [0] * 300, [], size=500, trace=False)

        found = lost(weight=0.002)
        yield Row(
            "red",
            f"300 packets at once, in {unit}: weight 0.002",
            "no drops",
            str(drops(found)),
            not drops(found),
        )
        some = drops(lost(weight=0.02))
        yield Row("red", f"in {unit}: weight 0.02", "some drops", str(some), some > 0)
        for text, keys in (
            ("upper threshold 100", {"max": 100.0}),
            ("max-p 1/5", {"max-p": 0.2}),
            ("not gentle", {"gentle": False}),
            ("no wait", {"wait": False}),
        ):
            many = drops(lost(weight=0.02, **keys))
            yield Row(
                "red", f"in {unit}: weight 0.02, {text}", "more than that", f"{many} > {some}", many > some
            )
        marking = {"min": 30.0, "max": 90.0, "weight": 0.002, "max-p": 0.5, "ecn": True, "forced": True}
        for ecn, capable in (("not-ect", False), ("ect0", True)):
            found = run({**base, **more, **marking}, [0] * 300, [], size=500, ecn=ecn, trace=False)
            marked, early = int(found.marked.sum()), drops(found, "early")
            yield Row(
                "red",
                f"in {unit}: ECN, thresholds 30 and 90, packets {ecn}",
                "marks, no early drops" if capable else "early drops, no marks",
                f"{marked} marks, {early} early drops",
                (marked > 0, early > 0) == (capable, not capable),
            )
        found = run(
            {**base, **more, **marking, "ecn": False}, [0] * 300, [], size=500, ecn="ect0", trace=False
        )
        yield Row(
            "red",
            f"in {unit}: no ECN, packets ect0",
            "no marks",
            str(int(found.marked.sum())),
            not found.marked.any(),
        )


def ared() -> Iterator[Row]:
    """Return the rows of Adaptive RED and of automatic settings."""
    base = {"kind": "red", "limit": "300pkt", "max-p": 0.02, "link-delay": "20ms", "forced": True}

    def early(times: Any = (0,) * 300, **keys: Any) -> int:
        return drops(run({**base, "rate": "1.5Mbit", **keys}, times, [], size=500, trace=False), "early")

    thresholds = {"min": 70.0, "max": 150.0}
    for averaging, some in (("one-second", False), ("ten-rtts", False), ("tenth-of-second", True)):
        count = early(averaging=averaging, **thresholds)
        yield Row(
            "ared",
            f"{averaging} weight at 1.5 Mb/s",
            "early drops" if some else "no early drops",
            str(count),
            bool(count) == some,
        )
        slow = early(averaging=averaging, **thresholds, rate="0.015Mbit")
        yield Row(
            "ared",
            f"{averaging} weight at 15 kb/s",
            "another number" if some else "early drops",
            str(slow),
            slow != count if some else slow > 0,
        )
    count = early(weight=0.002)
    yield Row("ared", "automatic thresholds at 1.5 Mb/s", "early drops", str(count), count > 0)
    count = early(weight=0.002, rate="150Mbit")
    yield Row("ared", "automatic thresholds at 150 Mb/s", "no early drops", str(count), count == 0)
    times = 10 * np.arange(1, 301)
    fixed = early(times, min=5.0, max=15.0, weight=0.002, **{"max-p": 0.5})
    adaptive = early(times, adaptive=True, averaging="ten-rtts", **{"max-p": 0.5})
    yield Row(
        "ared",
        "a packet every 10 ms, adaptive",
        f"fewer early drops than fixed ({fixed})",
        str(adaptive),
        adaptive < fixed,
    )


def pie() -> Iterator[Row]:
    """Return the rows of PIE."""
    base = {"kind": "pie", "limit": "300pkt", "burst": "150ms", "derandomise": False}
    test = {"update": "30ms", "rate-threshold": "10000B", "target": "20ms", "burst": "100ms"}

    def served(every: float, count: int = 400, **keys: Any) -> Decisions:
        options = {key: keys.pop(key) for key in ("ecn_bits", "draws", "state") if key in keys}
        ecn = options.pop("ecn_bits", 0)
        at = np.arange(1, count + 1)
        return run({**base, **keys}, 10 * at, every * at - 1e-6, size=1000, ecn=ecn, **options)

    first = served(12, **test)
    early, full = drops(first, "early"), drops(first, "full")
    yield Row(
        "pie",
        "400 packets, one every 10 ms, asked every 12 ms",
        "early drops, none by the limit",
        f"{early}, {full}",
        early > 0 and full == 0,
    )
    count = drops(served(12, **{**test, "target": "80ms"}))
    yield Row("pie", "target 80 ms", "fewer", f"{count} < {early}", count < early)
    slow = drops(served(15, **test))
    yield Row("pie", "asked every 15 ms", "more", f"{slow} > {early}", slow > early)
    count = drops(served(15, **{**test, "update": "90ms"}))
    yield Row("pie", "asked every 15 ms, updates 90 ms apart", "fewer", f"{count} < {slow}", count < slow)
    count = drops(served(14, delay="rate"))
    yield Row("pie", "delay from the departure rate", "early drops", str(count), count > 0)
    for cap in (False, True):
        found = served(14, cap=cap)
        rise = float(np.diff(found.trace["p"][found.rows("timer")]).max())
        ok = rise <= 0.02 + 1e-12 if cap else rise > 0.02
        text = "never above 0.02" if cap else "once above 0.02"
        note = (
            ""
            if ok
            else "delays at updates are the head's age here, which moves less from one to the next than the sojourn of "
            "the packet that left last, ns-3's"
        )
        yield Row(
            "pie",
            f"asked every 14 ms, cap {'on' if cap else 'off'}",
            f"rise of p {text}",
            f"{rise:.4f}",
            ok,
            note,
        )
    for ecn, bits, some in ((True, 0, False), (False, 2, False), (True, 2, True)):
        found = served(14, ecn=ecn, ecn_bits=bits, **{"mark-p": 0.3})
        marked = int(found.marked.sum())
        yield Row(
            "pie",
            f"ECN {'on' if ecn else 'off'}, packets {'ECT' if bits else 'not ECT'}, marks below 0.3",
            "marks and early drops" if some else "no marks, early drops",
            f"{marked} marks, {drops(found, 'early')} early drops",
            bool(marked) == some and drops(found, "early") > 0,
            "" if drops(found, "early") > 0 else "p stays below 0.3 here",
        )
    yield from derandomised(served)
    for threshold, some in (("1s", False), ("1ms", True)):
        count = drops(served(20, count=100, **{"active-threshold": threshold}))
        yield Row(
            "pie",
            f"100 packets asked every 20 ms, active from {threshold}",
            "early drops" if some else "no drops",
            str(count),
            bool(count) == some,
        )


def derandomised(served: Callable[..., Decisions]) -> Iterator[Row]:
    """Return the rows of derandomisation. ns-3 sets accu before each packet: here it is set once, p small."""
    found = served(14, derandomise=True)
    rows = found.rows("arrival")
    accu, p = found.trace["accu"][rows], found.trace["p"][rows]
    early = found.cause == "early"
    rises = np.diff(accu)
    good = np.isclose(rises, p[1:]) | (rises == 0) | (accu[1:] == 0)
    yield Row(
        "pie",
        "derandomised: accu after every packet",
        "grows by p or is 0; 0 after a drop",
        f"{int((~good).sum())} of {len(good)} otherwise; {int((accu[early] != 0).sum())} after drops",
        bool(good.all() and (accu[early] == 0).all() and early.any()),
    )
    state = {"p": 0.001, "burst": 0, "delay": 10**9}
    at = np.zeros(40)
    queue = {"kind": "pie", "burst": "0s", "update": "1000s"}
    for accu_before, wanted in ((-0.16, 0), (8.6, 1)):
        hits = []
        for waiting in (3, 20):
            found = run(
                queue,
                at[: waiting + 1],
                [],
                size=1000,
                draws=0.999,
                state={**state, "accu": accu_before},
                trace=False,
            )
            hits.append(drops(found))
        yield Row(
            "pie",
            f"derandomised: accu {accu_before} before a packet that finds more than two, p 0.001",
            "dropped" if wanted else "not dropped",
            f"{hits} drops",
            hits == [wanted] * 2,
        )


def cobalt() -> Iterator[Row]:
    """Return the rows of COBALT."""
    found = run({"kind": "cobalt", "limit": "100pkt"}, 10 * np.arange(1, 201), [], size=1500)
    p = float(found.trace["p_blue"][-1])
    yield Row(
        "cobalt",
        "limit of 100, 200 packets 10 ms apart, none leave",
        "p_drop above 0, drops by the limit",
        f"{p:.4f}, {drops(found, 'full')}",
        p > 0 and drops(found, "full") == 100,
    )
    arrivals = np.sort(
        [*np.arange(1.0, 12.0), *(11 + 1.2 * np.arange(1, 10)), *(20 + np.arange(1.0, 11.0))],
    )
    asked = np.sort(
        [*(1.1 * np.arange(1, 12)), *(11 + 1.1 * np.arange(1, 10)), *(11 + 1.1 * np.arange(1, 11))]
    )
    queue = {"kind": "cobalt", "ecn": True, "ce-threshold": "1ms"}
    found = run(queue, arrivals, asked, size=1000, ecn="ect0")
    left = found.time[found.marked] / 1e6
    before = int((left < 28).sum())
    yield Row(
        "cobalt",
        "CE threshold 1 ms, arrivals 1, 1.2 and 1 ms apart, asked 1.1 ms apart",
        "1 mark from 11 to 28 ms; 3 after 31 ms",
        f"{before} until 28 ms",
        before == 1,
        "ns-3's last dequeue is at 22 ms (two series of them start at 11 ms), so that its demand for after 31 ms is "
        "never tested",
    )
    packets = {"size": 1500, "ecn": "ect0"}
    found = run({"kind": "cobalt", "blue-threshold": "400ms"}, [0] * 200, 10 * np.arange(1, 101), **packets)
    p = float(found.trace["p_blue"][-1])
    yield Row(
        "cobalt",
        "BLUE from 400 ms, 200 packets, asked 100 times",
        "p_drop 0.234375; 49 drops",
        f"{p}; {drops(found)} drops",
        p == 0.234375,
        "the drops by BLUE are random: other numbers than ns-3's",
    )
    found = run({"kind": "cobalt", "ecn": True}, [0] * 200, 10 * np.arange(1, 101), **packets)
    p = float(found.trace["p_blue"][-1])
    yield Row(
        "cobalt",
        "ECN, no BLUE threshold",
        "p_drop 0, no drops",
        f"{p:g}; {drops(found)}",
        p == 0 and not drops(found),
    )


def fifo() -> Iterator[Row]:
    """Return the rows of FIFO."""
    for unit, packets in (("4pkt", 4), ("4000B", 4)):
        found = run({"kind": "fifo", "limit": unit}, [0] * 6, range(6), size=1000)
        order = found.left.tolist()
        yield Row(
            "fifo", f"6 packets, limit {unit}", "4 leave in order", str(order), order == list(range(packets))
        )


SUITES: tuple[Callable[[], Iterator[Row]], ...] = (fifo, codel, fq_codel, sets, red, ared, pie, cobalt)


def rows() -> list[Row]:
    """Run every scenario."""
    return [row for suite in SUITES for row in suite()]


def table(found: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    lines = [
        "| discipline | scenario | ns-3 demands | here | | note |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in found:
        cells = (
            row.suite,
            row.scenario,
            row.demand,
            row.found,
            "holds" if row.ok else "**differs**",
            row.note,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def page(found: Sequence[Row]) -> str:
    """Return the whole page."""
    held = sum(row.ok for row in found)
    return f"{HEAD}\n{len(found)} demands: {held} hold, {len(found) - held} differ.\n\n{table(found)}"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    target.write_text(page(rows()), encoding="utf-8")
    print(target)
