"""The verbs that steer an execution, in one table for the tools, midex, the command line and the gate."""

from dataclasses import dataclass
from typing import Final, Literal

Word = Literal["", "reason", "step", "choice"]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb. ``word`` is its argument besides the execution; ``ends`` if it ends the execution.

    ``brief`` is its line in a list of operations, ``about`` a sentence by itself.
    """

    name: str
    brief: str
    about: str
    word: Word = ""
    ends: bool = False


_VERBS = (
    Verb("pause", "stop for now", "Stop handing out work; tokens are refused meanwhile.", "reason"),
    Verb(
        "resume", "go on", "Go on after a pause, with fresh tokens; a person decides what it asks."
    ),
    Verb("abandon", "end it for good", "End an execution for good.", "reason", ends=True),
    Verb("retry", "open a step again", "Open a step again, with all that depends on it.", "step"),
    Verb("decide", "answer its question", "Answer what a paused execution asks.", "choice"),
)
VERBS: Final = {verb.name: verb for verb in _VERBS}
"""Every verb by its name."""
FOR_MODELS: Final = tuple(verb for verb in _VERBS if verb.word != "choice")
"""The verbs of a model: a person decides what a paused execution asks."""
