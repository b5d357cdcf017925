"""Options shared by commands, and their conversion to settings of a runtime."""

import gc
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli import claude
from sam_tui.cli.claude import SHARED, adding, claude_options, disabled, names, system_prompt
from sam_tui.cli.log import log_to, masked_in_log
from sam_tui.cli.numbers import FiniteRange
from sam_tui.cli.settings import data_dir_of, environment, option, require_value, with_settings
from sam_tui.core.errors import UsageError, WorkspaceError
from sam_tui.core.ids import ConversationId, named_conversation
from sam_tui.headless.request import OUTPUT_FORMATS
from sam_tui.process import hide_argument

if TYPE_CHECKING:
    from sam_tui.assembly import Options
    from sam_tui.core.authorization.policy.policy import PermissionMode
    from sam_tui.core.inquiries import Attends, Responder
    from sam_tui.core.ports.storage import ConversationStore
    from sam_tui.core.runtime import Opening, Runtime

MODES: dict[str, "PermissionMode"] = {
    "ask": "ask",
    "ask-all": "ask-all",
    "accept-edits": "accept-edits",
    "plan": "plan",
    "auto": "auto",
    "bypass": "bypass",
    "default": "ask",
    "acceptEdits": "accept-edits",
    "dontAsk": "auto",
    "bypassPermissions": "bypass",
}
"""The permission modes by their spellings, ours first, then those of Claude Code."""

_COLLECTED = (2_000, 10, 10)
"""The thresholds of the garbage collector once a program has started, by generation."""
CHOOSE = "?"
"""The value of ``--resume`` without an id: the person chooses from a list."""

Values = dict[str, Any]


def _hide(context: click.Context, option: click.Parameter, key: str | None) -> str | None:
    """Overwrite a key on the command line, so that nobody sees it any longer."""
    hide_argument(key or "")
    require_value(context, option, key)
    return key


_PLACE = (
    option("-C", "--workspace", metavar="DIR", help="The folder to work in (default: this one)."),
    option(
        "--data-dir",
        metavar="DIR",
        envvar="SAM_TUI_DATA_DIR",
        help="The folder of conversations and logs.",
    ),
)
_MODEL = (
    option("--model", metavar="NAME", envvar="SAM_TUI_MODEL", help="Such as openai/gpt-4o."),
    option(
        "--api-base", metavar="URL", envvar="SAM_TUI_API_BASE", help="Where the model is served."
    ),
    option(
        "--api-key",
        metavar="KEY",
        envvar="SAM_TUI_API_KEY",
        callback=_hide,
        help="Its key; better set in the environment.",
    ),
    option(
        "--provider",
        type=click.Choice(["auto", "direct", "litellm"]),
        help="Which client talks to it.",
    ),
    option(
        "--request-timeout",
        type=FiniteRange(min=0, min_open=True),
        metavar="SECONDS",
        help="The longest silence of a provider.",
    ),
    option(
        "--context-tokens",
        type=click.IntRange(min=1024),
        metavar="N",
        envvar="SAM_TUI_CONTEXT_TOKENS",
        help="How much the model takes, where it does not say.",
    ),
)
_PERMISSIONS = (
    option(
        "--permission-mode",
        "mode",
        type=click.Choice(list(MODES)),
        metavar="MODE",
        help="ask, ask-all (every edit, too), accept-edits, plan, auto or bypass (Claude Code's "
        "names work too); without it what the policy files say, else ask.",
    ),
    option(
        "--sandbox",
        type=click.Choice(["default", "strict", "off"]),
        metavar="KIND",
        help="The sandbox of commands: default, strict (bubblewrap) or off (each is asked).",
    ),
    option(
        "--network",
        type=click.Choice(["on", "hosts", "off"]),
        metavar="on|hosts|off",
        help="Whether commands reach the internet without a question: all of it, the hosts of your "
        "policy file and others asked for by name (the default), or nothing.",
    ),
    option(
        "--rehearse",
        is_flag=True,
        help="Try commands on a copy of the workspace; show their changes before they are made.",
    ),
    option(
        "--add-dir", multiple=True, metavar="DIR", help="Another folder to work in; repeatable."
    ),
)
_PROFILE = option(
    "--profile",
    type=click.Choice(["iron-manus"]),
    help="Add the tools of a profile: iron-manus has JARVIS and its companions.",
)
_BEHAVIOUR = (
    option(
        "--system-prompt",
        metavar="ID|TEXT",
        help="One of the system prompts (“sam-tui prompts list”), or words of your own.",
    ),
    option("--personality", metavar="ID", help="How the agent speaks (“sam-tui prompts list”)."),
    option("--topic", metavar="NAME", help="Share memory with conversations of this topic."),
    option("--workflow-mode", is_flag=True, help="Continue while the model is not done."),
    option(
        "--disallowed-tools",
        "--disallowedTools",
        "disallowed_tools",
        multiple=True,
        metavar="TOOLS",
        help="Do not offer or run these tools; repeatable.",
    ),
    *SHARED,
)
_SERVERS = (
    option(
        "--mcp-config",
        multiple=True,
        metavar="FILE|JSON",
        help="MCP servers for the agent, before those of other files; repeatable.",
    ),
    click.option("--strict-mcp-config", is_flag=True, help="Only servers that --mcp-config names."),
)
_CONVERSATION = (
    option("--agent", metavar="COMMAND", help="An ACP agent in place of a model."),
    click.option("-c", "--continue", "latest", is_flag=True, help="Continue the last one here."),
    option(
        "-r",
        "--resume",
        metavar="[ID]",
        is_flag=False,
        flag_value=CHOOSE,
        help="Continue this conversation; without ID, choose one.",
    ),
    click.option("--fork", "--fork-session", "fork", is_flag=True, help="Continue in a copy."),
    click.option(
        "--take-over", is_flag=True, help="Continue it even if another program has it open."
    ),
)
_LIMITS = (
    option("--max-turns", type=click.IntRange(min=1), help="Model calls at most."),
    option("--max-tokens", type=click.IntRange(min=1), help="Tokens at most, in and out."),
    option(
        "--max-cost",
        "--max-budget-usd",
        "max_cost",
        type=FiniteRange(min=0, min_open=True),
        metavar="USD",
        help="US dollars at most, where the price is known.",
    ),
)
_RUN = (
    option("--session-id", metavar="ID", help="Continue or create this conversation."),
    option("--output-format", type=click.Choice(OUTPUT_FORMATS), help="text by default."),
    *_LIMITS,
    option("--answers", metavar="FILE", help="JSON patterns that answer approvals."),
    option("--inquiries-fd", type=click.IntRange(min=3), hidden=True),
    option("--include-partial-messages", is_flag=True, help="Print pieces as they arrive."),
    option("--goal", metavar="COMMAND", help="Continue until this command passes."),
    option("--goal-turns", type=click.IntRange(min=1), default=10, help="Most turns for it (10)."),
    option("--image", "images", multiple=True, metavar="FILE", help="An image for the model."),
    option("--include-hook-events", is_flag=True, help="Print hook events too."),
    option("--stdin", "wait_stdin", is_flag=True, help="Wait for the end of standard input."),
    option("--verbose", is_flag=True, help="Progress on standard error."),
    option("-o", "--output-last-message", metavar="FILE", help="Write the final answer there."),
)
RUN_ONLY = (
    "goal", "goal_turns", "images", "session_id", "output_format", "answers", "inquiries_fd", "wait_stdin",
    "verbose", "include_partial_messages", "include_hook_events", "output_last_message", *claude.RUN_ONLY,
)  # fmt: skip
"""Options that apply to headless runs only."""


_SERVING = (*_PLACE, *_MODEL, *_PERMISSIONS, *_BEHAVIOUR)
folder_option = _PLACE[0]
place_options = adding(*_PLACE)
guarded_options = adding(*_PLACE, *_PERMISSIONS)
agent_options = adding(*_CONVERSATION, *_SERVING, *_SERVERS, _PROFILE)
"""The options of a conversation with a model."""
limit_options = adding(*_LIMITS)
"""The limits of a run of steps: model calls of each attempt, tokens and money of the whole run."""
profile_option = adding(_PROFILE)
server_options = adding(*_SERVING)
"""The options of serving our tools to other agents, with the model of subagents."""
editor_options = adding(*_SERVING, *_SERVERS)
"""The options of an agent in an editor, which itself names the conversation."""
fleet_options = adding(*_PLACE, *_MODEL, *_PERMISSIONS)
"""The options of workers and of commands that start workers."""
run_options = adding(*_RUN, claude_options)
"""The options of headless runs only."""


def settings(
    values: Values,
    *,
    attended: "bool | Attends" = False,
    responder: "Responder | None" = None,
) -> "Options":
    """The options as ``assembly`` takes them; from here on it is logged. Raises ``WorkspaceError``."""
    from sam_tui.adapters.mcp_client.servers.server_files import server_file
    from sam_tui.assembly.options import Options

    data_dir = data_dir_of(values)
    log_to(data_dir, debug=bool(values.get("debug")) or os.environ.get("SAM_TUI_DEBUG") == "1")
    (prompt, prompt_text, appended), workspace = system_prompt(values), workspace_of(values)
    disabled_tools, denied = disabled(values, workspace)
    return Options(
        workspace=workspace,
        data_dir=data_dir,
        model=values.get("model") or "",
        api_base=values.get("api_base") or "",
        api_key=values.get("api_key") or "",
        provider=values.get("provider") or "auto",
        fallback_models=tuple(names(values.get("fallback_models") or ())),
        mode=MODES[values["mode"]] if values.get("mode") else None,
        add_dirs=tuple(values.get("add_dir") or ()),
        offline=bool(values.get("offline")),
        believed=values.get("believed"),
        max_turns=values.get("max_turns"),
        max_tokens=values.get("max_tokens"),
        max_cost=values.get("max_cost"),
        attended=attended,
        responder=responder,
        request_timeout=values.get("request_timeout"),
        context_tokens=values.get("context_tokens"),
        system_prompt=prompt,
        prompt_text=prompt_text,
        prompt_appended=appended,
        personality=values.get("personality") or "",
        topic=values.get("topic") or "",
        workflow_mode=bool(values.get("workflow_mode")),
        hand_out=values.get("hand_out") or (),
        disabled_tools=disabled_tools,
        named_tools=claude.named_tools(values, workspace),
        denied=denied,
        sandbox=values.get("sandbox"),
        rehearse=bool(values.get("rehearse")),
        network=values.get("network"),
        profile=values.get("profile") or "",
        mcp_config=tuple(map(server_file, values.get("mcp_config") or ())),
        strict_mcp_config=bool(values.get("strict_mcp_config")),
        agent=values.get("agent"),
        client_servers=values.get("client_servers", ""),
        buffers=values.get("buffers"),
    )


_LISTED = "“sam-tui sessions list” shows them."


def conversation_of(
    values: Values, store: "ConversationStore", workspace: str
) -> ConversationId | None:
    """The conversation that the options name, None for a new one. Raises ``UsageError`` if it is
    unknown."""
    resume, session = values.get("resume"), values.get("session_id")
    if [bool(values.get("latest")), bool(resume), bool(session)].count(True) > 1:
        raise UsageError("--continue, --resume and --session-id exclude each other.")
    if values.get("latest"):
        latest = store.latest(workspace)
        if latest is None:
            raise UsageError(
                f"There is no conversation in {workspace} to continue.",
                hint="Leave --continue out to begin one.",
            )
        return latest.id
    if resume == CHOOSE:
        raise UsageError("--resume needs an id here.", hint=_LISTED)
    if resume:
        return stored_conversation(store, resume)
    return named_conversation(session) if session else None


def stored_conversation(store: "ConversationStore", id: str) -> ConversationId:
    """The conversation with this id. Raises ``UsageError`` if there is none."""
    conversation = ConversationId(id)
    if store.find(conversation) is None:
        raise UsageError(f"There is no conversation {id}.", hint=_LISTED)
    return conversation


def opening_of(values: Values) -> "Opening":
    """Return how the conversation is opened. Raises ``UsageError`` if none is named."""
    fork, take_over = values["fork"], values["take_over"]
    if not (fork or take_over):
        return "continue"
    option = "--fork" if fork else "--take-over"
    if fork and take_over:
        raise UsageError("--fork and --take-over exclude each other.")
    if not (values["latest"] or values["resume"] or values.get("session_id")):
        raise UsageError(f"{option} needs --continue, --resume or --session-id.")
    return "fork" if fork else "take over"


def open_runtime(
    values: Values,
    *,
    attended: "bool | Attends" = False,
    responder: "Responder | None" = None,
    keeps_terminals: bool = False,
    program: str = "sam-tui",
    browse: "Callable[[str], None] | None" = None,
) -> "Runtime":
    """The runtime that the options describe; ``program`` is what others call it. Raises ``SamError``."""
    from dataclasses import replace

    from sam_tui.assembly import build

    try:
        values, configured = with_settings(values, workspace_of(values))
        options = replace(
            settings(values, attended=attended, responder=responder), notes=configured.notes,
            keeps_terminals=keeps_terminals, program=program, browse=browse, reads="reads" in values,
        )  # fmt: skip
        environ = environment(options.data_dir, configured)
        return build(options, masked_in_log(environ, options.api_key, options.workspace))
    finally:
        collect_garbage()


def collect_garbage() -> None:
    """Collect cyclic garbage from now on, but not among the objects that the start of the program made."""
    gc.freeze()
    gc.set_threshold(*_COLLECTED)


@contextmanager
def closing_runtime(values: Values, **changed: Any) -> "Generator[Runtime, None, None]":
    """The runtime that the options describe, closed at the end. Raises ``SamError``."""
    runtime = open_runtime({**values, **changed})
    try:
        yield runtime
    finally:
        runtime.release()


def existing_folder(name: str | None) -> str:
    """The real path of the folder that ``-C`` names; without a name this one. Raises ``WorkspaceError``."""
    from sam_tui.core.authorization.paths.containment import Workspace

    path = workspace_of({"workspace": name})
    return Workspace.open(path).root if name else path


def workspace_of(values: Values) -> str:
    """The folder to work in, as given. Raises ``WorkspaceError`` when the working folder is gone."""
    if (name := values.get("worktree")) is not None:
        from sam_tui.adapters.worktrees import Worktrees

        folder = Worktrees(values["workspace"] or os.getcwd(), os.environ).open(name)
        values.update(workspace=folder, worktree=None)
        notice = f"Working in {folder}; “sam-tui sessions worktree” merges or drops it."
        click.echo(notice, err=True)
    try:
        return str(values["workspace"] or os.getcwd())
    except OSError as error:
        hint = "Go to another, or use --workspace."
        raise WorkspaceError("The working folder no longer exists.", hint=hint) from error
