"""Writes the tables of docs that the source has: settings and variables."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from sam_tui.settings.table import SECTIONS, SETTINGS, Setting
from sam_tui.settings.values import toml
from sam_tui.settings.variables import PASSED_ON, SECRETS, SURROUNDINGS
from sam_tui.ui.action_tables.groups import grouped
from sam_tui.ui.action_tables.keymap import FIXED
from sam_tui.ui.actions import ACTIONS, WorkbenchAction, spelled

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"(<!-- table: (\w+)[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
_BY_PROJECT = {"": "", "free": "yes", "on": "to `true`", "more": "adds"}


def settings() -> str:
    """A table for each section."""
    parts: list[str] = []
    for section, title in SECTIONS.items():
        parts += [f"### {title}: `[{section}]`", ""]
        if section == "keys":
            parts += ["An action's name with its keys: [keys](keys.md).", ""]
            continue
        parts += [
            "| Setting | Variable | Option | Default | Folder | Meaning |",
            "|---|---|---|---|---|---|",
        ]
        parts += [_row(setting) for setting in SETTINGS if setting.section == section]
        parts.append("")
    return "\n".join(parts)


def _row(setting: Setting) -> str:
    option = f"`--{setting.option.replace('_', '-')}`" if setting.option else ""
    option = option.replace("--fallback-models", "--fallback-model")
    env = f"`{setting.env}`" if setting.env else ""
    default = f"`{toml(setting.default)}`" if setting.default not in ("", (), 0, 0.0) else ""
    default = "`false`" if setting.default is False else default
    about = setting.about
    if choices := ", ".join(f"`{choice}`" for choice in setting.choices if choice):
        about += f": {choices}"
    cells = (f"`{setting.name}`", env, option, default, _BY_PROJECT[setting.project], about)
    return "| " + " | ".join(cells) + " |"


def keys() -> str:
    """Every action under its heading."""
    parts: list[str] = []
    for heading, actions in grouped(ACTIONS):
        parts += [f"## {heading}", "", "| Action | Keys | Command | |", "|---|---|---|---|"]
        parts += [_action(action) for action in actions]
        parts.append("")
    return "\n".join(parts)


def _action(action: WorkbenchAction) -> str:
    fixed = action.local or action.name in FIXED
    pressed = " ".join(f"`{spelled(key)}`" for key in action.keys)
    argument = action.argument.replace("|", "\\|")
    typed = f"/{action.slash} {argument}".strip() if action.slash else action.typed
    command = f"`{typed}`" if typed else ""
    name = action.name + (" (fixed)" if fixed else "")
    return f"| {name} | {pressed} | {command} | {action.help.replace('|', chr(92) + '|')} |"


def _variables(table: Mapping[str, str]) -> Callable[[], str]:
    rows = [f"| `{name}` | {about} |" for name, about in table.items()]
    return lambda: "\n".join(["| Variable | Meaning |", "|---|---|", *rows, ""])


TABLES: Mapping[str, Callable[[], str]] = {
    "settings": settings,
    "keys": keys,
    "secrets": _variables(SECRETS),
    "surroundings": _variables(SURROUNDINGS),
    "passed": _variables(PASSED_ON),
}


def filled(text: str) -> str:
    """A document with its tables as they are now."""
    return _BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def main() -> None:
    """Write every document that has such a table."""
    for path in DOCS.glob("*.md"):
        text = path.read_text("utf-8")
        if (now := filled(text)) != text:
            path.write_text(now, "utf-8")


if __name__ == "__main__":
    main()
