"""What commands and paths are taken for, whole: ``readings.txt``. Run as a program, this writes it.

A line that differs is a promise that changed: what is asked, granted, shown or refused.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from textwrap import wrap

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.authorization.commands.parts import CommandPart, NamedPath
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.commands.table import CommandClass, builtin_table, own_entry
from sam_tui.core.authorization.grants.scopes import command_prefix
from sam_tui.core.authorization.paths.places import (
    FILES,
    FOLDERS,
    higher,
    leads_to_places,
    place_of,
    surroundings,
)
from sam_tui.core.authorization.paths.secrets import HOME_PLACES, SYSTEM_PLACES, Secrets
from tests.guard import test_command_classes, test_hidden_commands

RECORDED = Path(__file__).with_name("readings.txt")
FURTHER = Path(__file__).with_name("more_commands.txt")
"""Commands, one on each line, with ``\\n`` where a line of theirs ends: options with values, together or
cut short, and words at the edges of what each program, wrapper and builtin takes."""
READER = CommandReader(BashParser(), root="/ws", home="/h")
LEAST: dict[str, CommandClass] = {
    "cat": "workspace-write", "env": "destructive", "nice": "privileged", "npm": "network",
    "bash": "network", "touch": "workspace-write",
}  # fmt: skip
OWN: list[dict[str, object]] = [
    {"names": "deploy", "class": "workspace-write"},
    {"names": "sync", "class": "network workspace-write"},
    {"names": "wire", "class": "network destructive"},
    {"names": "look cat", "class": "read-only", "flags": "-v --deep", "valued": "-n"},
    {"names": "tool", "class": "workspace-write", "words": {"destructive": "drop.*"}},
    {"names": "tool2", "class": "read-only", "options": {"network": "--far -f"}},
    {
        "names": "svc",
        "subcommand": [
            {"names": "ls", "class": "read-only", "flags": "-a"},
            {"names": "rm", "class": "destructive"},
            {"names": "up", "class": "network workspace-write"},
            {"names": "down", "class": "network destructive"},
            {"names": "plain"},
        ],
    },
]
"""What a person's policy says of programs."""
POLICY = CommandReader(
    BashParser(),
    root="/ws",
    home="/h",
    table=lambda: builtin_table().extended(
        dict(chain(*(own_entry(e).items() for e in OWN))), LEAST
    ),
)
HOMELESS = CommandReader(BashParser(), root="/ws", home="")
MORE = r"""
PATH=/e | git diff -Oorder | git grep -O x | git log --output=x | git -C ../out status | echo out
rsync a b | rsync --delete a b | rsync h:a b | ip link set eth0 up | ip addr | tmux ls | tmux ls x
xargs cat ~ | cat ~ ~/a ~b/c | cat .netrc id_rsa a.pem b.key | cat https://a.b/c | cp -t../o a
curl -o x https://a.b/c | curl -d @f http://a.b:8080 | wget -O- ftp://h/x | ssh u@h ls | nc h 80
cat < a > b 2>> c | cat <> a | echo x >| a | exec 3<>/dev/tcp/h/80 | echo x > /dev/udp/H/53
cd /srv && cat a | cd - && cat a | cd $X && cat a | pushd sub; touch a | cd; cat a
docker exec x ls | docker ps -a | kubectl get pods | npm run build x | uv run pytest | make -C sub
python -c 'open("/etc/passwd")' | perl -e 1 | awk 'BEGIN{system("x")}' | sed -n '1w x' a
chmod -R 777 . | chmod +x a | chmod -- x a | kill 1 | kill -9 -1 | crontab -l | systemctl status x
git stash list | git stash pop | git config a.b c | git remote add o u | git push o :x | git clean -n
find . -exec touch {} \; | find . -ok x | find -L .. -name a | tar cf a b | tar xf a -C / | zip a b
$X a | "$X" | ls $(cat a) | ls `x` | ls {a,b} | ls * | ls ~ | ls ../* | a=b | a=b ls | echo ${x@P}
sudo -u a ls | env -i ls | env -S 'ls -l' | nohup make | timeout 1 rm -rf a | time ls | watch ls
env -SA=ls rm -rf /x | env --split-string='A=ls rm x' | env -vS 'rm x' | env -S'-i rm x' | env --spl=ls
env -S 'rm\_x' | env -S | env -S$X | env -iS | cat =~/a --b=~/c
odd id_rsa id_dsa id_ecdsa id_ed25519 credentials a.pem b.key c.env d.txt
xargs --replace=% touch % | watch --differences=permanent ls
coproc | coproc touch | coproc ls -l | coproc x { touch a; } | git tag -n3
git branch -vv | git branch -v x | git tag -n3 x
git diff -nO | git grep -nO x | $CMD | xargs -I{} $X {} | ./$X | sh $X | source $X | env $X | nice $X
"""
"""Commands that no other table here has."""
TAUGHT = [
    "ls", "cat a", "/usr/bin/cat a", "touch a", "env", "env ls", "nice ls", "npm ls", "npm install",
    "npm publish", "bash -c ls", "bash x", "find . -exec cat {} +", "sudo cat a", "nice env cat a",
    "cat() { ls; }; cat a", "xargs cat", "cat --deep a", "cat --bogus a", "deploy x", "deploy --x",
    "sync x", "wire off x", "wire -x off", "wire", "look -v a", "look -x a", "look -n 1 a", "look -vn1",
    "tool drop x", "tool dropped", "tool x", "tool -drop", "tool *", "tool2 a", "tool2 -f", "tool2 --far",
    "tool2 -x", "tool2 --fa", "svc ls", "svc ls -a", "svc ls -x", "svc ls *", "svc -x ls", "svc -x rm",
    "svc rm", "svc up", "svc down", "svc plain", "svc other", "svc", "svc $X", "svc *",
]  # fmt: skip
NAMES = """
.env .env.local .env.example .envrc x.env id_rsa id_rsa.pub id_ed25519_sk key.pem my-private.key a.pem
a.p12 ca.crt .bash_history .python_history .histfile .netrc _netrc .pgpass .pypirc .git-credentials
.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .streamlit/secrets.toml
credentials.json master.key fleet-key plan-token mcp-token web-token my-web-token
.ssh/config .aws/config .sam-tui-ab12cd34 krb5cc_1000 .dev.vars local.settings.json notes.txt
"""
"""File names that are, or look like, secrets."""
GIT = """
.git .git/config .git/config.worktree .git/HEAD .git/hooks/a .git/hooks/a.sample .git/objects/hooks/a
.git/refs/heads/config .git/modules/a/config .git/modules/a/hooks/b .git/commondir
.git/rebase-merge/strategy .git/sequencer/opts .git/rebase-merge/git-rebase-todo .git/index
bare/config bare/HEAD bare/hooks/a hooks/a hooks .jj/repo/config.toml a/.jj/repo/x
node_modules/.bin/a node_modules/.vscode/a .sam/a .sam/.gitignore .SAM/a a.code-workspace .github/x
.github/workflows .github/workflows/a.yml .config/nvim/a .config/a git-rebase-todo workflows/a
"""
"""Paths of repositories, and others that are no entry of a table as they are."""


def commands() -> list[str]:
    """Every command of the tables beside this module, each once."""
    classes, hidden = test_command_classes, test_hidden_commands
    tables = [*classes.TABLE.values(), *map(hidden.cases, hidden.CLASSES.values())]
    listed = [text for table in tables for text in table]
    further = FURTHER.read_text(encoding="utf-8").splitlines()
    more = (line.replace(r"\n", "\n") for line in further)
    return list(dict.fromkeys([*listed, *hidden.cases(hidden.CALM), *hidden.cases(MORE), *more]))


def flags(**values: bool) -> str:
    """The names of those that are true."""
    return "".join(f" {name}" for name, value in values.items() if value)


def path(named: NamedPath) -> str:
    """A path with what is said of it."""
    said = flags(writes=named.writes, pattern=named.pattern, redirected=named.redirected)
    return f"{named.text}={named.real}{said}"


def part(read: CommandPart) -> str:
    """One simple command."""
    classes = "+".join(sorted(read.classes)) + flags(exact=read.exact, words=read.exact_words)
    fields = {
        "paths": ", ".join(map(path, read.paths)),
        "hosts": " ".join(read.hosts),
        "peers": " ".join(read.peers),
        "code": " ".join(read.code),
        "scope": " ".join(command_prefix(read)),
    }
    told = "".join(f"; {name} {value}" for name, value in fields.items() if value)
    return f"{list(read.words)} {classes}: {read.why}{told}"


def command_lines(reader: CommandReader, texts: list[str]) -> Iterator[str]:
    """Each command, and below it the simple commands in it."""
    for text in texts:
        read = reader.read(text)
        yield f"{text!r}{flags(calm=read.calm, saveable=read.saveable, parsed=read.parsed)}"
        yield from (f"  {line}" for line in map(part, read.parts))


def place(real: str) -> str:
    """The place that later runs which a path is, and whether a link there leads to one."""
    read = place_of(real, "/ws")
    said = f"{read.what}{flags(removal=read.removal)} {read.grammar}" if read else "nothing"
    beside = leads_to_places(real, "/ws", "x")
    return f"{said.rstrip()}{flags(leads=leads_to_places(real, '/ws'), beside=beside)}"


def path_lines() -> Iterator[str]:
    """The names below each thing that they are: places, there and deeper, and secrets, inside or not."""
    secrets, names = Secrets("/h"), dict[str, list[str]]()
    for kind, places in (("home", HOME_PLACES), ("system", SYSTEM_PLACES)):
        tops = [f"/h/{name}" if kind == "home" else name for name in places]
        found = all(secrets.find(p, inside=False) for top in tops for p in (top, f"{top}/a"))
        names[f"secret places of the {kind}, found: {found}"] = [*places]
    for name in [*FOLDERS, *(f"{folder}/a" for folder in FOLDERS), *FILES, *GIT.split()]:
        top, deep = place(f"/ws/{name}"), place(f"/ws/a/b/{name}")
        names.setdefault(top if deep == top else f"{top}, deeper {deep}", []).append(name)
    for name in NAMES.split():
        kinds = (secrets.find(f"/{top}/{name}", inside=top == "ws") for top in ("ws", "x"))
        names.setdefault(" or ".join(kind or "no secret" for kind in kinds), []).append(name)
    for what, those in names.items():
        yield what
        yield from (f"  {name}" for name in wrap(" ".join(those), 100, break_on_hyphens=False))
    for name in ("hooks/b", "a/hooks", *GIT.split()):
        real = f"/ws/a/{name}"
        above = " ".join(path.removeprefix("/ws/") for path in higher(real, "/ws"))
        yield f"{name}: like {above or 'nothing'}, surroundings {surroundings(real, '/ws')}"


def lines() -> list[str]:
    """All that is recorded."""
    read = command_lines(READER, commands())
    homeless = command_lines(HOMELESS, ["cat ~ ~/a", "cd; cat a/b", "cat $HOME/a"])
    taught = command_lines(POLICY, TAUGHT)
    project = ["Where policies say more of programs", *taught]
    return [*read, "Without a home folder", *homeless, *project, "Paths", *path_lines()]


@pytest.mark.requirement("guard:command-classes", "guard:places-grammar")
def test_each_command_and_path_is_taken_for_what_is_recorded() -> None:
    read = "\n".join(lines())
    assert read.splitlines() == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
