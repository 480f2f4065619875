"""Suites of studies: the cases of an evaluation, for any queues, on any links, by one command.

A suite is a folder with a ``suite.toml`` and studies. What runs is ordinary: every case on every link is a
study with results of its own, so that it is interrupted and resumed, shown and reported as any other.

>>> suite = Suite.load("rfc7928")                                                          # doctest: +SKIP
>>> expand(suite.cases[0], Link.read("10Mbit/40ms"), read_schemes(["codel"]), 5, Preset()) # doctest: +SKIP
"""

from sojourn.study.suites.catalogue import Case, Suite, Under, names
from sojourn.study.suites.expand import Expanded, expand, folder_of, sized
from sojourn.study.suites.link import Link
from sojourn.study.suites.presets import Preset
from sojourn.study.suites.schemes import Scheme, knobs, with_baseline
from sojourn.study.suites.schemes import read as read_schemes

__all__ = [
    "Case", "Expanded", "Link", "Preset", "Scheme", "Suite", "Under", "expand", "folder_of", "knobs", "names",
    "read_schemes", "sized", "with_baseline",
]  # fmt: skip
