"""Messages between our widgets, and signals between controllers."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from sam_tui.core.ids import InquiryId
    from sam_tui.core.inquiry import Answer
    from sam_tui.core.messages import Image
    from sam_tui.core.ports.documents import Colour, Raster
    from sam_tui.ui.driver.images.marks import PlacePicture

    ShowPicture = Callable[[Raster | None, PlacePicture | None], object]


class Signal:
    """Calls every watcher, at once and in the order in which they were added."""

    def __init__(self) -> None:
        self._watchers: list[Callable[[], object]] = []

    def watch(self, watcher: Callable[[], object]) -> None:
        """Call ``watcher`` from now on."""
        self._watchers.append(watcher)

    def send(self) -> None:
        """Call every watcher."""
        for watcher in self._watchers:
            watcher()


class PromptSubmitted(Message):
    """The person sent a prompt (or a slash command); ``later`` for the end of the running turn."""

    def __init__(self, text: str, *, later: bool = False) -> None:
        super().__init__()
        self.text = text
        self.later = later


class InquiryAnswered(Message):
    """The person answered the question on show."""

    def __init__(self, inquiry: "InquiryId", answer: "Answer") -> None:
        super().__init__()
        self.inquiry = inquiry
        self.answer = answer


class ActionAsked(Message):
    """A widget asks for one of the actions, by name."""

    def __init__(self, name: str, argument: str = "") -> None:
        super().__init__()
        self.name = name
        self.argument = argument


class ColumnChanged(Message):
    """Todos or terminals got their first content, or lost their last."""


class PictureWanted(Message):
    """An image became visible. ``show`` gets its raster, or None if it cannot be decoded, and a function
    that gives its cells the number by which the terminal draws it, if the terminal can."""

    def __init__(self, image: "Image", ground: "Colour", show: "ShowPicture") -> None:
        super().__init__()
        self.image = image
        self.ground = ground
        self.show = show
