"""Commands lead the person's pushes nowhere else, and lend nobody's rights, unless the person agrees."""

from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from sam_tui.core.ports.processes.terminals import CommandResult
from tests.fakes.interpreter import BARE_PYTHON
from tests.sandbox.places_kit import PRELUDE, Person

Run = Callable[..., Coroutine[None, None, CommandResult]]

pytestmark = pytest.mark.confined("live")

REDIRECTIONS = {
    "removed and added": ("git remote remove o", "git remote add o evil.test:x"),
    "renamed and added": ("git remote rename o p", "git remote add o evil.test:x"),
    "made anew": ("rm -rf .git; git init -q .", "git remote add o evil.test:x"),
    "moved away": ("mv .git g; git init -q .", "git remote add o evil.test:x"),
    "another's in its place": (
        "git -C sub remote add o evil.test:x; mv .git g", "mv sub/.git .git",
    ),
    "a branch": ("git remote add p evil.test:x", "git config branch.m.remote p"),
    "pushed elsewhere": ("git remote add p evil.test:x", "git config branch.m.pushRemote p"),
    "as it once was": ("mkdir .git/remotes", "echo URL: evil.test:x > .git/remotes/o"),
}  # fmt: skip
"""Where `git push` of the person's would lead then: two commands each, the second of which is asked for."""


@pytest.mark.requirement("sandbox:places")
@pytest.mark.parametrize("name", REDIRECTIONS)
async def test_no_command_leads_the_person_s_push_elsewhere(
    run: Run, repository: Path, name: str
) -> None:
    with (repository / ".git/config").open("a") as config:
        config.write('[remote "o"]\n\turl = home.test:x\n[branch "m"]\n\tremote = o\n')
    for line, asked in zip(REDIRECTIONS[name], (False, True), strict=True):
        person = Person()
        await run(f"( {line} ) 2> /dev/null; true", ask=person)
        assert bool(person.asked) is asked, line


LENDING = {
    "made so": "os.close(os.open('s', os.O_CREAT | 1, 0o4755))",
    "a node": "os.mknod('s', 0o102755)",
    "by its descriptor": "os.fchmod(os.open('s', os.O_CREAT | 1), 0o4755)",
    "by its name": "write('s'); os.chmod('s', 0o2755)",
    "moved in": "os.close(os.open(T, os.O_CREAT | 1, 0o4755)); os.rename(T, 's')",
    "linked": "os.close(os.open(T, os.O_CREAT | 1, 0o4755)); os.link(T, 's')",
    "its folder moved in": "os.mkdir(T); os.close(os.open(T + '/s', os.O_CREAT | 1, 0o4755))"
    "; os.rename(T, 'd')",
}


@pytest.mark.requirement("sandbox:lent-rights")
async def test_no_file_lends_the_rights_of_its_owner_without_a_yes_and_folders_may(
    run: Run, workspace: Path
) -> None:
    tried = [PRELUDE, "T = os.environ['TMPDIR'] + '/t'", "os.umask(0)"]
    for attempt in LENDING.values():
        body = attempt.replace("; ", "\n    ")
        tried += [
            f"try:\n    {body}\nexcept OSError: pass",
            "os.system('find . -type f -perm /6000; rm -rf s d $TMPDIR/t')",
        ]
    (workspace / "attempts.py").write_text("\n".join(tried))
    person = Person()
    result = await run(f"{BARE_PYTHON} attempts.py; mkdir g; chmod g+s g; echo done", ask=person)
    assert result.output == "done\n"
    assert {"lent" if "owner" in a.change.why else "" for a in person.asked if a.change} == {"lent"}
    assert (workspace / "g").stat().st_mode & 0o2000
    agreeing = Person(says=True)
    await run("touch s; chmod 4755 s", ask=agreeing)
    assert ((workspace / "s").stat().st_mode & 0o7777, len(agreeing.asked)) == (0o4755, 1)


@pytest.mark.requirement("sandbox:places")
async def test_a_folder_whose_link_becomes_a_place_is_moved_with_it_after_a_yes(
    run: Run, repository: Path
) -> None:
    person = Person(says=True)
    planted = (
        "echo evil > e; mkdir h; ln -s ../../e h/pre-commit; rm -r .git/hooks; mv h .git/hooks"
    )
    result = await run(f"{planted}; readlink .git/hooks/pre-commit", ask=person)
    assert (result.output, result.refused) == ("../../e\n", ())
    asked = [(a.kind, a.to, a.change and a.change.why) for a in person.asked]
    hooks = str(repository / ".git/hooks")
    why = f"{hooks}/pre-commit is where programs look for what they start"
    assert asked == [("rename", hooks, why)]
