"""Commands and what later runs or instructs: nothing comes to such a place that nobody agreed to."""

import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON, INTERPRETER
from tests.fakes.preloaded import SCRIPT
from tests.fakes.programs import found
from tests.sandbox.places_kit import PRELUDE, Person

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

SHELL = {
    "git sets a program": "git config core.fsmonitor 'touch x; false'",
    "git sets an alias": "git config alias.st '!evil'",
    "git in another folder": "git -C sub config core.pager evil",
    "a work tree's settings": "git config extensions.worktreeConfig true;"
    " git config --worktree core.pager evil",
    "a bare repository": "git init -q --bare b.git; git -C b.git config core.sshCommand evil",
    "another folder for git": "GIT_DIR=g git init -q; GIT_DIR=g git config core.editor evil",
    "written over": "cp .git/config c; echo '[core] pager = evil' >> c; cat c > .git/config",
    "appended": "echo '[core] pager = evil' >> .git/config",
    "in place": "sed -i 's/bare = false/pager = evil/' .git/config",
    "moved": "echo '[core] pager = evil' > c; mv c .git/config",
    "linked": "echo '[core] pager = evil' > c; ln -f c .git/config",
    "linked to": "ln -sf ../evil .git/config",
    "a hook": "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "a hook moved": "echo evil > h; chmod +x h; mv h .git/hooks/pre-commit",
    "a folder of hooks moved": "mkdir h; echo evil > h/pre-commit; mv -T h .git/hooks",
    "a folder of hooks linked": "mkdir h; rm -r .git/hooks; ln -s ../h .git/hooks",
    "git's folder moved": "mkdir n p; git init -q n; cp -r n/.git p/g; rm p/g/HEAD;"
    " echo '[core] pager = evil' > p/g/config; mv p/g p/.git",
    "git's folder linked": "mkdir p; ln -s ../away p/.git",
    "git led away": "mkdir p; echo gitdir: ../away > p/.git",
    "a template": "mkdir -p t/hooks; echo evil > t/hooks/pre-commit; git init -q --template=$PWD/t n",
    "a repository by its head": "mkdir -p r/objects r/refs; echo '[core] pager = evil' > r/config;"
    " echo 'ref: refs/heads/m' > r/HEAD",
    "unpacked": "mkdir -p u/.vscode; echo evil > u/.vscode/tasks.json; tar c -C u . > $TMPDIR/u.tar;"
    " tar xf $TMPDIR/u.tar",
    "copied": "mkdir $TMPDIR/u; echo evil > $TMPDIR/u/CLAUDE.md; cp -r $TMPDIR/u here",
    "its parent moved": "mkdir -p a/vscode; echo evil > a/vscode/tasks.json; mv a/vscode a/.vscode",
    "by case": "echo evil > Claude.MD",
    "moved out of where it means nothing": "mkdir -p node_modules/x/.vscode;"
    " echo evil > node_modules/x/.vscode/tasks.json; mv node_modules/x y",
    "agents": "echo evil > AGENTS.md; mkdir .claude; echo evil > .claude/settings.json",
    "servers": "echo evil > .mcp.json; mkdir -p .sam; echo evil > .sam/policy.toml",
    "shells and editors": "echo evil > .envrc; mkdir .idea; echo evil > .idea/x.xml; echo evil > .nvim.lua",
    "hooks of packages": "mkdir .husky; echo evil > .husky/pre-commit; git config core.hooksPath .husky",
    "build servers": "mkdir -p .github/workflows; echo evil > .github/workflows/a.yml",
    "a pipe": "mkfifo .envrc",
    "a rebase": "mkdir .git/rebase-merge; echo exec evil > .git/rebase-merge/git-rebase-todo",
    "a rebase's way to merge": "mkdir .git/rebase-merge; echo x/evil > .git/rebase-merge/strategy",
    "a pick's way to merge": "mkdir s; echo '[options] strategy = x/evil' > s/opts; mv s .git/sequencer",
    "a rebase's folder linked": "mkdir s; ln -s ../s .git/rebase-merge; echo x/evil > s/strategy",
    "later": "(sleep 0.1; echo evil > .envrc) & wait",
    "through a link": "ln -s .git g; echo '[core] pager = evil' >> g/config",
}  # fmt: skip
"""What a shell would do, in the name of what is tried."""
CALLS = {
    "held open": "d = os.open('c', os.O_RDWR | os.O_CREAT); os.rename('c', '.git/hooks/pre-push')"
    "; os.write(d, b'evil')",
    "mapped": "d = os.open('c', os.O_RDWR | os.O_CREAT); os.write(d, b'#####')"
    "; m = mmap.mmap(d, 4); os.link('c', '.envrc'); m[:4] = b'evil'",
    "a second name": "write('c'); os.link('.git/config', 'c2'); write('c2')",
    "a second name elsewhere": "t = os.environ['TMPDIR'] + '/c'; os.link('.git/config', t); write(t)",
    "without a name": "d = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(d, b'evil')"
    "; libc.linkat(HERE, b'/proc/self/fd/%d' % d, HERE, b'.envrc', 0x400) and 1 / 0",
    "by a descriptor": "d = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(d, b'evil')"
    "; libc.linkat(d, b'', HERE, b'.envrc', 0x1000) and 1 / 0",
    "by proc": "write(f'/proc/self/fd/{os.open(\".git/config\", os.O_PATH)}', os.O_WRONLY)",
    "by a folder": "write('config', dir_fd=os.open('.git', os.O_PATH))",
    "by a folder that moves": "os.makedirs('v'); d = os.open('v', os.O_PATH); os.rename('v', '.vscode')"
    "; write('tasks.json', dir_fd=d)",
    "open while its folder moves": "os.makedirs('v'); d = os.open('v/tasks.json', os.O_RDWR | os.O_CREAT)"
    "; os.rename('v', '.vscode'); os.write(d, b'evil')",
    "a map while its folder moves": "os.makedirs('v'); d = os.open('v/tasks.json', os.O_RDWR | os.O_CREAT)"
    "; os.write(d, b'    '); m = mmap.mmap(d, 4); os.rename('v', '.vscode'); m[:4] = b'evil'",
    "a config open before its head": "os.makedirs('r/objects'); os.mkdir('r/refs')"
    "; d = os.open('r/config', os.O_RDWR | os.O_CREAT); write('r/HEAD')"
    "; os.write(d, b'[core] pager = evil')",
    "exchanged": "write('c'); libc.renameat2(HERE, b'c', HERE, b'.git/config', 2) and 1 / 0",
    "folders exchanged": "os.makedirs('h'); write('h/pre-commit')"
    "; libc.renameat2(HERE, b'h', HERE, b'.git/hooks', 2) and 1 / 0",
    "truncated to": "os.truncate('.envrc', 9)",
    "copied by the kernel": "write('c'); a = os.open('c', os.O_RDONLY)"
    "; b = os.open('.envrc', os.O_RDWR | os.O_CREAT); os.copy_file_range(a, b, 4)",
    "the draft's own path": "d = os.open('.envrc', os.O_WRONLY | os.O_CREAT)"
    "; write(f'/proc/self/fd/{d}', os.O_WRONLY)",
    "a reserved name": "write('.sam-tui-placing-1')",
    "openat2": "how = struct.pack('=QQQ', 0o101, 0o644, 8)"
    "; d = libc.syscall(437, HERE, b'.envrc', how, 24); os.write(d, b'evil')",
    "io_uring": "libc.syscall(425, 8, ctypes.create_string_buffer(120)) < 0 and 1 / 0",
}  # fmt: skip
"""What no shell does, in Python."""


def evil_places(folder: Path) -> list[str]:
    """Every file in a place that later runs or instructs with what was planted, and every link there."""
    found: list[str] = []
    for path in sorted(folder.rglob("*")):
        relative = str(path.relative_to(folder))
        plain = path.is_file() and not path.is_symlink()
        if (plain and b"evil" in path.read_bytes()) or path.is_symlink() or path.is_fifo():
            found.append(relative)
    ordinary = [
        "c",
        "c2",
        "h",
        "g",
        "t",
        "u",
        "s",
        "attempts.py",
        "away",
        "r/config",
        "p/g",
        "a",
        "v",
    ]
    ordinary.append("node_modules")
    return [n for n in found if not any(n == o or n.startswith(f"{o}/") for o in ordinary)]


@pytest.mark.requirement("sandbox:places")
@pytest.mark.parametrize("name", SHELL)
async def test_no_command_plants_what_later_runs(run: Run, repository: Path, name: str) -> None:
    before = (repository / ".git/config").read_text()
    person = Person()
    result = await run(f"( {SHELL[name]} ) 2> /dev/null; true", ask=person)
    assert person.asked, result.output
    assert all(access.planted for access in person.asked)
    assert evil_places(repository) == []
    assert any(access.planted for access in result.refused)
    kept = [line for line in before.splitlines() if "worktreeConfig" not in line]
    assert set(kept) <= set((repository / ".git/config").read_text().splitlines())


@pytest.mark.requirement("sandbox:places")
@pytest.mark.parametrize(
    "line", ["mkdir tools; mv h/git tools", "mv h tools", "ln -s h tools", "cp -r h tools"]
)
async def test_nothing_is_planted_where_the_configuration_has_hooks(
    run: Run, repository: Path, line: str
) -> None:
    config = repository / ".git/config"
    config.write_text(config.read_text() + "[core]\n\thooksPath = tools/git\n")
    person = Person()
    await run(f"mkdir -p h/git; echo evil > h/git/pre-commit; {line}; true", ask=person)
    assert person.asked and all(access.planted for access in person.asked)
    assert evil_places(repository) == []


@pytest.mark.requirement("sandbox:places")
async def test_no_system_call_plants_what_later_runs(run: Run, repository: Path) -> None:
    tried = [PRELUDE]
    for name, attempt in CALLS.items():
        body = attempt.replace("; ", "\n    ")
        tried += [
            "os.system('rm -rf c c2 v h r .vscode')",
            f"try:\n    {body}\nexcept Exception as e: print({name!r}, e, file=sys.stderr)",
        ]
    (repository / "attempts.py").write_text("\n".join(tried))
    person = Person()
    result = await run(f"{BARE_PYTHON} attempts.py; echo done", ask=person, limit=60)
    assert result.output.endswith("done\n"), result.output
    assert evil_places(repository) == [], result.output
    assert "evil" not in (repository / ".git/config").read_text()


QUIET = {
    "git": """
        echo 1 > f; git add f; git commit -qm x; git checkout -qb topic
        echo 2 > f; git stash -q; git stash pop -q; git commit -qam y; git checkout -q -; git merge -q topic
        git rebase -q topic; git tag t; git branch -q config; git branch -q hooks/x; git log | wc -l""",
    "remotes": """
        git clone -q --bare . o.git; git remote add o $PWD/o.git; git fetch -q o; git push -q -u o HEAD
        git checkout -qb x o/$(git branch --show-current)
        git clone -q o.git n; git -C n pull -q; git -C n remote -v | wc -l""",
    "work trees": """
        git worktree add -q w; cd w; echo 2 > f; git add f; git commit -qm y; git status --short; cd ..
        git worktree remove w; git worktree prune""",
    "submodules": """
        git clone -q . $TMPDIR/lib
        git -c protocol.file.allow=always submodule --quiet add $TMPDIR/lib lib
        git -C lib status --short""",
    "copies": """
        cp -r .git c; cp -r sub s2; tar c sub > t.tar; mkdir u; tar x -C u -f t.tar; mv u/sub u2
        rm -rf s2 u2""",
    "a Makefile": "printf 'all:\\n\\techo made > out\\n' > Makefile; make -s; cat out",
    "Python": """
        echo 'def test_a(tmp_path): (tmp_path / "f").touch()' > test_a.py
        env -u PYTHONDONTWRITEBYTECODE {py} -m pytest -q test_a.py > /dev/null
        ls -d __pycache__ > /dev/null""",
    "a build's files": "touch package.json; echo > conftest.py; echo > build.rs; echo > Cargo.toml",
    "packages with settings": """
        mkdir -p p/node_modules/x/.vscode; cd p/node_modules; echo a > x/.vscode/settings.json
        echo a > x/CLAUDE.md; mv x .x; mv .x x; rm -r x""",
    "husky": """
        mkdir -p .husky/_; git config core.hooksPath .husky/_; echo '*' > .husky/_/.gitignore
        printf '#!/usr/bin/env sh\\n. "$(dirname "$0")/h"' > .husky/_/pre-commit
        chmod +x .husky/_/pre-commit""",
    "a place put back": """
        cp CLAUDE.md k; rm CLAUDE.md; cat k > CLAUDE.md; cat CLAUDE.md""",
    "pipes and sockets": """
        mkfifo p; (cat < p > got) & echo through > p; wait; cat got
        {py} -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'""",
    "files without names": """
        {py} -c 'import tempfile; tempfile.TemporaryFile(dir=".").write(b"x")'
        exec 3> e; rm e; echo again > /dev/fd/3; exec 3>&-""",
    "a program that is made": """
        printf '#!/bin/sh\\necho ran\\n' > r; chmod +x r; ./r; truncate -s 3 r; ln r r2; ln -s r r3""",
}
"""Ordinary work, as a shell does it."""


@pytest.fixture
def worked_on(repository: Path) -> Path:
    """The same with a commit, and a change of the person's in a place."""
    (repository / "CLAUDE.md").write_text("Be brief.\n")
    (repository / ".gitignore").write_text("sub\n")
    (repository / "README").write_text("plain\n")
    for words in ("config user.name a", "config user.email a@b", "add -A", "commit -qm base"):
        subprocess.run([found("git"), *words.split()], cwd=repository, check=True)
    (repository / "README").write_text("changed\n")
    return repository


@pytest.mark.requirement("sandbox:places-quiet")
@pytest.mark.parametrize("name", QUIET)
async def test_ordinary_work_raises_no_question(run: Run, worked_on: Path, name: str) -> None:
    person = Person()
    script = textwrap.dedent(QUIET[name]).replace("{py}", INTERPRETER)
    result = await run(f"set -e\n{script}", ask=person, limit=60)
    assert (result.exit_code, person.asked, result.refused) == (0, [], ()), result.output


@pytest.mark.requirement("sandbox:places-quiet")
async def test_git_asks_once_for_each_file_that_another_branch_has_otherwise(
    run: Run, worked_on: Path
) -> None:
    def commit(text: str, *lines: str) -> None:
        for name in (".mcp.json", "CLAUDE.md"):
            (worked_on / name).write_text(text)
        for words in ("add .mcp.json CLAUDE.md", "commit -qm x", *lines):
            subprocess.run([found("git"), *words.split()], cwd=worked_on, check=True)

    commit("{}\n", "checkout -qb topic")
    commit('{"mcpServers": {}}\n')
    person = Person(says=True)
    result = await run("git checkout -q -", ask=person)
    asked = [(access.kind, os.path.basename(access.path)) for access in person.asked]
    assert asked == [("write", ".mcp.json"), ("write", "CLAUDE.md")], result.output
    assert (worked_on / ".mcp.json").read_text() == "{}\n"


@pytest.mark.requirement("sandbox:places-quiet")
async def test_what_forbids_something_is_removed_unasked_only_where_a_command_copied_it_from_above(
    run: Run, worked_on: Path
) -> None:
    for folder in (worked_on, worked_on / "mine"):
        folder.mkdir(exist_ok=True)
        (folder / "crush.json").write_text("{}\n")
    person = Person()
    result = await run(
        "mkdir w; cp crush.json w; rm w/crush.json; cp crush.json w; rm -r w; rm mine/crush.json",
        ask=person,
    )
    assert [access.path for access in person.asked] == [str(worked_on / "mine/crush.json")]
    assert (worked_on / "mine/crush.json").exists() and not (worked_on / "w").exists(), result


@pytest.mark.requirement("sandbox:places")
async def test_what_the_person_agrees_to_is_placed_exactly_and_other_content_asks_anew(
    run: Run, repository: Path
) -> None:
    person = Person(says=True)
    hook = ".git/hooks/pre-commit"
    result = await run(
        f"echo one > {hook}; chmod +x {hook}; cat {hook}; echo two > {hook}; cat {hook};"
        f" git config core.pager less; git config core.pager; echo one > {hook}",
        ask=person,
    )
    assert (result.output, result.refused) == ("one\ntwo\nless\n", ())
    changes = [access.change for access in person.asked]
    lines = [change.difference.split("\n") for change in changes if change]
    assert all(first.startswith("@@ ") and all(others) for first, *others in lines)
    expected = ("+one", "+two", "+\tpager = less")
    assert [word in rows for word, rows in zip(expected, lines, strict=True)] == [True] * 3
    assert [Path(access.path).name for access in person.asked] == [
        "pre-commit",
        "pre-commit",
        "config",
    ]
    assert (repository / hook).read_text() == "one\n", "what stood there may come back"
    assert (repository / hook).stat().st_mode & 0o111


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.requirement("sandbox:places")
def test_places_hold_for_a_normal_user_as_well(short_path: Path) -> None:
    folder = short_path / "w"
    folder.mkdir()
    subprocess.run([found("git"), "init", "-q", str(folder)], check=True)
    for path in (short_path, folder, *folder.rglob("*")):
        shutil.chown(path, 65534, 65534)
    lines = [f"( {attempt} )" for attempt in SHELL.values() if "sub" not in attempt]
    (short_path / "attempts.sh").write_text(
        "\n".join(f"{line} 2> /dev/null; git reset -q" for line in lines)
    )
    script = """
        import asyncio, os, sys
        folder, attempts = sys.argv[1:]
        from sam_tui.adapters.terminal.commands.shell import ShellCommands
        from sam_tui.adapters.terminal.confinement.sandbox import Sandbox
        from sam_tui.core.ports.processes.terminals import CommandRequest
        import difflib, sam_tui.adapters.terminal.sandbox.supervisor
        asked = []
        async def refuse(access):
            asked.append(access.planted)
            return False
        async def main():
            request = CommandRequest(
                f"HOME={folder} sh {attempts}", folder, True, (folder,), 120.0, print, ask=refuse
            )
            await ShellCommands(box).run(request)
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        box = Sandbox(live="thread")
        asyncio.run(main())
        box.close()
        print("asked", len(asked) > 20 and all(asked))
    """
    done = subprocess.run(
        [
            *SCRIPT,
            textwrap.dedent(script),
            str(folder),
            str(short_path / "attempts.sh"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("asked True\n"), done.stdout + done.stderr
    assert evil_places(folder) == []


RACE = """
import ctypes, os, sys, threading
sys.setswitchinterval(1e-5)
libc = ctypes.CDLL(None)
names = [b"c/config", b".git/config", b"c/../.git/hooks/pre-push", b"l/config"]
path = ctypes.create_string_buffer(names[0], 4096)
os.makedirs("c/hooks"); os.symlink("c", "l"); open("evil", "w").write("evil")
stop = False
def swap():
    while not stop:
        for name in names:
            path.value = name
        os.rename("l", "l2"); os.symlink(".git", "l"); os.unlink("l"); os.rename("l2", "l")
thread = threading.Thread(target=swap)
thread.start()
for _ in range(int(sys.argv[1])):
    d = libc.open(path, os.O_WRONLY | os.O_CREAT, 0o755)
    if d >= 0:
        os.write(d, b"evil")
        os.close(d)
    libc.link(b"evil", path)
    libc.rename(b"evil", path)
    libc.symlink(b"../evil", path)
    if not os.path.exists("evil"):
        open("evil", "w").write("evil")
stop = True
thread.join()
print("done")
"""


@pytest.mark.requirement("sandbox:places")
async def test_names_that_are_swapped_while_a_call_is_judged_plant_nothing(
    run: Run, repository: Path
) -> None:
    (repository / "race.py").write_text(RACE)
    before = (repository / ".git/config").read_text()
    person = Person()
    result = await run(f"{BARE_PYTHON} race.py 150", ask=person, limit=120)
    assert result.output == "done\n", result.output
    assert (repository / ".git/config").read_text() == before
    assert sorted(os.listdir(repository / ".git/hooks")) == sorted({
        "commit-msg",
        *(n for n in os.listdir(repository / ".git/hooks") if n.endswith(".sample")),
    })
