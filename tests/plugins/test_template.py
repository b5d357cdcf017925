"""The template of the docs is built and installed offline, and runs. Costs about 1 s of CPU."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "docs" / "plugin-template"


@pytest.mark.requirement("plugins:template")
def test_the_template_is_built_installed_and_held_by_the_guard(tmp_path: Path) -> None:
    shutil.copytree(TEMPLATE, tmp_path / "template")
    site = tmp_path / "site"
    offline = ("--no-index", "--no-deps", "--disable-pip-version-check", "-q")
    environ = {**os.environ, "HOME": str(tmp_path)}

    def run(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-P", "-m", *words], cwd=tmp_path, env=environ | more, check=False,
            capture_output=True, text=True, timeout=150,
        )  # fmt: skip

    built = ("--no-build-isolation", "--target", str(site), "./template")
    installed = run("pip", "install", *offline, *built)
    assert installed.returncode == 0, installed.stderr
    with next(site.glob("*.dist-info/entry_points.txt")).open("a", encoding="utf-8") as entries:
        entries.write("\ngone = sam_hello:gone\n")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a.txt").write_text("one two three", encoding="utf-8")
    (tmp_path / "b.txt").write_text("secret", encoding="utf-8")
    place = ("-C", str(tmp_path / "ws"), "--data-dir", str(tmp_path / "data"))
    path = {"PYTHONPATH": str(site)}
    script = [{"calls": [{"name": "count_words", "arguments": {"path": "a.txt"}},
                         {"name": "count_words", "arguments": {"path": str(tmp_path / "b.txt")}}]},
              {"text": "Done."}]  # fmt: skip
    (tmp_path / "script.json").write_text(json.dumps(script), encoding="utf-8")
    model = ("--model", f"scripted:{tmp_path / 'script.json'}", "--output-format", "stream-json")
    ended = run("sam_tui", "run", *place, *model, "go", **path)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert "broken plug-in: gone of sam-hello 0.1.0: " in str(lines)
    results = [x["message"]["content"][0]["content"] for x in lines if x["type"] == "user"]
    assert "a.txt has 3 words." in results[0], ended.stdout
    assert lines[-1]["subtype"] == "error_blocked" and "has 1 words" not in results[1]
    assert [x["kind"] for x in lines if x.get("subtype") == "reminder"].count("plugin:hello") == 1
