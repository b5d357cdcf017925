"""Plays a scenario in a scratch folder: recorded answers, real tools, no more leave than was recorded."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sam_tui.core.errors import ModelRejected, SamError, UsageError
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Reply
from sam_tui.core.messages import UserMessage, calls_of
from sam_tui.core.ports.files import FilesByPath, StoredFile
from sam_tui.core.ports.model import (
    CallDelta,
    Delta,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
)
from sam_tui.core.ports.storage import ConversationStore
from sam_tui.core.runtime import Runtime
from sam_tui.headless.replay.guidance import restore
from sam_tui.headless.replay.scenario import (
    LARGEST,
    Change,
    PathPlaceholders,
    RecordedFile,
    RecordedStep,
    RecordedSubagent,
    Scenario,
    files_of,
    numbered,
    turns_of,
)


class RecordedModel:
    """A model that answers with the steps of a scenario and of its subagents, each once."""

    name = "recorded"
    host = ""
    context_tokens = None

    def __init__(self, scenario: Scenario, placeholders: PathPlaceholders) -> None:
        self._scenario, self._placeholders = scenario, placeholders
        self._steps: list[RecordedStep] = []
        self._joined_at = -1
        self._subagents = [_SubagentSteps(recorded) for recorded in scenario.subagents]

    def begin(self, turn: int) -> None:
        """Begin a turn: the rest of the one before is not played."""
        self._steps = list(self._scenario.turns[turn].steps)

    def joining(self) -> Sequence[str]:
        """The messages that joined the turn ahead of its next step, once."""
        if not self._steps or self._joined_at == len(self._steps):
            return ()
        self._joined_at = len(self._steps)
        return [self._placeholders.local(text) for text in self._steps[0].joined]

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The next recorded answer. Raises ``ModelRejected``, which no other model is asked for."""
        step = self._next(request)
        if step.reasoning:
            yield ReasoningDelta(self._placeholders.local(step.reasoning))
        if step.text:
            yield TextDelta(self._placeholders.local(step.text))
        for index, call in enumerate(step.calls):
            yield CallDelta(index, call.id, call.name, self._placeholders.local(call.arguments))

    def _next(self, request: ModelRequest) -> RecordedStep:
        prompt = next((m.text for m in request.messages if isinstance(m, UserMessage)), "")
        if prompt == self._placeholders.local(self._scenario.turns[0].prompt):
            steps, self._joined_at = self._steps, -1
        else:
            steps = self._steps_of_subagent(prompt, {c.id for c in calls_of(request.messages)})
        if not steps:
            raise ModelRejected("The recording has no further answer in this turn.")
        return steps.pop(0)

    def _steps_of_subagent(self, prompt: str, calls: set[CallId]) -> list[RecordedStep]:
        """The remaining steps of the subagent with this prompt and these calls. Raises
        ``ModelRejected``."""
        alike = [s for s in self._subagents if self._placeholders.local(s.prompt) == prompt]
        for subagent in alike:
            if calls & subagent.calls if calls else not subagent.running:
                subagent.running = True
                return subagent.steps
        raise ModelRejected("The recording has only answers of its own conversation.")

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class _SubagentSteps:
    """The remaining recorded steps of one subagent."""

    def __init__(self, recorded: RecordedSubagent) -> None:
        self.prompt = recorded.turns[0].prompt if recorded.turns else ""
        self.steps = [step for turn in recorded.turns for step in turn.steps]
        self.calls = {CallId(call.id) for step in self.steps for call in step.calls}
        self.running = False


class RecordedReplies:
    """Answers questions as the person did then, and approvals as far as all of it lies in a folder.

    ``everything`` gives the recorded answer to all others, too: to the very same question of the same
    call, and for that once.
    """

    def __init__(
        self,
        scenario: Scenario,
        placeholders: PathPlaceholders,
        root: str,
        *,
        everything: bool = False,
    ) -> None:
        self._root = os.path.realpath(root)
        self._everything = everything
        self.not_repeated: list[str] = []
        """Approvals of the recording that the replay did not give, in words."""
        self.repeated: list[str] = []
        """Approvals that the replay gave although they concern more than the folder, in words."""
        self._answers = {a.call: placeholders.local(a.text) for a in scenario.answers}
        self._decided = {
            (d.call, d.operation, tuple(map(placeholders.local, d.targets))): d
            for d in scenario.decisions
        }

    def __call__(self, inquiry: Inquiry) -> Answer | None:
        """Return the recorded answer, or None."""
        request = inquiry.request
        if not isinstance(request, ApprovalRequest):
            text = self._answers.get(inquiry.call)
            return None if text is None else Reply(text)
        decided = self._decided.get((inquiry.call, request.operation, request.targets))
        if decided is None:
            return None
        if decided.outcome == "deny":
            return Approval("deny", decided.comment)
        if request.targets and all(map(self._inside, request.targets)):
            return Approval("once", decided.comment)
        words = f"{request.operation} {', '.join(request.targets)}"
        (self.repeated if self._everything else self.not_repeated).append(words)
        return Approval("once", decided.comment) if self._everything else None

    def _inside(self, target: str) -> bool:
        return os.path.isabs(target) and os.path.realpath(target).startswith(self._root + os.sep)


def lay_out(scenario: Scenario, root: str, placeholders: PathPlaceholders) -> None:
    """Write the files of a scenario below an empty folder. Raises ``UsageError``."""
    for path, file in scenario.files.items():
        parts = path.split("/")
        if "\0" in path or any(part in ("", ".", "..", ".git") for part in parts):
            raise UsageError(f"The recording has a file of an unusable name: {path!a}.")
        target = os.path.join(root, *parts)
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            # A link that the recording brings along leads nowhere out of the folder while it is written.
            if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
                raise UsageError(f"The recording has a file behind a link: {path!a}.")
            _write(file, target, placeholders)
        except (OSError, ValueError) as error:
            raise UsageError(f"{path!a} of the recording cannot be made: {error}.") from error


def _write(file: RecordedFile, target: str, placeholders: PathPlaceholders) -> None:
    data = file.data if file.text is None else placeholders.local(file.text).encode()
    if file.kind == "link":
        os.symlink(data, target.encode())
        return
    mode = 0o755 if file.kind == "program" else 0o644
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with open(descriptor, "wb") as opened:
        opened.write(data)


def files_below(root: str) -> FilesByPath:
    """All files of a folder by their paths, but those of git's own folder."""
    files: dict[str, StoredFile] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            path = os.path.join(folder, name)
            with suppress(OSError):
                if os.path.islink(path):
                    file = StoredFile(os.fsencode(os.readlink(path)), "link")
                elif os.path.isfile(path):
                    with open(path, "rb") as opened:
                        data = opened.read(LARGEST)
                    file = StoredFile(data, "program" if os.access(path, os.X_OK) else "file")
                else:
                    continue
                files[os.path.relpath(path, root)] = file
    return files


async def play(
    runtime: Runtime, scenario: Scenario, placeholders: PathPlaceholders, data: str
) -> tuple[Scenario, list[str]]:
    """Play all turns. Returns the outcome as a scenario, and a message for each turn that failed.

    ``data`` is the empty data folder of the runtime.
    """
    root = runtime.workspace.root
    before = files_below(root)
    model = RecordedModel(scenario, placeholders)
    runtime.use_model(model)
    session = runtime.open_session()
    choices = runtime.engine.requests.injectors.choices
    for name, choice in scenario.reminders.items():
        choices.choose(session.conversation, name, choice)
    faults: list[str] = []
    for number, turn in enumerate(scenario.turns):
        model.begin(number)
        guidance = {name: placeholders.local(text) for name, text in turn.guidance.items()}
        restore(runtime, session.conversation, guidance, data)
        try:
            finished = await session.run(placeholders.local(turn.prompt), model.joining)
        except SamError as error:
            faults.append(f"turn {number + 1} was not run: {error}")
            continue
        if finished.reason != "finished":
            faults.append(f"turn {number + 1} {finished.reason}: {finished.error}")
    await runtime.end_processes()
    messages = runtime.conversations.everything(session.conversation)
    files, changed = files_of(before, files_below(root), placeholders.portable)
    turns = turns_of(messages, placeholders.portable, numbered(messages))
    subagents = subagents_of(runtime.conversations, session.conversation, placeholders.portable)
    again = replace(scenario, turns=turns, subagents=subagents, files=files, changed=changed)
    return again, faults


def subagents_of(
    store: ConversationStore, conversation: ConversationId, change: Change
) -> list[RecordedSubagent]:
    """The conversations of a conversation's subagents, oldest first."""
    children = [store.everything(child.id) for child in store.children(conversation)]
    return [
        RecordedSubagent(turns=turns_of(messages, change, numbered(messages, number)))
        for number, messages in enumerate(children, 1)
    ]
