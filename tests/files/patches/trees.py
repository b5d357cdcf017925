"""What the corpus of patches starts from: trees, and how a patch between two of them is made."""

from collections.abc import Mapping
from dataclasses import dataclass

Entry = str | tuple[str, str]
"""Text of a file; ``exec`` and that of one that may be run; ``link`` and the target of a link;
``bytes`` and hexadecimal digits.
"""

Tree = Mapping[str, Entry]


@dataclass(frozen=True)
class Scenario:
    """One case: a patch, and the tree it is applied to.

    ``text`` is the patch, else ``command`` makes it from ``before`` and ``after``. ``strip`` is the
    number of leading folders that ``git apply`` and ``patch`` are told to take off. ``refuse`` says
    why it must not be applied although one of them would.
    """

    name: str
    on: Tree
    text: str = ""
    before: Tree | None = None
    after: Tree | None = None
    command: tuple[str, ...] = ()
    strip: int = 1
    refuse: str = ""


def made(
    name: str,
    before: Tree,
    after: Tree,
    *options: str,
    on: Tree | None = None,
    strip: int = 1,
    refuse: str = "",
) -> Scenario:
    """A patch that ``git diff`` makes, applied to ``before`` or another tree."""
    return Scenario(
        name,
        before if on is None else on,
        before=before,
        after=after,
        command=("git", *options),
        strip=strip,
        refuse=refuse,
    )


def differed(
    name: str, before: Tree, after: Tree, *options: str, on: Tree | None = None, strip: int = 1
) -> Scenario:
    """A patch that ``diff`` makes of two folders."""
    return Scenario(
        name,
        before if on is None else on,
        before=before,
        after=after,
        command=("diff", *options),
        strip=strip,
    )


def written(name: str, on: Tree, text: str, *, strip: int = 1, refuse: str = "") -> Scenario:
    """A patch written by hand."""
    return Scenario(name, on, text=text, strip=strip, refuse=refuse)


def numbers(last: int, **changed: str) -> str:
    """Lines ``1`` to ``last``; ``_3="x"`` puts other text in the place of line 3, "" takes it out."""
    lines = [changed.get(f"_{n}", f"{n}\n") for n in range(1, last + 1)]
    return "".join(line if not line or line.endswith("\n") else line + "\n" for line in lines)
