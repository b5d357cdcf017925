"""Writes the tables of docs that the source has: settings and variables."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from sam_tui.settings.table import SECTIONS, SETTINGS, Setting
from sam_tui.settings.values import toml
from sam_tui.settings.variables import PASSED_ON, SECRETS, SURROUNDINGS

DOCS = Path(__file__).resolve().parents[1] / "docs"
_BLOCK = re.compile(r"(<!-- table: (\w+)[^>]*-->\n).*?(<!-- end -->)", re.DOTALL)
_BY_PROJECT = {"": "", "free": "yes", "on": "to `true`", "more": "adds"}


def settings() -> str:
    """A table for each section."""
    parts: list[str] = []
    for section, title in SECTIONS.items():
        parts += [f"### {title}: `[{section}]`", ""]
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


def _variables(table: Mapping[str, str]) -> Callable[[], str]:
    rows = [f"| `{name}` | {about} |" for name, about in table.items()]
    return lambda: "\n".join(["| Variable | Meaning |", "|---|---|", *rows, ""])


TABLES: Mapping[str, Callable[[], str]] = {
    "settings": settings,
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
