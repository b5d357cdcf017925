"""Names as volumes compare them that fold case and normalise."""


def folded(path: str) -> str:
    """A path with all differences removed that a case-insensitive volume ignores.

    Characters that nobody sees are overlooked as well: ext4 and f2fs with `casefold` and HFS+ do so.
    """
    if path.isascii():
        return path.lower()
    import unicodedata  # few paths need it

    visible = "".join(letter for letter in path if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", visible).casefold())
