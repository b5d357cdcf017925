"""A shell in the side column, ready to be worked with."""

from textual import events

from sam_tui.ui.widgets.terminal.view import TerminalView
from tests.ui.driver import Driver

LEAVE_CHORD = ("ctrl+right_square_bracket",) * 2


def drawn(view: TerminalView) -> str:
    """What the widget draws, as text."""
    return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


async def in_shell(me: Driver) -> TerminalView:
    """Go to the shell, and wait for its prompt."""
    await me.ready()
    await me.pilot.press(LEAVE_CHORD[0])
    view = me.app.chat.terminals.shell
    await me.until(lambda: view.has_focus and view.session is not None and drawn(view).strip())
    return view


async def type_line(me: Driver, text: str) -> None:
    """Key by key, then Enter."""
    await me.pilot.press(*("space" if c == " " else c for c in text), "enter")


async def shows(me: Driver, view: TerminalView, text: str) -> None:
    """Let the shell print a text on a clean screen, behind which nothing stands; wait for it.

    ``text`` is for printf.
    """
    assert view.session is not None
    session = view.session
    await me.until(lambda: session.activity.state.name == "finished")
    session.write(f"PS1=; clear; printf '{text}\\n\\033[m'; sleep 900\n".encode())
    # The session has all that is printed, and the view has drawn it: the line typed has the same words.
    await me.until(lambda: session.output(0).text.endswith("\n\x1b[m"))
    await me.until(lambda: drawn(view).split() == session.screen.text().split())


def mouse(
    kind: type[events.MouseEvent],
    view: TerminalView,
    x: int,
    y: int,
    button: int = 0,
    *,
    held: str = "",
) -> None:
    """One mouse event over a view; ``held`` names modifiers."""
    given = kind(view, x, y, 0, 0, button, "shift" in held, "meta" in held, "ctrl" in held)
    view.post_message(given)


async def drag(
    me: Driver, view: TerminalView, start: tuple[int, int], end: tuple[int, int], held: str = ""
) -> None:
    """Press, move, release."""
    mouse(events.MouseDown, view, *start, 1, held=held)
    mouse(events.MouseMove, view, *end, 1, held=held)
    mouse(events.MouseUp, view, *end, 1, held=held)
    await me.pilot.pause()
