"""What commands read without a question wherever they run: the system, toolchains and their settings."""

import os
import sys
from collections.abc import Iterable, Mapping

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
"""This package, in which the shell integration of terminals lies."""
PROGRAMS = ("bin", "sbin", "shims")
"""Folders of programs, beside which lies what these need."""


def free_reads(home: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Real paths of what is there of all that."""
    named = [*_SYSTEM, _PROGRAM, sys.prefix, sys.base_prefix, *_prefixes(environ.get("PATH", ""))]
    named += [path for name in _VARIABLES for path in environ.get(name, "").split(os.pathsep)]
    if home:
        named += [f"{home}/{relative}" for relative in (*_TOOLCHAINS, *_SETTINGS)]
    return tuple(_there(named, os.path.realpath(home) if home else ""))


def _prefixes(path: str) -> Iterable[str]:
    """Where the programs of a search path belong: beside ``bin`` lies what they need."""
    for entry in path.split(os.pathsep):
        folder = entry.rstrip("/")
        yield folder
        if os.path.basename(folder) in PROGRAMS:
            yield os.path.dirname(folder)


def _there(named: Iterable[str], home: str) -> Iterable[str]:
    """Each once, without relative ones, and without what would open a home folder as a whole."""
    existing: set[str] = set()
    real_paths = RealPaths()
    for path in named:
        if path[:1] != "/" or not os.path.lexists(path):
            continue
        real = real_paths.of(path)
        if real in existing or real == "/" or (home and f"{home}/".startswith(f"{real}/")):
            continue
        existing.add(real)
        yield real
