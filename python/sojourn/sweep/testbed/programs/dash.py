"""Viewers of adaptive video with dash.js, hls.js or Shaka: their own rules, in a Chromium without a window.

Clips and starts are those of the simulated viewers. The page is there before time zero; a session begins
when its player is made, and fetches the manifest and the initialisation segments, which the simulation does
not. Times of requests are the browser's own (Resource Timing).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from programs import chromium
from programs.http11 import ends
from programs.segments import Fragment, manifest, media_playlist, playlist

from sojourn import _core

if TYPE_CHECKING:
    from sojourn.sweep.testbed.host import Host

_XML, _M3U8, _MP4 = "application/dash+xml", "application/vnd.apple.mpegurl", "video/mp4"
_PLAYLISTS = "hls.js"
"""The player that reads playlists; the others read manifests."""


def _viewings(host: Host) -> list[Any]:
    point = (host.folder / "point.json").read_text(encoding="utf-8")
    return [viewing for viewing in _core.viewings(point) if viewing.entry == host.arguments["entry"]]


def server(host: Host) -> None:
    """Answer with the page, manifests, and segments of the sizes of each viewer's clip."""
    files = {
        "/player.html": ("text/html", (host.folder / "player.html").read_bytes()),
        "/player.js": ("text/javascript", (host.folder / "player.js").read_bytes()),
    }
    made = {
        float(length): (
            (host.folder / f"{length}.beginning").read_bytes(),
            Fragment(float(length), (host.folder / f"{length}.fragment").read_bytes(), timescale),
        )
        for length, timescale in host.arguments["timescales"].items()
    }
    clips = {str(viewing.user): viewing.clip() for viewing in _viewings(host)}

    def content(path: str) -> tuple[str, bytes] | None:
        if path in files:
            return files[path]
        match path.split("/"):
            case ["", user, "manifest.mpd"] if user in clips:
                segment_s, rates, sizes = clips[user]
                return _XML, manifest(segment_s, len(sizes), rates).encode()
            case ["", user, "playlist.m3u8"] if user in clips:
                return _M3U8, playlist(clips[user][1]).encode()
            case ["", user, name] if user in clips and name.endswith(".m3u8"):
                segment_s, rates, sizes = clips[user]
                level = name.removesuffix(".m3u8")
                if level.isdecimal() and 1 <= int(level) <= len(rates):
                    return _M3U8, media_playlist(segment_s, len(sizes), int(level)).encode()
            case ["", user, "beginning.mp4"] if user in clips:
                return _MP4, made[clips[user][0]][0]
            case ["", user, level, number] if user in clips and level.isdecimal() and number.isdecimal():
                segment_s, rates, sizes = clips[user]
                if 1 <= int(number) <= len(sizes) and 1 <= int(level) <= len(rates):
                    size = sizes[int(number) - 1][int(level) - 1]
                    return _MP4, made[segment_s][1].segment(int(number), size)
        return None

    ends.serve(host, content)


def client(host: Host) -> None:
    """Watch until the run is over; leave behind what each player did."""

    async def main() -> None:
        told = ends.over()
        viewers = _viewings(host)
        async with chromium.launched() as browser:
            pages = [await _opened(host, browser) for _ in viewers]
            host.begin()
            starting = [
                asyncio.ensure_future(_start(host, page, viewing))
                for page, viewing in zip(pages, viewers, strict=True)
            ]
            await ends.until(host, told)
            for start in starting:
                start.cancel()
            left = [await page.evaluate("left()") for page in pages]
            ahead_ns = host.wall_ahead()
            made = [_made(seen, viewing, ahead_ns) for seen, viewing in zip(left, viewers, strict=True)]
            host.leave(viewers=[found for found in made if found is not None])

    asyncio.run(main())


async def _opened(host: Host, browser: Any) -> Any:
    # A context each: connections are shared by the pages of one.
    page = await (await browser.new_context()).new_page()
    await page.goto(f"http://{host.other}:{host.port}/player.html")
    return page


async def _start(host: Host, page: Any, viewing: Any) -> None:
    await ends.sleep_until(host, round(viewing.start_s * 1e9))
    told = host.arguments
    described = "playlist.m3u8" if told["player"] == _PLAYLISTS else "manifest.mpd"
    await page.evaluate(
        "(told) => begin(...told)",
        [
            told["player"],
            f"/{viewing.user}/{described}",
            told["buffer_s"],
            told["initial_s"],
            told["give_up"],
        ],
    )


def _made(seen: Mapping[str, Any], viewing: Any, ahead_ns: int) -> dict[str, Any] | None:
    """Return what a page has seen as the program of our own players leaves it; None if it had not begun."""
    if seen["begun"] is None:
        return None
    segment_s, rates, sizes = viewing.clip()

    def since(ms: float | None) -> float:
        return float("inf") if ms is None else (ms - seen["begun"]) / 1e3

    rows: list[dict[str, Any]] = []
    given_up = 0
    for request in seen["requests"]:
        *_, level, number = map(int, request["url"].split("/")[-2:])
        if request.get("given_up"):
            given_up += 1
            continue
        rows.append(
            {
                "segment": number,
                "level": level,
                "rate_kbps": rates[level - 1],
                "bytes": sizes[number - 1][level - 1],
                "before_s": request["before"],
                "after_s": request.get("after") or 0.0,
                "estimate_kbps": float("nan"),
                "given_up": given_up,
                "request_s": since(request["request"]),
                "first_byte_s": since(request.get("first")),
                "arrive_s": since(request.get("arrive")),
            }
        )
        given_up = 0
    return {
        "user": viewing.user,
        "begun_ns": round(seen["begun"] * 1e6) - ahead_ns,
        "segments": len(sizes),
        "segment_s": segment_s,
        "played_s": None if seen["playing"] is None else since(seen["playing"]),
        "stalls": [[since(start), since(stop or seen["now"])] for start, stop in seen["stalls"]],
        "rows": {name: [row[name] for row in rows] for name in (rows[0] if rows else ())},
        "heard": seen["heard"],
    }
