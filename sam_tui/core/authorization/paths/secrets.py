"""The places of secrets: places below the home folder, system files, and names that give them away.

``~/.ssh`` and its kind, browser profiles and keychains on Linux and macOS, ``.env*``, private keys.
"""

import fnmatch
import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sam_tui.core.authorization.paths.folding import folded
from sam_tui.core.local_files.real_paths import RealPaths

HOME_PLACES = (
    ".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker/config.json", ".config/gh",
    ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/op", ".config/rclone",
    ".config/git/credentials", ".config/github-copilot", ".config/doctl", ".config/sops",
    ".config/containers/auth.json", ".git-credentials", ".netrc", "_netrc", ".pgpass", ".my.cnf",
    ".mylogin.cnf", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials",
    ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
    ".terraformrc", ".vault-token", ".s3cfg", ".boto", ".password-store", ".1password", ".authinfo",
    ".authinfo.gpg", ".local/share/keyrings", ".local/share/kwalletd", ".claude/.credentials.json",
    ".codex/auth.json", ".gemini/oauth_creds.json", ".local/share/opencode/auth.json",
    ".config/Bitwarden", ".config/keepassxc", ".electrum", ".bitcoin", ".ethereum",
    ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
    # Agents, models and data.
    ".claude.json", ".gemini/mcp-oauth-tokens.json", ".qwen/oauth_creds.json", ".copilot/config.json",
    ".factory/auth.json", ".grok/user-settings.json", ".continue/config.yaml", ".continue/config.json",
    ".config/goose/secrets.yaml", ".local/share/amp/secrets.json", ".local/share/crush/crush.json",
    ".config/io.datasette.llm/keys.json", ".cache/huggingface/token", ".cache/huggingface/stored_tokens",
    ".huggingface/token", ".kaggle/kaggle.json", ".modal.toml", ".runpod", ".config/Claude",
    ".cursor/mcp.json", ".databrickscfg", ".snowsql", ".snowflake", ".dbeaver", ".local/share/DBeaverData",
    # Clouds, hosts and packages.
    ".fly", ".local/share/com.vercel.cli", ".config/netlify", ".netlify", ".config/configstore",
    ".wrangler", ".config/.wrangler", ".railway", ".supabase", ".pulumi/credentials.json",
    ".config/stripe", ".config/ngrok", ".ngrok2", ".cloudflared", ".oci", ".aliyun", ".bluemix",
    ".config/hcloud", ".config/linode-cli", ".config/scw", ".config/argocd", ".sentryclirc", ".tsh",
    ".step", ".config/helm/registry", ".config/pypoetry/auth.toml", ".local/share/uv/credentials",
    ".bunfig.toml", ".composer/auth.json", ".config/composer/auth.json", ".sbt/.credentials",
    ".ivy2/.credentials",
    # Wallets and vaults, remote desktops, mail.
    ".config/Bitwarden CLI", ".config/1Password", ".config/rbw", ".config/gopass", ".config/age",
    ".local/share/gopass", ".config/solana", ".foundry/keystores", ".config/filezilla", ".config/remmina",
    ".local/share/remmina", ".vnc", ".smbcredentials", ".config/syncthing", ".local/state/syncthing",
    ".Xauthority", ".ICEauthority", ".msmtprc", ".fetchmailrc", ".mbsyncrc", ".offlineimaprc",
    # Typed text: shells, interpreters, editors.
    ".local/share/fish/fish_history", ".config/fish/fish_history", ".viminfo", ".vim/viminfo",
    ".local/share/nvim/shada", ".local/state/nvim/shada", ".local/share/powershell/PSReadLine",
    ".ipython/profile_default/history.sqlite", ".Rhistory", ".lesshst", ".histfile", ".history",
    ".config/ghostty/history", ".local/state/bash", ".local/state/zsh", ".local/share/atuin",
    ".atuin", ".mongodb/mongosh/mongosh_repl_history", ".bash_sessions", ".zsh_sessions",
    # Conversations.
    ".config/Signal", ".config/Slack", ".config/discord", ".config/Element", ".config/Microsoft",
    ".config/teams-for-linux", ".config/Mattermost", ".config/skypeforlinux", ".config/zoom",
    ".local/share/TelegramDesktop", ".purple", ".weechat", ".config/weechat", ".irssi",
    ".config/hexchat", ".config/evolution", ".local/share/evolution", ".claude/projects",
    ".claude/history.jsonl", ".claude/todos", ".codex/sessions", ".codex/history.jsonl", ".gemini/tmp",
    ".local/share/opencode/storage", ".config/Session", ".config/Code/User/globalStorage",
    ".config/Code/User/workspaceStorage", ".config/Cursor/User/globalStorage",
    ".config/Cursor/User/workspaceStorage", ".var/app/org.signal.Signal", ".var/app/com.slack.Slack",
    ".var/app/com.discordapp.Discord", ".var/app/org.telegram.desktop", ".var/app/im.riot.Riot",
    ".var/app/org.mozilla.Thunderbird", "snap/signal-desktop", "snap/slack", "snap/discord",
    "snap/telegram-desktop", "snap/thunderbird",
    # Browsers and mail, Linux.
    ".mozilla", ".librewolf", ".thunderbird", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
    "snap/firefox", "snap/chromium", ".var/app/org.mozilla.firefox", ".var/app/com.google.Chrome",
    ".var/app/com.brave.Browser", ".var/app/org.chromium.Chromium",
    ".cache/mozilla", ".cache/google-chrome", ".cache/chromium", ".cache/thunderbird",
    ".config/zen", ".zen", ".config/google-chrome-beta", ".config/epiphany", ".local/share/epiphany",
    # macOS.
    "Library/Application Support/Slack", "Library/Application Support/discord",
    "Library/Application Support/Signal", "Library/Application Support/Microsoft/Teams",
    "Library/Application Support/Claude", "Library/Application Support/Code/User/globalStorage",
    "Library/Application Support/Cursor/User/globalStorage",
    "Library/Group Containers/6N38VWS5BX.ru.keepcoder.Telegram", "Library/Caches/Firefox",
    "Library/Caches/Google/Chrome",
    "Library/Keychains", "Library/Safari", "Library/Cookies", "Library/Mail", "Library/Messages",
    "Library/Containers/com.apple.Safari", "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome", "Library/Application Support/Chromium",
    "Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge",
    "Library/Application Support/Arc", "Library/Application Support/Vivaldi",
    "Library/Application Support/com.operasoftware.Opera",
    "Library/Group Containers/2BUA8C4S2C.com.1password",
)  # fmt: skip
SYSTEM_PLACES = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssl/private", "/etc/pki/tls/private", "/Library/Keychains",
    "/etc/krb5.keytab", "/etc/wireguard", "/etc/NetworkManager/system-connections",
    "/run/secrets", "/var/run/secrets", "/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore",
)  # fmt: skip
MCP_TOKEN = "mcp-token"
"""The file in the data folder with the token of the MCP server. Whoever has it can approve calls."""
FLEET_KEY, PLAN_TOKEN, WEB_TOKEN = "fleet-key", "plan-token", "web-token"
"""Files in the data folder: the key that seals messages of fleets, and the tokens of the plan API and of
the workbench in a browser."""
KEYS_FILE = "keys.json"
"""The file in the data folder with the provider keys that the person typed."""
ENVIRONMENT_FILE, PRIVATE_KEY = "an environment file", "a private key"
"""Kinds of secret files, in words."""
_EXAMPLES = re.compile(r"\.(example|sample|template|dist|defaults?|schema|tpl|md|d\.ts)$", re.I)
_ENVIRONMENT = re.compile(
    r"\.env(?:rc)?(?:[._-].*)?$|\.dev\.vars(?:\..*)?$|local\.settings\.json$", re.I
)
_PRIVATE_KEY = re.compile(
    r"(?:id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-].*)?|ssh_host_.*_key"
    r"|(?:.*[._-])?priv(?:ate)?(?:[._-]?key)?.*\.(?:pem|key)|privkey.*|(?:.*[._-])?key\.pem|master\.key)$",
    re.I,
)
_KEY_FILE = re.compile(r".*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk)$", re.I)
_HISTORY = re.compile(
    r"\.(?:bash|zsh|sh|ash|ksh|fish|csh|tcsh|python|node_repl|ts_node_repl|irb|pry|psql|mysql|mariadb"
    r"|sqlite|rediscli|mongo|dbshell|scala|lua|php|octave|gdb|julia|R|duckdb|clickhouse-client)[_-]?hist(?:ory)?$",
    re.I,
)
_CREDENTIALS = re.compile(
    r"(?:[._]netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.pypirc|\.vault-token|krb5cc_\d+"
    r"|\.sam-tui-[a-z0-9_]{8}"  # a private file while it is being replaced
    rf"|{MCP_TOKEN}|{FLEET_KEY}|{PLAN_TOKEN}|{WEB_TOKEN})$",  # of any data folder, also another program's
    re.I,
)
_ENDINGS = ("/.m2/settings.xml", "/.m2/settings-security.xml", "/.gradle/gradle.properties")
_PROCESS = re.compile(r"/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|maps|auxv|pagemap|fd/.*)$")
_KEY_FOLDERS = re.compile(r"/\.(?:ssh|aws|gnupg)/")
_NAMES = (".env", ".env.local", ".envrc", "id_rsa", "id_ed25519")


@dataclass(frozen=True, slots=True)
class Secrets:
    """All secret locations, for one home folder. ``extra`` are more real paths, such as our own data."""

    home: str
    extra: tuple[str, ...] = ()
    paths: tuple[str, ...] = field(init=False)
    """Absolute real paths of files and folders that a sandbox hides."""
    _keys: tuple[tuple[str, str], ...] = field(init=False, repr=False)
    _home: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Resolve every place once: a ``~/.ssh`` that is a link means its target, too."""
        real_home = os.path.realpath(self.home) if self.home else ""
        top = os.path.join(self.home, "")
        named = [f"{top}{path}" for path in HOME_PLACES] if self.home else []
        below = [f"{real_home.rstrip('/')}/{path}" for path in HOME_PLACES] if self.home else []
        both = [*named, *map(RealPaths().of, below), *SYSTEM_PLACES, *self.extra]
        paths = tuple(dict.fromkeys(both))
        object.__setattr__(self, "paths", paths)
        keys = tuple(folded(path) for path in paths)
        object.__setattr__(self, "_keys", tuple((key, key.rstrip("/") + "/") for key in keys))
        object.__setattr__(self, "_home", folded(real_home))

    def find(self, real: str, *, inside: bool) -> str:
        """Return why a real path is secret: the secret folder, or words for the file's name; empty if
        it is not.

        ``inside`` says that it lies in the workspace: there only names of plain secrets count.
        """
        key = folded(real)
        for path, below in self._keys:
            if key == path or key.startswith(below):
                return path
        return self._by_name(key, inside=inside)

    def finder(self, folder: str, *, inside: bool) -> Callable[[str], str]:
        """``find`` for many real paths below one folder, which looks at few places."""
        top = folded(folder).rstrip("/") + "/"
        keys = [(k, b) for k, b in self._keys if b.startswith(top) or top.startswith(b)]

        def find(real: str) -> str:
            key = folded(real)
            near = (path for path, below in keys if key == path or key.startswith(below))
            return next(near, "") or self._by_name(key, inside=inside)

        return find

    def named(self, real: str, *, inside: bool) -> str:
        """Return what makes a real path secret by its name alone; empty if nothing does."""
        return self._by_name(folded(real), inside=inside)

    def _by_name(self, key: str, *, inside: bool) -> str:
        name = key.rpartition("/")[2]
        if what := _kind_of(name, key):
            return what
        if not inside and _KEY_FILE.match(name) and self._at_home(key):
            return "a key file"
        return key if key.startswith("/proc/") and _PROCESS.match(key) else ""

    def _at_home(self, key: str) -> bool:
        return bool(self._home) and key.startswith(f"{self._home}/")

    def above(self, real: str) -> bool:
        """Whether secret places of the home folder lie below a real path."""
        key = folded(real).rstrip("/") + "/"
        return bool(self._home) and (self._home + "/").startswith(key)

    def touched_by(self, pattern: str) -> str:
        """Return a secret that a shell pattern (absolute, unexpanded) could match, or empty."""
        parts = folded(pattern).split("/")
        for path, _ in self._keys:
            names = path.split("/")
            if all(_matches(n, p) for n, p in zip(names, parts, strict=False)) and (
                len(parts) >= len(names)
            ):
                return path
        if any(_matches(name, parts[-1]) for name in _NAMES):
            return "a name of secrets"
        return ""

    def hinted_by(self, text: str) -> bool:
        """Whether text that is no plain path, such as a line of code, names a secret place."""
        homes = tuple(home for home in ("~", "$HOME", "${HOME}", self.home) if home)
        homes_named = _home_places().finditer(text)
        return any(text.endswith(homes, 0, match.start()) for match in homes_named) or bool(
            _KEY_FOLDERS.search(text)
        )


@functools.cache
def _home_places() -> re.Pattern[str]:
    """The pattern of secret paths below the home folder, compiled at the first use."""
    return re.compile(rf"/(?:{'|'.join(map(re.escape, HOME_PLACES))})\b")


def _matches(name: str, pattern: str) -> bool:
    if name.startswith(".") and pattern.startswith(("*", "?", "[")):
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _kind_of(name: str, key: str) -> str:
    """The kind of secret that a file of this name is, in any folder; empty for none."""
    if _ENVIRONMENT.match(name) and not _EXAMPLES.search(name):
        return ENVIRONMENT_FILE
    if key.endswith("/.streamlit/secrets.toml"):
        return ENVIRONMENT_FILE
    if _PRIVATE_KEY.match(name) and not name.endswith(".pub"):
        return PRIVATE_KEY
    if _HISTORY.match(name):
        return "a history of what was typed"
    return "a file of credentials" if _CREDENTIALS.match(name) or key.endswith(_ENDINGS) else ""
