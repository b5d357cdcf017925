"""The parts of a conversation besides its calls: todos, whole results, and the other conversations."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final
from urllib.parse import quote, unquote

import mcp_types as types

from sam_tui.core.events import Event, TodosChanged
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.prompts import Prompt, PromptLibrary
from sam_tui.core.runtime import Runtime
from sam_tui.mcp_server.clients import Client
from sam_tui.mcp_server.json_text import sendable
from sam_tui.mcp_server.library import NotFound


class SamPrompts:
    """The prompt library's active prompts; those of a folder that is not trusted stay out."""

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    def listed(self) -> Sequence[types.Prompt]:
        """System prompts first, then mini prompts, each in the library's order."""
        return [
            types.Prompt(
                name=prompt.id,
                title=prompt.name,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(
                        name="task", description="what to do under it", required=False
                    )
                ],
            )
            for prompt in self._active()
        ]

    def get(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult | None:
        """The prompt's text as a message of the person, with the task after it."""
        prompt = next((prompt for prompt in self._active() if prompt.id == name), None)
        if prompt is None:
            return None
        task = arguments.get("task", "").strip()
        text = f"{prompt.content.strip()}\n\n{task}" if task else prompt.content.strip()
        return types.GetPromptResult(
            description=prompt.description,
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))],
        )

    def completions(self, name: str, argument: str) -> Sequence[str]:
        """None: a task is free text."""
        return ()

    def _active(self) -> list[Prompt]:
        prompts = [*self._library.list_system().prompts, *self._library.list_mini().prompts]
        return [prompt for prompt in prompts if prompt.active]


TODOS: Final = "sam://todos"
CONVERSATIONS: Final = "sam://conversations"
_LISTED = 50


class SamResources:
    """The resources of a runtime, under ``sam://``. Secrets in them are masked as in results."""

    scheme = "sam"
    templates: tuple[types.ResourceTemplate, ...] = (
        types.ResourceTemplate(
            name="conversation",
            uri_template="sam://conversations/{id}",
            description="The transcript of a conversation of this workspace.",
            mime_type="text/markdown",
        ),
        types.ResourceTemplate(
            name="result",
            uri_template="sam://results/{callId}",
            description="A result that was cut, whole.",
            mime_type="text/plain",
        ),
    )

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._results = runtime.executor.results

    def listed(self, client: Client) -> Sequence[types.Resource]:
        """The todos, the conversations, and the results that were stored whole."""
        resources = [
            types.Resource(
                uri=TODOS,
                name="todos",
                description="The todo list of this session's conversation.",
                mime_type="application/json",
            ),
            types.Resource(
                uri=CONVERSATIONS,
                name="conversations",
                description="The conversations of this workspace, the newest first.",
                mime_type="application/json",
            ),
        ]
        return resources + [
            types.Resource(
                uri=f"sam://results/{quote(call, safe='')}",
                name=f"result {call}",
                description="A result of this session that was cut, whole.",
                mime_type="text/plain",
            )
            for call in self._results.calls(client.conversation)[-_LISTED:]
        ]

    async def read(self, uri: str, client: Client) -> types.TextResourceContents:
        """The redacted content of a resource. Raises ``NotFound``."""
        kind, text = self._read(uri, client)
        masked = sendable(self._runtime.executor.shield.redact(text))
        return types.TextResourceContents(uri=uri, mime_type=kind, text=masked)

    def _read(self, uri: str, client: Client) -> tuple[str, str]:
        match [unquote(part) for part in self.canonical(uri).removeprefix("sam://").split("/")]:
            case ["todos"]:
                items = self._runtime.todos.items(client.conversation)
                return "application/json", _json([asdict(item) for item in items])
            case ["conversations"]:
                root = self._runtime.workspace.root
                records = self._runtime.conversations.recent(root, _LISTED)
                return "application/json", _json([asdict(record) for record in records])
            case ["conversations", conversation]:
                return "text/markdown", self._transcript(uri, ConversationId(conversation))
            case ["results", call]:
                text = self._results.load(client.conversation, CallId(call))
                if text is not None:
                    return "text/plain", text
            case _:
                pass
        raise NotFound(f"There is no resource {uri}")

    def _transcript(self, uri: str, conversation: ConversationId) -> str:
        record = self._runtime.conversations.find(conversation)
        if record is None or record.workspace != self._runtime.workspace.root:
            raise NotFound(f"There is no resource {uri}")
        messages = self._runtime.conversations.everything(conversation)
        return "\n\n".join(part for message in messages for part in _spoken(message))

    def completions(
        self, template: str, argument: str, earlier: Mapping[str, str]
    ) -> Sequence[str]:
        """Ids of recent conversations of the workspace, for the argument ``id``."""
        if argument != "id":
            return ()
        recent = self._runtime.conversations.recent(self._runtime.workspace.root, 100)
        return [record.id for record in recent]

    def touched(self, event: Event, client: Client) -> Sequence[str]:
        """The todo list; a whole result exists when its call is reported, and never changes."""
        mine = isinstance(event, TodosChanged) and event.conversation == client.conversation
        return (TODOS,) if mine else ()

    def canonical(self, uri: str) -> str:
        """One spelling for each resource."""
        scheme, _, remainder = uri.partition("://")
        return f"{scheme.lower()}://{remainder.rstrip('/')}"


def _spoken(message: Message) -> Sequence[str]:
    match message:
        case UserMessage(text=text):
            return [f"## Person\n\n{text}"]
        case AssistantMessage(text=text, calls=calls):
            called = [f"*calls {call.name}* `{call.arguments}`" for call in calls]
            return ["\n\n".join(["## Agent", *([text] if text else []), *called])]
        case ToolMessage(name=name, text=text, ok=ok):
            return [f"### {name}{'' if ok else ' (failed)'}\n\n{text}"]
        case ReminderMessage():
            return ()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
