"""The columns that a table of a run needs to be scored."""

from collections.abc import Collection


def require(table: Collection[str], names: Collection[str], kind: str) -> None:
    """Raise ValueError if the table of a kind of user lacks one of the columns."""
    if missing := [name for name in names if name not in table]:
        raise ValueError(f"the {kind} table lacks {', '.join(missing)}: expected {', '.join(names)}")
