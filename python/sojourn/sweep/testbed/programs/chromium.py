"""A Chromium without a window, driven by Playwright."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
_FLAGS = (
    # The programs of a testbed run as root in namespaces of their own, where Chromium's sandbox cannot begin.
    "--no-sandbox",
    # Every page of several in one browser is in front.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    # Nothing but what the study asks for is fetched.
    "--disable-background-networking",
    "--disable-component-update",
    "--autoplay-policy=no-user-gesture-required",
)


def missing() -> str | None:
    """Say what is missing to run a browser, in one sentence; None if nothing is."""
    if find_spec("playwright") is None:
        return "Playwright, which drives the browser, is not installed (pip install 'sojourn[testbed]')"
    if found() is None:
        return "no Chromium is installed (its package is called chromium)"
    return None


def found() -> str | None:
    """Return the program; None if there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@asynccontextmanager
async def launched(*flags: str) -> AsyncIterator[Any]:
    """Run a browser, of Playwright's asynchronous interface."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        # Whoever starts the programs knows for how long.
        browser = await driver.chromium.launch(executable_path=found(), args=[*_FLAGS, *flags], timeout=0)
        try:
            yield browser
        finally:
            await browser.close()
