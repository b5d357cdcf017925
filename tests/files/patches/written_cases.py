"""Patches written by hand: what tools put around them, and what must be refused."""

from tests.files.patches.trees import Scenario, numbers, written

N = numbers(20)
ON = {"f": "1\n2\n3\n4\n5\n6\n7\n"}
HUNK = "@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+four\n 5\n 6\n"
GIT = "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n"
PLAIN = "--- a/f\n+++ b/f\n"
MAIL = (
    "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
    "From: A <a@example.invalid>\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] x\n\n"
    "- one thing\n- another\n--- not a header\n@@ neither\n---\n f | 2 +-\n"
    " 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
)
MAKE = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..5626abf\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n"
LINK = "diff --git a/{0} b/{0}\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{1}\n\\ No newline at end of file\n"
UNLIKE = "the names of the header contradict each other"
TWICE = "one of them would be lost"
COUNTS = "the counts promise other lines"
LINKED = "git writes through no link"
OUTSIDE = "it lies outside, or in git's own folder"
EPOCH = "1970-01-01 00:00:00.000000000 +0000"
DAY = "2024-05-05 10:00:00.000000000 +0200"


def _of(name: str) -> str:
    return GIT.replace("/f", f"/{name}") + HUNK


_WRAPPED: list[Scenario] = [
    written("git's header", ON, GIT + HUNK),
    written("a plain header", ON, PLAIN + HUNK),
    written("a mail around it", ON, MAIL + GIT + HUNK + "-- \n2.39.5\n\n"),
    written("two mails", ON, MAIL + GIT + HUNK + "-- \n2.39.5\n\n" + MAIL + GIT + HUNK.replace("-4\n+four", "-four\n+vier") + "-- \n2.39.5\n\n"),
    written("a mail with carriage returns", ON, (MAIL + GIT + HUNK + "-- \n2.39.5\n\n").replace("\n", "\r\n")),
    written("separators of lines inside lines", {"f": "a\u2028b\n2\n"}, GIT + "@@ -1,2 +1,2 @@\n a\u2028b\n-2\n+x\u0085y\n"),
    written("a byte order mark in the context", {"f": "\ufeff1\n2\n"}, GIT + "@@ -1,2 +1,2 @@\n \ufeff1\n-2\n+x\n"),
    written("only one name in quotes", {"ä": "1\n"}, 'diff --git "a/\\303\\244" b/x\nsimilarity index 100%\nrename from "\\303\\244"\nrename to x\n'),
    written("a signature of its own", ON, GIT + HUNK + "-- \nsent by hand\n"),
    written("text after it", ON, GIT + HUNK + "\nThat is all.\n"),
    written("a list after it", ON, GIT + HUNK + "\n- one\n- two\nend\n"),
    written("text at once after it", ON, GIT + HUNK + "garbage here\n"),
    written("a list after a plain one", ON, PLAIN + HUNK + "\n- one\n- two\nend\n"),
    written("text between two files", ON | {"g": ON["f"]}, GIT + HUNK + "\nand\n\n" + _of("g")),
    written("text before it", ON, "Hello,\n\nthis mends it:\n\n" + GIT + HUNK),
    written("words of another dialect before it", ON, "It says *** Update File: and\n*** Update File: f\nbelow.\n\n" + GIT + HUNK),
    written("a line of another dialect in it", {"f": "1\n"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,4 @@\n-1\n+<<<<<<< SEARCH\n+x\n+=======\n+>>>>>>> REPLACE\n"),
    written("an extended header that nobody knows", ON, GIT.replace("index", "frobnication x\nindex") + HUNK),
    written("Index lines as of svn", ON, "Index: f\n" + "=" * 67 + "\n--- f\t(revision 1)\n+++ f\t(working copy)\n" + HUNK, strip=0),
    written("Index lines and folders", {"d/f": ON["f"]}, "Index: d/f\n" + "=" * 67 + "\n--- d/f\t(revision 1)\n+++ d/f\t(working copy)\n" + HUNK, strip=0),
    written("cvs", {"d/f": ON["f"]}, "Index: d/f\n" + "=" * 67 + "\nRCS file: /cvs/d/f,v\nretrieving revision 1.1\ndiff -u -r1.1 f\n--- d/f\t5 May 2024 10:00:00 -0000\t1.1\n+++ d/f\t5 May 2024 10:00:01 -0000\n" + HUNK, strip=0),
    written("hg", ON, "diff -r 000000000000 f\n--- a/f\tThu Jan 01 00:00:00 2024 +0000\n+++ b/f\tThu Jan 01 00:00:01 2024 +0000\n" + HUNK),
    written("bzr", ON, f"=== modified file 'f'\n--- f\t{DAY}\n+++ f\t{DAY}\n" + HUNK, strip=0),
    written("no context prefix on an empty line", {"f": "1\n\n3\n"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n\n-3\n+three\n"),
    written("an empty line of context at the end", {"f": "1\n2\n\n"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n\n"),
    written("counts of one left out", {"f": "1\n"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+one\n"),
    written("an offset in the line numbers", ON, GIT + HUNK.replace("-2,5 +2,5", "-3,5 +5,5")),
    written("line numbers of zero", ON, GIT + HUNK.replace("-2,5 +2,5", "-0,5 +0,5")),
    written("two parts that name one file", ON, GIT + "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n" + GIT + "@@ -4,4 +4,4 @@\n 4\n 5\n 6\n-7\n+seven\n"),
    written("two plain parts that name one file", ON, PLAIN + "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n" + PLAIN + "@@ -4,4 +4,4 @@\n 4\n 5\n 6\n-7\n+seven\n"),
    written("a second part on what the first made", ON, GIT + HUNK + GIT + "@@ -2,5 +2,5 @@\n 2\n 3\n-four\n+vier\n 5\n 6\n"),
    written("made, then changed", ON, MAKE + "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1 @@\n-one\n+two\n"),
    written("deleted, then made anew", {"n": "one\n"}, "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" + MAKE.replace("+one", "+two")),
    written("renamed, then changed under the new name", ON, "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n" + _of("g")),
    written("changed, then renamed", ON, GIT + HUNK + "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"),
    written("a rename swap with texts", {"f": "1\n", "g": "2\n"}, "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-1\n+one\ndiff --git a/g b/f\nrename from g\nrename to f\n--- a/g\n+++ b/f\n@@ -1 +1 @@\n-2\n+two\n"),
    written("rename old and new", ON, "diff --git a/f b/g\nsimilarity index 100%\nrename old f\nrename new g\n"),
    written("a submodule moves on", ON | {"sub/x": ""}, "diff --git a/sub b/sub\nindex 1111111..2222222 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1111111111111111111111111111111111111111\n+Subproject commit 2222222222222222222222222222222222222222\n" + GIT + HUNK),
    written("a submodule comes", ON, "diff --git a/sub b/sub\nnew file mode 160000\nindex 0000000..2222222\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 2222222222222222222222222222222222222222\n" + GIT + HUNK),
    written("a log of a submodule", ON, "Submodule sub 1111111..2222222:\n  > a commit\n  < another\n" + GIT + HUNK),
    written("removed by the date", {"f": "1\n"}, f"--- a/f\t{DAY}\n+++ b/f\t{EPOCH}\n@@ -1 +0,0 @@\n-1\n"),
    written("made by the date", {}, f"--- a/f\t{EPOCH}\n+++ b/f\t{DAY}\n@@ -0,0 +1 @@\n+1\n"),
    written("removed by the date, west", {"f": "1\n"}, f"--- a/f\t{DAY}\n+++ b/f\t1969-12-31 18:00:00.000000000 -0600\n@@ -1 +0,0 @@\n-1\n"),
    written("emptied by a date that is none of these", {"f": "1\n"}, f"--- a/f\t{DAY}\n+++ b/f\t1970-01-01 00:00:01.000000000 +0000\n@@ -1 +0,0 @@\n-1\n"),
    written("removed by the date, blanks", {"d/f": "1\n"}, f"--- a/d/f {DAY}\n+++ b/d/f {EPOCH}\n@@ -1 +0,0 @@\n-1\n"),
    written("removed below nothing", {"f": "1\n"}, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"),
    written("made above nothing", {}, "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+1\n"),
    written("a date behind a name with blanks", {"a b": "1\n"}, f"--- a/a b\t{DAY}\n+++ b/a b\t{DAY}\n@@ -1 +1 @@\n-1\n+2\n"),
    written("the old name ends in .orig", {"d/f": "1\n"}, "--- d/f.orig\n+++ d/f\n@@ -1 +1 @@\n-1\n+2\n", strip=0),
    written("the new name ends in .new", {"d/f": "1\n"}, "--- d/f\n+++ d/f.new\n@@ -1 +1 @@\n-1\n+2\n", strip=0),
    written("names without folders", {"f": "1\n"}, "--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\n", strip=0),
    written("a header of git without its plain names", {"f": N}, "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"),
    written("an empty file of git's header", {}, "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"),
    written("quoted names of both kinds", {"\u00e4 b": "1\n"}, 'diff --git "a/\\303\\244 b" "b/\\303\\244 b"\n--- "a/\\303\\244 b"\n+++ "b/\\303\\244 b"\n@@ -1 +1 @@\n-1\n+2\n'),
    written("no newline, with other words", {"f": "1"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n\\ Kein Zeilenumbruch am Dateiende.\n+2\n\\ Kein Zeilenumbruch am Dateiende.\n"),
    written("a script for ed", ON, "4c\nfour\n.\n"),
    written("a diff without context", ON, "4c4\n< 4\n---\n> four\n"),
    written("a context diff", {"f": "1\n2\n"}, "*** a/f\n--- b/f\n***************\n*** 1,2 ****\n  1\n! 2\n--- 1,2 ----\n  1\n! two\n"),
    written("two folders of other names", {"d/f": ON["f"]}, "diff -ru pkg-1.0/d/f pkg-1.1/d/f\n--- pkg-1.0/d/f\n+++ pkg-1.1/d/f\n" + HUNK),
    written("two folders deep below others", {"d/f": ON["f"]}, "--- x/y/old/d/f\n+++ x/y/new/d/f\n" + HUNK, strip=3),
    written("two folders of a diff without an index", {"d/f": ON["f"]}, "diff --git a/old/d/f b/new/d/f\nindex 1..2 100644\n--- a/old/d/f\n+++ b/new/d/f\n" + HUNK, strip=2),
    written("standard input as the new file", {"d/f": ON["f"]}, f"--- a/d/f\t{DAY}\n+++ -\t{DAY}\n" + HUNK),
    written("a mode that everybody may run", ON, "diff --git a/f b/f\nold mode 100644\nnew mode 100777\n"),
    written("fuzz, but not above the first line", {"f": "a\n}\na\na\n}\na\n\n"}, GIT + "@@ -1,4 +1,4 @@\n a\n \n-}\n+x\n a\n"),
    written("a mode that is as it was said not to be", ON, "diff --git a/f b/f\nold mode 100755\nnew mode 100644\n"),
]  # fmt: skip

_CORRUPT: list[Scenario] = [
    written("more lines promised than there are", ON, GIT + HUNK.replace("-2,5 +2,5", "-2,6 +2,6"), refuse=COUNTS),
    written("fewer lines promised", ON, GIT + HUNK.replace("-2,5 +2,5", "-2,2 +2,2")),
    written("old lines miscounted", ON, GIT + HUNK.replace("-2,5", "-2,4")),
    written("new lines miscounted", ON, GIT + HUNK.replace("+2,5", "+2,9")),
    written("counts of nothing", ON, GIT + HUNK.replace("-2,5 +2,5", "-2,0 +2,0")),
    written("cut in the middle", ON, GIT + HUNK[: HUNK.index("+four")]),
    written("a line that is neither context nor change", ON, GIT + HUNK.replace("-4", "4")),
    written("line numbers that are none", ON, GIT + HUNK.replace("-2,5 +2,5", "-x,5 +y,5")),
    written("line numbers beyond all files", ON, GIT + HUNK.replace("-2,5 +2,5", "-2,55555555555555555555 +2,5")),
    written("a hunk without a file", ON, HUNK),
    written("only words", ON, "This is no patch.\n"),
    written("a header without anything below", ON, GIT),
    written("names alone", ON, PLAIN),
    written("a name that goes up and down", {"d/f": ON["f"]}, _of("x/../d/f")),
    written("quotes with bytes that are none", {"f": ON["f"], "d/f": ON["f"]}, 'diff --git "a/d/\\546" "b/d/\\546"\n--- "a/d/\\546"\n+++ "b/d/\\546"\n' + HUNK),
    written("quotes with bytes of two digits", {"d/&": ON["f"]}, 'diff --git "a/d/\\46" "b/d/\\46"\n--- "a/d/\\46"\n+++ "b/d/\\46"\n' + HUNK),
    written("no newline in the middle", ON, GIT + HUNK.replace(" 3\n", " 3\n\\ No newline at end of file\n")),
    written("no newline, and the file goes on", {"f": "1\n2\n3\n"}, PLAIN + "@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+two\n"),
    written("a later hunk fits above an earlier one", {"f": "1\n2\n3\n4\n5\n6\n"}, PLAIN + "@@ -3,2 +3,2 @@\n 4\n-5\n+x\n@@ -9,2 +9,2 @@\n 1\n-2\n+y\n"),
    written("only context", ON, GIT + "@@ -2,3 +2,3 @@\n 2\n 3\n 4\n"),
    written("a binary part without data", {"f": ("bytes", "00ff")}, "diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 2\n\n"),
    written("binary data that is cut", {"f": ("bytes", "00ff")}, f"diff --git a/f b/f\nindex {'1' * 40}..{'2' * 40} 100644\nGIT binary patch\nliteral 20\nIcmZ\n\nliteral 0\nHcmV?d00001\n\n"),
    written("binary data of other letters", {}, f"diff --git a/f b/f\nnew file mode 100644\nindex {'0' * 40}..{'2' * 40}\nGIT binary patch\nliteral 4\nL \"[]'\n\nliteral 0\nHcmV?d00001\n\n"),
    written("a marker of no newline is missing", {"f": "1\n2"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n"),
    written("a marker of no newline too many", {"f": "1\n2\n"}, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+two\n"),
    written("a new file that removes lines", {}, "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-1\n+2\n"),
    written("a deleted file that keeps lines", {"f": "1\n2\n"}, "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +1 @@\n 1\n-2\n"),
    written("a merge of two parents", ON, "diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -2,3 -2,3 +2,3 @@@\n  2\n- 3\n -x\n++three\n  4\n"),
    written("hunks in the wrong order", {"f": N}, GIT + "@@ -15,3 +15,3 @@\n 15\n-16\n+x\n 17\n@@ -3,3 +3,3 @@\n 3\n-4\n+y\n 5\n"),
    written("hunks that overlap", {"f": N}, GIT + "@@ -3,5 +3,5 @@\n 3\n 4\n-5\n+x\n 6\n 7\n@@ -6,5 +6,5 @@\n 6\n 7\n-8\n+y\n 9\n 10\n"),
]  # fmt: skip

_NAMED: list[Scenario] = [
    written("the new name is another one", ON, "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..5\n--- /dev/null\n+++ b/f-blah\n@@ -0,0 +1 @@\n+1\n"),
    written("the old name is another one", ON, "diff --git a/f b/f\ndeleted file mode 100644\nindex 5..0000000\n--- a/f-blah\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"),
    written("a rename to another name", ON, "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n--- a/f\n+++ b/h\n" + HUNK, refuse=UNLIKE),
    written("a rename of another name", ON | {"h": ON["f"]}, "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n--- a/h\n+++ b/g\n" + HUNK, refuse=UNLIKE),
    written("the new name is missing", ON, "diff --git a/f b/f\nindex 1..2\n--- a/f\n" + HUNK, refuse=UNLIKE),
    written("the old name is missing", ON, "diff --git a/f b/f\nindex 1..2\n+++ b/f\n" + HUNK, refuse=UNLIKE),
    written("a new file with an old name", ON, "diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+1\n", refuse=UNLIKE),
    written("a deleted file with a new name", {"f": "1\n"}, "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-1\n", refuse=UNLIKE),
    written("two names and no rename", ON, "diff --git a/f b/g\n--- a/f\n+++ b/g\n" + HUNK),
    written("a rename from nothing", ON, "diff --git a/f b/g\nrename to g\n"),
    written("two plain names of two files", ON | {"g": "x\n"}, "--- a/f\n+++ b/g\n" + HUNK, refuse=UNLIKE),
    written("made twice", {}, MAKE + MAKE, refuse=TWICE),
    written("deleted twice", {"n": "one\n"}, 2 * "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"),
    written("deleted, then changed", ON, "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,7 +0,0 @@\n-1\n-2\n-3\n-4\n-5\n-6\n-7\n" + GIT + HUNK),
    written("renamed, then changed under the old name", ON, "diff --git a/f b/g\nrename from f\nrename to g\n" + GIT + HUNK),
    written("two renames to one name", {"f": "1\n", "g": "2\n"}, "diff --git a/f b/h\nrename from f\nrename to h\ndiff --git a/g b/h\nrename from g\nrename to h\n", refuse=TWICE),
    written("one file renamed twice", {"f": "1\n"}, "diff --git a/f b/g\nrename from f\nrename to g\ndiff --git a/f b/h\nrename from f\nrename to h\n"),
    written("a rename over a file that a later part changes", {"f": "1\n", "g": "2\n"}, "diff --git a/f b/g\nrename from f\nrename to g\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-2\n+3\n"),
    written("a file becomes its own folder, and a later part fails", ON, "diff --git a/f b/f/d/g\nsimilarity index 100%\nrename from f\nrename to f/d/g\n" + MAKE + MAKE.replace("/n", "/n/m")),
    written("a folder becomes a file, but holds another", {"f/g": "one\n", "f/h": "1\n"}, "diff --git a/f/g b/f/g\ndeleted file mode 100644\n--- a/f/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" + MAKE.replace("/n", "/f").replace("/full", "/null")),
    written("a folder becomes a file, and a later part fails", {"f/d/g": "one\n"}, "diff --git a/f/d/g b/f/d/g\ndeleted file mode 100644\n--- a/f/d/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n" + MAKE.replace("/n", "/f").replace("/full", "/null") + MAKE + MAKE.replace("/n", "/n/m")),
    written("a file and a file below it", {}, MAKE + MAKE.replace("/n", "/n/m")),
    written("new modes that cannot be", ON, "diff --git a/f b/f\nold mode 100644\nnew mode 1007zz\n"),
    written("a type that changes in place", ON, "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n"),
]  # fmt: skip

_OUTSIDE: list[Scenario] = [
    written(f"{what}: {name}", ON, text.replace("/NAME", f"/{name}").replace(" NAME", f" {name}"), refuse=OUTSIDE)
    for name in ("../out", "d/../../out", ".git/hooks/post-commit", "x/.git/config", "/etc/sam-patch")
    for what, text in (
        ("made outside", MAKE.replace("/n", "/NAME").replace("/NAMEull", "/null")),
        ("renamed to outside", "diff --git a/f b/NAME\nsimilarity index 100%\nrename from f\nrename to NAME\n"),
        ("copied from outside", "diff --git a/NAME b/g\nsimilarity index 100%\ncopy from NAME\ncopy to g\n"),
        ("a link outside", LINK.format("NAME", "f")),
    )
]  # fmt: skip

_LINKS: list[Scenario] = [
    written("through a link that is there", {"l": ("link", ".."), **ON}, MAKE.replace("/n\n", "/l/n\n").replace("/n b/l", "/l/n b/l")),
    written("through a link in the tree", {"l": ("link", "d"), "d/f": "1\n"}, "diff --git a/l/f b/l/f\n--- a/l/f\n+++ b/l/f\n@@ -1 +1 @@\n-1\n+2\n"),
    written("through a link that the patch makes", {}, LINK.format("l", "..") + MAKE.replace("a/n b/n", "a/l/n b/l/n").replace("+++ b/n", "+++ b/l/n")),
    written("through a link inside that the patch makes", {"d/f": ""}, LINK.format("l", "d") + MAKE.replace("a/n b/n", "a/l/n b/l/n").replace("+++ b/n", "+++ b/l/n"), refuse=LINKED),
    written("through a link that the patch renames", {"k": ("link", "..")}, "diff --git a/k b/l\nsimilarity index 100%\nrename from k\nrename to l\n" + MAKE.replace("a/n b/n", "a/l/n b/l/n").replace("+++ b/n", "+++ b/l/n")),
    written("a file becomes a link and is written through", {"f": "1\n"}, "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n" + LINK.format("f", "../out") + "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"),
    written("a link to a folder outside", {}, LINK.format("l", "../out"), refuse="what it leads to is judged as written"),
    written("a link to an absolute path", {}, LINK.format("l", "/etc/passwd"), refuse="what it leads to is judged as written"),
    written("a link into git's own folder", {}, LINK.format("l", ".git/hooks"), refuse="what it leads to is judged as written"),
    written("a link with two lines", {}, LINK.format("l", "a\n+b").replace("+1 @@", "+1,2 @@"), refuse="no link has such a target"),
]  # fmt: skip

WRITTEN = [*_WRAPPED, *_CORRUPT, *_NAMED, *_OUTSIDE, *_LINKS]
