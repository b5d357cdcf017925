"""What a person sees in a picture: each row as text in its colours, without what varies from run to run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from xml.etree import ElementTree

CELL_WIDTH = 12.2
CELL_HEIGHT = 24.4
"""Of Textual's pictures, in their own units."""
_SVG = "{http://www.w3.org/2000/svg}"
_STYLE = re.compile(r"\.terminal-\d+-(r\d+) \{([^}]*)\}")
_DURATION = re.compile(r"\d+(?:\.\d+)?s\b")


@dataclass(frozen=True, slots=True)
class Look:
    """How a cell is drawn: the style of its text and the colour of its ground."""

    text: str = ""
    ground: str = ""

    def __str__(self) -> str:
        return f"{self.text or 'no text'} on {self.ground or 'nothing'}"


Cell = tuple[str, Look]
"""A character and how it is drawn."""
Run = tuple[str, Look]
"""Cells beside each other that are drawn alike."""
Row = tuple[Run, ...]


def rows(svg: str) -> list[Row]:
    """The rows of a picture. Raises ``ParseError`` where it is none."""
    return [_runs(cells) for cells in _cell_rows(svg)]


def _cell_rows(svg: str) -> list[list[Cell]]:
    styles = {name: _plain(style) for name, style in _STYLE.findall(svg)}
    cells: dict[tuple[int, int], Cell] = {}
    for element in ElementTree.fromstring(svg).iter():
        if element.tag == f"{_SVG}rect" and "shape-rendering" in element.attrib:
            for at in _cells(element, "y", 1.5):
                cells[at] = (" ", Look("", element.attrib["fill"]))
        elif element.tag == f"{_SVG}text" and "clip-path" in element.attrib:
            row, column = next(_cells(element, "y", 20.0))
            style = styles.get(element.attrib["class"].rpartition("-")[2], "")
            for offset, character in enumerate((element.text or "").rstrip("\n")):
                ground = cells.get((row, column + offset), (" ", Look()))[1].ground
                seen = character.replace("\xa0", " ")
                cells[row, column + offset] = (seen, Look(style if seen.strip() else "", ground))
    height = max((row for row, _ in cells), default=-1) + 1
    width = max((column for _, column in cells), default=-1) + 1
    return [
        [cells.get((row, column), (" ", Look())) for column in range(width)]
        for row in range(height)
    ]


def _plain(style: str) -> str:
    return "; ".join(part.strip() for part in style.split(";") if part.strip())


def _cells(element: ElementTree.Element, axis: str, first: float) -> Iterator[tuple[int, int]]:
    """Row and columns of what an element covers."""
    row = round((float(element.attrib[axis]) - first) / CELL_HEIGHT)
    left = round(float(element.attrib["x"]) / CELL_WIDTH)
    extent = float(element.attrib.get("width", CELL_WIDTH))
    for column in range(left, left + max(1, round(extent / CELL_WIDTH))):
        yield row, column


def _runs(cells: list[Cell]) -> Row:
    return tuple(
        ("".join(character for character, _ in run), look)
        for look, run in groupby(cells, key=lambda cell: cell[1])
    )


def _text(cells: list[Cell]) -> str:
    return "".join(character for character, _ in cells)


def _without_durations(cells: list[Cell]) -> list[Cell]:
    """The cells of a row; of blanks that are drawn alike one: what stands behind a duration is moved."""
    left = list(cells)
    for match in reversed([*_DURATION.finditer(_text(cells))]):
        del left[match.start() : match.end()]
    return [
        cell for at, cell in enumerate(left) if at == 0 or cell[0] != " " or cell != left[at - 1]
    ]


def differences(committed: str, drawn: str) -> list[str]:
    """Which rows of two pictures differ, from 1 on, and in what; nothing for pictures that look alike.

    A duration is any, or none: a quick call shows none.
    """
    faults: list[str] = []
    pairs = zip_longest(_cell_rows(committed), _cell_rows(drawn), fillvalue=list[Cell]())
    for number, pair in enumerate(pairs, 1):
        timed = any(_DURATION.search(_text(cells)) for cells in pair)
        before, after = (_runs(_without_durations(c) if timed else c) for c in pair)
        if before != after:
            faults.append(f"row {number}: {_difference(before, after)}")
    return faults


def _difference(before: Row, after: Row) -> str:
    texts = ["".join(text for text, _ in row).rstrip() for row in (before, after)]
    if texts[0] != texts[1]:
        return f"committed {texts[0]!r}, drawn {texts[1]!r}"
    first, second = next(
        (one, other)
        for one, other in zip_longest(before, after, fillvalue=("", Look()))
        if one != other
    )
    return f"{first[0].strip()!r} is committed as {first[1]}, {second[0].strip()!r} drawn as {second[1]}"
