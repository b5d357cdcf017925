"""A recorded conversation as one file: prompts, answers, results, decisions, files before and after."""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sam_tui.core.display import Text
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
    calls_of,
)
from sam_tui.core.ports.files import FilesByPath, StoredFile
from sam_tui.core.ports.policy import DecisionEntry
from sam_tui.core.ports.storage import CallDisplay
from sam_tui.core.prompt.reminders import ReminderChoice
from sam_tui.core.text.invisible import json_visible
from sam_tui.core.verdict import Decision

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MOST_BYTES = 2_000_000
"""The most bytes of all files of a fixture's workspace."""
LARGEST = 16_000_000
"""The most bytes of a fixture."""
Change = Callable[[str], str]
_ASKING = "user_collaboration"
_LINE = re.compile(r"^- (.+?): ", re.MULTILINE)
FILES = {
    "instructions": re.compile(r'^<fileInstructions of="([^"]*)">$', re.MULTILINE),
    "skills": _LINE,
    "agents": _LINE,
}
"""Reminders that contain files, each with the pattern of the lines that name a file."""
WORDS = ("pins", "mini_prompts", "user_defined")
"""Reminders with texts that the person stored outside the conversation; recordings contain the texts."""


_STRICT: Any = {"extra": "forbid"}
"""The pydantic configuration of all parts of a file: unknown fields are errors."""


@dataclass(slots=True, kw_only=True)
class RecordedResult:
    """The result of a call."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    call: str
    operation: str
    ok: bool
    text: str


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """A call as the model wrote it."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    id: str
    name: str
    arguments: str


@dataclass(slots=True, kw_only=True)
class RecordedStep:
    """A request, its answer and the results. ``request`` has the messages new in it, ``joined`` the
    person's messages during the turn."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    request: list[str] = field(default_factory=list[str])
    joined: list[str] = field(default_factory=list[str])
    text: str = ""
    reasoning: str = ""
    calls: list[CallRecord] = field(default_factory=list[CallRecord])
    results: list[RecordedResult] = field(default_factory=list[RecordedResult])


@dataclass(slots=True, kw_only=True)
class RecordedTurn:
    """A prompt and the steps of its turn. ``guidance`` has the person's words that it was reminded of,
    by the reminder's name."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    prompt: str
    guidance: dict[str, str] = field(default_factory=dict[str, str])
    steps: list[RecordedStep] = field(default_factory=list[RecordedStep])


@dataclass(slots=True, kw_only=True)
class RecordedDecision:
    """The decision on a call."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    call: str
    operation: str
    targets: list[str]
    outcome: Literal["allow", "deny"]
    comment: str = ""


@dataclass(slots=True, kw_only=True)
class RecordedAnswer:
    """The person's answer to a question of the agent."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    call: str
    text: str


@dataclass(slots=True, kw_only=True)
class RecordedSubagent:
    """The recorded conversation of a subagent."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    turns: list[RecordedTurn]


@dataclass(slots=True, kw_only=True)
class RecordedFile:
    """A file's text, else its bytes as Base64; ``kind`` says whether it can be run, or is a link."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    text: str | None = None
    base64: str | None = None
    kind: Literal["file", "program", "link"] = "file"

    @classmethod
    def of(cls, file: StoredFile, change: Change) -> "RecordedFile":
        """A stored file, its text changed."""
        try:
            return cls(text=change(file.data.decode()), kind=file.kind)
        except UnicodeDecodeError:
            return cls(base64=base64.b64encode(file.data).decode(), kind=file.kind)

    @property
    def data(self) -> bytes:
        """The content. Raises ``ValueError`` for invalid Base64."""
        if self.text is not None:
            return self.text.encode("utf-8", "surrogatepass")
        return base64.b64decode(self.base64 or "", validate=True)


@dataclass(slots=True, kw_only=True)
class Scenario:
    """A whole recording. ``changed`` are the files that were not as before at its end; None is gone.

    ``believed`` names the files that were trusted to instruct the model, ``reminders`` the person's
    choice for each.
    """

    __pydantic_config__: ClassVar[Any] = _STRICT

    format: Literal["sam-tui replay"]
    version: Literal[1]
    title: str = ""
    turns: list[RecordedTurn]
    subagents: list[RecordedSubagent] = field(default_factory=list[RecordedSubagent])
    decisions: list[RecordedDecision] = field(default_factory=list[RecordedDecision])
    answers: list[RecordedAnswer] = field(default_factory=list[RecordedAnswer])
    files: dict[str, RecordedFile] = field(default_factory=dict[str, RecordedFile])
    changed: dict[str, RecordedFile | None] = field(default_factory=dict[str, RecordedFile | None])
    believed: list[str] = field(default_factory=list[str])
    reminders: dict[str, ReminderChoice] = field(default_factory=dict[str, ReminderChoice])


@cache
def _adapter() -> "TypeAdapter[Scenario]":
    """Build it on first use: only reading and writing a recording needs pydantic."""
    from pydantic import TypeAdapter

    return TypeAdapter(Scenario)


class PathPlaceholders:
    """Folders of this machine and their placeholders in a recording."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._words = {path: f"⟦{name}⟧" for path, name in folders.items() if len(path) > 1}
        longest = sorted(self._words, key=len, reverse=True)
        self._paths = re.compile("|".join(map(re.escape, longest)) or r"(?!)")

    def portable(self, text: str) -> str:
        """A text with words for folders."""
        return self._paths.sub(lambda path: self._words[path[0]], text)

    def local(self, text: str) -> str:
        """A text with folders for words."""
        for path, word in self._words.items():
            text = text.replace(word, path)
        return text


def numbered(messages: Iterable[Message], subagent: int = 0) -> Mapping[CallId, str]:
    """Return a recording's names for the calls of a conversation; a subagent's are counted from 1."""
    whose = f"subagent_{subagent}_" if subagent else ""
    ids = dict.fromkeys(call.id for call in calls_of(messages))
    return {call: f"{whose}call_{number}" for number, call in enumerate(ids, 1)}


def _entries_of(reminder: ReminderMessage, change: Change) -> list[str]:
    """Return a recording's names of a reminder; one of files has a name for each file."""
    entry = f"reminder {reminder.name}"
    names = FILES[reminder.name].findall(reminder.text) if reminder.name in FILES else ()
    return [f"{entry}: {change(name)}" for name in names] or [entry]


def turns_of(
    messages: Iterable[Message], change: Change, numbers: Mapping[CallId, str]
) -> list[RecordedTurn]:
    """A conversation's messages by prompts and steps."""
    turns: list[RecordedTurn] = []
    request, joined, guidance = list[str](), list[str](), dict[str, str]()
    for message in messages:
        match message:
            case UserMessage(text=text):
                request.append("prompt")
                if not turns or (turns[-1].steps and not turns[-1].steps[-1].calls):
                    turns.append(RecordedTurn(prompt=change(text), guidance=guidance))
                else:
                    joined.append(change(text))
                guidance = {}
            case ReminderMessage(name=name):
                request += _entries_of(message, change)
                if name in WORDS:
                    guidance[name] = change(message.text)
            case AssistantMessage() if turns:
                calls = [
                    CallRecord(id=numbers[c.id], name=c.name, arguments=change(c.arguments))
                    for c in message.calls
                ]
                turns[-1].steps.append(
                    RecordedStep(
                        request=request,
                        joined=joined,
                        text=change(message.text),
                        reasoning=change(message.reasoning),
                        calls=calls,
                    )
                )
                request, joined = [], []
            case ToolMessage() if turns and turns[-1].steps:
                operation = message.operation or message.name
                request.append(f"result {operation}")
                call = numbers.get(message.call_id, "")
                result = RecordedResult(
                    call=call, operation=operation, ok=message.ok, text=change(message.text)
                )
                turns[-1].steps[-1].results.append(result)
            case _:
                continue
    return turns


def answers_of(
    displays: Mapping[CallId, CallDisplay],
    messages: Iterable[Message],
    numbers: Mapping[CallId, str],
    change: Change,
) -> list[RecordedAnswer]:
    """The person's answers to the questions of a conversation; ``displays`` are those of its calls."""
    questions = [m.call_id for m in messages if isinstance(m, ToolMessage) and m.name == _ASKING]
    return [
        RecordedAnswer(call=numbers[call], text=change(display.text))
        for call in questions
        if call in displays and call in numbers
        for display in displays[call].displays[:1]
        if isinstance(display, Text)
    ]


def decisions_of(
    entries: Iterable[DecisionEntry], numbers: Mapping[CallId, str], change: Change
) -> list[RecordedDecision]:
    """Return the decisions on the calls of a conversation."""
    return [
        RecordedDecision(
            call=numbers[entry.call],
            operation=entry.decision.operation,
            targets=[change(target) for target in entry.decision.targets],
            outcome="allow" if entry.decision.allowed else "deny",
            comment=change(entry.decision.comment),
        )
        for entry in entries
        if entry.call in numbers and _answers(entry.decision)
    ]


def _answers(decision: Decision) -> bool:
    """Whether a decision is an answer, should it be asked about: a rule's refusal is not."""
    return decision.allowed or (decision.outcome == "deny" and decision.by == "user")


def files_of(
    before: FilesByPath, after: FilesByPath, change: Change
) -> tuple[dict[str, RecordedFile], dict[str, RecordedFile | None]]:
    """The files at the beginning, and those that were not so at the end."""
    files = {path: RecordedFile.of(file, change) for path, file in sorted(before.items())}
    changed: dict[str, RecordedFile | None] = {
        path: RecordedFile.of(after[path], change) if path in after else None
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
    return files, changed


def read_scenario(name: str, data: bytes) -> Scenario:
    """The scenario in a file of that name. Raises ``UsageError``."""
    from pydantic import ValidationError

    from sam_tui.core.text.field_faults import faults_of

    try:
        scenario = _adapter().validate_json(data)
    except (ValidationError, RecursionError) as error:
        where = ""
        if isinstance(error, ValidationError):
            where = f": {faults_of(error)[0]}"[:300]
        hint = "“sam-tui sessions to-test” writes one."
        raise UsageError(f"{name} is not a recording{where}.", hint=hint) from None
    if not scenario.turns:
        raise UsageError(f"{name} has no prompt to play.")
    return scenario


def write_scenario(scenario: Scenario) -> str:
    """A scenario as one JSON text. Raises ``UsageError`` where its files are too much."""
    size = sum(len(file.data) for file in _all_files(scenario))
    if size > MOST_BYTES:
        raise UsageError(
            f"The files of this conversation's folder have {size:,} bytes; a recording takes at most"
            f" {MOST_BYTES:,}.",
            hint="Select the files that it needs with --files, such as --files 'src/*.py'.",
        )
    text = _adapter().dump_json(scenario, indent=1, exclude_defaults=True).decode()
    return json_visible(text) + "\n"


def _all_files(scenario: Scenario) -> Sequence[RecordedFile]:
    return [*scenario.files.values(), *filter(None, scenario.changed.values())]
