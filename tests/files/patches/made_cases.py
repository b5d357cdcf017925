"""Patches that ``git diff`` and ``diff`` make, applied where they were made and elsewhere."""

from tests.files.patches.trees import Scenario, Tree, differed, made, numbers

N = numbers(20)
TAKEN = "what stands there would be lost"
HEX = "00ff10" + "".join(f"{n % 256:02x}" for n in range(0, 900, 7))


def one(text: str) -> dict[str, str]:
    return {"f": text}


_PLACES: list[Scenario] = [
    made(f"{name}, {option or 'as usual'}", one(N), one(new), *([option] if option else []))
    for name, new in {
        "a line in the middle": numbers(20, _10="ten"),
        "the first line": numbers(20, _1="one"),
        "the last line": numbers(20, _20="twenty"),
        "two places": numbers(20, _3="three", _17=""),
        "lines before the first": "0\n00\n" + N,
        "lines after the last": N + "21\n22\n",
        "the first lines go": N.removeprefix("1\n2\n3\n"),
    }.items()
    for option in ("", "-U1", "-U0")
]

_TEXTS: list[Scenario] = [
    made("a file is made", {}, one(N)),
    made("an empty file is made", {"g": "1\n"}, {"g": "1\n", "f": ""}),
    made("a file goes", one(N) | {"g": "1\n"}, {"g": "1\n"}),
    made("an empty file goes", one("") | {"g": "1\n"}, {"g": "1\n"}),
    made("a file in folders is made", {"g": "1\n"}, {"g": "1\n", "a/b/c/f": N}),
    made("the last file of a folder goes", {"a/b/f": "1\n", "g": ""}, {"g": ""}),
    made("a file becomes empty", one(N), one("")),
    made("an empty file is filled", one(""), one(N)),
    made("neither has a newline at its end", one("1\n2\n3"), one("1\ntwo\n3")),
    made("the last line has no newline and changes", one("1\n2\n3"), one("1\n2\nthree")),
    made("a newline comes to the end", one("1\n2\n3"), one("1\n2\n3\n")),
    made("a newline goes from the end", one("1\n2\n3\n"), one("1\n2\n3")),
    made("a file without newline is made", {}, one("1\n2")),
    made("a file without newline goes", one("1\n2"), {}),
    made("carriage returns stay", one("1\r\n2\r\n3\r\n"), one("1\r\ntwo\r\n3\r\n")),
    made("carriage returns come", one("1\n2\n3\n"), one("1\r\n2\r\n3\r\n")),
    made("one carriage return goes", one("1\r\n2\r\n3\r\n"), one("1\r\n2\n3\r\n")),
    made("odd ends inside lines", one("a\x0cb\n2\n\x1f\n"), one("a\x0cb\n\x0b\n\x1f\n")),
    made("letters of many alphabets", one("äöü\n日本\n"), one("äöü\n中文\n🙂\n")),
    made("lines that look like headers", one("-- a/f\n1\n"), one("++ b/f\n1\n-- c\n")),
    made("lines that look like hunks", one("@@ -1 +1 @@\n1\n"), one("@@ -2 +2 @@\n1\n")),
    made("blank lines around", one("\n\n1\n\n\n"), one("\n\n2\n\n\n")),
    made("only blanks differ", one("a\n  b\nc\n"), one("a\n\tb\nc  \n")),
    made("many hunks", one(numbers(200)), one(numbers(200, **{f"_{n}": "x" for n in range(5, 200, 20)}))),
    made("several files", {"a": "1\n", "b/c": "2\n", "d": "3\n"}, {"a": "x\n", "b/c": "y\n", "e": "3\n4\n"}),
    made("function context", one(N), one(numbers(20, _10="ten")), "-W"),
    made("more context than there is", one(N), one(numbers(20, _10="ten")), "-U30"),
    made("hunks joined", one(N), one(numbers(20, _3="x", _14="y")), "--inter-hunk-context=9"),
    made("whole hashes", one(N), one(numbers(20, _3="x")), "--full-index"),
    made("statistics above", one(N), one(numbers(20, _3="x")), "--patch-with-stat"),
    made("a summary and a raw list above", one(N), {"g": N}, "--patch-with-raw", "--summary", "-M"),
    made("a patch in reverse", one(numbers(20, _3="x")), one(N), "-R", on=one(N)),
    made("a rewritten file", one(N), one("a\nb\nc\n"), "-B"),
]  # fmt: skip

_NAMES: list[Scenario] = [
    made(f"the name {name!r}: {what}", before, after, *options)
    for name in (
        "with space", " leads", "trails ", "tab\tin", 'quo"te', "back\\slash", "new\nline", "ümlaut",
        "-dash", "--- a", "+++ b", "x b/x", "a/x", "b/x", "star*[1]?", "f 2024-01-02 03:04:05 +0000",
        ".hidden", "d e/f g", "bell\a", "'single'", "$HOME", "%s", "a b/a b",
    )
    for what, before, after, options in (
        ("a change", {name: "1\n2\n"}, {name: "1\ntwo\n"}, ()),
        ("made and run", {"k": ""}, {"k": "", name: ("exec", "1\n")}, ()),
        ("another name", {"old": N}, {name: numbers(20, _9="x")}, ("-M",)),
    )
]  # fmt: skip

_PREFIXES: list[Scenario] = [
    made(f"{what}, {name}", before, after, *options, strip=strip)
    for name, options, strip in (
        ("no prefix", ("--no-prefix", "-M"), 0),
        ("prefixes of their own", ("--src-prefix=old/", "--dst-prefix=new/", "-M"), 1),
        ("index and tree", ("--src-prefix=i/", "--dst-prefix=w/", "-M"), 1),
    )
    for what, before, after in (
        ("a file in a folder", {"d/e/f": "1\n2\n"}, {"d/e/f": "1\ntwo\n"}),
        ("a file made in a folder", {"g": "1\n"}, {"g": "1\n", "d/f": "2\n"}),
        ("a file moved", {"d/f": N}, {"e/g": numbers(20, _4="x")}),
        ("a file gone", {"d/f": "1\n", "g": "1\n"}, {"g": "1\n"}),
    )
]

_MODES: list[Scenario] = [
    made("a file may be run", one(N), {"f": ("exec", N)}),
    made("a file may no longer be run", {"f": ("exec", N)}, one(N)),
    made("a mode and a text change", one(N), {"f": ("exec", numbers(20, _3="x"))}),
    made("a file that may be run changes", {"f": ("exec", N)}, {"f": ("exec", numbers(20, _3="x"))}),
    made("a file that may be run goes", {"f": ("exec", N), "g": ""}, {"g": ""}),
    made("another name and mode", one(N), {"g": ("exec", N)}, "-M"),
]  # fmt: skip

_MOVES: list[Scenario] = [
    made("another name", one(N), {"g": N}, "-M"),
    made("another name and a change", one(N), {"g": numbers(20, _5="x")}, "-M"),
    made("into a folder", one(N), {"d/e/f": N}, "-M"),
    made("out of a folder", {"d/e/f": N}, one(N), "-M"),
    made("two files change names", {"f": N, "g": N.replace("1", "a")}, {"g": N, "f": N.replace("1", "a")}, "-B", "-M"),
    made("two files change names and texts", {"f": N, "g": N.replace("1", "a")}, {"g": numbers(20, _5="x"), "f": N.replace("1", "a").replace("7", "y")}, "-B20%", "-M60%"),
    made("three files change names in a circle", {"f": N, "g": N.replace("1", "a"), "h": N.replace("1", "b")}, {"g": N, "h": N.replace("1", "a"), "f": N.replace("1", "b")}, "-B", "-M"),
    made("a chain of names", {"f": N, "g": N.replace("1", "a")}, {"g": N, "h": N.replace("1", "a")}, "-B", "-M"),
    made("a name is taken by a new file", {"f": N}, {"g": N, "f": "new\n"}, "-B", "-M"),
    made("a file becomes its own folder", one(N), {"f/g": N}, "-M"),
    made("a folder becomes a file", {"f/g": N}, one(N), "-M"),
    made("a copy", one(N), {"f": N, "g": N}, "-C", "--find-copies-harder"),
    made("a copy with a change", one(N), {"f": N, "g": numbers(20, _5="x")}, "-C", "--find-copies-harder"),
    made("a copy while the first changes", one(N), {"f": numbers(20, _2="x"), "g": N}, "-C"),
    made("a copy and another name", one(N), {"g": N, "h": numbers(20, _5="x")}, "-C"),
    made("two copies and a change", one(N), {"f": numbers(20, _9="x"), "g": N, "d/h": ("exec", N)}, "-C"),
    made("a deletion without its text", one(N) | {"g": ""}, {"g": ""}, "-D"),
]  # fmt: skip

_TYPES: list[Scenario] = [
    made("a link is made", {"g": "1\n"}, {"g": "1\n", "l": ("link", "g")}),
    made("a link goes", {"g": "1\n", "l": ("link", "g")}, {"g": "1\n"}),
    made("a link leads elsewhere", {"g": "", "h": "", "l": ("link", "g")}, {"g": "", "h": "", "l": ("link", "h")}),
    made("a link gets another name", {"g": "", "l": ("link", "a/long/target")}, {"g": "", "m": ("link", "a/long/target")}, "-M"),
    made("a file becomes a link", {"f": N, "g": ""}, {"f": ("link", "g"), "g": ""}),
    made("a link becomes a file", {"f": ("link", "g"), "g": ""}, {"f": N, "g": ""}),
    made("a file becomes a folder", one("1\n"), {"f/g": "2\n"}),
    made("a folder becomes a file of other text", {"f/g": "1\n", "f/h": "3\n"}, one("2\n")),
    made("a link becomes a folder", {"l": ("link", "d"), "d/x": "1\n"}, {"l/y": "2\n", "d/x": "1\n"}),
    made("a folder becomes a link", {"l/y": "2\n", "d/x": "1\n"}, {"l": ("link", "d"), "d/x": "1\n"}),
    made("a link to a link's folder", {"d/x": "1\n"}, {"d/x": "1\n", "d/l": ("link", "../d/x")}),
    made("a copied link", {"l": ("link", "some/where/else")}, {"l": ("link", "some/where/else"), "m": ("link", "some/where/else")}, "-C", "--find-copies-harder"),
]  # fmt: skip

_BINARY: list[Scenario] = [
    made("a binary file is made", {"g": ""}, {"g": "", "f": ("bytes", HEX)}, "--binary"),
    made("a binary file changes a little", {"f": ("bytes", HEX)}, {"f": ("bytes", HEX[:400] + "0042" + HEX[404:])}, "--binary"),
    made("a binary file changes as a whole", {"f": ("bytes", HEX)}, {"f": ("bytes", "00" + HEX[300:330])}, "--binary"),
    made("a binary file goes", {"f": ("bytes", HEX), "g": ""}, {"g": ""}, "--binary"),
    made("a binary file gets another name", {"f": ("bytes", HEX)}, {"g": ("bytes", HEX + "01")}, "--binary", "-M"),
    made("a binary file is copied", {"f": ("bytes", HEX)}, {"f": ("bytes", HEX), "g": ("bytes", HEX)}, "--binary", "-C", "--find-copies-harder"),
    made("a binary and a text file", {"f": ("bytes", HEX), "t": "1\n"}, {"f": ("bytes", HEX + "00"), "t": "2\n"}, "--binary"),
    made("a text becomes binary", one("1\n"), {"f": ("bytes", "00" * 70)}, "--binary"),
    made("a binary file becomes empty", {"f": ("bytes", HEX)}, one(""), "--binary"),
    made("a binary file without its data", {"f": ("bytes", HEX)}, {"f": ("bytes", HEX + "00")}),
    made("a binary file made without its data", {"g": ""}, {"g": "", "f": ("bytes", HEX)}, refuse="nothing says what is in it"),
    made("a binary file that is another one", {"f": ("bytes", HEX)}, {"f": ("bytes", HEX + "00")}, "--binary", on={"f": ("bytes", HEX + "11")}),
]  # fmt: skip

_FOLDERS: list[Scenario] = [
    differed("two folders", {"f": N, "d/g": "1\n"}, {"f": numbers(20, _3="x"), "d/g": "2\n"}, "-ru"),
    differed("two folders, a file made", {"f": N}, {"f": N, "d/g": "1\n"}, "-ruN"),
    differed("two folders, a file gone", {"f": N, "d/g": "1\n"}, {"f": N}, "-ruN"),
    differed("two folders, only in one", {"f": N}, {"f": numbers(20, _3="x"), "g": "1\n"}, "-ru"),
    differed("two folders, functions shown", {"f": N}, {"f": numbers(20, _9="x")}, "-rup"),
    differed("two folders, no context", {"f": N}, {"f": numbers(20, _9="x", _12="")}, "-rU0"),
    differed("two folders, one line of context", {"f": N}, {"f": numbers(20, _9="x", _19="")}, "-rU1"),
    differed("two folders, a binary file", {"f": ("bytes", HEX), "t": "1\n"}, {"f": ("bytes", HEX + "00"), "t": "2\n"}, "-ru"),
    differed("two folders, spaces in names", {"a b/c d": "1\n"}, {"a b/c d": "2\n"}, "-ru"),
    differed("two folders, odd names", {'q"\\é': "1\n"}, {'q"\\é': "2\n"}, "-ru"),
    differed("two folders, no newline", {"f": "1\n2"}, {"f": "1\n3"}, "-ru"),
    differed("two folders, a text emptied", {"f": "1\n2\n"}, {"f": ""}, "-ru"),
    differed("two folders, far from the place", {"f": N}, {"f": numbers(20, _9="x")}, "-ru", on={"f": "0\n" * 9 + N}),
]  # fmt: skip

_CHANGE = one(numbers(20, _10="ten"))


def _elsewhere(name: str, text: str, *options: str, after: Tree | None = None) -> Scenario:
    return made(name, one(N), after or _CHANGE, *options, on=one(text))


_ELSEWHERE: list[Scenario] = [
    _elsewhere("three lines further down", "a\nb\nc\n" + N),
    _elsewhere("two lines further up", numbers(20, _1="", _2="")),
    _elsewhere("a hundred lines further down", "0\n" * 100 + N),
    _elsewhere("a first line of context differs", numbers(20, _7="x")),
    _elsewhere("a last line of context differs", numbers(20, _13="x")),
    _elsewhere("both outer lines of context differ", numbers(20, _7="x", _13="y")),
    _elsewhere("two lines of context on both sides differ", numbers(20, _7="x", _8="x", _13="y", _12="y")),
    _elsewhere("an inner line of context differs", numbers(20, _9="x")),
    _elsewhere("all context above differs", numbers(20, _7="x", _8="x", _9="x")),
    _elsewhere("the changed line differs", numbers(20, _10="zehn")),
    _elsewhere("the changed line is gone", numbers(20, _10="")),
    _elsewhere("blanks at the end of a context line", numbers(20, _9="9 ")),
    _elsewhere("blanks before the changed line", numbers(20, _10=" 10")),
    _elsewhere("an empty line in between", numbers(20, _9="9\n\n")),
    _elsewhere("it was applied before", numbers(20, _10="ten")),
    _elsewhere("lines after the last, and more come", N + "x\n", after=one(N + "21\n")),
    _elsewhere("lines after the last, applied before", N + "21\n", after=one(N + "21\n")),
    _elsewhere("lines before the first, and more stand above", "x\n" + N, after=one("0\n" + N)),
    _elsewhere("lines before the first, applied before", "0\n" + N, after=one("0\n" + N)),
    _elsewhere("the file is shorter", numbers(9)),
    _elsewhere("the file is empty", ""),
    _elsewhere("no newline at the end of the file", N.removesuffix("\n"), after=one(numbers(20, _20="x"))),
    _elsewhere("a newline that the patch does not know", N, after=one(N.removesuffix("\n"))),
    _elsewhere("one of two hunks fits", numbers(20, _17="x"), after=one(numbers(20, _3="a", _17="b"))),
    _elsewhere("the other of two hunks fits", numbers(20, _3="x"), after=one(numbers(20, _3="a", _17="b"))),
    _elsewhere("carriage returns in the file alone", N.replace("\n", "\r\n")),
    _elsewhere("the same lines twice", N + N),
    made("a file to change is not there", one(N), _CHANGE, on={"g": N}),
    made("a file to make is there", {"g": ""}, {"g": "", "f": N}, on={"g": "", "f": "1\n"}),
    made("a file to make is there with that text", {"g": ""}, {"g": "", "f": N}, on={"g": "", "f": N}),
    made("a file to make is a folder", {"g": ""}, {"g": "", "f": N}, on={"g": "", "f/h": "1\n"}),
    made("a folder of a file to make is a file", {"g": ""}, {"g": "", "f/h": N}, on={"g": "", "f": "1\n"}),
    made("a file to delete has more lines", one("1\n2\n") | {"g": ""}, {"g": ""}, on={"f": "1\n2\n3\n", "g": ""}),
    made("a file to delete is not there", one("1\n2\n") | {"g": ""}, {"g": ""}, on={"g": ""}),
    made("a file to delete is empty", one("1\n2\n") | {"g": ""}, {"g": ""}, on={"f": "", "g": ""}),
    made("a file to rename is not there", one(N), {"g": N}, "-M", on={"h": N}),
    made("a name to rename to is taken", one(N), {"g": N}, "-M", on={"f": N, "g": "1\n"}, refuse=TAKEN),
    made("a renamed file does not fit", one(N), {"g": numbers(20, _9="x")}, "-M", on={"f": numbers(20, _9="y")}),
    made("a name to copy to is taken", one(N), {"f": N, "g": N}, "-C", "--find-copies-harder", on={"f": N, "g": "1\n"}, refuse=TAKEN),
    made("a file to change is a link", one(N), _CHANGE, on={"f": ("link", "g"), "g": N}),
    made("a link to change is a file", {"l": ("link", "g")}, {"l": ("link", "h")}, on={"l": "g"}),
    made("a link to delete is a file", {"l": ("link", "g"), "k": ""}, {"k": ""}, on={"l": "g", "k": ""}),
    made("a link to delete leads elsewhere", {"l": ("link", "g"), "k": ""}, {"k": ""}, on={"l": ("link", "h"), "k": ""}),
    made("a mode was changed before", one(N), {"f": ("exec", N)}, on={"f": ("exec", N)}),
    made("a second file does not fit", {"a": N, "b": N}, {"a": "x\n" + N, "b": "x\n" + N}, on={"a": N, "b": "other\n"}),
    made("a file made although a second does not fit", {"b": "1\n"}, {"a": "new\n", "b": "2\n"}, on={"b": "3\n"}),
]  # fmt: skip

MADE = [
    *_PLACES, *_TEXTS, *_NAMES, *_PREFIXES, *_MODES, *_MOVES, *_TYPES, *_BINARY, *_FOLDERS,
    *_ELSEWHERE,
]  # fmt: skip
