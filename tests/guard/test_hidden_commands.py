"""Commands that look as if they only read: what runs, writes or reaches out has to be seen in them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.accesses import CommandAccess
from sam_tui.core.authorization.commands.reader import CommandReader
from tests.guard.ward import Ward

READER = CommandReader(BashParser(), root="/ws", home="/home/u")

RUNS = r"""
: ${x:- `touch pwned` }
cat <<E
`touch pwned`
E
----
echo a \ # ; touch pwned
----
<&- 2>&1 touch pwned
----
eval 2>&1 touch pwned
----
env 2>&1 touch pwned
----
bash -c ls > pwned
----
eval ls > pwned
----
echo =~ x >pwned
----
touch pwned; touch() { :; }
----
(touch() { :; }); touch pwned
----
touch() { :; } & touch pwned
----
false && touch() { :; }; touch pwned
----
touch() { :; }; command touch pwned
----
touch() { :; }; env touch pwned
----
touch() { :; }; unset -f touch; touch pwned
----
x='a[$(touch pwned)]'; echo $((x))
----
x='a[$(touch pwned)]'; ((x))
----
x='a[$(touch pwned)]'; echo $[x]
----
x='a[$(touch pwned)]'; b=(1 2); echo ${b[x]}
----
x='a[$(touch pwned)]'; b=12; echo ${b:x}
----
x='a[$(touch pwned)]'; [[ $x -eq 0 ]]
----
x='a[$(touch pwned)]'; b[x]=1
----
x=$(cat payload); echo $((x))
----
read x < payload; [ -v $x ]
----
read x < payload; echo ${b[$x]}
----
[ -v 'a[$(touch pwned)]' ]
----
test -v 'a[$(touch pwned)]'
----
printf -v 'a[$(touch pwned)]' x
----
read 'a[$(touch pwned)]' <<< 1
----
declare -i x='a[$(touch pwned)]'
----
RANDOM='a[$(touch pwned)]'
----
let 'a[$(touch pwned)]=1'
----
x='$(touch pwned)'; echo "${x@P}"
----
mapfile -C 'touch pwned #' -c 1 x < payload
----
jobs -x touch pwned
----
shopt -s expand_aliases; BASH_ALIASES[ls]='touch pwned'
ls
----
BASH_CMDS[ls]=./evil; ls
----
export "PATH=.:$PATH"; evil
----
printf -v PATH %s .; ls
----
read PATH <<< .; ls
----
for PATH in .; do ls; done
----
declare -n r=PATH; r=.; ls
----
unset PATH; : ${PATH:=.}; ls
----
command export PATH=.; ls
----
env -vS'touch pwned'
----
env --split='touch pwned'
----
echo pwned | xargs -i touch {}
----
echo pwned | xargs -l touch
----
echo '$(touch pwned)' | xargs -I{} sh -c 'echo {}'
----
echo pwned | xargs --replace touch {}
----
sort --o=pwned payload
----
cat a*.txt; uniq a*.txt
----
sort -- payload | uniq - pwned
----
sed -e p -ne 'w pwned' payload
----
sed -e'w pwned' payload
----
sed --expr='w pwned' payload
----
find . -name payload -exec env -u + touch pwned ';'
----
ls 2>&1 & sort 2>&1 -o pwned payload
----
exec 3>pwned
----
true &>pwned
----
[[ -n x ]] > pwned
----
case x in x) ;; esac > pwned
----
{ [[ x ]]; [[ y ]] > /dev/null; } > pwned
----
f() { echo x; } > pwned; f
----
set -k; bash -c ls BASH_ENV=evil
----
POSIXLY_CORRECT=1 uniq payload -c; mv ./-c pwned
----
bash --init-file evil -i -c ls
----
bash -o keyword -c './evil a=b'
"""
"""Each makes a file called ``pwned`` or runs ``evil``, which does; parted by lines of dashes."""

CLASSES = {
    "workspace-write": r"""
sort * | rg foo * | find * | sed -n p * | git diff * | xxd * | awk --source=1 | awk -f x
awk --dump-variables=x 1 a | awk --pretty-print=x 1 a | gawk -Wsource=1 1 | tar -tf a --index-file=x
tar -tf a --checkpoint=1 --checkpoint-act=exec=x | tar -tI ./x -f a | tar -tMF ./x -f a
tar -tf a --use-c=./x | tar -tf there.test:/a | unzip a.zip '*' -l | nm --plugin ./x a | size @opts
bat --pager=x a | bat cache --build | less --lesskey-content=x a | less -k x a | LESS=+!x less a
LESSKEYIN=x less a | MANOPT=x man ls | man -C x ls | tree -R -L 1 | arch -x86_64 touch x | lsof -Dbx
pip list --log x | pip list --python ./x | PIP_PYTHON=./x pip list | cargo tree | cargo metadata
go env -w A=b | go vet -vettool=./x | go list -toolexec=./x | uv tree | poetry env remove x
terraform validate | yarn --version | pytest --help | dotnet --version | npm ls --logs-dir=x
npm_config_script_shell=./x npm ls | cloc --extract-with=x . | pygmentize -x -l ./x.py a
command time -o x ls | env -a ls touch x | busybox --install -s dir | watch ls ';' touch x
watch cat '$(touch x)' | git branch -v x | git branch -v --edit-description | git config core.pager get
git config core.fsmonitor list | git remote -v add x y | git symbolic-ref --delete HEAD | git -O x
git bisect visualize | git cat-file --filters HEAD:a | git fsck --lost-found | git --git-dir=x status
git grep -nO./x a | git log --outpu=x | git help -w x | find . -fls x | base64 -o x a | eval ls *
bash -c * | set -k | set -o keyword; ls A=b | shopt -so keyword | bash -kc ls | bash -o keyword -c ls
bash --rcfile x -ic ls | zsh -c ls | fish --init-command=x -c ls | ZDOTDIR=. zsh -c ls | A=b fish -c ls
git config --local a.b c --get | DBUS_SESSION_BUS_ADDRESS=unixexec:path=x systemctl status --user
PHPRC=. php --version | GREP=./x zgrep a b | POSIXLY_CORRECT=1 uniq a -c | nPm_Config_prefix=x npm ls
DEBUGINFOD_URLS=http://x objdump -S a | CONTAINER_HOST=ssh://x podman ps | TAPE=x:a tar t
f() { ls; } > x | [[ -f a ]] > x | case a in a) ;; esac > x | f() { ls; } > $(touch x)
""",
    "network": r"""
cat < /dev/tcp/there.test/80 | echo x > /dev/udp/there.test/80 | exec 3<>/dev/tcp/there.test/80
getent hosts there.test | lspci -Q | git remote -v update | git remote -v show origin
git archive --remote=ssh://there.test/x HEAD | kubectl get pods --kubeconfig=x | mvn --version
""",
    "destructive": r"""
rm 2>&1 -rf src | rm -rf src; rm() { :; } | git clean -f -e -n | git clean -fen
git clean -fx -- -n | git reset --har HEAD~3 | git branch -rD x | git branch -f main HEAD~9
git push --forc | git push --del origin x | git --attr-source status push --force
git checkout -qf x | git gc --prune=all | find . -delete | xargs rm -rf
""",
    "privileged": r"""
tmux ls ';' run-shell x | tmux ls -F '#(x)' | ip addr add 10.0.0.1/24 dev eth0 | ip link set eth0 down
flock x -c 'sudo ls' | watch 'sudo ls' | parallel sudo {} | journalctl --cursor-file=x
systemctl status -H there.test | rpm -q --eval x | apt list -o x=y | dpkg -l --log=x
""",
}
CALM = r"""
sort -k2 -n a | tar -tvf a | sed -ne 1p -e 2p a | awk -F: '{print $1}' a | awk -v a=1 '{print a}' a
git branch -vv | git branch --list 'x*' | git remote -v | git config list | git tag -n -l 'v*'
git log --oneline -5 2>&1 | f() { ls; }; f | for f in a b; do cat $f; done | ip addr show dev eth0
ls 2>/dev/null -la | echo $((1+2)) | [ -n "$x" ] | [[ -f a ]] | x='a b'; echo "$x"
nice -n 5 ls | timeout -k 5 10 ls | watch -n1 ls | pip list --format json | npm ls --depth 0 | go env
xargs -0 -n 1 grep x | xargs -I{} cat {} | env A=b ls | echo ${x:-y} ${x%.py} ${#x} ${a[0]} ${x:0:3}
bash -euo pipefail -c ls | bash -lc ls | set -euo pipefail; ls | git config --local --get a.b
[[ -f a ]] 2>/dev/null | { ls; } > /dev/null | git log -L1,5:src/a.py
read -r line | printf '%s' x | export A=b | unset A | less -N a | docker logs x | stdbuf -oL ls
"""


def cases(text: str) -> list[str]:
    """One command each, parted by a bar between blanks."""
    return [case.strip() for row in text.strip().splitlines() for case in row.split(" | ")]


def texts() -> list[str]:
    """The texts of ``RUNS``."""
    first, second = RUNS.strip("\n").split("\n", 1)
    return [first, *second.split("\n----\n")]


@pytest.mark.requirement("guard:commands-hidden")
@pytest.mark.parametrize("text", texts())
def test_a_text_that_bash_makes_more_of_than_it_seems_never_counts_as_read_only(
    text: str, tmp_path: Path
) -> None:
    for name in ("evil", "ls"):
        (tmp_path / name).write_text("#!/bin/bash\n/bin/touch pwned || /usr/bin/touch pwned\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "payload").write_text("a[$(>pwned)]\n")
    for name in ("a1.txt", "a2.txt"):
        (tmp_path / name).write_text(f"{name}\n")
    surroundings = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C"}
    subprocess.run(
        ["bash", "-c", text],
        cwd=tmp_path,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    overwritten = (tmp_path / "a2.txt").read_text() != "a2.txt\n"
    assert (tmp_path / "pwned").exists() or overwritten
    assert not READER.read(text).calm
    assert not READER.read(text).saveable or READER.read(text).holds("workspace-write")


@pytest.mark.requirement("guard:commands-hidden")
@pytest.mark.parametrize("kind", CLASSES)
def test_options_that_write_run_or_reach_out_are_seen(kind: str) -> None:
    found = {text: READER.read(text) for text in cases(CLASSES[kind])}
    told = {t: r.heaviest.heaviest if r.heaviest else "" for t, r in found.items()}
    assert told == dict.fromkeys(found, kind)
    assert not [text for text, reading in found.items() if reading.calm]


@pytest.mark.requirement("guard:commands-hidden")
def test_what_only_reads_still_counts_as_read_only() -> None:
    assert [text for text in cases(CALM) if not READER.read(text).calm] == []


@pytest.mark.requirement("guard:commands-unparsable")
@pytest.mark.parametrize("blank", ["\r", "\v", "\f"])
def test_a_character_that_bash_does_not_take_for_a_blank_hides_nothing(blank: str) -> None:
    reading = READER.read(f"echo a{blank}# ; rm -rf src")
    assert (reading.calm, reading.parsed) == (False, False)
    assert reading.holds("destructive")


@pytest.mark.requirement("guard:command-modes")
@pytest.mark.parametrize(
    "command",
    [
        "cd; touch x",
        "cd && rm -r Documents",
        "cd ~ && mv a b",
        "cd - && touch x",
        "cd $X; touch x",
        "cd sub; touch ../x",
        "(cd sub) && touch ../x",
        "cd sub & touch ../x",
        "cd sub | touch ../x",
        "false && cd sub; touch ../x",
        "cd sub || touch ../x",
        "if false; then cd sub; fi && touch ../x",
        "f() { cd sub; } && touch ../x",
        "env cd sub && touch ../x",
        "bash -c 'cd sub' && touch ../x",
        "pushd sub && popd && touch ../x",
        "cd sub && cd - && touch ../x",
        "PWD=../out && touch $PWD/x",
        "env -C ../out touch x",
        "env --chdir=../out rm x",
        "cp -t../out a",
        "install -t../out a",
        "tar xf a.tar -C../out",
        "unzip -d../out a.zip",
        "cd && unzip ../ws/a.zip",
        "zip a.zip b -T -TT ./run",
        "split --filter=./run a",
        "split --fil=./run a",
        "patch -i a.diff",
        "rename 's/a/b/e' a",
        "install -s --strip-program=./run a b",
        "PATH=./bin touch x",
        "export PATH=./bin; mv a b",
        "touch x; fi",
        "eval " * 9 + "touch x",
    ],
)
def test_accept_edits_takes_nothing_for_an_edit_inside_that_goes_out_or_runs_something(
    ward: Callable[..., Ward], command: str
) -> None:
    here = ward(mode="accept-edits", sandboxed=False)
    assert here.explain(CommandAccess(command)).outcome == "ask"
    assert (
        here.explain(
            CommandAccess(
                "mkdir -p sub && cd sub && touch ../x && mv a b > /dev/null && tar xf c.tar"
            )
        ).outcome
        == "allow"
    )


@pytest.mark.requirement("guard:command-modes")
def test_a_folder_that_a_command_is_given_counts_for_the_plain_names_in_it(
    ward: Callable[..., Ward],
) -> None:
    here = ward(mode="accept-edits", sandboxed=False, trusted=True)
    assert here.explain(CommandAccess("rm x", "../out")).outcome == "ask"
    denying = ward(rules='[[rule]]\neffect = "deny"\npath = "Makefile"\naccess = "write"\n')
    assert denying.explain(CommandAccess("rm Makefile")).outcome == "deny"
