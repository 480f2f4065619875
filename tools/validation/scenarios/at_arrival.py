"""ns-3's tests of disciplines that judge packets as they arrive: RED, Adaptive RED and PIE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sojourn.parts.queue import Decisions

from tools.validation.scenarios.row import Row, drops, run


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
        return run({**base, **keys}, 10 * at, every * at, size=1000, ecn=ecn, **options)

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
        yield Row(
            "pie",
            f"asked every 14 ms, cap {'on' if cap else 'off'}",
            f"rise of p {text}",
            f"{rise:.4f}",
            ok,
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
            "ns-3 sets accu before each of 400 packets; here before the first one tested, at two backlogs",
        )
