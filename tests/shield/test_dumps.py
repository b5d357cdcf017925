"""Known secrets in dumps of bytes: masked in the numbers and in the characters beside them."""

import json
import re
from collections.abc import Callable, Iterator

import pytest

from sam_tui.core.redaction.shield import Shield
from sam_tui.core.tooling.redaction import MaskedStream

VALUE = "q7Rt9ZpL2xWm5c8Tz41v"
Row = Callable[[bytes], str]


def words(size: int, *, swapped: bool = False) -> Row:
    """The bytes in hex, so many without a blank; swapped: as numbers of which the last byte is first."""
    step = -1 if swapped else 1
    return lambda row: " ".join(row[i : i + size][::step].hex() for i in range(0, len(row), size))


def characters(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


def cells(row: bytes) -> str:
    names = {0: r"  \0", 10: r"  \n"}
    return "".join(names.get(b, f"   {chr(b)}" if 32 <= b < 127 else f" {b:03o}") for b in row)


def octal(row: bytes) -> str:
    return " ".join(
        f"{int.from_bytes(row[i : i + 2], 'little'):06o}" for i in range(0, len(row), 2)
    )


def dump(data: bytes, row: Callable[[int, bytes], str], size: int = 16) -> str:
    return "".join(
        row(at, data[at : at + size]).rstrip() + "\n" for at in range(0, len(data), size)
    )


DUMPS: dict[str, Callable[[int, bytes], str]] = {
    "xxd": lambda at, row: f"{at:08x}: {words(2)(row):39}  {characters(row)}",
    "xxd -g1": lambda at, row: f"{at:08x}: {words(1)(row):47}  {characters(row)}",
    "xxd -g4": lambda at, row: f"{at:08x}: {words(4)(row):35}  {characters(row)}",
    "hexdump -C": lambda at, row: (
        f"{at:08x}  {words(1)(row[:8]):23}  {words(1)(row[8:]):23}  |{characters(row)}|"
    ),
    "od -c": lambda at, row: f"{at:07o}{cells(row)}",
    "od -An -c": lambda _, row: cells(row),
    "od -An -tx1": lambda _, row: " " + words(1)(row),
    "od -x": lambda at, row: f"{at:07o} {words(2, swapped=True)(row)}",
    "od -tx4": lambda at, row: f"{at:07o} {words(4, swapped=True)(row)}",
    "od": lambda at, row: f"{at:07o} {octal(row)}",
    "od -b": lambda at, row: f"{at:07o} " + " ".join(f"{byte:03o}" for byte in row),
    "xxd -i": lambda _, row: "  " + ", ".join(f"0x{byte:02x}" for byte in row) + ",",
    "openssl": lambda _, row: "    " + row.hex(":") + ":",
}


def dumped(name: str) -> Iterator[str]:
    """Dumps that have the value at each place of a row."""
    for before in range(16):
        data = b"\0abc\nrest of it \x80 "[:before] + VALUE.encode() + b" and more\n"
        yield dump(data + bytes(len(data) % 2), DUMPS[name])


def is_clean(masked: str) -> bool:
    """Whether no four bytes of the value are left, as hex or as characters."""
    text = re.sub("<secret:[^>]*>", "~", masked)
    digits, marks = re.sub("[^0-9a-f]", "", text), re.sub(r"\s", "", text)
    parts = [VALUE[i : i + 4] for i in range(len(VALUE) - 3)]
    return not any(part.encode().hex() in digits or part in marks for part in parts)


@pytest.mark.requirement("shield:dumps")
@pytest.mark.parametrize("name", DUMPS)
def test_a_known_value_is_masked_in_the_rows_of_a_dump(name: str) -> None:
    for text in dumped(name):
        numbered = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(text.splitlines(), 1))
        for form in (text, numbered, text.replace("\n", "\n+")):
            shield = Shield({"APP_SECRET": VALUE})
            masked = shield.mask(form)
            assert masked.names == ("APP_SECRET",), form
            assert is_clean(masked.text), form
            assert shield.unmask(masked.text) == form


@pytest.mark.requirement("shield:dumps")
@pytest.mark.parametrize("name", [name for name in DUMPS if name not in ("xxd -i", "openssl")])
@pytest.mark.parametrize("size", [1, 50])
def test_rows_of_live_output_wait_for_those_that_go_on(name: str, size: int) -> None:
    for text in [*dumped(name)][::5]:
        shield, pieces = Shield({"APP_SECRET": VALUE}), list[str]()
        stream = MaskedStream(shield, pieces.append)
        for start in range(0, len(text), size):
            stream.add(text[start : start + size])
        stream.end()
        shown = "".join(pieces)
        assert "<secret:APP_SECRET:" in shown
        assert is_clean(shown), text
        assert shield.unmask(shown) == text


@pytest.mark.requirement("shield:dumps")
def test_short_values_and_escapes_are_masked_in_hex() -> None:
    shield = Shield({"PIN": "k3y4w0", "APP_SECRET": VALUE})
    for text in (
        b"k3y4w0".hex(),
        "".join(f"\\x{byte:02x}" for byte in VALUE.encode()),
        json.dumps({"out": dump(VALUE.encode(), DUMPS["xxd"])}),
        "x" * 5000 + " " + VALUE.encode().hex(" ") + " y" * 5000,
    ):
        assert shield.mask(text).count == 1, text[:80]


@pytest.mark.requirement("shield:dumps")
@pytest.mark.parametrize(
    "unit", [" 71 37 52", " 7137 5274", "   q   7", ":71:37:52", "\\x71", " 161 067", " 7137 52\n"]
)
def test_a_dump_of_other_bytes_stays_and_is_read_once(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    assert Shield({"APP_SECRET": VALUE}).mask(text).text == text
