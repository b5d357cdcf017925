"""Skills in their folders: read again after a change, those of a workspace in their trusted form."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sam_tui.core.accesses import Location
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import SamError
from sam_tui.core.local_files.cache import Unchanged, signature_of
from sam_tui.core.ports.files import Files
from sam_tui.core.ports.policy import BundleFolder
from sam_tui.core.ports.prompts import FileProblem, Skill, SkillListing, SkillSource
from sam_tui.core.text.plain import printable
from sam_tui.folders import PROJECT_SKILLS, SKILLS

LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
"""The most characters of a description, by the Agent Skills specification."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"[|>][+-]?[0-9]?[+-]?")


class UnusableSkill(Exception):
    """A SKILL.md that cannot be used; ``str`` is the reason."""


def read_skill(text: str) -> tuple[str, str, str]:
    """Name, description and body. Raises ``UnusableSkill``."""
    values, body = front_matter(text)
    name, description = values.get("name", ""), values.get("description", "")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UnusableSkill("needs a name of lower-case letters, digits and dashes")
    if not description or len(description) > LONGEST_DESCRIPTION:
        raise UnusableSkill(f"needs a description of at most {LONGEST_DESCRIPTION} characters")
    if not body:
        raise UnusableSkill("has no text below its front matter")
    return name, description, body


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The settings at the top of a file, and the text below them. Raises ``UnusableSkill``."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise UnusableSkill("does not begin with ---")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise UnusableSkill("opens with --- and has no second ---")
    return _values(lines[1:end]), "\n".join(lines[end + 1 :]).replace("\0", "").strip()


def _values(lines: list[str]) -> dict[str, str]:
    """Texts by their keys, which are not indented; an indented line belongs to the key above it."""
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
        key, first = match[1].lower(), (match[2] or "").strip()
        if key in blocks:
            raise UnusableSkill(f"sets {key} twice at its top")
        last = blocks[key] = [] if _BLOCK.fullmatch(first) else [first]
    return {key: _unquoted(" ".join(filter(None, parts))) for key, parts in blocks.items()}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1].replace('\\"', '"').replace("''", "'")
    return text


FILE = "SKILL.md"
LARGEST = 262_144
"""The most bytes of a ``SKILL.md``."""
MOST = 100
"""The most skills of one folder; further ones are ignored."""
MOST_FILES = 50


BUNDLE_ROOT = "${CLAUDE_PLUGIN_ROOT}"
"""The variable that stands for the bundle's folder in its texts."""


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """The owner of skill files: the person, or a trusted folder ``root`` in which no link is followed.

    ``vouches`` says whether a file, by its name below the root, has its trusted content.
    """

    source: SkillSource
    root: str = ""
    prefix: str = ""
    vouches: Callable[[str, bytes], bool] = lambda _, __: True

    @classmethod
    def of_bundle(cls, bundle: BundleFolder) -> "FileOrigin":
        """The origin of a bundle's files; their names begin with the bundle's."""
        return cls("bundle", bundle.folder, f"{bundle.name}:", bundle.vouches)

    def where(self, path: str) -> Location:
        """The location from which a path is opened."""
        return Location(path, path, self.root or None)

    def read(self, files: Files, path: str, limit: int) -> str:
        """The text of a file. Raises ``UnusableSkill``."""
        try:
            data = files.read(self.where(path), limit=limit + 1)
        except SamError as error:
            raise UnusableSkill(f"cannot be read: {error}") from None
        if len(data) > limit:
            raise UnusableSkill(f"is larger than {limit // 1024} kB")
        if self.root and not self.vouches(os.path.relpath(path, self.root), data):
            raise UnusableSkill("changed since it was trusted")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UnusableSkill("is not UTF-8 text") from None
        return text.replace(BUNDLE_ROOT, self.root) if self.prefix else text


class FileSkills:
    """The ``Skills`` of the settings folder, a workspace and bundles; ``clean`` takes secrets out."""

    def __init__(
        self,
        config_dir: str,
        trust: FolderTrust,
        *,
        files: Files,
        clean: Callable[[str], str],
        bundles: Callable[[], Sequence[BundleFolder]] = tuple,
    ) -> None:
        self._own = os.path.realpath(os.path.join(config_dir, SKILLS))
        self._project = FileOrigin("project", trust.folder, vouches=trust.vouches)
        self._files = files
        self._trust = trust
        self._clean = clean
        self._bundles = bundles
        self._read: Unchanged[Skill] = Unchanged()

    def listing(self) -> SkillListing:
        """The skills in use, the person's own first; of several with one name the first."""
        skills: dict[str, Skill] = {}
        problems: list[FileProblem] = []
        for folder, origin in self._folders():
            for directory in self._skills(folder, origin):
                file = os.path.join(directory, FILE)
                try:
                    skill = self._read.get(file, partial(self._fresh, file, origin))
                except UnusableSkill as why:
                    problems.append(FileProblem(printable(file), str(why)))
                    continue
                if skill.name in skills:
                    problems.append(FileProblem(printable(file), f"{skill.name} exists already"))
                    continue
                skills[skill.name] = skill
        return SkillListing(tuple(skills.values()), tuple(problems))

    def files(self, skill: Skill) -> Sequence[str]:
        """The other files of a skill's folder, at most two folders deep."""
        listed: list[str] = []
        for parent, folders, names in os.walk(skill.folder):
            below = os.path.relpath(parent, skill.folder)
            folders[:] = sorted(n for n in folders if not n.startswith(".")) if below == "." else []
            paths = [os.path.normpath(os.path.join(below, name)) for name in sorted(names)]
            listed += [printable(path) for path in paths if path != FILE]
            if len(listed) > MOST_FILES:
                break
        return listed[:MOST_FILES]

    def _folders(self) -> Iterator[tuple[str, FileOrigin]]:
        yield self._own, FileOrigin("user")
        if self._trust.trusted:
            for folder in PROJECT_SKILLS:
                yield os.path.join(self._project.root, folder), self._project
        for bundle in self._bundles():
            yield os.path.join(bundle.folder, SKILLS), FileOrigin.of_bundle(bundle)

    def _skills(self, folder: str, origin: FileOrigin) -> list[str]:
        """The folders that have a SKILL.md, by name. The person may link theirs from elsewhere."""
        try:
            entries = self._files.list(origin.where(folder))
        except SamError:
            return []
        kinds = ("directory",) if origin.root else ("directory", "link")
        folders = [os.path.join(folder, entry.name) for entry in entries if entry.kind in kinds]
        if not origin.root:
            folders = [os.path.realpath(path) for path in folders]
        return [p for p in folders if signature_of(os.path.join(p, FILE)) is not None][:MOST]

    def _fresh(self, file: str, origin: FileOrigin) -> Skill:
        text = self._clean(origin.read(self._files, file, LARGEST))
        name, description, text = read_skill(text)
        name = f"{origin.prefix}{name}"
        return Skill(name, description, text, os.path.dirname(file), origin.source)
