"""The administrator's policy: whatever a person, a project or a flag says, it is no wider."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy import SandboxTerms, layers
from sam_tui.core.accesses import CommandAccess, Write
from sam_tui.core.authorization.request import Explanation
from sam_tui.core.errors import ConfigurationError, SamError, UsageError
from tests.framework.bench import Bench

pytestmark = pytest.mark.requirement("guard:policy-system")
Opened = Callable[..., Bench]


@pytest.fixture
def administer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """How to write the administrator's policy."""
    folder = tmp_path / "etc"
    folder.mkdir(mode=0o755)
    monkeypatch.setattr(layers, "SYSTEM_FOLDER", str(folder))

    def write(text: str) -> Path:
        (folder / "policy.toml").write_text(text, encoding="utf-8")
        return folder / "policy.toml"

    return write


POLICY = """
modes = ["plan", "ask", "auto"]
sandbox = "default"
network = "hosts"
hosts = ["example.org"]
minutes = 2
[limits]
max_turns = 7
[commands]
processes = 100
[[rule]]
id = "no-push"
effect = "deny"
command = "git push"
comment = "Releases are made by the build."
[[rule]]
effect = "ask"
path = "../*.txt"
"""


async def test_it_holds_whatever_the_other_files_say(
    opened: Opened, administer: Callable[[str], Path], environ: dict[str, str], tmp_path: Path
) -> None:
    administer(POLICY.replace("../", f"{tmp_path}/"))
    own = tmp_path / "settings"
    own.mkdir()
    environ["SAM_TUI_CONFIG_DIR"] = str(own)
    (own / "policy.toml").write_text(
        'mode = "accept-edits"\nnetwork = "on"\nminutes = 60\nsandbox = "default"\n'
        '[limits]\nmax_turns = 900\n[[rule]]\neffect = "allow"\ncommand = "git push"\n'
        f'[[rule]]\neffect = "allow"\npath = "{tmp_path}"\n',
        encoding="utf-8",
    )
    bench = opened()
    runtime = bench.runtime
    guard = runtime.guard
    read = layers.read_layers(
        layers.AppFolders.of(environ, str(tmp_path / "data")), str(bench.folder)
    )
    terms = read.sandbox(SandboxTerms())
    assert guard.policy.mode == "ask"  # the person's is not on offer

    def explain(operation: str, access: CommandAccess | Write) -> Explanation:
        return guard.explain(bench.conversation, operation, guard.locate([access]))

    run, create = "terminal_operations.run_command", "file_operations.create_file"
    push = explain(run, CommandAccess("git push origin x"))
    assert (push.outcome, push.rule) == ("deny", "system:no-push")
    assert "Releases are made by the build." in push.reason
    write = explain(create, Write(f"{tmp_path}/a.txt", "path"))
    assert (write.outcome, write.rule) == ("ask", "system:2")
    assert explain(create, Write(f"{tmp_path}/a.md", "path")).outcome == "allow"
    assert (terms.network, terms.lists, terms.limits["processes"]) == (
        "hosts", ((), ("example.org",)), 100,
    )  # fmt: skip
    assert (guard.seconds, read.limits.max_turns) == (120, 7)
    for flag, steps in ((None, 7), (50, 7), (3, 3)):
        assert opened(max_turns=flag).runtime.limits.steps == steps
    guard.use_mode("auto")
    with pytest.raises(UsageError, match="does not allow the mode 'bypass'"):
        guard.use_mode("bypass")
    assert guard.policy.mode == "auto"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"mode": "bypass"}, "does not allow the mode 'bypass'"),
        ({"sandbox": "off"}, "does not allow --sandbox off"),
        ({"network": "on"}, "does not allow --network on"),
    ],
)
def test_a_wider_flag_is_refused_with_the_file_that_forbids_it(
    opened: Opened, administer: Callable[[str], Path], flags: dict[str, Any], said: str
) -> None:
    path = administer(POLICY)
    with pytest.raises(ConfigurationError) as refused:
        opened(**flags)
    assert str(refused.value).startswith(str(path)) and said in str(refused.value)


def test_a_file_that_others_can_write_or_that_is_broken_ends_the_start(
    opened: Opened, administer: Callable[[str], Path]
) -> None:
    for text, said in (
        ('modes = ["all"]', ":1: modes is a list of modes"),
        ("modes = []", ":1: modes is a list of modes"),
        ("key = 1", ":1: unknown key “key”"),
    ):
        path = administer(text)
        with pytest.raises(SamError) as broken:
            opened()
        assert str(broken.value).startswith(f"{path}{said}")
    os.chmod(administer("minutes = 2"), 0o666)
    with pytest.raises(ConfigurationError, match="other than the owner can write"):
        opened()


@pytest.mark.parametrize("name", ["", "policy.toml"])
def test_a_person_s_policy_that_everybody_can_write_ends_the_start(
    opened: Opened, environ: dict[str, str], tmp_path: Path, name: str
) -> None:
    own = tmp_path / "settings"
    own.mkdir(mode=0o700)
    (own / "policy.toml").write_text("minutes = 2\n", encoding="utf-8")
    environ["SAM_TUI_CONFIG_DIR"] = str(own)
    (own / name).chmod(0o777)
    with pytest.raises(ConfigurationError, match=f"can write {own / name}, so"):
        opened()


def test_nobody_else_says_which_modes_are_on_offer(opened: Opened, folder: Path) -> None:
    (folder / ".sam").mkdir()
    (folder / ".sam" / "policy.toml").write_text('modes = ["bypass"]\n', encoding="utf-8")
    runtime = opened().runtime
    assert "your file cannot limit the modes" in runtime.trust.ignored[0]
    assert runtime.guard.policy.modes[-1] == "bypass"
