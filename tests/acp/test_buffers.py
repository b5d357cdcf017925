"""Files that are open in the editor with changes that are not saved: read so, and never written over."""

from pathlib import Path
from typing import Any

import pytest

from sam_tui.folders import settings_folder
from tests.acp.conftest import Editor, Message, Person, editor_over
from tests.acp.test_editor import call

NAME = "open.txt"


def files(operation: str, **arguments: Any) -> Message:
    """A step that uses a file."""
    return {"calls": [call("file_operations", operation, **arguments)]}


def steps() -> list[Message]:
    """A model that reads, edits, and reads a secret; between them it says that it is done."""
    edit = {"filePath": NAME, "oldString": "typed", "newString": "changed"}
    done = {"text": "Done."}
    return [
        files("read_file", filePath=NAME), done,
        files("replace_string", **edit), done,
        files("create_file", filePath=NAME, content="mine", overwrite=True), done,
        files("replace_string", **edit), done,
        files("read_file", filePath=".env"), done,
    ]  # fmt: skip


def holding(buffers: dict[str, Message]) -> Person:
    """An editor that has these files open; a permission is never given."""

    def person(request: Message) -> Message:
        if request["method"] != "fs/read_text_file":
            return {"result": {"outcome": {"outcome": "cancelled"}}}
        name = Path(request["params"]["path"]).name
        return buffers.get(name, {"error": {"code": -32002, "message": "not found"}})

    return person


def asked(editor: Editor) -> list[str]:
    """The files that the editor was asked for."""
    requests = [m for m in editor.seen if m.get("method") == "fs/read_text_file"]
    return [Path(m["params"]["path"]).name for m in requests]


@pytest.mark.requirement("acp:buffers")
def test_what_is_not_saved_is_read_and_is_not_written_over_until_it_is(tmp_path: Path) -> None:
    rule = f'[[rule]]\neffect = "allow"\npath = "{tmp_path}/ws/.env"\naccess = "read"\n'
    policy = Path(settings_folder(), "policy.toml")
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(rule, encoding="utf-8")
    with editor_over(tmp_path, steps(), "--permission-mode", "bypass") as editor:
        (editor.workspace / NAME).write_text("saved\n", encoding="utf-8")
        (editor.workspace / ".env").write_text("TOKEN=hunter2-hunter2\n", encoding="utf-8")
        editor.person = holding({NAME: {"result": {"content": "typed\n"}}})
        capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}}
        editor.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
        session = editor.open()

        def said(text: str) -> str:
            return str(editor.prompt(session, text)[1])

        assert "typed" in said("read")
        for text in ("edit", "overwrite"):
            assert "changes in the editor that are not saved" in said(text)
            assert (editor.workspace / NAME).read_text(encoding="utf-8") == "saved\n"
        (editor.workspace / NAME).write_text("typed\r\n", encoding="utf-8", newline="")
        assert asked(editor) == [NAME] * 3  # the agent's reads and edits alone, and no checkpoint
        said("edit again")
        assert (editor.workspace / NAME).read_text(encoding="utf-8") == "changed\n"
        assert "TOKEN" in said("the secret")
        assert set(asked(editor)) == {NAME}


@pytest.mark.requirement("acp:buffers")
@pytest.mark.parametrize("answer", [{"error": {"code": -32603, "message": "no"}}, {"result": {}}])
def test_where_the_editor_does_not_say_or_offers_nothing_the_disk_counts(
    tmp_path: Path, answer: Message
) -> None:
    with editor_over(tmp_path, steps()[:4]) as editor:
        (editor.workspace / NAME).write_text("typed on disk\n", encoding="utf-8")
        editor.person = holding({NAME: answer})
        capabilities = {"fs": {"readTextFile": "error" in answer, "writeTextFile": False}}
        editor.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
        session = editor.open()
        assert "typed on disk" in str(editor.prompt(session, "read")[1])
        editor.prompt(session, "edit")
        assert (editor.workspace / NAME).read_text(encoding="utf-8") == "changed on disk\n"
        assert bool(asked(editor)) == ("error" in answer)
