"""Options that are on when they are named."""

Flag = bool
"""An option without a value and without a `--no-` form: see `application`, which says so of all."""
