"""Commands on a branch of the workspace: nothing changes until it is committed."""

import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path

import pytest

from sam_tui.adapters.terminal.rehearsal.rehearsal import Branch
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.rehearsal import Rehearsed

Portrait = Callable[[Path], dict[str, tuple[object, ...]]]
Rehearse = Callable[[str], Coroutine[None, None, Rehearsed]]

pytestmark = pytest.mark.confined("live", "landlock")


def command_lines() -> list[bytes]:
    """What runs on this machine."""
    lines: list[bytes] = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with suppress(OSError):
                lines.append(Path("/proc", name, "cmdline").read_bytes())
    return lines


@pytest.mark.requirement("rehearsal:shown")
async def test_a_rehearsal_shows_every_change_and_makes_none(
    rehearse: Rehearse, project: Path, portrait: Portrait
) -> None:
    before = portrait(project)
    done = await rehearse(
        "sed -i s/two/TWO/ a.txt; rm -r src/deep; mkdir -p new/er; echo x > new/er/f; chmod 600 src/b.py;"
        " ln -sfn src link; printf '\\0' > blob; cat a.txt; exit 3"
    )
    assert (done.result.exit_code, done.result.output) == (3, "one\nTWO\nthree\n")
    assert portrait(project) == before
    told = {change.path: change for change in done.changes}
    assert {path: change.kind for path, change in told.items()} == {
        "a.txt": "modified",
        "blob": "created",
        "link": "modified",
        "new": "created",
        "new/er": "created",
        "new/er/f": "created",
        "src/b.py": "modified",
        "src/deep": "deleted",
        "src/deep/c": "deleted",
    }
    assert "-two\n+TWO\n" in told["a.txt"].diff
    assert told["a.txt"].diff.startswith("--- a/a.txt\n+++ b/a.txt\n@@")
    assert told["new/er/f"].diff == "--- /dev/null\n+++ b/new/er/f\n@@ -0,0 +1 @@\n+x\n"
    assert told["link"].note == "link to src"
    assert told["src/b.py"].note.endswith("becomes 600")
    assert told["src/b.py"].new_mode == 0o600
    assert (told["blob"].diff, told["blob"].note) == ("", "binary, large, or not to be read")


@pytest.mark.requirement("rehearsal:commit")
async def test_a_commit_makes_exactly_what_was_shown(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    await rehearse(
        "sed -i s/two/TWO/ a.txt; rm -r src; echo file > src; mkdir -p new/er; echo x > new/er/f;"
        " chmod 500 new/er; ln -sfn new link; chmod 755 a.txt"
    )
    branch.commit()
    assert sorted(os.listdir(project)) == ["a.txt", "link", "new", "src"]
    assert (project / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert (project / "a.txt").stat().st_mode & 0o777 == 0o755
    assert (project / "src").read_text() == "file\n"
    assert os.readlink(project / "link") == "new"
    assert (project / "new" / "er" / "f").read_text() == "x\n"
    assert (project / "new" / "er").stat().st_mode & 0o777 == 0o500
    (project / "new" / "er").chmod(0o700)


@pytest.mark.requirement("rehearsal:commit")
async def test_a_removed_workspace_is_there_until_the_commit(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    done = await rehearse('rm -rf -- "$PWD"/* && ls | wc -l')
    assert done.result.output.strip() == "0"
    assert len(os.listdir(project)) == 3
    assert {change.kind for change in done.changes} == {"deleted"}
    assert len(done.changes) == 6
    branch.commit()
    assert os.listdir(project) == []


@pytest.mark.requirement("rehearsal:commit")
async def test_a_commit_refuses_when_the_workspace_changed_meanwhile(
    rehearse: Rehearse, branch: Branch, project: Path
) -> None:
    await rehearse("echo x >> a.txt")
    (project / "src" / "b.py").write_text("b = 2\n")
    with pytest.raises(ToolError, match=r"src/b\.py"):
        branch.commit()
    assert (project / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.requirement("rehearsal:drop")
async def test_a_dropped_branch_leaves_nothing(
    rehearse: Rehearse, branch: Branch, project: Path, portrait: Portrait
) -> None:
    before = portrait(project)
    await rehearse("echo x > new; mkdir d; chmod 0 d; rm a.txt")
    folder = branch._folder  # pyright: ignore[reportPrivateUsage]
    branch.drop()
    assert portrait(project) == before
    assert os.path.basename(folder) not in os.listdir(os.path.dirname(folder))
    with pytest.raises(ToolError):
        await rehearse("true")


@pytest.mark.requirement("rehearsal:several")
async def test_commands_of_one_rehearsal_build_on_each_other(rehearse: Rehearse) -> None:
    await rehearse("echo x > new; rm a.txt; echo two > a.txt")
    done = await rehearse("cat new a.txt; rm new; mkdir src/d; rmdir src/d; touch src")
    assert done.result.output == "x\ntwo\n"
    assert [(c.path, c.kind) for c in done.changes if c.note != "folder"] == [("a.txt", "modified")]


@pytest.mark.requirement("rehearsal:held")
async def test_a_rehearsed_command_changes_nothing_outside(
    rehearse: Rehearse, outside: Path, portrait: Portrait
) -> None:
    before = portrait(outside)
    done = await rehearse(
        f"echo x > {outside}/victim; rm -f {outside}/victim; mount; unshare -Ur true"
    )
    assert portrait(outside) == before
    assert done.result.exit_code != 0
    done = await rehearse("mktemp; (sleep 60; echo late > late) & echo $!")
    assert done.changes == ()
    assert done.result.exit_code == 0


@pytest.mark.requirement("rehearsal:held")
async def test_what_a_rehearsed_command_leaves_behind_ends_with_it(
    rehearse: Rehearse, way: str
) -> None:
    if way == "none":
        pytest.skip("without namespaces it is ended with the command's session only")
    done = await rehearse("setsid sh -c 'sleep 300.25' > /dev/null 2>&1 & sleep 0.2; exit 0")
    assert done.result.exit_code == 0
    assert b"sleep\x00300.25\x00" not in command_lines()
