"""``sam-tui completion`` and ``sam-tui man``: what shells and readers of manuals get, from the commands."""

import re
from collections.abc import Iterator

import click

from sam_tui import __version__
from sam_tui.cli.streams import require_output
from sam_tui.settings.table import SETTINGS

_NAME = "sam-tui"
_VARIABLE = "_SAM_TUI_COMPLETE"
_SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="The script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> int:
    """Print the completion script of bash, zsh or fish.

    \b
    bash: sam-tui completion bash > ~/.local/share/bash-completion/completions/sam-tui
    zsh:  sam-tui completion zsh > a folder of $fpath, as _sam-tui
    fish: sam-tui completion fish > ~/.config/fish/completions/sam-tui.fish
    """
    from click.shell_completion import get_completion_class

    require_output()
    kind = get_completion_class(shell)
    assert kind is not None
    completes = kind(context.find_root().command, {}, _NAME, _VARIABLE)
    script = completes.source_template % completes.source_vars()
    # Fish cuts descriptions at the second comma, which most have.
    click.echo(script.replace('string split ","', 'string split -m 1 ","'))
    return 0


@click.command("man", short_help="The manual page.")
@click.pass_context
def man_command(context: click.Context) -> int:
    """Print the manual page.

    sam-tui man | man -l -
    """
    require_output()
    root = context.find_root()
    click.echo("\n".join(_page(root)))
    return 0


def _page(root: click.Context) -> Iterator[str]:
    from sam_tui.settings.variables import SECRETS

    program = root.command
    assert isinstance(program, click.Group)
    workbench = program.get_command(root, "workbench")
    assert workbench is not None
    yield f'.TH SAM-TUI 1 "" "sam-tui {__version__}" "User Commands"'
    yield from (".SH NAME", r"sam-tui \- a terminal agent workbench")
    yield from (".SH SYNOPSIS", ".B sam-tui", r"[\fIOPTIONS\fR] [\fIPROMPT\fR]", ".br")
    yield from (".B sam-tui", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from (".SH DESCRIPTION", *_paragraphs(program.help or ""), ".SH OPTIONS")
    yield from _options(workbench, root)
    yield ".SH COMMANDS"
    for name in program.list_commands(root):
        command = program.get_command(root, name)
        if command is not None:
            yield from _command(f"sam-tui {name}", command, root)
    yield ".SH ENVIRONMENT"
    for setting in SETTINGS:
        if setting.env:
            yield from (".TP", f".B {setting.env}", _text(_plain(setting.about)))
    for name, about in SECRETS.items():
        yield from (".TP", f".B {name}", _text(_plain(f"The key: {about}")))
    yield from (
        ".SH FILES",
        ".TP",
        ".I settings.toml",
        "Your settings; \\fBsam-tui config path\\fR prints the path.",
    )
    yield from (".TP", ".I policy.toml", "Permissions of the agent, in the same folder.")
    yield from (".SH EXIT STATUS", *_exit_codes())


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    """A command, or those of a group one after the other."""
    if isinstance(command, click.Group):
        for below in command.list_commands(parent):
            inner = command.get_command(parent, below)
            if inner is not None:
                yield from _command(f"{name} {below}", inner, parent)
        return
    arguments = " ".join(
        parameter.make_metavar(parent)
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    )
    yield from (f".SS {_text(f'{name} {arguments}'.strip())}", *_paragraphs(command.help or ""))
    yield from _options(command, parent)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # an argument without a description is listed above
            yield from (".TP", rf"\fB{_text(record[0])}\fR", _text(record[1]))


def _exit_codes() -> Iterator[str]:
    from sam_tui.headless.outcome import EXIT_CODES

    codes: dict[int, list[str]] = {}
    for subtype, code in EXIT_CODES.items():
        codes.setdefault(code, []).append(subtype.replace("_", " "))
    for code, words in codes.items():
        yield from (".TP", f".B {code}", _text(", ".join(words)))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b\n", "").split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))


def _plain(about: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", about).replace("`", "")


def _text(text: str) -> str:
    """A text escaped for roff."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"[^\x00-\x7f]", lambda match: rf"\[u{ord(match[0]):04X}]", text)
    return rf"\&{text}" if text[:1] in (".", "'") else text
