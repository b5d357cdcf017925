"""What the environment configures: documented, and told by the doctor."""

import ast
import json
import re
from pathlib import Path

import pytest

from sam_tui.adapters.llm.embedding import BASE, KEY, MODEL
from sam_tui.adapters.llm.providers import DIRECT, THROUGH_LITELLM
from sam_tui.adapters.web.providers import NEEDED
from sam_tui.cli.main import main
from sam_tui.settings.table import SETTINGS
from sam_tui.settings.variables import PASSED_ON, SECRETS, SURROUNDINGS
from scripts import reference_docs


@pytest.mark.requirement("doctor:online")
def test_the_doctor_says_which_online_services_are_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"SAM_TUI_{name}_DIR", str(tmp_path / name))
    (tmp_path / "CONFIG").mkdir(mode=0o700)

    def said() -> dict[str, dict[str, str]]:
        capfd.readouterr()
        main(["doctor", "--json", "-C", str(tmp_path)])
        return {check["name"]: check for check in json.loads(capfd.readouterr().out)}

    checks = said()
    assert "duckduckgo" in checks["web search"]["detail"]
    assert "SAM_TUI_EMBEDDING_MODEL" in checks["embeddings"]["advice"]
    assert "SAM_TUI_IMAGE_BASE" in checks["images"]["advice"]
    values = {"SEARCH_API_KEY": "s3cret-key", "CSE_ID": "e", "SERPAPI_API_KEY": "k"}
    values |= {"SAM_TUI_EMBEDDING_MODEL": "local/m", "SAM_TUI_IMAGE_MODEL": "m"}
    values |= {"SAM_TUI_PLANNING_MODEL": "big/m"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "CONFIG/apis").mkdir()
    (tmp_path / "CONFIG/apis/mine.md").write_text("| API |", encoding="utf-8")
    checks = said()
    assert "google (SEARCH_API_KEY and CSE_ID)" in checks["web search"]["detail"]
    assert "local/m" in checks["embeddings"]["detail"]
    assert "planning: big/m" in checks["models of plans"]["detail"]
    assert "without a key" in checks["images"]["detail"]
    assert "1 tables of yours" in checks["APIs"]["detail"]
    assert "s3cret-key" not in json.dumps(checks)
    monkeypatch.setenv("SAM_TUI_SEARCH", "altavista")
    (tmp_path / "CONFIG/apis/folder.md").mkdir()
    checks = said()
    assert (checks["web search"]["state"], checks["APIs"]["state"]) == ("missing", "missing")


READS = ("get", "getenv", "pop", "setdefault")


def _variables(path: Path) -> set[str]:
    """The names of variables that a file reads or sets, as far as they are written out."""
    names: set[str] = set()
    source = path.read_text("utf-8")
    if not re.search("environ|getenv|SAM_TUI_", source):
        return names
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=[first, *_]) if (
                attr in READS
            ):
                key = first
            case ast.Subscript(value=owner, slice=key):
                pass
            case ast.Compare(left=key, comparators=[owner]):
                pass
            case ast.Constant(value=str(text)) if re.fullmatch(r"SAM_TUI_[A-Z_]*[A-Z]", text):
                names.add(text)
                continue
            case _:
                continue
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            read = ast.unparse(owner).endswith(("environ", "os"))
            names |= {key.value} if read else set()
    return names


@pytest.mark.requirement("doctor:online")
def test_every_variable_that_the_program_reads_is_in_the_table_of_settings() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [p for top in ("sam_tui", "tools", "reminders") for p in (root / top).rglob("*.py")]
    named = {name for path in sources if "sample" not in path.parts for name in _variables(path)}
    named |= {MODEL, BASE, KEY, *(name for names in NEEDED.values() for name in names)}
    named |= {name for p in (*DIRECT, *THROUGH_LITELLM) for name in (*p.keys, p.base_variable)}
    told = {s.env for s in SETTINGS} | {*SECRETS, *SURROUNDINGS, *PASSED_ON}
    assert len(named) > 40
    assert sorted(named - told) == []


@pytest.mark.requirement("doctor:online")
def test_the_docs_name_every_setting_as_it_is() -> None:
    for path in reference_docs.DOCS.glob("*.md"):
        text = path.read_text("utf-8")
        assert reference_docs.filled(text) == text, f"{path.name}: make docs"
