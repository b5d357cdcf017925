"""Diffs: right whatever changed, and bounded whatever the size."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sam_tools.file_operations.changes import difference


@pytest.mark.requirement("files:diff")
@given(st.text("ab\n", max_size=60), st.text("ab\n", max_size=60))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_diff_applied_by_patch_gives_the_new_text(tmp_path: Path, old: str, new: str):
    diff = difference("f", old, new)
    if old == new:
        assert diff.unified == ""
        return
    assert _applied(tmp_path, old, diff.unified) == new
    lines = diff.unified.split("\n")
    assert diff.added == sum(line.startswith("+") for line in lines)
    assert diff.removed == sum(line.startswith("-") for line in lines)


def _applied(folder: Path, old: str, unified: str) -> str:
    patch = shutil.which("patch")
    if patch is None:
        return _applied_by_hand(old, unified)
    (folder / "f").write_text(old, encoding="utf-8")
    subprocess.run(
        [patch, "-s", "--no-backup-if-mismatch", "f"],
        cwd=folder,
        input=f"--- f\n+++ f\n{unified}\n",
        text=True,
        check=True,
        capture_output=True,
    )
    return (folder / "f").read_text(encoding="utf-8") if (folder / "f").exists() else ""


def _applied_by_hand(old: str, unified: str) -> str:
    source, result, at, last = old.splitlines(keepends=True), list[str](), 0, ""
    for line in unified.split("\n"):
        if line.startswith("@@"):
            begin, _, count = line.split()[1][1:].partition(",")
            upto = int(begin) - (0 if count == "0" else 1)
            result += source[at:upto]
            at = upto
        elif line.startswith("\\"):
            if last == "+":
                result[-1] = result[-1].removesuffix("\n")
        else:
            last = line[0]
            result += [f"{line[1:]}\n"] if last == "+" else [source[at]] if last == " " else []
            at += last in " -"
    return "".join([*result, *source[at:]])


@pytest.mark.requirement("files:diff")
def test_a_small_change_in_a_big_file_still_has_its_hunk():
    lines = [f"line {n}\n" for n in range(200_000)]
    old = "".join(lines)
    new = "".join([*lines[:150_000], "changed\n", *lines[150_001:]])
    diff = difference("f", old, new)
    assert diff.unified.splitlines()[0] == "@@ -149998,7 +149998,7 @@"
    assert (diff.added, diff.removed) == (1, 1)


@pytest.mark.requirement("files:diff")
def test_a_change_of_everything_in_a_big_file_is_cut_or_summed_up():
    many = difference("f", "a\n" * 10_000, "b\n" * 10_000)
    assert (many.added, many.removed) == (10_000, 10_000)
    assert many.unified.count("\n") == 800
    huge = difference("f", "", "x" * 40 + "\n" + "y\n" * 600_000)
    assert (huge.added, huge.removed) == (600_001, 0)
    assert huge.unified == "@@ 0 lines removed, 600001 lines added @@"
    wide = difference("f", "", "x" * 100_000)
    assert len(wide.unified) < 600
