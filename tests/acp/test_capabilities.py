"""What an editor is told at the beginning that it may use."""

from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import editor_over

ADVERTISED: dict[str, Any] = {
    "loadSession": True,
    "mcpCapabilities": {"http": True, "sse": False},
    "promptCapabilities": {"audio": False, "embeddedContext": True, "image": True},
    "sessionCapabilities": {
        name: {} for name in ("additionalDirectories", "close", "fork", "list", "resume")
    },
}


@pytest.mark.requirement("acp:sessions", "framework:assembled")
def test_an_editor_is_told_everything_that_it_may_use(tmp_path: Path) -> None:
    with editor_over(tmp_path, []) as editor:
        answer = editor.ask("initialize", protocolVersion=1)["result"]
    assert {name: answer["agentCapabilities"].get(name) for name in ADVERTISED} == ADVERTISED
