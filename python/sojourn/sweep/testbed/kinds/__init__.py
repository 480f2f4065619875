"""The kinds of sources and users that the testbed has, one file each."""

from __future__ import annotations

from sojourn.sweep.testbed.kind import Kind
from sojourn.sweep.testbed.kinds.bulk import Bulk

SOURCES: dict[str, Kind] = {
    "bulk": Bulk(),
}
"""By `source.kind` of flows."""

USERS: dict[str, Kind] = {}
"""By `kind` of users."""
