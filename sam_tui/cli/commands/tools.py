"""``sam-tui tools``: the tools without a model, through the same path as every call."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click

from sam_tools import profile_of
from sam_tui import __version__
from sam_tui.cli.options import (
    Values,
    guarded_options,
    open_runtime,
    place_options,
    profile_option,
)
from sam_tui.cli.streams import contract_output, input_descriptor, print_json, require_output
from sam_tui.core.errors import SamError, ToolError, UsageError
from sam_tui.core.events import InquiryClosed
from sam_tui.core.ids import CallId, ConversationId, mint, mint_conversation, named_conversation
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.core.services import API, PluginReport
from sam_tui.core.tooling.executor import Executed
from sam_tui.core.tooling.offer import canonical
from sam_tui.core.tooling.registry import SERVERS
from sam_tui.core.tooling.short_list import parse_arguments
from sam_tui.headless.answers import approve_all
from sam_tui.headless.interrupts import Interrupts
from sam_tui.headless.outcome import EXIT_CODES
from sam_tui.headless.output import HeadlessOutput, terminal_safe
from sam_tui.headless.prompt_input import read_prompt

_OWN = {"package": "sam-tui", "version": __version__, "api": API}
DONE, FAILED, USAGE, NEEDS_APPROVAL = 0, 1, 2, 3
_OF_SERVERS = (SERVERS, "Context7DocumentationTool")
"""Beginnings of names of tools that exist only once the MCP servers have started."""
_STARTERS = ("terminal_operations.", "build_and_version_control.")
"""Prefixes of operations that may leave something running after the call."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of a call: its result, whether a question went unanswered, and the background commands
    that ended with it."""

    executed: Executed
    unattended: bool
    ended: tuple[str, ...]

    @property
    def note(self) -> str:
        """A remark that holds for a single call only; empty for most."""
        if self.ended:
            return f"A single call ends what it started: {', '.join(self.ended)}."
        decision = self.executed.decision
        refused = self.unattended and decision is not None and decision.rule == "unattended"
        return "With --approve always this call would be allowed." if refused else ""


@click.group("tools", short_help="The tools, without a model.")
def tools_group() -> None:
    """The tools, without a model: list them, show their schemas, call them."""


@tools_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@profile_option
@place_options
def list_command(**values: object) -> int:
    """List the tools and their operations, in the order the model sees."""
    require_output()
    runtime = open_runtime(values)
    tools = runtime.registry.tools
    origins = _origins(runtime.plugins)
    for report in runtime.plugins:
        if report.warning:
            click.echo(terminal_safe(report.warning), err=True)
    if values["as_json"]:
        listed = [
            {
                "name": tool.name,
                "description": tool.description,
                **origins.get(tool.name, _OWN),
                "operations": [{"name": o.name, "about": o.about} for o in tool.operations],
            }
            for tool in tools
        ]
        return print_json(listed)
    for tool in tools:
        origin = origins.get(tool.name)
        line = f"{tool.name}  ({_in_words(origin)})" if origin else tool.name
        click.echo(terminal_safe(line))
        for operation in tool.operations if tool.consolidated else ():
            click.echo(terminal_safe(f"  {operation.name}  {operation.about}"))
    return DONE


def _origins(reports: Sequence[PluginReport]) -> dict[str, dict[str, object]]:
    """By tool name: the package, version and plug-in API of those that are not built in."""
    return {
        name: {"package": r.distribution, "version": r.version, "api": r.api}
        for r in reports
        for name in r.names
        if r.group == "sam_tui.tools"
    }


def _in_words(origin: Mapping[str, object]) -> str:
    return f"{origin['package']} {origin['version']}, plug-in API {origin['api']}"


@tools_group.command("schema")
@click.argument("tool", required=False)
@profile_option
@place_options
def schema_command(**values: object) -> int:
    """Print what the model receives: one tool, or all as JSON. The bytes are the same every time."""
    require_output()
    registry = open_runtime(values).registry
    if values["tool"] is None:
        click.echo(registry.schemas_json)
        return DONE
    for schema in registry.schemas:
        if schema["function"]["name"] == values["tool"]:
            click.echo(canonical(schema))
            return DONE
    names = ", ".join(tool.name for tool in registry.tools)
    raise UsageError(f"There is no tool called {values['tool']!r}.", hint=f"There are: {names}.")


@tools_group.command("call")
@click.argument("name", metavar="TOOL[.OPERATION]")
@click.argument("arguments", required=False, metavar="[JSON|-]")
@click.option(
    "--approve",
    type=click.Choice(["never", "always"]),
    default="never",
    help="How to answer when an approval is needed (never).",
)
@click.option(
    "--conversation",
    metavar="ID",
    help="The conversation whose todos, results and terminals it uses.",
)
@guarded_options
def call_command(**values: object) -> int:
    """Call one operation and print one JSON object.

    Exit code: 0 done, 1 failed, 2 malformed JSON or no such operation, 3 it needed an approval.
    """
    with contract_output() as out:
        code, answer = _answer(values)
        if answer is not None:
            HeadlessOutput(out).line(answer)
        return code


def _answer(values: Values) -> tuple[int, dict[str, Any] | None]:
    """The exit code and the object to print; none after a signal."""
    name, arguments = values["name"], values["arguments"] or "{}"
    if arguments == "-":
        arguments = read_prompt("-", input_descriptor()).text
    responder = approve_all if values["approve"] == "always" else None
    options = {**values, "profile": profile_of(name)}  # a tool that is named is asked for
    runtime = open_runtime(options, responder=responder, program="sam-tui tools call")
    identifier = values["conversation"]
    conversation = named_conversation(identifier) if identifier else mint_conversation()
    call = ToolCall(CallId(mint("call")), name, arguments)
    fault = _misuse(runtime, call)
    if fault is not None:
        return USAGE, _object_of_fault(call, fault)
    interrupts = Interrupts()
    interrupts.install()
    try:
        outcome = asyncio.run(_call(runtime, call, conversation, interrupts))
    except asyncio.CancelledError:
        return EXIT_CODES[interrupts.subtype or "cancelled"], None
    finally:
        interrupts.restore()
    code = NEEDS_APPROVAL if outcome.unattended else FAILED
    answer = _object_of(runtime, call, outcome, conversation)
    return DONE if outcome.executed.finished.ok else code, answer


async def _call(
    runtime: Runtime, call: ToolCall, conversation: ConversationId, interrupts: Interrupts
) -> _Outcome:
    """Run the call, then end the background commands it began."""
    events = runtime.bus.subscribe()
    loop = asyncio.get_running_loop()
    task = loop.create_task(_executed(runtime, call, conversation))

    def stop() -> None:
        loop.call_soon_threadsafe(task.cancel)

    interrupts.cancel_with(stop)
    try:
        executed = await task
        started = _running(runtime, executed, conversation)
    finally:
        await runtime.close()
    closed = [event for event in events.drain() if isinstance(event, InquiryClosed)]
    return _Outcome(executed, any(event.outcome == "unattended" for event in closed), started)


def _running(runtime: Runtime, executed: Executed, conversation: ConversationId) -> tuple[str, ...]:
    """Return what the call has left running, in words."""
    if not executed.finished.operation.startswith(_STARTERS):
        return ()
    sessions = [s.id for s in runtime.terminals.of(conversation) if s.running]
    commands = [c.id for c in runtime.background.of(conversation) if c.running]
    tasks = [t.id for t in runtime.tasks.of(conversation) if t.running]
    named = {"terminal session": sessions, "command": commands, "task": tasks}
    return tuple(f"{kind} {id_}" for kind, ids in named.items() for id_ in ids)


async def _executed(runtime: Runtime, call: ToolCall, conversation: ConversationId) -> Executed:
    """The call; for a tool of a server once the servers have come."""
    if call.name.startswith(_OF_SERVERS):
        await runtime.servers.arrive(conversation)
    runtime.conversations.claim(conversation)
    return await runtime.executor.execute(call, conversation)


def _misuse(runtime: Runtime, call: ToolCall) -> SamError | None:
    """Return the fault of the command line itself: the name, or text that is no JSON object."""
    try:
        if not call.name.startswith(_OF_SERVERS):
            runtime.registry.resolve(call.name)
        parse_arguments(call.arguments)
    except ToolError as error:
        return error
    return None


def _object_of(
    runtime: Runtime, call: ToolCall, outcome: _Outcome, conversation: ConversationId
) -> dict[str, object]:
    executed = outcome.executed
    finished, decision = executed.finished, executed.decision
    metadata: dict[str, object] = {
        "operation": finished.operation,
        "conversation": conversation,
        "durationMs": round(finished.seconds * 1000),
        "decision": None
        if decision is None
        else {
            "outcome": decision.outcome,
            "by": decision.by,
            "rule": decision.rule,
            "reason": decision.reason,
        },
    }
    if outcome.note:
        metadata["note"] = outcome.note
    if executed.notes:
        metadata["hooks"] = list(executed.notes)
    return {
        "success": finished.ok,
        "toolName": call.name
        if call.name.startswith(SERVERS)
        else runtime.registry.resolve(call.name).tool.name,
        "executionId": call.id,
        "output": {
            "content": finished.text,
            "mimeType": executed.mime_type,
            "additionalData": _plain(executed.data),
        },
        "metadata": _stamped(metadata),
    }


def _plain(data: Mapping[str, object]) -> object:
    """Return data of a tool as JSON can hold it: values without a JSON form become text."""
    return json.loads(json.dumps(dict(data), default=str), parse_constant=str)


def _object_of_fault(call: ToolCall, fault: SamError) -> dict[str, object]:
    output = {"content": f"ERROR: {fault.explain()}", "mimeType": "text/plain"}
    return {
        "success": False,
        "toolName": call.name,
        "executionId": call.id,
        "output": {**output, "additionalData": {}},
        "metadata": _stamped({}),
    }


def _stamped(metadata: dict[str, object]) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"timestamp": now, "version": "1.0", **metadata}
