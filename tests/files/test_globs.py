"""Glob semantics: names at any depth, slashes anchor, braces, classes, ** across folders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam_tui.adapters.search.globs import Glob
from sam_tui.core.errors import ToolError


@pytest.mark.requirement("search:globs")
@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py", "a.py/b"]),
        ("**/*.py", ["a.py", "x/y/a.py"], ["a.txt"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py", "a.py"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("./a.py", ["a.py"], ["x/a.py"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "x/src/a"]),
        ("src/", ["src/a", "src/b/c"], ["asrc/b"]),
        ("src/**/t/*.ts", ["src/t/a.ts", "src/x/y/t/a.ts"], ["src/a.ts", "t/a.ts"]),
        ("**/t/**", ["t/a", "x/t/y/z"], ["t", "x/tt/a"]),
        ("*.{py,js}", ["a.py", "b/c.js"], ["a.ts", "a.{py,js}"]),
        ("{src,lib}/**/*.{a,{b,c}d}", ["src/x.a", "lib/y/x.bd", "lib/x.cd"], ["src/x.d", "x.a"]),
        ("a?c", ["abc", "x/axc"], ["ac", "abbc", "a/c"]),
        ("[ab]x", ["ax", "bx"], ["cx", "abx"]),
        ("[!ab]x", ["cx"], ["ax", "/x"]),
        ("[a-c0-9].t", ["b.t", "7.t"], ["d.t", "-.t"]),
        ("[]x]", ["]", "x"], ["a"]),
        ("[", ["["], ["a"]),
        ("{a", ["{a"], ["a"]),
        ("{a}", ["{a}"], ["a"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("a.b", ["a.b"], ["axb"]),
        ("*a*b*c", ["xaxbxc", "abc"], ["acb", "abcd"]),
        ("te*st*", ["test", "teststst", "te-st"], ["tes"]),
        ("*", ["a", "b/c"], []),
        ("**", ["a", "b/c"], []),
    ],
)
def test_a_glob_means_what_people_expect(pattern: str, yes: list[str], no: list[str]):
    glob = Glob(pattern)
    assert [path for path in yes if not glob.matches(path)] == []
    assert [path for path in no if glob.matches(path)] == []


@pytest.mark.requirement("search:globs")
def test_a_glob_without_wildcards_can_mean_everything_below_a_folder():
    assert Glob("src", below=True).matches("a/src/b.py")
    assert Glob("src/x", below=True).matches("src/x/b.py")
    assert not Glob("src").matches("src/b.py")


@pytest.mark.requirement("search:globs")
@pytest.mark.parametrize("pattern", ["", " ", "../x", "a/../../b", "{a,b}" * 10, "**/a/" * 9])
def test_a_glob_that_is_empty_leaves_the_folder_or_explodes_is_refused(pattern: str):
    with pytest.raises(ToolError):
        Glob(pattern)


@pytest.mark.requirement("search:globs")
def test_a_hostile_glob_is_matched_in_linear_time():
    glob = Glob("*a" * 60 + "b")
    assert not glob.matches("a" * 4000)


@given(st.text("ab*?[]!{},/\\.^-", max_size=12), st.text("ab/.", max_size=8))
@pytest.mark.requirement("search:globs")
def test_any_text_is_a_glob_or_a_clear_error(pattern: str, path: str):
    try:
        glob = Glob(pattern)
    except ToolError:
        return
    glob.matches(path)
