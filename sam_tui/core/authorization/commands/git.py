"""The effects of a git command: most only look or commit; some discard work or reach a remote."""

from collections.abc import Sequence
from itertools import takewhile

from sam_tui.core.authorization.commands.inspection import Traits, traits, unknown_words
from sam_tui.core.authorization.commands.options import known_words
from sam_tui.core.authorization.commands.table import READ_ONLY, CommandClass, GitTable, Program
from sam_tui.core.ports.policy import Word

_TAKES_NEXT = ("-c", "--config-env")


def git_subcommand(words: Sequence[str], git: GitTable) -> tuple[int, bool]:
    """The position of the subcommand after ``git``, and whether options before it may run code."""
    index, code = 0, False
    while index < len(words) and words[index].startswith("-"):
        option = words[index].partition("=")[0]
        valued = option in git.options.valued
        code = code or option in git.code or not (valued or option in git.options.flags)
        takes_next = (valued or option in _TAKES_NEXT) and "=" not in words[index]
        index += 2 if takes_next else 1
    return index, code


def judge_git(arguments: Sequence[Word], git: GitTable) -> Traits:
    """The effect of ``git`` with these arguments."""
    texts = [word.text for word in arguments]
    at, code = git_subcommand(texts, git)
    judged = _judged(texts[at:], arguments[at + 1 :], git, code=code)
    if judged.classes == READ_ONLY and not known_words(arguments):
        return unknown_words("git")
    return judged


def _judged(texts: list[str], words: Sequence[Word], git: GitTable, *, code: bool) -> Traits:
    if not texts:
        return _traits("git")
    name, arguments = texts[0], texts[1:]
    title, command = f"git {name}", git.commands.get(name, Program())
    if _throws_away(name, arguments, command):
        if "network" in command.classes:
            why = f"{title} can overwrite or delete what is on the remote"
            return traits("destructive", why, "network", exact=False)
        return _traits(f"{title} can discard work", "destructive")
    if _reaches_remote(name, arguments, command):
        return _traits(f"{title} reaches a remote", "network")
    if code:
        return _traits("a git option may run a program", "workspace-write")
    if _runs_something(name, arguments, git):
        why = f"{title} with an option that runs or writes something"
        return _traits(why, "workspace-write")
    if command.classes != READ_ONLY:
        if not _lists(name, words, command):
            return _traits(f"{title} changes the repository", "workspace-write")
    elif not command.options.know(words):
        return _traits(f"{title} with unknown options", "workspace-write")
    return _traits(f"{title} only reads")


def _traits(why: str, kind: CommandClass = "read-only") -> Traits:
    return traits(kind, why, exact=False)


def _verb(arguments: Sequence[str]) -> str:
    """The first word that is no option."""
    return next((word for word in arguments if not word.startswith("-")), "")


def _means(word: str, options: frozenset[str]) -> bool:
    """Whether a word is one of the options: as it is, with a value, or a long one abbreviated."""
    name = word.partition("=")[0]
    if name in options:
        return True
    return len(name) > 3 and name.startswith("--") and any(o.startswith(name) for o in options)


def _short(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--")


def _runs_something(name: str, arguments: Sequence[str], git: GitTable) -> bool:
    """Whether an option runs a program or writes a file, as ``git grep -O`` opens a pager."""
    if name == "grep" and any(_short(word) and "O" in word for word in arguments):
        return True
    return any(_means(word, git.runs) for word in arguments)


def _throws_away(name: str, arguments: Sequence[str], command: Program) -> bool:
    if name == "clean":
        return not _only_tells(arguments)
    if name == "restore":
        return _restores_files(arguments)
    return "destructive" in command.classes or any(_is_heavy(w, command) for w in arguments)


def _restores_files(arguments: Sequence[str]) -> bool:
    """Whether ``git restore`` changes files, and not only the index as with ``--staged`` alone."""
    staged = "--staged" in arguments or "-S" in arguments
    return not staged or any(_means(w, frozenset(("--worktree", "-W"))) for w in arguments)


def _is_heavy(word: str, command: Program) -> bool:
    """Whether a word throws work away: an option, a letter of several in one, or as ``+main`` does."""
    options = command.heavier.get("destructive", frozenset())
    if _means(word, options):
        return True
    letters = {option[1] for option in options if _short(option)}
    if _short(word) and letters & set(word[1:]):
        return True
    pattern = command.words.get("destructive")
    return pattern is not None and pattern.fullmatch(word) is not None


def _only_tells(arguments: Sequence[str]) -> bool:
    """``git clean -n``: not where it could be the value of ``-e``, or a name after ``--``."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    dry = any(w == "--dry-run" or (_short(w) and "n" in w) for w in options)
    return dry and not any((_short(w) and "e" in w) or w.startswith("--e") for w in options)


def _reaches_remote(name: str, arguments: Sequence[str], command: Program) -> bool:
    verb = command.subcommands.get(_verb(arguments))
    if name == "archive":
        return any(word.startswith("--r") for word in arguments)
    return "network" in command.classes or (verb is not None and "network" in verb.classes)


def _lists(name: str, words: Sequence[Word], command: Program) -> bool:
    """Whether a command that can change something only lists."""
    arguments = [word.text for word in words]
    if not arguments:
        return command.alone
    verb = command.subcommands.get(arguments[0])
    if verb is not None:
        return verb.classes == READ_ONLY and verb.options.know(words[1:])
    if command.lists:
        return _makes_list(name, arguments, command)
    others = [word for word in arguments if word not in command.options.flags]
    return _only_tells_with(name, len(others)) and command.options.know(words)


def _only_tells_with(name: str, others: int) -> bool:
    """Whether a command with so many words that are no flags only prints information."""
    match name:
        case "remote":
            return not others
        case "symbolic-ref":
            return others == 1
        case _:
            return name in ("archive", "clean")  # where clean does more it was judged before


def _makes_list(name: str, arguments: Sequence[str], command: Program) -> bool:
    """Whether options make a list of ``branch``, ``tag`` and ``config``."""
    options = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    options = [
        "-v" if option == "-vv" else "-n" if option[1:2] == "n" else option for option in options
    ]
    makes = not command.lists.isdisjoint(options)
    if not set(options) <= command.lists | command.options.flags:
        return False
    if name == "config":
        return _lists_settings(arguments, command)
    return len(options) == len(arguments) or makes


def _lists_settings(arguments: Sequence[str], command: Program) -> bool:
    """Whether ``git config`` lists: it takes no options behind the first word that is none."""
    first = takewhile(lambda word: word.startswith("-"), arguments)
    listed = any(word.partition("=")[0] in command.lists for word in first)
    return listed or arguments[0] in ("get", "list")
