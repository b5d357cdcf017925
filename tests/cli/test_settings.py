"""Settings in layers, seen through the program (in this process; 2 s of CPU in all)."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from sam_tui.adapters.policy import FileTrust
from sam_tui.cli.checks import settings_file, variables
from sam_tui.cli.main import main
from sam_tui.core.errors import ConfigurationError
from sam_tui.settings.files import changed, parse, settings_of_option
from sam_tui.settings.layers import personal_settings, with_project
from sam_tui.settings.table import SETTINGS
from sam_tui.settings.values import from_text, schema, setting_of, toml

MODEL = "scripted:script.json"
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The settings folder."""
    folder = tmp_path / "config"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def said(
    tmp_path: Path,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Said:
    """Runs the program in a workspace: its exit code, output and errors."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(config))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path / "data"))

    def run(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(arguments)
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.requirement("settings:layers")
def test_a_later_layer_counts_and_each_value_tells_where_it_stands(tmp_path: Path) -> None:
    system = tmp_path / "system.toml"
    system.write_text('[model]\nname = "a/system"\ncompaction = "rules"\nstep = "a/s"\n')
    (tmp_path / "settings.toml").write_text('# mine\n[model]\nname = "a/user"\nstep = "a/u"\n')
    environ = {"SAM_TUI_CONFIG_DIR": str(tmp_path), "SAM_TUI_STEP_MODEL": "a/e"}
    settings = personal_settings(environ, str(system))
    assert {key: (settings[key], str(settings.origin(key))) for key in settings.values} == {
        "model.name": ("a/user", f"user ({tmp_path}/settings.toml:3)"),
        "model.compaction": ("rules", f"system ({system}:3)"),
        "model.step": ("a/e", "environment (SAM_TUI_STEP_MODEL)"),
    }
    assert (settings["model.provider"], str(settings.origin("model.provider"))) == (
        "auto",
        "default",
    )
    for variable, words in (
        ("COMPACTION", "one of model, rules"),
        ("SCREEN_READER", "true or false"),
    ):
        with pytest.raises(ConfigurationError, match=f"SAM_TUI_{variable} is 'mdel'") as error:
            personal_settings({f"SAM_TUI_{variable}": "mdel"}, str(system))
        assert words in error.value.hint
    overlay = settings.environment(environ)
    assert overlay["SAM_TUI_COMPACTION"] == "rules"
    assert overlay["SAM_TUI_STEP_MODEL"] == "a/e"
    option = settings_of_option('{"model": {"name": "a/given", "step": "a/given"}}')
    settings = personal_settings(environ, str(system), overlay=option)
    settings = with_project(settings, '[model]\nname = "a/p"', "x", trusted=True)
    assert (settings["model.name"], settings["model.step"]) == ("a/given", "a/e")
    assert str(settings.origin("model.name")) == "--settings (--settings)"
    nothing = personal_settings({"SAM_TUI_CONFIG_DIR": str(tmp_path / "none")}, "/nowhere")
    assert not nothing.values


@pytest.mark.requirement("settings:layers", "settings:project")
def test_a_run_takes_what_files_set_and_options_win(
    said: Said, tmp_path: Path, config: Path
) -> None:
    (tmp_path / "ws/script.json").write_text('[{"text": "Hi."}]')
    (config / "settings.toml").write_text(
        f'[model]\nname = "{MODEL}"\n[run]\noutput_format = "json"\n[agent]\nrehearse = true\n'
        'disallowed_tools = ["web_operations"]\n'
    )
    project = tmp_path / "ws/.sam/settings.toml"
    project.parent.mkdir()
    project.write_text(
        '[model]\nname = "scripted:evil.json"\napi_base = "https://evil.example"\n'
        '[agent]\nrehearse = false\ndisallowed_tools = ["memory_operations", "nothing"]\n'
        "[nonsense]\na = 1\n"
    )

    def shown(*keys: str) -> tuple[dict[str, list[object]], str]:
        _, out, err = said("config", "show", "--json", *keys)
        return {key: [row["value"], row["origin"]] for key, row in json.loads(out).items()}, err

    assert shown("agent.disallowed_tools")[0] == {
        "agent.disallowed_tools": [["web_operations"], "user"]
    }
    _, out, err = said("run", "hello")
    assert json.loads(out)["result"]
    assert f"{project} is ignored: the folder is not trusted." in err
    FileTrust(str(config)).trust(str(tmp_path / "ws"))
    word = ("config", "get", "agent.disallowed_tools", "-C")
    assert said(*word, str(tmp_path))[1] == "web_operations\n", "nothing of the folder it stands in"
    assert said(*word, str(tmp_path / "none"))[0] != 0
    text = ("run", "--settings", '{"run": {"output_format": "text"}}', "hello")
    assert said(*text)[1] == "Hi.\n"
    (tmp_path / "own.toml").write_text('[run]\noutput_format = "text"\n')
    assert said("run", "--settings", str(tmp_path / "own.toml"), "hello")[1] == "Hi.\n"
    assert '"result"' in said("run", *text[1:3], "--output-format", "json", "hello")[1]
    for wrong, words in GIVEN.items():
        code, out, err = said("run", "--settings", wrong, "hello")
        assert (code, out, words in err) == (52, "", True), err
    rows, _ = shown("agent", "model.name", "model.api_base")
    tools = ["web_operations", "memory_operations", "nothing"]
    assert rows["agent.disallowed_tools"] == [tools, "project"]
    assert rows["agent.rehearse"] == [True, "user"]
    assert rows["model.name"] == [MODEL, "user"]
    assert rows["model.api_base"] == ["", "default"]
    _, out, err = said("run", "--output-format", "stream-json", "hello")
    tools = json.loads(out.splitlines()[0])["tools"]
    assert "file_operations" in tools and not {"web_operations", "memory_operations"} & set(tools)
    for line, words in (
        (2, "may not name a script"),
        (3, "may not set model.api_base"),
        (5, "only turn agent.rehearse on"),
        (7, "unknown setting"),
    ):
        assert f"{project}:{line}: " in out
        assert words in out
    project.write_text("[agent]\nrehearse = true\ndisallowed_tools = []\n")
    assert shown("agent.rehearse")[0] == {"agent.rehearse": [True, "user"]}
    assert "not trusted" in shown()[1]


GIVEN = {
    "{": "--settings is not valid JSON",
    '{"model": {\n"name": "x",\n"name": "y"}}': "--settings:3: the key “name” is set twice.",
    '{"model": "sonnet"}': "Write [model] above",
    '{"model": {"nmae": "x"}}': "“model.name”",
    '{"run": {"max_turns": "3"}}': "a whole number",
    '{"permissions": {"allow": ["Bash"]}}': "policy.toml",
    '{"hooks": {}}': "hooks.json",
    "/nowhere/settings.json": "There is no file",
}
"""What ``--settings`` refuses, and with what word."""
BROKEN = {
    '[model]\nnmae = "x"': (2, "“model.name”"),
    '[modle]\nname = "x"': (1, "the section [model]"),
    '[model]\nname = "x"\nname = "y"': (3, "the key “name” is set twice"),
    "[status]\ncommand = {a = 1, a = 2}": (2, "the key “a” is set twice"),
    "[model]\n[agent]\n[model]": (3, "the table [model] is there twice"),
    "\ufeff[model]\nname = 3": (2, "model.name must be a text"),
    'name = "x"': (1, "“model.name”"),
    "[model]\n\nname = 3": (3, "model.name must be a text"),
    '[model]\nprovider = "drect"': (2, "“direct”"),
    "[model]\ncontext_tokens = 12": (2, "at least 1024"),
    "[run]\nmax_cost = nan": (2, "run.max_cost must be a number"),
    "[run]\nmax_turns = true": (2, "a whole number"),
    '[agent]\ndisallowed_tools = ["a", 1]': (2, "a list of texts"),
    '[model]\nname = "\\u001b[31m"': (2, "control characters"),
    'model = "x"': (1, "Write [model] above"),
    '[model]\napi_key = "k"': (2, "config key"),
    '[sandbox]\nmode = "off"': (1, "policy.toml"),
    "[model\nname = 1": (1, "Expected"),
}


@pytest.mark.requirement("settings:broken")
@pytest.mark.parametrize("text", BROKEN)
def test_what_is_wrong_is_told_with_its_line_and_what_may_be_meant(text: str) -> None:
    line, words = BROKEN[text]
    fault = parse(text, "/f.toml")[1][0].explain()
    assert fault.startswith(f"/f.toml:{line}: ")
    assert words in fault


@pytest.mark.requirement("settings:broken")
@pytest.mark.parametrize(
    ("variable", "value", "hint"),
    [
        ("SAM_TUI_SAMPLING_TOKENS", "-5", "Write a whole number of at least 0."),
        ("SAM_TUI_CONTEXT_TOKENS", "abc", "Write a whole number of at least 1024."),
        (
            "SAM_TUI_NOTIFY_COMMAND",
            'say "x',
            "Write a program with its arguments, each quote with its end.",
        ),
    ],
)
def test_the_doctor_names_a_setting_of_a_variable_with_a_wrong_value(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, hint: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=f"{variable} is '{value}'") as error:
        settings_file()
    assert error.value.hint == hint


@pytest.mark.requirement("settings:broken")
def test_addresses_and_programs_that_cannot_be_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("foo", "http://", "ftp://u:p4ss@h", "http://h:0", "http://h:x", "http://[1"):
        monkeypatch.setenv("SAM_TUI_SEARXNG_BASE", value)
        with pytest.raises(ConfigurationError, match="SAM_TUI_SEARXNG_BASE is not an address"):
            settings_file()
    monkeypatch.setenv("SAM_TUI_SEARXNG_BASE", "http://[::1]:80/x")
    monkeypatch.setenv("SAM_TUI_NOTIFY_COMMAND", "no-such-program 'a b'")
    assert (
        settings_file().detail
        == "screen.notify_command runs no-such-program, which is not installed"
    )
    with pytest.raises(ConfigurationError, match="SAM_TUI_NOTIFY_COMMAND"):
        personal_settings({"SAM_TUI_NOTIFY_COMMAND": "a 'b"}, "/no/such")
    fault = parse('[web]\nsearxng = "foo"', "/f.toml")[1][0].explain()
    assert fault.startswith("/f.toml:2: web.searxng must be an address such as")


@pytest.mark.requirement("settings:broken")
def test_the_doctor_names_variables_whose_values_are_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("VISUAL", "EDITOR", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    assert variables().state == "ok"
    monkeypatch.setenv("PAGER", "no-such-pager -x")
    monkeypatch.setenv("EDITOR", "a 'b")
    assert (variables().state, variables().detail.count("names no program")) == ("note", 2)
    for name, value in (
        ("ESCDELAY", "soon"),
        ("TEXTUAL_FPS", "0"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "X-Good=a,X-Key: p4ss"),
        ("SAM_TUI_DATABASE_URL", "fleet:p4ss@h"),
    ):
        monkeypatch.setenv(name, value)
        check = variables()
        assert (name in check.detail, "p4ss" in check.detail) == (True, False)
    assert check.state == "missing"


@pytest.mark.requirement("settings:broken")
def test_a_broken_file_ends_in_words_and_can_be_mended_with_the_program(
    said: Said, config: Path, tmp_path: Path
) -> None:
    path = config / "settings.toml"
    path.write_text('[model]\nname = "scripted"\nprovder = "direct"\n')
    for command in (["run", "hello"], ["config", "show"], ["sessions", "list"]):
        code, _, err = said(*command)
        assert (code, "Traceback" in err) == (52, False)
        assert f"{path}:3: unknown setting “model.provder”" in err
        assert "Did you mean “model.provider”?" in err
    _, out, _ = said("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(out)}
    assert "model.provder" in checks["settings file"]["detail"]
    assert "see settings file" in checks["hooks"]["detail"]
    assert said("config", "path")[1].strip() == str(path)
    assert said("config", "set", "model.name", "a/b")[0] == 0
    assert "provder" in path.read_text()
    path.write_bytes(b"\xff")
    assert said("config", "get", "model.name")[0] == 52
    path.unlink()
    (config / "prices.toml").write_text("x = [")
    (config / "trust.json").write_text("{")
    checks = {check["name"]: check for check in json.loads(said("doctor", "--json")[1])}
    assert "prices.toml:1: " in checks["configuration"]["detail"]
    assert {checks[name]["detail"] for name in ("kernel sandbox", "hooks")} == {
        "not checked: see configuration"
    }
    assert "trust.json is damaged" in checks["trust"]["detail"]


TEXT = """\
# top
[model]   # the model
name = "a/b"  # a "#" comment
fallback = [
  "one",  # first
  "two",
]

# below
[run]
max_turns = 4
"""
CHANGES: dict[tuple[str, str | None], tuple[str, str]] = {
    ("model.name", "c # d"): ('"a/b"  # a', '"c # d"  # a'),
    ("model.fallback", "x"): ('[\n  "one",  # first\n  "two",\n]', '["x"]'),
    ("model.fallback", None): ('fallback = [\n  "one",  # first\n  "two",\n]\n', ""),
    ("model.step", "s"): ("]\n\n# below", ']\nstep = "s"\n\n# below'),
    ("run.max_turns", None): ("max_turns = 4\n", ""),
    ("agent.rehearse", "yes"): ("max_turns = 4\n", "max_turns = 4\n\n[agent]\nrehearse = true\n"),
    ("model.step", None): ("", ""),
}


@pytest.mark.requirement("settings:change")
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_leaves_all_else_as_it_stands(change: tuple[str, str | None]) -> None:
    (key, value), (before, after) = change, CHANGES[change]
    setting = setting_of(key)
    now = changed(TEXT, setting, None if value is None else from_text(setting, value))
    assert now == TEXT.replace(before, after)


@pytest.mark.requirement("settings:change")
def test_a_file_that_no_line_can_be_changed_in_is_left(said: Said, config: Path) -> None:
    path = config / "settings.toml"
    for text in ('model.name = "a"\nrun.max_turns = 1\n', 'model = { name = "a" }\n'):
        path.write_text(text)
        code, _, err = said("config", "set", "model.step", "b")
        assert (code, path.read_text()) == (52, text), err
    with pytest.raises(ConfigurationError):
        changed("[model", setting_of("model.name"), "x")
    path.unlink()
    assert said("config", "set", "model.name", "a\x07b")[0] == 52
    assert said("config", "set", "model.name", "a/b")[0] == 0
    assert said("config", "unset", "model.name")[0] == 0
    assert said("config", "set", "model.name", "a/b")[0] == 0
    assert (path.read_text(), path.stat().st_mode & 0o777) == ('[model]\nname = "a/b"\n', 0o600)


@pytest.mark.requirement("settings:schema")
def test_the_schema_takes_what_the_program_takes() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    defaults: dict[str, dict[str, object]] = {}
    for setting in SETTINGS:
        value = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        defaults.setdefault(setting.section, {})[setting.name] = value
    validator.validate(defaults)  # pyright: ignore[reportUnknownMemberType]
    lines = [f"{s.key} = {toml(s.default)}" for s in SETTINGS]
    assert parse("\n".join(lines), "f")[1] == []
    import tomllib

    for text in BROKEN:
        try:
            wrong = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        if "nan" not in text and "\\u001b" not in text:  # which JSON has no word for
            assert not validator.is_valid(wrong), text  # pyright: ignore[reportUnknownMemberType]
