"""How servers start, fail, die and come back: in bounds, with words that say what happened."""

import json
import os
from pathlib import Path

import pytest

from sam_tui.adapters.mcp_client.settings import SettingsReader
from sam_tui.core.clock import SystemClock
from sam_tui.core.events import Noticed
from tests.servers.conftest import SECONDS, House, raw


@pytest.mark.requirement("servers:start")
async def test_servers_start_beside_each_other_and_a_bad_one_hurts_no_other(house: House) -> None:
    missing = {"command": "no-such-program"}
    house.user(good=raw(), ends=raw("exit"), missing=missing)
    async with house.open() as sam:
        names = await sam.arrive()
        assert {name.split("__")[1] for name in names} == {"good"}
        reports = sam.reports
        assert reports["good"].standing == "ready"
        assert reports["ends"].standing == "failed"
        assert "exit code 4" in reports["ends"].error
        assert "cannot find my configuration" in reports["ends"].error
        assert "no-such-program" in reports["missing"].error


@pytest.mark.requirement("servers:patience")
async def test_a_server_that_does_not_answer_is_given_up_and_ended(house: House) -> None:
    house.user(mute=raw("mute"))
    async with house.open(environ={"MCP_TIMEOUT": "1500"}) as sam:
        assert await sam.arrive() == []
        assert "did not start within 1.5 s" in sam.reports["mute"].error


@pytest.mark.requirement("servers:start")
async def test_nothing_is_loaded_or_started_where_no_file_names_a_server(house: House) -> None:
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert sam.reports == {}


@pytest.mark.requirement("servers:garbage")
async def test_lines_that_are_no_messages_are_passed_over_up_to_a_number(house: House) -> None:
    house.user(noisy=raw("noise"), flood=raw("flood"))
    async with house.open() as sam:
        await sam.arrive()
        assert await sam.text("mcp__noisy__echo", text="heard") == "heard"
        assert "prints text on standard output" in sam.reports["flood"].error
        assert await sam.text("mcp__noisy__cut") == "half a smile ?"
        assert "does not fit the protocol" in await sam.text("mcp__noisy__misspeak")
        assert "does not fit the protocol" in await sam.text("mcp__noisy__misspeak", how="deep")
        assert await sam.text("mcp__noisy__misspeak", how="latin") == "caf\ufffd"


@pytest.mark.requirement("servers:garbage")
async def test_a_flood_on_standard_error_keeps_nobody_from_working(house: House) -> None:
    house.user(loud=raw("loud"))
    async with house.open() as sam:
        await sam.arrive()
        for number in range(20):
            assert await sam.text("mcp__loud__echo", text=str(number)) == str(number)
        assert len(sam.reports["loud"].log) <= 20_000


@pytest.mark.requirement("servers:restart")
async def test_a_server_that_died_is_started_by_the_next_call_a_few_times(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        await sam.arrive()
        for _ in range(3):
            text = await sam.text("mcp__one__die")
            assert "exit code 3" in text
            assert "something broke" in text
            assert sam.reports["one"].standing == "ended"
            assert await sam.text("mcp__one__echo", text="back") == "back"
        await sam.call("mcp__one__die")
        assert "was started 4 times within 5 minutes" in await sam.text("mcp__one__echo", text="x")


@pytest.mark.requirement("servers:restart")
async def test_one_that_does_not_come_up_is_tried_after_pauses_that_grow(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.user(none={"command": "/nowhere/server"})
    now = 1000.0

    def monotonic(_: SystemClock) -> float:
        return now

    monkeypatch.setattr(SystemClock, "monotonic", monotonic)
    async with house.open() as sam:
        await sam.arrive()
        for pause in (60, 120, 240, 480, 960, 960):
            for seconds, standing in ((pause - 1, "failed"), (2, "starting")):
                now += seconds
                sam.runtime.servers.begin()
                assert sam.reports["none"].standing == standing, pause
            assert await sam.runtime.servers.settled(SECONDS)


@pytest.mark.requirement("servers:changed-list")
async def test_a_storm_of_changed_lists_is_asked_for_once_at_the_next_message(house: House) -> None:
    house.user(one=raw())
    async with house.open() as sam:
        before = await sam.arrive()
        told = sam.runtime.registry.schemas_json
        assert await sam.text("mcp__one__grow") == "grown"
        assert sam.runtime.registry.schemas_json == told
        assert set(await sam.arrive()) - set(before) == {"mcp__one__grown"}


@pytest.mark.requirement("servers:hostile-list")
async def test_a_hostile_list_of_tools_reaches_the_model_short_and_harmless(house: House) -> None:
    token = "q7Zx" * 5
    house.user(bad=raw("hostile", env={"TOKEN": token}))
    async with house.open() as sam:
        names = await sam.arrive()
        told = sam.runtime.registry.schemas_json
        assert sam.schema("mcp__bad__keys")["description"].startswith("With <secret:TOKEN:")
        assert "its name contains a secret" in "\n".join(sam.reports["bad"].left_out)
        files = (house.folder / "data").glob("mcp-tools/*")
        assert token not in "".join([
            told,
            repr(sam.reports),
            *(f.read_text("utf-8") for f in files),
        ])
        assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
        assert "mcp__bad__two_words" in names
        assert len(sam.schema("mcp__bad__long")["description"]) < 2100
        assert "⟨U+202E⟩" in sam.schema("mcp__bad__bidi")["description"]
        assert "<system-reminder>" not in told.replace("\\\\", "\\")[told.index("mcp__bad") :]
        assert "<|im_start|>" not in told
        assert "\\n\\nHuman:" not in told
        assert "description" not in json.dumps(sam.schema("mcp__bad__wordy")["parameters"])
        left = "\n".join(sam.reports["bad"].left_out)
        for name in ("argument", "enormous", "text"):
            assert name in left
            assert f"mcp__bad__{name}" not in names


@pytest.mark.requirement("servers:hostile-list", "servers:search")
async def test_a_server_with_too_many_tools_offers_the_first_and_says_so(house: House) -> None:
    house.user(many=raw("many"))
    async with house.open() as sam:
        assert len(await sam.arrive()) == 128
        assert any("128 tools" in why for why in sam.reports["many"].left_out)
        # So many are named, found by words and called through call_tool, which the guard sees through.
        registry = sam.runtime.registry
        told = [schema["function"] for schema in json.loads(registry.schemas_json)]
        assert [f["name"] for f in told[:2]] == ["find_tools", "call_tool"]
        assert not [f["name"] for f in told if f["name"].startswith("mcp__")]
        assert "mcp__many__t001" in told[0]["description"]
        assert len(registry.schemas_json) < len(json.dumps(registry.schemas)) - 20_000
        assert "mcp__many__t001: One of many." in await sam.text("find_tools", query="t001")
        wrapped = {"name": "mcp__many__echo", "arguments": {"text": "hi"}}
        assert await sam.text("call_tool", **wrapped) == "hi"
        assert house.person.approvals[-1].operation == "mcp__many__echo"


@pytest.mark.requirement("servers:stable-list")
async def test_the_same_servers_are_told_in_the_same_bytes(house: House) -> None:
    house.user(two=raw(), one=raw())
    told: list[str] = []
    for _ in range(2):
        async with house.open() as sam:
            await sam.arrive()
            told.append(sam.runtime.registry.schemas_json)
    assert told[0] == told[1]
    assert told[0].index("mcp__one__") < told[0].index("mcp__two__")


@pytest.mark.requirement("servers:disallowed")
async def test_tools_of_servers_are_disallowed_by_name_pattern_or_server(house: House) -> None:
    house.user(one=raw(), two=raw())
    withheld = ("mcp__two", "mcp__one__w*", "mcp__one__echo")
    async with house.open(disabled_tools=withheld) as sam:
        names = await sam.arrive()
        assert "mcp__one__fail" in names
        assert not {n for n in names if n.startswith(("mcp__two", "mcp__one__w"))}
        assert "There is no tool" in await sam.text("mcp__one__echo", text="x")


@pytest.mark.requirement("servers:start-guarded")
async def test_a_deny_rule_for_its_command_keeps_a_server_from_starting(house: House) -> None:
    house.user(one=raw())
    house.policy('[[rule]]\neffect = "deny"\noperation = "mcp.start_server"\n')
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert "may not be started" in sam.reports["one"].error


@pytest.mark.requirement("servers:start-guarded")
async def test_without_a_sandbox_a_server_starts_with_the_persons_yes_alone(house: House) -> None:
    house.user(one=raw())
    async with house.open(sandbox="off", responder=None) as sam:
        assert await sam.arrive() == []
        assert sam.reports["one"].standing == "failed"
    house.user(one=raw(env={"AGAIN": "1"}))
    async with house.open(sandbox="off") as sam:
        assert "mcp__one__echo" in await sam.arrive()
    (asked,) = house.person.approvals
    assert asked.operation == "mcp.start_server"
    assert asked.why.endswith("The guard asks about its tools one by one.")


@pytest.mark.requirement("servers:trust")
async def test_a_projects_servers_are_named_and_not_loaded_before_the_folder_is_trusted(
    house: House,
) -> None:
    marker = house.workspace / "started"
    house.project(theirs={"command": "sh", "args": ["-c", "touch started"]}, one=raw("exit"))
    house.user(one=raw())
    async with house.open() as sam:
        assert {name.split("__")[1] for name in await sam.arrive()} == {"one"}
        assert sam.reports["theirs"].standing == "untrusted"
        assert sam.reports["one"].source == "user"
        assert not marker.exists()
        house.project(theirs=raw())
        sam.runtime.trust.trust()
        assert "mcp__theirs__echo" in await sam.arrive()
        assert sam.reports["theirs"].source == "project"
        sam.runtime.trust.revoke()
        assert "is no longer trusted" in await sam.text("mcp__theirs__echo", text="x")
        assert not any("theirs" in name for name in await sam.arrive())


@pytest.mark.requirement("servers:trust")
async def test_a_project_file_that_changed_since_it_was_trusted_is_not_believed(
    house: House,
) -> None:
    house.project(theirs=raw())
    async with house.open() as sam:
        sam.runtime.trust.trust()
        assert await sam.arrive()
        house.project(theirs=raw(), more=raw())
        assert await sam.arrive() == []
        assert sam.reports["more"].standing == "untrusted"


@pytest.mark.requirement("servers:trust")
async def test_a_projects_file_gets_no_key_of_the_person(house: House) -> None:
    house.project(theirs=raw(env={"KEY": "${OPENAI_API_KEY}"}))
    async with house.open(environ={"OPENAI_API_KEY": "sk-x"}) as sam:
        sam.runtime.trust.trust()
        assert await sam.arrive() == []
        assert "a project's file cannot use" in sam.reports["theirs"].error


@pytest.mark.requirement("servers:start")
async def test_a_file_that_changes_counts_from_the_next_message_on(house: House) -> None:
    async with house.open() as sam:
        assert await sam.arrive() == []
        house.user(one=raw())
        assert "mcp__one__echo" in await sam.arrive()
        house.user(two=raw())
        assert {name.split("__")[1] for name in await sam.arrive()} == {"two"}


FAULTS: list[tuple[object, str, str]] = [
    ({"a": {"command": "x", "cmd": "y"}}, "a", "mcpServers.a: the key 'cmd' is not known"),
    ({"a": {"url": "http://x", "env": {}}}, "a", "mcpServers.a: the key 'env' is not known"),
    ({"a": {"command": ""}}, "a", "mcpServers.a.command must be a text"),
    ({"a": {"command": "x", "args": [1]}}, "a", "mcpServers.a.args must be a list of texts"),
    ({"a": {"command": "x", "env": {"A": 1}}}, "a", "mcpServers.a.env.'A' must be a text"),
    ({"a": {"command": "x", "timeout": 0}}, "a", "mcpServers.a.timeout must be a number from 1"),
    ({"a": {"type": "ws", "url": "http://x"}}, "a", "mcpServers.a.type must be"),
    ({"a": {"type": [], "command": "x"}}, "a", "mcpServers.a.type must be"),
    ({"a": {"command": "${NONE}"}}, "a", "mcpServers.a.command: the variable NONE is not set"),
    ({"a": {"command": "x", "disabled": 1}}, "a", "mcpServers.a.disabled must be true or false"),
    ({"a": 1}, "a", "mcpServers.a must be an object"),
    ({"a b": {"command": "x"}}, "'a b'", "mcpServers.'a b': a server's name is"),
    ({"a__b": {"command": "x"}}, "'a__b'", "mcpServers.'a__b': a server's name is"),
    ([], "mcp.json", "mcpServers must be an object"),
]


@pytest.mark.requirement("servers:settings")
@pytest.mark.parametrize(("servers", "name", "fault"), FAULTS)
async def test_what_is_wrong_with_a_server_is_said_with_file_and_key(
    house: House, servers: object, name: str, fault: str
) -> None:
    file = house.settings / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert sam.reports[name].standing == "failed"
        assert sam.reports[name].error.startswith(f"{file}: {fault}")


@pytest.mark.requirement("servers:settings")
@pytest.mark.parametrize("variable", ["MCP_TIMEOUT", "MCP_TOOL_TIMEOUT"])
@pytest.mark.parametrize("value", ["abc", "0", "-1", "1.5", "9" * 5_000])
def test_a_time_limit_that_is_no_number_of_milliseconds_is_said(variable: str, value: str) -> None:
    reader = SettingsReader("user", {variable: value})
    (server,) = reader.parse(b'{"mcpServers": {"a": {"command": "x"}}}', "mcp.json")
    assert server.fault.startswith(f"{variable} is '{value[:40]}")


@pytest.mark.requirement("servers:settings")
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"mcpservers": {}}', "the key 'mcpservers' is not known"),
        ('{"mcpServers": ', "is not valid JSON"),
        ("[]", "must be an object"),
        ("\xff", "is not valid JSON"),
        (
            '{"mcpServers": {"a": {"command": "x",\n"command": "y"}}}',
            "mcp.json:2: the key “command” is set twice.",
        ),
    ],
)
async def test_a_file_that_is_no_such_file_is_named_with_what_is_wrong(
    house: House, text: str, fault: str
) -> None:
    file = house.settings / "mcp.json"
    file.write_text(text, encoding="latin-1")
    async with house.open() as sam:
        assert await sam.arrive() == []
        report = sam.reports["mcp.json"]
        assert report.error.startswith(str(file))
        assert fault in report.error


@pytest.mark.requirement("servers:settings")
@pytest.mark.parametrize("kind", ["pipe", "folder", "long", "link"])
async def test_a_file_that_is_none_keeps_nobody_waiting(house: House, kind: str) -> None:
    file = house.workspace / ".mcp.json"
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "link":
            file.symlink_to("/dev/zero")
        case _:
            file.write_bytes(b" " * 2_000_000)
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert str(file) in sam.reports[".mcp.json"].error


@pytest.mark.requirement("servers:secrets")
async def test_what_a_server_prints_of_its_secrets_is_masked_for_people_as_well(
    house: House,
) -> None:
    token = "fourteen blue horses"  # nothing tells that it is secret but the variable
    shell = {"command": "sh", "args": ["-c", 'echo "bad token $GITHUB_TOKEN" >&2; exit 7']}
    house.user(one={**shell, "env": {"GITHUB_TOKEN": token}})
    async with house.open() as sam:
        events = sam.runtime.bus.subscribe()
        await sam.arrive()
        report = sam.reports["one"]
        assert "bad token <secret:" in report.error
        assert token not in report.error + report.log
        said = [event.text for event in events.drain() if isinstance(event, Noticed)]
        assert len(said) == 1
        assert token not in said[0]
        events.close()


@pytest.mark.requirement("servers:settings")
async def test_a_disabled_server_is_named_and_stays_out(house: House) -> None:
    house.user(one=raw(disabled=True))
    async with house.open() as sam:
        assert await sam.arrive() == []
        assert sam.reports["one"].standing == "disabled"


@pytest.mark.requirement("servers:flag")
async def test_a_named_file_counts_before_the_others_and_alone_where_that_is_asked(
    house: House, tmp_path: Path
) -> None:
    house.user(one=raw("exit"), two=raw())
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"mcpServers": {"one": raw()}}), encoding="utf-8")
    async with house.open(mcp_config=(str(given),)) as sam:
        assert {name.split("__")[1] for name in await sam.arrive()} == {"one", "two"}
        assert sam.reports["one"].source == "flag"
    async with house.open(mcp_config=(str(given),), strict_mcp_config=True) as sam:
        assert {name.split("__")[1] for name in await sam.arrive()} == {"one"}
    async with house.open(strict_mcp_config=True) as sam:
        assert await sam.arrive() == []
