import asyncio
import os
import subprocess
import textwrap
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.preloaded import SCRIPT

Run = Callable[..., Coroutine[None, None, CommandResult]]
both = pytest.mark.parametrize("confined", [False, True])


@both
@pytest.mark.requirement("terminal:exit-code")
@pytest.mark.parametrize(
    ("command", "code"), [("true", 0), ("exit 3", 3), ("nonexistent_command_12345", 127)]
)
async def test_the_exit_code_is_the_command_s_own(
    run: Run, command: str, code: int, confined: bool
) -> None:
    result = await run(command, confined=confined)
    assert (result.exit_code, result.signal, result.timed_out) == (code, "", False)


@both
@pytest.mark.requirement("terminal:exit-code")
async def test_a_command_that_a_signal_ended_names_it(run: Run, confined: bool) -> None:
    result = await run("kill -SEGV $$", confined=confined)
    assert (result.exit_code, result.signal) == (None, "SIGSEGV")


@both
@pytest.mark.requirement("terminal:own-output")
async def test_each_command_has_its_own_output_and_nothing_is_cached(
    run: Run, workspace: Path, confined: bool
) -> None:
    counter = workspace / "n"
    for expected in ("1\n", "2\n", "3\n"):
        counter.write_text(expected)
        assert (await run("cat n", confined=confined)).output == expected


@pytest.mark.requirement("terminal:own-output")
async def test_both_streams_keep_the_order_they_were_written_in(run: Run) -> None:
    result = await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done")
    assert result.output == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"


@pytest.mark.requirement("terminal:own-output")
async def test_a_command_of_several_lines_runs_whole(run: Run) -> None:
    result = await run('echo "line1\nline2\nline3" | wc -l\nexport V=value\necho $V', confined=True)
    assert result.output.split() == ["3", "value"]


@pytest.mark.requirement("terminal:waits-for-the-end")
async def test_a_silent_command_is_waited_for(run: Run) -> None:
    result = await run("sleep 0.4; echo late")
    assert (result.output, result.exit_code) == ("late\n", 0)


@both
@pytest.mark.requirement("terminal:timeout-ends-all")
async def test_a_timeout_ends_the_command_with_its_grandchildren(
    run: Run, lives: Callable[[int], bool], confined: bool
) -> None:
    command = "(trap '' TERM HUP; sleep 100 & echo $!; wait) & (set -m; sleep 100 & echo $!); wait"
    for limit in (0.5, 5, 50):  # on a busy machine not all has begun at the first
        result = await run(command, confined=confined, limit=limit)
        assert result.timed_out
        pids = [int(word) for word in result.output.split()]
        if len(pids) == 2:
            break
    assert len(pids) == 2
    assert not any(map(lives, pids))


@both
@pytest.mark.requirement("terminal:cancel-ends-all")
async def test_cancelling_ends_the_whole_group_before_it_returns(
    run: Run, lives: Callable[[int], bool], confined: bool
) -> None:
    heard = asyncio.Queue[str]()
    command = "sleep 100 & echo $$ $!; wait"
    task = asyncio.get_running_loop().create_task(
        run(command, confined=confined, heard=heard.put_nowait)
    )
    pids = [int(word) for word in (await asyncio.wait_for(heard.get(), 90)).split()]
    assert all(map(lives, pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(pids) == 2
    assert not any(map(lives, pids))


@pytest.mark.requirement("terminal:cancel-ends-all")
async def test_a_second_cancellation_kills_at_once_and_still_leaves_nobody(
    run: Run, lives: Callable[[int], bool]
) -> None:
    heard = asyncio.Queue[str]()
    loop = asyncio.get_running_loop()
    task = loop.create_task(
        run("trap '' TERM; echo $$; while :; do sleep 100; done", heard=heard.put_nowait)
    )
    pid = int(await asyncio.wait_for(heard.get(), 90))
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    began = loop.time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not lives(pid)
    assert loop.time() - began < 20


@pytest.mark.requirement("terminal:background-does-not-hang")
async def test_a_background_child_that_holds_the_pipe_does_not_hold_the_call(
    run: Run, lives: Callable[[int], bool]
) -> None:
    result = await run("sleep 100 & echo $!", limit=15)
    pid = int(result.output)
    assert (result.exit_code, result.timed_out) == (0, False)
    assert lives(pid)
    os.kill(pid, 9)


@pytest.mark.requirement("terminal:background-does-not-hang")
async def test_a_background_child_that_never_stops_printing_does_not_hold_the_call(
    run: Run,
) -> None:
    result = await run("yes & sleep 0.05", limit=15)
    assert (result.exit_code, result.timed_out) == (0, False)


@pytest.mark.requirement("terminal:utf8")
async def test_characters_split_between_reads_are_whole(run: Run, workspace: Path) -> None:
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        (workspace / f"go{len(heard)}").touch()

    command = (
        r"printf 'a\xe2\x82'; until [ -e go1 ]; do sleep 0.01; done; printf '\xac\xf0\x9f';"
        r" until [ -e go2 ]; do sleep 0.01; done; printf '\x98\x80'"
    )
    result = await run(command, heard=hear)
    assert result.output == "a€😀"
    assert heard == ["a", "€", "😀"]


@pytest.mark.requirement("terminal:utf8")
async def test_bytes_that_are_no_text_become_replacement_characters(run: Run) -> None:
    assert (await run(r"printf 'a\xff\xfeb\xc3'")).output == "a��b�"


@pytest.mark.requirement("terminal:bounded-output")
async def test_of_a_long_output_head_and_tail_are_kept_and_the_rest_is_counted(run: Run) -> None:
    heard: list[str] = []
    command = "echo first; head -c 5000000 /dev/zero | tr '\\0' 'é'; echo; echo last"
    result = await run(command, heard=heard.append)
    assert result.output.startswith("first\n")
    assert result.output.endswith("\nlast\n")
    assert "bytes left out" in result.output
    total = len(b"first\n") + 5_000_000 + len(b"\nlast\n")
    marker = f"\n[… {result.dropped} bytes left out …]\n"
    assert marker in result.output
    kept = len(result.output.replace(marker, "").encode(errors="replace"))
    assert result.dropped > total - 1024 * 1024 - 8
    assert kept < 4 * 1024 * 1024
    assert sum(map(len, heard)) < total


@pytest.mark.requirement("terminal:bounded-output")
def test_fifty_megabytes_pass_without_being_held(workspace: Path) -> None:
    script = """
        import asyncio, resource, sys
        from sam_tui.adapters.terminal.commands.shell import ShellCommands
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.core.ports.processes.terminals import CommandRequest
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async def main():
            commands = ShellCommands(Sandbox())
            def request(text):
                return CommandRequest(text, sys.argv[1], False, (), 50, lambda _: None)
            await commands.run(request("true"))
            before = peak()
            result = await commands.run(request("head -c 50000000 /dev/zero"))
            print(result.dropped, peak() - before)
        asyncio.run(main())
    """
    done = subprocess.run(
        [*SCRIPT, textwrap.dedent(script), str(workspace)],
        capture_output=True,
        text=True,
        check=True,
    )
    dropped, grown = map(int, done.stdout.split())
    assert dropped > 48_000_000
    assert grown < 30_000  # kilobytes


@pytest.mark.requirement("terminal:live-output")
async def test_output_is_heard_while_the_command_runs(run: Run, workspace: Path) -> None:
    # The command cannot end before its first line was heard: it waits for the file made then.
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        (workspace / "go").touch()

    result = await run("echo first; until [ -e go ]; do sleep 0.01; done; echo second", heard=hear)
    assert result.exit_code == 0
    assert "".join(heard) == result.output == "first\nsecond\n"


@pytest.mark.requirement("terminal:live-output")
async def test_the_loop_goes_on_while_a_command_floods_the_pipe(run: Run) -> None:
    loop = asyncio.get_running_loop()
    turns = 0

    def turn() -> None:
        nonlocal turns, handle
        turns += 1
        handle = loop.call_later(0.001, turn)

    handle = loop.call_soon(turn)
    heard: list[str] = []
    result = await run("head -c 30000000 /dev/zero", heard=heard.append)
    handle.cancel()
    assert turns > 10
    assert len(heard) <= result.seconds * 30 + 2


@pytest.mark.requirement("terminal:command-environment")
async def test_a_command_sees_a_dumb_terminal_and_none_of_the_provider_keys(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SAM_TUI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "secret-value")
    monkeypatch.setenv("MY_OWN_SETTING", "kept")
    result = await run(
        "env; git config --get core.pager; echo $TERM $GIT_PAGER $GIT_TERMINAL_PROMPT"
    )
    assert "secret-value" not in result.output
    assert "MY_OWN_SETTING=kept" in result.output
    assert "dumb cat 0" in result.output


@pytest.mark.requirement("terminal:command-environment")
async def test_a_command_that_reads_gets_the_end_of_input(run: Run) -> None:
    assert (await run("cat; read x; echo $?", confined=True)).output == "1\n"


@both
@pytest.mark.requirement("terminal:start-fails")
async def test_a_missing_working_directory_is_told(
    run: Run, workspace: Path, confined: bool
) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await run("true", cwd=workspace / "gone", confined=confined)


@pytest.mark.requirement("terminal:start-fails")
async def test_a_command_with_a_nul_is_refused(run: Run) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await run("echo a\0b")


@both
@pytest.mark.requirement("terminal:nothing-leaks")
async def test_commands_leave_no_descriptor_and_no_zombie(
    run: Run, descriptors: Callable[[], int], no_zombies: Callable[[], None], confined: bool
) -> None:
    await run("true", confined=confined)
    before = descriptors()
    for _ in range(12):
        await run("true", confined=confined)
    await run("sleep 9", confined=confined, limit=0.05)
    # The way in for the next command may be in the making, before or after.
    assert descriptors() <= before + 3
    no_zombies()


@both
@pytest.mark.requirement("terminal:beside-threads")
async def test_commands_run_beside_busy_threads(run: Run, confined: bool) -> None:
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            [str(n) for n in range(1000)]

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        results = await asyncio.gather(*(run(f"echo {n}", confined=confined) for n in range(2)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [result.output for result in results] == [f"{n}\n" for n in range(2)]
