"""The prompt is written in the person's own editor."""

import json
from pathlib import Path

import pytest

from sam_tui.core.display import Diff
from sam_tui.core.events import ToolFinished
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.ui.screens.forms import FileForm
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
        monkeypatch.setenv("EDITOR", "a 'quote without an end")
        await me.type("a draft")
        await edited(me)
        await me.until(lambda: "set $VISUAL" in me.transcript())
        assert me.app.chat.prompt.area.text == "a draft"


@pytest.mark.requirement("ui:block-editor")
async def test_a_block_opens_its_file_at_its_line_in_the_workspace_alone_else_its_text(
    stage: Stage, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, vim = tmp_path / "log", editor.with_name("vim")
    vim.symlink_to(editor)
    monkeypatch.setenv("VISUAL", str(vim))
    does(editor, f'echo "$@" >> {log}; tail -n 1 "$1" >> {log}\n')
    inside, outside = stage.workspace / "a.py", tmp_path / "b.py"
    inside.touch()
    outside.touch()
    (stage.workspace / "link.py").symlink_to(outside)
    async with driven(app_over(stage)) as me:
        await me.ready()
        monkeypatch.setattr(type(me.app._driver), "can_suspend", True)  # pyright: ignore
        pane = me.app.chat.transcript
        said: list[str] = []
        for path in ("a.py", "link.py", str(outside)):
            call, arguments = CallId(path), json.dumps({"filePath": path, "startLine": 7})
            pane.clear()
            pane.start_tool(call, "read", f"Reading: {path}", arguments)
            pane.focus()
            log.write_text("")
            await me.pilot.press("tab", "alt+e")
            await me.until(lambda: log.read_text().strip())
            await me.until(lambda: not any(w.group == "reader" for w in me.app.workers))
            said.append(log.read_text())
        assert said[0].split("\n")[0] == f"+7 {inside.resolve()}"
        assert all("b.py" not in words.split("\n")[0] for words in said[1:])
        assert "Reading: link.py" in said[1]
        pane.clear()
        pane.stream_text("see a.py:12 for it")
        pane.end_answer()
        pane.focus()
        log.write_text("")
        await me.pilot.press("tab", "alt+e")
        await me.until(lambda: "+12 " in log.read_text())
        await me.until(lambda: not any(w.group == "reader" for w in me.app.workers))
        # The first line that changed, not the unchanged ones that a hunk begins with.
        pane.clear()
        change = Diff("a.py", "@@ -7,4 +7,4 @@ x\n a\n b\n-c\n+d\n e\n", 1, 1)
        shown = (ConversationId("c"), CallId("d"), "replace_string", "Editing: a.py", True, "ok")
        pane.finish_tool(ToolFinished(*shown, (change,), 0.1))
        monkeypatch.setenv("VISUAL", f"{editor.with_name('code')} --wait")
        editor.with_name("code").symlink_to(editor)
        me.app.app_focus = (
            False  # as a terminal tells that lends itself; it need not tell the return
        )
        await me.pilot.press("shift+tab", "alt+e")
        await me.until(lambda: f"--wait --goto {inside.resolve()}:9" in log.read_text())
        await me.until(lambda: not any(w.group == "reader" for w in me.app.workers))
        me.app.app_focus = False
        await me.pilot.press("alt+s")
        await me.until(lambda: isinstance(me.app.screen, FileForm))
