"""Shared libraries of codecs, which may be missing."""

import ctypes
from collections.abc import Iterable


def load(names: Iterable[str | None], makers: Iterable[str]) -> ctypes.CDLL | None:
    """Return the first library that is there, its makers set to return pointers; None without one."""
    for name in filter(None, names):
        try:
            found = ctypes.CDLL(name)
            for maker in makers:
                getattr(found, maker).restype = ctypes.c_void_p
        except (OSError, AttributeError):
            continue
        return found
    return None
