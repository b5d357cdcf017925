"""What well-known programs do, as data: which only read, which reach the network, which need power.

A program that stands nowhere here is taken to write to the workspace.
"""

from collections.abc import Sequence


def names(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


READ_ONLY = names("""
    : true false echo ls dir cat head tail wc stat df du pwd basename dirname realpath
    readlink which type whereis uname whoami id groups uptime free ps pgrep nproc locale cmp
    diff comm cut tr nl tac rev fold fmt paste join column od hexdump md5sum sha1sum
    sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum seq expr sleep jq grep egrep fgrep
    zgrep zcat bzcat xzcat zstdcat cd pushd popd dirs exit return break continue
    shift set shopt fg bg umask ulimit times caller tput tty lscpu lsblk lsmod lsusb getconf
    cal factor numfmt tsort users who w last logname printenv disown sum
    vmstat iostat mpstat pstree pidof tokei eza exa
    """)
"""Only read, whatever their arguments."""

EVALUATING = names("test [ let jobs wait read mapfile readarray printf getopts unset export readonly "
                   "declare typeset local")  # fmt: skip
"""Builtins that only read, but for what a subscript or an option of theirs makes the shell run."""

FLAG_SENSITIVE = {
    "date": (("-s", "--set"), "privileged"),
    "hostname": (("-F", "--file", "-b"), "privileged"),
    "sort": (("-o", "--output", "--compress-program", "-T", "--temporary-directory"), "write"),
    "tree": (("-o", "--output", "-R"), "write"),
    "file": (("-C", "--compile"), "write"),
    "rg": (("--pre", "--hostname-bin"), "write"),
    "yq": (
        ("-i", "--inplace", "--in-place", "-s", "--split-exp", "--security-enable-system-operator"),
        "write",
    ),
    "man": (("-P", "--pager", "-H", "--html", "-X", "-C", "--config-file", "-B", "-r"), "write"),
    "dmesg": (("-c", "-C", "--clear", "--read-clear", "-D", "-E", "-n", "--console"), "privileged"),
    "journalctl": (
        (
            "--rotate",
            "--vacuum-size",
            "--vacuum-time",
            "--vacuum-files",
            "--flush",
            "--sync",
            "--relinquish-var",
            "--smart-relinquish-var",
            "--setup-keys",
            "--update-catalog",
            "--cursor-file",
        ),
        "privileged",
    ),
    "base64": (("-o", "--output"), "write"),
    "base32": (("-o", "--output"), "write"),
    "bat": (("--pager", "--config-file", "--build", "--clear"), "write"),
    "batcat": (("--pager", "--config-file", "--build", "--clear"), "write"),
    "lspci": (("-q", "-Q"), "network"),
    "lsof": (("-D",), "write"),
    "nm": (("--plugin",), "write"),
    "objdump": (("--plugin",), "write"),
    "readelf": (("--plugin",), "write"),
    "size": (("--plugin",), "write"),
    "strings": (("--plugin",), "write"),
    "fd": (("-x", "-X", "--exec", "--exec-batch"), "write"),
    "fdfind": (("-x", "-X", "--exec", "--exec-batch"), "write"),
}
"""Only read without these flags; with one they do what is named."""

WRITES = names(
    "mkdir touch cp mv rm rmdir ln install tee patch unzip gunzip gzip bzip2 bunzip2 xz unxz zip split "
    "csplit mktemp chmod chgrp chown rename unlink"
)
"""Write to the paths that they name and to nothing else, but for these."""

WRITES_HERE = names("tar unzip zip split csplit mktemp")
"""Write to the folder that they run in, whatever they name."""

WRITES_AND_RUNS: dict[str, Sequence[str]] = {
    "zip": ("-T", "--test", "--unzip-command"),
    "split": ("--filter",),
    "install": ("-s", "--strip", "--strip-program"),
    "patch": "*",
    "rename": "*",
}
"""With these options, or ``*`` with any words, they run something else."""

NETWORK = names("""
    curl wget getent http https httpie xh aria2c ssh scp sftp ftp lftp nc ncat netcat socat telnet dig
    nslookup host ping ping6 traceroute tracepath mtr whois rclone gh glab hub aws gcloud gsutil az doctl
    flyctl fly heroku vercel netlify wrangler supabase psql mysql mongosh redis-cli kcat nmap openssl
    rsync mosh yt-dlp s3cmd ansible ansible-playbook
    """)

NETWORK_SUBCOMMANDS = {
    "npm": "install i ci add update up upgrade publish audit outdated view info search login pack exec x",
    "pnpm": "install i add update up publish audit outdated dlx fetch",
    "yarn": "install add upgrade up publish audit outdated dlx",
    "bun": "install add update publish x",
    "npx": "*",
    "bunx": "*",
    "pipx": "*",
    "uvx": "*",
    "pip": "install download index search wheel",
    "pip3": "install download index search wheel",
    "uv": "sync add pip lock publish tool python run",
    "poetry": "install add update publish lock",
    "pdm": "install add update publish lock sync",
    "pipenv": "install update sync lock",
    "conda": "install create update search",
    "mamba": "install create update search",
    "cargo": "install fetch publish update search add login yank",
    "go": "get install mod",
    "gem": "install update push fetch",
    "bundle": "install update add",
    "composer": "install update require",
    "mvn": "*",
    "gradle": "*",
    "helm": "install upgrade repo pull push uninstall",
    "kubectl": "*",
    "terraform": "init plan apply destroy import refresh",
    "brew": "*",
    "docker": "pull push login search",
    "podman": "pull push login search",
}

OUTWARD = {
    "npm": "publish unpublish deprecate",
    "pnpm": "publish",
    "yarn": "publish",
    "bun": "publish",
    "cargo": "publish yank",
    "gem": "push yank",
    "poetry": "publish",
    "uv": "publish",
    "pdm": "publish",
    "twine": "upload",
    "terraform": "apply destroy",
    "kubectl": "delete apply replace drain scale",
    "helm": "uninstall delete rollback",
    "gh": "release repo secret",
    "dropdb": "*",
}
"""Change something elsewhere that cannot be taken back."""

DESTRUCTIVE = names("dd shred truncate wipefs srm wipe mkfs format sgdisk sfdisk blkdiscard")

PRIVILEGED = names("""
    sudo doas su pkexec runuser sudoedit visudo mount umount chroot nsenter unshare setcap setfacl
    insmod rmmod modprobe sysctl iptables ip6tables nft ufw firewall-cmd useradd usermod userdel
    groupadd groupdel groupmod adduser deluser passwd chpasswd chsh chfn systemctl service
    launchctl crontab at batch reboot shutdown halt poweroff init telinit fdisk parted swapon
    swapoff losetup dmsetup cryptsetup systemd-run dbus-send gdbus busctl machinectl loginctl
    hostnamectl timedatectl update-alternatives update-rc.d chkconfig apt apt-get aptitude dpkg
    dnf yum rpm zypper pacman apk snap flatpak emerge tmux screen gpasswd newgrp setpriv capsh
    security defaults spctl csrutil tccutil osascript open xdg-open docker podman nerdctl lxc
    lxd virsh vagrant ip ifconfig route arp tc ethtool kexec debugfs mknod hwclock chattr
    """)
"""Change the system, or reach a process that the sandbox does not hold."""

CALM_SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "systemctl": (
        "status is-active is-enabled is-failed list-units list-unit-files show cat",
        "-l -a -n -p -t --all --no-pager --full --type --state --property --user --system --lines",
    ),
    "docker": ("ps images logs inspect version info top stats port diff history", "*"),
    "podman": ("ps images logs inspect version info top stats port diff history", "*"),
    "apt": ("list search show policy", "-a --installed --upgradable --all-versions --names-only"),
    "dpkg": ("-l -L -s -S --list --listfiles --status --search", ""),
    "rpm": ("-q -qa -qi -ql -qf", "-i -l --info --list --requires --provides --changelog"),
    "brew": ("list --version --prefix", "--versions --formula --cask -1"),
    "crontab": ("-l", ""),
    "snap": ("list", "--all"),
    "loginctl": ("list-sessions", "--no-pager"),
    "timedatectl": ("status show", "--no-pager"),
    "npm": (
        "ls list root bin prefix -v --version",
        "-a -g -l -p --all --depth --json --long --parseable --global --omit --prod --link",
    ),
    "pip": (
        "list show freeze check --version -V",
        "-v -f -q --format --user --local --not-required --all --files --verbose --editable",
    ),
    "go": ("version env doc", "-all -u -src -short -json -m"),
    "conda": ("list info", "-n --name -e --export --json --envs"),
    "gem": ("list environment", "--local"),
    "getent": ("passwd group services protocols", ""),
}
"""Subcommands that only look, and the options that leave it so; ``*`` for any."""

VERSIONED = names("""
    python python2 python3 node deno bun ruby perl php java javac npm pip pip3
    uv poetry gcc g++ clang clang++ cc make cmake ninja git docker podman kubectl terraform helm gh
    tsc eslint prettier ruff mypy black bash zsh fish tar curl wget
    rg fd sed awk gawk grep jq yq psql mysql sqlite3 redis-cli ffmpeg swift zig
    """)
"""Known to do nothing but answer to ``--version`` or ``-V`` alone, whatever the folder holds.

Those that load a folder's own settings or plugins first (yarn, mvn, pytest, tox) are not among them.
"""

SHELLS = names("sh bash zsh dash ksh ash fish")
INTERPRETERS = names("""
    python python2 python3 node deno ruby perl php lua Rscript osascript tclsh guile ghci irb
    pypy pypy3 ts-node tsx
    """)

WRAPPERS: dict[str, tuple[str, str, int]] = {
    "env": (
        "-u --unset -C --chdir",
        "-i -0 -v --null --debug --ignore-environment",
        0,
    ),
    "nice": ("-n --adjustment", "", 0),
    "ionice": ("-c -n -p --class --classdata", "-t --ignore", 0),
    "nohup": ("", "", 0),
    "setsid": ("", "-c -f -w --ctty --fork --wait", 0),
    "stdbuf": ("-i -o -e --input --output --error", "", 0),
    "time": ("-f --format", "-p -v --portability --verbose", 0),
    "timeout": (
        "-s -k --signal --kill-after",
        "-v -f -p --verbose --foreground --preserve-status",
        1,
    ),
    "gtimeout": ("-s -k --signal --kill-after", "-v --verbose --foreground --preserve-status", 1),
    "command": ("", "-p", 0),
    "builtin": ("", "", 0),
    "exec": ("-a", "-c -l", 0),
    "coproc": ("", "", 0),
    "xargs": (
        "-I -L -n -P -s -d -a -E --max-args --max-procs --max-chars --delimiter --arg-file",
        "-0 -r -t -x -o -p -i -e -l --null --no-run-if-empty --verbose --exit --replace --max-lines "
        "--eof --open-tty --interactive",
        0,
    ),
    "watch": (
        "-n --interval",
        "-b -c -d -e -g -p -t -x --beep --color --differences --errexit --chgexit --precise --no-title "
        "--exec",
        0,
    ),
    "flock": (
        "-w -E --timeout --wait --conflict-exit-code",
        "-s -x -e -n -u -o -F --shared --exclusive --nb --nonblock --unlock --close --no-fork --verbose",
        1,
    ),
    "unbuffer": ("", "-p", 0),
    "chronic": ("", "-v -e", 0),
    "busybox": ("", "", 0),
    "strace": ("-e -p -s -u -E -P -o", "-f -ff -c -C -t -tt -T -y -v -x -q -r -i -k", 0),
    "ltrace": ("-e -p -s -u -o", "-f -c -C -t -T -S -i", 0),
    "caffeinate": ("-t -w", "-d -i -m -s -u", 0),
    "sudo": (
        "-u -g -h -p -C -T -U -D -R -r -t --user --group --host --prompt --chdir",
        "-A -b -E -e -H -i -K -k -l -n -P -S -s -v",
        0,
    ),
    "doas": ("-u -C", "-L -n -s", 0),
    "parallel": ("-j --jobs -a --arg-file", "-k -0 --keep-order --null --dry-run", 0),
}
"""Programs that run another: their options that take a value, those that take none, and how many words
stand before it. An option that is not here may change what the words after it are."""

JOINING = names("watch parallel")
"""Those that hand all their words to a shell."""

DANGEROUS_VARIABLES = sorted(
    names(
        "PATH LD_* DYLD_* BASH_* ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND GIT_* *PAGER *EDITOR "
        "VISUAL PYTHON* NODE_OPTIONS NODE_PATH PERL5* PERLLIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS "
        "_JAVA_OPTIONS JDK_JAVA_OPTIONS GCONV_PATH GETCONF_DIR GLIBC_TUNABLES LESS* MANOPT MANPATH "
        "MANROFF* GROFF_* TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS BROWSER SSH_* HOME XDG_* CDPATH "
        "GLOBIGNORE CC CXX RUSTC* RUSTDOC* RUSTFLAGS RUSTUP_* CARGO_HOME CARGO_BUILD_* CARGO_TARGET_*_* "
        "CARGO_ALIAS_* GOFLAGS GOROOT GOPATH GOENV GOTOOLCHAIN MAKEFLAGS NPM_CONFIG_* npm_config_* "
        "COREPACK_* PIP_* UV_* POETRY_* BUNDLE_* GEM_* DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT KUBE* "
        "TF_* DOTNET_* MAVEN_* GRADLE_* OPENSSL_* SYSTEMD_* BAT_* TERMINFO* DPKG_* APT_* AWKPATH "
        "AWKLIBPATH RANDOM SRANDOM SECONDS LINENO HISTCMD OPTIND"
    )
)
"""Variables that make a program run something else than its name says."""

REGENERABLE = names("""
    node_modules dist build out target coverage htmlcov .coverage __pycache__ .pytest_cache
    .mypy_cache .ruff_cache .hypothesis .tox .nox .eggs .next .nuxt .output .svelte-kit .turbo
    .parcel-cache .cache .gradle .venv venv env tmp temp .tmp .nyc_output storybook-static
    cmake-build-debug cmake-build-release _build site .terraform
    """)
"""Names of folders that a build makes again."""
