"""A model that plays a file: for the demo, the screenshots and tests.

The file is a JSON list of steps, each one turn of the assistant; every field is optional, an unknown
one is an error::

    [{"reasoning": "First look.", "text": "Let me look.", "rate": 200,
      "calls": [{"name": "file_operations", "arguments": {"operation": "list_dir"}}],
      "usage": {"input_tokens": 900, "cached_tokens": 512, "output_tokens": 20, "cost": 0.001}},
     {"when": {"last_tool": "file_operations", "ok": true}, "text": "Found it."},
     {"when": {"ok": false, "contains": "denied"}, "text": "Then I leave it."},
     {"error": {"type": "ModelLimited", "retry_after": 2}}]

``reasoning``, ``text``, ``calls``   what is streamed, in this order; a call has ``name``, ``arguments``
                   (an object, or raw text) and ``id`` (made from step and place where missing)
``rate``           tokens a second, a token being four characters; or ``delay``: seconds before each
                   chunk. Without either it streams at once.
``chunk``          characters a chunk (4 with a rate, else 64)
``when``           ``last_tool``, ``ok``, ``contains``, ``user``: see ``script.When``
``wait_for``       ``file``, ``contains``, ``timeout``: see ``script.WaitFor``
``usage``          the fields of ``core.usage.Usage``; no usage is reported without it
``error``          ``type`` (a ``ModelError`` of ``core.errors``), ``message``, ``hint``, ``status``,
                   ``retry_after``: raised after the rest was streamed

Played is the first step not yet played whose ``when`` holds; a step without ``when`` always holds.
After the last one the model answers "The script has ended.".

Which steps were played stands in the conversation: each answer carries the list as opaque data. So a
conversation resumed in another process goes on where it was, two conversations on one model do not
disturb each other, and a step whose answer was not kept (a failure, a retry) is played again. Only
steps with an ``error`` are remembered by the model itself, as their answer is never kept: each fails
once per model.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sam_tui.adapters.llm.script import ScriptStep, WaitFor, When, read_file, read_steps
from sam_tui.adapters.llm.wire import OWNER
from sam_tui.core.errors import ModelUnavailable
from sam_tui.core.messages import AssistantMessage, Message, ToolMessage, UserMessage
from sam_tui.core.ports import model

DEMO = Path(__file__).with_name("demo.json")
"""The script of the demo."""

CLOSING = "The script has ended."
_OWNER = "scripted"
_TOKEN = 4
_LOOK = 0.02
"""Seconds between two checks whether a file exists, because no portable call reports that."""


class ScriptedModel:
    """Plays steps; raises ConfigurationError when they are not valid."""

    def __init__(
        self,
        steps: Sequence[ScriptStep | Mapping[str, object]],
        *,
        name: str = "scripted",
        folder: Path | None = None,
    ) -> None:
        self._steps = read_steps(steps, source=name)
        self._name = name
        self._folder = folder or Path()
        self._failed: set[int] = set()

    @classmethod
    def from_file(cls, path: str | Path) -> "ScriptedModel":
        """The script in a file; ConfigurationError naming the file and the place."""
        file = Path(path)
        return cls(read_file(file), name=f"scripted:{file.name}", folder=file.parent)

    @classmethod
    def embedded(cls) -> "ScriptedModel":
        """The script that comes with the program."""
        return cls(read_file(DEMO), name="scripted", folder=DEMO.parent)

    @property
    def name(self) -> str:
        """The name in the status bar."""
        return self._name

    @property
    def host(self) -> str:
        """Empty: requests do not leave the program."""
        return ""

    @property
    def context_tokens(self) -> int | None:
        """A script has no context to exceed."""
        return None

    async def stream(self, request: model.ModelRequest) -> AsyncIterator[model.Delta]:
        """The deltas of the next step of the script, at its own pace."""
        played = _played(request.messages)
        number = self._next(played, request.messages)
        step = ScriptStep(text=CLOSING) if number is None else self._steps[number]
        if step.wait_for is not None:
            await self._wait(step.wait_for, request.messages)
        if number is not None:
            played = played.with_step(number)
        yield model.OpaqueDelta({OWNER: _OWNER, "played": played.as_json()})
        async for delta in _paced(step, list(_deltas(step, number))):
            yield delta
        if step.error is not None and number is not None:
            self._failed.add(number)
            raise step.error.build()
        if step.usage is not None:
            yield model.UsageDelta(step.usage.build())

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _next(self, played: "Played", messages: Sequence[Message]) -> int | None:
        waiting = (n for n in played.unplayed(len(self._steps)) if n not in self._failed)
        return next((n for n in waiting if _holds(self._steps[n].when, messages)), None)

    async def _wait(self, condition: WaitFor, messages: Sequence[Message]) -> None:
        for _ in range(max(1, round(condition.timeout / _LOOK))):
            if self._met(condition, messages):
                return
            await asyncio.sleep(_LOOK)
        awaited = condition.file or repr(condition.contains)
        text = f"The script waited {condition.timeout:g} s for {awaited}, which did not come."
        raise ModelUnavailable(text)

    def _met(self, condition: WaitFor, messages: Sequence[Message]) -> bool:
        if not condition.file:
            texts = (m.text for m in messages)
            return any(condition.contains in text for text in texts)
        try:
            content = (self._folder / condition.file).read_bytes() if condition.contains else b""
        except OSError:
            return False
        if condition.contains:
            return condition.contains.encode() in content
        return (self._folder / condition.file).exists()


@dataclass(frozen=True, slots=True)
class Played:
    """Numbers of played steps, as runs (first, last) in order: a script played through is one run."""

    runs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of_json(cls, data: Sequence[int | Sequence[int]]) -> "Played":
        """The inverse of ``as_json``."""
        return cls(tuple((n, n) if isinstance(n, int) else (n[0], n[1]) for n in data))

    def as_json(self) -> list[int | list[int]]:
        """A number for a step alone, first and last of a run."""
        return [a if a == b else [a, b] for a, b in self.runs]

    def unplayed(self, count: int) -> Iterator[int]:
        """The numbers below ``count`` that are none of these, in order."""
        start = 0
        for first, last in self.runs:
            yield from range(start, min(first, count))
            start = last + 1
        yield from range(start, count)

    def with_step(self, number: int) -> "Played":
        """The played steps with one more."""
        runs: list[tuple[int, int]] = []
        for first, last in sorted((*self.runs, (number, number))):
            if runs and runs[-1][1] + 1 == first:
                runs[-1] = (runs[-1][0], last)
            else:
                runs.append((first, last))
        return Played(tuple(runs))


def _played(messages: Sequence[Message]) -> Played:
    """The played steps, as the last scripted answer of the conversation lists them."""
    for message in reversed(messages):
        opaque = message.opaque if isinstance(message, AssistantMessage) else None
        if opaque is not None and opaque.get(OWNER) == _OWNER:
            return Played.of_json(opaque.get("played", ()))
    return Played()


def _last_exchange(messages: Sequence[Message]) -> tuple[str, ToolMessage | None]:
    """The last prompt, and the last result behind it that no answer followed."""
    result: ToolMessage | None = None
    answered = False
    for message in reversed(messages):
        answered = answered or isinstance(message, AssistantMessage)
        if isinstance(message, ToolMessage) and result is None and not answered:
            result = message
        if isinstance(message, UserMessage):
            return message.text, result
    return "", result


def _holds(when: When | None, messages: Sequence[Message]) -> bool:
    if when is None:
        return True
    prompt, result = _last_exchange(messages)
    if when.last_tool and (result is None or result.name != when.last_tool):
        return False
    if when.ok is not None and (result is None or result.ok != when.ok):
        return False
    seen = result.text if result is not None else prompt
    return when.contains in seen and when.user in prompt


def _deltas(step: ScriptStep, number: int | None) -> Iterator[model.Delta]:
    size = step.chunk or (_TOKEN if step.rate else 64)
    for piece in _cut(step.reasoning, size):
        yield model.ReasoningDelta(piece)
    for piece in _cut(step.text, size):
        yield model.TextDelta(piece)
    for index, call in enumerate(step.calls):
        raw = call.arguments
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
        yield model.CallDelta(index, call.id or f"call_{number}_{index}", call.name, "")
        for piece in _cut(text, size):
            yield model.CallDelta(index, "", "", piece)


async def _paced(step: ScriptStep, deltas: Sequence[model.Delta]) -> AsyncIterator[model.Delta]:
    """Deltas at the step's pace. Measured from the start, so that short waits do not add up."""
    size = step.chunk or _TOKEN
    pause = (
        step.delay if step.delay is not None else (size / _TOKEN / step.rate if step.rate else 0)
    )
    start = time.monotonic()
    for count, delta in enumerate(deltas, 1):
        ahead = start + count * pause - time.monotonic() if pause else 0.0
        # Even at full speed the loop gets its turn now and then, as with a real connection.
        if ahead > 0.001 or count % 32 == 0:
            await asyncio.sleep(max(0.0, ahead))
        yield delta


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[i : i + size] for i in range(0, len(text), size))
