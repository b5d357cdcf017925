"""The block that the transcript's cursor marks, in the person's editor: its file, or its text."""

import os
import re

from sam_tui.core.display import Diff
from sam_tui.core.text.nesting import json_object
from sam_tui.ui import programs
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.plain import one_line
from sam_tui.ui.transcript.blocks import Block, Card, plain

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)[^\n]*\n((?: [^\n]*\n)*)", re.MULTILINE)
"""A hunk's first line number in the new file, and the context lines before its first change."""
_CITED = re.compile(r"([\w./-]+\.\w+):(\d+)")
"""A file with a line number, as answers and compilers write it."""
_PATHS, _LINES = ("filePath", "path"), ("startLine", "line", "lineNumber")
"""Names of arguments with a path, and with a line number."""


def named_file(block: Block) -> tuple[str, int] | None:
    """The file that a block is about, as the block names it, and a line number in it."""
    content = block.content
    if isinstance(content, Card):
        for display in content.displays:
            if isinstance(display, Diff):
                hunk = _HUNK.search(display.unified)
                line = int(hunk[1]) + hunk[2].count("\n") if hunk else 1
                return display.path, max(1, line)
        if named := _argument_file(content.arguments):
            return named
    cited = _CITED.search(plain(content))
    return (cited[1], int(cited[2])) if cited else None


def _argument_file(arguments: str) -> tuple[str, int] | None:
    values = json_object(arguments) or {}
    paths = [path for key in _PATHS if isinstance(path := values.get(key), str)]
    lines = [line for key in _LINES if isinstance(line := values.get(key), int)]
    return (paths[0], max(1, *lines, 1)) if paths else None


class BlockEditor:
    """Opens only files of the workspace, because a block may contain anybody's text."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def open(self) -> None:
        """Open the file of the marked block at its line; where it names none, its text to be saved."""
        block = self._context.marked_block()
        if block is None:
            return
        named = named_file(block)
        path = self._inside(named[0]) if named else ""
        text = self._context.screen.transcript.source_of(block)
        self._context.app.run_worker(
            self._lend(path, named[1] if named else 1, text), group="reader"
        )

    def _inside(self, path: str) -> str:
        """The real path of a file in the workspace; empty for anything else."""
        root = os.path.realpath(self._context.runtime.workspace.root)
        real = os.path.realpath(os.path.join(root, path))
        return real if real.startswith(f"{root}{os.sep}") and os.path.isfile(real) else ""

    async def _lend(self, path: str, line: int, text: str) -> None:
        app = self._context.app
        if path:
            trouble = await programs.open_file(app, path, line)
        else:
            trouble = await programs.read(app, "editor", text)
        if trouble:
            self._context.notify_briefly(one_line(trouble, 200))
