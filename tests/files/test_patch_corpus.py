"""Patches as they come: tricky, slightly wrong, or ambiguous."""

import re

import pytest

from sam_tools.file_operations.document import Document
from sam_tools.file_operations.patch import parse, patched
from sam_tui.core.errors import ToolError

NUMBERS = "".join(f"{n}\n" for n in range(1, 31))


def applied(old: str, patch: str) -> str:
    return told(old, patch)[0]


def told(old: str, patch: str) -> tuple[str, list[str]]:
    parsed = parse(patch)
    (file,) = parsed.files
    return patched(Document(old, "utf-8", b""), file, "f", style=parsed.style)


def diff(*body: str) -> str:
    return "\n".join(["--- a/f", "+++ b/f", *body]) + "\n"


def envelope(*body: str) -> str:
    return "\n".join(["*** Begin Patch", "*** Update File: f", *body, "*** End Patch"])


CORPUS = {
    "a removed line that begins with two dashes": (
        "-- a\nb\n",
        diff("@@ -1,2 +1,2 @@", "--- a", "+++ c", " b"),
        "++ c\nb\n",
    ),
    "a removed and an added line that look like a header, counts wrong": (
        "x\n-- a\nb\n",
        diff("@@ -1,9 +1,9 @@", " x", "--- a", "+c", " b"),
        "x\nc\nb\n",
    ),
    "an empty context line without its space": (
        "a\n\nb\n",
        diff("@@ -1,3 +1,3 @@", " a", "", "-b", "+c"),
        "a\n\nc\n",
    ),
    "a context line with its tab but without its space": (
        "\ta\nb\n",
        diff("@@ -1,2 +1,2 @@", "\ta", "-b", "+c"),
        "\ta\nc\n",
    ),
    "at the very start": ("1\n2\n", diff("@@ -1,2 +1,3 @@", "+0", " 1", " 2"), "0\n1\n2\n"),
    "at the very end": ("1\n2\n", diff("@@ -1,2 +1,3 @@", " 1", " 2", "+3"), "1\n2\n3\n"),
    "the last line goes": ("1\n2\n", diff("@@ -1,2 +1 @@", " 1", "-2"), "1\n"),
    "everything goes": ("1\n2\n", diff("@@ -1,2 +0,0 @@", "-1", "-2"), ""),
    "the last line goes and had no newline": (
        "1\n2",
        diff("@@ -1,2 +1 @@", " 1", "-2", "\\ No newline at end of file"),
        "1\n",
    ),
    "a newline is added at the end": (
        "1\n2",
        diff("@@ -1,2 +1,2 @@", " 1", "-2", "\\ No newline at end of file", "+2"),
        "1\n2\n",
    ),
    "a newline is taken from the end": (
        "1\n2\n",
        diff("@@ -1,2 +1,2 @@", " 1", "-2", "+2", "\\ No newline at end of file"),
        "1\n2",
    ),
    "a file without newline and a patch that forgot": (
        "1\n2",
        diff("@@ -1,2 +1,2 @@", " 1", "-2", "+two"),
        "1\ntwo",
    ),
    "a line after the last one that has no newline": (
        "1\n2",
        diff("@@ -1,2 +1,3 @@", " 1", " 2", "+3"),
        "1\n2\n3",
    ),
    "an empty line among those after the last one that has no newline": (
        "1",
        diff("@@ -1 +1,3 @@", " 1", "+", "+3"),
        "1\n\n3",
    ),
    "counts too large": (
        "1\n2\n3\n",
        diff("@@ -1,7 +1,9 @@", " 1", "-2", "+two", " 3"),
        "1\ntwo\n3\n",
    ),
    "counts too small": (
        "1\n2\n3\n",
        diff("@@ -1,1 +1,1 @@", " 1", "-2", "+two", " 3"),
        "1\ntwo\n3\n",
    ),
    "no counts at all": ("1\n2\n3\n", diff("@@ @@", " 1", "-2", "+two"), "1\ntwo\n3\n"),
    "only two signs": ("1\n2\n3\n", diff("@@", "-2", "+two"), "1\ntwo\n3\n"),
    "a line number that is far off": (
        NUMBERS,
        diff("@@ -1,3 +1,3 @@", " 19", "-20", "+twenty", " 21"),
        NUMBERS.replace("20\n", "twenty\n"),
    ),
    "several hunks that shift one another": (
        NUMBERS,
        diff("@@ -2,1 +2,3 @@", "-2", "+a", "+b", "+c", "@@ -20,2 +22,1 @@", " 20", "-21"),
        NUMBERS.replace("\n2\n", "\na\nb\nc\n", 1).replace("21\n", ""),
    ),
    "hunks in the wrong order": (
        NUMBERS,
        diff("@@ -20 +20 @@", "-20", "+twenty", "@@ -2 +2 @@", "-2", "+two"),
        NUMBERS.replace("20\n", "twenty\n").replace("\n2\n", "\ntwo\n", 1),
    ),
    "insertions without any context, by number": (
        "1\n2\n",
        diff("@@ -1,0 +2,1 @@", "+1.5", "@@ -2,0 +4 @@", "+3"),
        "1\n1.5\n2\n3\n",
    ),
    "one line of context is wrong": (
        NUMBERS,
        diff("@@ -9,5 +9,5 @@", " nine", " 10", "-11", "+eleven", " 12", " 13"),
        NUMBERS.replace("11\n", "eleven\n"),
    ),
    "two lines of context are wrong": (
        NUMBERS,
        diff("@@ -9,7 +9,7 @@", " x", " y", " 11", "-12", "+twelve", " 13", " 14", " 15"),
        NUMBERS.replace("12\n", "twelve\n"),
    ),
    "the nearest of several places": (
        "x\n" * 5 + "y\n" + "x\n" * 5 + "y\n",
        diff("@@ -11,2 +11,2 @@", " x", "-y", "+z"),
        "x\n" * 5 + "y\n" + "x\n" * 5 + "z\n",
    ),
    "a timestamp behind the name": (
        "1\n",
        "--- f 2024-01-02 03:04:05.000000000 +0000\n+++ f 2024-01-02 03:04:06 +0000\n"
        "@@ -1 +1 @@\n-1\n+2\n",
        "2\n",
    ),
    "svn's header": (
        "1\n",
        "Index: f\n==========\n--- f\t(revision 1)\n+++ f\t(working copy)\n@@ -1 +1 @@\n-1\n+2\n",
        "2\n",
    ),
    "a form feed and other odd ends inside a line": (
        "a\fb\u2028c\nd\n",
        diff("@@ -1,2 +1,2 @@", " a\fb\u2028c", "-d", "+e"),
        "a\fb\u2028c\ne\n",
    ),
    "an old Mac's file": ("1\r2\r3\r", diff("@@ -2 +2 @@", "-2", "+two"), "1\rtwo\r3\r"),
    "trailing white space that the model left out": (
        "a  \nb\t\nc\n",
        envelope("@@", " a", "-b", "+x", " c"),
        "a  \nx\nc\n",
    ),
    "indentation that the model got wrong": (
        "    a\n    b\n",
        envelope(" a", "-b", "+    x"),
        "    a\n    x\n",
    ),
    "an envelope without any context adds at the end": ("1\n", envelope("+2"), "1\n2\n"),
    "the end of the file is meant": (
        "x\ny\nx\n",
        envelope("@@", "-x", "+z", "*** End of File"),
        "x\ny\nz\n",
    ),
    "an anchor chooses": (
        "def a():\n    x\ndef b():\n    x\n",
        envelope("@@ def b():", "-    x", "+    y"),
        "def a():\n    x\ndef b():\n    y\n",
    ),
    "an anchor that the hunk repeats": (
        "def a():\n    x\ndef b():\n    x\n",
        envelope("@@ def b():", " def b():", "-    x", "+    y"),
        "def a():\n    x\ndef b():\n    y\n",
    ),
    "a hunk line of a diff inside an envelope": (
        "1\n2\n1\n",
        envelope("@@ -3,1 +3,1 @@", "-1", "+3"),
        "1\n2\n3\n",
    ),
    "a diff inside an envelope": (
        "1\n",
        "*** Begin Patch\n" + diff("@@ -1 +1 @@", "-1", "+2") + "*** End Patch\n",
        "2\n",
    ),
    "a here-document around it": (
        "1\n",
        "apply_patch <<'EOF'\n" + envelope("-1", "+2") + "\nEOF\n",
        "2\n",
    ),
    "a fence around it": ("1\n", "```diff\n" + diff("@@ -1 +1 @@", "-1", "+2") + "```\n", "2\n"),
    "a last line of context that is one blank": (
        "a\n-\n \nb\n",
        diff("@@ -1,3 +1,2 @@", " a", "--", "  ").removesuffix("\n"),
        "a\n \nb\n",
    ),
    "a blank line of context at the end, its counts wrong": (
        "a\n-\n\n",
        diff("@@ -1,9 +1,2 @@", " a", "--", " "),
        "a\n\n",
    ),
    "git's signature below a mailed patch, counts wrong": (
        "1\n2\n",
        diff("@@ -1,5 +1,5 @@", " 1", "-2", "+two", "-- ", "2.43.0"),
        "1\ntwo\n",
    ),
    "a byte order mark before it": ("1\n", "\ufeff" + diff("@@ -1 +1 @@", "-1", "+2"), "2\n"),
    "new lines among others of a file that mixes its ends": (
        "a\r\nb\r\nc\r\nd\ne\n",
        diff("@@ -4,2 +4,3 @@", " d", "+x", " e"),
        "a\r\nb\r\nc\r\nd\nx\ne\n",
    ),
    "only one of the two names": ("1\n", "+++ b/f\n@@ -1 +1 @@\n-1\n+2\n", "2\n"),
    "prose around a fence": (
        "1\n",
        "Here it is:\n\n```diff\n" + diff("@@ -1 +1 @@", "-1", "+2") + "```\n\nIt works.\n",
        "2\n",
    ),
    "prose around an envelope": (
        "1\n",
        "Here it is:\n\n```\n" + envelope("-1", "+2") + "\n```\n\nIt works.\n",
        "2\n",
    ),
    "a patch indented as a whole": (
        "1\n",
        "".join(f"    {line}\n" for line in envelope("-1", "+2").split("\n")),
        "2\n",
    ),
    "plain quotes, dashes and blanks for typographic ones": (
        "say “hi” — now\u00a0then\nb\n",
        diff("@@ -1,2 +1,2 @@", ' say "hi" - now then', "-b", "+c"),
        "say “hi” — now\u00a0then\nc\n",
    ),
    "a whole hunk without the indentation of the file": (
        "class A:\n    def f():\n        x\n        y\n",
        diff("@@ -2,3 +2,4 @@", " def f():", "-    x", "+    if x:", "+        z", "     y"),
        "class A:\n    def f():\n        if x:\n            z\n        y\n",
    ),
    "blanks for the tabs of the file": (
        "f:\n\tx\n\t\ty\n",
        diff("@@ -1,3 +1,3 @@", " f:", "     x", "-        y", "+    z"),
        "f:\n\tx\n\tz\n",
    ),
    "context without indentation, changes with it": (
        "    a\n    b\n    c\n",
        diff("@@ -1,3 +1,3 @@", " a", "-    b", "+    x", " c"),
        "    a\n    x\n    c\n",
    ),
    "an anchor that is the beginning of a signature": (
        "def a(x):\n    x\ndef b(x, y) -> int:\n    x\n",
        envelope("@@ def b(", "-    x", "+    y"),
        "def a(x):\n    x\ndef b(x, y) -> int:\n    y\n",
    ),
    "search and replace blocks below a name": (
        "1\n2\n3\n",
        "### `f`\n```py\n<<<<<<< SEARCH\n1\n2\n=======\n1\ntwo\n>>>>>>> REPLACE\n```\n"
        "<<<<<<< SEARCH\n3\n=======\n>>>>>>> REPLACE\n",
        "1\ntwo\n",
    ),
    "an envelope that never ends": (
        "1\n",
        "*** Begin Patch\n*** Update File: f\n@@\n-1\n+2",
        "2\n",
    ),
}


@pytest.mark.requirement("files:patch-tolerant")
@pytest.mark.parametrize("name", CORPUS)
def test_a_patch_as_models_and_tools_write_it_applies(name: str):
    old, patch, new = CORPUS[name]
    assert applied(old, patch) == new


@pytest.mark.requirement("files:patch-offset")
def test_what_went_elsewhere_or_fit_but_nearly_is_told():
    _, remarks = told(NUMBERS, diff("@@ -1,3 +1,3 @@", " 19", "-20", "+twenty", " 21"))
    assert remarks == ["hunk 1 at line 19 (offset +18)"]
    _, remarks = told(NUMBERS, diff("@@ -9,3 +9,3 @@", " nine", "-10", "+ten", " 11"))
    assert remarks == ["hunk 1 at line 9 (fuzz 1)"]
    _, remarks = told(NUMBERS, diff("@@ -9,3 +9,3 @@", " 9", "-10", "+ten", " 11"))
    assert remarks == []


@pytest.mark.requirement("files:patch-clear-errors")
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (
            diff("@@ -1,3 +1,3 @@", " 1", "-2", "+x", " 3", "@@ -2,3 +2,3 @@", "-2", "+y", " 3"),
            "hunk 2 of 2 overlaps another hunk (line 2)",
        ),
        (envelope("-x", "+y"), "fits in 3 places: lines 31, 32, 33"),
        (
            diff("@@ -8,3 +8,3 @@", " 8", "-nine", "+x", " 10"),
            "does not fit at line 8; line 9 is '9', and the patch has 'nine'",
        ),
        (diff("@@ -7 +7 @@", "-q", "+x"), "line 7 is '7', and the patch has 'q'"),
        (
            diff("@@ -8,9 +8,9 @@", " a", " b", " c", "-9", "+x", " d", " e", " f"),
            "does not fit at line 8",
        ),
        (diff("@@ -99,0 +100 @@", "+x"), "does not fit at line 99"),
        (envelope("-1", "+y", "*** End of File"), "does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(patch: str, said: str):
    with pytest.raises(ToolError) as error:
        applied(NUMBERS + "x\nx\nx\n", patch)
    assert said in str(error.value)
    assert str(error.value).startswith("f: ")


@pytest.mark.requirement("files:patch-names")
@pytest.mark.parametrize(
    ("patch", "kind", "path", "target"),
    [
        ("--- a/x y.txt\t2024\n+++ b/x y.txt\t2024\n@@ -1 +1 @@\n-1\n+2\n", "update", "x y.txt", ""),
        ("--- a/a/b\n+++ b/a/b\n@@ -1 +1 @@\n-1\n+2\n", "update", "a/b", ""),
        ("--- a/b\n+++ a/b\n@@ -1 +1 @@\n-1\n+2\n", "update", "a/b", ""),
        ("--- x.orig\n+++ x\n@@ -1 +1 @@\n-1\n+2\n", "update", "x", ""),
        ("--- x\n+++ x.new\n@@ -1 +1 @@\n-1\n+2\n", "update", "x", ""),
        (
            '--- "a/t\\tb\\"\\\\\\303\\244ö"\n+++ "b/t\\tb\\"\\\\\\303\\244ö"\n@@ -1 +1 @@\n-1\n+2\n',
            "update", 't\tb"\\äö', "",
        ),
        ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+2\n", "create", "n", ""),
        ("--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n", "delete", "o", ""),
        ("diff --git a/e b/e\nnew file mode 100644\nindex 000..e69\n", "create", "e", ""),
        ("diff --git a/e b/e\ndeleted file mode 100644\nindex 000..e69\n", "delete", "e", ""),
        ("diff --git a/o n b/o n\nold mode 100644\nnew mode 100755\n", "update", "o n", ""),
        ("diff --git a/o b/n\nrename from o\nrename to n\n", "update", "o", "n"),
        ("diff --git a/o b/n\ncopy from o\ncopy to n\n", "copy", "o", "n"),
        (
            "diff --git i/a w/a\nnew file mode 100644\n"
            "--- /dev/null\n+++ w/a\n@@ -0,0 +1 @@\n+2\n",
            "create", "a", "",
        ),
        (
            "diff --git i/a w/a\ndeleted file mode 100644\n"
            "--- i/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n",
            "delete", "a", "",
        ),
        (
            "diff --git a/a a/a\ndeleted file mode 100644\n"
            "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n",
            "delete", "a/a", "",
        ),
        ("diff --git x/y x/y\n--- x/y\n+++ x/y\n@@ -1 +1 @@\n-1\n+2\n", "update", "x/y", ""),
    ],
)  # fmt: skip
def test_names_are_read_as_diff_and_git_write_them(patch: str, kind: str, path: str, target: str):
    (file,) = parse(patch).files
    assert (file.kind, file.path, file.target) == (kind, path, target or path)


@pytest.mark.requirement("files:patch-names")
def test_a_header_in_the_middle_of_a_body_begins_the_next_file_when_counts_allow():
    patch = parse(
        diff("@@ -1,2 +1,2 @@", " x", "-y", "+z")
        + diff("@@ -1 +1 @@", "-1", "+2").replace("f", "g")
    )
    assert [file.path for file in patch.files] == ["f", "g"]
    assert [len(file.hunks[0].lines) for file in patch.files] == [3, 2]


@pytest.mark.requirement("files:patch-clear-errors")
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("diff --git a/l b/l\nold mode 100644\nnew mode 120000\n", "l cannot have the modes"),
        ("diff --git a/f b/f\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n", "contradicts itself"),
        (
            "diff --cc f\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,2 @@@\n  1\n++x\n",
            "line 1: a combined diff of a merge",
        ),
        ("<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n", "line 1: the block has no file"),
        ("f\n<<<<<<< SEARCH\n1\n=======\n2\n", "line 4: the block does not end"),
    ],
)
def test_what_cannot_be_read_as_a_patch_of_files_is_refused(patch: str, said: str):
    with pytest.raises(ToolError, match=re.escape(said)):
        parse(patch)


@pytest.mark.requirement("files:patch-tolerant")
def test_envelopes_one_after_the_other_are_all_read():
    files = parse(envelope("-1", "+2") + "\nAnd then:\n" + envelope("-3", "+4")).files
    assert [[line.text for line in file.hunks[0].old] for file in files] == [["1"], ["3"]]


@pytest.mark.requirement("files:patch-offset")
def test_many_hunks_of_alike_lines_are_placed_without_a_look_at_every_line_for_each():
    old = "x\n" * 20_000
    hunks = [f"@@ -{at},1 +{at},1 @@\n-x\n+{at}\n" for at in range(1, 20_000, 10)]
    new = applied(old, diff().removesuffix("\n") + "\n" + "".join(hunks))
    assert new.splitlines()[::10] == [str(at) for at in range(1, 20_000, 10)]
