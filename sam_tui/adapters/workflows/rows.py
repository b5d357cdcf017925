"""Rows as dataclasses: the columns of a table are the fields of its row, in any order."""

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

R = TypeVar("R")


@cache
def columns(kind: type[Any]) -> tuple[str, ...]:
    """The names of a row's fields."""
    return tuple(field.name for field in fields(kind))


@cache
def select(kind: type[Any], table: str) -> str:
    """``SELECT`` of every column."""
    return f"SELECT {', '.join(columns(kind))} FROM {table}"


@cache
def upsert(kind: type[Any], table: str, key: tuple[str, ...]) -> str:
    """Insert a row, or replace the columns that are not its key."""
    names = columns(kind)
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    marks = ", ".join("?" for _ in names)
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changed}"
    )


def values(row: Any) -> list[Any]:
    """A row's values in the order of its columns; text that is no Unicode is made so."""
    kind: type[Any] = row.__class__
    return [_storable(getattr(row, name)) for name in columns(kind)]


def load(kind: type[R], row: Sequence[Any]) -> R:
    """A row from its columns; flags come back as such."""
    flags = _flags(kind)
    return kind(*(bool(v) if i in flags else v for i, v in enumerate(row)))


def load_all(kind: type[R], cursor: sqlite3.Cursor) -> list[R]:
    """Every row of a query."""
    return [load(kind, row) for row in cursor.fetchall()]


@cache
def _flags(kind: type[Any]) -> frozenset[int]:
    kinds = [field.type for field in fields(kind)]
    return frozenset(i for i, type_ in enumerate(kinds) if type_ is bool or type_ == "bool")


def _storable(value: Any) -> Any:
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace").decode()
    return value
