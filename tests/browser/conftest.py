"""Debian's or anybody's Chromium, and the demo as a visitor finds it: served with DEBUG off by its own process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.live import Server, scratch_database, served
from tests.needs import need

# root needs --no-sandbox; the others keep the browser from asking its maker for anything
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    need("browser", path is not None, "no Chromium was found (install it, or set CHROMIUM to its path)")
    # Playwright keeps an event loop in this thread for the rest of the session; Django would refuse the database beside it
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("demo")
    with (
        scratch_database(folder) as database,
        served(folder, database, "demo", "--into", str(folder / "sample")) as server,
    ):
        yield server
