"""One program with its words -> what class of command it is, and why."""

from collections.abc import Callable, Sequence

from sam_tui.core.authorization.commands import table as table
from sam_tui.core.authorization.commands.git import git_traits
from sam_tui.core.authorization.commands.inspection import CAREFUL, builtin_traits
from sam_tui.core.authorization.commands.traits import (
    COMMAND_CLASSES,
    CommandClass,
    Traits,
    has_flag,
    hides_path,
    known_words,
    only_given,
    traits,
)
from sam_tui.core.ports.policy import Word

__all__ = ["COMMAND_CLASSES", "CommandClass", "Traits", "classify", "traits"]


def classify(name: str, words: Sequence[Word]) -> Traits:
    """What ``name`` with all its ``words`` (itself first) does, wrappers not looked into."""
    texts = [word.text for word in words]
    arguments = words[1:]
    if _asks_version(name, texts):
        return traits("read-only", f"{name} tells its version")
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    if name == "git":
        return _git(words)
    if name in table.CALM_SUBCOMMANDS and _calm(table.CALM_SUBCOMMANDS[name], arguments):
        return traits("read-only", f"{name} {' '.join(texts[1:2])} only looks")
    if name in table.DESTRUCTIVE or name.startswith("mkfs."):
        return traits("destructive", f"{name} overwrites")
    if name in table.PRIVILEGED:
        return traits("privileged", f"{name} changes the system or leaves the sandbox")
    if name in table.FLAG_SENSITIVE:
        return _flag_sensitive(name, arguments)
    if name in table.EVALUATING:
        return builtin_traits(name, arguments)
    if name in table.READ_ONLY:
        return traits("read-only", f"{name} only reads")
    if name in table.WRITES:
        return _writes(name, texts[1:])
    return _elsewhere(name, texts)


def _asks_version(name: str, texts: Sequence[str]) -> bool:
    return name in table.VERSIONED and len(texts) == 2 and texts[1] in ("--version", "-V", "--help")


def _subcommand(texts: Sequence[str]) -> str:
    return next((text for text in texts[1:] if not text.startswith("-")), "")


def _calm(entry: tuple[str, str], arguments: Sequence[Word]) -> bool:
    """Whether a subcommand only looks, with options that leave it so."""
    subcommands, options = entry
    if (
        not arguments
        or not all(word.static for word in arguments)
        or arguments[0].text not in subcommands.split()
    ):
        return False
    return options == "*" or only_given(arguments[1:], options.split())


def _elsewhere(name: str, texts: Sequence[str]) -> Traits:
    """Network programs, package managers, and whatever is not known."""
    sub = _subcommand(texts)
    outward = table.OUTWARD.get(name, "").split()
    if outward == ["*"] or sub in outward:
        why = f"{name} {sub} changes something elsewhere for good"
        return traits("destructive", why, "network", exact=False)
    if name in table.NETWORK and not (name == "rsync" and not _remote(texts)):
        return traits("network", f"{name} reaches the network", exact=False)
    reaching = table.NETWORK_SUBCOMMANDS.get(name, "").split()
    if reaching == ["*"] or (sub and sub in reaching):
        return traits("network", f"{name} {sub} reaches the network", exact=False)
    if name == "rsync" and any(text.startswith("--del") for text in texts):
        return traits("destructive", "rsync deletes what is not at the source", exact=False)
    return traits("workspace-write", f"{name or 'it'} may write", exact=False)


def _remote(texts: Sequence[str]) -> bool:
    return any(":" in text and not text.startswith("-") for text in texts[1:])


def _flag_sensitive(name: str, arguments: Sequence[Word]) -> Traits:
    flags, effect = table.FLAG_SENSITIVE[name]
    if not known_words(arguments):
        return traits("workspace-write", f"{name} with words that are not known yet", exact=False)
    texts = [word.text for word in arguments]
    if any(has_flag(text, flags) for text in texts) or _sets(name, texts):
        if effect == "privileged":
            return traits("privileged", f"{name} with these options changes the system")
        if effect == "network":
            return traits("network", f"{name} with these options reaches the network", exact=False)
        return traits("workspace-write", f"{name} with these options writes or runs something")
    return traits("read-only", f"{name} only reads")


def _sets(name: str, texts: Sequence[str]) -> bool:
    """A bare word that sets something, ``hostname new``, ``date 01010101``; or holds more options."""
    if name == "hostname":
        return any(not text.startswith("-") for text in texts)
    if name == "date":
        return any(text[:1].isdigit() for text in texts)
    return name in _BINUTILS and any(text.startswith("@") for text in texts)


_BINUTILS = ("nm", "objdump", "readelf", "size", "strings")


def _git(words: Sequence[Word]) -> Traits:
    classes_found, why = git_traits([word.text for word in words])
    if not classes_found and not known_words(words):
        return traits("workspace-write", "git with words that are not known yet", exact=False)
    classes: set[CommandClass] = {c for c in COMMAND_CLASSES if c in classes_found}
    return Traits(frozenset(classes or {"read-only"}), why, exact=False)


def _writes(name: str, texts: Sequence[str]) -> Traits:
    recursive = any(
        text == "--recursive" or (text[:1] == "-" and text[1:2] != "-" and "R" in text)
        for text in texts
    )
    if name in ("chmod", "chown", "chgrp") and recursive:
        return traits("destructive", f"{name} -R changes everything below")
    runs = table.WRITES_AND_RUNS.get(name, ())
    exact = not hides_path(texts) and runs != "*" and not any(has_flag(t, runs) for t in texts)
    return traits("workspace-write", f"{name} writes", exact=exact)


def _remove(arguments: Sequence[Word]) -> Traits:
    """``rm`` asks where it is recursive, for what it deletes is gone; not for a build folder."""
    texts = [word.text for word in arguments]
    options = [text for text in texts if text.startswith("-") and text != "--"]
    short = "".join(text[1:] for text in options if not text.startswith("--"))
    recursive = "r" in short.lower() or "--recursive" in options
    targets = [word for word in arguments if not word.text.startswith("-")]
    if "--no-preserve-root" in options or (recursive and any(_everything(t) for t in targets)):
        return traits("destructive", "rm would delete everything there")
    if recursive and not all(_regenerable(word) for word in targets):
        return traits("destructive", "rm -r deletes whole folders")
    return traits("workspace-write", "rm deletes files")


def _everything(word: Word) -> bool:
    """A target that stands for a whole folder: ``.``, ``*``, ``/``, ``~`` and what goes up."""
    text = word.text.rstrip("/") or "/"
    last = text.rpartition("/")[2]
    return (
        text in ("/", "~", ".", "..")
        or last in ("..", "*", ".*", ".git", ".")
        or (not word.static and not word.text.strip("\"'").rpartition("/")[2].strip("${}"))
    )


def _regenerable(word: Word) -> bool:
    text = word.text.rstrip("/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not word.static or not parts or text.startswith(("/", "~")) or ".." in parts:
        return False
    last = parts[-1]
    return last in table.REGENERABLE or last.endswith((".egg-info", ".pyc", ".tmp", ".log"))


_SPECIAL: dict[str, Callable[[Sequence[Word]], Traits]] = {"rm": _remove, **CAREFUL}
