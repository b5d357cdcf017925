"""Skills: what to know for a kind of task, in folders with a SKILL.md (Agent Skills)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sam_tui.core.ports.prompts import FileProblem

SkillSource = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. ``folder`` is its real path; ``text`` what its file says below the front matter."""

    name: str
    description: str
    text: str
    folder: str
    source: SkillSource


@dataclass(frozen=True, slots=True)
class SkillListing:
    """The skills that count, the person's own first, then by name; and the files that do not."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[FileProblem, ...] = ()


class Skills(Protocol):
    """Every skill that counts now: the person's, and those of a trusted folder."""

    def listing(self) -> SkillListing:
        """All of them. A broken file is a problem in the listing, never an error."""
        ...

    def files(self, skill: Skill) -> Sequence[str]:
        """What else lies in a skill's folder, relative to it; long lists are cut."""
        ...
