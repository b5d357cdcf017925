"""Finds the sequences in a program's output that the emulation library ignores.

Two steps: a search for beginnings that only few sequences have, and one match of the whole at each
of them. At each escape character the search first tries the most frequent sequences that the
library handles completely (colours, cursor moves, erasing, modes such as 25 and 2026): some 30 ns
each, half of what it costs to rule out every beginning.
"""

import re

_CANDIDATE = re.compile(
    rb"\x1b(?!\[(?:[0-9;]*+[A-HJKdmr]|\?2[0-9]*+[hl]))"
    rb"(?:\[(?:\?(?:95?[;hl]|3[;hl]|4[07][;hl]|69[;hl]|10(?:0|4[6-9])|[0-9]++[;nW$])"
    rb"|[0-9;]*+['\"*gntx$ ]|!|0[LMPSTIZae])"
    rb"|[cH69]|\](?:[45];|52;|105|1[3-9][;\x07\x1b]|11[3-9])|P[$+]|[()*+]0)"
)
"""The beginning of a sequence that may have to be handled; it is examined once it is complete."""
_STRING = rb"[^\x07\x1b]{0,200}(?:\x07|\x1b\\)"
_CONTROL = (
    rb"[0-9;]*+(?:[gntx]|'[}~]|\"p| [@A]|\*x|\$[pvxz{])|!p|0[LMPSTIZae]|\?[0-9;]*+(?:[hlnW]|\$p)"
)
_OURS = (
    rb"\[(?:"
    + _CONTROL
    + rb")|[cH69]|\](?:4|5|105|1[3-9]|11[3-9])(?:;"
    + _STRING
    + rb"|\x07|\x1b\\)"
    rb"|\]52;[a-z0-9]{0,8};\?(?:\x07|\x1b\\)|P\$q[^\x1b]{1,64}\x1b\\|P\+q[0-9A-Fa-f;]*+\x1b\\|[()*+]0"
)
_WHOLE = re.compile(rb"\x1b(?:" + _OURS + rb")")
_WITHIN_MARGINS = re.compile(rb"\x1b(?:" + _OURS + rb"|\[[0-9]{0,8}D)|\x08")
_UNFINISHED = re.compile(
    rb"\x1b(?:\[(?:[?!]?[\d;]{0,48}[$*'\" ]?)?|[()*+]|\](?:[145]\d{0,2}(?:;[^\x07\x1b]{0,200}\x1b?)?)?"
    rb"|P(?:\$(?:q[^\x1b]{0,64}\x1b?)?|\+(?:q[0-9A-Fa-f;]{0,24}\x1b?)?)?)?\Z"
)
_LONGEST_UNFINISHED = 208


def unfinished(data: bytes) -> int:
    """The index of an incomplete sequence at the end of the output; its length if there is none."""
    cut = _UNFINISHED.search(data, max(0, len(data) - _LONGEST_UNFINISHED))
    return len(data) if cut is None else cut.start()


def following(data: bytes, start: int, *, margins: bool) -> "re.Match[bytes] | None":
    """The next sequence from ``start`` on that may be ours. Within margins, going back is one too."""
    if margins:
        return _WITHIN_MARGINS.search(data, start)
    while (candidate := _CANDIDATE.search(data, start)) is not None:
        whole = _WHOLE.match(data, candidate.start())
        if whole is not None:
            return whole
        start = candidate.end()
    return None
