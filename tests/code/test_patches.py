"""apply_patch through the executor: whole or not at all, every path judged."""

from dataclasses import replace
from typing import Any

import pytest

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import Drop, Put

LINES = "".join(f"line {n}\n" for n in range(1, 21))


def hunk(*lines: str, header: str = "@@ -1 +1 @@") -> str:
    return "\n".join(["--- a/a.txt", "+++ b/a.txt", header, *lines, ""])


@pytest.mark.requirement("files:patch-unified")
async def test_one_patch_updates_creates_deletes_and_renames(shop: Any):
    shop.write("src/a.txt", LINES)
    shop.write("old.txt", "x\ny\n")
    shop.write("name with space.txt", "1\n2\n3\n")
    (shop.root / "name with space.txt").chmod(0o750)
    patch = """Some words before.

diff --git a/src/a.txt b/src/a.txt
index 111..222 100644
--- a/src/a.txt
+++ b/src/a.txt
@@ -2,3 +2,3 @@ somewhere
 line 2
-line 3
+line three
 line 4
@@ -18,3 +18,4 @@
 line 18
 line 19
 line 20
+line 21
diff --git a/new.sh b/new.sh
new file mode 100755
--- /dev/null
+++ b/new.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+echo
\\ No newline at end of file
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-x
-y
diff --git a/name with space.txt b/dir/ümlaut name.txt
similarity index 60%
rename from name with space.txt
rename to dir/ümlaut name.txt
--- a/name with space.txt\t
+++ b/dir/ümlaut name.txt\t
@@ -1,3 +1,3 @@
 1
-2
+two
 3
--\x20
2.43.0
"""
    done = await shop.done("apply_patch", patchContent=patch)
    assert shop.read("src/a.txt") == LINES.replace("line 3\n", "line three\n") + "line 21\n"
    assert shop.read("new.sh") == "#!/bin/sh\necho"
    assert (shop.root / "new.sh").stat().st_mode & 0o111 == 0o111
    assert shop.read("dir/ümlaut name.txt") == "1\ntwo\n3\n"
    assert (shop.root / "dir/ümlaut name.txt").stat().st_mode & 0o777 == 0o750
    assert sorted(shop.tree()) == ["dir/ümlaut name.txt", "new.sh", "src/a.txt"]
    assert done.finished.text.splitlines() == [
        "Patched 4 files (+5 -4)",
        "M src/a.txt (+2 -1)",
        "A new.sh",
        "D old.txt",
        "R name with space.txt -> dir/ümlaut name.txt",
    ]
    assert [d.path for d in done.finished.display][-1].endswith("-> dir/ümlaut name.txt")


@pytest.mark.requirement("files:patch-envelope")
async def test_an_envelope_updates_adds_deletes_and_moves(shop: Any):
    shop.write(
        "app.py",
        "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n",
    )
    shop.write("gone.py", "whatever\n")
    shop.write("old.py", "a = 1   \nb = 2\n")
    await shop.done(
        "apply_patch",
        patchContent="""```diff
*** Begin Patch
*** Update File: app.py
@@ class B:
@@     def f(self):
-        return 1
+        return 2
*** Add File: pkg/new.py
+one
+
+two
*** Delete File: gone.py
*** Update File: old.py
*** Move to: pkg/moved.py
@@
-a = 1
+a = 3
 b = 2
*** End of File
*** End Patch
```""",
    )
    assert shop.read("app.py").endswith("class B:\n    def f(self):\n        return 2\n")
    assert "return 1" in shop.read("app.py")
    assert shop.read("pkg/new.py") == "one\n\ntwo\n"
    assert shop.read("pkg/moved.py") == "a = 3\nb = 2\n"
    assert sorted(shop.tree()) == ["app.py", "pkg/moved.py", "pkg/new.py"]


@pytest.mark.requirement("files:patch-all-or-nothing")
async def test_one_hunk_that_does_not_fit_leaves_every_file_alone(shop: Any):
    shop.write("a.txt", LINES)
    shop.write("b.txt", "def alpha():\n    return 1\n")
    text = await shop.refused(
        "apply_patch",
        patchContent="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-line 1\n+one\n"
        "--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n def alpha():\n-    return 2\n+    return 3\n",
    )
    assert "b.txt: the hunk does not fit at line 1" in text
    assert "The nearest is at lines 1-2:\ndef alpha():" in text


@pytest.mark.requirement("files:patch-all-or-nothing")
async def test_a_write_that_fails_in_the_middle_puts_the_earlier_ones_back(shop: Any):
    files = {
        "a.txt": shop.write("a.txt", "1\n"),
        "b.txt": shop.write("b.txt", "2\n"),
        "c.txt": shop.write("c.txt", "3\n"),
    }
    identities = {name: file.stat().st_ino for name, file in files.items()}
    # The last step writes below something that is no folder, so it fails when it is made.
    text = await shop.refused(
        "apply_patch",
        patchContent="*** Begin Patch\n*** Update File: a.txt\n-1\n+one\n*** Delete File: b.txt\n"
        "*** Update File: c.txt\n*** Move to: d.txt\n-3\n+three\n*** Add File: new.txt\n+x\n"
        "*** Add File: made/deep/new.txt\n+x\n*** Add File: new.txt/below.txt\n+x\n*** End Patch",
    )
    assert not (shop.root / "made").exists()
    assert "a part of this path is a file" in text
    assert {name: file.stat().st_ino for name, file in files.items()} == identities
    assert shop.journal.entries(shop.conversation) == []


@pytest.mark.requirement("files:patch-paths-judged")
@pytest.mark.parametrize(
    "patch",
    [
        "--- a/../out.txt\n+++ b/../out.txt\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ /tmp/sam-out.txt\n@@ -0,0 +1 @@\n+x\n",
        '--- /dev/null\n+++ "b/../o\\303\\274t.txt"\n@@ -0,0 +1 @@\n+x\n',
        "diff --git a/a.txt b/../b.txt\nrename from a.txt\nrename to ../b.txt\n",
        "*** Begin Patch\n*** Add File: ../x\n+x\n*** End Patch",
        "*** Begin Patch\n*** Delete File: link/victim\n*** End Patch",
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ~/moved\n*** End Patch",
        "*** Begin Patch\n*** Update File: a.txt\n-1\n+2\n*** Add File: link/x\n+x\n*** End Patch",
    ],
)
async def test_every_path_in_a_patch_is_judged_before_anything_happens(shop: Any, patch: str):
    shop.write("a.txt", "1\n")
    outside = shop.root.parent / "outside"
    outside.mkdir()
    (outside / "victim").write_text("v", encoding="utf-8")
    (shop.root / "link").symlink_to(outside)
    text = await shop.refused("apply_patch", patchContent=patch)
    assert "needs an approval" in text
    assert [f.name for f in outside.iterdir()] == ["victim"]


@pytest.mark.requirement("files:patch-paths-judged")
async def test_each_path_is_declared_under_its_own_parameter(shop: Any):
    operation = next(o for o in shop.tool.operations if o.name == "apply_patch")
    arguments = operation.arguments.model_validate({
        "patchContent": "*** Begin Patch\n*** Update File: a\n-1\n+2\n*** Update File: b\n"
        "*** Move to: c\n*** Delete File: d\n*** Add File: /e\n+x\n*** End Patch",
        "target_directory": "sub/",
    })
    assert [(a.parameter, a.path, a.kind, a.follow) for a in operation.accesses(arguments)] == [
        ("patchContent[0]", "sub/a", "write", True),
        ("patchContent[1]", "sub/b", "write", False),
        ("patchContent[1].to", "sub/c", "write", False),
        ("patchContent[2]", "sub/d", "write", False),
        ("patchContent[3]", "/e", "write", True),
    ]


@pytest.mark.requirement("files:patch-arguments")
async def test_a_dry_run_writes_nothing_and_shows_the_difference(shop: Any):
    shop.write("a.txt", "1\n2\n")
    before = shop.tree()
    done = await shop.done("apply_patch", patchContent=hunk("-1", "+one"), dry_run=True)
    assert shop.tree() == before
    assert done.finished.text.startswith("Dry run, nothing was changed: 1 file (+1 -1)")
    assert "-1\n+one" in done.finished.text
    assert shop.journal.entries(shop.conversation) == []


@pytest.mark.requirement("files:patch-arguments")
async def test_the_file_and_the_folder_can_be_given_beside_the_patch(shop: Any):
    shop.write("sub/a.txt", "1\n2\n")
    shop.write("other.txt", "1\n2\n")
    await shop.done("apply_patch", patchContent=hunk("-1", "+one"), target_directory="sub")
    assert shop.read("sub/a.txt") == "one\n2\n"
    await shop.done("apply_patch", patchContent=hunk("-1", "+one"), filePath="other.txt")
    await shop.done("apply_patch", patchContent="@@ -2 +2 @@\n-2\n+two\n", filePath="other.txt")
    assert shop.read("other.txt") == "one\ntwo\n"


@pytest.mark.requirement("files:patch-clear-errors")
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("hello", "holds no patch"),
        ("@@ -1 +1 @@\n-1\n+2\n", "has no name"),
        (hunk("-1", "what is this"), "line 5: 'what is this' is neither context nor change"),
        ("--- a/a.txt\n+++ b/a.txt\nBinary files a and b differ\n", "binary changes"),
        (hunk(" 1", " 2"), "changes nothing"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "a.txt already exists"),
        ("--- /dev/null\n+++ b/n.txt\n@@ -1 +1 @@\n-x\n", "removes 'x' from it"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "2 lines of it are not in the patch"),
        ("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-1\n+2\n", "none cannot be read: not found"),
        ("*** Begin Patch\n*** Delete File: none\n*** End Patch", "not found"),
        ("*** Begin Patch\n*** Update File: a.txt\n*** End Patch", "nothing is changed in a.txt"),
        (
            "*** Begin Patch\n*** Update File: a.txt\n@@ nowhere\n-1\n+2\n",
            "belongs below 'nowhere'",
        ),
        ("*** Begin Patch\nstray\n*** Delete File: a.txt\n*** End Patch", "stands outside"),
        ("*** Begin Patch\n*** Add File: n\n+x\ny\n*** End Patch", "begin with +"),
        (
            "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n+x\n*** End Patch",
            "two parts",
        ),
        (
            "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n",
            "b.txt already exists, and the patch renames to it",
        ),
        ("--- a/a.txt\n+++ b/a.txt\n@@\n+x\n", "neither context nor a line number"),
    ],
)
async def test_what_cannot_be_applied_says_why(shop: Any, patch: str, said: str):
    shop.write("a.txt", "1\n2\n3\n")
    shop.write("b.txt", "1\n")
    assert said in await shop.refused("apply_patch", patchContent=patch)


@pytest.mark.requirement("files:patch-clear-errors")
async def test_a_change_that_is_there_already_is_told(shop: Any):
    shop.write("a.txt", "0\none\n2\n")
    text = await shop.refused("apply_patch", patchContent=hunk("-1", "+one"))
    assert "there already, at line 2" in text


@pytest.mark.requirement("files:changed-meanwhile")
async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(shop: Any):
    file = shop.write("a.txt", "1\n")
    other = shop.write("b.txt", "1\n")
    snapshots = {
        name: shop.files.snapshot(shop.workspace.locate(name), limit=100)
        for name in ("a.txt", "b.txt")
    }
    other.write_text("somebody else\n", encoding="utf-8")
    steps = [
        Put(shop.workspace.locate("a.txt"), b"2\n", snapshots["a.txt"]),
        Put(shop.workspace.locate("b.txt"), b"2\n", snapshots["b.txt"]),
    ]
    with pytest.raises(ToolError, match=r"b\.txt was changed meanwhile"):
        shop.files.apply(steps)
    with pytest.raises(ToolError, match=r"b\.txt was changed meanwhile"):
        shop.files.apply([Drop(shop.workspace.locate("b.txt"), snapshots["b.txt"])])
    assert file.read_text(encoding="utf-8") == "1\n"
    assert other.read_text(encoding="utf-8") == "somebody else\n"
    assert sorted(shop.tree()) == ["a.txt", "b.txt"]


@pytest.mark.requirement("files:changed-meanwhile")
@pytest.mark.parametrize("link", [False, True])
async def test_of_two_who_create_a_file_the_second_learns_what_to_do(shop: Any, link: bool):
    put = Put(shop.workspace.locate("new.txt"), b"first", None)
    shop.files.apply([put])
    with pytest.raises(
        ToolError, match=r"new\.txt already exists: .* created it meanwhile"
    ) as error:
        shop.files.apply([replace(put, data=b"second", link=link)])
    assert error.value.hint == "Read it, then edit it or write it again."
    assert shop.read("new.txt") == "first"


@pytest.mark.requirement("files:patch-unified")
async def test_what_is_copied_is_the_file_before_its_own_change(shop: Any):
    shop.write("a.txt", "1\n2\n")
    await shop.done(
        "apply_patch",
        patchContent="diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n"
        "diff --git a/a.txt b/b.txt\ncopy from a.txt\ncopy to b.txt\n",
    )
    assert (shop.read("a.txt"), shop.read("b.txt")) == ("one\n2\n", "1\n2\n")


@pytest.mark.requirement("files:patch-unified")
@pytest.mark.parametrize(
    ("patch", "after"), [("-\ufeff1\n+one", "one\n2\n"), ("-1\n+one", "\ufeffone\n2\n")]
)
async def test_a_byte_order_mark_goes_only_by_a_patch_that_spells_it(
    shop: Any, patch: str, after: str
):
    shop.write("a.txt", "\ufeff1\n2\n")
    await shop.done("apply_patch", patchContent=hunk(*patch.split("\n")))
    assert shop.read("a.txt") == after


@pytest.mark.requirement("files:patch-unified")
async def test_a_mode_holds_when_a_later_part_changes_the_same_file(shop: Any):
    shop.write("a.txt", "1\n2\n")
    mode = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"
    await shop.done(
        "apply_patch", patchContent=mode + "@@ -1 +1 @@\n-1\n+one\n" + hunk("-2", "+two")
    )
    assert shop.read("a.txt") == "one\ntwo\n"
    assert (shop.root / "a.txt").stat().st_mode & 0o111 == 0o111


@pytest.mark.requirement("files:patch-unified")
async def test_a_part_that_changes_nothing_is_told(shop: Any):
    shop.write("a.txt", "1\n")
    shop.write("b.txt", "1\n")
    same = hunk(" 1").replace("a.txt", "b.txt")
    done = await shop.done("apply_patch", patchContent=hunk("-1", "+one") + same)
    assert done.finished.text.split("\n") == [
        "Patched 1 file (+1 -1)",
        "M a.txt (+1 -1)",
        "= b.txt: nothing to change, it is so already",
    ]


@pytest.mark.requirement("files:patch-as-git")
async def test_folders_that_a_patch_leaves_empty_go_with_the_last_file(shop: Any):
    shop.write("d/e/a.txt", "1\n")
    shop.write("g/h/b.txt", "1\n2\n3\n")
    shop.write("g/stays.txt", "1\n")
    await shop.done(
        "apply_patch",
        patchContent="diff --git a/d/e/a.txt b/d/e/a.txt\ndeleted file mode 100644\n"
        "--- a/d/e/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
        "diff --git a/g/h/b.txt b/b.txt\nsimilarity index 100%\nrename from g/h/b.txt\n"
        "rename to b.txt\n",
    )
    assert sorted(path.name for path in shop.root.rglob("*")) == ["b.txt", "g", "stays.txt"]
    entry = shop.journal.entries(shop.conversation)[0]
    shop.journal.undo(shop.conversation, entry.id)
    assert sorted(shop.tree()) == ["d/e/a.txt", "g/h/b.txt", "g/stays.txt"]
