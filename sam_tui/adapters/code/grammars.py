"""Which grammar reads which files: the individual tree-sitter wheels, loaded on first use."""

import importlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

_WHEELS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}
_EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl cu",
}
_LANGUAGES = {
    extension: language for language, names in _EXTENSIONS.items() for extension in names.split()
}


def language_of(path: str, data: bytes = b"") -> str:
    """The language of a file by its name (and a C++ header by what it says); empty for none."""
    language = _LANGUAGES.get(path.rpartition(".")[2].lower(), "")
    plus_plus = (b"class ", b"namespace ", b"template", b"public:")
    if language == "c" and path.endswith(".h") and any(word in data for word in plus_plus):
        return "cpp"
    return language if language and parser(language) is not None else ""


@cache
def parser(language: str) -> "Parser | None":
    """The parser of a language; None where its wheel is not installed."""
    try:
        from tree_sitter import Language, Parser

        module, function = _WHEELS[language]
        pointer = getattr(importlib.import_module(module), function)()
        return Parser(Language(pointer))  # pyright: ignore[reportDeprecated] # a capsule, untyped
    except (ImportError, AttributeError, ValueError):
        return None
