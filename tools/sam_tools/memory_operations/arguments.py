"""The model's arguments: one model per operation gives both the schema and the parser."""

import json
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sam_tui.core.ports.memory import MEMORY_TYPES, MemoryType
from sam_tui.core.tooling.arguments import Arguments

LONGEST = 50_000
"""The most characters of a memory or note."""
DEFAULT_THRESHOLD = 0.15
"""The default of the least relevance: about a fifth of a question's terms. Less is mostly noise."""


def _type(value: object) -> object:
    """A type that is not known counts as ``interaction`` (spec/sam.md 1.8)."""
    word = value.strip().lower() if isinstance(value, str) else value
    return word if word in MEMORY_TYPES else "interaction"


def _list(value: object) -> object:
    """A list of texts may come as JSON text, as one text, or as null."""
    if value is None:
        return ()
    if not isinstance(value, str):
        return value
    try:
        decoded: object = json.loads(value)
    except ValueError:
        return (value,)
    return cast("list[Any]", decoded) if isinstance(decoded, list) else (value,)


def _tags(value: object) -> object:
    """Tags may also come with commas between them."""
    listed = _list(value)
    if isinstance(value, str) and listed == (value,):
        return tuple(value.split(","))
    return listed


def _between(fewest: int, most: int) -> AfterValidator:
    """Text without white space around it, of so many characters; the schema stays short without."""

    def check(text: str) -> str:
        text = text.strip()
        if len(text) < fewest:
            raise PydanticCustomError("memory", "must not be empty")
        if len(text) > most:
            raise PydanticCustomError(
                "memory",
                "has {length} characters, at most {most}: keep the rest in pieces or in a file",
                {"length": len(text), "most": most},
            )
        return text

    return AfterValidator(check)


Words = Annotated[str, _between(1, 2_000)]
Content = Annotated[str, _between(1, LONGEST)]
Key = Annotated[str, _between(1, 200)]
Line = Annotated[str, _between(0, 2_000)]
Examples = Annotated[tuple[Content, ...], BeforeValidator(_list)]


class SearchMemory(Arguments):
    """A search of memories."""

    query: Words
    limit: int = Field(default=10, ge=1, le=50)
    similarity_threshold: float = Field(
        default=DEFAULT_THRESHOLD, ge=0, le=1, description=f"default {DEFAULT_THRESHOLD}"
    )


class StoreMemory(Arguments):
    """A text to store as a memory."""

    content: Content
    content_type: Annotated[MemoryType, BeforeValidator(_type)] = "interaction"
    context: Line = Field(default="", description="where it comes from")
    tags: Annotated[tuple[Line, ...], BeforeValidator(_tags)] = ()


class StoreNote(Arguments):
    """A note and its name."""

    key: Key
    content: Content


class Keyed(Arguments):
    """A note's name."""

    key: Key


class SearchNotes(Arguments):
    """Text that a note holds."""

    query: Words


class AddDiscovery(Arguments):
    """A fact and how sure it is."""

    fact: Content
    confidence: float = Field(default=0.8, ge=0, le=1)


class AddSolution(Arguments):
    """An error and its solution."""

    error: Content
    solution: Content
    examples: Examples = ()


class AddPattern(Arguments):
    """A way things are done and how sure it is."""

    pattern: Content
    confidence: float = Field(default=0.7, ge=0, le=1)
    examples: Examples = ()


class Prune(Arguments):
    """The entries of knowledge to keep."""

    max_age_days: float = Field(default=90, gt=0)
    min_confidence: float = Field(default=0.3, ge=0, le=1)
    max_discoveries: int = Field(default=50, ge=0)
    max_solutions: int = Field(default=50, ge=0)
    max_patterns: int = Field(default=30, ge=0)
