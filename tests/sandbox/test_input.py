"""What a command is given to read, and its errors apart from its output: confined or not."""

from pathlib import Path

import pytest

from sam_tui.adapters.terminal.commands.shell import ShellCommands
from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult
from tests.fakes.interpreter import BARE_PYTHON

DEADLINE = 90.0
MEGABYTES = 3_000_000


async def given(
    sandbox: Sandbox, folder: Path, command: str, data: bytes, *, confined: bool
) -> CommandResult:
    """The end of a command that reads ``data`` and whose errors are kept apart."""
    return await ShellCommands(sandbox).run(
        CommandRequest(
            command,
            str(folder),
            confined,
            (str(folder),),
            DEADLINE,
            lambda _: None,
            stdin=data,
            variables={"SAM_TUI_TEST": "a value; $(touch no)"},
            apart=True,
        )
    )


@pytest.mark.requirement("sandbox:input")
@pytest.mark.parametrize("confined", [True, False])
async def test_a_command_reads_what_it_is_given_and_its_errors_stay_apart(
    sandbox: Sandbox, workspace: Path, *, confined: bool
) -> None:
    command = (
        f"{BARE_PYTHON} -c 'import sys; d = sys.stdin.buffer.read(); print(len(d), d[-3:])';"
        ' echo "$SAM_TUI_TEST"; echo oops >&2; exit 2'
    )
    data = b"x" * MEGABYTES + b"end"
    result = await given(sandbox, workspace, command, data, confined=confined)
    assert result.output == f"{MEGABYTES + 3} b'end'\na value; $(touch no)\n"
    assert (result.errors, result.exit_code) == ("oops\n", 2)
    assert not (workspace / "no").exists()


@pytest.mark.requirement("sandbox:input")
@pytest.mark.parametrize("confined", [True, False])
async def test_a_command_need_not_read_what_it_is_given(
    sandbox: Sandbox, workspace: Path, *, confined: bool
) -> None:
    result = await given(sandbox, workspace, "echo done", b"y" * MEGABYTES, confined=confined)
    assert (result.output, result.errors, result.exit_code) == ("done\n", "", 0)


@pytest.mark.requirement("sandbox:input")
async def test_both_streams_may_be_flooded_at_once(sandbox: Sandbox, workspace: Path) -> None:
    flood = (
        f"{BARE_PYTHON} -c \"import sys; sys.stdout.write('o' * {MEGABYTES}); sys.stdout.flush()\""
    )
    wrong = f"{BARE_PYTHON} -c \"import sys; sys.stderr.write('e' * {MEGABYTES})\""
    result = await given(sandbox, workspace, f"{flood} & {wrong}; wait", b"{}", confined=True)
    assert result.exit_code == 0
    assert "bytes left out" in result.output
    assert "bytes left out" in result.errors
    assert "e" not in result.output.replace("bytes left out", "")
