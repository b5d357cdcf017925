"""The person's own tables of public APIs: Markdown files in the folder ``apis`` of the settings."""

from pathlib import Path

from sam_tui.core.local_files.bounded import UnusableFile, read_bounded

FOLDER = "apis"
_LARGEST = 2_000_000
_MOST_FILES = 50


def read_api_tables(settings: str) -> tuple[list[str], list[str]]:
    """Return the texts of the files by name, and the unreadable files with reasons."""
    texts: list[str] = []
    problems: list[str] = []
    for path in sorted(Path(settings, FOLDER).glob("*.md"))[:_MOST_FILES]:
        try:
            texts.append(read_bounded(str(path), most=_LARGEST).decode("utf-8", "replace"))
        except UnusableFile as why:
            problems.append(f"{path} {why}")
    return texts, problems
