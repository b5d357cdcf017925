"""The table of services behind socket files: the abilities of a client of each, by the file's name."""

import re

_SERVICES = tuple(
    (re.compile(names, re.I), gives)
    for names, gives in (
        (
            r"(?:docker|podman|containerd|crio|buildkitd)\.sock$|/(?:lxd|incus)/unix\.socket|/libvirt",
            "it starts containers or machines with full access to this one",
        ),
        (r"/S\.gpg-agent|/keyring/|/agent\.|ssh-agent|(?:^|/)ssh-[^/]+/", "it uses your keys"),
        (r"\.X11-unix/X|/wayland-\d", "it sees your screen and types for you"),
        (
            r"/bus$|system_bus_socket|/systemd/|/dbus-|/supervisor\.sock|/snapd|/at-spi",
            "it makes your services start programs",
        ),
        (
            r"/tmux-|/screens?/|/zellij|/kitty|/wezterm|/nvim|/emacs|vscode-|/\.?s\.PGSQL",
            "it controls a program of yours",
        ),
        (r"/(?:pulse|pipewire)", "it hears your microphone"),
    )
)


def given_away(path: str) -> str:
    """The power of a client of this socket, in words; empty for unknown names."""
    return next((gives for names, gives in _SERVICES if names.search(path)), "")
