"""Keys of providers that are kept: in a keyring where there is one, else in a private file (1 s)."""

import io
import json
import os
import sys
import types
from pathlib import Path

import pytest

from sam_tui.adapters.llm.catalog import ProviderCatalog
from sam_tui.cli.main import main
from sam_tui.cli.settings import environment
from sam_tui.core.authorization.paths.secrets import KEYS_FILE
from sam_tui.core.errors import ConfigurationError, ModelAuthError
from sam_tui.core.ports.model import ModelOffer
from sam_tui.settings.keys import KeyStore, key_store
from sam_tui.settings.layers import personal_settings

KEY = "sk-verysecret-0123456789"


class RingError(RuntimeError):
    pass


class Ring(types.ModuleType):
    """The functions of the package ``keyring``, over a dictionary."""

    priority = 5

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_keyring(self) -> "Ring":
        return self

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, key: str) -> None:
        if self.locked:
            raise RingError
        self.kept[service, name] = key

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


@pytest.mark.requirement("settings:keys-kept")
def test_a_key_is_typed_once_used_by_runs_and_shown_by_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setitem(sys.modules, "keyring", None)

    def said(*arguments: str, typed: str = "") -> tuple[int, str]:
        key_store.cache_clear()
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capfd.readouterr()
        code = main(arguments)
        ended = capfd.readouterr()
        assert KEY not in ended.out + ended.err
        return code, ended.out + ended.err

    assert said("config", "key", "nobody", typed=KEY)[0] == 2
    code, words = said("config", "key", "openai", typed=f"{KEY}\n")
    file = tmp_path / "data" / KEYS_FILE
    assert (code, file.stat().st_mode & 0o777) == (0, 0o600)
    assert "there is no keyring" in words
    assert said("config", "key")[1].split() == ["OPENAI_API_KEY", "file"]
    assert said("config", "key", "anthropic", typed=KEY)[0] == 0
    variables = environment(str(tmp_path / "data"), personal_settings(os.environ))
    assert "OPENAI_API_KEY" not in os.environ
    for name in ("openai/gpt-4o", "anthropic/claude-x"):  # direct, and through litellm
        assert ProviderCatalog(variables).open(ModelOffer(name, name, "")).name == name
    with pytest.raises(ModelAuthError):
        ProviderCatalog(os.environ).open(ModelOffer("openai/gpt-4o", "openai/gpt-4o", ""))
    assert said("config", "key", "anthropic", "--remove")[0] == 0

    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    code, words = said("config", "key", "OPENAI_API_KEY", typed=KEY)
    assert "in the keyring" in words
    assert KEY not in file.read_text() and ring.kept == {("sam-tui", "OPENAI_API_KEY"): KEY}
    assert KeyStore(str(tmp_path / "data")).values == {"OPENAI_API_KEY": KEY}
    ring.locked = True
    assert "there is no keyring" in said("config", "key", "mistral", typed="another-key")[1]
    with monkeypatch.context() as gone:  # a key that stays in the keyring is not said to be removed
        gone.setitem(sys.modules, "keyring", None)
        code, words = said("config", "key", "openai", "--remove")
        assert (code, len(ring.kept)) == (52, 1) and "cannot be used now" in words
    assert said("config", "key", "openai", "--remove")[0] == 0
    assert ring.kept == {}
    assert list(json.loads(file.read_text())["keys"]) == ["MISTRAL_API_KEY"]
    assert said("config", "key", "openai", "--remove")[0] == 1
    assert said("config", "key", "openai", typed="\n")[0] == 52
    file.write_text("{")
    assert said("config", "key")[0] == 52


@pytest.mark.requirement("settings:keys-kept")
def test_what_is_no_data_folder_is_named_and_not_its_keys(tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="file cannot be used as the data folder"):
        KeyStore(str(file))


@pytest.mark.requirement("settings:keys-kept")
def test_two_programs_that_keep_keys_at_once_lose_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    one, other = KeyStore(str(tmp_path)), KeyStore(str(tmp_path))
    one.save("OPENAI_API_KEY", KEY)
    other.save("MISTRAL_API_KEY", KEY[::-1])
    assert KeyStore(str(tmp_path)).values == {"OPENAI_API_KEY": KEY, "MISTRAL_API_KEY": KEY[::-1]}
    one.remove("OPENAI_API_KEY")
    assert set(KeyStore(str(tmp_path)).values) == {"MISTRAL_API_KEY"}
