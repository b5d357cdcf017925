"""A data folder with two conversations, and the program over it in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.storage import open_storage
from sam_tui.cli.main import main
from sam_tui.core.ids import ConversationId


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The working folder."""
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def data(tmp_path: Path, workspace: Path) -> Path:
    """The data folder, with the conversations of ``test_catalog``."""
    from tests.sessions.test_catalog import TALKS

    folder = tmp_path / "data"
    with open_storage(folder) as storage:
        for name, talk in TALKS.items():
            conversation = ConversationId(name)
            storage.conversations.create(conversation, str(workspace))
            storage.conversations.append(conversation, talk)
    return folder


@pytest.fixture
def sam(
    data: Path,
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str]]:
    """Runs a command to its end: its exit code and what it printed."""
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(data))
    monkeypatch.chdir(workspace)

    def run(*words: str) -> tuple[int, str]:
        code = main(words)
        return code, capsys.readouterr().out

    return run
