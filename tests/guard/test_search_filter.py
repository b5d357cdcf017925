"""Searches show nothing that a read would not: secrets, own data, what a rule keeps back."""

import re
from pathlib import Path

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.authorization.policy.search_filter import search_filter
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import ToolCall
from tests.guard.ward import Ward

FILES = (
    "src/a.py", ".env", "sub/.env.local", ".env.example", "deploy/id_rsa", "deploy/id_rsa.pub",
    "server-key.pem", "private/notes.txt", "SUB/.ENV",
)  # fmt: skip
SECRET = {".env", "sub/.env.local", "deploy/id_rsa", "server-key.pem", "SUB/.ENV"}
UNLOCK = '[[rule]]\neffect = "allow"\npath = ".env"\naccess = "read"\n'
KEPT_BACK = '[[rule]]\neffect = "{effect}"\npath = "private"\n'


def shown(here: Ward) -> set[str]:
    where = here.workspace.locate(".")
    shows = search_filter(here.guard.policy, where)
    return {path for path in FILES if shows(path)}


@pytest.mark.requirement("guard:searches")
def test_a_search_shows_what_a_read_would_be_allowed_and_nothing_else(tmp_path: Path) -> None:
    assert shown(Ward(tmp_path)) == set(FILES) - SECRET
    assert shown(Ward(tmp_path, rules=UNLOCK)) == (set(FILES) - SECRET) | {".env"}
    for effect in ("deny", "ask"):
        here = Ward(tmp_path, rules=KEPT_BACK.format(effect=effect))
        assert shown(here) == set(FILES) - SECRET - {"private/notes.txt"}


@pytest.mark.requirement("guard:searches")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_search_outside_shows_files_but_neither_secrets_nor_own_data(
    tmp_path: Path, trusted: bool
) -> None:
    here = Ward(tmp_path, trusted=trusted)
    shows = search_filter(here.guard.policy, here.workspace.locate(".."))
    assert shows("out/x.txt") and shows("./home/notes.txt")
    for path in ("home/.ssh/config", "./home/.ssh/id_rsa", "home/cert.pem", "out/.env"):
        assert not shows(path), path
    below = search_filter(here.guard.policy, here.workspace.locate("../home/.ssh"))
    assert not below("config")
    assert not search_filter(here.guard.policy, here.workspace.locate(".."))("own/sam.db")


@pytest.mark.requirement("guard:searches")
@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("grep_search", '{"query": "planted-word"}'),
        ("grep_search", '{"query": "planted-word", "includePattern": "**/.env*"}'),
        ("grep_search", '{"query": "planted-word", "includePattern": "**/*.pem"}'),
        ("file_search", '{"query": "**/.env*"}'),
        ("file_search", '{"query": "**"}'),
        ("semantic_search", '{"query": "planted-word"}'),
        ("search_index", '{"query": "e"}'),
    ],
)
async def test_no_search_brings_back_a_secret_file(
    tmp_path: Path, operation: str, arguments: str
) -> None:
    workspace = tmp_path / "ws"
    for name in FILES:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"planted-word = {name}\n", encoding="utf-8")
    settings = {"HOME": str(tmp_path), "SAM_TUI_CONFIG_DIR": str(tmp_path / "cfg")}
    runtime = build(Options(str(workspace), str(tmp_path / "data")), settings)
    try:
        conversation = runtime.open_session().conversation
        if operation == "search_index":
            call = ToolCall(CallId("i"), "file_operations.semantic_search", '{"query": "planted"}')
            await runtime.executor.execute(call, conversation)
        call = ToolCall(CallId("k"), f"file_operations.{operation}", arguments)
        done = await runtime.executor.execute(call, ConversationId(conversation))
        assert done.finished.ok, done.finished.text
        assert not SECRET & set(re.split(r"[\s:]+", done.finished.text)), done.finished.text
    finally:
        await runtime.close()
