"""Edits that the editor saves: one process for all sentences (about 1 s of CPU)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.code import SqliteJournal
from sam_tui.adapters.files.local import LocalFiles
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.folders import settings_folder
from tests.acp.conftest import Editor, Message, editor_over, let_editor
from tests.acp.scripted import call
from tests.cli.conftest import Command

ERROR: Message = {"error": {"code": -32603, "message": "read-only\nworkspace"}}
Save = Callable[[Path, str], Message]


def steps(outside: Path) -> list[Message]:
    def edit(name: str, old: str = "old", new: str = "new") -> Message:
        return call(
            "file_operations", "replace_string", filePath=name, oldString=old, newString=new
        )

    hunk = "*** Update File: {}\n@@\n-old\n+new\n"
    several = "".join(map(hunk.format, ("first.txt", "second.txt")))
    patch = f"*** Begin Patch\n{several}*** End Patch\n"
    made = call("file_operations", "create_file", filePath="made.txt", content="made\n")
    both = call("file_operations", "apply_patch", patchContent=patch)
    ends = call("terminal_operations", "run_command", command="echo")
    calls = {
        "typed": [ends, edit("typed.txt", "typed", "TYPED")],
        "short": [edit("short.txt", "typed", "TYPED")],
        "make": [made],
        "refused": [edit("refused.txt")],
        "lazy": [edit("lazy.txt")],
        "deaf": [edit("deaf.txt", "typed", "TYPED")],
        "formatted": [edit("formatted.txt")],
        "meanwhile": [edit("meanwhile.txt")],
        "both": [both],
        "link": [edit("folder/link.txt")],
        "cancelled": [edit("cancelled.txt")],
        "beside": [
            call("terminal_operations", "run_command", command="sleep 600 & echo"),
            edit("beside.txt"),
            edit("unsaved.txt", "typed", "TYPED"),
        ],
        "others": [edit(name) for name in (".env", "latin.txt", "twice.txt", f"{outside}/out.txt")],
    }  # fmt: skip
    return [
        *({"when": {"user": user}, "calls": made} for user, made in calls.items()),
        *({"text": "Done."} for _ in range(20)),
    ]


def ignores(answer: Message) -> Save:
    """Answers, and saves nothing."""
    return lambda _path, _text: answer


class Saving:
    """An editor whose buffers are what is in its files, but for ``typed``; ``saves`` differ by file."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.typed: dict[str, str] = {}
        self.saves: dict[str, Save] = {}
        self.sent: dict[str, str] = {}

    def __call__(self, request: Message) -> Message | None:
        asked = request["params"]
        path = Path(asked.get("path", "/none"))
        match request["method"]:
            case "fs/read_text_file":
                if not path.exists():
                    return ERROR
                return {"result": {"content": self.typed.get(path.name, path.read_text("utf-8"))}}
            case "fs/write_text_file":
                self.sent[path.name] = asked["content"]
                return self.saves.get(path.name, self.save)(path, asked["content"])
            case _:
                option = asked["options"][0]["optionId"]
                return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}

    def save(self, path: Path, text: str) -> Message:
        path.write_text(text, "utf-8")
        self.typed.pop(path.name, None)
        return {"result": {}}


@pytest.mark.requirement("acp:saves")
def test_an_editor_saves_the_edits_and_nothing_is_lost_whatever_it_does(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside"
    let_editor("files")
    rule = f'[[rule]]\neffect = "allow"\npath = "{tmp_path}/ws/.env"\naccess = "write"\n'
    Path(settings_folder(), "policy.toml").write_text(rule, encoding="utf-8")
    with editor_over(tmp_path, steps(outside), "--permission-mode", "bypass") as editor:
        ws, person = editor.workspace, Saving(editor)
        for folder in (ws / "folder", outside):
            folder.mkdir()
        names = [
            "refused",
            "lazy",
            "formatted",
            "meanwhile",
            "first",
            "second",
            "cancelled",
            "beside",
        ]
        for file in (*(ws / f"{name}.txt" for name in names), ws / "folder" / "link.txt"):
            file.write_text("old\n", "utf-8")
        for file in (ws / ".env", ws / "twice.txt", outside / "out.txt", outside / "link.txt"):
            file.write_text("old\n", "utf-8")
        os.link(ws / "twice.txt", ws / "other.txt")
        (ws / "latin.txt").write_bytes(b"old \xe9\n")
        (ws / "typed.txt").write_bytes(b"saved\r\n")
        for name in ("deaf.txt", "short.txt"):
            (ws / name).write_text("saved, and longer\n", "utf-8")
        editor.person = person
        files = {"fs": {"readTextFile": True, "writeTextFile": True}}
        editor.ask("initialize", protocolVersion=1, clientCapabilities=files)
        session = editor.open()

        def turn(user: str) -> str:
            return str(editor.prompt(session, user)[1])

        def text(name: str) -> str:
            return (ws / name).read_bytes().decode("utf-8")

        # What the person typed and did not save is what is edited, and stays with the edit.
        person.typed["typed.txt"] = "a line\ntyped\n"
        turn("typed")
        assert person.sent["typed.txt"] == text("typed.txt") == "a line\r\nTYPED\r\n"
        person.typed["short.txt"] = "typed\n"
        turn("short")
        assert text("short.txt") == "TYPED\n"
        turn("make")
        assert (person.sent["made.txt"], text("made.txt")) == ("made\n", "made\n")

        # An editor that does not save: written here, unless the person typed in that file.
        person.saves["refused.txt"] = ignores(ERROR)
        said = turn("refused")
        assert "did not write refused.txt (read-only workspace): it was written on disk" in said
        person.saves["lazy.txt"] = ignores({"result": {}})
        assert "but the file was unchanged, so it was written on disk" in turn("lazy")
        assert text("refused.txt") == text("lazy.txt") == "new\n"
        person.typed["deaf.txt"], person.saves["deaf.txt"] = "typed\n", ignores({"result": {}})
        assert "The editor did not write deaf.txt" in turn("deaf")
        assert text("deaf.txt") == "saved, and longer\n"

        # One that saves something else, or in which the person types between plan and edit.
        person.saves["formatted.txt"] = lambda path, text: person.save(path, f"# {text}")
        assert "with other content than the edit has" in turn("formatted")
        assert text("formatted.txt") == "# new\n"

        # All files of a patch or none.
        def types(path: Path, text: str) -> Message:
            person.typed["second.txt"] = "typed meanwhile\n"
            return person.save(path, text)

        person.saves["first.txt"] = types
        assert "second.txt was changed in the editor meanwhile" in turn("both")
        assert text("first.txt") == text("second.txt") == "old\n"

        # A folder that is exchanged for a link while the editor writes.
        def exchanges(path: Path, text: str) -> Message:
            path.parent.rename(ws / "moved")
            path.parent.symlink_to(outside)
            return person.save(path, text)

        person.saves["link.txt"] = exchanges
        said = turn("link")
        assert "may have written elsewhere" in said and "failed" in said

        # A cancel before the answer leaves nothing written.
        def cancelled(path: Path, text: str) -> Message:
            editor.send({"method": "session/cancel", "params": {"sessionId": session}})
            return person.save(path, text)

        person.saves["cancelled.txt"] = cancelled
        answer, _ = editor.prompt(session, "cancelled")
        assert (answer["result"]["stopReason"], text("cancelled.txt")) == ("cancelled", "old\n")

        # What an editor is never sent: secrets, other encodings, other names, files outside.
        before = dict(person.sent)
        turn("others")
        assert person.sent == before
        assert text(".env") == "new\n"
        assert (ws / "latin.txt").read_bytes() == b"new \xe9\n"
        assert (text("twice.txt"), text("other.txt")) == ("new\n", "old\n")
        assert (outside / "out.txt").read_text("utf-8") == "new\n"

        # While something runs that a command started, which could exchange links.
        (ws / "unsaved.txt").write_text("saved\n", "utf-8")
        person.typed["unsaved.txt"] = "typed\n"
        said = turn("beside")
        assert "unsaved.txt has changes in the editor that are not saved" in said
        assert (text("beside.txt"), text("unsaved.txt")) == ("new\n", "saved\n")
        assert not {"beside.txt", "unsaved.txt"} & person.sent.keys()

    # Each edit can be undone: what the person had typed comes back, and what changed since stays.
    journal = SqliteJournal(tmp_path / "data", LocalFiles())
    entries = {Path(e.paths[0]).name: e.id for e in journal.entries(ConversationId(session))}
    for name, before in (("typed.txt", "a line\r\ntyped\r\n"), ("short.txt", "typed\n")):
        journal.undo(ConversationId(session), entries[name])
        assert text(name) == before
    with pytest.raises(ToolError, match=r"formatted\.txt changed after the edit"):
        journal.undo(ConversationId(session), entries["formatted.txt"])
    journal.close()

    # A checkpoint brings back what was on disk, also where the editor saved other content.
    sam = Command(tmp_path)
    made_before = {
        c["made_by"]["summary"]: c["id"] for c in sam("checkpoints", "list", "--json").json
    }
    first = str(made_before["Editing: short.txt"])
    assert sam("checkpoints", "restore", first, "short.txt", "formatted.txt").code == 0
    assert (text("short.txt"), text("formatted.txt")) == ("saved, and longer\n", "old\n")
