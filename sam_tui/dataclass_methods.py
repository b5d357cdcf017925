"""Methods of dataclasses as closures: compiling each of them took a third of a short run's CPU.

Before 3.13 Python makes a source text of every method of every dataclass and compiles it by itself. The
methods here do the same. ``__init__``, which has a signature, is still compiled, once somebody asks for it:
a short run needs that of less than a third of its dataclasses. In a frozen class with slots it sets these
directly, in two thirds of the time.
"""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from types import FunctionType, MemberDescriptorType

_Fields = Sequence[Field[object]]
_Comparison = Callable[[object, object], bool]
_create_function: Callable[..., FunctionType] = getattr(dataclasses, "_create_fn", None)  # pyright: ignore
_compiled_comparison: Callable[..., _Comparison] = getattr(dataclasses, "_cmp_fn", None)  # pyright: ignore


def use_closures() -> None:
    """Make the methods of all dataclasses from now on so, where Python compiles each by itself."""
    if sys.version_info < (3, 13) and all(hasattr(dataclasses, name) for name in MAKERS):
        for name, make in MAKERS.items():
            setattr(dataclasses, name, make)


def _values_of(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """A function from an instance to the values of some fields."""
    if not names:
        return lambda _: ()
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda instance: (values(instance),)


def _representation(fields: _Fields, _: object) -> Callable[[object], str]:
    names = [field.name for field in fields]

    @recursive_repr("...")
    def __repr__(self: object) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return __repr__


def _comparison(name: str, op: str, left: str, right: str, **namespace: object) -> _Comparison:
    """``left`` is the text of a tuple, such as ``(self.x,self.y,)``."""
    if name != "__eq__":
        return _compiled_comparison(name, op, left, right, **namespace)
    values = _values_of([part.partition(".")[2] for part in left[1:-1].split(",") if part])

    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return __eq__


def _hash(fields: _Fields, _: object) -> Callable[[object], int]:
    values = _values_of([field.name for field in fields])

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


def _frozen(cls: type[object], fields: _Fields, _: object) -> tuple[Callable[..., None], ...]:
    names = frozenset(field.name for field in fields)

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


class _LateMethod:
    """A method that is compiled when it is first looked up, and then takes its own place in its class."""

    __slots__ = ("_create", "_name")

    def __init__(self, name: str, create: Callable[[type[object]], FunctionType]) -> None:
        self._name = name
        self._create = create

    def __get__(self, instance: object, owner: type[object]) -> object:
        holders = (cls for cls in owner.__mro__ if cls.__dict__.get(self._name) is self)
        cls = next(holders, object)  # none where another thread was first
        function = self._create(cls)
        if cls is not object:
            function.__qualname__ = f"{cls.__qualname__}.{self._name}"
            setattr(cls, self._name, function)
        return function.__get__(instance, owner)


_SETS = "__dataclass_builtins_object__.__setattr__("
"""The beginning of a line that sets a field: the frozen instance, the name and the value follow."""


def _created(
    name: str, parameters: object, body: list[str], **more: dict[str, object] | None
) -> _LateMethod | FunctionType:
    """The method of a name, with its parameters and the lines of its body."""

    def create(cls: type[object]) -> FunctionType:
        names = {**(more["locals"] or {})}
        lines = [_setting(line, cls, names) for line in body]
        return _create_function(name, parameters, lines, **{**more, "locals": names})

    if name == "__init__":
        return _LateMethod(name, create)
    return _create_function(name, parameters, body, **more)


def _setting(line: str, cls: type[object], names: dict[str, object]) -> str:
    """The line; one that sets a slot calls that slot's setter instead, which is added to ``names``."""
    if not line.startswith(_SETS):
        return line
    instance, quoted, value = line.removeprefix(_SETS).split(",", 2)
    slot = getattr(cls, name := quoted.strip("'"), None)
    if not isinstance(slot, MemberDescriptorType):
        return line
    names[setter := f"__dataclass_set_{name}__"] = slot.__set__
    return f"{setter}({instance},{value}"


MAKERS: dict[str, Callable[..., object]] = {
    "_create_fn": _created,
    "_repr_fn": _representation,
    "_cmp_fn": _comparison,
    "_hash_fn": _hash,
    "_frozen_get_del_attr": _frozen,
}
"""Functions of ``dataclasses`` that make methods, each with our replacement."""
