"""The names of places that later run or instruct, in lower case, and what each is good for.

The starter of a program decides: a file is a place if a shell, editor, agent or version control starts
or reads it by itself when somebody enters or opens a folder, but not if only a requested build starts
it.
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
    """A kind of file that starts programs or instructs: its effect in words, and its grammar, if any.

    ``removal``: whether removing content may allow more than before.
    """

    what: str
    grammar: Grammar = ""
    removal: bool = False


_OWN = Place("decides what this program runs and allows", removal=True)
_AGENT = Place("instructs agents or names what they start")
_AGENT_SETTINGS = Place("decides what an agent runs and allows", removal=True)
_AGENT_SERVERS = Place("names servers that an agent starts")
_EDITOR = Place("makes an editor start programs")
_SHELL = Place("is run by a shell")
TOOLS = Place("decides which programs a shell starts, or makes it run some")
_SESSION = Place("is run when somebody logs in")
INTERPRETER = Place("is run by a debugger or an interpreter")
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
    ".kilo": _AGENT_SETTINGS, ".bolt": _AGENT, ".firebender": _AGENT_SETTINGS, ".forge": _AGENT_SETTINGS,
    ".qodo": _AGENT, ".sourcegraph": _AGENT, ".greptile": _AGENT, ".ellipsis": _AGENT, ".jules": _AGENT,
    ".codeium": _AGENT_SETTINGS, ".openclaw": _AGENT_SETTINGS, ".mux": _AGENT_SETTINGS,
    ".superset": _AGENT_SETTINGS,
    ".vscode": _EDITOR, ".idea": _EDITOR, ".zed": _EDITOR, ".fleet": _EDITOR, ".vim": _EDITOR,
    ".helix": _EDITOR, ".emacs.d": _EDITOR, ".config/nvim": _EDITOR, ".externaltoolbuilders": _EDITOR,
    ".vs": _EDITOR, ".theia": _EDITOR, ".bsp": _EDITOR, ".nova": _EDITOR, ".lapce": _EDITOR,
    ".nvim": _EDITOR, ".run": _EDITOR, ".nlsp-settings": _EDITOR, ".sourcekit-lsp": _EDITOR,
    ".config/emacs": _EDITOR, ".config/doom": _EDITOR, ".doom.d": _EDITOR, ".config/vim": _EDITOR,
    ".config/helix": _EDITOR, ".config/zed": _EDITOR, ".config/micro": _EDITOR, ".config/code": _EDITOR,
    ".config/kak": _EDITOR, ".config/lvim": _EDITOR, ".spacevim.d": _EDITOR, ".local/share/nvim": _EDITOR,
    ".config/vscodium": _EDITOR, ".config/cursor": _EDITOR, ".config/sublime-text": _EDITOR,
    ".github/workflows": _CI, ".github/actions": _CI, ".gitea/workflows": _CI,
    ".forgejo/workflows": _CI, ".circleci": _CI, ".buildkite": _CI, ".woodpecker": _CI,
    ".semaphore": _CI, ".teamcity": _CI, ".azure-pipelines": _CI, ".tekton": _CI, ".builds": _CI,
    ".zuul.d": _CI, "zuul.d": _CI, ".gitea/actions": _CI, ".forgejo/actions": _CI, ".bazelci": _CI,
    ".kokoro": _CI, ".expeditor": _CI, ".buddy": _CI, ".harness": _CI, ".azuredevops": _CI, ".upsun": _CI,
    ".github/instructions": _AGENT, ".github/prompts": _AGENT, ".github/chatmodes": _AGENT,
    ".github/agents": _AGENT, ".github/skills": _AGENT, ".github/hooks": _AGENT_SETTINGS,
    ".github/copilot": _AGENT_SETTINGS,
    ".husky": _HUSKY, ".githooks": _HOOKS, ".lefthook": _HOOKS,
    ".git-hooks": _HOOKS, ".cargo-husky": _HOOKS, ".repo/repo": VERSIONS,
    "_darcs/prefs": VERSIONS, ".config/hg": VERSIONS, ".config/jj": VERSIONS,
    ".subversion": VERSIONS, ".config/tig": VERSIONS, ".config/lazygit": VERSIONS,
    ".devcontainer": _CONTAINER, ".idx": _CONTAINER, ".gitpod": _CONTAINER, ".ona": _CONTAINER,
    ".codesandbox": _CONTAINER,
    ".config/git": GIT_CONFIG, ".config/fish": _SHELL, ".config/nushell": _SHELL,
    ".config/powershell": _SHELL, ".bashrc.d": _SHELL, ".direnv": _SHELL, ".ipython": INTERPRETER,
    ".jupyter": INTERPRETER, ".julia/config": INTERPRETER, ".config/ptpython": INTERPRETER,
    ".config/gdb": INTERPRETER, ".config/foot": _SHELL, ".mutt": _SHELL, ".config/mutt": _SHELL,
    ".config/neomutt": _SHELL, ".sdkman/bin": _SHELL,
    ".config/elvish": _SHELL, ".elvish": _SHELL, ".config/xonsh": _SHELL, ".bash_completion.d": _SHELL,
    ".local/share/bash-completion": _SHELL, ".zsh": _SHELL, ".zshrc.d": _SHELL, ".zfunc": _SHELL,
    ".oh-my-bash": _SHELL, ".tmux": _SHELL, ".config/zellij": _SHELL,
    ".config/kitty": _SHELL, ".config/alacritty": _SHELL, ".config/ghostty": _SHELL,
    ".config/wezterm": _SHELL, ".cargo/bin": TOOLS, ".docker/cli-plugins": TOOLS,
    ".config/zsh": _SHELL, ".config/bash": _SHELL, ".config/tmux": _SHELL, ".config/direnv": _SHELL,
    ".oh-my-zsh": _SHELL, ".local/bin": _SHELL,
    ".pyenv/shims": TOOLS, ".rbenv/shims": TOOLS, ".asdf/shims": TOOLS, ".volta/bin": TOOLS,
    ".mise": TOOLS, ".config/mise": TOOLS, ".rtx": TOOLS, ".flox": TOOLS, ".shadowenv.d": _SHELL,
    ".config/autostart": _SESSION, ".config/systemd": _SESSION, ".config/environment.d": _SESSION,
    ".config/containers/systemd": _SESSION, ".config/polybar": _SESSION, ".config/waybar": _SESSION,
    ".config/upstart": _SESSION, ".config/plasma-workspace": _SESSION, ".config/lxsession": _SESSION,
    ".config/openbox": _SESSION, ".config/i3": _SESSION, ".config/sway": _SESSION, ".config/hypr": _SESSION,
    ".config/awesome": _SESSION, ".config/bspwm": _SESSION, ".config/sxhkd": _SESSION,
    ".config/qtile": _SESSION, ".config/river": _SESSION, ".config/niri": _SESSION,
    ".config/labwc": _SESSION, ".config/user-tmpfiles.d": _SESSION, ".xmonad": _SESSION, ".kde": _SESSION,
    ".fluxbox": _SESSION, ".local/share/systemd": _SESSION, ".local/share/dbus-1": _SESSION,
    ".local/share/applications": _SESSION, ".local/share/gnome-shell": _SESSION,
    "library/launchagents": _SESSION, ".hammerspoon": _SESSION,
    ".yarn/releases": _PACKAGES, ".yarn/plugins": _PACKAGES, ".luarocks": _PACKAGES,
    ".bundle": _PACKAGES, ".mvn": _PACKAGES, ".gradle/init.d": _PACKAGES,
    **dict.fromkeys(
        (".config/nano", ".config/sublime-text-3", ".config/geany", ".config/lite-xl", ".config/vis",
         ".textadept", ".config/jetbrains", ".local/share/jetbrains", ".vscode-server", ".cursor-server"),
        _EDITOR),
    **dict.fromkeys(
        (".config/lf", ".config/yazi", ".config/ranger", ".config/nnn", ".config/vifm", ".vifm",
         ".config/broot", ".config/mc", ".mc", ".config/mpv", ".mpv", ".config/ncmpcpp", ".config/sxiv",
         ".config/nsxiv", ".config/zathura", ".config/qutebrowser", ".config/weechat", ".weechat",
         ".config/irssi", ".irssi", ".config/newsboat", ".newsboat", ".config/aerc", ".config/msmtp",
         ".config/k9s", ".config/lazydocker", ".config/op", ".config/readline", ".config/thefuck",
         ".config/sheldon", ".config/murex", ".config/ion", ".config/oils", ".config/omf",
         ".config/oh-my-posh", ".local/share/omf", ".local/share/zinit", ".zinit", ".zplug", ".antigen",
         ".zprezto", ".bash_it", ".password-store/.extensions"), _SHELL),
    **dict.fromkeys(
        (".local/share/fnm", ".local/share/mise", ".local/share/helm", ".deno/bin", ".bun/bin",
         ".dotnet/tools", ".krew/bin", ".config/containers", ".config/distrobox", ".lima/_config",
         *(f".{name}/shims" for name in ("nodenv", "jenv", "goenv", "phpenv", "plenv"))), TOOLS),
    **dict.fromkeys(
        (".config/irb", ".config/pry", ".config/octave", ".config/lldb", ".config/ghc", ".ghc",
         ".ptpython", ".config/usql"), INTERPRETER),
    **dict.fromkeys(
        (".config/xmonad", ".config/leftwm", ".config/herbstluftwm", ".config/spectrwm", ".config/dwm",
         ".dwm", ".i3", ".icewm", ".config/i3status", ".config/i3blocks", ".config/eww", ".config/rofi",
         ".config/dunst", ".config/swaync", ".config/mako", ".config/swayidle", ".config/xfce4",
         ".config/thunar", ".config/espanso", ".config/keynav", ".config/touchegg", ".config/pulse",
         ".config/wireplumber", ".config/yabai", ".config/skhd", ".config/sketchybar", ".config/borders",
         ".config/aerospace", ".config/karabiner", ".config/home-manager",
         *(f".local/share/{name}" for name in ("nautilus", "nemo", "kio", "kservices5", "thumbnailers",
                                               "file-manager"))), _SESSION),
    **dict.fromkeys(
        (".config/nix", ".config/nixpkgs", ".nixpkgs", ".config/guix", ".config/pacman", ".config/paru",
         ".config/yay", ".config/pypoetry", ".config/conda", ".config/pnpm", ".config/yarn",
         ".config/composer", ".config/cabal", ".config/clojure", ".config/nuget", ".config/go", ".sbt/1.0",
         ".config/yt-dlp", ".yt-dlp", ".config/youtube-dl", ".config/streamlink", ".config/aria2",
         ".aria2", ".terraform.d", ".vagrant.d", ".packer.d"), _PACKAGES),
    **dict.fromkeys((".config/gitui", ".config/breezy", ".breezy", ".bazaar"), VERSIONS),
    **dict.fromkeys((".git-templates", ".git-template", ".git_templates", ".git_template"), _HOOKS),
}  # fmt: skip
"""Names of folders in which every path is a place that later runs."""
FILES: dict[str, Place] = {
    ".mcp.json": _AGENT_SERVERS,
    **dict.fromkeys(("opencode.json", "opencode.jsonc", ".aider.conf.yml", "crush.json",
                     ".crush.json", "codebuff.json", "gptme.toml", ".aider.model.settings.yml",
                     ".aider.model.metadata.json", "firebender.json", "forge.yaml", ".forge.toml",
                     "conductor.json", ".emdash.json"), _AGENT_SETTINGS),
    **dict.fromkeys(
        ("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".goosehints",
         ".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".roomodes", ".kilocodemodes",
         ".augment-guidelines", ".rules", "agent.md", "qwen.md", "warp.md", "crush.md",
         "iflow.md", "replit.md", "opencode.md", "opencode.local.md", "crush.local.md",
         ".openhands_instructions", ".pearairules", ".voidrules", ".kilocoderules", ".traerules",
         ".coderabbit.yaml", ".coderabbit.yml", "greptile.json", ".pr_agent.toml", "sweep.yaml",
         ".sweep.yaml", "ellipsis.yaml",
         ".github/copilot-instructions.md"), _AGENT),
    **dict.fromkeys(
        (".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".lvimrc", ".dir-locals.el", ".dir-locals-2.el",
         ".emacs", ".wezterm.lua", "rust-analyzer.toml", ".rust-analyzer.toml",
         ".lazy.lua", ".neoconf.json", ".gvimrc", "_vimrc", "_gvimrc", "_exrc", ".local.vimrc",
         ".ycm_extra_conf.py", ".kateproject", "buildserver.json", ".luarc.json", ".luarc.jsonc",
         "hie.yaml", ".hie-bios", ".lsp/config.edn", ".merlin", ".solargraph.yml", ".phpactor.json",
         ".phpactor.yml", "omnisharp.json", ".factorypath", ".emacs.el", ".nanorc", ".spacemacs", ".jedrc",
         ".ideavimrc", ".visrc.lua"),
        _EDITOR),
    **dict.fromkeys(
        (".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
         ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".tmux.conf", ".screenrc",
         ".envrc.local", ".envrc.private", ".rvmrc", ".powrc", ".powenv", ".autoenv", ".autoenv.zsh",
         ".autoenv_leave.zsh", ".config/starship.toml",
         ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".zlogout", ".bash_completion",
         ".lessfilter", ".direnvrc", "bin/activate-hermit", "bin/hermit", "bin/hermit.hcl", ".xonshrc",
         ".mkshrc", ".shrc", ".shinit", ".yashrc", ".zlogin.zwc", ".zshrc.zwc", ".zshenv.zwc", ".p10k.zsh",
         ".fzf.bash", ".fzf.zsh", ".lesskey", ".config/lesskey", ".cargo/env", ".nvm/nvm.sh", ".forward",
         ".procmailrc", ".muttrc", ".mailcap", ".config/bash_completion", ".selected_editor",
         ".config/user-dirs.dirs", ".zimrc", ".zpreztorc", ".zsh_plugins.txt", ".murex_profile",
         ".murex_preload", ".oilrc", ".mbsyncrc", ".offlineimaprc", ".msmtprc", ".nvm/bash_completion",
         ".config/topgrade.toml"), _SHELL),
    **dict.fromkeys(
        ("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".config/mise.toml",
         ".tool-versions", ".rtx.toml", ".rtx.local.toml", ".miserc.toml", "mise/config.toml",
         "mise/config.local.toml", ".prototools", ".asdf/asdf.sh", ".deno/env", ".distroboxrc"),
        TOOLS,
    ),
    **dict.fromkeys(
        (".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".xresources",
         ".xdefaults", ".xclients", ".xserverrc", ".xbindkeysrc", ".xbindkeysrc.scm", ".gnomerc",
         ".spectrwm.conf", ".jwmrc", ".i3blocks.conf", ".config/wayfire.ini", ".config/mimeapps.list",
         ".config/libinput-gestures.conf", ".yabairc", ".skhdrc", ".aerospace.toml"), _SESSION),
    **dict.fromkeys(
        (".gdbinit", ".lldbinit", ".pdbrc", ".irbrc", ".pryrc", ".rprofile", ".ghci", ".ocamlinit",
         ".psqlrc", ".sqliterc", ".iex.exs", ".rdbgrc", ".rdbgrc.rb", ".byebugrc", ".renviron",
         ".erlang", ".duckdbrc", ".mongorc.js", ".mongoshrc.js", ".sbclrc", ".eclrc", ".abclrc", ".guile",
         ".clisprc.lisp", ".ccl-init.lisp", ".racketrc", ".utoprc", ".gdbearlyinit", ".radare2rc",
         ".rizinrc", ".jdbrc", "jdb.ini", ".perldb", ".octaverc", "startup.m", ".rdata", ".psysh.php",
         ".lldbinit-xcode", ".pythonrc", ".pythonrc.py", ".pystartup", ".ammonite/predef.sc", ".usqlrc",
         *(f"jupyter{part}_config.{kind}" for kind in ("py", "json")
           for part in ("", "_server", "_notebook", "_lab", "_console", "_nbconvert")),
         *(f"ipython{part}_config.{kind}" for kind in ("py", "json") for part in ("", "_kernel"))),
        INTERPRETER,
    ),
    **dict.fromkeys(
        (".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", "jenkinsfile", ".cirrus.yml",
         "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml", "appveyor.yml",
         ".appveyor.yml", ".build.yml", ".drone.star", ".drone.jsonnet", ".woodpecker.yaml",
         "cloudbuild.yaml", "buildspec.yml", ".readthedocs.yaml", ".readthedocs.yml",
         "buildspec.yaml", "cloudbuild.yml", "cloudbuild.json", ".drone.yaml", ".cirrus.star", ".zuul.yaml",
         "zuul.yaml", "codemagic.yaml", "bitrise.yml", ".vela.yml", ".vela.yaml", "screwdriver.yaml",
         ".packit.yaml", ".onedev-buildspec.yml", "codefresh.yml", "wercker.yml", ".taskcluster.yml",
         ".prow.yaml", "buddy.yml", ".vsts-ci.yml", ".space.kts", ".scrutinizer.yml", "netlify.toml",
         "vercel.json", "now.json", "render.yaml", "amplify.yml", "heroku.yml", "railway.json",
         "railway.toml", "nixpacks.toml", ".platform.app.yaml"),
        _CI,
    ),
    **dict.fromkeys(
        (".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml", ".overcommit.yml", ".gitlint",
         ".huskyrc", "husky.config.js", "captainhook.json", "grumphp.yml", ".rusty-hook.toml", "hk.pkl",
         ".lintstagedrc", ".commitlintrc",
         *(f"{dot}simple-git-hooks.{kind}" for dot in ("", ".") for kind in ("js", "cjs", "mjs", "json")),
         ".trunk/trunk.yaml", ".trunk/user.yaml",
         *(f".nano-staged.{kind}" for kind in ("json", "js", "cjs", "mjs")),
         *(f"nano-staged.{kind}" for kind in ("js", "cjs", "mjs")),
         *(f".huskyrc.{kind}" for kind in ("json", "yaml", "yml", "js")),
         *(f".commitlintrc.{kind}" for kind in ("json", "yaml", "yml", "js", "cjs", "mjs", "ts", "cts")),
         *(f"commitlint.config.{kind}" for kind in ("js", "cjs", "mjs", "ts", "cts", "mts")),
         *(f"{stem}.{kind}" for stem in (".lintstagedrc", "lint-staged.config")
           for kind in ("js", "cjs", "mjs", "ts", "mts", "cts")),
         *(f".lintstagedrc.{kind}" for kind in ("json", "yaml", "yml")),
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
         ".corepack.env", "pdm.toml", ".pdm.toml", ".pixi/config.toml", ".bowerrc", ".bazelrc",
         ".bazeliskrc", ".buckconfig", ".buckconfig.local", ".plzconfig", ".plzconfig.local",
         ".makepkg.conf", ".quiltrc", ".devscripts", ".rpmmacros", ".asdfrc", ".bunfig.toml",
         ".config/curlrc", ".gradle/gradle.properties", ".m2/settings.xml", ".m2/extensions.xml",
         ".m2/toolchains.xml", ".mavenrc", ".sbtrc", ".sbtopts", ".lein/profiles.clj", ".lein/init.clj",
         ".clojure/deps.edn", ".boot/profile.boot", ".stack/config.yaml", ".cabal/config", ".opam/config",
         ".composer/config.json", "cpan/myconfig.pm", ".terraformrc"),
        _PACKAGES),
    ".hg/hgrc": VERSIONS, ".sl/config": VERSIONS, ".jj/repo/config.toml": VERSIONS,
    **dict.fromkeys((".hg/hgrc-not-shared", ".hg/sharedpath", "branch/branch.conf",
                     ".jj/workspace-config.toml", ".pijul/config", ".gclient",
                     ".arcconfig", ".reviewboardrc", ".gitreview", ".west/config", ".hgrc",
                     ".jjconfig.toml", ".tigrc", ".gitk", ".cvsrc", ".p4config", ".p4enviro"), VERSIONS),
    ".gitconfig": GIT_CONFIG, ".lfsconfig": GIT_CONFIG,
}  # fmt: skip
"""Names of files, or ends of paths, that are places that later run."""
SUFFIXES: dict[str, Place] = {".code-workspace": _EDITOR, ".sublime-project": _EDITOR}
UNHEEDED = (".gitignore", ".gitkeep", "license", "license.txt")
"""Names of files that no program runs or reads as instructions, in any folder."""
BY_DIRENV = frozenset(("flake.nix", "shell.nix", "default.nix", "devenv.nix", "devbox.json"))
"""Files that a trusted `.envrc` in the same folder may use when a shell enters it."""
OF_ENVIRONMENTS = re.compile(r"\.?mise\.[^/]+\.toml")
"""Files that mise reads for one of its environments."""
USER_SITE = re.compile(r"(?:.*/)?\.local/lib(?:/python[\d.]+(?:/site-packages)?)?", re.DOTALL)
"""The folder of a user's own Python packages, and those above it."""
IN_USER_SITE = re.compile(
    r"(?:.*/)?\.local/lib/python[\d.]+/site-packages/(?:(?:user|site)customize\.py|[^/]+\.pth)",
    re.DOTALL,
)
"""Files there that every Python runs when it starts."""
INSTALLED = frozenset((
    "node_modules", "site-packages", "dist-packages", "bower_components", "vendor", "pods"
))  # fmt: skip
"""Folders that installers fill with packages, including their settings: only git's places count there."""
