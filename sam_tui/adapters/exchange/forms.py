"""The forms of an export: Markdown, our JSON, and one HTML page without scripts or links elsewhere."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, TypeAdapter, ValidationError

from sam_tui.core.display import Diff, Display, Table, Terminal, Text, Todos
from sam_tui.core.ids import CallId
from sam_tui.core.messages import (
    AssistantMessage,
    Message,
    ReminderMessage,
    ToolMessage,
    UserMessage,
)
from sam_tui.core.ports.storage import (
    CallDisplay,
    ConversationDocument,
    DatedMessage,
    StoredNotice,
)
from sam_tui.core.text.invisible import json_visible, show_invisible

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOTICE_MARKS = {"warning": "!", "error": "✗"}
_MARKS = {"completed": "x", "in-progress": ">", "blocked": "!", "not-started": " "}
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.4 ui-monospace,monospace;margin:.3rem 0}
.user{border-left:4px solid #4a8;padding-left:.8rem;font-weight:600}
.call{border:1px solid #8886;border-radius:6px;padding:.3rem .8rem;margin:.6rem 0}
.failed{border-color:#c44}.muted{color:#888}time{color:#888;font-size:12px}
.add{color:#290}.del{color:#c33}
"""


def write_markdown(document: ConversationDocument) -> str:
    """The conversation as Markdown; texts of tools stand in fences that they cannot close."""
    lines = [f"# {_plain(document.title) or 'Conversation'}", ""]
    if document.workspace:
        lines += [f"Folder: {_code(document.workspace)}", ""]
    for entry in _in_order(document):
        if isinstance(entry, StoredNotice):
            lines += [f"*{_code(_notice_line(entry))}*", ""]
            continue
        match entry.message:
            case UserMessage(text=text):
                lines += [f"## You · {_stamp(entry)}", "", *_quoted(text), ""]
            case AssistantMessage(text=text) if text.strip():
                lines += [f"## Agent · {_stamp(entry)}", "", _plain(text), ""]
            case ToolMessage() as result:
                lines += [*_markdown_call(result, document.displays), ""]
            case _:
                continue
    return "\n".join(lines)


def _in_order(document: ConversationDocument) -> Iterator[DatedMessage | StoredNotice]:
    """The messages, and the notices of the program at their positions among them."""
    waiting = deque(document.notices)
    for number, entry in enumerate(document.entries):
        while waiting and waiting[0].above <= number:
            yield waiting.popleft()
        yield entry
    yield from waiting


def _notice_line(notice: StoredNotice) -> str:
    return f"{_NOTICE_MARKS.get(notice.level, '·')} {notice.text}"


def _markdown_call(result: ToolMessage, displays: Mapping[CallId, CallDisplay]) -> Iterator[str]:
    display = displays.get(result.call_id)
    mark = "done" if result.ok else "failed"
    seconds = f", {display.seconds:.1f} s" if display is not None else ""
    yield f"**{_code(_heading(result))}** ({mark}{seconds})"
    if display is not None and display.decision:
        yield f"*{_code(display.decision)}*"
    for part in _parts(result, display):
        language = "diff" if isinstance(part, Diff) else ""
        body = _display_text(part)
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", body)), default=0))
        yield ""
        yield f"{fence}{language}\n{body}\n{fence}"


def write_html(document: ConversationDocument) -> str:
    """One page: its policy allows its own style and nothing else; every text is escaped."""
    title = escape(_plain(document.title) or "Conversation")
    body = "\n".join(
        part for entry in _in_order(document) for part in _html(entry, document.displays)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
        " style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">'
        f"\n<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f'<p class="muted">{escape(_plain(document.workspace))}</p>\n{body}\n</body></html>\n'
    )


def _html(
    entry: DatedMessage | StoredNotice, displays: Mapping[CallId, CallDisplay]
) -> Iterator[str]:
    if isinstance(entry, StoredNotice):
        yield f'<div class="muted">{_pre(_notice_line(entry))}</div>'
        return
    match entry.message:
        case UserMessage(text=text):
            yield f'<div class="user"><time>{_stamp(entry)}</time>{_pre(text)}</div>'
        case ReminderMessage(name=name, text=text):
            yield _folded(f"reminder: {name}", text)
        case AssistantMessage(text=text, reasoning=reasoning):
            if reasoning.strip():
                yield _folded("reasoning", reasoning)
            if text.strip():
                yield f'<div class="agent"><time>{_stamp(entry)}</time>{_pre(text)}</div>'
        case ToolMessage() as result:
            yield from _html_call(result, displays.get(result.call_id))


def _html_call(result: ToolMessage, display: CallDisplay | None) -> Iterator[str]:
    seconds = f" · {display.seconds:.1f} s" if display is not None else ""
    state = "call" if result.ok else "call failed"
    yield f'<div class="{state}"><b>{escape(_plain(_heading(result)))}</b>'
    yield f'<span class="muted">{seconds}</span>'
    if display is not None and display.decision:
        yield f'<div class="muted">{escape(_plain(display.decision))}</div>'
    for part in _parts(result, display):
        yield _diff_html(part) if isinstance(part, Diff) else _pre(_display_text(part))
    yield "</div>"


def _diff_html(diff: Diff) -> str:
    lines = [escape(_plain(diff.heading))]
    for line in _plain(diff.unified).split("\n"):
        kind = {"+": "add", "-": "del"}.get(line[:1])
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
    return "<pre>" + "\n".join(lines) + "</pre>"


def _folded(name: str, text: str) -> str:
    return f'<details class="muted"><summary>{escape(_plain(name))}</summary>{_pre(text)}</details>'


def _pre(text: str) -> str:
    return f"<pre>{escape(_plain(text.strip()))}</pre>"


def _heading(result: ToolMessage) -> str:
    return result.summary or result.operation or result.name


def _parts(result: ToolMessage, display: CallDisplay | None) -> tuple[Display, ...]:
    if display is not None and display.displays:
        return display.displays
    return (Text(result.text),) if result.text.strip() else ()


def _display_text(display: Display) -> str:
    match display:
        case Diff():
            text = f"{display.heading}\n{display.unified}"
        case Terminal(command=command, output=output):
            text = f"$ {command}\n{output}"
        case Todos(items=items):
            text = "\n".join(f"[{_MARKS[item.status]}] {item.title}" for item in items)
        case Table(columns=columns, rows=rows):
            text = "\n".join(" | ".join(row) for row in (columns, *rows))
        case Text(text=text):
            pass
    return _plain(text.rstrip("\n"))


def _plain(text: str) -> str:
    """Return a text without control characters; invisible ones are written out."""
    return show_invisible(_CONTROL.sub("", text.replace("\r\n", "\n")))[0]


def _code(text: str) -> str:
    """Text in one line that Markdown takes for nothing else."""
    line = " ".join(_plain(text).split()).replace("`", "'")
    return f"`{line}`" if line else ""


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for line in _plain(text.strip()).split("\n")]


def _stamp(entry: DatedMessage) -> str:
    return datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M UTC") if entry.at else ""


FORMAT = "sam-tui conversation"
_TITLE = re.compile(r'[{,]\s*"title"\s*:\s*("(?:[^"\\\n]|\\.)*")')
_NEXT_ITEM = re.compile(r"[\s,]*[^\s,\]]")
_DECODER = json.JSONDecoder()
_Item = TypeVar("_Item")
_MOST_ITEMS = 1_000_000
"""Items that are read of one list of a damaged file."""


class _Entry(BaseModel):
    at: float
    message: Message


class ConversationFile(BaseModel):
    """The content of the file; fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore")
    format: str
    version: int
    title: str = ""
    workspace: str = ""
    # One fault is enough: an error object for each of a file's items takes fifty times its size.
    messages: Annotated[list[_Entry], FailFast()]
    calls: Annotated[list[CallDisplay], FailFast()] = []


class _WrittenFile(ConversationFile):
    """The parts of a file that are written and not read back: nobody else speaks as the program."""

    notices: list[StoredNotice]


def write_json(document: ConversationDocument) -> str:
    """The document as one JSON object."""
    file = _WrittenFile(
        format=FORMAT,
        version=1,
        title=document.title,
        workspace=document.workspace,
        messages=[_Entry(at=entry.at, message=entry.message) for entry in document.entries],
        calls=list(document.displays.values()),
        notices=list(document.notices),
    )
    return json_visible(file.model_dump_json(indent=1)) + "\n"


def read_json(text: str) -> ConversationDocument | None:
    """The document of a file of ours; None for any other text.

    A damaged or cut file yields its undamaged part, and ``skipped`` says that some is missing.
    """
    if FORMAT not in text[:200]:
        return None
    skipped = 0
    try:
        file = ConversationFile.model_validate_json(text)
    except (ValidationError, RecursionError):
        file, skipped = _whole_parts(text)
    if file.format != FORMAT:
        return None
    return ConversationDocument(
        title=file.title,
        workspace=file.workspace,
        entries=[DatedMessage(entry.at, entry.message) for entry in file.messages],
        displays={CallId(call.call): call for call in file.calls},
        source="sam-tui",
        skipped=skipped,
    )


def _whole_parts(text: str) -> tuple[ConversationFile, int]:
    """The messages and calls that are whole in a damaged file, and how many parts of it are not."""
    messages, unread, end = _items(text, 0, "messages", TypeAdapter(_Entry))
    calls, more, _ = _items(text, end, "calls", TypeAdapter(CallDisplay))
    head = _TITLE.search(text)
    title = json.loads(head[1], strict=False) if head else ""
    return ConversationFile(
        format=FORMAT, version=1, title=title, messages=messages, calls=calls
    ), unread + more


def _items(
    text: str, start: int, name: str, kind: TypeAdapter[_Item]
) -> tuple[list[_Item], int, int]:
    """The valid items of a list from ``start`` on, the number of others, and where the list ended.

    The list ends where the text is no longer JSON, and after ``_MOST_ITEMS``; the rest is one part.
    """
    begin = re.compile(rf'[{{,]\s*"{name}"\s*:\s*\[').search(text, start)
    items: list[_Item] = []
    unread, at = 0, begin.end() if begin else len(text)
    while item := _NEXT_ITEM.match(text, at):
        if len(items) + unread == _MOST_ITEMS:
            return items, unread + 1, at
        try:
            value, at = _DECODER.raw_decode(text, item.end() - 1)
        except (ValueError, RecursionError):
            return items, unread + 1, len(text)
        try:
            items.append(kind.validate_python(value))
        except ValidationError:
            unread += 1
    return items, unread + (begin is None), at
