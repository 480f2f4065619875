"""The overview's matrix as Markdown: what a release's notes, or a paper's appendix, takes over."""

from collections.abc import Sequence

from sojourn.report.sections import Table
from sojourn.report.suite.checks import Check
from sojourn.report.suite.tables import check_table


def markdown(
    title: str,
    about: Sequence[str],
    matrices: Sequence[tuple[str, Sequence[tuple[str, Table]]]],
    found: Sequence[Check],
    command: str,
) -> str:
    """Return the text of ``suite.md``: what was run, a table for each link, the checks, the command."""
    lines = [f"# {title}", "", *(f"- {line}" for line in about), "", "```", command, "```"]
    for link, tables in matrices:
        lines += ["", f"## {link}"]
        for what, table in tables:
            lines += ["", f"{what}:", "", *rows(table)]
    if checked := check_table(found):
        lines += ["", "## What must hold", "", *rows(checked)]
    return "\n".join(lines) + "\n"


def rows(table: Table) -> list[str]:
    """Return a table's lines."""
    return [
        "| " + " | ".join(table.heads) + " |",
        "| " + " | ".join("---" for _ in table.heads) + " |",
        # A bar would end the cell that it stands in.
        *("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in table.rows),
    ]
