"""Somebody at the workbench: goes to its terminals and back, and compares what is drawn there."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from sam_tui.adapters.terminal.emulator.screen import EmulatedScreen
from tests.fakes.openai_server import Call, FakeServer, Recorded, Reply
from tests.terminal_soak.pane import (
    Difference,
    Look,
    differences,
    drawn_pane,
    printed_pane,
    printed_picture,
    tab_look,
)
from tests.terminal_soak.workbench_process import NotDrawn, WorkbenchProcess

SHELL, AGENT = "shell", "agent"
"""The tabs."""
TOOL = "terminal_operations"
_SESSION = re.compile(r"term_[0-9a-f]{24}")
_LEAVE = "ctrl+right_square_bracket"
_HIDDEN = 5
"""Seconds without its frame after which a terminal is taken for hidden."""


class Person:
    """Has the keys in the prompt between two steps."""

    def __init__(self, workbench: WorkbenchProcess, server: FakeServer, chance: Random) -> None:
        self.workbench = workbench
        self.server = server
        self.chance = chance
        self.workspace = workbench.folder / "workspace"
        self.secrets: list[str] = []
        """What was typed while the agent's terminal was held."""
        self.wrong: list[str] = []
        self.compared = 0
        """Cells that were compared."""
        self._count = 0
        self._turns = 0
        self._recording = Path()
        self._tab = SHELL
        self._away: Look | None = None
        """How the tab on show is named while the keys are elsewhere."""

    def begin(self) -> None:
        """Wait for the workbench and its shell, and record the shell."""
        self.workbench.shows("● ready")
        self.tab(SHELL)
        self.workbench.press(_LEAVE)
        self.workbench.shows("ready>")
        self.workbench.shows("Ctrl+] twice leaves")
        inside = self._look()
        self.workbench.press(_LEAVE, _LEAVE)
        self.workbench.until(
            lambda: self._look() not in (inside, None), "the keys stay in the terminal"
        )
        self._away = self._look()
        self.record()

    def finish(self) -> None:
        """Quit."""
        self.say("/quit")
        self.expect("the exit code of the workbench", 0, self.workbench.ended())

    def crash(self) -> None:
        """The workbench is killed, and started again where it was."""
        self.workbench.kill()
        self.workbench.start("--continue")

    # ---- what is drawn

    def record(self) -> None:
        """Record the shell from now on, over a screen without a past."""
        self.tab(SHELL)
        self._recording = self.workbench.folder / f"{self.number()}.cast"
        self.say(f"/record {self._recording}")
        self.workbench.shows("● rec")
        self.dismiss()
        self.command(r"printf '\033c'")

    def compare(self) -> None:
        """What is drawn of the shell must be what it printed; that ends the recording."""
        self.tab(SHELL)
        workbench = self.workbench
        workbench.shows("● rec")
        workbench.press("alt+r")
        workbench.until(lambda: "● rec" not in workbench.text(), "the recording goes on")
        self.dismiss()
        printed = printed_pane(self._recording)
        self._same(SHELL, lambda: printed)

    def compare_picture(self, tab: str, path: Path) -> None:
        """What is drawn of the tab on show must be what ``picture.py`` printed there."""
        self._same(tab, lambda: printed_picture(path))

    def _same(self, tab: str, printed: Callable[[], EmulatedScreen]) -> None:
        found: list[Difference] = []

        def same() -> bool:
            found[:] = differences(printed(), drawn_pane(self.workbench.around, tab))
            return not found

        try:
            self.workbench.until(same, f"the pane {tab} is not what was printed")
        except NotDrawn as error:
            about = f"{len(found)} cells are not as printed, such as {found[:3]}"
            about += "" if self._is_out() else "; the terminal has the keys"
            self.wrong.append(f"{about}\nprinted:\n{printed().text()}\n{error}")
        self.compared += printed().columns * printed().rows

    def dismiss(self) -> None:
        """Wait until what is said of a recording has gone: it lies over the terminal.

        A click on it would be one on what lies under it where it goes by itself just then.
        """
        self.workbench.until(lambda: "▌ Record" not in self.workbench.text(), "a message stays")

    # ---- where the keys are

    def enter(self) -> None:
        """Go to the terminal on show, unless the keys go there already."""
        if self._is_out():
            self.workbench.press(_LEAVE)
        self.inside()

    def inside(self) -> None:
        """Wait until the keys go to the terminal on show."""
        self.workbench.until(
            lambda: self._look() not in (self._away, None), "the terminal gets no keys"
        )

    def leave(self) -> None:
        """Go back to the prompt; of the agent's terminal that hands it back."""
        self.workbench.press(_LEAVE, _LEAVE)
        self.workbench.until(self._is_out, "the keys stay in the terminal")

    def _is_out(self) -> bool:
        """Whether the keys are elsewhere; a narrow window hides the terminal then for good."""
        for _ in range(_HIDDEN):
            if self._look() is None:
                self.workbench.rest(1.0)
        return self._look() in (self._away, None)

    def _look(self) -> Look | None:
        return tab_look(self.workbench.around, self._tab)

    def tab(self, name: str) -> None:
        """Bring a tab to the front."""
        self._tab = name
        self.workbench.press("alt+1" if name == SHELL else "alt+2")
        self.workbench.until(lambda: self._on_show(name), f"the tab {name} does not come")

    def _on_show(self, name: str) -> bool:
        """Whether the border has it in front. Its bell may ring at any time, which marks it."""
        text = self.workbench.text().replace(f"{name}!", name)
        return f"{name} ×" in text or (name == SHELL and "╭─  shell  + " in text)

    def say(self, text: str) -> None:
        """Send something in the prompt."""
        self.workbench.type(text)
        self.workbench.press("enter")

    # ---- programs

    def number(self) -> int:
        """One more."""
        self._count += 1
        return self._count

    def mark(self) -> tuple[str, str]:
        """Words that a shell prints only when it runs them: as typed, and as printed."""
        number = self.number()
        return f"ma''rk-{number}.", f"mark-{number}."

    def command(self, command: str) -> None:
        """Run a command in the shell on show, to its end."""
        typed, printed = self.mark()
        self.enter()
        self.workbench.type(f"{command}; echo {typed}\r")
        self.workbench.shows(printed)
        self.leave()

    def lines_of(self, path: Path) -> str:
        """A file that was written by what was typed; empty where it is missing."""
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def expect(self, about: str, wanted: object, have: object) -> None:
        """Note what is not as it should be."""
        if wanted != have:
            self.wrong.append(f"{about}: {have!r:.3000} instead of {wanted!r:.3000}")

    # ---- the agent

    def asks_agent(self, *calls: Call) -> None:
        """Let the agent make calls, one a request, then say that it is done."""
        self._turns += 1
        for call in calls:
            self.server.replies.append(lambda request, call=call: _made(call, request))
        self.server.replies.append(Reply(text=f"done-{self._turns}."))
        self.say(f"turn {self._turns}")

    def agent_done(self) -> None:
        """Wait until its turn ended."""
        workbench, server = self.workbench, self.server
        workbench.until(lambda: not server.left, "the model was not asked")
        workbench.shows("● ready")


def _made(call: Call, request: Recorded) -> Reply:
    """A call, with the id of the session that the request tells of."""
    known = _SESSION.findall(request.body.decode())
    arguments = {**call.arguments, **({"session_id": known[-1]} if known else {})}
    return Reply(calls=(Call(call.name, arguments),))
