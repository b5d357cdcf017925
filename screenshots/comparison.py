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


Run = tuple[str, Look]
"""Cells beside each other that are drawn alike."""
Row = tuple[Run, ...]


def rows(svg: str) -> list[Row]:
    """The rows of a picture. Raises ``ParseError`` where it is none."""
    styles = {name: _plain(style) for name, style in _STYLE.findall(svg)}
    cells: dict[tuple[int, int], tuple[str, Look]] = {}
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
        _masked([cells.get((row, column), (" ", Look())) for column in range(width)])
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


def _masked(cells: list[tuple[str, Look]]) -> Row:
    """Its runs; a duration is any, and what stands behind it is moved by its length."""
    text = "".join(character for character, _ in cells)
    durations = list(_DURATION.finditer(text))
    for match in reversed(durations):
        cells[match.start() : match.end()] = [("…", cells[match.start()][1])]
    if durations:
        cells = [
            cell
            for at, cell in enumerate(cells)
            if at == 0 or cell[0] != " " or cell != cells[at - 1]
        ]
    return tuple(
        ("".join(character for character, _ in run), look)
        for look, run in groupby(cells, key=lambda cell: cell[1])
    )


def differences(committed: str, drawn: str) -> list[str]:
    """Which rows of two pictures differ, from 1 on, and in what; nothing for pictures that look alike."""
    pairs = zip_longest(rows(committed), rows(drawn), fillvalue=())
    return [
        f"row {number}: {_difference(before, after)}"
        for number, (before, after) in enumerate(pairs, 1)
        if before != after
    ]


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
