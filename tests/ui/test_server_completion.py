"""What servers have, completed while one types: resources, templates, prompts and their arguments."""

import json

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.core.ports.servers import TypedValue
from tests.fakes.engine_kit import RawModel
from tests.servers import conftest as servers
from tests.servers.test_http import sdk_over_http
from tests.ui.driver import Driver, Stage, app_over, driven


def offered(me: Driver) -> list[str]:
    """The lines that are offered under the prompt."""
    return me.drawn().splitlines()


async def see(me: Driver, text: str, *parts: str) -> None:
    """Type a text, and wait until each part is offered."""
    me.app.chat.prompt.area.put(text)
    await me.until(lambda: all(any(p in line for line in offered(me)) for p in parts))


@pytest.mark.requirement("servers:completion")
async def test_what_servers_have_is_completed_as_they_propose_and_names_are_plain(
    stage: Stage,
) -> None:
    settings = stage.workspace.parent / "settings"
    settings.mkdir(mode=0o700, exist_ok=True)
    with sdk_over_http("resources", "completions") as url:
        named = {"mcpServers": {"sdk": {"url": url}}}
        (settings / "mcp.json").write_text(json.dumps(named), encoding="utf-8")
        async with driven(app_over(stage)) as me:
            area = me.app.chat.prompt.area
            await me.ready()
            await me.until(
                lambda: [r.standing for r in stage.runtime.servers.reports()] == ["ready"]
            )
            await see(me, "See @sdk:notes://f", "sdk:notes://first")
            await me.pilot.press("tab")
            await me.until(lambda: area.text == "See @sdk:notes://first ")
            await see(me, "@sdk:notes://by/a", "sdk:notes://by/Alan")
            assert "by/Ada Lovelace" not in me.drawn()  # no message could name it

            await see(me, "/sdk", "/sdk:greet", "NAME TONE")
            assert "evil" not in me.drawn()
            await me.pilot.press("tab")
            await me.until(lambda: area.text == "/sdk:greet ")
            await see(me, "/sdk:greet A", "'Ada Lovelace'", "Alan")
            await me.pilot.press("down", "tab")
            await me.until(lambda: area.text == "/sdk:greet Alan")
            await see(me, "/sdk:greet Alan c", "Alan calm-for-Alan")
            await see(me, "/sdk:greet tone=l", "tone=loud")
            area.put("/sdk:greet x")
            await me.until(lambda: "loud" not in me.drawn())
            assert "\u202e" not in me.drawn() and "bad" not in me.drawn()
            token = "q7Lx2vKf9TzW4mNc8RbY1sHd6G"
            stage.runtime.executor.shield.learn({"CHAT_TOKEN": token})
            typed = TypedValue("sdk", "prompt", "greet", "heard", token)
            (heard,) = await stage.runtime.servers.complete(typed)
            assert bytes.fromhex(heard).startswith(b"<secret:CHAT_TOKEN:")


@pytest.mark.requirement("plans:server-tools")
async def test_a_plan_that_is_the_first_message_knows_the_tools_of_servers(
    stage: Stage, model: RawModel
) -> None:
    settings = stage.workspace.parent / "settings"
    (settings / "personas").mkdir(parents=True, mode=0o700)
    named = {"mcpServers": {"lab": servers.raw()}}
    (settings / "mcp.json").write_text(json.dumps(named), encoding="utf-8")
    persona = "---\nname: Chemist\ndescription: Looks up.\ntools: [mcp__lab__echo]\n---\nYou.\n"
    (settings / "personas" / "Chemist.md").write_text(persona, encoding="utf-8")
    model.answers.append([TextDelta("[]")])
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.until(lambda: [r.standing for r in stage.runtime.servers.reports()] == ["ready"])
        await me.send("/plan what water is")
        await me.until(lambda: model.seen)
        assert "Say it back." in str(model.seen[0]) + model.systems[0]  # what the tool is for
