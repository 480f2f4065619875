"""Plain words mean without the parser what they mean to it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from cyclopts import CycloptsError
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sojourn.cli import application
from sojourn.cli.measure import measure
from sojourn.cli.plain import plain

OPTIONS = [f"--{name.strip('_').replace('_', '-')}" for name in measure.__kwdefaults__]
ODD = ["--help", "-h", "--", "-", "--jobs=2", "--no-json", "--from_", "--js", "-1", "--version", ""]
NUMBERS = ["0", "7", "007", "12", "2.5", ".5", "5.", "1e3", "0x10", "1_0", "١", "inf", "2..5", "1.2.3"]
TEXTS = ["a.pcap", "/x/ç", "none", "NULL", "auto", "yes", "true", "tcp", ",", "tcp port 443", " ", "@a", "{}"]
VALUES = st.sampled_from([*NUMBERS, *TEXTS])
WORDS = st.sampled_from(OPTIONS) | VALUES | st.sampled_from(ODD)
GROUPS = st.tuples(st.sampled_from(OPTIONS), VALUES) | st.tuples(WORDS)


@settings(max_examples=400, deadline=None)
@given(st.lists(GROUPS, max_size=4).map(lambda groups: [word for group in groups for word in group]))
@example(["a.pcap", "--json", "--jobs", "0", "--samples", "s.csv", "b"])
@example(["--from", "2.5", "--to", "12", "--filter", "tcp port 443", "--min-samples", "7", "--flows", "/x/ç"])
@example([])
def test_what_is_read_without_the_parser_is_what_it_reads(words: list[str]) -> None:
    read = plain(measure, words)
    if read is None:
        return
    files, options = read
    verb, bound, _ = application().parse_args(["measure", *words], exit_on_error=False, print_error=False)
    assert verb is measure
    assert (bound.args, bound.kwargs) == (tuple(files), options)
    kinds = {name: type(value) for name, value in bound.kwargs.items()}
    assert kinds == {name: type(value) for name, value in options.items()}


def test_common_words_are_plain_and_all_others_are_left_to_the_parser() -> None:
    words = "a.pcap --json --jobs 2 --samples s.csv --uncertainty --from 0.5 --to 7 --min-samples 10 b.pcap"
    options = {"json": True, "jobs": 2, "samples": Path("s.csv"), "uncertainty": True, "from_": 0.5}
    files = [Path("a.pcap"), Path("b.pcap")]
    assert plain(measure, words.split()) == (files, {**options, "to": 7.0, "min_samples": 10})
    left = ["--help", "-h", "--jobs", "--jobs x", "--jobs 1 --jobs 2", "--jobs --json", "--jobs=1", "--"]
    left += ["--local a", "--estimator auto", "--nothing", "-v", "--no-json", "--from -1", "--filter none"]
    for words in left:
        assert plain(measure, ["a.pcap", *words.split()]) is None, words


@pytest.mark.parametrize("word", ["--no-json", "--json=maybe", "--empty-local"])
def test_no_option_has_a_form_of_its_own_that_says_no(word: str) -> None:
    with contextlib.redirect_stderr(None), pytest.raises(CycloptsError):
        application().parse_args(["measure", "a.pcap", word], exit_on_error=False, print_error=False)
