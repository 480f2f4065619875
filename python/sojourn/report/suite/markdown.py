"""The overview's matrix as Markdown: what a release's notes, or a paper's appendix, takes over."""

from collections.abc import Sequence

from sojourn.report.sections import Table
from sojourn.report.suite.checks import Check
from sojourn.report.suite.tables import check_table

PURPOSE = (
    "Which queue discipline keeps delay short, carries the most and loses the least, case by case: for each "
    "link a table of mean queueing delay, of goodput and of loss, and at the end what must hold whatever the "
    "discipline."
)
MUST_HOLD = "What must hold"


def markdown(
    title: str,
    about: Sequence[str],
    matrices: Sequence[tuple[str, Sequence[tuple[str, Table]]]],
    found: Sequence[Check],
    command: str,
) -> str:
    """Return the text of ``suite.md``: its purpose, what was run, a table for each link, the checks."""
    checked = check_table(found)
    parts = [link for link, _ in matrices] + [MUST_HOLD] * bool(checked)
    lines = [f"# {title}", "", PURPOSE, "", *(f"- {line}" for line in about)]
    lines += [f"- here: {', '.join(map(_to, parts))}"] * bool(parts)
    lines += ["", "```", command, "```"]
    for link, tables in matrices:
        lines += ["", f"## {link}"]
        for what, table in tables:
            lines += ["", f"{what}:", "", *rows(table)]
    if checked:
        lines += ["", f"## {MUST_HOLD}", "", *rows(checked)]
    return "\n".join(lines) + "\n"


def _to(heading: str) -> str:
    """Return a link to a heading, by the name that GitHub gives it."""
    anchor = "".join(each for each in heading.lower() if each.isalnum() or each in " -_").replace(" ", "-")
    return f"[{heading}](#{anchor})"


def rows(table: Table) -> list[str]:
    """Return a table's lines."""
    return [
        "| " + " | ".join(table.heads) + " |",
        "| " + " | ".join("---" for _ in table.heads) + " |",
        # A bar would end the cell that it stands in.
        *("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in table.rows),
    ]
