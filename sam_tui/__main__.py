"""The program's entry: makes imports safe first, then hands over to the command line.

Run inside a folder that nobody vouched for, ``python -m sam_tui`` and ``PYTHONPATH=.`` put that folder
first on the import path, and its ``json.py`` would run instead of Python's. Not prevented here, because
Python imports it first: a ``sam_tui`` of that folder's own, a ``sitecustomize`` reached through
PYTHONPATH, and with ``-m`` the few modules that ``runpy`` needs. The ``sam-tui`` command and ``python
-P -m sam_tui`` have none of these.
"""

import gc
import os
import site
import sys
from types import ModuleType

_OBJECTS_AT_START = 500_000
"""The number of new objects after which garbage is collected for the first time; no start makes as many."""
OWN_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def main() -> int:
    """Run the command line of this process and return its exit code."""
    try:
        pin_import_path()
        from sam_tui import signals

        signals.keep_own()
        if sys.argv[1:] in (["--version"], ["-V"]):
            return _say_version()
        # Objects made by imports stay: collecting garbage among them took a fifth of the start. A
        # runtime, and what runs long without one, collects it often (cli.options.collect_garbage).
        gc.set_threshold(_OBJECTS_AT_START)
        from sam_tui.dataclass_methods import use_closures

        use_closures()
        _load_no_pydantic_plugins()
        from sam_tui.cli.main import main as run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


def _load_no_pydantic_plugins() -> None:
    """Let pydantic look for no plugins: it reads the metadata of all installed packages, in 15 ms."""
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules[loader.__name__] = loader


def pin_import_path() -> None:
    """Take the working folder, and all that is relative to it, off ``sys.path``.

    Absolute folders of PYTHONPATH stay, behind the standard library and the installed packages, so
    that they can add a module and cannot replace one.
    """
    unsafe, late = _from_environment()
    installed = _installed()
    leading: list[str] = []
    after: list[str] = []
    for entry in sys.path:
        real = os.path.realpath(entry)
        if real in installed:
            leading.append(entry)
        elif os.path.isabs(entry) and real not in unsafe:
            (after if real in late and real != OWN_ROOT else leading).append(entry)
    if all(os.path.realpath(entry) != OWN_ROOT for entry in leading):
        leading.append(OWN_ROOT)
    sys.path[:] = [*leading, *after]


def _from_environment() -> tuple[set[str], set[str]]:
    """The folders to remove from the import path, and those to put at its end."""
    try:
        working = os.path.realpath(os.getcwd())
    except OSError:
        return set(), set()
    unsafe, late = {working}, set[str]()
    variable = os.environ.get("PYTHONPATH", "")
    for entry in variable.split(os.pathsep) if variable else ():
        (late if os.path.isabs(entry) else unsafe).add(os.path.realpath(entry))
    return unsafe, late - unsafe


def _installed() -> set[str]:
    """Return the folders of Python and its packages: never taken off, even in a working directory there."""
    library = os.path.dirname(os.path.realpath(os.__file__))
    folders = [library, os.path.join(library, "lib-dynload"), *site.getsitepackages()]
    # In a checkout our other two packages have roots of their own.
    folders += [os.path.join(OWN_ROOT, "tools"), os.path.join(OWN_ROOT, "reminders")]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return {os.path.realpath(folder) for folder in folders}


def _say_version() -> int:
    """The version, before anything else is imported."""
    from sam_tui import __version__

    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - closed with >&-
        try:
            sys.stdout.write(f"sam-tui {__version__}\n")
            sys.stdout.flush()
        except OSError as error:
            from sam_tui.cli.main import unwritten

            return unwritten(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
