"""Blocks and conversations are written to files that the person names."""

import json
from pathlib import Path

import pytest
from textual.widgets import Input

from sam_tui.core.ports.model import TextDelta
from sam_tui.ui.screens.forms import FileForm
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import app_over, build_stage, driven

SECRET = "ghp_" + "a1B2" * 9


@pytest.mark.requirement("ui:block-export")
async def test_a_block_and_a_conversation_are_written_to_new_files_and_nothing_else(
    tmp_path: Path,
) -> None:
    stage = build_stage(tmp_path, RawModel([TextDelta(f"See **this**: {SECRET}")]))
    root, outside = stage.workspace, tmp_path / "outside"
    outside.mkdir()
    (root / "away").symlink_to(outside)
    (root / "link.md").symlink_to(outside / "there.md")
    (root / "answer.md").write_text("mine")
    async with driven(app_over(stage)) as me:
        await me.ready()
        await me.send("go")
        await me.until(lambda: "See" in me.transcript())
        await me.until(lambda: not me.bench.turns.running)
        me.app.chat.transcript.focus()
        await me.pilot.press("shift+tab", "alt+s")
        await me.until(lambda: isinstance(me.app.screen, FileForm))
        line = me.app.screen.query_one(Input)
        assert line.value == "answer-2.md"
        for refused in ("answer.md", "away/x.md", "link.md", "", "."):
            line.value = refused
            await me.pilot.press("enter")
            await me.pilot.pause()
            assert isinstance(me.app.screen, FileForm), refused
        line.value = "notes/answer.md"
        await me.pilot.press("enter")
        await me.until(lambda: not isinstance(me.app.screen, FileForm))
        written = (root / "notes" / "answer.md").read_text()
        assert written.startswith("See **this**: ") and SECRET not in written
        me.bench.perform("export_conversation", "all.json")
        me.bench.perform("export_conversation", "all.xyz")
        await me.pilot.pause()
        notices = me.app._notifications  # pyright: ignore[reportPrivateUsage] # no other way to see them
        assert any("the extension .xyz names no format" in note.message for note in notices)
        assert not (root / "all.xyz").exists()
        text = (root / "all.json").read_text()
        assert json.loads(text) and "See **this**" in text and SECRET not in text
    assert (root / "answer.md").read_text() == "mine"
    assert not [*outside.iterdir()]
