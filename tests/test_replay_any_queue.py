"""Any queue that the schema allows is replayed or refused with a sentence: no crash, no lost packet."""

import json

import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn import _core

DEFS = json.loads(_core.schema())["$defs"]
KINDS = {entry["properties"]["kind"]["const"]: entry for entry in DEFS["QueueSpec"]["oneOf"]}

VALUES = {
    "Time": st.sampled_from(["0s", "1ns", "1us", "100us", "1ms", "20ms", "3s", "2562047h"]),
    "Size": st.sampled_from(["0B", "1B", "64B", "90B", "1500B", "65535B", "5GB"]),
    "Rate": st.sampled_from(["0bit", "1bit", "1kbit", "10Mbit", "400Gbit"]),
    "Limit": st.sampled_from(
        ["0pkt", "1pkt", "7pkt", "1000pkt", "0B", "3kB", "1MB", "20ms", "2BDP", "unlimited"]
    ),
}


def value_of(key):
    options = [choice for choice in key.get("anyOf", [key]) if choice.get("type") != "null"]
    (option,) = options
    if "$ref" in option:
        name = option["$ref"].rsplit("/", 1)[1]
        words = [entry["const"] for entry in DEFS[name].get("oneOf", ())]
        return st.sampled_from(words) if words else VALUES[name]
    kind = option["type"]
    kind = next(item for item in kind if item != "null") if isinstance(kind, list) else kind
    return {
        "boolean": st.booleans(),
        "integer": st.sampled_from([0, 1, 2, 8, 24, 1024, 65536, 2**32 - 1]),
        "number": st.sampled_from([0.0, 1e-300, 0.002, 0.1, 0.5, 1.0, 2.0, 15.0, 1e300, -1.0]),
    }[kind]


@st.composite
def queues(draw):
    kind = draw(st.sampled_from(sorted(KINDS)))
    keys = {key: value for key, value in KINDS[kind]["properties"].items() if key != "kind"}
    chosen = draw(st.lists(st.sampled_from(sorted(keys)), unique=True, max_size=5))
    return {"kind": kind, "limit": "9pkt", **{key: draw(value_of(keys[key])) for key in chosen}}


PACKETS = {
    "time": [0, 0, 0, 5, 10**6, 10**6, 2 * 10**7, 3 * 10**7, 3 * 10**7, 10**8, 10**8 + 1, 3 * 10**8],
    "size": [1500, 40, 65_535, 1500, 1500, 1, 1500, 600, 1500, 1500, 1500, 1500],
    "flow": [0, 1, 1, 2**32 - 1, 0, 0, 7, 8, 9, 0, 0, 1],
    "ecn": [0, 1, 2, 3] * 3,
}


@settings(max_examples=600, deadline=None)
@given(queues(), st.sampled_from(["1Mbit", [0, 0, 10**6, 10**7, 10**8, 10**8, 4 * 10**8]]))
def test_any_queue(queue, departures):
    try:
        found = sojourn.replay(queue, PACKETS, departures, trace=queue.get("flows", 0) < 10_000)
    except sojourn.StudyError as error:
        assert "\n" not in str(error)
        return
    assert len(found.left) + len(found.dropped) + (found.fate == "waiting").sum() == 12
    assert not found.marked[PACKETS["ecn"].index(0) :: 4].any()
