"""Functions of this program for another agent: start its program, read files for it, ask the person."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from sam_tui.core import events
from sam_tui.core.accesses import CommandAccess, LocatedAccess, Read
from sam_tui.core.authorization.guard import Guard, Request
from sam_tui.core.authorization.outside_access import OutsideRun
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.model import Model
from sam_tui.core.ports.processes.piped import PipedProgram, PipedPrograms, PipedRequest
from sam_tui.core.tooling.executor import Executor
from sam_tui.core.verdict import denial

START = "agent.start"
"""The operation of starting the agent's program, as rules for it name it."""
OWN_CALL = "agent.own_call"
"""The operation of a call that the agent makes itself and requests permission for."""
READ = "file_operations.read_file"
_LARGEST = 16_000_000
"""The most bytes of a file that the agent may read in one request."""


@dataclass(frozen=True, slots=True)
class AgentHost:
    """The functions of this program that an external agent may use.

    ``words`` are its command line, ``readable`` the paths that it reads to start; ``conversation`` is the
    one whose turn a model runs.
    """

    words: tuple[str, ...]
    executor: Executor
    guard: Guard
    files: Files
    piped: Callable[[], PipedPrograms]
    readable: Callable[[], tuple[str, ...]]
    publish: Callable[[events.Event], None]
    conversation: Callable[[Model], ConversationId | None]

    async def start(
        self, conversation: ConversationId, on_error: Callable[[str], None]
    ) -> PipedProgram:
        """Start the agent's program in the sandbox, judged like any command. Raises ``ToolError``."""
        guard, line, call = self.guard, shlex.join(self.words), CallId(mint("call"))
        access = LocatedAccess(CommandAccess(line), None)
        summary, then = f"start the agent {line}", "The guard asks about each access outside."
        request = Request(conversation, call, START, summary, (access,), tuple, then=then)
        decision = await self.executor.decide(request)
        if not decision.allowed:
            raise ToolError(denial(decision))
        run = OutsideRun(conversation, call, START, line, lasting=True, lasts="the agent")
        return await self.piped().start(
            PipedRequest(
                self.words,
                self.executor.workspace,
                guard.policy.mode != "bypass",
                guard.writable,
                on_error,
                network=guard.network_of((access,), lasting=False),
                ask=self.executor.questions(run).ask,
                readable=self.readable(),
            )
        )

    async def read(self, conversation: ConversationId, call: CallId, path: str) -> str:
        """Read a file as the guard allows it, redacted. Raises ``ToolError``."""
        summary = f"Reading: {path}"
        accesses = self.guard.locate((Read(path, "path"),))
        decision = await self.executor.decide(
            Request(conversation, call, READ, summary, accesses, tuple)
        )
        self.publish(events.ToolStarted(conversation, call, READ, summary, "{}"))
        text = denial(decision)
        try:
            location = accesses[0].location
            if not decision.allowed or location is None:
                raise ToolError(text)
            data = self.files.read(location, limit=_LARGEST)
            text = f"{len(data)} bytes"
        except ToolError as error:
            text = error.explain()
            raise
        finally:
            ok = decision.allowed and text.endswith(" bytes")
            self.publish(
                events.ToolFinished(conversation, call, READ, summary, ok, text, (), seconds=0.0)
            )
        return self.executor.shield.redact(data.decode("utf-8", "replace"))

    async def confirm(
        self, conversation: ConversationId, call: CallId, line: str, words: str
    ) -> bool:
        """Whether the person allows one of the agent's own calls. Its words are only shown."""
        if self.guard.policy.mode == "bypass":
            return True
        request = Request(conversation, call, OWN_CALL, line, (), tuple, words=words)
        why = "it runs in the agent's own program, inside the sandbox"
        decision = await self.guard.confirm(request, why, "agent-asks")
        self.executor.record(conversation, call, decision)
        return decision.allowed
