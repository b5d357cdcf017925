"""Dataclasses with our methods, beside the same ones with Python's own."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import nan
from operator import eq, lt
from typing import Any

import pytest

from sam_tui.dataclass_methods import MAKERS, use_closures

_MISSING = object()


def classes() -> dict[str, type[Any]]:
    """Dataclasses of all kinds, made anew."""

    @dataclass(frozen=True, slots=True)
    class Point:
        x: float
        y: float = 0.0

    @dataclass(frozen=True)
    class One:
        x: float

    @dataclass(frozen=True)
    class Other(One):
        hidden: float = field(default=0.0, repr=False, compare=False)
        loud: Any = None

    @dataclass
    class Open:
        x: float
        inner: Any = field(default=None, hash=False)

    @dataclass(order=True, unsafe_hash=True)
    class Ordered:
        x: float
        y: float = 0.0

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return {made.__name__: made for made in (Point, One, Other, Open, Ordered, Empty)}


def outcome(action: Callable[[], object]) -> object:
    """What an action comes to: its result, or its error."""
    try:
        return action()
    except (AttributeError, TypeError) as error:
        return type(error).__name__, str(error)


def outcomes(made: dict[str, type[Any]]) -> Iterator[object]:
    """What instances of the classes do."""
    arguments: list[tuple[Any, ...]] = [(), (1.0,), (1.0, 2.0), (nan,), ([],), (nan, nan)]
    instances: list[Any] = [
        instance
        for kind, given in product(made.values(), arguments)
        if not isinstance(instance := outcome(partial(kind, *given)), tuple)
    ]
    yield len(instances)
    for kind in made.values():
        yield str(inspect.signature(kind)), str(inspect.signature(kind.__init__))
        yield kind.__init__.__qualname__, type(kind.__init__)
    for one in instances:
        yield repr(one)
        yield outcome(partial(hash, one))
        for name in ("x", "y", "unheard_of"):
            yield outcome(partial(setattr, one, name, 7.0))
            yield outcome(partial(getattr, one, name))
            yield outcome(partial(delattr, one, name))
            yield outcome(partial(setattr, one, name, 5.0))
        yield type(one).__eq__.__qualname__, type(one).__repr__.__qualname__
    for one, two in product(instances, instances):
        yield outcome(partial(eq, one, two))
        yield outcome(partial(lt, one, two))
    yield made["Point"](1.0) == _MISSING
    loop = made["Open"](1.0)
    loop.inner = [loop]
    yield repr(loop)


@pytest.mark.requirement("start:dataclasses")
def test_our_methods_do_what_those_of_python_do(monkeypatch: pytest.MonkeyPatch) -> None:
    own = list(outcomes(classes()))
    for name in filter(partial(hasattr, dataclasses), MAKERS):
        monkeypatch.setattr(dataclasses, name, getattr(dataclasses, name))
    use_closures()
    ours = classes()
    assert list(outcomes(ours)) == own
    assert len(own) > 300
