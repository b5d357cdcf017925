"""The runs of workflows: a list, and the chosen one with its steps, gate and events."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from sam_tui.core.errors import SamError
from sam_tui.ui.screens import STYLES
from sam_tui.ui.screens.reader import Reader, ReaderPart, whole
from sam_tui.ui.screens.run_lines import (
    artifact_line,
    event_lines,
    finding_line,
    head_lines,
    run_line,
    step_lines,
)
from sam_tui.ui.widgets.choice_list import ChoiceList
from sam_tui.ui.widgets.key_frame import fitting_keys

if TYPE_CHECKING:
    from sam_tui.core.ports.workflows import FindingRow
    from sam_tui.core.workflow.service import Workflows
    from sam_tui.core.workflow.views import ExecutionView

_LISTED = 50
_EVENTS = 100
_LOW = 18
"""With fewer rows, artifacts and events are hidden so that the steps have room."""
_LOOKS = 0.5
"""Seconds between two readings of the store, because other programs continue runs without notice."""
_KEYS = (
    "n new · g go on · p pause · r resume · t retry · x abandon · o transcript · v plan"
    " · Tab, Enter: read · Esc closes",
    "n new · g go on · p pause · r resume · t retry · x abandon · o read · v plan · Esc closes",
    "n new · g go on · x abandon · Esc closes",
)
"""Hints about keys, longest first; the first that fits is shown."""
_IDLE = "The agent does not work on it here: g lets it continue"
_AGAIN = "Press x again to end this run permanently"


class RunsScreen(Screen[None]):
    """Shows runs from the store; ``act`` gets the verb and the run for everything else."""

    CSS_PATH = STYLES
    BINDINGS = [  # noqa: RUF012
        Binding("escape,ctrl+c,q", "leave", "Back", show=False),
        Binding("n", "act('new')", "New", show=False),
        Binding("g", "act('go')", "Go on", show=False),
        Binding("p", "act('pause')", "Pause", show=False),
        Binding("r", "act('resume')", "Resume", show=False),
        Binding("t", "act('retry')", "Retry", show=False),
        Binding("o", "act('transcript')", "Transcript", show=False),
        Binding("v", "act('plan')", "Plan", show=False),
        Binding("x", "abandon", "Abandon", show=False),
    ]
    AUTO_FOCUS = "#runs"

    def __init__(
        self,
        workflows: "Workflows",
        act: Callable[[str, str], None],
        waiting: Callable[[], int],
        driven: Callable[[str], bool],
    ) -> None:
        super().__init__()
        self._workflows = workflows
        self._act = act
        self._waiting = waiting
        self._driven = driven
        self._views: dict[str, ExecutionView] = {}
        self._kept: dict[str, FindingRow | str] = {}
        self._seen = -1
        self._armed = ""
        self._list = ChoiceList(id="runs")
        self._head = Static("", markup=False, id="run-head")
        self._steps = Static("", markup=False)
        self._results = ChoiceList(id="run-kept")
        self._events = Static("", markup=False)
        self._log = VerticalScroll(self._events, id="run-events")
        self._hint = Static("", markup=False, id="run-keys")

    @property
    def chosen(self) -> str:
        """The run that is looked at, or nothing."""
        at = self._list.highlighted
        if at is None or at >= self._list.option_count:
            return ""
        return self._list.get_option_at_index(at).id or ""

    def compose(self) -> ComposeResult:
        """List on the left, the chosen run on the right, keys below."""
        self._list.border_title = "runs"
        self._results.border_title = "artifacts and findings"
        self._log.border_title = "events"
        steps = VerticalScroll(self._steps, id="run-steps")
        steps.border_title = "steps"
        with Horizontal(id="run-body"):
            yield self._list
            yield Vertical(self._head, steps, self._results, self._log, id="run")
        yield self._hint

    def on_mount(self) -> None:
        """Look now, and again while the screen exists."""
        self.look()
        self.set_interval(_LOOKS, self.look)

    def on_resize(self, event: events.Resize) -> None:
        """In a low window give the space to the steps."""
        self.set_class(event.size.height < _LOW, "-low")

    def _keys(self) -> str:
        room = self.size.width - 2
        return next((keys for keys in _KEYS if len(keys) <= room), fitting_keys(_KEYS[-1], room))

    def look(self) -> None:
        """Draw anew if anything happened since the last look."""
        waiting = self._waiting()
        if waiting:
            words = "A question waits" if waiting == 1 else f"{waiting} questions wait"
            self._hint.update(Content(f"{words} for you: Esc shows it").stylize("bold $warning"))
        else:
            self._hint.update(
                Content(_AGAIN if self._armed else self._keys()).stylize("$text-muted")
            )
        try:
            last = self._workflows.records.last_event()
        except SamError as error:
            self._head.update(Content(error.explain()).stylize("$error"))
            return
        if last != self._seen:
            self._seen = last
            self._fill()

    def choose(self, execution: str) -> None:
        """Look at a run."""
        self._fill(execution)

    def action_leave(self) -> None:
        """Back to the conversation."""
        self.dismiss(None)

    def action_act(self, verb: str) -> None:
        """Ask for something to be done with the chosen run."""
        self._armed = ""
        if self.chosen or verb == "new":
            self._act(verb, self.chosen)
        self.look()

    def action_abandon(self) -> None:
        """End it for good, when asked twice."""
        if self.chosen and self._armed == self.chosen:
            self._armed = ""
            self._act("abandon", self.chosen)
        else:
            self._armed = self.chosen
        self.look()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another run is looked at."""
        event.stop()
        if event.option_list is self._list:
            self._armed = ""
            self._detail()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Read a stored text; in the list of runs, go to the texts of the run."""
        event.stop()
        if event.option_list is self._list:
            self.set_focus(self._results)
            return
        item = self._kept.get(event.option_id or "")
        if item is not None:
            self._read(event.option_id or "", item)

    def _read(self, identifier: str, item: "FindingRow | str") -> None:
        def artifact(start: int, length: int) -> ReaderPart:
            try:
                chunk = self._workflows.records.read_artifact(identifier, start, length)
            except SamError as error:
                return ReaderPart(error.explain(), 0, 0)
            return ReaderPart(chunk.text, chunk.start, chunk.total)

        if isinstance(item, str):
            reader = Reader(item, artifact)
        else:
            text = f"{item.severity} · {item.category} · {item.review}\n\n{item.content}"
            reader = Reader(item.title, whole(text))
        self.app.push_screen(reader)  # pyright: ignore[reportUnknownMemberType]

    def _fill(self, execution: str = "") -> None:
        execution_id = execution or self.chosen
        try:
            views = self._workflows.records.executions(limit=_LISTED)
        except SamError as error:
            self._head.update(Content(error.explain()).stylize("$error"))
            return
        self._views = {view.id: view for view in views}
        self._list.clear_options()
        self._list.add_options(Option(run_line(view), id=view.id) for view in views)
        if views:
            ids = list(self._views)
            self._list.highlighted = ids.index(execution_id) if execution_id in self._views else 0
        self._detail()

    def _detail(self) -> None:
        view = self._views.get(self.chosen)
        if view is None:
            self._head.update(Content("There are no runs yet: n begins one."))
            for part in (self._steps, self._events):
                part.update("")
            self._results.clear_options()
            return
        try:
            steps = self._workflows.records.steps(view.id)
            lines = head_lines(view, steps)
            if view.state == "running" and not view.conversation and not self._driven(view.id):
                lines = Content("\n").join([lines, Content(_IDLE).stylize("$text-muted")])
            self._head.update(lines)
            self._steps.update(step_lines(steps))
            self._keep(view.id)
            self._tell(view.id)
        except SamError as error:
            self._head.update(Content(error.explain()).stylize("$error"))

    def _keep(self, execution: str) -> None:
        from sam_tui.core.ports.workflows import FindingQuery

        artifacts = self._workflows.records.artifacts(execution)
        findings = self._workflows.records.reader.findings(FindingQuery(execution))
        items: dict[str, FindingRow | str] = {row.id: row.name for row in artifacts}
        items |= {row.id: row for row in findings}
        if items == self._kept:
            return
        self._kept = items
        self._results.clear_options()
        self._results.add_options(Option(artifact_line(row), id=row.id) for row in artifacts)
        self._results.add_options(Option(finding_line(row), id=row.id) for row in findings)

    def _tell(self, execution: str) -> None:
        from sam_tui.core.ports.workflows import EventQuery

        query = EventQuery(execution, limit=_EVENTS, newest=True)
        newest = list(self._workflows.records.reader.events(query))
        follows = self._log.is_vertical_scroll_end
        self._events.update(event_lines(newest[::-1]))
        if follows:
            self._log.scroll_end(animate=False)
