"""The screen of fleets: a list, and the chosen fleet's progress, questions and tasks."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from sam_tui.core.errors import SamError
from sam_tui.ui.key_guard import KeyGuard, Patience
from sam_tui.ui.plain import one_line, visible
from sam_tui.ui.screens import STYLES
from sam_tui.ui.widgets.choice_list import ChoiceList

if TYPE_CHECKING:
    from sam_tui.core.ports.fleets import FleetControl, FleetInquiry, FleetStatus, FleetTaskLine

_LISTED = 20
_TASKS = 500
"""The most tasks that are drawn; those that are not done come first."""
_WHOLE = 4000
"""The most characters of one line of a question, enough for the person to see all that they approve."""
_LOOKS = 1.0
"""Seconds between two readings of the folder, because other programs change fleets without notice."""
_KEYS = "a approve · d deny · Enter answer in words · t retry · x cancel · Esc closes"
_AGAIN = "Press x again to cancel this fleet"
_ORDER = ("applying", "queued", "failed", "conflict", "waiting", "cancelled", "done")
_TONES = {"done": "$success", "failed": "$error", "conflict": "$error", "queued": "$accent"}


@dataclass(frozen=True, slots=True)
class FleetView:
    """The data to draw: all fleets in figures, and the questions and tasks of ``fleet``."""

    fleet: str = ""
    statuses: "Sequence[FleetStatus]" = ()
    inquiries: "Sequence[FleetInquiry]" = ()
    tasks: "Sequence[FleetTaskLine]" = ()
    fault: str = ""


class FleetsScreen(Screen[None]):
    """Reads the fleets of the data folder on a thread, whichever process drives them.

    A key answers the marked question of the focused list, and only one that was shown for a moment:
    never one that has just taken its place.
    """

    CSS_PATH = STYLES
    BINDINGS = [  # noqa: RUF012
        Binding("escape,ctrl+c,q", "leave", "Back", show=False),
        Binding("a", "reply('approve')", "Approve", show=False),
        Binding("d", "reply('deny')", "Deny", show=False),
        Binding("t", "retry", "Retry", show=False),
        Binding("x", "cancel", "Cancel", show=False),
    ]
    AUTO_FOCUS = "#runs"

    def __init__(self, control: "FleetControl", patience: Patience) -> None:
        super().__init__()
        self._control = control
        self._guard = KeyGuard(patience)
        self._view = FleetView()
        self._armed = ""
        self._answering: tuple[str, str] | None = None
        """The fleet and the question that the person is answering in words."""
        self._list = ChoiceList(id="runs")
        self._head = Static("", markup=False, id="run-head")
        self._inbox = ChoiceList(id="run-kept")
        self._tasks = Static("", markup=False)
        self._input = Input(placeholder="an answer in words", id="value")
        self._hint = Static("", markup=False, id="run-keys")

    @property
    def chosen(self) -> str:
        """The fleet that is looked at, or nothing."""
        return _id_of(self._list)

    def compose(self) -> ComposeResult:
        """List on the left, the chosen fleet on the right, keys below."""
        self._list.border_title = "fleets"
        self._inbox.border_title = "questions"
        tasks = VerticalScroll(self._tasks, id="run-steps")
        tasks.border_title = "tasks"
        self._input.display = False
        with Horizontal(id="run-body"):
            yield self._list
            yield Vertical(self._head, self._inbox, tasks, id="run")
        yield self._input
        yield self._hint

    def on_mount(self) -> None:
        """Look now, and again while the screen exists."""
        self._tell(_KEYS)
        self.look()
        self.set_interval(_LOOKS, self.look)

    def look(self) -> None:
        """Read the folder anew, unless that is being done."""
        self.run_worker(self._look(), name="look", group="look", exclusive=True)

    async def _look(self) -> None:
        self._draw(await asyncio.to_thread(self._read, self.chosen))

    def _read(self, chosen: str) -> FleetView:
        try:
            statuses = self._control.statuses(_LISTED)
            id = chosen or (statuses[0].id if statuses else "")
            if not id:
                return FleetView()
            return FleetView(id, statuses, self._control.inquiries(id), self._control.tasks(id))
        except SamError as error:
            return FleetView(fault=error.explain())

    def _draw(self, view: FleetView) -> None:
        before, self._view = self._view, view
        if view.fault:
            self._head.update(Content(visible(view.fault)).stylize("$error"))
            return
        if view.statuses != before.statuses:
            _refill(self._list, [(s.id, fleet_line(s)) for s in view.statuses], always=True)
        if (view.fleet, view.inquiries) != (before.fleet, before.inquiries):
            marked = _id_of(self._inbox)
            _refill(self._inbox, [(i.id, inquiry_lines(i)) for i in view.inquiries])
            if view.fleet != before.fleet or _id_of(self._inbox) != marked:
                self._guard.rearm()
        status = next((s for s in view.statuses if s.id == self.chosen), None)
        none = Content("There is no fleet: “sam-tui fleet run TASKS.jsonl” starts one.")
        self._head.update(head_lines(status) if status else none)
        self._tasks.update(task_lines(view.tasks))

    def action_leave(self) -> None:
        """Back to the conversation, or out of the answer."""
        if self._input.display:
            self._end_answer()
        else:
            self.dismiss(None)

    def action_reply(self, reply: str) -> None:
        """Answer the marked question, where the keys are in its list."""
        if (marked := _id_of(self._inbox)) and self._inbox.has_focus and self._guard.hears():
            self._answer(self._view.fleet, marked, reply)

    def _answer(self, fleet: str, inquiry: str, reply: str) -> None:
        self._ask(lambda: self._control.answer(fleet, inquiry, reply), "Answered.")

    def _end_answer(self) -> None:
        self._answering, self._input.display = None, False
        self.set_focus(self._inbox)

    def action_retry(self) -> None:
        """Go on with the chosen fleet, and repeat its failed tasks."""
        if self.chosen:
            self._ask(
                lambda: self._control.retry(self.chosen), "It continues in a program of its own."
            )

    def action_cancel(self) -> None:
        """End the chosen fleet, when asked twice."""
        if self.chosen and self._armed == self.chosen:
            self._ask(lambda: self._control.cancel(self.chosen), "It is ending.")
        else:
            self._armed = self.chosen
            self._tell(_AGAIN)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another fleet is looked at."""
        event.stop()
        if event.option_list is self._list:
            self._armed = ""
            self.look()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """From the fleets to the questions, from a question to an answer in words."""
        event.stop()
        if event.option_list is self._list:
            self.set_focus(self._inbox)
            return
        self._answering = self._view.fleet, _id_of(self._inbox)
        self._input.value, self._input.display = "", True
        self.set_focus(self._input)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the answer in words."""
        event.stop()
        answering, words = self._answering, event.value.strip()
        self._end_answer()
        if answering is not None and words:
            self._answer(*answering, words)

    def _ask(self, act: Callable[[], None], done: str) -> None:
        self._armed = ""
        try:
            act()
        except (SamError, OSError) as error:
            self._tell(one_line(error.explain() if isinstance(error, SamError) else str(error)))
            return
        self._tell(f"{done} · {_KEYS}")
        self.look()

    def _tell(self, text: str) -> None:
        self._hint.update(Content(text).stylize("$text-muted"))


def _id_of(choices: ChoiceList) -> str:
    at = choices.highlighted
    if at is None or at >= choices.option_count:
        return ""
    return choices.get_option_at_index(at).id or ""


def _refill(
    choices: ChoiceList, rows: Sequence[tuple[str, Content]], *, always: bool = False
) -> None:
    """Replace the lines. A marked line stays marked; if it is gone, another one is marked only with
    ``always``."""
    marked, always = _id_of(choices), always or not choices.option_count
    choices.clear_options()
    choices.add_options(Option(content, id=id) for id, content in rows)
    ids = [id for id, _ in rows]
    if marked in ids:
        choices.highlighted = ids.index(marked)
    elif ids and always:
        choices.highlighted = 0


def fleet_line(status: "FleetStatus") -> Content:
    """A fleet in the list: how far it is, and whether it runs or asks."""
    mark = "?" if status.questions else "▶" if status.driven else " "
    return Content.assemble(
        (f"{mark} ", "$warning" if status.questions else "$success"),
        f"{status.ended}/{status.total} ",
        (status.id, "$text-muted"),
    )


def head_lines(status: "FleetStatus") -> Content:
    """Counts, cost, the time that is left, and the folder."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(status.counts.items()))
    how = "running" if status.driven else "at rest"
    left = f" · about {status.remaining:.0f} s left" if status.remaining and status.driven else ""
    return Content("\n").join((
        Content(f"{status.id} · {how} · {status.ended} of {status.total}{left}"),
        Content(f"{counts} · {status.money} · {status.tokens} tokens").stylize("$text-muted"),
        Content(one_line(status.workspace)).stylize("$text-muted"),
    ))  # fmt: skip


def inquiry_lines(inquiry: "FleetInquiry") -> Content:
    """A question of the inbox with everything that it touches."""
    lines = [f"{inquiry.task}: {one_line(inquiry.title)}"]
    lines += [one_line(line, _WHOLE) for detail in inquiry.details for line in detail.split("\n")]
    lines += [f"one of: {', '.join(map(one_line, inquiry.choices))}"] if inquiry.choices else []
    return Content("\n  ".join(lines))


def task_lines(tasks: "Sequence[FleetTaskLine]") -> Content:
    """The tasks, beginning with those that need attention."""
    ordered = sorted(tasks, key=lambda task: _ORDER.index(task.state))[:_TASKS]
    return Content("\n").join(
        Content.assemble(
            (f"{task.state:<9} ", _TONES.get(task.state, "$text-muted")),
            f"{task.id}  ",
            (one_line(task.text.partition("\n")[0], 300), "$text-muted"),
        )
        for task in ordered
    )
