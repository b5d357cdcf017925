"""Patches as other agents write them, and what must not be lost or misread in them."""

import re

import pytest

from sam_tools.file_operations.document import Document
from sam_tools.file_operations.patch import parse, patched
from sam_tui.core.errors import ToolError

OLD = "one\ntwo\nthree\n"
BLOCK = "<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n"
HEADER = "--- a/f.py\n+++ b/f.py\n"


def applied(old: str, patch: str) -> str:
    parsed = parse(patch)
    (file,) = parsed.files
    assert file.path == "f.py"
    style = "git" if file.exact else parsed.style
    return patched(Document(old, "utf-8", b""), file, "f.py", style=style)[0]


@pytest.mark.requirement("files:patch-tolerant")
@pytest.mark.parametrize(
    "patch",
    [
        "f.py\n" + BLOCK.replace("<<<<<<<", "-------").replace(">>>>>>>", "+++++++"),
        "f.py\n" + BLOCK.replace("SEARCH", "SEARCH>"),
        "f.py\n" + BLOCK.replace("SEARCH\n", "SEARCH\n:start_line:2\n:end_line:2\n-------\n"),
        BLOCK.replace("SEARCH", "SEARCH f.py"),
        f"Some words.\n```python f.py\n{BLOCK}```\n",
        f"**f.py**\n```python\n{BLOCK}```\n",
        "*** Begin Patch\n*** Update File: `f.py`\n@@\n-two\n+TWO\n*** End Patch\n",
        '*** Begin Patch  \n*** Update File: "f.py"  \n@@\n-two\n+TWO\n*** End Patch  \n',
    ],
)
def test_blocks_and_envelopes_of_other_agents_are_read(patch: str):
    assert applied(OLD, patch) == "one\nTWO\nthree\n"


@pytest.mark.requirement("files:patch-clear-errors")
@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (
            "*** f\n--- f\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n",
            "holds a context diff",
        ),
        ("2c2\n< two\n---\n> TWO\n", "holds a diff without context"),
        ("2c\nTWO\n.\n", "holds a script for ed"),
        ("d2 1\na2 1\nTWO\n", "holds a script for ed"),
        (HEADER + "@@ -1,2 +1,2 @@\n", "line 4: this hunk has no lines"),
        (HEADER + "@@ -1 +1 @@\n-- \n2.39\n", "line 4: this hunk has no lines"),
        (HEADER + "@@ -1,3 +1,3 @@\n one\n-two\n```\n+TWO\n", "'```' is neither context"),
        (HEADER + "@@ -1,3 +1,3 @@\n one\n-two\n*** x\n+TWO\n", "'*** x' is neither context"),
        (
            "diff --git a/f b/h\nnew file mode 100644\nrename from f\nrename to h\n",
            "contradicts itself: it is moved",
        ),
        (
            "diff --git a/f b/h\nrename from f\nrename to h\nrename from g\nrename to h\n",
            "rename from is said twice",
        ),
    ],
)
def test_what_is_another_form_or_would_lose_lines_is_refused_by_name(patch: str, said: str):
    with pytest.raises(ToolError, match=re.escape(said)):
        parse(patch)


@pytest.mark.requirement("files:patch-tolerant")
def test_a_removed_item_of_a_list_is_no_signature():
    assert applied("a\n- \n- b\n", HEADER + "@@ -2 +2 @@\n-- \n-- b\n+c\n") == "a\nc\n"


@pytest.mark.requirement("files:patch-clear-errors")
@pytest.mark.parametrize(
    ("old", "hunk", "said"),
    [
        ("0\n" + OLD, "@@ -1,2 +1,3 @@\n+x\n one\n two\n", "no context above its change, so it "
         "belongs where the file begins; its lines stand at line 2"),
        (OLD + "4\n", "@@ -2,2 +2,3 @@\n two\n three\n+x\n", "no context below its change, so it "
         "belongs where the file ends; its lines stand at line 2"),
    ],
)  # fmt: skip
def test_a_hunk_at_an_edge_that_moved_says_so(old: str, hunk: str, said: str):
    with pytest.raises(ToolError, match=re.escape(said)):
        applied(old, f"diff --git a/f.py b/f.py\n{HEADER}{hunk}")
