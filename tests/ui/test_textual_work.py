"""What Textual does over and over is done less often here, and comes to the same."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from textual.message import Message
from textual.message_pump import MessagePump

from sam_tui.ui import timers
from sam_tui.ui.screens.compositor import LayoutCompositor
from sam_tui.ui.widgets.line_input import LineInput
from tests.ui.driver import Stage, app_over, driven

LAYOUTS_AT_START = 2


def kinds_of(base: type[Any]) -> Iterator[type[Any]]:
    """A class with all that are made of it."""
    yield base
    for kind in base.__subclasses__():
        yield from kinds_of(kind)


@pytest.mark.requirement("ui:work")
def test_the_handlers_that_are_remembered_are_those_that_textual_finds() -> None:
    search: Any = timers._search  # pyright: ignore[reportPrivateUsage]
    remembered: Any = timers._handlers  # pyright: ignore[reportPrivateUsage]
    names: dict[str, type[Message]] = {}
    for kind in set(kinds_of(Message)) - {Message}:
        names.setdefault(kind.handler_name, kind)
    pairs = 0
    for kind in set(kinds_of(MessagePump)):
        members = {name for cls in kind.__mro__ for name in vars(cls)}
        pump: Any = object.__new__(kind)
        for name, message_kind in names.items():
            if members.isdisjoint((name, f"_{name}")):
                continue
            message: Any = object.__new__(message_kind)
            message._no_default_action = False
            textuals = list(search(pump, name, message))
            assert list(remembered(pump, name, message)) == textuals
            message._no_default_action = True
            assert list(remembered(pump, name, message)) == list(search(pump, name, message)) == []
            pairs += bool(textuals)
    assert pairs > 500


class Called:
    """Things that can be called, with parameters of all kinds."""

    def method(self, a: int, b: int = 0, *, c: int = 0) -> None: ...

    def several(self, a: int, *more: int) -> None: ...

    @classmethod
    def of_class(cls, a: int) -> None: ...

    @staticmethod
    def static(a: int, b: int) -> None: ...

    async def later(self) -> None: ...

    def __call__(self, a: int) -> None: ...


@functools.wraps(Called.static)
def wrapped(*given: Any) -> None: ...


CALLED = Called()
CALLBACKS: tuple[Callable[..., Any], ...] = (
    *(CALLED, CALLED.method, CALLED.several, CALLED.of_class, CALLED.later, Called, Called.method),
    *(Called.static, Called.of_class, wrapped, print, str.upper, lambda: None),
    *(functools.partial(CALLED.method, 1), functools.partial(wrapped, 1)),
)


@pytest.mark.requirement("ui:work")
@pytest.mark.parametrize("callback", CALLBACKS)
def test_parameters_of_a_callback_are_counted_as_textual_does(callback: Callable[..., Any]) -> None:
    textuals: Any = timers._count  # pyright: ignore[reportPrivateUsage]
    ours: Any = timers._count_parameters  # pyright: ignore[reportPrivateUsage]
    assert outcome(ours, callback) == outcome(textuals, callback)


def outcome(count: Callable[[Any], int], callback: Any) -> int | str:
    try:
        return count(callback)
    except ValueError as error:
        return str(error)


@pytest.mark.requirement("ui:work")
async def test_a_screen_is_laid_out_twice_as_it_opens_and_not_for_a_character_in_a_line(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrange: Any = LayoutCompositor._arrange_root  # pyright: ignore[reportPrivateUsage]
    layouts: Counter[str] = Counter()

    def counted(compositor: Any, parent: Any, *arguments: Any, **options: Any) -> Any:
        layouts[type(parent).__name__] += 1
        return arrange(compositor, parent, *arguments, **options)

    monkeypatch.setattr(LayoutCompositor, "_arrange_root", counted)
    async with driven(app_over(stage)) as me:
        await me.ready()
        assert layouts[type(me.app.chat).__name__] <= LAYOUTS_AT_START
        line = LineInput(print)
        await me.app.chat.mount(line)
        await me.pilot.pause()
        before = layouts.total()
        for character in "typed":
            line.insert_text_at_cursor(character)
            await me.pilot.pause()
        assert line.value == "typed"
        assert layouts.total() == before
