"""The workbench in headless Chromium, from the first key to an approved write, wide and narrow."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.browser.conftest import CHROMIUM, SECONDS, SEES_PROGRAMS, Browser, Page, Server

pytestmark = [
    pytest.mark.timeout(4 * SECONDS),
    pytest.mark.skipif(
        CHROMIUM is None, reason="no chromium on PATH (Debian: apt install chromium)"
    ),
]
CONTROL, SHIFT = 2, 8
BOX = "(r => [r.x, r.y, r.width, r.height])(document.querySelector(%r).getBoundingClientRect())"
PASTE = """(() => {
  const data = new DataTransfer();
  data.setData("text/plain", %s);
  const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector(".xterm-helper-textarea").dispatchEvent(event);
})()"""


def written(server: Server) -> Path:
    """What the agent wants to write, outside the workspace."""
    return server.folder / "outside.md"


async def decided(page: Page, server: Server, answer: Callable[[], Awaitable[None]]) -> None:
    """Answer the approval; one that came just now hears nothing yet, so again where nothing happens."""
    await page.shows("Approve?")
    assert not written(server).exists()
    await page.until(lambda: any("It is written" in line for line in page.lines), answer)
    assert written(server).read_text() == "approved\n"


@SEES_PROGRAMS
@pytest.mark.requirement("browser:workbench", "browser:ends")
async def test_from_the_first_key_to_an_approved_write(browser: Browser, server: Server) -> None:
    async with browser.opened(server.invitation(), (1200, 800)) as page:
        await page.shows("ready")
        assert await page.evaluate("location.href") == f"{server.origin}/"
        assert await page.evaluate("document.cookie") == ""

        await page.evaluate(
            PASTE % json.dumps("two\nlines \x1b[201~\r!touch typed\r\x9b201~ — żółw")
        )
        await page.shows("201~ — żółw")
        # What telephones insert is a paste, too, and one of megabytes is nothing but that.
        await page.call("Input.insertText", text="inserted\n!touch typed\nend; ")
        await page.shows("end; ")
        await page.evaluate(PASTE % "'long '.repeat(220000)")
        await page.shows("[pasted 1100000 characters]")
        # Nothing of all that was a key.
        assert not any("I write it down" in line for line in page.lines)
        assert not (server.folder / "ws" / "typed").exists()
        await page.press("Enter", 13, "\r")
        await decided(page, server, lambda: page.type("1"))
        await page.shows("It is written: żółw 漢字 ✓.")

        before = page.size
        await page.call(
            "Emulation.setDeviceMetricsOverride",
            width=700,
            height=500,
            deviceScaleFactor=1,
            mobile=False,
        )
        await page.until(lambda: page.size < before)
        await page.shows("It is written: żółw 漢字 ✓.")

        await page.press("]", 221, modifiers=CONTROL)
        await page.shows("leaves")
        await page.type("echo $((40+2))-and-more")
        await page.press("Enter", 13, "\r")
        await page.shows("42-and-more")

        # Nothing but this server was asked for anything, and the page's own rules were kept.
        hosts = {request.partition("://")[2].partition("/")[0] for request in page.requests}
        assert hosts == {f"127.0.0.1:{server.port}"}
        assert page.faults == []
        assert server.programs()
    server.empty()  # the page is gone, and what ran for it ends


@pytest.mark.requirement("browser:narrow")
async def test_on_a_telephone_a_tap_approves_and_keys_that_it_has_not_are_below(
    browser: Browser, server: Server
) -> None:
    async with browser.opened(server.invitation(), (360, 640), phone=True) as page:
        await page.shows("ready")
        assert page.size[0] == 40
        await tap(page, await centre(page, "button[data-key=F1]"))
        await page.shows("type to search")
        await tap(page, await centre(page, "button[data-key=Escape]"))
        await page.until(lambda: not any("type to search" in line for line in page.lines))
        await page.call("Input.insertText", text="write it")
        await page.shows("write it")
        await page.press("Enter", 13, "\r")

        async def allow() -> None:
            for row, line in enumerate(page.lines):
                if "1 Once" in line:
                    await tap(page, await cell(page, line.index("1 Once") + 2, row))

        await decided(page, server, allow)
        assert page.faults == []


async def centre(page: Page, selector: str) -> tuple[float, float]:
    """Where an element of the page is."""
    x, y, width, height = await page.evaluate(BOX % selector)
    return x + width / 2, y + height / 2


async def cell(page: Page, column: int, row: int) -> tuple[float, float]:
    """Where a cell of its terminal is."""
    x, y, width, height = await page.evaluate(BOX % ".xterm-screen")
    columns, rows = page.size
    return x + (column + 0.5) * width / columns, y + (row + 0.5) * height / rows


async def tap(page: Page, at: tuple[float, float]) -> None:
    """Touch it for a moment."""
    where = [{"x": at[0], "y": at[1]}]
    await page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=where)
    await page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


ASKS = "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"
"""Whether the page has the browser ask before it is left."""


@pytest.mark.requirement("browser:login")
async def test_a_page_that_is_loaded_again_needs_no_token_and_another_browser_does(
    browser: Browser, server: Server
) -> None:
    async with browser.opened(server.invitation(), (800, 600)) as page:
        await page.shows("ready")
        assert await page.evaluate(ASKS), "a page that goes away ends its workbench"
        await page.call("Page.reload")
        await page.until(lambda: len([r for r in page.requests if "/workbench/" in r]) == 2)
        await page.shows("ready")
    async with browser.opened(server.origin, (800, 600)) as page:
        await page.until(lambda: any(r.endswith("/ticket") for r in page.requests))
        notice = ""
        while "sam-tui serve printed" not in notice:
            notice = await page.evaluate("document.querySelector('#notice').innerText")
        assert not any("/workbench/" in r for r in page.requests)
        assert not await page.evaluate(ASKS)
