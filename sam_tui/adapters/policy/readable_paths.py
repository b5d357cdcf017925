"""Paths that every command, or a program of the person's configuration, reads without a question.

``free_reads`` lists the system, toolchains and their settings; ``NamedReads`` finds the files that a
program reads to start: itself, its interpreter, files on its command line.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sam_tui.core.local_files.real_paths import RealPaths

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu",
    "/snap", "/proc", "/sys", "/dev", "/boot", "/System", "/Library", "/Applications", "/private/etc",
    "/var/lib", "/var/cache", "/var/db", "/var/empty", "/var/snap", "/run/systemd", "/run/nscd",
    "/run/current-system", "/run/wrappers", "/run/opengl-driver", "/run/resolvconf", "/run/lock",
    "/home/linuxbrew/.linuxbrew",
)  # fmt: skip
_TOOLCHAINS = (
    ".pyenv", ".nvm", ".rustup", ".cargo", ".rbenv", ".rvm", ".asdf", ".volta", ".fnm", ".goenv",
    ".jenv", ".jdks", ".sdkman", ".nodenv", ".n", ".deno", ".bun", ".ghcup", ".cabal", ".stack",
    ".opam", ".dotnet", ".nuget", ".pub-cache", ".composer", ".conda", "miniconda3", "miniforge3",
    "anaconda3", "mambaforge", "micromamba", ".gem", ".gradle", ".m2", ".ivy2", ".sbt", ".coursier",
    ".npm", ".npm-global", ".yarn", ".pnpm-store", ".node-gyp", ".node_modules", "go", ".juliaup",
    ".julia", ".elan", ".zig", ".swiftpm", ".nix-profile", ".nix-defexpr", ".platformio", ".rye",
    ".local/bin", ".local/lib", ".local/go", ".local/pipx", ".local/state/nix", ".local/share/uv",
    ".local/share/mise", ".local/share/fnm", ".local/share/pnpm", ".local/share/virtualenvs",
    ".local/share/pipx", ".local/share/pypoetry", ".local/share/hatch", ".local/share/rtx",
    ".local/share/man", ".local/share/bash-completion", ".virtualenvs", ".cache/pip", ".cache/uv",
    ".cache/pypoetry", ".cache/go-build", ".cache/yarn", ".cache/pnpm", ".cache/deno", ".cache/node",
    ".cache/ccache", ".cache/sccache", ".cache/pre-commit", ".cache/composer", ".cache/bazel",
    ".cache/zig", ".cache/pypa", ".cache/prisma", ".cache/Cypress", ".cache/ms-playwright",
    ".cache/puppeteer", ".cache/electron", ".cache/node-gyp", ".cache/fontconfig", ".cache/nix",
    ".cache/huggingface", ".cache/torch", ".cache/matplotlib", ".cache/typescript", "Library/Caches/pip",
    "Library/Python",
)  # fmt: skip
_SETTINGS = (
    ".gitconfig", ".config/git", ".gitignore", ".gitignore_global", ".gitattributes", ".gitmessage",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc",
    ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".config/fish", ".config/starship.toml",
    ".config/pip", ".pip", ".config/uv", ".config/pypoetry", ".config/npm", ".config/yarn", ".yarnrc",
    ".config/pnpm", ".config/configstore", ".config/mise", ".config/go", ".config/nix",
    ".config/matplotlib", ".config/pycodestyle", ".config/ruff", ".config/ccache", ".config/nextjs-nodejs",
    ".config/locale.conf", ".condarc", ".mambarc", ".bundle", ".gemrc", ".curlrc", ".wgetrc",
    ".tool-versions", ".python-version", ".node-version", ".nvmrc", ".ripgreprc", ".editorconfig",
    ".dircolors", ".terminfo", ".pdbrc", ".pylintrc", ".pydistutils.cfg", ".clang-format", ".gdbinit",
    ".oh-my-zsh", ".zsh", ".zinit", ".antidote", ".config/zsh", ".config/bash", ".bash_completion",
    ".bash_completion.d", ".fzf", ".fzf.bash", ".fzf.zsh", ".p10k.zsh", ".vimrc", ".vim",
    ".config/nvim", ".nanorc", ".less", ".lesskey", ".tmux.conf", ".docker/cli-plugins",
)  # fmt: skip
_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_ROOT", "PYENV_ROOT", "NVM_DIR", "NVM_BIN", "VOLTA_HOME",
    "FNM_DIR", "RUSTUP_HOME", "CARGO_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "JAVA_HOME",
    "MAVEN_HOME", "GRADLE_HOME", "GRADLE_USER_HOME", "SDKMAN_DIR", "ANDROID_HOME", "ANDROID_SDK_ROOT",
    "DENO_DIR", "BUN_INSTALL", "PNPM_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "RBENV_ROOT", "GEM_HOME",
    "DOTNET_ROOT", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "PIP_CACHE_DIR", "npm_config_cache",
    "PLAYWRIGHT_BROWSERS_PATH", "HOMEBREW_PREFIX", "NIX_PROFILES", "FLUTTER_ROOT",
)  # fmt: skip
_PROGRAM = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""The folder of this package, which contains the shell integration."""
PROGRAMS = ("bin", "sbin", "shims")
"""Names of folders with programs; the files that these programs need are in the folder above."""


def free_reads(home: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The real paths of the existing files and folders that commands may always read."""
    named = [*_SYSTEM, _PROGRAM, sys.prefix, sys.base_prefix, *_prefixes(environ.get("PATH", ""))]
    named += [path for name in _VARIABLES for path in environ.get(name, "").split(os.pathsep)]
    if home:
        named += [f"{home}/{relative}" for relative in (*_TOOLCHAINS, *_SETTINGS)]
    return tuple(_there(named, os.path.realpath(home) if home else ""))


def _prefixes(path: str) -> Iterable[str]:
    """The folders to which programs of a search path belong: their files are beside ``bin``."""
    for entry in path.split(os.pathsep):
        folder = entry.rstrip("/")
        yield folder
        if os.path.basename(folder) in PROGRAMS:
            yield os.path.dirname(folder)


def _there(named: Iterable[str], home: str) -> Iterable[str]:
    """Each existing path once, without relative ones, and without any that contains a home folder."""
    existing: set[str] = set()
    real_paths = RealPaths()
    for path in named:
        if path[:1] != "/":
            continue
        real, exists = real_paths.look(path)
        if not exists and (real == path or not os.path.lexists(path)):
            continue
        if real in existing or real == "/" or (home and f"{home}/".startswith(f"{real}/")):
            continue
        existing.add(real)
        yield real


_MARKS = (
    ".git", "package.json", "pyproject.toml", "setup.py", "pyvenv.cfg", "go.mod", "Cargo.toml",
    "deno.json", "Gemfile", "composer.json", "pom.xml", "build.gradle",
)  # fmt: skip
"""Names that mark a folder as a project."""
_HOME = ("~/", "$HOME/", "${HOME}/")
_LONGEST_LINE = 4096
"""The most bytes of a script's first line that are read for its interpreter."""


@dataclass(frozen=True, slots=True)
class NamedReads:
    """Finds the files that a command line needs to read. ``home`` is the person's; paths in the
    ``roots``, the workspace's, are not followed, because others may have made them."""

    home: str
    roots: tuple[str, ...]

    def of(self, words: Sequence[str], cwd: str) -> tuple[str, ...]:
        """Return real paths of the program and files that a command line names, and of their needs;
        each once."""
        named = [os.path.join(cwd, word) for word in self._words(words)]
        if words and (program := shutil.which(words[0], path=os.environ.get("PATH"))):
            named.insert(0, os.path.join(cwd, program))
        paths = [real for path in named for real in self._needed(os.path.normpath(path))]
        return tuple(dict.fromkeys(paths))

    def of_line(self, line: str, cwd: str) -> tuple[str, ...]:
        """The same for a shell's command line."""
        return self.of(_split(line), cwd)

    def _words(self, words: Iterable[str]) -> Iterator[str]:
        for word in words:
            yield from (self._expanded(word) for word in (word, word.partition("=")[2]) if word)
            if any(mark in word for mark in " ;|&"):
                yield from (self._expanded(part) for part in _split(word))

    def _expanded(self, word: str) -> str:
        for spelled in _HOME:
            if self.home and word.startswith(spelled):
                return os.path.join(self.home, word[len(spelled) :])
        return word

    def _needed(self, path: str, *, starts: bool = False) -> Iterator[str]:
        """A file or folder, the targets of its links, and the project or installation around it."""
        if not _exists(path) or self._of_workspace(path):
            return
        real = os.path.realpath(path)
        if os.path.isdir(real):
            if not self._holds_home(real):
                yield real
            return
        for folder_path in (path, real):
            yield os.path.realpath(folder_path)
            around = self._around(os.path.dirname(folder_path))
            if not self._wide(around):
                yield os.path.realpath(around)
        if not starts and (interpreter := _interpreter(real)):
            yield from self._needed(os.path.normpath(interpreter), starts=True)

    def _around(self, folder: str) -> str:
        """The folder's project, or the installation of its programs, or the folder itself."""
        above = os.path.dirname(folder) if os.path.basename(folder) in PROGRAMS else folder
        directory = folder
        while not self._wide(directory):
            if any(os.path.lexists(os.path.join(directory, mark)) for mark in _MARKS):
                return directory
            directory = os.path.dirname(directory)
        return folder if self._wide(above) else above

    def _wide(self, folder: str) -> bool:
        """Whether a folder is the whole home folder, or one that many programs share."""
        return os.path.dirname(folder) == "/" or self._holds_home(folder)

    def _holds_home(self, folder: str) -> bool:
        real = os.path.realpath(folder).rstrip("/")
        return f"{os.path.realpath(self.home)}/".startswith(f"{real}/") if self.home else not real

    def _of_workspace(self, path: str) -> bool:
        """Whether a path passes through the workspace."""
        while True:
            real = os.path.realpath(path)
            if any(f"{real}/".startswith(f"{root.rstrip('/')}/") for root in self.roots):
                return True
            if path == os.path.dirname(path):
                return False
            path = os.path.dirname(path)


def _split(line: str) -> list[str]:
    """The words of a line for a shell, as far as it can be read."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    try:
        return list(words)
    except ValueError:
        return line.split()


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:
        return False  # no path has such characters


def _interpreter(script: str) -> str:
    """The program that the first line of a script names; empty where there is none."""
    try:
        with open(script, "rb", opener=_unwaiting) as file:
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return ""
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    return words[0] if words and os.path.isabs(words[0]) else ""


def _unwaiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
