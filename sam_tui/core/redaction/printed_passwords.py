"""Passwords that programs print, for texts that leave the program and need not run."""

import re

from sam_tui.core.redaction.forms import is_password

_PRINTED = re.compile(
    r"(?i)<secret:[^<>]{1,100}>|(?<![\w.$-])[\w.-]{0,40}(?:passw(?:or)?d|passphrase|_pwd|secret|token|api_?key)"
    r"[\"']?\]?(?P<sign>=|\s?:\s?)[\"']?(?P<value>[^\s\"'`<>,;()\[\]{}|&$]{4,256})"
)
_NO_VALUES = frozenset(("none", "null", "true", "false"))


def without_printed_passwords(text: str) -> str:
    """The text without what is assigned to the name of a secret as programs print it: ``password=sesame``.

    Code does so too, so that this is for texts to hand on, of which nothing has to run.
    """

    def masked(match: re.Match[str]) -> str:
        value = match["value"] or ""
        word = value.isalpha() and match["sign"] != "="  # as in prose, or a type
        if not is_password(value) or value.isdecimal() or word or value.lower() in _NO_VALUES:
            return match[0]
        return f"{match[0].removesuffix(value)}<secret>"

    return _PRINTED.sub(masked, text)
