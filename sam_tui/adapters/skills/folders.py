"""Skills in their folders: read where they changed, those of a workspace exactly as they were trusted."""

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sam_tui.core.accesses import Location
from sam_tui.core.errors import SamError
from sam_tui.core.local_files.cache import Unchanged, signature_of
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.prompts import FileProblem, Skill, SkillListing, SkillSource
from sam_tui.core.text.plain import printable

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
"""Characters: the Agent Skills specification."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?")


class UnusableSkill(Exception):
    """A file that is no skill; ``str`` is why."""


def read_skill(text: str) -> tuple[str, str, str]:
    """Name, description and body. Raises ``UnusableSkill``."""
    values, body = front_matter(text)
    name, description = values.get("name", ""), values.get("description", "")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UnusableSkill("needs a name of small letters, digits and dashes")
    if not description or len(description) > LONGEST_DESCRIPTION:
        raise UnusableSkill(f"needs a description of at most {LONGEST_DESCRIPTION} characters")
    if not body:
        raise UnusableSkill("says nothing below its front matter")
    return name, description, body


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The values at the top of a file, and what stands below them. Raises ``UnusableSkill``."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise UnusableSkill("does not begin with ---")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise UnusableSkill("opens with --- and has no second ---")
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]).replace("\0", "").strip()


def _values(lines: list[str]) -> dict[str, str]:
    """Texts by the keys that stand at the margin; what is indented belongs to the one above."""
    blocks: dict[str, list[str]] = {}
    last: list[str] = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t-":
            last.append(line.strip())
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise UnusableSkill("has a line without a key at its top")
        first = (match[2] or "").strip()
        last = blocks[match[1].lower()] = [] if _BLOCK.fullmatch(first) else [first]
    return {key: _unquoted(" ".join(filter(None, parts))) for key, parts in blocks.items()}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace('\\"', '"').replace("''", "'")
    return text


USER_FOLDER = "skills"
"""Below the settings folder."""
PROJECT_FOLDERS = (".agents/skills", ".sam/skills")
"""Below the workspace."""
FILE = "SKILL.md"
LARGEST = 262_144
"""Bytes of a SKILL.md."""
MOST = 100
"""Skills of one folder."""
MOST_FILES = 50


class FileSkills:
    """The ``Skills`` of a settings folder and a workspace.

    ``trusted`` says whether the workspace is believed, ``vouches`` whether a file in it holds what
    was trusted, ``clean`` takes secrets out of a text.
    """

    def __init__(
        self,
        config_dir: str,
        workspace: str,
        *,
        files: Files,
        trusted: Callable[[], bool],
        vouches: Callable[[str, bytes], bool],
        clean: Callable[[str], str],
    ) -> None:
        self._own = os.path.realpath(os.path.join(config_dir, USER_FOLDER))
        self._workspace = workspace
        self._files = files
        self._trusted = trusted
        self._vouches = vouches
        self._clean = clean
        self._read: Unchanged[Skill] = Unchanged()

    def listing(self) -> SkillListing:
        """Those that count, the person's own first; of two of one name the first."""
        skills: dict[str, Skill] = {}
        problems: list[FileProblem] = []
        for folder, source in self._places():
            for directory in self._folders(folder, source):
                file = os.path.join(directory, FILE)
                try:
                    skill = self._read.get(file, partial(self._fresh, file, source))
                except UnusableSkill as why:
                    problems.append(FileProblem(printable(file), str(why)))
                    continue
                if skill.name in skills:
                    problems.append(FileProblem(printable(file), f"{skill.name} is there already"))
                    continue
                skills[skill.name] = skill
        return SkillListing(tuple(skills.values()), tuple(problems))

    def files(self, skill: Skill) -> Sequence[str]:
        """What else lies in a skill's folder, two folders deep."""
        listed: list[str] = []
        for parent, folders, names in os.walk(skill.folder):
            below = os.path.relpath(parent, skill.folder)
            folders[:] = sorted(n for n in folders if not n.startswith(".")) if below == "." else []
            paths = [os.path.normpath(os.path.join(below, name)) for name in sorted(names)]
            listed += [printable(path) for path in paths if path != FILE]
            if len(listed) > MOST_FILES:
                break
        return listed[:MOST_FILES]

    def _places(self) -> Iterator[tuple[str, SkillSource]]:
        yield self._own, "user"
        if self._trusted():
            for folder in PROJECT_FOLDERS:
                yield os.path.join(self._workspace, folder), "project"

    def _folders(self, folder: str, source: SkillSource) -> list[str]:
        """The folders that have a SKILL.md, by name. The person may link theirs from elsewhere."""
        try:
            entries = self._files.list(self._where(folder, source))
        except SamError:
            return []
        kinds = ("directory", "link") if source == "user" else ("directory",)
        folders = [os.path.join(folder, entry.name) for entry in entries if entry.kind in kinds]
        if source == "user":
            folders = [os.path.realpath(path) for path in folders]
        return [p for p in folders if signature_of(os.path.join(p, FILE)) is not None][:MOST]

    def _fresh(self, file: str, source: SkillSource) -> Skill:
        try:
            data = self._files.read(self._where(file, source), limit=LARGEST + 1)
        except SamError as error:
            raise UnusableSkill(f"cannot be read: {error}") from None
        if len(data) > LARGEST:
            raise UnusableSkill(f"is larger than {LARGEST // 1024} kB")
        if source == "project":
            name = posixpath.relpath(file, self._workspace)
            if not self._vouches(name, data):
                raise UnusableSkill("is not what was trusted")
        try:
            name, description, text = read_skill(self._clean(data.decode("utf-8-sig")))
        except UnicodeDecodeError:
            raise UnusableSkill("is not UTF-8 text") from None
        return Skill(name, description, text, os.path.dirname(file), source)

    def _where(self, path: str, source: SkillSource) -> Location:
        return Location(path, path, self._workspace if source == "project" else None)
