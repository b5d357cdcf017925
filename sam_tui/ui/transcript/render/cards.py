"""Tool calls, reasoning, reminders and notices as rows."""

from collections.abc import Sequence

from rich.style import Style

from sam_tui.core.display import Diff, Display, Table, Terminal, Text, Todos
from sam_tui.core.todos.item import Todo
from sam_tui.ui.transcript.blocks import Card, Decided, Notice, Reasoning, ReminderContent
from sam_tui.ui.transcript.render.diff import draw_diff
from sam_tui.ui.transcript.render.palette import Palette
from sam_tui.ui.transcript.render.rows import Canvas, Lead, Span
from sam_tui.ui.transcript.render.safe_text import clean, clean_output, expand, one_line
from sam_tui.ui.transcript.render.table import draw_rows, measure

TAIL = 8
"""How many of the last lines of a running call's output are shown."""
FOLDED_DIFF = 20
"""How many lines of a diff are shown in a closed card."""
FOLDED_OUTPUT = 3
"""How many lines of a finished command's output, or of an error, are shown in a closed card."""
MOST_LINES = 1_000
"""The most lines of one display that an open card shows."""
MOST_CHARACTERS = 200_000
_LONGEST_LINE = 4_000
_ANSWERS = frozenset({"user_collaboration"})
"""Operations whose result is the person's answer, which a closed card shows too."""


def draw_card(canvas: Canvas, card: Card, *, opened: bool | None) -> None:
    """A tool call. ``opened`` is the person's choice, or None while there is none."""
    palette = canvas.palette
    glyph, style = {
        "running": ("●", palette.accent),
        "done": ("✓", palette.good),
        "failed": ("✗", palette.bad),
        "unanswered": ("○", palette.dim),
    }[card.state]
    spans: list[Span] = [(one_line(card.title), palette.text)]
    spans += _badges(canvas, card)
    if opened is not None or card.displays or card.arguments or card.output:
        spans.append((" ▾" if opened else " ▸", palette.faint))
    lead = (f"{glyph} ", style)
    canvas.push(Lead(lead, ("  ", palette.text)))
    canvas.line(spans)
    canvas.pop()
    bar = ("  ", palette.text)
    canvas.push(Lead(bar, bar))
    if card.state == "running":
        _tail(canvas, card.output, MOST_LINES if opened else TAIL)
    elif opened:
        _opened(canvas, card)
    else:
        _folded(canvas, card, chosen=opened is False)
    canvas.pop()


def _badges(canvas: Canvas, card: Card) -> list[Span]:
    palette = canvas.palette
    spans: list[Span] = []
    for display in card.displays:
        if isinstance(display, Terminal):
            spans += _ending(palette, display, failed=card.state == "failed")
    if card.seconds is not None and card.seconds >= 0.05:
        spans.append((f"  {_duration(card.seconds)}", palette.dim))
    if card.state == "unanswered":
        spans.append(("  no result", palette.dim))
    return spans


def _ending(palette: Palette, display: Terminal, *, failed: bool) -> list[Span]:
    """Return how a command ended, or that it still runs; empty for a display that is no command."""
    code = display.exit_code
    if code is not None:
        return [(f"  exit {code}", palette.good if code == 0 else palette.bad)]
    if display.running:
        return [("  in the background", palette.accent)]
    return [("  no exit code", palette.warning)] if failed else []


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes}m {remainder:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def _opened(canvas: Canvas, card: Card) -> None:
    """Draw everything: the arguments as the model wrote them, then the result."""
    if card.arguments.strip() not in ("", "{}"):
        _lines(canvas, clean(card.arguments), canvas.palette.faint, limit=12)
    if not card.displays and card.output:
        _tail(canvas, card.output, MOST_LINES)
    for display in card.displays:
        left = draw_display(canvas, display, MOST_LINES)
        left_out(canvas, left, "more lines; Alt+C copies all")


def _folded(canvas: Canvas, card: Card, *, chosen: bool) -> None:
    """The most important parts of the card; those of a failed call include the reason."""
    if chosen:
        return
    for display in card.displays:
        match display:
            case Diff():
                left_out(canvas, draw_diff(canvas, display, FOLDED_DIFF), "more lines")
            case Todos(items=items):
                _todo_extract(canvas, items)
            case Table():
                left_out(canvas, draw_display(canvas, display, FOLDED_DIFF), "more rows")
            case Terminal():
                _tail(canvas, display.output, FOLDED_OUTPUT)
            case Text(text=text):
                if card.state == "failed":
                    _lines(canvas, clean(text), canvas.palette.bad, limit=FOLDED_OUTPUT)
                elif card.operation in _ANSWERS:
                    _lines(canvas, clean(text), canvas.palette.text, limit=FOLDED_DIFF)


def left_out(canvas: Canvas, count: int, what: str) -> None:
    """A row that says how many of something are hidden; none for 0. A click on it opens the block."""
    if count:
        words = what.replace("s", "", 1) if count == 1 else what
        canvas.line([(f"… {count} {words}", canvas.palette.faint)])


def draw_display(canvas: Canvas, display: Display, limit: int) -> int:
    """One display, at most ``limit`` lines of it; returns how many were left out."""
    palette = canvas.palette
    match display:
        case Text(text=text):
            return _lines(canvas, clean(text), palette.dim, limit=limit)
        case Diff():
            return draw_diff(canvas, display, limit)
        case Terminal(command=command, output=output):
            canvas.push(Lead(("$ ", palette.accent), ("  ", palette.accent), "$ "))
            _lines(canvas, clean(command), palette.text, limit=12)
            canvas.pop()
            lines = _output_lines(output)
            left = max(0, len(lines) - limit)
            _draw_lines(canvas, lines[-limit:], palette.dim)
            return left
        case Table(columns=columns, rows=rows):
            cells = [[[(one_line(cell), palette.text)] for cell in row] for row in rows[:limit]]
            head = [[(one_line(name), palette.heading)] for name in columns]
            shape = measure([head, *cells], ["left"] * len(columns))
            draw_rows(canvas, shape, [head], header=True)
            draw_rows(canvas, shape, cells)
            return max(0, len(rows) - limit)
        case Todos(items=items):
            for item in items[:limit]:
                _todo(canvas, item)
            return max(0, len(items) - limit)


def _todo_extract(canvas: Canvas, items: Sequence[Todo]) -> None:
    """Progress of the list and the current todo; the panel has the whole list."""
    done = sum(item.status == "completed" for item in items)
    canvas.line([(f"{done} of {len(items)} done", canvas.palette.dim)])
    for item in items:
        if item.status in ("in-progress", "blocked"):
            _todo(canvas, item)


def _todo(canvas: Canvas, item: Todo) -> None:
    palette = canvas.palette
    glyph, style = {
        "not-started": ("○", palette.dim),
        "in-progress": ("◐", palette.accent),
        "completed": ("✓", palette.good),
        "blocked": ("✗", palette.bad),
    }[item.status]
    canvas.push(Lead((f"{glyph} ", style), ("  ", style), f"[{item.status}] ", ""))
    spans: list[Span] = [
        (one_line(item.title), palette.dim if item.status == "completed" else palette.text)
    ]
    if item.status == "blocked" and item.blocked_reason:
        spans.append((f"  {one_line(item.blocked_reason)}", palette.warning))
    canvas.line(spans)
    canvas.pop()


def _tail(canvas: Canvas, output: str, count: int) -> None:
    """Draw the last ``count`` lines below a line that says how many are hidden."""
    lines = _output_lines(output)
    hidden = len(lines) - count if len(lines) > count + 1 else 0
    left_out(canvas, hidden, "lines above")
    _draw_lines(canvas, lines[hidden:], canvas.palette.dim)


def _output_lines(output: str) -> list[str]:
    text = clean_output(output[-MOST_CHARACTERS:]).rstrip("\n")
    return text.split("\n") if text else []


def _lines(canvas: Canvas, text: str, style: Style, *, limit: int) -> int:
    """Draw the first ``limit`` lines of clean text; return how many were left out."""
    text = text.rstrip("\n")
    lines = text[:MOST_CHARACTERS].split("\n") if text else []
    _draw_lines(canvas, lines[:limit], style)
    return max(0, text.count("\n") + 1 - min(limit, len(lines))) if lines else 0


def _draw_lines(canvas: Canvas, lines: Sequence[str], style: Style) -> None:
    for line in lines:
        visible = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"
        canvas.line([(expand(visible), style)])


def draw_reasoning(canvas: Canvas, content: Reasoning, *, opened: bool) -> None:
    """Draw the model's reasoning: one line with a count when folded."""
    palette = canvas.palette
    text = clean(content.text).strip("\n")
    words = len(text.split())
    title = f"{'thought' if content.finished else 'thinking'} · {words} words"
    glyph = ("∴ ", palette.faint)
    canvas.push(Lead(glyph, ("  ", palette.faint)))
    canvas.line([(title, palette.dim), (" ▾" if opened else " ▸", palette.faint)])
    canvas.pop()
    if not opened:
        return
    bar = ("│ ", palette.faint)
    canvas.push(Lead(bar, bar))
    lines = text.split("\n")
    visible = lines[-MOST_LINES:] if content.finished else lines[-TAIL:]
    left_out(canvas, len(lines) - len(visible), "lines above")
    longest = MOST_CHARACTERS if content.finished else 1_200
    for line in visible:
        canvas.line([(expand(line[-longest:]), palette.quote)])
    canvas.pop()


def draw_reminder(canvas: Canvas, content: ReminderContent, *, opened: bool) -> None:
    """Reminders: a dim mark and their number, because they are for the model; all texts when opened."""
    palette = canvas.palette
    canvas.push(Lead(("↻ ", palette.faint), ("  ", palette.faint)))
    if opened:
        canvas.line([(one_line(content.name), palette.dim), (" ▾", palette.faint)])
        _lines(canvas, clean(content.text).strip("\n"), palette.dim, limit=MOST_LINES)
    else:
        canvas.line([(f"{content.count} ▸", palette.faint)])
    canvas.pop()


def draw_notice(canvas: Canvas, content: Notice) -> None:
    """Something the program says, marked by its level."""
    palette = canvas.palette
    glyph, style = {
        "warning": ("!", palette.warning),
        "error": ("✗", palette.bad),
    }.get(content.level, ("·", palette.dim))
    canvas.push(Lead((f"{glyph} ", style), ("  ", style)))
    _lines(canvas, clean(content.text), style, limit=MOST_LINES)
    canvas.pop()


def draw_decision(canvas: Canvas, content: Decided) -> None:
    """Draw a decision as one dim line with a sign."""
    palette = canvas.palette
    lead = {True: ("✓ ", palette.good), False: ("✗ ", palette.bad), None: ("· ", palette.dim)}[
        content.allowed
    ]
    canvas.push(Lead(lead, ("  ", palette.dim)))
    canvas.line([(one_line(content.text), palette.dim)])
    canvas.pop()
