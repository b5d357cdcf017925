"""What commands of the assembled program read: asked, refused or free as for file tools."""

import pytest

from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
from sam_tui.core.inquiry import Approval
from tests.outside.conftest import YES, Desk

pytestmark = pytest.mark.skipif(
    Sandbox().confinement.kind != "live", reason="the kernel offers no supervised sandbox"
)


def furnish(desk: Desk) -> None:
    for name in ("ws/.env", "out/.env", "home/.bash_history"):
        (desk.folder / name).write_text("TOKEN_OF=hunter2xyz\n")
    (desk.folder / "ws/serve.py").write_text("print(len(open('.env').read()))\n")


@pytest.mark.requirement("outside:reads")
async def test_the_workspaces_environment_file_is_asked_once_with_scopes(desk: Desk) -> None:
    furnish(desk)
    desk.open()
    refused = await desk.run("python3 serve.py")
    assert f"read {desk.folder}/ws/.env (python3" in refused.finished.text
    asked = desk.asked[0]
    assert (asked.operation, asked.targets) == (
        "commands.read_outside",
        (f"{desk.folder}/ws/.env",),
    )
    assert {"once", "timed", "session", "project"} <= {choice.id for choice in asked.choices}
    desk.answers = [Approval("scope", scope="session")]
    assert (await desk.run("python3 serve.py; cat .env .env > copy")).finished.ok
    assert (await desk.run("python3 serve.py")).finished.ok
    assert len(desk.asked) == 2
    read = await desk.call("file_operations.read_file", filePath=".env")
    assert not read.finished.ok


@pytest.mark.requirement("outside:reads")
async def test_a_scope_for_the_folder_holds_in_the_next_program(desk: Desk) -> None:
    furnish(desk)
    desk.answers = [Approval("scope", scope="project")]
    desk.open()
    assert (await desk.run("python3 serve.py")).finished.ok
    await desk.runtime.close()
    desk.open()
    assert (await desk.run("python3 serve.py")).finished.ok
    assert len(desk.asked) == 1


@pytest.mark.requirement("outside:reads")
@pytest.mark.parametrize("trusted", [False, True])
async def test_what_file_tools_refuse_is_refused_and_what_they_ask_is_asked(
    desk: Desk, trusted: bool
) -> None:
    furnish(desk)
    desk.always = YES
    desk.open()
    if trusted:
        desk.runtime.trust.trust()
    for name in ("out/.env", "home/.bash_history"):
        result = await desk.run(f"cat {desk.folder}/{name.replace('.env', '.e*v')}")
        assert "hunter2xyz" not in result.finished.text
        assert not any(name in target for asked in desk.asked for target in asked.targets)
    desk.asked.clear()
    result = await desk.run(f"cat {desk.outside}/victim")
    assert result.finished.text == "precious"
    assert [asked.targets for asked in desk.asked] == (
        [] if trusted else [(f"{desk.outside}/victim",)]
    )
    read = await desk.call("file_operations.read_file", filePath=f"{desk.outside}/victim")
    assert read.finished.ok
    assert len(desk.asked) == (0 if trusted else 2)
