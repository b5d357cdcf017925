"""A terminal around the program that takes images, and has every weakness that terminals have with them.

An image's pixels stay over a cell until a character is written into it, or the whole screen is erased:
neither erased characters nor rows that are moved take them along.
"""

import base64
import re
import struct
import zlib
from dataclasses import dataclass, field

from rich.cells import cell_len, split_graphemes

Colour = tuple[int, int, int]
_PART = re.compile(
    r"\x1b_G(?P<kitty>[^\x1b]*)\x1b\\|\x1bP(?P<dcs>[^\x1b]*)\x1b\\"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b\[(?P<args>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[ -/]+[0-~]|\x1b[0-~]|[\x00-\x1f]|(?P<text>[^\x00-\x1f\x1b]+)"
)
_CUT = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[P_\]][^\x07\x1b]*\x1b?)?\Z")
"""A sequence that is not whole yet."""
PLACEHOLDER = "\U0010eeee"


@dataclass
class Cell:
    """What a cell shows: a character, its colours as they were set, and pixels over it."""

    text: str = " "
    ink: str = ""
    ground: str = ""
    pixels: list[Colour] | None = None
    """The colours in the middle of its upper and of its lower half."""


@dataclass
class OuterTerminal:
    """What is fed is drawn; ``answers`` is what it would send back."""

    columns: int = 100
    rows: int = 30
    cell: tuple[int, int] = (4, 6)
    answers: str = ""
    grid: list[list[Cell]] = field(default_factory=list[list[Cell]])
    images: dict[int, tuple[dict[str, str], bytes]] = field(
        default_factory=dict[int, tuple[dict[str, str], bytes]]
    )
    drawn: int = 0
    """How many images were drawn over cells."""
    asked: int = 0
    frames: int = 0
    faults: list[str] = field(default_factory=list[str])
    """Cells that had pixels which belonged elsewhere, at the end of a frame."""
    _row: int = 0
    _column: int = 0
    _ink: str = ""
    _ground: str = ""
    _saved: tuple[int, int] = (0, 0)
    _chunks: str = ""
    _head: dict[str, str] = field(default_factory=dict[str, str])
    _rest: str = ""

    def __post_init__(self) -> None:
        self.grid = [[Cell() for _ in range(self.columns)] for _ in range(self.rows)]

    def feed(self, text: str) -> str:
        """Draw; returns what the terminal sends back."""
        text = self._rest + text
        cut = _CUT.search(text)
        self._rest = cut[0] if cut else ""
        text = text[: len(text) - len(self._rest)]
        back = ""
        for part in _PART.finditer(text):
            if part["kitty"] is not None:
                self._kitty(part["kitty"])
            elif part["dcs"] is not None:
                self._sixel(part["dcs"])
            elif part["osc"] is not None:
                self._iterm(part["osc"])
            elif part["final"] is not None:
                self._csi(part["args"], part["final"])
                back += self._answer(part["args"], part["final"])
            elif part["text"] is not None:
                self._write(part["text"])
            elif part[0] == "\x1b7":
                self._saved = self._row, self._column
            elif part[0] == "\x1b8":
                self._row, self._column = self._saved
        return back

    def _answer(self, args: str, final: str) -> str:
        if (args, final) == ("", "c"):
            self.asked += 1
            return self.answers
        return "\x1b[?2026;2$y" if (args, final) == ("?2026", "p") else ""

    def _csi(self, args: str, final: str) -> None:
        numbers = [int(n) if n.isdigit() else 0 for n in args.split(";")]
        first = max(1, numbers[0])
        if final == "H":
            self._row, self._column = first - 1, max(1, numbers[-1] if len(numbers) > 1 else 1) - 1
        elif final == "G":
            self._column = first - 1
        elif final == "C":
            self._column += first
        elif final == "m" and not args.startswith(">"):
            self._colours(args)
        elif final == "X":
            for at in range(self._column, min(self.columns, self._column + first)):
                self._put(at, " ", keeps=True)
        elif final == "J" and args == "2":
            self.__post_init__()
        elif final in "LM":
            self._move(first if final == "M" else -first)
        elif final == "r":
            self._margins = (first - 1, numbers[1] - 1) if len(numbers) > 1 else None
        elif final == "l" and args == "?2026":
            self.frames += 1
            self.faults += self._faults()

    _margins: tuple[int, int] | None = None

    def _move(self, by: int) -> None:
        top, bottom = self._margins or (0, self.rows - 1)
        texts = [[(c.text, c.ink, c.ground) for c in row] for row in self.grid]
        for y in range(top, bottom + 1):
            for x, cell in enumerate(self.grid[y]):
                inside = top <= y + by <= bottom
                cell.text, cell.ink, cell.ground = texts[y + by][x] if inside else (" ", "", "")

    def _colours(self, args: str) -> None:
        codes = args.split(";")
        at = 0
        while at < len(codes):
            code = codes[at]
            if code in ("38", "48"):
                size = 5 if codes[at + 1] == "2" else 3
                value = ";".join(codes[at + 2 : at + size])
                self._ink, self._ground = (
                    (value, self._ground) if code == "38" else (self._ink, value)
                )
                at += size
                continue
            if code in ("0", ""):
                self._ink = self._ground = ""
            elif code == "39":
                self._ink = ""
            elif code == "49":
                self._ground = ""
            at += 1

    def _put(self, column: int, text: str, *, keeps: bool = False) -> None:
        if 0 <= column < self.columns and 0 <= self._row < self.rows:
            cell = self.grid[self._row][column]
            cell.text, cell.ink, cell.ground = text, self._ink, self._ground
            cell.pixels = cell.pixels if keeps else None

    def _write(self, text: str) -> None:
        for start, end, _ in split_graphemes(text)[0]:
            width = cell_len(text[start:end])
            if not width and 0 < self._column <= self.columns and self._row < self.rows:
                self.grid[self._row][self._column - 1].text += text[start:end]
            for at in range(width):
                self._put(self._column + at, text[start:end] if not at else "")
            self._column += width

    def _kitty(self, sequence: str) -> None:
        keys, _, data = sequence.partition(";")
        options = dict(pair.split("=") for pair in keys.split(","))
        assert options["q"] == "2" if "q" in options else True
        if options.get("a") == "d":
            self.images.pop(int(options["i"]))
            return
        self._head = options if "a" in options else self._head
        self._chunks += data
        assert len(data) <= 4096
        if options["m"] == "0":
            image = base64.b64decode(self._chunks, validate=True)
            self.images[int(self._head["i"])] = self._head, image
            self._chunks = ""

    def _iterm(self, sequence: str) -> None:
        if not sequence.startswith("1337;File="):
            return
        keys, _, data = sequence.removeprefix("1337;File=").partition(":")
        options = dict(pair.split("=") for pair in keys.split(";"))
        width, height, pixels = png_pixels(base64.b64decode(data, validate=True))
        self._lay(int(options["width"]), int(options["height"]), width, height, pixels)

    def _sixel(self, sequence: str) -> None:
        width, height, pixels = sixel_pixels(sequence)
        columns, rows = width // self.cell[0], -(-height // self.cell[1])
        assert columns * self.cell[0] == width and height <= rows * self.cell[1]
        self._lay(columns, rows, width, rows * self.cell[1], pixels + pixels[-1:] * (self.cell[1]))

    def _lay(
        self, columns: int, rows: int, width: int, height: int, pixels: list[list[Colour]]
    ) -> None:
        assert self._row + rows < self.rows, f"the screen would scroll: {rows} from {self._row}"
        assert self._column + columns <= self.columns
        self.drawn += 1
        for y in range(rows):
            for x in range(columns):
                column = int((x + 0.5) * width / columns)
                halves = [pixels[int((y + part) * height / rows)][column] for part in (0.25, 0.75)]
                self.grid[self._row + y][self._column + x].pixels = halves

    def _faults(self) -> list[str]:
        """Cells whose pixels show anything but the half block below them."""
        found: list[str] = []
        for y, row in enumerate(self.grid):
            for x, cell in enumerate(row):
                if cell.pixels is None:
                    continue
                below = [tuple(map(int, c.split(";"))) for c in (cell.ink, cell.ground) if c]
                same = len(below) == 2 and all(
                    abs(a - b) <= 48
                    for one, other in zip(below, cell.pixels, strict=True)
                    for a, b in zip(one, other, strict=True)
                )
                if cell.text != "▀" or not same:
                    found.append(f"{y},{x}: {cell}")
        return found

    def covered(self) -> int:
        """How many cells have pixels over them."""
        return sum(cell.pixels is not None for row in self.grid for cell in row)

    def shown(self) -> str:
        """The characters."""
        return "\n".join("".join(cell.text for cell in row) for row in self.grid)


def png_pixels(png: bytes) -> tuple[int, int, list[list[Colour]]]:
    """Width, height and pixels of a PNG file with a palette, read strictly."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, dict[bytes, bytes]()
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size)[0] == zlib.crc32(kind + data)
        chunks[kind] = chunks.get(kind, b"") + data
        at += size + 12
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 3, 0, 0, 0]
    lines, palette = zlib.decompress(chunks[b"IDAT"]), chunks[b"PLTE"]
    assert len(lines) == height * (width + 1)
    colours = [(palette[i], palette[i + 1], palette[i + 2]) for i in range(0, len(palette), 3)]
    return (
        width,
        height,
        [
            [colours[c] for c in lines[y * (width + 1) + 1 : (y + 1) * (width + 1)]]
            for y in range(height)
        ],
    )


def sixel_pixels(sequence: str) -> tuple[int, int, list[list[Colour]]]:
    """Width, height and pixels of a sixel image in which every pixel is drawn."""
    head, body = re.fullmatch(r'0;1q"1;1;(\d+;\d+)(.*)', sequence, re.DOTALL).groups()  # pyright: ignore
    width, height = map(int, head.split(";"))
    pixels: list[list[Colour | None]] = [[None] * width for _ in range(height)]
    colours: dict[int, Colour] = {}
    x = y = number = 0
    for token in re.finditer(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|\$|-", body):
        if token[1]:
            red, green, blue = (round(int(token[n]) * 2.55) for n in (2, 3, 4))
            colours[int(token[1])] = red, green, blue
        elif token[5]:
            number = int(token[5])
        elif token[0] == "$":
            x = 0
        elif token[0] == "-":
            x, y = 0, y + 6
        else:
            bits = ord(token[7] or token[8]) - 63
            end = x + int(token[6] or 1)
            for bit in range(6):
                if bits >> bit & 1:
                    assert not any(pixels[y + bit][x:end])
                    pixels[y + bit][x:end] = [colours[number]] * (end - x)
            x = end
    done = [[p for p in line if p is not None] for line in pixels]
    assert all(len(line) == width for line in done)
    return width, height, done
