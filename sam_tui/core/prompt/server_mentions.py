"""What a message names of MCP servers: ``@server:uri`` is a resource, ``/server:prompt words`` a prompt.

Each is fetched by a call of the server's own tool for it, so that guard, hooks and log see what is sent.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.executor import Executor

MOST_RESOURCES = 10
"""Resources of one message."""
_RESOURCE = re.compile(r"(?:^|(?<=[\s(\[`]))@([A-Za-z0-9][\w-]*):([^\s\"`)\]]+)")
_PROMPT = re.compile(r"/([A-Za-z0-9][\w-]*):([\w./-]+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServerText:
    """What a server gave for a ``name`` in a message; where not ``ok`` why it gave nothing."""

    name: str
    text: str
    ok: bool
    prompt: bool = False


async def server_texts(
    executor: Executor, conversation: ConversationId, text: str
) -> AsyncIterator[ServerText]:
    """All that a message names; what is of no server stays a word."""
    for name, tool, arguments, prompt in _mentioned(text.strip()):
        if executor.registry.knows(tool):
            call = ToolCall(CallId(mint("attached")), tool, json.dumps(arguments))
            done = (await executor.execute(call, conversation)).finished
            yield ServerText(name, done.text, done.ok, prompt)


def _mentioned(text: str) -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    if match := _PROMPT.fullmatch(text):
        server, prompt, words = match.groups()
        arguments = {"name": prompt, "words": words or ""}
        yield f"/{server}:{prompt}", f"mcp__{server}__prompts_get", arguments, True
    names = dict.fromkeys(_RESOURCE.findall(text))
    for server, uri in list(names)[:MOST_RESOURCES]:
        uri = uri.rstrip(".,;!?")
        yield f"@{server}:{uri}", f"mcp__{server}__resources_read", {"uri": uri}, False
