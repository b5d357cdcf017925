"""run_subagent: give a task to a separate agent and get its summary (seed 004)."""

import re
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from sam_tui.core.agent.subagents import (
    DEFAULT_STEPS,
    Report,
    Sender,
    SubagentAssignment,
    Subagents,
)
from sam_tui.core.display import Text
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.prompts import DefinitionListing
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single
from sam_tui.core.tooling.registry import CLAUDE_TOOLS
from sam_tui.core.verdict import denial

SUMMARY_LIMIT = 2000
"""The most characters of a summary for the parent; the subagent's conversation has the whole answer."""
_HOST_LENGTH = 100
_TOOL_NAME = re.compile(r"[^\s,\[\]\"']{2,}")
"""A name in the list of tools of an agent's file: words, or a YAML list on one or several lines."""

_ABOUT = (
    "Give a self-contained task to a subagent: it has its own history and budget, sees nothing of"
    " this conversation, and returns a summary only. Several may run at once. It cannot start others."
)


class RunSubagent(Arguments):
    """The arguments of run_subagent."""

    task: str = Field(min_length=1, description="what to do")
    instructions: str = Field(default="", description="how, and what to return")
    maxIterations: int = Field(default=DEFAULT_STEPS, ge=1, le=300, description="model calls")
    model: str = Field(default="", description="another model than yours")
    temperature: float | None = Field(default=None, ge=0, le=2)
    topP: float | None = Field(default=None, ge=0, le=1)
    agent: str = Field(default="", description="one of the agents you were told of")
    enableTerminalAccess: bool = Field(default=False, description="let it run commands")
    systemPromptId: str = Field(default="", description="of list_system_prompts")
    sharedTopicId: str = Field(default="", description="topic whose memory it shares")
    enableWorkflowMode: bool | None = Field(
        default=None, description="let it say whether it goes on; default as here"
    )
    enableDynamicIterations: bool = Field(default=False, description="let it raise its budget")


class SubagentTool:
    """The tool over the core's ``Subagents``."""

    def __init__(self, subagents: Subagents, agents: Callable[[], DefinitionListing]) -> None:
        self._subagents = subagents
        self._agents = agents

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "run_subagent",
            "run a task in a subagent",
            RunSubagent,
            self._run,
            lambda a: f"Spawning subagent: {' '.join(a.task.split())[:70]}",
        )
        return single(operation, _ABOUT)

    async def _run(self, arguments: RunSubagent, context: ToolContext) -> ToolResult:
        if not arguments.task.strip():
            raise ToolError("The task is empty.", hint="Say what the subagent should do.")
        options: dict[str, object] = {}
        if arguments.temperature is not None:
            options["temperature"] = arguments.temperature
        if arguments.topP is not None:
            options["top_p"] = arguments.topP
        assignment = SubagentAssignment(
            arguments.task,
            arguments.instructions,
            model=arguments.model,
            max_steps=arguments.maxIterations,
            terminal=arguments.enableTerminalAccess,
            dynamic=arguments.enableDynamicIterations,
            options=options or None,
            system_prompt=arguments.systemPromptId,
            topic=arguments.sharedTopicId,
            workflow_mode=arguments.enableWorkflowMode,
        )
        if arguments.agent:
            assignment = self._as_defined(assignment, arguments.agent)
        await self._stays_at_host(assignment, context)
        sender = Sender(context.conversation, context.call, context.emit)
        report = await self._subagents.run(sender, assignment)
        return _result(arguments.task, report)

    def _as_defined(self, assignment: SubagentAssignment, name: str) -> SubagentAssignment:
        """The assignment with the prompt, tools and model of an agent's file. Raises ``ToolError``."""
        agents = {agent.name: agent for agent in self._agents().definitions}
        agent = agents.get(name)
        if agent is None:
            offered = ", ".join(agents) or "none"
            raise ToolError(f"There is no agent {name!r}.", hint=f"There are: {offered}.")
        listed = agent.values.get("tools", "")
        names = _TOOL_NAME.findall(listed)
        tools = frozenset(tool for name in names for tool in CLAUDE_TOOLS.get(name, (name,)))
        if listed:
            tools |= {"read_tool_result"}  # a list without any tool of ours allows only this
        model = agent.values.get("model", "")
        return replace(
            assignment,
            guidance=agent.text,
            tools=tools,
            model=assignment.model or (model if "/" in model else ""),
        )

    async def _stays_at_host(self, assignment: SubagentAssignment, context: ToolContext) -> None:
        """Ask before the task goes to another model host. Raises ``ToolError`` without a yes."""
        hosts = self._subagents.other_host(context.conversation, assignment)
        if hosts is None:
            return
        before, after = (printable(host)[:_HOST_LENGTH] for host in hosts)
        why = f"its model is at {after}, which would be sent the whole task; yours is "
        why += f"at {before}" if before else "at no host"
        host, once = context.permit.host, f"send this task to {after}"
        decision = await host.confirm(why, once=once, rule="model-host") if host else None
        if decision is None or not decision.allowed:
            raise ToolError(
                denial(decision) if decision else f"No subagent was started: {why}.",
                hint="Leave out `model`, or name one of the host in use. Only the person changes the"
                " host: with --model, or /model in the workbench.",
            )


def _result(task: str, report: Report) -> ToolResult:
    answer = report.answer.strip() or "(it said nothing)"
    clipped = len(answer) > SUMMARY_LIMIT
    summary = answer[:SUMMARY_LIMIT] + (
        "\n[cut: the whole is in its conversation]" if clipped else ""
    )
    lines = [f"SUBAGENT TASK: {task}", "", summary, ""]
    if report.reason != "finished":
        lines.append(f"It did not finish ({report.reason}): {report.error}")
    lines.append(
        f"Status: {report.reason}. Model calls: {report.steps}. Duration: {report.seconds:.2f}s."
        f" Tools: {', '.join(report.tools) or 'none'}. Conversation: {report.conversation}"
    )
    return ToolResult(
        "\n".join(lines),
        ok=report.reason == "finished",
        display=(Text(answer),),
        data={
            "conversationId": report.conversation,
            "status": report.reason,
            "iterations": report.steps,
            "durationSeconds": round(report.seconds, 2),
            "tools": list(report.tools),
            "inputTokens": report.usage.input_tokens,
            "outputTokens": report.usage.output_tokens,
            "cost": report.usage.cost,
        },
    )
