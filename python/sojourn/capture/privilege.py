"""Giving up root: whoever decodes the packets of strangers holds no more rights than an ordinary user.

Only opening a packet socket needs them (``packet(7)``). Root becomes the user who called sudo, or ``nobody``,
in that user's groups; ``setresuid`` takes the capabilities of all threads with it (``capabilities(7)``). A
process that is not root but holds capabilities cannot take them from threads that libraries have started. It
starts its own program again under ``PR_SET_NO_NEW_PRIVS``, which grants none, and hands the open socket over.
"""

import ctypes
import os
import pwd
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from sojourn.capture import CaptureError

HANDED_OVER = "SOJOURN_PACKET_SOCKET"
"""Environment variable with the descriptor of a packet socket that is open already."""

_NO_NEW_PRIVS, _AMBIENT, _CLEAR_ALL = 38, 47, 4
_NOBODY = 65_534


def give_up(packets: socket.socket) -> None:
    """Give up root and every capability for good.

    Parameters
    ----------
    packets
        The open packet socket, which is kept.

    Raises
    ------
    CaptureError
        They cannot be given up.
    """
    try:
        _prctl(_NO_NEW_PRIVS, 1)
        _prctl(_AMBIENT, _CLEAR_ALL)
        if 0 in os.getresuid():
            user, group, groups = ordinary_user(os.environ)
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
        elif _capable() and HANDED_OVER not in os.environ:
            packets.set_inheritable(True)
            os.environ[HANDED_OVER] = str(packets.fileno())
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        kept = 0 in os.getresuid() or _capable()
    except OSError as error:
        raise CaptureError(_refusal(error.strerror or str(error))) from None
    if kept:
        raise CaptureError(_refusal("rights are left"))
    os.environ.pop(HANDED_OVER, None)


def ordinary_user(environment: Mapping[str, str]) -> tuple[int, int, list[int]]:
    """Return user, group and further groups of whoever called sudo, else of ``nobody``."""
    user, group = (environment.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if all(text.isascii() and text.isdecimal() and 0 < int(text) < 2**32 - 1 for text in (user, group)):
        try:
            return int(user), int(group), os.getgrouplist(pwd.getpwuid(int(user)).pw_name, int(group))
        except KeyError:
            return int(user), int(group), [int(group)]
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return _NOBODY, _NOBODY, [_NOBODY]
    return nobody.pw_uid, nobody.pw_gid, [nobody.pw_gid]


def _capable() -> bool:
    """Whether any thread may do anything that an ordinary user may not."""
    held = [
        int(line.split()[1], 16)
        for status in Path("/proc/self/task").glob("*/status")
        for line in status.read_text().splitlines()
        if line.startswith(("CapPrm:", "CapEff:"))
    ]
    if not held:
        raise OSError("/proc does not tell what capabilities are held")
    return any(held)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), *map(ctypes.c_ulong, (0, 0, 0))):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _refusal(why: str) -> str:
    return (
        f"--live does not go on as root, and root cannot be given up: {why}; "
        "run it as an ordinary user with CAP_NET_RAW"
    )
