"""A file between two runs: the questions that nobody could answer in one, and a person's decisions on them.

Each entry is bound by its hash to the exact call of one conversation and to its question. The next run
repeats the calls of approved entries; a changed entry is another call, and leads to a new question.
"""

import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, cast

from sam_tui.core.errors import ConfigurationError
from sam_tui.core.events import Answered, Event, InquiryClosed, InquiryOpened
from sam_tui.core.ids import CallId, ConversationId, InquiryId, mint
from sam_tui.core.inquiries import Responder
from sam_tui.core.inquiry import Answer, ApprovalRequest, Inquiry
from sam_tui.core.local_files.bounded import MissingFile, UnusableFile, read_named, write_named
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.model import CallDelta, Delta, Model, ModelRequest
from sam_tui.core.text.json_files import json_of_file
from sam_tui.headless.answers import AnswerEntry
from sam_tui.headless.ledger import tool_input
from sam_tui.headless.outcome import RunOutcome

_MOST = 10_000_000
_HINT = "A blocked run writes it; only “reply” is for you to fill in."


@dataclass(frozen=True, slots=True)
class BlockedEntry:
    """One unanswered inquiry of a run. ``reply`` is the person's: as of ``AnswerEntry``."""

    reply: str
    operation: str
    summary: str
    targets: list[str]
    why: str
    tool: str
    input: dict[str, object]
    call: str
    hash: str = ""
    change: str = ""
    """The diff that a yes would apply."""

    def sealed(self, conversation: str) -> str:
        """Return the hash that it must have, of all but the reply and the words for people."""
        bound = [conversation, self.call, self.tool, self.input, self.operation, self.targets]
        bound += [self.change] if self.change else []
        return hashlib.sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()

    @property
    def answer(self) -> AnswerEntry:
        """The reply in the form of an answers file."""
        return AnswerEntry(re.compile(""), self.reply.strip())

    @property
    def agreed(self) -> bool:
        """Whether the call is to be made again."""
        if self.operation == "question":  # any text answers it
            return bool(self.reply.strip())
        return bool(self.answer.decision)


@dataclass(slots=True)
class Approvals:
    """The approvals file of one run: ``entries`` come from the run before, new inquiries are added."""

    path: str
    conversation: str = ""
    entries: tuple[BlockedEntry, ...] = ()
    _calls: dict[CallId, ToolCall] = field(default_factory=dict[CallId, ToolCall])
    _open: dict[InquiryId, Inquiry] = field(default_factory=dict[InquiryId, Inquiry])
    _blocked: list[Inquiry] = field(default_factory=list[Inquiry])
    _agreed: dict[CallId, list[BlockedEntry]] = field(
        default_factory=dict[CallId, list[BlockedEntry]]
    )
    """The entries that the person approved, by the id of the repeated call."""

    def made_again(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """The calls of the conversation that are made again, each with a new id."""
        stored = {call.id: call for call in calls}
        again: dict[str, ToolCall] = {}
        for entry in self.entries:
            if not entry.agreed:
                continue
            before = stored.get(CallId(entry.call))
            same = before is not None and (before.name, tool_input(before.arguments)) == (
                entry.tool,
                entry.input,
            )
            text = before.arguments if before is not None and same else json.dumps(entry.input)
            key = json.dumps([entry.call, entry.tool, entry.input], sort_keys=True)
            call = again.setdefault(key, ToolCall(CallId(mint("call")), entry.tool, text))
            agreed = self._agreed.setdefault(call.id, [])
            if same and entry.hash == entry.sealed(self.conversation):
                agreed.append(entry)
        return tuple(again.values())

    @property
    def prompt(self) -> str:
        """The prompt for the agent if the person gives none."""
        lines = ["What you were refused for want of an answer was decided; approved calls follow."]
        refused = [entry for entry in self.entries if entry.reply.strip() and not entry.agreed]
        for entry in refused:
            reason = "" if entry.answer.decision is False else f": {entry.reply.strip()}"
            lines.append(f"- refused: {entry.summary}{reason}")
        return "\n".join([*lines, "Go on."])

    def responder(self, before: Responder | None) -> Responder:
        """Answers an inquiry that a repeated call asks exactly as before; else asks ``before``."""

        def respond(inquiry: Inquiry) -> Answer | None:
            for entry in self._agreed.get(inquiry.call, ()):
                if _subject(inquiry) == (entry.operation, entry.targets, entry.change):
                    return entry.answer.answer(inquiry)
            return before(inquiry) if before is not None else None

        return respond

    def take(self, event: Event) -> None:
        """Record inquiries that nobody answered."""
        match event:
            case Answered(message=message):
                self._calls |= {call.id: call for call in message.calls}
            case InquiryOpened(inquiry=inquiry):
                self._open[inquiry.id] = inquiry
            case InquiryClosed(inquiry=closed, outcome="unattended") if closed in self._open:
                self._blocked.append(self._open.pop(closed))
            case _:
                pass

    def ending(self, outcome: RunOutcome, conversation: ConversationId) -> RunOutcome:
        """Write the file; the outcome then names the command that continues, or the failure to write."""
        try:
            count = self._write(conversation)
        except UnusableFile as error:
            why = f"{self.path} {error}."
            return replace(
                outcome, subtype="error_during_execution", title="Not saved", message=why
            )
        if not count or outcome.subtype != "error_blocked":
            return outcome
        first = outcome.message.partition("\n")[0]
        then = f"--resume {conversation} --approvals {self.path}"
        message = f"{first}\nFill in each “reply” of {self.path}, then continue with {then}"
        return replace(outcome, message=message)

    def _write(self, conversation: ConversationId) -> int:
        """Write the entries of this run and undecided older ones; returns their number.

        Raises ``UnusableFile``. Without entries, a file is written only in place of one that was read.
        """
        unchanged = [e for e in self.entries if e.hash == e.sealed(self.conversation)]
        undecided = [entry for entry in unchanged if not entry.reply.strip()]
        entries = [
            replace(entry, hash=entry.sealed(conversation))
            for entry in (*undecided, *map(self._entry, self._of(conversation)))
        ]
        if entries or self.entries:
            table = {"conversation": conversation, "entries": [asdict(entry) for entry in entries]}
            write_named(self.path, (json.dumps(table, indent=2) + "\n").encode())
        return len(entries)

    def _of(self, conversation: ConversationId) -> list[Inquiry]:
        """Leave out a subagent's calls: they are not the conversation's, and nobody could repeat them."""
        return [inquiry for inquiry in self._blocked if inquiry.conversation == conversation]

    def _entry(self, inquiry: Inquiry) -> BlockedEntry:
        call = self._calls.get(inquiry.call)
        operation, targets, change = _subject(inquiry)
        request = inquiry.request
        approval = isinstance(request, ApprovalRequest)
        return BlockedEntry(
            "",
            operation,
            request.summary if approval else request.prompt,
            targets,
            request.why if approval else "",
            call.name if call is not None else operation,
            tool_input(call.arguments) if call is not None else {},
            inquiry.call,
            change=change,
        )


def _subject(inquiry: Inquiry) -> tuple[str, list[str], str]:
    """The operation, targets and change of an inquiry; of a question only its prompt."""
    request = inquiry.request
    if isinstance(request, ApprovalRequest):
        changed = [f"changed: {request.revision}"] if request.revision else []
        return request.operation, [*request.targets, *changed], request.difference
    return "question", [request.prompt], ""


def read_approvals(path: str, *, required: bool) -> Approvals:
    """Read the file; empty without one, unless it is ``required``. Raises ``ConfigurationError``."""
    path = os.path.abspath(os.path.expanduser(path))
    if not required:
        return Approvals(path)
    try:
        data = read_named(path, most=_MOST)
    except (UnusableFile, MissingFile) as error:
        raise ConfigurationError(f"{path} {error}.", hint=_HINT) from error
    value = json_of_file(data, path, hint=_HINT)
    table = cast("dict[str, Any]", value if isinstance(value, dict) else {})
    conversation, raw = table.get("conversation"), table.get("entries")
    if not isinstance(conversation, str) or not isinstance(raw, list):
        raise ConfigurationError(f"{path} is not a file of approvals.", hint=_HINT)
    entries = tuple(
        _read_entry(f"{path}, entry {number}", item)
        for number, item in enumerate(cast("list[object]", raw), 1)
    )
    return Approvals(path, conversation, entries)


def _read_entry(where: str, raw: object) -> BlockedEntry:
    table: dict[str, Any] = {"change": ""}
    table |= cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    kinds = {"input": dict, "targets": list}
    names = [item.name for item in fields(BlockedEntry)]
    for name in names:
        if not isinstance(table.get(name), kinds.get(name, str)):
            raise ConfigurationError(f"{where}: “{name}” is not as it was written.", hint=_HINT)
    entry = BlockedEntry(**{name: table[name] for name in names})
    if entry.reply.strip() and entry.operation != "question" and not entry.answer.decides:
        why = f"{where}: “{entry.reply.strip()}” is neither yes nor no."
        raise ConfigurationError(
            why, hint="Write “approve”, “deny” or a sentence that says why not."
        )
    return entry


class ApprovedCalls:
    """A model whose first answer contains the calls that a person approved; others are the wrapped
    model's."""

    def __init__(self, model: Model, calls: Sequence[ToolCall]) -> None:
        self._model = model
        self._calls = tuple(calls)
        self.close = model.close

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._model.name

    @property
    def host(self) -> str:
        """The host of the wrapped model."""
        return self._model.host

    @property
    def context_tokens(self) -> int | None:
        """The context window of the wrapped model."""
        return self._model.context_tokens

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Yield the calls, once; then the model's answers."""
        calls, self._calls = self._calls, ()
        for index, call in enumerate(calls):
            yield CallDelta(index, call.id, call.name, call.arguments)
        if calls:
            return
        async for delta in self._model.stream(request):
            yield delta
