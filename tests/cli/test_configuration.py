"""What the environment configures: documented, and told by the doctor."""

import json
import re
from pathlib import Path

import pytest

from sam_tui.adapters.llm.embedding import BASE, KEY, MODEL
from sam_tui.adapters.llm.providers import DIRECT, THROUGH_LITELLM
from sam_tui.adapters.web.providers import NEEDED
from sam_tui.cli.main import main


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


@pytest.mark.requirement("doctor:online")
def test_every_variable_that_the_program_reads_is_documented() -> None:
    root = Path(__file__).resolve().parents[2]
    sources = [path.read_text("utf-8") for path in (root / "sam_tui").rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'"(SAM_TUI_[A-Z_]*[A-Z])"', text)}
    named |= {MODEL, BASE, KEY, *(name for names in NEEDED.values() for name in names)}
    named |= {name for p in (*DIRECT, *THROUGH_LITELLM) for name in (*p.keys, p.base_variable)}
    text = (root / "docs/configuration.md").read_text("utf-8")
    assert sorted(name for name in named if name and f"`{name}`" not in text) == []
