"""Which words of a command count as paths, where that hangs on more than a line of a table can say."""

import os
from collections.abc import Callable

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import CommandAccess
from sam_tui.core.authorization.commands.parts import CommandReading
from sam_tui.core.authorization.commands.reader import CommandReader
from tests.guard.ward import Ward

READER = CommandReader(BashParser(), root="/ws", home="/h")


def reals(reading: CommandReading) -> list[str]:
    """The real paths of all words."""
    return [path.real for part in reading.parts for path in part.paths]


@pytest.mark.requirement("guard:commands-cwd")
@pytest.mark.parametrize(
    ("cwd", "real"),
    [("", "/ws/a/b"), ("sub", "/ws/sub/a/b"), ("/srv", "/srv/a/b"), ("~/x", "/h/x/a/b"), ("~", "/h/a/b")],
)  # fmt: skip
def test_a_command_runs_in_the_folder_that_it_is_given(cwd: str, real: str) -> None:
    assert reals(READER.read("cat a/b", cwd)) == [os.path.realpath(real)]


@pytest.mark.requirement("guard:commands-words")
def test_a_word_is_a_path_as_long_as_the_kernel_takes_one() -> None:
    longest = "a/" * 2048
    assert reals(READER.read(f"cat {longest}")) == [f"/ws/{longest}".rstrip("/")]
    assert reals(READER.read(f"cat {longest}b")) == []


@pytest.mark.requirement("guard:commands-words")
def test_a_path_that_the_kernel_cannot_be_asked_about_is_what_its_text_says() -> None:
    assert reals(READER.read("cat x/../a/b", "c\0d")) == ["/ws/c\0d/a/b"]


@pytest.mark.requirement("guard:commands-cwd")
def test_the_home_of_another_person_is_found_as_the_shell_finds_it() -> None:
    assert reals(READER.read("cat ~root/a")) == [os.path.realpath(os.path.expanduser("~root/a"))]


RULES = "".join(
    f'[[rule]]\neffect = "allow"\ncommand = "{program}"\n'
    for program in ("sort", "find", "sed", "git diff", "tar", "cp", "curl", "wget")
)


OUTPUTS = """
sort a -o PATH | sort a -oPATH | sort a --outp=PATH | find . -fprint PATH | curl a.org -o PATH
sed -i s/a/b/ PATH | sed -i.bak -e /a/d PATH | git diff --output=PATH | curl a.org -sSoPATH
curl a.org --output-dir PATH -O | wget -P PATH a.org | tar -C PATH -xf a | cp -t PATH a
"""


@pytest.mark.requirement("guard:rules-commands")
def test_an_allow_rule_covers_output_by_an_option_in_the_workspace_alone(
    ward: Callable[..., Ward],
) -> None:
    here = ward(rules=RULES, sandboxed=False, trusted=True)
    for command in OUTPUTS.strip().replace("\n", " | ").split(" | "):
        inside, outside = (
            here.explain(CommandAccess(command.replace("PATH", path))).outcome
            for path in ("sub", "../out/x")
        )
        assert (inside, outside) == ("allow", "ask"), command
    for command in ("tar -C../out -xf a", "cp -t../out a", "tar -C.. -xf a"):
        assert here.explain(CommandAccess(command)).outcome == "ask", command
    assert here.explain(CommandAccess("curl a.org -o /dev/null")).outcome == "allow"


@pytest.mark.requirement("guard:hosts")
def test_programs_for_the_network_are_read_without_a_word_behind_them() -> None:
    assert [READER.read(name).holds("network") for name in ("curl", "ssh", "psql")] == [True] * 3
