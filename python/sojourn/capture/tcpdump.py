"""Filters in tcpdump's language, compiled by libpcap where it is installed."""

import ctypes
import ctypes.util
from collections.abc import Callable

from sojourn.errors import SojournError

_SNAP = 262_144
_ERROR_BYTES = 256


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("yes", ctypes.c_ubyte),
        ("no", ctypes.c_ubyte),
        ("k", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.POINTER(_Instruction)))


def compiler(expression: str) -> Callable[[int], list[tuple[int, int, int, int]]]:
    """Return a function that compiles the expression for a link type.

    It gives rows of code, jump if true, jump if false, operand.

    Raises
    ------
    SojournError
        libpcap is not installed, or it refuses the expression.
    """
    if "\0" in expression:
        raise SojournError("--filter has a NUL character; expected an expression of tcpdump's language")
    name = ctypes.util.find_library("pcap")
    try:
        library = ctypes.CDLL(name or "libpcap.so.0.8")
    except OSError:
        raise SojournError(
            "--filter needs libpcap, which compiles tcpdump's language: install it (Debian: libpcap0.8, "
            "Fedora: libpcap), or filter with `tcpdump -r CAPTURE -w - EXPRESSION | sojourn measure -`"
        ) from None
    library.pcap_open_dead.restype = ctypes.c_void_p
    library.pcap_open_dead.argtypes = (ctypes.c_int, ctypes.c_int)
    library.pcap_compile.argtypes = (
        ctypes.c_void_p,
        ctypes.POINTER(_Program),
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint32,
    )
    library.pcap_geterr.restype = ctypes.c_char_p
    for function in (library.pcap_geterr, library.pcap_close):
        function.argtypes = (ctypes.c_void_p,)
    library.pcap_freecode.argtypes = (ctypes.POINTER(_Program),)
    library.pcap_freecode.restype = library.pcap_close.restype = None

    def compiled(link: int) -> list[tuple[int, int, int, int]]:
        # libpcap's number for raw IP differs from that in files.
        handle = library.pcap_open_dead(12 if link == 101 else link, _SNAP)
        program = _Program()
        try:
            if library.pcap_compile(handle, ctypes.byref(program), expression.encode(), 1, 0xFFFFFFFF):
                why = (library.pcap_geterr(handle) or b"").decode(errors="replace")[:_ERROR_BYTES]
                raise SojournError(f"--filter {expression!r} is not understood: {why}")
            taken = program.instructions[: program.length]
            rows = [(row.code, row.yes, row.no, row.k) for row in taken]
            library.pcap_freecode(ctypes.byref(program))
            return rows
        finally:
            library.pcap_close(handle)

    # Told before anything is read: nearly every capture is of Ethernet.
    compiled(1)
    return compiled
