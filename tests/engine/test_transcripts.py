"""What a turn says and stores, from its first event to its last, whole: ``transcripts.txt``.

As a program, this writes it. A line that differs is a promise that changed: what people see, what the
model is sent next, and what is in the conversation afterwards.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sam_tui.core.agent.budget import Limits
from sam_tui.core.errors import (
    AnswerTooLarge,
    ConfigurationError,
    ContextExceeded,
    ModelUnavailable,
)
from sam_tui.core.messages import Message
from sam_tui.core.ports.model import ReasoningDelta, TextDelta, TruncatedDelta, UsageDelta
from sam_tui.core.usage import Usage
from tests.fakes.engine_kit import Piece, RawModel, calls, open_kit, open_talk

RECORDED = Path(__file__).with_name("transcripts.txt")
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5"
USED = UsageDelta(Usage(10, 4, 0, 2, 1, 0.5))


@dataclass(frozen=True)
class Scene:
    """What the model answers, what is said to it, and what is so from the beginning."""

    answers: Sequence[Sequence[Piece]]
    said: str = "go"
    typed: Sequence[str] = ()
    """What the person types while the first calls run."""
    reminds: str = ""
    limits: Limits = field(default_factory=Limits)
    context: int | None = None
    workflow: bool = False
    before: Sequence[str] = ()
    """What was said in earlier turns, each of which was answered with ``ok``."""


def text(*words: str) -> list[Piece]:
    """An answer in pieces."""
    return [TextDelta(word) for word in words]


LONG = "what was said long ago " * 60
SCENES: dict[str, Scene] = {
    "an answer": Scene([[ReasoningDelta("hm"), *text("Hel", "lo"), USED]]),
    "an empty answer": Scene([[], text("there")]),
    "calls, then an answer": Scene(
        [[*text("See."), *calls(("ping", {}), ("voice", {"operation": "murmur", "text": "a"})), USED],
         [*text("Done."), USED]],
        reminds="mind",
    ),
    "a call that fails and one that is none": Scene(
        [calls(("voice", {"operation": "murmur", "text": "refuse"}), ("nothing", {})), text("ok")]
    ),
    "what is typed meanwhile": Scene(
        [calls(("ping", {})), text("ok")], typed=("and this", f"with {KEY}"), reminds="mind"
    ),
    "a key in what is said": Scene([text(f"you said {KEY}")], said=f"use {KEY}"),
    "a provider that is away for a moment": Scene(
        [[*text("half"), ModelUnavailable(f"503 for {KEY}", status=503)], text("whole")]
    ),
    "a provider that stays away": Scene([[ModelUnavailable("503")]] * 3),
    "a fault of the configuration": Scene([[*text("so far"), ConfigurationError("no key", hint="set it")]]),
    "an answer that is too large": Scene([[AnswerTooLarge("too much", setting="answer_size")]]),
    "the limit of calls": Scene([calls(("ping", {}))] * 2, limits=Limits(2)),
    "the limit of tokens": Scene(
        [[*calls(("ping", {})), USED], text("not sent")], limits=Limits(tokens=12)
    ),
    "a cut answer": Scene([[*text("one "), TruncatedDelta()], text("two")]),
    "a workflow that goes on": Scene(
        [text('Half.\n{"status": "continue"}'), text("Whole.")], workflow=True
    ),
    "a context that is exceeded": Scene(
        [[ContextExceeded("too long", limit=2_000)], text("short")],
        before=[LONG, LONG, LONG], reminds="mind",
    ),
    "a context that cannot be shorter": Scene([[ContextExceeded("too long")]] * 2),
    "a small context": Scene([text("short")], before=[LONG] * 5, context=2_600, reminds="mind"),
}  # fmt: skip


def shown(value: object, folder: Path) -> str:
    """A value in words that are the same each time."""
    words = repr(value).replace(str(folder), "").replace(LONG.strip(), "LONG").replace(KEY, "KEY")
    words = re.sub(r"\b(seconds|elapsed)=[0-9.e-]+", r"\1=…", words)
    words = re.sub(r"\b\w+=(?:None|''|\(\)|\{\}|False|0)(?=[,)]),? ?", "", words)
    words = re.sub(r"\bcall_[0-9a-f]{24}", "call_…", words)
    words = re.sub(r"\bkind='\w+',? ?", "", words)
    return words.replace(", )", ")")


async def played(scene: Scene, folder: Path) -> list[str]:
    """A scene, as lines."""
    kit = open_kit(folder)
    model = RawModel(*(text("ok") for _ in scene.before), *scene.answers)
    talk = open_talk(kit, model, limits=scene.limits, workflow_mode=scene.workflow)
    for said in scene.before:
        await talk.session.run(said)
    model.context_tokens = scene.context
    if scene.reminds:
        talk.reminder.says = lambda _: scene.reminds
    stored = len(kit.storage.conversations.everything(kit.conversation))
    kit.events.drain()
    typed = [*scene.typed]

    def steering() -> Sequence[str]:
        said, typed[:] = [*typed], []
        return said

    sent = len(model.seen)
    await talk.session.run(scene.said, steering)
    lines = [shown(event, folder) for event in kit.events.drain()]
    lines += [f"sent {shown(kinds(messages), folder)}" for messages in model.seen[sent:]]
    everything = kit.storage.conversations.everything(kit.conversation)
    lines += [f"stored {shown(message, folder)}" for message in everything[stored:]]
    assert [*talk.session.messages] == kit.storage.conversations.messages(kit.conversation)
    lines.append(f"view {shown(kinds(talk.session.messages), folder)}, waited {talk.clock.waits}")
    kit.storage.close()
    return lines


def kinds(messages: Sequence[Message]) -> str:
    """What kinds of messages they are, in order."""
    return " ".join(message.kind for message in messages)


def played_all(folder: Path) -> Iterator[str]:
    """Every scene, as lines below its name."""
    for number, (name, scene) in enumerate(SCENES.items()):
        yield name
        place = folder / str(number)
        yield from (f"  {line}" for line in asyncio.run(played(scene, place)))


@pytest.mark.requirement("turn:streams")
def test_each_turn_says_and_stores_what_is_recorded(tmp_path: Path) -> None:
    assert [*played_all(tmp_path)] == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        recorded = "".join(f"{line}\n" for line in played_all(Path(made)))
    RECORDED.write_text(recorded, encoding="utf-8")
