"""The person's own reminders: Markdown files that say how often they speak."""

import re
from pathlib import Path

from sam_tui.adapters.prompts.markdown_files import (
    InvalidMarkdown,
    MarkdownFile,
    read_folder,
    truth,
)
from sam_tui.core.ports.prompts import FileProblem, UserReminder, UserReminderListing

LARGEST = 8_192
"""Characters of one reminder: it is sent again and again."""

_EVERY = re.compile(r"every (\d{1,4}) messages?")


class FileReminders:
    """The ``UserReminders`` of one folder. At its top each file may say:

    ``when: always`` (before every message, the default), ``when: first``, ``when: every 5 messages``,
    and ``enabled: false``.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def read(self) -> UserReminderListing:
        """All that are enabled, by file name."""
        files, problems = read_folder(self._folder)
        reminders: list[UserReminder] = []
        for file in files:
            try:
                if truth(file.values, "enabled", default=True):
                    reminders.append(_reminder(file))
            except InvalidMarkdown as why:
                problems.append(FileProblem(file.file, str(why)))
        return UserReminderListing(tuple(reminders), tuple(problems))


def _reminder(file: MarkdownFile) -> UserReminder:
    if len(file.text) > LARGEST:
        raise InvalidMarkdown(f"is longer than {LARGEST} characters, and is sent again and again")
    return UserReminder(file.values.get("name", "") or file.stem, file.text, _every(file))


def _every(file: MarkdownFile) -> int:
    when = " ".join(file.values.get("when", "always").lower().split())
    if when in ("always", "first"):
        return 1 if when == "always" else 0
    match = _EVERY.fullmatch(when)
    if match is None or int(match[1]) < 1:
        raise InvalidMarkdown(f"when must be always, first or “every N messages”, not {when!r}")
    return int(match[1])
