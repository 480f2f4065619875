"""People who browse, with a Chromium without a window: each page is real HTML that names its objects.

A load is a visit by a browser that knows nothing yet: connections are new, nothing is cached. Its page load
time runs from the beginning of the first connection to the last byte of the last object, by the browser's
own times (Navigation and Resource Timing). The browser asks for objects while it reads the HTML, which the
simulated one does when it has it all. Objects are scripts of blanks: what is no picture is not read to its
end.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from programs import chromium
from programs.http11 import ends

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_LAST_BYTE = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const parts = performance.getEntriesByType("resource").filter((part) => part.responseEnd > 0);
  return { from: page.connectStart, parts: parts.length,
           to: Math.max(page.responseEnd, ...parts.map((part) => part.responseEnd)) };
}"""
_NAMED = "performance.setResourceTimingBufferSize(10000)"


def html(page: int, objects: list[int]) -> bytes:
    """Return a page that names its objects: of the first one's size, or longer where they need more."""
    names = "".join(
        f"<script async src=/{page}/{number}/{size}></script>" for number, size in enumerate(objects[1:], 1)
    )
    text = f"<!doctype html><title>{page}</title><link rel=icon href=data:,>{names}".encode()
    return text + b" " * max(0, objects[0] - len(text))


def server(host: Host) -> None:
    """Answer with pages and objects of the study's sizes."""
    pages = {str(number): objects for number, objects in enumerate(host.arguments["pages"])}

    def content(path: str) -> tuple[str, bytes | int] | None:
        match path.split("/"):
            case ["", page] if page in pages:
                return "text/html", html(int(page), pages[page])
            case ["", page, number, size] if page in pages and number.isdecimal() and size.isdecimal():
                return "text/javascript", int(size)
        return None

    ends.serve(host, content)


def client(host: Host) -> None:
    """Browse until the end; leave behind a row for each load."""
    rows: list[dict[str, Any]] = []

    async def main() -> None:
        told = ends.over()
        async with chromium.launched() as browser:
            host.begin()
            readers = [
                _browse(host, browser, user, visits, rows)
                for user, visits in enumerate(host.arguments["users"])
            ]
            async with ends.attended(host, told, readers):
                for row in rows:
                    row.setdefault("plt_ns", host.now() - row["start_ns"])
                host.leave(loads=rows)

    asyncio.run(main())


async def _browse(
    host: Host, browser: Any, user: int, visits: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    await ends.sleep_until(host, visits["start_ns"])
    patience_s = host.arguments["patience_ns"] / 1e9
    for page, dwell_ns in visits["loads"]:
        context = await browser.new_context()
        try:
            await context.add_init_script(_NAMED)
            tab = await context.new_page()
            row = {"user": user, "page": page, "start_ns": host.now(), "fate": None}
            rows.append(row)
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await tab.goto(f"http://{host.other}:{host.port}/{page}", wait_until="load", timeout=0)
                times = await tab.evaluate(_LAST_BYTE)
                row |= {"plt_ns": round((times["to"] - times["from"]) * 1e6), "fate": "complete"}
                row["parts"] = times["parts"]
            if row["fate"] is None:
                row |= {"plt_ns": round(patience_s * 1e9), "fate": "abandoned"}
        finally:
            await context.close()
        if row["fate"] == "complete":
            await asyncio.sleep(dwell_ns / 1e9)
