"""A database that fails under a running workbench: a disk that is full, a file that was damaged."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.dialogs import Picker
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import Stage, app_over, driven


@contextmanager
def missing(data: Path, table: str) -> Generator[None]:
    """Nothing can be read from this table or written to it until the block ends."""
    with closing(sqlite3.connect(data / "sam.db")) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO away")
        try:
            yield
        finally:
            connection.execute(f"ALTER TABLE away RENAME TO {table}")


@pytest.mark.requirement("ui:storage-fails")
async def test_a_prompt_that_cannot_be_stored_comes_back_and_is_sent_later(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    model.answers += [[TextDelta("the answer")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        with missing(tmp_path / "data", "conversations"):
            await me.send("a long thought")
            await me.until(lambda: "cannot be stored" in me.transcript())
            assert me.app.chat.prompt.area.text == "a long thought"
        await me.pilot.press("enter")
        await me.until(lambda: "the answer" in me.transcript())


@pytest.mark.requirement("ui:storage-fails")
async def test_a_list_that_cannot_be_read_says_so_in_its_place(
    stage: Stage, tmp_path: Path
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        with missing(tmp_path / "data", "conversations"):
            await me.send("/resume")
            await me.until(lambda: isinstance(me.app.screen, Picker))
            await me.until(lambda: "Conversations cannot be stored" in me.drawn())
            await me.pilot.press("escape")
        assert not isinstance(me.app.screen, Picker)


@pytest.mark.requirement("ui:storage-fails")
async def test_a_command_that_cannot_be_carried_out_says_why(
    stage: Stage, model: RawModel, tmp_path: Path
) -> None:
    model.answers += [[TextDelta("the answer")]]
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("first")
        await me.until(lambda: "the answer" in me.transcript() and not me.bench.turns.running)
        with missing(tmp_path / "data", "topics"):
            await me.send("/topic shop")
            await me.until(lambda: "could not be" in me.transcript())
            await me.pilot.press("ctrl+t", "a", *"new", "enter")
        with missing(tmp_path / "data", "todos"):
            await me.pilot.press("a", *"more", "enter")
            await me.pilot.pause()
        assert me.app.is_running
