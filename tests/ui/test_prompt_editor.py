"""The prompt is written in the person's own editor."""

from pathlib import Path

import pytest

from tests.ui.driver import Driver, Stage, app_over, driven


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's editor, to be written by the test."""
    file = tmp_path / "editor"
    file.touch()
    file.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(file))
    return file


def does(editor: Path, script: str) -> None:
    """What the editor does from now on."""
    editor.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")


async def edited(me: Driver) -> None:
    """Press the key, and wait until the editor has ended."""
    await me.pilot.press("ctrl+g")
    await me.until(lambda: not any(w.group == "reader" for w in me.app.workers))


@pytest.mark.requirement("ui:editor")
async def test_what_is_saved_in_the_editor_comes_back_unless_it_failed(
    stage: Stage, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven(app_over(stage)) as me:
        await me.ready()
        monkeypatch.setattr(type(me.app._driver), "can_suspend", True)  # pyright: ignore
        area = me.app.chat.prompt.area
        await me.type("a draft")
        does(editor, 'grep -q "a draft" "$1" && printf "one\\ntwo\\n" > "$1"\n')
        await edited(me)
        assert area.text == "one\ntwo" and area.has_focus
        does(editor, 'echo gone > "$1"; exit 1\n')
        await edited(me)
        assert area.text == "one\ntwo"
        does(editor, 'rm "$1"\n')
        await edited(me)
        assert area.text == "one\ntwo"
        await me.until(lambda: "could not be used" in me.transcript())


@pytest.mark.requirement("ui:editor")
async def test_where_there_is_no_editor_that_is_said(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    async with driven(app_over(stage)) as me:
        await me.ready()
        monkeypatch.setenv("PATH", "")
        await me.type("a draft")
        await edited(me)
        await me.until(lambda: "set $VISUAL" in me.transcript())
        assert me.app.chat.prompt.area.text == "a draft"
