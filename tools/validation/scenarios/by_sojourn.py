"""ns-3's tests of disciplines that judge packets as they leave: FIFO, CoDel, FQ-CoDel and its kin, COBALT."""

from collections.abc import Iterator

import numpy as np

from tools.validation.scenarios.row import Row, drops, equal, marks_until, run


def fifo() -> Iterator[Row]:
    """Return the rows of FIFO."""
    for unit in ("4pkt", "4000B"):
        order = run({"kind": "fifo", "limit": unit}, [0] * 6, range(6), size=1000).left.tolist()
        yield Row("fifo", f"6 packets, limit {unit}", "4 leave in order", *equal(order, [0, 1, 2, 3]))


def codel() -> Iterator[Row]:
    """Return the rows of CoDel."""
    for unit in ("6pkt", "6000B"):
        order = run({"kind": "codel", "limit": unit}, [0] * 6, range(6), size=1000).left.tolist()
        scenario = f"6 packets in and out, limit {unit}"
        yield Row("codel", scenario, "in order", *equal(order, list(range(6))))
    for unit in ("500pkt", "500000B"):
        full = drops(run({"kind": "codel", "limit": unit}, [0] * 503, [], size=1000), "full")
        yield Row("codel", f"503 packets, limit {unit}", "3 drops", *equal(full, 3))
    times = [10, 210, 210, 420]
    ns3 = {"kind": "codel", "variant": "ns3", "ecn": True}
    found = run(ns3, [0] * 20, times, size=1000)
    counts = [int((found.time[found.dropped] <= at * 10**6).sum()) for at in times]
    count = found.trace["count"][found.rows("departure")].astype(int).tolist()
    yield Row(
        "codel",
        "20 packets, asked at 10, 210, 210, 420 ms",
        "a drop at 210 ms, at 420 ms as many as drop_next moves",
        f"{counts}; count, which moves with it, {count}",
        counts == [0, 1, 1, 4] and count == [0, 1, 1, 4],
    )
    found = run(ns3, [0] * 20, times, size=1000, ecn="ect0")
    marks, lost = marks_until(found), drops(found)
    ok = marks == [0, 1, 1, 2] and not lost
    yield Row("codel", "the same, all ECT", "0, 1, 1, 2 marks, no drops", f"{marks}, {lost} drops", ok)
    ecn = ["ect0"] * 3 + ["not-ect"] * 17
    threshold = {**ns3, "ce-threshold": "2ms"}
    marks = marks_until(run(threshold, [0] * 20, times, size=1000, ecn=ecn))[:3]
    demand = "by threshold 1, 1, 2 and by target 0, 1, 1: together 1, 2, 3"
    yield Row("codel", "CE threshold 2 ms, 3 ECT then 17 not", demand, *equal(marks, [1, 2, 3]))
    marks = marks_until(run(threshold, [0] * 20, [1, 3, 10, 210], size=1000, ecn="ect0"))
    demand = "by threshold 0, 1, 2; by target at 210 ms"
    yield Row("codel", "CE threshold 2 ms, asked at 1, 3, 10, 210 ms", demand, *equal(marks, [0, 1, 2, 3]))


def fq_codel() -> Iterator[Row]:
    """Return the rows of FQ-CoDel, and of the disciplines that share its order."""
    packets = {"size": 120, "flow": [0, 0, 0, 1, 1]}
    wanted = [[60, -30], [-60, 60], [30, -60], [-90, 30], [90, 30]]
    for kind in ("fq-codel", "fq-pie"):
        queue = {"kind": kind, "quantum": "90B", "hash": "plain"}
        found = run(queue, [0, 2, 2, 2, 2], [1, 3, 4, 5, 6, 7], **packets)
        deficits = found.trace["deficit"][found.rows("departure")].astype(int).tolist()[1:]
        scenario = "quantum 90, packets of 120 B, two flows"
        yield Row(kind, scenario, f"deficits {wanted}", *equal(deficits, wanted))
    found = run({"kind": "fq-codel", "limit": "4pkt", "hash": "plain"}, [0] * 5, [], **packets)
    dropped, lines = found.dropped.tolist(), found.trace["line_pkts"][-1].astype(int).tolist()
    scenario = "limit of 4: 3 of A, 1 of B, and one more of B"
    ok = dropped == [0, 1] and lines == [1, 2]
    demand = "two drops from the head of A; A 1, B 2"
    yield Row("fq-codel", scenario, demand, f"dropped {dropped}; {lines}", ok)
    ns3 = {"kind": "fq-codel", "variant": "ns3", "hash": "plain", "quantum": "1514B"}
    columns = {"size": 120, "flow": np.repeat(range(5), 20), "ecn": [2] * 80 + [0] * 20}
    found = run(ns3, [0] * 100, 110 * np.arange(1, 61), **columns)
    marked, lost = (of_flows(which) for which in (found.marked, found.fate == "dropped"))
    yield Row(
        "fq-codel",
        "5 flows of 20 packets, the last not ECT; asked 60 times, 110 ms apart",
        "6 marks, 0 drops in each ECT flow; 4 drops in the other",
        f"marks {marked}, drops {lost}",
        (marked, lost) == ([6, 6, 6, 6, 0], [0, 0, 0, 0, 4]),
    )
    found = run({**ns3, "ce-threshold": "2ms"}, [0] * 100, 0.1 * np.arange(1, 61), **columns)
    marked, lost = of_flows(found.marked), drops(found)
    scenario = "the same, CE threshold 2 ms, asked 0.1 ms apart"
    demand = "0, 6 and 13 marks in the first flows, no drops"
    ok = marked[:3] == [0, 6, 13] and not lost
    yield Row("fq-codel", scenario, demand, f"marks {marked}, {lost} drops", ok)
    yield from l4s()


def of_flows(which: np.ndarray) -> list[int]:
    """Return how many of the 20 packets of each flow are so."""
    return which.reshape(-1, 20).sum(axis=1).tolist()


def l4s() -> Iterator[Row]:
    """Return the rows of ns-3's L4S mode: ns-3 asks the queue before packets of the same time arrive."""
    queue = {"kind": "fq-codel", "variant": "ns3", "hash": "plain", "ce-threshold": "2ms", "l4s": True}
    pie = {"kind": "fq-pie", "variant": "rfc8033", "hash": "plain", "ecn": True, "l4s-threshold": "2ms"}
    apart = "70 packets each of ECT(1) and ECT(0), 0.5 ms apart; asked 1 ms apart"
    two = (np.repeat(0.5 * np.arange(1, 71), 2), [0, 1] * 70, [1, 2] * 70)
    times = sorted([(0.5 + k, 1) for k in range(70)] + [(float(k), 2) for k in range(1, 71)])
    one = ([at for at, _ in times], 0, [bits for _, bits in times])
    for keys, scenario, (arrivals, flow, ecn), wanted in (
        (queue, apart, two, (66, 1, 0)),
        (pie, apart, two, (66, 0, 0)),
        (queue, "both in one line", one, (68, 1, 0)),
    ):
        found = run(keys, arrivals, np.arange(1, 141) - 1e-6, size=120, flow=flow, ecn=ecn)
        marked = [int(found.marked[np.array(ecn) == bits].sum()) for bits in (1, 2)]
        demand = f"{wanted[0]} marks of ECT(1), {wanted[1]} of ECT(0), no drops"
        text = f"{marked[0]} and {marked[1]}, {drops(found)} drops"
        yield Row(keys["kind"], f"L4S: {scenario}", demand, text, (*marked, drops(found)) == wanted)


def sets() -> Iterator[Row]:
    """Return the rows of the set-associative hash."""
    flows = [0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 1024, 1025, 10]
    for kind in ("fq-codel", "fq-pie", "cake"):
        found = run({"kind": kind, "ways": 8, "hash": "plain"}, [0] * len(flows), [], flow=flows)

        places = [int(found.trace["line"][row, found.of(flow)]) for row, flow in enumerate(flows)]
        sizes = np.bincount(places[:11], minlength=9)[:8].tolist()
        later = [places[:12].count(0), places.count(8)]
        yield Row(
            kind,
            "8 ways, hashes 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 1024; then 1025, then 10",
            "classes of 2, 2, 1, 1, 2, 1, 1, 1; then class 0 has 3; class 8 has 1",
            f"{sizes}; {later[0]}; {later[1]}",
            sizes == [2, 2, 1, 1, 2, 1, 1, 1] and later == [3, 1],
        )


def cobalt() -> Iterator[Row]:
    """Return the rows of COBALT."""
    found = run({"kind": "cobalt", "limit": "100pkt"}, 10 * np.arange(1, 201), [], size=1500)
    p = float(found.trace["p_blue"][-1])
    full = drops(found, "full")
    scenario = "limit of 100, 200 packets 10 ms apart, none leave"
    ok = p > 0 and full == 100
    yield Row("cobalt", scenario, "p_drop above 0, drops by the limit", f"{p:.4f}, {full}", ok)
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
        "ns-3's last dequeue is at 22 ms (two series of them start at 11 ms), so that its demand for after "
        "31 ms is never tested",
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
    lost = drops(found)
    ok = p == 0 and not lost
    yield Row("cobalt", "ECN, no BLUE threshold", "p_drop 0, no drops", f"{p:g}; {lost}", ok)
