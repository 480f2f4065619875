"""The JSON Schema of study files, as the engine has it: read once, and not to be changed."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from sojourn import _core


@cache
def study_schema() -> Mapping[str, Any]:
    """Return the schema that ``sojourn schema`` prints."""
    return json.loads(_core.schema())
