"""``sam-tui guard``: what the guard would say to a call, without making it."""

import json
from collections.abc import Iterator
from typing import Any, cast

import click

from sam_tui.cli.options import guarded_options, named_conversation, open_runtime
from sam_tui.cli.streams import contract_output, input_descriptor
from sam_tui.core.accesses import Fetch, LocatedAccess, Read, Run, Type, Write
from sam_tui.core.authorization.policy import Judgement
from sam_tui.core.errors import SamError, ToolError, UsageError
from sam_tui.core.ids import CallId, ConversationId, mint
from sam_tui.core.messages import ToolCall
from sam_tui.core.runtime import Runtime
from sam_tui.headless.output import Output
from sam_tui.headless.prompt_input import read_prompt


@click.group("guard", short_help="What the guard would say.")
def guard_group() -> None:
    """What the guard would say to a call, without making it."""


@guard_group.command("explain")
@click.argument("name", required=False, metavar="TOOL.OPERATION")
@click.argument("arguments", required=False, metavar="[JSON|-]")
@click.option("--jsonl", is_flag=True, help="Answer every line of standard input.")
@click.option("--conversation", metavar="ID", help="Whose grants count.")
@guarded_options
def explain_command(**values: Any) -> int:
    """Print the decision on a call as JSON: allow, ask or deny, why, and what it touches.

    With --jsonl every input line {"operation": ..., "arguments": {...}} gets one output line; a bad
    one gets {"error": ...}, and the exit code is 2 when there was any.
    """
    if bool(values["name"]) == values["jsonl"]:
        raise UsageError("Name one operation, or use --jsonl and name it in every line.")
    runtime = open_runtime(values)
    given = values["conversation"]
    explainer = _Explainer(runtime, named_conversation(given) if given else ConversationId(""))
    with contract_output() as stream:
        out = Output(stream)
        if values["jsonl"]:
            return explainer.explain_lines(out)
        arguments = values["arguments"] or "{}"
        if arguments == "-":
            arguments = read_prompt("-", input_descriptor()).text
        answer = explainer.explain(values["name"], arguments)
        out.line(answer)
        return 2 if "error" in answer else 0


class _Explainer:
    """Explains calls, one after the other."""

    def __init__(self, runtime: Runtime, conversation: ConversationId) -> None:
        self._runtime = runtime
        self._conversation = conversation

    def explain_lines(self, out: Output) -> int:
        """One answer for each line of standard input; 2 when any could not be understood."""
        code = 0
        for line in _input_lines():
            answer = self._explain_line(line)
            out.line(answer)
            code = 2 if "error" in answer else code
            if out.failure is not None:
                break
        return code

    def explain(self, name: str, arguments: str) -> dict[str, Any]:
        """The decision on one call, or ``{"error": …}`` when there is no such call."""
        plan = self._runtime.executor.plan(ToolCall(CallId(mint("call")), name, arguments))
        if plan.operation is None or plan.fault is not None:
            fault = plan.fault or ToolError("The call could not be read.")
            return {"error": fault.explain()}
        try:
            located = self._runtime.guard.locate(plan.operation.accesses(plan.arguments))
        except SamError as unusable:
            # The call itself would end with exactly this text.
            reason = unusable.explain()
            return {"decision": "deny", "reason": reason, "rule": "unusable-path", "accesses": []}
        explained = self._runtime.guard.explain(self._conversation, plan.key, located)
        judged = zip(located, explained.judgements, strict=True)
        return {
            "decision": explained.outcome,
            "reason": explained.reason,
            "rule": explained.rule,
            "accesses": [_access(access, judgement) for access, judgement in judged],
        }

    def _explain_line(self, line: str) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            return {"error": f"The line is not valid JSON: {error}."}
        if not isinstance(request, dict):
            return {"error": "The line is not a JSON object."}
        fields = cast("dict[str, Any]", request)
        name, arguments = fields.get("operation"), fields.get("arguments", {})
        if not isinstance(name, str) or not name:
            return {"error": "“operation” must be a text such as file_operations.read_file."}
        if not isinstance(arguments, dict):
            return {"error": "“arguments” must be an object."}
        return self.explain(name, json.dumps(arguments))


def _input_lines() -> Iterator[str]:
    """The lines of standard input as they come, empty ones left out."""
    descriptor = input_descriptor()
    if descriptor is None:
        raise UsageError("Standard input is closed; the requests are read from there.")
    with open(descriptor, encoding="utf-8-sig", errors="replace", closefd=False) as lines:
        yield from (line for line in lines if line.strip())


def _access(located: LocatedAccess, judgement: Judgement) -> dict[str, Any]:
    """One access: what it is, where it lies, and what it comes to by itself."""
    where = located.location
    described: dict[str, Any] = {
        "kind": located.access.kind,
        "path": None,
        "real": where.real if where else None,
        "inside": where.inside if where else None,
        "parameter": None,
    }
    match located.access:
        case Read(path=path, parameter=parameter) | Write(path=path, parameter=parameter):
            described |= {"path": path, "parameter": parameter}
        case Run(command=command, cwd=cwd):
            described |= {"command": command, "cwd": cwd}
        case Type(session=session, keys=keys):
            described |= {"session": session, "keys": keys}
        case Fetch(url=url, parameter=parameter):
            described |= {"url": url, "parameter": parameter}
    return described | {"decision": judgement.outcome, "rule": judgement.rule}
