"""``sam-tui guard``: explain decisions, lint rules, list and revoke grants."""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import click

from sam_tui.cli.options import (
    guarded_options,
    open_runtime,
    place_options,
    workspace_of,
)
from sam_tui.cli.settings import data_dir_of
from sam_tui.cli.streams import (
    contract_output,
    input_descriptor,
    print_json,
    print_list,
    require_output,
)
from sam_tui.core.accesses import (
    CommandAccess,
    Connect,
    Fetch,
    LocatedAccess,
    Read,
    Type,
    Use,
    Write,
)
from sam_tui.core.authorization.network.hosts import HostEntry, HostLists, with_port
from sam_tui.core.authorization.policy.judgement import CHANGE, CONNECT, READ
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.errors import SamError, ToolError, UsageError
from sam_tui.core.ids import NO_CONVERSATION, CallId, ConversationId, mint, named_conversation
from sam_tui.core.messages import ToolCall
from sam_tui.core.ports.processes.sandbox import HostTerms
from sam_tui.core.tooling.registry import SERVERS
from sam_tui.headless.output import HeadlessOutput, terminal_safe
from sam_tui.headless.prompt_input import read_prompt

if TYPE_CHECKING:
    from sam_tui.adapters.policy import AppFolders
    from sam_tui.core.authorization.policy.policy import Judgement
    from sam_tui.core.authorization.rules.rule import Rule
    from sam_tui.core.runtime import Runtime

_HTTPS = 443
"""The port of a host that is named without one."""


@click.group("guard", short_help="What the guard decides, its rules and grants.")
def guard_group() -> None:
    """What the guard would decide about a call, its rules, and grants."""


@guard_group.command("explain", short_help="Explain what the guard would decide about a call.")
@click.argument("name", required=False, metavar="TOOL.OPERATION")
@click.argument("arguments", required=False, metavar="[JSON|-]")
@click.option("--jsonl", is_flag=True, help="Read one call from each line of standard input.")
@click.option("--conversation", metavar="ID", help="The conversation whose grants count.")
@guarded_options
def explain_command(**values: Any) -> int:
    """Print the decision on a call as JSON: allow, ask or deny, why, what it touches, and the trace.

    With --jsonl every input line {"operation": ..., "arguments": {...}} gets one output line; a
    malformed one gets {"error": ...}, and the exit code is then 2.
    """
    if bool(values["name"]) == values["jsonl"]:
        raise UsageError("Name one operation, or use --jsonl and name it in every line.")
    runtime = open_runtime(values)
    conversation = values["conversation"]
    explainer = _Explainer(
        runtime, named_conversation(conversation) if conversation else NO_CONVERSATION
    )
    explainer.reach = _reach(values, runtime)
    with contract_output() as stream:
        out = HeadlessOutput(stream)
        if values["jsonl"]:
            return explainer.explain_lines(out)
        arguments = values["arguments"] or "{}"
        if arguments == "-":
            arguments = read_prompt("-", input_descriptor()).text
        answer = explainer.explain(values["name"], arguments)
        out.line(answer)
        return 2 if "error" in answer else 0


@guard_group.command("lint", short_help="Name rules that never decide or allow too much.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@place_options
def lint_command(**values: object) -> int:
    """Name rules that never decide and rules that allow too much; exit 1 when there are any.

    Reads policy.toml of the administrator, of the settings folder, and .sam/policy.toml of the workspace.
    """
    from sam_tui.adapters.policy import read_layers
    from sam_tui.core.authorization.paths.secrets import Secrets
    from sam_tui.core.authorization.policy.lint import lint, lint_hosts

    require_output()
    folders, workspace = guard_places(values)
    layers = read_layers(folders, workspace)
    findings = lint(
        layers.rules,
        secrets=Secrets(folders.home),
        protected=folders.protected,
        trusted=layers.trusted,
        now=time.time(),
    )
    mine, theirs = layers.user.sandbox, layers.project.sandbox
    findings += lint_hosts("user", layers.user.path, mine.hosts or ())
    above = (mine.hosts or ()) if mine.network == "hosts" else None
    findings += lint_hosts("project", layers.project.path, theirs.hosts or (), above=above)
    if values["as_json"]:
        rows = [
            {"source": f.rule.source, "rule": f.rule.id, "fault": f.fault, "why": f.why}
            for f in findings
        ]
        print_json(rows)
    elif findings:
        for finding in findings:
            line = f"{finding.rule.source}: {finding.fault}: {finding.rule.words}: {finding.why}"
            click.echo(terminal_safe(line))
    else:
        click.echo(f"{len(layers.rules)} rules, no findings.", err=True)
    return 1 if findings else 0


@guard_group.command("grants", short_help="List temporary and permanent grants.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
@place_options
def grants_command(**values: object) -> int:
    """List the temporary grants of running programs and the permanent ones of your policy file."""
    from sam_tui.adapters.policy import FileLedger, SavedRules

    require_output()
    folders, _ = guard_places(values)
    rows: list[dict[str, object]] = [
        {
            "id": grant.id,
            "operation": grant.operation,
            "target": grant.target,
            "conversation": grant.conversation,
            "until": None if grant.expires is None else time.time() + _left(grant.expires),
            "process": grant.process,
        }
        for grant in FileLedger(folders.data_dir).all()
    ]
    rows.extend(map(_saved_row, SavedRules(folders.config_dir, folders.home).rules()))
    lines = (f"{row['id']}  {row['operation']}  {row['target']}  {_how_long(row)}" for row in rows)
    return print_list(rows, lines, as_json=bool(values["as_json"]), none="Nothing is granted.")


@guard_group.command("revoke")
@click.argument("grant_id", metavar="ID")
@place_options
def revoke_command(**values: Any) -> int:
    """Revoke a grant of a running program or of your policy file."""
    from sam_tui.adapters.policy import FileLedger, SavedRules

    folders, _ = guard_places(values)
    identifier = values["grant_id"]
    saved = SavedRules(folders.config_dir, folders.home)
    if FileLedger(folders.data_dir).revoke(identifier) or saved.revoke(identifier):
        click.echo(terminal_safe(f"{identifier} is revoked."), err=True)
        return 0
    raise UsageError(
        f"There is no grant {identifier}.", hint="“sam-tui guard grants” lists the grants."
    )


def guard_places(values: dict[str, object]) -> "tuple[AppFolders, str]":
    """The places that the options mean, and the real path of the workspace."""
    from sam_tui.adapters.policy import AppFolders
    from sam_tui.core.authorization.paths.containment import Workspace

    folders = AppFolders.of(os.environ, data_dir_of(values))
    return folders, Workspace.open(workspace_of(values)).root


def _saved_row(rule: "Rule") -> dict[str, object]:
    return {
        "id": rule.id.removeprefix("user:"),
        "operation": rule.operation,
        "target": _saved_target(rule),
        "workspace": rule.workspace,
        "source": rule.source,
    }


def _saved_target(rule: "Rule") -> str:
    if rule.command is not None:
        return f"$ {rule.command.text} …"
    return rule.path.text if rule.path is not None else rule.host


def _left(expires: float) -> float:
    return expires - expiry_seconds()


def _how_long(row: dict[str, Any]) -> str:
    if "source" in row:
        return (
            f"in {row['workspace']}, permanently" if row["workspace"] else "everywhere, permanently"
        )
    if row["until"] is None:
        return "until its conversation ends"
    return f"until {datetime.fromtimestamp(row['until']):%H:%M:%S}"


class _Explainer:
    """Explains calls, one after the other."""

    def __init__(self, runtime: "Runtime", conversation: ConversationId) -> None:
        self._runtime = runtime
        self._conversation = conversation
        self.reach = HostTerms()
        """The hosts that commands reach, if the network is limited to hosts."""

    def explain_lines(self, out: HeadlessOutput) -> int:
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
        """The decision on one call as JSON, or ``{"error": …}`` for an unknown operation.

        No server is started for its tool: the server's last list describes the tool.
        """
        _, server, tool = (*name.split("__", 2), "", "")[:3]
        if name.startswith(SERVERS) and tool:
            accesses = self._runtime.servers.accesses(name) or (Use(server, tool),)
            return self._explain(name, tuple(LocatedAccess(access, None) for access in accesses))
        if name in (CHANGE, CONNECT, READ):
            return self._explain_outside(name, arguments)
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
        return self._explain(plan.key, located)

    def _explain(self, key: str, located: Sequence[LocatedAccess]) -> dict[str, object]:
        explained = self._runtime.guard.explain(self._conversation, key, located)
        policy = self._runtime.guard.policy
        traces = [policy.trace(access, key) for access in located]
        hooking = self._runtime.executor.hooks()
        hooks = hooking.hooks.awaiting("PreToolUse", key) if hooking is not None else ()
        hook_lines = (
            {"hooks": [hook.command for hook in hooks]} if explained.outcome != "deny" else {}
        )
        judged = zip(located, explained.judgements, traces, strict=True)
        return {
            "decision": explained.outcome,
            "reason": explained.reason,
            "rule": explained.rule,
            "accesses": [
                _access(access, judgement) | {"trace": [asdict(step) for step in trace]}
                for access, judgement, trace in judged
            ],
            **(hook_lines if hooks else {}),
        }

    def _explain_outside(self, operation: str, arguments: str) -> dict[str, object]:
        """Explain the decision on a command that changes or reads ``path``, or connects to ``host``."""
        guard, key = self._runtime.guard, "host" if operation == CONNECT else "path"
        try:
            path = json.loads(arguments).get(key)
            if not isinstance(path, str) or not path:
                return {"error": f'“{key}” says what is wanted, as in {{"{key}": …}}.'}
            if operation == CHANGE:
                return self._explain(operation, guard.locate([Write(path, key, follow=False)]))
            if operation == READ:
                return self._explain(operation, guard.locate([Read(path, key)]))
            entry = HostEntry.of(path)
        except (SamError, ValueError, AttributeError) as error:
            return {"error": f"{operation} cannot be explained: {error}."}
        listed = guard.network == "hosts" and self._lists(entry)
        if guard.network == "on" or listed:
            rule = "hosts" if listed else "network:on"
            why = "every list of hosts contains it" if listed else "commands reach the network"
            return {"decision": "allow", "reason": why, "rule": rule, "accesses": []}
        where = "the network"
        if guard.network == "hosts":
            where = with_port(entry.host, entry.port or _HTTPS)
        return self._explain(operation, [LocatedAccess(Connect(where), None)])

    def _lists(self, entry: HostEntry) -> bool:
        lists = HostLists(self.reach.lists, self.reach.local, self.reach.judged)
        return lists.hold(entry.host, entry.port or _HTTPS)

    def _explain_line(self, line: str) -> dict[str, object]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError) as error:
            return {"error": f"The line is not valid JSON: {error}."}
        if not isinstance(request, dict):
            return {"error": "The line is not a JSON object."}
        fields = cast("dict[str, object]", request)
        name, arguments = fields.get("operation"), fields.get("arguments", {})
        if not isinstance(name, str) or not name:
            return {"error": "“operation” must be a text such as file_operations.read_file."}
        if not isinstance(arguments, dict):
            return {"error": "“arguments” must be an object."}
        return self.explain(name, json.dumps(arguments))


def _reach(values: dict[str, Any], runtime: "Runtime") -> HostTerms:
    """The lists of hosts that would hold commands."""
    from sam_tui.adapters.policy import SandboxTerms, host_terms, read_layers

    folders, workspace = guard_places(values)
    layers = read_layers(folders, workspace)
    terms = layers.sandbox(SandboxTerms(network=values.get("network")))
    return host_terms(terms, runtime.guard.policy, layers.local, folders.home)


def _input_lines() -> Iterator[str]:
    """Yield the lines of standard input as they come, without empty ones."""
    descriptor = input_descriptor()
    if descriptor is None:
        raise UsageError("Standard input is closed; the requests are read from there.")
    with open(descriptor, encoding="utf-8-sig", errors="replace", closefd=False) as lines:
        yield from (line for line in lines if line.strip())


def _access(located: LocatedAccess, judgement: "Judgement") -> dict[str, Any]:
    """An access as JSON: its kind, its path, and the judgement."""
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
        case CommandAccess(command=command, cwd=cwd):
            described |= {"command": command, "cwd": cwd}
        case Type(session=session, keys=keys):
            described |= {"session": session, "keys": keys}
        case Fetch(url=url, parameter=parameter):
            described |= {"url": url, "parameter": parameter}
        case Connect(where=where):
            described |= {"where": where}
        case Use(server=server, tool=tool, destructive=destructive):
            described |= {"server": server, "tool": tool, "destructive": destructive}
    if judgement.reading is not None:
        described["commands"] = [
            {"words": list(part.words), "classes": sorted(part.classes), "why": part.why}
            for part in judgement.reading.parts
        ]
    return described | {
        "decision": judgement.outcome,
        "rule": judgement.rule,
        "reason": judgement.reason,
    }
