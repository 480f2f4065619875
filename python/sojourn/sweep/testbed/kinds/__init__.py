"""The kinds of sources and users that the testbed has, one file each."""

from sojourn.sweep.testbed.kind import Kind
from sojourn.sweep.testbed.kinds.adaptive import Adaptive
from sojourn.sweep.testbed.kinds.browser import Browser
from sojourn.sweep.testbed.kinds.bulk import Bulk
from sojourn.sweep.testbed.kinds.call import Call
from sojourn.sweep.testbed.kinds.datagrams import Datagrams
from sojourn.sweep.testbed.kinds.gaming import Gaming
from sojourn.sweep.testbed.kinds.page import Page
from sojourn.sweep.testbed.kinds.sessions import Sessions
from sojourn.sweep.testbed.kinds.turns import Turns
from sojourn.sweep.testbed.kinds.video import Video
from sojourn.sweep.testbed.kinds.voice import Voice
from sojourn.sweep.testbed.kinds.web import Web

SOURCES: dict[str, Kind] = {
    "bulk": Bulk(),
    "sessions": Sessions(),
    **dict.fromkeys(("cbr", "poisson", "on-off", "video"), Datagrams()),
    **dict.fromkeys(("packmime", "recorded", "chirp", "heartbeat"), Turns()),
}
"""By `source.kind` of flows."""

USERS: dict[str, Kind] = {
    "adaptive": Adaptive(),
    "browser": Browser(),
    "call": Call(),
    "cloud-gaming": Gaming(),
    "gaming": Gaming(),
    "page": Page(),
    "video": Video(),
    "voice": Voice(),
    "web": Web(),
}
"""By `kind` of users."""
