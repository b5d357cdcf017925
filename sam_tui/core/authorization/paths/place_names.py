"""The names of places that later run or instruct, in lower case, and what each is good for.

Who starts a program decides: what a shell, editor, agent or version control starts or reads by itself when
somebody enters or opens a folder is a place; what a build starts that somebody asked for is not.
"""

import re
from dataclasses import dataclass
from typing import Literal

Grammar = Literal[
    "",
    "git config",
    "git pointer",
    "git head",
    "git todo",
    "git strategy",
    "husky",
    "hook",
]


@dataclass(frozen=True, slots=True)
class Place:
    """What something is good for, in words, and how its content is judged; without a grammar, not.

    ``removal``: whether what goes from there allows more than before.
    """

    what: str
    grammar: Grammar = ""
    removal: bool = False


_OWN = Place("decides what this program runs and allows", removal=True)
_AGENT = Place("instructs agents or names what they start")
_AGENT_SETTINGS = Place("decides what an agent runs and allows", removal=True)
_EDITOR = Place("has an editor start programs")
_SHELL = Place("is run by a shell")
TOOLS = Place("decides which programs a shell starts, or has it run some")
_SESSION = Place("is run when somebody logs in")
_DEBUGGER = Place("is run by a debugger or an interpreter")
_CI = Place("is run by a build server")
_HOOKS = Place("is run at commits", "hook")
_HUSKY = Place("is run at commits", "husky")
_CONTAINER = Place("is run when the folder is opened in a container")
_PACKAGES = Place("decides what a package client runs and where it loads from")
VERSIONS = Place("decides which programs version control starts")
GIT_CONFIG = Place("decides which programs git starts", "git config")
GIT_POINTER = Place("leads git to another folder", "git pointer")
GIT_HEAD = Place("makes a repository of a folder", "git head")
GIT_TODO = Place("lists what a rebase runs", "git todo")
GIT_STRATEGY = Place("names the program that merges when a rebase goes on", "git strategy")
GIT_REMOTE = Place("says where git fetches from and pushes to")
GIT_HOOK = Place("is run by git", "hook")

FOLDERS: dict[str, Place] = {
    ".sam": _OWN,
    ".claude": _AGENT_SETTINGS, ".codex": _AGENT_SETTINGS, ".gemini": _AGENT_SETTINGS,
    ".cursor": _AGENT_SETTINGS, ".opencode": _AGENT_SETTINGS, ".agents": _AGENT, ".windsurf": _AGENT,
    ".continue": _AGENT, ".kiro": _AGENT, ".amazonq": _AGENT, ".junie": _AGENT, ".roo": _AGENT,
    ".clinerules": _AGENT, ".kilocode": _AGENT, ".trae": _AGENT, ".qwen": _AGENT_SETTINGS,
    ".augment": _AGENT, ".openhands": _AGENT, ".goose": _AGENT, ".agent": _AGENT, ".crush": _AGENT,
    ".factory": _AGENT_SETTINGS, ".vibe": _AGENT_SETTINGS, ".copilot": _AGENT_SETTINGS,
    ".claude-plugin": _AGENT, ".aiassistant": _AGENT, ".amp": _AGENT_SETTINGS, ".cline": _AGENT,
    ".zencoder": _AGENT, ".rovodev": _AGENT_SETTINGS, ".tabnine": _AGENT, ".codebuddy": _AGENT_SETTINGS,
    ".devin": _AGENT, ".gitlab/duo": _AGENT, ".pi": _AGENT_SETTINGS, ".grok": _AGENT_SETTINGS,
    ".iflow": _AGENT_SETTINGS, ".kimi": _AGENT_SETTINGS, ".serena": _AGENT_SETTINGS,
    ".mcp": _AGENT_SETTINGS,
    ".antigravity": _AGENT, ".letta": _AGENT, ".warp": _AGENT, ".ruler": _AGENT, ".rulesync": _AGENT,
    ".vscode": _EDITOR, ".idea": _EDITOR, ".zed": _EDITOR, ".fleet": _EDITOR, ".vim": _EDITOR,
    ".helix": _EDITOR, ".emacs.d": _EDITOR, ".config/nvim": _EDITOR, ".externaltoolbuilders": _EDITOR,
    ".vs": _EDITOR, ".theia": _EDITOR, ".bsp": _EDITOR, ".nova": _EDITOR, ".lapce": _EDITOR,
    ".nvim": _EDITOR, ".nlsp-settings": _EDITOR, ".sourcekit-lsp": _EDITOR,
    ".github/workflows": _CI, ".github/actions": _CI, ".gitea/workflows": _CI,
    ".forgejo/workflows": _CI, ".circleci": _CI, ".buildkite": _CI, ".woodpecker": _CI,
    ".semaphore": _CI, ".teamcity": _CI, ".azure-pipelines": _CI, ".tekton": _CI, ".builds": _CI,
    ".zuul.d": _CI, "zuul.d": _CI,
    ".github/instructions": _AGENT, ".github/prompts": _AGENT, ".github/chatmodes": _AGENT,
    ".github/agents": _AGENT, ".github/skills": _AGENT, ".github/hooks": _AGENT_SETTINGS,
    ".husky": _HUSKY, ".githooks": _HOOKS, ".lefthook": _HOOKS,
    ".git-hooks": _HOOKS, ".cargo-husky": _HOOKS, ".repo/repo": VERSIONS,
    ".devcontainer": _CONTAINER, ".idx": _CONTAINER, ".gitpod": _CONTAINER, ".ona": _CONTAINER,
    ".codesandbox": _CONTAINER,
    ".config/git": GIT_CONFIG, ".config/fish": _SHELL, ".config/nushell": _SHELL,
    ".config/powershell": _SHELL, ".bashrc.d": _SHELL, ".direnv": _SHELL, ".ipython": _DEBUGGER,
    ".config/zsh": _SHELL, ".config/bash": _SHELL, ".config/tmux": _SHELL, ".config/direnv": _SHELL,
    ".oh-my-zsh": _SHELL, ".local/bin": _SHELL,
    ".mise": TOOLS, ".config/mise": TOOLS, ".rtx": TOOLS, ".flox": TOOLS, ".shadowenv.d": _SHELL,
    ".config/autostart": _SESSION, ".config/systemd": _SESSION, ".config/environment.d": _SESSION,
    "library/launchagents": _SESSION,
    ".bundle": _PACKAGES, ".mvn": _PACKAGES, ".gradle/init.d": _PACKAGES,
}  # fmt: skip
"""Folders by name: everything below is such a place."""
FILES: dict[str, Place] = {
    **dict.fromkeys((".mcp.json", "opencode.json", "opencode.jsonc", ".aider.conf.yml", "crush.json",
                     ".crush.json", "codebuff.json", "gptme.toml"), _AGENT_SETTINGS),
    **dict.fromkeys(
        ("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".goosehints",
         ".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".roomodes", ".kilocodemodes",
         ".augment-guidelines", ".rules", "agent.md", "qwen.md", "warp.md", "crush.md",
         "iflow.md", "replit.md",
         ".github/copilot-instructions.md"), _AGENT),
    **dict.fromkeys(
        (".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el",
         ".emacs", ".wezterm.lua", "rust-analyzer.toml", ".rust-analyzer.toml",
         ".lazy.lua", ".neoconf.json", ".gvimrc", "_vimrc", "_gvimrc", "_exrc", ".local.vimrc",
         ".ycm_extra_conf.py", ".kateproject", "buildserver.json"), _EDITOR),
    **dict.fromkeys(
        (".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
         ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".tmux.conf", ".screenrc",
         ".envrc.local", ".envrc.private", ".rvmrc", ".powrc", ".powenv", ".autoenv", ".autoenv.zsh",
         ".autoenv_leave.zsh", ".config/starship.toml",
         ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".zlogout", ".bash_completion",
         ".lessfilter", ".direnvrc"), _SHELL),
    **dict.fromkeys(
        ("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".config/mise.toml",
         ".tool-versions", ".rtx.toml", ".rtx.local.toml", ".miserc.toml", "mise/config.toml",
         "mise/config.local.toml", ".prototools"),
        TOOLS,
    ),
    **dict.fromkeys((".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment"), _SESSION),
    **dict.fromkeys(
        (".gdbinit", ".lldbinit", ".pdbrc", ".irbrc", ".pryrc", ".rprofile", ".ghci", ".ocamlinit",
         ".psqlrc", ".sqliterc", ".iex.exs", ".rdbgrc", ".rdbgrc.rb", ".byebugrc", ".renviron",
         ".jdbrc", "jdb.ini", ".perldb", ".octaverc", "startup.m", ".rdata", ".psysh.php",
         *(f"jupyter{part}_config.{kind}" for kind in ("py", "json")
           for part in ("", "_server", "_notebook", "_lab", "_console", "_nbconvert")),
         *(f"ipython{part}_config.{kind}" for kind in ("py", "json") for part in ("", "_kernel"))),
        _DEBUGGER,
    ),
    **dict.fromkeys(
        (".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", "jenkinsfile", ".cirrus.yml",
         "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml", "appveyor.yml",
         ".appveyor.yml", ".build.yml", ".drone.star", ".drone.jsonnet", ".woodpecker.yaml",
         "cloudbuild.yaml", "buildspec.yml", ".readthedocs.yaml", ".readthedocs.yml",
         "buildspec.yaml", "cloudbuild.yml", "cloudbuild.json", ".drone.yaml", ".cirrus.star", ".zuul.yaml",
         "zuul.yaml", "codemagic.yaml", "bitrise.yml", ".vela.yml", ".vela.yaml", "screwdriver.yaml",
         ".packit.yaml", ".onedev-buildspec.yml", "codefresh.yml", "wercker.yml"),
        _CI,
    ),
    **dict.fromkeys(
        (".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml", ".overcommit.yml", ".gitlint",
         ".huskyrc", "husky.config.js", "captainhook.json", "grumphp.yml", ".rusty-hook.toml", "hk.pkl",
         ".lintstagedrc", ".commitlintrc",
         *(f".huskyrc.{kind}" for kind in ("json", "yaml", "yml", "js")),
         *(f".commitlintrc.{kind}" for kind in ("json", "yaml", "yml", "js", "cjs", "mjs", "ts", "cts")),
         *(f"commitlint.config.{kind}" for kind in ("js", "cjs", "mjs", "ts", "cts", "mts")),
         *(f".lintstagedrc.{kind}" for kind in ("json", "yaml", "yml", "js", "cjs", "mjs", "ts")),
         *(f"lint-staged.config.{kind}" for kind in ("js", "cjs", "mjs", "ts")),
         *(f"{dot}lefthook{local}.{kind}" for dot in ("", ".") for local in ("", "-local")
           for kind in ("yml", "yaml", "toml", "json", "jsonc"))),
        _HOOKS,
    ),
    **dict.fromkeys((".devcontainer.json", ".gitpod.yml", ".replit", "devfile.yaml",
                     ".devfile.yaml", ".gitpod.dockerfile", ".stackblitzrc", ".cnb.yml"), _CONTAINER),
    **dict.fromkeys(
        (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", ".cargo/config",
         ".cargo/config.toml", "bunfig.toml", "uv.toml", ".condarc", ".gemrc", "nuget.config", ".curlrc",
         ".wgetrc", "pip.conf", "pip.ini", ".pypirc", ".gradle/init.gradle", ".gradle/init.gradle.kts",
         ".corepack.env"),
        _PACKAGES),
    ".hg/hgrc": VERSIONS, ".sl/config": VERSIONS, ".jj/repo/config.toml": VERSIONS,
    **dict.fromkeys((".hg/hgrc-not-shared", ".jj/workspace-config.toml", ".pijul/config", ".gclient",
                     ".arcconfig", ".reviewboardrc"), VERSIONS),
    ".gitconfig": GIT_CONFIG, ".lfsconfig": GIT_CONFIG,
}  # fmt: skip
"""Files by their name, or by the end of their path."""
SUFFIXES: dict[str, Place] = {".code-workspace": _EDITOR, ".sublime-project": _EDITOR}
UNHEEDED = (".gitignore", ".gitkeep", "license", "license.txt")
"""Names that mean nothing wherever they stand."""
BY_DIRENV = frozenset(("flake.nix", "shell.nix", "default.nix", "devenv.nix", "devbox.json"))
"""What a trusted `.envrc` beside them has a shell run when somebody enters the folder."""
OF_ENVIRONMENTS = re.compile(r"\.?mise\.[^/]+\.toml")
"""Files that mise reads for one environment."""
INSTALLED = frozenset((
    "node_modules", "site-packages", "dist-packages", "bower_components", "vendor", "pods"
))  # fmt: skip
"""Folders that installers fill with whole packages, their settings included: only git counts there."""
