"""Dataclasses with our methods, beside the same ones with Python's own."""

import dataclasses
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from math import nan
from operator import eq, lt
from typing import Any

import pytest

from sam_tui.dataclass_methods import MAKERS, use_closures

_MISSING = object()


def pythons_own() -> Any:
    """The module of Python, as nothing in this process has changed it."""
    spec = importlib.util.find_spec("dataclasses")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def classes(module: Any) -> dict[str, type[Any]]:
    """Dataclasses of all kinds, made anew."""
    dataclass, field = module.dataclass, module.field

    @dataclass(frozen=True, slots=True)
    class Point:
        x: float
        y: float = 0.0

    @dataclass(frozen=True, slots=True)
    class Described:
        """Its signature is not asked for, so its ``__init__`` is late."""

        x: float
        y: Any = field(default_factory=list)
        z: float = field(default=1.0, init=False)

    @dataclass(frozen=True, slots=True)
    class Extended(Described):
        """Its fields are in slots of two classes."""

        w: float = field(default=2.0, kw_only=True)

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

    made = (Point, Described, Extended, One, Other, Open, Ordered, Empty)
    return {kind.__name__: kind for kind in made}


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
    own = list(outcomes(classes(pythons_own())))
    for name in filter(partial(hasattr, dataclasses), MAKERS):
        monkeypatch.setattr(dataclasses, name, getattr(dataclasses, name))
    use_closures()
    ours = classes(dataclasses)
    assert list(outcomes(ours)) == own
    assert len(own) > 300
