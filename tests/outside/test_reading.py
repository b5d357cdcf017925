"""What commands of the assembled program read: asked, refused or free as for file tools."""

import pytest

from sam_tui.core.inquiry import Approval
from tests.outside.conftest import YES, Harness

pytestmark = pytest.mark.confined("live")


def furnish(harness: Harness) -> None:
    for name in ("ws/.env", "out/.env", "home/.bash_history"):
        (harness.folder / name).write_text("TOKEN_OF=hunter2xyz\n")
    (harness.folder / "ws/serve.py").write_text("print(len(open('.env').read()))\n")


@pytest.mark.requirement("outside:reads")
async def test_the_workspaces_environment_file_is_asked_once_with_scopes(harness: Harness) -> None:
    furnish(harness)
    harness.open()
    refused = await harness.run("python3 serve.py")
    assert f"read {harness.folder}/ws/.env (python3" in refused.finished.text
    asked = harness.asked[0]
    assert (asked.operation, asked.targets) == (
        "commands.read_outside",
        (f"{harness.folder}/ws/.env",),
    )
    assert {"once", "timed", "session", "project"} <= {choice.id for choice in asked.choices}
    harness.answers = [Approval("scope", scope="session")]
    assert (await harness.run("python3 serve.py; cat .env .env > copy")).finished.ok
    assert (await harness.run("python3 serve.py")).finished.ok
    assert len(harness.asked) == 2
    read = await harness.call("file_operations.read_file", filePath=".env")
    assert not read.finished.ok


@pytest.mark.requirement("outside:reads")
async def test_a_scope_for_the_folder_holds_in_the_next_program(harness: Harness) -> None:
    furnish(harness)
    harness.answers = [Approval("scope", scope="project")]
    harness.open()
    assert (await harness.run("python3 serve.py")).finished.ok
    await harness.runtime.close()
    harness.open()
    assert (await harness.run("python3 serve.py")).finished.ok
    assert len(harness.asked) == 1


@pytest.mark.requirement("outside:reads")
@pytest.mark.parametrize("trusted", [False, True])
async def test_what_file_tools_refuse_is_refused_and_what_they_ask_is_asked(
    harness: Harness, trusted: bool
) -> None:
    furnish(harness)
    harness.always = YES
    harness.open()
    if trusted:
        harness.runtime.trust.trust()
    for name in ("out/.env", "home/.bash_history"):
        result = await harness.run(f"cat {harness.folder}/{name.replace('.env', '.e*v')}")
        assert "hunter2xyz" not in result.finished.text
        assert not any(name in target for asked in harness.asked for target in asked.targets)
    harness.asked.clear()
    result = await harness.run(f"cat {harness.outside}/victim")
    assert result.finished.text == "precious"
    assert [asked.targets for asked in harness.asked] == (
        [] if trusted else [(f"{harness.outside}/victim",)]
    )
    read = await harness.call("file_operations.read_file", filePath=f"{harness.outside}/victim")
    assert read.finished.ok
    assert len(harness.asked) == (0 if trusted else 2)


NEWER = """
    home/.claude.json home/.qwen/oauth_creds.json home/.copilot/config.json home/.cache/huggingface/token
    home/.kaggle/kaggle.json home/.modal.toml home/.fly/config.yml home/.config/configstore/x.json
    home/.wrangler/config/default.toml home/.supabase/access-token home/.pulumi/credentials.json
    home/.config/stripe/config.toml home/.config/ngrok/ngrok.yml home/.local/share/uv/credentials/x
    home/.config/pypoetry/auth.toml home/.composer/auth.json home/.config/1Password/x home/.Xauthority
    home/.config/filezilla/sitemanager.xml home/.msmtprc home/.config/Claude/x
    home/.zsh_sessions/x home/.claude/todos/x home/.gemini/tmp/x/chats/x home/.databrickscfg
    home/.local/share/opencode/storage/x home/.config/Code/User/globalStorage/state.vscdb
    home/.var/app/org.signal.Signal/x home/snap/slack/x out/.dev.vars out/.streamlit/secrets.toml
    out/local.settings.json out/master.key out/krb5cc_1000 ws/.dev.vars ws/.streamlit/secrets.toml
    ws/local.settings.json ws/config/master.key
""".split()  # noqa: SIM905 # a table
"""What newer tools keep tokens in, at home, in another project and in the workspace."""


@pytest.mark.requirement("outside:reads")
async def test_what_newer_tools_keep_tokens_in_is_read_by_no_command_and_no_file_tool(
    harness: Harness,
) -> None:
    for name in NEWER:
        path = harness.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("hunter2xyz\n")
    (harness.folder / "ws/read.py").write_text(
        "import sys\nfor name in sys.argv[1:]:\n"
        "    try: print(open(name).read(), name)\n    except OSError: pass\n"
    )
    harness.open()
    harness.runtime.trust.trust()
    names = " ".join(str(harness.folder / name) for name in NEWER)
    (harness.folder / "ws/all.sh").write_text(
        f"python3 read.py {names}; mv .streamlit s; cat s/*\n"
    )
    done = await harness.run("sh all.sh")
    assert "hunter2xyz" not in done.finished.text, done.finished.text
    for name in NEWER:
        read = await harness.call("file_operations.read_file", filePath=str(harness.folder / name))
        assert not read.finished.ok, name
