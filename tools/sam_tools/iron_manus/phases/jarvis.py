"""JARVIS: the machine of seeds 000 and 001 as one tool."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field

from sam_tools.iron_manus.phases.folder import FOLDER
from sam_tools.iron_manus.phases.machine import JarvisRequest, PhaseMachine
from sam_tools.iron_manus.results import INLINE, answer, refused
from sam_tui.core.accesses import Access, Read, Write
from sam_tui.core.agent.subagents import Sender
from sam_tui.core.display import Text
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Schedule, Tool, ToolContext, ToolResult, single
from sam_tui.core.workflow.views import WorkflowRefused

_MOST_FILES = 20
_ABOUT = (
    "JARVIS, the phase machine: give initial_objective, then do the phase you are told with the"
    " tools it allows, and hand it in with phase_completed and its payload, until status is DONE."
)


class Jarvis(Arguments):
    """The arguments of JARVIS: seed 001."""

    session_id: str = Field(default="", description="of the answer; made when left out")
    phase_completed: (
        Literal["QUERY", "ENHANCE", "KNOWLEDGE", "PLAN", "EXECUTE", "VERIFY"] | None
    ) = Field(default=None, description="the phase that is handed in; left out to look")
    initial_objective: str = Field(default="", description="what to achieve; first call only")
    payload: dict[str, object] | None = Field(default=None, description="as the phase asks for")


class JarvisTool:
    """The tool over the core's ``PhaseMachine``."""

    def __init__(self, machine: PhaseMachine) -> None:
        self._machine = machine

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "JARVIS",
            "begin a session, look at it, or hand in its phase",
            Jarvis,
            self._run,
            lambda a: (
                f"JARVIS: {a.phase_completed or a.initial_objective[:60] or 'where it stands'}"
            ),
            _accesses,
            schedule=Schedule.BLOCKING,
            inline_limit=INLINE,
        )
        return single(operation, _ABOUT)

    async def _run(self, arguments: Jarvis, context: ToolContext) -> ToolResult:
        named = {
            path: context.location(f"evidence.{number}")
            for number, path in enumerate(_evidence(arguments.payload))
        }
        request = JarvisRequest(
            arguments.session_id,
            arguments.phase_completed or "",
            arguments.initial_objective,
            arguments.payload,
            named,
        )
        caller = Sender(context.conversation, context.call, context.emit)
        try:
            turn = await self._machine.turn(request, caller)
        except WorkflowRefused as refusal:
            return refused(refusal)
        payload = turn["payload"]
        line = (
            f"{turn['next_phase']}, {payload['detected_role']}, effectiveness"
            f" {payload['reasoning_effectiveness']} ({payload['effectiveness_grade']})"
        )
        return answer(turn, Text(line))


def _accesses(arguments: Jarvis) -> Sequence[Access]:
    """The session folder, and every file that is named as evidence."""
    files = _evidence(arguments.payload)
    return (
        Write(FOLDER, "session_workspace"),
        *(Read(path, f"evidence.{number}") for number, path in enumerate(files)),
    )


def _evidence(payload: Mapping[str, object] | None) -> tuple[str, ...]:
    """The paths in ``payload.evidence.files``, each once."""
    evidence: object = (payload or {}).get("evidence")
    files: object = (
        cast("Mapping[str, Any]", evidence).get("files") if isinstance(evidence, Mapping) else ()
    )
    if not isinstance(files, list):
        return ()
    paths = [path for path in cast("list[Any]", files) if isinstance(path, str) and path.strip()]
    return tuple(dict.fromkeys(paths))[:_MOST_FILES]
