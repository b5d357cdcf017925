"""Rows of a table of spec/sam.md as parameters of one test: a row is a function and its id."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import pytest

R = TypeVar("R", bound=Callable[..., Awaitable[None] | None])


class Rows(Generic[R]):
    """Collects rows in their order."""

    def __init__(self) -> None:
        self.all: list[Any] = []

    def add(self, name: str) -> Callable[[R], R]:
        """Mark a function as the row of that name."""

        def keep(function: R) -> R:
            self.all.append(pytest.param(function, id=name))
            return function

        return keep
