"""No way through the engine shows a secret: pieces, data, messages, reminders, what is passed on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sam_tui.core.accesses import LocatedAccess, Type
from sam_tui.core.display import Diff, Table, Terminal, Text, Todos
from sam_tui.core.events import ToolProgressed
from sam_tui.core.ids import CallId
from sam_tui.core.messages import Message, ReminderMessage, ToolCall, UserMessage
from sam_tui.core.ports.model import TextDelta
from sam_tui.core.prompt.reminders import TurnView, due_reminders
from sam_tui.core.redaction.settings_files import SettingsFiles
from sam_tui.core.redaction.shield import Masked, Shield
from sam_tui.core.tooling.contract import ToolResult
from sam_tui.core.tooling.offer import Offer
from sam_tui.core.tooling.redaction import MaskedStream, masked, masked_decision
from sam_tui.core.verdict import Decision
from tests.fakes.engine_kit import Echo, Kit, RawModel, example_tools, open_talk
from tests.shield.test_leaks import PASSWORD, PEM, TOKEN

SPACED = "correct horse battery 9"
BELOW = ("q7Rt9ZpL2xWm5c8", "Xk93mQvB7a", "t4Wn8RzK1p", "Jm2vP9xQ7c", "Hb5yL8dN3k", "Zr4kM7gB2n")
LINES = """db_password:
  {}
secret_keys:
  - {}
  - {}
- name: DB_PASSWORD
  value: {}
API_TOKENS = [
  "{}"
]
login u
password {}
""".format(*BELOW)


@pytest.mark.requirement("shield:streams")
@pytest.mark.parametrize("size", [1, 3, 7, 40, 10_000])
def test_a_secret_in_pieces_is_masked_and_nothing_is_lost(size: int) -> None:
    shield, heard = Shield({"SPACED": SPACED}), list[str]()
    stream = MaskedStream(shield, heard.append)
    pem = "\n".join(PEM)
    text = f"go {TOKEN}.\npassword = '{PASSWORD}' x\n{LINES}{pem}\nsaid {SPACED} so\r100% {TOKEN}"
    for start in range(0, len(text), size):
        stream.add(text[start : start + size])
    stream.end()
    shown = "".join(heard)
    assert not [s for s in (TOKEN, PASSWORD, SPACED, *BELOW, *PEM[1:7]) if s in shown]
    assert shield.unmask(shown) == text


@pytest.mark.requirement("shield:streams")
def test_what_can_be_no_secret_is_shown_at_once() -> None:
    heard = list[str]()
    stream = MaskedStream(Shield(), heard.append)
    pieces = ["tests/a.py ", "..", "..", " done\n", "- a\n", "to:\n", "Continue? [y/N] "]
    for piece in pieces:
        stream.add(piece)
    assert heard == pieces
    for piece in ("\ntoken:\n", "none\n", "see below\n", "half"):
        stream.add(piece)
    more = ["\n", "token:\nnone\n", "see below\n"]
    assert heard == [*pieces, *more]
    stream.end()
    stream.add("late")
    assert heard == [*pieces, *more, "half", "late"]


@pytest.mark.requirement("shield:results")
def test_results_are_masked_within_json_in_their_data_and_in_the_names_of_files() -> None:
    told = {"output": f'a\n{TOKEN}\npassword="{PASSWORD}"', "password": PASSWORD}
    diff = Diff(f"{TOKEN}.txt", f"+x {TOKEN}", 1, 0)
    for indent in (None, 2):
        text = json.dumps(told, indent=indent)
        result = ToolResult(
            text, display=(diff, Text(TOKEN)), data=told, mime_type="application/json"
        )
        shown = masked(result, Shield())
        whole = shown.text + json.dumps(dict(shown.data)) + repr(shown.display)
        token = Shield().redact(TOKEN)
        assert shown.display == (Diff(f"{token}.txt", f"+x {token}", 1, 0), Text(token))
        assert TOKEN not in whole
        assert PASSWORD not in whole
        assert str(shown.data["password"]).startswith("<secret:password:")
        assert json.loads(shown.text)["output"].startswith("a\n<secret:")
        assert ("\n" in shown.text) is (indent is not None)


@pytest.mark.requirement("shield:results")
def test_a_line_within_a_text_of_json_is_read_as_a_line_and_a_terminal_is_masked_whole() -> None:
    text = json.dumps({"output": f"a\npassword: {PASSWORD}\nb"})
    display = (Terminal(f"login {TOKEN}", TOKEN, 0, 0.1),)
    shown = masked(ToolResult(text, display=display, mime_type="application/json"), Shield())
    token = Shield().redact(TOKEN)
    assert json.loads(shown.text)["output"].startswith("a\npassword: <secret:")
    assert shown.display == (Terminal(f"login {token}", token, 0, 0.1),)
    assert masked(ToolResult(text), Shield()).text == text  # only what says that it is JSON


@pytest.mark.requirement("shield:results")
def test_each_kind_of_display_is_masked_in_all_its_texts_and_keeps_the_rest() -> None:
    token = Shield().redact(TOKEN)
    table, todos = Table((TOKEN, "b"), ((f"x {TOKEN}", "y"), ("z", TOKEN))), Todos(())
    shown = masked(ToolResult("", display=(table, todos, Text(TOKEN))), Shield())
    masked_rows = ((f"x {token}", "y"), ("z", token))
    assert shown.display == (Table((TOKEN, "b"), masked_rows), todos, Text(token))
    for text in ("{not json", f"[{TOKEN}", "[" * 100_000):
        result = masked(ToolResult(text, mime_type="application/json"), Shield())
        assert result.text == text.replace(TOKEN, token)
    same = '{"a":  1, "b": "no secret"}'
    assert masked(ToolResult(same, mime_type="application/json"), Shield()).text == same
    accented = masked(ToolResult(f'["é", "{TOKEN}"]', mime_type="application/json"), Shield())
    assert accented.text == f'["é", "{token}"]'


@pytest.mark.requirement("shield:results")
def test_a_decision_is_stored_without_secrets_and_without_hidden_keys() -> None:
    hidden = LocatedAccess(Type("main", "s3cret", hidden=True), None)
    shown = LocatedAccess(Type("main", "ls", hidden=False), None)
    text = f"keys 's3cret' and keys 'ls' and {TOKEN}"
    decision = Decision("x", "deny", "user", "r", text, text, text, targets=(text, "a"))
    clean = f"keys (hidden input) and keys 'ls' and {Shield().redact(TOKEN)}"
    expected = Decision("x", "deny", "user", "r", clean, clean, clean, targets=(clean, "a"))
    assert masked_decision(decision, (hidden, shown), Shield()) == expected
    assert masked_decision(expected, (), Shield()) == expected


@pytest.mark.requirement("shield:streams")
@pytest.mark.parametrize(("size", "withheld"), [(65_536, True), (65_537, False)])
def test_no_more_than_64_kib_are_withheld_for_a_secret_that_may_go_on(
    size: int, *, withheld: bool
) -> None:
    heard = list[str]()
    stream = MaskedStream(Shield(), heard.append)
    stream.add("a" * size)
    assert heard == ([] if withheld else ["a" * size])
    stream.end()
    stream.end()
    assert heard == ["a" * size]


@pytest.mark.requirement("shield:streams")
def test_a_long_word_that_comes_by_characters_is_looked_at_once() -> None:
    class Looks(Shield):
        """A shield that counts how often the end of a text was looked at."""

        count = 0

        def length_of_beginning(self, text: str) -> int:
            self.count += 1
            return super().length_of_beginning(text)

    shield, heard = Looks(), list[str]()
    stream = MaskedStream(shield, heard.append)
    for character in "x" * 20_000 + " ":
        stream.add(character)
    assert (heard, shield.count) == (["x" * 20_000 + " "], 2)


@pytest.mark.requirement("shield:results")
def test_data_that_repeats_the_text_is_looked_at_once_and_never_read_unmasked() -> None:
    shield = CountingShield()
    result = ToolResult(f"1 line\n{TOKEN}", data={"lines": [f"x {TOKEN}"], "complete": True})
    shown = masked(result, shield)
    assert shield.texts == [result.text]
    assert TOKEN not in repr(shown) + json.dumps(dict(shown.data))
    assert shown.data["complete"] is True and len(shown.data) == 2
    assert masked(ToolResult("", data={"a": [{"password": PASSWORD}]}), shield).text == ""
    assert PASSWORD not in shield.mask(f"it is {PASSWORD}").text  # its name was seen before


class CountingShield(Shield):
    """Remembers what it was asked to mask."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def mask(self, text: str) -> Masked:
        self.texts.append(text)
        return super().mask(text)


@pytest.mark.requirement("shield:unmask")
async def test_placeholders_become_values_only_for_tools_that_work_here(kit: Kit) -> None:
    placeholder = kit.executor.shield.mask(TOKEN).text
    voice = next(tool for tool in example_tools(kit.journal) if tool.name == "voice")
    away = replace(voice, name="afar", local=False)
    kit.registry.join((Offer.of(away),))
    for tool, heard in (("voice", TOKEN), ("afar", placeholder)):
        given = json.dumps({"operation": "murmur", "text": f"x {placeholder}"})
        done = await kit.executor.execute(ToolCall(CallId(tool), tool, given), kit.conversation)
        assert kit.journal.lines[-1] == f"end x {heard}"
        assert done.finished.text == f"x {placeholder}"
    progressed = [e for e in kit.events.drain() if isinstance(e, ToolProgressed)]
    assert TOKEN not in repr(progressed)


@pytest.mark.requirement("shield:results")
async def test_a_message_with_a_key_reaches_the_model_and_the_store_without_it(kit: Kit) -> None:
    model = RawModel([TextDelta("ok")])
    await open_talk(kit, model).session.run(f"use {TOKEN} for it")
    stored = kit.storage.conversations.messages(kit.conversation)
    for messages in (stored, model.seen[0]):
        said = [message.text for message in messages if isinstance(message, UserMessage)]
        assert said == [f"use {kit.executor.shield.mask(TOKEN).text} for it"]


@pytest.mark.requirement("shield:results")
def test_a_reminder_is_masked_and_told_once(kit: Kit) -> None:
    shield, echo = Shield(), Echo()
    echo.says = lambda _: f"it ran curl -H 'X-Token: {TOKEN}'"

    def clean(text: str) -> str:
        return shield.mask(text).text

    def due(messages: Sequence[Message]) -> list[ReminderMessage]:
        view = TurnView(kit.conversation, messages, (), 0.0)
        return due_reminders([echo], view, new_message=False, clean=clean)

    (first,) = due([])
    assert TOKEN not in first.text
    assert due([first]) == []


@pytest.mark.requirement("shield:env-files")
def test_values_of_env_files_are_known_and_known_anew_when_they_change(tmp_path: Path) -> None:
    shield = Shield(source=SettingsFiles(str(tmp_path)).changed)
    shield.refresh()
    (tmp_path / ".env").write_text("DB_PASSWORD=first-pass-1\nPORT=3000\n")
    (tmp_path / ".env.local").write_text("API_TOKEN='other-one-22'\n")
    (tmp_path / ".env.example").write_text("DB_PASSWORD=shown-to-all-1\n")
    shield.refresh()
    text = "first-pass-1 other-one-22 shown-to-all-1 3000"
    assert shield.mask(text).names == ("DB_PASSWORD", "API_TOKEN")
    assert shield.mask(text).text.endswith(" shown-to-all-1 3000")
    (tmp_path / ".env").write_text("DB_PASSWORD=second-pass-2\n")
    shield.refresh()
    assert "second-pass-2" not in shield.mask("second-pass-2 first-pass-1").text
