"""Bulk TCP flows, run within a network namespace.

flows.py receive PORT                        take what comes, for ever
flows.py send HOST PORT COUNT CONTROLLER BEGIN END SEED

Both print a line when they are ready. The sender then reads a time of the clock: flows start uniformly in the
second after it and have data to send until they are ended; BEGIN and END, in seconds after it, are the
measured window. At its end it prints the kernel's TCP counters of its namespace, as one JSON object: how much
they grew in the window and in the whole run. A flow that fails ends the process.
"""

import json
import os
import random
import selectors
import socket
import sys
import threading
import time
from pathlib import Path

CHUNK = 1 << 18


def counters() -> dict[str, int]:
    """Return the TCP counters of this network namespace."""
    found: dict[str, int] = {}
    for source in ("/proc/net/snmp", "/proc/net/netstat"):
        lines = Path(source).read_text(encoding="ascii").splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            if names.startswith(("Tcp:", "TcpExt:")):
                pairs = zip(names.split()[1:], values.split()[1:], strict=True)
                found |= {name: int(value) for name, value in pairs}
    return found


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return what grew."""
    return {name: value - before[name] for name, value in after.items() if value > before[name]}


def receive(port: int) -> None:
    """Take what comes."""
    server = socket.create_server(("", port), backlog=64)
    ready = selectors.DefaultSelector()
    ready.register(server, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in ready.select():
            if key.fileobj is server:
                ready.register(server.accept()[0], selectors.EVENT_READ)
            elif not key.fileobj.recv(1 << 20):
                ready.unregister(key.fileobj)


def send(host: str, port: int, controller: str, start: float) -> None:
    """Send from a time on, until the process ends."""
    time.sleep(max(start - time.time(), 0.0))
    chunk = bytes(CHUNK)
    try:
        with socket.socket() as flow:
            flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
            flow.connect((host, port))
            while True:
                flow.sendall(chunk)
    except OSError as error:
        print(f"a flow to {host}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def main(words: list[str]) -> None:
    if words[0] == "receive":
        receive(int(words[1]))
        return
    host, port, count, controller, begin, end, seed = words[1:]
    print("ready", flush=True)
    start = float(sys.stdin.readline())
    chosen = random.Random(int(seed))
    for _ in range(int(count)):
        at = start + chosen.random()
        threading.Thread(target=send, args=(host, int(port), controller, at), daemon=True).start()
    readings = []
    for moment in (0.0, float(begin), float(end)):
        time.sleep(max(start + moment - time.time(), 0.0))
        readings.append(counters())
    first, begun, last = readings
    print(json.dumps({"window": grown(begun, last), "whole": grown(first, last)}), flush=True)
    time.sleep(3600)  # flows go on until the queue was watched to its end, and the process is ended


if __name__ == "__main__":
    main(sys.argv[1:])
