"""`sojourn.replay`: what goes in, what comes out, what is refused; and its page."""

import contextlib
import io
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st

DOCS = Path(__file__).resolve().parent.parent / "docs"
CODEL = {"kind": "codel", "limit": "1000pkt"}

QUEUES = [
    {"kind": "fifo", "limit": "9pkt"},
    {"kind": "fifo", "limit": "9kB", "drop": "head"},
    {"kind": "netem", "limit": "30pkt", "delay": "3ms"},
    {"kind": "policer", "limit": "30pkt", "rate": "2Mbit", "burst": "4kB"},
    *(
        {**CODEL, "variant": v, "target": "1ms", "interval": "8ms"}
        for v in ("rfc8289", "linux", "ns3", "ns2_2013")
    ),
    {"kind": "codel", "limit": "20kB", "variant": "linux", "ecn": True, "ce-threshold": "2ms", "l4s": True},
    {"kind": "fq-codel", "limit": "30pkt", "target": "1ms", "ways": 8},
    {"kind": "fq-codel", "memory": "20kB", "target": "1ms", "drop-batch": 2},
    {"kind": "sfq-codel", "limit": "30pkt", "bins": 4, "target": "1ms"},
    {"kind": "sfq", "limit": "9pkt"},
    {"kind": "cobalt", "limit": "9pkt", "target": "1ms", "blue-threshold": "3ms", "ecn": True},
    {"kind": "cake", "limit": "9pkt", "target": "1ms"},
    *(
        {"kind": "pie", "limit": "40pkt", "variant": v, "burst": "0s"}
        for v in ("rfc8033", "linux", "ns2_authors")
    ),
    {"kind": "pie", "limit": "40kB", "target": "1ms", "ecn": True, "by-size": True, "l4s-threshold": "1ms"},
    {"kind": "fq-pie", "target": "1ms", "burst": "0s"},
    {"kind": "dualpi2", "target": "1ms", "limit": "40pkt"},
    {"kind": "red", "limit": "40pkt", "weight": 0.3, "min": 2.0, "max": 4.0, "ecn": True, "adaptive": True},
    {
        "kind": "red",
        "limit": "40kB",
        "variant": "paper",
        "weight": 0.3,
        "min": 2.0,
        "max": 4.0,
        "in-bytes": True,
    },
    {"kind": "red", "limit": "40pkt", "weight": 0.3, "min": 2.0, "max": 4.0, "feng": True, "forced": True},
]


def test_the_example_of_the_page_prints_what_it_says():
    text = (DOCS / "replay.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", text, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "replay.md", "exec"), {})
    assert out.getvalue() == printed
    code, printed = re.search(r"  ```python\n(.*?)  ```\n\n  ```text\n(.*?)  ```", text, re.DOTALL).groups()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(textwrap.dedent(code), "replay.md", "exec"), {"sojourn": sojourn})
    assert out.getvalue() == textwrap.dedent(printed)


def test_the_page_names_every_variable():
    text = (DOCS / "replay.md").read_text(encoding="utf-8")
    table = text[text.index("## Variables") : text.index("## Errors")]
    named = set(re.findall(r"`([a-z0-9_]+)`", table))
    for queue in QUEUES:
        found = sojourn.replay(queue, {"time": [0, 1]}, [2])
        own = set(found.trace) - {"time", "event", "packet", "flows", "backlog_pkts", "backlog_bytes"}
        assert own <= named, queue["kind"]


packets = st.lists(
    st.tuples(
        st.integers(0, 3_000_000),
        st.integers(40, 1500),
        st.integers(0, 3),
        st.sampled_from(["not-ect", "ect0", "ect1"]),
    ),
    max_size=120,
)


@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: "-".join(map(str, queue.values())))
@settings(max_examples=15, deadline=None)
@given(packets, st.one_of(st.just("1Mbit"), st.lists(st.integers(0, 9_000_000), max_size=60).map(sorted)))
def test_arrivals_are_departures_drops_and_backlog(queue, gaps, departures):
    times = np.cumsum([row[0] for row in gaps], dtype=np.int64)
    rows = [(int(at), *row[1:]) for at, row in zip(times, gaps, strict=True)]
    found = sojourn.replay(queue, rows, departures)
    count = {fate: int((found.fate == fate).sum()) for fate in ("dequeued", "dropped", "waiting")}
    assert sum(count.values()) == len(rows)
    assert (count["dequeued"], count["dropped"]) == (len(found.left), len(found.dropped))
    assert count["waiting"] == (found.trace["backlog_pkts"][-1] if len(found.trace["time"]) else 0)
    assert count["waiting"] == 0 or not isinstance(departures, str)
    gone = found.time >= 0
    assert (found.time[gone] >= times[gone]).all(), "a negative sojourn"
    flows = np.array([row[2] for row in rows], dtype=int)
    if queue["kind"] != "dualpi2":
        for flow in range(4):
            assert (np.diff(found.left[flows[found.left] == flow].astype(int)) > 0).all()
    capable = np.array([row[3] != "not-ect" for row in rows], dtype=bool)
    assert not found.marked[~capable].any()


def test_without_packets_there_are_variables_all_the_same():
    found = sojourn.replay({"kind": "pie", "limit": "9pkt"}, [], [10**9], state={"p": 0.5})
    assert found.trace["p"].shape == found.trace["time"].shape and found.trace["p"][-1] < 0.5
    lines = sojourn.replay({"kind": "fq-pie"}, [], [10**9])
    assert "next_update" in lines.trace and "deficit" not in lines.trace


def test_packets_as_columns_arrays_or_tuples_are_the_same():
    columns = {"time": np.arange(5), "size": 100, "flow": [1, 2, 1, 2, 1], "ecn": "ect0"}
    tuples = [(k, 100, [1, 2][k % 2], 2) for k in range(5)]
    one, other = (sojourn.replay(CODEL, given, [3, 9, 9]) for given in (columns, tuples))
    assert one.time.tolist() == other.time.tolist()
    assert one.left.tolist() == other.left.tolist() == [0, 1, 2]
    assert sojourn.replay(CODEL, [], []).time.shape == (0,)


def test_a_link_serves_one_packet_after_another():
    found = sojourn.replay(CODEL, {"time": [0, 0, 9_000_000], "size": 1000}, "2Mbit")
    assert found.time.tolist() == [0, 4_000_000, 9_000_000]


def test_the_seed_decides_and_nothing_else():
    queue = {"kind": "red", "limit": "99pkt", "weight": 1.0, "min": 2.0, "max": 40.0}
    runs = [sojourn.replay(queue, {"time": [0] * 80}, [], seed=seed).dropped.tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_given_random_numbers_are_taken_in_order():
    queue = {
        "kind": "red",
        "limit": "99pkt",
        "weight": 1.0,
        "min": 2.0,
        "max": 40.0,
        "wait": False,
        "max-p": 1.0,
    }
    once = {"time": [0] * 8}
    always = sojourn.replay(queue, once, [], draws=0.999).dropped.tolist()
    assert always == []
    # The first packet at the lower threshold is spared; the others draw.
    assert sojourn.replay(queue, once, [], draws=[0.999, 0.0, 0.999, 0.0, 0.999]).dropped.tolist() == [4, 6]
    by_packet = {"by_packet": [0.999] * 5 + [0.0, 0.999, 0.0]}
    assert sojourn.replay(queue, once, [], draws=by_packet).dropped.tolist() == [5, 7]
    with pytest.raises(sojourn.StudyError, match=r"drew 4 random numbers, but 1 are given|drew 5"):
        sojourn.replay(queue, once, [], draws=[0.999])


@pytest.mark.parametrize(
    ("queue", "says"),
    [
        (
            {"kind": "fifo"},
            'missing field `limit`: how much it holds, all flows together, as in limit = "64pkt"',
        ),
        ({"kind": "DropTail"}, "missing field `limit`: how much it holds, all flows together, as in limit ="),
        (
            {},
            "missing field `kind`, expected one of `fifo`, `netem`, `codel`, `fq-codel`, `cobalt`, `cake`, ",
        ),
        # What is said of a whole study, which is no queue.
        (
            {"name": "m", "path": {"rtt": "40ms"}},
            "missing field `kind`, expected one of `fifo`, `netem`, `codel`",
        ),
        ({"kind": "fifo", "limit": "9"}, '"9" is not a limit: it has no unit; write packets ("64pkt")'),
    ],
)
def test_what_a_queue_lacks_is_said_with_what_may_stand_there(queue, says):
    with pytest.raises(sojourn.StudyError) as error:
        sojourn.replay(queue, {"time": [0]}, [])
    assert str(error.value).startswith(f"queue: {says}")


def test_variables_of_a_flow_are_set_for_that_flow():
    queue = {"kind": "fq-codel", "hash": "plain"}
    rows = {"time": 0 * np.arange(4), "flow": [5, 9, 5, 9]}
    found = sojourn.replay(queue, rows, [], state={"count": {9: 7}})
    assert found.trace["count"][-1].tolist() == [0, 7]
    assert (found.of(5), found.of(9)) == (0, 1)


PLAIN = {"time": [0, 1]}


@pytest.mark.parametrize(
    ("arguments", "keys", "says"),
    [
        (({"kind": "codell"}, PLAIN, []), {}, "unknown variant `codell`"),
        (({**CODEL, "target": "5"}, PLAIN, []), {}, "it has no unit"),
        (({**CODEL, "targets": "5ms"}, PLAIN, []), {}, "unknown field `targets`"),
        (({**CODEL, "interval": "1us"}, PLAIN, []), {}, "too short an interval"),
        (({**CODEL, "limit": "2BDP"}, PLAIN, []), {}, "needs a path"),
        (({**CODEL, "limit": "20ms"}, PLAIN, []), {}, "needs a link's rate"),
        (({"kind": "red", "limit": "9pkt"}, PLAIN, []), {}, "give rate"),
        (({"kind": "pie", "limit": "9pkt", "update": "1ns"}, PLAIN, []), {}, "too short a time"),
        (({"kind": "fq-codel", "flows": 9, "ways": 8}, PLAIN, []), {}, "divisor of flows"),
        (({**CODEL, "l4s": True}, PLAIN, []), {}, "give that too"),
        (
            (CODEL, {"time": [0, 7, 5, 4]}, []),
            {},
            "packet 2 is at 5 ns, before packet 1 at 7 ns; expected them",
        ),
        ((CODEL, PLAIN, [3, 1]), {}, "departure 1 is at 1 ns, before departure 0 at 3 ns; expected them"),
        ((CODEL, PLAIN, "2Mbps"), {}, "Mbit"),
        ((CODEL, PLAIN, 2_000_000), {}, "neither a rate"),
        ((CODEL, {"time": [0], "size": 70_000}, []), {}, "from 1 to 65535"),
        ((CODEL, {"size": [1]}, []), {}, "need a time"),
        ((CODEL, {"time": [0], "colour": 1}, []), {}, 'no "colour"'),
        ((CODEL, {"time": [0], "size": [1, 2]}, []), {}, "one for each packet"),
        ((CODEL, {"time": [0.5]}, []), {}, "whole number"),
        ((CODEL, {"time": [-1]}, []), {}, "whole number from 0"),
        ((CODEL, {"time": [float("nan")]}, []), {}, "whole number"),
        ((CODEL, {"time": ["x"]}, []), {}, "whole numbers"),
        ((CODEL, {"time": [0], "ecn": "ect2"}, []), {}, "no ECN codepoint"),
        ((CODEL, [(0, 1, 2, 3, 4)], []), {}, "is not a packet"),
        ((CODEL, PLAIN, []), {"state": {"speed": 1}}, "no variable speed"),
        (({"kind": "dualpi2"}, PLAIN, []), {"state": {"p_l4s": 1}}, "cannot be set"),
        (({"kind": "fq-codel"}, PLAIN, []), {"state": {"deficit": 1}}, "before its first packet"),
        ((CODEL, PLAIN, []), {"state": {"count": "many"}}, "count is 'many'; expected a number"),
        (
            (CODEL, PLAIN, []),
            {"state": {"count": -1}},
            "^count = -1: this variable must be a whole number, 0 to 4294967295$",
        ),
        ((CODEL, PLAIN, []), {"state": {"count": 1.5}}, "count = 1.5: this variable must be a whole number"),
        ((CODEL, PLAIN, []), {"state": {"dropping": 2}}, "^dropping = 2: this variable must be 0 or 1$"),
        (
            (CODEL, PLAIN, []),
            {"state": {"drop_next": -1}},
            "^drop_next = -1: this variable must be nanoseconds, 0 or more$",
        ),
        ((CODEL, PLAIN, []), {"draws": [1.5]}, "not a random number"),
        ((CODEL, PLAIN, []), {"draws": {"by_packet": [0.5]}}, "give one for each"),
        ((CODEL, PLAIN, []), {"draws": {"by_flow": [0.5]}}, "by_packet"),
        ((CODEL, PLAIN, []), {"seed": -1}, "seed"),
        ((CODEL, PLAIN, []), {"seed": 1.5}, "seed 1.5 is not a whole number"),
        (("fifo", PLAIN, []), {}, "queue is 'fifo'; expected a mapping"),
        (
            ({"kind": "fifo", "limit": float("nan")}, PLAIN, []),
            {},
            "the queue holds something other than finite",
        ),
        (({("a", 1): 2}, PLAIN, []), {}, "the queue holds something other than"),
        ((CODEL, 5, []), {}, "packets are 5; write columns"),
        ((CODEL, np.array(5), []), {}, "packets are array.5.; write columns"),
        ((CODEL, {"time": [0], "ecn": [None]}, []), {}, "ecn"),
        ((CODEL, PLAIN, [[1], [1, 2]]), {}, "neither a rate"),
        ((CODEL, PLAIN, []), {"state": 5}, "state is 5; expected a mapping"),
        ((CODEL, PLAIN, []), {"state": {"count": float("nan")}}, "count is nan; expected a number"),
        ((CODEL, PLAIN, []), {"state": {"count": {"a": 1}}}, "count: flow 'a' is not a whole number"),
        (({"kind": "pie", "limit": "9pkt"}, {"time": [0, 2**62]}, []), {}, "shorter time|too many|million"),
    ],
)
def test_refusals_are_one_sentence(arguments, keys, says):
    with pytest.raises(ValueError, match=says) as error:
        sojourn.replay(*arguments, **keys)
    assert "\n" not in str(error.value)


def test_a_replay_without_a_trace_has_no_rows_of_it():
    with pytest.raises(ValueError, match=r"^there is no trace: the replay was asked for none$"):
        sojourn.replay(CODEL, PLAIN, [], trace=False).rows("departure")


@pytest.mark.parametrize("queue", QUEUES, ids=lambda queue: queue["kind"])
def test_packets_that_arrive_marked_are_not_counted_as_marked(queue):
    packets = {"time": np.arange(400) * 10**6, "size": 1000, "flow": np.arange(400) % 3, "ecn": "ce"}
    found = sojourn.replay(queue, packets, "4Mbit", trace=False)
    assert not found.marked.any()


def test_the_drops_of_one_departure_share_a_row_and_a_time():
    times = [ms * 10**6 for ms in (10, 210, 210, 420)]
    codel = {**CODEL, "variant": "linux"}
    found = sojourn.replay(codel, {"time": [0] * 20, "size": 1000}, times)
    row = found.rows("departure")[3]
    dropped = found.dropped[found.time[found.dropped] == found.trace["time"][row]]
    assert dropped.tolist() == [4, 5, 6]
    assert found.trace["packet"][row] == 7
    assert found.trace["count"][row - 1] == 1
    assert found.trace["count"][row] == 4


def test_the_probability_of_red_is_never_above_one():
    packets = {"time": np.arange(2000) * 10**6, "size": 1000}
    queue = {"kind": "red", "limit": "1000pkt", "weight": 0.1, "min": 5, "max": 15, "rate": "4Mbit"}
    found = sojourn.replay(queue, packets, "4Mbit", draws=0.999)
    p_a = found.trace["p_a"]
    assert p_a.max() == 1
    assert found.trace["p_b"].max() > 0.5
