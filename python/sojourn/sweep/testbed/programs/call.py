"""Video calls between two Chromiums without a window, one at each end: WebRTC as they have it.

Descriptions of sessions go from end to end by files, not over the path, and are there before time zero. The
client's has no candidates, and the client takes the server's when the call begins: so nothing is sent before.
Candidates are those of the program's own addresses; there is no STUN server. ICE and DTLS take their round
trips then, as in the simulation.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from programs import chromium
from programs.http11 import ends

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

# Cameras are for secure pages only; nothing is asked of this host, whose page is given by the driver.
_ORIGIN = "https://call.invalid/"
_CANDIDATE = re.compile(r"^a=candidate:(?:\S+ ){4}(?P<address>\S+) .*$")


def client(host: Host) -> None:
    """Call; leave behind what was sent and shown."""
    asyncio.run(_hold(host))


def server(host: Host) -> None:
    """Be called; leave behind what was sent and shown."""
    asyncio.run(_hold(host))


async def _hold(host: Host) -> None:
    over, told = ends.over(), host.arguments
    camera = host.folder / "camera.y4m"
    flags = (
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-video-capture={camera}",
        # Candidates have addresses, not names that nobody resolves here.
        "--disable-features=WebRtcHideLocalIpsWithMdns",
    )
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(chromium.launched(*flags))
        pages = [await _opened(host, browser) for _ in told["calls"]]
        answers = [await _described(host, page, number, told["audio"]) for number, page in enumerate(pages)]
        await asyncio.to_thread(host.begin)
        calling = [
            asyncio.ensure_future(_begin(host, page, start, answer))
            for page, start, answer in zip(pages, told["calls"], answers, strict=True)
        ]
        await ends.until(host, over)
        # As one text each: what the driver takes apart by itself takes it seconds.
        left = [json.loads(await page.evaluate("left()")) for page in pages]
        for call in calling:
            call.cancel()
        host.leave(calls=left, ahead_ns=host.wall_ahead(), browser=browser.version)


async def _opened(host: Host, browser: Any) -> Any:
    page = await (await browser.new_context()).new_page()
    html = (host.folder / "call.html").read_text(encoding="utf-8")

    async def give(route: Any) -> None:
        await route.fulfill(status=200, content_type="text/html", body=html)

    await page.route("**/*", give)
    await page.goto(_ORIGIN)
    await page.evaluate("told => prepare(told)", host.arguments)
    return page


async def _described(host: Host, page: Any, number: int, audio: int) -> str | None:
    """Exchange the descriptions of a call; return the answer, which the client takes when it begins."""
    offer, answer = (host.folder / f"{number}.{what}" for what in ("offer", "answer"))
    if host.end == "client":
        _write(offer, addressed(tuned(await page.evaluate("offer()"), audio), None))
        return await _read(answer)
    given = await page.evaluate("sdp => answer(sdp)", await _read(offer))
    _write(answer, addressed(tuned(given, audio), host.own))
    return None


async def _begin(host: Host, page: Any, start_ns: int, answer: str | None) -> None:
    await ends.sleep_until(host, start_ns)
    await page.evaluate("sdp => begin(sdp)", answer)


def addressed(sdp: str, own: str | None) -> str:
    """Return a description whose candidates are those of one address over UDP, or none.

    Raises
    ------
    ValueError
        It has no such candidate.
    """
    lines = []
    for line in sdp.splitlines():
        found = _CANDIDATE.match(line)
        if found is None or (found["address"] == own and " udp " in line.lower()):
            lines.append(line)
    if own is not None and not any(map(_CANDIDATE.match, lines)):
        had = ", ".join(found["address"] for line in sdp.splitlines() if (found := _CANDIDATE.match(line)))
        raise ValueError(f"the browser has no candidate at {own}, but at {had or 'no address'}")
    return "\r\n".join([*lines, ""])


def tuned(sdp: str, audio: int) -> str:
    """Return a description that asks for Opus at a constant rate, in bit/s."""
    (number, *_) = [*re.findall(r"^a=rtpmap:(\d+) opus/48000/2\r?$", sdp, re.MULTILINE), None]
    if number is None or not audio:
        return sdp
    return re.sub(
        rf"^(a=fmtp:{number} [^\r\n]*)", rf"\1;maxaveragebitrate={audio};cbr=1", sdp, flags=re.MULTILINE
    )


def _write(file: Path, text: str) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8", newline="")
    draft.rename(file)


async def _read(file: Path) -> str:
    while not file.exists():
        await asyncio.sleep(0.01)
    return file.read_bytes().decode()
