"""ns-3's tests of disciplines that judge packets as they arrive: RED, Adaptive RED and PIE."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sojourn.parts.queue import Decisions

from tools.validation.scenarios.row import Row, drops, none, run, some


def red() -> Iterator[Row]:
    """Return the rows of RED."""
    base = {"kind": "red", "limit": "300pkt", "min": 70.0, "max": 150.0, "max-p": 0.02, "rate": "1.5Mbit"}
    marking = {"min": 30.0, "max": 90.0, "weight": 0.002, "max-p": 0.5, "ecn": True, "forced": True}

    def sent(packets: str = "not-ect", **keys: Any) -> Decisions:
        return run({**base, **keys}, [0] * 300, [], size=500, ecn=packets, trace=False)

    for unit, more in (("packets", {}), ("bytes", {"in-bytes": True, "by-size": True, "limit": "150000B"})):
        lost = drops(sent(weight=0.002, **more))
        yield Row("red", f"300 packets at once, in {unit}: weight 0.002", "no drops", *none(lost))
        few = drops(sent(weight=0.02, **more))
        yield Row("red", f"in {unit}: weight 0.02", "some drops", *some(few))
        for text, keys in (
            ("upper threshold 100", {"max": 100.0}),
            ("max-p 1/5", {"max-p": 0.2}),
            ("not gentle", {"gentle": False}),
            ("no wait", {"wait": False}),
        ):
            many = drops(sent(weight=0.02, **{**more, **keys}))
            scenario = f"in {unit}: weight 0.02, {text}"
            yield Row("red", scenario, "more than that", f"{many} > {few}", many > few)
        for ecn, capable in (("not-ect", False), ("ect0", True)):
            found = sent(ecn, **{**more, **marking})
            marked, early = int(found.marked.sum()), drops(found, "early")
            scenario = f"in {unit}: ECN, thresholds 30 and 90, packets {ecn}"
            demand = "marks, no early drops" if capable else "early drops, no marks"
            ok = (marked > 0, early > 0) == (capable, not capable)
            yield Row("red", scenario, demand, f"{marked} marks, {early} early drops", ok)
        marked = int(sent("ect0", **{**more, **marking, "ecn": False}).marked.sum())
        yield Row("red", f"in {unit}: no ECN, packets ect0", "no marks", *none(marked))


def ared() -> Iterator[Row]:
    """Return the rows of Adaptive RED and of automatic settings."""
    base = {"kind": "red", "limit": "300pkt", "max-p": 0.02, "link-delay": "20ms", "forced": True}

    def early(times: Any = (0,) * 300, **keys: Any) -> int:
        return drops(run({**base, "rate": "1.5Mbit", **keys}, times, [], size=500, trace=False), "early")

    thresholds = {"min": 70.0, "max": 150.0}
    for averaging, few in (("one-second", False), ("ten-rtts", False), ("tenth-of-second", True)):
        count = early(averaging=averaging, **thresholds)
        demand = "early drops" if few else "no early drops"
        yield Row("ared", f"{averaging} weight at 1.5 Mb/s", demand, *some(count, few))
        slow = early(averaging=averaging, **thresholds, rate="0.015Mbit")
        demand, ok = ("another number", slow != count) if few else ("early drops", slow > 0)
        yield Row("ared", f"{averaging} weight at 15 kb/s", demand, str(slow), ok)
    count = early(weight=0.002)
    yield Row("ared", "automatic thresholds at 1.5 Mb/s", "early drops", *some(count))
    count = early(weight=0.002, rate="150Mbit")
    yield Row("ared", "automatic thresholds at 150 Mb/s", "no early drops", *none(count))
    times = 10 * np.arange(1, 301)
    fixed = early(times, min=5.0, max=15.0, weight=0.002, **{"max-p": 0.5})
    adaptive = early(times, adaptive=True, averaging="ten-rtts", **{"max-p": 0.5})
    demand = f"fewer early drops than fixed ({fixed})"
    yield Row("ared", "a packet every 10 ms, adaptive", demand, str(adaptive), adaptive < fixed)


def pie() -> Iterator[Row]:
    """Return the rows of PIE."""
    base = {"kind": "pie", "limit": "300pkt", "burst": "150ms", "derandomise": False}
    test = {"update": "30ms", "rate-threshold": "10000B", "target": "20ms", "burst": "100ms"}

    def served(every: float, count: int = 400, bits: int = 0, **keys: Any) -> Decisions:
        at = np.arange(1, count + 1)
        return run({**base, **keys}, 10 * at, every * at, size=1000, ecn=bits)

    first = served(12, **test)
    early, full = drops(first, "early"), drops(first, "full")
    scenario = "400 packets, one every 10 ms, asked every 12 ms"
    ok = early > 0 and full == 0
    yield Row("pie", scenario, "early drops, none by the limit", f"{early}, {full}", ok)
    count = drops(served(12, **{**test, "target": "80ms"}))
    yield Row("pie", "target 80 ms", "fewer", f"{count} < {early}", count < early)
    slow = drops(served(15, **test))
    yield Row("pie", "asked every 15 ms", "more", f"{slow} > {early}", slow > early)
    count = drops(served(15, **{**test, "update": "90ms"}))
    yield Row("pie", "asked every 15 ms, updates 90 ms apart", "fewer", f"{count} < {slow}", count < slow)
    count = drops(served(14, delay="rate"))
    yield Row("pie", "delay from the departure rate", "early drops", *some(count))
    for cap in (False, True):
        found = served(14, cap=cap)
        rise = float(np.diff(found.trace["p"][found.rows("timer")]).max())
        ok = rise <= 0.02 + 1e-12 if cap else rise > 0.02
        scenario = f"asked every 14 ms, cap {'on' if cap else 'off'}"
        text = "never above 0.02" if cap else "once above 0.02"
        yield Row("pie", scenario, f"rise of p {text}", f"{rise:.4f}", ok)
    for ecn, bits, few in ((True, 0, False), (False, 2, False), (True, 2, True)):
        found = served(14, bits=bits, ecn=ecn, **{"mark-p": 0.3})
        marked, early = int(found.marked.sum()), drops(found, "early")
        capable = "ECT" if bits else "not ECT"
        scenario = f"ECN {'on' if ecn else 'off'}, packets {capable}, marks below 0.3"
        demand = "marks and early drops" if few else "no marks, early drops"
        ok = bool(marked) == few and early > 0
        yield Row("pie", scenario, demand, f"{marked} marks, {early} early drops", ok)
    yield from derandomised(served(14, derandomise=True))
    for threshold, few in (("1s", False), ("1ms", True)):
        count = drops(served(20, count=100, **{"active-threshold": threshold}))
        scenario = f"100 packets asked every 20 ms, active from {threshold}"
        yield Row("pie", scenario, "early drops" if few else "no drops", *some(count, few))


def derandomised(found: Decisions) -> Iterator[Row]:
    """Return the rows of derandomisation. ns-3 sets accu before each packet: here it is set once, p small."""
    rows = found.rows("arrival")
    accu, p = found.trace["accu"][rows], found.trace["p"][rows]
    early = found.cause == "early"
    rises = np.diff(accu)
    good = np.isclose(rises, p[1:]) | (rises == 0) | (accu[1:] == 0)
    demand = "grows by p or is 0; 0 after a drop"
    text = f"{int((~good).sum())} of {len(good)} otherwise; {int((accu[early] != 0).sum())} after drops"
    ok = bool(good.all() and (accu[early] == 0).all() and early.any())
    yield Row("pie", "derandomised: accu after every packet", demand, text, ok)
    queue = {"kind": "pie", "burst": "0s", "update": "1000s"}
    for accu_before, wanted in ((-0.16, 0), (8.6, 1)):
        state = {"p": 0.001, "burst": 0, "delay": 10**9, "accu": accu_before}
        options = {"size": 1000, "draws": 0.999, "state": state, "trace": False}
        hits = [drops(run(queue, np.zeros(waiting + 1), [], **options)) for waiting in (3, 20)]
        yield Row(
            "pie",
            f"derandomised: accu {accu_before} before a packet that finds more than two, p 0.001",
            "dropped" if wanted else "not dropped",
            f"{hits} drops",
            hits == [wanted] * 2,
            "ns-3 sets accu before each of 400 packets; here before the first one tested, at two backlogs",
        )
