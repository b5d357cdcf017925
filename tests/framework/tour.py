"""Calls every operation with every parameter, and watches which parameters the operation reads."""

import inspect
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import pytest
from pydantic import BaseModel

from sam_tui.core.ids import CallId
from sam_tui.core.messages import ToolCall
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation
from tests.fakes.web_server import WebServer
from tests.framework.bench import Bench


class Readings:
    """Which fields of which argument models were read since the last look."""

    def __init__(self) -> None:
        self.found: set[tuple[type[BaseModel], str]] = set()

    @contextmanager
    def watch(self) -> Generator[None]:
        """Notice every read of a field. A dump of a whole model reads all that was given."""
        plain: Callable[[Any, str], Any] = object.__getattribute__
        found = self.found

        def reading(model: Any, name: str) -> Any:
            kind = cast("type[BaseModel]", type(model))
            if name in kind.model_fields:
                found.add((kind, name))
            elif name == "model_dump":
                found.update((kind, each) for each in plain(model, "__dict__"))
            return plain(model, name)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Arguments, "__getattribute__", reading)
            yield


@dataclass
class Tour:
    """What became of the calls, by ``tool.operation``."""

    bench: Bench
    site: WebServer
    readings: Readings
    failed: dict[str, str] = field(default_factory=dict[str, str])
    succeeded: set[str] = field(default_factory=set[str])
    given: set[str] = field(default_factory=set[str])
    read: set[str] = field(default_factory=set[str])

    async def take(
        self, name: str, arguments: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Mapping[str, Any]:
        """Make one call that should succeed; its data, or nothing when it did not."""
        values = {**(arguments or {}), **more}
        executor = self.bench.runtime.executor
        identifier = CallId(f"tour_{len(self.succeeded)}_{len(self.failed)}_{len(self.given)}")
        plan = executor.plan(ToolCall(identifier, name, json.dumps(values)))
        # Reading for the line on the card does not count: it must matter to what is done.
        self.readings.found.clear()
        _forget_derived(plan.arguments)
        executed = await executor.run(plan, self.bench.conversation)
        if not executed.finished.ok:
            self.failed.setdefault(name, executed.finished.text)
            return {}
        assert plan.operation is not None
        self.succeeded.add(plan.key)
        self.given |= {f"{plan.key}.{p}" for p in _given(plan.operation.arguments, values)}
        kinds = dict(_models(plan.operation.arguments))
        for kind, field_name in self.readings.found:
            if kind in kinds:
                self.read.add(f"{plan.key}.{kinds[kind]}{field_name}")
        return executed.data


def _forget_derived(arguments: Arguments | None) -> None:
    """Drop what the line on the card had computed, so that its parameters are read again."""
    if arguments is not None:
        for name, value in vars(type(arguments)).items():
            if isinstance(value, cached_property):
                vars(arguments).pop(name, None)


def parameters(operation: Operation[Any], key: str) -> set[str]:
    """``tool.operation.parameter`` of all it takes, the fields of nested objects included."""
    return {
        f"{key}.{prefix}{name}"
        for kind, prefix in _models(operation.arguments)
        for name in kind.model_fields
    }


def _models(kind: type[BaseModel], prefix: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """The model of an operation and those nested in it, with the path to each."""
    yield kind, prefix
    for name, info in kind.model_fields.items():
        for inner in _named_models([info.annotation, *info.metadata]):
            yield from _models(inner, f"{prefix}{name}.")


def _named_models(annotations: Sequence[Any]) -> Iterator[type[BaseModel]]:
    """The models in annotations, however they are wrapped."""
    for annotation in annotations:
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
            yield annotation
        shown: Any = getattr(cast("Any", annotation), "json_schema_input_type", None)
        inner: list[Any] = [shown] if inspect.isclass(shown) else []
        for name in ("__args__", "__metadata__"):
            inner += getattr(cast("Any", annotation), name, ())
        yield from _named_models(inner)


def _given(kind: type[BaseModel], values: Any, prefix: str = "") -> Iterator[str]:
    """The paths of the values that were given to a model, through lists and nested objects."""
    for name, value in cast("dict[str, Any]", values).items():
        info = kind.model_fields.get(name)
        if info is None:
            continue
        yield f"{prefix}{name}"
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        for inner in _named_models([info.annotation, *info.metadata]):
            for item in items:
                if isinstance(item, dict):
                    yield from _given(inner, item, f"{prefix}{name}.")
