"""Real adaptive video: dash.js in a Chromium without a window, on segments of the study's sizes."""

from importlib.util import find_spec


def missing() -> str | None:
    """Say what is missing to make segments that a browser plays; None if nothing is."""
    if find_spec("av") is None:
        return "PyAV, which codes the segments, is not installed (pip install 'sojourn[testbed]')"
    return None
