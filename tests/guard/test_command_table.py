"""What programs mean stands in a table, which a policy adds to: unknown options never only read."""

import random
import string
from pathlib import Path

import pytest

from sam_tui.adapters.policy import AppFolders, PolicyFile, make_policy, read_layers
from sam_tui.adapters.policy.files import parse_policy, parse_untrusted
from sam_tui.adapters.shell import BashParser
from sam_tui.core.authorization.commands.inspection import INSPECTIONS
from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.commands.table import Program, builtin_table
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ConfigurationError

TABLE = builtin_table()
READER = CommandReader(BashParser(), root="/ws", home="/home/u")
TEXTS = frozenset((":", "true", "false", "echo", "expr", "test", "[", "let", "printf"))
"""To these every word is text."""
PROGRAMS: dict[str, Program] = {
    **{name.replace("*", "ext4"): entry for name, entry in TABLE.programs.items()},
    **{f"git {name}": entry for name, entry in TABLE.git.commands.items()},
}
VERBS: dict[str, Program] = {
    f"{name} {verb}": entry
    for name, program in PROGRAMS.items()
    for verb, entry in program.subcommands.items()
}
COMMANDS: dict[str, Program] = {**PROGRAMS, **VERBS}
"""Every command of the table with its subcommands."""


def known(command: str) -> frozenset[str]:
    """The options that the table has for a command, whatever they mean."""
    program = COMMANDS[command]
    options = [program.options, *([program.wraps.options] if program.wraps else [])]
    if command == "git":
        options.append(TABLE.git.options)
    own = frozenset[str]().union(*(entry.flags | entry.valued for entry in options))
    return own | program.lists | frozenset(program.subcommands) | SPECIAL.get(command, frozenset())


SPECIAL = {
    "command": frozenset(("-v", "-V")),
    "env": frozenset(("-S",)),
    "git": TABLE.git.code,
    "trap": frozenset(("-l", "-p")),
}
"""What functions know by themselves."""
KNOWN = {command: known(command) for command in COMMANDS if command not in TEXTS}


@pytest.mark.requirement("guard:command-options")
def test_an_unknown_option_never_leaves_a_command_read_only() -> None:
    chance = random.Random(1)

    def unknown(command: str, *, long: bool) -> str:
        while True:
            letters = chance.choices(string.ascii_letters, k=chance.randint(4, 15) if long else 1)
            option = f"--{''.join(letters).lower()}" if long else f"-{letters[0]}"
            if option not in KNOWN[command]:
                return option

    calm: list[str] = []
    for command in KNOWN:
        options = (unknown(command, long=True), unknown(command, long=False))
        lines = [f"{command} {option} a" for option in options]
        lines += [f"{command} a {option}" for option in options]
        calm += [line for line in lines if READER.read(line).calm]
    assert calm == []


@pytest.mark.requirement("guard:command-options")
def test_only_what_takes_every_word_for_text_knows_every_option() -> None:
    everything = {name for name, entry in COMMANDS.items() if "*" in entry.options.flags}
    assert everything == TEXTS
    assert {entry.inspect for entry in PROGRAMS.values()} - {""} == set(INSPECTIONS)


MINE = """
[[program]]
names = "shopctl shopctl-beta"
class = "network"
flags = "-v --json"

[[program.subcommand]]
names = "list show"
class = "read-only"
flags = "--json"

[[program]]
names = "rg"
flags = "--house-flag"

[[program]]
names = "counter"
class = "read-only"
flags = "-v"
valued = "-n"
options = { destructive = "--reset" }
words = { privileged = "root" }
"""
THEIRS = """
[[program]]
names = "make bash ls"
class = "privileged"

[[program]]
names = "curl"
class = "workspace-write"
"""


def reading(mine: str, theirs: str, tmp_path: Path) -> CommandReader:
    """A reader as the assembled program has it, with both policies."""
    for name, text in (("cfg/policy.toml", mine), ("ws/.sam/policy.toml", theirs)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    environ = {"HOME": "/home/u", "SAM_TUI_CONFIG_DIR": str(tmp_path / "cfg")}
    folders = AppFolders.of(environ, str(tmp_path / "data"))
    workspace = Workspace.open(str(tmp_path / "ws"))
    layers = read_layers(folders, workspace.root)
    policy = make_policy(
        layers, folders, workspace, mode=None, sandboxed=False, parser=BashParser()
    )
    assert isinstance(policy.reader, CommandReader)
    return policy.reader


def heaviest(found: CommandReading) -> str:
    """The class that counts."""
    assert found.heaviest is not None
    return found.heaviest.heaviest


@pytest.mark.requirement("guard:command-table")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("shopctl-beta list --json", "read-only"),
        ("shopctl list --drop", "network"),
        ("shopctl sell", "network"),
        ("rg --house-flag a", "read-only"),
        ("rg -n a", "read-only"),
        ("rg --no-such-flag a", "workspace-write"),
        ("rg --pre x a", "workspace-write"),
        ("counter -v -n 5 a", "read-only"),
        ("counter --reset", "destructive"),
        ("counter root", "privileged"),
        ("counter --other", "workspace-write"),
        ("make", "privileged"),
        ("timeout 5 make -j2", "privileged"),
        ("/opt/x/make", "privileged"),
        ("bash -c 'cat a'", "privileged"),
        ("ls", "privileged"),
        ("curl x", "network"),
        ("cat a", "read-only"),
    ],
)
def test_a_policy_adds_to_the_table_and_a_project_only_makes_heavier(
    command: str, expected: str, tmp_path: Path
) -> None:
    assert heaviest(reading(MINE, THEIRS, tmp_path).read(command)) == expected


@pytest.mark.requirement("guard:command-table")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('\n[[program]]\nnames = "x"\nflag = "-v"', 4, "unknown key “flag”"),
        ('[[program]]\nclass = "network"', 1, "needs “names”"),
        ('[[program]]\nnames = "x"\nclass = "harmless"', 3, "'harmless' is not a class"),
        ('[[program]]\nnames = "x"\nwords = { network = "(" }', 3, "is not a pattern"),
        ('[[program]]\nnames = "x"\nflags = ["-v"]', 3, "must be a text"),
        ('[[program]]\nnames = "x"\ninspect = "sed"', 3, "unknown key “inspect”"),
        ("program = 1", 1, "written as [[program]]"),
    ],
)
def test_what_a_policy_says_wrong_of_a_program_is_an_error_with_its_line(
    text: str, line: int, words: str
) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_policy(text, "policy.toml", "user", root="/ws", home="/h")
    assert str(error.value).startswith(f"policy.toml:{line}: ")
    assert words in str(error.value)


@pytest.mark.requirement("guard:command-table")
@pytest.mark.parametrize(
    "line",
    ['class = "read-only"', 'class = "network"\nflags = "-v"', 'options = { network = "-v" }', ""],
)
def test_what_a_project_would_loosen_is_left_out_and_named(line: str) -> None:
    text = f'[[program]]\nnames = "make"\n{line}\n[[program]]\nnames = "rm"\nclass = "privileged"'
    policy: PolicyFile = parse_untrusted(text, "p.toml", root="/ws", home="/h")
    assert (dict(policy.least), dict(policy.programs)) == ({"rm": "privileged"}, {})
    assert len(policy.ignored) == 1
