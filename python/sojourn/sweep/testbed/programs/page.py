"""Readers of a page of today: a Chromium without a window loads it from a real server, as a first visit.

Arguments: ``objects`` (the page), ``http``; of the client ``starts_ns``, ``pause_ns``, ``patience_ns``,
``spki``. In each load the browser knows nothing yet: connections are new, nothing is cached, no TLS session
goes on. Times are its own (Navigation, Resource and Paint Timing), since the first connection began.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from programs import chromium, https
from programs.http11 import ends
from programs.site import TYPES, Object, content

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_WATCH = """
performance.setResourceTimingBufferSize(10000);
window.largest = null;
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.largest = entry; })
  .observe({ type: "largest-contentful-paint", buffered: true });
"""
_SEEN = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const parts = performance.getEntriesByType("resource").filter((part) => part.responseEnd > 0);
  const [first] = performance.getEntriesByName("first-contentful-paint");
  const all = [page, ...parts];
  return {
    parts: all.length, from: page.connectStart, to: Math.max(...all.map((part) => part.responseEnd)),
    first: first ? first.startTime : null, hero: window.largest?.id === "hero",
    largest: window.largest ? window.largest.startTime : null,
    connections: all.filter((part) => part.connectEnd > part.connectStart).length,
    protocols: [...new Set(all.map((part) => part.nextHopProtocol))],
  };
}"""
_LATEST_S = 2.0
"""For how long the last picture may be painted after the load, and the last object be written down."""
_LOOK_S = 0.02
_PAUSE_OF_FAILED_NS = 100_000_000
_FIRST_LOOK_S = 0.3


def _objects(host: Host) -> list[Object]:
    return [Object(*each) for each in host.arguments["objects"]]


def server(host: Host) -> None:
    """Answer as each of the page's hosts."""
    objects = _objects(host)
    urls = [f"https://{host.own}:{host.port + each.host}/{k}" for k, each in enumerate(objects)]
    made = [(TYPES[each.kind], content(objects, urls, k)) for k, each in enumerate(objects)]
    paths = {f"/{k}": each for k, each in enumerate(made)}
    https.serve(host, 1 + max(each.host for each in objects), paths)


def client(host: Host) -> None:
    """Load the page again and again until the end; leave behind a row for each load."""
    rows: list[dict[str, Any]] = []
    starts = host.arguments["starts_ns"]
    hosts = {each.host for each in _objects(host)}
    flags = [f"--ignore-certificate-errors-spki-list={host.arguments['spki']}"]
    if host.arguments["http"] == "3":
        origins = ",".join(f"{host.other}:{host.port + number}" for number in hosts)
        flags += ["--enable-quic", f"--origin-to-force-quic-on={origins}"]
    else:
        flags += ["--disable-quic"]

    async def main() -> None:
        told = ends.over()
        async with chromium.launched(*flags) as browser:
            tabs = [await _opened(browser) for _ in starts]
            host.begin()
            readers = [
                _read(host, browser, user, tab, start_ns, rows)
                for user, (tab, start_ns) in enumerate(zip(tabs, starts, strict=True))
            ]
            async with ends.attended(host, told, readers):
                for row in rows:
                    row.setdefault("load_ns", max(0, host.now() - row["start_ns"]))
                host.leave(loads=rows, browser=browser.version)

    asyncio.run(main())


async def _opened(browser: Any) -> Any:
    """Return a tab of a browser that knows nothing yet."""
    context = await browser.new_context(ignore_https_errors=True)
    await context.add_init_script(_WATCH)
    return await context.new_page()


async def _read(
    host: Host, browser: Any, user: int, tab: Any, at_ns: int, rows: list[dict[str, Any]]
) -> None:
    """Load the page, and again when its end is a pause ago, until this is cancelled."""
    from playwright.async_api import Error

    told = host.arguments
    url = f"https://{host.other}:{host.port}/0"
    while True:
        await ends.sleep_until(host, at_ns)
        row: dict[str, Any] = {"user": user, "start_ns": host.now(), "fate": None}
        rows.append(row)
        with suppress(TimeoutError):
            async with asyncio.timeout(told["patience_ns"] / 1e9):
                try:
                    await tab.goto(url, wait_until="load", timeout=0)
                except Error as error:
                    row["failed"] = str(error).partition("\n")[0]
                    raise TimeoutError from None
            seen = await _settled(tab, len(told["objects"]))
            row |= seen | {"load_ns": round((seen["to"] - seen["from"]) * 1e6), "fate": "complete"}
        at_ns = row["start_ns"] + row.get("load_ns", 0) + told["pause_ns"]
        if row["fate"] is None:
            with suppress(Exception):
                row |= await asyncio.wait_for(tab.evaluate(_SEEN), _FIRST_LOOK_S)
            row |= {"load_ns": host.now() - row["start_ns"], "fate": "abandoned"}
            at_ns = host.now() + (_PAUSE_OF_FAILED_NS if "failed" in row else 0)
        await tab.context.close()
        tab = await _opened(browser)


async def _settled(tab: Any, objects: int) -> dict[str, Any]:
    """Return what the browser saw of a load that is complete, when its last picture is painted too."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + _LATEST_S
    while True:
        seen = await tab.evaluate(_SEEN)
        if (seen["parts"] >= objects and seen["hero"]) or loop.time() > until_s:
            return seen
        await asyncio.sleep(_LOOK_S)
