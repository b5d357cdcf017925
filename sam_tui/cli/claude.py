"""Options of ``claude -p`` under their own names: what each means here, or the word that says why not."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sam_tui.cli.settings import option, read_overlay, require_value
from sam_tui.core.errors import UsageError

if TYPE_CHECKING:
    from sam_tui.core.authorization.rules.rule import Rule
    from sam_tui.core.inquiries import Responder
    from sam_tui.headless.dialogue.permissions import PermissionTool

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "built-in:default"
REFUSED: Mapping[str, str] = {
    "--setting-sources": "a folder's own files count once it is trusted (sam-tui trust)",
    "--agents": "agents are files in an agents folder (docs/instructions.md)",
    "--plugin-dir": "plug-ins are installed packages (docs/plugins.md)",
    "--ide": "editors start sam-tui acp (docs/acp.md)",
    "--betas": "the provider's own headers are not passed on",
    "--bare": "files of a folder count once it is trusted; set SAM_TUI_CONFIG_DIR to an empty "
    "folder to leave yours out",
    "--effort": "the provider decides how much a model reasons",
    "--max-thinking-tokens": "the provider decides how much a model reasons",
    "--debug-file": "the log is in the data folder (--data-dir)",
    "--name": "“sam-tui sessions rename ID NAME” names a conversation",
    "--chrome": "add a browser as an MCP server (sam-tui mcp add)",
    "--from-pr": "conversations are not stored by pull request",
}
"""Options of Claude Code that are not supported, each with what to use instead or why there is nothing."""
_FLAGS = ("--ide", "--bare", "--chrome")
NEEDLESS = (
    "--allow-dangerously-skip-permissions",
    "--disable-slash-commands",
    "--exclude-dynamic-system-prompt-sections",
    "--forward-subagent-text",
    "--mcp-debug",
    "--no-chrome",
)
"""Options that request what this program does anyway; they are accepted and ignored."""
_LISTS = (
    *("--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools"),
    *("--tools", "--add-dir", "--mcp-config"),
)
"""Options that take all words up to the next option, if the script was written for Claude Code."""
_LONGEST_PROMPT = 1_000_000
_SPLIT = re.compile(r"[,\s]\s*(?![^(]*\))")


def _refuse(context: click.Context, option: click.Parameter, value: object) -> None:
    """Refuse an unsupported option with a hint what to use instead."""
    name = option.opts[0]
    if value:
        raise UsageError(f"{name} is not supported: {REFUSED[name]}.")


def spread(words: list[str]) -> list[str]:
    """The words of a command line for Claude Code with one word for each option: those of lists again."""
    result: list[str] = []
    listing, first = "", False
    for index, word in enumerate(words):
        if word == "--":
            return [*result, *words[index:]]
        if word.startswith("-") and word != "-":
            listing, first = (word if word in _LISTS else ""), True
        elif listing:
            result += [] if first else [listing]
            first = False
        result.append(word)
    return result


def compatible(words: list[str]) -> bool:
    """Whether a command line is one for Claude Code."""
    return "--compat=claude" in words or ("--compat", "claude") in pairwise(words)


def _text(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    """The content of a file. Raises ``UsageError``."""
    require_value(context, option, name)
    if name is None:
        return None
    from sam_tui.core.local_files.bounded import UnusableFile, read_named

    try:
        return read_named(name, most=_LONGEST_PROMPT).decode("utf-8-sig", "replace")
    except UnusableFile as error:
        raise UsageError(f"{option.opts[0]}: {name} {error}.") from error


def _schema(
    context: click.Context, option: click.Parameter, value: str | None
) -> dict[str, Any] | None:
    """The schema of a text or a file."""
    require_value(context, option, value)
    if value is None:
        return None
    from sam_tui.headless.structure import read_schema

    return read_schema(value)


SHARED = (
    option(
        "--fallback-model",
        "fallback_models",
        multiple=True,
        metavar="NAMES",
        help="Models that answer, in this order, while the first is overloaded or gone.",
    ),
    option("--append-system-prompt", metavar="TEXT", help="Add this text to the system prompt."),
    click.option(
        "--tools",
        multiple=True,
        metavar="TOOLS",
        help="Offer only these built-in tools; '' for none.",
    ),
    click.option(
        "--dangerously-skip-permissions",
        "mode",
        flag_value="bypass",
        help="The same as --permission-mode bypass.",
    ),
    option(
        "--worktree",
        metavar="[NAME]",
        is_flag=False,
        flag_value="?",
        help="Work in a new git worktree (“sam-tui sessions worktree” merges or drops it).",
    ),
    click.option(
        "--settings",
        metavar="FILE|JSON",
        is_eager=True,
        expose_value=False,
        callback=read_overlay,
        help="Settings for this run; they override those of files (docs/configuration.md).",
    ),
    option("--debug", is_flag=True, help="The same as SAM_TUI_DEBUG=1: log more."),
)
"""Options that apply to the workbench too."""
_OPTIONS = (
    option(
        "--allowed-tools",
        "--allowedTools",
        "allowed_tools",
        multiple=True,
        metavar="TOOLS",
        help="Approve these without a question: tools, operations, Bash(git log *), Edit(docs/**).",
    ),
    click.option(
        "--json-schema",
        metavar="JSON|FILE",
        callback=_schema,
        help="Require JSON of this schema as the answer; ask the model again if it is not.",
    ),
    click.option(
        "--input-format",
        type=click.Choice(["text", "stream-json"]),
        help="stream-json: read messages from standard input, one JSON object per line.",
    ),
    click.option(
        "--replay-user-messages",
        is_flag=True,
        help="Print each message again when the run takes it.",
    ),
    option(
        "--permission-prompt-tool",
        metavar="TOOL|stdio",
        help="Let an MCP tool, or the program on standard input, answer approvals.",
    ),
    option(
        "--approvals",
        metavar="FILE",
        help="Write approvals that nobody answered to FILE; with --resume make the calls that "
        "it approves.",
    ),
    click.option(
        "--no-session-persistence",
        is_flag=True,
        help="Remove the conversation at the end; the audit log keeps its decisions.",
    ),
    click.option(
        "--compat",
        type=click.Choice(["claude"]),
        help="Use the field names and exit codes of claude -p.",
    ),
    click.option(
        "--system-prompt-file",
        metavar="FILE",
        callback=_text,
        help="Read the system prompt from a file.",
    ),
    click.option(
        "--append-system-prompt-file",
        metavar="FILE",
        callback=_text,
        help="Read the text to append from a file.",
    ),
    *(click.option(name, hidden=True, expose_value=False, is_flag=True) for name in NEEDLESS),
    *(
        click.option(name, hidden=True, expose_value=False, callback=_refuse, is_flag=True)
        if name in _FLAGS
        else click.option(name, hidden=True, expose_value=False, callback=_refuse)
        for name in REFUSED
    ),
)
RUN_ONLY = (
    "allowed_tools",
    "json_schema",
    "input_format",
    "replay_user_messages",
    "permission_prompt_tool",
    "approvals",
    "no_session_persistence",
    "compat",
    "system_prompt_file",
    "append_system_prompt_file",
)
"""Options that apply to headless runs only."""


def adding(*options: Callable[[F], F]) -> Callable[[F], F]:
    """A decorator that adds options to a command, in this order."""

    def add(command: F) -> F:
        for add_option in reversed(options):
            command = add_option(command)
        return command

    return add


claude_options = adding(*_OPTIONS)
"""All options of ``claude -p`` that a headless run accepts."""


def names(values: Iterable[str]) -> list[str]:
    """The entries of options that take several, with commas or blanks between them."""
    return [name for value in values for name in _SPLIT.split(value.strip()) if name]


def disabled(
    values: Mapping[str, Any], workspace: str
) -> "tuple[tuple[str, ...], tuple[Rule, ...]]":
    """The tools that are not offered, and the rules that refuse parts of others. Raises ``UsageError``."""
    disallowed, only = values.get("disallowed_tools") or (), values.get("tools") or ()
    if not (disallowed or only):
        return (), ()
    from sam_tui.cli.tool_patterns import refusing

    chosen = names(only) if only else None
    return refusing(names(disallowed), chosen, os.path.realpath(workspace))


def named_tools(values: Mapping[str, Any], workspace: str) -> tuple[str, ...]:
    """Return the tool names in options that must exist; none for a script of Claude Code's, which names
    tools that do not exist here. Raises ``UsageError``."""
    lists = [names(values.get(f"{kind}tools") or ()) for kind in ("allowed_", "disallowed_", "")]
    if values.get("compat") or not any(lists):
        return ()
    from sam_tui.cli.tool_patterns import tools_of

    entries = [name for chosen in lists if chosen != ["default"] for name in chosen]
    return tools_of(entries, os.path.realpath(workspace))


def system_prompt(values: Mapping[str, Any]) -> tuple[str, str, str]:
    """The id of a system prompt, words in its place, and words behind it. Raises ``UsageError``."""
    for name in ("system_prompt", "append_system_prompt"):
        if values.get(name) and values.get(f"{name}_file"):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} and {option}-file exclude each other.")
    appended = values.get("append_system_prompt") or values.get("append_system_prompt_file") or ""
    text = values.get("system_prompt") or values.get("system_prompt_file") or DEFAULT
    if values.get("system_prompt_file") or any(map(str.isspace, text)):
        return DEFAULT, text, appended
    return text, "", appended


def responder_of(values: Mapping[str, Any], root: str) -> "Responder | None":
    """Return the responder of ``--answers`` and then ``--allowedTools``. Raises ``SamError``."""
    allowed, named = None, names(values.get("allowed_tools") or ())
    if named:
        from sam_tui.cli.tool_patterns import allowing

        allowed = allowing(named, os.path.realpath(root))
    if not values["answers"]:
        return allowed
    from sam_tui.assembly.catalogue import adverts
    from sam_tui.headless.answers import read_answers

    operations = [f"{a.name}.{name}" for a in adverts().values() for name in a.operations]
    answers = read_answers(values["answers"], operations)
    if allowed is None:
        return answers
    return lambda inquiry: answers(inquiry) or allowed(inquiry)


def permission_tool_of(values: Mapping[str, Any]) -> "PermissionTool | None":
    """The tool of ``--permission-prompt-tool``, which answers approvals; None without the option."""
    name = values["permission_prompt_tool"]
    if not name:
        return None
    from sam_tui.headless.dialogue.permissions import PermissionTool

    return PermissionTool(name)
