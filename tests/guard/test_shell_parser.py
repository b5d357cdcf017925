"""Every simple command of a shell text is found, and nothing in it is run or believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.shell import BashParser
from sam_tui.adapters.shell.bash import LONGEST

PARSER = BashParser()
NESTS = (
    "{}", "{} && ls", "ls; {}", "ls | {}", "( {} )", "{{ {}; }}", "echo $({})", "echo \"$({})\"",
    "echo `{}`", "cat <({})", "if {}; then ls; fi", "if true; then {}; fi", "while {}; do ls; done",
    "for x in $({}); do ls; done", "case x in x) {};; esac", "f() {{ {}; }}", "! {}", "{} &",
    "x=$({})", "x=$({}) ls", "[[ -n $({}) ]]", "echo ${{x:-$({})}}", "{} > out", "ls > $({})",
    "cat <<EOF\n$({})\nEOF", "until {}; do ls; done", "a=($({}))", "echo $(( $({}) + 1 ))",
    "# a\n{}", "{} # b", "export X=$({})", "ls \\\n&& {}",
)  # fmt: skip


def programs(text: str) -> list[str]:
    """The first word of each simple command."""
    return [command.words[0].text for command in PARSER.parse(text).commands if command.words]


@pytest.mark.requirement("guard:commands-found")
@pytest.mark.parametrize("nest", NESTS)
def test_a_command_is_found_wherever_it_hides(nest: str) -> None:
    shell = PARSER.parse(nest.format("planted a b"))
    assert not shell.unparsable
    assert "planted" in [command.words[0].text for command in shell.commands if command.words]


@pytest.mark.requirement("guard:commands-found")
@given(st.lists(st.sampled_from(NESTS[:20]), min_size=1, max_size=4))
def test_a_command_is_found_under_several_layers_or_the_text_is_unparsable(
    nests: list[str],
) -> None:
    text = "planted"
    for nest in nests:
        text = nest.format(text)
    assert "planted" in programs(text) or PARSER.parse(text).unparsable


@pytest.mark.requirement("guard:commands-unparsable")
@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    PARSER.parse(text)


@pytest.mark.requirement("guard:commands-unparsable")
@pytest.mark.parametrize(
    "text",
    [
        "if then",
        "echo 'a",
        "r\\\nm -rf x",
        "! { ls; }",
        "echo `echo \\`ls\\``",
        "ls)",
        "a\0b",
        "x" * (LONGEST + 1),
    ],
)
def test_text_that_is_no_command_is_unparsable(text: str) -> None:
    assert PARSER.parse(text).unparsable


@pytest.mark.requirement("guard:commands-words")
@pytest.mark.parametrize(
    ("text", "word", "static"),
    [
        ("echo a\\ b", "a b", True),
        ("echo 'a b'", "a b", True),
        ('echo "a b"', "a b", True),
        ('echo "a\\"b"', 'a"b', True),
        ("echo $'a\\x41\\n'", "aA\n", True),
        ("echo a'b'\"c\"d", "abcd", True),
        ("echo $x", "$x", False),
        ('echo "a$x"', '"a$x"', False),
        ("echo a{b,c}", "a{b,c}", False),
        ("echo a{1..3}", "a{1..3}", False),
        ("echo 'a{b,c}'", "a{b,c}", True),
        ("echo ~/x", "~/x", True),
    ],
)
def test_words_are_what_the_shell_will_see(text: str, word: str, static: bool) -> None:
    found = PARSER.parse(text).commands[0].words[1]
    assert (found.text, found.static) == (word, static)


@pytest.mark.requirement("guard:commands-words")
def test_redirections_assignments_and_pipes_belong_to_their_commands() -> None:
    shell = PARSER.parse("A=1 cat < in > out 2>&1 | tee x; { ls; } >> log; B=2")
    cat, tee, ls, bare = shell.commands
    assert [(r.operator, r.target.text) for r in cat.redirections] == [("<", "in"), (">", "out")]
    assert [name for name, _ in cat.assignments] == ["A"]
    assert (cat.fed_by, tee.fed_by) == (None, 0)
    assert [(r.operator, r.target.text) for r in ls.redirections] == [(">>", "log")]
    assert (bare.words, bare.assignments[0][0]) == ((), "B")
    assert PARSER.parse("f() { ls; }; f").functions == ("f",)
    deep = PARSER.parse("( " * 150 + "planted" + " )" * 150)
    assert deep.unparsable or "planted" in [c.words[0].text for c in deep.commands]
