"""A corpus of hostile paths for every file operation, through the real executor and real tools."""

import os
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.core.accesses import CommandAccess
from sam_tui.core.authorization.grants.grants import Grants
from sam_tui.core.authorization.guard import Guard
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.errors import ToolError
from sam_tui.core.ids import ConversationId
from sam_tui.core.tooling.executor import Executed
from tests.guard.ward import ALICE, RUN, Ward
from tests.guard.world import HIDDEN, World

TARGETS = ("secret.txt", "new.txt", "deep/inner.txt", "deep/new/file.txt")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One world; the workspace is furnished anew before every call."""
    made = World(tmp_path_factory.mktemp("world"))
    yield made
    made.close()


def corpus(world: World) -> list[str]:
    """Hostile paths that reach no further than the test's own folder, so that they may be tried.

    Those that stay inside by their real path are hostile in look only.
    """
    outside, inside = str(world.outside), str(world.inside)
    thread, process = threading.get_native_id(), os.getpid()
    accented = "../" + unicodedata.normalize("NFC", "ö-outside")
    ways = [
        "../outside/{}", "./../outside/{}", "sub/../../outside/{}", "sub/./.././../outside/{}",
        "..//outside//{}", "../outside/./{}", "../outside/deep/../{}", "../ws/../outside/{}",
        "new/../../outside/{}", "../../" + world.folder.name + "/outside/{}",
        "../ws/sub/../../outside/{}", outside + "/{}", "/" + outside + "/{}", "//" + outside + "/{}",
        inside + "/../outside/{}", inside + "/sub/../../outside/{}", "/tmp/../" + outside + "/{}",
        outside + "/./{}", "out/{}", "./out/{}", "relative/{}", "chain/{}", "chain2/{}",
        "up/outside/{}", "sub/back/outside/{}", "root" + outside + "/{}", "out/../outside/{}",
        "out/deep/../{}", "up/ws/up/outside/{}", "/proc/self/root" + outside + "/{}",
        "/proc/thread-self/root" + outside + "/{}", f"/proc/self/task/{thread}/root{outside}/{{}}",
        f"/proc/self/fd/{world.handle}/{{}}", f"/dev/fd/{world.handle}/{{}}",
        f"/proc/{process}/root{outside}/{{}}", f"/proc/{process}/fd/{world.handle}/{{}}",
        "../ws-other/../outside/{}", accented + "/../outside/{}", "../outside/{}/", "../outside/{}/.",
        "~/../outside/{}", "~/{}",
    ]  # fmt: skip
    found = [way.format(target) for way in ways for target in TARGETS]
    found += [
        "../ws-other/secret.txt", "../ws-other/new", str(world.folder / "ws-other/x"), "../ws2",
        "../ws.txt", inside + "x", inside + "-other/x", "file", "dangling", "./file", "file/x",
        "dangling/x", "loop", "loop/x", "up", "out", "out/", "root", "pipe", "socket", "hard",
        f"/dev/fd/{world.file}", f"/proc/self/fd/{world.file}", "sub/back/ws-other/secret.txt",
        accented + "/secret.txt", unicodedata.normalize("NFD", accented) + "/secret.txt", "a\0b",
        "../outside/a\0b", "", "   ", "\n", "x" * 5000, "../" + "y" * 300, "\ud800",
        "../outside/\ud800", "../outside/\u202e.txt", "..\\outside\\secret.txt",
        "%2e%2e/outside/secret.txt", "．．/outside/secret.txt", "file://" + outside + "/secret.txt",
        "$HOME/x", "${HOME}/x", "`id`", "$(id)", "../outside/*", "../outside/secret.txt\n",
        " ../outside/secret.txt", "../outside/secret.txt ", "-rf", "--", "|cat",
    ]  # fmt: skip
    return found


FOREIGN = (
    "..", "../", "/", "~root/x", "~nobody/x", "/etc/passwd", "/etc/hosts", "/etc/new", "/root/x",
    "root/etc/passwd", "/proc/self/root/etc/passwd", "/proc/1/root/etc/passwd", "/dev/null", "/dev/zero",
    "/dev/tty", "/dev/mem", "/dev/stdin", "/dev/stdout", "/proc/self/mem", "/proc/self/environ",
    "/proc/sysrq-trigger", "/sys/kernel/x", "../" * 1300 + "etc/x", "/usr/bin/env", "/boot/x",
    "/var/spool/cron/root", "/tmp/../etc/x", "//etc/x", "/etc/../etc/x", "up/../../../../../../etc/x",
)  # fmt: skip
"""Paths of the machine itself: only judged, never tried, so that a failure here harms nothing."""


@pytest.fixture(autouse=True)
def home_beside_the_workspace(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """``~`` is a folder of this world, whose contents are compared like the rest."""
    (world.folder / "home").mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(world.folder / "home"))


def seen(done: Executed) -> bool:
    """Whether content from outside came back."""
    return HIDDEN in done.finished.text


@pytest.mark.requirement("guard:hostile-paths")
def test_the_corpus_is_long_enough(world: World) -> None:
    assert len(set(corpus(world))) >= 200


@pytest.mark.requirement("guard:hostile-paths")
@pytest.mark.parametrize("write", [True, False])
def test_no_path_of_the_machine_is_touched_without_a_question(world: World, write: bool) -> None:
    from sam_tui.core.accesses import Read, Write

    guard = world.guard
    free: list[str] = []
    for path in FOREIGN:
        try:
            located = guard.locate([Write(path, "p") if write else Read(path, "p")])
        except ToolError:
            continue
        if guard.explain(ConversationId("c"), "o", located).outcome == "allow":
            free.append(path)
    assert free == []


@pytest.mark.requirement("guard:hostile-paths")
async def test_no_hostile_path_is_read(world: World) -> None:
    read: list[str] = []
    world.furnish()
    for path in corpus(world):
        done = await world.call("read_file", filePath=path)
        slipped = done.decision and done.decision.rule == "unattended" and done.finished.ok
        if path != "hard" and (seen(done) or slipped):
            read.append(path)
    assert read == []


@pytest.mark.requirement("guard:hostile-paths")
@pytest.mark.parametrize(
    "operation", ["create", "replace", "insert", "delete", "from", "to", "patch", "patch-from"]
)
async def test_no_hostile_path_changes_anything_outside(world: World, operation: str) -> None:
    changed: list[str] = []
    for path in corpus(world):
        world.furnish()
        done = await attempt(world, operation, path)
        if seen(done) or world.snapshot() != world.before:
            changed.append(path)
    assert changed == []


async def attempt(world: World, operation: str, path: str) -> Executed:
    """One hostile call of a kind."""
    match operation:
        case "create":
            return await world.call("create_file", filePath=path, content="gone", overwrite=True)
        case "replace":
            return await world.call(
                "replace_string", filePath=path, oldString="outside", newString="gone"
            )
        case "insert":
            return await world.call("insert_edit", filePath=path, lineNumber=1, newText="gone")
        case "delete":
            return await world.call("delete_file", filePath=path)
        case "from":
            return await world.call("rename_file", oldPath=path, newPath="taken")
        case "to":
            return await world.call("rename_file", oldPath="mine.txt", newPath=path)
        case "patch":
            text = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+gone\n"
            return await world.call("apply_patch", patchContent=text)
        case _:
            text = f"--- a/{path}\n+++ b/taken\n@@ -1 +1 @@\n-{HIDDEN}\n+gone\n"
            return await world.call("apply_patch", patchContent=text)


@pytest.mark.requirement("guard:hard-links")
async def test_a_write_to_a_hard_link_leaves_the_outside_name_as_it_was(world: World) -> None:
    world.furnish()
    done = await world.call("create_file", filePath="hard", content="mine", overwrite=True)
    assert done.finished.ok
    assert (world.inside / "hard").read_text(encoding="utf-8") == "mine"
    assert world.snapshot() == world.before


@pytest.mark.requirement("guard:special-files")
def test_a_write_to_a_device_pipe_or_socket_is_refused_wherever_it_lies(tmp_path: Path) -> None:
    from sam_tui.core.accesses import Read, Write

    here = Ward(tmp_path)
    os.mkfifo(here.workspace.root + "/pipe")
    for path in ("pipe", "/dev/null", "/dev/sda", "/proc/sysrq-trigger", "/sys/power/state"):
        found = here.explain(Write(path, "p"))
        assert (found.outcome, found.rule) == ("deny", "special-file"), path
    assert here.explain(Read("pipe", "p")).outcome == "allow"
    assert here.explain(Write("sub", "p")).outcome == "allow", "a folder is nothing special"
    everything = Guard(Workspace.open("/"), here.policy(), Grants(here.clock), here.inquiries)
    for path in ("/dev/null", "/proc/sysrq-trigger"):
        found = everything.explain(ConversationId("c"), "o", everything.locate([Write(path, "p")]))
        assert found.rule == "special-file"


@pytest.mark.requirement("guard:folded-names")
def test_where_two_spellings_name_one_folder_the_folder_counts_and_not_its_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "Ws").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "Ws")
    workspace = Workspace.open(str(tmp_path / "Ws"))
    # A second name for the same folder is what a volume that folds case gives to ``ws``.
    assert workspace.same_folder(str(tmp_path / "alias" / "a" / "b")) == str(tmp_path / "Ws")
    assert workspace.same_folder(str(tmp_path / "alias")) == str(tmp_path / "Ws")
    assert workspace.same_folder(str(tmp_path / "other" / "a")) is None
    assert workspace.same_folder("/") is None
    assert workspace.same_folder(str(tmp_path)) is None


@pytest.mark.requirement("guard:command-modes")
def test_where_the_whole_disk_is_the_workspace_the_network_is_no_file_of_it(tmp_path: Path) -> None:
    here = Ward(tmp_path, mode="accept-edits", sandboxed=False)
    everything = Guard(Workspace.open("/"), here.policy(), Grants(here.clock), here.inquiries)
    for target, outcome in ((f"{tmp_path}/out/x", "allow"), ("/dev/tcp/a.test/80", "ask")):
        commands = everything.locate([CommandAccess(f"echo x > {target}")])
        assert everything.explain(ALICE, RUN, commands).outcome == outcome, target
