"""What pages say, word for word, of results whose numbers are known, and what their figures and tables show.

The files in `data/pages` are to be read when they change: each line is a sentence or a cell that somebody
acts on, or (in `.figures`) an axis or a mark of a figure or a row of the table beside it. They are written by

    python tests/test_pages_text.py
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from drawings import described
from matplotlib.figure import Figure
from sojourn import _core
from sojourn.capture import page as measured
from sojourn.capture.tcp_stats import open_table, survey
from sojourn.capture.tcp_stats.page import write_page as write_survey
from sojourn.report import files, write_report
from sojourn.report.advice import write_advice
from sojourn.report.comparing import compare
from sojourn.report.comparing.page import write_comparison
from sojourn.report.html import whole_numbers
from sojourn.report.several import write_several
from sojourn.results import open_results
from sojourn.study.identity import engine
from sojourn.sweep.emulation.page import write_page as write_emulation
from test_advice_parts import FIFO, SCORES, found_of
from test_capture_parts import HOST
from test_emulate_live import changed
from test_figures import ENTRIES, LIMIT, RPM, result, sweep, write_results
from test_report_answer import study, viewers, voice

PAGES = Path(__file__).parent / "data" / "pages"


def text_of(page: Path) -> str:
    """Return a page's words, a line for each element that breaks one, without styles, scripts and figures.

    Cells of a table end with |, those that head a row or a column with ‖.
    """
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"<(style|script|svg|head)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"</(p|h\d|li|tr|dt|dd|div|section|article|figcaption|pre|summary)>|<br>", "\n", text)
    text = text.replace("</td>", " |").replace("</th>", " ‖")
    lines = (re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", line)).strip() for line in text.splitlines())
    words = "\n".join(line for line in lines if line) + "\n"
    names = {"VERSION": _core.version(), "ENGINE": engine(), "FOLDER": str(page.parent.parent)}
    for name, own in names.items():
        words = words.replace(own, name)
    return words


@contextmanager
def undrawn() -> Iterator[list[str]]:
    """Figures are made and not written; return a list that takes them in words."""
    shown: list[str] = []

    def tell(figure: Figure, place: Path) -> str:
        shown.extend([f"== {place.name}", *described(figure)])
        return "<svg></svg>"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "save", tell)
        yield shown


def tables_of(page: Path) -> list[str]:
    """Return the rows of the tables that are written beside a page, of long ones the first."""
    lines: list[str] = []
    for file in sorted(page.parent.rglob("*.csv")):
        # The last digits of what numpy sums differ between processors.
        text = re.sub(
            r"\d+\.\d{9,}", lambda number: f"{float(number[0]):.9g}", file.read_text(encoding="utf-8")
        )
        rows = text.splitlines()
        lines += [f"== {file.name}, {len(rows)} rows", *rows[:12]]
    return lines


def page_of(name: str, out: Path) -> dict[str, str]:
    """Return what is kept of a page, by the end of the file's name."""
    with undrawn() as shown:
        page = MADE[name](out)
    return {"txt": text_of(page), "figures": "\n".join([*shown, *tables_of(page)]) + "\n"}


def answers(out: Path) -> Path:
    """Three queues under three loads, with figures that are asked for."""
    figures = [{"kind": kind, **ENTRIES[kind]} for kind in ("heatmap", "table", "lines", "responsiveness")]
    results = [{**one, "responsiveness": RPM} for one in sweep(repeat=3)]
    return write_report(write_results(out / "done", results, figures, description="A trial"))


def alone(out: Path) -> Path:
    """One run of each cell, and no figures of its own."""
    results = [result({LIMIT: limit}, 0) for limit in ("8pkt", "64pkt")]
    return write_report(write_results(out / "done", results, []))


def judged(out: Path) -> Path:
    """Viewers and callers, some of whom are badly off."""
    cells = {"8pkt": {**voice(4.2), **viewers(3.0)}, "64pkt": {**voice(2.0), **viewers(0.0)}}
    goals = [{"value": "voice.talks.mos.median", "at-least": 4.0}]
    made = study(LIMIT, cells, 4)
    for each in made:
        each["engine"] = {"packets": 1000, "events": 5000 + each["replication"], "simulated_s": 20.0}
    return write_report(write_results(out / "done", made, [], users=[{"kind": "adaptive"}], goals=goals))


def two(out: Path) -> list[Path]:
    def scored(least: int, repeat: int, *limits: str) -> list[dict[str, Any]]:
        times = [(limit, at) for limit in limits for at in range(repeat)]
        scores = [{"voice.talks.mos.median": least + at / 9} for _, at in times]
        return [result({LIMIT: limit}, at, **score) for (limit, at), score in zip(times, scores, strict=True)]

    first, second = scored(3, 4, "8pkt", "64pkt"), scored(4, 3, "8pkt", "1pkt")
    talks = {"kind": "heatmap", **ENTRIES["heatmap"], "x": LIMIT, "y": ""}
    return [
        write_results(out / "one", first, [talks]),
        write_results(out / "other", second, [talks], duration="60s", seed=2),
    ]


def compared(out: Path) -> Path:
    """Two studies that share a cell."""
    found = compare(*map(open_results, two(out)))
    return write_comparison(found, "sojourn compare one other", out / "both")


def several(out: Path) -> Path:
    """The same two on one page."""
    return write_several([open_results(one) for one in two(out)], "sojourn report one other", out / "all")[0]


def advised(out: Path) -> Path:
    """An advice that is certain."""
    about = json.loads(json.dumps(found_of(**SCORES).as_json()))
    return write_advice(about, out / "advice", "sojourn recommend", ["A note."])


def undecided(out: Path) -> Path:
    """An advice among queues that cannot be told apart, under loads that are kept and not."""
    alike = {"codel": [4.0, 3.8, 4.1, 3.9], "pie": [3.9, 4.0, 3.8, 4.1], FIFO: [2.0, 2.1, 2.2, 2.1]}
    return write_advice(found_of("order", **alike).as_json(), out / "advice", "sojourn recommend")


def from_captures(out: Path) -> Path:
    """Three hosts, one of them seen both ways."""
    way = {
        "direction": "to-remote",
        "samples": 7,
        "mean_ms": 1.0,
        "p50_ms": 1.5,
        "p95_ms": 2.0,
        "max_ms": 3.0,
    }
    series = {"bin_s": 1.0, "rows": [[0.0, 1.0, 3.0], [1.0, 2.0, 4.0]]}
    more = {"series": series, "p99_ms": 12.0}
    both = {**HOST, **more, "remote": "i", "mean_ms": 150.0, "p95_ms": 200.0,
            "to_remote": {**way, "uncertainty_ms": 0.1, "lower_bound": False}}  # fmt: skip
    hosts = [{**HOST, **more}, both, {**HOST, **more, "protocol": "utp", "mean_ms": 50.0}]
    about = {"left_out_by_request": 0, "packets_between_local_hosts": 0}
    about |= {"packets": 12_345, "hosts_below_min_samples": 2, "damage": [{"sentence": "It is cut short."}]}
    about |= {"skipped": {"not_ip": 3}, "discarded": {"no_payload": 4}, "hosts": hosts}
    page = out / "m" / "page.html"
    measured.write_page(about, ["a.pcap"], page, 10, f"sojourn measure a.pcap --report {page}")
    return page


def surveyed(out: Path) -> Path:
    """Connections of two classes, near and far."""
    low = [float(5 + n % 150) for n in range(300)]
    columns = {"min_rtt_ms": low, "max_rtt_ms": [each + n * 7 for n, each in enumerate(low)],
               "avg_rtt_ms": [each + n for n, each in enumerate(low)], "rtt_samples": list(range(300)),
               "access": ["adsl" if n % 3 else "ftth" for n in range(300)]}  # fmt: skip
    pl.DataFrame(columns).write_parquet(out / "t.parquet")
    found = survey(open_table([out / "t.parquet"]), pl.col("access"))
    return write_survey(found, ["t.parquet"], "sojourn wild t.parquet", out / "s")


def emulated(out: Path) -> Path:
    """A run of the emulator that was held, with all that can disturb one."""
    came = changed(late_wakes=2, latest_wake_us=7000.0, clamped_pkts=5, clamped_us=12.0, without=["stamps"])
    write_emulation(came, "sojourn emulate -- true", out / "e" / "page.html")
    return out / "e" / "page.html"


MADE: dict[str, Callable[[Path], Path]] = {
    made.__name__: made
    for made in (
        answers, alone, judged, compared, several, advised, undecided, from_captures, surveyed, emulated,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_a_page_says_and_shows_what_it_did(name: str, tmp_path: Path) -> None:
    for kind, found in page_of(name, tmp_path).items():
        assert found.splitlines() == (PAGES / f"{name}.{kind}").read_text(encoding="utf-8").splitlines()


def test_no_number_of_a_page_breaks_at_its_thousands(tmp_path: Path) -> None:
    assert "12\xa0345" in from_captures(tmp_path).read_text(encoding="utf-8")


def test_a_number_of_a_page_stays_on_its_line_with_its_unit_and_a_command_is_as_it_was() -> None:
    pairs = {
        "<p>1 234 567 bytes, 12 of 345678</p>": "<p>1\xa0234\xa0567\xa0bytes, 12 of 345678</p>",
        "<p>24 000 bytes in 3 s at 0.1–1 % of 16 Mbit/s, in 7 seconds</p>": (
            "<p>24\xa0000\xa0bytes in 3\xa0s at 0.1–1\xa0% of 16\xa0Mbit/s, in 7 seconds</p>"
        ),
        "<td data-x='1 000'>9 000pkt</td>": "<td data-x='1 000'>9\xa0000pkt</td>",
        "<pre>tc limit 1 000\n</pre> 1 000": "<pre>tc limit 1 000\n</pre> 1\xa0000",
        "<script>a < 1 000</script><svg><text>1 000</text></svg>": None,
    }
    for written, shown in pairs.items():
        assert whole_numbers(written) == (shown or written)


def test_a_key_that_a_sentence_quotes_is_code_on_a_page(tmp_path: Path) -> None:
    page = alone(tmp_path).read_text(encoding="utf-8")
    assert "set <code>repeat</code> to 3" in page and "`repeat`" not in page


def test_every_page_that_is_kept_is_made() -> None:
    assert {file.stem for file in PAGES.iterdir()} == set(MADE)


if __name__ == "__main__":
    for name in MADE:
        with tempfile.TemporaryDirectory() as folder:
            for kind, found in page_of(name, Path(folder)).items():
                (PAGES / f"{name}.{kind}").write_text(found, encoding="utf-8")
