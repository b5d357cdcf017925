"""Events and histories as a client is shown them: one ``session/update`` each."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

from acp import schema
from acp.helpers import (
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_user_message_text,
)

from sam_tui.core import events
from sam_tui.core.display import Diff, Display, Table, Terminal, Text, Todos
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.todos.item import Todo, one_line, visible_text

Update = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.AvailableCommandsUpdate
    | schema.CurrentModeUpdate
    | schema.ConfigOptionUpdate
    | schema.SessionInfoUpdate
)
Content = (
    schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent
)
_WordEvent = (
    events.TextStreamed
    | events.ReasoningStreamed
    | events.ModelRetried
    | events.Noticed
    | events.TodosChanged
)
_CallEvent = (
    events.Answered
    | events.DecisionMade
    | events.ToolStarted
    | events.ToolProgressed
    | events.ToolFinished
)
_LONGEST: Final = 20_000
"""The most characters of one result that are sent to the client."""

KINDS: Final[Mapping[str, schema.ToolKind]] = {
    "think": "think",
    "file_operations": "read",
    "file_operations.get_search_results": "search",
    "file_operations.file_search": "search",
    "file_operations.grep_search": "search",
    "file_operations.semantic_search": "search",
    "file_operations.list_usages": "search",
    "file_operations.search_index": "search",
    "file_operations.create_file": "edit",
    "file_operations.replace_string": "edit",
    "file_operations.multi_replace_string": "edit",
    "file_operations.insert_edit": "edit",
    "file_operations.apply_patch": "edit",
    "file_operations.rename_file": "move",
    "file_operations.delete_file": "delete",
    "terminal_operations": "execute",
    "build_and_version_control": "execute",
    "build_and_version_control.get_changed_files": "read",
    "web_operations": "fetch",
    "web_operations.research": "search",
    "web_operations.web_search": "search",
    "memory_operations": "other",
    "document_operations.document_import": "read",
    "document_operations.get_doc_info": "read",
    "document_operations.document_create": "edit",
    "read_tool_result": "read",
    "recall_history": "search",
    "WebSearchTool": "search",
    "ReadWebpageTool": "fetch",
}
"""The protocol's kind of a call, by ``tool.operation`` or, where that is missing, by tool."""

_STATUSES: Final[Mapping[str, schema.PlanEntryStatus]] = {
    "in-progress": "in_progress",
    "completed": "completed",
}


def kind_of(operation: str) -> schema.ToolKind:
    """The protocol's kind of an operation, ``other`` if none fits."""
    return KINDS.get(operation) or KINDS.get(operation.partition(".")[0]) or "other"


def plan(items: Sequence[Todo]) -> schema.AgentPlanUpdate:
    """A todo list; the protocol has no word for a blocked item, so its title says it."""
    entries = [
        schema.PlanEntry(
            content=f"{item.title} (blocked: {item.blocked_reason or 'no reason given'})"
            if item.status == "blocked"
            else item.title,
            priority="high" if item.priority == "critical" else item.priority,
            status=_STATUSES.get(item.status, "pending"),
        )
        for item in items
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=entries)


class SessionUpdates:
    """The events of a session, as updates. Calls of its subagents are shown, their words are not.

    ``live_terminals`` says that the client shows output of a command that runs here, as it comes
    (``_meta.terminal_output`` of its capabilities).
    """

    def __init__(self, conversation: ConversationId, root: str, *, live_terminals: bool) -> None:
        self._conversation = conversation
        self._root = root
        self._live = live_terminals
        self._tails: dict[str, str] = {}
        self._targets: dict[str, tuple[str, ...]] = {}
        self._shown: set[str] = set()
        self._terminals: dict[str, str] = {}

    def attach(self, call: str, terminal: str) -> None:
        """Embed a terminal of the client in a call; it gets the output, which no update repeats."""
        self._terminals[call] = terminal

    def detach(self, call: str) -> None:
        """The client's terminal did not display the call after all."""
        self._terminals.pop(call, None)

    def call_id(self, conversation: ConversationId, call: CallId) -> str:
        """The id of a call for the client; those of subagents begin with their conversation."""
        return call if conversation == self._conversation else f"{conversation}:{call}"

    def of(self, event: events.Event) -> Iterator[Update]:
        """The updates for an event."""
        match event:
            case events.TextStreamed(text=""):
                return
            case (
                events.TextStreamed()
                | events.ReasoningStreamed()
                | events.ModelRetried()
                | events.Noticed()
                | events.TodosChanged()
            ):
                if event.conversation in (self._conversation, None):
                    yield _said(event)
            case (
                events.Answered()
                | events.DecisionMade()
                | events.ToolStarted()
                | events.ToolProgressed()
                | events.ToolFinished()
            ):
                yield from self._called(event)
            case (
                events.TurnStarted()
                | events.Steered()
                | events.RequestSent()
                | events.InquiryOpened()
                | events.InquiryClosed()
                | events.Reminded()
                | events.HistoryShortened()
                | events.TerminalOpened()
                | events.TerminalPassed()
                | events.TerminalClosed()
                | events.SubagentStarted()
                | events.WorkflowMoved()
                | events.HookStarted()
                | events.HookFinished()
                | events.TurnFinished()
            ):
                pass
            case _:
                assert_never(event)

    def _replay_answer(self, message: AssistantMessage) -> Iterator[Update]:
        if message.reasoning:
            yield update_agent_thought_text(message.reasoning)
        if message.text:
            yield update_agent_message_text(message.text)
        for call in message.calls:
            yield self._pending(call.id, call)

    def replay(self, messages: Sequence[Message]) -> Iterator[Update]:
        """A stored conversation, from its beginning."""
        for message in messages:
            match message:
                case UserMessage(text=text):
                    yield update_user_message_text(text)
                case AssistantMessage():
                    yield from self._replay_answer(message)
                case ToolMessage():
                    operation = message.operation or message.name
                    yield schema.ToolCallProgress(
                        session_update="tool_call_update",
                        tool_call_id=message.call_id,
                        title=one_line(message.summary) or operation,
                        kind=kind_of(operation),
                        status="completed" if message.ok else "failed",
                        content=[_words(message.text)],
                    )
                case ReminderMessage():
                    pass
                case _:
                    assert_never(message)

    def _called(self, event: _CallEvent) -> Iterator[Update]:
        match event:
            case events.Answered(message=message):
                for call in message.calls:
                    yield self._pending(self.call_id(event.conversation, call.id), call)
            case events.DecisionMade(call=call, decision=decision):
                self._targets[self.call_id(event.conversation, call)] = decision.targets
            case events.ToolStarted():
                yield from self._started(event)
            case events.ToolProgressed(text=text):
                identifier = self.call_id(event.conversation, event.call)
                if identifier not in self._terminals:
                    yield self._progress(identifier, text)
            case events.ToolFinished():
                yield self._finished(event)
            case _:
                assert_never(event)

    def _pending(self, identifier: str, call: ToolCall) -> schema.ToolCallStart:
        self._shown.add(identifier)
        return schema.ToolCallStart(
            session_update="tool_call",
            tool_call_id=identifier,
            title=one_line(call.name) or "call",
            kind=kind_of(call.name),
            status="pending",
            raw_input=_arguments(call.arguments),
        )

    def _started(self, event: events.ToolStarted) -> Iterator[Update]:
        identifier = self.call_id(event.conversation, event.call)
        if identifier not in self._shown:
            call = ToolCall(event.call, event.operation, event.arguments)
            yield self._pending(identifier, call)
        kind = kind_of(event.operation)
        content: list[Content] | None = None
        meta = None
        if identifier in self._terminals:
            content = [self._terminal(identifier)]
        elif self._live and kind == "execute":
            content = [schema.TerminalToolCallContent(type="terminal", terminal_id=identifier)]
            meta = {"terminal_info": {"terminal_id": identifier, "cwd": self._root}}
        yield schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=identifier,
            title=one_line(event.summary),
            kind=kind,
            status="in_progress",
            locations=self._locations(identifier, kind),
            content=content,
            field_meta=meta,
        )

    def _embeds(self, identifier: str) -> bool:
        return self._live or identifier in self._terminals

    def _terminal(self, identifier: str) -> schema.TerminalToolCallContent:
        terminal = self._terminals.get(identifier, identifier)
        return schema.TerminalToolCallContent(type="terminal", terminal_id=terminal)

    def _locations(self, identifier: str, kind: str) -> list[schema.ToolCallLocation] | None:
        """The files that a call was judged for."""
        if kind in ("execute", "fetch", "other"):
            return None
        targets = self._targets.get(identifier, ())
        return [schema.ToolCallLocation(path=path) for path in targets if os.path.isabs(path)]

    def _progress(self, identifier: str, text: str) -> schema.ToolCallProgress:
        if self._live and identifier in self._shown:
            output = {"terminal_output": {"terminal_id": identifier, "data": text}}
            return schema.ToolCallProgress(
                session_update="tool_call_update", tool_call_id=identifier, field_meta=output
            )
        tail = (self._tails.get(identifier, "") + text)[-_LONGEST:]
        self._tails[identifier] = tail
        return schema.ToolCallProgress(
            session_update="tool_call_update", tool_call_id=identifier, content=[_words(tail)]
        )

    def _finished(self, event: events.ToolFinished) -> schema.ToolCallProgress:
        identifier = self.call_id(event.conversation, event.call)
        self._tails.pop(identifier, None)
        self._targets.pop(identifier, None)
        self._shown.discard(identifier)
        contents: list[Content] = [
            content for part in event.display for content in self._content(part, identifier)
        ]
        live = self._live and identifier not in self._terminals
        self.detach(identifier)
        return schema.ToolCallProgress(
            session_update="tool_call_update",
            tool_call_id=identifier,
            title=one_line(event.summary) or event.operation,
            kind=kind_of(event.operation),
            status="completed" if event.ok else "failed",
            content=contents or [_words(event.text)],
            field_meta=self._terminal_exit(event.display, identifier) if live else None,
        )

    @staticmethod
    def _terminal_exit(display: Sequence[Display], identifier: str) -> dict[str, object] | None:
        """Return the exit of a command, sent with the result of its call."""
        ended = next((part for part in display if isinstance(part, Terminal)), None)
        if ended is None or ended.running:
            return None
        end = {"terminal_id": identifier, "exit_code": ended.exit_code, "signal": None}
        return {"terminal_exit": end}

    def _content(self, part: Display, identifier: str) -> Iterator[Content]:
        match part:
            case Text(text=text):
                yield _words(text)
            case Diff():
                yield diff_content(part, self._root)
            case Terminal() if self._embeds(identifier):
                yield self._terminal(identifier)
            case Terminal(command=command, output=output, exit_code=code):
                end = "" if code in (0, None) else f"\n[exit code {code}]"
                yield _words(f"$ {command}\n{output}{end}")
            case Table(columns=columns, rows=rows):
                yield _words("\n".join(" | ".join(row) for row in (columns, *rows)))
            case Todos(items=items):
                yield _words("\n".join(f"{item.status}: {item.title}" for item in items))
            case _:
                assert_never(part)


def _said(event: _WordEvent) -> Update:
    match event:
        case events.TextStreamed(text=text):
            return update_agent_message_text(text)
        case events.ReasoningStreamed(text=text):
            return update_agent_thought_text(text)
        case events.ModelRetried():
            tries = f"trying again, {event.attempt} of {event.retries}"
            return update_agent_thought_text(f"\n[{event.reason}: {tries}]\n")
        case events.Noticed(level=level, text=text):
            return update_agent_thought_text(f"\n[{level}: {visible_text(text)}]\n")
        case events.TodosChanged(items=items):
            return plan(items)
        case _:
            assert_never(event)


def diff_content(change: Diff, root: str) -> schema.FileEditToolCallContent:
    """A change: the lines of its hunks before and after."""
    lines = change.unified.splitlines()
    body = [line for line in lines if not line.startswith(("@@", "\\"))]
    before = "\n".join(line[1:] for line in body if not line.startswith("+"))
    after = "\n".join(line[1:] for line in body if not line.startswith("-"))
    old = before if any(not line.startswith("+") for line in body) else None
    return tool_diff_content(os.path.join(root, change.path), after, old)


def _words(text: str) -> schema.ContentToolCallContent:
    """Text in a fence of backticks longer than any in it, as clients render Markdown."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n[…]"
    plain = visible_text(cut)
    fence = "```"
    while fence in plain:
        fence += "`"
    return tool_content(text_block(f"{fence}\n{plain}\n{fence}"))


def _arguments(text: str) -> object:
    """A call's arguments parsed as JSON; the text itself if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
