"""How commands are held follows flags and policy files: secrets, caches, the network, the kind."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.terminal.confinement import sandbox
from sam_tui.adapters.terminal.sandbox.ability import Ability
from sam_tui.adapters.terminal.sandbox.kernel.landlock import LEAST_ABI, abi
from sam_tui.core.errors import ConfigurationError
from sam_tui.core.inquiry import Approval
from sam_tui.folders import data_folder

Harness = Any
"""See conftest."""

pytestmark = pytest.mark.confined("live", "landlock", "seatbelt")
strictly = pytest.mark.confined("bubblewrap")
YES = Approval("once")


def open_below(folder: Path) -> list[str]:
    """The files of a folder that this process holds open."""
    held: list[str] = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # another thread closed it meanwhile
            held.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in held if path.startswith(f"{folder}/")]


@pytest.fixture
def older_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Landlock without system calls that can wait, as before Linux 5.14."""
    if abi() < LEAST_ABI:
        pytest.skip("the kernel offers no Landlock")
    monkeypatch.setattr(sandbox, "ability", lambda: Ability(abi(), None, "an older kernel"))


@pytest.mark.requirement("outside:secrets-hidden")
async def test_commands_read_neither_secrets_nor_our_own_data_until_a_rule_says_so(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The data folder is another than the usual one, which other programs of the person may use.
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, f"{harness.folder}/home")
    usual = f"{data_folder()}/mcp-token".removeprefix(f"{harness.folder}/")
    assert usual.startswith("home/")
    for place in ("home/.ssh/id", "home/.aws/config", "data/own", "home/plain", usual):
        (harness.folder / place).parent.mkdir(parents=True, exist_ok=True)
        (harness.folder / place).write_text("value\n")
    rule = 'effect = "allow"\npath = "~/.aws/config"\naccess = "read"\n'
    harness.write_policy(f"[[rule]]\n{rule}")
    (harness.folder / "ws/read").write_text('cat "$1$2"')
    harness.open()
    harness.runtime.trust.trust()
    for place, read in (
        ("home/.ssh/id", False),
        ("data/own", False),
        (usual, False),
        ("home/.aws/config", True),
        ("home/plain", True),
    ):
        # Put together at run time, so that it is the kernel that refuses and not the parser.
        done = await harness.run(f"sh read {harness.folder}/{place[:7]} {place[7:]}")
        assert ("value" in done.finished.text) is read, (place, done.finished.text)


@pytest.mark.requirement("outside:caches")
async def test_caches_that_the_person_opened_can_be_filled_and_no_others(harness: Harness) -> None:
    harness.write_policy('caches = ["pip"]\n')
    (harness.folder / "home/.npm").mkdir()
    harness.open()
    home = harness.folder / "home"
    assert (await harness.run(f"echo x > {home}/.cache/pip/wheel")).finished.ok
    assert harness.asked == []
    assert not (await harness.run(f"echo x > {home}/.npm/package")).finished.ok
    assert len(harness.asked) == 1


@pytest.mark.requirement("outside:caches-moved")
async def test_caches_that_nobody_opened_are_filled_in_the_temporary_folder(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_CACHE_DIR", "UV_CACHE_DIR", "GOCACHE", "npm_config_cache"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOCACHE", "/mine")
    harness.write_policy('caches = ["uv"]\n')
    harness.open()
    show = "echo ${UV_CACHE_DIR-home} $GOCACHE; cd $TMPDIR; mkdir -p $npm_config_cache; ls -d caches/npm"
    assert (await harness.run(show)).finished.text.splitlines() == ["home /mine", "caches/npm"]
    assert harness.asked == []


@pytest.mark.requirement("outside:temporary")
async def test_commands_have_a_temporary_folder_of_their_own(harness: Harness) -> None:
    harness.open()
    done = await harness.run("f=$(mktemp); echo $f; echo kept > $TMPDIR/kept")
    assert done.finished.ok and harness.asked == []
    assert (await harness.run("cat $TMPDIR/kept")).finished.text == "kept"


@pytest.mark.requirement("outside:policy-keys")
@pytest.mark.parametrize(
    ("text", "project", "fault"),
    [
        ('sandbox = "off"', False, "sandbox cannot be 'off' here"),
        ('network = "maybe"', False, "network cannot be 'maybe' here"),
        ('caches = ["pop"]', False, "'pop' is not a cache"),
        ('network = "on"', True, "network cannot be 'on' here"),
        ('sandbox = "default"', True, "sandbox cannot be 'default' here"),
        ('caches = ["pip"]', True, "a project cannot open caches"),
    ],
)
async def test_what_a_file_cannot_say_is_an_error_with_its_line_or_ignored_of_an_untrusted_folder(
    harness: Harness, text: str, project: bool, fault: str
) -> None:
    harness.write_policy(text, project=project)
    if project:
        harness.open()
        assert re.search(rf"policy\.toml:1: {fault}", harness.runtime.trust.ignored[0])
        return
    with pytest.raises(ConfigurationError, match=rf"policy\.toml:1: {fault}"):
        harness.open()
    harness.write_policy("", project=project)
    harness.open()


@pytest.mark.requirement("outside:policy-keys")
async def test_a_project_can_turn_the_network_off_and_a_flag_has_the_last_word(
    harness: Harness,
) -> None:
    harness.write_policy('network = "on"\n')
    harness.write_policy('network = "off"\n', project=True)
    harness.open()
    assert harness.runtime.guard.network == "off"
    await harness.runtime.close()
    harness.open(network="on")
    assert harness.runtime.guard.network == "on"


@pytest.mark.requirement("outside:switched-off")
async def test_without_the_sandbox_every_command_that_does_more_than_read_is_asked(
    harness: Harness,
) -> None:
    harness.open(sandbox="off")
    assert harness.runtime.commands.confinement.kind == "none"
    assert not (await harness.run("touch new")).finished.ok
    assert harness.asked[0].operation == "terminal_operations.run_command"
    assert (await harness.run("ls")).finished.ok


@pytest.mark.usefixtures("older_kernel")
@pytest.mark.requirement("outside:again")
async def test_where_nobody_can_be_asked_the_command_is_run_again_if_the_person_says_so(
    harness: Harness,
) -> None:
    harness.open()
    harness.answers = [YES]
    done = await harness.run(f"echo run >> log; echo made > {harness.outside}/new")
    assert done.finished.ok, done.finished.text
    assert "[run 2 times: the person widened what it may write to]" in done.finished.text
    assert (harness.folder / "ws/log").read_text() == "run\nrun\n"
    assert (harness.outside / "new").read_text() == "made\n"
    (asked,) = harness.asked
    assert asked.targets == (str(harness.outside),)
    assert "runs the whole command again from its beginning" in asked.why
    assert [d.operation for d in harness.decisions()][-1] == "commands.change_outside"


@pytest.mark.usefixtures("older_kernel")
@pytest.mark.requirement("outside:again")
async def test_a_no_runs_nothing_again_and_a_grant_holds_from_the_start(harness: Harness) -> None:
    harness.open()
    command = f"echo run >> log; echo made > {harness.outside}/new"
    done = await harness.run(command)
    assert not done.finished.ok
    assert f"[refused by the sandbox: write {harness.outside}/new]" in done.finished.text
    harness.answers = [Approval("scope", scope="session")]
    await harness.run(command)
    assert (await harness.run(command)).finished.ok
    assert len(harness.asked) == 2
    assert (harness.folder / "ws/log").read_text() == "run\n" * 4


@pytest.mark.usefixtures("older_kernel")
@pytest.mark.requirement("outside:again")
async def test_what_is_protected_is_not_offered_for_a_second_run(harness: Harness) -> None:
    harness.open()
    harness.always = YES
    done = await harness.run(f"cd {harness.folder}/data; echo x > {harness.folder}/data/new")
    assert not done.finished.ok
    assert harness.asked == []
    assert not (harness.folder / "data/new").exists()


@strictly
@pytest.mark.requirement("outside:strict")
async def test_strict_is_bubblewrap_by_flag_and_by_file(harness: Harness) -> None:
    harness.open(sandbox="strict")
    assert harness.runtime.commands.confinement.kind == "bubblewrap"
    assert (await harness.run("echo x > new; cat new; ls /tmp | wc -l")).finished.ok
    await harness.runtime.close()
    harness.write_policy('sandbox = "strict"\n', project=True)
    harness.open()
    assert harness.runtime.commands.confinement.kind == "bubblewrap"


@pytest.mark.requirement("outside:strict")
async def test_strict_without_bubblewrap_does_not_start(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", "/nowhere")
        with pytest.raises(ConfigurationError, match="not installed") as refused:
            harness.open(sandbox="strict")
    assert not open_below(harness.folder), refused  # nothing stays open of what did not start
    harness.open()


@strictly
@pytest.mark.requirement("outside:strict")
async def test_what_kept_bubblewrap_from_working_is_said_and_may_pass(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, programs = shutil.which("bwrap"), harness.folder / "programs"
    programs.mkdir()
    (programs / "bwrap").write_text(
        f'#!/bin/sh\nmkdir {programs}/tried 2> /dev/null || exec {real} "$@"\n'
        "printf 'bwrap: no \\033[2Jnamespace\\n' >&2; exit 1\n"
    )
    (programs / "bwrap").chmod(0o700)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        with pytest.raises(ConfigurationError) as refused:
            harness.open(sandbox="strict")
        assert str(refused.value).endswith(r"does not work here: bwrap: no \x1b[2Jnamespace.")
        harness.open(sandbox="strict")
        assert harness.runtime.commands.confinement.kind == "bubblewrap"
    assert (await harness.run("echo x")).finished.ok  # by the one that it began with
