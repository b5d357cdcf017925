"""Events as Claude-compatible JSON objects, one a line; events that Claude Code lacks are ``system``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, assert_never

from sam_tui.core import events
from sam_tui.core.ids import ConversationId, InquiryId
from sam_tui.core.inquiry import Question
from sam_tui.core.messages import ToolCall
from sam_tui.core.usage import Usage
from sam_tui.headless.ledger import CallLedger, tool_input
from sam_tui.headless.outcome import RunOutcome
from sam_tui.headless.request import HeadlessRequest

Block = Literal["text", "thinking"]
_DELTA: dict[Block, str] = {"text": "text_delta", "thinking": "thinking_delta"}


class Partials:
    """The message being streamed; each method gives the events that it causes."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._block: Block | None = None
        self._index = 0

    def begin(self) -> list[dict[str, object]]:
        """Begin a message with its request; everything streamed before is void."""
        self._block, self._index = None, 0
        message: dict[str, object] = {
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
        }
        return [{"type": "message_start", "message": message}]

    def piece(self, block: Block, text: str) -> list[dict[str, object]]:
        """A piece of text or thinking arrived."""
        pieces: list[dict[str, object]] = []
        if self._block != block:
            pieces += self._end_block()
            self._block = block
            start = {"type": block, block: ""}
            pieces.append({
                "type": "content_block_start",
                "index": self._index,
                "content_block": start,
            })
        delta = {"type": _DELTA[block], block: text}
        return [*pieces, {"type": "content_block_delta", "index": self._index, "delta": delta}]

    def _call(self, call: ToolCall) -> list[dict[str, object]]:
        """A call with all its arguments, once they are complete."""
        block: dict[str, object] = {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": {},
        }
        delta = {"type": "input_json_delta", "partial_json": call.arguments}
        index, self._index = self._index, self._index + 1
        return [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]

    def end(self, stop_reason: str, calls: Sequence[ToolCall]) -> list[dict[str, object]]:
        """The message is whole, with its calls."""
        return [
            *self._end_block(),
            *(event for call in calls for event in self._call(call)),
            {"type": "message_delta", "delta": {"stop_reason": stop_reason}},
            {"type": "message_stop"},
        ]

    def _end_block(self) -> list[dict[str, object]]:
        if self._block is None:
            return []
        index, self._block, self._index = self._index, None, self._index + 1
        return [{"type": "content_block_stop", "index": index}]


Line = dict[str, Any]
_CHARACTERS_PER_TOKEN = 4


class Lines:
    """Turns the events of one run into objects. The ledger has taken each event before."""

    def __init__(
        self, session: str, model: str, ledger: CallLedger, request: HeadlessRequest
    ) -> None:
        self._session = session
        self._model = model
        self._ledger = ledger
        self._partial = request.partial_messages
        self._hooks = request.hook_events
        self._replay = request.replay
        self._partials: dict[ConversationId, Partials] = {}
        self._questions: dict[InquiryId, str] = {}

    def of(self, event: events.Event) -> list[Line]:
        """Return the lines for an event; often none. A subagent's name the call that sent it."""
        if not self._ledger.concerns(event):
            return []
        lines, subagent = self._of(event), self._ledger.subagent(event)
        if subagent is not None:
            for line in lines:
                line["parent_tool_use_id"] = subagent.call
        return lines

    def _of(self, event: events.Event) -> list[Line]:
        match event:
            case (
                events.RequestSent()
                | events.TextStreamed()
                | events.ReasoningStreamed()
                | events.ToolProgressed()
            ):
                return self._pieces(event)
            case events.Answered():
                return self._answered(event)
            case events.ToolFinished():
                return [self._result_of_tool(event)]
            case events.ModelRetried():
                return [self._retry(event)]
            case events.DecisionMade():
                return [self._decision(event)]
            case (
                events.TodosChanged()
                | events.Reminded()
                | events.HistoryShortened()
                | events.WorkflowMoved()
                | events.Noticed()
            ):
                return [self._ours(event)]
            case events.HookStarted() | events.HookFinished():
                return [self._hook(event)] if self._hooks else []
            case events.InquiryOpened() | events.InquiryClosed():
                return self._question(event)
            case events.SubagentStarted(call=call, child=child, task=task):
                return [self.system("subagent", tool_use_id=call, conversation=child, task=task)]
            case events.TurnStarted() | events.Steered():
                return self._replayed(event)
            case (
                events.ToolStarted()
                | events.TerminalOpened()
                | events.TerminalPassed()
                | events.TerminalClosed()
                | events.TurnFinished()
            ):
                return []
            case _:
                assert_never(event)

    def _replayed(self, event: events.TurnStarted | events.Steered) -> list[Line]:
        """A message that was taken; a subagent's task is none."""
        if not self._replay or event.conversation != self._session:
            return []
        line = self._message("user", [{"type": "text", "text": event.text}])
        return [{**line, "isReplay": True}]

    def system(self, subtype: str, **fields: object) -> Line:
        """A line of our own kind."""
        return {"type": "system", "subtype": subtype, "session_id": self._session, **fields}

    def _ours(
        self,
        event: events.TodosChanged
        | events.Reminded
        | events.HistoryShortened
        | events.WorkflowMoved
        | events.Noticed,
    ) -> Line:
        match event:
            case events.TodosChanged(items=items):
                return self.system("todo", items=[asdict(item) for item in items])
            case events.Reminded(name=name, text=text, digest=digest):
                tokens = -(-len(text) // _CHARACTERS_PER_TOKEN)
                return self.system("reminder", kind=name, tokens=tokens, hash=digest)
            case events.HistoryShortened(before=before, after=after, dropped=dropped):
                return self.system("compaction", before=before, after=after, dropped=dropped)
            case events.WorkflowMoved(execution=execution, change=change, step=step, seq=seq):
                fields = {"execution_id": execution, "change": change, "step": step, "seq": seq}
                return self.system("workflow", **fields)
            case events.Noticed(level=level, text=text):
                return self.system("notice", level=level, text=text)

    def _hook(self, event: events.HookStarted | events.HookFinished) -> Line:
        fields = {"hook_event": event.event, "hook_name": event.command, "hook_id": event.run}
        if isinstance(event, events.HookStarted):
            return self.system("hook_started", tool_use_id=event.call, **fields)
        return self.system(
            "hook_response",
            tool_use_id=event.call,
            **fields,
            outcome=event.outcome,
            reason=event.reason,
            duration_ms=round(event.seconds * 1000),
        )

    def _pieces(
        self,
        event: events.RequestSent
        | events.TextStreamed
        | events.ReasoningStreamed
        | events.ToolProgressed,
    ) -> list[Line]:
        if not self._partial:
            return []
        partials = self._partials_of(event)
        match event:
            case events.RequestSent():
                return self._stream_events(partials.begin())
            case events.TextStreamed(text=""):
                return []
            case events.TextStreamed(text=text):
                return self._stream_events(partials.piece("text", text))
            case events.ReasoningStreamed(text=text):
                return self._stream_events(partials.piece("thinking", text))
            case events.ToolProgressed(call=call, text=text):
                return [self.system("tool_progress", tool_use_id=call, text=text)]

    def _partials_of(self, event: events.Event) -> Partials:
        """The message being streamed in the event's conversation: those of several interleave."""
        whose = events.conversation_of(event)
        assert whose is not None
        return self._partials.setdefault(whose, Partials(self._model))

    def _stream_events(self, pieces: list[dict[str, object]]) -> list[Line]:
        return [
            {
                "type": "stream_event",
                "event": event,
                "parent_tool_use_id": None,
                "session_id": self._session,
            }
            for event in pieces
        ]

    def _answered(self, event: events.Answered) -> list[Line]:
        message, content = event.message, list[dict[str, object]]()
        if message.reasoning:
            content.append({"type": "thinking", "thinking": message.reasoning})
        if message.text:
            content.append({"type": "text", "text": message.text})
        for call in message.calls:
            content.append({
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": tool_input(call.arguments),
            })
        stop_reason = "tool_use" if message.calls else "end_turn"
        ended: list[Line] = []
        if self._partial:
            ended = self._stream_events(self._partials_of(event).end(stop_reason, message.calls))
        line = self._message("assistant", content)
        line["message"] |= {
            "model": self._model,
            "stop_reason": stop_reason,
            "usage": usage_fields(event.usage),
        }
        return [*ended, line]

    def _result_of_tool(self, event: events.ToolFinished) -> Line:
        block: dict[str, object] = {
            "type": "tool_result",
            "tool_use_id": event.call,
            "content": event.text,
            "is_error": not event.ok,
        }
        line = self._message("user", [block])
        line["tool_use_result"] = {
            "operation": event.operation,
            "summary": event.summary,
            "duration_ms": round(event.seconds * 1000),
        }
        return line

    def _message(self, role: str, content: list[dict[str, object]]) -> Line:
        return {
            "type": role,
            "message": {"role": role, "content": content},
            "parent_tool_use_id": None,
            "session_id": self._session,
        }

    def _retry(self, event: events.ModelRetried) -> Line:
        return self.system(
            "api_retry",
            attempt=event.attempt,
            max_retries=event.retries,
            retry_delay_ms=round(event.delay * 1000),
            error_status=event.status,
            error=event.reason,
        )

    def _decision(self, event: events.DecisionMade) -> Line:
        decision = event.decision
        return self.system(
            "permission_decision",
            tool=decision.operation,
            tool_use_id=event.call,
            decision=decision.outcome,
            rule=decision.rule,
            source=decision.by,
            reason=decision.reason,
            scope=decision.scope,
            comment=decision.comment,
        )

    def _question(self, event: events.InquiryOpened | events.InquiryClosed) -> list[Line]:
        """A question's end. An approval's shows as the decision."""
        if isinstance(event, events.InquiryOpened):
            if isinstance(event.inquiry.request, Question):
                self._questions[event.inquiry.id] = event.inquiry.request.prompt
            return []
        prompt = self._questions.pop(event.inquiry, None)
        if prompt is None:
            return []
        return [self.system("question", prompt=prompt, outcome=event.outcome)]


def result_line(session: str, ledger: CallLedger, outcome: RunOutcome) -> Line:
    """Return the last line of a run."""
    error = {"title": outcome.title, "message": outcome.message} if outcome.is_error else None
    return {
        "type": "result",
        "subtype": outcome.subtype,
        "is_error": outcome.is_error,
        "result": outcome.answer,
        "answer_end": outcome.ending,
        "error": error,
        "session_id": session,
        "num_turns": ledger.turns,
        "duration_ms": ledger.milliseconds,
        "duration_api_ms": ledger.api_milliseconds,
        "usage": usage_fields(ledger.usage),
        "total_cost_usd": ledger.usage.cost,
        "unpriced_answers": ledger.unpriced,
        "permission_denials": ledger.denials,
        "todos": [asdict(item) for item in ledger.todos],
        "files_changed": ledger.files_changed,
        "terminals_ended": ledger.terminals,
        "exit_code": outcome.exit_code,
    }


def usage_fields(usage: Usage) -> dict[str, int]:
    """Tokens. ``input`` is the whole prompt, of which ``cache_read`` came from the cache.

    The long names are Anthropic's, and as there, ``input_tokens`` leaves the cached part out.
    """
    uncached = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    return {
        "input": usage.input_tokens,
        "cache_read": usage.cached_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
        "input_tokens": max(0, uncached),
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
    }
