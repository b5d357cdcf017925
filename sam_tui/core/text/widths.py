"""Characters of whose width terminals hold different opinions."""

import re

DISPUTED = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0600-\u061c\u064b-\u065f\u0670\u06d6-\u06ed\u070f-\u074a"
    "\u07a6-\u0dff\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ecd\u0f18-\u109f\u1160-\u11ff"
    "\u135d-\u135f\u1712-\u1cff\u1dc0-\u1dff\u200b-\u200f\u2028-\u202e\u2060-\u206f\u20d0-\u20ff\u2cef-\u2cf1"
    "\u302a-\u302f\u3099\u309a\ua66f-\ua69f\ua6f0\ua6f1\ua802-\uabff\ud7b0-\ud7ff\ue000-\uf8ff\ufb1e\ufdfd"
    "\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff9-\uffff\U00010a00-\U00011fff\U00016a00-\U00016fff"
    "\U0001bc00-\U0001bcff\U0001d000-\U0001d3ff\U0001e000-\U0001e8ff\U0001f000-\U0001faff"
    "\U000e0000-\U0010ffff]"
)
"""Marks, joiners, variation selectors, emoji, flags, scripts of India and South East Asia, private use.

Terminals draw a character with one of these in as many cells as their version of Unicode, their font or
their taste says; everything else that is no control character takes what East Asian Width says.
"""
