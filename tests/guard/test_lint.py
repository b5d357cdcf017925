"""The linter names rules that never decide and rules that allow too much, and no others."""

from pathlib import Path

import pytest

from sam_tui.adapters.policy.files import parse_policy
from sam_tui.core.authorization.paths.secrets import Secrets
from sam_tui.core.authorization.policy.lint import lint
from sam_tui.core.authorization.rules.rule import Layer


def faults(text: str, folder: Path, *, layer: Layer = "user", trusted: bool = True) -> list[str]:
    """Fault and rule of each finding."""
    home = str(folder / "home")
    rules = parse_policy(text, "p", layer, root=str(folder), home=home).rules
    found = lint(
        rules,
        secrets=Secrets(home),
        protected=(str(folder / "own"),),
        trusted=trusted,
        now=1_800_000_000.0,
    )
    return [f"{finding.fault} {finding.rule.id.partition(':')[2]}" for finding in found]


def rules(*rows: str) -> str:
    """Rules of ``effect key=value …`` each; a value goes to the end of the row after ``=``."""
    blocks: list[str] = []
    for row in rows:
        effect, *fields = row.split("; ")
        lines = ["[[rule]]", f'effect = "{effect}"']
        for field in fields:
            key, _, value = field.partition("=")
            lines.append(f"{key} = {value}" if value == "true" else f'{key} = "{value}"')
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


@pytest.mark.requirement("guard:lint")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rules("allow; command=npm run", "allow; command=npm run build"), ["shadowed 2"]),
        (rules("deny; command=git push", "allow; command=git push origin"), ["unreachable 2"]),
        (rules("allow; command=git push origin", "deny; command=git push"), ["unreachable 1"]),
        (rules("ask; path=src", "allow; path=src/a"), ["unreachable 2"]),
        (rules("deny; path=*.pem", "allow; path=x.pem"), ["unreachable 2"]),
        (rules("deny; host=*.a.com", "ask; host=b.a.com"), ["unreachable 2"]),
        (rules("deny; operation=terminal_operations",
               "allow; operation=terminal_operations.run_command; command=make"), ["unreachable 2"]),
        (rules("deny; path=src; access=write", "allow; path=src; access=read"), []),
        (rules("deny; path=src; between=09:00-17:00", "allow; path=src"), []),
        (rules("deny; command=git push; path=src", "allow; command=git push"), []),
        (rules("deny; path=src", "allow; command=make"), []),
        (rules("allow; path=src; until=2020-01-01"), ["unreachable 1"]),
        (rules("allow; path=src; workspace=/nowhere/at/all"), ["unreachable 1"]),
        (rules("allow; path=own/x"), ["unreachable 1"]),
        (rules("allow; command=bash"), ["over-broad 1"]),
        (rules("allow; command=python -c"), ["over-broad 1"]),
        (rules("allow; command=sudo"), ["over-broad 1"]),
        (rules("allow; command=*"), ["over-broad 1"]),
        (rules("allow; command=bash; exact=true"), []),
        (rules("allow; class=privileged"), ["over-broad 1"]),
        (rules("allow; path=/"), ["over-broad 1"]),
        (rules("allow; path=~"), ["over-broad 1"]),
        (rules("allow; path=/srv"), ["over-broad 1"]),
        (rules("allow; path=~/notes"), []),
        (rules("allow; host=*"), ["over-broad 1"]),
        (rules("allow; operation=file_operations.create_file"), ["over-broad 1"]),
        (rules("deny; path=/", "ask; class=network", "allow; command=make test"), []),
        (rules("deny; class=privileged", "deny; command=bash", "ask; host=*"), []),
    ],
)  # fmt: skip
def test_each_fault_is_found_and_nothing_else(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert faults(text, tmp_path) == expected


@pytest.mark.requirement("guard:lint")
def test_what_a_project_allows_is_named_as_inactive_until_it_is_trusted(tmp_path: Path) -> None:
    text = rules("allow; path=src", "deny; path=x")
    assert faults(text, tmp_path, layer="project", trusted=False) == ["unreachable 1"]
    assert faults(text, tmp_path, layer="project", trusted=True) == []
