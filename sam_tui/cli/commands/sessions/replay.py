"""``sam-tui replay`` and ``sessions to-test``: recorded conversations played again, and as files."""

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import click

from sam_tui.cli.options import closing_runtime, conversation_of, open_runtime, place_options
from sam_tui.cli.settings import data_dir_of
from sam_tui.cli.streams import require_output
from sam_tui.core.errors import UsageError
from sam_tui.core.local_files.bounded import UnusableFile, read_bounded, read_named, write_named
from sam_tui.headless.output import terminal_safe

if TYPE_CHECKING:
    from sam_tui.core.ids import ConversationId
    from sam_tui.core.ports.files import FilesByPath
    from sam_tui.core.runtime import Runtime
    from sam_tui.headless.replay.comparison import Deviation
    from sam_tui.headless.replay.playback import RecordedReplies
    from sam_tui.headless.replay.scenario import (
        Change,
        PathPlaceholders,
        RecordedAnswer,
        RecordedDecision,
        Scenario,
    )

_LARGEST = 1_000_000
"""The most bytes of a file with instructions for the model."""
DIFFERS = 4
"""The exit code of ``--check`` if a replay deviates from its recording."""


@click.command("replay", short_help="Play a conversation again, and compare.")
@click.argument("recordings", metavar="ID|FILE", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Exit with 4 if something differs from the recording.")
@click.option("--junit", metavar="FILE", help="Write the outcome to FILE as JUnit XML.")
@click.option(
    "--allow-recorded",
    is_flag=True,
    help="Also allow outside the scratch folder what was allowed then; only for recordings "
    "that you know.",
)
@click.option("--keep", is_flag=True, help="Keep the scratch folders, and print where they are.")
@place_options
def replay_command(**values: Any) -> int:
    """Play recorded conversations again: recorded answers, real tools, a scratch copy of the folder.

    The command prints differences in requests, results and files. A FILE is one of “sessions to-test”.
    Outside the scratch folder nothing is allowed, whatever was allowed then, except with --allow-recorded.
    """
    from sam_tui.headless.replay.comparison import as_junit, as_text

    require_output()
    played: list[tuple[str, Sequence[Deviation]]] = []
    for name in values["recordings"]:
        with _recording(name, values) as scenario:
            deviations, notes = _play(
                scenario, keep=values["keep"], everything=values["allow_recorded"]
            )
        played.append((name, deviations))
        click.echo(terminal_safe(as_text(name, deviations)))
        for note in notes:
            click.echo(terminal_safe(f"  {note}"))
    if values["junit"]:
        _write(values["junit"], as_junit(played))
    return DIFFERS if values["check"] and any(deviations for _, deviations in played) else 0


@click.command("to-test", short_help="Write a conversation as a test.")
@click.argument("conversation", metavar="ID")
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write; without it standard output."
)
@click.option("--files", multiple=True, metavar="GLOB", help="Only these files; repeatable.")
@place_options
def to_test_command(**values: Any) -> int:
    """Write the conversation ID as a file that “sam-tui replay FILE --check” plays.

    It contains the answers, results and decisions, and the files before and after; secrets are masked, and
    folders of this machine are placeholders.
    """
    from sam_tui.headless.replay.scenario import write_scenario

    require_output()
    with closing_runtime(values) as runtime:
        runtime.servers.learn_secrets()
        text = write_scenario(_recorded(runtime, values, values["conversation"], mask=True))
    if values["output"] not in (None, "-"):
        _write(values["output"], text)
        click.echo(terminal_safe(f"Written: {values['output']}"))
    else:
        click.echo(text, nl=False)
    return 0


@contextmanager
def _recording(name: str, values: dict[str, Any]) -> "Generator[Scenario, None, None]":
    """Open the recording that an id or a file names. Raises ``UsageError``."""
    from sam_tui.headless.replay.scenario import LARGEST, read_scenario

    if os.path.exists(name) or name.endswith(".json"):
        try:
            data = read_named(name, most=LARGEST)
        except UnusableFile as error:
            raise UsageError(f"{name} {error}.") from error
        yield read_scenario(name, data)
        return
    with closing_runtime(values) as runtime:
        scenario = _recorded(runtime, values, name, mask=False)
    yield scenario


def _recorded(runtime: "Runtime", values: dict[str, Any], name: str, *, mask: bool) -> "Scenario":
    """A stored conversation as a scenario. Raises ``UsageError``."""
    from sam_tui.headless.replay.playback import subagents_of
    from sam_tui.headless.replay.scenario import (
        Scenario,
        files_of,
        numbered,
        turns_of,
    )

    conversation = conversation_of({"resume": name}, runtime.conversations, "")
    assert conversation is not None
    record = runtime.conversations.find(conversation)
    assert record is not None
    if record.workspace != runtime.workspace.root:
        with closing_runtime(values, workspace=record.workspace) as runtime:
            return _recorded(runtime, values, name, mask=mask)
    placeholders = _placeholders(record.workspace, data_dir_of(values))
    redact = runtime.executor.shield.redact

    def change(text: str) -> str:
        return placeholders.portable(redact(text) if mask else text)

    chosen = values.get("files") or ("*",)
    before, after = (
        {path: file for path, file in files.items() if any(fnmatch(path, g) for g in chosen)}
        for files in asyncio.run(runtime.rewinder.span(conversation))
    )
    messages = runtime.conversations.everything(conversation)
    files, changed = files_of(before, after, change)
    turns = turns_of(messages, change, numbered(messages))
    decisions, answers = _decided_and_answered(runtime, conversation, change)
    if not turns:
        raise UsageError(f"Conversation {name} has no prompt to play.")
    return Scenario(
        format="sam-tui replay",
        version=1,
        title=change(str(record.title)),
        turns=turns,
        subagents=subagents_of(runtime.conversations, conversation, change),
        decisions=decisions,
        answers=answers,
        files=files,
        changed=changed,
        believed=_believed(runtime, before),
        reminders=dict(runtime.engine.requests.injectors.choices.chosen(conversation)),
    )


def _believed(runtime: "Runtime", before: "FilesByPath") -> list[str]:
    """Return the files that instruct a model, and that the person trusts as they were then."""
    from sam_tui.adapters.policy.recorded_trust import only_tells

    return [
        n for n, file in before.items() if only_tells(n) and runtime.trust.vouches(n, file.data)
    ]


def _decided_and_answered(
    runtime: "Runtime", conversation: "ConversationId", change: "Change"
) -> "tuple[list[RecordedDecision], list[RecordedAnswer]]":
    """Return the decisions and answers of a conversation and of its subagents."""
    from sam_tui.core.ports.policy import DecisionFilter
    from sam_tui.headless.replay.scenario import answers_of, decisions_of, numbered

    store = runtime.conversations
    decisions: list[RecordedDecision] = []
    answers: list[RecordedAnswer] = []
    ids = [conversation, *(child.id for child in store.children(conversation))]
    for number, identifier in enumerate(ids):
        messages = store.everything(identifier)
        numbers = numbered(messages, number)
        entries = runtime.decisions.page(DecisionFilter(conversation=identifier), limit=100_000)
        decisions += decisions_of(reversed(entries), numbers, change)
        answers += answers_of(store.call_displays(identifier), messages, numbers, change)
    return decisions, answers


def _placeholders(workspace: str, data: str) -> "PathPlaceholders":
    from sam_tui.headless.replay.scenario import PathPlaceholders

    home, parent = os.path.expanduser("~"), os.path.dirname(workspace)
    return PathPlaceholders({home: "home", parent: "parent", data: "data", workspace: "workspace"})


def _play(
    scenario: "Scenario", *, keep: bool, everything: bool
) -> "tuple[list[Deviation], list[str]]":
    """Return how a replay in its own folder deviates from the recording, and notes about it."""
    from sam_tui.headless.replay.comparison import compare
    from sam_tui.headless.replay.guidance import Guidance, supplied_by
    from sam_tui.headless.replay.playback import RecordedReplies, lay_out, play

    with _scratch(keep=keep) as folder:
        root, data = os.path.join(folder, "workspace"), os.path.join(folder, "data")
        os.mkdir(root)
        placeholders = _placeholders(root, data)
        lay_out(scenario, root, placeholders)
        replies = RecordedReplies(scenario, placeholders, root, everything=everything)
        believed = _digests(root, scenario.believed)
        values = {
            "workspace": root, "data_dir": data, "mode": "ask", "network": "off",
            "sandbox": "default", "strict_mcp_config": True, "disallowed_tools": (), "offline": True,
            "believed": believed,
        }  # fmt: skip

        async def played() -> "tuple[Scenario, list[str], Guidance]":
            runtime = open_runtime(values, responder=replies, program="sam-tui replay")
            try:
                guidance = Guidance(scenario, supplied_by(runtime, believed))
                return *await play(runtime, scenario, placeholders, data), guidance
            finally:
                await runtime.close()

        again, notes, guidance = asyncio.run(played())
    deviations = compare(scenario, again, guidance)
    notes = [*notes, *_of_replies(replies)]
    if guidance.not_compared:
        names = ", ".join(name.removeprefix("reminder ") for name in guidance.not_compared)
        notes.append(
            "reminders that are not compared (their source is not in the recording, or they "
            f"depend on time): {names}"
        )
    return deviations, [*notes, f"kept: {folder}"] if keep else notes


def _of_replies(replies: "RecordedReplies") -> list[str]:
    """In words, the approvals of the recording that were repeated, and those that were not."""
    notes = [f"was allowed then, and again: {what}" for what in replies.repeated]
    notes += [f"was allowed then, and is not repeated: {what}" for what in replies.not_repeated]
    if replies.not_repeated:
        notes.append("--allow-recorded repeats it: only for a recording that you know.")
    return notes


def _digests(root: str, names: "Sequence[str]") -> dict[str, str]:
    """The digests of a scratch copy's files with instructions for the model, among the trusted ones."""
    from sam_tui.adapters.policy.recorded_trust import only_tells

    believed: dict[str, str] = {}
    for name in filter(only_tells, names):
        with suppress(UnusableFile):
            data = read_bounded(os.path.join(root, name), most=_LARGEST, root=root)
            believed[name] = hashlib.sha256(data).hexdigest()
    return believed


@contextmanager
def _scratch(*, keep: bool) -> Generator[str, None, None]:
    """A private folder that is gone afterwards, unless it is kept."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="sam-tui-replay-"))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: str, text: str) -> None:
    try:
        write_named(path, text.encode("utf-8", "replace"))
    except UnusableFile as error:
        raise UsageError(f"{path} {error}.") from error
