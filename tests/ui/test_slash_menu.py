"""The list of commands under the prompt: gone through whole, by key and by mouse."""

import pytest
from textual import events

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui import slash
from sam_tui.ui.actions import BY_SLASH
from sam_tui.ui.screens.dialogs import HelpScreen
from sam_tui.ui.widgets.menus import SlashMenu
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, driven


def drawn(me: Driver) -> str:
    """What is drawn of the list."""
    where = menu(me).region
    lines = me.drawn().splitlines()[where.y : where.bottom]
    return "\n".join(line[where.x : where.right] for line in lines)


def flat(me: Driver) -> str:
    """The same on one line."""
    return " ".join(drawn(me).split())


def menu(me: Driver) -> SlashMenu:
    return me.app.chat.prompt.area.menu


@pytest.mark.requirement("ui:slash-menu")
async def test_every_command_is_reached_by_arrows_with_all_its_help(stage: Stage) -> None:
    async with driven(app_over(stage), (80, 24)) as me:
        await me.ready()
        await me.type("/")
        await me.until(lambda: menu(me).marked is not None)
        seen: list[str] = []
        for action in BY_SLASH.values():
            await me.until(lambda action=action: menu(me).marked is action)
            wanted = (
                f"▸ /{action.slash}",
                " ".join(action.help.split()),
                f"{len(seen) + 1} of {len(BY_SLASH)}",
            )
            await me.until(lambda wanted=wanted: all(words in flat(me) for words in wanted))
            seen.append(action.slash)
            await me.pilot.press("down")
        await me.until(lambda: menu(me).marked is next(iter(BY_SLASH.values())))
        await me.pilot.press("up")
        await me.until(lambda: menu(me).marked is list(BY_SLASH.values())[-1])


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:slash-menu")
async def test_enter_takes_the_marked_command_and_tab_completes_it(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.type("/")
        await me.until(lambda: menu(me).marked is not None)
        await me.pilot.press("enter")  # the first is marked by itself: nothing was chosen
        assert area.text == "/" and not me.bench.turns.running
        area.put("/mo")
        await me.until(lambda: menu(me).marked is not None)
        await me.pilot.press("down", "tab")
        await me.until(lambda: area.text == "/mode ")
        area.put("/mode")  # typed whole, it goes before those that begin with it
        await me.until(lambda: menu(me).marked is BY_SLASH["mode"])
        area.put("/hel")
        await me.until(lambda: menu(me).marked is BY_SLASH["help"])
        area.put("/si")
        await me.until(lambda: menu(me).marked is BY_SLASH["side"])
        await me.pilot.press("enter")
        await me.until(lambda: not me.app.chat.side_shown)
        area.put("/h")
        await me.until(lambda: menu(me).marked is BY_SLASH["help"])
        await me.pilot.press("enter")
        await me.until(lambda: isinstance(me.app.screen, HelpScreen))
        await me.pilot.press("escape")
        await me.until(lambda: me.app.screen is me.app.chat)
        area.put("/")
        await me.until(lambda: menu(me).marked is not None)
        at = list(slash.matching("/")).index(BY_SLASH["side"])
        await me.pilot.press(*["down"] * at, "enter")
        await me.until(lambda: me.app.chat.side_shown)


@pytest.mark.requirement("ui:slash-menu")
async def test_the_list_goes_with_escape_and_leaves_the_arrows_to_earlier_prompts(
    stage: Stage,
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("/side")
        await me.send("/side")
        area = me.app.chat.prompt.area
        await me.pilot.press("up")
        await me.until(lambda: area.text == "/side")
        assert menu(me).marked is None
        await me.pilot.press("down")
        area.put("/t")
        await me.until(lambda: menu(me).marked is not None)
        await me.pilot.press("escape")
        await me.until(lambda: menu(me).marked is None)
        assert area.text == "/t"
        await me.pilot.press("up")
        await me.until(lambda: area.text == "/side")


@pytest.mark.requirement("ui:slash-menu")
async def test_a_click_takes_a_command_and_the_wheel_moves_the_mark(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.type("/")
        await me.until(lambda: menu(me).marked is not None)
        menu(me).post_message(events.MouseScrollDown(menu(me), 1, 1, 0, 0, 0, False, False, False))
        await me.until(lambda: menu(me).marked is list(BY_SLASH.values())[1])
        await me.pilot.click(menu(me), offset=(6, 0))
        await me.until(lambda: isinstance(me.app.screen, HelpScreen))


@pytest.mark.requirement("ui:slash-menu")
async def test_enter_behind_a_line_typed_in_one_go_sends_that_line(stage: Stage) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        area = me.app.chat.prompt.area
        await me.type("/re")
        await me.until(lambda: menu(me).marked is not None)
        # Enter comes before the change that the keys before it made is told of.
        area.insert("x, and a word")
        area.on_key(events.Key("enter", None))
        assert area.past == ["/rex, and a word"]
        await me.until(lambda: menu(me).marked is None)


@pytest.mark.requirement("ui:argument-completion")
async def test_what_follows_a_command_is_completed_from_what_there_is(
    stage: Stage, model: RawModel
) -> None:
    (stage.workspace / "first.cast").write_text("")
    model.answers += [[TextDelta("Painted.")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("paint the roof")
        await me.until(lambda: "Painted." in me.transcript() and not me.bench.turns.running)
        area = me.app.chat.prompt.area
        for typed, keys, becomes in (
            ("/mode pl", ["tab"], "/mode plan"),
            ("/mode ", ["down", "down", "enter"], "/mode ask-all"),
            ("/side hi", ["tab"], "/side hide"),
            ("/tab re", ["tab"], "/tab rename"),
            ("/theme contrast-l", ["tab"], "/theme contrast-light"),
            ("/model ra", ["tab"], "/model raw"),
            (
                "/workflow ",
                ["tab"],
                f"/workflow {stage.runtime.workflows.workflows().catalog.views()[0].name}",
            ),
            ("/resume roof", ["tab"], "/resume paint the roof"),
            ("/replay cast", ["tab"], "/replay first.cast"),
        ):
            area.put(typed)
            await me.until(lambda: area.files.marked is not None)
            await me.pilot.press(*keys)
            await me.until(lambda becomes=becomes: area.text == becomes)
            await me.until(lambda: area.files.marked is None)
        area.put("/mode pl")
        await me.until(lambda: area.files.marked is not None)
        await me.pilot.press("backspace", "l", "a", "n", "enter")
        await me.until(lambda: stage.runtime.guard.policy.mode == "plan")
        await me.send("/new")
        await me.until(lambda: me.bench.current.id is None)
        await me.send("/resume paint the roof")
        await me.until(lambda: "Painted." in me.transcript())
