"""Patches of random texts lead from one to the other, whoever wrote the diff."""

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam_tools.file_operations.document import Document
from sam_tools.file_operations.patch import parse, patched

LINE = st.sampled_from([
    "",
    "a",
    "b",
    "-- c",
    "++ d",
    " e",
    "\tf",
    "@@ g",
    "--- h",
    "+++ i",
    "\\ j",
])
LINES = st.lists(LINE, max_size=25)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    text = "\n".join(draw(LINES))
    return text + "\n" if text and draw(st.booleans()) else text


def unified(old: str, new: str, context: int = 3) -> str:
    """A diff as ``diff -u`` writes it, with its remark on missing newlines."""
    pieces = (old.split("\n"), new.split("\n"))
    kept = [[p + "\n" for p in piece[:-1]] + piece[-1:] * bool(piece[-1]) for piece in pieces]
    lines = difflib.unified_diff(kept[0], kept[1], "a/f", "b/f", n=context)
    remark = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + remark for line in lines)


def applied(old: str, patch: str) -> str:
    parsed = parse(patch)
    (file,) = parsed.files
    return patched(Document(old, "utf-8", b""), file, "f", style=parsed.style)[0]


@pytest.mark.requirement("files:patch-round-trip")
@settings(max_examples=300)
@given(texts(), texts(), st.integers(0, 4))
def test_a_diff_leads_to_the_target_and_the_reverse_diff_back(old: str, new: str, context: int):
    if old == new:
        return
    assert applied(old, unified(old, new, context)) == new
    assert applied(new, unified(new, old, context)) == old


@pytest.mark.requirement("files:patch-crlf")
@settings(max_examples=100)
@given(texts(), texts(), st.booleans(), ENDS)
def test_line_ends_of_the_file_stay_whatever_the_patch_has(
    old: str, new: str, wrapped: bool, end: str
):
    if old == new:
        return
    patch = unified(old, new)
    if wrapped:
        patch = patch.replace("\n", "\r\n")
    elif "\n" not in old or end == "\n":
        return
    result = applied(old.replace("\n", end), patch)
    assert result.replace("\r\n", "\n") == new
    if end == "\r\n" and "\n" in old:
        assert result.count("\r\n") == result.count("\n")
    if end == "\n":
        assert "\r" not in result


@pytest.mark.requirement("files:patch-crlf")
@settings(max_examples=60)
@given(texts(), texts())
def test_a_diff_of_two_crlf_files_as_git_writes_it_applies(old: str, new: str):
    if old == new:
        return
    old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    assert applied(old, unified(old, new)) == new


@pytest.mark.requirement("files:patch-crlf")
@settings(max_examples=100)
@given(st.lists(st.tuples(LINE, ENDS), max_size=12), st.lists(st.tuples(LINE, ENDS), max_size=12))
def test_a_diff_of_files_that_mix_line_ends_leads_to_the_target_byte_for_byte(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
):
    old, new = ("".join(line + end for line, end in side) for side in (before, after))
    if old == new or "\n" not in old:
        return
    patch = unified(old, new)
    assert applied(old, patch) == new


@pytest.mark.requirement("files:patch-offset")
@settings(max_examples=100)
@given(texts(), texts(), st.integers(1, 30))
def test_lines_added_above_shift_the_place(old: str, new: str, above: int):
    if old == new or not old.strip():
        return
    ahead = "".join(f"ahead {n}\n" for n in range(above))
    result = applied(ahead + old, unified(old, new, 30))
    assert result == ahead + new


@pytest.mark.requirement("files:patch-round-trip")
def test_diffs_of_the_system_s_own_diff_and_git_apply(tmp_path: Path):
    old = "".join(f"line {n}\n" for n in range(60))
    new = old.replace("line 3\n", "line three\n").replace("line 40\n", "").rstrip("\n")
    (tmp_path / "a").write_text(old, encoding="utf-8")
    (tmp_path / "b").write_text(new, encoding="utf-8")
    commands = (["diff", "-u"], ["git", "diff", "--no-index", "--no-color"])
    for command in [command for command in commands if shutil.which(command[0])]:
        done = subprocess.run(
            [*command, "a", "b"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert applied(old, done.stdout) == new
