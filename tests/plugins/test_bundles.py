"""Bundles: nothing of one counts before its bytes were trusted, and only those bytes after it.

About 1.5 s of CPU: two programs, a runtime, and some runs of git.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.bundles.git import require_address
from sam_tui.adapters.policy import FileTrust
from sam_tui.assembly import Options, build
from sam_tui.cli.commands.extensions.bundles import bundles_group
from sam_tui.core.errors import ConfigurationError, SamError, UsageError
from tests.cli.conftest import Command
from tests.fakes.programs import needs

HOOK = "#!/bin/sh\necho no reading >&2\nexit 2\n"


class Bundles:
    """A source of a bundle, a workspace and settings, and the commands over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.source, self.workspace = folder, folder / "src", folder / "ws"
        self.config = folder / "cfg"
        self._capsys = capsys
        self.workspace.mkdir()
        manifest = {"name": "review", "version": "1", "hooks": "./more.json", "skills": "./skills/"}
        self.write(".claude-plugin/plugin.json", json.dumps(manifest))
        self.write("skills/pr/SKILL.md", "---\nname: pr\ndescription: Reviews.\n---\nLook.\n")
        self.write("commands/fix.md", "In ${CLAUDE_PLUGIN_ROOT}: fix $1.\n")
        self.write("agents/critic.md", "---\ndescription: Criticises\n---\nBe hard.\n")
        command = {
            "type": "command",
            "command": '"${CLAUDE_PLUGIN_ROOT}/hooks/no.sh"',
            "async": True,
        }
        group = {"matcher": "Read", "hooks": [command, {"type": "prompt", "prompt": "Hm?"}]}
        events = {"PreToolUse": [group], "SessionEnd": []}
        self.write("hooks/hooks.json", json.dumps(events))
        self.write("hooks/no.sh", HOOK)
        (self.source / "hooks/no.sh").chmod(0o755)
        self.write(".mcp.json", '{"gh": {"command": "cat", "args": ["${UNSET}"]}}')

    def write(self, name: str, text: str) -> None:
        (self.source / name).parent.mkdir(parents=True, exist_ok=True)
        (self.source / name).write_text(text, encoding="utf-8")

    def __call__(self, *words: str) -> tuple[int, str]:
        """Run a command; its exit code and all that it wrote."""
        code = bundles_group.main(
            [*words[:1], "-C", str(self.workspace), *words[1:]], standalone_mode=False
        )
        return int(code or 0), "".join(self._capsys.readouterr())

    def trust(self, *words: str) -> str:
        """Run a command twice, the second time trusting what the first one showed."""
        code, shown = self(*words)
        assert code == 3, shown
        digest = shown.partition("--trust ")[2].split()[0]
        assert self(*words, "--trust", digest)[0] == 0
        return digest

    def runtime(self) -> Any:
        options = Options(str(self.workspace), str(self.folder / "data"))
        return build(options, {"SAM_TUI_CONFIG_DIR": str(self.config), "HOME": str(self.folder)})

    def names(self) -> dict[str, list[str]]:
        """What counts in a fresh runtime."""
        runtime = self.runtime()
        hooking = runtime.hooks()
        counting = {
            "skills": [s.name for s in runtime.skills.listing().skills],
            "commands": [d.name for d in runtime.definitions("commands").definitions],
            "agents": [d.name for d in runtime.definitions("agents").definitions],
            "hooks": [h.command for h in hooking.hooks.listing().hooks] if hooking else [],
            "servers": [r.name for r in runtime.servers.reports() if r.standing != "untrusted"],
        }
        runtime.release()
        return {kind: listed for kind, listed in counting.items() if listed}


@pytest.fixture
def bundles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bundles:
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(tmp_path / "cfg"))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path / "data"))
    return Bundles(tmp_path, capsys)


def git(folder: Path, *words: str, stdin: bytes = b"") -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", *named, *words], cwd=folder, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


@pytest.mark.requirement("bundles:trust", "bundles:layout")
def test_a_bundle_counts_once_its_bytes_are_trusted_and_is_held_in_the_assembled_program(
    bundles: Bundles,
) -> None:
    code, shown = bundles("add", str(bundles.source))
    assert code == 3 and bundles.names() == {}
    assert 'hook     PreToolUse (Read): "${CLAUDE_PLUGIN_ROOT}/hooks/no.sh"' in shown
    assert "server   review-gh: cat ${UNSET}" in shown
    for left_out in (
        ".claude-plugin/plugin.json: “hooks”: only hooks/hooks.json is read",
        "hooks/hooks.json: hooks: unknown key “SessionEnd”.",
        "hooks/hooks.json: hooks.PreToolUse[0].hooks[0]: unknown key “async”.",
        "hooks/hooks.json: hooks.PreToolUse[0].hooks[1].type: 'prompt' is not a kind of hook.",
    ):
        assert f"  left out {left_out}\n" in shown, shown
    assert "“skills”" not in shown
    hostile = {"name": "review", "description": "Kind\n  0 files, 0 of them programs\x1b[2J"}
    bundles.write(".claude-plugin/plugin.json", json.dumps(hostile))
    for text in ("null", '{"Stop": [{"hooks": [{"type": "command", "command": "a\\nb"}]}]}'):
        events = (bundles.source / "hooks/hooks.json").read_text("utf-8")
        bundles.write("hooks/hooks.json", text)
        lines = bundles("add", str(bundles.source))[1].splitlines()
        assert "  0 files, 0 of them programs" not in lines and "b" not in lines
        bundles.write("hooks/hooks.json", events)
    bundles.write(".claude-plugin/plugin.json", '{"name": "review",\n"name": "other"}')
    lines = bundles("add", str(bundles.source))[1].splitlines()
    assert "  left out .claude-plugin/plugin.json:2: the key “name” is set twice." in lines
    bundles.write(".claude-plugin/plugin.json", json.dumps(hostile))
    alone = bundles.source.parent / "alone"
    (alone / "commands").mkdir(parents=True)
    (alone / "commands/c.md").write_text("Say hello", encoding="utf-8")
    assert "\n  1 file, no program\n" in bundles("add", str(alone))[1]
    with pytest.raises(ConfigurationError, match="Its digest is"):
        bundles("add", str(bundles.source), "--trust", "0" * 64)
    bundles.trust("add", str(bundles.source))
    assert bundles.names() == {
        "skills": ["review:pr"], "commands": ["review:fix"], "agents": ["review:critic"],
        "hooks": ['"${CLAUDE_PLUGIN_ROOT}/hooks/no.sh"'], "servers": ["review-gh"],
    }  # fmt: skip
    (bundles.workspace / "a.txt").write_text("text", encoding="utf-8")
    read = ("tools", "call", "file_operations.read_file", '{"filePath": "a.txt"}')
    program = Command(bundles.folder)
    assert "no reading" in program(*read).out

    bundles.write("hooks/no.sh", "#!/bin/sh\nexit 0\n")
    assert bundles("update", "review")[0] == 3
    assert "-exit 2" in (shown := bundles("update", "review")[1]) and "+exit 0" in shown
    assert bundles("list")[1].split()[:2] == ["review", "everywhere"], "the old one counts"
    (copy,) = (bundles.config / "bundles").glob("*/hooks/no.sh")
    copy.chmod(0o755)
    copy.write_text("#!/bin/sh\necho changed >&2; exit 2\n", encoding="utf-8")
    ended = program(*read)
    assert "changed" not in ended.out and '"success":true' in ended.out
    assert "hooks" not in bundles.names() and "servers" not in bundles.names()
    assert bundles("show", "review")[0] == 1
    bundles.trust("update", "review")
    assert "hooks" in bundles.names()
    assert bundles("remove", "review")[0] == 0 and bundles.names() == {}
    assert os.listdir(bundles.config / "bundles") == []


@pytest.mark.requirement("bundles:project")
def test_a_project_names_bundles_by_digest_once_it_is_trusted(bundles: Bundles) -> None:
    os.rename(bundles.source, bundles.workspace / "tool")
    bundles.source = bundles.workspace / "tool"
    shown = bundles("add", str(bundles.source))[1]
    digest = shown.partition("--trust ")[2].split()[0]
    named = bundles.workspace / ".sam/bundles.json"
    named.parent.mkdir()
    entry = {"address": "./tool", "digest": digest}
    named.write_text(json.dumps({"bundles": {"house": entry}}), encoding="utf-8")
    with pytest.raises(UsageError, match="names no such bundle"):
        bundles("add", "house")
    trust = FileTrust(str(bundles.config))
    trust.trust(str(bundles.workspace))
    assert "not added" in bundles("list")[1]
    bundles.trust("add", "house")
    assert bundles.names()["skills"] == ["house:pr"]
    trust.revoke(str(bundles.workspace))
    assert bundles.names() == {}
    bundles.write("commands/fix.md", "Something else.\n")
    trust.trust(str(bundles.workspace))
    assert bundles.names()["commands"] == ["house:fix"], "the copy counts"
    with pytest.raises(ConfigurationError, match="is not what this folder names"):
        bundles("add", "house", "--trust", digest)
    entry["address"] = "../elsewhere"
    named.write_text(json.dumps({"bundles": {"house": entry}}), encoding="utf-8")
    trust.trust(str(bundles.workspace))
    assert "is outside" in bundles("list")[1]
    named.write_text('{"bundles": {"house": {},\n"house": {}}}', encoding="utf-8")
    trust.trust(str(bundles.workspace))
    assert f"{named}:2: the key “house” is set twice." in bundles("list")[1]


@needs("git")
@pytest.mark.requirement("bundles:git", "bundles:hostile")
def test_a_commit_is_read_and_none_of_it_checked_out(bundles: Bundles) -> None:
    source = bundles.source
    (source / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    git(source, "init", "-q", "-b", "main")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "one")
    address = f"file://{source}"
    bundles.trust("add", address, "--ref", "main")
    commit = git(source, "rev-parse", "HEAD")
    (listed,) = json.loads(bundles("list", "--json")[1])
    assert (listed["commit"], listed["files"]) == (commit, 8)
    assert "has not changed since you trusted it" in bundles("update", "review")[1]
    blob = git(source, "hash-object", "-w", "--stdin", stdin=b"/etc/passwd")

    def refused(tree: bytes, why: str) -> None:
        words = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
        made = git(source, "commit-tree", "-m", "x", git(source, *words, stdin=tree))
        git(source, "update-ref", "refs/heads/evil", made)
        with pytest.raises(ConfigurationError, match=why):
            bundles("add", address, "--ref", "evil", "--name", "evil")

    object_id = bytes.fromhex(blob)
    refused(b"120000 a\0" + object_id, "is a link out of it")
    refused(b"160000 a\0" + bytes.fromhex(commit), "is a submodule")
    refused(b"100644 a\nb\0" + object_id, "cannot be displayed")
    refused(b"100644 A\0" + object_id + b"100644 a\0" + object_id, "another case")
    refused(
        b"40000 ..\0" + bytes.fromhex(git(source, "rev-parse", "HEAD^{tree}")), "leads elsewhere"
    )
    level = b"".join(b"100644 %d\0" % n + object_id for n in range(10))
    for _ in range(9):
        tree = git(source, "hash-object", "-t", "tree", "-w", "--stdin", stdin=level)
        level = b"".join(b"40000 %d\0" % n + bytes.fromhex(tree) for n in range(10))
    refused(level, "too large for a bundle")


@pytest.mark.requirement("bundles:hostile")
def test_addresses_names_and_files_that_do_more_than_they_say_are_refused(bundles: Bundles) -> None:
    for address in (
        "ext::sh -c id", "fd::3", "git@-oProxyCommand=id:x", "ssh://-oProxyCommand=id/x", "http://h/x",
        "https://u:secret@h/x", "https://h/\nx", "--upload-pack=id", "file::/x", "https://-h/x", "",
    ):  # fmt: skip
        with pytest.raises(UsageError):
            require_address(address, "")
    for ref in ("--upload-pack=id", "a:b", "a..b", "+main", "a b"):
        with pytest.raises(UsageError):
            require_address("https://h/x", ref)
    for name in ("Upper", "a/b", "../x", "a" * 25, "-a"):
        with pytest.raises(UsageError, match="cannot name a bundle"):
            bundles("add", str(bundles.source), "--name", name)
    (bundles.source / "out").symlink_to("../../secret")
    with pytest.raises(SamError, match="is a link out of it"):
        bundles("add", str(bundles.source))
    os.unlink(bundles.source / "out")
    os.mkfifo(bundles.source / "pipe")
    with pytest.raises(SamError, match="not a regular file"):
        bundles("add", str(bundles.source))
    os.unlink(bundles.source / "pipe")
    with open(bundles.source / "large", "wb") as large:
        large.truncate(9_000_000)
    with pytest.raises(SamError, match="larger than 8 MB"):
        bundles("add", str(bundles.source))
    assert bundles.names() == {} and not (bundles.config / "bundles").exists()
