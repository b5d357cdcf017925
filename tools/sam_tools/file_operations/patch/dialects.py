"""From the text of a patch to its pieces: which of the languages it is, and its wrapping."""

import re

from sam_tools.file_operations.patch.blocks import holds_blocks, parse_blocks
from sam_tools.file_operations.patch.envelope import parse_envelope
from sam_tools.file_operations.patch.pieces import Patch
from sam_tools.file_operations.patch.unified import parse_unified
from sam_tui.core.errors import ToolError

_SECTION = re.compile(r"\*\*\* (?:Update|Add|Delete) File:")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[\w+.-]*\s*\Z")
_HEREDOC = re.compile(r"(?:\$ )?apply_patch\s+<<-?\s*['\"]?(\w+)['\"]?\s*\Z")
_HEADER = re.compile(r"@@|\*\*\* [A-Z]|diff --git |Index: ")


def parse(text: str, path: str = "") -> Patch:
    """The pieces of a unified diff, a ``*** Begin Patch`` envelope or search and replace blocks.

    ``path`` names the file of a diff that names none. Raises ``ToolError`` saying what is wrong.
    """
    lines = _without_returns(_unindented(_unwrapped(text.removeprefix("\ufeff").split("\n"))))
    if any(_SECTION.match(line) for line in lines) and not _is_git(lines):
        patch = Patch(parse_envelope(lines), "envelope")
    elif holds_blocks(lines):
        patch = Patch(parse_blocks(lines, path), "envelope")
    else:
        body = [line for line in lines if not re.match(r"\*\*\* (?:Begin|End) Patch\s*\Z", line)]
        patch = Patch(parse_unified(body, path), "unified")
    if not patch.files:
        raise ToolError(
            "patchContent holds no patch: neither a file header with hunks nor a "
            "*** Begin Patch envelope.",
            hint="Write a unified diff (--- a/file, +++ b/file, @@ -1,3 +1,4 @@) or "
            "*** Begin Patch / *** Update File: file / @@ / *** End Patch.",
        )
    return patch.aimed(path) if path else patch


def _without_returns(lines: list[str]) -> list[str]:
    """Without the ``\\r`` of line ends, where all headers have it; in other lines it is text."""
    headers = [line for line in lines if _HEADER.match(line)]
    if not headers or not all(line.endswith("\r") for line in headers):
        return lines
    return [line.removesuffix("\r") for line in lines]


def _is_git(lines: list[str]) -> bool:
    """Whether it is git's own patch, whatever the words around it speak of."""
    git = any(line.startswith("diff --git ") for line in lines)
    return git and not any(line.startswith("*** Begin Patch") for line in lines)


def _unwrapped(lines: list[str]) -> list[str]:
    """Without a code fence or here-document around it, and without what follows the last line feed."""
    if lines and not lines[-1]:
        lines = lines[:-1]
    for opening in (_FENCE, _HEREDOC):
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        lines = lines[first:]
        if lines and (wrapped := opening.match(lines[0].rstrip("\r"))):
            last = max(at for at, line in enumerate(lines) if line.strip())
            end = last if lines[last].strip() == wrapped[1] else len(lines)
            lines = lines[1:end]
    return lines


def _unindented(lines: list[str]) -> list[str]:
    """Without the indentation that all of it has, as in a list of a model's answer."""
    first = next((line for line in lines if _HEADER.match(line.lstrip())), "")
    indent = first[: len(first) - len(first.lstrip())]
    if not indent or not all(line.startswith(indent) for line in lines if line.strip()):
        return lines
    return [line.removeprefix(indent) for line in lines]
