"""The todo list under the person's keys: what they do is stored, shown, and told to the model."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from sam_tui.core.todos.item import Subtask, Todo
from sam_tui.ui.widgets.todo_panel import todo_line
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Driver, Stage, app_over, build_stage, driven
from tests.ui.test_chat import says

LIST = (
    Todo(1, "One", status="completed"),
    Todo(2, "Two", status="in-progress"),
    Todo(3, "Three"),
)


class Person(Driver):
    """Looks at the list of the conversation on show."""

    def items(self) -> list[Todo]:
        """The list as stored."""
        session, runtime = self.bench.current.session, self.app.runtime
        assert runtime is not None
        return list(runtime.todos.items(session.conversation)) if session is not None else []

    def titles(self) -> list[str]:
        """The stored titles."""
        return [item.title for item in self.items()]

    def drawn(self) -> str:
        """The lines of the panel."""
        return "\n".join(str(s.render()) for s in self.app.chat.todos.query(Static) if s.display)

    async def press(self, *keys: str) -> None:
        """Press keys and let the panel follow."""
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.until(lambda: list(self.app.chat.todos.items) == self.items())


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:todo-keys")
async def test_an_empty_list_names_its_key_only_while_it_has_the_keys(stage: Stage) -> None:
    async with driven(app_over(stage)) as driver:
        me = Person(driver.app, driver.pilot)
        await me.ready()
        await me.press("ctrl+t")
        await me.until(lambda: "Press a to add." in me.drawn())
        await me.press("ctrl+right_square_bracket")
        await me.until(lambda: me.app.chat.terminals.current.has_focus)
        await me.until(lambda: not me.app.chat.todos.has_focus)
        assert "Nothing to do yet." in me.drawn()
        assert "Press a" not in me.drawn()


@asynccontextmanager
async def at_the_list(stage: Stage, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[Person]:
    """The app with a list of three, the keys given to it."""
    session = stage.runtime.open_session()
    stage.runtime.todos.replace(session.conversation, LIST)
    app = app_over(stage, conversation=session.conversation)
    async with driven(app, size) as driver:
        me = Person(driver.app, driver.pilot)
        await me.ready()
        await me.press("ctrl+t")
        assert me.app.chat.todos.has_focus
        yield me


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:todo-keys")
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_list_takes_the_keys_and_gives_them_back(
    stage: Stage, size: tuple[int, int]
) -> None:
    async with at_the_list(stage, size) as me:
        chat = me.app.chat
        assert chat.side_shown
        assert chat.screen.region.contains_region(chat.todos.region)
        assert chat.todos.region.height >= 5
        for key in ("escape", "ctrl+t"):
            await me.press(key)
            assert chat.prompt.area.has_focus
            assert chat.side_shown is (size[0] >= 100)
            await me.press("ctrl+t")
            assert chat.todos.has_focus


@pytest.mark.requirement("ui:todo-keys")
async def test_space_goes_round_the_statuses_under_the_rules(stage: Stage) -> None:
    async with at_the_list(stage) as me:
        await me.press("end", "space")
        assert [i.status for i in me.items()] == ["completed", "not-started", "in-progress"]
        await me.press("space")
        assert me.items()[2].status == "completed"
        await me.press("up", "up", "space")
        assert me.items()[0].status == "not-started"
        assert "○ One" in me.drawn() and "✓ Three" in me.drawn()


@pytest.mark.requirement("ui:todo-keys")
async def test_a_title_is_edited_in_its_place_or_left_as_it_was(stage: Stage) -> None:
    async with at_the_list(stage) as me:
        await me.press("down", "e", "end")
        editor = me.app.chat.todos.query_one(Input)
        assert editor.value == "Two"
        assert me.app.chat.todos.region.contains_region(editor.region)
        above, below = me.app.chat.todos.query(Static)
        assert str(above.render()) == "✓ One" and str(below.render()) == "○ Three"
        await me.press(*"!", "escape")
        assert me.titles() == ["One", "Two", "Three"]
        await me.press("e", "end", *" ", *"adJK", "enter")
        await me.until(lambda: me.titles() == ["One", "Two adJK", "Three"])
        await me.press("e", "ctrl+u", "enter")
        assert me.titles() == ["One", "Two adJK", "Three"]
        assert me.app.chat.todos.has_focus


@pytest.mark.requirement("ui:todo-keys")
async def test_an_item_is_added_and_selected_and_moved(stage: Stage) -> None:
    async with at_the_list(stage) as me:
        await me.press("a", *"four", "enter")
        await me.until(lambda: me.titles() == ["One", "Two", "Three", "four"])
        await me.until(lambda: me.app.chat.todos.selected == 4)
        await me.press("K", "K")
        assert me.titles() == ["One", "four", "Two", "Three"]
        await me.press("J")
        assert me.titles() == ["One", "Two", "four", "Three"]


@pytest.mark.requirement("ui:todo-keys")
async def test_what_is_completed_is_removed_only_when_confirmed(stage: Stage) -> None:
    async with at_the_list(stage) as me:
        await me.press("down", "d")
        assert me.titles() == ["One", "Three"]
        await me.press("home", "d")
        assert me.titles() == ["One", "Three"]
        assert "again" in str(me.app.chat.todos.border_subtitle)
        await me.press("escape")
        assert me.app.chat.todos.has_focus
        await me.press("d", "down", "up", "d")
        assert me.titles() == ["One", "Three"]
        await me.press("d")
        assert me.titles() == ["Three"]


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:todo-keys")
async def test_stray_keys_do_nothing_and_an_empty_list_bears_them_all(
    stage: Stage, tmp_path: Path
) -> None:
    async with at_the_list(stage) as me:
        await me.press("enter", "left", "backspace", "x", "1", "E", "A", "D")
        assert tuple(me.items()) == LIST
        assert me.app.chat.prompt.area.text == "x1EAD"
    other = build_stage(
        tmp_path / "other", RawModel(), stage.layout
    )  # the first ended with its app
    async with driven(app_over(other), (80, 24)) as driver:
        me = Person(driver.app, driver.pilot)
        await me.ready()
        await me.press("ctrl+t", "space", "e", "d", "J", "K", "up", "down", "home", "end")
        assert "Press a to add" in me.drawn()
        assert me.items() == []


@pytest.mark.usefixtures("side_column")
@pytest.mark.requirement("ui:todo-keys")
async def test_the_first_item_of_a_new_conversation_opens_it(stage: Stage) -> None:
    async with driven(app_over(stage)) as driver:
        me = Person(driver.app, driver.pilot)
        await me.ready()
        await me.pilot.press("ctrl+t", "a", *"one", "enter")
        await me.until(lambda: me.titles() == ["one"])
        await me.until(lambda: "○ one" in me.drawn())


@pytest.mark.requirement("ui:todo-keys")
async def test_a_title_being_written_outlives_what_the_model_changes(stage: Stage) -> None:
    async with at_the_list(stage) as me:
        await me.press("end", "e", "end", *"!")
        session = me.bench.current.session
        assert session is not None
        changed = (LIST[2], Todo(9, "Nine", status="in-progress"))
        stage.runtime.todos.replace(session.conversation, changed)
        await me.until(lambda: len(me.app.chat.todos.items) == 2)
        await me.press(*"?", "enter")
        await me.until(lambda: me.titles() == ["Three!?", "Nine"])
        await me.press("e")
        stage.runtime.todos.replace(session.conversation, changed[1:])
        await me.until(lambda: len(me.app.chat.todos.items) == 1)
        assert not me.app.chat.todos.query_one(Input).display


@pytest.mark.requirement("ui:todo-keys")
async def test_the_selected_item_stays_in_view_in_a_long_list(stage: Stage) -> None:
    async with at_the_list(stage, (80, 24)) as me:
        session = me.bench.current.session
        assert session is not None
        long = [Todo(n, f"Item {n} " + "x" * 90) for n in range(1, 30)]
        panel = me.app.chat.todos
        stage.runtime.todos.replace(session.conversation, long)
        await me.until(lambda: len(panel.items) == len(long))
        await me.press("end")
        await me.until(lambda: panel.scroll_offset.y == panel.max_scroll_y > 0)
        await me.press("e")
        await me.until(lambda: panel.region.contains_region(panel.query_one(Input).region))
        await me.press("escape", "home")
        await me.until(lambda: panel.scroll_offset.y == 0)


@pytest.mark.requirement("ui:todo-keys")
def test_the_line_of_an_item_counts_its_subtasks_and_shows_them_while_it_is_in_progress() -> None:
    parts = (Subtask(1, "Read", "completed"), Subtask(2, "[b]Draw\x1b[2J"))
    assert todo_line(Todo(1, "One", subtasks=parts)).plain == "○ One 1/2"
    line = todo_line(Todo(1, "One", status="in-progress", subtasks=parts))
    assert line.plain == "◐ One 1/2\n  ✓ Read\n  ○ [b]Draw[2J"


@pytest.mark.requirement("ui:todo-keys")
async def test_a_title_of_only_unseen_characters_is_refused_in_words(
    stage: Stage, model: RawModel
) -> None:
    async with at_the_list(stage) as me:
        await me.press("down", "e")
        me.app.chat.todos.query_one(Input).value = "\u200e\u202e"
        await me.press("enter")
        await me.until(lambda: me.app._notifications)  # pyright: ignore[reportPrivateUsage] # no other way to see them
        assert me.titles() == ["One", "Two", "Three"]


@pytest.mark.requirement("todos:person-delta")
async def test_what_is_changed_in_the_panel_reaches_the_model_with_the_next_prompt(
    stage: Stage, model: RawModel
) -> None:
    model.answers += [says("one"), says("two")]
    async with at_the_list(stage) as me:
        await me.press("d", "d", "a", *"four", "enter")
        await me.until(lambda: me.titles() == ["Two", "Three", "four"])
        await me.press("escape")
        await me.send("go")
        await me.until(lambda: len(model.seen) == 1 and not me.bench.turns.running)
        await me.send("on")
        await me.until(lambda: len(model.seen) == 2)
        line = "The person changed the list: removed [1] One; added [4] four."
        said = [m.text for m in model.seen[1] if m.kind == "reminder"]
        assert [line in text for text in said if "<todoList>" in text] == [True, False]
