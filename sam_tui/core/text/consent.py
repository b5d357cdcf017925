"""Whether a typed reply agrees: whole words only, a negation wins, anything unclear is no consent."""

import re
import unicodedata
from collections.abc import Iterable


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_PHRASES = (
    "go ahead",
    "go for it",
    "do it",
    "do so",
    "do that",
    "do this",
    "of course",
    "by all means",
)
_THANKS = ("thank you",)
_CONSENT = _words(
    "yes yep yeah yup y ok okay k sure certainly absolutely definitely proceed continue approve"
    " approved authorize authorized authorise authorised confirm confirmed affirmative agreed"
    " allow allowed granted"
)
_FILLER = _words(
    "please pls thanks i we that it this that's thats it's the a just now right so then and for me"
    " all fine good great perfect cool sounds looks"
)
"""Words that do not change a consent. ``if``, ``but`` and ``later`` would; ``is``, ``are`` and ``you``
make it a question ("is that ok", "you sure")."""
_NEGATION = _words(
    "no nope nah n nay not never none nothing neither nor cancel cancelled canceled stop abort halt"
    " dont cannot cant wont reject rejected deny denied decline declined refuse refused disallow"
    " disapprove disagree forbid forbidden prohibit negative nevermind unauthorized unauthorised"
    " revoke veto undo"
)
_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\u0060\u00b4", "'''''")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_LONGEST = 200


def consents(text: str) -> bool | None:
    """True for a plain yes, False when a negation is in it, None when it is neither.

    It is True only when every word is a consent or a filler and nothing is asked: ``y``, ``go
    ahead``, ``sure, do it``. ``maybe``, ``yes?``, ``ok but later`` and long texts are None.
    ``spec/sam.md`` 3.5 and S1 show what matching parts of words did.
    """
    plain = _plain(text)
    words = _WORD.findall(plain)
    if any(word in _NEGATION or word.endswith("n't") for word in words):
        return False
    if not words or len(plain) > _LONGEST or _asks_or_draws(plain):
        return None
    sentence = f" {' '.join(words)} "
    after_phrases = _removed(_PHRASES, sentence)
    left = set(_removed(_THANKS, after_phrases).split())
    agrees = after_phrases != sentence or left & _CONSENT
    return True if agrees and left <= _CONSENT | _FILLER else None


def _removed(phrases: Iterable[str], sentence: str) -> str:
    """The sentence without some phrases of whole words."""
    for phrase in phrases:
        sentence = sentence.replace(f" {phrase} ", "  ")
    return sentence


def _plain(text: str) -> str:
    """Compatibility forms unified, invisible characters gone, lower case, one kind of apostrophe."""
    # Before the compatibility forms: they turn an acute accent into a space and a combining mark.
    unified = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES))
    seen = "".join(c for c in unified if unicodedata.category(c) != "Cf")
    return seen.casefold().translate(_APOSTROPHES)


def _asks_or_draws(plain: str) -> bool:
    """Whether there is a question mark or a picture (a thumb may point either way)."""
    return any(c in "?¿؟" or unicodedata.category(c) == "So" for c in plain)
