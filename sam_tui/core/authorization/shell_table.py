"""What well-known programs do, as data: which only read, which reach the network, which need power.

A program that stands nowhere here is taken to write to the workspace.
"""


def names(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


READ_ONLY = names("""
    : [ true false test echo printf ls dir cat head tail wc stat df du pwd basename dirname realpath
    readlink which type whereis uname whoami id groups uptime free ps pgrep nproc arch locale cmp
    diff comm cut tr nl tac rev fold fmt paste join column od hexdump strings md5sum sha1sum
    sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum seq expr sleep jq grep egrep fgrep
    zgrep zcat bzcat xzcat zstdcat base64 base32 cd pushd popd dirs exit return break continue wait
    read shift getopts local declare typeset readonly export unset set shopt let jobs fg bg umask
    ulimit times caller tput tty nm objdump readelf size lscpu lsblk lsmod lspci lsusb lsof getconf
    getent cal factor numfmt tsort users who w last logname printenv mapfile readarray disown sum
    vmstat iostat mpstat pstree pidof cloc tokei pygmentize bat batcat eza exa
    """)
"""Only read, whatever their arguments."""

FLAG_SENSITIVE = {
    "date": (("-s", "--set"), "privileged"),
    "hostname": (("-F", "--file", "-b"), "privileged"),
    "sort": (("-o", "--output", "--compress-program", "-T", "--temporary-directory"), "write"),
    "tree": (("-o", "--output"), "write"),
    "file": (("-C", "--compile"), "write"),
    "rg": (("--pre", "--hostname-bin"), "write"),
    "yq": (("-i", "--inplace", "--in-place", "-s", "--split-exp"), "write"),
    "man": (("-P", "--pager", "-H", "--html", "-X"), "write"),
    "less": (("-o", "-O", "--log-file", "--LOG-FILE", "-k", "--lesskey-file"), "write"),
    "dmesg": (("-c", "-C", "--clear", "--read-clear", "-D", "-E", "-n"), "privileged"),
    "journalctl": (("--rotate", "--vacuum-size", "--vacuum-time", "--flush"), "privileged"),
}
"""Only read without these flags; with one they do what is named."""

WRITES = names(
    "mkdir touch cp mv rm rmdir ln install tee patch unzip gunzip gzip bzip2 bunzip2 xz unxz zip split "
    "csplit mktemp chmod chgrp chown rename unlink"
)
"""Write to the paths that they name and to nothing else."""

NETWORK = names("""
    curl wget http https httpie xh aria2c ssh scp sftp ftp lftp nc ncat netcat socat telnet dig nslookup
    host ping ping6 traceroute tracepath mtr whois rclone gh glab hub aws gcloud gsutil az doctl
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

CALM_SUBCOMMANDS = {
    "systemctl": "status is-active is-enabled is-failed list-units list-unit-files show cat",
    "docker": "ps images logs inspect version info top stats port diff history",
    "podman": "ps images logs inspect version info top stats port diff history",
    "apt": "list search show policy",
    "apt-get": "",
    "dpkg": "-l -L -s -S --list --listfiles --status --search",
    "rpm": "-q -qa -qi -ql -qf",
    "brew": "list info search --version --prefix config",
    "crontab": "-l",
    "ip": "a addr link route r neigh",
    "tmux": "ls list-sessions",
    "snap": "list info find",
    "loginctl": "list-sessions",
    "timedatectl": "status show",
    "kubectl": "get describe logs version config explain api-resources top",
    "npm": "ls list root bin prefix config-list -v --version",
    "pip": "list show freeze check --version -V",
    "pip3": "list show freeze check --version -V",
    "cargo": "tree metadata --version -V locate-project",
    "go": "version env list doc vet",
    "gh": "",
    "terraform": "version show output validate graph",
    "uv": "--version tree",
    "poetry": "show check --version env",
    "rustup": "show --version",
    "conda": "list info",
    "gem": "list environment",
}
"""Subcommands that only look, where the program itself does more."""

VERSIONED = names("""
    python python2 python3 node deno bun ruby perl php java javac go rustc cargo npm pnpm yarn pip pip3
    uv poetry gcc g++ clang clang++ cc make cmake ninja git docker podman kubectl terraform helm gh
    tsc eslint prettier ruff mypy pyright pytest black jest vitest tox nox bash zsh fish tar curl wget
    rg fd sed awk gawk grep jq yq psql mysql sqlite3 redis-cli ffmpeg gradle mvn swift dotnet zig
    """)
"""Known to do nothing but answer to ``--version``, ``-V`` or ``--help`` alone."""

SHELLS = names("sh bash zsh dash ksh ash fish")
INTERPRETERS = names("""
    python python2 python3 node deno ruby perl php lua Rscript osascript tclsh guile ghci irb
    pypy pypy3 ts-node tsx
    """)

WRAPPERS: dict[str, tuple[str, int]] = {
    "env": ("-u --unset -C --chdir -S --split-string", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p -t --class --classdata", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "time": ("-f -o --format --output", 0),
    "timeout": ("-s -k --signal --kill-after", 1),
    "gtimeout": ("-s -k --signal --kill-after", 1),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "coproc": ("", 0),
    "xargs": (
        "-I -i -L -l -n -P -s -d -a -E --replace --max-lines --max-args --max-procs --max-chars "
        "--delimiter --arg-file --eof",
        0,
    ),
    "watch": ("-n --interval", 0),
    "flock": ("-w -E --timeout --conflict-exit-code", 1),
    "unbuffer": ("", 0),
    "chronic": ("", 0),
    "busybox": ("", 0),
    "strace": ("-e -p -s -u -E -P -o", 0),
    "ltrace": ("-e -p -s -u -o", 0),
    "caffeinate": ("-t -w", 0),
    "sudo": ("-u -g -h -p -C -T -U -D -R -r -t --user --group --host --prompt --chdir", 0),
    "doas": ("-u -C", 0),
    "parallel": ("-j --jobs -a --arg-file", 0),
}
"""Programs that run another: their options that take a value, and how many words stand before it."""

DANGEROUS_VARIABLES = sorted(
    names(
        "PATH LD_* DYLD_* BASH_ENV ENV IFS SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND GIT_* *PAGER *EDITOR "
        "VISUAL PYTHON* NODE_OPTIONS NODE_PATH PERL5* PERLLIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS "
        "_JAVA_OPTIONS GCONV_PATH LESSOPEN LESSCLOSE TAR_OPTIONS RIPGREP_CONFIG_PATH GREP_OPTIONS BROWSER "
        "SSH_* HOME XDG_* CDPATH GLOBIGNORE BASH_FUNC_* CC CXX RUSTC_WRAPPER MAKEFLAGS NPM_CONFIG_*"
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
