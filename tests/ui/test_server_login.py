"""A login at an MCP server, made in the workbench: its page, giving up, and the server afterwards."""

import asyncio
import json
import urllib.request

import pytest
from textual.widgets import TextArea

from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.servers import ServerReport
from sam_tui.ui.screens.dialogs import Picker
from sam_tui.ui.screens.reader import LoginPage
from tests.fakes.engine_kit import calls
from tests.servers.login_server import LoginSite, login_site
from tests.ui.driver import Driver, Stage, app_over, driven
from tests.ui.test_inquiries import panel, shown, words


def follow(page: str) -> None:
    """A person who agrees."""
    with urllib.request.urlopen(page, timeout=90) as answer:
        answer.read()


async def log_in(me: Driver) -> str:
    """Go to the page of the login; its address."""
    await me.send("/mcp")
    await me.until(lambda: isinstance(me.app.screen, Picker) and "web" in me.drawn())
    await me.pilot.press("enter")
    await me.until(lambda: "Log in" in me.drawn())
    await me.pilot.press("down", "enter")
    await me.until(lambda: isinstance(me.app.screen, LoginPage))
    await me.until(lambda: "http" in me.app.screen.query_one(TextArea).text)
    return me.app.screen.query_one(TextArea).text


@pytest.mark.requirement("servers:login-workbench", "servers:login-in-call")
async def test_a_person_logs_in_from_the_workbench_or_gives_up_and_the_server_is_there(
    stage: Stage,
) -> None:
    settings = stage.workspace.parent / "settings"
    settings.mkdir(mode=0o700, exist_ok=True)
    with login_site() as site:
        named = {"mcpServers": {"web": {"url": site.url}}}
        (settings / "mcp.json").write_text(json.dumps(named), encoding="utf-8")

        def report() -> ServerReport:
            [report] = stage.runtime.servers.reports()
            return report

        async with driven(app_over(stage)) as me:
            await me.ready()
            await me.until(lambda: report().standing == "failed")
            await log_in(me)
            await me.pilot.press("escape")
            await me.until(lambda: not [w for w in me.app.workers if w.group == "login"])
            assert (report().standing, site.valid) == ("failed", set())

            page = await log_in(me)
            await me.pilot.press("c")
            assert me.app.clipboard == page
            await asyncio.to_thread(follow, page)
            await me.until(lambda: not isinstance(me.app.screen, LoginPage))
            await me.until(lambda: report().standing == "ready")
            assert report().login
            stage.model.answers = [[TextDelta("Hello.")]]
            await me.send("hello")
            await me.until(lambda: "Hello." in me.transcript())
            assert "mcp__web__echo" in stage.runtime.registry.names
            await _asked_in_a_turn(me, stage, site)


async def _asked_in_a_turn(me: Driver, stage: Stage, site: LoginSite) -> None:
    """A call that wants more scopes: a yes shows the page, whose login lets the call go on."""
    site.call_scope = "write"
    stage.runtime.guard.use_mode("bypass")
    stage.model.answers = [calls(("mcp__web__echo", {"word": "hi"})), [TextDelta("It did.")]]
    await me.send("echo hi")
    question = await shown(me)
    asked = " ".join(words(question).split())
    assert "it requires more scopes than your login has: write. Log in now?" in asked
    await me.pilot.press("1", "enter")
    await me.until(lambda: "c copies" in str(getattr(panel(me), "border_subtitle", "")))
    page = panel(me)
    assert page is not None and "give up" in words(page)
    assert "asks for the scopes write" in words(page)
    await me.pilot.press("c")
    assert "/authorize?" in me.app.clipboard and me.app.clipboard.endswith("scope=write")
    await asyncio.to_thread(follow, me.app.clipboard)
    await me.until(lambda: "It did." in me.transcript())
    assert len(site.queries) == 2
