"""Another agent in place of a model: how its program is started, and what is done for it."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from sam_tui.core.accesses import CommandAccess, LocatedAccess, Read
from sam_tui.core.authorization.guard import Request
from sam_tui.core.authorization.outside_access import OutsideRun
from sam_tui.core.errors import ToolError, UsageError
from sam_tui.core.events import ToolFinished, ToolStarted
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.ports.processes.piped import PipedProgram, PipedRequest
from sam_tui.core.verdict import denial

if TYPE_CHECKING:
    from sam_tui.assembly.agent import Agent
    from sam_tui.core.ports.model import Model

START = "agent.start"
"""The operation of starting its program: what rules for it name."""
ASKED = "agent.own_call"
"""A call that it makes by itself, and asks leave for."""
READ = "file_operations.read_file"
_LARGEST = 16_000_000
"""Bytes of a file that the agent may read at once."""


def open_agent(parts: "Agent", line: str) -> "Model":
    """The model that the command line of an agent stands for. Raises ``UsageError``."""
    from sam_tui.adapters.acp_client import AgentHost, AgentModel

    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UsageError(f"--agent is no command line: {error}.") from error
    if not words:
        raise UsageError("--agent names no program.")
    duties = _Duties(parts, words)
    host = AgentHost(
        parts.executor,
        parts.workspace.root,
        parts.bus.publish,
        duties.start,
        parts.budgets.conversation,
        duties.read,
        duties.confirm,
    )
    return AgentModel(words, host)


class _Duties:
    """Serves one foreign agent: starts its program, reads files, and asks for permissions."""

    def __init__(self, parts: "Agent", words: tuple[str, ...]) -> None:
        self._parts = parts
        self._words = words

    async def start(
        self, conversation: ConversationId, on_error: Callable[[str], None]
    ) -> PipedProgram:
        """Start the agent's program in the sandbox, judged like any command. Raises ``ToolError``."""
        from sam_tui.adapters.policy.readable_paths import NamedReads

        parts, guard, line = self._parts, self._parts.guard, shlex.join(self._words)
        call = CallId(mint("call"))
        access = LocatedAccess(CommandAccess(line), None)
        summary, then = f"start the agent {line}", "What it wants outside is asked one by one."
        request = Request(conversation, call, START, summary, (access,), tuple, then=then)
        decision = await parts.executor.decide(request)
        if not decision.allowed:
            raise ToolError(denial(decision))
        run = OutsideRun(conversation, call, START, line, lasting=True, lasts="the agent")
        named = NamedReads(parts.configuration.folders.home, parts.workspace.roots)
        return await parts.piped.start(
            PipedRequest(
                self._words,
                parts.workspace.root,
                guard.policy.mode != "bypass",
                guard.writable,
                on_error,
                network=guard.network_of((access,), lasting=False),
                ask=parts.executor.questions(run).ask,
                readable=named.of(self._words, parts.workspace.root),
            )
        )

    async def read(self, conversation: ConversationId, call: CallId, path: str) -> str:
        """Read a file as the guard allows it, redacted. Raises ``ToolError``."""
        parts, summary = self._parts, f"Reading: {path}"
        accesses = parts.guard.locate((Read(path, "path"),))
        decision = await parts.executor.decide(
            Request(conversation, call, READ, summary, accesses, tuple)
        )
        parts.bus.publish(ToolStarted(conversation, call, READ, summary, "{}"))
        text = denial(decision)
        try:
            location = accesses[0].location
            if not decision.allowed or location is None:
                raise ToolError(text)
            data = parts.files.read(location, limit=_LARGEST)
            text = f"{len(data)} bytes"
        except ToolError as error:
            text = error.explain()
            raise
        finally:
            ok = decision.allowed and text.endswith(" bytes")
            parts.bus.publish(
                ToolFinished(conversation, call, READ, summary, ok, text, (), seconds=0.0)
            )
        return parts.shield.redact(data.decode("utf-8", "replace"))

    async def confirm(
        self, conversation: ConversationId, call: CallId, line: str, words: str
    ) -> bool:
        """Whether the person allows one of the agent's own calls. Its words are displayed, and decide
        nothing."""
        guard = self._parts.guard
        if guard.policy.mode == "bypass":
            return True
        request = Request(conversation, call, ASKED, line, (), tuple, words=words)
        why = "it runs in the agent's own program, which the sandbox holds"
        decision = await guard.confirm(request, why, "agent-asks")
        self._parts.executor.record(conversation, call, decision)
        return decision.allowed
