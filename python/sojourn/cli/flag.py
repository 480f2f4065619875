"""Options that are on when they are named."""

from __future__ import annotations

Flag = bool
"""An option without a value and without a `--no-` form: see `application`, which says so of all."""
