"""Variables that look like secrets, and the programs that start without them."""

import sys
from contextlib import closing
from pathlib import Path

import pytest

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.adapters.terminal.commands.piped import PipedCommands
from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.ports.processes.piped import PipedRequest
from sam_tui.core.ports.processes.sandbox import SandboxPlan
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENG",
    "AWS_SESSION_TOKEN": "/x+notapath==",
    "GITHUB_TOKEN": "ghp_aaaaaaaaaaaaaaaaaaaaaaaa",
    "NPM_CONFIG__AUTHTOKEN": "npm-1234",
    "PGPASSWORD": "hunter2",
    "MYSQL_PWD": "dev-secret",
    "DATABASE_URL": "postgres://me@db.example/x",
    "PROXY": "http://me:hunter2@proxy.example:3128",
    "PLAIN": "github_pat_11AAAAAAA0000000",
    "ConnectionStrings__Default": "Server=db;Uid=me;Word=hunter2",
    "LDAP_BINDPW": "hunter2x",
    "TF_VAR_db_pw": "hunter2x",
    "SUPABASE_SERVICE_ROLE": "hunter2x",
    "WALLET_MNEMONIC": "one two three",
    "SESSION_JWT": "hunter2x",
    "CLOUD": "hvs.AAAAAAAAAAAAAAAAAAAAAAAA",
    "MAPS": "AIzaAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "OPENAI_API_KEY": "sk-proj-aaaaaaaaaaaaaaaaaaaa1",
}
ORDINARY = {
    "SSH_AUTH_SOCK": "/run/user/1000/agent",
    "KEYBOARD": "us",
    "COMPASS": "north",
    "SEED": "12345",
    "GIT_AUTHOR_NAME": "Me",
    "MAX_TOKENS_ON": "true",
    "API_KEY_FILE": "/etc/passwd",
    "PAGER_KEY": "4096",
    "EMPTY_TOKEN": "",
    "HTTPS_PROXY": "http://proxy.example:3128",
}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (SECRETS | ORDINARY).items():
        monkeypatch.setenv(name, value)


async def run(box: Sandbox, folder: Path, command: str) -> CommandResult:
    request = CommandRequest(command, str(folder), True, (str(folder),), 20.0, lambda _: None)
    return await ShellCommands(box).run(request)


@pytest.mark.requirement("sandbox:environment")
@pytest.mark.usefixtures("environment")
async def test_commands_start_without_secrets_of_the_environment(workspace: Path) -> None:
    async def names(*passed: str) -> set[str]:
        with closing(Sandbox(SandboxPlan(passed=passed))) as box:
            output = (await run(box, workspace, "env")).output
        return {line.partition("=")[0] for line in output.splitlines()}

    plain = await names()
    assert not plain & SECRETS.keys()
    assert plain >= ORDINARY.keys()
    assert SECRETS.keys() - await names("AWS_*", "*") == {"OPENAI_API_KEY"}
    assert SECRETS.keys() & await names("OPENAI_API_KEY") == {"OPENAI_API_KEY"}


@pytest.mark.requirement("sandbox:environment")
@pytest.mark.usefixtures("environment")
async def test_a_server_has_of_the_environment_what_its_settings_give_it(workspace: Path) -> None:
    box = Sandbox()
    words = (sys.executable, "-c", "import os; print(sorted(os.environ))")
    given = {"GITHUB_TOKEN": "given"}
    program = await PipedCommands(box).start(
        PipedRequest(words, str(workspace), True, (str(workspace),), lambda _: None, given)
    )
    printed = b""
    while chunk := await program.read():
        printed += chunk
    await program.stop()
    box.close()
    assert b"'GITHUB_TOKEN'" in printed
    assert b"PGPASSWORD" not in printed


@pytest.mark.requirement("sandbox:environment-told")
@pytest.mark.usefixtures("environment")
async def test_the_person_is_told_once_what_a_failed_command_may_have_wanted(
    workspace: Path,
) -> None:
    told: list[str] = []
    box = Sandbox(warn=told.append)
    commands = ShellCommands(box)

    async def withheld(command: str) -> tuple[str, ...]:
        folder = str(workspace)
        request = CommandRequest(command, folder, True, (folder,), 20.0, lambda _: None)
        return (await commands.run(request)).withheld

    assert await withheld('test -n "$GITHUB_TOKEN"') == ("GITHUB_TOKEN",)
    assert len(told) == 1
    assert 'pass = ["GITHUB_TOKEN"]' in told[0]
    assert await withheld('echo "set PGPASSWORD first"; exit 1') == ("PGPASSWORD",)
    assert await withheld('test -n "$GITHUB_TOKEN$PGPASSWORD"') == ("GITHUB_TOKEN", "PGPASSWORD")
    assert len(told) == 2
    assert await withheld("echo no such file; exit 1") == ()
    assert await withheld("echo 401 Unauthorized; exit 0") == ()
    assert set(await withheld("echo 401 Unauthorized; exit 1")) == SECRETS.keys() - {
        "OPENAI_API_KEY"
    }
    assert len(told) == 3
    box.close()


@pytest.mark.requirement("sandbox:environment")
@pytest.mark.parametrize(
    ("text", "layer", "words"),
    [
        ('[environment]\npass = ["A B"]', "user", "cannot be the name of a variable"),
        ('[environment]\npass = "A"', "user", "cannot be the name of a variable"),
        ("[environment]\nkeep = []", "user", "unknown key “keep”"),
        ("environment = 1", "user", "is a table"),
        ('[environment]\npass = ["A"]', "project", "a project cannot pass variables"),
    ],
)
def test_what_is_passed_is_named_in_the_persons_policy_alone(
    text: str, layer: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parse_policy(text, "p", "user" if layer == "user" else "project", root="/w", home="/h")
    good = parse_policy('[environment]\npass = ["A_*"]', "p", "user", root="/w", home="/h")
    assert good.sandbox.passed == ("A_*",)
