"""multi_replace_string: exact replacements in several files, all of them or none."""

import asyncio
from collections.abc import Mapping, Sequence

from sam_tools.file_operations.arguments import MultiReplaceString
from sam_tools.file_operations.changes import difference, lf
from sam_tools.file_operations.commits import Commits
from sam_tools.file_operations.content import Content, text_of
from sam_tools.file_operations.document import Document
from sam_tools.file_operations.names import basename, counted
from sam_tools.file_operations.replacing import replaced
from sam_tui.core.accesses import Access, Location, Write
from sam_tui.core.display import Diff
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.code import EditableFiles, Put
from sam_tui.core.text.plain import printable
from sam_tui.core.tooling.contract import Operation, Schedule, ToolContext, ToolResult


class SeveralReplacements:
    """What replaces texts in several places at once."""

    def __init__(self, files: EditableFiles, commits: Commits) -> None:
        self._files = files
        self._commits = commits

    def multi_replace_string(self) -> Operation[MultiReplaceString]:
        """The operation ``multi_replace_string``."""
        return Operation(
            "multi_replace_string",
            "several replacements in one or more files, all or none",
            MultiReplaceString,
            self._replace,
            lambda a: f"Multi-edit: {_named(a)}",
            _accesses,
            schedule=Schedule.BLOCKING,
            preview=self._preview,
            example={
                "filePath": "<filePath>",
                "replacements": [{"oldString": "<oldString>", "newString": "<newString>"}],
            },
        )

    async def _replace(self, arguments: MultiReplaceString, context: ToolContext) -> ToolResult:
        locations = [
            context.location(_parameter(arguments, index))
            for index in range(len(arguments.replacements))
        ]
        puts, diffs = await asyncio.to_thread(self._planned, arguments, locations)
        remark = self._commits.make("multi_replace_string", puts, context)
        added, removed = sum(d.added for d in diffs), sum(d.removed for d in diffs)
        replaced = sum(item.expectedReplacements for item in arguments.replacements)
        summaries = [f"{diff.path} (+{diff.added} -{diff.removed})" for diff in diffs]
        head = f"Replaced {counted(replaced, 'place')} in {counted(len(diffs), 'file')}"
        data = {
            "files": [diff.path for diff in diffs],
            "replacements": [item.expectedReplacements for item in arguments.replacements],
            "added": added,
            "removed": removed,
        }
        text = "\n".join([f"{head} (+{added} -{removed})", *summaries]) + remark
        return ToolResult(text, display=tuple(diffs), data=data)

    def _preview(
        self, arguments: MultiReplaceString, locations: Mapping[str, Location]
    ) -> Sequence[Diff]:
        items = range(len(arguments.replacements))
        candidates = [locations.get(_parameter(arguments, index)) for index in items]
        located = [where for where in candidates if where is not None]
        try:
            return (
                tuple(self._planned(arguments, located)[1])
                if len(located) == len(candidates)
                else ()
            )
        except ToolError:
            return ()

    def _planned(
        self, arguments: MultiReplaceString, locations: Sequence[Location]
    ) -> tuple[list[Put], list[Diff]]:
        """What each file becomes; items of one file see what those before made of it."""
        contents: dict[str, tuple[Location, Content]] = {}
        texts: dict[str, str] = {}
        for index, (item, where) in enumerate(zip(arguments.replacements, locations, strict=True)):
            name = printable(where.display_path)
            if where.real not in contents:
                content = text_of(self._files, where, name, whole=True)
                contents[where.real] = where, content
                texts[where.real] = content.document.text
            document = contents[where.real][1].document
            now = Document(texts[where.real], document.encoding, document.mark)
            try:
                texts[where.real] = replaced(
                    now,
                    item.oldString,
                    item.newString,
                    expected=item.expectedReplacements,
                    name=name,
                )
            except ToolError as error:
                raise ToolError(
                    f"replacements[{index}]: {error} No file was changed.", hint=error.hint
                ) from None
        puts: list[Put] = []
        diffs: list[Diff] = []
        for real, (where, content) in contents.items():
            document = content.document
            puts.append(Put(where, document.encode(texts[real]), content.snapshot))
            diffs.append(
                difference(printable(where.display_path), lf(document.text), lf(texts[real]))
            )
        return puts, diffs


def _parameter(arguments: MultiReplaceString, index: int) -> str:
    own_path = arguments.replacements[index].filePath
    return f"replacements[{index}].filePath" if own_path else "filePath"


def _accesses(arguments: MultiReplaceString) -> Sequence[Access]:
    writes = {
        _parameter(arguments, index): Write(
            item.filePath or arguments.filePath, _parameter(arguments, index)
        )
        for index, item in enumerate(arguments.replacements)
    }
    return list(writes.values())


def _named(arguments: MultiReplaceString) -> str:
    paths = dict.fromkeys(item.filePath or arguments.filePath for item in arguments.replacements)
    if len(paths) == 1:
        return basename(next(iter(paths)))
    return counted(len(paths), "file")
