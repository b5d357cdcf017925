"""The task and the options of a headless run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sam_tui.core.ids import ConversationId

if TYPE_CHECKING:
    from sam_tui.core.messages import Image
    from sam_tui.core.runtime import Opening
    from sam_tui.headless.approvals import Approvals
    from sam_tui.headless.dialogue.permissions import PermissionTool

OutputFormat = Literal["text", "json", "stream-json"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = ("text", "json", "stream-json")


@dataclass(frozen=True, slots=True)
class HeadlessRequest:
    """One prompt, and the form of its output.

    ``conversation`` is continued, or made under that id; None makes a new one. ``opening`` says
    whether it is copied, or taken from another program. ``last_message`` is
    a file that receives the final answer, or empty. ``warnings`` are printed before the run begins.
    """

    prompt: str
    format: OutputFormat = "text"
    conversation: ConversationId | None = None
    opening: "Opening" = "continue"
    partial_messages: bool = False
    hook_events: bool = False
    verbose: bool = False
    last_message: str = ""
    warnings: tuple[str, ...] = ()
    version: str = ""
    goal: str = ""
    """A command that must succeed; until then the model continues. Empty for none."""
    goal_turns: int = 10
    images: "tuple[Image, ...]" = ()
    schema: dict[str, object] | None = None
    """The JSON schema of the answer; None for text."""
    messages: int | None = None
    """The descriptor from which messages are read as JSON lines, in place of ``prompt``."""
    replay: bool = False
    """Whether each of these messages is printed when it is read."""
    permission_tool: "PermissionTool | None" = None
    """Answers approvals; None if no tool does."""
    approvals: "Approvals | None" = None
    """The file for unanswered approvals."""
    ephemeral: bool = False
    """Whether the conversation is deleted at the end."""
    compat: bool = False
    """Whether fields have the names of ``claude -p``, and a blocked run that answered ends with 0."""
