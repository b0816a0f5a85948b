"""A headless browser for tests of HTML pages: the system's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def open_browser() -> Iterator:
    """A running browser. Where there is none, the test is skipped with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no browser: apt-get install -y --no-install-recommends chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=120_000)
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A file in a browser without a network.

    page: Playwright's page
    complaints: errors of scripts, messages of the console and dialogs so far
    requests: the addresses asked for so far, apart from the file itself and what it contains
    """

    def __init__(self, browser, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=True, accept_downloads=True
        )
        self.context.set_default_timeout(60_000)  # of a busy machine
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self._request(request.url, path.as_uri()))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#footer:not(:empty)")

    def _dialog(self, dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, address: str, own: str) -> None:
        if address != own and not address.startswith(("data:", "blob:")):
            self.requests.append(address)

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.page.locator(selector).all_text_contents()]

    def saved(self, button) -> str:
        """The content of the file that a button saves."""
        with self.page.expect_download() as found:
            button.click()
        return Path(found.value.path()).read_text(encoding="utf-8")

    def close(self) -> None:
        self.context.close()
