"""Options that are on when they are named."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""An option without a value and without a `--no-` form."""
