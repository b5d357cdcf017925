"""Passwords that programs print, for texts that leave the program and need not run."""

import re

from sam_tui.core.redaction.forms import is_password

_PRINTED = re.compile(
    r"(?i)<secret:[^<>]{1,100}>|(?<![\w.$-])[\w.-]{0,40}(?:passw(?:or)?d|passphrase|_pwd|secret|token|api_?key)"
    r"[\"']?\]?(?P<sign>=|\s?:\s?)[\"']?(?P<value>[^\s\"'`<>,;()\[\]{}|&$]{4,256})"
)
_NO_VALUES = frozenset(("none", "null", "true", "false"))


def without_printed_passwords(text: str) -> str:
    """Return the text without values printed for the name of a secret: ``password=sesame``.

    Code has such assignments too: use it only for texts that need not run.
    """

    def masked(match: re.Match[str]) -> str:
        value = match["value"] or ""
        word = value.isalpha() and match["sign"] != "="  # as in prose, or a type
        if not is_password(value) or value.isdecimal() or word or value.lower() in _NO_VALUES:
            return match[0]
        return f"{match[0].removesuffix(value)}<secret>"

    return _PRINTED.sub(masked, text)
