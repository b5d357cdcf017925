"""The prompt library: files of three sources in a fixed order; broken ones are reported and left out."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from sam_tui.adapters.prompts.markdown_files import (
    InvalidMarkdown,
    MarkdownFile,
    number,
    read_folder,
    truth,
)
from sam_tui.core.errors import UsageError
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.prompts import (
    FileProblem,
    Prompt,
    PromptChoices,
    PromptKind,
    PromptListing,
    PromptSource,
    UserReminder,
    UserReminderListing,
)

LARGEST = 8_192
"""The most characters of a reminder, because it is sent repeatedly."""

_EVERY = re.compile(r"every (\d{1,4}) messages?")


class FileReminders:
    """The ``UserReminders`` of one folder. At its top each file may say:

    ``when: always`` (before every message, the default), ``when: first``, ``when: every 5 messages``,
    and ``enabled: false``.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def read(self) -> UserReminderListing:
        """Return the enabled reminders, by file name."""
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
        raise InvalidMarkdown(
            f"is longer than {LARGEST} characters, which would be sent repeatedly"
        )
    return UserReminder(file.values.get("name", "") or file.stem, file.text, _every(file))


def _every(file: MarkdownFile) -> int:
    when = " ".join(file.values.get("when", "always").lower().split())
    if when in ("always", "first"):
        return 1 if when == "always" else 0
    match = _EVERY.fullmatch(when)
    if match is None or int(match[1]) < 1:
        raise InvalidMarkdown(f"when must be always, first or “every N messages”, not {when!r}")
    return int(match[1])


BUILT_IN = Path(__file__).parent / "built_in"
WORKSPACE_FOLDER = Path(".sam") / "prompts"
DEFAULT_ORDER = 100

_ODD = re.compile(r"[^\w.-]+")


class FilePrompts:
    """The ``PromptLibrary``.

    ``user_folder`` is the person's ``prompts`` folder, with ``system``, ``personality`` and
    ``mini`` in it; the workspace's are in ``.sam/prompts``. ``vouches`` says whether the person
    trusts the workspace with a file of this name and content: else it is listed and does nothing.
    Files are read at each call: they are few, and their present content counts.
    """

    def __init__(
        self,
        user_folder: str,
        workspace: str,
        choices: PromptChoices,
        vouches: Callable[[str, bytes], bool],
    ) -> None:
        self._user_folder = Path(user_folder)
        self._workspace = Path(workspace)
        self._choices = choices
        self._vouches = vouches

    def list_system(self) -> PromptListing:
        """The system prompts, by order, then name."""
        return self._listing("system")

    def list_personalities(self) -> PromptListing:
        """The personalities, by order, then name."""
        return self._listing("personality")

    def list_mini(self) -> PromptListing:
        """The mini prompts, by order, then name."""
        return self._listing("mini")

    def enabled_mini(self, conversation: ConversationId) -> Sequence[Prompt]:
        """The enabled prompts: by the conversation's choice, else by their files."""
        chosen = self._choices.chosen(conversation)
        return [
            prompt
            for prompt in self.list_mini().prompts
            if prompt.active and chosen.get(prompt.id, prompt.enabled)
        ]

    def set_enabled(self, conversation: ConversationId, prompt_id: str, enabled: bool) -> None:
        """Turn a mini prompt on or off in a conversation. Raises ``UsageError``."""
        prompt = self.get(prompt_id)
        if prompt is None or prompt.kind != "mini":
            names = ", ".join(prompt.id for prompt in self.list_mini().prompts) or "none"
            raise UsageError(f"There is no mini prompt {prompt_id!r}.", hint=f"There are: {names}.")
        if enabled and not prompt.active:
            raise UsageError(
                f"{prompt.id} belongs to a workspace that is not trusted.",
                hint="Trust the folder first.",
            )
        self._choices.choose(conversation, prompt.id, enabled)

    def get(self, prompt_id: str) -> Prompt | None:
        """The prompt of an id, or of a bare name that exactly one prompt has."""
        bare: list[Prompt] = []
        for listed in (self.list_system, self.list_personalities, self.list_mini):
            for prompt in listed().prompts:
                if prompt.id == prompt_id:
                    return prompt
                if prompt.id.rpartition(":")[2] == prompt_id:
                    bare.append(prompt)
        return bare[0] if len(bare) == 1 else None

    def _listing(self, kind: PromptKind) -> PromptListing:
        prompts: dict[str, Prompt] = {}
        problems: list[FileProblem] = []
        for source, folder in self._folders(kind):
            root = str(self._workspace) if source == "workspace" else ""
            if root and (link := self._link_above(folder)) is not None:
                problems.append(FileProblem(str(link), "is a link, and links are not read here"))
                continue
            files, unreadable = read_folder(folder, root=root)
            problems += unreadable
            for file in files:
                try:
                    active = not root or self._vouches(_name(kind, file), file.data)
                    prompt = _prompt(file, kind, source, active=active)
                except InvalidMarkdown as why:
                    problems.append(FileProblem(file.file, str(why)))
                    continue
                if prompt.id in prompts:
                    problems.append(
                        FileProblem(file.file, f"has the id of another prompt: {prompt.id}")
                    )
                    continue
                prompts[prompt.id] = prompt
        ordered = sorted(
            prompts.values(), key=lambda prompt: (prompt.order, prompt.name.casefold(), prompt.id)
        )
        return PromptListing(tuple(ordered), tuple(problems))

    def _folders(self, kind: PromptKind) -> list[tuple[PromptSource, Path]]:
        return [
            ("built-in", BUILT_IN / kind),
            ("user", self._user_folder / kind),
            ("workspace", self._workspace / WORKSPACE_FOLDER / kind),
        ]

    def _link_above(self, folder: Path) -> Path | None:
        """The first link between the workspace and one of its prompt folders."""
        above = [folder.parent.parent, folder.parent]
        return next((parent for parent in above if parent.is_symlink()), None)


def _prompt(file: MarkdownFile, kind: PromptKind, source: PromptSource, *, active: bool) -> Prompt:
    slug = _ODD.sub("-", file.stem.lower()).strip("-.")
    if not slug:
        raise InvalidMarkdown("has a name without a letter or digit")
    return Prompt(
        f"{source}:{slug}",
        kind,
        _line(file.values.get("name", "") or file.stem, 80),
        _line(file.values.get("description", ""), 300),
        file.text,
        number(file.values, "order", DEFAULT_ORDER),
        source,
        active,
        truth(file.values, "enabled", default=kind == "mini" and source == "user"),
    )


def _name(kind: PromptKind, file: MarkdownFile) -> str:
    """Its name in the workspace."""
    return f"{WORKSPACE_FOLDER.as_posix()}/{kind}/{os.path.basename(file.path)}"


def _line(text: str, length: int) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
