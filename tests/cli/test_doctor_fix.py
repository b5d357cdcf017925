"""What the doctor mends (in this process; 0.6 s)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sam_tui.adapters.code.chunk_store import IndexFile
from sam_tui.adapters.code.index import FOLDER
from sam_tui.cli.main import main


@pytest.mark.requirement("doctor:fix")
def test_the_doctor_mends_what_it_can_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    config, data = tmp_path / "config", tmp_path / "data"
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(config))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(data))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    def fixes() -> list[str]:
        capfd.readouterr()
        main(["doctor", "--fix", "-C", str(tmp_path)])
        told = capfd.readouterr().err.splitlines()
        return [line.removeprefix("fix: ") for line in told if line.startswith("fix: ")]

    assert fixes() == [f"made {data}", f"made {config}"]
    data.chmod(0o755)
    config.chmod(0o777)
    (data / "keys.json").write_text('{"version": 1, "keys": {}}')
    (data / "keys.json").chmod(0o644)
    left, in_use = (config / f"settings.toml.{n}.new" for n in (ended.pid, os.getpid()))
    left.touch()
    in_use.touch()
    outside = tmp_path / "outside"
    outside.touch(mode=0o644)
    (data / "link").symlink_to(outside)
    folder = data / FOLDER
    folder.mkdir(mode=0o700)
    (folder / "broken.db").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    whole = IndexFile(folder / "whole.db")
    whole.reconcile({})
    whole.close()
    assert fixes() == [
        f"{data}: mode 755 is 700 now",
        f"{config}: mode 777 is 755 now",
        f"{data / 'keys.json'}: others could read it, and no longer can",
        f"removed {left}, which an ended program left",
        f"removed the damaged index {folder / 'broken.db'}: the next search builds it again",
    ]
    assert in_use.exists() and (folder / "whole.db").exists()
    assert outside.stat().st_mode & 0o777 == 0o644
    assert (data / "keys.json").stat().st_mode & 0o777 == 0o600
    (data / "keys.json").write_text(
        '{"version": 1, "keys": {"GROQ_API_KEY": {"in": "file", "key": "gsk-of-a-person"}}}'
    )
    assert fixes() == ["nothing to repair"]
    main(["doctor", "-C", str(tmp_path)])
    printed = capfd.readouterr().out
    assert "GROQ_API_KEY (stored)" in printed and "gsk-of" not in printed


@pytest.mark.requirement("doctor:says")
def test_the_doctor_names_a_folder_that_nobody_can_use_or_that_belongs_to_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "file").touch()
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(file / "config"))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert main(["doctor", "-C", str(tmp_path)]) == 1
    said = capfd.readouterr().out
    assert f"{file / 'config'}: Not a directory" in said
    assert f"{tmp_path} belongs to another user" in said
