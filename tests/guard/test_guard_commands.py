"""The command line of the guard: trust, lint, grants, the audit log, the doctor."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sam_tui.adapters.policy import FileLedger, SavedRules
from sam_tui.adapters.storage import open_storage
from sam_tui.cli.main import main
from sam_tui.core.clock import expiry_seconds
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.ports.policy import LiveGrant, SavedGrant
from sam_tui.core.verdict import Decision


class Program:
    """The program in this process: its exit code, and what it printed."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capfd = capfd

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run one command."""
        self._capfd.readouterr()
        code = main(arguments)
        printed = self._capfd.readouterr()
        return code, printed.out, printed.err


@pytest.fixture
def program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Program]:
    """The program in a workspace, with settings and data of its own."""
    for name in ("ws", "cfg"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("SAM_TUI_CONFIG_DIR", str(tmp_path / "cfg"))
    monkeypatch.setenv("SAM_TUI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "ws")
    yield Program(tmp_path, capfd)


def policy(program: Program, text: str) -> None:
    """Write the person's policy."""
    (program.folder / "cfg/policy.toml").write_text(text, encoding="utf-8")


@pytest.mark.requirement("trust:command")
def test_escapes_in_names_are_shown_and_not_dropped(program: Program) -> None:
    (program.folder / "ws/.sam").mkdir()
    (program.folder / "ws/.sam/a\x1b[2Kb").write_text("x", encoding="utf-8")
    assert ".sam/a\\x1b[2Kb: settings" in program("trust", "--show")[1]
    assert "trusted: .sam/a\\x1b[2Kb" in program("trust")[2]


@pytest.mark.requirement("trust:command")
def test_trust_lists_and_revokes(program: Program) -> None:
    assert program("trust")[0] == 0
    (program.folder / "ws/.mcp.json").write_text("{}", encoding="utf-8")
    code, out, _ = program("trust", "--list", "--json")
    assert (code, json.loads(out)) == (
        0,
        [{"folder": str(program.folder / "ws"), "state": "changed", "changes": ["new: .mcp.json"]}],
    )
    assert program("trust", "--revoke")[0] == 0
    assert program("trust", "--revoke")[0] == 2
    assert program("trust", "nowhere")[0] == 52
    assert program("trust", "--list", "x")[0] == 2


@pytest.mark.requirement("trust:command")
def test_trust_shows_what_would_be_believed_and_decides_nothing(program: Program) -> None:
    (program.folder / "ws/AGENTS.md").write_text("x", encoding="utf-8")
    code, out, _ = program("trust", "--show", "--json")
    told = json.loads(out)
    assert (code, told["state"], told["changes"]) == (0, "untrusted", [])
    assert [(b["name"], b["size"]) for b in told["believed"]] == [("AGENTS.md", 1)]
    assert "trusted: AGENTS.md (instructions" in program("trust")[2]
    (program.folder / "ws/AGENTS.md").write_text("xy", encoding="utf-8")
    out = program("trust", "--show")[1]
    assert "is changed." in out and "changed: AGENTS.md" in out
    assert program("trust", "--show", "--revoke")[0] == 2


@pytest.mark.requirement("trust:asked")
def test_a_headless_run_says_what_it_does_not_believe(program: Program) -> None:
    (program.folder / "ws/AGENTS.md").write_text("x", encoding="utf-8")
    script = program.folder / "script.json"
    script.write_text('[{"text": "hi"}]', encoding="utf-8")
    call = ("run", "hello", "--model", f"scripted:{script}")
    code, out, said = program(*call)
    assert (code, out) == (0, "hi\n")
    assert "is not trusted, and neither are its files: AGENTS.md" in said
    assert program("trust")[0] == 0
    assert "trusted" not in program(*call)[2]
    (program.folder / "ws/AGENTS.md").write_text("xy", encoding="utf-8")
    assert "changed since it was trusted" in program(*call)[2]


@pytest.mark.requirement("guard:lint")
def test_lint_ends_with_1_for_findings_and_with_52_for_a_bad_file(program: Program) -> None:
    assert program("guard", "lint")[0] == 0
    policy(program, '[[rule]]\neffect = "allow"\ncommand = "bash"\n')
    code, out, _ = program("guard", "lint")
    assert code == 1
    assert f"{program.folder}/cfg/policy.toml:1: over-broad:" in out
    code, out, _ = program("guard", "lint", "--json")
    assert [row["fault"] for row in json.loads(out)] == ["over-broad"]
    policy(program, "x = 1\n")
    code, _, err = program("guard", "lint")
    assert code == 52
    assert "policy.toml:1: unknown key “x”" in err


@pytest.mark.requirement("guard:grants-elsewhere")
def test_grants_of_running_programs_and_kept_ones_are_listed_and_revoked(program: Program) -> None:
    ledger = FileLedger(str(program.folder / "data"))
    ledger.publish([
        LiveGrant("grant_live", "c", "files.write", "/x", expiry_seconds() + 300, None)
    ])
    kept = SavedRules(str(program.folder / "cfg"), "/h").add(SavedGrant("run", command=("make",)))
    code, out, _ = program("guard", "grants", "--json")
    rows: list[dict[str, Any]] = json.loads(out)
    assert (code, [(row["id"], row["target"]) for row in rows]) == (
        0,
        [("grant_live", "/x"), (kept, "$ make …")],
    )
    assert rows[0]["process"] == os.getpid()
    assert 0 < rows[0]["until"] - time.time() <= 300
    assert "files.write" in program("guard", "grants")[1]
    for identifier in ("grant_live", kept):
        assert program("guard", "revoke", identifier)[0] == 0
    assert json.loads(program("guard", "grants", "--json")[1]) == []
    assert ledger.revoked() == frozenset(["grant_live"])
    assert program("guard", "revoke", kept)[0] == 2
    ledger.close()
    assert json.loads(program("guard", "grants", "--json")[1]) == []


@pytest.mark.requirement("guard:grants-elsewhere")
def test_what_a_dead_process_left_behind_is_removed(program: Program) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    FileLedger(str(program.folder / "data"), process=ended.pid).publish([
        LiveGrant("grant_old", "c", "o", "/x", None, None)
    ])
    assert json.loads(program("guard", "grants", "--json")[1]) == []
    assert list((program.folder / "data/grants").iterdir()) == []


@pytest.mark.requirement("guard:explain-trace")
def test_explain_prints_the_trace_of_every_access(program: Program) -> None:
    code, out, _ = program("guard", "explain", "create_file", '{"filePath": "a", "content": ""}')
    answer = json.loads(out)
    assert (code, answer["decision"]) == (0, "allow")
    trace = answer["accesses"][0]["trace"]
    assert [step["stage"] for step in trace][:1] == ["hard protected"]
    assert (trace[-1]["stage"], trace[-1]["outcome"]) == ("mode default", "allow")
    assert {step["outcome"] for step in trace[:-1]} == {""}


def fill(program: Program) -> None:
    """Two decisions in the log."""
    storage = open_storage(program.folder / "data")
    for number, (outcome, said) in enumerate((("allow", ""), ("deny", "not there"))):
        storage.decisions.record(
            ConversationId(f"c{number}"),
            CallId("k"),
            Decision("o", outcome, "user", "r", "why", "s", said, 1.5, ("/x\n\x1b[2J",), "tests"),  # pyright: ignore[reportArgumentType]
        )
    storage.close()


@pytest.mark.requirement("audit:list")
def test_the_audit_log_is_listed_and_exported(program: Program) -> None:
    assert program("audit", "list") == (0, "", "No decisions yet.\n")
    fill(program)
    code, out, _ = program("audit", "list")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "\x1b" not in out
    assert "“not there”" in out
    assert len(program("audit", "list", "--denied")[1].splitlines()) == 1
    assert len(program("audit", "list", "--conversation", "c0")[1].splitlines()) == 1


@pytest.mark.requirement("audit:list")
def test_the_audit_log_is_narrowed_by_words_folder_and_outcome(program: Program) -> None:
    fill(program)
    storage = open_storage(program.folder / "data")
    storage.conversations.create(ConversationId("c1"), str((program.folder / "ws").resolve()))
    storage.close()
    for arguments, numbers in (
        (("--find", "NOT there"), ["2"]),
        (("--find", "not 100%"), []),
        (("--find", "deny", "--limit", "1"), ["2"]),
        (("--denied", "--limit", "1"), ["2"]),
        (("--here",), ["2"]),
        (("--limit", "1"), ["2"]),
        ((), ["1", "2"]),
    ):
        code, out, said = program("audit", "list", *arguments)
        assert (code, [line.split()[0] for line in out.splitlines()]) == (0, numbers), arguments
        assert bool(said) != bool(numbers)


@pytest.mark.requirement("audit:list")
def test_a_call_without_a_conversation_counts_to_its_workspace(program: Program) -> None:
    assert program("tools", "call", "file_operations.list_dir", "{}")[0] == 0
    assert "file_operations.list_dir" in program("audit", "list", "--here")[1]
    (program.folder / "other").mkdir()
    assert program("audit", "list", "--here", "-C", str(program.folder / "other"))[1] == ""


@pytest.mark.requirement("guard:mode-of-file")
def test_a_policy_file_sets_the_mode_unless_a_flag_does_and_never_bypass(program: Program) -> None:
    call = ("guard", "explain", "file_operations.create_file", '{"filePath": "x", "content": "y"}')

    def decided(*flags: str) -> str:
        return json.loads(program(*call, *flags)[1])["decision"]

    assert decided() == "allow"
    policy(program, 'mode = "plan"\n')
    assert decided() == "deny"
    assert decided("--permission-mode", "ask") == "allow"
    policy(program, 'mode = "ask"\n')
    (program.folder / "ws/.sam").mkdir()
    (program.folder / "ws/.sam/policy.toml").write_text('mode = "plan"\n', encoding="utf-8")
    assert decided() == "deny"
    policy(program, 'mode = "bypass"\n')
    code, _, said = program(*call)
    assert code == 52
    assert "--permission-mode bypass" in said


@pytest.mark.requirement("guard:policy-project")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('mode = "auto"\n', "mode cannot be 'auto' here"),
        ('colour = "blue"\n', "unknown key “colour”"),
        ("mode = \n", "Invalid value"),
        ('caches = ["npm"]\nlocal = ["localhost:1"]\n', "a project cannot open caches"),
        ('rule = "none"\n', "rules are written as [[rule]]"),
        ('[[rule]]\neffect = "allow"\n', "the rule names nothing"),
        (None, "is not a regular file"),
    ],
)
def test_a_broken_policy_of_a_folder_tightens_and_never_ends_the_program_trusted_or_not(
    program: Program, text: str | None, said: str
) -> None:
    (program.folder / "ws/.sam").mkdir()
    path = program.folder / "ws/.sam/policy.toml"
    tight = '[[rule]]\neffect = "deny"\npath = "kept"\n'
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text if "= \n" in text or "rule =" in text else text + tight, "utf-8")
    holds = text is not None and tight in path.read_text(encoding="utf-8")

    def decided(name: str) -> str:
        call = json.dumps({"filePath": name, "content": "y"})
        return json.loads(program("guard", "explain", "create_file", call)[1])["decision"]

    script = program.folder / "script.json"  # the built-in one answers as slowly as a model
    script.write_text('[{"text": "Hello."}]', "utf-8")
    for trusted in (False, True):
        if trusted:
            program("trust")
        assert decided("free") == "allow"
        assert decided("kept") == ("deny" if holds else "allow")
        code, _, error = program("run", "--model", f"scripted:{script}", "hello")
        assert said in error
        assert "Ignored in this folder's own files" in error
        assert code != 52


@pytest.mark.requirement("guard:explain-url")
def test_a_url_is_explained_as_the_door_will_decide(program: Program) -> None:
    policy(program, 'local = ["localhost:3000"]\n[[rule]]\neffect = "allow"\nhost = "wiki.corp"\n')
    for url, decision, reason in (
        ("http://127.0.0.1/", "deny", "loopback"),
        ("http://0x7f.1/", "deny", "loopback"),
        ("http://wiki.corp/", "deny", "a name of this machine or its network"),
        ("http://app-10-0-0-1.example.org/", "deny", "its name carries 10.0.0.1, which is private"),
        ("http://metadata.google.internal/", "deny", "a name of this machine or its network"),
        ("http://example.org:22/", "deny", "Port 22"),
        ("ftp://example.org/", "deny", "only http and https"),
        ("http://localhost:3000/x", "allow", "nothing forbids it"),
        ("https://example.org/", "allow", "every address of the name is judged"),
    ):
        call = json.dumps({"url": url})
        told = json.loads(program("guard", "explain", "web_operations.fetch", call)[1])
        assert (told["decision"], url) == (decision, url)
        assert reason in told["reason"]
        if decision == "deny":
            code, out, _ = program("tools", "call", "web_operations.fetch", call)
            assert (code, reason in out) == (1, True), out


@pytest.mark.requirement("audit:verify")
def test_verify_finds_a_changed_entry_and_a_log_cut_off_at_its_end(program: Program) -> None:
    fill(program)
    code, out, _ = program("audit", "verify")
    assert (code, out.split()[0]) == (0, "2")
    seal = out.split()[-1]
    assert program("audit", "verify", "--seal", seal)[0] == 0
    database = open_storage(program.folder / "data").database
    with database.transaction() as connection:
        connection.execute("DROP TRIGGER decisions_remain")
        connection.execute("DELETE FROM decisions WHERE number = 2")
    assert program("audit", "verify")[0] == 0
    assert program("audit", "verify", "--seal", seal)[0] == 1
    with database.transaction() as connection:
        connection.execute("DROP TRIGGER decisions_stay")
        connection.execute("UPDATE decisions SET conversation = 'other'")
    database.close()
    code, out, _ = program("audit", "verify")
    assert (code, "entry 1" in out) == (1, True)


@pytest.mark.requirement("audit:list")
def test_export_writes_one_object_a_line_with_its_seal(program: Program) -> None:
    fill(program)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sam_tui", "audit", "export"], capture_output=True, check=True
    )
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert (first["number"], first["targets"], first["asker"]) == (1, ["/x\n\x1b[2J"], "tests")
    assert (second["outcome"], second["comment"], len(second["chain"])) == ("deny", "not there", 64)


@pytest.mark.requirement("doctor:says")
def test_the_doctor_says_what_holds_and_names_keys_without_their_values(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "abc123def456ghi789")
    code, out, _ = program("doctor", "--json")
    checks: dict[str, dict[str, str]] = {check["name"]: check for check in json.loads(out)}
    assert "PLANTED_API_KEY" in checks["keys"]["detail"]
    assert "abc123def456" not in out
    assert checks["trust"]["state"] == "note"
    assert checks["audit log"]["state"] in ("ok", "note")
    assert checks["kernel sandbox"]["state"] in ("ok", "missing")
    assert code == (1 if any(c["state"] == "missing" for c in checks.values()) else 0)
    policy(program, "x = 1\n")
    (program.folder / "cfg").chmod(0o775)
    code, out, _ = program("doctor")
    assert code == 1
    assert out.count("unknown key “x”") == 1
    assert "can be written by others" in out


@pytest.mark.requirement("doctor:says")
def test_the_doctor_names_a_log_that_was_changed(program: Program) -> None:
    storage = open_storage(program.folder / "data")
    for name in "abc":
        storage.decisions.record(
            ConversationId("c"), CallId(name), Decision("o", "allow", "rule", "r", "w")
        )
    with storage.database.transaction() as connection:
        connection.execute("DROP TRIGGER decisions_stay")
        connection.execute("UPDATE decisions SET call = 'z' WHERE number = 2")
    storage.close()
    code, out, _ = program("doctor")
    assert code == 1
    assert "entry 2 was changed" in out
    assert "sam-tui audit verify" in out


@pytest.mark.requirement("guard:hosts")
def test_lists_of_hosts_are_explained_linted_and_examined(program: Program) -> None:
    policy(program, 'network = "hosts"\nhosts = ["good.test:443", "*.co.uk"]\n')
    for host, decision, rule in (
        ("good.test", "allow", "hosts"),
        ("good.test:80", "ask", "connect-outside"),
        ("other.test", "ask", "connect-outside"),
    ):
        code, out, _ = program(
            "guard", "explain", "commands.connect_outside", json.dumps({"host": host})
        )
        assert code == 0
        told = json.loads(out)
        assert (told["decision"], told["rule"]) == (decision, rule)
    code, out, _ = program("guard", "explain", "commands.connect_outside", '{"host": "a b"}')
    assert code == 2
    assert "it is not a host" in out
    code, out, _ = program("guard", "lint")
    assert code == 1
    assert "host *.co.uk: anybody can register names below co.uk" in out
    checks = {c["name"]: c for c in json.loads(program("doctor", "--json")[1])}
    assert checks["network"]["state"] in ("ok", "note", "missing")
    assert "hosts" in checks["network"]["detail"]
