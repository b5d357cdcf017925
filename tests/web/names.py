"""A resolver that a test writes the answers of."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Names:
    """A resolver that answers from a list, one answer a question, the last one for ever."""

    answers: list[Sequence[str]]
    asked: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """The next answer."""
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
