"""The blocks that a transcript consists of: frozen content; ``render`` draws it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sam_tui.core.ids import CallId

if TYPE_CHECKING:
    from sam_tui.core.display import Display
    from sam_tui.core.messages import Image
    from sam_tui.core.ports.documents import Raster
    from sam_tui.ui.driver.images.marks import PlacePicture


_IRREGULAR = {
    "Beginning": "Began",
    "Committing": "Committed",
    "Finding": "Found",
    "Getting": "Got",
    "Giving": "Gave",
    "Handing": "Handed",
    "Keeping": "Kept",
    "Making": "Made",
    "Multi-edit": "Edited",
    "Reading": "Read",
    "Running": "Ran",
    "Sending": "Sent",
    "Thinking": "Thought",
    "Trying": "Tried",
    "Writing": "Wrote",
}
_REGULAR = (
    "Adding Asking Attaching Checking Closing Counting Creating Deleting Downloading Editing "
    "Ending Entering Fetching Generating Importing Indexing Inserting Judging Learning Listing "
    "Looking Moving Opening Patching Pruning Raising Ranking Reasoning Recalling Recording "
    "Renaming Researching Retrieving Scraping Searching Spawning Starting Storing Synthesizing "
    "Typing Updating Waiting"
)
_PAST = _IRREGULAR | {word: f"{word[:-3]}ed" for word in _REGULAR.split()}
"""The past tense of verbs with which summaries of our tools begin; other summaries are not changed."""


def past_tense(summary: str) -> str:
    """The summary with its first word in the past tense, if that is a verb of our tools."""
    end = next(
        (n for n, letter in enumerate(summary) if not (letter.isalpha() or letter == "-")),
        len(summary),
    )
    return _PAST.get(summary[:end], summary[:end]) + summary[end:]


FEW_ROWS = 12
"""How many rows after the first ones of a table are shown without folding."""
LONG_LINES, LONG_TEXT = 24, 4_000
"""Lines and characters of a prompt beyond which it folds, such as when a log was pasted."""
CardState = Literal["running", "done", "failed", "unanswered"]


@dataclass(frozen=True, slots=True)
class User:
    """A message of the person."""

    text: str

    @property
    def long(self) -> bool:
        """Whether the message is folded."""
        return len(self.text) > LONG_TEXT or self.text.count("\n") >= LONG_LINES


@dataclass(frozen=True, slots=True)
class AnswerContent:
    """A stored answer, not yet cut into parts, because it was not displayed yet."""

    source: str


@dataclass(frozen=True, slots=True)
class Markdown:
    """One Markdown block or list item; ``number`` is that of an ordered item."""

    source: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CodeContent:
    """Lines of a fenced block. ``before`` are the lines above, for the lexer; ``label`` says whether
    the language is named over the first line."""

    text: str
    language: str
    label: bool
    before: str = ""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a Markdown table; ``sample`` are those that decide the widths, ``head`` the first two
    lines. ``first`` says whether the header is drawn."""

    head: str
    sample: str
    rows: str
    first: bool

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.rows.count("\n") + 1

    @property
    def long(self) -> bool:
        """Whether they fold: all but the first rows of a large table."""
        return not self.first and self.count > FEW_ROWS


@dataclass(frozen=True, slots=True)
class Plain:
    """Text of an answer that is too long to be parsed as one block."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's reasoning; ``finished`` reasoning folds to one line."""

    text: str
    finished: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A tool call. ``output`` grows while it runs; ``displays`` belong to its result."""

    call: CallId
    operation: str
    summary: str
    arguments: str
    state: CardState = "running"
    output: str = ""
    displays: "tuple[Display, ...]" = ()
    seconds: float | None = None

    @property
    def title(self) -> str:
        """The action, in the past tense once done; commands in the background keep the present.

        A command that ended with another exit code than 0 failed, and ran.
        """
        title = self.summary or self.operation
        runs = any(getattr(display, "running", False) for display in self.displays)
        ended = any(getattr(display, "exit_code", None) is not None for display in self.displays)
        done = self.state == "done" or (self.state == "failed" and ended)
        return past_tense(title) if done and not runs else title


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice of the program; ``level`` is ``info``, ``warning`` or ``error``."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ReminderContent:
    """A block of adjacent reminders."""

    name: str
    text: str
    count: int = 1

    def joined(self, other: "ReminderContent") -> "ReminderContent":
        """This block with the next reminder appended."""
        name, text = f"{self.name}, {other.name}", f"{self.text.rstrip()}\n{other.text}"
        return ReminderContent(name, text, self.count + other.count)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that the model received; only its label, until it has a ``raster``."""

    image: "Image"
    raster: "Raster | None" = None
    register: "PlacePicture | None" = None
    """Returns a number for its cells, by which the terminal draws the image; None if it draws no images."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision of the guard, in words."""

    text: str
    allowed: bool | None
    """Whether the call was allowed; None while another question decides."""


Content = (
    User
    | AnswerContent
    | Markdown
    | CodeContent
    | TableRows
    | Plain
    | Reasoning
    | Card
    | Notice
    | ReminderContent
    | Picture
    | Decided
)
Foldable = Reasoning | Card | ReminderContent


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of an answer, and the blank rows (0 or 1) over it."""

    content: Content
    gap: int


@dataclass(frozen=True, slots=True)
class Block:
    """An entry of the transcript.

    ``order`` rises from block to block and never changes, so a place in the text keeps its name while
    things above grow. ``group`` is one for all parts of an answer. ``expanded`` is None until the
    person chose.
    """

    order: int
    group: int
    content: Content
    gap: int
    expanded: bool | None = None

    @property
    def foldable(self) -> bool:
        """Whether the block opens and closes."""
        content = self.content
        return isinstance(content, Foldable) or (
            isinstance(content, User | TableRows) and content.long
        )


def expanded(block: Block) -> bool:
    """Whether a foldable block is open: as the person chose, else as its kind begins.

    A card that nobody chose for is neither open nor shut: it shows an extract.
    """
    if block.expanded is not None:
        return block.expanded
    match block.content:
        case Reasoning(finished=finished):
            return not finished
        case _:
            return False


def plain(content: Content) -> str:
    """The content as text, for copies and exports."""
    match content:
        case User(text=text) | Plain(text=text) | Reasoning(text=text) | Notice(text=text):
            return text
        case AnswerContent(source=text) | Markdown(source=text) | CodeContent(text=text):
            return text
        case TableRows(head=head, rows=rows, first=first):
            return f"{head}\n{rows}" if first else rows
        case ReminderContent(name=name, text=text):
            return f"[{name}] {text}"
        case Decided(text=text):
            return text
        case Picture(image=image):
            return f"[image {image.name}]"
        case Card():
            return plain_card(content)


def plain_card(card: Card) -> str:
    """A tool call and its result as text."""
    parts = [f"[{card.operation}] {card.title}"]
    if not card.displays and card.output:
        parts.append(card.output.rstrip("\n"))
    parts += [plain_display(display) for display in card.displays]
    return "\n".join(part for part in parts if part)


def plain_display(display: "Display") -> str:
    """A display as text."""
    from sam_tui.core.display import Diff, Table, Terminal, Text, Todos

    match display:
        case Text(text=text):
            return text.rstrip("\n")
        case Diff(path=path, unified=unified):
            return f"--- {path}\n+++ {path}\n{unified}".rstrip("\n")
        case Terminal(command=command, output=output):
            return f"$ {command}\n{output}".rstrip("\n")
        case Table(columns=columns, rows=rows):
            return "\n".join("\t".join(row) for row in (columns, *rows))
        case Todos(items=items):
            return "\n".join(f"{item.id}. [{item.status}] {item.title}" for item in items)


def estimate(content: Content, width: int) -> int:
    """Roughly how many rows the content needs, without drawing it."""
    match content:
        case ReminderContent() | Decided() | TableRows(long=True):
            return 1
        case Card() | Reasoning(finished=True):
            return 1
        case Picture(raster=raster):
            return 1 if raster is None else 1 + (raster.height + 1) // 2
        case User(long=True):
            return LONG_LINES // 2
        case _:
            text = plain(content).strip("\n")
            return max(1, text.count("\n") + 1 + len(text) // max(20, width))


def gap_between(above: Content | None, content: Content) -> int:
    """The blank rows (0 or 1) between two neighbouring blocks: 0 if they belong together."""
    match content:
        case Card() | Decided():
            together = isinstance(above, Card | Decided)
        case ReminderContent() | Picture():
            together = isinstance(above, ReminderContent | User | Card | Decided)
        case Notice():
            together = isinstance(above, Notice)
        case _:
            together = False
    return 0 if together else 1
