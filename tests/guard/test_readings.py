"""What each shell text is read as, in ``readings.txt``; ``python -m tests.guard.test_readings`` writes it.

A line that differs is a promise that changed: what is asked, granted, shown or refused for that command.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.commands.reading import CommandPart, NamedPath
from sam_tui.core.authorization.grants.scopes import command_prefix
from tests.guard import test_command_classes, test_hidden_commands

RECORDED = Path(__file__).with_name("readings.txt")
READER = CommandReader(BashParser(), root="/ws", home="/h")
MORE = r"""
PATH=/e | git diff -Oorder | git grep -O x | git log --output=x | git -C ../out status | echo out
rsync a b | rsync --delete a b | rsync h:a b | ip link set eth0 up | ip addr | tmux ls | tmux ls x
xargs cat ~ | cat ~ ~/a ~b/c | cat .netrc id_rsa a.pem b.key | cat https://a.b/c | cp -t../o a
curl -o x https://a.b/c | curl -d @f http://a.b:8080 | wget -O- ftp://h/x | ssh u@h ls | nc h 80
cat < a > b 2>> c | cat <> a | echo x >| a | exec 3<>/dev/tcp/h/80 | echo x > /dev/udp/H/53
cd /srv && cat a | cd - && cat a | cd $X && cat a | pushd sub; touch a | (cd sub; touch a); touch b
docker exec x ls | docker ps -a | kubectl get pods | npm run build x | uv run pytest | make -C sub
python -c 'open("/etc/passwd")' | perl -e 1 | awk 'BEGIN{system("x")}' | sed -n '1w x' a
chmod -R 777 . | chmod +x a | chmod -- x a | kill 1 | kill -9 -1 | crontab -l | systemctl status x
git stash list | git stash pop | git config a.b c | git remote add o u | git push o :x | git clean -n
find . -exec touch {} \; | find . -ok x | find -L .. -name a | tar cf a b | tar xf a -C / | zip a b
$X a | "$X" | ls $(cat a) | ls `x` | ls {a,b} | ls * | ls ~ | ls ../* | a=b | a=b ls | echo ${x@P}
sudo -u a ls | env -i ls | env -S 'ls -l' | nohup make | timeout 1 rm -rf a | time ls | watch ls
"""
"""Commands that no other table here has."""


def commands() -> list[str]:
    """Every command of the tables beside this module, each once."""
    classes, hidden = test_command_classes, test_hidden_commands
    tables = [*classes.TABLE.values(), *map(hidden.cases, hidden.CLASSES.values())]
    listed = [text for table in tables for text in table]
    return list(dict.fromkeys([*listed, *hidden.cases(hidden.CALM), *hidden.cases(MORE)]))


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
        "code": " ".join(read.code),
        "scope": " ".join(command_prefix(read)),
    }
    told = "".join(f"; {name} {value}" for name, value in fields.items() if value)
    return f"{list(read.words)} {classes}: {read.why}{told}"


def lines() -> Iterator[str]:
    """Each command, and below it the simple commands in it."""
    for text in commands():
        read = READER.read(text)
        yield f"{text!r}{flags(calm=read.calm, saveable=read.saveable, parsed=read.parsed)}"
        yield from (f"  {line}" for line in map(part, read.parts))


@pytest.mark.requirement("guard:command-classes")
def test_each_command_is_read_as_it_is_recorded() -> None:
    assert list(lines()) == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
