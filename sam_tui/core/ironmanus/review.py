"""A look at what was handed in: notes on what may be unfinished, and what must not be kept at all.

Seed 000's hooks blocked on a mark of unfinished work in any prose. Here a pattern only makes a note; what
blocks is a private key or an access key of a well-known form, which is never meant to be there.
"""

import re
from dataclasses import dataclass

from sam_tui.core.redaction.forms import FORMS
from sam_tui.core.redaction.shield import Shield

_NOTES = (
    ("unfinished", re.compile(r"(?m)^\s*(?:#|//|/\*|--|\*)\s*(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")),
    ("debug output", re.compile(r"(?m)^\s*(?:console\.log\(|debugger;|breakpoint\(\)|pdb\.set_trace\()")),
    ("says that it failed", re.compile(r"(?im)^\s*(?:error|traceback|fatal):")),
)  # fmt: skip
_DOUBTFUL = {"jwt", "url-password", "authorization", "api-key", "webhook-secret"}
_CERTAIN = {"private-key", *(form.name for form in FORMS)} - _DOUBTFUL
_SHORT = 40
"""Characters below which a report says too little to be one."""


@dataclass(frozen=True, slots=True)
class Review:
    """What was noticed; ``blocks`` says why the text must not be kept, or is empty."""

    notes: tuple[str, ...]
    blocks: tuple[str, ...]


def review(text: str) -> Review:
    """Look at a text that somebody hands over."""
    notes = [
        f"{what}: line {text.count(chr(10), 0, match.start()) + 1}"
        for what, pattern in _NOTES
        if (match := pattern.search(text))
    ]
    if len(text.strip()) < _SHORT:
        notes.append("very short for a report")
    masked = Shield().mask(text)
    keys = [name for name in masked.names if name in _CERTAIN]
    return Review(tuple(notes), tuple(f"it holds a secret ({name})" for name in keys))
