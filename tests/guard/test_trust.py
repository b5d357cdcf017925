"""A folder is trusted as it was when the person said so."""

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from sam_tui.adapters.policy import AppFolders, FileTrust, read_layers, renewed
from sam_tui.cli.commands.trust import trust_command
from sam_tui.core.authorization.trust import FolderTrust
from sam_tui.core.errors import ConfigurationError, UsageError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with policy, instructions and a hook."""
    project = tmp_path / "project"
    (project / ".sam/hooks").mkdir(parents=True)
    (project / ".sam/policy.toml").write_text("", encoding="utf-8")
    (project / ".sam/hooks/before").write_text("#!/bin/sh\n", encoding="utf-8")
    (project / "AGENTS.md").write_text("Be kind.\n", encoding="utf-8")
    (project / "main.py").write_text("pass\n", encoding="utf-8")
    return project


@pytest.fixture
def trust(tmp_path: Path) -> FileTrust:
    """A store in its own settings folder."""
    return FileTrust(str(tmp_path / "cfg"))


@pytest.mark.requirement("trust:asked")
def test_a_folder_is_untrusted_until_the_person_trusts_it(trust: FileTrust, folder: Path) -> None:
    assert trust.state(str(folder)) == "untrusted"
    trust.trust(str(folder))
    assert trust.state(str(folder)) == "trusted"
    assert trust.folders() == (str(folder),)
    assert trust.state(str(folder / ".sam")) == "untrusted"
    assert trust.state(str(folder.parent)) == "untrusted"
    assert Path(trust.path).stat().st_mode & 0o777 == 0o600
    assert trust.revoke(str(folder))
    assert not trust.revoke(str(folder))
    assert trust.state(str(folder)) == "untrusted"


def add_hook(folder: Path) -> str:
    (folder / ".sam/hooks/after").write_text("x", encoding="utf-8")
    return "new: .sam/hooks/after"


def change_policy(folder: Path) -> str:
    (folder / ".sam/policy.toml").write_text("mode = 'plan'", encoding="utf-8")
    return "changed: .sam/policy.toml"


def remove_instructions(folder: Path) -> str:
    (folder / "AGENTS.md").unlink()
    return "removed: AGENTS.md"


def add_servers(folder: Path) -> str:
    (folder / ".mcp.json").write_text("{}", encoding="utf-8")
    return "new: .mcp.json"


def make_executable(folder: Path) -> str:
    (folder / ".sam/hooks/before").chmod(0o755)
    return "changed: .sam/hooks/before"


def link_away(folder: Path) -> str:
    (folder / ".sam/hooks/before").unlink()
    (folder / ".sam/hooks/before").symlink_to(folder / "main.py")
    return "changed: .sam/hooks/before"


@pytest.mark.requirement("trust:changed")
@pytest.mark.parametrize(
    "change",
    [add_hook, change_policy, remove_instructions, add_servers, make_executable, link_away],
)
def test_a_change_of_what_would_be_believed_ends_the_trust_and_is_named(
    trust: FileTrust, folder: Path, change: Callable[[Path], str]
) -> None:
    trust.trust(str(folder))
    said = change(folder)
    assert trust.state(str(folder)) == "changed"
    assert trust.changes(str(folder)) == (said,)
    trust.trust(str(folder))
    assert trust.state(str(folder)) == "trusted"


@pytest.mark.requirement("trust:changed")
def test_a_file_that_is_read_otherwise_than_it_was_trusted_ends_the_trust(
    trust: FileTrust, folder: Path
) -> None:
    trust.trust(str(folder))
    standing = FolderTrust(str(folder), trust, "trusted")
    states: list[str] = []
    standing.watch(states.append)
    before = (folder / "AGENTS.md").read_bytes()
    assert standing.vouches("AGENTS.md", before)
    (folder / "AGENTS.md").write_text("other\n", encoding="utf-8")
    assert standing.vouches("AGENTS.md", before)
    assert not standing.vouches("AGENTS.md", b"other\n")
    assert (standing.trusted, states) == (False, ["changed"])
    assert not standing.vouches("AGENTS.md", before)


@pytest.mark.requirement("trust:changed")
def test_the_target_of_a_link_counts_as_what_it_holds(trust: FileTrust, folder: Path) -> None:
    link_away(folder)
    trust.trust(str(folder))
    (folder / "main.py").write_text("other\n", encoding="utf-8")
    assert trust.state(str(folder)) == "changed"


@pytest.mark.requirement("trust:asked")
def test_other_files_of_the_project_may_change(trust: FileTrust, folder: Path) -> None:
    trust.trust(str(folder))
    (folder / "main.py").write_text("other\n", encoding="utf-8")
    (folder / "README.md").write_text("new\n", encoding="utf-8")
    assert trust.state(str(folder)) == "trusted"


@pytest.mark.requirement("trust:damaged")
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"folders": 1}', '{"folders": {"/x": 1}}', "[" * 9999]
)
def test_a_damaged_store_trusts_nothing(trust: FileTrust, folder: Path, text: str) -> None:
    trust.trust(str(folder))
    Path(trust.path).write_text(text, encoding="utf-8")
    assert trust.state(str(folder)) == "untrusted"
    if '"/x"' not in text:
        with pytest.raises(ConfigurationError, match="damaged"):
            trust.trust(str(folder))


@pytest.mark.requirement("trust:damaged")
def test_a_pipe_in_place_of_the_store_trusts_nothing_and_nobody_waits_for_it(
    trust: FileTrust, folder: Path
) -> None:
    Path(trust.config_dir).mkdir(parents=True)
    os.mkfifo(trust.path)
    assert trust.state(str(folder)) == "untrusted"
    with pytest.raises(ConfigurationError, match="damaged"):
        trust.trust(str(folder))


@pytest.mark.requirement("trust:damaged")
def test_special_files_and_heaps_of_files_end_in_words_and_never_in_a_wait(
    trust: FileTrust, folder: Path
) -> None:
    trust.trust(str(folder))
    os.mkfifo(folder / ".sam/pipe")
    (folder / ".sam/dangling").symlink_to("nowhere")
    (folder / ".sam/pipe-link").symlink_to("pipe")
    (folder / ".sam/zero").symlink_to("/dev/zero")
    assert trust.state(str(folder)) == "changed"
    with pytest.raises(ConfigurationError, match="is not trusted: ") as refused:
        trust.trust(str(folder))
    for words in (
        "dangling is a link to nothing",
        "pipe is not a regular",
        "pipe-link is no",
        "zero is",
    ):
        assert words in str(refused.value)
    for name in ("pipe", "dangling", "pipe-link", "zero"):
        (folder / ".sam" / name).unlink()
    with (folder / ".sam/huge").open("wb") as huge:
        huge.truncate(40_000_000)
    assert trust.state(str(folder)) == "changed"
    with pytest.raises(ConfigurationError, match="too many or too large"):
        trust.trust(str(folder))
    (folder / ".sam/huge").unlink()
    with (folder / "AGENTS.md").open("r+b") as long:
        long.truncate(100_000_000)
    assert trust.state(str(folder)) == "changed"
    with pytest.raises(ConfigurationError, match=r"too many or too large.* AGENTS\.md"):
        trust.trust(str(folder))
    with pytest.raises(ConfigurationError, match="not a folder"):
        trust.trust(str(folder / "main.py"))


@pytest.mark.requirement("trust:asked")
def test_a_folder_is_known_by_its_real_path(trust: FileTrust, folder: Path) -> None:
    alias = folder.parent / "alias"
    alias.symlink_to(folder)
    trust.trust(str(alias))
    assert json.loads(Path(trust.path).read_text(encoding="utf-8"))["folders"].keys() == {
        str(folder)
    }
    assert trust.state(str(alias)) == "trusted"


@pytest.mark.requirement("trust:changed")
def test_a_name_that_is_no_text_is_not_taken_for_one_that_is_spelled_like_it(
    trust: FileTrust, folder: Path
) -> None:
    odd = os.fsencode(folder / ".sam/hooks") + b"/a\xff"
    alike = folder / ".sam/hooks/a\\xff"
    try:
        Path(os.fsdecode(odd)).write_text("one", encoding="utf-8")
    except OSError:
        pytest.skip("names here are text")
    alike.write_text("two", encoding="utf-8")
    trust.trust(str(folder))
    assert trust.state(str(folder)) == "trusted"
    for path in (Path(os.fsdecode(odd)), alike):
        before = path.read_text(encoding="utf-8")
        path.write_text("evil", encoding="utf-8")
        assert trust.state(str(folder)) == "changed"
        assert trust.changes(str(folder)) == ("changed: .sam/hooks/a\\xff",)
        path.write_text(before, encoding="utf-8")


@pytest.mark.requirement("trust:changed")
def test_what_hides_in_a_name_or_in_where_a_link_leads_is_written_out(
    trust: FileTrust, folder: Path
) -> None:
    trust.trust(str(folder))
    (folder / ".sam/hooks/a\x1b[2K\rb\n").write_text("x", encoding="utf-8")
    (folder / ".sam/hooks/c").symlink_to("\x1b[8mhidden\u202e")
    assert trust.changes(str(folder)) == (
        "new: .sam/hooks/a\\x1b[2K\\rb\\n",
        "new: .sam/hooks/c",
    )
    believed = {item.name: item.meaning for item in trust.believed(str(folder))}
    assert ".sam/hooks/a\\x1b[2K\\rb\\n" in believed
    assert believed[".sam/hooks/c"].endswith("(a link to \\x1b[8mhidden\\u202e)")


@pytest.mark.requirement("trust:changed")
def test_a_policy_that_is_swapped_between_its_reading_and_the_look_at_it_is_not_believed(
    tmp_path: Path, folder: Path
) -> None:
    places = AppFolders(str(tmp_path / "cfg"), str(tmp_path / "data"), str(tmp_path))
    FileTrust(places.config_dir).trust(str(folder))
    layers = read_layers(places, str(folder))
    assert layers.trusted
    (folder / ".sam/policy.toml").write_text(
        '[[rule]]\neffect = "allow"\nclass = "privileged"\n', encoding="utf-8"
    )
    # The last look at the folder found it as it was trusted.
    assert not renewed(layers, places, str(folder), "trusted").trusted


@pytest.mark.requirement("trust:bounded")
def test_a_folder_of_very_many_files_is_looked_into_and_never_listed_whole(
    trust: FileTrust, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sam_tui.adapters.policy.trust.MOST_LOOKED_AT", 3_000)
    (folder / "sub").mkdir()
    (folder / "sub/AGENTS.md").write_text("Be brief.\n", encoding="utf-8")
    trust.trust(str(folder))
    assert trust.nested(str(folder)) == ("sub/AGENTS.md",)
    many = folder / "sub/many"
    many.mkdir()
    for number in range(10_000):
        os.close(os.open(f"{many}/{number:0200}", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    try:
        trust.trust(str(folder))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert trust.nested(str(folder)) == ("sub/AGENTS.md",)


@pytest.mark.requirement("trust:command")
def test_a_file_that_is_read_as_nothing_is_not_called_what_its_folder_holds(tmp_path: Path) -> None:
    for name in (
        "workflows/a.md",
        "workflows/b.yaml",
        "personas/c.json",
        "commands/d.txt",
        "agents/e.md",
    ):
        (tmp_path / ".sam" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".sam" / name).write_text("x")
    believed = FileTrust(str(tmp_path / "settings")).believed(str(tmp_path))
    assert {item.name.removeprefix(".sam/"): item.meaning for item in believed} == {
        "workflows/a.md": "a workflow",
        "workflows/b.yaml": "never read: a workflow is a .md file",
        "personas/c.json": "never read: a persona of workflows is a .md file",
        "commands/d.txt": "never read: a command is a .md file",
        "agents/e.md": "an agent",
    }


@pytest.mark.requirement("trust:command")
def test_the_folder_to_trust_may_be_named_as_for_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(tmp_path / "cfg"))
    folder = tmp_path / "a"
    folder.mkdir()

    def trust(*words: str) -> BaseException | None:
        return CliRunner().invoke(trust_command, words, standalone_mode=False).exception

    assert trust("-C", str(folder)) is None and trust("-C", str(folder), f"{folder}/.") is None
    assert FileTrust(str(tmp_path / "cfg")).folders() == (str(folder),)
    assert isinstance(trust("-C", str(folder), str(tmp_path)), UsageError)
    assert isinstance(trust("--list", "-C", str(folder)), UsageError)
