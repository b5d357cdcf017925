"""What importing and a first request load, seen from a fresh process."""

import subprocess
import sys

import pytest

from tests.fakes.openai_server import Reply, background

_IMPORT = """
import sys
import sam_tui.adapters.llm.choice, sam_tui.adapters.llm.catalog
loaded = {"httpx", "litellm", "openai", "rich", "click", "textual", "anyio"} & set(sys.modules)
sys.exit(", ".join(sorted(loaded)) or 0)
"""
_ASK = """
import asyncio, sys
from sam_tui.adapters.llm.choice import Wish, choose
from sam_tui.core.messages import UserMessage
from sam_tui.core.ports.model import ModelRequest

async def ask():
    model = choose(Wish("m", api_base=sys.argv[1]), {})
    async for delta in model.stream(ModelRequest("", "[]", [UserMessage("hi")])):
        sys.stdout.write(getattr(delta, "text", ""))
    await model.close()

asyncio.run(ask())
unwanted = {"litellm", "openai", "rich", "click", "textual"} & set(sys.modules)
sys.exit(", ".join(sorted(unwanted)) or 0)
"""


def run(code: str, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.requirement("model:light-import")
def test_importing_the_adapters_loads_nothing_heavy() -> None:
    assert run(_IMPORT) == (0, "", "")


@pytest.mark.requirement("model:light-import")
def test_a_direct_answer_loads_neither_litellm_nor_a_command_line() -> None:
    with background([Reply(text="light")]) as server:
        assert run(_ASK, server.base) == (0, "light", "")
