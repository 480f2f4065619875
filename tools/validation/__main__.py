"""Run what is missing of the validation and write its page: ``python -m tools.validation``."""

from __future__ import annotations

import argparse
import shutil
import sys
from functools import partial
from pathlib import Path

from sojourn.errors import SojournError

from tools.validation import aqm, flows, kernel, peers, readings, theory, video
from tools.validation.checks import Check
from tools.validation.report import Page, write
from tools.validation.study import all_comparisons

SECTIONS = {
    "theory": theory.checks,
    "peers": peers.checks,
    "kernel": kernel.checks,
    "kernel-fresh": partial(kernel.checks, section="kernel-fresh"),
    "aqm": aqm.checks,
    "streaming": readings.checks,
}


def main() -> int:
    """Write the page; return 0, or 1 if a row is outside and nobody has explained it."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.validation",
        description="Hold the simulator against theory, ns-2 and ns-3, Linux, and published tables.",
    )
    parser.add_argument(
        "--results", default="results/validation", type=Path, help="where the runs are stored"
    )
    parser.add_argument("--docs", default="docs", type=Path, help="where validation.md is written")
    parser.add_argument(
        "--published",
        default="results",
        type=Path,
        help="results folders of studies with published tables",
    )
    parser.add_argument("--studies", default="studies", type=Path, help="where published/ lies")
    parser.add_argument("--jobs", type=int, help="processes; by default one for each core")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="print these checks and write no page"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="run everything again, since an engine in development changes"
    )
    arguments = parser.parse_args()
    page = Page(arguments.results)
    if arguments.fresh and not arguments.only:
        shutil.rmtree(arguments.results / "flows", ignore_errors=True)
    for section in arguments.only or SECTIONS:
        root = arguments.results / section
        if arguments.fresh:
            shutil.rmtree(root, ignore_errors=True)
        page.checks[section] = []
        for row in SECTIONS[section](root, arguments.jobs):
            page.checks[section].append(row)
            if isinstance(row, Check):
                others = ", ".join(f"{name} {value:.4g}" for name, value in row.references)
                print(f"{row.verdict:8} {row.key:62} {row.ours:9.4g}  against {others}", file=sys.stderr)
            else:
                print(f"{'not run':8} {row.key:62} {row.reason}", file=sys.stderr)
    if not arguments.only:
        page.left_out = list(theory.left_out(arguments.results / "theory", arguments.jobs))
        page.traits = list(peers.traits(arguments.results / "peers", arguments.jobs))
        page.studies_results, page.studies = arguments.published, arguments.studies
        page.published = all_comparisons(arguments.published, arguments.studies)
        page.video = video.section(arguments.published, arguments.studies)
        page.flows = flows.section(arguments.results / "flows", arguments.studies, arguments.jobs)
        print(write(page, arguments.docs))
        for pattern in page.explanations.idle():
            print(f"explanations.toml: nothing outside matches {pattern!r} any more", file=sys.stderr)
    unexplained = page.unexplained()
    rows = [row for section in page.checks for row in page.rows(section)]
    print(f"{len(rows)} rows, {sum(not row.ok for row in rows)} outside, {len(unexplained)} unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SojournError as error:
        print(f"tools.validation: {error}", file=sys.stderr)
        sys.exit(2)
