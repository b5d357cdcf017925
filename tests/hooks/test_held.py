"""What hooks run in: every kind of sandbox, and none."""

import json
from typing import Any

import pytest

from sam_tui.assembly import Options, build
from sam_tui.core.inquiry import Approval, ApprovalRequest, Inquiry
from tests.hooks.conftest import Place, decides, keeps, one_call, touch

STOP = "echo stopped >&2; exit 2"


def made(place: Place) -> bool:
    return (place.workspace / "made").exists()


@pytest.mark.requirement("hooks:unheld")
async def test_where_the_kernel_holds_nothing_the_persons_hooks_run_and_the_folders_are_asked(
    place: Place,
) -> None:
    place.user("touch mine")
    place.project("touch theirs; " + STOP)
    ran = await one_call(place.build(sandbox="off"), "create_file", filePath="made", content="x")
    assert made(place)
    assert (place.workspace / "mine").exists() and not (place.workspace / "theirs").exists()
    assert any("was not run" in warning for warning in ran.warnings)
    assert (ran.decisions[0].operation, ran.decisions[0].rule) == ("hooks.run", "unattended")


@pytest.mark.requirement("hooks:unheld")
async def test_a_person_who_lets_the_folders_hook_run_is_shown_its_command(place: Place) -> None:
    asked: list[ApprovalRequest] = []

    def respond(inquiry: Inquiry) -> Approval:
        assert isinstance(inquiry.request, ApprovalRequest)
        asked.append(inquiry.request)
        return Approval("once")

    command = f"touch theirs; {STOP}"
    place.project(command)
    runtime = place.build(sandbox="off", attended=True, responder=respond)
    ran = await one_call(runtime, "create_file", filePath="made", content="x")
    assert not made(place)
    assert (asked[0].operation, asked[0].targets) == ("hooks.run", (f"$ {command}",))
    assert ran.decisions[-1].by == "hook"


@pytest.mark.requirement("hooks:sandbox")
@pytest.mark.confined("bubblewrap")
async def test_under_bubblewrap_a_hook_reads_its_input_and_writes_to_the_workspace_alone(
    place: Place,
) -> None:
    victim = place.folder / "victim"
    place.user(f"{keeps('told.json')}; touch {victim} 2>/dev/null; {STOP}")
    ran = await touch(place.build(sandbox="strict"))
    assert not made(place) and not victim.exists()
    assert place.told("told.json")["tool_input"] == {"command": "echo ran > made"}
    assert ran.decisions[-1].reason == "stopped"


@pytest.mark.requirement("hooks:tighten")
async def test_bypass_mode_bypasses_no_hook(place: Place) -> None:
    victim = place.folder / "victim"
    place.user(f"touch {victim}; {STOP}", matcher="file_operations.*")
    runtime = place.build(mode="bypass")
    await one_call(runtime, "create_file", filePath="made", content="x")
    assert not made(place)


@pytest.mark.requirement("hooks:sandbox")
@pytest.mark.confined("live")
async def test_a_file_that_the_persons_own_hook_names_is_read_without_a_question(
    place: Place,
) -> None:
    for name in ("named", "other"):
        (place.folder / f"notes/{name}").mkdir(parents=True)
        (place.folder / f"notes/{name}/text").write_text(name, encoding="utf-8")
    named = place.folder / "notes/named/text"
    place.user(f"cat {named} > mine; cd {named.parent}/../oth*; cat text >> $OLDPWD/mine")
    await one_call(place.build(), "create_file", filePath="made", content="x")
    assert (place.workspace / "mine").read_text(encoding="utf-8") == "named"


@pytest.mark.requirement("hooks:sandbox")
async def test_scripts_of_the_settings_folder_run_and_cannot_be_changed(place: Place) -> None:
    script = place.config / "hooks/check.sh"
    script.parent.mkdir()
    script.write_text(f'echo weak > "$0"\n{STOP}\n', encoding="utf-8")
    (place.config / "private").write_text("nobody's business", encoding="utf-8")
    place.user(f"cat {place.config}/private; sh {script}")
    ran = await touch(place.build())
    assert not made(place)
    # What it printed before the reason: neither write nor read was possible.
    assert "nobody's business" not in json.dumps([d.reason for d in ran.decisions])
    assert ran.decisions[-1].reason.endswith("stopped")
    assert script.read_text("utf-8").startswith("echo weak >")


@pytest.mark.requirement("hooks:listed")
@pytest.mark.parametrize(("mode", "hooks"), [("ask", [STOP]), ("plan", None)])
async def test_an_explanation_names_the_hooks_that_would_be_asked(
    place: Place, mode: Any, hooks: list[str] | None
) -> None:
    from sam_tui.cli.commands.guard import _Explainer  # pyright: ignore[reportPrivateUsage]
    from sam_tui.core.ids import ConversationId

    place.user(STOP, matcher="file_operations.create_file")
    explainer = _Explainer(place.build(mode=mode), ConversationId("c"))
    told = explainer.explain("create_file", '{"filePath": "made", "content": "x"}')
    assert told.get("hooks") == hooks
    assert "hooks" not in explainer.explain("read_file", '{"filePath": "made"}')


@pytest.mark.requirement("hooks:tighten")
async def test_where_commands_could_write_the_persons_file_its_yes_counts_for_nothing(
    place: Place,
) -> None:
    victim = place.folder / "outside.txt"
    place.user(decides("allow"))
    within = place.workspace / "cfg"
    place.config.rename(within)
    environ = {"HOME": str(place.folder), "SAM_TUI_CONFIG_DIR": str(within)}
    runtime = build(Options(str(place.workspace), str(place.folder / "data")), environ)
    place.runtimes.append(runtime)
    await one_call(runtime, "create_file", filePath=str(victim), content="x")
    assert not victim.exists()
