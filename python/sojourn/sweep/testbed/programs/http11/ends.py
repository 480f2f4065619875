"""The two ends of a program that speaks HTTP, and tasks that end with the run."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from programs.http11.server import Content, Server, by_size

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host


def socket_of(host: Host, port: int = 0) -> socket.socket:
    """Return a TCP socket as the study asks for it, at this end's own address."""
    made = host.tcp()
    made.bind((host.own, port))
    return made


def serve(host: Host, content: Content = by_size) -> None:
    """Answer requests until the end; leave behind what the kernel told of each connection."""

    async def main() -> None:
        told = over()
        answering = Server(host.arguments["header"], content)
        served = await answering.begin(socket_of(host, host.port))
        await asyncio.to_thread(host.begin)
        await until(host, told)
        answering.end()
        host.leave(connections=answering.connections)
        served.close()

    asyncio.run(main())


def run(host: Host, tasks: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run tasks from time zero to the end, when those that still run are cancelled."""

    async def main() -> None:
        told = over()
        host.begin()
        running = asyncio.gather(*tasks)
        ending = asyncio.ensure_future(until(host, told))
        await asyncio.wait([ending, running], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running  # raises what a task raised
        ending.cancel()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    asyncio.run(main())


@asynccontextmanager
async def attended(
    host: Host, told: asyncio.Event, tasks: Sequence[Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    """Let tasks run until the time is over, then what is within, and cancel them; raises what one raised."""
    running = asyncio.gather(*tasks)
    ending = asyncio.ensure_future(until(host, told))
    await asyncio.wait([ending, running], return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():
        running.result()
        await ending
    yield
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def sleep_until(host: Host, at_ns: int) -> None:
    """Sleep until a time of the study."""
    while (left := at_ns - host.now()) > 0:
        await asyncio.sleep(left / 1e9)


def over() -> asyncio.Event:
    """Return what is set when the agent says that the time is over, in place of its exception."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(told.set))
    return told


async def until(host: Host, told: asyncio.Event) -> None:
    """Wait until the time is over; what ends the process is ignored from then on."""
    with suppress(TimeoutError):
        await asyncio.wait_for(told.wait(), max(0.0, (host.duration_ns - host.now()) / 1e9))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
