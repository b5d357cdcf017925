"""Requests of terminals and their programs to the workbench: clipboard, links, colours, bell."""

import re
import time
from typing import TYPE_CHECKING, assert_never

from textual.color import Color

from sam_tui.core.inquiry import ApprovalRequest, ScopeChoice
from sam_tui.core.tooling.questions import ask_person
from sam_tui.ui import programs
from sam_tui.ui.controllers.context import Context
from sam_tui.ui.controllers.screen.attention import WindowTitle
from sam_tui.ui.driver.sequences import copied_words
from sam_tui.ui.plain import one_line, visible_line
from sam_tui.ui.transcript.render.safe_text import clean_output
from sam_tui.ui.widgets.terminal.messages import TerminalAsked
from sam_tui.ui.widgets.terminal.view import TerminalView

if TYPE_CHECKING:
    from sam_tui.core.ports.processes.screens import ClipboardRequest
    from sam_tui.core.ports.processes.terminals import TerminalSession

_WEB = re.compile(r"https?://", re.IGNORECASE)
_BELL_PAUSE = 1.0
_PREVIEW = 200
_LARGEST_PROMPT = 20_000
"""The most characters of output that are put into the prompt; of more, its head and tail."""
_SESSION = "session"
_ONCE = ScopeChoice("once", "this once", "once")
_WHY = "A program in your terminal asks (OSC 52)."
_READ_REQUEST = ApprovalRequest(
    "read the clipboard",
    "what you last copied in the workbench",
    (),
    f"{_WHY} The program would receive the text.",
    "",
    choices=(_ONCE,),
)


class TerminalRequests:
    """Answers requests of terminals. It asks the person before clipboard access and unusual links."""

    def __init__(self, context: Context, title: WindowTitle) -> None:
        self._context = context
        self._app = context.app
        self._screen = context.screen
        self._runtime = context.runtime
        self._title = title
        self._writers: set[str] = set()
        """The views whose programs may set the clipboard for the rest of the run."""
        self._asking: set[tuple[str, str]] = set()
        self._last_bell = 0.0

    def handle(self, message: TerminalAsked) -> None:
        """Carry out a request of a terminal view."""
        view, text = message.view, message.value if isinstance(message.value, str) else ""
        if not isinstance(view, TerminalView):
            return  # nothing else asks
        match message.what:
            case "colours":
                self._tell_colours(view)
            case "title":
                self._tell_title(view)
            case "bell":
                self._ring()
            case "end":
                self.end_command(view)
            case "copy":
                self._app.copy_to_clipboard(text)
                self._context.notify_briefly(copied_words(text))
            case "link":
                self._app.run_worker(self._open(text), group="terminal-link")
            case "clipboard":
                if not isinstance(message.value, str):
                    self._clipboard(view, message.value)
            case "send" | "pager" | "editor":
                self.use(message.what, view, text)
            case _:
                assert_never(message.what)

    def end_command(self, view: TerminalView) -> None:
        """End the command that runs in a terminal; its shell stays."""
        if view.session is None or view.session.activity.state.name == "finished":
            self._context.notify_briefly("No command runs in this terminal.")
            return
        self._app.run_worker(self._end(view, view.session), group=f"end-{view.id}")

    async def _end(self, view: TerminalView, session: "TerminalSession") -> None:
        if not await view.interrupting.end(session):
            self._context.notify_briefly("The command did not end on INT, TERM or KILL.")

    # ---- the present text

    def use(self, target: str, view: TerminalView, text: str = "") -> None:
        """Send or open in the pager or editor: the marked text, else the last output, else all."""
        text = text or self._at_hand(view, whole=target != "send")
        if not text:
            self._context.notify_briefly("There is no output yet.")
        elif target == "send":
            self._to_prompt(text)
        else:
            reader: programs.Reader = "editor" if target == "editor" else "pager"
            self._app.run_worker(self._read(reader, text), group="reader", exclusive=True)

    def _at_hand(self, view: TerminalView, *, whole: bool) -> str:
        session = view.session
        if session is None:
            return ""
        if view.marking is not None:
            return view.marking.text()
        screen = session.screen
        if whole:
            return screen.scrollback.text((0, 0), (screen.columns - 1, screen.scrollback.total - 1))
        done = [record for record in session.commands if record.exit_code is not None]
        if not done:
            return screen.text()
        last = done[-1]
        output = session.output(last.start, last.end).text
        return f"$ {last.command}\n{clean_output(output)}"

    def _to_prompt(self, text: str) -> None:
        area = self._screen.prompt.area
        self._screen.focus_bottom()
        lead = "" if not area.text or area.text.endswith("\n") else "\n"
        area.move_cursor(area.document.end)
        area.paste(lead + fenced(text), "output")

    async def _read(self, reader: programs.Reader, text: str) -> None:
        trouble = await programs.read(self._app, reader, text)
        if trouble:
            self._context.notify_briefly(trouble)

    # ---- the clipboard

    def _clipboard(self, view: TerminalView, request: "ClipboardRequest") -> None:
        name = view.id or ""
        if request.kind == "write" and name in self._writers:
            self._app.copy_to_clipboard(request.text)
            return
        # One question of a kind at a time, so that a program cannot ask over and over.
        if (name, request.kind) in self._asking:
            return
        self._asking.add((name, request.kind))
        self._app.run_worker(self._ask_clipboard(view, request), group=f"clipboard-{name}")

    async def _ask_clipboard(self, view: TerminalView, wish: "ClipboardRequest") -> None:
        name, session = view.id or "", view.session
        request = _write_request(wish.text) if wish.kind == "write" else _READ_REQUEST
        try:
            allowed = await self._allowed(request, (request.summary,))
        finally:
            self._asking.discard((name, wish.kind))
        if not allowed:
            return
        if wish.kind == "read":
            if view.session is session and session is not None:
                session.screen.answer_clipboard(self._app.clipboard)
            return
        if allowed == _SESSION:
            self._writers.add(name)
        self._app.copy_to_clipboard(wish.text)

    async def _allowed(self, request: ApprovalRequest, named: tuple[str, ...]) -> str:
        """Ask the person, and return nothing, ``once`` or ``session``. The log records the request; of
        a clipboard only the length."""
        runtime = self._runtime
        answer = await ask_person(runtime.inquiries, runtime.executor.record, request, named=named)
        if answer is None:
            return ""
        return _SESSION if answer.choice == "scope" and answer.scope == "always" else "once"

    # ---- links

    async def _open(self, address: str) -> None:
        if not _WEB.match(address) and not await self._agreed(address):
            return
        if not await programs.browse(address):
            self._app.copy_to_clipboard(address)
            self._context.notify_briefly(f"No browser here. Copied: {one_line(address, 80)}")

    async def _agreed(self, address: str) -> bool:
        """Ask before an address that is no web page is opened, as it may start any program; the answer."""
        request = ApprovalRequest(
            "open a link",
            visible_line(address.partition(":")[0]),
            (address,),
            "It is not a web page: your desktop would choose a program for it.",
            "",
            choices=(_ONCE,),
        )
        return bool(await self._allowed(request, (address,)))

    # ---- notices

    def _tell_colours(self, view: TerminalView) -> None:
        if view.session is None:
            return
        colours = (self._app.ansi_theme.ansi_colors[n] for n in range(16))
        palette = [(red, green, blue) for red, green, blue in colours]
        view.session.screen.use_colours(
            _rgb(view.styles.color),
            _rgb(view.styles.background),
            dark=self._app.current_theme.dark,
            palette=palette,
        )
        view.redraw()

    def _tell_title(self, view: TerminalView) -> None:
        """Give the window the title of the focused terminal's program."""
        if view is not self._screen.terminals.current:
            return
        session = view.session if view.has_focus else None
        self._screen.status.standing.hint = view.WAY_OUT if view.has_focus else ""
        self._screen.status.show()
        self._title.of_program(session.screen.title if session is not None else "")

    def _ring(self) -> None:
        now = time.monotonic()
        if now - self._last_bell >= _BELL_PAUSE:
            self._last_bell = now
            self._app.bell()  # pyright: ignore[reportUnknownMemberType]


def fenced(text: str) -> str:
    """Output as a fenced block that it cannot end itself; of a long one the beginning and the end."""
    if len(text) > _LARGEST_PROMPT:
        half = _LARGEST_PROMPT // 2
        left = len(text) - 2 * half
        text = f"{text[:half]}\n[… {left} characters left out …]\n{text[-half:]}"
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.strip(chr(10))}\n{fence}\n"


def _rgb(color: Color) -> tuple[int, int, int]:
    return color.r, color.g, color.b


def _write_request(text: str) -> ApprovalRequest:
    always = ScopeChoice(
        "always", "programs in this terminal tab may set it until you quit", "session"
    )
    preview = text[:_PREVIEW] + ("…" if len(text) > _PREVIEW else "")
    size = f"{len(text)} characters"
    return ApprovalRequest("set the clipboard", size, (preview,), _WHY, "", choices=(_ONCE, always))
