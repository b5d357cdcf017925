"""Faults that pydantic finds in data, as place and plain words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_OBJECT, _WHOLE, _TRUTH = "must be an object", "must be a whole number", "must be true or false"
_WORDS = {
    "bool_parsing": _TRUTH,
    "bool_type": _TRUTH,
    "dict_type": _OBJECT,
    "extra_forbidden": "there is no such field",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": "has too many digits",
    "int_type": _WHOLE,
    "json_invalid": "is not valid JSON: {error}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "mapping_type": _OBJECT,
    "missing": "is missing",
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "recursion_loop": "is nested too deep",
    "string_pattern_mismatch": "does not match the pattern {pattern}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_type": "must be text",
    "string_unicode": "must be text in UTF-8",
    "tuple_type": "must be a list",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing",
}
"""Our words by pydantic's type of error; for other types pydantic's message is used."""
_SIZES = {
    "too_long": ("at most", "max_length"),
    "too_short": ("at least", "min_length"),
}


def fault_words(fault: "ErrorDetails") -> str:
    """The fault of one field in words, to follow the field's name."""
    kind = fault["type"]
    context = {key: _number(value) for key, value in fault.get("ctx", {}).items()}
    if kind in _SIZES:
        bound, key = _SIZES[kind]
        entries = "one entry" if context[key] == 1 else f"{context[key]} entries"
        return f"must have {bound} {entries}"
    if kind == "string_too_short" and context["min_length"] == 1:
        return "must not be empty"
    if kind in _WORDS:
        return _WORDS[kind].format_map(context)
    return fault["msg"].removeprefix("Value error, ").replace("Input should ", "must ", 1)


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def faults_of(error: "ValidationError", *root: str) -> list[str]:
    """Return every fault with its place below ``root``: ``steps.2.title: is missing``."""
    faults: list[str] = []
    for fault in error.errors(include_url=False, include_input=False):
        where = ".".join(map(str, (*root, *fault["loc"])))
        faults.append(f"{where}: {fault_words(fault)}" if where else fault_words(fault))
    return faults
