"""A runtime to draw, and its model."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import active_app
from textual.message_pump import MessagePump

from sam_tui.ui.theme import ThemeStylesheet
from sam_tui.ui.widgets.terminal import repeated_keys
from tests.fakes.engine_kit import RawModel
from tests.ui.driver import SIDE_SHOWN, Stage, build_stage


@pytest.fixture(autouse=True, scope="module")
def uncollected() -> Iterator[None]:
    """Garbage is not searched for: an app searches as it starts, and leaves as much as a small module."""
    thresholds = gc.get_threshold()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda: 0)
        gc.disable()
        yield
    gc.freeze()
    gc.set_threshold(*thresholds)
    gc.enable()


@pytest.fixture(autouse=True)
def patient_chord(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that leads out of a terminal waits for the second press, however slow the machine is."""
    monkeypatch.setattr(repeated_keys, "WITHIN", 3600)


@pytest.fixture(autouse=True)
def waits_for_the_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot waits for those widgets alone that have a message: it would send one to each of them."""
    call_later = MessagePump.call_later

    def call_busy(pump: MessagePump, callback: Any, *args: Any, **terms: Any) -> bool:
        of_pilot = getattr(callback, "__qualname__", "").startswith("Pilot._wait_for_screen.")
        return not (of_pilot and _is_idle(pump)) and call_later(pump, callback, *args, **terms)

    monkeypatch.setattr(MessagePump, "call_later", call_busy)


def _is_idle(pump: Any) -> bool:
    """Whether a widget waits for its next message, and none is there."""
    queue = pump._message_queue
    busy = queue.values or pump._next_callbacks or pump._pending_message is not None
    return not busy and bool(queue.ready_event._waiters)


_parsed: dict[str, dict[Any, Any]] = {}
"""What was parsed of style sheets, for each set of variables."""
_combined: dict[tuple[Any, ...], dict[str, Any]] = {}
"""What was made of all sources of a style sheet, by variables and sources."""


@pytest.fixture(autouse=True)
def parsed_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Style sheets are parsed, and their rules combined, for the first app, and not for each."""
    make, set_variables = ThemeStylesheet.__init__, ThemeStylesheet.set_variables
    parse = ThemeStylesheet.parse

    def make_parsed(sheet: ThemeStylesheet, variables: dict[str, str]) -> None:
        make(sheet, variables)
        setattr(sheet, "_parse_cache", _parsed.setdefault(repr(variables), {}))  # noqa: B010

    def change(sheet: ThemeStylesheet, variables: dict[str, str]) -> None:
        setattr(sheet, "_parse_cache", {})  # noqa: B010 # Textual empties what was parsed for others
        set_variables(sheet, variables)
        setattr(sheet, "_parse_cache", _parsed.setdefault(repr(variables), {}))  # noqa: B010

    def parse_new(sheet: ThemeStylesheet) -> None:
        sources = (repr(getattr(sheet, "_variables")), *sheet.source.items())  # noqa: B009
        if sources not in _combined:
            parse(sheet)
            assert sheet.rules_map
            names = ("_rules", "_rules_map", "_combined")
            _combined[sources] = {name: getattr(sheet, name) for name in names}
        vars(sheet).update(_combined[sources], _require_parse=False)

    monkeypatch.setattr(ThemeStylesheet, "parse", parse_new)
    monkeypatch.setattr(ThemeStylesheet, "__init__", make_parsed)
    monkeypatch.setattr(ThemeStylesheet, "set_variables", change)


@pytest.fixture(autouse=True)
def painted_for_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal nothing is painted between two looks: Textual paints it, and throws it away.

    A look has all that is on show painted (``Driver.drawn``, ``export_screenshot``). Apps in a terminal
    paint as ever, and so do those of a module that has a fixture of this name in its stead.
    """
    paint: Any = vars(Compositor)["render_update"]

    def paint_for_somebody(screen: Compositor, full: bool = False, **terms: Any) -> Any:
        if full or not active_app.get().is_headless:
            return paint(screen, full, **terms)
        getattr(screen, "_dirty_regions").clear()  # noqa: B009
        return None

    monkeypatch.setattr(Compositor, "render_update", paint_for_somebody)


@pytest.fixture
def model() -> RawModel:
    """The model of the stage; tests give it answers before they send."""
    return RawModel()


@pytest.fixture
def side_column() -> None:
    """The side column stands from the start, with a shell in it, where a person has it open when needed."""


@pytest.fixture
def stage(
    tmp_path: Path,
    model: RawModel,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Stage:
    """A runtime with a model. The shell is a quiet bash."""
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("PS1", "$ ")
    layout = SIDE_SHOWN if "side_column" in request.fixturenames else None
    return build_stage(tmp_path, model, layout)
