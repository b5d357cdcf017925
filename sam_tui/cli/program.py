"""The choice of a command: the first word that names one, else the workbench with a prompt."""

import importlib
from typing import TYPE_CHECKING

import click

from sam_tui import __version__
from sam_tui.cli.claude import compatible, spread
from sam_tui.cli.commands.workbench import workbench_command
from sam_tui.core.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "run": ("run", "run_command", "Run one prompt without a screen."),
    "exec": ("run", "run_command", "Run one prompt without a screen."),
    "review": ("workflows.review", "review_command", "Review a change: text, SARIF, JUnit."),
    "tools": ("tools", "tools_group", "The tools, without a model."),
    "guard": ("guard", "guard_group", "What the guard decides, its rules and grants."),
    "checkpoints": (
        "checkpoints",
        "checkpoints_group",
        "The files before each change, and restoring them.",
    ),
    "edits": ("sessions.edits", "edits_group", "What a conversation changed, and undoing it."),
    "prompts": (
        "extensions.listings",
        "prompts_group",
        "System prompts, personalities and mini prompts.",
    ),
    "demo": ("demo", "demo_command", "Show the workbench on a sample project."),
    "sessions": ("sessions.sessions", "sessions_group", "The stored conversations."),
    "memories": (
        "sessions.memories",
        "memories_group",
        "What agents remember: memories, notes, knowledge.",
    ),
    "replay": ("sessions.replay", "replay_command", "Play a conversation again, and compare."),
    "usage": (
        "sessions.sessions",
        "usage_command",
        "Tokens and money by day, model, folder or tool.",
    ),
    "term": ("term", "term_group", "Terminal sessions that go on, and recordings."),
    "workflow": ("workflows.workflow", "workflow_group", "Workflows: phases, tokens and people."),
    "fleet": ("fleets.fleet", "fleet_group", "Many headless tasks, by workers here and elsewhere."),
    "worker": (
        "fleets.worker",
        "worker_command",
        "Work on sub-tasks of fleets and plans, here or on another machine.",
    ),
    "plan": ("workflows.plan", "plan_group", "Plans: a task as stages for worker roles."),
    "mcp": ("mcp", "mcp_group", "Our tools for other agents, and servers for our agent."),
    "acp": ("acp", "acp_command", "Act as the agent of an editor that speaks ACP."),
    "serve": ("serve", "serve_command", "Serve plans to programs, or the workbench to browsers."),
    "trust": ("trust", "trust_command", "Trust a folder's policy, hooks and instructions."),
    "bundles": (
        "extensions.bundles",
        "bundles_group",
        "Skills, commands, agents, hooks and servers of others.",
    ),
    "hooks": (
        "extensions.listings",
        "hooks_group",
        "Programs that run at events and can refuse calls.",
    ),
    "skills": ("extensions.listings", "skills_group", "Instructions for a kind of task."),
    "audit": ("audit", "audit_group", "The log of the guard's decisions."),
    "schema": ("run", "schema_group", "The formats that programs can rely on, as JSON Schema."),
    "config": ("settings.config", "config_group", "Settings: show, set, edit."),
    "completion": (
        "settings.completion",
        "completion_command",
        "The script that completes commands in a shell.",
    ),
    "man": ("settings.completion", "man_command", "The manual page."),
    "doctor": ("doctor", "doctor_command", "Show which protections this machine has."),
}
"""The module and function of each command, loaded only when it is called, and its line of ``--help``."""
_ALIKE = 0.75
"""The least similarity, from 0 to 1, of a word to the command that is suggested for it."""
_OF_OTHERS = {
    "resume": "--resume",
    "continue": "--continue",
    "login": "config key",
    "auth": "config key",
    "memory": "memories list",
    "version": "--version",
}
"""Commands of other agents, which as a prompt would only cost a request, and what does the same here."""
_ABOUT = ("--help", "-h", "--version", "-V")


class Program(click.Group):
    """A group whose default command takes the options and the prompt that name no command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the command's name first, then parse as usual."""
        if compatible(args):
            args = spread(args)
        if ctx.resilient_parsing and _first_word(args) is None:
            return super().parse_args(ctx, [])  # the word that is completed may be a command's name
        return super().parse_args(ctx, routed(args, refuses=not ctx.resilient_parsing))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own; while a shell completes a word also the default command's options, for their values."""
        options = workbench_command.params if ctx.resilient_parsing else ()
        return [*super().get_params(ctx), *(p for p in options if isinstance(p, click.Option))]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Commands without loading them, or the options of the default one."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            with workbench_command.make_context(None, [], ctx, resilient_parsing=True) as default:
                return workbench_command.shell_complete(default, incomplete)
        names = self.list_commands(ctx)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands to show; ``exec`` is ``run``."""
        return [name for name in COMMANDS if name != "exec"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of a name."""
        if cmd_name == workbench_command.name:
            return workbench_command
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(f"sam_tui.cli.commands.{module}"), attribute)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The default command's options, then the commands."""
        records = [p.get_help_record(ctx) for p in workbench_command.params]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])


def routed(args: list[str], *, refuses: bool = True) -> list[str]:
    """The arguments with the command's name first; options may stand before it.

    ``refuses`` says whether a mistyped name raises ``UsageError``.
    """
    if _asks_for_help(args):
        return [*args[1:], "--help"]
    index = _first_word(args)
    if index is not None and args[index] in COMMANDS:
        name, before, after = args[index], args[:index], args[index + 1 :]
        # The options of a group are those of its commands: they are moved after the command.
        below = _first_word(after) if COMMANDS[name][1].endswith("_group") else None
        if below is not None:
            return [name, after[below], *before, *after[:below], *after[below + 1 :]]
        return [name, *before, *after]
    if refuses and index is not None and not {"-p", "--print"} & set(args):
        _refuse_mistyped(args[index], first=index == 0)
    if index is None and "--" not in args and (about := [a for a in args if a in _ABOUT]):
        return about
    return ["workbench", *args]


def _asks_for_help(args: list[str]) -> bool:
    """Whether the words are ``help`` alone, or before a command."""
    return args[:1] == ["help"] and (not args[1:] or args[1] in COMMANDS)


def _refuse_mistyped(word: str, *, first: bool) -> None:
    """A word that is a command elsewhere, or nearly one's name, is no prompt. Raises ``UsageError``."""
    import difflib  # 2 ms, needed by few

    near = [_OF_OTHERS[word]] if first and word in _OF_OTHERS else []
    if not near and word.isalpha():
        near = difflib.get_close_matches(word.lower(), COMMANDS, 1, _ALIKE)
    if near:
        raise UsageError(
            f"There is no command “{word}”. Did you mean “{near[0]}”?",
            hint=f"To use it as a prompt: sam-tui -- {word}",
        )


def _first_word(args: list[str]) -> int | None:
    """The position of the first word that is neither an option nor an option's value."""
    valued = {
        name
        for parameter in workbench_command.params
        if isinstance(parameter, click.Option) and not parameter.is_flag
        for name in parameter.opts
    }
    skip = False
    for index, word in enumerate(args):
        if skip:
            skip = False
        elif word == "--":
            return None
        elif word == "-" or not word.startswith("-"):
            return index
        else:
            skip = word in valued
    return None


@click.group(
    cls=Program,
    invoke_without_command=True,
    options_metavar="[OPTIONS] [PROMPT]",
    subcommand_metavar="| COMMAND ...",
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", message="sam-tui %(version)s")
def program() -> None:
    """A terminal agent workbench: fast, calm, safe.

    Without a command it opens the workbench in this folder.
    """
