"""A stand-in for the engine, for what a real one does not do on demand: fail, die, panic or take long.

A directory with this file on PYTHONPATH replaces `sojourn._core` and the scoring in that process and in
all its children. Its studies have a name, seed, repeat, sweep, record and users, and a table [fake] with

    sleep = 0.1             seconds that each point takes
    raise = "a=2"           this point raises
    die = "a=2"             this point's process dies
    panic = "a=2"           this point raises what is no Exception and cannot be pickled

As long as FAKE_HELD names points (a=2 a=3), those do not end: the study stays the same.
"""

import itertools
import json
import os
import random
import sys
import time
import tomllib
import types

import numpy as np


class StudyError(ValueError):
    pass


class PanicError(BaseException):
    def __reduce__(self):
        raise TypeError("cannot pickle a panic")


def extends(text, name):
    return None


def parse(text, name, sets, extended=()):
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{name}: {error}") from None
    for key, value in sets:
        *path, last = key.split(".")
        table = document
        for part in path:
            table = table.setdefault(part, {})
        table[last] = value
    known = {
        "name",
        "seed",
        "repeat",
        "sweep",
        "record",
        "users",
        "fake",
        "figures",
        "goals",
        "repeat-at-most",
        "repeat-precision",
    }
    for key in document.keys() - known:
        raise StudyError(f"{name}: unknown key {key!r}")
    return json.dumps(document)


def points(document):
    study = json.loads(document)
    sweep = study.pop("sweep", {})
    repeat = study.pop("repeat", 1)
    at_most = study.pop("repeat-at-most", 30)
    repeat = min(3, at_most) if repeat == "auto" else repeat
    for key in ("figures", "goals", "repeat-precision"):
        study.pop(key, None)
    found = []
    for labels in itertools.product(*sweep.values()):
        point = dict(zip(sweep, labels, strict=True))
        scenario = {**study, "axes": dict(sorted(point.items()))}
        scenario["axes"].pop("alias", None)  # an axis that changes nothing
        for replication in range(int(repeat)):
            found.append(
                json.dumps(
                    {
                        "study": study["name"],
                        "point": point,
                        "replication": replication,
                        "seed": study.get("seed", 1),
                        "document": scenario,
                    }
                )
            )
    return found


def run(text, log=False, progress=None, packets=None, clips=None):
    point = json.loads(text)
    fake = point["document"].get("fake", {})
    label = ",".join(f"{axis}={value}" for axis, value in point["document"]["axes"].items())
    time.sleep(600 if label in os.environ.get("FAKE_HELD", "").split() else float(fake.get("sleep", 0)))
    if fake.get("raise") == label:
        raise RuntimeError("the engine stumbled")
    if fake.get("die") == label:
        os._exit(9)
    if fake.get("panic") == label:
        raise PanicError("index out of bounds")
    draw = random.Random(f"{label} {point['seed']} {point['replication']}")
    link = {"rate_bps": 16_000_000, "loss": draw.random(), "utilisation": draw.random()}
    link |= {"queue_delay_ms": {"mean": draw.random()}, "series": {"bin_s": 1.0, "utilisation": [0.5, 1.0]}}
    summary = {"links": {"down": link, "up": link}, "flows": {"completed": 3}}
    ran = {"summary": json.dumps(summary | {"engine": {"packets": 2, "events": 9, "simulated_s": 1.0}})}
    if log:
        columns = {
            "link": np.array([0, 1], np.uint8),
            "packet": np.array([1, 2], np.uint32),
            "flow": np.array([7, 7], np.uint32),
            "kind": np.array([0, 1], np.uint8),
            "size_bytes": np.array([1500, 40], np.uint32),
            "arrive_ns": np.array([10, 20], np.uint64),
            "depart_ns": np.array([30, -1], np.int64),
            "drop_cause": np.array([255, 1], np.uint8),
            "backlog_pkts": np.array([0, 4], np.uint32),
            "backlog_bytes": np.array([0, 6000], np.uint32),
            "seq": np.array([0, 0], np.uint64),
        }
        if packets is None:
            ran["packets"] = columns
        else:
            packets(columns)
    return ran


def score(document, tables, links=None):
    if any(user.get("kind") == "voice" for user in document.get("users", [])):
        return {"voice": {"talks": {"mos": {"median": np.float64(4.1)}, "loss": float("nan")}}}
    return {}


core = types.ModuleType("sojourn._core")
core.thresholds = lambda: "{}"
core.StudyError, core.parse, core.points, core.run = StudyError, parse, points, run
core.extends = extends
core.packet_kinds, core.drop_causes = (lambda: ["data", "ack"]), (lambda: ["full", "early"])
core.udp_kinds, core.buffers = (lambda: []), (lambda document: "{}")
core.links = lambda point: ["down", "up"]
core.schema, core.version = (lambda: json.dumps({"title": "fake"})), (lambda: "0.0.0-fake")
core.engine = lambda: os.environ.get("FAKE_ENGINE", "fake")
StudyError.__module__ = "sojourn._core"
scoring = types.ModuleType("sojourn.qoe.score")
scoring.score = score
sys.modules["sojourn._core"] = core
sys.modules["sojourn.qoe.score"] = scoring
