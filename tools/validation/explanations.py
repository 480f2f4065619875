"""Why rows are outside: hand-written sentences, each for named rows at the values that it was written for."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.validation import recorded
from tools.validation.checks import Check


@dataclass(frozen=True)
class Explained:
    """A row as it was when its explanation was written: our value, its least and its greatest."""

    ours: float
    least: float
    greatest: float
    text: str

    def fits(self, check: Check) -> bool:
        """Say whether a row is still what was explained: it has moved by no more than its spread was wide."""
        moved = abs(check.ours - self.ours)
        return moved <= self.greatest - self.least or math.isclose(check.ours, self.ours, rel_tol=1e-6)


class Explanations:
    """The sentences of ``explanations.toml``, by the rows that they are about.

    A row that is outside is explained by a sentence for exactly this row and for the value that it had. A
    sentence whose row is inside, or elsewhere, or nowhere is stale: :meth:`stale` names it.
    """

    def __init__(self, entries: Sequence[Mapping[str, Any]] | None = None) -> None:
        self.rows: dict[str, Explained] = {}
        for entry in recorded.entries("explanations") if entries is None else entries:
            for key, (ours, least, greatest) in entry["rows"].items():
                if key in self.rows:
                    raise ValueError(f"explanations.toml: {key} is explained twice")
                self.rows[key] = Explained(ours, least, greatest, " ".join(entry["text"].split()))

    def of(self, check: Check) -> str | None:
        """Return the explanation of a row that is outside, or None."""
        written = self.rows.get(check.key)
        return written.text if written and written.fits(check) else None

    def unexplained(self, checks: Iterable[Check]) -> list[Check]:
        """Return the rows that are outside and have no explanation."""
        return [check for check in checks if not check.ok and self.of(check) is None]

    def stale(self, section: str, checks: Iterable[Check]) -> list[str]:
        """Return a sentence for every explanation of a section's rows that explains none of these."""
        found = {check.key: check for check in checks}
        sentences = []
        for key, written in self.rows.items():
            if key.split("/")[0] != section:
                continue
            check = found.get(key)
            if check is None:
                sentences.append(f"{key} is explained, but there is no such row")
            elif check.ok:
                sentences.append(f"{key} is explained, but it is inside its rule")
            elif not written.fits(check):
                sentences.append(
                    f"{key} was explained at {written.ours:.6g} ({written.least:.6g} to "
                    f"{written.greatest:.6g}); now it is {check.ours:.6g}"
                )
        return sentences
