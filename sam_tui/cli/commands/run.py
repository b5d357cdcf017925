"""``sam-tui run``: one prompt without a screen; and ``sam-tui schema``, the form of its output."""

import asyncio
import json
import os
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

import click

from sam_tui import __version__
from sam_tui.cli.claude import permission_tool_of, responder_of
from sam_tui.cli.log import without_secrets
from sam_tui.cli.options import (
    Values,
    agent_options,
    conversation_of,
    open_runtime,
    opening_of,
    run_options,
    workspace_of,
)
from sam_tui.cli.settings import HeadlessCommand
from sam_tui.cli.streams import contract_output, input_descriptor, require_output
from sam_tui.core.agent.budget import unpriced
from sam_tui.core.errors import ConfigurationError, SamError, UsageError
from sam_tui.core.ids import ConversationId, named_conversation
from sam_tui.core.messages import Image, calls_of
from sam_tui.core.runtime import Runtime
from sam_tui.headless.interrupts import Interrupted, Interrupts
from sam_tui.headless.outcome import RunOutcome, outcome_of_error, outcome_of_fault
from sam_tui.headless.prompt_input import PromptInput, read_prompt
from sam_tui.headless.request import HeadlessRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sam_tui.core.inquiries import Attends
    from sam_tui.core.messages import ToolCall
    from sam_tui.headless.approvals import Approvals


@click.command("run", cls=HeadlessCommand, short_help="Run one prompt without a screen.")
@click.argument("prompt", required=False, metavar="[PROMPT|-]")
@click.option("-p", "--print", hidden=True, expose_value=False, is_flag=True)
@run_options
@agent_options
def run_command(**values: object) -> int:
    """Run one prompt and print the answer; - or no prompt reads it from standard input.

    Nobody is asked: what would need an approval is refused, unless --answers allows it.
    """
    return run_once(values)


@click.group("schema", short_help="The formats that programs can rely on, as JSON Schema.")
def schema_group() -> None:
    """The formats that programs can rely on, as JSON Schema."""


@schema_group.command(
    "events", short_help="The schema of the lines of --output-format stream-json."
)
def events_schema() -> int:
    """Print the schema of the lines of --output-format stream-json."""
    from sam_tui.headless.schema import line_schema

    require_output()
    click.echo(json.dumps(line_schema(), indent=1))
    return 0


def run_once(values: Values) -> int:
    """Run the prompt of parsed options to its exit code. Raises ``UsageError``."""
    _check(values)
    request = HeadlessRequest(
        "",
        format=values["output_format"] or "text",
        partial_messages=values["include_partial_messages"],
        hook_events=values["include_hook_events"],
        verbose=values["verbose"],
        last_message=values["output_last_message"] or "",
        version=__version__,
        schema=values["json_schema"],
        replay=values["replay_user_messages"],
        ephemeral=values["no_session_persistence"],
        compat=values["compat"] == "claude",
    )
    interrupts = Interrupts()
    interrupts.install()
    try:
        with contract_output() as out:
            return _run_once(values, request, interrupts, out)
    finally:
        interrupts.restore()


def _run_once(values: Values, request: HeadlessRequest, interrupts: Interrupts, out: TextIO) -> int:
    from sam_tui.headless.run import report_failure

    try:
        with _Told(request, out):
            request, runtime = _prepare(values, request)
        line = values["inquiries_fd"]
        return asyncio.run(_run(runtime, request, interrupts, out, line))
    except UsageError:
        raise
    except SamError as error:
        return report_failure(request, outcome_of_error(error), out)
    except Interrupted as interrupted:
        why = "Interrupted before it began."
        return report_failure(request, RunOutcome(interrupted.subtype, "", "Cancelled", why), out)


def _prompt_of(values: Values, approvals: "Approvals | None") -> tuple[PromptInput, int | None]:
    """The prompt, and the descriptor that messages are read from instead, if they are."""
    descriptor = input_descriptor()
    if approvals is not None and approvals.entries and values["prompt"] is None:
        return PromptInput(approvals.prompt), None
    if values["input_format"] == "stream-json":
        return PromptInput(""), descriptor
    return read_prompt(values["prompt"], descriptor, forced=values["wait_stdin"]), None


def _prepare(values: Values, request: HeadlessRequest) -> tuple[HeadlessRequest, Runtime]:
    """Prepare all that comes before the first event: prompt, answers, runtime, conversation."""
    if values.get("session_id"):
        request = replace(request, conversation=named_conversation(values["session_id"]))
    approvals = _approvals(values)
    prompt, messages = _prompt_of(values, approvals)
    attended: bool | Attends = values["inquiries_fd"] is not None
    if attended:
        from sam_tui.headless.inquiries_line import require_socket

        require_socket(values["inquiries_fd"])
    responder, tool = responder_of(values, workspace_of(values)), permission_tool_of(values)
    if approvals is not None:
        responder = approvals.responder(responder)
    if tool is not None:
        attended, responder = tool.attends, tool.responder(responder)
    runtime = open_runtime(values, attended=attended, responder=responder, program="sam-tui run")
    root = runtime.workspace.root
    conversation = conversation_of(values, runtime.conversations, root)
    if approvals is not None:
        _go_on(runtime, approvals, conversation)
    request = replace(
        request,
        prompt=prompt.text,
        messages=messages,
        permission_tool=tool,
        approvals=approvals,
        conversation=conversation,
        opening=opening_of(values),
        goal=values["goal"] or "",
        goal_turns=values["goal_turns"],
        images=tuple(map(_image, values["images"])),
        warnings=(
            *prompt.warnings,
            *_unwritable(root),
            *_unbelieved(runtime),
            *_unpriced(runtime),
            *(report.warning for report in runtime.plugins if report.fault),
        ),
    )
    return request, runtime


def _unwritable(root: str) -> tuple[str, ...]:
    if os.access(root, os.W_OK):
        return ()
    return (f"{root} cannot be written to: the agent can only read there.",)


def _approvals(values: Values) -> "Approvals | None":
    """The file of approvals; with --resume it is read. Raises ``ConfigurationError``."""
    if not values["approvals"]:
        return None
    from sam_tui.headless.approvals import read_approvals

    return read_approvals(values["approvals"], required=bool(values["resume"]))


def _go_on(runtime: Runtime, approvals: "Approvals", conversation: ConversationId | None) -> None:
    """Begin with the calls that were approved. Raises ``ConfigurationError``."""
    from sam_tui.headless.approvals import ApprovedCalls

    if runtime.workspace.locate(approvals.path).root is not None:
        why = f"{approvals.path} is in the workspace, where the agent could approve its own calls."
        raise ConfigurationError(why, hint="Choose a file outside with --approvals.")
    folder = os.path.dirname(os.path.abspath(approvals.path))
    if not os.access(folder, os.W_OK | os.X_OK):
        why = f"{approvals.path} could not be written at the end: {folder} is not a folder to write to."
        raise ConfigurationError(why, hint="Make the folder, or choose another file.")
    if not approvals.entries or conversation is None or runtime.model is None:
        return
    if approvals.conversation != conversation:
        why = f"{approvals.path} is about the conversation {approvals.conversation}."
        raise ConfigurationError(why, hint=f"Continue with --resume {approvals.conversation}.")
    calls = approvals.made_again(calls_of(runtime.conversations.everything(conversation)))
    _require_tools(runtime, approvals.path, calls)
    if calls:
        runtime.use_model(ApprovedCalls(runtime.model, calls))


def _require_tools(runtime: Runtime, path: str, calls: "Sequence[ToolCall]") -> None:
    """Raises ``ConfigurationError`` for a call of no tool; those of servers may come later."""
    from sam_tui.core.tooling.registry import SERVERS

    for call in calls:
        if not (call.name.startswith(SERVERS) or runtime.registry.knows(call.name)):
            why = f"{path}: there is no tool called {call.name!r}."
            raise ConfigurationError(why, hint="Only “reply” is for you to fill in.")


def _check(values: Values) -> None:
    """Raise ``UsageError`` for options that do not go together."""
    if values["input_format"] == "stream-json":
        if values["output_format"] != "stream-json":
            raise UsageError("--input-format stream-json needs --output-format stream-json.")
        if values["prompt"] not in (None, "-"):
            why = "With --input-format stream-json all messages come from standard input."
            raise UsageError(why)
    elif values["replay_user_messages"]:
        raise UsageError("--replay-user-messages needs --input-format stream-json.")
    elif values["permission_prompt_tool"] == "stdio":
        raise UsageError("--permission-prompt-tool stdio needs --input-format stream-json.")

    earlier = values["latest"] or values["resume"] or values["session_id"]
    if values["no_session_persistence"] and earlier and not values["fork"]:
        why = "--no-session-persistence needs a new conversation, or --fork."
        raise UsageError(why, hint="It would remove the conversation that you named.")


def _image(name: str) -> Image:
    """An image file that the person names. Raises ``UsageError``."""
    from sam_tui.core.local_files.bounded import UnusableFile, read_named
    from sam_tui.core.prompt.images import LARGEST, image_of

    try:
        image = image_of(os.path.basename(name), read_named(name, most=LARGEST))
    except UnusableFile as error:
        raise UsageError(f"{name} {error}.") from error
    if image is None:
        why = f"{name} is not a PNG, JPEG, GIF or WebP image of up to 8,000 pixels a side."
        raise UsageError(why)
    return image


def _unpriced(runtime: Runtime) -> tuple[str, ...]:
    warning = unpriced(runtime.limits, runtime.model, runtime.catalog)
    return (warning,) if warning else ()


def _unbelieved(runtime: Runtime) -> tuple[str, ...]:
    """A warning about files of the folder that are not trusted, or no longer."""
    trust = runtime.trust
    ignored = tuple(f"Ignored in this folder's own files: {what}" for what in trust.ignored)
    if trust.trusted:
        return ignored
    if trust.state == "changed":
        changes = ", ".join(trust.changes()[:5])
        state = (
            f"{trust.folder} changed since it was trusted, so these files are not "
            f"trusted: {changes}."
        )
        return (state, *ignored)
    names = ", ".join(item.name for item in trust.believed()[:5])
    state = f"{trust.folder} is not trusted, and neither are its files: {names}."
    return (state, *ignored) if names else ignored


async def _run(
    runtime: Runtime,
    request: HeadlessRequest,
    interrupts: Interrupts,
    out: TextIO,
    line: int | None,
) -> int:
    from sam_tui.headless.run import run_headless

    try:
        if runtime.model is None:
            raise await _nothing_chosen(runtime)
        if line is None:
            return await run_headless(runtime, request, out, interrupts=interrupts)
        from sam_tui.headless.inquiries_line import inquiries_over

        async with inquiries_over(runtime, line):
            return await run_headless(runtime, request, out, interrupts=interrupts)
    finally:
        await runtime.close()


async def _nothing_chosen(runtime: Runtime) -> ConfigurationError:
    """The error that no model is chosen, with the models available now."""
    offers = await runtime.catalog.offers()
    lines = [f"  --model {offer.model}   ({offer.source})" for offer in offers]
    return ConfigurationError(
        "No model is chosen.",
        hint="\n".join(["Choose one with --model or SAM_TUI_MODEL. Available:", *lines]),
    )


class _Told:
    """Ends an unexpected failure of the preparation with a result on standard output."""

    def __init__(self, request: HeadlessRequest, out: TextIO) -> None:
        self._request = request
        self._out = out

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(fault, Exception) and not isinstance(fault, SamError):
            from sam_tui.headless.run import report_failure

            report_failure(self._request, outcome_of_fault(fault, without_secrets), self._out)
