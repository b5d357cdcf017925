"""What model calls used, and each call, from the command line; in this process, 0.3 s of CPU."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from sam_tui.adapters.model_facts import read_prices
from sam_tui.cli.commands.sessions.sessions import sessions_group, usage_command
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.messages import ReminderMessage, UserMessage
from sam_tui.core.ports.calls import ModelCall
from sam_tui.core.usage import Price, SentPrefix, Usage
from tests.fakes.engine_kit import open_kit


@pytest.mark.requirement("calls:cli")
def test_calls_and_costs_are_printed_as_text_and_as_json(tmp_path: Path) -> None:
    kit = open_kit(tmp_path)
    store, log = kit.storage.conversations, kit.storage.calls
    store.append(
        kit.conversation, [ReminderMessage("todo_list", "do it"), UserMessage("hi \x1b[2J")]
    )
    used = Usage(input_tokens=1000, cached_tokens=900, output_tokens=50, cost=0.25)
    prefix = SentPrefix(4000, 3000, "tools: ping came")
    call = ModelCall(2e9, "a/model", "answer", used, 2.0, 0.5, prefix, ("ping",))
    log.record(
        kit.conversation, log.point(kit.conversation), call, ("SYSTEM", "[]"), "3 text hello"
    )
    kit.storage.close()
    where = ["--data-dir", str(tmp_path / "data"), "--workspace", str(tmp_path / "ws")]

    def run(*words: str) -> str:
        command = usage_command if words[0] == "usage" else sessions_group
        arguments = words[1:] if words[0] == "usage" else words
        done = CliRunner(env={"SAM_TUI_CONFIG_DIR": str(tmp_path / "settings")}).invoke(
            command, [*arguments, *where], standalone_mode=False
        )
        if done.exception is not None:
            raise done.exception
        return done.stdout

    listed = run("xray", "c")
    assert "#1" in listed and "90% cached" in listed and "$0.2500" in listed
    shown = run("xray", "c", "1")
    for words in (
        "SYSTEM",
        "REMINDER todo_list",
        "3 text hello",
        "tools: ping came",
        "3,000 of 4,000",
    ):
        assert words in shown
    assert "\x1b" not in shown
    tables = json.loads(run("usage", "--by", "model", "--by", "tool", "--json"))
    assert [row["key"] for row in tables["model"]] == ["a/model"]
    assert tables["tool"][0]["total_cost_usd"] == 0.25
    assert "2033-05-18" in run("usage")


ODD = [f"[a]\ninput = {price}\noutput = 1\n" for price in ('"1"', "true", "nan", "1e308")]


@pytest.mark.requirement("calls:cost")
def test_prices_of_the_person_stand_in_a_file_that_is_checked(tmp_path: Path) -> None:
    assert read_prices(str(tmp_path)) == {}
    file = tmp_path / "prices.toml"
    file.write_text('["openai/mine"]\ninput = 1\noutput = 2.5\n', encoding="utf-8")
    assert read_prices(str(tmp_path)) == {"openai/mine": Price(1, 2.5)}
    for wrong in ("[a]\ninput = -1\noutput = 1\n", "[a]\ninptu = 1\n", "[", "a = 1\n", *ODD):
        file.write_text(wrong, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"prices\.toml") as caught:
            read_prices(str(tmp_path))
        assert "errors.pydantic.dev" not in str(caught.value)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigurationError, match=r"prices\.toml"):
        read_prices(str(tmp_path))
