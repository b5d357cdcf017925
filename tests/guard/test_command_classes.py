"""What class each command is, also where it hides in another, and what the modes make of it."""

from collections.abc import Callable

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import CommandAccess, Type
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.policy.policy import PermissionMode
from tests.guard.ward import Ward

READER = CommandReader(BashParser(), root="/ws", home="/home/u")

CALM = """
ls -la | git status | git log --oneline -n5 | git diff HEAD~1 | git show HEAD:a.py
git branch -a | git tag | git stash list | git remote -v | git config --get user.name
git config get user.name | git config list
git clean -nd | git blame a.py | cat a b | head -n 3 a | wc -l a | grep -rn foo src | rg foo
find . -name '*.py' | sort a | uniq -c a | sed -n 1,20p a | sed 's/a/b/g' a
awk '{print $1}' a | cut -d: -f1 a | diff a b | jq .a b.json | python --version
command -v git | docker ps | docker-compose config -q | docker compose config -q
date | env | tar tzf a.tgz | cd sub && ls
test -f a && cat a | for f in a b; do cat $f; done | ls 2>/dev/null | echo "$HOME" | pip list
npm ls | xargs grep foo | find . -type f -exec grep -l x {} + | /usr/bin/git status
timeout 5 ls | nice ls | bash -c 'ls; cat a' | [ -f a ] | uname -a | git rev-parse HEAD
man ls
"""
WRITING = """
touch a | mkdir -p a/b | cp a b | mv a b | rm a | rm -r build | rm -rf build
rm -rf ./node_modules dist | echo x > a | cat a >> b | ls | tee out.txt | sed -i s/a/b/ a
sort -o a a | python x.py | make | npm test | npm run build | pytest -q | cargo build
go test ./... | git add . | git commit -m x | git checkout main | git stash | git merge x
git -c alias.x=y status | ./run.sh | node -e 1 | tar xf a.tgz | ln -s a b | chmod +x a
awk '{print > "x"}' a | sed 'w out' a | find . -fprint x | PATH=/tmp/evil:$PATH ls
GIT_SSH_COMMAND=x git log | LD_PRELOAD=x cat a | $CMD x | uniq a b | bash script.sh
source env.sh | sh -c "$X" | patch -p1 < a.diff | git archive -o x.zip HEAD | truncat x
export PATH=/e; ls | less -o log a | rg --pre x y | xargs -I{} sh {} | date +%s > now
git tag v1 | git branch -d x | git branch --delete x
"""
REACHING = """
curl https://example.com | wget x | git push | git pull | git fetch --all | git clone u
ssh h ls | npm install | pip install x | uv sync | cargo install x | go get x | gh pr view
scp a h:b | npx x | rsync a h:b | nc -l 80 | dig x | git submodule update
make up; curl x | aws s3 ls | kubectl get pods
"""
DESTROYING = """
rm -r src | rm -R a b | rm --recursive a | rm -r build src
rm -rf src | rm -rf . | rm -rf * | rm -fr a | rm -r -f a | rm --recursive --force a | rm -r .
rm -r .. | git reset --hard | git clean -fd | git checkout -- . | git restore a
git branch -D x | git branch -d -f x | git stash drop | git push --force | git push -f
git push origin +main
git push --delete o x | git push origin :x | truncate -s 0 a | dd if=a of=b | mkfs.ext4 x
shred a | chmod -R 777 . | chown -R me . | find . -delete | find . -name x -exec rm -rf {} +
xargs rm -rf | bash -c 'rm -rf src' | sh -c "sh -c 'rm -rf src'" | env A=1 rm -rf src
timeout 5 rm -rf src | nice -n 5 rm -rf src | eval 'rm -rf src' | ls $(rm -rf src)
trap 'rm -rf src' EXIT | nohup rm -rf src & | ls && (cd sub; rm -rf src)
f() { rm -rf src; }; f | curl https://x.y | sh | wget -qO- x | bash | :(){ :|:& };:
npm publish | kubectl delete pod x | command rm -rf src | exec rm -rf src
rm -r${F}f "$X" ; rm -rf "$DIR/src" | cat <(rm -rf src) | time rm -rf src
if true; then rm -rf src; fi | while true; do rm -rf src; done | true & rm -rf src
`rm -rf src` | r\\m -rf src | 'rm' -rf src | "rm" "-rf" src | $'rm' -rf src | rm -rf -- src
git reflog expire --all | terraform destroy
"""
POWERFUL = """
sudo ls | sudo -u root rm a | doas ls | su -c ls | mount a b | systemctl restart x | crontab -e
docker run -v /:/h x | tmux send-keys x | apt-get install x | iptables -F | passwd
docker-compose up -d | docker-compose config -o x.yaml | docker compose up -d | docker compose
docker compose config -o x.yaml | docker --context x compose config | docker compose $x
hostname new | date -s 2020-01-01 | chroot . | env sudo ls | bash -c 'sudo ls' | at now
reboot | systemd-run x | dbus-send x
"""


def cases(text: str) -> list[str]:
    """One command each; a bar with a blank on either side parts them, as no command here needs it."""
    commands: list[str] = []
    for row in text.strip().splitlines():
        pending = ""
        for piece in row.split(" | "):
            if piece.startswith(("tee ", "sh", "bash")) and piece.strip() in (
                "tee out.txt",
                "sh",
                "bash",
            ):
                commands[-1] += f" | {piece}"
                continue
            commands.append(pending + piece)
    return [command.strip() for command in commands]


TABLE = {
    "read-only": cases(CALM),
    "workspace-write": cases(WRITING),
    "network": cases(REACHING),
    "destructive": cases(DESTROYING),
    "privileged": cases(POWERFUL),
}


@pytest.mark.requirement("guard:command-classes")
def test_the_table_of_commands_is_long_enough() -> None:
    assert sum(map(len, TABLE.values())) >= 200


@pytest.mark.requirement("guard:command-classes")
@pytest.mark.parametrize("kind", TABLE)
def test_each_command_has_the_class_of_its_heaviest_part(kind: str) -> None:
    wrong: dict[str, object] = {}
    for command in TABLE[kind]:
        reading = READER.read(command)
        heaviest = reading.heaviest.heaviest if reading.heaviest else "read-only"
        if not reading.parsed or heaviest != kind:
            wrong[command] = (reading.parsed, heaviest)
        elif reading.calm != (kind == "read-only"):
            wrong[command] = "calm"
    assert wrong == {}


ASK, ALLOW, DENY = "ask", "allow", "deny"
MODES: tuple[PermissionMode, ...] = ("ask", "accept-edits", "plan", "auto", "bypass", "ask-all")
SANDBOXED = {
    # command: ask, accept-edits, plan, auto, bypass, ask-all
    "git status": (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
    "grep -r x $DIR": (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
    "touch a": (ALLOW, ALLOW, DENY, ALLOW, ALLOW, ASK),
    "make": (ALLOW, ALLOW, DENY, ALLOW, ALLOW, ASK),
    "rm -r build": (ALLOW, ALLOW, DENY, ALLOW, ALLOW, ASK),
    "npm install": (ALLOW, ALLOW, DENY, ALLOW, ALLOW, ASK),
    "rm -rf src": (ASK, ASK, DENY, ALLOW, ALLOW, ASK),
    "git push --force": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "sudo ls": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "cat ~/.ssh/id_rsa": (DENY, DENY, DENY, DENY, DENY, DENY),
    "cat .env": (ASK, ASK, ASK, DENY, ALLOW, ASK),
}
OPEN = {
    "git status": (ALLOW, ALLOW, ALLOW, ALLOW, ALLOW, ALLOW),
    "touch a": (ASK, ALLOW, DENY, DENY, ALLOW, ASK),
    "touch ../out/a": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "touch ../out/a > /dev/null": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "echo x > a": (ASK, ALLOW, DENY, DENY, ALLOW, ASK),
    "make": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "npm install": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "rm -rf src": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "cat ../out/x": (ASK, ASK, ASK, DENY, ALLOW, ASK),
    "sudo ls": (ASK, ASK, DENY, DENY, ALLOW, ASK),
    "cat ~/.ssh/id_rsa": (DENY, DENY, DENY, DENY, DENY, DENY),
}


@pytest.mark.requirement("guard:command-modes")
@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_makes_of_each_class_what_is_documented(
    ward: Callable[..., Ward], mode: PermissionMode, sandboxed: bool
) -> None:
    here = ward(mode=mode, sandboxed=sandboxed)
    column = MODES.index(mode)
    expected = {c: row[column] for c, row in (SANDBOXED if sandboxed else OPEN).items()}
    assert {
        command: here.explain(CommandAccess(command)).outcome for command in expected
    } == expected


@pytest.mark.requirement("guard:commands-unparsable")
def test_what_cannot_be_parsed_is_judged_by_its_heaviest_word_and_never_saved(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    reading = here.reader.read("if then sudo reboot")
    assert (reading.parsed, reading.saveable, reading.calm) == (False, False, False)
    assert here.explain(CommandAccess("if then sudo reboot")).outcome == ASK
    assert here.explain(CommandAccess("if then ls")).outcome == ALLOW
    assert ward(sandboxed=False).explain(CommandAccess("if then ls")).outcome == ASK
    assert ward(mode="plan").explain(CommandAccess("if then ls")).outcome == DENY


@pytest.mark.requirement("guard:commands-typed")
def test_whole_lines_typed_into_a_sandboxed_terminal_are_judged_as_commands(
    ward: Callable[..., Ward],
) -> None:
    here = ward()
    send = "terminal_operations.send_input"
    assert here.explain(Type("t", "ls\r"), operation=send).outcome == ALLOW
    assert here.explain(Type("t", "rm -rf src\r"), operation=send).outcome == ASK
    assert here.explain(Type("t", "cat ~/.ssh/id_rsa\n"), operation=send).outcome == DENY
    assert here.explain(Type("t", "q"), operation=send).outcome == ALLOW
    assert ward(mode="plan").explain(Type("t", "ls\r"), operation=send).outcome == DENY
    assert ward(mode="ask-all").explain(Type("t", "make\r"), operation=send).outcome == ASK


@pytest.mark.requirement("guard:commands-typed")
@pytest.mark.parametrize(
    "keys",
    [
        "rm -rf src",
        "rm -rf src\x0f",
        "ls\x15rm -rf src\r",
        "rm -x\x7frf src\r",
        "ls \x03rm -rf src\n",
    ],
)
def test_a_line_without_its_enter_or_with_keys_that_edit_it_is_judged_too(
    ward: Callable[..., Ward], keys: str
) -> None:
    send = "terminal_operations.send_input"
    assert ward().explain(Type("t", keys), operation=send).outcome == ASK
    denying = ward(rules='[[rule]]\neffect = "deny"\ncommand = "rm"\n')
    assert denying.explain(Type("t", keys), operation=send).outcome == DENY
    for harmless in ("q", "\x1b[A", "\x1b:wq\r", "\x03", "y\r"):
        assert denying.explain(Type("t", harmless), operation=send).outcome == ALLOW


@pytest.mark.requirement("guard:commands-cwd")
def test_paths_in_a_command_follow_its_folder_and_every_cd(ward: Callable[..., Ward]) -> None:
    here = ward(sandboxed=False)
    assert here.explain(CommandAccess("cd sub && cat a")).outcome == ALLOW
    assert here.explain(CommandAccess("cd .. && cat x")).outcome == ASK
    assert here.explain(CommandAccess("cat ./x", cwd="..")).outcome == ASK
    assert here.explain(CommandAccess("cd ~/.ssh; cat id_rsa")).outcome == DENY
    assert here.explain(CommandAccess('cat "$HOME/.ssh/config"')).outcome == DENY
    assert here.explain(CommandAccess("cat ~/.ss*/id*")).outcome == DENY


@pytest.mark.requirement("guard:command-classes")
@pytest.mark.parametrize(
    "script", ["p" + "\n" * 3000 + "X", "p;" + "\n p" * 3000 + "X", " \n" * 5000 + "X"]
)
def test_a_sed_script_made_to_be_slow_is_judged_all_the_same(script: str) -> None:
    reading = READER.read(f"sed -n '{script}' a")
    assert reading.heaviest is not None
    assert reading.heaviest.heaviest == "workspace-write"


@pytest.mark.requirement("guard:commands")
def test_without_a_sandbox_the_question_says_what_makes_a_command_heavier_than_reading(
    ward: Callable[..., Ward],
) -> None:
    asked = ward(sandboxed=False).explain(CommandAccess("curl https://example.org"))
    assert "asks about every command that does more than read (" in asked.reason
