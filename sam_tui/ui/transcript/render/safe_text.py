"""Makes text from outside harmless to a terminal before anything measures or draws it."""

import re

from sam_tui.core.text.invisible import INVISIBLE, show_invisible

TAB = 4
"""Cells between tab stops."""

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSAFE = re.compile(f"(?![\u200c\u200d]){INVISIBLE}|[{_CONTROLS}]")
"""The characters to replace. Joiners are not among them: the context shows whether one hides text."""
_SUSPECT = re.compile(f"[{_CONTROLS}{INVISIBLE[1:]}")
"""The same and joiners as one character class, which is ten times as fast on text without any."""
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # two-character escapes
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.MULTILINE,
)


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if code == 0x0D:
        return ""
    if character in "\u2028\u2029\x0b\x0c\x85":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF or 0x80 <= code < 0xA0:
        return "\ufffd"
    return f"⟨U+{code:04X}⟩"


def clean(text: str) -> str:
    """The text with every control, bidirectional and invisible character made visible.

    Newlines and tabs stay. Works piece by piece: cleaning the parts of a text and joining them
    gives the same as cleaning the whole.
    """
    return _UNSAFE.sub(_visible, text) if _SUSPECT.search(text) else text


def clean_output(text: str) -> str:
    """The text that a program's output leaves on a screen: without escape sequences, and of a line
    overwritten with carriage returns only the last version."""
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text:
        text = _SEQUENCE.sub("", text)
    if "\r" in text:
        text = "\n".join(
            line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line
            for line in text.split("\n")
        )
    return expand(clean(text))


def expand(text: str) -> str:
    """The text with tabs as spaces."""
    return text.expandtabs(TAB) if "\t" in text else text


def one_line(text: str, limit: int = 400) -> str:
    """The text as one line of at most ``limit`` characters, joiners that hide written out as well."""
    line = " ".join(clean(show_invisible(text[: limit * 4])[0]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def safe_link(address: str) -> str | None:
    """The address when a terminal may be handed it as a link: http or https, printable ASCII."""
    if len(address) > 2048 or not address.isascii() or not address.isprintable():
        return None
    if not address.lower().startswith(("http://", "https://")) or " " in address:
        return None
    return address.replace(";", "%3B")
