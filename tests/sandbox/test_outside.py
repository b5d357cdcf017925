"""Shell commands that try to change what lies outside. Each of the first list does, when it is free."""

import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.fakes.programs import found

Run = Callable[..., Coroutine[None, None, CommandResult]]
Portrait = Callable[[Path], dict[str, tuple[object, ...]]]

pytestmark = pytest.mark.confined("live")

IMPORTS = {
    "libc": "import ctypes; libc=ctypes.CDLL(None,use_errno=True)",
    "threading": "import threading",
}
"""What the words of an attack need beside ``os``: most need nothing, and it takes half of their time."""

# {o} is the folder outside, {py} this Python, {py1} the same with what it needs imported and {o} given.
ATTACKS = {
    # redirection
    "redirect": "echo x > {o}/victim",
    "append": "echo x >> {o}/victim",
    "new file": "echo x > {o}/new",
    "clobber": "set -o noclobber; echo x >| {o}/victim",
    "read and write": "exec 3<> {o}/victim; echo x >&3",
    "relative": "echo x > ../outside/victim",
    "dots in the middle": "mkdir -p a/b; echo x > a/b/../../../outside/victim",
    "changed folder": "cd {o} && : > victim",
    "pushd": "pushd {o} > /dev/null && rm victim",
    "folder descriptor": "exec 4< {o}; echo x > /proc/self/fd/4/victim",
    "tee": "echo x | tee {o}/victim",
    "here-document": "cat > {o}/victim <<< x",
    "process substitution": "tee >(cat > {o}/victim) <<< x > /dev/null; wait $!",
    # the tools of every day
    "rm": "rm -f {o}/victim",
    "rm -r": "rm -rf {o}/folder",
    "rmdir": "rm -f {o}/folder/inner; rmdir {o}/folder",
    "unlink": "unlink {o}/victim",
    "mkdir": "mkdir {o}/made",
    "mv out": "echo x > f; mv -f f {o}/victim",
    "mv in": "mv {o}/victim .",
    "mv beside": "mv {o}/victim {o}/other",
    "rename folder": "mv {o}/folder {o}/moved",
    "cp": "echo x > f; cp f {o}/victim",
    "cp -a": "echo x > f; cp -a f {o}/fresh",
    "cp --remove": "echo x > f; cp --remove-destination f {o}/victim",
    "cp -l": "cp -l {o}/victim here",
    "ln": "ln {o}/victim here && echo x > here",
    "ln outwards": "echo x > f; ln f {o}/name",
    "ln -s": "ln -s /etc/passwd {o}/name",
    "install": "echo x > f; install -m 755 f {o}/installed",
    "dd": "dd if=/dev/zero of={o}/victim bs=1 count=1 2> /dev/null",
    "truncate": "truncate -s 0 {o}/victim",
    "shred": "shred -n 1 {o}/victim",
    "sed -i": "sed -i s/p/q/ {o}/victim",
    "sort -o": "sort -o {o}/victim /etc/hostname",
    "split": "seq 3 | split -l 1 - {o}/part",
    "patch by ed": "printf '1d\\nw\\nq\\n' | ed -s {o}/victim || : > {o}/victim",
    "tar": "mkdir t; echo x > t/victim; tar cf t.tar -C t victim; tar xf t.tar -C {o}",
    "tar with dots": "mkdir t; tar cPf t.tar --transform 's|^.*|../outside/victim|' /etc/hostname;"
    " tar xPf t.tar",
    "rsync": "mkdir t; echo x > t/victim; rsync -a t/ {o}/ || cp t/victim {o}",
    "find -delete": "find {o} -name victim -delete",
    "xargs": "echo {o}/victim | xargs rm",
    "mkfifo": "mkfifo {o}/fifo",
    "mktemp": "mktemp -p {o}",
    "fallocate": "fallocate -l 10 {o}/victim",
    # what is known of files
    "chmod": "chmod 777 {o}/victim",
    "chmod a folder": "chmod 700 {o}/folder",
    "chmod relative": "cd {o}; chmod 600 victim",
    "chmod by link": "ln -s {o}/victim l; chmod 600 l",
    "touch": "touch {o}/victim",
    "touch -d": "touch -d 2020-01-01 {o}/victim",
    "touch -h": "touch -h -d 2020-01-01 {o}/link",
    "setxattr": "{py1} 'os.setxattr(o+\"/victim\", \"user.mark\", b\"x\")'",
    "fchmod by a reader": "{py1} 'fd=os.open(o+\"/victim\",os.O_RDONLY); os.fchmod(fd,0o777)'",
    "futimens by a reader": "{py1} 'fd=os.open(o+\"/victim\",os.O_RDONLY); os.utime(fd,(1,1))'",
    "fsetxattr by a reader": "{py1} 'fd=os.open(o,0); os.setxattr(fd,\"user.a\",b\"b\")'",
    "fchmod by /proc": "{py1} 'fd=os.open(o+\"/victim\",os.O_PATH);"
    ' os.chmod(f"/proc/self/fd/{{fd}}",0o777)\'',
    "chmod through /proc/self/root": "chmod 600 /proc/self/root{o}/victim",
    "chmod through /proc/self/cwd": "cd {o}; chmod 600 /proc/self/cwd/victim",
    "utime of perl": "perl -e 'utime 1, 1, \"{o}/victim\"'",
    "chmod of perl": "perl -e 'chmod 0777, \"{o}/victim\"'",
    "umask and mkdir": "umask 0; mkdir -m 777 {o}/made",
    # interpreters
    "python": "{py1} 'open(o+\"/victim\",\"w\").write(\"x\")'",
    "python pathlib": "{py1} 'import pathlib; pathlib.Path(o,\"victim\").unlink()'",
    "python rename": "{py1} 'os.replace(o+\"/victim\", o+\"/other\")'",
    "python dir_fd": "{py1} 'd=os.open(o,0); os.open(\"victim\",os.O_WRONLY|os.O_TRUNC,dir_fd=d)'",
    "python mmap": "{py1} 'import mmap; f=open(o+\"/victim\",\"r+b\");"
    " m=mmap.mmap(f.fileno(),0); m[0]=120; m.flush()'",
    "python tmpfile": "{py1} 'fd=os.open(o,os.O_TMPFILE|os.O_RDWR);"
    ' libc.linkat(-100,f"/proc/self/fd/{{fd}}".encode(),-100,(o+"/linked").encode(),0x400)\'',
    "perl": "perl -e 'open(F, \">\", \"{o}/victim\")'",
    "perl unlink": "perl -e 'unlink \"{o}/victim\"'",
    "awk": "awk 'BEGIN {{ print \"x\" > \"{o}/victim\" }}'",
    "bash in bash": "bash -c 'sh -c \"echo x > {o}/victim\"'",
    "eval": "eval \"$(printf 'echo x > %s/victim' {o})\"",
    "hexadecimal": "c=$(printf '\\x72\\x6d'); $c {o}/victim",
    "script file": "printf '#!/bin/sh\\necho x > {o}/victim\\n' > s; chmod +x s; ./s",
    # links
    "symlink to a file": "ln -s {o}/victim l; echo x > l",
    "symlink to a folder": "ln -s {o} l; echo x > l/victim",
    "chain of symlinks": "ln -s {o} a; ln -s a b; ln -s b/victim c; echo x > c",
    "symlink through /proc": "ln -s /proc/self/root l; echo x > l{o}/victim",
    "dangling symlink": "ln -s {o}/new l; echo x > l",
    "symlink swap": "echo x > f; ln -sfn {o}/victim f; echo y > f",
    # processes that stay or hide
    "background": "(echo x > {o}/victim) & wait",
    "nohup": "nohup sh -c 'echo x > {o}/victim' > /dev/null 2>&1",
    "setsid": "setsid -w sh -c 'echo x > {o}/victim'",
    "double fork": "( ( echo x > {o}/victim ) & ) | cat",
    "coproc": "coproc {{ echo x > {o}/victim; }}; wait",
    "trap": "trap 'echo x > {o}/victim' EXIT",
    "timeout": "timeout 5 sh -c 'echo x > {o}/victim'",
    "env -i": "env -i /bin/sh -c 'echo x > {o}/victim'",
    "PATH": "mkdir bin; printf '#!/bin/sh\\necho x > {o}/victim\\n' > bin/ls; chmod +x bin/ls;"
    " PATH=$PWD/bin:$PATH ls",
    "BASH_ENV": "echo 'echo x > {o}/victim' > rc; BASH_ENV=rc bash -c true",
    "TMPDIR": "TMPDIR={o} mktemp",
    "exported function": "ls() {{ echo x > {o}/victim; }}; export -f ls; bash -c ls",
    "/proc/self/root": "echo x > /proc/self/root{o}/victim",
    "/proc/self/cwd": "cd {o}; echo x > /proc/self/cwd/victim",
    "/proc of a child": "mkfifo f; (cd {o}; exec sleep 5 > $OLDPWD/f) & : < f;"
    " echo x > /proc/$!/cwd/victim; kill $!",
    "reopened descriptor": "exec 5< {o}/victim; echo x > /proc/self/fd/5",
    "/dev/fd": "exec 5< {o}/victim; echo x > /dev/fd/5",
    "script": "script -qc 'echo x > {o}/victim' /dev/null > /dev/null",
    # git
    "git -C": "git -C {o} init -q .",
    "git --git-dir": "git --git-dir={o}/g init -q",
    "git worktree": "git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x;"
    " git worktree add -q {o}/tree",
    "git hook": "git init -q .; printf '#!/bin/sh\\necho x > {o}/victim\\n' > .git/hooks/pre-commit;"
    " chmod +x .git/hooks/pre-commit;"
    " git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    "git clone": "git init -q s; git clone -q s {o}/clone",
    "git config": "git config -f {o}/conf a.b c",
    # calls that libraries do not make
    "openat2": "{py1} 'libc.syscall(437,-100,(o+\"/victim\").encode(),"
    "(ctypes.c_uint64*3)(os.O_WRONLY|os.O_TRUNC,0,0),24)'",
    "creat": "{py1} 'libc.creat((o+\"/victim\").encode(),0o600)'",
    "truncate call": "{py1} 'os.truncate(o+\"/victim\",0)'",
    "renameat2 exchange": "echo x > f; {py1} 'libc.renameat2(-100,b\"f\",-100,(o+\"/victim\").encode(),2)'",
    "mknod a file": "{py1} 'os.mknod(o+\"/made\")'",
    "utimensat": "{py1} 'libc.utimensat(-100,(o+\"/victim\").encode(),None,0)'",
    "utimes": "{py1} 'libc.utimes((o+\"/victim\").encode(),None)'",
    "bind a socket": "cd {o}; {py} -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'",
    "in a thread": "{py1} 't=threading.Thread(target=os.unlink,args=(o+\"/victim\",));"
    " t.start(); t.join()'",
    "in a vfork": "{py1} 'import subprocess; subprocess.run([\"rm\",o+\"/victim\"])'",
}  # fmt: skip


def filled(command: str, outside: Path) -> str:
    if "git " in command:
        found("git")
    needed = "; ".join(line for word, line in IMPORTS.items() if word in command)
    imports = f"import os,sys; o=sys.argv[1]; {needed}\\n"
    first = f"{BARE_PYTHON} -I -c 'import sys; exec(\"{imports}\" + sys.argv.pop(2))' {outside}"
    return command.format(o=outside, py=BARE_PYTHON, py1=first)


@pytest.mark.requirement("sandbox:outside-unchanged")
@pytest.mark.parametrize("name", ATTACKS)
async def test_nothing_outside_changes_without_an_approval(
    run: Run, outside: Path, portrait: Portrait, name: str
) -> None:
    before = portrait(outside)
    result = await run(filled(ATTACKS[name], outside))
    assert portrait(outside) == before, result.output


@pytest.mark.requirement("sandbox:outside-unchanged")
async def test_each_of_these_commands_changes_it_when_it_is_free(
    run: Run, outside: Path, workspace: Path, portrait: Portrait
) -> None:
    tame: list[str] = []
    kept = outside.with_name("kept")
    shutil.copytree(outside, kept, symlinks=True)
    for name, command in ATTACKS.items():
        before = portrait(outside)
        await run(filled(command, outside), confined=False)
        if portrait(outside) == before:
            tame.append(name)
        for folder, source in ((outside, kept), (workspace, None)):
            shutil.rmtree(folder)
            if source is None:
                folder.mkdir()
            else:
                shutil.copytree(source, folder, symlinks=True)
    assert tame == []


@pytest.mark.requirement("sandbox:outside-unchanged")
@pytest.mark.requirement("sandbox:outside-unchanged")
def test_there_are_more_than_eighty_of_them() -> None:
    assert len(ATTACKS) > 80
