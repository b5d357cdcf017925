"""Count the words of a text."""

from collections import Counter


def words(text: str) -> list[str]:
    """The words of a text, in order, without punctuation and in lower case."""
    return [word.strip(".,;:!?\"'()") for word in text.split()]


def top(text: str, count: int) -> list[tuple[str, int]]:
    """The ``count`` most frequent words, most frequent first, equal ones by name."""
    counted = Counter(words(text))
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
