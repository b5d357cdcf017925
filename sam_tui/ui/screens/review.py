"""All changes of a conversation on one screen: accepted, undone, commented by file, hunk and line."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from sam_tui.ui.plain import one_line
from sam_tui.ui.screens.dialogs import Dialog
from sam_tui.ui.transcript.render.diff import DiffLine, parse
from sam_tui.ui.widgets.choice_list import ChoiceList
from sam_tui.ui.widgets.key_frame import KeyFrame
from sam_tui.ui.widgets.line_input import LineInput

if TYPE_CHECKING:
    from sam_tui.core.ports.checkpoints import ChangedFile, RewindPlan

_KEYS = "Enter open · a accept · u undo · c comment · s send · o edit · Esc closes"
_FATES = {"restored": "changed", "deleted": "created", "created": "deleted"}
"""The change of a file, by what a restore would do to it."""
_LEAST = 16
"""With so few columns for text, lines are not wrapped."""
_COLOURS = {"+": "$text-success", "-": "$text-error"}


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """An action on a file; ``hunk`` is None for the whole file."""

    what: Literal["undo", "open"]
    change: "ChangedFile"
    hunk: int | None
    line: int


@dataclass(slots=True)
class ReviewMarks:
    """Accepted hunks, by a digest of file and lines, and comments, by their line."""

    accepted: set[str] = field(default_factory=set[str])
    comments: dict[tuple[str, int, str], str] = field(
        default_factory=dict[tuple[str, int, str], str]
    )
    opened: set[str] = field(default_factory=set[str])

    def prompt(self) -> str:
        """The comments as a prompt to the agent."""
        lines = ["My comments on your changes:"]
        for (path, number, text), comment in sorted(self.comments.items()):
            quoted = f" `{text.strip()}`" if text.strip() else ""
            lines.append(f"- {path}:{number}{quoted}: {comment}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row of the screen: of a file, of a hunk of it, or of a line in that."""

    change: "ChangedFile"
    hunk: int | None = None
    line: DiffLine | None = None


def forward_difference(difference: str) -> str:
    """Return a difference forward in time, from one backward: signs swapped, removed lines first."""
    lines: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    for line in [*difference.split("\n")[2:], "@@"]:
        if line.startswith(("-", "+")):
            (added if line[0] == "-" else removed).append(
                ("+" if line[0] == "-" else "-") + line[1:]
            )
            continue
        lines += [*removed, *added]
        removed, added = [], []
        if line.startswith("@@ "):
            _, old, new, *heading = line.split(" ")
            line = " ".join(["@@", f"-{new[1:]}", f"+{old[1:]}", *heading])
        lines.append(line)
    return "\n".join(lines[:-1]).rstrip("\n")


def hunks(change: "ChangedFile", redact: Callable[[str], str]) -> list[list[DiffLine]]:
    """Return the hunks of a file's change, forward in time; none for a file that is no text."""
    parts: list[list[DiffLine]] = []
    for line in parse(forward_difference(redact(change.difference))) if change.difference else ():
        if line.sign == "@":
            parts.append([])
        if parts:
            parts[-1].append(line)
    return parts


def digest(change: "ChangedFile", hunk: Sequence[DiffLine]) -> str:
    """The key of an accepted hunk: when its lines change, it is a different one."""
    text = "\n".join(f"{line.sign}{line.text}" for line in hunk[1:])
    return hashlib.sha256(f"{change.path}\n{change.fate}\n{text}".encode()).hexdigest()


class ReviewScreen(Dialog):
    """Reviews a plan of undoing; ``ask`` receives the person's choices, ``send`` the comments."""

    def __init__(
        self,
        marks: ReviewMarks,
        redact: Callable[[str], str],
        ask: Callable[[ReviewRequest], None],
        send: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._marks = marks
        self._redact = redact
        self._ask = ask
        self._send = send
        self.plan: RewindPlan | None = None
        self._parts: dict[str, list[list[DiffLine]]] = {}
        self._changes: list[ChangedFile] = []
        """The changes; binary files, which test runs often leave, come last."""
        self._rows: list[ReviewRow] = []
        self._armed: tuple[str, int | None] | None = None
        self._subject: ReviewRow | None = None
        """The line that the comment is about, even if other rows are shown meanwhile."""
        self._list = ChoiceList(id="choices")
        self._note = Static("Looking…", markup=False, classes="note")
        self._comment = LineInput(
            self._commented, placeholder="comment on this line, Enter adds it"
        )
        self._frame = KeyFrame(self._list, self._comment, self._note)

    def compose(self) -> ComposeResult:
        """List, comment line, note."""
        self._frame.say_keys(_KEYS)
        self._comment.display = False
        yield self._frame

    def on_mount(self) -> None:
        """The list has the keys."""
        self.set_focus(self._list)

    def show(self, plan: "RewindPlan | None", note: str = "") -> None:
        """Show a plan, at the row where the person was; None if no call changed a file."""
        changes = plan.changes if plan is not None else ()
        self.plan, self._armed = plan, None
        self._parts = {change.path: hunks(change, self._redact) for change in changes}
        self._changes = sorted(changes, key=lambda change: not self._parts[change.path])
        if len(changes) == 1:
            self._marks.opened.add(changes[0].path)
        empty = "" if changes else "Calls of this conversation left no file changed."
        beyond = "\n".join(f"not shown: {words}" for words in (plan.beyond if plan else ()))
        self._say(note or empty or beyond)
        self._fill()

    def _rows_of(self, change: "ChangedFile") -> Iterator[ReviewRow]:
        """A file, and where it is opened the lines of its parts."""
        yield ReviewRow(change)
        if change.path in self._marks.opened:
            for number, hunk in enumerate(self._parts[change.path]):
                for line in hunk:
                    yield ReviewRow(change, number, None if line.sign == "@" else line)

    def on_resize(self) -> None:
        """Wrap lines to the new width, each below its own text."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        at = self._list.highlighted or 0
        changes = self._changes
        self._rows = [row for change in changes for row in self._rows_of(change)]
        self._list.clear_options()
        self._list.add_options(Option(self._content(row)) for row in self._rows)
        if self._rows:
            self._list.highlighted = min(at, len(self._rows) - 1)
        done = sum(self._accepted(change) for change in changes)
        comments = len(self._marks.comments)
        words = f"changes of this conversation · {done} of {len(changes)} accepted"
        self._frame.border_title = Content(
            words + (f" · {comments} comment{'s' * (comments > 1)}" if comments else "")
        )

    def _accepted(self, change: "ChangedFile", hunk: int | None = None) -> bool:
        digests = self._digests(change, hunk)
        return digests <= self._marks.accepted

    def _digests(self, change: "ChangedFile", hunk: int | None) -> set[str]:
        parts = self._parts[change.path]
        chosen = parts if hunk is None else parts[hunk : hunk + 1]
        return {digest(change, part) for part in chosen} or {digest(change, ())}

    def _file_content(self, change: "ChangedFile", mark: tuple[str, str]) -> Content:
        signs = [line.sign for part in self._parts[change.path] for line in part]
        opened = "▾" if change.path in self._marks.opened else "▸"
        foreign = "  something else changed it, too" if change.foreign else ""
        text = "" if self._parts[change.path] else "  no text to show"
        return Content.assemble(
            mark, (f"{opened} {one_line(change.path, 200)}", "bold"),
            (f"  {_FATES[change.fate]}", "$text-muted"),
            (f"  +{signs.count('+')}", "$text-success"), (f" -{signs.count('-')}", "$text-error"),
            (foreign, "$text-warning"), (text, "$text-muted"),
        )  # fmt: skip

    def _content(self, row: ReviewRow) -> Content:
        change, line = row.change, row.line
        mark = ("✓ ", "$text-success") if self._accepted(change, row.hunk) else ("  ", "")
        if row.hunk is None:
            return self._file_content(change, mark)
        if line is None:
            head = self._parts[change.path][row.hunk][0].text
            return Content.assemble(mark, (f"  ⋯ {head}".rstrip(), "$text-muted"))
        number = f"    {line.number:>4} {line.sign} "
        text = Content(line.text).stylize(_COLOURS.get(line.sign, ""))
        for start, end in line.words:
            text = text.stylize("bold underline", start, end)
        comment = self._marks.comments.get((change.path, line.number, line.text), "")
        text = Content.assemble(
            text, (f"  ◂ {one_line(comment)}" if comment else "", "$text-warning")
        )
        room = self._list.scrollable_content_region.width - len(number)
        lines = text.wrap(room) if room > _LEAST else [text]
        below = Content("\n" + " " * len(number)).join(lines)
        return Content.assemble((number, _COLOURS.get(line.sign, "$text-muted")), below)

    @property
    def _row(self) -> ReviewRow | None:
        at = self._list.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open or close the file."""
        event.stop()
        if (row := self._row) is not None:
            self._marks.opened ^= {row.change.path}
            self._list.highlighted = next(
                n for n, r in enumerate(self._rows) if r.change is row.change
            )
            self._fill()

    def on_key(self, event: events.Key) -> None:
        """Carry out the action of a key on the marked row."""
        actions: dict[str, Callable[[ReviewRow], None]] = {
            "a": self._accept,
            "u": self._undo,
            "c": self._begin_comment,
            "o": lambda row: self._request("open", row),
        }
        row = self._row
        if self._comment.has_focus:
            if event.key != "escape":
                return
            self._end_comment()
        elif event.key == "s":
            self._send_comments()
        elif event.key in ("j", "k"):
            (self._list.action_cursor_down if event.key == "j" else self._list.action_cursor_up)()
        elif event.key in actions and row is not None:
            actions[event.key](row)
        else:
            return
        event.stop()
        event.prevent_default()

    def _say(self, words: str) -> None:
        self._note.display = bool(words)
        self._note.update(Content(words))

    def _accept(self, row: ReviewRow) -> None:
        digests = self._digests(row.change, row.hunk)
        if digests <= self._marks.accepted:
            self._marks.accepted -= digests
        else:
            self._marks.accepted |= digests
        self._fill()

    def _undo(self, row: ReviewRow) -> None:
        """Undo a change. If others changed the file, too, only a hunk, and only on the second key."""
        if row.change.foreign and row.hunk is None:
            self._say("Something else changed this file, too: undo hunks of it one by one.")
        elif row.change.foreign and self._armed != (row.change.path, row.hunk):
            self._armed = (row.change.path, row.hunk)
            self._say(
                "Something else changed this file, too. u again takes back what this hunk shows."
            )
        else:
            self._request("undo", row)

    def _request(self, what: Literal["undo", "open"], row: ReviewRow) -> None:
        numbers = [line.number for part in self._parts[row.change.path] for line in part[1:]]
        line = row.line.number if row.line is not None else min(numbers, default=1)
        self._ask(ReviewRequest(what, row.change, row.hunk, line))

    def _begin_comment(self, marked: ReviewRow) -> None:
        row = marked if marked.line is not None else self._to_first_change(marked)
        if row is None or row.line is None:
            self._say("There is no line to comment on.")
            return
        key = (row.change.path, row.line.number, row.line.text)
        self._comment.value = self._marks.comments.get(key, "")
        self._subject = row
        self._comment.display = True
        self.set_focus(self._comment)

    def _to_first_change(self, row: ReviewRow) -> ReviewRow | None:
        """Mark the first changed line of a file or hunk, to which the next comment belongs."""
        self._marks.opened.add(row.change.path)
        self._fill()
        for at, other in enumerate(self._rows):
            fits = other.change is row.change and row.hunk in (None, other.hunk)
            if fits and other.line is not None and other.line.sign in "+-":
                self._list.highlighted = at
                return other
        return None

    def _commented(self, words: str) -> None:
        row = self._subject
        if row is not None and row.line is not None:
            key = (row.change.path, row.line.number, row.line.text)
            self._marks.comments.pop(key, None)
            if words.strip():
                self._marks.comments[key] = words.strip()
        self._end_comment()
        self._fill()

    def _end_comment(self) -> None:
        self._comment.display = False
        self.set_focus(self._list)

    def _send_comments(self) -> None:
        if not self._marks.comments:
            self._say("There is no comment yet: c on a line.")
            return
        words = self._marks.prompt()
        self._marks.comments.clear()
        self.dismiss(None)
        self._send(words)
