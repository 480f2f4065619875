"""Run what is missing of the validation and write its page: ``python -m tools.validation``."""

import argparse
import shutil
import sys
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.sweep.workers import open_workers

from tools.validation.report import Page, told, write
from tools.validation.sections import SECTIONS


def main() -> int:
    """Write the page; return 1 if rows are unexplained, explanations stale, or sections missing."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.validation",
        description="Hold the simulator against theory, ns-2 and ns-3, Linux, and published tables.",
    )
    for option, folder, what in (
        ("--results", "results/validation", "where the runs are stored"),
        ("--docs", "docs", "where validation.md is written"),
        ("--published", "results", "results folders of studies with published tables"),
        ("--studies", "studies", "where published/ lies"),
    ):
        parser.add_argument(option, default=folder, type=Path, help=what)
    parser.add_argument("--jobs", type=int, help="processes; by default one for each core")
    parser.add_argument(
        "--only",
        nargs="*",
        action="extend",
        choices=[name for name, maker in SECTIONS.items() if maker.simulates],
        help="simulate what is missing of these sections alone (with none: of no section); "
        "the others are written from what is stored",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="run everything again, since an engine in development changes"
    )
    arguments = parser.parse_args()
    images = arguments.docs / "validation"
    images.mkdir(parents=True, exist_ok=True)
    with open_workers(jobs=arguments.jobs) as workers:
        page = Page(arguments.results, arguments.published, arguments.studies, workers.executor)
        for name in SECTIONS:
            chosen = arguments.only is None or name in arguments.only
            if arguments.fresh and chosen and SECTIONS[name].simulates:
                shutil.rmtree(arguments.results / name, ignore_errors=True)
            page.make(name, images, simulate=chosen)
            if name in page.sections:
                told(page.sections[name])
            else:
                print(f"{name} is not written: {page.missing[name]}", file=sys.stderr)
    print(write(page, arguments.docs))
    stale, unexplained = page.stale(), page.unexplained()
    for sentence in stale:
        print(f"explanations.toml: {sentence}", file=sys.stderr)
    rows = [row for section in page.sections.values() for row in section.rows]
    print(
        f"{len(rows)} rows, {sum(not row.ok for row in rows)} outside, {len(unexplained)} unexplained, "
        f"{len(stale)} explanations stale, {len(page.missing)} sections missing"
    )
    return 1 if unexplained or stale or (page.missing and arguments.only is None) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SojournError as error:
        print(f"tools.validation: {error}", file=sys.stderr)
        sys.exit(2)
